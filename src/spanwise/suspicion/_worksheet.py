"""Write the worksheet of suspects, and apply a completed one to the gold file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from spanwise.corpus import Annotation, Mentions
from spanwise.document.dataset import Suspect, SuspectMention, Suspects
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import read, read_sheet, rules_of, write_atomically
from spanwise.formats.editing import edited
from spanwise.spreadsheet import original, same_cell, to_csv

COLUMNS = (
    "rank", "tied", "score", "kind", "source", "sentence", "gold_start", "gold_end", "gold_label",
    "gold_text", "start", "end", "label", "text", "votes_for", "votes_against", "evidence", "context",
    "context_start", "context_end", "decision",
)  # fmt: skip
_NEEDED = ("sentence", "gold_start", "gold_end", "gold_label", "start", "end", "label", "decision")
DECISIONS = {"accept": True, "yes": True, "y": True, "reject": False, "no": False, "n": False}

AROUND = 60  # characters of a text on each side of the mentions
Row = tuple[int, int, int, str]  # sentence, start, end, label


def worksheet(document: Suspects) -> str:
    """Format suspects as CSV, one row each; the column `decision` is left empty for `accept` or `reject`.

    The proposal (`start`, `end`, `label`) may be edited before it is accepted; an empty one deletes the
    gold mention.
    """
    return to_csv([COLUMNS, *(_line(suspect) for suspect in document.suspects)])


def _line(suspect: Suspect) -> tuple[object, ...]:
    return (
        suspect.rank, suspect.tied, round(suspect.score, 4), suspect.kind, suspect.source,
        suspect.sentence + 1, *_cells(suspect, suspect.gold), *_cells(suspect, suspect.proposal),
        suspect.votes.for_, suspect.votes.against, "; ".join(suspect.evidence.words), *_context(suspect),
    )  # fmt: skip


def _cells(suspect: Suspect, mention: SuspectMention | None) -> tuple[object, ...]:
    if mention is None:
        return ("", "", "", "")
    units, join = positions(suspect)
    return mention.start, mention.end, mention.label, join.join(units[mention.start : mention.end])


def positions(suspect: Suspect) -> tuple[Sequence[str], str]:
    """The units that positions count (tokens, or characters of the text), and their separator."""
    by_characters = len(suspect.tokens) == 1 and any(
        mention is not None and mention.end > 1 for mention in (suspect.gold, suspect.proposal)
    )
    return (suspect.tokens[0], "") if by_characters else (suspect.tokens, " ")


def drawn(suspect: Suspect) -> str:
    """The sentence with the gold mention in [brackets] and the proposal in {braces}.

    Examples:
        >>> from spanwise.suspicion import suspects
        >>> from spanwise.formats import read
        >>> gold = read([["O", "B-PER"]], tokens=[["in", "Rome"]])
        >>> predicted = read([["O", "B-LOC"]], tokens=[["in", "Rome"]])
        >>> drawn(suspects(gold, {"first": predicted, "second": predicted}).suspects[0])
        'in {[Rome]PER}LOC'
    """
    units, join = positions(suspect)
    return _drawn(units, join, *_rows(suspect))


def _rows(suspect: Suspect) -> list[Row | None]:
    """The gold mention and the proposal."""
    both = (suspect.gold, suspect.proposal)
    return [None if one is None else (0, one.start, one.end, one.label) for one in both]


def _drawn(units: Sequence[str], join: str, old: Row | None, new: Row | None) -> str:
    return join.join(_with_marks(_with_marks(units, old, "[]"), new, "{}"))


def _context(suspect: Suspect) -> tuple[object, ...]:
    """The cells with the drawing, where in a text the drawn part begins and ends, and no decision.

    Texts can be long: of those, the lines of the mentions are drawn, up to 60 characters on each side.
    """
    text, join = positions(suspect)
    if join or not isinstance(text, str):
        return drawn(suspect), "", "", ""
    old, new = _rows(suspect)
    begin = min(row[1] for row in (old, new) if row is not None)
    end = max(row[2] for row in (old, new) if row is not None)
    newline = text.find("\n", end)
    first = max(text.rfind("\n", 0, begin) + 1, begin - AROUND)
    last = min(len(text) if newline < 0 else newline, end + AROUND)
    part = _drawn(text[first:last], "", *(_moved(row, first) for row in (old, new)))
    before, after = _cuts(text, first, last)
    return f"{before}{part}{after}", first, last, ""


def _moved(row: Row | None, by: int) -> Row | None:
    """A mention in a part of its sentence that begins there."""
    return None if row is None else (row[0], row[1] - by, row[2] - by, row[3])


def _cuts(text: str, first: int, last: int) -> tuple[str, str]:
    """An ellipsis for each end of a part that is not the end of a line."""
    return (
        "…" if first > 0 and text[first - 1] != "\n" else "",
        "…" if last < len(text) and text[last] != "\n" else "",
    )


class Applied(Struct, frozen=True):
    """The number of decisions of each kind in a worksheet."""

    accepted: int
    rejected: int
    open: int

    def __str__(self) -> str:
        return f"{self.accepted:,} accepted, {self.rejected:,} rejected, {self.open:,} without a decision"


def apply_decisions(
    decisions: str | os.PathLike[str], gold: str | os.PathLike[str], output: str | os.PathLike[str],
    **reading: Any,
) -> Applied:  # fmt: skip
    """Write the gold file with exactly the accepted changes, leaving every other byte unchanged.

    The words and the sentence of every row are compared with the file before anything is changed.

    Raises:
        InputError: the worksheet does not belong to the file, or a change would overlap another mention.
    """
    if rules_of(reading):
        raise ChoiceError(
            "decisions are applied to labels as they are written in the file.\n"
            "Leave out map, predicted_map, only and without."
        )
    annotation = read(gold, **reading)
    mentions, done = _decided(decisions, annotation)
    data = edited(annotation, mentions, **reading)
    write_atomically(output, data)
    return done


def _decided(path: str | os.PathLike[str], gold: Annotation) -> tuple[Mentions, Applied]:
    """The gold mentions after the accepted changes, and the number of decisions of each kind."""
    rows = {row: index for index, row in enumerate(gold.mentions.rows())}
    removed: dict[Row, str] = {}
    added: dict[Row, str] = {}
    numbers = {True: 0, False: 0, None: 0}
    advice = "Give a worksheet that 'spanwise suspects -o' wrote, with the column 'decision' filled in."
    for where, line in read_sheet(path, _NEEDED, advice):
        answer = line["decision"].strip().lower()
        if answer and answer not in DECISIONS:
            raise InputError(
                f"{where}: the decision {line['decision']!r} is unknown.\nWrite accept or reject."
            )
        decision = DECISIONS[answer] if answer else None
        numbers[decision] += 1
        sentence = _number(line, "sentence", where) - 1
        old, new = _mention(line, "gold_", sentence, where), _mention(line, "", sentence, where)
        _check_words(gold, line, where, old, new)
        if not decision:
            continue
        if old is None and new is None:
            raise InputError(
                f"{where}: neither a gold mention nor a proposal is given.\n"
                "Give one of them, or reject the row."
            )
        if old is not None:
            if old not in rows:
                raise InputError(
                    f"{where}: {gold.reading.path} has no mention {old[3]} [{old[1]}, {old[2]}) in sentence "
                    f"{sentence + 1}.\nApply the worksheet to the file that it was made from."
                )
            removed[old] = where
        if new is not None:
            _check_inside(gold, new, where)
            added[new] = where
    kept = [row for row in rows if row not in removed]
    if gold.reading.scheme is not None:
        _check_overlaps(gold, {row: "" for row in kept if row not in added} | added)
    new_rows = [row for row in added if row not in kept]
    done = Applied(numbers[True], numbers[False], numbers[None])
    return Mentions.of([*kept, *new_rows]), done


def _number(line: Mapping[str, str], name: str, where: str) -> int:
    try:
        return int(line[name])
    except ValueError:
        raise InputError(
            f"{where}: the column {name!r} holds {line[name]!r}, not a whole number.\n"
            "Positions count tokens from 0."
        ) from None


def _mention(line: Mapping[str, str], prefix: str, sentence: int, where: str) -> Row | None:
    cells = [line[f"{prefix}{name}"] for name in ("start", "end", "label")]
    if not any(cells):
        return None
    label = original(cells[2])
    if not label:
        raise InputError(f"{where}: the mention has no label.\nWrite it beside its positions.")
    return sentence, _number(line, f"{prefix}start", where), _number(line, f"{prefix}end", where), label


def _check_words(
    gold: Annotation, line: Mapping[str, str], where: str, old: Row | None, new: Row | None
) -> None:
    """Refuse a row whose words, gold words or sentence are not those of the file at the row's positions.

    Empty cells are not compared, and neither is a proposal that was moved by hand in a sentence that fits.
    """
    corpus, sentence = gold.corpus, int(line["sentence"]) - 1
    cells = {name: original(line.get(name, "")) for name in ("gold_text", "text", "context")}
    if corpus.without_text or not any(cells.values()):
        return
    if not 0 <= sentence < len(corpus):
        raise InputError(
            f"{where}: there is no sentence {sentence + 1}; {gold.reading.path} has {len(corpus):,}.\n"
            "Apply the worksheet to the file that it was made from."
        )
    units: Sequence[str] = corpus.words(sentence) if corpus.texts is None else corpus.texts[sentence]
    join = " " if corpus.texts is None else ""
    marked = None
    if cells["context"]:
        part, own, drawing = units, [old, new], cells["context"]
        if isinstance(units, str) and line.get("context_start") and line.get("context_end"):
            first, last = (_number(line, f"context_{name}", where) for name in ("start", "end"))
            part, own = units[max(first, 0) : max(last, 0)], [_moved(row, first) for row in own]
            before, after = _cuts(units, first, last) if 0 <= first <= last <= len(units) else ("", "")
            drawing = drawing.removeprefix(before).removesuffix(after)
        marked = _marked(drawing, part, join, *own)
        if marked is None:
            raise _other_words(gold, where, "sentence", cells["context"], join.join(part), sentence)
    for mention, name in ((old, "gold_text"), (new, "text")):
        if mention is not None and cells[name]:
            found = join.join(units[mention[1] : mention[2]])
            moved = name == "text" and marked and same_cell(cells[name], marked)
            if not same_cell(cells[name], found) and not moved:
                raise _other_words(gold, where, f"{mention[3]} mention", cells[name], found, sentence)


def _other_words(gold: Annotation, where: str, what: str, said: str, found: str, sentence: int) -> InputError:
    said, found = (text if len(text) <= 60 else f"{text[:60]}…" for text in (said, found))
    return InputError(
        f"{where}: the worksheet says {said!r} for the {what}, but sentence {sentence + 1} of "
        f"{gold.reading.path} has {found!r} there.\nApply the worksheet to the file that it was made from."
    )


def _marked(context: str, units: Sequence[str], join: str, old: Row | None, new: Row | None) -> str | None:
    """The words that a drawn sentence marks as its proposal, empty without one; None for another sentence."""
    for drawing, words in _drawings(units, join, old, new):
        if same_cell(context, drawing):
            return words
    # The proposal may have been edited: its marks can be anywhere in the sentence.
    golden = join.join(_with_marks(units, old, "[]"))
    for sentence in (join.join(units), golden):
        for left, right in ("{}", "[]"):
            moved = _inserted(" ".join(context.split()), " ".join(sentence.split()), left, right)
            if moved is None:
                continue
            if old is not None and sentence == golden:  # it may hold the marks of the gold mention
                return moved.replace(f"]{old[3]}", "", 1).replace("[", "", 1)
            return moved
    return None


def _drawings(units: Sequence[str], join: str, old: Row | None, new: Row | None) -> Iterator[tuple[str, str]]:
    proposed = "" if new is None else join.join(units[new[1] : new[2]])
    golden = _with_marks(units, old, "[]")
    yield join.join(_with_marks(golden, new, "{}")), proposed
    yield join.join(_with_marks(units, new, "[]")), proposed
    yield join.join(golden), ""
    yield join.join(units), ""


def _with_marks(units: Sequence[str], mention: Row | None, marks: str) -> list[str]:
    words = list(units)
    if mention is not None and 0 <= mention[1] < mention[2] <= len(words):
        words[mention[1]] = marks[0] + words[mention[1]]
        words[mention[2] - 1] += marks[1] + mention[3]
    return words


def _inserted(context: str, sentence: str, left: str, right: str) -> str | None:
    """The words between two marks, if the context is the sentence with marks and a label put into it."""
    begin = context.find(left)
    while begin >= 0 and context[:begin] == sentence[:begin]:
        end = context.find(right, begin + 1)
        while end > begin and context[begin + 1 : end] == sentence[begin : end - 1]:
            if context[end + 1 :].endswith(sentence[end - 1 :]):
                return sentence[begin : end - 1]
            end = context.find(right, end + 1)
        begin = context.find(left, begin + 1)
    return None


def _check_inside(gold: Annotation, row: Row, where: str) -> None:
    sentence, start, end, _ = row
    exists = 0 <= sentence < len(gold.corpus)
    size = _size(gold, sentence) if exists else 0
    if not exists or not 0 <= start < end <= size:
        raise InputError(
            f"{where}: the proposal [{start}, {end}) is not inside sentence {sentence + 1}.\n"
            "Positions are half-open and count tokens from 0."
        )


def _size(gold: Annotation, sentence: int) -> int:
    """The number of positions in a sentence; practically unlimited for span files, which have no text."""
    if gold.corpus.without_text:
        return 2**53
    return (
        int(gold.corpus.lengths[sentence]) if gold.corpus.texts is None else len(gold.corpus.texts[sentence])
    )


def _check_overlaps(gold: Annotation, rows: Mapping[Row, str]) -> None:
    """Refuse an added mention that overlaps another one, since tags cannot represent overlaps."""
    before: Row | None = None
    for row in sorted(rows):
        if before is not None and before[0] == row[0] and row[1] < before[2]:
            where = rows[row] or rows[before]
            if where:
                other = before if rows[row] else row
                raise InputError(
                    f"{where}: the proposal overlaps {other[3]} [{other[1]}, {other[2]}) in "
                    f"{gold.corpus.place(row[0])}.\n"
                    "Reject the row, or add one that deletes the other mention."
                )
        if before is None or before[0] != row[0] or row[2] > before[2]:
            before = row
