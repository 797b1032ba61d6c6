"""The cost of spanwise and its peers on the same work, measured alternately."""

from __future__ import annotations

from typing import Any

from benchmarks.measuring import Failed, Job, Measured
from benchmarks.planning import Plan, shown
from benchmarks.tables import Row, Section

# Peer, its work, and the equivalent work in spanwise; the names are keys of benchmarks.peers.WORK.
PAIRS = {
    "seqeval": ("seqeval", "ours seqeval"),
    "seqeval, strict": ("seqeval strict", "ours strict"),
    "evaluate": ("evaluate", "ours evaluate"),
    "nervaluate": ("nervaluate", "ours nervaluate"),
    "seqscore": ("seqscore", "ours seqeval"),
    "conlleval (Python)": ("conlleval", "ours conlleval"),
    "spaCy's scorer": ("spacy", "ours spacy"),
}
# From this size on, the fixed cost of a call no longer affects the cost per token.
_LONG = 128_000


def matching(plan: Plan) -> Section:
    """Fair matching compared with a plain transcription of the same algorithm."""
    gold, first, second, _ = plan.files(plan.peers_at)
    rows: list[Row] = []
    for system, path in (("shortsighted", first), ("memoriser", second)):
        measured = plan.bench.best({name: Job.work(name, gold, path) for name in ("match", "plain match")})
        fast, plain = measured["match"], measured["plain match"]
        if fast.answer["events"] != plain.answer["events"]:
            raise AssertionError("the fast matching and the plain one found different events")
        rows.append(
            {
                "system": system,
                "mentions": fast.answer["mentions"],
                "ours": fast.cpu,
                "mentions/s": fast.answer["mentions"] / fast.cpu,
                "CPU": plain.cpu,
                "times ours": plain.cpu / fast.cpu,
            }
        )
    facts = {
        "match rate": min(row["mentions/s"] for row in rows),
        "match ratio": min(row["times ours"] for row in rows),
    }
    note = "CPU is the time of the plain transcription of the algorithm that is used in the tests."
    columns = ("system", "mentions", "ours", "mentions/s", "CPU", "times ours")
    return Section("matching", "Fair matching", note, columns, rows, facts)


def fair(plan: Plan) -> Section | None:
    """Fair evaluation compared with the program of the paper, if given: matching, and files to tables."""
    if plan.fair is None:
        return None
    corpora = {name: plan.corpus(name)["files"] for name in plan.spans}
    pairs = {name: (files["gold"], files["predicted"]) for name, files in corpora.items()} | _span_files(plan)
    rows: list[Row] = []
    for name, files in pairs.items():
        check = plan.bench.run(Job.work("fair differences", plan.fair, *files)).answer
        if check["unexplained"]:
            raise AssertionError(f"{name}: {check['unexplained']} sentences are counted differently")
        jobs = {
            "theirs": Job.work("fair match, theirs", plan.fair, *files),
            "ours": Job.work("fair match", *files),
            "their tables": Job.work("fair tables, theirs", plan.fair, *files),
            "our tables": Job.work("fair tables", *files, "spans"),
            "recognised": Job.work("fair tables", *files),
        }
        measured = plan.bench.best(jobs)
        counted = {str(run.answer["outcomes"]) for run in measured.values()}
        if len(counted) > 1 and not check["different"]:
            raise AssertionError(f"{name}: the outcomes differ: {counted}")
        times = {key: run.answer.get("seconds", {}).get("match", run.cpu) for key, run in measured.items()}
        for work, theirs, ours in (
            ("matching", "theirs", "ours"),
            ("span files to tables", "their tables", "our tables"),
            ("… the format recognised", "their tables", "recognised"),
        ):
            ratio = times[theirs] / times[ours]
            about = {"file": name, "work": work, "mentions": check["mentions"]}
            rows.append({**about, "CPU": times[theirs], "ours": times[ours], "times ours": ratio})
    facts = {
        "fair match ratio": min(row["times ours"] for row in rows if row["work"] == "matching"),
        "fair files ratio": min(row["times ours"] for row in rows if row["work"] != "matching"),
    }
    note = (
        "CPU is the time of the program of Ortmann (2022); both it and spanwise are already imported. Both"
        " count the same outcomes and pairs of labels in every sentence without crossing spans. Tables"
        " contain exact and fair scores; ours also contain relaxed scores and gains."
    )
    columns = ("file", "work", "mentions", "CPU", "ours", "times ours")
    title = "Fair evaluation beside the program of the paper"
    return Section("fair", title, note, columns, rows, facts)


def _span_files(plan: Plan) -> dict[str, tuple[str, str]]:
    """The pairs of span files among the given data."""
    pairs = {}
    for gold in sorted(plan.data.rglob("gold.spans")) if plan.data is not None else []:
        predicted = gold.with_name("predicted.spans")
        if predicted.exists():
            pairs[gold.parent.name] = str(gold), str(predicted)
    return pairs


def _beside(peer: str, theirs: Measured, ours: Measured) -> dict[str, Any]:
    return {"peer": peer, "CPU": theirs.cpu, "ours": ours.cpu, "times ours": theirs.cpu / ours.cpu}


