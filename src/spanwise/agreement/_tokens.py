"""Chance-corrected coefficients of agreement over tokens: alpha, Fleiss' kappa and Cohen's kappa."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.agreement._pairs import kappa
from spanwise.agreement._shared import Cells, Presence, Shared
from spanwise.columns import Bools, Codes, Floats, Ints, ints, plain, ratio, run_positions
from spanwise.corpus import Corpus, Mentions
from spanwise.document.agreement import CohenPair, TokenAgreement

TokenUnits = Literal["label", "iob2"]
MISSING = -1


class TokenSums(Struct, frozen=True, eq=False):
    """Sums over a block for token measures.

    Category 0 is O; each label has one category, or two (B and I) for IOB2.
    """

    size: int  # tokens of all documents
    overlapping: Bools  # by annotator: whether some of their mentions share a token
    pairable: int  # tokens of documents that two or more annotators have
    given: int  # categories assigned to these
    outside: int  # how many of them are O
    coincident: Cells  # number of annotators of a token, first category, second category (ordered pairs)
    unmarked: int  # annotators of tokens that nobody marked
    rated: Ints  # in documents that all have: tokens, tokens that nobody marked, Σ counts, Σ counts²
    totals: Cells  # categories of the marked tokens of documents that all have
    cohen: Cells  # pair of annotators, category of the first, category of the second

    @classmethod
    def of(cls, ground: Shared, units: TokenUnits) -> TokenSums:
        """Count a block; nothing is counted if mentions overlap."""
        corpus, n = ground.corpus, len(ground.annotators)
        size = 0 if corpus.without_text else len(corpus.tokens)
        matrix = np.zeros((n, size), dtype=np.int32)
        token_document = np.repeat(ground.document, corpus.lengths) if size else ints([])
        overlapping = np.zeros(n, dtype=bool)
        if size:
            for party, mentions in enumerate(ground.mentions):
                overlapping[party] = not _label_tokens(matrix[party], corpus, mentions, units)
                matrix[party, ~ground.present[party][token_document]] = MISSING
        if overlapping.any():
            matrix = matrix[:, :0]
            token_document = token_document[:0]
        categories = len(ground.labels) * (2 if units == "iob2" else 1) + 1
        whole = matrix[:, np.all(ground.present, axis=0)[token_document]]
        values = matrix[:, (matrix != MISSING).sum(axis=0) >= 2]
        coincident, unmarked = coincidences(values, categories)
        marked = (whole > 0).any(axis=0)
        counts = counted(whole[:, marked], categories)
        rated = [whole.shape[1], (~marked).sum(), counts.sum(), (counts * counts).sum()]
        totals = counts.sum(axis=0)
        return cls(
            size=size,
            overlapping=overlapping,
            pairable=values.shape[1],
            given=int((values != MISSING).sum()),
            outside=int((values == 0).sum()),
            coincident=coincident,
            unmarked=unmarked,
            rated=ints(rated),
            totals=Cells.of(np.flatnonzero(totals), count=totals[totals > 0]),
            cohen=_cohen_cells(matrix),
        )

    @classmethod
    def joined(cls, parts: Sequence[TokenSums]) -> TokenSums:
        """Add up the sums of several blocks with the same labels."""
        return cls(
            size=sum(part.size for part in parts),
            overlapping=np.any([part.overlapping for part in parts], axis=0),
            pairable=sum(part.pairable for part in parts),
            given=sum(part.given for part in parts),
            outside=sum(part.outside for part in parts),
            coincident=Cells.joined([part.coincident for part in parts]),
            unmarked=sum(part.unmarked for part in parts),
            rated=ints(sum(part.rated for part in parts)),
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
            coincident=self.coincident.renamed([1, 2], category),
            totals=self.totals.renamed([0], category),
            cohen=self.cohen.renamed([1, 2], category),
        )


def token_agreement(
    presence: Presence, labels: Sequence[str], sums: TokenSums, units: TokenUnits
) -> TokenAgreement:
    """All token measures; without tokens or if mentions overlap, they are undefined, with the reason."""
    if not sums.size:
        return TokenAgreement(units=units, why="the files hold no tokens")
    if sums.overlapping.any():
        first = presence.annotators[int(sums.overlapping.argmax())]
        return TokenAgreement(units=units, why=f"mentions of {first} overlap")
    categories = len(labels) * (2 if units == "iob2" else 1) + 1
    names = presence.annotators
    return TokenAgreement(
        alpha=alpha(sums.coincident, sums.unmarked, categories),
        alpha_marked=alpha(sums.coincident, 0, categories),
        fleiss=_fleiss(len(names), sums, categories),
        cohen=tuple(
            CohenPair(annotators=pair, kappa=kappa(sums.cohen.where(number).square(categories)))
            for number, pair in enumerate(combinations(names, 2))
        ),
        units=units,
        tokens=sums.pairable,
        outside=plain(ratio(sums.outside, sums.given)),
    )


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


def coincidences(values: Codes, categories: int) -> tuple[Cells, int]:
    """Ordered pairs of values given to one token by different annotators, by its number of annotators.

    Only tokens that somebody marked are counted. The second result is the total number of annotators of the
    other tokens, which all pair O with O. A value of -1 means that an annotator is missing.
    """
    present = (values != MISSING).sum(axis=0)
    values, present = values[:, present >= 2], present[present >= 2]
    marked = (values > 0).any(axis=0)
    counts = counted(values[:, marked], categories)
    size = counts.sum(axis=1)
    parts = [Cells.of(ints([]), ints([]), ints([]))]
    for annotators in np.unique(size):  # products of integers are exact on any machine
        those = counts[size == annotators]
        table = those.T @ those - np.diag(those.sum(axis=0))
        first, second = np.nonzero(table)
        parts.append(Cells.of(np.full(len(first), annotators), first, second, count=table[first, second]))
    return Cells.joined(parts), int(present[~marked].sum())


def alpha(coincident: Cells, unmarked: int, categories: int) -> float | None:
    """Krippendorff's nominal α of coincidences.

    `1 - D_o / D_e` from the coincidences of values given to one token by different annotators, each
    weighted by 1 / (annotators of the token - 1). None if all values are equal, or nothing is paired.

    Examples:
        >>> alpha(*coincidences(np.array([[0, 1, 1, 0], [0, 1, 0, -1]], dtype=np.int32), 2), 2)
        0.4444444444444444

    References:
        Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    """
    table = np.zeros((categories, categories))
    for annotators in np.unique(coincident.rows[:, 0]).tolist():
        table += coincident.where(annotators).square(categories) / (annotators - 1)
    table[0, 0] += unmarked
    margins = table.sum(axis=1)
    whole = margins.sum()
    observed = whole - np.trace(table)
    expected = whole * whole - (margins * margins).sum()
    if whole < 2 or np.count_nonzero(margins > 0) < 2:
        return None
    return plain(1 - (whole - 1) * observed / expected)


def _fleiss(raters: int, sums: TokenSums, categories: int) -> float | None:
    """Fleiss' κ over the tokens that all annotators have; None if all values are equal.

    References:
        Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    tokens, unmarked, number, squares = sums.rated.tolist()
    if not tokens:
        return None
    totals = np.zeros(categories)
    totals[sums.totals.rows[:, 0]] = sums.totals.count
    totals[0] += raters * unmarked
    agreeing = (float(squares) - float(number)) / (raters * (raters - 1)) + unmarked
    observed = agreeing / tokens
    share = totals / totals.sum()
    expected = (share * share).sum()
    if np.count_nonzero(totals) < 2:
        return None
    return plain((observed - expected) / (1 - expected))


def _cohen_cells(matrix: Codes) -> Cells:
    """The pairs of categories that each pair of annotators gave to the same tokens."""
    parts = [Cells.of(ints([]), ints([]), ints([]))]
    width = int(matrix.max(initial=0)) + 1
    for number, (i, j) in enumerate(combinations(range(len(matrix)), 2)):
        shared = (matrix[i] != MISSING) & (matrix[j] != MISSING)
        cell = np.bincount(matrix[i][shared].astype(np.int64) * width + matrix[j][shared])
        used = np.flatnonzero(cell)
        parts.append(Cells.of(np.full(len(used), number), used // width, used % width, count=cell[used]))
    return Cells.joined(parts)
