"""The main findings of a result document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypedDict

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from spanwise.diagnosis import F1, LEAST_GOLD, distinct, lettering, mean_of, slice_path
from spanwise.document import Count, Input, Interval, Probability, Settings
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Comparison, Finding, ScoreTest, SystemScores, WeakSlice, primary_name
from spanwise.statistics import LEVEL

MOST_FINDINGS = 4
LEAST_EFFECT = 0.01  # a point of F1 or recall
LEAST_ALIASES = 5  # predictions that are exactly gold mentions of another label
LEAST_SHARE = 0.8  # of the predictions with their label


def findings(document: Evaluation) -> tuple[Finding, ...]:
    """The few things that a reader of a result document should know first, at most four.

    They are about the system with the highest primary score (F1 unless another was chosen): the kind of
    error whose correction would gain most; a token after which recall drops; mentions unseen in training, if
    their recall is below that of seen ones; the costliest slice of other mentions; with a second system,
    whether the lead over the runner-up is real and where it comes from (then only the costlier of the two
    slices is named), or, in first place, that the two differ in slices though not overall; and anything
    unusual about the data. Before all of them, and for every system, come labels that gold does not have but
    that seem to be other names of its labels.

    Each finding rests on at least 50 mentions, is worth at least one point, and was tested in the way it was
    selected: a lead after correction, a slice or subset against all slices at once. A kind of error is said
    to cost most if it costs significantly more than every other; all kinds that it cannot be told apart from
    are named as well. Reports put the findings into words; `filter` selects the sentences behind the number.
    """
    systems = document.systems
    if not systems:
        return ()
    primary = document.settings.primary or "f1"
    order = list(lettering({name: system.primary(primary) for name, system in systems.items()}))
    lead = _lead_of(document.comparisons, order)
    return _findings(document, order[0], lead, order)


def findings_of(document: Evaluation, name: str, lead: Finding | None) -> tuple[Finding, ...]:
    """The findings about one system, and about its lead over another; at most four."""
    return _findings(document, name, lead, [name])


def _findings(
    document: Evaluation, name: str, lead: Finding | None, aliased: Sequence[str]
) -> tuple[Finding, ...]:
    """The findings about one system, after the labels of all systems `aliased` that gold does not have."""
    odd = _data_finding(document.inputs, document.dataset, document.settings)
    several = len(document.systems) > 1
    aliases = [row for system in aliased for row in alias_findings(system, document.systems[system], several)]
    return _in_order(_own_findings(name, document.systems[name], lead), lead, odd, aliases)


def findings_over_runs(
    systems: Mapping[str, Mapping[str, SystemScores]],
    comparisons: Sequence[Comparison],
    inputs: Sequence[Input],
    dataset: DatasetFacts,
    settings: Settings,
) -> tuple[Finding, ...]:
    """Like `findings`, for systems with several runs: about the one with the highest mean primary score.

    A finding about the system is one that more than half of its runs show, with the numbers of the run
    nearest to the median that shows it; `runs` says how many do. With one run each, these are the findings
    of an evaluation.
    """
    primary = settings.primary or "f1"
    scores = {
        name: {run: system.primary(primary) for run, system in runs.items()} for name, runs in systems.items()
    }
    defined = {name: [run for run in runs.values() if run is not None] for name, runs in scores.items()}
    order = list(lettering({name: mean_of(values).mean for name, values in defined.items()}))
    if not order:
        return ()
    name, lead = order[0], _lead_of(comparisons, order)
    ranked = sorted(systems[name], key=lambda run: (scores[name][run] is not None, scores[name][run] or 0.0))
    middle = (len(ranked) - 1) // 2
    nearest = sorted(ranked, key=lambda run: abs(ranked.index(run) - middle))
    by_run = {run: _own_findings(name, systems[name][run], lead) for run in nearest}
    number = Counter((row.kind, row.path) for rows in by_run.values() for row in rows)
    own: dict[tuple[str, ...], Finding] = {}
    for run, rows in by_run.items():
        for row in rows:
            agreeing = number[row.kind, row.path]
            if 2 * agreeing > len(by_run):
                several = {"run": run, "runs": (agreeing, len(by_run))} if len(by_run) > 1 else {}
                own.setdefault((row.kind, *row.path), replace(row, **several))
    aliases = [row for system in order for row in _aliases_over_runs(system, systems[system], len(order) > 1)]
    return _in_order(list(own.values()), lead, _data_finding(inputs, dataset, settings), aliases)


def _lead_of(comparisons: Sequence[Comparison], order: Sequence[str]) -> Finding | None:
    """The lead of the first of several systems over the second."""
    pair = set(order[:2])
    comparison = next((row for row in comparisons if len(pair) > 1 and set(row.systems) == pair), None)
    return None if comparison is None else lead_finding(comparison, order[0])


def _own_findings(name: str, system: SystemScores, lead: Finding | None) -> list[Finding]:
    """The findings about one system: its costliest kind of error, and where it is weak."""
    weak = _weak_findings(name, system)
    if lead:
        weak = sorted(weak, key=lambda row: -(row.cost or 0.0))[:1]
    gain = _gain_finding(name, system)
    cut = _truncation_finding(name, system)
    weak = [cut, *weak] if cut else weak
    return [gain, *weak] if gain and _matters(gain) else weak


def _in_order(
    own: Sequence[Finding], lead: Finding | None, odd: Finding | None, aliases: Sequence[Finding]
) -> tuple[Finding, ...]:
    """All findings in order: the lead comes after those about the system, but first if the two are even.

    Before all of them come labels that gold does not have, those with most predictions first.
    """
    rows = [lead, *own, odd] if lead and lead.even else [*own, lead, odd]
    unknown = sorted(aliases, key=lambda row: -row.value)
    return tuple(row for row in [*unknown, *rows] if row)[:MOST_FINDINGS]


def alias_findings(name: str, system: SystemScores, several: bool) -> list[Finding]:
    """Predicted labels that gold does not have, but whose spans are mostly gold mentions of one label."""
    known = {label for label, cell in system.exact.labels.items() if cell.gold}
    found: dict[str, Finding] = {}
    for gold, predicted, number in system.confusion.pairs.get("LE", ()):
        count = system.exact.labels[predicted].predicted
        if predicted in known or number < max(LEAST_ALIASES, LEAST_SHARE * count):
            continue
        found[predicted] = Finding(
            kind="alias",
            system=name if several else None,
            score=None,
            value=number,
            count=count,
            title=f"{predicted}={gold}",
            path=("confusion", "pairs", "LE", gold, predicted),
            filter={"system": name, "outcome": "LE", "gold": gold, "predicted": predicted},
        )
    return list(found.values())


def _aliases_over_runs(name: str, runs: Mapping[str, SystemScores], several: bool) -> list[Finding]:
    """Like `alias_findings`, for labels of more than half of the runs, with the numbers of the first."""
    by_run = {run: alias_findings(name, system, several) for run, system in runs.items()}
    number = Counter(row.path for rows in by_run.values() for row in rows)
    found: dict[tuple[str, ...], Finding] = {}
    for run, rows in by_run.items():
        for row in rows:
            if 2 * number[row.path] > len(runs):
                shown = {"run": run, "runs": (number[row.path], len(runs))} if len(runs) > 1 else {}
                found.setdefault(row.path, replace(row, **shown))
    return list(found.values())


def _weak_findings(name: str, system: SystemScores) -> list[Finding]:
    """Unseen mentions, and the costliest slice, which excludes unseen mentions if both are named."""
    tough = _tough_finding(name, system)
    rows = [tough] if tough and _matters(tough) else []
    other = _slice_finding(name, system, without="UNSEEN-ANY" if rows else None)
    return [*rows, other] if other and _matters(other) else rows


def _matters(row: Finding) -> bool:
    """Whether a finding rests on enough mentions, is worth a point, and is significant."""
    effect = row.value - (row.against or 0.0)
    enough = (row.mentions or row.count or 0) >= LEAST_GOLD
    return bool(enough and abs(effect) >= LEAST_EFFECT and row.significant)


def _gain_finding(name: str, system: SystemScores) -> Finding | None:
    """The kind of error that costs most, and all kinds that may cost as much."""
    gains = {kind: row.gain for kind, row in system.gains.items() if row.gain}
    if not gains:
        return None
    kind = max(gains, key=lambda key: gains[key])
    bounds, lead = system.gains.of(kind).interval.get("gain"), system.gains.of(kind).lead
    if gains[kind] <= 0 or bounds is None or bounds[0] is None or lead is UNSET:
        return None
    finding = Finding(
        kind="gain",
        system=name,
        score="gain",
        value=gains[kind],
        count=system.fair.overall.count(kind),
        significant=bounds[0] > 0,
        p=lead.p,
        path=("gains", kind, "gain"),
        filter={"system": name, "outcome": kind},
    )
    alone = lead.tied or (lead.p is not None and lead.p < LEVEL) or not gains.get(lead.over)
    return replace(finding, tied=lead.tied if alone else (lead.over,))


def _truncation_finding(name: str, system: SystemScores) -> Finding | None:
    """The token after which recall drops, as if inputs had been truncated."""
    cut = system.truncation
    if not cut:
        return None
    return Finding(
        kind="truncation",
        system=name,
        score="recall",
        value=cut.recall,
        against=cut.recall_before,
        count=cut.missed,
        mentions=cut.mentions,
        title=str(cut.after),
        significant=True,
        p=cut.p,
        among=cut.among,
        path=("truncation", cut.of),
        filter={"system": name},
    )


def _tough_finding(name: str, system: SystemScores) -> Finding | None:
    row = next((row for row in system.slices if (row.kind, row.name) == ("tough", "UNSEEN-ANY")), None)
    if row is None or "SEEN" not in system.tough:
        return None
    seen, unseen = system.tough["SEEN"].overall, system.tough["UNSEEN-ANY"].overall
    if seen.recall is None or unseen.recall is None or not unseen.recall < seen.recall:
        return None
    return Finding(
        kind="tough",
        system=name,
        score="recall",
        value=unseen.recall,
        against=seen.recall,
        count=unseen.mentions - unseen.correct,
        mentions=unseen.mentions,
        cost=row.cost,
        path=("tough", "UNSEEN-ANY", "overall", "recall"),
        filter={"system": name, "tough": "UNSEEN-ANY"},
        **_tested(row),
    )


class _Tested(TypedDict):
    significant: bool
    p: Probability | UnsetType
    interval: Interval | None
    among: Count | UnsetType


def _tested(row: WeakSlice) -> _Tested:
    """One slice's result in the test of all slices at once; without a test nothing is significant."""
    weak = row.p is not UNSET and row.p is not None and row.p < LEVEL
    return {"significant": weak, "p": row.p, "interval": row.interval, "among": row.among}


