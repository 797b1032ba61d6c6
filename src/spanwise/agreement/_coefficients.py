"""Coefficients of agreement corrected for chance: kappa and alpha over tokens, alpha over units, gamma."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np
from msgspec import Struct

from spanwise.agreement._pairs import kappa
from spanwise.agreement._shared import Shared
from spanwise.columns import Bools, Codes, Floats, Ints, ints, offsets, plain, ratio, run_positions
from spanwise.corpus import Corpus, Mentions
from spanwise.document.dataset import CohenPair, TokenAgreement, UnitizingAgreement
from spanwise.errors import MissingExtra

TokenUnits = Literal["label", "iob2"]
MISSING = -1


def token_agreement(ground: Shared, units: TokenUnits) -> TokenAgreement:
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


def _label_tokens(row: Codes, corpus: Corpus, mentions: Mentions, units: TokenUnits) -> bool:
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


class Continua(Struct, frozen=True, eq=False):
    """Units on continua: whose they are, on which continuum, their label, begin and end."""

    annotator: Ints
    continuum: Ints
    label: Ints
    begin: Ints
    end: Ints


def unitizing(ground: Shared) -> UnitizingAgreement:
    """α_u of each document that two annotators have, and of the concatenation of those that all have.

    `1 - ΣD_o / ΣD_e` over labels; undefined where D_e is 0, and where an annotator's mentions of one label
    overlap or are discontinuous.

    References:
        Krippendorff (1995), On the reliability of unitizing continuous data.
    """
    lengths = _sentence_lengths(ground)
    if lengths is None:
        return UnitizingAgreement(
            all=None, documents={}, why="the files hold no text, so that the continuum has no length"
        )
    units, whole = _on_documents(ground, lengths)
    present = ground.present
    unusable = _unusable(ground, units)
    labels = len(ground.labels)
    observed = observed_sums(units, present, labels)
    single = disagreement(observed, expected_sums(units, present, whole, labels), present, whole)
    common = np.flatnonzero(present.all(axis=0))
    documents = {
        name: None if unusable[number] else _alpha(single[0][number], single[1][number])
        for number, name in enumerate(ground.documents)
        if present[:, number].sum() >= 2
    }
    if not len(common):
        return UnitizingAgreement(all=None, documents=documents, why="no document is shared by all")
    if unusable[common].any():
        return UnitizingAgreement(
            all=None, documents=documents, why="mentions of one label overlap or are discontinuous"
        )
    joined, length = _concatenated(units, common, whole)
    everyone = np.ones((len(present), 1), dtype=bool)
    together = observed[common].sum(axis=0, keepdims=True)
    found = disagreement(together, expected_sums(joined, everyone, length, labels), everyone, length)
    by_label = {
        name: _alpha(found[0][0, code], found[1][0, code])
        for code, name in enumerate(ground.labels)
        if (units.label == code).any()
    }
    value = _alpha(found[0][0], found[1][0])
    return UnitizingAgreement(
        all=value,
        documents=documents,
        observed=float(found[0][0].sum()),
        expected=float(found[1][0].sum()),
        labels=by_label,
        why="nobody marked anything" if value is None else None,
    )


def _alpha(observed: Floats, expected: Floats) -> float | None:
    above, below = float(np.sum(observed)), float(np.sum(expected))
    return plain(1 - above / below) if below > 0 else None


def _sentence_lengths(ground: Shared) -> Ints | None:
    corpus = ground.corpus
    if corpus.without_text:
        return None
    if corpus.unit == "character":
        return ints([len(text) for text in corpus.texts or ()])
    return corpus.lengths


def _on_documents(ground: Shared, lengths: Ints) -> tuple[Continua, Ints]:
    """Everybody's mentions as units of their documents, and the length of each document."""
    number = len(ground.documents)
    whole = ints(np.bincount(ground.document, weights=lengths, minlength=number))
    origin = offsets(lengths)[:-1] - offsets(whole)[:-1][ground.document]
    sizes = [len(mentions) for mentions in ground.mentions]
    sentence = np.concatenate([mentions.sentence for mentions in ground.mentions])
    shift = origin[sentence]
    units = Continua(
        annotator=ints(np.repeat(np.arange(len(sizes)), sizes)),
        continuum=ints(ground.document[sentence]),
        label=ints(np.concatenate([mentions.label for mentions in ground.mentions])),
        begin=ints(shift + np.concatenate([mentions.start for mentions in ground.mentions])),
        end=ints(shift + np.concatenate([mentions.end for mentions in ground.mentions])),
    )
    return _sorted(units), whole


def _sorted(units: Continua) -> Continua:
    order = np.lexsort((units.begin, units.continuum, units.label, units.annotator))
    return _chosen(units, ints(order))


def _chosen(units: Continua, rows: Ints | Bools) -> Continua:
    return Continua(
        units.annotator[rows], units.continuum[rows], units.label[rows], units.begin[rows], units.end[rows]
    )


