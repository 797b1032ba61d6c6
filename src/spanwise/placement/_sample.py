"""Place and count the answers of one sample without a corpus or a document, for scorers of single samples.

The definitions are those of `_candidates` and `_scoring`, which search many units at once; for a single short
text, searching strings takes a tenth of the time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import codes, ints, offsets
from spanwise.corpus import Pieces, joined_pieces
from spanwise.errors import InputError
from spanwise.formats.text_tokens import words
from spanwise.placement._candidates import EPSILON, LEVELS, Level, cut, edit_distance, half_similar
from spanwise.placement._policies import AnswerTable, Policy, PolicyOptions
from spanwise.placement.answers import bare, collapse, fold, mapped_labels, without_article
from spanwise.placement.parsing import Answer, Json, Parsed, Status, answers_of, apart, located, parse

Run = tuple[int, int]  # the first token and the token after the last
Claim = tuple[Pieces, str]  # positions in characters, and a label


class SampleCounts(Struct, frozen=True):
    """The gold, predicted and correct mentions of one sample, and how its response was read.

    Examples:
        >>> SampleCounts(2, 1, 1, "read").row
        (2, 1, 1, 0)
    """

    gold: int
    predicted: int
    correct: int
    status: Status

    @property
    def row(self) -> tuple[int, int, int, int]:
        """The numbers of gold, predicted and correct mentions, and 1 if the response could not be read."""
        return self.gold, self.predicted, self.correct, int(self.status == "failed")


class _Spelling:
    """The tokens of a text as one string, and the tokens that begin and end at each of its positions."""

    def __init__(self, spelled: Sequence[str], spaced: Sequence[bool]) -> None:
        parts = [word + " " if gap else word for word, gap in zip(spelled, spaced, strict=True)]
        self.string = "".join(parts)
        begins = list(accumulate(map(len, parts), initial=0))
        with_characters = [token for token, word in enumerate(spelled) if word]
        self.begins = {begins[token]: token for token in with_characters}
        self.ends = {begins[token] + len(spelled[token]): token + 1 for token in with_characters}

    def runs(self, text: str) -> list[Run]:
        """The runs of whole tokens that spell the text."""
        return [
            (self.begins[at], self.ends[at + len(text)])
            for at in occurrences(self.string, text)
            if at in self.begins and at + len(text) in self.ends
        ]


def occurrences(string: str, text: str) -> Iterator[int]:
    """Every position of a text in a string, overlapping ones included; none of the empty text."""
    at = string.find(text) if text else -1
    while at >= 0:
        yield at
        at = string.find(text, at + 1)


class SampleText:
    """One text with its tokens, prepared for search at each level."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans = words(text)
        self.tokens = [text[low:high] for low, high in self.spans]
        ends = [high for _, high in self.spans]
        self.spaced = [end != low for end, (low, _) in zip(ends, self.spans[1:], strict=False)]
        self.spaced += [False] * bool(self.spans)

    def _spelled(self, normalise: Callable[[str], str], *, blanks: bool = True) -> _Spelling:
        gaps = self.spaced if blanks else [False] * len(self.tokens)
        return _Spelling([normalise(token) for token in self.tokens], gaps)

    @cached_property
    def exact(self) -> _Spelling:
        return self._spelled(collapse)

    @cached_property
    def case(self) -> _Spelling:
        return self._spelled(fold)

    @cached_property
    def bare(self) -> _Spelling:
        return self._spelled(lambda token: bare(fold(token)), blanks=False)

    def candidates(self, text: str, level: Level, threshold: float) -> list[Run]:
        """The runs of tokens that an answer may mean: those of the first level that has any, in order."""
        last = LEVELS.index(level)
        runs = self._plain(text, last)
        if not runs and last >= LEVELS.index("article"):
            runs = self._plain(without_article(text), last)
        if not runs and level == "fuzzy" and bare(folded := fold(text)):
            runs = self._similar(folded, threshold)
        return runs

    def runs_of(self, answer: Answer, level: Level, threshold: float) -> list[Pieces]:
        """The places of an answer: one or more pieces each, in tokens."""
        if answer.place is not None:
            return [(answer.place,)]
        if len(answer.pieces) < 2:
            return [(run,) for run in self.candidates(answer.text, level, threshold)]
        begins, *others = (self.candidates(piece, level, threshold) for piece in answer.pieces)
        found = []
        for begin in begins:
            pieces = [begin]
            for listed in others:
                after = bisect_left(listed, (pieces[-1][1], 0))
                pieces += listed[after : after + 1]
            if len(pieces) == len(answer.pieces):
                found.append(joined_pieces(pieces))
        return found

    def characters(self, run: Pieces) -> Pieces:
        """The positions of pieces in characters."""
        return tuple((self.spans[low][0], self.spans[high - 1][1]) for low, high in run)

    def _plain(self, text: str, last: int) -> list[Run]:
        if "\0" in text:
            return []
        runs = self.exact.runs(collapse(text))
        if not runs and last >= LEVELS.index("case"):
            runs = self.case.runs(fold(text))
        if not runs and last >= LEVELS.index("bare"):
            runs = self.bare.runs(bare(fold(text)))
        return runs

    def _similar(self, text: str, threshold: float) -> list[Run]:
        """The runs most similar to a folded text; see `fuzzy_candidates`, which has the definition."""
        edits = math.floor((1 - threshold) / threshold * len(text) + EPSILON)
        begins, ends, string = self.case.begins, self.case.ends, self.case.string
        near: set[int] = set()
        if edits >= len(text):
            near.update(begins)
        elif edits:
            for offset, piece in cut(text, edits + 1):
                for at in occurrences(string, piece):
                    near.update(range(at - offset - edits, at - offset + edits + 1))
        shortest = max(math.ceil(len(text) * threshold - EPSILON), 1)
        longest = math.floor(len(text) / threshold + EPSILON)
        answer_words = text.split(" ")
        similar: list[tuple[float, int, Run]] = []
        for begin in near & begins.keys():
            for end in range(begin + shortest, begin + longest + 1):
                if end not in ends:
                    continue
                longer = max(end - begin, len(text))
                distance = edit_distance(text, string[begin:end])
                run = begins[begin], ends[end]
                if distance <= (1 - threshold) * longer + EPSILON and all(
                    half_similar(fold(self.tokens[token]), answer_words) for token in (run[0], run[1] - 1)
                ):
                    similar.append((distance / longer, run[1] - run[0], run))
        kept: list[Run] = []
        for lost, _, run in sorted(similar):
            if lost == min(similar)[0] and all(run[1] <= low or high <= run[0] for low, high in kept):
                kept.append(run)
        return sorted(kept)


