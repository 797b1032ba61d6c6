"""Read answers that are written as lines: Markdown tables, lists, groups under a label, XML and YAML."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

Pair = tuple[str, str]  # text and label
_BULLET = re.compile(r"\s*(?:[-*•–+]|\(?\d{1,3}[.)])\s+")
_EMPHASIS = re.compile(r"(\*\*|__|`|(?<!\w)[*\"“”'](?=\S)|(?<=\S)[*\"“”'](?!\w))")
_NAME = re.compile(r"[A-Z][\w-]*(?: [A-Z][\w-]*)?")
_AFTER = re.compile(r"(.+?)\s*(?:\(([^()]+)\)|\[([^\[\]]+)\])\s*[.;,]?")
_BETWEEN = re.compile(r"\s*(?::|\t|→|->|=>|=|\||—|–| - |,)\s*")
_ELEMENT = re.compile(
    r"<(?:entity|mention|span|ent|item)\b[^<>]*?\b(?:type|label|class|category)\s*=\s*[\"']([^\"'<>]+)[\"'][^<>]*>"
    r"([^<>]*)</"
)
_TEXT_HEADS = ("text", "mention", "span", "entity", "name", "value", "phrase", "word", "entity text")
_LABEL_HEADS = ("label", "type", "entity type", "category", "class", "tag", "entity label")
_NONE = re.compile(
    r"(?:there (?:are|were) )?(?:no|none|null|n/a|nothing)\b"
    r"(?: (?:named )?(?:entit(?:y|ies)|mentions|spans|names))?"
    r"(?: (?:were |are )?(?:found|present|mentioned|identified))?"
    r"(?: in (?:the|this) (?:text|sentence))?[.!]?",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:]*-[\s|:-]*")  # the line under the header of a table
_MOST = 100_000  # characters that are tried as a Python literal


class Lines(Struct, frozen=True):
    """The answers in lines of text, and whether other lines had to be dropped."""

    pairs: tuple[Pair, ...]
    dropped: bool


def says_nothing(text: str) -> bool:
    """Whether a response says in words that there are no answers.

    Examples:
        >>> says_nothing("No entities found."), says_nothing("Norway")
        (True, False)
    """
    return len(text) < 80 and _NONE.fullmatch(text.strip()) is not None


def literal(text: str) -> object:
    """The value of a Python literal, with tuples as lists, such as a list of pairs in single quotes.

    Returns:
        None if the text holds no literal.

    Examples:
        >>> literal("[('Ann', 'PER')]")
        [['Ann', 'PER']]
    """
    begin = min((at for at in (text.find("["), text.find("{"), text.find("(")) if at >= 0), default=-1)
    end = max(text.rfind("]"), text.rfind("}"), text.rfind(")")) + 1
    if begin < 0 or end <= begin or end - begin > _MOST:
        return None
    try:
        return _listed(ast.literal_eval(text[begin:end]))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _listed(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _listed(item) for key, item in value.items()}
    return value


def _key(label: str) -> str:
    folded = unicodedata.normalize("NFKC", label).casefold()
    return " ".join(folded.replace("_", " ").replace("-", " ").split())


def lines_of(text: str, labels: frozenset[str]) -> Lines | None:
    """The answers in the lines of a response; None if it is not a table, list or group of answers.

    Args:
        labels: the labels of gold, which tell texts from labels.

    Examples:
        >>> lines_of("- Ann (PER)\\n- Rome (LOC)", frozenset()).pairs
        (('Ann', 'PER'), ('Rome', 'LOC'))
    """
    known = {_key(label) for label in labels}
    rows = [line for line in text.split("\n") if line.strip() and not line.strip().startswith("```")]
    for read in (_elements, _table, _yaml, _list):
        found = read(rows, known)
        if found is not None and found.pairs:
            return found
    return None


def _elements(rows: Sequence[str], known: set[str]) -> Lines | None:
    """`<entity type="PER">Ann</entity>`."""
    text = "\n".join(rows)
    pairs = [(match[2].strip(), match[1].strip()) for match in _ELEMENT.finditer(text)]
    return Lines(tuple(pairs), bool(re.sub(r"<[^<>]*>|\s", "", _ELEMENT.sub("", text)))) if pairs else None


def _cells(row: str) -> list[str]:
    return [_plain(cell) for cell in row.strip().strip("|").split("|")]


def _table(rows: Sequence[str], known: set[str]) -> Lines | None:
    """A Markdown table with a header, or without one if a column holds labels of gold."""
    start = next(
        (at for at, row in enumerate(rows) if re.fullmatch(r"[\s|:-]*-[\s|:-]*\|?[\s|:-]*", row)), None
    )
    if start is None or start == 0 or "|" not in rows[start]:
        return None
    head = [_key(cell) for cell in _cells(rows[start - 1])]
    text = next((at for name in _TEXT_HEADS for at, cell in enumerate(head) if cell == name), None)
    label = next(
        (at for name in _LABEL_HEADS for at, cell in enumerate(head) if cell == name and at != text), None
    )
    if text is None or label is None:
        if len(head) != 2:
            return None
        text, label = (0, 1) if head[0] not in _LABEL_HEADS else (1, 0)
    end = start + 1
    pairs: list[Pair] = []
    while end < len(rows) and "|" in rows[end]:
        cells = _cells(rows[end])
        if max(text, label) < len(cells) and cells[text] and cells[label]:
            pairs.append((cells[text], cells[label]))
        end += 1
    return Lines(tuple(pairs), start > 1 or end < len(rows))


def _yaml(rows: Sequence[str], known: set[str]) -> Lines | None:
    """Lines such as `- text: Ann` and `  label: PER`."""
    pairs: list[Pair] = []
    text: str | None = None
    others = 0
    for row in rows:
        name, colon, value = _BULLET.sub("", row, count=1).partition(":")
        key = _key(name)
        if colon and value.strip() and key in _TEXT_HEADS and key not in known:
            text = _plain(value)
        elif colon and value.strip() and key in _LABEL_HEADS and text is not None:
            pairs.append((text, _plain(value)))
            text = None
        else:
            others += 1
    return Lines(tuple(pairs), others > 0) if pairs else None


def _plain(text: str) -> str:
    """The text without emphasis and quotation marks around it."""
    return _EMPHASIS.sub("", text).strip()


def _is_label(text: str, known: set[str], *, loose: bool = False) -> bool:
    return _key(text) in known or (loose and _NAME.fullmatch(text) is not None)


def _list(rows: Sequence[str], known: set[str]) -> Lines | None:
    """A list of texts with labels, or of labels with texts, one per line, or texts under a label."""
    pairs: list[Pair] = []
    group: str | None = None
    dropped = 0
    for row in rows:
        bullet = _BULLET.match(row)
        line = _plain(row[bullet.end() :] if bullet else row).strip("#").strip()
        head = line.rstrip(":").strip()
        if _is_label(head, known) and (line.endswith(":") or row.lstrip().startswith(("#", "**"))):
            group = head
        elif (found := _labeled(line, known, listed=bullet is not None)) is not None:
            pairs += found
        elif group is not None and bullet is not None:
            if not says_nothing(line):
                pairs.append((line, group))
        else:
            group = None
            dropped += 1
    return Lines(tuple(pairs), dropped > 0) if pairs else None


def _labeled(line: str, known: set[str], *, listed: bool) -> list[Pair] | None:
    """The texts and labels of one line; None if it has none."""
    after = _AFTER.fullmatch(line)
    if after is not None:
        label = (after[2] or after[3]).strip()
        if _is_label(label, known, loose=listed):
            return [(after[1].strip(), label)]
    parts = _BETWEEN.split(line)
    if len(parts) < 2:
        return None
    first, last = parts[0].strip(), parts[-1].strip()
    if _is_label(first, known) and not (len(parts) == 2 and _is_label(last, known)):
        rest = line[_BETWEEN.search(line).end() :]  # type: ignore[union-attr]
        texts = [_plain(text).strip(" .") if "." not in text.strip()[:-1] else _plain(text).strip()
                 for text in re.split(r"[,;]\s+", rest)]  # fmt: skip
        return [(text, first) for text in texts if text and not says_nothing(text)]
    if _is_label(last, known) and first:
        text = line[: [match.start() for match in _BETWEEN.finditer(line)][-1]].strip()
        return [(text, last)]
    return None
