"""Turn answers into predictions under every policy, and count them against gold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Ints, Small, codes, distinct, ints, offsets
from spanwise.corpus import Annotation, Mentions, Parts, Pieces, joined_pieces
from spanwise.hashing import numbered
from spanwise.placement._candidates import LEVELS, Level, Searcher, SpanCandidates, candidates
from spanwise.placement._policies import (
    AnswerTable,
    Policy,
    PolicyOptions,
    among,
    bounds,
)
from spanwise.placement.answers import Units, fold, gold_order, surfaces
from spanwise.placement.parsing import Answer

Counted = tuple[int, int, int]  # gold, predicted, correct


class Sheet(Struct, frozen=True, eq=False, dict=True):
    """Answers with their candidates, and gold: the data that policies choose from and scores count."""

    units: Units
    gold: Mentions
    answers: Sequence[Answer]  # with their labels mapped to those of gold, unit by unit
    labels: tuple[str, ...]
    table: AnswerTable
    level: Small  # of each answer; -1 if it has no candidate
    sentence: Ints  # of each candidate; start and end are as in mentions
    start: Ints
    end: Ints
    pieces: dict[int, Pieces]  # by candidate, for those with gaps
    gold_claims: Ints  # of each gold mention

    @cached_property
    def claims(self) -> Ints:
        """The claims of gold, sorted."""
        return ints(distinct(self.gold_claims))

    def up_to(self, level: Level) -> Sheet:
        """A copy with only the candidates that a search up to this level would have found."""
        options = self.table.options
        allowed = np.zeros(len(options.at) - 1, dtype=bool)
        allowed[self.table.question[self.level <= LEVELS.index(level)]] = True
        kept = np.repeat(allowed, options.number)
        fewer = PolicyOptions(
            offsets(np.where(allowed, options.number, 0)), options.start[kept], options.end[kept],
            options.tokens[kept], options.place[kept],
        )  # fmt: skip
        rows = np.flatnonzero(kept)
        pieces = {at: self.pieces[row] for at, row in enumerate(rows.tolist()) if row in self.pieces}
        return replace(
            self,
            table=replace(self.table, options=fewer),
            level=np.where(self.level <= LEVELS.index(level), self.level, -1).astype(np.int8),
            sentence=ints(self.sentence[rows]),
            start=ints(self.start[rows]),
            end=ints(self.end[rows]),
            pieces=pieces,
        )

    @cached_property
    def given_before(self) -> Bools:
        """Which answers repeat the folded text and label of an earlier answer in their unit."""
        distinct: dict[str, int] = {}
        text = ints([distinct.setdefault(answer.text, len(distinct)) for answer in self.answers])
        folded: dict[str, int] = {}
        number = ints([folded.setdefault(fold(string), len(folded)) for string in distinct])
        key = self.table.unit * max(len(folded), 1) + number[text] if len(text) else text
        _, first = np.unique(key * self.table.labels + self.table.label, return_index=True)
        repeated = np.ones(len(self.answers), dtype=bool)
        repeated[first] = False
        return repeated

    def unplaced_predictions(self, placed: Bools, *, keep: bool) -> Bools:
        """Which unplaced answers still count as (wrong) predictions."""
        return np.asarray(~placed if keep else ~placed & ~self.given_before)

    def counted(self, policy: Policy, *, keep: bool) -> Counted:
        """The number of gold, predicted and correct mentions under a policy."""
        rows, candidate = self.chosen(policy)
        claims = distinct(self.table.claim(candidate, self.table.label[rows]))
        wrong = self.unplaced_predictions(self.placed(policy), keep=keep)
        predicted = len(claims) + int(wrong.sum())
        return len(self.gold), predicted, int(among(ints(claims), self.claims).sum())

    def bounds(self, *, keep: bool) -> tuple[Counted, Counted]:
        """The counts of the worst and the best one-to-one placement."""
        limits = bounds(self.table, self.claims)
        wrong = int(self.unplaced_predictions(limits.placed, keep=keep).sum())
        taken = self.table.fixed & limits.placed
        fixed = self.table.first[taken] + self.table.occurrence[taken] - 1
        doubled = len(fixed) - len(distinct(self.table.claim(ints(fixed), self.table.label[taken])))
        predicted = int(limits.placed.sum()) - doubled + wrong
        return (len(self.gold), predicted, limits.worst), (len(self.gold), predicted, limits.best)

    def chosen(self, policy: Policy) -> tuple[Ints, Ints]:
        """The rows of the answers that a policy places, and their candidates."""
        return self.table.chosen(policy)

    def placed(self, policy: Policy) -> Bools:
        """Which answers a policy places."""
        placed = np.zeros(len(self.answers), dtype=bool)
        placed[self.chosen(policy)[0]] = True
        return placed

    def found(self, policy: Policy) -> Bools:
        """Which gold mentions a policy finds."""
        rows, candidate = self.chosen(policy)
        return among(self.gold_claims, distinct(self.table.claim(candidate, self.table.label[rows])))

    def mentions(self, policy: Policy, *, keep: bool) -> Mentions:
        """The predictions of a policy, in output order within a sentence; unplaced ones have positions -1."""
        rows, candidate = self.chosen(policy)
        claims = self.table.claim(candidate, self.table.label[rows])
        _, first = np.unique(claims, return_index=True)
        rows, candidate = rows[np.sort(first)], candidate[np.sort(first)]
        wrong = np.flatnonzero(self.unplaced_predictions(self.placed(policy), keep=keep))
        nowhere = np.full(len(wrong), -1, dtype=np.int64)
        sentence = np.append(self.sentence[candidate], self.units.sentences[self.table.unit[wrong]])
        answer = np.append(rows, wrong)
        places = np.append(candidate, nowhere)
        order = np.lexsort((answer, sentence))
        answer, places = answer[order], places[order]
        start = np.where(places >= 0, np.append(self.start, -1)[places], -1)
        end = np.where(places >= 0, np.append(self.end, -1)[places], -1)
        listed = [self.answers[row] for row in answer.tolist()]
        fields = {
            "answer": np.array([item.text for item in listed], dtype=object),
            "level": np.array([_level_name(number) for number in self.level[answer].tolist()], dtype=object),
        }
        if any(item.score is not None for item in listed):
            fields["score"] = np.array([np.nan if item.score is None else item.score for item in listed])
        mentions = Mentions(
            ints(sentence[order]), ints(start), ints(end), codes(self.table.label[answer]), self.labels,
            fields=fields,
        )  # fmt: skip
        if not self.pieces:
            return mentions
        pieces = [
            self.pieces.get(candidate_row, ((first, last),))
            for candidate_row, first, last in zip(places.tolist(), start.tolist(), end.tolist(), strict=True)
        ]
        return replace(mentions, parts=Parts.of(pieces))


def _level_name(number: int) -> str:
    return "" if number < 0 else LEVELS[number]


def sheet_of(
    searcher: Searcher,
    gold: Mentions,
    unit: Sequence[int],
    answers: Sequence[Answer],
    *,
    level: Level,
    threshold: float,
) -> Sheet:
    """Find the candidates of all answers, which must be given in order of their units."""
    units = searcher.units
    asking = _Questions(units)
    question = ints([asking.number(index, answer) for index, answer in zip(unit, answers, strict=True)])
    spans = asking.candidates(searcher, level, threshold)
    question = ints(np.where(question >= 0, question, len(asking.texts) - 1 - question))
    sentence, start, end = units.positions(spans.runs.start, spans.runs.end)
    pieces = {candidate: _in_mentions(units, run) for candidate, run in spans.gapped.items()}
    tokens = spans.runs.end - spans.runs.start
    for candidate, run in spans.gapped.items():
        tokens[candidate] = sum(high - low for low, high in run)
    place_number = _places(gold, sentence, start, end, pieces)
    labels = tuple(sorted({*gold.names(), *(answer.label for answer in answers)}))
    number = {name: code for code, name in enumerate(labels)}
    asked = AnswerTable(
        unit=ints(unit),
        label=codes([number[answer.label] for answer in answers]),
        labels=max(len(labels), 1),
        question=question,
        occurrence=ints([answer.occurrence or 0 for answer in answers]),
        options=PolicyOptions(
            spans.runs.at, spans.runs.start, spans.runs.end, ints(tokens), ints(place_number[: len(start)])
        ),
    )
    gold_label = codes([number[name] for name in gold.names()])
    claims = place_number[len(start) :] * asked.labels + gold_label
    level_of_answer = spans.runs.level[question]
    return Sheet(
        units, gold, answers, labels, asked, level_of_answer, sentence, start, end, pieces, ints(claims)
    )


def _in_mentions(units: Units, run: Pieces) -> Pieces:
    """Convert pieces in tokens of the corpus to positions as in mentions."""
    _, start, end = units.positions(ints([low for low, _ in run]), ints([high for _, high in run]))
    return tuple(zip(start.tolist(), end.tolist(), strict=True))


def _places(gold: Mentions, sentence: Ints, start: Ints, end: Ints, pieces: dict[int, Pieces]) -> Ints:
    """Number the places of candidates, then of gold mentions; equal places have equal numbers."""
    shape = np.zeros(len(sentence) + len(gold), dtype=np.int64)
    shapes: dict[Pieces, int] = {}
    for candidate, parts in pieces.items():
        shape[candidate] = shapes.setdefault(parts, len(shapes) + 1)
    if gold.parts is not None:
        for row, parts in enumerate(gold.pieces()):
            if len(parts) > 1:
                shape[len(sentence) + row] = shapes.setdefault(parts, len(shapes) + 1)
    columns = [
        np.append(sentence, gold.sentence), np.append(start, gold.start), np.append(end, gold.end), shape
    ]  # fmt: skip
    _, place_number = numbered(np.stack(columns, axis=1).astype(np.int64).view(np.uint64))
    return place_number


class _Special(Struct, frozen=True):
    """A question without a search of its own: a run shown by markup, or the questions of several pieces."""

    run: tuple[int, int] | None
    parts: tuple[int, ...] = ()


class _Found(Struct, frozen=True, eq=False):
    runs: SpanCandidates
    gapped: dict[int, Pieces]  # by candidate, for those with gaps, in tokens of the corpus


class _Questions:
    """The distinct questions of answers: a text in a unit, a given place, or several pieces."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.unit: list[int] = []
        self.texts: list[str] = []
        self.special: list[_Special] = []
        self._numbers: dict[tuple[int, object], int] = {}

    def number(self, unit: int, answer: Answer) -> int:
        """The number of an answer's question; -1, -2 … for special ones."""
        if answer.place is not None and (run := self._run(unit, answer.place)) is not None:
            return self._add_special((unit, answer.place), _Special(run))
        if len(answer.pieces) > 1:
            parts = tuple(self._search(unit, piece) for piece in answer.pieces)
            return self._add_special((unit, answer.pieces), _Special(None, parts))
        return self._search(unit, answer.text)

    def _run(self, unit: int, token_span: tuple[int, int]) -> tuple[int, int] | None:
        """Convert a place in a unit to tokens of the whole corpus; None if it crosses a sentence border."""
        first = int(self.units.tokens[unit])
        start, end = first + token_span[0], first + token_span[1]
        sentence = self.units.sentence_of_token
        return (start, end) if sentence[start] == sentence[end - 1] else None

    def _search(self, unit: int, text: str) -> int:
        key = (unit, text)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.texts)
            self.unit.append(unit)
            self.texts.append(text)
        return number

    def _add_special(self, key: tuple[int, object], special: _Special) -> int:
        number = self._numbers.get(key)
        if number is None:
            self.special.append(special)
            number = self._numbers[key] = -len(self.special)
        return number

    def candidates(self, searcher: Searcher, level: Level, threshold: float) -> _Found:
        """The candidates of all questions; special ones come last."""
        spans = candidates(searcher, ints(self.unit), self.texts, level=level, threshold=threshold)
        gapped: dict[int, Pieces] = {}
        if not self.special:
            return _Found(spans, gapped)
        sizes, levels = [np.diff(spans.at)], [spans.level]
        more: list[Pieces] = []
        for special in self.special:
            runs, at_level = self._runs_of(special, spans)
            for run in runs:
                if len(run) > 1:
                    gapped[len(spans.start) + len(more)] = run
                more.append(run)
            sizes.append(ints([len(runs)]))
            levels.append(np.array([at_level], dtype=np.int8))
        return _Found(
            SpanCandidates(
                np.concatenate(levels),
                offsets(np.concatenate(sizes)),
                ints(np.append(spans.start, [run[0][0] for run in more]).astype(np.int64)),
                ints(np.append(spans.end, [run[-1][1] for run in more]).astype(np.int64)),
            ),
            gapped,
        )

    def _runs_of(self, special: _Special, candidates: SpanCandidates) -> tuple[list[Pieces], int]:
        """The pieces of each candidate, and the level of the piece that is hardest to find.

        Every candidate of the first piece begins a run; each further piece takes its first candidate after
        the previous piece, in the same sentence.
        """
        if special.run is not None:
            return [(special.run,)], LEVELS.index("exact")
        spans = [
            list(zip(candidates.start[low:high].tolist(), candidates.end[low:high].tolist(), strict=True))
            for low, high in (
                (int(candidates.at[part]), int(candidates.at[part + 1])) for part in special.parts
            )
        ]
        sentence = self.units.sentence_of_token
        runs: list[Pieces] = []
        for begin in spans[0]:
            run = [begin]
            for listed in spans[1:]:
                after = bisect_left(listed, (run[-1][1], 0))
                if after == len(listed) or sentence[listed[after][0]] != sentence[begin[0]]:
                    break
                run.append(listed[after])
            else:
                runs.append(joined_pieces(run))
        return (runs, max(int(candidates.level[part]) for part in special.parts)) if runs else ([], -1)