def _slice_finding(name: str, system: SystemScores, *, without: str | None) -> Finding | None:
    """The costliest of the slices that are weaker than the rest and do not resemble the slice `without`."""
    rows = [row for row in system.slices if row.cost > 0]
    weak = [row for row in rows if row.kind != "tough" and _tested(row)["significant"]]
    if weak and without is not None:
        groups = distinct(rows, system)
        similar = [
            row for group in groups for row in group if any(member.name == without for member in group)
        ]
        weak = [row for row in weak if row not in similar]
    row = next(iter(weak), None)
    if row is None or row.value is None or row.overall is None:
        return None
    chosen = {"gold": row.name} if row.attribute is None else {"attribute": row.attribute, "bucket": row.name}
    return Finding(
        kind="slice",
        system=name,
        score=row.score,
        value=row.value,
        against=row.overall,
        count=row.gold,
        mentions=row.gold,
        cost=row.cost,
        title=row.title,
        path=(*slice_path(row), "f1"),
        filter={"system": name, **chosen},
        **_tested(row),
    )


def lead_finding(comparison: Comparison, first: str) -> Finding | None:
    """The lead of `first`, and the slices that add and take most of it; None if it does not matter.

    If the systems differ in slices but not overall, the finding is `even`: what one gains on some
    mentions it loses on others.
    """
    overall = comparison.primary
    if overall is None or overall.difference is None:
        return None
    a, b = comparison.systems
    sign, second = (1, b) if a == first else (-1, a)
    lead = sign * overall.difference
    real = overall.significant and abs(lead) >= LEAST_EFFECT
    shares = [(sign * share, row) for share, row in _shares(comparison)]
    gains = [pair for pair in shares if pair[0] > 0]
    losses = [pair for pair in shares if pair[0] < 0]
    if not real and not (gains and losses):
        return None
    finding = Finding(
        kind="lead",
        system=first,
        other=second,
        score=overall.path[-1],
        overall=lead,
        primary=UNSET if overall.path == F1 else primary_name(overall.path),
        p=overall.p_corrected,
        significant=True,
        even=not real,
        value=lead,
        count=overall.mentions or None,
        path=overall.path,
        filter={"system": first},
    )
    if gains:
        row = max(gains, key=lambda pair: pair[0])[1]
        finding = replace(
            finding,
            score=row.path[-1],
            value=sign * (row.difference or 0.0),
            count=row.mentions or None,
            path=row.path,
            filter={"system": first, **_chosen(row.path)},
        )
    if losses:
        row = min(losses, key=lambda pair: pair[0])[1]
        finding = replace(finding, loses=row.path, loss=sign * (row.difference or 0.0))
    return finding if _matters(finding) else None


