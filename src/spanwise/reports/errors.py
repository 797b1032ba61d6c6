"""Every error of a result document with its sentence: as text, JSON lines or CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from spanwise import spreadsheet
from spanwise.buckets import Bucket
from spanwise.conditions import TOUGHNESS, Comparison, Condition, bucket_holds, parse
from spanwise.document.head import Document as TypedDocument
from spanwise.document.head import plain_of
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.reports import _wording as say
from spanwise.reports._document import Document

Span = Mapping[str, Any]

KINDS = ("LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
_GROUPS = {"BE": ("BEs", "BEl", "BEo")}
Over = Literal["error", "gold", "predicted"]
OVERS: tuple[Over, ...] = ("error", "gold", "predicted")


class Listed(Struct, frozen=True):
    """One error: what it is, the mentions it concerns and the sentence they stand in.

    `turn` is 2 where the predicted mention belongs to an earlier error too, 3 where the
    gold one belongs to another match too, else 1, or 0 for FN and FP.
    """

    system: str
    outcome: str
    turn: int
    gold: Span | None
    predicted: Span | None
    sentence: Mapping[str, Any]

    @property
    def consumed(self) -> Span:
        """The mention by whose bucket the error is found: the gold one, unless that was counted already."""
        chosen = self.predicted if self.turn == 3 or self.gold is None else self.gold
        assert chosen is not None
        return chosen


def listing(
    document: Mapping[str, Any] | TypedDocument,
    *,
    outcome: str | Sequence[str] | None = None,
    gold: str | None = None,
    predicted: str | None = None,
    system: str | None = None,
    bucket: tuple[str, str] | None = None,
    tough: str | None = None,
    where: str | None = None,
    over: Over = "error",
) -> list[Listed]:
    """The errors of a document, in the order of its sentences; as many as its tables count.

    Args:
        outcome: kinds of error (LE, BE, BEs, BEl, BEo, LBE, FN, FP).
        gold: only errors about a gold mention with this label.
        predicted: only errors about a predicted mention with this label.
        system: only those of this system; by default of all.
        bucket: (attribute, bucket name or what it holds); the gold mention's bucket where the error
            counts it, else the predicted one's.
        tough: only gold mentions of this tough subset.
        where: a condition such as `label=MISC & entity_length>=3`, asked of the same mention as `bucket`.
        over: "error" has one line for each error; "gold" one for each gold mention that was
            not found exactly, "predicted" one for each predicted mention that is wrong, which are
            the outcomes that buckets count.

    Raises:
        ChoiceError: there is no such kind, label, system, bucket or subset.
        InputError: the document holds no sentences.
    """
    document = plain_of(document, sentences=True)
    if over not in OVERS:
        raise unknown("way to count errors", over, OVERS)
    kinds = _kinds(outcome)
    _check(document, gold, predicted, system, tough)
    if bucket is not None:
        bucket = bucket[0], _bucket_name(document.get("systems") or {}, *bucket)
    meets = None if where is None else _meeting(document.get("systems") or {}, parse(where))
    found = []
    for error in _all(document, system, over):
        if error.outcome not in kinds:
            continue
        if gold is not None and (error.gold is None or error.gold["label"] != gold):
            continue
        if predicted is not None and (error.predicted is None or error.predicted["label"] != predicted):
            continue
        if tough is not None and (
            error.consumed is not error.gold or tough not in error.gold.get("tough", ())
        ):
            continue
        if meets is not None and not meets(error):
            continue
        if bucket is not None and error.consumed.get("buckets", {}).get(bucket[0]) != bucket[1]:
            continue
        found.append(error)
    return found


def _kinds(outcome: str | Sequence[str] | None) -> set[str]:
    if outcome is None:
        return set(KINDS)
    given = [outcome] if isinstance(outcome, str) else list(outcome)
    names = [name.strip() for text in given for name in text.split(",")]
    for name in names:
        if name not in KINDS and name not in _GROUPS:
            raise unknown("kind of error", name, (*KINDS, *_GROUPS))
    return {kind for name in names for kind in _GROUPS.get(name, (name,))}


def _check(
    document: Document,
    gold: str | None,
    predicted: str | None,
    system: str | None,
    tough: str | None,
) -> None:
    systems = document.get("systems") or {}
    if system is not None and system not in systems:
        raise unknown("system", system, systems)
    labels = {label for one in systems.values() for label in one.get("confusion", {}).get("labels", ())}
    for label in (gold, predicted):
        if label is not None and label not in labels:
            raise unknown("label", label, labels)
    subsets = {name for one in systems.values() for name in one.get("tough") or ()}
    if tough is not None and not subsets:
        raise ChoiceError("tough subsets need training data.\nEvaluate with train=.")
    if tough is not None and tough not in subsets:
        raise unknown("tough subset", tough, subsets)
    if document.get("kind") == "study":
        raise InputError("a study holds no sentences.\nGive the files of one of its datasets and systems.")
    if "sentences" not in document or (document.get("examples") or {}).get("policy") == "none":
        raise InputError(
            'the document holds no sentences.\nMake it again with examples="errors", or give the files.'
        )


def _bucket_name(systems: Mapping[str, Any], attribute: str, given: str) -> str:
    """The name of a bucket that is given by its name or by what it holds, as the screen shows it."""
    tables = [one.get("attributes") or {} for one in systems.values()]
    known = {key for table in tables for key, entry in table.items() if entry.get("unit") == "mention"}
    if attribute not in known:
        raise unknown("attribute of mentions in this result", attribute, known)
    rows = [row for table in tables for row in table.get(attribute, {}).get("buckets", ())]
    names = {row["name"] for row in rows}
    held = {"".join(str(row.get("label")).split()): row["name"] for row in rows}
    if given in names:
        return given
    name: str | None = held.get("".join(given.split()))
    if name is None:
        raise unknown(f"bucket of {attribute}", given, names)
    return name


def _meeting(systems: Mapping[str, Any], condition: Condition) -> Callable[[Listed], bool]:
    """Whether the mention of an error meets a condition, by its label, subsets and buckets."""
    tables = [one.get("attributes") or {} for one in systems.values()]
    buckets: dict[str, dict[str, Bucket]] = {}
    for table in tables:
        for name, entry in table.items():
            if entry.get("unit") == "mention":
                rows = buckets.setdefault(name, {})
                rows |= {row["name"]: _bucket_of(row) for row in entry["buckets"]}
    subsets = {name for one in systems.values() for name in one.get("tough") or ()}
    for name in condition.attributes:
        if name not in ("label", TOUGHNESS) and name not in buckets:
            raise unknown("attribute of mentions in this result", name, {*buckets, "label", TOUGHNESS})
    for value in (value for one in condition.comparisons(TOUGHNESS) for value in one.values):
        if value not in subsets:
            raise unknown("tough subset", value, subsets)

    def holds(one: Comparison, error: Listed) -> bool:
        mention = error.consumed
        if one.attribute == TOUGHNESS:
            if mention is not error.gold:
                return False  # predicted mentions are in no subset
            return bool(set(one.values) & set(mention.get("tough", ()))) == (one.operator == "=")
        if one.attribute == "label":
            return (mention["label"] in one.values) == (one.operator == "=")
        name = mention.get("buckets", {}).get(one.attribute)
        bucket = buckets[one.attribute].get(name)
        held = None if bucket is None else bucket_holds(bucket, one)
        if held is None:
            raise ChoiceError(
                f"{str(one)!r} cannot be decided by the bucket {name} of {one.attribute}.\n"
                "Ask for a bucket, or cut the attribute there with buckets=."
            )
        return held

    def meets(error: Listed) -> bool:
        return bool(condition.mask(lambda one: np.asarray(holds(one, error))))

    return meets


def _bucket_of(row: Mapping[str, Any]) -> Bucket:
    keys = ("name", "low", "high", "value", "special", "label", "rest")
    return Bucket(**{key: row[key] for key in keys if row.get(key) is not None})


def incomplete(document: Mapping[str, Any] | TypedDocument) -> str | None:
    """What to tell the reader where the document holds fewer sentences with errors than there are."""
    document = plain_of(document, sentences=True)
    about = document.get("examples") or {}
    if about.get("shown", 0) < about.get("of", 0):
        return (
            f"the document holds {about.get('shown', 0)} of {about.get('of', 0)} sentences "
            f"(examples: {about.get('policy')}, at most {about.get('cap')}), so the list is not complete.\n"
            "Make it again with --examples errors and a higher --examples-cap, or give the files."
        )
    return None


def _all(document: Document, system: str | None, over: Over) -> Iterator[Listed]:
    chosen = list(document.get("systems") or {}) if system is None else [system]
    for name in chosen:
        for sentence in document["sentences"]:
            gold, predicted = sentence["gold"], sentence["systems"].get(name, [])
            if over != "predicted":
                yield from _of_gold(name, sentence, gold, predicted)
            if over != "gold":
                yield from _of_predicted(name, sentence, gold, predicted, alone=over == "error")


def _of_gold(
    system: str, sentence: Mapping[str, Any], gold: Sequence[Span], predicted: Sequence[Span]
) -> Iterator[Listed]:
    for number, mention in enumerate(gold):
        outcome = mention["outcome"].get(system)
        if outcome in (None, "TP"):
            continue
        partner = mention["partner"].get(system)
        if partner is None:
            yield Listed(system, outcome, 0, mention, None, sentence)
        else:
            turn = 1 if predicted[partner]["partner"] == number else 2
            yield Listed(system, outcome, turn, mention, predicted[partner], sentence)


def _of_predicted(
    system: str,
    sentence: Mapping[str, Any],
    gold: Sequence[Span],
    predicted: Sequence[Span],
    *,
    alone: bool,
) -> Iterator[Listed]:
    """Errors of predicted mentions; `alone` leaves out those that a gold mention was listed with."""
    for number, mention in enumerate(predicted):
        if mention["outcome"] == "TP":
            continue
        partner = mention["partner"]
        if partner is None:
            yield Listed(system, mention["outcome"], 0, None, mention, sentence)
            continue
        mutual = gold[partner]["partner"].get(system) == number
        if not (mutual and alone):
            # Counted over predicted mentions, a mutual pair is found by the predicted one's bucket.
            turn = 3 if not mutual or not alone else 1
            yield Listed(system, mention["outcome"], turn, gold[partner], mention, sentence)


# JSON lines

_UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def to_jsonl(errors: Iterable[Listed]) -> str:
    """One JSON object a line; characters that could turn or break a line are written as escapes."""
    lines = [json.dumps(_row(error), ensure_ascii=False, separators=(",", ":")) for error in errors]
    return "".join(_UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", line) + "\n" for line in lines)


def _row(error: Listed) -> dict[str, Any]:
    sentence = error.sentence
    row: dict[str, Any] = {"system": error.system, "outcome": error.outcome, "turn": error.turn}
    for side, mention in (("gold", error.gold), ("predicted", error.predicted)):
        row[side] = None
        if mention is not None:
            keys = ("start", "end", "label", "parts", "tough", "buckets")
            row[side] = {key: mention[key] for key in keys if key in mention}
            row[side]["text"] = _words(sentence, mention)
    row["sentence"] = {key: sentence.get(key) for key in ("id", "source", "document")}
    for key in ("tokens", "text"):
        if key in sentence:
            row["sentence"][key] = sentence[key]
    return row


def _pieces(mention: Span) -> list[tuple[int, int]]:
    return [(start, end) for start, end in mention.get("parts") or [(mention["start"], mention["end"])]]


def _words(sentence: Mapping[str, Any], mention: Span) -> str | None:
    """The words of a mention, or what was said of one without a place; None where there is no text."""
    if mention["start"] < 0:
        return mention.get("answer")
    if not ("tokens" in sentence or "text" in sentence):
        return None
    if "tokens" in sentence:
        return " … ".join(" ".join(sentence["tokens"][start:end]) for start, end in _pieces(mention))
    return " … ".join(sentence["text"][start:end] for start, end in _pieces(mention))


# CSV

COLUMNS = (
    "system", "outcome", "turn",
    "gold_label", "gold_start", "gold_end", "gold_text",
    "predicted_label", "predicted_start", "predicted_end", "predicted_text",
    "sentence", "source", "document", "text",
)  # fmt: skip


def to_csv(errors: Iterable[Listed]) -> str:
    """One row an error under a line of names; no cell can be taken for a formula by a spreadsheet."""
    return spreadsheet.to_csv([COLUMNS, *map(cells_of, errors)])


def cells_of(error: Listed) -> list[object]:
    """The cells of one row."""
    cells: list[object] = [error.system, error.outcome, error.turn]
    for mention in (error.gold, error.predicted):
        if mention is None:
            cells += [None] * 4
        else:
            placed = mention["start"] >= 0
            borders = [mention["start"], mention["end"]] if placed else [None, None]
            cells += [mention["label"], *borders, _words(error.sentence, mention)]
    sentence = error.sentence
    text = " ".join(sentence["tokens"]) if "tokens" in sentence else sentence.get("text")
    return [*cells, sentence.get("id"), sentence.get("source"), sentence.get("document"), text]


# Text

_STYLES = {"head": "\x1b[1m", "gold": "\x1b[32m", "predicted": "\x1b[31m", "faint": "\x1b[2m"}
_MARKS = {"gold": "^", "predicted": "~"}


def to_text(errors: Sequence[Listed], *, width: int = 100, color: bool = False) -> str:
    """The errors in groups of kind and labels, the largest first, with the spans drawn under the tokens.

    Gold spans are drawn with `^`, predicted ones with `~`. Characters that would move the
    cursor or turn the text around are shown by their names.
    """
    groups: dict[tuple[str, str], list[Listed]] = {}
    for error in errors:
        groups.setdefault((error.system, _heading(error)), []).append(error)
    several = len({error.system for error in errors}) > 1
    pen = _Pen(max(width, 40), color)
    order = {kind: place for place, kind in enumerate(KINDS)}
    ranked = sorted(
        groups.items(),
        key=lambda group: (group[0][0], order[group[1][0].outcome], -len(group[1]), group[0][1]),
    )
    for (system, heading), members in ranked:
        title = f"{say.visible(system)}: {heading}" if several else heading
        pen.line(("head", f"{title} ({say.plural(len(members), 'error')})"))
        pen.line()
        for error in members:
            _draw(pen, error)
    return pen.text()


def _heading(error: Listed) -> str:
    if error.gold is None or error.predicted is None:
        mention = error.gold or error.predicted
        assert mention is not None
        side = "gold" if error.gold else "predicted"
        return f"{error.outcome}  {side} {say.visible(mention['label'])}"
    labels = [say.visible(mention["label"]) for mention in (error.gold, error.predicted)]
    return f"{error.outcome}  gold {labels[0]}, predicted {labels[1]}"


class _Pen:
    """Gathers lines, styled or plain."""

    def __init__(self, width: int, color: bool) -> None:
        self.width = width
        self._color = color
        self._lines: list[str] = []

    def line(self, *parts: tuple[str, str]) -> None:
        """One line of (style, text)."""
        self._lines.append("".join(self._styled(*part) for part in parts).rstrip())

    def _styled(self, style: str, text: str) -> str:
        return f"{_STYLES[style]}{text}\x1b[0m" if self._color and style in _STYLES and text else text

    def text(self) -> str:
        """All lines."""
        return "".join(f"{line}\n" for line in self._lines)


_TURNS = {
    2: "the predicted mention belongs to another error, too",
    3: "the gold mention belongs to another error, too",
}


def _draw(pen: _Pen, error: Listed) -> None:
    sentence = error.sentence
    place = say.visible(sentence.get("source") or sentence.get("id") or "")
    note = _TURNS.get(error.turn, "")
    pen.line(("faint", f"  {place}" + (f"  ({note})" if note else "")))
    units = sentence.get("tokens") or list(sentence.get("text") or "")
    sides = [("gold", error.gold), ("predicted", error.predicted)]
    drawn = [(side, mention) for side, mention in sides if mention is not None and mention["start"] >= 0]
    if units and drawn:
        joint = " " if "tokens" in sentence else ""
        for first, last in _rows(units, drawn, joint, pen.width - 4):
            _draw_row(pen, units, drawn, joint, first, last)
    else:
        for side, mention in drawn:
            pen.line(("", "    "), (side, f"{side} {_named(mention)}"))
    for side, lost in sides:
        if lost is not None and lost["start"] < 0:
            label = say.visible(lost["label"])
            said = f" “{say.visible(lost['answer'])}”" if lost.get("answer") else ""
            pen.line(("", "    "), (side, f"{side} {label}{said}, which has no place in the gold text"))
    pen.line()


def _named(mention: Span) -> str:
    borders = ", ".join(f"[{start}, {end})" for start, end in _pieces(mention))
    return f"{say.visible(mention['label'])} {borders}"


def _rows(
    units: Sequence[str], drawn: Sequence[tuple[str, Span]], joint: str, width: int
) -> list[tuple[int, int]]:
    """The stretches of tokens to show, one a line: the spans with as much around them as fits on one line."""
    from rich.cells import cell_len

    sizes = [cell_len(say.visible(unit)) + len(joint) for unit in units]
    first = max(min(mention["start"] for _, mention in drawn), 0)
    last = min(max(mention["end"] for _, mention in drawn), len(units))
    # The marks carry the label behind them, which needs room there, though none behind the sentence.
    label = max(cell_len(f"{side} {say.visible(mention['label'])}") for side, mention in drawn)
    if sum(sizes) <= width and sum(sizes[:last]) + label <= width:
        return [(0, len(units))]
    room = width - 4  # dots stand where the sentence goes on
    used = marked = sum(sizes[first:last])
    if marked + label > room:
        return _broken(sizes, first, last, max(room - label, 20))
    growing = True
    while growing:
        growing = False
        if last < len(units) and used + sizes[last] <= room:
            used, last, growing = used + sizes[last], last + 1, True
        before = sizes[first - 1] if first else room
        if used + before <= room and marked + before + label <= room:
            used, marked, first, growing = used + before, marked + before, first - 1, True
    return [(first, last)]


def _broken(sizes: Sequence[int], first: int, last: int, room: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    begin, used = first, 0
    for place in range(first, last):
        if used + sizes[place] > room and place > begin:
            rows.append((begin, place))
            begin, used = place, 0
        used += sizes[place]
    return [*rows, (begin, last)]


def _draw_row(
    pen: _Pen, units: Sequence[str], drawn: Sequence[tuple[str, Span]], joint: str, first: int, last: int
) -> None:
    from rich.cells import cell_len

    shown = [say.visible(unit) for unit in units[first:last]]
    lead = "… " if first > 0 else ""
    pen.line(("", "    " + lead + joint.join(shown) + (" …" if last < len(units) else "")))
    for side, mention in drawn:
        marks = [False] * len(shown)
        for start, end in _pieces(mention):
            for place in range(max(start, first), min(end, last)):
                marks[place - first] = True
        if not any(marks):
            continue
        line = " " * len(lead)
        for place, unit in enumerate(shown):
            line += (_MARKS[side] if marks[place] else " ") * cell_len(unit)
            going_on = marks[place] and place + 1 < len(shown) and marks[place + 1]
            line += (_MARKS[side] if going_on else " ") * len(joint)
        pen.line(("", "    "), (side, f"{line.rstrip()} {side} {say.visible(mention['label'])}"))
