"""Chance-corrected coefficients of agreement over tokens: alpha, Fleiss' kappa and Cohen's kappa."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.agreement._jackknife import UnitPlan, added, merged, plain_t
from spanwise.agreement._pairs import kappa_with_interval
from spanwise.agreement._shared import Cells, Presence, Shared
from spanwise.columns import Bools, Codes, Floats, Ints, distinct, floats, ints, plain, ratio, run_positions
from spanwise.corpus import Corpus, Mentions
from spanwise.document import Interval
from spanwise.document.agreement import CohenPair, TokenAgreement

TokenUnits = Literal["label", "iob2"]
MISSING = -1


class TokenSums(Struct, frozen=True, eq=False):
    """Sums over a block for token measures, by unit where the jackknife leaves units out.

    Category 0 is O; each label has one category, or two (B and I) for IOB2.
    """

    size: int  # tokens of all documents
    overlapping: Bools  # by annotator: whether some of their mentions share a token
    pairable: int  # tokens of documents that two or more annotators have
    given: int  # categories assigned to these
    outside: int  # how many of them are O
    unit: Ints
    unmarked: Ints  # by unit: annotators of tokens that nobody marked
    margins: Cells  # unit and category, at tokens that anyone marked
    agreeing: Cells  # unit and number of annotators of a token: ordered pairs of equal categories
    # By unit, in documents that all have: tokens, tokens that nobody marked, Σ counts, Σ counts².
    rated: Ints
    totals: Cells  # unit and category of the marked tokens of documents that all have
    cohen: Cells  # pair of annotators, unit, category of the first, category of the second

    @classmethod
    def of(cls, block: Shared, units: TokenUnits, plan: UnitPlan) -> TokenSums:
        """Count a block; nothing is counted if mentions overlap."""
        corpus, n = block.corpus, len(block.annotators)
        size = 0 if corpus.without_text else len(corpus.tokens)
        matrix = np.zeros((n, size), dtype=np.int32)
        token_document = np.repeat(block.document, corpus.lengths) if size else ints([])
        overlapping = np.zeros(n, dtype=bool)
        if size:
            for party, mentions in enumerate(block.mentions):
                overlapping[party] = not _label_tokens(matrix[party], corpus, mentions, units)
                matrix[party, ~block.present[party][token_document]] = MISSING
        if overlapping.any():
            matrix = matrix[:, :0]
            token_document = token_document[:0]
        of_documents = plan.of_documents(block)
        numbers = distinct(of_documents)
        unit = np.searchsorted(numbers, of_documents)[token_document]
        categories = len(block.labels) * (2 if units == "iob2" else 1) + 1
        everyone = np.all(block.present, axis=0)[token_document]
        whole, whole_unit = matrix[:, everyone], unit[everyone]
        several = (matrix != MISSING).sum(axis=0) >= 2
        values, value_unit = matrix[:, several], unit[several]
        marked = (whole > 0).any(axis=0)
        counts, counts_unit = counted(whole[:, marked], categories), whole_unit[marked]
        rated = [
            np.bincount(whole_unit, minlength=len(numbers)),
            np.bincount(whole_unit[~marked], minlength=len(numbers)),
            np.bincount(counts_unit, weights=counts.sum(axis=1), minlength=len(numbers)),
            np.bincount(counts_unit, weights=(counts * counts).sum(axis=1), minlength=len(numbers)),
        ]
        some = (values > 0).any(axis=0)
        given = counted(values[:, some], categories)
        present = (values != MISSING).sum(axis=0)
        return cls(
            size=size,
            overlapping=overlapping,
            pairable=values.shape[1],
            given=int((values != MISSING).sum()),
            outside=int((values == 0).sum()),
            unit=ints(numbers),
            unmarked=ints(np.bincount(value_unit[~some], weights=present[~some], minlength=len(numbers))),
            margins=_by_unit(numbers, value_unit[some], given),
            agreeing=Cells.of(
                numbers[value_unit[some]], present[some], count=(given * given).sum(axis=1) - present[some]
            ),
            rated=ints(np.stack(rated, axis=1)),
            totals=_by_unit(numbers, counts_unit, counts),
            cohen=_cohen_cells(matrix, ints(numbers[unit] if len(numbers) else unit)),
        )

    @classmethod
    def joined(cls, parts: Sequence[TokenSums]) -> TokenSums:
        """Add up the sums of consecutive blocks with the same labels; a unit may continue in the next."""
        unit, first = merged(ints(np.concatenate([part.unit for part in parts])))
        return cls(
            size=sum(part.size for part in parts),
            overlapping=np.any([part.overlapping for part in parts], axis=0),
            pairable=sum(part.pairable for part in parts),
            given=sum(part.given for part in parts),
            outside=sum(part.outside for part in parts),
            unit=unit,
            unmarked=added(ints(np.concatenate([part.unmarked for part in parts])), first),
            margins=Cells.joined([part.margins for part in parts]),
            agreeing=Cells.joined([part.agreeing for part in parts]),
            rated=added(ints(np.concatenate([part.rated for part in parts])), first),
            totals=Cells.joined([part.totals for part in parts]),
            cohen=Cells.joined([part.cohen for part in parts]),
        )

    def relabeled(self, new_code: Ints, units: TokenUnits) -> TokenSums:
        """Replace each label code by `new_code[code]`."""
        width = 2 if units == "iob2" else 1

        def category(own: Ints) -> Ints:
            label, kind = np.divmod(np.maximum(own - 1, 0), width)
            return ints(np.where(own == 0, 0, new_code[label] * width + kind + 1) if len(new_code) else own)

        return replace(
            self,
            margins=self.margins.renamed([1], category),
            totals=self.totals.renamed([1], category),
            cohen=self.cohen.renamed([2, 3], category),
        )


def _by_unit(numbers: Ints, unit: Ints, counts: Floats) -> Cells:
    """The sums of counts (tokens × categories) by unit and category."""
    categories = counts.shape[1]
    table = np.zeros((len(numbers), categories))
    np.add.at(table, unit, counts)
    row, category = np.nonzero(table)
    return Cells.of(numbers[row], category, count=table[row, category])


def token_agreement(
    presence: Presence, labels: Sequence[str], sums: TokenSums, units: TokenUnits, *, intervals: bool
) -> TokenAgreement:
    """All token measures; without tokens or if mentions overlap, they are undefined, with the reason."""
    if not sums.size:
        return TokenAgreement(units=units, why="the files hold no tokens")
    if sums.overlapping.any():
        first = presence.annotators[int(sums.overlapping.argmax())]
        return TokenAgreement(units=units, why=f"mentions of {first} overlap")
    categories = len(labels) * (2 if units == "iob2" else 1) + 1
    names = presence.annotators
    margins = _table(sums.margins, sums.unit, categories)
    agreeing = _table(sums.agreeing, sums.unit, len(names) + 1)
    unmarked = sums.unmarked.astype(np.float64)
    found = {
        "alpha": _coefficient(lambda parts: alpha(*parts), [margins, agreeing, unmarked]),
        "alpha_marked": _coefficient(lambda parts: alpha(*parts), [margins, agreeing, 0 * unmarked]),
        "fleiss": _coefficient(
            lambda parts: fleiss(len(names), *parts),
            [_table(sums.totals, sums.unit, categories), sums.rated.astype(np.float64)],
        ),
    }
    cohen = []
    for number, pair in enumerate(combinations(names, 2)):
        value, ends, _ = kappa_with_interval(sums.cohen.where(number), categories)
        cohen.append(
            CohenPair(annotators=pair, kappa=value, interval={"kappa": ends} if intervals else UNSET)
        )
    reasons = {name: why for name, (_, _, why) in found.items() if why}
    return TokenAgreement(
        alpha=found["alpha"][0],
        alpha_marked=found["alpha_marked"][0],
        fleiss=found["fleiss"][0],
        cohen=tuple(cohen),
        units=units,
        tokens=sums.pairable,
        outside=plain(ratio(sums.outside, sums.given)),
        interval={name: ends for name, (_, ends, _) in found.items()} if intervals else UNSET,
        no_interval=reasons if intervals and reasons else UNSET,
    )


def _table(cells: Cells, unit: Ints, columns: int) -> Floats:
    """Cells of unit and column as a table of units × columns."""
    table = np.zeros((len(unit), columns))
    table[np.searchsorted(unit, cells.rows[:, 0]), cells.rows[:, 1]] = cells.count
    return table


def _coefficient(
    compute: Callable[[Sequence[Floats]], Floats], parts: Sequence[Floats]
) -> tuple[float | None, Interval | None, str | None]:
    """A coefficient from sums by unit, and its interval or the reason for none."""
    totals = [part.sum(axis=0) for part in parts]
    value = plain(compute([total[None] for total in totals])[0])
    left = compute([total - part for total, part in zip(totals, parts, strict=True)])
    held = np.any([part.reshape(len(part), -1).any(axis=1) for part in parts], axis=0)
    ends, why = plain_t(value, floats(left[held]), most=1.0)
    return value, ends, why


def _label_tokens(row: Codes, corpus: Corpus, mentions: Mentions, units: TokenUnits) -> bool:
    """Write the category of each marked token into `row`; return False if mentions share a token."""
    begin, end, owner = _token_ranges(corpus, mentions)
    sizes = np.maximum(end - begin, 0)
    tokens = run_positions(begin, sizes)
    if len(tokens) and np.bincount(tokens).max() > 1:
        return False
    label = np.repeat(mentions.label[owner], sizes)
    if units == "label":
        row[tokens] = label + 1
        return True
    row[tokens] = 2 * label + 2
    first = np.ones(len(begin), dtype=bool)
    first[1:] = owner[1:] != owner[:-1]
    first &= sizes > 0
    row[begin[first]] = 2 * mentions.label[owner[first]] + 1
    return True


def _token_ranges(corpus: Corpus, mentions: Mentions) -> tuple[Ints, Ints, Ints]:
    """The begin and end of each piece of a mention in tokens of the whole corpus, and the mention's row."""
    owner, start, end = np.arange(len(mentions)), mentions.start, mentions.end
    if mentions.parts is not None:
        owner = np.repeat(owner, np.diff(mentions.parts.at))
        start, end = mentions.parts.start, mentions.parts.end
    sentence = mentions.sentence[owner]
    if corpus.unit == "token":
        origin = corpus.sentences[:-1][sentence]
        return ints(origin + start), ints(origin + end), ints(owner)
    # A mention covers the tokens it touches. Laying sentences end to end allows a single search.
    if corpus.token_start is None or corpus.token_end is None:
        return ints([]), ints([]), ints([])
    stride = max(int(corpus.token_end.max(initial=0)), int(end.max(initial=0))) + 1
    line = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    begin = np.searchsorted(line + corpus.token_end, sentence * stride + start, "right")
    stop = np.searchsorted(line + corpus.token_start, sentence * stride + end, "left")
    return ints(begin), ints(stop), ints(owner)


