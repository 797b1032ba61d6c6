"""Where an answer could stand: runs of whole tokens, found at the first level that has any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from spanwise.columns import Ints, Small, ints, offsets, run_positions
from spanwise.corpus import Corpus
from spanwise.placement._fuzzy import fuzzy_candidates
from spanwise.placement._search import BLANK, BORDER, CHARACTERS, Stream, characters, find
from spanwise.placement._strings import bare, collapse, fold, without_article
from spanwise.placement._units import Units

Level = Literal["exact", "case", "bare", "article", "fuzzy"]
LEVELS: tuple[Level, ...] = get_args(Level)


class Searcher(Struct, frozen=True, eq=False, dict=True):
    """A gold text made ready for search at each level."""

    units: Units

    @property
    def corpus(self) -> Corpus:
        return self.units.corpus

    @property
    def by_characters(self) -> bool:
        """Whether tokens may touch, so that words of an answer are no runs of tokens."""
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
    """A stream and how a pattern is spelled in its symbols (-1: a word that the text does not have)."""

    stream: Stream
    size: int
    spell: Callable[[str], list[int]]


class Candidates(Struct, frozen=True, eq=False):
    """The candidates of questions (a unit and a text each), in ascending order.

    Question `i` has the candidates `at[i]` … `at[i + 1] - 1`, found at level `level[i]` (-1: none);
    `start` and `end` count tokens of the whole corpus.
    """

    level: Small
    at: Ints
    start: Ints
    end: Ints


def candidates(
    searcher: Searcher, unit: Ints, texts: Sequence[str], *, level: Level, threshold: float
) -> Candidates:
    """The candidates of distinct questions, each at the first level that has any.

    Args:
        unit, texts: of each question.
        level: the last level that is tried.
        threshold: the least similarity at level "fuzzy".
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
            found = _search(getattr(searcher, name), searcher.units, unit, shortened, rows)
            hits.add(LEVELS.index("article"), rows, *found)
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
    """Candidates as they are found, level by level."""

    def __init__(self, questions: int) -> None:
        self.level = np.full(questions, -1, dtype=np.int8)
        self._found: list[tuple[Ints, Ints, Ints]] = []

    def open(self) -> Ints:
        """The questions without a candidate so far."""
        return ints(np.flatnonzero(self.level < 0))

    def add(self, level: int, rows: Ints, which: Ints, start: Ints, end: Ints) -> None:
        """Runs of the questions `rows[which]`."""
        self.level[rows[which]] = level
        self._found.append((ints(rows[which]), start, end))

    def gathered(self) -> Candidates:
        """All candidates by question, first token and last token."""
        question, start, end = (np.concatenate([one[i] for one in self._found]) for i in range(3))
        order = np.lexsort((end, start, question))
        at = offsets(np.bincount(question, minlength=len(self.level)))
        return Candidates(self.level, at, ints(start[order]), ints(end[order]))


def _search(
    search: _Search, units: Units, unit: Ints, texts: Sequence[str] | dict[int, str], rows: Ints
) -> tuple[Ints, Ints, Ints]:
    """Which of `rows` have which runs of tokens in their unit, by one search for all their texts."""
    numbers: dict[tuple[int, ...], int] = {}
    spelled: dict[str, int] = {}
    pattern = np.full(len(rows), -1, dtype=np.int64)
    for place, row in enumerate(rows.tolist()):
        text = texts[row]
        if text not in spelled:
            symbols = tuple(search.spell(text))
            possible = symbols and -1 not in symbols
            spelled[text] = numbers.setdefault(symbols, len(numbers)) if possible else -1
        pattern[place] = spelled[text]
    found = find(search.stream, list(numbers), search.size)
    # A run belongs to every question of its unit with its pattern.
    asked = np.flatnonzero(pattern >= 0)
    key = unit[rows[asked]] * max(len(numbers), 1) + pattern[asked]
    order = np.argsort(key, kind="stable")
    run_unit = units.of_sentence[units.sentence_of_token[found.start]] if len(found.start) else found.start
    run_key = run_unit * max(len(numbers), 1) + found.pattern
    first = np.searchsorted(key[order], run_key, side="left")
    number = np.searchsorted(key[order], run_key, side="right") - first
    which = asked[order[run_positions(first, number)]] if len(order) else ints([])
    return ints(which), ints(np.repeat(found.start, number)), ints(np.repeat(found.end, number))
