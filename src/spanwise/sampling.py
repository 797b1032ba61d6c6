"""Draw the units that are to be annotated, at random or at random within strata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from spanwise.attributes import Values
from spanwise.buckets import fit
from spanwise.columns import Ints, distinct, frozen, ints
from spanwise.corpus import Annotation, Corpus
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.formats import Reader, rules_of
from spanwise.pairing import pair
from spanwise.uncertainty import draw_numbers

__all__ = ["sample"]

UNITS = ("sentence", "document")
DISAGREEMENT = "system-disagreement"
STRATA = ("label", "length", DISAGREEMENT)
LENGTHS = 4  # strata of about equal size


def sample(
    corpus: object,
    n: int,
    *,
    by: str = "sentence",
    strata: str | None = None,
    systems: Sequence[object] = (),
    seed: int = 0,
    **reading: Any,
) -> Annotation:
    """Draw units to annotate: simple random without replacement, or proportional within strata.

    Units keep their order. With strata, each stratum gets its share of `n`, rounded by largest remainder and
    at least one unit, and every sentence carries the fields `stratum` and `weight`, the number of units in
    the stratum divided by those drawn from it, which `evaluate(…, silver=…)` reads.

    Args:
        corpus: the data to draw from, as in `read`.
        n: the number of units.
        by: "sentence" or "document".
        strata: "label" (the rarest label of a unit), "length" (four groups by the number of tokens),
            "system-disagreement" (how many different annotations `systems` give a unit), or a field.
        systems: predictions for the corpus, for "system-disagreement".
        seed: the same seed draws the same units.
        reading: keywords of `spanwise.read`.

    Examples:
        >>> import spanwise
        >>> words = spanwise.read([["O"]] * 6, tokens=[["a"], ["b"], ["c"], ["d"], ["e"], ["f"]])
        >>> drawn = sample(words, 2)
        >>> [drawn.corpus.words(number) for number in range(len(drawn.corpus))]
        [['a'], ['f']]
    """
    if by not in UNITS:
        raise unknown("unit", by, UNITS)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ChoiceError(f"n is {n!r}, but must be a whole number above 0.")
    if systems and strata != DISAGREEMENT:
        raise ChoiceError(
            f"predictions of {many(len(systems), 'system')} are given, but they are only used to draw "
            f"within strata={DISAGREEMENT!r}.\nLeave them out, or draw within these strata."
        )
    reader = Reader(**reading, further=True)
    whole = reader.read(corpus)
    rules = rules_of(reading)
    unit_of = _units(whole.corpus, by)
    number = int(unit_of[-1]) + 1 if len(unit_of) else 0
    if n > number:
        raise InputError(f"{whole.reading.path}: there are {many(number, by)}, fewer than {n}.\nDraw fewer.")
    order = np.argsort(draw_numbers(seed, "units to annotate", 1, number)[0], kind="stable")
    if strata is None:
        rules.check(whole.labels_as_read)
        return whole.take(ints(np.flatnonzero(np.isin(unit_of, order[:n]))))
    predicted = [pair(whole.corpus, reader.read(system), align="strict").predicted for system in systems]
    rules.check(whole.labels_as_read, [name for own in predicted for name in own.labels_as_read])
    stratum = _strata(whole, unit_of, number, strata, predicted)
    sizes = np.bincount(stratum)
    shares = allocated(sizes.tolist(), n)
    kept = np.zeros(number, dtype=bool)
    for code, size in enumerate(shares):
        kept[order[stratum[order] == code][:size]] = True
    part = whole.take(ints(np.flatnonzero(kept[unit_of])))
    inside = unit_of[kept[unit_of]]
    weight = (sizes / np.asarray(shares))[stratum[inside]]
    fields = {**part.corpus.fields, "stratum": frozen(stratum[inside]), "weight": frozen(weight)}
    return replace(part, corpus=replace(part.corpus, fields=fields))


def number_of_strata(drawn: Annotation) -> int:
    """The number of groups that units were drawn within; 1 without strata."""
    stratum = drawn.corpus.fields.get("stratum")
    return 1 if stratum is None else len(distinct(np.asarray(stratum)))


def allocated(sizes: Sequence[int], n: int) -> list[int]:
    """How many units to draw from strata of these sizes: proportional, by largest remainder, at least one.

    Examples:
        >>> allocated([90, 9, 1], 10)
        [8, 1, 1]
    """
    if n < len(sizes):
        raise ChoiceError(
            f"n is {n}, but there are {len(sizes)} strata, each of which needs a unit.\n"
            "Draw more units, or use other strata."
        )
    total = sum(sizes)
    exact = [n * size / total for size in sizes]
    counts = [max(1, int(share)) for share in exact]
    while sum(counts) != n:  # one unit at a time, where it is the most missed or the least
        step = 1 if sum(counts) < n else -1
        able = [at for at, count in enumerate(counts) if (count < sizes[at] if step > 0 else count > 1)]
        counts[max(able, key=lambda at: step * (exact[at] - counts[at]))] += step
    return counts


def _units(corpus: Corpus, by: str) -> Ints:
    if by == "sentence":
        return ints(np.arange(len(corpus)))
    if corpus.document_of_sentence is None:
        raise InputError(
            f"{corpus.source.path}: the file marks no documents, so none can be drawn.\n"
            "Name them with --documents FIELD, or draw sentences."
        )
    return corpus.document_of_sentence


def _strata(
    whole: Annotation, unit_of: Ints, number: int, strata: str, predicted: Sequence[Annotation]
) -> Ints:
    """The number of each unit's stratum."""
    corpus, mentions = whole.corpus, whole.mentions
    if strata == "label":
        frequency = np.bincount(mentions.label, minlength=len(mentions.labels))
        rank = np.argsort(np.argsort(frequency, kind="stable"), kind="stable")
        rarest = np.full(number, len(mentions.labels), dtype=np.int64)
        np.minimum.at(rarest, unit_of[mentions.sentence], rank[mentions.label])
        return _numbered(rarest)
    if strata == "length":
        lengths = np.bincount(unit_of, weights=corpus.lengths, minlength=number)
        values = Values(lengths, np.ones(number, bool), whole=True)
        return _numbered(fit(f"balanced:{LENGTHS}", values).assign(values))
    if strata == DISAGREEMENT:
        return _disagreeing(unit_of, number, predicted)
    if strata not in corpus.fields:
        raise unknown("stratum", strata, [*STRATA, *corpus.fields])
    first = np.unique(unit_of, return_index=True)[1]
    return _numbered(np.asarray(corpus.fields[strata])[first])


def _disagreeing(unit_of: Ints, number: int, predicted: Sequence[Annotation]) -> Ints:
    if len(predicted) < 2:
        raise ChoiceError("strata by disagreement need at least two systems.\nName their files.")
    found: list[set[tuple[object, ...]]] = [set() for _ in range(number)]
    for annotation in predicted:
        mentions: list[list[tuple[int, int, int, str]]] = [[] for _ in range(number)]
        for row in annotation.mentions.rows():
            mentions[int(unit_of[row[0]])].append(row)
        for unit, rows in enumerate(mentions):
            found[unit].add(tuple(sorted(rows)))
    return _numbered(np.asarray([len(annotations) for annotations in found]))


def _numbered(values: np.ndarray[Any, Any]) -> Ints:
    return ints(np.unique(values, return_inverse=True)[1])