def counted(values: Codes, categories: int) -> Floats:
    """The number of annotators who gave each token each category (tokens × categories)."""
    tokens = values.shape[1]
    counts = np.zeros(tokens * categories)
    offset = np.arange(tokens) * categories
    for row in values:
        rated = row != MISSING
        counts[offset[rated] + row[rated]] += 1
    return counts.reshape(tokens, categories)


def alpha(margins: Floats, agreeing: Floats, unmarked: Floats) -> Floats:
    """Krippendorff's nominal α, for each row; NaN if all values are equal, or nothing is paired.

    `1 - D_o / D_e` from the coincidences of values given to one token by different annotators, each
    weighted by 1 / (annotators of the token - 1).

    Args:
        margins: how often each category was given to tokens that two or more annotators have.
        agreeing: ordered pairs of equal categories of one token, by its number of annotators.
        unmarked: annotators of further tokens, which all pair O with O.

    Examples:
        >>> alpha(floats([[3, 3]]), floats([[0, 0, 4]]), floats([0])).round(4).tolist()
        [0.4444]

    References:
        Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    """
    margins = margins.copy()
    margins[:, 0] += unmarked
    annotators = np.maximum(np.arange(agreeing.shape[1]) - 1, 1)
    equal = (agreeing / annotators).sum(axis=1) + unmarked
    whole = margins.sum(axis=1)
    expected = whole * whole - (margins * margins).sum(axis=1)
    defined = (whole >= 2) & (np.count_nonzero(margins > 0, axis=1) >= 2)
    return np.where(defined, 1 - ratio((whole - 1) * (whole - equal), expected), np.nan)