def count_sample(
    text: str,
    gold: Json,
    response: Json,
    *,
    policy: Policy = "ordered",
    level: Level = "fuzzy",
    threshold: float = 0.85,
    labels: Sequence[str] = (),
    aliases: Mapping[str, str] | None = None,
) -> SampleCounts:
    """Place the answers of one response on its text and count them, as `spanwise.place` does.

    Args:
        text: the text that the model was given.
        gold: the gold mentions, in any shape of answers; those without `start` and `end` are taken to be the
            first occurrences of their text that are still free.
        response: what the model wrote, or its parsed answers.
        policy, level, threshold, aliases: as in `spanwise.place`.
        labels: all labels of the task; by default, those of this sample's gold.

    Raises:
        InputError: gold is no list of mentions, or a mention does not occur in the text.

    Examples:
        >>> count_sample("Ann left Rome", {"PER": ["Ann"], "LOC": ["Rome"]}, '{"PER": ["Ann"]}')
        SampleCounts(gold=2, predicted=1, correct=1, status='read')
    """
    unit = SampleText(text)
    claims = gold_claims(unit, gold, frozenset(labels))
    known = frozenset({*labels, *(label for _, label in claims)})
    gapped = any(len(place) > 1 for place, _ in claims)
    parsed = _parsed(unit, response, known, aliases or {}, gapped=gapped)
    names = mapped_labels(parsed.answers, sorted(known), aliases or {}).names
    answers = [replace(answer, label=names[answer.label]) for answer in parsed.answers]
    placed, predicted = _placed(unit, answers, policy, level, threshold)
    given: set[tuple[str, str]] = set()
    wrong = 0
    for row, answer in enumerate(answers):
        key = fold(answer.text), answer.label
        wrong += row not in placed and key not in given
        given.add(key)
    return SampleCounts(len(claims), len(predicted) + wrong, len(predicted & claims), parsed.status)


