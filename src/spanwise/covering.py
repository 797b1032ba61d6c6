"""Which positions of the gold mentions a system masks, counted per unit, without loops over mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Ints, distinct, ints, offsets, run_positions
from spanwise.corpus import Corpus, Mentions, with_one_labelling
from spanwise.counts import Counts
from spanwise.rates import LEAK_COUNTS

Matrix = npt.NDArray[np.int64]
_COLUMN = {name: number for number, name in enumerate(LEAK_COUNTS)}
_LAST_BLANK = 0x3000  # the highest code of a blank character
_BLANK = np.array([chr(code).isspace() for code in range(_LAST_BLANK + 1)] + [False])


class PositionAxis(Struct, frozen=True, eq=False):
    """The positions of a block in one row: its tokens or characters, sentence after sentence."""

    first: Ints  # of each sentence, and the number of all positions
    counted: Bools | None  # positions that are not blank; None: all
    known: bool  # whether the length of sentences is known, so that there is text outside mentions

    @classmethod
    def of(cls, corpus: Corpus, layers: Sequence[Mentions]) -> PositionAxis:
        """The positions of a corpus; without text they reach as far as the mentions of any layer do."""
        if corpus.unit == "character" and corpus.texts is not None:
            codes = np.frombuffer("".join(corpus.texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
            counted = ~_BLANK[np.minimum(codes, _LAST_BLANK + 1)]
            return cls(offsets([len(text) for text in corpus.texts]), counted, True)
        if not corpus.without_text:
            return cls(corpus.sentences, None, True)
        sizes = np.array(corpus.lengths)
        for mentions in layers:
            np.maximum.at(sizes, mentions.sentence, mentions.end)
        return cls(offsets(sizes), None, bool(corpus.sentences[-1]))

    @property
    def size(self) -> int:
        """The number of all positions."""
        return int(self.first[-1])

    def spans(self, mentions: Mentions) -> tuple[Ints, Ints, Ints]:
        """The mention, the first position and the end of every piece of a mention."""
        if mentions.parts is None:
            mention, start, end = ints(np.arange(len(mentions))), mentions.start, mentions.end
        else:
            mention = ints(np.repeat(np.arange(len(mentions)), np.diff(mentions.parts.at)))
            start, end = mentions.parts.start, mentions.parts.end
        first = self.first[mentions.sentence[mention]]
        return mention, ints(first + start), ints(first + end)

    def mask(self, mentions: Mentions) -> Bools:
        """The positions, blank or not, that any of the mentions covers."""
        _, begin, end = self.spans(mentions)
        change = np.bincount(begin, minlength=self.size + 1) - np.bincount(end, minlength=self.size + 1)
        return np.asarray(np.cumsum(change[:-1]) > 0)

    def counting(self, positions: Bools) -> Ints:
        """The numbers of the chosen positions that are not blank."""
        return ints(np.flatnonzero(positions if self.counted is None else positions & self.counted))

    def per_sentence(self) -> Ints:
        """How many positions of each sentence are not blank."""
        if self.counted is None:
            return ints(np.diff(self.first))
        return ints(np.diff(np.append(0, np.cumsum(self.counted))[self.first]))


class GoldPositions(Struct, frozen=True, eq=False, dict=True):
    """The gold mentions of a block, the unit and the document of each, and all their positions."""

    axis: PositionAxis
    mentions: Mentions
    units: int
    unit_of_sentence: Ints
    document_of_sentence: Ints  # the sentence itself where no documents are marked

    @cached_property
    def unit(self) -> Ints:
        """The unit of each mention."""
        return ints(self.unit_of_sentence[self.mentions.sentence])

    @cached_property
    def document(self) -> Ints:
        """The document of each mention."""
        return ints(self.document_of_sentence[self.mentions.sentence])

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Every position of every mention, blanks left out: the mention, and the position."""
        mention, begin, end = self.axis.spans(self.mentions)
        position, owner = run_positions(begin, end - begin), ints(np.repeat(mention, end - begin))
        if self.axis.counted is None:
            return owner, position
        kept = self.axis.counted[position]
        return ints(owner[kept]), ints(position[kept])

    @cached_property
    def apart(self) -> bool:
        """Whether no position belongs to two mentions."""
        return bool((np.diff(np.sort(self.pairs[1])) > 0).all())

    @cached_property
    def size(self) -> Ints:
        """How many positions each mention has."""
        return ints(np.bincount(self.pairs[0], minlength=len(self.mentions)))

    def tally(self, unit: Ints) -> Matrix:
        """How many events each unit has."""
        return np.bincount(unit, minlength=self.units)

    def once(self, chosen: Bools) -> Matrix:
        """How many different positions the chosen pairs have in each unit."""
        owner, position = self.pairs[0][chosen], self.pairs[1][chosen]
        if not self.apart:
            owner = owner[np.unique(position, return_index=True)[1]]
        return self.tally(self.unit[owner])

    def documents(self, chosen: Bools, leaking: Bools) -> tuple[Matrix, Matrix]:
        """The documents of the chosen mentions, and those with a leak, in the unit of their first mention."""
        rows = np.flatnonzero(chosen)
        found, first = np.unique(self.document[rows], return_index=True)
        unit = self.unit[rows[first]]
        leaks = np.isin(found, self.document[chosen & leaking])
        return self.tally(unit), self.tally(unit[leaks])