def gold_sheet(searcher: Searcher, gold: Annotation, *, level: Level, threshold: float) -> Sheet:
    """The gold mentions themselves as answers, in order of start, end and label, to compute ceilings."""
    mentions = gold.mentions
    order = gold_order(gold).tolist()
    texts, names = surfaces(gold.corpus, mentions), mentions.names()
    answers = [
        Answer(" ".join(texts[row]), names[row], pieces=texts[row] if len(texts[row]) > 1 else ())
        for row in order
    ]
    unit = searcher.units.of_sentence[mentions.sentence[order]] if order else ints([])
    return sheet_of(searcher, mentions, unit.tolist(), answers, level=level, threshold=threshold)


class Texts(Struct, frozen=True, eq=False):
    """The distinct texts of gold mentions and answers, and the text of each as an index."""

    distinct: Sequence[str]
    gold: Ints
    given: Ints

    @classmethod
    def of(cls, gold: Annotation, answers: Sequence[Answer]) -> Texts:
        """Collect the texts; those of the pieces of a discontinuous mention are joined by blanks."""
        numbers: dict[str, int] = {}
        gold_texts = [
            numbers.setdefault(" ".join(pieces), len(numbers))
            for pieces in surfaces(gold.corpus, gold.mentions)
        ]
        answer_texts = [numbers.setdefault(answer.text, len(numbers)) for answer in answers]
        return cls(list(numbers), ints(gold_texts), ints(answer_texts))

    def normalised(self, normalise: Callable[[str], str]) -> Ints:
        """Number the texts so that equal normalised texts have equal numbers."""
        numbers: dict[str, int] = {}
        return ints([numbers.setdefault(normalise(text), len(numbers)) for text in self.distinct])


