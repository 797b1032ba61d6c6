"""The words of the page: verdicts, findings, and the scores by which two systems are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from markupsafe import Markup
from msgspec import UNSET, Struct, to_builtins
from msgspec.structs import replace

from spanwise.diagnosis import F1, PREDICTED, lead_over_runs, mean_of, or_nan
from spanwise.document import Settings, given
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import (
    PRIMARY,
    BucketScores,
    Comparison,
    Finding,
    LeadPart,
    ScoreTest,
    SystemScores,
)
from spanwise.document.study import DatasetTest, Study
from spanwise.findings import findings_of, findings_over_runs, lead_finding
from spanwise.reports._charts import shortened, titled
from spanwise.reports._document import examples
from spanwise.reports._shown import (
    Path,
    ShownDataset,
    both_ends,
    mean_score,
    run_values,
    score_at,
    study_settings,
)
from spanwise.views import sentences as sentences
from spanwise.views import wording as words
from spanwise.views.standing import compared, decides, ranked, tested_on

# ---- an evaluation: who scores what, whether the lead is real, and at most four findings -----------


class VerdictItem(Struct, frozen=True):
    """One sentence of the verdict: its sign, the emphasised start, the rest, and a link."""

    sign: str
    strong: str
    rest: str
    link: str | None = None
    href: str | None = None
    even: bool = False  # the systems differ in parts of the data but not overall: shown first


def verdict(document: Evaluation) -> list[tuple[str, str]]:
    """The headline as pieces of text, each with the system it names or an empty string."""
    order = ranked(document)
    first = order[0]
    primary = document.settings.primary or "f1"
    best = document.systems[first]
    scored = f" scores {words.points(best.primary(primary))} {words.SCORED[primary]}"
    pieces = [(words.visible(first), first), (scored, "")]
    if len(order) == 1:
        pair = words.interval(best.primary_ends(primary))
        return [*pieces, (f", between {pair.replace('–', ' and ')}." if pair else ".", "")]
    second = order[1]
    comparison = document.comparison(first, second)
    test = compared(document, first, second, PRIMARY[primary])
    if comparison is None or test is None or not words.defined(test.difference):
        score = words.points(document.systems[second].primary(primary))
        return [*pieces, (", ", ""), (words.visible(second), second), (f" {score}.", "")]
    rank = "" if len(order) == 2 else f", the next of {len(order)} systems"
    lead = words.signed(test.difference).lstrip("+")
    if not test.difference:
        return [*pieces, (", the same as ", ""), (words.visible(second), second), (".", "")]
    end = f"{rank}{_settled(comparison, document.settings)}."
    return [*pieces, (f", {lead} above ", ""), (words.visible(second), second), (end, "")]


def _settled(comparison: Comparison, settings: Settings, family: str = "") -> str:
    """What the test says about a lead: the better system, or that the two cannot be told apart."""
    test = comparison.primary
    if test is None or test.p_corrected is None:
        return ""
    how = sentences.how_tested(comparison, settings, family)
    verdict = "significantly better" if test.significant else f"the two {sentences.NOT_APART}"
    return f": {verdict} ({how})"


def findings(document: Evaluation) -> list[VerdictItem]:
    """The findings of the document in words, each with a link to its mentions."""
    return [worded(document, finding) for finding in document.findings]


def worded(document: Evaluation, finding: Finding) -> VerdictItem:
    """One finding in words."""
    match finding.kind:
        case "gain":
            return _over_runs(_gain(document, finding), finding)
        case "tough" | "slice":
            return _over_runs(_weak(document, finding), finding)
        case "lead":
            return _lead_item(document, finding)
        case "data":
            return _data(finding)
        case "alias":
            return _alias(finding)
        case "truncation":
            strong, rest = words.truncation_parts(finding)
            return VerdictItem("!", f"{strong}:", f"{rest}.")


def _over_runs(item: VerdictItem, finding: Finding) -> VerdictItem:
    """The item, followed by the number of runs that show the finding."""
    return replace(item, rest=f"{item.rest.removesuffix('.')}{words.agreement(finding)}.")


def _named(document: Evaluation, finding: Finding) -> str:
    """The system that a finding is about; empty if there is only one."""
    return words.visible(finding.system) if len(document.systems) > 1 else ""


def _gain(document: Evaluation, finding: Finding) -> VerdictItem:
    kind, name = finding.path[1], _named(document, finding)
    title = {
        "LE": "Wrong labels", "BE": "Wrong boundaries", "LBE": "Wrong label and boundary",
        "FN": "Missed mentions", "FP": "Spurious mentions",
    }[kind]  # fmt: skip
    title += f" cost {name} the most" if name else " cost the most"
    title += f", or {words.either([words.costly(tie) for tie in finding.ties])}:" if finding.ties else ":"
    rest = f"fixing them would add {words.points(finding.value)} F1."
    number = finding.count or 0
    href = examples(number, unit="error", system=finding.system, outcome=kind)
    return VerdictItem("−", title, rest, words.plural(number, "error"), href)


def _weak(document: Evaluation, finding: Finding) -> VerdictItem:
    score = words.SCORES.get(finding.score or "", finding.score)
    against, name = given(finding.against), _named(document, finding)
    if finding.kind == "tough":
        strong = f"New names are hard for {name}:" if name else "New names are hard:"
        rest = f"{score} {words.points(finding.value)} on mentions unseen with their label"
        rest += f", against {words.points(against)} on seen ones." if words.defined(against) else "."
    else:
        title = words.slice_title(_kind(finding), finding.path[-2], finding.title or None)
        strong = f"{name} is weak where {title}:" if name else f"Weak where {title}:"
        rest = f"{score} {words.points(finding.value)}"
        rest += f", against {words.points(against)} overall" if words.defined(against) else ""
        rest += f"{words.tested(finding)}."
    return VerdictItem("−", strong, rest, *_mentions(document, finding))


def _kind(finding: Finding) -> str:
    return {"exact": "label", "tough": "tough"}.get(finding.path[0], "bucket")


def _lead_item(document: Evaluation, finding: Finding) -> VerdictItem:
    other = words.visible(finding.other or "the next system")
    if finding.even:
        gain, loss = (words.path_title(path).rsplit(", ", 1) for path in (finding.path, finding.loses))
        strong = f"{words.capital(words.parts_differ(finding))}:"
        rest = f"{words.signed(finding.value)} {gain[1]} on {gain[0]}, "
        rest += f"{words.signed(given(finding.loss))} {loss[1]} on {loss[0]}."
        return VerdictItem("+", strong, rest, *_mentions(document, finding), even=True)
    if finding.path in PRIMARY.values():
        lead = f"{words.signed(finding.value)} {words.SCORED[finding.primary or 'f1']}."
        strong, rest = f"Ahead of {other} overall:", lead
    else:
        part = words.path_title(finding.path).rsplit(", ", 1)[0]
        score = words.SCORES.get(finding.score or "", finding.score)
        strong = f"Significantly ahead of {other} on {part}:"
        rest = f"{words.signed(finding.value)} {score} there."
    if finding.loses:
        part = words.path_title(finding.loses).rsplit(", ", 1)[0]
        rest += f" It trails in {part}."
    return VerdictItem("+", strong, rest, *_mentions(document, finding))


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


def _alias(finding: Finding) -> VerdictItem:
    strong, option = words.alias_parts(finding)
    href = examples(finding.value, unit="error", **{key: str(value) for key, value in finding.filter.items()})
    return VerdictItem(
        "!", f"{strong}:", f"{option}{words.agreement(finding)}", words.plural(finding.value, "error"), href
    )


def _data(finding: Finding) -> VerdictItem:
    names = {
        "repairs": "tag repaired", "duplicates_with_train": "test sentence also in training",
        "changed_tokens": "token changed", "unplaced": "mention without a place",
        "notes": "note on the files",
    }  # fmt: skip
    parts = []
    for key, number in (finding.of or {}).items():
        text = names.get(key, key)
        if number != 1:
            head, _, tail = text.partition(" ")
            many = {"tag": "tags", "test": "test", "token": "tokens", "mention": "mentions", "note": "notes"}
            text = f"{many.get(head, head)} {tail}".replace("test sentence ", "test sentences ")
        parts.append(f"{words.count(number)} {text}")
    if finding.few_units:
        parts.append(f"only {words.count(finding.few_units)} units: intervals are unreliable")
    rest = (", ".join(parts) or "see the method") + "."
    return VerdictItem("!", "Check the data:", rest, "method", "#method")


# ---- a study: who leads on each dataset and over all of them, and whether that may be chance -------


class DatasetVerdict(Struct, frozen=True):
    """The leader on one dataset, the runner-up, and the paired test of the lead."""

    dataset: str
    leader: str
    score: float
    second: str | None = None
    lead: float | None = None
    tested: bool = False
    significant: bool = False
    significance: str = ""  # what the test says, in words


class OverallVerdict(Struct, frozen=True):
    """The leader by the mean over datasets, and the rest of the sentence about it."""

    leader: str
    rest: str


def averages(study: Study) -> dict[str, float | None]:
    """The mean over datasets of each system's mean score; None unless it has a score on all of them."""
    return {
        name: mean.mean if mean.used == len(study.datasets) else None
        for name, row in study.analyses.holistic.items()
        for mean in [mean_of(or_nan(cell.mean) for cell in row.values())]
    }