class Covered(Struct, frozen=True, eq=False, dict=True):
    """What one system masks of a block."""

    gold: GoldPositions
    predicted: Mentions  # those that could be placed on the gold text
    pairs: Bools  # which pairs of a gold mention and a position are hidden
    masked: Bools  # which positions are masked, whatever the label

    @classmethod
    def of(cls, gold: GoldPositions, predicted: Mentions, *, same_label: bool) -> Covered:
        """What the predictions of a system mask; with `same_label` only labels that are equal hide."""
        axis, (owner, position) = gold.axis, gold.pairs
        predicted = predicted.take(predicted.placed)
        masked = axis.mask(predicted)
        if not same_label:
            return cls(gold, predicted, masked[position], masked)
        wanted, given = with_one_labelling([gold.mentions, predicted])
        pairs, label = np.zeros(len(position), dtype=bool), wanted.label[owner]
        for code in distinct(wanted.label).tolist():
            own = label == code
            pairs[own] = axis.mask(given.take(given.label == code))[position[own]]
        return cls(gold, predicted, pairs, masked)

    @cached_property
    def number(self) -> Ints:
        """How many positions of each gold mention are hidden."""
        return ints(np.bincount(self.gold.pairs[0][self.pairs], minlength=len(self.gold.mentions)))

    @cached_property
    def hidden(self) -> Bools:
        """Which gold mentions are wholly hidden."""
        return np.asarray(self.number == self.gold.size)

    @cached_property
    def exposed(self) -> Bools:
        """Which gold mentions are not hidden at all."""
        return np.asarray((self.number == 0) & ~self.hidden)

    def columns(self, chosen: Bools) -> Matrix:
        """The counts of the chosen gold mentions, units × columns of `LEAK_COUNTS`."""
        gold = self.gold
        matrix = np.zeros((gold.units, len(LEAK_COUNTS)), dtype=np.int64)

        def put(name: str, column: Matrix) -> None:
            matrix[:, _COLUMN[name]] = column

        for name, kind in (("hidden", self.hidden), ("exposed", self.exposed)):
            put(name, gold.tally(gold.unit[chosen & kind]))
        put("mentions", gold.tally(gold.unit[chosen]))
        put("partly", gold.tally(gold.unit[chosen & ~self.hidden & ~self.exposed]))
        here = chosen[gold.pairs[0]]
        put("positions", gold.once(here))
        put("leaked", gold.once(here & ~self.pairs))
        for name, column in zip(
            ("documents", "documents_leaking"), gold.documents(chosen, ~self.hidden), strict=True
        ):
            put(name, column)
        return matrix

    def overall(self) -> Matrix:
        """The counts of all gold mentions, and what masking costs."""
        gold, axis = self.gold, self.gold.axis
        matrix = self.columns(np.ones(len(gold.mentions), dtype=bool))
        masked = axis.counting(self.masked)
        unit = gold.unit_of_sentence[np.searchsorted(axis.first, masked, side="right") - 1]
        matrix[:, _COLUMN["masked"]] = gold.tally(unit)
        outside = ~axis.mask(gold.mentions)[masked]
        matrix[:, _COLUMN["outside"]] = gold.tally(unit[outside])
        matrix[:, _COLUMN["spans"]] = gold.tally(gold.unit_of_sentence[self.predicted.sentence])
        if axis.known:
            text = np.bincount(gold.unit_of_sentence, weights=axis.per_sentence(), minlength=gold.units)
            matrix[:, _COLUMN["text"]] = text.astype(np.int64) - matrix[:, _COLUMN["positions"]]
        return matrix

    def counts(self, cells: Mapping[str, Bools], *, overall: bool = False) -> Counts:
        """The counts in named cells, each of some gold mentions; with `overall`, also of all of them."""
        tables = [self.overall()] if overall else []
        tables += [self.columns(chosen) for chosen in cells.values()]
        names = ["overall", *cells] if overall else list(cells)
        matrix = np.concatenate(tables, axis=1) if tables else np.zeros((self.gold.units, 0), dtype=np.int64)
        return Counts.of_matrix(names, LEAK_COUNTS, matrix)


