"""Find the candidates of an answer: runs of tokens, at levels from its exact text to similar texts."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import groupby, pairwise
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Ints, Small, Words, codes, distinct, ints, offsets, run_positions
from spanwise.corpus import Corpus
from spanwise.hashing import slot, slots
from spanwise.placement.answers import Units, bare, collapse, fold, without_article

BLANK, BORDER = ord(" "), 0  # in a stream of characters
CHARACTERS = 0x110000  # above every code point


def characters(text: str) -> list[int]:
    """The code points of a text; NUL, which marks borders, becomes -1."""
    return [ord(char) or -1 for char in text]


class Stream(Struct, frozen=True, eq=False):
    """The tokens of a corpus as symbols (words or characters), with a border after every sentence.

    Token `i` has the symbols `begin[i]` … `end[i] - 1`, possibly none.
    """

    symbols: Codes
    begin: Ints
    end: Ints

    @classmethod
    def of(
        cls, corpus: Corpus, spelled: Sequence[Sequence[int]], *, border: int, blank: int | None
    ) -> Stream:
        """Build the stream of a corpus from the symbols of each word of its vocabulary.

        Args:
            border: the symbol after each sentence.
            blank: the symbol between two tokens separated by white space; None for no symbol.
        """
        sizes = np.fromiter(map(len, spelled), np.int64, len(spelled))
        at = offsets(sizes)
        flat = np.fromiter((symbol for word in spelled for symbol in word), np.int32, int(at[-1]))
        own = sizes[corpus.tokens]
        separators = np.zeros(len(own), dtype=np.int64)
        if blank is not None:
            separators[_spaced(corpus)] = 1
        full = corpus.sentences[1:][corpus.lengths > 0]
        separators[full - 1] = 1
        borders = offsets(own + separators)
        symbols = np.full(int(borders[-1]), border if blank is None else blank, dtype=np.int32)
        symbols[run_positions(borders[:-1], own)] = flat[run_positions(at[:-1][corpus.tokens], own)]
        symbols[borders[full] - 1] = border
        return cls(codes(symbols), ints(borders[:-1]), ints(borders[:-1] + own))


def _spaced(corpus: Corpus) -> Bools:
    """Which tokens are followed by white space: all, unless token offsets show otherwise."""
    if corpus.token_start is None or corpus.token_end is None:
        return np.ones(len(corpus.tokens), dtype=bool)
    spaced = np.zeros(len(corpus.tokens), dtype=bool)
    spaced[:-1] = corpus.token_end[:-1] != corpus.token_start[1:]
    return spaced


class Found(Struct, frozen=True, eq=False):
    """Runs of tokens that spell a pattern: the number of the pattern, and the run's start and end."""

    pattern: Ints
    start: Ints
    end: Ints


def find(stream: Stream, patterns: Sequence[Sequence[int]], size: int) -> Found:
    """Find every run of whole tokens whose symbols are one of the patterns.

    Args:
        patterns: distinct, non-empty sequences of symbols.
        size: a number above every symbol.
    """
    token_behind = np.full(len(stream.symbols) + 1, -1, dtype=np.int64)
    spelled = np.flatnonzero(stream.end > stream.begin)
    token_behind[stream.end[spelled]] = spelled + 1
    pattern, origin, behind = _walk(stream.symbols, stream.begin[spelled], patterns, size, token_behind >= 0)
    return Found(pattern, ints(spelled[origin]), ints(token_behind[behind]))


def find_everywhere(symbols: Codes, patterns: Sequence[Sequence[int]], size: int) -> tuple[Ints, Ints]:
    """The pattern number and the position of every occurrence of a pattern, at any position."""
    anywhere = np.ones(len(symbols) + 1, dtype=bool)
    pattern, position, _ = _walk(symbols, ints(np.arange(len(symbols))), patterns, size, anywhere)
    return pattern, position