def _parsed(
    unit: SampleText, response: Json, labels: frozenset[str], aliases: Mapping[str, str], *, gapped: bool
) -> Parsed:
    only = next(iter(labels)) if len(labels) == 1 else None
    parsed = parse(response, label=only, labels=labels.union(aliases), words=unit.tokens)
    if not gapped:
        parsed = apart(parsed)
    if all(answer.span is None for answer in parsed.answers):
        return parsed
    return replace(parsed, answers=located(parsed.answers, unit.text, unit.tokens))


def gold_claims(unit: SampleText, gold: Json, labels: frozenset[str]) -> set[Claim]:
    """The positions and labels of gold mentions, each at its own position or its first free occurrence."""
    try:
        answers = answers_of(gold, None, labels)
    except ValueError as error:
        raise InputError(
            f"gold is not a list of mentions: {error}.\n"
            'Give mentions such as {"text": "Ann", "label": "PER"}, or lists of texts by label.'
        ) from None
    claims: set[Claim] = set()
    for answer in answers:
        if answer.span is not None:
            claims.add(((answer.span,), answer.label))
            continue
        runs = unit.runs_of(replace(answer, place=None), "exact", 1.0)
        places = [(unit.characters(run), answer.label) for run in runs]
        # A mention may also be a part of a token.
        places += [
            (((at, at + len(answer.text)),), answer.label) for at in occurrences(unit.text, answer.text)
        ]
        free = next((place for place in places if place not in claims), None)
        if free is None:
            raise InputError(
                f"the gold mention {answer.text!r} is not in the text, or not that often.\n"
                "Give gold mentions as they are in the text, or with start and end."
            )
        claims.add(free)
    return claims


def _placed(
    unit: SampleText, answers: Sequence[Answer], policy: Policy, level: Level, threshold: float
) -> tuple[set[int], set[Claim]]:
    """The rows of the answers that the policy places, and their positions and labels."""
    questions = [(answer.place, answer.pieces, answer.text) for answer in answers]
    distinct = list(dict.fromkeys(questions))
    first = {question: row for row, question in reversed([*enumerate(questions)])}
    runs = {question: unit.runs_of(answers[first[question]], level, threshold) for question in distinct}
    places = {question: [unit.characters(run) for run in some] for question, some in runs.items()}
    pairs = list(zip(questions, (answer.label for answer in answers), strict=True))
    claims = [(place, label) for question, label in pairs for place in places[question]]
    simple = len(set(claims)) == len(claims) and all(len(some) < 2 for some in places.values())
    if simple and not any(answer.occurrence for answer in answers):
        # Every answer has a place of its own or none, so that all policies agree.
        return {row for row, (question, _) in enumerate(pairs) if places[question]}, set(claims)
    number = {question: at for at, question in enumerate(distinct)}
    names = {label: code for code, label in enumerate(dict.fromkeys(label for _, label in pairs))}
    flat = [run for question in distinct for run in runs[question]]
    spans = [place for question in distinct for place in places[question]]
    place_number = {place: at for at, place in enumerate(dict.fromkeys(spans))}
    table = AnswerTable(
        unit=ints([0] * len(answers)),
        label=codes([names[answer.label] for answer in answers]),
        labels=max(len(names), 1),
        question=ints([number[question] for question in questions]),
        occurrence=ints([answer.occurrence or 0 for answer in answers]),
        options=PolicyOptions(
            offsets(ints([len(runs[question]) for question in distinct])),
            ints([run[0][0] for run in flat]),
            ints([run[-1][1] for run in flat]),
            ints([sum(high - low for low, high in run) for run in flat]),
            ints([place_number[place] for place in spans]),
        ),
    )
    rows, candidates = table.chosen(policy)
    chosen = zip(rows.tolist(), candidates.tolist(), strict=True)
    return set(rows.tolist()), {(spans[candidate], answers[row].label) for row, candidate in chosen}
