"""What pages and the API show: views and their addresses, marked-up sentences, and typed answers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import PurePath
from urllib.parse import quote

import numpy as np
from msgspec import Struct, structs

from spanwise.alignment import TokenDifference
from spanwise.bitmaps import unpacked_bits
from spanwise.columns import Bools, Ints
from spanwise.conditions import Condition, Criterion, parse
from spanwise.document.scores import ScoreTest
from spanwise.errors import ChoiceError, unknown
from spanwise.evaluation.columns import MentionColumns
from spanwise.matching import OUTCOMES
from spanwise.slices.index import SliceIndex, SystemBits
from spanwise.views import VIEWS
from spanwise.views.wording import DOCUMENTS, tough
from spanwise.workbench.bench import sentence_sha
from spanwise.workbench.guard import MOST_CONDITIONS, Place, Remedy
from spanwise.workbench.index import SliceTest
from spanwise.workbench.standings import PairVerdict
from spanwise.workbench.store import Bounds, EvaluationJob, Gold, Note, StoredDocument

WHERE = "where"  # the parameter for clauses that compare several attributes
SHOW = "show."
OWN = (
    "after", "limit", "intervals", "a", "b", "sort", "q", "tag", "runs", "systems", "by", "result", "name",
    "score", "slice", "columns", "parts",
)  # fmt: skip
WRONG, RIGHT, SPLIT = "wrong", "right", "split"
OUTCOME, TAGGED = "outcome", "tag"


class Shown(Struct, frozen=True, order=True):
    """A filter on the sentences shown: `outcome=NAME:wrong`, `outcome=split`, `tag=gold is wrong`."""

    kind: str
    value: str


class ChosenView(Struct, frozen=True):
    """What a page shows: the condition of the scored slice, and filters on the sentences below it."""

    condition: Condition | None = None
    shown: tuple[Shown, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The view as query parameters."""
        return [
            *parameters(self.condition),
            *((f"{SHOW}{choice.kind}", choice.value) for choice in self.shown),
        ]

    def query(self) -> str:
        """The canonical query string; equal views have equal query strings."""
        return "&".join(
            f"{quote(name, safe='')}={quote(value, safe=',=<>!:*')}" for name, value in self.pairs
        )

    def without(self, clause: Sequence[Criterion]) -> ChosenView:
        """A copy without one of the clauses."""
        clauses = (
            [other for other in self.condition.clauses if other != tuple(clause)] if self.condition else []
        )
        return ChosenView(Condition.of(clauses) if clauses else None, self.shown)

    def showing(self, *shown: Shown) -> ChosenView:
        """A copy with the same condition but other filters on sentences."""
        return ChosenView(self.condition, tuple(sorted(set(shown))))

    def address(self, page: str, after: int = -1, systems: str = "") -> str:
        """The canonical address of a page that shows this view from sentence `after` on, for some systems."""
        of = f"systems={quote(systems, safe=',')}" if systems else ""
        query = "&".join(part for part in (self.query(), of, f"after={after}" if after >= 0 else "") if part)
        return f"{page}?{query}" if query else page

    @property
    def shown_words(self) -> str:
        """The filters on sentences, as text."""
        titles = {SPLIT: "some right, some wrong", WRONG: "all wrong", RIGHT: "all right"}
        return ", ".join(titles.get(choice.value) or choice.value.replace(":", " ") for choice in self.shown)

    @property
    def words(self) -> str:
        """The condition as text; "all mentions" if there is none."""
        return str(self.condition) if self.condition else "all mentions"


def parameters(condition: Condition | None) -> list[tuple[str, str]]:
    """A condition as query parameters."""
    pairs = []
    for clause in condition.clauses if condition else ():
        criterion = clause[0]
        if (
            len(clause) > 1
            or criterion.attribute == WHERE
            or criterion.attribute in OWN
            or criterion.attribute.startswith(SHOW)
        ):
            pairs.append((WHERE, str(Condition.of([clause]))))
            continue
        listed = str(criterion).removeprefix(criterion.attribute).removeprefix(criterion.operator)
        sign = {"=": "", "!=": "!"}.get(criterion.operator, criterion.operator)
        pairs.append((criterion.attribute, f"{sign}{listed}"))
    return pairs