def _walk(
    symbols: Codes, places: Ints, patterns: Sequence[Sequence[int]], size: int, may_end: Bools
) -> tuple[Ints, Ints, Ints]:
    """Find the patterns that begin at the given places; return pattern, index of the place, and end.

    All places walk through the prefix tree of the patterns at once, one symbol per step, and drop out where
    no pattern continues. The cost is therefore that of reading the text, whatever the number of patterns.
    """
    lengths = np.fromiter(map(len, patterns), np.int64, len(patterns))
    at = offsets(lengths)
    flat = np.fromiter((symbol for pattern in patterns for symbol in pattern), np.int64, int(at[-1]))
    origin, position = np.arange(len(places)), np.asarray(places)
    node = np.zeros(len(places), dtype=np.int64)
    rest, own = np.arange(len(patterns)), np.zeros(len(patterns), dtype=np.int64)
    matches: list[tuple[Ints, Ints, Ints]] = [(ints([]), ints([]), ints([]))]
    for depth in range(int(lengths.max(initial=0))):
        longer = lengths[rest] > depth
        rest = rest[longer]
        edges, own = np.unique(own[longer] * size + flat[at[rest] + depth], return_inverse=True)
        inside = position < len(symbols)
        origin, position, node = origin[inside], position[inside], node[inside]
        key = node * size + symbols[position]
        edge = np.searchsorted(edges, key)
        edge[edge == len(edges)] = 0
        onward = edges[edge] == key
        origin, position, node = origin[onward], position[onward] + 1, edge[onward]
        complete = np.full(len(edges), -1, dtype=np.int64)
        ending = lengths[rest] == depth + 1
        complete[own[ending]] = rest[ending]
        at_end = (complete[node] >= 0) & may_end[position]
        matches.append((ints(complete[node[at_end]]), ints(origin[at_end]), ints(position[at_end])))
    pattern, begun, behind = (ints(np.concatenate([match[i] for match in matches])) for i in range(3))
    return pattern, begun, behind


EPSILON = 1e-9  # tolerance for thresholds such as 0.85, which are not binary fractions
_LONG = 4096  # number of characters of a unit from which its pieces are searched together
_WORD = 64  # maximum length of an answer for distances computed in machine words
_PAIRS = 1 << 18  # number of pairs whose distances are computed at once
_BATCH = 1 << 12  # number of answers searched at once


class _Text(Struct, frozen=True, eq=False, dict=True):
    """The folded text, with cached lookups shared by all batches of answers."""

    stream: Stream
    units: Units

    @cached_property
    def string(self) -> str:
        """All characters, each at the index of its symbol."""
        return self.stream.symbols.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    @cached_property
    def borders(self) -> list[int]:
        """The first character of each unit, and the end of the last one."""
        listed: list[int] = np.append(self.stream.begin, len(self.stream.symbols))[self.units.tokens].tolist()
        return listed

    @cached_property
    def spelled(self) -> Ints:
        """The tokens that have characters."""
        return ints(np.flatnonzero(self.stream.end > self.stream.begin))

    @cached_property
    def bits(self) -> Words:
        """For each token, the set of its characters, hashed to 64 bits."""
        symbols = self.stream.symbols
        bits = np.uint64(1) << slots(symbols.astype(np.uint64), 6).view(np.uint64)
        bits[(symbols == BORDER) | (symbols == BLANK)] = 0  # they follow a token, and are not part of it
        tokens = np.zeros(len(self.stream.begin), dtype=np.uint64)
        tokens[self.spelled] = np.bitwise_or.reduceat(bits, self.stream.begin[self.spelled])
        return tokens


class _Queries(Struct, frozen=True, eq=False):
    """Folded answers, with the unit, length and maximum number of edits of each."""

    unit: Ints
    texts: Sequence[str]
    length: Ints
    edits: Ints


class _Runs(Struct, frozen=True, eq=False):
    """Runs of tokens, each with the query that it may be similar to."""

    query: Ints
    start: Ints
    end: Ints

    def take(self, which: Bools | Ints) -> _Runs:
        return _Runs(ints(self.query[which]), ints(self.start[which]), ints(self.end[which]))


