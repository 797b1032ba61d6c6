"""Coefficients of agreement for units on a continuum: Krippendorff's alpha_u, and gamma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, combinations
from math import fsum

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.agreement._jackknife import MOST_CONTINUA, UnitPlan, plain_t
from spanwise.agreement._shared import Cells, Presence, Shared
from spanwise.columns import Bools, Floats, Ints, distinct, floats, ints, offsets, plain, run_positions
from spanwise.document.agreement import UnitizingAgreement
from spanwise.errors import MissingExtra

NOWHERE = -1  # the annotator has no unit with the label


class Continua(Struct, frozen=True, eq=False):
    """Units on continua, in columns."""

    annotator: Ints
    continuum: Ints
    label: Ints
    begin: Ints
    end: Ints


class Concatenation(Struct, frozen=True, eq=False):
    """Counts over consecutive documents that all annotators have, laid end to end.

    `before` and `behind` are the gaps before the first and after the last unit of each annotator and label,
    NOWHERE if there is none; the gaps between parts follow from them.
    """

    documents: int
    length: int
    unusable: bool  # whether α_u is undefined in any of them
    observed: Ints  # by label
    units: Cells  # label and length
    gaps: Cells  # label and length, between units of the same annotator
    before: Ints  # annotators × labels
    behind: Ints

    @classmethod
    def of(
        cls, units: Continua, common: Ints, whole: Ints, unusable: Bools, observed: Floats, annotators: int
    ) -> Concatenation:
        """Count some documents of a block."""
        labels = observed.shape[1]
        joined, length = _concatenated(units, common, whole)
        run = joined.annotator * labels + joined.label
        same = run[1:] == run[:-1]
        gap = (joined.begin[1:] - joined.end[:-1])[same]
        label = joined.label[1:][same][gap > 0]
        before, behind = (np.full(annotators * labels, NOWHERE) for _ in range(2))
        first = np.append(True, ~same)[: len(run)]
        last = np.append(~same, True)[: len(run)]
        before[run[first]] = joined.begin[first]
        behind[run[last]] = length - joined.end[last]
        return cls(
            documents=len(common),
            length=length,
            unusable=bool(unusable[common].any()),
            observed=ints(observed[common].sum(axis=0)),
            units=Cells.of(joined.label, joined.end - joined.begin),
            gaps=Cells.of(label, gap[gap > 0]),
            before=ints(before.reshape(annotators, labels)),
            behind=ints(behind.reshape(annotators, labels)),
        )

    @classmethod
    def joined(cls, parts: Sequence[Concatenation]) -> Concatenation:
        """Lay consecutive parts with the same labels end to end."""
        before, behind, length = parts[0].before, parts[0].behind, parts[0].length
        gaps = [part.gaps for part in parts]
        for part in parts[1:]:
            some, more = before >= 0, part.before >= 0
            between = behind + part.before
            label = np.broadcast_to(np.arange(before.shape[1]), before.shape)
            met = some & more & (between > 0)
            gaps.append(Cells.of(label[met], between[met]))
            before = np.where(some, before, np.where(more, length + part.before, NOWHERE))
            behind = np.where(more, part.behind, np.where(some, behind + part.length, NOWHERE))
            length += part.length
        return cls(
            documents=sum(part.documents for part in parts),
            length=length,
            unusable=any(part.unusable for part in parts),
            observed=ints(sum(part.observed for part in parts)),
            units=Cells.joined([part.units for part in parts]),
            gaps=Cells.joined(gaps),
            before=ints(before),
            behind=ints(behind),
        )

    def relabeled(self, new_code: Ints, labels: int) -> Concatenation:
        """Replace each label code by `new_code[code]`, out of `labels` codes."""
        observed = np.zeros(labels, dtype=np.int64)
        observed[new_code] = self.observed
        before, behind = (np.full((len(self.before), labels), NOWHERE) for _ in range(2))
        before[:, new_code], behind[:, new_code] = self.before, self.behind
        return replace(
            self,
            observed=ints(observed),
            units=self.units.renamed([0], lambda code: new_code[code]),
            gaps=self.gaps.renamed([0], lambda code: new_code[code]),
            before=ints(before),
            behind=ints(behind),
        )

    def disagreement(self) -> tuple[Floats, Floats]:
        """The observed and expected disagreement of each label."""
        everyone = np.ones((len(self.before), 1), dtype=bool)
        observed = self.observed[None, :].astype(np.float64)
        values = disagreement(observed, _expected(self), everyone, ints([self.length]))
        return values[0][0], values[1][0]


class UnitSums(Struct, frozen=True, eq=False):
    """Sums over a block for α_u: its value for each document, and counts over documents that all have.

    The latter are in groups of consecutive documents, each of which the jackknife leaves out.
    """

    text: bool
    documents: Mapping[int, float | None]  # α_u by number, for documents that two or more annotators have
    used: Bools  # by label: whether any unit has it
    groups: Mapping[int, Concatenation]

    @classmethod
    def of(cls, block: Shared, plan: UnitPlan) -> UnitSums:
        """Count a block."""
        n, labels, present = len(block.annotators), len(block.labels), block.present
        lengths = _sentence_lengths(block)
        if lengths is None:
            return cls(False, {}, np.zeros(labels, dtype=bool), {})
        units, whole = _on_documents(block, lengths)
        unusable = _unusable(block, units)
        observed = observed_sums(units, present, labels)
        single = disagreement(observed, expected_sums(units, present, whole, labels), present, whole)
        documents = {
            int(block.numbers[index]): None if unusable[index] else _alpha(single[0][index], single[1][index])
            for index in np.flatnonzero(present.sum(axis=0) >= 2).tolist()
        }
        common = np.flatnonzero(present.all(axis=0))
        group = plan.of_documents(block, MOST_CONTINUA)[common]
        return cls(
            text=True,
            documents=documents,
            used=np.bincount(units.label, minlength=labels) > 0,
            groups={
                number: Concatenation.of(units, ints(common[group == number]), whole, unusable, observed, n)
                for number in distinct(group).tolist()
            },
        )

    @classmethod
    def joined(cls, parts: Sequence[UnitSums]) -> UnitSums:
        """Combine the sums of consecutive blocks with the same labels; a group may continue in the next."""
        groups: dict[int, list[Concatenation]] = {}
        for part in parts:
            for number, group in part.groups.items():
                groups.setdefault(number, []).append(group)
        return cls(
            text=all(part.text for part in parts),
            documents={number: value for part in parts for number, value in part.documents.items()},
            used=np.any([part.used for part in parts], axis=0),
            groups={number: Concatenation.joined(own) for number, own in groups.items()},
        )

    def relabeled(self, new_code: Ints, labels: int) -> UnitSums:
        """Replace each label code by `new_code[code]`, out of `labels` codes."""
        used = np.zeros(labels, dtype=bool)
        used[new_code] = self.used
        groups = {number: group.relabeled(new_code, labels) for number, group in self.groups.items()}
        return replace(self, used=used, groups=groups)


def unitizing(
    presence: Presence, labels: Sequence[str], sums: UnitSums, *, cut_document: bool
) -> UnitizingAgreement:
    """α_u of each document that two or more annotators have, and of the concatenation of those that all have.

    `1 - ΣD_o / ΣD_e` over labels; undefined if D_e is 0, or if an annotator's mentions of one label overlap
    or are discontinuous. If the only document is split between blocks, it equals the concatenation.

    References:
        Krippendorff (1995), On the reliability of unitizing continuous data.
    """
    if not sums.text:
        return UnitizingAgreement(
            all=None, documents={}, why="the files hold no text, so the continuum has no length"
        )
    documents = {presence.documents[number]: value for number, value in sums.documents.items()}
    if not sums.groups:
        return UnitizingAgreement(all=None, documents=documents, why="no document is shared by all")
    groups = list(sums.groups.values())
    whole = Concatenation.joined(groups)
    if whole.unusable:
        if cut_document:
            documents = dict.fromkeys(documents)
        return UnitizingAgreement(
            all=None, documents=documents, why="mentions of one label overlap or are discontinuous"
        )
    observed, expected = whole.disagreement()
    by_label = {
        name: _alpha(observed[[code]], expected[[code]])
        for code, name in enumerate(labels)
        if sums.used[code]
    }
    value = _alpha(observed, expected)
    if cut_document:
        documents = dict.fromkeys(documents, value)
    ends, why = plain_t(value, _left_out(groups), most=1.0)
    marked = presence.by_document
    return UnitizingAgreement(
        all=value,
        documents=documents,
        observed=fsum(observed),
        expected=fsum(expected),
        labels=by_label,
        why="no one marked anything" if value is None else None,
        interval={"all": ends} if marked else UNSET,
        no_interval={"all": why} if marked and why else UNSET,
        groups=len(groups) if marked and len(groups) < whole.documents else UNSET,
    )


def _left_out(groups: Sequence[Concatenation]) -> Floats:
    """α_u without each group of documents, from what comes before it and what comes after."""
    before: list[Concatenation] = list(accumulate(groups, lambda a, b: Concatenation.joined([a, b])))
    after = list(accumulate(reversed(groups), lambda a, b: Concatenation.joined([b, a])))[::-1]
    values = []
    for at in range(len(groups) if len(groups) > 1 else 0):
        parts = [*before[max(at - 1, 0) : at], *after[at + 1 : at + 2]]
        value = _alpha(*Concatenation.joined(parts).disagreement())
        values.append(np.nan if value is None else value)
    return floats(values)


def _expected(sums: Concatenation) -> tuple[Floats, Floats]:
    """The `expected_sums` of the concatenation, from the numbers of units and gaps of each length.

    Computed with integers, so that the result does not depend on the order of units.
    """
    labels = len(sums.observed)
    above, below = np.zeros((1, labels)), np.zeros((1, labels))
    for label in range(labels):
        units = dict(zip(*(column.ravel().tolist() for column in _own(sums.units, label)), strict=True))
        if not units:
            continue
        gaps = dict(zip(*(column.ravel().tolist() for column in _own(sums.gaps, label)), strict=True))
        for before, behind in zip(
            sums.before[:, label].tolist(), sums.behind[:, label].tolist(), strict=True
        ):
            for gap in (before, behind) if before >= 0 else (sums.length,):
                if gap > 0:
                    gaps[gap] = gaps.get(gap, 0) + 1
        number = sum(units.values())
        longest = sorted(gaps, reverse=True)
        chance = index = fitting = room = 0
        for length in sorted(units, reverse=True):
            while index < len(longest) and longest[index] >= length:
                fitting += gaps[longest[index]]
                room += gaps[longest[index]] * longest[index]
                index += 1
            sections = (number - 1) * (length * (length - 1) * (2 * length - 1) // 3)
            chance += units[length] * (sections + length**2 * (room - fitting * (length - 1)))
        above[0, label] = chance
        below[0, label] = sum(times * length * (length - 1) for length, times in units.items())
    return above, below


def _own(cells: Cells, label: int) -> tuple[Ints, Ints]:
    own = cells.where(label)
    return own.rows, own.count


def _alpha(observed: Floats, expected: Floats) -> float | None:
    above, below = fsum(observed), fsum(expected)
    return plain(1 - above / below) if below > 0 else None


def _sentence_lengths(block: Shared) -> Ints | None:
    corpus = block.corpus
    if corpus.without_text:
        return None
    if corpus.unit == "character":
        return ints([len(text) for text in corpus.texts or ()])
    return corpus.lengths


def _on_documents(block: Shared, lengths: Ints) -> tuple[Continua, Ints]:
    """The mentions of all annotators as units on their documents, and the length of each document."""
    number = len(block.numbers)
    whole = ints(np.bincount(block.document, weights=lengths, minlength=number))
    origin = offsets(lengths)[:-1] - offsets(whole)[:-1][block.document]
    sizes = [len(mentions) for mentions in block.mentions]
    sentence = np.concatenate([mentions.sentence for mentions in block.mentions])
    shift = origin[sentence]
    units = Continua(
        annotator=ints(np.repeat(np.arange(len(sizes)), sizes)),
        continuum=ints(block.document[sentence]),
        label=ints(np.concatenate([mentions.label for mentions in block.mentions])),
        begin=ints(shift + np.concatenate([mentions.start for mentions in block.mentions])),
        end=ints(shift + np.concatenate([mentions.end for mentions in block.mentions])),
    )
    return _sorted(units), whole


def _sorted(units: Continua) -> Continua:
    order = np.lexsort((units.begin, units.continuum, units.label, units.annotator))
    return _chosen(units, ints(order))


def _chosen(units: Continua, rows: Ints | Bools) -> Continua:
    return Continua(
        units.annotator[rows], units.continuum[rows], units.label[rows], units.begin[rows], units.end[rows]
    )


def _unusable(block: Shared, units: Continua) -> Bools:
    """Which documents have mentions by one annotator, with one label, that overlap or are discontinuous."""
    bad = np.zeros(len(block.numbers), dtype=bool)
    same = _same_run(units)
    bad[units.continuum[1:][same & (units.begin[1:] < units.end[:-1])]] = True
    for mentions in block.mentions:
        if mentions.parts is not None:
            several = np.diff(mentions.parts.at) > 1
            bad[block.document[mentions.sentence[several]]] = True
    return bad


def _same_run(units: Continua) -> Bools:
    """Whether each unit but the first has the same annotator, label and continuum as the one before."""
    columns = (units.annotator, units.label, units.continuum)
    return np.asarray(np.all([column[1:] == column[:-1] for column in columns], axis=0))


def observed_sums(units: Continua, present: Bools, labels: int) -> Floats:
    """Sums of squared distances over unordered pairs of annotators (continua × labels).

    Two overlapping units contribute the squared distances of their begins and of their ends; a unit in a gap
    of the other annotator contributes its squared length.
    """
    continua = present.shape[1]
    sums = np.zeros(continua * labels)
    stride = int(units.end.max(initial=0)) + 1
    # Laying continua and labels end to end lets one search find all overlaps of two annotators.
    cell = units.continuum * labels + units.label
    begin, end = cell * stride + units.begin, cell * stride + units.end
    rows = []
    for party in range(len(present)):
        own = np.flatnonzero(units.annotator == party)
        rows.append(own[np.argsort(begin[own], kind="stable")])
    for i, j in combinations(range(len(present)), 2):
        both = present[i] & present[j]
        first, second = (own[both[units.continuum[own]]] for own in (rows[i], rows[j]))
        low = np.searchsorted(end[second], begin[first], "right")
        high = np.searchsorted(begin[second], end[first], "left")
        sizes = np.maximum(high - low, 0)
        left = np.repeat(first, sizes)
        matched = run_positions(low, sizes)
        right = second[matched]
        _add(sums, cell[left], (begin[left] - begin[right]) ** 2 + (end[left] - end[right]) ** 2)
        lone = first[sizes == 0]
        _add(sums, cell[lone], (end[lone] - begin[lone]) ** 2)
        lonely = np.ones(len(second), dtype=bool)
        lonely[matched] = False
        lone = second[lonely]
        _add(sums, cell[lone], (end[lone] - begin[lone]) ** 2)
    return sums.reshape(continua, labels)


def _add(sums: Floats, cell: Ints, values: Ints) -> None:
    sums += np.bincount(cell, weights=values, minlength=len(sums))


def expected_sums(units: Continua, present: Bools, whole: Ints, labels: int) -> tuple[Floats, Floats]:
    """The numerator, and the term Σ ℓ(ℓ-1) of the denominator, of expected disagreement (continua × labels).

    The numerator is the sum over units of length ℓ of `(N - 1)/3 · ℓ(ℓ-1)(2ℓ-1) + ℓ² Σ (gap - ℓ + 1)`, where
    the inner sum is over all gaps of at least this length; N is the number of units with the label.
    """
    continua = present.shape[1]
    above, below = np.zeros((continua, labels)), np.zeros((continua, labels))
    for label in range(labels):
        own = _chosen(units, units.label == label)
        if not len(own.begin):
            continue
        length = (own.end - own.begin).astype(np.float64)
        number = np.bincount(own.continuum, minlength=continua)
        chance = (number[own.continuum] - 1) / 3 * length * (length - 1) * (2 * length - 1)
        chance += length**2 * _room(own, present, whole)
        above[:, label] = np.bincount(own.continuum, weights=chance, minlength=continua)
        below[:, label] = np.bincount(own.continuum, weights=length * (length - 1), minlength=continua)
    return above, below


def _room(own: Continua, present: Bools, whole: Ints) -> Floats:
    """For each unit, the number of positions at which it fits into the gaps of all annotators."""
    annotator, continuum = np.nonzero(present)
    # With an empty unit at the beginning of each continuum, the first gap is like all others.
    who = np.concatenate([annotator, own.annotator])
    where = np.concatenate([continuum, own.continuum])
    begin = np.concatenate([np.full(len(annotator), -1), own.begin])
    end = np.concatenate([np.zeros(len(annotator), np.int64), own.end])
    order = np.lexsort((begin, where, who))
    who, where, begin, end = who[order], where[order], begin[order], end[order]
    follows = np.append((who[1:] == who[:-1]) & (where[1:] == where[:-1]), False)
    until = np.where(follows, np.append(begin[1:], 0), whole[where])
    gap, where = (until - end)[until > end], where[until > end]
    stride = int(max(gap.max(initial=0), (own.end - own.begin).max(initial=0))) + 1
    key = np.sort(where * stride + gap)
    length = key % stride
    total = np.concatenate([[0.0], np.cumsum(length)])
    first = np.searchsorted(key, own.continuum * stride + (own.end - own.begin), "left")
    last = np.searchsorted(key, (own.continuum + 1) * stride, "left")
    return np.asarray(total[last] - total[first] - (last - first) * (own.end - own.begin - 1.0))


def disagreement(
    observed: Floats, expected: tuple[Floats, Floats], present: Bools, whole: Ints
) -> tuple[Floats, Floats]:
    """The observed and expected disagreement, D_o and D_e, of each continuum and label."""
    annotators = present.sum(axis=0).astype(np.float64)[:, None]
    length = np.maximum(whole, 1).astype(np.float64)[:, None]
    pairs = np.maximum(annotators * (annotators - 1), 1)
    above, squares = expected
    below = annotators * length * (annotators * length - 1) - squares
    chance = np.divide(2 / length * above, below, out=np.zeros_like(above), where=below > 0)
    return 2 * observed / (pairs * length**2), chance


def _concatenated(units: Continua, common: Ints, whole: Ints) -> tuple[Continua, int]:
    """Lay the units of some documents end to end as one continuum; also return its length."""
    origin = np.full(len(whole), -1, dtype=np.int64)
    origin[common] = offsets(whole[common])[:-1]
    kept = origin[units.continuum] >= 0
    own = _chosen(units, kept)
    shift = origin[own.continuum]
    nowhere = np.zeros(len(own.begin), dtype=np.int64)
    joined = Continua(own.annotator, ints(nowhere), own.label, ints(own.begin + shift), ints(own.end + shift))
    return _sorted(joined), int(whole[common].sum())


def gamma_of(block: Shared) -> dict[int, float | None]:
    """γ of each document of a block that several annotators have, by number; None if it cannot be computed.

    Positions and labels are combined with the package's defaults. It samples from NumPy's global generator,
    which is seeded here and restored afterwards.

    References:
        Mathet, Widlöcher and Métivier (2015), The unified and holistic method gamma (γ).
    """
    try:
        from pyannote.core import Segment
        from pygamma_agreement import CombinedCategoricalDissimilarity, Continuum
    except ModuleNotFoundError as error:
        raise MissingExtra.of("pygamma-agreement", "agreement", "gamma") from error
    lengths = block.corpus.lengths
    if block.corpus.texts is not None:
        lengths = np.array([len(text) for text in block.corpus.texts])
    origin = block.position + np.concatenate([[0], np.cumsum(lengths)])
    result: dict[int, float | None] = {}
    before = np.random.get_state()
    try:
        for document, number in enumerate(block.numbers.tolist()):
            present = np.flatnonzero(block.present[:, document]).tolist()
            if len(present) < 2:
                continue
            continuum = Continuum()
            owners: list[int] = []
            for annotator in present:
                continuum.add_annotator(block.annotators[annotator])
                mentions = block.mentions[annotator]
                own = np.flatnonzero(block.document[mentions.sentence] == document)
                for sentence, start, end, label in mentions.take(own).rows():
                    at = int(origin[sentence])
                    owners.append(annotator)
                    continuum.add(block.annotators[annotator], Segment(at + start, at + end), label)
            # Chance is sampled from the units of every annotator, so each needs at least one.
            marked = set(owners) == set(present)
            np.random.seed(0)
            gamma = continuum.compute_gamma(CombinedCategoricalDissimilarity()) if marked else None
            result[number] = None if gamma is None else float(gamma.gamma)
    finally:
        np.random.set_state(before)
    return result
