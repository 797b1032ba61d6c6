"""Parse model responses into answers: JSON in several shapes (fenced, truncated or in prose), and markup."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from spanwise.placement._lines import (
    are_tags,
    label_key,
    lines_of,
    literal,
    mentions_of_tags,
    none_given,
    says_nothing,
)

Status = Literal["read", "repaired", "failed", "empty", "absent"]
STATUSES: tuple[Status, ...] = ("read", "repaired", "failed", "empty", "absent")

Json: TypeAlias = Any  # the result of json.loads

_TEXTS = (
    "text", "mention", "span", "entity", "name", "extraction_text", "surface", "value", "word", "quote",
    "phrase", "token", "entity_text", "entity_name",
)  # fmt: skip
_LABELS = (
    "label", "type", "entity_type", "category", "extraction_class", "tag", "class", "entity_group",
    "entity_label",
)  # fmt: skip
_SCORES = ("score", "confidence", "probability")
LISTS = ("answers", "entities", "mentions", "spans", "ents", "extractions", "predictions", "output", "result")
_WRAPPERS = (
    *LISTS, "results", "data", "items", "named_entities", "response", "annotations", "arguments",
    "parameters", "input", "tool_calls", "function",
)  # fmt: skip
_GROUPS = (*LISTS, "values", "texts", "names", "items", "examples")  # the texts of one label
_FIELDS = {*_TEXTS, *_LABELS, *_SCORES, "occurrence"}
_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_TAG = re.compile(r"<(/?)([^\W\d_][\w.:-]*)\s*>")
_BRACKETED = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_LINKED = re.compile(r"\[([^\[\]]+)\]\(([^()\[\]]+)\)")
_NAMED = re.compile(r"\[([^\[\]|:]+):\s*([^\[\]|]+)\]")
_AT_SIGNS = re.compile(r"@@((?:(?!@@|##).)*)##", re.DOTALL)
_JSON_MARK = re.compile(r'"(?:[^"\\]|\\.)*("?)|[\[\]{}]', re.DOTALL)
_REFUSAL = re.compile(
    r"(?:i['’]m |i am )?(?:very )?(?:sorry|unable)\b"
    r"|i (?:cannot|can['’]t|can not|won['’]t|will not)\b|as an ai\b",
    re.IGNORECASE,
)
_TRIES = 100  # number of opening brackets to try as the beginning of JSON before giving up
_CUTS = 64  # number of positions to try at which truncated JSON may be closed


class Answer(Struct, frozen=True):
    """An answer of a model: a text with a label and, optionally, a score and an occurrence number (from 1).

    `pieces` are the texts of a discontinuous mention. `place` is the token span in the unit, if markup
    or a position shows it; `span` is the position in characters that the answer gives, and `aligned` how the
    program that gave it found it.
    """

    text: str
    label: str
    score: float | None = None
    occurrence: int | None = None
    pieces: tuple[str, ...] = ()
    place: tuple[int, int] | None = None
    span: tuple[int, int] | None = None
    aligned: str = ""


class Parsed(Struct, frozen=True):
    """The answers of one unit, and how they were read; `why` tells what was wrong or repaired."""

    status: Status
    answers: tuple[Answer, ...] = ()
    why: str = ""
    markup: Literal["", "positions", "texts"] = ""
    stopped: Literal["", "refused", "truncated", "error"] = ""


class NoAnswers(ValueError):
    """A value that is not a list of answers in any shape."""


def parse(
    response: Json, *, label: str | None, labels: frozenset[str], words: list[str] | None = None
) -> Parsed:
    """Parse the answers in a response, given as text or as an already parsed JSON value.

    Args:
        label: the label of answers that do not name one.
        labels: the labels of gold.
        words: the tokens of the unit, to locate markup in.
    """
    if isinstance(response, str):
        return _in_characters(_parse_text(response, label, labels, words))
    if response is None:
        return Parsed("failed", why="there is no response")
    try:
        return _in_characters(_valid(answers_of(response, label, labels)))
    except NoAnswers as error:
        return Parsed("failed", why=str(error))
    except RecursionError:
        return Parsed("failed", why="the answers are nested too deeply")


def _in_characters(parsed: Parsed) -> Parsed:
    """Replace lone surrogates, which JSON can contain but no file can, by U+FFFD."""
    if all(map(_is_text, parsed.answers)):
        return parsed
    whole = (
        replace(
            answer,
            text=_whole(answer.text),
            label=_whole(answer.label),
            pieces=tuple(map(_whole, answer.pieces)),
        )
        for answer in parsed.answers
    )
    return replace(parsed, answers=tuple(whole))


def _is_text(answer: Answer) -> bool:
    text = f"{answer.text}{answer.label}{''.join(answer.pieces)}"
    return text.isascii() or text == _whole(text)


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _valid(answers: list[Answer], *, markup: Literal["", "positions", "texts"] = "") -> Parsed:
    return Parsed("read" if answers else "empty", tuple(answers), markup=markup)


def _parse_text(text: str, label: str | None, labels: frozenset[str], words: list[str] | None) -> Parsed:
    marked = markup_of(text, label, labels)
    if words is not None and _same_ink(_unmarked(text, marked), words):
        return _valid(_on_tokens(text, marked, words), markup="positions" if marked else "")
    why = "the response holds no JSON, no list and no markup"
    try:
        return _valid(answers_of(loaded(text.strip()), label, labels))
    except NoAnswers as error:
        why = str(error)
    except ValueError:
        pass
    if (thought := text.rpartition("</think>")[2]) != text:
        final = _parse_text(thought, label, labels, words)
        return replace(final, status="repaired", why="reasoning dropped") if final.status == "read" else final
    if (repaired := repaired_json(text, lambda value: answers_of(value, label, labels))) is not None:
        return Parsed("repaired", tuple(repaired.found), why=repaired.why, stopped=repaired.stopped)
    if says_nothing(text):
        return Parsed("empty", why="the response says that there are none")
    if (listed := lines_of(text, labels)) is not None:
        answers = [Answer(*row) for row in listed.rows]
        if listed.dropped:
            return Parsed("repaired", tuple(answers), why="text around the list dropped")
        return _valid(answers)
    if marked:
        spans = sorted(span for mark in marked for span in mark.marks)
        # <entities> around marks is the list, not an answer.
        marked = [mark for mark in marked if mark.label in labels or mark.label.lower() not in _WRAPPERS]
        answers = [Answer(_without(text, mark, spans), mark.label) for mark in marked]
        return _valid(answers, markup="texts")
    if _REFUSAL.match(text.strip()):
        return Parsed("failed", why="the model refused", stopped="refused")
    return Parsed("failed", why=why)


def loaded(text: str) -> Json:
    """Parse the whole text as one JSON value.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise NoAnswers("the JSON is nested too deeply") from None