def fuzzy_candidates(
    stream: Stream, units: Units, unit: Ints, texts: Sequence[str], threshold: float
) -> tuple[Ints, Ints, Ints]:
    """Find the runs of tokens that are most similar to each folded text, and similar enough.

    The similarity of two strings is `1 - edits / longer length`. The first and the last token of a run
    must each be at least half similar to some word of the answer. Of overlapping runs that are equally
    similar, the shorter is kept, then the earlier.

    If an answer is cut into `k + 1` pieces, a run within `k` edits of it contains at least one of them
    unchanged, so only the surroundings of such pieces are compared.

    Returns:
        For each run, the index of its text, its first token, and the token after its last.
    """
    runs: list[_Runs] = []
    text = _Text(stream, units)
    for first in range(0, len(texts), _BATCH):
        part = slice(first, first + _BATCH)
        some = texts[part]
        length = np.fromiter(map(len, some), np.int64, len(some))
        edits = np.floor((1 - threshold) / threshold * length + EPSILON).astype(np.int64)
        queries = _Queries(ints(unit[part]), some, ints(length), ints(edits))
        best = _best(text, queries, _possible(text, queries, threshold), threshold)
        runs.append(_Runs(ints(best.query + first), best.start, best.end))
    columns = [[run.query for run in runs], [run.start for run in runs], [run.end for run in runs]]
    query, start, end = (ints(np.concatenate(column)) for column in columns)
    return query, start, end


def _possible(text: _Text, queries: _Queries, threshold: float) -> _Runs:
    """The runs around unchanged pieces of their query whose length allows them to be similar enough."""
    query, around = _anchors(text, queries)
    spelled, stream, units = text.spelled, text.stream, text.units
    begin, end = stream.begin[spelled], stream.end[spelled]
    edits = queries.edits[query]
    low = np.searchsorted(begin, around - edits, side="left")
    number = np.searchsorted(begin, around + edits, side="right") - low
    pair = np.repeat(query, number) * (len(begin) + 1) + run_positions(low, number)
    pair = distinct(pair)
    query, first = pair // (len(begin) + 1), pair % (len(begin) + 1)
    inside = _unit_of(units, spelled[first]) == queries.unit[query]
    query, first = query[inside], first[inside]
    length = queries.length[query]
    shortest = np.ceil(length * threshold - EPSILON).astype(np.int64)
    longest = np.floor(length / threshold + EPSILON).astype(np.int64)
    low = np.searchsorted(end, begin[first] + np.maximum(shortest, 1), side="left")
    number = np.searchsorted(end, begin[first] + longest, side="right") - low
    runs = _Runs(
        ints(np.repeat(query, number)),
        ints(spelled[np.repeat(first, number)]),
        ints(spelled[run_positions(low, number)] + 1),
    )
    sentence = units.sentence_of_token
    return runs.take(sentence[runs.start] == sentence[runs.end - 1]) if len(runs.query) else runs


def _unit_of(units: Units, token: Ints) -> Ints:
    return ints(units.of_sentence[units.sentence_of_token[token]])


def _anchors(text: _Text, queries: _Queries) -> tuple[Ints, Ints]:
    """Positions near which a query may begin (within its edits), from unchanged occurrences of its pieces."""
    string, borders = text.string, text.borders
    query: list[int] = []
    around: list[int] = []
    long: list[tuple[int, int, str]] = []
    rows = zip(queries.unit.tolist(), queries.texts, queries.edits.tolist(), strict=True)
    for number, (unit, answer, edits) in enumerate(rows):
        if not edits:
            continue  # an exact match would have been found at an earlier level
        low, high = borders[unit], borders[unit + 1]
        if edits >= len(answer):
            positions = range(low, high, edits + 1)
            query += [number] * len(positions)
            around += positions
            continue
        for offset, piece in cut(answer, edits + 1):
            if high - low >= _LONG:
                long.append((number, offset, piece))
                continue
            position = string.find(piece, low, high)
            while position >= 0:
                query.append(number)
                around.append(position - offset)
                position = string.find(piece, position + 1, high)
    if not long:
        return ints(query), ints(around)
    more = _anchors_in_long(text, queries, long)
    return ints(np.append(query, more[0])), ints(np.append(around, more[1]))


