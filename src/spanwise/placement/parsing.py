"""Parse model responses into answers: JSON in several shapes (fenced, truncated or in prose), and markup."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from spanwise.errors import many
from spanwise.placement._lines import (
    are_tags,
    is_none,
    is_structure,
    known_labels,
    label_key,
    lines_of,
    literal,
    mentions_of_tags,
    names_label,
    none_given,
    says_nothing,
    spans_of_tags,
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
_LABELS_OR_TEXTS = ("entity", "name")  # texts beside a label, else labels beside a text
_SCORES = ("score", "confidence", "probability")
LISTS = ("answers", "entities", "mentions", "spans", "ents", "extractions", "predictions", "output", "result")
_WRAPPERS = (
    *LISTS, "results", "data", "items", "named_entities", "response", "annotations", "arguments",
    "parameters", "input", "tool_calls", "function",
)  # fmt: skip
_GROUPS = (*LISTS, "values", "texts", "names", "items", "examples")  # the texts of one label
_FIELDS = {*_TEXTS, *_LABELS, *_SCORES, "occurrence"}
_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ATTRIBUTE = r"\s+[\w:-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*')"
_TAG = re.compile(rf"<(/?)([^\W\d_][\w.:-]*)((?:{_ATTRIBUTE})*)\s*>")
_LABEL_ATTRIBUTE = re.compile(r"\s(?:type|label|class|category|entity_type)\s*=\s*[\"']([^\"']+)[\"']")
_BRACKETED = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_LABELED = tuple(
    map(
        re.compile,
        (
            r"\[([^\[\]]+)\] ?\(([^()\[\]]+)\)", r"\{([^{}]+)\} ?[\[(]([^()\[\]]+)[\])]",
            r"\[([^\[\]]+)\][_/]?(\w[\w-]*)", r"\*\*([^*\n]+)\*\* ?[(\[]([^()\[\]]+)[)\]]",
        ),
    )
)  # fmt: skip
_NAMED = re.compile(r"\[([^\[\]|:\s]+)(?::\s*|\s+)([^\[\]|]+)\]")
_AT_SIGNS = re.compile(r"@@((?:(?!@@|##).)*)##", re.DOTALL)
_JSON_MARK = re.compile(r'"(?:[^"\\]|\\.)*("?)|[\[\]{}]', re.DOTALL)
_REFUSAL = re.compile(
    r"(?:unfortunately,? )?(?:(?:i['’]m |i am )?(?:very )?(?:sorry|unable)\b"
    r"|i (?:must )?(?:apologi[sz]e|decline|refuse|cannot|can['’]t|can not|won['’]t|will not)\b|as an ai\b)",
    re.IGNORECASE,
)
_THOUGHTS = ("think", "thinking", "thought", "thoughts", "reasoning", "analysis", "scratchpad", "reflection")
_FINAL = ("answer", "final_answer", "final", "output", "result", "response", "tool_call")
_PART = re.compile(rf"<(/?)({'|'.join((*_THOUGHTS, *_FINAL))})>", re.IGNORECASE)
_MESSAGE = "<|message|>"  # before the content of a message, where a response keeps the template of the chat
_SPECIAL = re.compile(r"(?:<\|\w{1,30}\|>|</s>|<eos>|<end_of_turn>)$")
_PAGE = re.compile(r"\s*<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_TRIES = 100  # number of opening brackets to try as the beginning of JSON before giving up
_MOST = 1_000_000  # characters of JSON whose notation is corrected
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


_NO_ANSWER = Answer("null", "null")  # what an object with null for its text or label says


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
        tagged = _of_tags(response, words, labels)
        return _in_characters(tagged or _valid(answers_of(response, label, labels), labels))
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


def _valid(
    answers: list[Answer],
    labels: frozenset[str] = frozenset(),
    *,
    markup: Literal["", "positions", "texts"] = "",
) -> Parsed:
    kept = meaningful(answers, labels)
    return Parsed("read" if kept else "empty", kept, markup=markup)


def _parse_text(text: str, label: str | None, labels: frozenset[str], words: list[str] | None) -> Parsed:
    if not text.strip():
        return Parsed("failed", why="the response is empty")
    marked = markup_of(text, label, labels)
    if words is not None and _same_ink(_unmarked(text, marked), words):
        return _valid(_on_tokens(text, marked, words), markup="positions" if marked else "")
    why = "the response holds no JSON, no list and no markup"
    try:
        value = loaded(text.strip())
        return _of_tags(value, words, labels) or _valid(answers_of(value, label, labels), labels)
    except NoAnswers as error:
        why = str(error)
    except ValueError:
        pass
    if isinstance(final := _final_part(text, labels), Parsed):
        return final
    if final is not None:
        read = _parse_text(final.text, label, labels, words)
        return replace(read, status="repaired", why=final.why) if read.status == "read" else read
    return _repaired(text, label, labels, words) or _in_lines(text, marked, label, labels, words, why)


class _Final(Struct, frozen=True):
    """The part of a response that is the answer, and what was dropped before it."""

    text: str
    why: str


def _final_part(text: str, labels: frozenset[str]) -> _Final | Parsed | None:
    """The response without reasoning and without tags around the answer; None if it has none of these.

    Reasoning that was begun and not finished leaves no answer, whatever lists it holds.
    """
    stripped = _without_end(text)
    why = "reasoning dropped"
    if _MESSAGE in stripped:
        return _Final(stripped.rpartition(_MESSAGE)[2], why)
    known = known_labels(labels)
    marks = [mark for mark in _PART.finditer(stripped) if label_key(mark[2]) not in known]
    thoughts = [mark for mark in marks if mark[2].lower() in _THOUGHTS]
    if thoughts:
        if not thoughts[-1][1]:
            return Parsed("failed", why="the reasoning was not finished", stopped="truncated")
        return _Final(stripped[thoughts[-1].end() :], why)
    opened = [mark for mark in marks if not mark[1]]
    if opened and (opened[-1].start() == 0 or "/" in {mark[1] for mark in marks}):
        rest = stripped[opened[-1].end() :]
        end = _PART.search(rest)
        return _Final(rest if end is None else rest[: end.start()], "text around the answer dropped")
    return _Final(stripped, "end of the message dropped") if stripped != text else None


def _without_end(text: str) -> str:
    """The text without the tokens that end a message, as `</s>` and `<|im_end|>` do."""
    stripped = text.rstrip()
    while (end := _SPECIAL.search(stripped, max(len(stripped) - 40, 0))) is not None:
        stripped = stripped[: end.start()].rstrip()
    return stripped if len(stripped) < len(text.rstrip()) else text


def _repaired(text: str, label: str | None, labels: frozenset[str], words: list[str] | None) -> Parsed | None:
    """The answers in JSON that is not the whole text, or not quite JSON; None if there are none."""

    repaired = repaired_json(text, lambda value: answers_in(value, label, labels, words))
    if repaired is None:
        return None
    if not repaired.found and (listed := lines_of(text, labels)) is not None and listed.pairs:
        return None  # the only JSON is an empty list among others, as in `PER: [Ann]` and `ORG: []`
    kept = meaningful(repaired.found, labels)
    return Parsed("repaired", kept, why=repaired.why, stopped=repaired.stopped)


def answers_in(
    value: Json, label: str | None, labels: frozenset[str], words: list[str] | None
) -> list[Answer]:
    """The answers in a JSON value among other text, which may be an example of the format, or tags.

    Raises:
        NoAnswers: the value has another shape, holds no texts, or not one tag per token.
    """
    tagged = _of_tags(value, words, labels)
    if tagged is not None:
        if tagged.status == "failed":
            raise NoAnswers(tagged.why)
        return list(tagged.answers)
    found = answers_of(value, label, labels)
    if found and all(not answer.text.strip(". …") for answer in found):
        raise NoAnswers(f"{_short(value)} is an example of the format")
    return found


def _in_lines(
    text: str,
    marked: list[AnswerMark],
    label: str | None,
    labels: frozenset[str],
    words: list[str] | None,
    why: str,
) -> Parsed:
    """The answers in lists, tables and marks, or what is wrong with a response that has none."""
    if says_nothing(text):
        return Parsed("empty", why="the response says that there are none")
    if are_tags(tags := text.split()) and (tagged := _of_tags(tags, words, labels)) is not None:
        return tagged
    if _PAGE.match(text):
        return Parsed("failed", why="the response is an HTML page")
    if (listed := lines_of(text, labels, label)) is not None:
        answers = [Answer(*row) for row in listed.rows]
        if listed.dropped:
            kept = meaningful(answers, labels)
            return Parsed("repaired", kept, why="text around the list dropped")
        return _valid(answers, labels)
    known = known_labels(labels)
    spans = sorted(span for mark in marked for span in mark.marks)
    # <entities> around marks is the list, not an answer.
    inner = [*(other.end for other in marked[1:]), len(text) + 1]
    marked = [
        mark for mark, end in zip(marked, inner, strict=bool(marked))
        if label_key(mark.label) in known or not (is_structure(mark.label) or end < mark.end)
    ]  # fmt: skip
    if marked:
        answers = [Answer(_without(text, mark, spans), mark.label) for mark in marked]
        return _valid(answers, labels, markup="texts")
    if _REFUSAL.match(text.strip()):
        return Parsed("failed", why="the model refused", stopped="refused")
    if label is None and _AT_SIGNS.search(text):
        return Parsed("failed", why="the marks @@…## name no label")
    return Parsed("failed", why=why)


_TAG_KEYS = ("tags", "ner_tags", "labels", "bio", "bio_tags", *LISTS)


def _of_tags(value: Json, words: list[str] | None, labels: frozenset[str]) -> Parsed | None:
    """The mentions in a list with one tag per token, by position; None if the value is no such list."""
    if isinstance(value, Mapping):
        lists = [value[key] for key in _TAG_KEYS if isinstance(value.get(key), list)]
        value = lists[0] if len(lists) == 1 and len(value) <= 2 else None
    if words is None or not isinstance(value, list) or not value:
        return None
    if not _are_texts(value):
        value = _tags_beside(value, words)
        if value is None:
            return None
    bare = {tag for tag in value if tag != "O"}
    if "O" in labels or not (are_tags(value) or ("O" in value and bare <= labels)):
        return None
    if len(value) != len(words):
        return Parsed("failed", why=f"there are {many(len(value), 'tag')} for {many(len(words), 'token')}")
    spans = spans_of_tags(value if are_tags(value) else [_inside(tag) for tag in value])
    answers = [Answer(" ".join(words[low:high]), name, place=(low, high)) for low, high, name in spans]
    return _valid(answers, markup="positions")


def _tags_beside(listed: list[Json], words: list[str]) -> list[str] | None:
    """The tags of a list with a token and its tag per item; None if its tokens are not those of the unit."""
    if len(listed) != len(words):
        return None
    try:
        items = [_item(item, None, frozenset()) for item in listed]
    except NoAnswers:
        return None
    return [item.label for item in items] if [item.text for item in items] == words else None


def apart(parsed: Parsed) -> Parsed:
    """The answers with the texts of each as answers of their own, for text without discontinuous mentions."""
    if not any(answer.pieces for answer in parsed.answers):
        return parsed
    answers = [
        replace(answer, text=text, pieces=())
        for answer in parsed.answers
        for text in answer.pieces or (answer.text,)
    ]
    return replace(parsed, answers=tuple(answers))


def _inside(tag: str) -> str:
    return tag if tag == "O" else f"I-{tag}"


def meaningful(answers: list[Answer], labels: frozenset[str]) -> tuple[Answer, ...]:
    """The answers without those that say that there is none, as `{"text": "None", "label": "ORG"}` does."""
    return tuple(
        answer
        for answer in answers
        if not is_none(answer.text)
        and (answer.label in labels or not (is_none(answer.label) or answer.label == "O"))
    )


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
        if (corrected := corrected_json(part)) is not None:
            try:
                return Repaired(read(loaded(corrected)), "JSON with mistakes in its notation corrected")
            except ValueError:
                pass
        if (embedded := _embedded(part, read)) is not None:
            return embedded
        try:
            found = read(literal(part))  # None, if there is no literal, is no list
        except ValueError:
            continue
        return Repaired(found, "read as a Python literal")
    return None


_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|(?<!\S)#[^\n]*', re.DOTALL)
_NOTATION = re.compile(  # a string, a comma before the end, or a key without quotation marks
    r'"(?:[^"\\]|\\.)*"|,(?=\s*[\]}])|(?<=[{,\s])[^\W\d]\w*(?=\s*:)', re.DOTALL
)
_CURLY = re.compile(r"(?<=[\[{,:])(\s*)[“”]|[“”](?=\s*[\]},:])")


def corrected_json(text: str) -> str | None:
    """The text from its first bracket to its last, without comments, last commas and the like.

    Returns:
        None if there is nothing to correct.

    Examples:
        >>> corrected_json('x = {PER: ["Ann",], } // persons')
        '{"PER": ["Ann"] }'
    """
    begin = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    end = max(text.rfind("]"), text.rfind("}")) + 1
    if begin < 0 or end <= begin or end - begin > _MOST:
        return None
    inside = text[begin:end]
    if '\\"' in inside and inside.lstrip("[{ \t\r\n").startswith('\\"'):
        inside = inside.replace('\\"', '"')
    straight = _CURLY.sub(lambda match: f'{match[1] or ""}"', inside)
    corrected = _NOTATION.sub(_in_notation, _COMMENT.sub(_in_notation, straight))
    return corrected if corrected != text[begin:end] else None


def _in_notation(match: re.Match[str]) -> str:
    part = match[0]
    if part[0] == '"':
        return part
    return "" if part[0] in "/#," else f'"{part}"'


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
        if _is_single(value):
            singles += found
        elif singles:
            break
        elif found:
            several = _another(text[position:], read, found)
            return Repaired(
                found, "first of several JSON values read" if several else "text around the JSON dropped"
            )
        else:
            empty = True
    if not singles and (others or not empty):
        return None
    return Repaired(singles, "text around the JSON dropped")


def _another(text: str, read: Callable[[Json], list[T]], before: list[T]) -> bool:
    """Whether the next JSON value in a text holds something else than what was found before."""
    begin = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    if begin < 0:
        return False
    try:
        found = read(json.JSONDecoder().raw_decode(text, begin)[0])
    except (ValueError, RecursionError):
        return False
    return bool(found) and found != before


def _is_single(value: Json) -> bool:
    """Whether a value is one answer or one tuple, of which several may stand in a row."""
    if isinstance(value, list):
        return len(value) == 2 and _are_texts(value)
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
            return [_of_mapping(value, label, labels)]
        if (group := _group(value)) is not None and names_label(group[0], labels):
            return _of_group(group, labels)
        inner = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), list | dict)), None)
        if inner is None:
            inner = next((found for key in _WRAPPERS if (found := _inner(value.get(key))) is not None), None)
        if inner is not None and not any(names_label(key, labels) for key in value):
            return answers_of(inner, label, labels)
        return _by_label(value, labels)
    if isinstance(value, str):
        if (inner := _inner(value)) is not None:
            return answers_of(inner, label, labels)
        if none_given(value) or says_nothing(value):
            return []
    if isinstance(value, list):
        if all(item is None or is_none(item) for item in value):
            return []
        singles = [_single(item) for item in value]
        if value and all(single is not None for single in singles):
            pairs = [single for single in singles if single is not None]
            if all(names_label(key, labels) for key, _ in pairs):
                return [Answer(text, key) for key, text in pairs]
            if all(names_label(name, labels) for _, name in pairs):
                return [Answer(text, name) for text, name in pairs]
        if value and all(_is_call(item) for item in value):
            return [answer for item in value for answer in answers_of(item, label, labels)]
        if len(value) == 2 and _are_texts(value) and label is None:
            if names_label(value[0], labels) and not names_label(value[1], labels):
                value = value[::-1]
            return (
                [Answer(value[0], value[1])]
                if names_label(value[1], labels)
                else [_item(item, label, labels) for item in value]
            )
        reversed_pairs = bool(labels) and bool(value) and all(
            isinstance(item, list) and len(item) == 2 and _are_texts(item)
            and names_label(item[0], labels) and not names_label(item[1], labels) for item in value
        )  # fmt: skip
        if reversed_pairs:
            return [Answer(text, name) for name, text in value]
        if value and all(isinstance(item, list) and all(map(_is_mapping, item)) for item in value):
            return [answer for item in value for answer in answers_of(item, label, labels)]
        return _untagged([answer for item in value for answer in _items(item, label, labels)], labels)
    raise NoAnswers(f"{_short(value)} is not a list of answers")


def _inner(value: Json) -> Json:
    """The JSON within a string; None if it holds none.

    Raises:
        NoAnswers: it begins like JSON, but is none.
    """
    if not isinstance(value, str) or value.strip()[:1] not in ("[", "{"):
        return None
    try:
        return loaded(value)
    except ValueError:
        raise NoAnswers(f"{_short(value)} is not JSON") from None


def _single(item: Json) -> tuple[str, str] | None:
    """The key and the only text of an object; `PER_attributes` beside `PER` are no text."""
    if not isinstance(item, Mapping):
        return None
    kept = {
        key: text for key, text in item.items()
        if not any(key == f"{other}{end}" for other in item for end in ("_attributes", "_index"))
    }  # fmt: skip
    if len(kept) != 1:
        return None
    ((key, text),) = kept.items()
    return (key, text) if isinstance(text, str) else None


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
    text = _text_key(value)
    return text is not None and any(key in value for key in (*_LABELS, *_LABELS_OR_TEXTS) if key != text)


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


def _of_group(group: tuple[str, list[Json]], labels: frozenset[str]) -> list[Answer]:
    label, listed = group
    return [_item(item, label, labels) for item in _texts_of(listed)]


def _items(item: Json, label: str | None, labels: frozenset[str]) -> list[Answer]:
    group = _group(item) if isinstance(item, Mapping) else None
    return [_item(item, label, labels)] if group is None else _of_group(group, labels)


def _text_key(value: Mapping[str, Json]) -> str | None:
    keys = [key for key in _TEXTS if key in value]
    if len(keys) > 1 and keys[0] in _LABELS_OR_TEXTS and not any(key in value for key in _LABELS):
        return keys[1]
    return keys[0] if keys else None


def _item(item: Json, label: str | None, labels: frozenset[str]) -> Answer:
    if isinstance(item, Mapping):
        return _of_mapping(item, label, labels)
    if isinstance(item, list) and len(item) in (2, 3) and isinstance(item[1], str):
        return _pair(item)
    if isinstance(item, str) and label is not None:
        return Answer(item, label)
    raise NoAnswers(f"{_short(item)} is not an answer")


def _pair(item: list[Json]) -> Answer:
    text, pieces = _text(item[0], item)
    score = _score(item[2]) if len(item) == 3 else None
    return Answer(text, item[1], score, pieces=pieces)


def _of_mapping(item: Mapping[str, Json], label: str | None, labels: frozenset[str]) -> Answer:
    item = _with_plain_keys(item)
    key = _text_key(item)
    fields = [field for field in (*_LABELS, *_LABELS_OR_TEXTS) if field in item and field != key]
    field = next(iter(fields), None)
    if (
        key is not None and field in _LABELS_OR_TEXTS
        and names_label(item[key], labels) and not names_label(item[field], labels)
    ):  # fmt: skip
        key, field = field, key  # as in {"name": "Ann", "value": "PER"}
    named = label if field is None else item[field]
    if isinstance(named, list) and len(named) == 1:
        named = named[0]
    if key is not None and field is not None and None in (item[key], named):
        return _NO_ANSWER
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
    known = known_labels(labels)
    by_text = not any(label_key(key) in known for key in value)
    if by_text and _name_labels(value.values(), labels):
        return _untagged([Answer(text, label) for text, label in value.items()], labels)
    value = {
        key: _texts_of(item) if label_key(key) in known or isinstance(item, list) else item
        for key, item in value.items()
    }
    lists = {key: listed for key, listed in value.items() if isinstance(listed, list)}
    if not lists or (value.keys() <= _FIELDS and by_text):
        raise NoAnswers(f"{_short(value)} holds no lists of texts")
    named = [name for listed in lists.values() for name in listed]
    if named and by_text and all(names_label(name, labels) for name in named):
        return [Answer(text, name) for text, listed in lists.items() for name in listed]
    return [_item(item, label, labels) for label, listed in lists.items() for item in listed]


def _name_labels(values: Iterable[Json], labels: frozenset[str]) -> bool:
    """Whether values are labels: texts, at least half of them labels of gold or for nothing, or all tags."""
    names = list(values)
    if not _are_texts(names):
        return False
    known = sum(names_label(name, labels) or name == "O" for name in names)
    return 2 * known >= len(names) or are_tags(names)


def _texts_of(value: Json) -> Json:
    """What stands under a label, as a list without words for nothing, as in `{"ORG": ["None"]}`."""
    listed = [value] if isinstance(value, str | Mapping) else value or []
    if not isinstance(listed, list):
        return listed
    if len(listed) == 1 and none_given(listed[0]):
        return []
    return [item for item in listed if item is not None and not is_none(item)]


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
    `[Ann](PER)`, `[Ann]_PER`, `**Ann** (PER)`, `[PER: Ann]` and `[PER Ann]` are marks if the label is one of
    `labels`.
    """
    marks: list[AnswerMark] = []
    waiting: dict[str, list[re.Match[str]]] = {}
    for match in _TAG.finditer(text):
        if not match[1]:
            waiting.setdefault(match[2], []).append(match)
        elif waiting.get(match[2]):
            first = waiting[match[2]].pop()
            named = _LABEL_ATTRIBUTE.search(first[3])
            name = first[2] if named is None else named[1].strip()
            marks.append(AnswerMark(first.end(), match.start(), name, (first.span(), match.span())))
    for match in _BRACKETED.finditer(text):
        if name := match[2].strip():
            marks.append(_enclosed(match, name))
    for match in (match for pattern in _LABELED for match in pattern.finditer(text)):
        if names_label(match[2].strip(), labels):
            marks.append(_enclosed(match, match[2].strip()))
    for match in _NAMED.finditer(text):
        if names_label(match[1].strip(), labels):
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
    for begin, end in spans[bisect_left(spans, (mark.begin, 0)) : bisect_left(spans, (mark.end, 0))]:
        if end <= mark.end:
            kept.append(text[position:begin])
            position = end
    return " ".join("".join([*kept, text[position : mark.end]]).split())