def view_of(pairs: Iterable[tuple[str, str]]) -> ChosenView:
    """Parse query parameters into a view.

    Values separated by commas are alternatives ("or"), different parameters must all hold ("and"), and a !
    before the first value negates. A plain parameter given twice also means "or", because that is how forms
    send several checked boxes.

    Raises:
        ChoiceError: a parameter is not a condition, or there are too many.
    """
    plain: dict[str, list[str]] = {}
    texts: list[str] = []
    shown: set[Shown] = set()
    for name, value in pairs:
        if name in OWN or not value.strip():
            continue
        if name.startswith(SHOW):
            shown.add(_shown(name.removeprefix(SHOW), value))
        elif name == WHERE:
            texts.append(value)
        elif value.startswith(("!", "<", ">")):
            sign = "!=" if value.startswith("!") else ""
            texts.append(f"{name}{sign}{value.removeprefix('!').replace(',!', ',')}")
        else:
            plain.setdefault(name, []).append(value)
    texts += [f"{name}={','.join(values)}" for name, values in plain.items()]
    clauses = [clause for text in texts for clause in parse(text).clauses]
    if len(clauses) + len(shown) > MOST_CONDITIONS:
        raise ChoiceError(f"there are more than {MOST_CONDITIONS} conditions.\nLeave some out.")
    return ChosenView(Condition.of(clauses) if clauses else None, tuple(sorted(shown)))


def _shown(kind: str, value: str) -> Shown:
    if kind not in (OUTCOME, TAGGED):
        raise ChoiceError(f"{SHOW}{kind} does not choose sentences.\nUse {SHOW}{OUTCOME} or {SHOW}{TAGGED}.")
    return Shown(kind, value)


SUBSETS = 3  # named above a sentence
WIDOW = 8  # up to this many characters at the end stay on the previous line
LINE = 92  # characters per line of text
SPOKEN = {
    "TP": "right", "LE": "wrong label", "BEs": "too short", "BEl": "too long", "BEo": "overlapping",
    "LBE": "wrong label and boundary", "FN": "missed", "FP": "not in gold",
}  # fmt: skip


class Mark(Struct, frozen=True):
    """A cell of a row: a mention or a piece of one, or empty if `label` is None."""

    width: int
    label: str | None = None
    kind: str = ""  # gold, right, wrong, missed
    said: str = ""


class Row(Struct, frozen=True):
    """One row of marks under the words."""

    name: str
    marks: tuple[Mark, ...]


class Line(Struct, frozen=True):
    """A part of a sentence that fits on one line."""

    words: tuple[str, ...]
    bold: tuple[bool, ...]
    rows: tuple[Row, ...]


class GoldMark(Struct, frozen=True):
    """A gold mention as shown by pages and the API."""

    row: int
    start: int
    end: int
    label: str
    text: str
    tough: tuple[str, ...]
    outcomes: Mapping[str, str]
    chosen: bool


class Drawn(Struct, frozen=True):
    """A sentence with the marks of gold and systems, and its notes."""

    number: int
    place: str
    sha: str
    lines: tuple[Line, ...]
    gold: tuple[GoldMark, ...]
    notes: tuple[Note, ...] = ()

    @property
    def chips(self) -> list[str]:
        """The labels and tough subsets of the mentions selected by the view."""
        chosen = [mention for mention in self.gold if mention.chosen]
        subsets = dict.fromkeys(tough(name) for mention in chosen for name in mention.tough)
        return [*dict.fromkeys(mention.label for mention in chosen), *list(subsets)[:SUBSETS]]


def chosen_rows(index: SliceIndex, view: ChosenView, notes: Sequence[Note] = ()) -> Ints:
    """The gold mentions that a view shows: those in the slice that pass the filters."""
    inside = unpacked_bits(index.gold.mask(view.condition), index.gold.number)
    for choice in view.shown:
        if choice.kind == TAGGED:
            tagged = {(note.sentence, note.start, note.end) for note in notes if note.tag == choice.value}
            spans = zip(
                *(index.columns.column("gold", n).tolist() for n in ("sentence", "start", "end")), strict=True
            )
            inside &= np.fromiter((span in tagged for span in spans), bool, index.gold.number)
        elif choice.kind == OUTCOME:
            inside &= _by_outcome(index, choice.value)
    return np.flatnonzero(inside)