def cut(answer: str, number: int) -> list[tuple[int, str]]:
    """Cut an answer into pieces of almost equal length, each with its offset.

    Examples:
        >>> cut("abcdefg", 2)
        [(0, 'abc'), (3, 'defg')]
    """
    cuts = [len(answer) * at // number for at in range(number + 1)]
    return [(begin, answer[begin:end]) for begin, end in pairwise(cuts)]


def _anchors_in_long(text: _Text, queries: _Queries, pieces: list[tuple[int, int, str]]) -> tuple[Ints, Ints]:
    """Like `_anchors`, for units too long to be searched for each piece separately."""
    numbers: dict[str, int] = {}
    of_piece = ints([numbers.setdefault(piece, len(numbers)) for _, _, piece in pieces])
    query, offset = ints([piece[0] for piece in pieces]), ints([piece[1] for piece in pieces])
    key = queries.unit[query] * len(numbers) + of_piece
    order = np.argsort(key, kind="stable")
    anchors: list[tuple[Ints, Ints]] = []
    spelled = [[*map(ord, piece)] for piece in numbers]
    for unit in distinct(queries.unit[query]).tolist():
        low, high = text.borders[unit], text.borders[unit + 1]
        piece, position = find_everywhere(text.stream.symbols[low:high], spelled, CHARACTERS)
        run_key = unit * len(numbers) + piece
        first = np.searchsorted(key[order], run_key, side="left")
        size = np.searchsorted(key[order], run_key, side="right") - first
        which = order[run_positions(first, size)]
        anchors.append((query[which], ints(np.repeat(position + low, size) - offset[which])))
    return ints(np.concatenate([anchor[0] for anchor in anchors])), ints(
        np.concatenate([anchor[1] for anchor in anchors])
    )


def _best(text: _Text, queries: _Queries, runs: _Runs, threshold: float) -> _Runs:
    """The most similar runs of each query, among those that are similar enough."""
    stream = text.stream
    runs = runs.take(_share_characters(text, queries, runs))
    length = stream.end[runs.end - 1] - stream.begin[runs.start]
    longer = np.maximum(length, queries.length[runs.query])
    edits = _distances(text, queries, runs)
    enough = edits <= (1 - threshold) * longer + EPSILON
    enough[enough] = _ends_fit(text, queries, runs.take(enough))
    runs, lost = runs.take(enough), edits[enough] / longer[enough]
    least = np.full(len(queries.texts), np.inf)
    np.minimum.at(least, runs.query, lost)
    return _apart(runs.take(lost == least[runs.query]))


def _share_characters(text: _Text, queries: _Queries, runs: _Runs) -> Bools:
    """Which runs share enough characters with their query to be within its edits."""
    query_bits = np.array([_bits(answer) for answer in queries.texts], dtype=np.uint64)[runs.query]
    run_bits = text.bits[runs.start]
    for step in range(1, int((runs.end - runs.start).max(initial=0))):
        more = np.flatnonzero(runs.end - runs.start > step)
        run_bits[more] |= text.bits[runs.start[more] + step]
    edits = queries.edits[runs.query]
    return np.asarray((_ones(query_bits & ~run_bits) <= edits) & (_ones(run_bits & ~query_bits) <= edits))


def _bits(text: str) -> int:
    bits = 0
    for char in set(text) - {" "}:
        bits |= 1 << slot(ord(char), 6)
    return bits


def _ones(words: Words) -> Ints:
    if hasattr(np, "bitwise_count"):
        return ints(np.bitwise_count(words))
    return ints(np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1))


def _distances(text: _Text, queries: _Queries, runs: _Runs) -> Ints:
    """The edit distance between each run and its query."""
    stream, string = text.stream, text.string
    distance = np.zeros(len(runs.query), dtype=np.int64)
    short = queries.length[runs.query] <= _WORD
    begin, end = stream.begin[runs.start], stream.end[runs.end - 1]
    rows = zip(runs.query[~short].tolist(), begin[~short].tolist(), end[~short].tolist(), strict=True)
    distance[~short] = [edit_distance(queries.texts[query], string[low:high]) for query, low, high in rows]
    which = np.flatnonzero(short)
    for first in range(0, len(which), _PAIRS):
        part = which[first : first + _PAIRS]
        distance[part] = _distances_in_words(stream, queries, runs.query[part], begin[part], end[part])
    return ints(distance)


