"""What two systems are compared by on a page: scores, tests, findings, and the parts of a lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import fsum

from markupsafe import Markup
from msgspec import Struct, to_builtins

from spanwise.diagnosis import F1, PREDICTED, parts_of_lead
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import BucketScores, Comparison, LeadPart, ScoreTest, SystemScores
from spanwise.document.scores import Finding as Found
from spanwise.findings import findings_of, findings_over_runs, lead_finding
from spanwise.reports import _wording as words
from spanwise.reports._charts.style import shortened, titled
from spanwise.reports.html.shown import Path, Shown, both_ends, mean_score, run_values, score_at
from spanwise.reports.html.verdict import VerdictItem, worded

SIGNS = {"−": "sminus", "+": "splus", "!": "scheck"}


class Measured(Struct, frozen=True):
    """A score that a pair is compared by: its name, where it stands, and which mentions it is about."""

    title: str
    path: Path
    count: int | None = None
    choose: Mapping[str, str] = {}
    under: str = ""


class Group(Struct, frozen=True):
    """Scores that are compared in one table."""

    title: str
    note: str
    rows: Sequence[Measured]
    slices: bool = False  # whether its rows are parts of the data
    prefix: str = ""  # what the title of a row needs in front where it stands alone


# ---- what a pair is compared by -----------------------------------------------------------------


def groups(document: Evaluation) -> list[Group]:
    """Every score that two systems can be compared by: overall, errors, tough subsets, labels, attributes."""
    systems = list(document.systems.values())
    found = [_overall(), _gains(), _tough(systems), _labels(document), *_attributes(systems)]
    return [group for group in found if group.rows]


def _overall() -> Group:
    rows = [
        Measured("F1", F1),
        Measured("precision", ("exact", "overall", "precision")),
        Measured("recall", ("exact", "overall", "recall")),
        Measured("macro F1", ("exact", "macro", "f1")),
        Measured("fair F1", ("fair", "overall", "f1")),
    ]
    return Group("Overall", "Exact span and label; fair scores count each error once.", rows)


def _gains() -> Group:
    rows = [
        Measured(words.OUTCOMES[kind], ("gains", kind, "gain"), choose={"unit": "error", "outcome": kind})
        for kind in words.ERRORS
    ]
    return Group("What fixing each kind of error would add", "Points of F1.", rows)


def _tough(systems: Sequence[SystemScores]) -> Group:
    rows = []
    for subset, title in words.TOUGH.items():
        cell = next((row for one in systems for key, row in one.tough.items() if key == subset), None)
        if cell is not None:
            rows.append(
                Measured(
                    title, ("tough", subset, "overall", "recall"), cell.overall.mentions, {"tough": subset}
                )
            )
    return Group("Tough mentions", "Recall, by what training showed.", rows, slices=True)


def _labels(document: Evaluation) -> Group:
    known: dict[str, int] = {}
    for system in document.systems.values():
        for label, row in system.exact.labels.items():
            known.setdefault(label, row.gold)
    rows = [
        Measured(words.visible(label), ("exact", "labels", label, "f1"), gold, {"gold": label})
        for label, gold in sorted(known.items(), key=lambda item: -item[1])
    ]
    return Group("Labels", "F1, the most frequent label first.", rows, slices=True, prefix="Label")


def _attributes(systems: Sequence[SystemScores]) -> list[Group]:
    tables = {name: table for one in reversed(systems) for name, table in one.attributes.items()}
    return [
        Group(
            titled(name),
            f"F1 over {table.unit}s.",
            [_bucket(name, bucket, table.unit) for bucket in table.buckets],
            slices=table.unit == "mention",
            prefix=titled(name),
        )
        for name, table in tables.items()
    ]


def _bucket(attribute: str, bucket: BucketScores, unit: str) -> Measured:
    choose = {"attribute": attribute, "bucket": bucket.name} if unit == "mention" else {}
    under = words.bucket(bucket)
    return Measured(
        words.visible(bucket.name), ("attributes", attribute, bucket.name, "f1"), bucket.gold, choose,
        "" if under == bucket.name else under,
    )  # fmt: skip


# ---- what the script is given -------------------------------------------------------------------


def packed_pairs(shown: Shown) -> dict[str, object]:
    """What the script draws a pair from: the scores of every system, and the tests of every pair."""
    document, order = shown.document, shown.order
    names, place = list(order), {name: at for at, name in enumerate(order)}
    measured = groups(document)
    paths = [row.path for group in measured for row in group.rows]
    row_of = {path: at for at, path in enumerate(paths)}
    comparisons = {
        (min(at), max(at)): row
        for row in document.comparisons
        for at in [[place[name] for name in row.systems]]
    }
    return {
        "short": [shortened(name, 26) for name in names],
        "letters": list(order.values()),
        "mentions": document.dataset.mentions,
        "groups": [to_builtins(group) for group in measured],
        "scores": [[_numbers(shown, name, path) for path in paths] for name in names],
        "pairs": {
            f"{i},{j}": {
                "head": headline(shown, names, i, j, comparisons.get((i, j))),
                **_pair(shown, names, i, j, comparisons.get((i, j)), row_of),
            }
            for i, j in combinations(range(len(names)), 2)
        },
        # What the document finds is about its best system and the next one.
        "first": [_item(worded(document, row)) for row in document.findings],
        "own": [[_item(worded(document, row)) for row in _own(shown, name)] for name in names],
    }


def _own(shown: Shown, name: str) -> Sequence[Found]:
    """What is said of a system alone; of several runs what more than half of them show."""
    document = shown.document
    if not shown.several(name):
        return findings_of(document, name, None)
    return findings_over_runs(
        {name: shown.runs[name]}, (), document.inputs, document.dataset, document.settings
    )


def _numbers(shown: Shown, name: str, path: Path) -> list[float | None] | None:
    """A score in points with both ends of its interval; of several runs the mean, and the score of each."""
    if not shown.several(name):
        value, ends = score_at(shown.document.systems[name], path)
        both = both_ends(ends)
        return None if value is None else [_points(value), *(map(_points, both) if both else ())]
    mean = mean_score(shown, name, path)
    if mean is None:
        return None
    ends = both_ends(shown.f1_interval(name)) if path == F1 else None
    runs = [_points(value) for value in run_values(shown, name, path) if value is not None]
    return [_points(mean), *(map(_points, ends) if ends else (None, None)), *runs]


def _points(value: float) -> float:
    return round(100 * value, 3)


def _pair(
    shown: Shown, names: Sequence[str], i: int, j: int,
    comparison: Comparison | None, row_of: Mapping[Path, int],
) -> dict[str, object]:  # fmt: skip
    """The finding, the tests and the parts of the lead of the system at `i` over that at `j`."""
    parts = {
        division: [[_part(division, part.name), *_bounded(part, sign)] for part in rows]
        for sign, lead in [_lead(shown, names[i], names[j], comparison)]
        for division, rows in lead.items()
    }
    if comparison is None:
        return {"lead": "", "tests": {}, "parts": parts}
    sign = 1 if comparison.systems[0] == names[i] else -1
    lead = lead_finding(comparison, names[i])
    return {
        "lead": "" if lead is None else _item(worded(shown.document, lead)),
        "detectable": _points(comparison.detectable) if comparison.detectable else None,
        "tests": {row_of[row.path]: _test(row, sign) for row in comparison.scores if row.path in row_of},
        "parts": parts,
    }


def _lead(
    shown: Shown, one: str, other: str, comparison: Comparison | None
) -> tuple[int, Mapping[str, Sequence[LeadPart]]]:
    """The parts of a lead, and the sign that they have; of several runs the mean over all pairs of runs."""
    if not shown.several(one) and not shown.several(other):
        if comparison is None:
            return 1, parts_of_lead(shown.document.systems[one], shown.document.systems[other])
        return (1 if comparison.systems[0] == one else -1), comparison.lead
    pairs = [parts_of_lead(a, b) for a in shown.runs[one].values() for b in shown.runs[other].values()]
    found: dict[str, list[LeadPart]] = {}
    for division in pairs[0]:
        if all(division in pair for pair in pairs):
            sums: dict[str, list[float]] = {}
            for pair in pairs:
                for part in pair[division]:
                    sums.setdefault(part.name, []).append(part.contribution)
            found[division] = [
                LeadPart(name=name, contribution=fsum(values) / len(pairs)) for name, values in sums.items()
            ]
    return 1, found


def _bounded(part: LeadPart, sign: int) -> list[float]:
    """A contribution in points, and both ends of its interval where it has one."""
    both = both_ends(part.interval) if part.interval else None
    ends = () if both is None else sorted(_points(sign * end) for end in both)
    return [_points(sign * part.contribution), *ends]


def _part(division: str, name: str) -> str:
    if division == "tough":
        return "predicted mentions" if name == PREDICTED else words.tough(name)
    return words.visible(name)


def _test(row: ScoreTest, sign: int) -> list[object]:
    """Difference, both ends of its interval, p and whether it is significant."""
    both = both_ends(row.interval)
    ends = [None, None] if both is None else sorted(_points(sign * end) for end in both)
    difference = None if row.difference is None else _points(sign * row.difference)
    return [difference, *ends, words.p_value(row.p_corrected), int(row.significant)]


def headline(shown: Shown, names: Sequence[str], i: int, j: int, comparison: Comparison | None) -> Markup:
    """Who of two systems scores what, and whether the lead is real; the better one stands at `i`."""
    first, second = (Markup('<span class="{}"><bdi>{}</bdi></span>').format(colour, words.visible(names[at]))
                     for at, colour in ((i, "c0"), (j, "c1")))  # fmt: skip
    scores = [words.points(shown.f1(names[at])) for at in (i, j)]
    test = None if comparison is None else comparison.score(F1)
    if test is None or test.difference is None:
        values = [shown.f1(names[at]) for at in (i, j)]
        if values[0] is None or values[1] is None:
            return Markup("{} scores {} F1, {} {}.").format(first, scores[0], second, scores[1])
        lead = words.signed(abs(values[0] - values[1])).lstrip("+")
        return Markup("{} scores {} F1, {} above {}. The lead was not tested.").format(
            first, scores[0], lead, second
        )
    lead = words.signed(abs(test.difference)).lstrip("+")
    if lead == "0.0":
        return Markup("{} scores {} F1, the same as {}.").format(first, scores[0], second)
    if comparison is not None and test.p_corrected is None:
        end = ""
    elif test.significant:
        end = " The lead holds when the data are resampled."
    else:
        p = words.p_value(test.p_corrected)
        end = f" A lead this small can be chance (p {p if p.startswith('<') else '= ' + p})."
    return Markup("{} scores {} F1, {} above {}.{}").format(first, scores[0], lead, second, end)


def _item(finding: VerdictItem) -> Markup:
    """A finding as an item of the list."""
    link = Markup()
    if finding.link and finding.href:
        link = Markup('<a href="{}">{}</a>').format(finding.href, finding.link)
    elif finding.link:
        link = Markup('<span class="muted">{}</span>').format(finding.link)
    item = (
        '<li{}><span class="sign {}" aria-hidden="true">{}</span><span><strong>{}</strong> {}</span>{}</li>'
    )
    sign = SIGNS.get(finding.sign, "")
    even = Markup(" data-even") if finding.even else ""
    return Markup(item).format(even, sign, finding.sign, finding.strong, finding.rest, link)