class Identified(Struct, frozen=True, eq=False):
    """The gold mentions with an id: unit, document, id and label of each, and which systems leak it."""

    unit: Ints
    document: Ints  # by the number of the unit in which it begins
    identity: npt.NDArray[np.str_]
    label: npt.NDArray[np.str_]
    leaking: Mapping[str, Bools]
    without: int  # how many gold mentions have no id

    @classmethod
    def joined(cls, parts: Sequence[Identified], units: Sequence[int]) -> Identified:
        """Concatenate the mentions of consecutive parts; `units` is the number of units in each."""
        begins = np.cumsum([0, *units])[:-1].tolist()

        def shifted(name: str) -> Ints:
            return ints(
                np.concatenate([getattr(part, name) + at for part, at in zip(parts, begins, strict=True)])
            )

        return cls(
            shifted("unit"),
            shifted("document"),
            np.concatenate([part.identity for part in parts]),
            np.concatenate([part.label for part in parts]),
            {system: np.concatenate([part.leaking[system] for part in parts]) for system in parts[0].leaking},
            sum(part.without for part in parts),
        )

    def added(self, counts: Counts, system: str, labels: Mapping[str, str], *, across: bool) -> Counts:
        """The counts of a system with those of identities, each in the unit of its first mention.

        Args:
            labels: the label of each cell but that of all mentions.
            across: whether an id means the same in all documents.
        """
        matrix = counts.matrix().astype(np.int64).reshape(counts.units, len(counts.cells), len(LEAK_COUNTS))
        numbers = np.unique(self.identity, return_inverse=True)[1].reshape(-1)
        identity = numbers if across else self.document * (len(numbers) + 1) + numbers
        leaking = self.leaking[system]
        for cell, name in enumerate(counts.cells):
            rows = np.arange(len(identity))
            if name in labels:
                rows = np.flatnonzero(self.label == labels[name])
            found, first = np.unique(identity[rows], return_index=True)
            unit = self.unit[rows[first]]
            leaks = np.isin(found, identity[rows[leaking[rows]]])
            matrix[:, cell, _COLUMN["identities"]] = np.bincount(unit, minlength=counts.units)
            matrix[:, cell, _COLUMN["identities_leaking"]] = np.bincount(unit[leaks], minlength=counts.units)
        return Counts.of_matrix(counts.cells, LEAK_COUNTS, matrix.reshape(counts.units, -1))
