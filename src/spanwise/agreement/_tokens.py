"""Chance-corrected agreement over tokens: Cohen's κ, Fleiss' κ and Krippendorff's nominal α."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np

from spanwise.agreement._pairs import kappa
from spanwise.agreement._shared import Shared
from spanwise.columns import Bools, Codes, Floats, Ints, ints, plain, ratio, run_positions
from spanwise.corpus import Corpus, Mentions
from spanwise.document.dataset import CohenPair, TokenAgreement

Units = Literal["label", "iob2"]
MISSING = -1


def token_agreement(ground: Shared, units: Units) -> TokenAgreement:
    """All token measures; undefined, with the reason, where there are no tokens or mentions overlap."""
    corpus, n = ground.corpus, len(ground.annotators)
    if corpus.without_text or not len(corpus.tokens):
        return TokenAgreement(units=units, why="the files hold no tokens")
    matrix = np.zeros((n, len(corpus.tokens)), dtype=np.int32)
    token_document = np.repeat(ground.document, corpus.lengths)
    for party, mentions in enumerate(ground.mentions):
        if not _label_tokens(matrix[party], corpus, mentions, units):
            return TokenAgreement(units=units, why=f"mentions of {ground.annotators[party]} overlap")
        matrix[party, ~ground.present[party][token_document]] = MISSING
    categories = len(ground.labels) * (2 if units == "iob2" else 1) + 1
    whole = np.flatnonzero(np.all(ground.present, axis=0)[token_document])
    pairable = (matrix != MISSING).sum(axis=0) >= 2
    values = matrix[:, pairable]
    given = int((values != MISSING).sum())
    return TokenAgreement(
        alpha=alpha(values, categories),
        alpha_marked=alpha(values[:, (values > 0).any(axis=0)], categories),
        fleiss=fleiss(matrix[:, whole], categories),
        cohen=tuple(
            CohenPair(
                annotators=(ground.annotators[i], ground.annotators[j]),
                kappa=_cohen(matrix[i], matrix[j], categories),
            )
            for i, j in combinations(range(n), 2)
        ),
        units=units,
        tokens=int(pairable.sum()),
        outside=plain(ratio(int((values == 0).sum()), given)),
    )


def _label_tokens(row: Codes, corpus: Corpus, mentions: Mentions, units: Units) -> bool:
    """Write the code of each marked token, from 1, into `row`; False where mentions share a token."""
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
    """First and last token, over the whole corpus, of each piece of a mention, and the mention's row."""
    owner, start, end = np.arange(len(mentions)), mentions.start, mentions.end
    if mentions.parts is not None:
        owner = np.repeat(owner, np.diff(mentions.parts.at))
        start, end = mentions.parts.start, mentions.parts.end
    sentence = mentions.sentence[owner]
    if corpus.unit == "token":
        origin = corpus.sentences[:-1][sentence]
        return ints(origin + start), ints(origin + end), ints(owner)
    # A mention has the tokens it touches; sentences are laid end to end, so that one search serves all.
    if corpus.token_start is None or corpus.token_end is None:
        return ints([]), ints([]), ints([])
    stride = max(int(corpus.token_end.max(initial=0)), int(end.max(initial=0))) + 1
    line = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    begin = np.searchsorted(line + corpus.token_end, sentence * stride + start, "right")
    stop = np.searchsorted(line + corpus.token_start, sentence * stride + end, "left")
    return ints(begin), ints(stop), ints(owner)


def counted(values: Codes, categories: int) -> Floats:
    """How many annotators gave each token each category (tokens × categories)."""
    tokens = values.shape[1]
    counts = np.zeros(tokens * categories)
    place = np.arange(tokens) * categories
    for row in values:
        there = row != MISSING
        counts[place[there] + row[there]] += 1
    return counts.reshape(tokens, categories)


def alpha(values: Codes, categories: int) -> float | None:
    """Krippendorff's nominal α of values (annotators × tokens), -1 where an annotator is missing.

    `1 - D_o / D_e` from the coincidences of values given to one token by different annotators, each
    weighted by 1 / (annotators of the token - 1). None where all values are equal, or nothing is paired.

    Examples:
        >>> alpha(np.array([[0, 1, 1, 0], [0, 1, 0, -1]], dtype=np.int32), 2)
        0.4444444444444444

    References:
        Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    """
    present = (values != MISSING).sum(axis=0)
    values = values[:, present >= 2]
    marked = (values > 0).any(axis=0)
    counts = counted(values[:, marked], categories)
    size = counts.sum(axis=1)
    coincident = np.zeros((categories, categories))
    for annotators in np.unique(size):  # products of whole numbers are exact, whoever multiplies them
        those = counts[size == annotators].astype(np.float64)
        coincident += (those.T @ those - np.diag(those.sum(axis=0))) / (annotators - 1)
    # A token that nobody marked pairs O with O as often as it has annotators.
    coincident[0, 0] += present[present >= 2][~marked].sum()
    margins = coincident.sum(axis=1)
    whole = margins.sum()
    observed = whole - np.trace(coincident)
    expected = whole * whole - (margins * margins).sum()
    if whole < 2 or np.count_nonzero(margins > 0) < 2:
        return None
    return plain(1 - (whole - 1) * observed / expected)


def fleiss(values: Codes, categories: int) -> float | None:
    """Fleiss' κ of values (annotators × tokens) without gaps; None where all values are equal.

    References:
        Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    raters, tokens = values.shape
    if not tokens:
        return None
    marked = (values > 0).any(axis=0)
    counts = counted(values[:, marked], categories)
    totals = counts.sum(axis=0)
    unmarked = int((~marked).sum())
    totals[0] += raters * unmarked
    agreeing = ((counts * counts).sum() - counts.sum()) / (raters * (raters - 1)) + unmarked
    observed = agreeing / tokens
    share = totals / totals.sum()
    expected = (share * share).sum()
    if np.count_nonzero(totals) < 2:
        return None
    return plain((observed - expected) / (1 - expected))


def _cohen(first: Codes, second: Codes, categories: int) -> float | None:
    there: Bools = (first != MISSING) & (second != MISSING)
    cell = first[there].astype(np.int64) * categories + second[there]
    table = np.bincount(cell, minlength=categories * categories).reshape(categories, categories)
    return kappa(table.astype(np.float64))