def _by_outcome(index: SliceIndex, value: str) -> Bools:
    rights = {name: unpacked_bits(system.right, index.gold.number) for name, system in index.systems.items()}
    if value in (SPLIT, WRONG, RIGHT):
        stacked = np.stack(list(rights.values()))
        right = stacked.sum(axis=0)
        if value == SPLIT:
            return np.asarray((right > 0) & (right < len(stacked)))
        return np.asarray(right == (0 if value == WRONG else len(stacked)))
    name, _, state = value.rpartition(":")
    if name not in rights or state not in (WRONG, RIGHT):
        raise unknown(
            "choice of outcomes", value, [f"{right}:{s}" for right in rights for s in (WRONG, RIGHT)]
        )
    return rights[name] if state == RIGHT else ~rights[name]


def draw(
    index: SliceIndex, sentence: int, *, chosen: Sequence[int] = (), systems: Sequence[str] = (),
    notes: Sequence[Note] = (),
) -> Drawn:  # fmt: skip
    """A sentence with the marks of gold and the given systems; of all systems if none are given."""
    columns = index.columns
    words = columns.words(sentence)
    sides: list[tuple[str, MentionColumns, str, SystemBits | None]] = [("gold", columns, "gold", None)]
    sides += [
        (name, system.columns, system.side, system)
        for name, system in index.systems.items()
        if not systems or name in systems
    ]
    spans = {name: _spans(index, where, side, system, sentence) for name, where, side, system in sides}
    number = len(words) or max(
        (end for rows in spans.values() for row in rows for _, end in row[0]), default=0
    )
    cells = _cells(words or [f"·{index}" for index in range(number)], columns.head.positions, spans)
    gold_rows, picks = _rows_of(columns, "gold", sentence), set(chosen)
    picked = [
        (int(columns.column("gold", "start")[r]), int(columns.column("gold", "end")[r])) for r in chosen
    ]
    lines = tuple(_line(cells, first, last, spans, picked) for first, last in _breaks(cells))
    sha = sentence_sha(columns, sentence)
    return Drawn(
        number=sentence,
        place=columns.location(sentence),
        sha=sha,
        lines=lines,
        gold=tuple(gold_mark(index, row, words, chosen=row in picks) for row in gold_rows),
        notes=tuple(note for note in notes if note.sentence == sentence and note.sentence_sha == sha),
    )


Span = tuple[list[tuple[int, int]], str, str, str]  # pieces, label, kind, said


def _rows_of(columns: MentionColumns, side: str, sentence: int) -> list[int]:
    column = columns.column(side, "sentence")  # np.searchsorted would first copy it as int64
    first = bisect_left(column, sentence)
    return list(range(first, bisect_left(column, sentence + 1, first)))


def _spans(
    index: SliceIndex, columns: MentionColumns, side: str, system: SystemBits | None, sentence: int
) -> list[Span]:
    spans: list[Span] = []
    at = columns.arrays.get(f"{side}.parts.at")
    for row in _rows_of(columns, side, sentence):
        start, end = int(columns.column(side, "start")[row]), int(columns.column(side, "end")[row])
        if start < 0:
            continue
        pieces = [(start, end)]
        if at is not None:
            positions = range(int(at[row]), int(at[row + 1]))
            pieces = [
                (int(columns.column(side, "parts.start")[p]), int(columns.column(side, "parts.end")[p]))
                for p in positions
            ]
        label = columns.head.labels[int(columns.column(side, "label")[row])]
        if system is None:
            spans.append((pieces, label, "gold", "gold"))
            continue
        outcome = OUTCOMES[int(system.predicted_outcome[row])]
        spans.append((pieces, label, "right" if outcome == "TP" else "wrong", SPOKEN[outcome]))
    if system is not None:
        gold = index.columns
        for row in _rows_of(gold, "gold", sentence):
            if OUTCOMES[int(system.outcome[row])] == "FN":
                span = int(gold.column("gold", "start")[row]), int(gold.column("gold", "end")[row])
                spans.append(([span], "missed", "missed", "missed"))
    return spans


def _cells(
    words: Sequence[str], positions: str, spans: Mapping[str, Sequence[Span]]
) -> list[tuple[int, int, str]]:
    """The text of each column: a token or, with character positions, a word cut at mention boundaries."""
    if positions != "character":
        return [(index, index + 1, word) for index, word in enumerate(words)]
    cuts = {0, len(words)}
    cuts |= {border for listed in spans.values() for span in listed for piece in span[0] for border in piece}
    cuts |= {p + 1 for p, letter in enumerate(words) if letter.isspace()}
    order = sorted(cut for cut in cuts if cut <= len(words))
    return [(a, b, "".join(words[a:b])) for a, b in pairwise(order)]