T = TypeVar("T")


class Repaired(Struct, Generic[T], frozen=True):
    """What was found in a response that is not JSON as a whole, and how it was repaired."""

    found: list[T]
    why: str
    stopped: Literal["", "truncated"] = ""


def repaired_json(text: str, read: Callable[[Json], list[T]]) -> Repaired[T] | None:
    """Repair the text and `read` the JSON in it; None if that fails.

    Args:
        read: what a JSON value holds; it raises ValueError for a value of another shape.
    """
    fenced = [match[1] for match in _FENCE.finditer(text)]
    for inner in fenced:
        try:
            found = read(loaded(inner.strip()))
        except ValueError:
            continue
        why = "code fence stripped" if len(fenced) == 1 else f"first of {len(fenced)} code fences read"
        return Repaired(found, why)
    for part in [*fenced, text]:
        if (embedded := _embedded(part, read)) is not None:
            return embedded
        try:
            found = read(literal(part))  # None, if there is no literal, is no list
        except ValueError:
            continue
        return Repaired(found, "read as a Python literal")
    return None


def _embedded(text: str, read: Callable[[Json], list[T]]) -> Repaired[T] | None:
    """What the first JSON value in a text holds that has any, or what several objects in a row hold."""
    decoder = json.JSONDecoder()
    singles: list[T] = []
    empty = others = False
    position = tries = 0
    budget = 4 * len(text) + 10_000  # limit on characters scanned repeatedly
    while tries < _TRIES and budget > 0:
        begin = min(
            (at for at in (text.find("[", position), text.find("{", position)) if at >= 0), default=-1
        )
        if begin < 0:
            break
        value = None
        try:
            value, end = decoder.raw_decode(text, begin)
            found = read(value)
            position = end
        except (ValueError, RecursionError) as error:
            if isinstance(value, list):  # a part of a list would pass for all of it
                position, tries, others = end, tries + 1, True
                continue
            position, tries = begin + 1, tries + 1
            budget -= 2 * (getattr(error, "pos", begin) - begin)
            if not singles and isinstance(error, json.JSONDecodeError):
                closed, looked_at = _closed(text, begin, read)
                budget -= looked_at
                if closed:
                    return Repaired(closed, "truncated JSON closed", "truncated")
            continue
        if isinstance(value, Mapping) and _is_single(value):
            singles += found
        elif singles:
            break
        elif found:
            return Repaired(found, "text around the JSON dropped")
        else:
            empty = True
    if not singles and (others or not empty):
        return None
    return Repaired(singles, "text around the JSON dropped")