def verdicts(study: Study) -> list[DatasetVerdict]:
    """Who leads on each dataset that has scores."""
    verdicts = [_verdict(study, dataset) for dataset in study.datasets]
    return [verdict for verdict in verdicts if verdict is not None]


def _verdict(study: Study, dataset: str) -> DatasetVerdict | None:
    rows = study.analyses.holistic
    means = {name: row[dataset].mean for name, row in rows.items() if dataset in row}
    order = _ranked(means)
    if not order:
        return None
    (first, score), *rest = order
    if not rest:
        return DatasetVerdict(dataset, first, score)
    second, below = rest[0]
    comparison = _dataset_comparison(study, dataset, first, second)
    test = None if comparison is None else comparison.primary
    return DatasetVerdict(
        dataset, first, score, second, score - below,
        tested=test is not None and test.p_corrected is not None,
        significant=(first, second) in tested_on(study, dataset).better,
        significance=sentences.told_apart(comparison),
    )  # fmt: skip


def _ranked(means: Mapping[str, float | None]) -> list[tuple[str, float]]:
    defined = [(name, mean) for name, mean in means.items() if mean is not None]
    return sorted(defined, key=lambda row: (-row[1], row[0]))


def _dataset_comparison(study: Study, dataset: str, system: str, other: str) -> Comparison | None:
    rows = study.datasets[dataset].comparisons
    return next((row for row in rows if set(row.systems) == {system, other}), None)