def _distances_in_words(stream: Stream, queries: _Queries, query: Ints, begin: Ints, end: Ints) -> Ints:
    """Edit distances of many pairs at once, by Myers' (1999) bit-parallel algorithm for whole strings."""
    distinct, row = np.unique(query, return_inverse=True)
    length = queries.length[distinct]
    at = offsets(length)
    symbols = np.frombuffer(
        "".join([queries.texts[number] for number in distinct.tolist()]).encode("utf-32-le"), "<u4"
    )
    alphabet, code = np.unique(symbols, return_inverse=True)
    # An extra column of zeros, for characters that no query has.
    masks = np.zeros((len(distinct), len(alphabet) + 1), dtype=np.uint64)
    for index in range(int(length.max(initial=0))):
        long = np.flatnonzero(length > index)
        masks[long, code[at[long] + index]] |= np.uint64(1 << index)
    order = np.argsort(begin - end, kind="stable")  # longest first
    row, begin, size = row[order], begin[order], (end - begin)[order]
    bit = np.uint64(1)
    last = bit << (length[row] - 1).astype(np.uint64)
    score = length[row].copy()
    up = np.full(len(row), np.uint64(0xFFFFFFFFFFFFFFFF))
    down = np.zeros(len(row), dtype=np.uint64)
    column = np.full(CHARACTERS, len(alphabet), dtype=np.int32)
    column[alphabet] = np.arange(len(alphabet))
    for step in range(int(size.max(initial=0))):
        live = int(np.searchsorted(-size, -step, side="left"))  # runs longer than `step` come first
        pv, mv, high = up[:live], down[:live], last[:live]
        equal = masks[row[:live], column[stream.symbols[begin[:live] + step]]]
        xv = equal | mv
        xh = (((equal & pv) + pv) ^ pv) | equal
        ph, mh = mv | ~(xh | pv), pv & xh
        score[:live] += ((ph & high) != 0).astype(np.int64) - ((mh & high) != 0)
        ph, mh = (ph << bit) | bit, mh << bit
        up[:live], down[:live] = mh | ~(xv | ph), ph & xv
    distance = np.empty(len(row), dtype=np.int64)
    distance[order] = score
    return ints(distance)


@lru_cache(maxsize=1 << 16)
def edit_distance(first: str, two: str) -> int:
    """The minimum number of single-character edits that turn one string into the other.

    An edit is an insertion, deletion or replacement.

    Examples:
        >>> edit_distance("Rome", "Roma"), edit_distance("", "ab")
        (1, 2)
    """
    if not first or not two:
        return len(first) + len(two)
    masks: dict[str, int] = {}
    for index, char in enumerate(first):
        masks[char] = masks.get(char, 0) | 1 << index
    full, high = (1 << len(first)) - 1, 1 << (len(first) - 1)
    pv, mv, score = full, 0, len(first)
    for char in two:
        equal = masks.get(char, 0)
        xv = equal | mv
        xh = (((equal & pv) + pv) ^ pv) | equal
        ph, mh = mv | (~(xh | pv) & full), pv & xh
        score += bool(ph & high) - bool(mh & high)
        ph, mh = ((ph << 1) | 1) & full, (mh << 1) & full
        pv, mv = mh | (~(xv | ph) & full), ph & xv
    return score


def _ends_fit(text: _Text, queries: _Queries, runs: _Runs) -> Bools:
    """Which runs begin and end with tokens that are at least half similar to a word of their query."""
    stream, string = text.stream, text.string
    fits = np.zeros(len(runs.query), dtype=bool)
    first = zip(stream.begin[runs.start].tolist(), stream.end[runs.start].tolist(), strict=True)
    last = zip(stream.begin[runs.end - 1].tolist(), stream.end[runs.end - 1].tolist(), strict=True)
    for index, (query, head, tail) in enumerate(zip(runs.query.tolist(), first, last, strict=True)):
        words = queries.texts[query].split(" ")
        head_fits = half_similar(string[slice(*head)], words)
        fits[index] = head_fits and half_similar(string[slice(*tail)], words)
    return fits