def fleiss(raters: int, totals: Floats, rated: Floats) -> Floats:
    """Fleiss' κ over the tokens that all annotators have, for each row; NaN if all values are equal.

    Args:
        totals: how often each category was given to tokens that anyone marked.
        rated: tokens, tokens that nobody marked, Σ counts and Σ counts² of the others.

    References:
        Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    tokens, unmarked, number, squares = rated.T
    totals = totals.copy()
    totals[:, 0] += raters * unmarked
    agreeing = (squares - number) / (raters * (raters - 1)) + unmarked
    observed = ratio(agreeing, tokens)
    share = ratio(totals, totals.sum(axis=1)[:, None])
    expected = (share * share).sum(axis=1)
    defined = (tokens > 0) & (np.count_nonzero(totals, axis=1) >= 2)
    return np.where(defined, ratio(observed - expected, 1 - expected), np.nan)


def _cohen_cells(matrix: Codes, unit: Ints) -> Cells:
    """The pairs of categories that each pair of annotators gave to the same tokens, by unit."""
    parts = [Cells.of(ints([]), ints([]), ints([]), ints([]))]
    width = int(matrix.max(initial=0)) + 1
    for number, (i, j) in enumerate(combinations(range(len(matrix)), 2)):
        shared = (matrix[i] != MISSING) & (matrix[j] != MISSING)
        cell, times = np.unique(
            (unit[shared] * width + matrix[i][shared]) * width + matrix[j][shared], return_counts=True
        )
        parts.append(
            Cells.of(
                np.full(len(cell), number), cell // width**2, cell // width % width, cell % width, count=times
            )
        )
    return Cells.joined(parts)