def overall_verdict(study: Study) -> OverallVerdict | None:
    """Who has the highest mean over datasets, by how much, and on how many datasets it leads."""
    order = _ranked(averages(study))
    if not order:
        return None
    (first, score), *rest = order
    number = len(study.datasets)
    datasets = words.plural(number, "dataset")
    sentence = (
        f" has the highest mean {words.study_score(study.analyses)} over {datasets}, {words.points(score)}"
    )
    if number == 1:
        sentence = f" has the highest mean {words.study_score(study.analyses)}, {words.points(score)}"
    if rest:
        second, below = rest[0]
        sentence += f": {words.points(score - below)} above {words.visible(second)}"
        sentence += _tested(study, first, second)
    leads = [row for row in verdicts(study) if row.leader == first]
    sure = sum(row.significant for row in leads)
    if number > 1:
        sentence += f". It scores highest on {len(leads)} of {number}"
    if number > 1 and any(row.tested for row in leads):
        sentence += f", and is significantly better than the next system on {sure or 'none'} of them"
    return OverallVerdict(first, f"{sentence}.")


def _tested(study: Study, system: str, other: str) -> str:
    """The test of the lead in words: on a single dataset, or over all of them."""
    if len(study.datasets) == 1:
        comparison = _dataset_comparison(study, next(iter(study.datasets)), system, other)
        return "" if comparison is None else _settled(comparison, study_settings(study))
    pairs = study.analyses.bucket_wise.comparative
    tests = (row.over_datasets for row in pairs if set(row.systems) == {system, other})
    over = next((candidate for candidate in tests if isinstance(candidate, DatasetTest)), None)
    if over is None:
        return ""
    if not decides(over):
        return f"; {words.plural(over.datasets, 'dataset')} are too few for Wilcoxon's test"
    how = [
        f"Wilcoxon over {words.plural(over.datasets, 'dataset')}",
        sentences.corrected(study.settings.correction, len(pairs)),
        f"p {sentences.sentence_p(given(over.p_corrected))}",
    ]
    verdict = "significantly more over datasets" if over.significant else f"the two {sentences.NOT_APART}"
    return f", {verdict} ({', '.join(part for part in how if part)})"


