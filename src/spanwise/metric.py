"""A metric for training loops: counts per unit that add up over batches, workers and any order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from numbers import Integral
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from spanwise.columns import Floats, plain
from spanwise.corpus import Annotation
from spanwise.counts import Counts
from spanwise.errors import ChoiceError, InputError, many
from spanwise.formats import read
from spanwise.formats.memory import span_of
from spanwise.intervals import jackknife
from spanwise.rates import RATES, f_beta
from spanwise.schemes import SCHEMES, SPELLINGS, Tags, malformed, situation, spelled
from spanwise.scores import ACCURACY, EXACT, Measure, MeasureKey
from spanwise.settings import CONFIDENCE

MOST_UNITS = 100_000
MOST_REMEMBERED = 1 << 16  # readings of a tag between its neighbours
_WIDTH = len(EXACT)

# The counts of a unit: its tokens, those with equal tags (None without tags), and a tuple of (label, gold,
# predicted, correct) for each label.
_Row = tuple[Any, ...]
# One sentence of one side: the label of each mention, and the number of tags; None if it was not tags.
_Side = tuple[dict[Hashable, str], int | None]

_STARTS, _ENDS, _IMPOSSIBLE = 1, 2, 4


_STATE = ("rows", "sentences", "repairs", "size", "filled")


class _State(Struct, forbid_unknown_fields=True):
    """A metric as bytes: its arguments, and what it has counted."""

    scheme: str
    labels: tuple[str, ...] | None
    beta: tuple[float, ...]
    most_units: int
    rows: list[tuple[int | None, int | None, tuple[tuple[str, int, int, int], ...]]]
    named: list[tuple[str | int | float, int]]
    sentences: int
    repairs: int
    size: int
    filled: int


class Metric:
    """Exact scores of predicted mentions, added up batch by batch.

    Any split of the data into batches and workers, in any order, gives the scores of
    `spanwise.evaluate(gold, predicted, scheme=scheme)` to the last bit, and its intervals to rounding.
    The state is one row of counts per unit: a sentence, or what `unit` names. Above `most_units`, neighbours
    are joined, which changes intervals only.

    Args:
        scheme: how tags are written; impossible tags are repaired as conlleval does. A batch is too small to
            recognise it from.
        labels: the labels to score; mentions with other labels are left out. By default, all that occur.
        beta: the F-betas to return besides F1, such as 2 or [0.5, 2].
        most_units: the largest number of units to keep.

    Examples:
        >>> metric = Metric()
        >>> metric.update([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
        >>> metric.update([["O", "B-PER"]], [["O", "B-PER"]])
        >>> scores = metric.compute()
        >>> scores["precision"], round(scores["f1"], 3), scores["labels"]["LOC"]["recall"]
        (1.0, 0.8, 0.0)
    """

    def __init__(
        self,
        *,
        scheme: str = "IOB2",
        labels: Sequence[str] | None = None,
        beta: float | Sequence[float] | None = None,
        most_units: int = MOST_UNITS,
    ) -> None:
        if isinstance(labels, str):
            raise ChoiceError(f"labels is {labels!r}, but must be a list.\nGive the labels as [{labels!r}].")
        if isinstance(most_units, bool) or not isinstance(most_units, int) or most_units < 2:
            raise ChoiceError(
                f"most_units is {most_units!r}, but must be a whole number above 1, such as {MOST_UNITS}."
            )
        self.scheme = scheme if scheme in SPELLINGS else SCHEMES.find(scheme).name
        self.labels = None if labels is None else tuple(labels)
        betas = () if beta is None else (beta,) if isinstance(beta, int | float) else tuple(beta)
        self.beta = tuple(betas)
        self.most_units = most_units
        self.betas = tuple(name for each in betas if (name := f_beta(each).name) not in RATES)
        self._reader = _TagReader(self.scheme)
        self.reset()

    def reset(self) -> None:
        """Forget everything that was added."""
        self._rows: list[_Row] = []
        self._named: dict[Hashable, int] = {}  # the position of each unit with a name
        self._totals: dict[str, list[int]] = {}
        self._tokens: list[int] | None = [0, 0]  # with equal tags, of all; None: not all sentences have tags
        self._sentences = 0
        self._repairs = 0
        self._size = 1  # how many units are joined to one row
        self._filled = 1  # how many the last row holds

    def update(
        self, gold: Iterable[Any], predicted: Iterable[Any], *, unit: Sequence[Hashable] | None = None
    ) -> None:
        """Add a batch of sentences.

        Args:
            gold: one item per sentence: a list of tags, a list of spans (start, end, label), or a record.
            predicted: the predictions for the same sentences, in any of these forms.
            unit: the unit of each sentence, such as the id of its document; by default, each sentence is one.

        Raises:
            InputError: the two sides do not belong together, or a tag or span is malformed. Nothing is added.

        Examples:
            >>> metric = Metric()
            >>> metric.update([[(0, 2, "PER")]], [[(0, 2, "PER"), (4, 5, "LOC")]], unit=["document 1"])
            >>> metric.compute()["precision"]
            0.5
        """
        sides = [self._read(side, words) for side, words in ((gold, "gold"), (predicted, "predicted"))]
        (true, true_repairs), (found, found_repairs) = sides
        if len(true) != len(found):
            raise InputError(
                f"gold has {many(len(true), 'sentence')}, but the predictions have {len(found)}.\n"
                "Give one list of predictions for each sentence."
            )
        if unit is not None and len(unit) != len(true):
            raise InputError(
                f"there are {many(len(unit), 'unit')} for {many(len(true), 'sentence')}.\n"
                "Give the unit of each sentence, such as the id of its document."
            )
        rows = [_compared(*pair, number) for number, pair in enumerate(zip(true, found, strict=True))]
        for number, row in enumerate(rows):
            self._add(row, None if unit is None else unit[number])
        self._sentences += len(rows)
        self._repairs += true_repairs + found_repairs

    def merge(self, other: Metric) -> None:
        """Add what another metric, perhaps of another process, has counted; units with equal names are one.

        Examples:
            >>> one, two = Metric(), Metric()
            >>> one.update([["B-PER"]], [["B-PER"]])
            >>> two.update([["B-PER"]], [["O"]])
            >>> one.merge(two)
            >>> one.compute()["recall"]
            0.5
        """
        if not isinstance(other, Metric):
            raise ChoiceError(f"{other!r} is not a spanwise.Metric.\nMerge metrics of the same kind.")
        for name in ("scheme", "labels"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ChoiceError(
                    f"the metrics have different values of {name}: {mine!r} and {theirs!r}.\n"
                    "Merge metrics that were made with the same arguments."
                )
        rows, size, filled = list(other._rows), other._size, other._filled
        for row in rows:
            self._count(row)
        names = {position: name for name, position in other._named.items()} if size == 1 else {}
        while size < self._size:
            rows, filled = _halved(rows, size, filled)
            size *= 2
        while self._size < size:
            self._halve()
        if not names or self._size > 1:
            self._append(rows, filled)
        else:
            for position, row in enumerate(rows):
                self._place(row, names.get(position))
        self._sentences += other._sentences
        self._repairs += other._repairs

    def compute(self, intervals: bool = False) -> dict[str, Any]:
        """The scores over everything added so far; undefined ones (0/0) are None.

        Args:
            intervals: whether to add "interval" beside each score: 95% intervals over units. It takes longer.

        Returns:
            "precision", "recall", "f1" (and "f2" … for `beta`), the numbers of "gold", "predicted" and
            "correct" mentions, "accuracy" of tokens (None without tags), the averages over labels "macro" and
            "weighted", all of them per label in "labels", "sentences", "units" and "repairs". If units were
            joined, "joined" is how many of them make up one of "units".

        Examples:
            >>> metric = Metric(beta=2)
            >>> metric.update([["B-PER"], ["B-LOC"], ["O"]], [["B-PER"], ["O"], ["O"]])
            >>> scores = metric.compute(intervals=True)
            >>> round(scores["f2"], 3), [round(end, 2) for end in scores["interval"]["f1"]]
            (0.556, [0.0, 1.0])
        """
        names = sorted(self._totals if self.labels is None else {*self.labels})
        exact = self._counts(names, whole=not intervals)
        measures = [
            Measure(MeasureKey("exact"), exact, "exact with overall", ()),
            Measure(MeasureKey("averages"), exact, "averages", ()),
        ]
        overall, *of_labels = _scored(measures[0].with_rates(self.betas), intervals, cells=len(names) + 1)
        totals = exact.total
        for cell, row in zip(
            (overall, *of_labels), (totals.sum(axis=0).tolist(), *totals.tolist()), strict=True
        ):
            cell.update(zip(EXACT, row, strict=True))
        accuracy = self._accuracy(intervals)
        overall["accuracy"] = accuracy["accuracy"]
        if "accuracy" in accuracy.get("interval", {}):
            overall["interval"]["accuracy"] = accuracy["interval"]["accuracy"]
        macro, weighted = _scored(measures[1].with_rates(self.betas), intervals, cells=2)
        overall["macro"], overall["weighted"] = macro, weighted
        overall["labels"] = dict(zip(names, of_labels, strict=True))
        overall |= {"sentences": self._sentences, "units": len(self._rows), "repairs": self._repairs}
        if self._size > 1:
            overall["joined"] = self._size
        return overall

    def to_bytes(self) -> bytes:
        """The arguments and everything counted, to send to another process; `of_bytes` reads it.

        Names of units must be strings or numbers.

        Examples:
            >>> metric = Metric()
            >>> metric.update([["B-PER"]], [["B-PER"]])
            >>> Metric.of_bytes(metric.to_bytes()).compute()["f1"]
            1.0
        """
        state = {
            "scheme": self.scheme,
            "labels": self.labels,
            "beta": self.beta,
            "most_units": self.most_units,
            **{name: getattr(self, f"_{name}") for name in _STATE},
            "named": list(self._named.items()),
        }
        return msgspec.json.encode(state)

    @classmethod
    def of_bytes(cls, data: bytes) -> Metric:
        """The metric that `to_bytes` wrote.

        Raises:
            InputError: `to_bytes` did not write these bytes.
        """
        try:
            state = msgspec.json.decode(data, type=_State)
        except msgspec.DecodeError as error:
            raise InputError(
                f"these bytes are not the state of a metric ({error}).\nGive what Metric.to_bytes returned."
            ) from None
        metric = cls(
            scheme=state.scheme, labels=state.labels, beta=state.beta or None, most_units=state.most_units
        )
        metric._rows, metric._named = list(state.rows), dict(state.named)
        metric._sentences, metric._repairs = state.sentences, state.repairs
        metric._size, metric._filled = state.size, state.filled
        for row in state.rows:
            metric._count(row)
        return metric

    @property
    def note(self) -> str | None:
        """One sentence if units were joined, which intervals depend on; otherwise None."""
        if self._size == 1:
            return None
        return (
            f"There were more than {self.most_units:,} units, so {self._size} neighbours at a time count as "
            "one; this changes intervals, not scores."
        )

    def __repr__(self) -> str:
        return f"<spanwise.Metric: {many(self._sentences, 'sentence')}, {many(len(self._rows), 'unit')}>"

    # ---- units --------------------------------------------------------------------------------

    def _add(self, row: _Row, name: Hashable | None) -> None:
        self._count(row)
        self._place(row, name)

    def _count(self, row: _Row) -> None:
        """Add a row to the totals."""
        if row[0] is None:
            self._tokens = None
        elif self._tokens is not None:
            self._tokens[0] += row[0]
            self._tokens[1] += row[1]
        for label, *numbers in row[2]:
            total = self._totals.get(label)
            if total is None:
                self._totals[label] = numbers
            else:
                for column in range(_WIDTH):
                    total[column] += numbers[column]

    def _place(self, row: _Row, name: Hashable | None) -> None:
        """Add a row to its unit."""
        position = None if name is None else self._named.get(name)
        if position is None:
            if self._filled < self._size:
                position = len(self._rows) - 1
                self._filled += 1
            else:
                self._rows.append(row)
                self._filled = 1
            if name is not None:
                self._named[name] = len(self._rows) - 1
        if position is not None:
            self._rows[position] = _sum(self._rows[position], row)
        while len(self._rows) > self.most_units:
            self._halve()

    def _append(self, rows: Sequence[_Row], filled: int) -> None:
        if rows:
            self._rows += rows
            self._filled = filled
        while len(self._rows) > self.most_units:
            self._halve()

    def _halve(self) -> None:
        """Join neighbours, and forget the oldest names if there are too many."""
        self._rows, self._filled = _halved(self._rows, self._size, self._filled)
        self._size *= 2
        recent = list(self._named.items())[-self.most_units :]
        self._named = {name: position // 2 for name, position in recent}

    # ---- reading ------------------------------------------------------------------------------

    def _read(self, batch: Iterable[Any], words: str) -> tuple[list[_Side], int]:
        """The mentions of each sentence of one side, and how many tags were repaired."""
        if isinstance(batch, str | bytes | Mapping) or not isinstance(batch, Iterable):
            raise InputError(
                f"{words} is {batch!r:.80}.\nGive a batch: one list of tags, or of spans, for each sentence."
            )
        listed = list(batch)
        if listed and isinstance(listed[0], Mapping):
            return self._of_annotation(read(listed, scheme=self.scheme, name=f"<{words}>"))
        sides: list[_Side] = []
        repairs = 0
        for number, sentence in enumerate(listed):
            if isinstance(sentence, str | Mapping) or not hasattr(sentence, "__len__"):
                raise InputError(
                    f"{words}: sentence {number + 1} is {sentence!r:.80}.\n"
                    "Give one list of tags, or of spans, for each sentence, even if there is only one: [[…]]."
                )
            if len(sentence) and not isinstance(sentence[0], str | Integral):
                sides.append((self._of_spans(sentence, f"{words}: sentence {number + 1}"), None))
                continue
            mentions, wrong = self._reader.read(sentence, words, number)
            repairs += wrong
            sides.append((self._scored_labels(mentions), len(sentence)))
        return sides, repairs

    def _scored_labels(self, mentions: dict[Hashable, str]) -> dict[Hashable, str]:
        if self.labels is None:
            return mentions
        return {key: label for key, label in mentions.items() if label in self.labels}

    def _of_spans(self, sentence: Iterable[Any], location: str) -> dict[Hashable, str]:
        mentions: dict[Hashable, str] = {}
        for span in sentence:
            start, end, label = span_of(span, location)
            key = (start, end, label)
            if key in mentions:
                raise InputError(
                    f"{location}: the mention {label} [{start}, {end}) occurs twice.\nRemove one of them."
                )
            mentions[key] = label
        return self._scored_labels(mentions)

    def _of_annotation(self, annotation: Annotation) -> tuple[list[_Side], int]:
        corpus, mentions = annotation.corpus, annotation.mentions
        sides: list[dict[Hashable, str]] = [{} for _ in range(len(corpus))]
        for (sentence, start, end, label), pieces in zip(mentions.rows(), mentions.pieces(), strict=True):
            key = (start, end, label) if len(pieces) == 1 else (pieces, label)
            sides[sentence][key] = label
        flat = corpus.unit != "character" and annotation.reading.scheme is not None
        lengths = corpus.lengths.tolist() if flat else [None] * len(sides)
        return [
            (self._scored_labels(side), length) for side, length in zip(sides, lengths, strict=True)
        ], annotation.reading.repairs

    # ---- scores -------------------------------------------------------------------------------

    def _counts(self, names: Sequence[str], *, whole: bool) -> Counts:
        """The counts of each label, per unit or as a whole."""
        if whole:
            totals = [self._totals.get(name, [0] * _WIDTH) for name in names]
            return Counts.of_matrix(names, EXACT, np.array(totals, dtype=np.int64).reshape(1, -1))
        place = {name: number * _WIDTH for number, name in enumerate(names)}
        matrix = np.zeros((len(self._rows), len(names) * _WIDTH), dtype=np.int32)
        entries = [
            (unit, place[label] + column, number)
            for unit, row in enumerate(self._rows)
            for label, *numbers in row[2]
            for column, number in enumerate(numbers)
        ]
        if entries:
            unit, column, number = np.array(entries).T
            matrix[unit, column] = number
        return Counts.of_matrix(names, EXACT, matrix)

    def _accuracy(self, intervals: bool) -> dict[str, Any]:
        if self._tokens is None or not self._tokens[0]:
            return {"accuracy": None}
        rows = [row[:2] for row in self._rows] if intervals else [self._tokens]
        counts = Counts.of_matrix(["overall"], ACCURACY, np.array(rows, dtype=np.int32))
        return _scored(Measure(MeasureKey("accuracy"), counts, "accuracy", ()), intervals, cells=1)[0]


class _TagReader(dict[tuple[str, str, str], int]):
    """What a tag between its neighbours does, asked of the decoder once for each such triple."""

    def __init__(self, scheme: str) -> None:
        super().__init__()
        self._spelling = scheme if scheme in SPELLINGS else None
        self._scheme = SCHEMES.find({"token": "BIOES", "bare": "IOB2"}.get(scheme, scheme))

    def __missing__(self, triple: tuple[str, str, str]) -> int:
        tags = [spelled(tag, self._spelling) for tag in triple]
        starts, ends, wrong = situation(Tags.of([tags]), 1, self._scheme)
        impossible = wrong and self._spelling != "bare"  # whose scheme is not known
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        self[triple] = starts * _STARTS | ends * _ENDS | impossible * _IMPOSSIBLE
        return self[triple]

    def read(self, tags: Sequence[str], words: str, number: int) -> tuple[dict[Hashable, str], int]:
        """The mentions of a sentence, and the number of impossible tags."""
        mentions: dict[Hashable, str] = {}
        start = wrong = 0
        before = "O"
        for position, (tag, after) in enumerate(zip(tags, chain(tags[1:], ("O",)), strict=False)):
            if tag == "O":
                before = tag
                continue
            try:
                what = self[before, tag, after]
            except (InputError, AttributeError, TypeError):
                raise self._refused(tags, words, number) from None
            if what & _STARTS:
                start = position
            if what & _ENDS:
                label = spelled(tag, self._spelling).partition("-")[2]
                mentions[start, position + 1, label] = label
            if what & _IMPOSSIBLE:
                wrong += 1
            before = tag
        return mentions, wrong

    def _refused(self, tags: Sequence[Any], words: str, number: int) -> InputError:
        """The error for the first malformed tag of a sentence."""
        troubles = enumerate(map(self._trouble, tags), start=1)
        token, trouble = next((token, trouble) for token, trouble in troubles if trouble)
        return InputError(f"{words}: sentence {number + 1}, token {token}: {trouble}")

    def _trouble(self, tag: object) -> str | None:
        if isinstance(tag, str):
            return malformed(spelled(tag, self._spelling))
        return f"the tag {tag!r} is not a string.\nGive tags such as 'B-PER', not their numbers."


def _compared(gold: _Side, predicted: _Side, number: int) -> _Row:
    """The counts of one sentence."""
    (true, size), (found, other) = gold, predicted
    if size is not None and other is not None and size != other:
        raise InputError(
            f"sentence {number + 1} has {many(size, 'gold tag')}, but {many(other, 'predicted tag')}.\n"
            "Both sides need one tag for each token."
        )
    counts: dict[str, list[int]] = {}
    for key, label in true.items():
        cell = counts.setdefault(label, [0, 0, 0])
        cell[0] += 1
        if key in found:
            cell[2] += 1
    for label in found.values():
        counts.setdefault(label, [0, 0, 0])[1] += 1
    row = tuple((label, *numbers) for label, numbers in counts.items())
    if size is None or other is None:
        return None, None, row
    if true.keys() == found.keys():
        return size, size, row
    tags, others = _inside(true), _inside(found)
    differing = sum(tags.get(position) != others.get(position) for position in tags.keys() | others.keys())
    return size, size - differing, row


def _inside(mentions: dict[Any, str]) -> dict[int, tuple[str, bool]]:
    """The label of each token in a mention, and whether the mention begins there: its tag in IOB2."""
    return {
        position: (label, position == start)
        for (start, end, label) in mentions
        for position in range(start, end)
    }


def _sum(one: _Row, other: _Row) -> _Row:
    tokens = (None, None) if one[0] is None or other[0] is None else (one[0] + other[0], one[1] + other[1])
    cells = {label: numbers for label, *numbers in one[2]}
    for label, *numbers in other[2]:
        before = cells.get(label, (0, 0, 0))
        cells[label] = [first + second for first, second in zip(before, numbers, strict=True)]
    return (*tokens, tuple((label, *numbers) for label, numbers in cells.items()))


def _halved(rows: list[_Row], size: int, filled: int) -> tuple[list[_Row], int]:
    """The rows with neighbours joined, and how many units the last of them holds."""
    joined = [reduce(_sum, rows[at : at + 2]) for at in range(0, len(rows), 2)]
    return joined, filled if len(rows) % 2 else size + filled


def _scored(measure: Measure, intervals: bool, *, cells: int) -> list[dict[str, Any]]:
    """The scores of each cell, with intervals if there are units to leave out."""
    if not intervals or not measure.counts.units:
        values = measure.values()
        return [{name: plain(array[cell]) for name, array in values.items()} for cell in range(cells)]
    result: list[dict[str, Any]] = [{"interval": {}} for _ in range(cells)]
    for name, error in jackknife(measure).items():
        bounds = error.interval(CONFIDENCE)
        for cell, (value, ends) in enumerate(zip(error.value, bounds, strict=True)):
            result[cell][name] = plain(value)
            if result[cell][name] is not None:
                result[cell]["interval"][name] = _ends(ends)
    return result


def _ends(bounds: Floats) -> list[float] | None:
    return None if np.isnan(bounds).any() else [float(bounds[0]), float(bounds[1])]
