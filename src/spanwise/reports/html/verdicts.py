"""The words of the page: verdicts, findings, and the scores by which two systems are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from markupsafe import Markup, escape
from msgspec import UNSET, Struct, to_builtins

from spanwise.diagnosis import F1, PREDICTED, lead_over_runs, mean_of, or_nan
from spanwise.document.evaluation import DatasetRuns, Evaluation
from spanwise.document.scores import (
    PRIMARY,
    BucketScores,
    Comparison,
    Finding,
    LeadPart,
    ScoreTest,
    SystemScores,
)
from spanwise.document.study import Study
from spanwise.findings import findings_of, findings_over_runs
from spanwise.reports._charts import SERIES, shortened, titled
from spanwise.reports._document import examples
from spanwise.views import wording as words
from spanwise.views.cells import Clause
from spanwise.views.shown import (
    Path,
    ShownDataset,
    both_ends,
    mean_score,
    run_values,
    score_at,
)
from spanwise.views.standing import family_of
from spanwise.views.verdict import of_dataset, of_pair, verdict

# ---- findings as list items, with links to their mentions --------------------------------------------


SIGNS = {"gain": "−", "tough": "−", "slice": "−", "lead": "+", "data": "!", "alias": "!", "truncation": "!"}
CLASSES = {"−": "sminus", "+": "splus", "!": "scheck"}


class Answered(Struct, frozen=True):
    """The answer of a document as markup, how it was tested, and what could change it."""

    headline: Markup
    reason: Markup
    test: str
    checks: Sequence[str]


def answered(document: Evaluation | Study, order: Sequence[str]) -> Answered:
    """The answer of a document, with systems in the colours of their order."""
    found = verdict(document)
    colours = {name: at for at, name in enumerate(order)}
    return Answered(
        coloured(found.sentence, colours), coloured(found.reason, colours), found.test, found.checks
    )


def findings(document: Evaluation, rows: Iterable[Finding] | None = None) -> list[Markup]:
    """The findings as HTML list items, without what the headline or the card of checks says."""
    rows = document.findings if rows is None else rows
    return [_item(document, row) for row in rows if row.kind != "lead" and not _checked(row)]


def _checked(row: Finding) -> bool:
    """Whether a finding about the data is one of the tasks in the card of checks."""
    return row.kind == "data" and set(row.of or ()) <= {"repairs", "duplicates_with_train"}


def _item(document: Evaluation, finding: Finding) -> Markup:
    """A finding as an HTML list item, with a link to the mentions it counts."""
    strong, rest = words.finding_parts(finding)
    if not strong.startswith(words.visible(finding.system or "\0")):  # names keep their spelling
        strong = words.capital(strong)
    text, href = _link(document, finding)
    link = Markup()
    if text and href:
        link = Markup('<a href="{}">{}</a>').format(href, text)
    elif text:
        link = Markup('<span class="muted">{}</span>').format(text)
    sign = SIGNS[finding.kind]
    item = '<li><span class="sign {}" aria-hidden="true">{}</span><span><strong>{}:</strong> {}</span>{}</li>'
    return Markup(item).format(
        CLASSES[sign], sign, strong, f"{rest}{words.agreement(finding)}.", link
    )  # fmt: skip


def _link(document: Evaluation, finding: Finding) -> tuple[str | None, str | None]:
    """The number of mentions or errors behind a finding, and the link to them."""
    match finding.kind:
        case "gain":
            number = finding.count or 0
            href = examples(number, unit="error", system=finding.system, outcome=finding.path[1])
            return words.plural(number, "error"), href
        case "alias":
            chosen = {key: str(value) for key, value in finding.filter.items()}
            return words.plural(finding.value, "error"), examples(finding.value, unit="error", **chosen)
        case "data":
            return "method", "#method"
        case "truncation":
            return None, None
        case _:
            return _mentions(document, finding)


def _mentions(document: Evaluation, finding: Finding) -> tuple[str | None, str | None]:
    """The count of a finding and the link to its mentions; tokens have no link."""
    chosen: dict[str, str | None] = dict(finding.filter)
    number = finding.count
    if number is None:
        return None, None
    system = document.systems.get(chosen.pop("system", None) or finding.system or "")
    table = None if system is None else system.attributes.get(chosen.get("attribute") or "")
    if table is not None and table.unit != "mention":
        return words.plural(number, table.unit), None
    if finding.mentions is not UNSET and finding.mentions != number:
        # Fewer than the slice holds: the finding counts only the errors in it.
        chosen.update(system=finding.system, outcome="wrong")
        return f"{words.count(number)} wrong", examples(number, unit="gold", **chosen)
    return words.plural(number, "mention"), examples(number, unit="gold", **chosen)


# ---- a study: who leads on each dataset and over all of them, and whether that may be chance -------


def averages(study: Study) -> dict[str, float | None]:
    """The mean over datasets of each system's mean score; None unless it has a score on all of them."""
    return {
        name: mean.mean if mean.used == len(study.datasets) else None
        for name, row in study.analyses.holistic.items()
        for mean in [mean_of(or_nan(cell.mean) for cell in row.values())]
    }