# ---- a pair: scores, tests, findings, and the parts of a lead --------------------------------------


SIGNS = {"−": "sminus", "+": "splus", "!": "scheck"}


class Measured(Struct, frozen=True):
    """A score by which a pair is compared: its name, its path, and the mentions it is about."""

    title: str
    path: Path
    count: int | None = None
    choose: Mapping[str, str] = {}
    under: str = ""


class Group(Struct, frozen=True):
    """Scores that are compared in the same table."""

    title: str
    note: str
    rows: Sequence[Measured]
    slices: bool = False  # whether its rows are parts of the data
    prefix: str = ""  # put before the title of a row that is shown on its own


# ---- the scores by which a pair is compared -----------------------------------------------------


def groups(document: Evaluation) -> list[Group]:
    """The scores to compare two systems by: overall, errors, tough subsets, labels and attributes."""
    systems = list(document.systems.values())
    listed = [_overall(), _gains(), _tough(systems), _labels(document), *_attributes(systems)]
    return [group for group in listed if group.rows]


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
        cell = next((row for system in systems for key, row in system.tough.items() if key == subset), None)
        if cell is not None:
            rows.append(
                Measured(
                    title, ("tough", subset, "overall", "recall"), cell.overall.mentions, {"tough": subset}
                )
            )
    return Group("Tough mentions", "Recall, by what was seen in training.", rows, slices=True)


def _labels(document: Evaluation) -> Group:
    gold_counts: dict[str, int] = {}
    for system in document.systems.values():
        for label, row in system.exact.labels.items():
            gold_counts.setdefault(label, row.gold)
    rows = [
        Measured(words.visible(label), ("exact", "labels", label, "f1"), gold, {"gold": label})
        for label, gold in sorted(gold_counts.items(), key=lambda item: -item[1])
    ]
    return Group("Labels", "F1, the most frequent label first.", rows, slices=True, prefix="Label")


def _attributes(systems: Sequence[SystemScores]) -> list[Group]:
    tables = {name: table for system in reversed(systems) for name, table in system.attributes.items()}
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
                "head": headline(shown, names, i, j, comparisons.get((i, j))),
                **_pair(shown, names, i, j, comparisons.get((i, j)), row_of),
            }
            for i, j in combinations(range(len(names)), 2)
        },
        # The findings of the document are about its best system and the next one.
        "first": [_item(worded(document, row)) for row in document.findings],
        "own": [[_item(worded(document, row)) for row in _own(shown, name)] for name in names],
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
        return {"lead": "", "tests": {}, "parts": parts}
    sign = 1 if comparison.systems[0] == names[i] else -1
    lead = lead_finding(comparison, names[i])
    return {
        "lead": "" if lead is None else _item(worded(shown.document, lead)),
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


def headline(
    shown: ShownDataset, names: Sequence[str], i: int, j: int, comparison: Comparison | None
) -> Markup:
    """What two systems score, and whether the lead is real; the better one is at `i`."""
    first, second = (Markup('<span class="{}"><bdi>{}</bdi></span>').format(colour, words.visible(names[at]))
                     for at, colour in ((i, "c0"), (j, "c1")))  # fmt: skip
    values = [shown.score(names[at]) for at in (i, j)]
    scored = f"{words.points(values[0])} {words.SCORED[shown.primary]}"
    test = None if comparison is None else comparison.primary
    if test is None or test.difference is None:
        if values[0] is None or values[1] is None:
            return Markup("{} scores {}, {} {}.").format(first, scored, second, words.points(values[1]))
        lead = words.signed(abs(values[0] - values[1])).lstrip("+")
        return Markup("{} scores {}, {} above {}. The lead was not tested.").format(
            first, scored, lead, second
        )
    lead = words.signed(abs(test.difference)).lstrip("+")
    if lead == "0.0":
        return Markup("{} scores {}, the same as {}.").format(first, scored, second)
    assert comparison is not None
    end = _settled(comparison, shown.document.settings, shown.family)
    return Markup("{} scores {}, {} above {}{}.").format(first, scored, lead, second, end)


def _item(finding: VerdictItem) -> Markup:
    """A finding as an HTML list item."""
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