def _is_single(value: Mapping[str, Json]) -> bool:
    """Whether an object is one answer or one tuple, of which several may stand in a row."""
    return _is_answer(value) or {"head", "tail"} <= value.keys() or {"type", "roles"} <= value.keys()


def _closed(text: str, begin: int, read: Callable[[Json], list[T]]) -> tuple[list[T], int]:
    """What stands before the point where the JSON breaks off, and the number of characters scanned.

    Brackets are closed after the last complete element that leaves whole answers.
    """
    cuts: deque[tuple[int, str]] = deque(maxlen=_CUTS)
    open_brackets: list[str] = []
    last = begin
    for match in _JSON_MARK.finditer(text, begin):
        mark, last = match[0], match.end()
        if mark[0] == '"':
            if not match[1]:
                break
        elif mark in "[{":
            open_brackets.append("]" if mark == "[" else "}")
            continue
        elif not open_brackets or open_brackets.pop() != mark:
            break
        if not open_brackets:  # complete, but not valid JSON
            return [], last - begin
        cuts.append((last, "".join(reversed(open_brackets[-_TRIES:]))))
    for end, closing in reversed(cuts):
        try:
            found = read(loaded(text[begin:end] + closing))
        except ValueError:
            continue
        if found:
            return found, last - begin
    return [], last - begin


def answers_of(value: Json, label: str | None, labels: frozenset[str]) -> list[Answer]:
    """The answers in a JSON value: a list of objects or pairs, lists of texts by label, or a wrapper.

    Raises:
        NoAnswers: the value has another shape.

    Examples:
        >>> [answer.text for answer in answers_of({"PER": ["Ann", "Bo"]}, None, frozenset())]
        ['Ann', 'Bo']
    """
    if isinstance(value, Mapping):
        if _is_answer(value):
            return [_of_mapping(value, label)]
        if (group := _group(value)) is not None and group[0] in labels:
            return _of_group(group)
        inner = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), list | dict)), None)
        if inner is None and isinstance(value.get("arguments"), str):
            inner = loaded(value["arguments"])  # of a tool call
        if inner is not None and not (set(value) & labels):
            return answers_of(inner, label, labels)
        return _by_label(value, labels)
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        return answers_of(loaded(value), label, labels)  # JSON within JSON
    if isinstance(value, list):
        if value and all(isinstance(item, Mapping) and len(item) == 1 for item in value):
            (*singles,) = (next(iter(item.items())) for item in value)
            if all(isinstance(text, str) and key in labels for key, text in singles):
                return [Answer(text, key) for key, text in singles]
            if all(isinstance(name, str) and name in labels for _, name in singles):
                return [Answer(text, name) for text, name in singles]
        if value and all(_is_call(item) for item in value):
            return [answer for item in value for answer in answers_of(item, label, labels)]
        if len(value) == 2 and _are_texts(value) and label is None:
            return (
                [Answer(value[0], value[1])] if value[1] in labels else [_item(item, label) for item in value]
            )
        reversed_pairs = bool(labels) and bool(value) and all(
            isinstance(item, list) and len(item) == 2 and _are_texts(item)
            and item[0] in labels and item[1] not in labels for item in value
        )  # fmt: skip
        if reversed_pairs:
            return [Answer(text, name) for name, text in value]
        if value and all(isinstance(item, list) and all(map(_is_mapping, item)) for item in value):
            return [answer for item in value for answer in answers_of(item, label, labels)]
        return _untagged([answer for item in value for answer in _items(item, label)], labels)
    raise NoAnswers(f"{_short(value)} is not a list of answers")