def _unusable(ground: Shared, units: Continua) -> Bools:
    """Which documents hold mentions of one annotator and label that overlap or are discontinuous."""
    bad = np.zeros(len(ground.documents), dtype=bool)
    same = _same_run(units)
    bad[units.continuum[1:][same & (units.begin[1:] < units.end[:-1])]] = True
    for mentions in ground.mentions:
        if mentions.parts is not None:
            several = np.diff(mentions.parts.at) > 1
            bad[ground.document[mentions.sentence[several]]] = True
    return bad


def _same_run(units: Continua) -> Bools:
    """Whether each unit but the first has the annotator, label and continuum of the one before it."""
    columns = (units.annotator, units.label, units.continuum)
    return np.asarray(np.all([column[1:] == column[:-1] for column in columns], axis=0))


def observed_sums(units: Continua, present: Bools, labels: int) -> Floats:
    """Squared distances over unordered pairs of annotators (continua × labels).

    Two units that overlap differ by the squared distances of their begins and of their ends; a unit that
    lies in a gap of the other annotator, by its squared length.
    """
    continua = present.shape[1]
    sums = np.zeros(continua * labels)
    stride = int(units.end.max(initial=0)) + 1
    # Continua and labels are laid end to end, so that one search finds all overlaps of two annotators.
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
    """Numerator (continua × labels) and the part Σ ℓ(ℓ-1) of the denominator of the expected disagreement.

    The numerator adds up, over units of length ℓ, `(N - 1)/3 · ℓ(ℓ-1)(2ℓ-1) + ℓ² Σ (gap - ℓ + 1)`, the
    last sum over all gaps at least as long; N is the number of units of the label.
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
    """For each unit: in how many places it fits into the gaps of all annotators on its continuum."""
    annotator, continuum = np.nonzero(present)
    # An empty unit at the beginning of each continuum gives the first gap the form of all others.
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
    """D_o and D_e of each continuum and label."""
    annotators = present.sum(axis=0).astype(np.float64)[:, None]
    length = np.maximum(whole, 1).astype(np.float64)[:, None]
    pairs = np.maximum(annotators * (annotators - 1), 1)
    above, squares = expected
    below = annotators * length * (annotators * length - 1) - squares
    chance = np.divide(2 / length * above, below, out=np.zeros_like(above), where=below > 0)
    return 2 * observed / (pairs * length**2), chance


def _concatenated(units: Continua, common: Ints, whole: Ints) -> tuple[Continua, Ints]:
    """The units of some documents laid end to end as one continuum, and its length."""
    origin = np.full(len(whole), -1, dtype=np.int64)
    origin[common] = offsets(whole[common])[:-1]
    kept = origin[units.continuum] >= 0
    own = _chosen(units, kept)
    shift = origin[own.continuum]
    nowhere = np.zeros(len(own.begin), dtype=np.int64)
    joined = Continua(own.annotator, ints(nowhere), own.label, ints(own.begin + shift), ints(own.end + shift))
    return _sorted(joined), ints([whole[common].sum()])


def gamma_of(ground: Shared) -> dict[str, float | None]:
    """γ of each document that two annotators have; None where a document leaves nothing to align.

    Positions are combined with labels as the package does by default. It draws samples of chance from
    NumPy's common generator, which is seeded here and put back as it was.

    References:
        Mathet, Widlöcher and Métivier (2015), The unified and holistic method gamma (γ).
    """
    try:
        from pyannote.core import Segment
        from pygamma_agreement import CombinedCategoricalDissimilarity, Continuum
    except ModuleNotFoundError as error:
        raise MissingExtra.of("pygamma-agreement", "agreement", "gamma") from error
    lengths = ground.corpus.lengths
    if ground.corpus.texts is not None:
        lengths = np.array([len(text) for text in ground.corpus.texts])
    origin = np.concatenate([[0], np.cumsum(lengths)])
    result: dict[str, float | None] = {}
    before = np.random.get_state()
    try:
        for document, name in enumerate(ground.documents):
            has = np.flatnonzero(ground.present[:, document]).tolist()
            if len(has) < 2:
                continue
            continuum = Continuum()
            owners: list[int] = []
            for who in has:
                continuum.add_annotator(ground.annotators[who])
                mentions = ground.mentions[who]
                own = np.flatnonzero(ground.document[mentions.sentence] == document)
                for sentence, start, end, label in mentions.take(own).rows():
                    at = int(origin[sentence])
                    owners.append(who)
                    continuum.add(ground.annotators[who], Segment(at + start, at + end), label)
            # Chance is sampled from everybody's units, so that everybody needs some.
            marked = set(owners) == set(has)
            np.random.seed(0)
            found = continuum.compute_gamma(CombinedCategoricalDissimilarity()) if marked else None
            result[name] = None if found is None else float(found.gamma)
    finally:
        np.random.set_state(before)
    return result