def verdicts(study: Study, order: Sequence[str]) -> dict[str, Markup]:
    """Who leads on each dataset that has scores, with systems in the colours of their order."""
    colours = {name: at for at, name in enumerate(order)}
    family = family_of(study)
    return {
        name: coloured(of_dataset(part, study.settings, family).sentence, colours)
        for name, part in study.datasets.items()
        if part.runs
    }


def oddities(study: Study) -> list[tuple[str, str]]:
    """What is unusual about the data of each dataset, in words."""
    return [
        (name, words.finding_parts(row)[1])
        for name, part in study.datasets.items()
        for row in part.findings
        if row.kind == "data"
    ]


# ---- a pair: scores, tests, findings, and the parts of a lead --------------------------------------


class Measured(Struct, frozen=True):
    """A score by which a pair is compared: its name, its path, and the mentions it is about."""

    title: str
    path: Path
    count: int | None = None
    choose: Mapping[str, str] = {}
    under: str = ""


class ScoreGroup(Struct, frozen=True):
    """Scores that are compared in the same table."""

    title: str
    note: str
    rows: Sequence[Measured]
    slices: bool = False  # whether its rows are parts of the data
    prefix: str = ""  # put before the title of a row that is shown on its own


# ---- the scores by which a pair is compared -----------------------------------------------------


def groups(document: Evaluation) -> list[ScoreGroup]:
    """The scores to compare two systems by: overall, errors, tough subsets, labels and attributes."""
    systems = list(document.systems.values())
    listed = [_overall(), _gains(), _tough(systems), _labels(document), *_attributes(systems)]
    return [group for group in listed if group.rows]


def _overall() -> ScoreGroup:
    rows = [
        Measured("F1", F1),
        Measured("precision", ("exact", "overall", "precision")),
        Measured("recall", ("exact", "overall", "recall")),
        Measured("macro F1", ("exact", "macro", "f1")),
        Measured("fair F1", ("fair", "overall", "f1")),
    ]
    return ScoreGroup("Overall", "Exact span and label; fair scores count each error once.", rows)


def _gains() -> ScoreGroup:
    rows = [
        Measured(words.OUTCOMES[kind], ("gains", kind, "gain"), choose={"unit": "error", "outcome": kind})
        for kind in words.ERRORS
    ]
    return ScoreGroup("What fixing each kind of error would add", "Points of F1.", rows)


def _tough(systems: Sequence[SystemScores]) -> ScoreGroup:
    rows = []
    for subset, title in words.TOUGH.items():
        cell = next((row for system in systems for key, row in system.tough.items() if key == subset), None)
        if cell is not None:
            rows.append(
                Measured(
                    title, ("tough", subset, "overall", "recall"), cell.overall.mentions, {"tough": subset}
                )
            )
    return ScoreGroup("Tough mentions", "Recall, by what was seen in training.", rows, slices=True)


def _labels(document: Evaluation) -> ScoreGroup:
    gold_counts: dict[str, int] = {}
    for system in document.systems.values():
        for label, row in system.exact.labels.items():
            gold_counts.setdefault(label, row.gold)
    rows = [
        Measured(words.visible(label), ("exact", "labels", label, "f1"), gold, {"gold": label})
        for label, gold in sorted(gold_counts.items(), key=lambda item: -item[1])
    ]
    return ScoreGroup("Labels", "F1, the most frequent label first.", rows, slices=True, prefix="Label")