class StringCounts(Struct, frozen=True):
    """The numbers of gold, predicted and common (text, label) pairs, as sets and multisets per unit."""

    sets: Counted
    multisets: Counted


def string_counts(
    sheet: Sheet, texts: Texts, normalise: Callable[[str], str], inside: Bools | None = None
) -> StringCounts:
    """Count the pairs of normalised text and label that answers and gold share, regardless of position.

    Args:
        inside: which gold mentions to count; by default, all.
    """
    number, asked, gold = texts.normalised(normalise), sheet.table, sheet.gold
    code = {name: index for index, name in enumerate(sheet.labels)}
    gold_label = np.array([code[name] for name in gold.names()], dtype=np.int64)
    unit = np.append(sheet.units.of_sentence[gold.sentence], asked.unit).astype(np.int64)
    text = np.append(number[texts.gold], number[texts.given]).astype(np.int64)
    key = (unit * max(len(number), 1) + text) * asked.labels + np.append(gold_label, asked.label)
    pairs, index_of = np.unique(key, return_inverse=True)
    own = index_of[: len(gold)] if inside is None else index_of[: len(gold)][inside]
    gold_count = np.bincount(own, minlength=len(pairs))
    answer_count = np.bincount(index_of[len(gold) :], minlength=len(pairs))
    common = np.minimum(gold_count, answer_count)
    sets = int((gold_count > 0).sum()), int((answer_count > 0).sum()), int((common > 0).sum())
    return StringCounts(sets, (len(own), len(asked), int(common.sum())))