def _shares(comparison: Comparison) -> list[tuple[float, ScoreTest]]:
    """The slices that differ significantly, with how much each adds to the lead."""
    return [
        (row.difference * row.mentions, row)
        for row in comparison.scores
        if row.family in ("labels", "buckets", "tough")
        and row.significant
        and row.difference is not None
        and row.mentions is not UNSET
        and row.mentions is not None
        and row.mentions >= LEAST_GOLD
        and abs(row.difference) >= LEAST_EFFECT
    ]


def _chosen(path: Sequence[str]) -> Mapping[str, str]:
    match path[0]:
        case "tough":
            return {"tough": path[1]}
        case "attributes":
            return {"attribute": path[1], "bucket": path[2]}
        case _:
            return {"gold": path[2]}


def _data_finding(inputs: Sequence[Input], dataset: DatasetFacts, settings: Settings) -> Finding | None:
    """What a reader should check before trusting any number: repairs, leaks, mismatches, few units."""
    alignments = [row.alignment for row in inputs if row.alignment is not None]
    odd = {
        "repairs": sum(row.repairs for row in inputs),
        "duplicates_with_train": dataset.duplicates_with_train or 0,
        "changed_tokens": sum(alignment.changed_tokens for alignment in alignments),
        "unplaced": sum(alignment.unplaced for alignment in alignments),
        "notes": sum(len(row.notes) for row in inputs),
    }
    total = sum(odd.values())
    few = settings.few_units
    if not total and not few:
        return None
    return Finding(
        kind="data",
        system=None,
        score=None,
        value=total,
        count=total,
        of={key: value for key, value in odd.items() if value},
        few_units=settings.units if few else None,
        path=("inputs",),
        filter={},
    )
