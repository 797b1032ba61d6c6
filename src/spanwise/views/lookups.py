"""Lookups that several views share: labels in their order, keys of tables, and slices of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from spanwise.buckets import UNPLACED
from spanwise.conditions import AFTER, BEFORE, OUTCOME, SEARCHABLE, TOUGHNESS
from spanwise.document import given
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import OUTCOME_WORDS, SCORE_PATHS, SUBSET_WORDS
from spanwise.statistics import LEVEL
from spanwise.views.standing import family_of, tested_on
from spanwise.views.wording import attribute, defined, either, tough, visible

if TYPE_CHECKING:
    from spanwise.conditions import Condition, Criterion
    from spanwise.document.scores import AttributeScores, BucketScores
    from spanwise.document.study import Analyses, AttributeWise, ModelWise, RankedSlice, RankFlip, Study

_LAST = {"other": 1, UNPLACED: 2}  # the buckets that stand after all others, in this order

Key = TypeVar("Key", bound=str)
Value = TypeVar("Value")


def reversals(study: Study) -> list[RankFlip]:
    """The slices in which the order of two systems reverses, if both directions are significant.

    A slice's p-value is corrected over all other scores of its dataset, and by the number of datasets.
    """
    datasets = len(study.datasets) if family_of(study) == "study" else 1
    flips = []
    for flip in study.analyses.bucket_wise.rank_flips:
        tests = tested_on(study, flip.dataset)
        if (flip.overall, flip.here) not in tests.better:
            continue
        path = _slice_path(flip)
        for row in tests.comparisons:
            test = row.score(path) if set(row.systems) == {flip.overall, flip.here} else None
            if test is None or test.p_corrected is None or not test.difference or not test.significant:
                continue
            winner = row.systems[0 if test.difference > 0 else 1]
            if winner == flip.here and test.p_corrected * datasets < LEVEL:
                flips.append(flip)
    return flips


def _slice_path(row: RankedSlice) -> tuple[str, ...]:
    """The path, in comparisons, of the score of a slice."""
    score = row.score.removeprefix("fair_")
    if row.kind == "label":
        return ("fair" if score != row.score else "exact", "labels", row.name, score)
    if row.kind == "tough":
        return ("tough", row.name, "overall", "recall")
    return ("attributes", row.attribute or "", row.name, score)


def union(parts: Iterable[Mapping[Key, Value]]) -> dict[Key, Value]:
    """Merge mappings, keeping the first value of each key.

    Saved results that are compared need not have the same keys.
    """
    merged: dict[Key, Value] = {}
    for part in parts:
        for name, value in part.items():
            merged.setdefault(name, value)
    return merged


def scored_labels(document: Evaluation) -> list[str]:
    """The labels for which some system has scores, the most frequent gold labels first."""
    scored = union(system.exact.labels for system in document.systems.values())
    gold = (label for label in document.dataset.labels_in_order if label in scored)
    return list(dict.fromkeys([*gold, *scored]))


def buckets_of(tables: Iterable[AttributeScores]) -> list[BucketScores]:
    """The buckets of an attribute in any of these tables, each as the first table that has it shows it.

    Predicted mentions without a place, or with a value that gold lacks, have a bucket only if there are any.
    """
    buckets = union({bucket.name: bucket for bucket in table.buckets} for table in tables)
    return sorted(buckets.values(), key=lambda bucket: _LAST.get(bucket.name, 0))


def label_order(document: Evaluation) -> list[str]:
    """Every label in gold or predictions, the most frequent gold labels first."""
    order = dict.fromkeys(document.dataset.labels_in_order)
    for system in document.systems.values():
        order |= dict.fromkeys(label for label in system.exact.labels if label not in order)
    return list(order)


def inner_keys(tree: Mapping[str, Mapping[Key, Value]]) -> list[Key]:
    """The keys of all inner mappings, in order of first appearance."""
    return list(dict.fromkeys(key for inner in tree.values() for key in inner))


def highest(values: Iterable[float | None]) -> float | None:
    """The highest defined value; None if there are fewer than two to choose from."""
    inside = [value for value in values if value is not None and defined(value)]
    return max(inside) if len(inside) > 1 else None


def differing(cell: ModelWise | AttributeWise) -> float | None:
    """The p-value of the test that buckets differ, over units; None if they could not be tested."""
    return cell.buckets_differ.p if cell.buckets_differ else None


def greyed(cell: ModelWise | AttributeWise) -> bool:
    """Whether the buckets of an attribute cannot be told apart, or could not be tested."""
    p = differing(cell)
    return p is None or not p < LEVEL


def score_path(analyses: Analyses) -> tuple[str, ...]:
    """The path, in comparisons, of the score that a study is about."""
    return SCORE_PATHS[analyses.score or "f1"]


Contents: TypeAlias = Mapping[str, Mapping[str, str]]  # what the buckets of every attribute hold, by name
_SIGNS = {">=": "≥", "<=": "≤"}


def condition_words(condition: Condition, contents: Contents) -> str:
    """A condition in words, as slices are titled.

    Examples:
        >>> from spanwise.conditions import parse
        >>> holds = {"entity_length": {"XL": "≥ 4"}}
        >>> condition_words(parse("label=ORG,PER & toughness=UNSEEN-TOKENS & entity_length=XL"), holds)
        'entity length ≥ 4 & label is ORG or PER & never seen'
        >>> condition_words(parse("text=of & label!=LOC & sentence_length>=9"), {})
        'label is not LOC & sentence length ≥ 9 & text has of'
    """
    return " & ".join(clause_words(clause, contents) for clause in condition.clauses)


def clause_words(clause: Sequence[Criterion], contents: Contents) -> str:
    """Comparisons of which one must hold, in words."""
    return " or ".join(_criterion_words(criterion, contents) for criterion in clause)


def _criterion_words(criterion: Criterion, contents: Contents) -> str:
    name, operator, values = criterion.attribute, criterion.operator, criterion.values
    negated = "not " if operator == "!=" else ""
    if name in (TOUGHNESS, OUTCOME):
        known = {str(code): text for table in (SUBSET_WORDS, OUTCOME_WORDS) for code, text in table.items()}
        return negated + either([visible(known.get(value, value)) for value in values])
    if name in SEARCHABLE:
        verb = "" if name in (BEFORE, AFTER) else " has"
        return f"{negated}{name}{verb} {either(list(map(visible, values)))}"
    words = attribute(name)
    if operator not in ("=", "!="):
        return f"{words} {_SIGNS.get(operator, operator)} {visible(values[0])}"
    held = [visible(contents.get(name, {}).get(value) or value) for value in values]
    if name == "label" or not all(value[:1] in "([≥≤<>0123456789-" for value in held):
        return f"{words} is {negated}{either(held)}"
    signs = [
        value if value[0] in "≥≤<>" else f"in {value}" if value[0] in "([" else f"= {value}" for value in held
    ]
    return f"{negated}{words} {either(signs)}"


def slice_words(row: RankedSlice) -> str:
    """A slice of a study in words; a bucket is followed by what it holds."""
    name = visible(row.name)
    if row.kind == "label":
        return f"label is {name}"
    if row.kind == "tough" or not row.attribute:
        return tough(row.name)
    contents = visible(given(row.label) or "")
    if not contents or contents == name:
        return f"{attribute(row.attribute)} {name}"
    return f"{attribute(row.attribute)} {name} {contents if contents[0] in '([' else f'({contents})'}"