def lists(plan: Plan) -> Section:
    """Scores from lists of tags, in the format of each peer."""
    gold, _, predicted, _ = plan.files(plan.peers_at)
    names = dict.fromkeys(name for pair in PAIRS.values() for name in pair)
    jobs = {name: Job.work(name, gold, predicted) for name in ("floor", *names)}
    results, left_out = plan.tried(jobs, rounds=min(2, plan.bench.rounds))
    rows: list[Row] = []
    facts = {"lists floor": results["ours seqeval"].cpu / results["floor"].cpu}
    rows.append(_beside("a loop that looks at each tag", results["floor"], results["ours seqeval"]))
    for peer, (theirs, ours) in PAIRS.items():
        if theirs not in results or ours not in results:
            rows.append({"peer": peer, "left out": left_out.get(theirs) or left_out.get(ours)})
            continue
        facts[f"lists {peer}"] = results[theirs].cpu / results[ours].cpu
        answers = {"F1": results[theirs].answer["answer"], "our F1": results[ours].answer["answer"]}
        rows.append({**_beside(peer, results[theirs], results[ours]), **answers})
    note = (
        f"{plan.corpus(plan.peers_at)['tokens']:,} tokens in lists of tags (lines for conlleval, documents"
        " for spaCy), which are created before the measurement starts. `ours` is our compatibility layer with"
        " the same result; for seqscore, it is the layer for seqeval. evaluate downloads its metric, so only"
        " the computation of that metric is measured here, with the same calls to seqeval."
    )
    columns = ("peer", "CPU", "ours", "times ours", "F1", "our F1", "left out")
    return Section("lists", "Scores from lists of tags", note, columns, rows, facts)


def report(plan: Plan) -> Section:
    """The report of seqeval and of our layer for it, at the size of CoNLL-2003."""
    gold, _, predicted, _ = plan.files("conll2003")
    rows: list[Row] = []
    facts: dict[str, float] = {}
    for peer in ("seqeval", "seqeval, strict"):
        theirs, ours = PAIRS[peer]
        measured = plan.bench.best({name: Job.work(name, gold, predicted) for name in (theirs, ours)})
        facts[f"report {peer}"] = measured[theirs].cpu / measured[ours].cpu
        rows.append(_beside(peer, measured[theirs], measured[ours]))
    title = "`classification_report` of the layer for seqeval"
    columns = ("peer", "CPU", "ours", "times ours")
    return Section("report", title, "46 k tokens in lists of tags.", columns, rows, facts)


def files(plan: Plan) -> Section:
    """From files to scores, measured as whole processes."""
    gold, _, predicted, _ = plan.files(plan.peers_at)
    call = ("evaluate", gold, predicted, "--resamples", 0, "--attributes", "none")
    jobs = {"spanwise": Job.spanwise(*call)}
    jobs |= {peer: Job.whole(theirs, gold, predicted) for peer, (theirs, _) in PAIRS.items()}
    jobs |= {name: Job((path, gold, predicted)) for name, path in plan.programs.items()}
    results, left_out = plan.tried(jobs, rounds=min(2, plan.bench.rounds))
    ours = results["spanwise"].cpu
    rows: list[Row] = [
        {"peer": name, **shown(measured), "times ours": measured.cpu / ours}
        for name, measured in results.items()
    ]
    rows += [{"peer": name, "left out": why} for name, why in left_out.items()]
    facts = {f"files {name}": measured.cpu / ours for name, measured in results.items() if name != "spanwise"}
    note = (
        f"{plan.corpus(plan.peers_at)['tokens']:,} tokens. Peers read the tags with a minimal reader in"
        " Python; spaCy's process also creates its documents. `spanwise evaluate` shows exact, fair and"
        " relaxed scores, every kind of error and what fixing it would gain, whereas peers compute only exact"
        " scores (nervaluate also relaxed ones)."
    )
    columns = ("peer", "wall", "CPU", "peak", "times ours", "left out")
    return Section("files", "From files to scores, whole processes", note, columns, rows, facts)


def one_document(plan: Plan) -> Section:
    """The cost of one ever longer sentence, for which peers become quadratic."""
    gold, _, predicted, _ = plan.files(plan.peers_at)
    works = {
        "spanwise": "ours everything",
        "seqeval": "seqeval",
        "seqeval, strict": "seqeval strict",
        "nervaluate": "nervaluate",
    }
    rows: list[Row] = []
    for length in plan.lengths:
        row: dict[str, Any] = {"tokens": length}
        for name, work in list(works.items()):
            try:
                row[name] = plan.bench.run(Job.work(work, gold, predicted, length)).cpu
            except Failed:
                row[name] = float("inf")
            if row[name] > plan.patience:
                works.pop(name)
        rows.append({name: value for name, value in row.items() if value != float("inf")})
    note = (
        "CPU time for a single sentence with the given number of tokens. `spanwise` is a complete `evaluate`"
        f" without training data. A peer that took more than {plan.patience:.0f} s is not measured on longer"
        " sentences."
    )
    ours = [row["spanwise"] / row["tokens"] for row in rows if row["tokens"] >= _LONG]
    facts = {"growth of one": max(ours) / min(ours)} if len(ours) > 1 else {}
    columns = ("tokens", "spanwise", "seqeval", "seqeval, strict", "nervaluate")
    return Section("one_document", "Growth with the length of one document", note, columns, rows, facts)