def _attributes(systems: Sequence[SystemScores]) -> list[ScoreGroup]:
    tables = {name: table for system in reversed(systems) for name, table in system.attributes.items()}
    return [
        ScoreGroup(
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


# ---- the data of pairs for the script -----------------------------------------------------------


def packed_pairs(shown: ShownDataset) -> dict[str, object]:
    """The data from which the script draws a pair: scores of every system and tests of every pair."""
    document, order = shown.document, shown.order
    names, position = list(order), {name: at for at, name in enumerate(order)}
    measured = groups(document)
    paths = [row.path for group in measured for row in group.rows]
    row_of = {path: at for at, path in enumerate(paths)}
    comparisons = {
        (min(at), max(at)): row
        for row in document.comparisons
        if position.keys() >= set(row.systems)  # a document may compare systems that it does not contain
        for at in [[position[name] for name in row.systems]]
    }
    return {
        "short": [shortened(name, 26) for name in names],
        "letters": list(order.values()),
        "mentions": document.dataset.mentions,
        "groups": [to_builtins(group) for group in measured],
        "scores": [[_numbers(shown, name, path) for path in paths] for name in names],
        "pairs": {
            f"{i},{j}": {
                **_head(shown, names[i], names[j]),
                **_pair(shown, names, i, j, comparisons.get((i, j)), row_of),
            }
            for i, j in combinations(range(len(names)), 2)
        },
        # The findings of the document are about its best system and the next one.
        "first": findings(document),
        "own": [findings(document, _own(shown, name)) for name in names],
    }


def _own(shown: ShownDataset, name: str) -> Sequence[Finding]:
    """The findings about a system alone; with several runs, those that more than half of them show."""
    document = shown.document
    if not shown.several(name):
        return findings_of(document, name, None)
    return findings_over_runs(
        {name: shown.runs[name]}, (), document.inputs, document.dataset, document.settings
    )


def _numbers(shown: ShownDataset, name: str, path: Path) -> list[float | None] | None:
    """A score in points with its interval; with several runs, their mean followed by each run's score."""
    if not shown.several(name):
        value, ends = score_at(shown.document.systems[name], path)
        both = both_ends(ends)
        return None if value is None else [_points(value), *(map(_points, both) if both else ())]
    mean = mean_score(shown, name, path)
    if mean is None:
        return None
    ends = both_ends(shown.score_interval(name)) if path == PRIMARY[shown.primary] else None
    runs = [_points(value) for value in run_values(shown, name, path) if value is not None]
    return [_points(mean), *(map(_points, ends) if ends else (None, None)), *runs]


def _points(value: float) -> float:
    return round(100 * value, 3)


def _pair(
    shown: ShownDataset, names: Sequence[str], i: int, j: int,
    comparison: Comparison | None, row_of: Mapping[Path, int],
) -> dict[str, object]:  # fmt: skip
    """The finding, the tests and the parts of the lead of the system at `i` over the one at `j`."""
    parts = {
        division: [[_part(division, part.name), *_bounded(part, sign)] for part in rows]
        for sign, lead in [_lead_parts(shown, names[i], names[j], comparison)]
        for division, rows in lead.items()
    }
    if comparison is None:
        return {"tests": {}, "parts": parts}
    sign = 1 if comparison.systems[0] == names[i] else -1
    return {
        "detectable": _points(comparison.detectable) if comparison.detectable else None,
        "tests": {row_of[row.path]: _test_row(row, sign) for row in comparison.scores if row.path in row_of},
        "parts": parts,
    }


def _lead_parts(
    shown: ShownDataset, system: str, other: str, comparison: Comparison | None
) -> tuple[int, Mapping[str, Sequence[LeadPart]]]:
    """The sign and the parts of a lead; with several runs, the means over all pairs of runs."""
    if comparison is not None and comparison.lead:
        return (1 if comparison.systems[0] == system else -1), comparison.lead
    return 1, lead_over_runs(list(shown.runs[system].values()), list(shown.runs[other].values()))


def _bounded(part: LeadPart, sign: int) -> list[float]:
    """A contribution in points, followed by both ends of its interval if it has one."""
    both = both_ends(part.interval) if part.interval else None
    ends = () if both is None else sorted(_points(sign * end) for end in both)
    return [_points(sign * part.contribution), *ends]


def _part(division: str, name: str) -> str:
    if division == "tough":
        return "predicted mentions" if name == PREDICTED else words.tough(name)
    return words.visible(name)


def _test_row(row: ScoreTest, sign: int) -> list[object]:
    """A difference, both ends of its interval, its p-value and whether it is significant."""
    both = both_ends(row.interval)
    ends = [None, None] if both is None else sorted(_points(sign * end) for end in both)
    difference = None if row.difference is None else _points(sign * row.difference)
    return [difference, *ends, words.p_value(row.p_corrected), int(row.significant)]


def _head(shown: ShownDataset, first: str, second: str) -> dict[str, object]:
    """The answer about two systems, of which the first scores higher, and how it was tested."""
    part = DatasetRuns(dataset=None, runs=shown.runs, comparisons=shown.document.comparisons)
    among = list(shown.order) if [first, second] == list(shown.order)[:2] else ()
    found = of_pair(part, shown.document.settings, first, second, among=among, family=shown.family)
    colours = {first: 0, second: 1}
    return {
        "head": coloured(found.sentence, colours),
        "reason": coloured(found.reason, colours),
        "how": found.test,
    }


def coloured(clause: Clause, colours: Mapping[str, int]) -> Markup:
    """The words as markup, with the names of systems in their colours."""
    names = [
        Markup('<span class="c{}"><bdi>{}</bdi></span>').format(colours[name] % SERIES, words.visible(name))
        if name in colours
        else Markup("<bdi>{}</bdi>").format(words.visible(name))
        for name in clause.names
    ]
    return Markup(escape(clause.text)).format(*names)