def half_similar(token: str, words: Sequence[str]) -> bool:
    return token in words or any(
        2 * edit_distance(token, word) <= max(len(token), len(word)) for word in words
    )


def _apart(runs: _Runs) -> _Runs:
    """Drop runs that overlap a shorter run of the same query, or an earlier one of the same length."""
    kept: list[int] = []
    query, start, end = runs.query.tolist(), runs.start.tolist(), runs.end.tolist()
    order = np.lexsort((runs.start, runs.end - runs.start, runs.query)).tolist()
    for _, group in groupby(order, key=query.__getitem__):
        taken: list[tuple[int, int]] = []  # disjoint and sorted
        for row in group:
            index = bisect(taken, (start[row], end[row]))
            before_ends = index == 0 or taken[index - 1][1] <= start[row]
            if before_ends and (index == len(taken) or end[row] <= taken[index][0]):
                taken.insert(index, (start[row], end[row]))
                kept.append(row)
    return runs.take(ints(kept))


Level = Literal["exact", "case", "bare", "article", "fuzzy"]
LEVELS: tuple[Level, ...] = get_args(Level)


class Searcher(Struct, frozen=True, eq=False, dict=True):
    """A gold text prepared for search at each level."""

    units: Units

    @property
    def corpus(self) -> Corpus:
        return self.units.corpus

    @property
    def by_characters(self) -> bool:
        """Whether tokens may be adjacent without white space, so that words are not always whole tokens."""
        return self.corpus.token_start is not None

    @cached_property
    def folded(self) -> Stream:
        """The characters of the folded text."""
        spelled = [characters(fold(word)) for word in self.corpus.vocabulary]
        return Stream.of(self.corpus, spelled, border=BORDER, blank=BLANK)

    def _characters(self, normalise: Callable[[str], str], *, blank: bool) -> _Search:
        spelled = [characters(normalise(word)) for word in self.corpus.vocabulary]
        stream = Stream.of(self.corpus, spelled, border=BORDER, blank=BLANK if blank else None)
        return _Search(stream, CHARACTERS, lambda text: characters(normalise(text)))

    def _words(self, normalise: Callable[[str], str]) -> _Search:
        numbers: dict[str, int] = {}
        spelled = [
            [numbers.setdefault(part, len(numbers)) for part in normalise(word).split(" ") if part]
            for word in self.corpus.vocabulary
        ]
        stream = Stream.of(self.corpus, spelled, border=len(numbers), blank=None)
        return _Search(
            stream,
            len(numbers) + 1,
            lambda text: [numbers.get(part, -1) for part in normalise(text).split(" ") if part],
        )

    @cached_property
    def exact(self) -> _Search:
        return self._characters(collapse, blank=True) if self.by_characters else self._words(collapse)

    @cached_property
    def case(self) -> _Search:
        if self.by_characters:
            return _Search(self.folded, CHARACTERS, lambda text: characters(fold(text)))
        return self._words(fold)

    @cached_property
    def bare(self) -> _Search:
        return self._characters(lambda text: bare(fold(text)), blank=False)


class _Search(Struct, frozen=True, eq=False):
    """A stream, and how to spell a pattern in its symbols (-1 for a word that is not in the text)."""

    stream: Stream
    size: int
    spell: Callable[[str], list[int]]


class SpanCandidates(Struct, frozen=True, eq=False):
    """The candidates of questions (each a unit and a text), in ascending order.

    Question `i` has the candidates `at[i]` … `at[i + 1] - 1`, found at level `level[i]` (-1 for none);
    `start` and `end` count tokens of the whole corpus.
    """

    level: Small
    at: Ints
    start: Ints
    end: Ints


