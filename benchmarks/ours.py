"""The cost of spanwise itself: start-up, whole evaluations, stages, growth and studies."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measuring import ROOT, Job, Measured
from benchmarks.planning import Plan, shown
from benchmarks.tables import Row, Section

PROCESS = ("work", "wall", "CPU", "peak")


def _processes(results: dict[str, Measured]) -> list[Row]:
    return [{"work": name, **shown(measured)} for name, measured in results.items()]


def startup(plan: Plan) -> Section:
    """From the start of a process to its first use."""
    python = sys.executable
    jobs = {
        "python -c pass": Job((python, "-c", "pass")),
        "spanwise --help": Job.spanwise("--help"),
        "import spanwise": Job((python, "-c", "import spanwise")),
        "import numpy": Job((python, "-c", "import numpy")),
        "from spanwise import evaluate": Job((python, "-c", "from spanwise import evaluate")),
    }
    plan.bench.warm(list(jobs.values()))
    results = plan.bench.best(jobs, rounds=4 * plan.bench.rounds)
    facts = {
        "help wall": results["spanwise --help"].wall,
        "import wall": results["from spanwise import evaluate"].wall,
    }
    note = "For the smallest processes, the peak is that of the measuring process."
    return Section("startup", "Start-up", note, PROCESS, _processes(results), facts)


def evaluation(plan: Plan) -> Section:
    """`spanwise evaluate` as a process, at the size of CoNLL-2003."""
    jobs: dict[str, Job] = {}
    for words, name in (("words of the demo", "conll2003"), ("natural words", "conll2003-natural")):
        gold, first, second, train = plan.files(name)
        call = ("evaluate", gold, first, second, "--train", train)
        jobs |= {
            f"everything, by sentences; {words}": Job.spanwise(*call, "--unit", "sentence"),
            f"everything, by documents; {words}": Job.spanwise(*call),
            f"without resampling; {words}": Job.spanwise(*call, "--resamples", 0),
        }
        html = ("--html", Path(gold).with_name("page.html"), "--quiet")
        jobs |= {
            f"everything, without a screen; {words}": Job.spanwise(*call, "--unit", "sentence", "--quiet"),
            f"everything, and its page; {words}": Job.spanwise(*call, "--unit", "sentence", *html),
        }
    plan.bench.warm(list(jobs.values()))
    results = plan.bench.best(jobs, rounds=2 * plan.bench.rounds)
    everything = results["everything, by sentences; words of the demo"]
    page = results["everything, and its page; words of the demo"].cpu
    facts = {
        "page cpu": page - results["everything, without a screen; words of the demo"].cpu,
        "conll2003 wall": everything.wall,
        "conll2003 peak": everything.peak,
        "conll2003 plain wall": results["without resampling; words of the demo"].wall,
    }
    note = (
        "46 k test and 204 k training tokens, two systems, with outcomes, eight attributes, tough mentions,"
        " 1000 resamples of every cell, the paired test and the screen, measured from the start of the"
        " process."
    )
    title = "An evaluation of the size of CoNLL-2003"
    return Section("evaluation", title, note, PROCESS, _processes(results), facts)


def small(plan: Plan) -> Section | None:
    """`spanwise evaluate` on small span files, from the start of a process to exact and fair scores."""
    gold = None if plan.data is None else plan.data / "ortmann-ner" / "gold.spans"
    if gold is None or not gold.is_file():
        return None
    call = ("evaluate", gold, gold.with_name("predicted.spans"), "--resamples", 0, "--attributes", "none")
    jobs = {
        "exact and fair scores": Job.spanwise(*call),
        "import numpy": Job((sys.executable, "-c", "import numpy")),
    }
    plan.bench.warm(list(jobs.values()))
    results = plan.bench.best(jobs, rounds=2 * plan.bench.rounds)
    note = "Gold and predicted spans of GermEval 2014 without text, 6,178 in all."
    facts = {"small cpu": results["exact and fair scores"].cpu}
    return Section("small", "Small span files", note, PROCESS, _processes(results), facts)


def pieces(plan: Plan) -> Section:
    """What training loops and harnesses call often: one batch of a metric, one answer of a language model."""
    gold, first, *_ = plan.files("conll2003")
    jobs = {
        "`Metric.update`, 32 sentences": Job.work("metric update", gold, first, 32),
        "`Metric.update`, one sentence": Job.work("metric update", gold, first, 1),
        "`count_sample`, one answer placed and counted": Job.work("count sample", gold),
    }
    results = plan.bench.best(jobs)
    rows = [
        {"work": name, "each": measured.cpu / measured.answer["calls"], "calls": measured.answer["calls"]}
        for name, measured in results.items()
    ]
    facts = {"update": rows[1]["each"], "sample": rows[2]["each"]}
    note = "CPU time of a call, over the sentences of CoNLL-2003 size."
    return Section("pieces", "Calls that are made often", note, ("work", "calls", "each"), rows, facts)


def large(plan: Plan) -> Section | None:
    """`spanwise evaluate` on ten million training and nine million test tokens."""
    if plan.large is None:
        return None
    gold, first, second, train = plan.files(plan.large)
    call = ("evaluate", gold, first, second, "--train", train, "--unit", "sentence", "--quiet")
    jobs = {
        "everything": Job.spanwise(*call),
        "without resampling": Job.spanwise(*call, "--resamples", 0),
        "everything, held at once (--workers 1)": Job.spanwise(*call, "--workers", 1),
        "--memory 512MB": Job.spanwise(*call, "--memory", "512MB"),
        "--memory 512MB --workers 2": Job.spanwise(*call, "--memory", "512MB", "--workers", 2),
    }
    results = plan.bench.best(jobs, rounds=1)
    repeated = plan.bench.best({"everything": jobs["everything"]})
    results["everything"] = results["everything"].better(repeated["everything"])
    facts = {
        "large wall": results["everything"].wall,
        "large peak": results["everything"].peak,
        "streamed peak": results["--memory 512MB"].peak,
    }
    title = "Ten million training and nine million test tokens, two systems"
    note = (
        "By default, files of this size are evaluated in parts, with one process per core. The peak is that"
        " of the largest process."
    )
    return Section("large", title, note, PROCESS, _processes(results), facts)


def reading(plan: Plan) -> Section:
    """The rate at which CoNLL files are read, from bytes to codes and mentions."""
    rows: list[Row] = []
    at = plan.peers_at
    corpora = {
        "four columns, natural words": plan.corpus(f"{at}-natural-columns"),
        "two columns, natural words": plan.corpus(f"{at}-natural"),
        "two columns, words of the demo": plan.corpus(at),
    }
    gold = {name: corpus["files"]["gold"] for name, corpus in corpora.items()}
    results = plan.bench.best({name: Job.work("read", path) for name, path in gold.items()})
    coded = plan.bench.best({name: Job.work("codes", path) for name, path in gold.items()})
    for name, corpus in corpora.items():
        rows.append(
            {
                "file": name,
                "words": corpus["words"],
                "tokens": corpus["tokens"],
                "codes": coded[name].cpu,
                "codes MB/s": corpus["bytes"]["gold"] / coded[name].cpu / 1e6,
                "CPU": results[name].cpu,
                "MB/s": corpus["bytes"]["gold"] / results[name].cpu / 1e6,
                "ns/token": 1e9 * results[name].cpu / corpus["tokens"],
            }
        )
    note = (
        "The files are in the page cache of the operating system. `codes` covers hashing, checking, splitting"
        " and interning to integer codes; the goal applies to it. CPU, MB/s and ns/token are for all of"
        " `read`, which also detects the scheme and decodes the tags to mentions. Files with four columns"
        " have those of CoNLL-2003."
    )
    columns = ("file", "words", "tokens", "codes", "codes MB/s", "CPU", "MB/s", "ns/token")
    return Section("reading", "Reading", note, columns, rows, {"read rate": rows[0]["codes MB/s"]})


def resampling(plan: Plan) -> Section:
    """The cost that 1000 resamples of all cells add to an evaluation of one system."""
    rows: list[Row] = []
    facts: dict[str, float] = {}
    for name, fact in (("conll2003", "resample few"), (plan.large, "resample many")):
        if name is None:
            continue
        gold, first, _, train = plan.files(name)
        results = plan.bench.run(Job.work("resample", gold, first, train))
        seconds = results.answer["seconds"]
        facts[fact] = seconds["with"] - seconds["without"]
        rows.append({"sentences": results.answer["sentences"], "CPU": facts[fact]})
    note = (
        "The difference in CPU time between evaluations with 1000 resamples and without, of annotations that"
        " have already been read, measured alternately."
    )
    title = "1000 resamples of all cells of one system"
    return Section("resampling", title, note, ("sentences", "CPU"), rows, facts)


def growth(plan: Plan) -> Section:
    """The stages of an evaluation of two systems at every size."""
    rows: list[Row] = []
    for name in plan.sizes:
        corpus = plan.corpus(name)
        rounds = plan.bench.rounds if corpus["tokens"] < 5e6 else 1
        measured = plan.bench.best({name: Job.work("stages", *plan.files(name))}, rounds=rounds)[name]
        seconds = measured.answer["seconds"]
        whole = sum(seconds[stage] for stage in ("read", "match", "attributes", "count"))
        rows.append(
            {
                "tokens": corpus["tokens"],
                "training tokens": corpus["training_tokens"],
                **seconds,
                "ns/token": 1e9 * whole / corpus["tokens_read"],
                "peak": measured.peak,
            }
        )
    note = (
        "CPU time of two systems with all attributes and tough mentions, by stage, on one core. `read`"
        " includes `decode`; `count` is all of `evaluate` except matching, attributes and resampling;"
        " `ns/token` is the sum of read, match, attributes and count per token read (gold, both"
        " systems and training data). The cost of 1000 resamples and the tests hardly depends on the size."
    )
    stages = ("read", "decode", "match", "attributes", "count", "resample")
    costs = [row["ns/token"] for row in rows]
    return Section(
        "growth",
        "Growth with the size of the test set",
        note,
        ("tokens", "training tokens", *stages, "ns/token", "peak"),
        rows,
        {"growth": max(costs) / min(costs)},
    )


def study(plan: Plan) -> Section | None:
    """The study of 36 runs from the examples, if its data is given."""
    root = None if plan.data is None else plan.data / "masakhaner"
    if root is None or not root.is_dir():
        return None
    manifest = ROOT / "examples" / "masakhaner.toml"
    call = ("study", manifest, "--root", root, "--no-cache", "--quiet")
    jobs = {f"{number} processes": Job.spanwise(*call, "--workers", number) for number in (1, 2)}
    results = plan.bench.best(jobs, rounds=min(2, plan.bench.rounds))
    facts = {
        "study wall": results["2 processes"].wall,
        "study peak": max(measured.peak for measured in results.values()),
    }
    note = "MasakhaNER 2.0: three languages, four systems, three seeds; all attributes, intervals and tests."
    return Section("study", "A study of 36 runs", note, PROCESS, _processes(results), facts)


def real_files(plan: Plan) -> Section | None:
    """Real files, if given: every training file in CoNLL columns among the data."""
    if plan.data is None:
        return None
    paths = sorted(path for path in plan.data.rglob("train.*") if path.suffix in (".txt", ".conll", ".bio"))
    if not paths:
        return None
    jobs = {str(path.relative_to(plan.data)): Job.work("read", path) for path in paths}
    rows = [
        {
            "file": name,
            "tokens": measured.answer["tokens"],
            "CPU": measured.cpu,
            "MB/s": (plan.data / name).stat().st_size / measured.cpu / 1e6,
            "ns/token": 1e9 * measured.cpu / measured.answer["tokens"],
        }
        for name, measured in plan.bench.best(jobs).items()
    ]
    return Section("real", "Reading real files", "", ("file", "tokens", "CPU", "MB/s", "ns/token"), rows)