def _is_call(item: Json) -> bool:
    """Whether an item of a list is a call of a tool, with answers as its arguments."""
    return isinstance(item, Mapping) and ("function" in item or "arguments" in item)


def _are_texts(value: list[Json]) -> bool:
    return all(isinstance(item, str) for item in value)


def _is_mapping(item: Json) -> bool:
    return isinstance(item, Mapping)


def _untagged(answers: list[Answer], labels: frozenset[str]) -> list[Answer]:
    """The answers themselves, or the mentions that they tag token by token, as in `[["Ann", "B-PER"], …]`."""
    tags = [answer.label for answer in answers]
    if not answers or not are_tags(tags) or not labels.isdisjoint(tags):
        return answers
    return [Answer(*row) for row in mentions_of_tags([answer.text for answer in answers], tags)]


def _is_answer(value: Mapping[str, Json]) -> bool:
    value = _with_plain_keys(value)
    if any(isinstance(value.get(key), Mapping | list) for key in ("input", "arguments", "parameters")):
        return False  # the call of a tool has a name and a type, too
    return any(key in value for key in _TEXTS) and any(
        key in value for key in (*_LABELS, "entity") if key != _text_key(value)
    )


def _with_plain_keys(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """The object with the keys `Text` and `Entity Type` as `text` and `entity_type`, if no key is known."""
    if any(key in _FIELDS for key in value):
        return value
    plain = {re.sub(r"[ -]", "_", str(key).casefold()): field for key, field in value.items()}
    key = _text_key(plain)
    return plain if key is not None and isinstance(plain[key], str) else value


def _group(item: Mapping[str, Json]) -> tuple[str, list[Json]] | None:
    """The label and the texts of an object such as `{"label": "PER", "mentions": ["Ann"]}`."""
    key = next((key for key in (*_LABELS, "entity") if isinstance(item.get(key), str)), None)
    listed = next((item[name] for name in _GROUPS if isinstance(item.get(name), list)), None)
    if (
        key is None
        or listed is None
        or any(isinstance(item.get(text), str) for text in _TEXTS if text != key)
    ):
        return None
    return item[key], listed


def _of_group(group: tuple[str, list[Json]]) -> list[Answer]:
    label, listed = group
    return [_item(item, label) for item in listed]


def _items(item: Json, label: str | None) -> list[Answer]:
    group = _group(item) if isinstance(item, Mapping) else None
    return [_item(item, label)] if group is None else _of_group(group)


def _text_key(value: Mapping[str, Json]) -> str | None:
    return next((key for key in _TEXTS if key in value), None)


def _item(item: Json, label: str | None) -> Answer:
    if isinstance(item, Mapping):
        return _of_mapping(item, label)
    if isinstance(item, list) and len(item) in (2, 3) and isinstance(item[1], str):
        return _pair(item)
    if isinstance(item, str) and label is not None:
        return Answer(item, label)
    raise NoAnswers(f"{_short(item)} is not an answer")


def _pair(item: list[Json]) -> Answer:
    text, pieces = _text(item[0], item)
    score = _score(item[2]) if len(item) == 3 else None
    return Answer(text, item[1], score, pieces=pieces)


def _of_mapping(item: Mapping[str, Json], label: str | None) -> Answer:
    item = _with_plain_keys(item)
    key = _text_key(item)
    named = next((item[field] for field in (*_LABELS, "entity") if field in item and field != key), label)
    if isinstance(named, list) and len(named) == 1:
        named = named[0]
    if key is None or not isinstance(named, str):
        raise NoAnswers(f"{_short(item)} has no text and label")
    text, pieces = _text(item[key], item)
    score = next((number for field in _SCORES if (number := _score(item.get(field))) is not None), None)
    interval = item.get("char_interval")
    aligned = item.get("alignment_status")
    return Answer(
        text, named, score, _occurrence(item.get("occurrence")), pieces,
        span=_span(interval if isinstance(interval, Mapping) else item),
        aligned=aligned if isinstance(aligned, str) else "",
    )  # fmt: skip


_POSITIONS = (
    ("start_pos", "end_pos"), ("start", "end"), ("begin", "end"), ("start_offset", "end_offset"),
    ("from", "to"), ("start_char", "end_char"), ("char_start", "char_end"),
)  # fmt: skip


def _span(item: Mapping[str, Json]) -> tuple[int, int] | None:
    """The position in characters that an answer gives; None if it gives none."""
    for first, last in _POSITIONS:
        start, end = item.get(first), item.get(last)
        if type(start) is int and type(end) is int:
            return (start, end) if 0 <= start < end else None
    return None


def located(answers: tuple[Answer, ...], text: str, words: list[str]) -> tuple[Answer, ...]:
    """The answers with the token spans of their positions, where these agree with the text.

    A position agrees if the text there is the answer, apart from white space, or if a program aligned it;
    and if it does not cut through a token.

    Args:
        text: the text of the unit, which positions refer to.
        words: the tokens of the unit.
    """
    if not any(answer.span is not None for answer in answers) or not _same_ink("".join(text.split()), words):
        return answers
    begins, ends = _token_borders(words)
    before = _ink_counter(text, [])
    found: list[Answer] = []
    for answer in answers:
        span = answer.span
        if span is None or answer.place is not None or span[1] > len(text):
            found.append(answer)
            continue
        agrees = bool(answer.aligned) or text[span[0] : span[1]].split() == answer.text.split()
        first, last = begins.get(before[span[0]]), ends.get(before[span[1]])
        place = (first, last) if first is not None and last is not None and first < last else None
        found.append(replace(answer, place=place) if agrees and place is not None else answer)
    return tuple(found)


def _token_borders(words: list[str]) -> tuple[dict[int, int], dict[int, int]]:
    """The tokens that begin and end at each number of characters without white space."""
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    ink = 0
    for number, word in enumerate(words):
        size = len("".join(word.split()))
        if size:
            begins[ink], ends[ink + size] = number, number + 1
        ink += size
    return begins, ends


def _text(value: Json, item: Json) -> tuple[str, tuple[str, ...]]:
    """The text of an answer, and its pieces if there are several."""
    if isinstance(value, str):
        return value, ()
    if isinstance(value, list) and value and _are_texts(value):
        return " ".join(value), tuple(value) if len(value) > 1 else ()
    raise NoAnswers(f"{_short(item)} has no text")


def _score(value: Json) -> float | None:
    """The value if it is a finite number, otherwise None."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1e300 < value < 1e300:
        return None
    return value


def _occurrence(value: Json) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _by_label(value: Mapping[str, Json], labels: frozenset[str]) -> list[Answer]:
    """The answers of an object whose keys are labels, or are texts if all values are labels of gold."""
    if not value:
        return []
    if all(isinstance(item, str) and item in labels for item in value.values()):
        return [Answer(text, label) for text, label in value.items()]
    known = {label_key(label) for label in labels}
    value = {key: _texts_of(item) if label_key(key) in known else item for key, item in value.items()}
    lists = {key: listed for key, listed in value.items() if isinstance(listed, list)}
    if not lists or (value.keys() <= _FIELDS and not value.keys() & labels):
        raise NoAnswers(f"{_short(value)} holds no lists of texts")
    named = [name for listed in lists.values() for name in listed]
    if named and labels.isdisjoint(value) and all(isinstance(name, str) and name in labels for name in named):
        return [Answer(text, name) for text, listed in lists.items() for name in listed]
    return [_item(item, label) for label, listed in lists.items() for item in listed]


def _texts_of(value: Json) -> Json:
    """What stands under a label, as a list: empty for a word for nothing, as in `{"ORG": ["None"]}`."""
    listed = [value] if isinstance(value, str | Mapping) else value or []
    return [] if isinstance(listed, list) and len(listed) == 1 and none_given(listed[0]) else listed


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


class AnswerMark(Struct, frozen=True):
    """A marked span of a response: the span between the marks, and the spans of the marks."""

    begin: int
    end: int
    label: str
    marks: tuple[tuple[int, int], tuple[int, int]]


def markup_of(text: str, label: str | None, labels: frozenset[str] = frozenset()) -> list[AnswerMark]:
    """The marked spans of a response, sorted by their begin.

    `<PER>…</PER>` may nest; an unpaired mark is text. `@@…##` does not name a label, so one must be given.
    `[Ann](PER)` and `[PER: Ann]` are marks if the label is one of `labels`.
    """
    marks: list[AnswerMark] = []
    waiting: dict[str, list[re.Match[str]]] = {}
    for match in _TAG.finditer(text):
        if not match[1]:
            waiting.setdefault(match[2], []).append(match)
        elif waiting.get(match[2]):
            first = waiting[match[2]].pop()
            marks.append(AnswerMark(first.end(), match.start(), first[2], (first.span(), match.span())))
    for match in _BRACKETED.finditer(text):
        if name := match[2].strip():
            marks.append(_enclosed(match, name))
    for match in _LINKED.finditer(text):
        if match[2].strip() in labels:
            marks.append(_enclosed(match, match[2].strip()))
    for match in _NAMED.finditer(text):
        if match[1].strip() in labels:
            ends = ((match.start(), match.start(2)), (match.end(2), match.end()))
            marks.append(AnswerMark(match.start(2), match.end(2), match[1].strip(), ends))
    if label is not None:
        marks += [_enclosed(match, label) for match in _AT_SIGNS.finditer(text)]
    return sorted(marks, key=lambda mark: (mark.begin, -mark.end))


def _enclosed(match: re.Match[str], label: str) -> AnswerMark:
    marks = ((match.start(), match.start(1)), (match.end(1), match.end()))
    return AnswerMark(match.start(1), match.end(1), label, marks)


def _unmarked(text: str, marked: list[AnswerMark]) -> str:
    """The text without marks and white space."""
    kept: list[str] = []
    position = 0
    for begin, end in sorted(span for mark in marked for span in mark.marks):
        kept.append(text[position:begin])
        position = end
    return "".join("".join([*kept, text[position:]]).split())


def _same_ink(ink: str, words: list[str]) -> bool:
    return bool(words) and ink == "".join("".join(word.split()) for word in words)


def _on_tokens(text: str, marked: list[AnswerMark], words: list[str]) -> list[Answer]:
    """The marked spans as answers with their token spans; one that cuts through a token has none."""
    begins, ends = _token_borders(words)
    spans = sorted(span for mark in marked for span in mark.marks)
    ink_before = _ink_counter(text, spans)
    answers: list[Answer] = []
    for mark in marked:
        first, last = begins.get(ink_before[mark.begin]), ends.get(ink_before[mark.end])
        token_span = (first, last) if first is not None and last is not None and first < last else None
        answers.append(Answer(_without(text, mark, spans), mark.label, place=token_span))
    return answers


def _ink_counter(text: str, spans: list[tuple[int, int]]) -> list[int]:
    """The number of characters before each position of the text, without white space and marks."""
    marks = set[int]()
    for begin, end in spans:
        marks.update(range(begin, end))
    counts = [0]
    for index, char in enumerate(text):
        counts.append(counts[-1] + (index not in marks and not char.isspace()))
    return counts


def _without(text: str, mark: AnswerMark, spans: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    position = mark.begin
    for begin, end in spans:
        if mark.begin <= begin and end <= mark.end:
            kept.append(text[position:begin])
            position = end
    return " ".join("".join([*kept, text[position : mark.end]]).split())
