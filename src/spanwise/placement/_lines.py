"""Read answers that are written as lines: Markdown tables, lists, groups under a label, XML and YAML."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

Pair = tuple[str, str]  # text and label
Row = tuple[str, str, None, int | None]  # the fields of an answer: text, label, no score, occurrence
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
    r"(?: in (?:the|this) (?:text|sentence))?[.!]?"
    r"|(?:the|this) (?:given |provided )?(?:text|sentence|passage|input)"
    r" (?:does not|doesn['’]t) (?:contain|mention|include|have) any"
    r" (?:named )?(?:entities|mentions|names)[.!]?",
    re.IGNORECASE,
)
_NOTHING = frozenset(("", "-", "none", "n/a", "null", "none found", "not found"))
_POSITIVE = re.compile(r"(?:[BIESLUM]-.+|O)")
_RULE = re.compile(r"[\s|:]*-[\s|:-]*")  # the line under the header of a table
_MOST = 100_000  # characters that are tried as a Python literal


class Lines(Struct, frozen=True):
    """The answers in lines of text, and whether other lines had to be dropped."""

    pairs: tuple[Pair, ...]
    dropped: bool
    occurrences: tuple[int, ...] = ()  # of each answer in the text, if the lines show it

    @property
    def rows(self) -> list[Row]:
        """The fields of the answers."""
        numbers = self.occurrences or (None,) * len(self.pairs)
        return [
            (text, label, None, number) for (text, label), number in zip(self.pairs, numbers, strict=True)
        ]


def says_nothing(text: str) -> bool:
    """Whether a response says in words that there are no answers.

    Examples:
        >>> says_nothing("No entities found."), says_nothing("Norway")
        (True, False)
    """
    return len(text) < 80 and _NONE.fullmatch(text.strip()) is not None


def none_given(value: object) -> bool:
    """Whether a value in place of a text says that there is none.

    Examples:
        >>> none_given("N/A"), none_given(""), none_given("Nona")
        (True, True, False)
    """
    return isinstance(value, str) and value.strip(" .").casefold() in _NOTHING


def are_tags(tags: Sequence[str]) -> bool:
    """Whether labels are tags, one per token: all are `O` or have a prefix such as `B-`.

    Examples:
        >>> are_tags(["B-PER", "O"]), are_tags(["PER"])
        (True, False)
    """
    return bool(tags) and all(_POSITIVE.fullmatch(tag) for tag in tags)


def mentions_of_tags(tokens: Sequence[str], tags: Sequence[str]) -> list[Row]:
    """The mentions that tags mark, with the number of the occurrence of their tokens.

    A mention begins at B, S or U, and where the label changes; it goes on with I, E, L or M.

    Examples:
        >>> mentions_of_tags(["Ann", "met", "Ann"], ["O", "O", "B-PER"])
        [('Ann', 'PER', None, 2)]
    """
    spans: list[tuple[int, int, str]] = []
    for at, tag in enumerate(tags):
        prefix, _, label = tag.partition("-")
        if tag == "O":
            continue
        if prefix not in "BSU" and spans and spans[-1][1:] == (at, label):
            spans[-1] = (spans[-1][0], at + 1, label)
        else:
            spans.append((at, at + 1, label))
    return [
        (" ".join(run := list(tokens[low:high])), label, None,
         1 + sum(list(tokens[at : at + len(run)]) == run for at in range(low)))
        for low, high, label in spans
    ]  # fmt: skip


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


def label_key(label: str) -> str:
    """Fold a label, and replace underscores and hyphens by blanks.

    Examples:
        >>> label_key("Geo-Political_Entity")
        'geo political entity'
    """
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
    known = frozenset(map(label_key, labels)) - {""}
    rows = [line for line in text.split("\n") if line.strip() and not line.strip().startswith("```")]
    for read in (_tagged, _elements, _table, _yaml, _list):
        found = read(rows, known)
        if found is not None:
            return found
    return None


def _tagged(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """A token and its tag per line, as in `Ann B-PER`."""
    parts = [row.split() for row in rows]
    if any(len(row) != 2 for row in parts) or not are_tags([tag for _, tag in parts]):
        return None
    found = mentions_of_tags([token for token, _ in parts], [tag for _, tag in parts])
    return Lines(tuple(row[:2] for row in found), False, tuple(row[3] or 1 for row in found))


def _elements(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """`<entity type="PER">Ann</entity>`."""
    text = "\n".join(rows)
    pairs = [(match[2].strip(), match[1].strip()) for match in _ELEMENT.finditer(text)]
    return Lines(tuple(pairs), bool(re.sub(r"<[^<>]*>|\s", "", _ELEMENT.sub("", text)))) if pairs else None


def _cells(row: str) -> list[str]:
    return [_plain(cell) for cell in row.strip().strip("|").split("|")]


def _table(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """A Markdown table with a header."""
    start = next(
        (at for at, row in enumerate(rows) if re.fullmatch(r"[\s|:-]*-[\s|:-]*\|?[\s|:-]*", row)), None
    )
    if start is None or start == 0 or "|" not in rows[start]:
        return None
    head = [label_key(cell) for cell in _cells(rows[start - 1])]
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


def _yaml(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """Lines such as `- text: Ann` and `  label: PER`, or `text = "Ann"`."""
    pairs: list[Pair] = []
    text: str | None = None
    others = 0
    for row in rows:
        name, colon, value = _BULLET.sub("", row, count=1).partition(":")
        if "=" in name:
            name, colon, value = _BULLET.sub("", row, count=1).partition("=")
        key = label_key(name)
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


def _is_label(text: str, known: frozenset[str], *, loose: bool = False) -> bool:
    return label_key(text) in known or (loose and _NAME.fullmatch(text) is not None)


def _list(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """A list of texts with labels, or of labels with texts, one per line, or texts under a label."""
    pairs: list[Pair] = []
    group: str | None = None
    dropped = nothing = 0
    for row, after in zip(rows, [*rows, ""][1:], strict=True):
        bullet = _BULLET.match(row)
        line = _plain((row[bullet.end() :] if bullet else row).strip().strip("|")).strip("#").strip()
        head = line.rstrip(":").strip()
        nested = bullet is not None and _BULLET.match(after) is not None and _indent(after) > _indent(row)
        if _is_label(head, known) and (line.endswith(":") or nested or row.lstrip().startswith(("#", "**"))):
            group = head
        elif (found := _labeled(line, known, listed=bullet is not None)) is not None:
            pairs += found
            nothing += not found
        elif group is not None and (bullet is not None or says_nothing(line)):
            if says_nothing(line):
                nothing += 1
            else:
                pairs.append((line, group))
        else:
            group = None
            dropped += 1
    return Lines(tuple(pairs), dropped > 0) if pairs or (nothing and not dropped) else None


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _labeled(line: str, known: frozenset[str], *, listed: bool) -> list[Pair] | None:
    """The texts and labels of one line; None if it has none, or if it is not clear how to divide it."""
    if len(_labels_in(line, known)) < 2:
        return _one_labeled(line, known, listed=listed)
    for between in _SEPARATORS:
        parts = [part.strip() for part in between.split(line) if part.strip()]
        pairs: list[Pair] = []
        first: str | None = None  # the label that stands before its texts
        for part in parts:
            inside = _labels_in(part, known)
            one = _one_labeled(part, known, listed=listed) if len(inside) == 1 else None
            if one is not None:
                pairs += one
                first = inside[0] if part.startswith(inside[0]) else None
            elif not inside and first is not None:
                pairs.append((_plain(part).strip(" ."), first))
            else:
                break
        else:
            if len(parts) > 1 and pairs:
                return pairs
    return _one_labeled(line, known, listed=listed) if len(_BETWEEN.split(line)) == 2 else None


# What stands between the answers of one line, from the clearest on.
_SEPARATORS = tuple(
    map(
        re.compile,
        (r";(?:\s+|$)", r"[,;]\s+", r"[,;]\s+(?:and\s+)?|\s+and\s+", r"(?:^|\s+)\(?\d{1,3}[.)]\s+"),
    )
)


def _labels_in(line: str, known: frozenset[str]) -> list[str]:
    """The labels of gold that stand in a line where a label may stand."""
    return _where_labels_stand(known).findall(line) if known else []


@lru_cache(maxsize=64)
def _where_labels_stand(known: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(
        "[ _-]".join(map(re.escape, key.split())) for key in sorted(known, key=len, reverse=True)
    )
    return re.compile(
        rf"(?:^|[(\[:=→>|,;\t]\s*|\s[-–—]\s+|\band\s+|\d[.)]\s+)({names})"
        r"(?=\s*(?:[)\]:=,;.|→\t]|[-=]>|$)|\s+(?:[-–—]|and)\s)",
        re.IGNORECASE,
    )


def _one_labeled(line: str, known: frozenset[str], *, listed: bool) -> list[Pair] | None:
    """The texts of one label and that label."""
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
        listed_texts = literal(rest) if rest.startswith("[") and rest.endswith("]") else None
        if isinstance(listed_texts, list) and all(isinstance(text, str) for text in listed_texts):
            return [(text, first) for text in listed_texts]
        texts = [_plain(text).strip(" .") if "." not in text.strip()[:-1] else _plain(text).strip()
                 for text in re.split(r"[,;]\s+", rest)]  # fmt: skip
        return [(text, first) for text in texts if text and not says_nothing(text)]
    if _is_label(last, known) and first:
        text = line[: [match.start() for match in _BETWEEN.finditer(line)][-1]].strip()
        return [(text, last)]
    return None
