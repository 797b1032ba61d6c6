"""Write the worksheet of suspects, and apply a completed one to the gold file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from spanwise.corpus import Annotation, Mentions
from spanwise.document.dataset import Suspect, SuspectMention, Suspects
from spanwise.errors import InputError
from spanwise.formats import read, read_sheet, write_atomically
from spanwise.formats.editing import edited
from spanwise.spreadsheet import original, to_csv

COLUMNS = (
    "rank", "tied", "score", "kind", "source", "sentence", "gold_start", "gold_end", "gold_label",
    "gold_text", "start", "end", "label", "text", "votes_for", "votes_against", "evidence", "context",
    "decision",
)  # fmt: skip
_NEEDED = ("sentence", "gold_start", "gold_end", "gold_label", "start", "end", "label", "decision")
DECISIONS = {"accept": True, "yes": True, "y": True, "reject": False, "no": False, "n": False}

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
        suspect.votes.for_, suspect.votes.against, "; ".join(suspect.evidence.words), drawn(suspect), "",
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
    words = list(units)
    for mention, left, right in ((suspect.gold, "[", "]"), (suspect.proposal, "{", "}")):
        if mention is not None and mention.end <= len(words):
            words[mention.start] = left + words[mention.start]
            words[mention.end - 1] += right + mention.label
    return join.join(words)


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

    Raises:
        InputError: the worksheet does not belong to the file, or a change would overlap another mention.
    """
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
        if not decision:
            continue
        sentence = _number(line, "sentence", where) - 1
        old, new = _mention(line, "gold_", sentence, where), _mention(line, "", sentence, where)
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