def candidates(
    searcher: Searcher, unit: Ints, texts: Sequence[str], *, level: Level, threshold: float
) -> SpanCandidates:
    """Find the candidates of distinct questions, each at the first level that has any.

    Args:
        unit, texts: the unit and the text of each question.
        level: the last level to try.
        threshold: the minimum similarity at level "fuzzy".
    """
    hits = _Hits(len(unit))
    last = LEVELS.index(level)
    plain: tuple[Literal["exact", "case", "bare"], ...] = ("exact", "case", "bare")
    for depth, name in enumerate(plain[: last + 1]):
        rows = hits.open()
        hits.add(depth, rows, *_search(getattr(searcher, name), searcher.units, unit, texts, rows))
    if last >= LEVELS.index("article"):
        shortened = {row: text for row in hits.open().tolist() if (text := without_article(texts[row]))}
        for name in plain:
            rows = ints([row for row in hits.open().tolist() if row in shortened])
            matches = _search(getattr(searcher, name), searcher.units, unit, shortened, rows)
            hits.add(LEVELS.index("article"), rows, *matches)
    if last >= LEVELS.index("fuzzy"):
        folded = {row: text for row in hits.open().tolist() if bare(text := fold(texts[row]))}
        rows = ints(list(folded))
        if len(rows):
            runs = fuzzy_candidates(
                searcher.folded, searcher.units, ints(unit[rows]), list(folded.values()), threshold
            )
            hits.add(LEVELS.index("fuzzy"), rows, *runs)
    return hits.gathered()


class _Hits:
    """The candidates found so far, level by level."""

    def __init__(self, questions: int) -> None:
        self.level = np.full(questions, -1, dtype=np.int8)
        self._found: list[tuple[Ints, Ints, Ints]] = []

    def open(self) -> Ints:
        """The questions without candidates so far."""
        return ints(np.flatnonzero(self.level < 0))

    def add(self, level: int, rows: Ints, which: Ints, start: Ints, end: Ints) -> None:
        """Add candidates of the questions `rows[which]`."""
        self.level[rows[which]] = level
        self._found.append((ints(rows[which]), start, end))

    def gathered(self) -> SpanCandidates:
        """All candidates, sorted by question, start and end."""
        question, start, end = (np.concatenate([columns[i] for columns in self._found]) for i in range(3))
        order = np.lexsort((end, start, question))
        at = offsets(np.bincount(question, minlength=len(self.level)))
        return SpanCandidates(self.level, at, ints(start[order]), ints(end[order]))


def _search(
    search: _Search, units: Units, unit: Ints, texts: Sequence[str] | dict[int, str], rows: Ints
) -> tuple[Ints, Ints, Ints]:
    """Search for the texts of `rows` at once; return the index into `rows`, start and end of each run."""
    numbers: dict[tuple[int, ...], int] = {}
    spelled: dict[str, int] = {}
    pattern = np.full(len(rows), -1, dtype=np.int64)
    for index, row in enumerate(rows.tolist()):
        text = texts[row]
        if text not in spelled:
            symbols = tuple(search.spell(text))
            possible = symbols and -1 not in symbols
            spelled[text] = numbers.setdefault(symbols, len(numbers)) if possible else -1
        pattern[index] = spelled[text]
    runs = find(search.stream, list(numbers), search.size)
    # A run is a candidate of every question in its unit with its pattern.
    possible_rows = np.flatnonzero(pattern >= 0)
    key = unit[rows[possible_rows]] * max(len(numbers), 1) + pattern[possible_rows]
    order = np.argsort(key, kind="stable")
    run_unit = units.of_sentence[units.sentence_of_token[runs.start]] if len(runs.start) else runs.start
    run_key = run_unit * max(len(numbers), 1) + runs.pattern
    first = np.searchsorted(key[order], run_key, side="left")
    number = np.searchsorted(key[order], run_key, side="right") - first
    which = possible_rows[order[run_positions(first, number)]] if len(order) else ints([])
    return ints(which), ints(np.repeat(runs.start, number)), ints(np.repeat(runs.end, number))