def _breaks(cells: Sequence[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """The first and last cell of each line; a few final characters never get a line of their own."""
    breaks, first, width = [], 0, 0
    left = sum(len(text) + 1 for _, _, text in cells)
    for index, (_, _, text) in enumerate(cells):
        width += len(text) + 1
        if width > LINE and index > first and left > WIDOW:
            breaks.append((first, index))
            first, width = index, len(text) + 1
        left -= len(text) + 1
    return [*breaks, (first, len(cells))] if cells else []


def _line(
    cells: Sequence[tuple[int, int, str]], first: int, last: int, spans: Mapping[str, Sequence[Span]],
    picked: Sequence[tuple[int, int]],
) -> Line:  # fmt: skip
    part = cells[first:last]
    rows: list[Row] = []
    for name, listed in spans.items():
        layers: list[list[tuple[int, int, Span]]] = []
        for mention in sorted(listed, key=lambda span: (span[0][0][0], -span[0][-1][1])):
            covered = [p for p, (a, b, _) in enumerate(part) if any(a < e and b > s for s, e in mention[0])]
            for begin, end in _runs(covered):
                layer = next((row for row in layers if row[-1][1] <= begin), None)
                if layer is None:
                    layer = []
                    layers.append(layer)
                layer.append((begin, end, mention))
        for number, layer in enumerate(layers or [[]]):
            rows.append(Row(name if number == 0 else "", tuple(_marks(layer, len(part)))))
    bold = tuple(any(a < e and b > s for s, e in picked) for a, b, _ in part)
    if not any(mark.label is not None for row in rows for mark in row.marks):
        rows = []  # there are no marks in this line
    return Line(tuple(text for _, _, text in part), bold, tuple(rows))


def _runs(positions: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for position in positions:
        if runs and runs[-1][1] == position:
            runs[-1] = (runs[-1][0], position + 1)
        else:
            runs.append((position, position + 1))
    return runs


def _marks(layer: Sequence[tuple[int, int, Span]], width: int) -> list[Mark]:
    marks, at = [], 0
    for begin, end, (pieces, label, kind, title) in layer:
        if begin > at:
            marks.append(Mark(begin - at))
        more = f", in {len(pieces)} pieces" if len(pieces) > 1 else ""
        marks.append(Mark(end - begin, label, kind, title + more))
        at = end
    return [*marks, Mark(width - at)] if at < width else marks


def gold_mark(index: SliceIndex, row: int, words: Sequence[str], *, chosen: bool) -> GoldMark:
    """A gold mention in the sentence with these words."""
    columns, gold = index.columns, index.gold
    start, end = int(columns.column("gold", "start")[row]), int(columns.column("gold", "end")[row])
    between = "" if columns.head.positions == "character" else " "
    tough = tuple(name for name, member in gold.table.named("tough").items() if member[row])
    return GoldMark(
        row=row,
        start=start,
        end=end,
        label=columns.head.labels[int(columns.column("gold", "label")[row])],
        text=between.join(words[max(start, 0) : max(end, 0)]),
        tough=tough,
        outcomes={name: OUTCOMES[int(system.outcome[row])] for name, system in index.systems.items()},
        chosen=chosen,
    )


class Health(Struct, frozen=True):
    """The response of a running server."""

    spanwise: str
    read_only: bool


class DocumentSummary(Struct, frozen=True, kw_only=True):
    """A document of a verb other than evaluate; `answer` is empty for kinds that have none."""

    id: int
    path: str
    kind: str
    title: str  # the kind in words
    answer: str  # as on its screen
    page: bool  # whether it has a page of its own


def shown_document(stored: StoredDocument) -> DocumentSummary:
    """The document as pages and the API list it."""
    return DocumentSummary(
        id=stored.id, path=stored.path, kind=stored.kind, title=DOCUMENTS.get(stored.kind, stored.kind),
        answer=stored.answer, page=stored.kind in VIEWS,
    )  # fmt: skip


class GoldRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A gold file in the folder and its training files."""

    path: str
    train: tuple[str, ...] = ()
    name: str | None = None


class ResultSummary(Struct, frozen=True, kw_only=True):
    """One system in one document."""

    id: int
    system: str
    path: str
    gone: bool
    scores: Mapping[str, float | None]
    intervals: Mapping[str, Bounds]
    primary: str
    tags: Mapping[str, str]
    made_at: float
    signature: str


class ResultComparison(Struct, frozen=True, kw_only=True):
    """Two results with all their runs: every tested score, and the test on the given mentions, if any.

    `verdict` is the answer to the primary question; the primary score among `scores` repeats it.
    """

    a: int
    b: int
    scores: tuple[ScoreTest, ...]
    notes: tuple[str, ...]
    verdict: PairVerdict | None = None
    slice: SliceTest | None = None


class ReferenceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The result that the history of its system is compared with from now on."""

    result: int


class Sentences(Struct, frozen=True, kw_only=True):
    """A page of sentences with the selected mentions; pass `next` as `after` to get the next page."""

    mentions: int
    sentences: tuple[Drawn, ...]
    next: int | None


class SliceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A slice to save."""

    name: str
    where: str
    score: str | None = None
    least: float | None = None


class NoteRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A note on a sentence, or on the mention in it given by `start`, `end` and `label`.

    `system` names the system whose prediction it is about.
    """

    sentence: int
    start: int | None = None
    end: int | None = None
    label: str | None = None
    system: str | None = None
    tag: str = ""
    text: str = ""
    by: str = ""


class NoteChange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The new content of a note."""

    tag: str = ""
    text: str = ""
    by: str = ""


def remedies_for(error: str) -> tuple[Remedy, ...]:
    """Options to try if the tokens of an upload do not match."""
    if "align" not in error:
        return ()
    ways = (
        Remedy("Align by characters", "maps spans through the text of the sentence", {"align": "characters"}),
        Remedy("Align by difference", "matches tokens as diff does", {"align": "diff"}),
        Remedy("Align by position", "treats tokens at the same position as equal", {"align": "position"}),
    )
    # Aligning by position requires the same number of tokens as in gold.
    return ways[:2] if "the sentence has" in error else ways


class ShownJob(EvaluationJob, frozen=True, kw_only=True):
    """A job with the location its error refers to and suggested solutions."""

    where: Place | None = None
    ways: tuple[Remedy, ...] = ()


class TokenColumn(Struct, frozen=True):
    """A gold token next to the upload's token; None where one side has no such token."""

    number: int | None  # the position of the gold token in its sentence, from 1
    gold: str | None
    predicted: str | None

    @property
    def differs(self) -> bool:
        """Whether the two tokens differ."""
        return self.gold != self.predicted


def token_columns(difference: TokenDifference) -> list[TokenColumn]:
    """The tokens around the first difference, with equal tokens aligned."""
    gold, predicted = difference.gold, difference.predicted
    columns: list[TokenColumn] = []
    for _, a, b, c, d in SequenceMatcher(None, gold, predicted, autojunk=False).get_opcodes():
        for index in range(max(b - a, d - c)):
            position = a + index if a + index < b else None
            columns.append(
                TokenColumn(
                    None if position is None else difference.first + position + 1,
                    None if position is None else gold[position],
                    predicted[c + index] if c + index < d else None,
                )
            )
    # The excerpts end at different positions, so unmatched tokens at the end may have a match further on.
    last = max((index for index, column in enumerate(columns) if not column.differs), default=-1)
    first = next((index for index, column in enumerate(columns) if column.differs), 0)
    return columns[: last + 1] if last > first else columns


def shown_job(job: EvaluationJob, gold: Gold | None) -> ShownJob:
    """A job as pages and the API show it, with the location of its error in the upload or gold files."""
    own = [] if gold is None else [path for path in (gold.path, *gold.train) if path]
    # A file that was evaluated in another folder is found by its base name (see `jobs.inside`).
    names = [job.body.name, *own, *(PurePath(path).name for path in own)]
    location = next((match for name in names if (match := _place_in(name, job.error))), None)
    return ShownJob(**structs.asdict(job), where=location, ways=remedies_for(job.error))


def _place_in(file: str, error: str) -> Place | None:
    """The location at the start of a message, if it is in this file."""
    match = re.match(rf"{re.escape(file)}(?::(\d+))?: ", error)
    return None if match is None else Place(file, int(match[1]) if match[1] else None)


_PLACE = re.compile(r"([^\s:][^:\n]*?)(?::(\d+))?: ")


def place_of(error: str) -> Place | None:
    """The file and line at the start of a message."""
    match = _PLACE.match(error)
    return None if match is None else Place(match[1], int(match[2]) if match[2] else None)
