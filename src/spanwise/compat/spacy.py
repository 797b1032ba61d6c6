"""Scorers for spaCy pipelines: spaCy's own scores, and fair scores with the kinds of errors.

spaCy finds them by name through entry points: `@scorers = "spanwise.ner_scorer.v1"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.columns import Floats
from spanwise.corpus import Mentions, with_one_labelling
from spanwise.credits import credit_of
from spanwise.matching import OUTCOMES, match
from spanwise.scores import credited, exact

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span
    from spacy.training import Example

Scorer = Callable[..., dict[str, Any]]
Spans = list[tuple[int, int, str]]


def make_ner_scorer() -> Scorer:
    """The scorer for entities, registered as `spanwise.ner_scorer.v1`.

    Examples:
        >>> make_ner_scorer() is ner_score
        True
    """
    return ner_score


def make_spancat_scorer() -> Scorer:
    """The scorer for a span group, registered as `spanwise.spancat_scorer.v1`.

    Examples:
        >>> make_spancat_scorer() is spancat_score
        True
    """
    return spancat_score


def ner_score(examples: Iterable[Example], **_: object) -> dict[str, Any]:
    """Return `ents_p`, `ents_r`, `ents_f` and `ents_per_type` as spaCy computes them, and `ents_fair_*`.

    Predicted entities are mapped to gold tokens by their characters; an entity that begins or ends inside a
    gold token is wrong. Documents without entity annotation are skipped, and so are predictions on tokens
    without gold annotation.

    Examples:
        >>> import spacy
        >>> from spacy.training import Example
        >>> doc = spacy.blank("en")("Ann left")
        >>> ner_score([Example.from_dict(doc, {"entities": [(0, 3, "PER")]})])["ents_r"]
        0.0
    """
    pairs: list[tuple[Spans, Spans]] = []
    for example in examples:
        gold = example.reference
        if not gold.has_annotation("ENT_IOB"):
            continue
        unknown = np.cumsum([0, *(token.ent_iob == 0 for token in gold)])
        placed = _placed(example, example.predicted.ents)
        predicted = [
            (start, end, label) for start, end, label in placed if start < 0 or unknown[end] == unknown[start]
        ]
        pairs.append(([(ent.start, ent.end, ent.label_) for ent in gold.ents], predicted))
    return _scores(pairs, "ents")


def spancat_score(examples: Iterable[Example], *, spans_key: str = "sc", **_: object) -> dict[str, Any]:
    """Return `spans_sc_p`, `spans_sc_r`, `spans_sc_f`, `spans_sc_per_type` and `spans_sc_fair_*`.

    `sc` stands for the key of the span group, `spans_key`.

    Examples:
        >>> import spacy
        >>> from spacy.training import Example
        >>> doc = spacy.blank("en")("Ann left")
        >>> spancat_score([Example.from_dict(doc, {"spans": {"sc": [(0, 3, "PER")]}})])["spans_sc_r"]
        0.0
    """
    pairs: list[tuple[Spans, Spans]] = []
    for example in examples:
        if spans_key not in example.reference.spans:
            continue
        gold = {(span.start, span.end, span.label_) for span in example.reference.spans[spans_key]}
        pairs.append((sorted(gold), _placed(example, example.predicted.spans.get(spans_key, ()))))
    return _scores(pairs, f"spans_{spans_key}")


def _placed(example: Example, spans: Iterable[Span]) -> Spans:
    """Map predicted spans to gold tokens; positions are -1 if a boundary falls inside a gold token."""
    gold, predicted = example.reference, example.predicted
    if len(gold) == len(predicted) and all(a.text == b.text for a, b in zip(gold, predicted, strict=True)):
        rows = [(span.start, span.end, span.label_) for span in spans]
    else:
        starts, ends = _borders(gold)
        begins, stops = _offsets(predicted)
        rows = []
        for span in spans:
            start, end = starts.get(begins[span.start], -1), ends.get(stops[span.end - 1], -1)
            rows.append((start, end, span.label_) if 0 <= start < end else (-1, -1, span.label_))
    placed = dict.fromkeys(span for span in rows if span[0] >= 0)
    return [*placed, *(span for span in rows if span[0] < 0)]


def _offsets(doc: Doc) -> tuple[Sequence[int], Sequence[int]]:
    """The start and end of each token, counted in characters other than white space."""
    sizes = [len("".join(token.text.split())) for token in doc]
    ends = np.cumsum(sizes, dtype=np.int64)
    return (ends - np.array(sizes, dtype=np.int64)).tolist(), ends.tolist()


def _borders(doc: Doc) -> tuple[dict[int, int], dict[int, int]]:
    """For each offset, the token that starts there and the token after the one that ends there.

    White-space tokens are ignored.
    """
    begins, stops = _offsets(doc)
    tokens = [(begin, stop, index) for index, (begin, stop) in enumerate(zip(begins, stops, strict=True))]
    solid = [token for token in tokens if token[0] < token[1]]
    return {begin: position for begin, _, position in solid}, {
        stop: position + 1 for _, stop, position in solid
    }


def _scores(pairs: Sequence[tuple[Spans, Spans]], prefix: str) -> dict[str, object]:
    rows = [[(number, *span) for number, pair in enumerate(pairs) for span in pair[side]] for side in (0, 1)]
    gold, predicted = with_one_labelling([Mentions.of(side) for side in rows])
    fair_keys = ("fair_p", "fair_r", "fair_f")
    if not len(gold) and not len(predicted):
        keys = ("p", "r", "f", "per_type", *fair_keys, "errors")
        return {f"{prefix}_{key}": None for key in keys}
    matching = match(gold, predicted)
    right = matching.predicted_outcome == OUTCOMES.index("TP")
    number = len(gold.labels)
    counts = np.stack(
        [
            np.bincount(gold.label, minlength=number),
            np.bincount(predicted.label, minlength=number),
            np.bincount(predicted.label[right], minlength=number),
        ],
        axis=-1,
    )
    outcomes = np.bincount(matching.events().outcome, minlength=len(OUTCOMES))
    fair = credited(outcomes.astype(np.float64), credit_of("fair"))
    result: dict[str, object] = {f"{prefix}_{key}": value for key, value in _prf(counts.sum(axis=0)).items()}
    result[f"{prefix}_per_type"] = {label: _prf(row) for label, row in zip(gold.labels, counts, strict=True)}
    for key, name in zip(fair_keys, ("precision", "recall", "f1"), strict=True):
        result[f"{prefix}_{key}"] = _filled(fair[name])
    errors = dict(zip(OUTCOMES, outcomes.tolist(), strict=True))
    result[f"{prefix}_errors"] = {kind: count for kind, count in errors.items() if kind != "TP"}
    return result


def _prf(counts: object) -> dict[str, float]:
    scores = exact(np.asarray(counts, dtype=np.float64))
    return {
        short: _filled(scores[name]) for short, name in (("p", "precision"), ("r", "recall"), ("f", "f1"))
    }


def _filled(value: Floats) -> float:
    """Replace an undefined score with 0, as spaCy does."""
    return float(np.nan_to_num(value))
