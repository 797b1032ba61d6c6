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
_EXPLAINED = re.compile(r"(.+?)\s*(?:\(([^()]+)\)|\[([^\[\]]+)\])\s*(?:[:,;–—-]|->|→)\s.*")
_BETWEEN = re.compile(r"\s*(?::|\t|;|→|->|=>|=|\||—|–| - |,)\s*")
_ELEMENT = re.compile(
    r"<(?:entity|mention|span|ent|item)\b[^<>]*?\b(?:type|label|class|category)\s*=\s*[\"']([^\"'<>]+)[\"'][^<>]*(?<!/)>"
    r"([^<>]+)</"
)
_TEXT_HEADS = (
    "text", "mention", "span", "entity", "name", "value", "phrase", "word", "token", "entity text",
    "entity name", "extraction text",
)  # fmt: skip
_LIST_HEADS = ("texts", "mentions", "spans", "entities", "names", "values", "examples")
_LABEL_HEADS = ("label", "type", "entity type", "category", "class", "tag", "entity label",
                "extraction class")  # fmt: skip
_NONE = re.compile(
    r"(?:(?:output|answer|entities|named entities|result)\s*:\s*)?"
    r"(?:there (?:are|were) |there is |i (?:found|see|detected|identified) |-\s+)?"
    r"(?:no|none|null|nil|n/?a|nothing)\b"
    r"(?: (?:\(no )?(?:named |such |relevant )?(?:entit(?:y|ies)|mentions?|spans?|names?)\)?)?"
    r"(?: of (?:the |these |any )?(?:given |requested |specified )?(?:types?|labels?|categor(?:y|ies))"
    r"[^.]{0,60}?)?"
    r"(?: (?:were |was |are |is )?(?:found|present|mentioned|identified|detected|recogni[sz]ed))?"
    r"(?: in (?:the|this) (?:given |provided |input )?(?:text|sentence|passage|input))?[.!]?"
    r"|(?:the|this) (?:given |provided )?(?:text|sentence|passage|input)"
    r" (?:does not|doesn['’]t) (?:contain|mention|include|have) any"
    r" (?:named )?(?:entities|mentions|names)[.!]?",
    re.IGNORECASE,
)
_WORDS_FOR_NONE = frozenset(("none", "n/a", "null", "nil", "none found", "not found"))
_NOTHING = _WORDS_FOR_NONE | {"", "-", "–", "—"}
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
    return len(text) < 120 and (none_given(text) or _NONE.fullmatch(text.strip()) is not None)


def none_given(value: object) -> bool:
    """Whether a value in place of a text says that there is none.

    Examples:
        >>> none_given("N/A"), none_given(""), none_given("Nona")
        (True, True, False)
    """
    return isinstance(value, str) and len(value) < 20 and value.strip(" .").casefold() in _NOTHING


def is_none(value: object) -> bool:
    """Whether an answer is a word for none, which a text that holds nothing but signs is not.

    Examples:
        >>> is_none("None"), is_none("N/A"), is_none("-")
        (True, True, False)
    """
    return isinstance(value, str) and len(value) < 20 and value.strip(" .").casefold() in _WORDS_FOR_NONE


def are_tags(tags: Sequence[str]) -> bool:
    """Whether labels are tags, one per token: all are `O` or have a prefix such as `B-`.

    Examples:
        >>> are_tags(["B-PER", "O"]), are_tags(["PER"])
        (True, False)
    """
    return bool(tags) and all(_POSITIVE.fullmatch(tag) for tag in tags)


def spans_of_tags(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """The first token, the end and the label of each mention that tags mark.

    A mention begins at B, S or U, and where the label changes; it goes on with I, E, L or M.

    Examples:
        >>> spans_of_tags(["B-PER", "I-PER", "O", "I-LOC"])
        [(0, 2, 'PER'), (3, 4, 'LOC')]
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
    return spans


def mentions_of_tags(tokens: Sequence[str], tags: Sequence[str]) -> list[Row]:
    """The mentions that tags mark, with the number of the occurrence of their tokens.

    Examples:
        >>> mentions_of_tags(["Ann", "met", "Ann"], ["O", "O", "B-PER"])
        [('Ann', 'PER', None, 2)]
    """
    return [
        (" ".join(run := list(tokens[low:high])), label, None,
         1 + sum(list(tokens[at : at + len(run)]) == run for at in range(low)))
        for low, high, label in spans_of_tags(tags)
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
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, tuple | list):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _listed(item) for key, item in value.items()}
    return value


@lru_cache(maxsize=4096)
def label_key(label: str) -> str:
    """Fold a label, and replace underscores and hyphens by blanks.

    Examples:
        >>> label_key("Geo-Political_Entity")
        'geo political entity'
    """
    folded = unicodedata.normalize("NFKC", label).casefold()
    return " ".join(folded.replace("_", " ").replace("-", " ").split())


@lru_cache(maxsize=256)
def known_labels(labels: frozenset[str]) -> frozenset[str]:
    """The keys of labels.

    Examples:
        >>> sorted(known_labels(frozenset(["PER", "GEO_POLITICAL"])))
        ['geo political', 'per']
    """
    return frozenset(map(label_key, labels)) - {""}


def names_label(value: object, labels: frozenset[str]) -> bool:
    """Whether a value is one of the labels, apart from case, hyphens and underscores.

    Examples:
        >>> names_label("per", frozenset(["PER"])), names_label("Ann", frozenset(["PER"]))
        (True, False)
    """
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    return value in labels or label_key(value) in known_labels(labels)


def is_structure(name: str) -> bool:
    """Whether the name of a tag belongs to a document with answers, or to HTML, rather than to a label.

    Examples:
        >>> is_structure("Entities"), is_structure("li"), is_structure("PER")
        (True, True, False)
    """
    key = label_key(name)
    return key in _STRUCTURE or key in _TEXT_HEADS or key in _LABEL_HEADS


def lines_of(text: str, labels: frozenset[str], label: str | None = None) -> Lines | None:
    """The answers in the lines of a response; None if it is not a table, list or group of answers.

    Args:
        labels: the labels of gold, which tell texts from labels.
        label: the label of answers that do not name one.

    Examples:
        >>> lines_of("- Ann (PER)\\n- Rome (LOC)", frozenset()).pairs
        (('Ann', 'PER'), ('Rome', 'LOC'))
    """
    known = known_labels(labels)
    rows = _rows(_without_html(text, known))
    for read in (_tagged, _calls, _elements, _table, _yaml, _brackets, _list):
        found = read(rows, known)
        if found is not None:
            return found
    bullets = [match for row in rows if (match := _BULLET.match(row)) is not None]
    if label is not None and rows and len(bullets) == len(rows):
        texts = [_plain(row[match.end() :]) for row, match in zip(rows, bullets, strict=True)]
        return Lines(tuple((text, label) for text in texts if not none_given(text)), False)
    return None


def _rows(text: str) -> list[str]:
    lines = (
        line for line in text.split("\n") if line.strip() and not line.strip().startswith(("```", "~~~"))
    )
    # Runs of blanks within lines mean nothing, and take the square of their length to search.
    return [line[: _indent(line)][-_LONGEST:] + _BLANKS.sub(" ", line.strip()) for line in lines]


_HTML = re.compile(r"<(/?)([a-z][a-z0-9]*)\b[^<>]*>", re.IGNORECASE)
_HTML_LINES = {"li": "- ", "tr": "| ", "br": "", "p": "", "div": "", "ul": "", "ol": "", "table": ""}
_HTML_REST = (
    "td", "th", "b", "strong", "em", "i", "code", "thead", "tbody", "body", "html", "head", "h1", "h2", "h3",
    "dl", "dt", "dd", "title", "center", "hr",
)  # fmt: skip
_STRUCTURE = frozenset((
    *_HTML_LINES, *_HTML_REST, "entities", "entity", "mentions", "spans", "answers", "answer", "results",
    "result", "output", "response", "list", "item", "items", "named entities", "annotations", "annotation",
    "data", "root", "document", "doc", "sentence", "extractions", "extraction", "json", "xml", "ner", "start",
    "end",
))  # fmt: skip
_BLANKS = re.compile(r" {2,}|\s{9,}")
_LONGEST = 100  # characters of a label
_LONG_LINE = 500  # characters of an answer with an explanation


def _without_html(text: str, known: frozenset[str]) -> str:
    """The text with lists and tables of HTML as lines, if it has any."""
    names = {match[2].lower() for match in _HTML.finditer(text)}
    if not names & {"li", "td"} or names & known:
        return text

    def line(match: re.Match[str]) -> str:
        name = match[2].lower()
        if name in ("td", "th"):
            return " | " if match[1] else ""
        if name in _HTML_LINES:
            return "\n" if match[1] else f"\n{_HTML_LINES[name]}"
        return "" if name in _HTML_REST else match[0]

    return _HTML.sub(line, text)


def _tagged(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """A token and its tag per line, as in `Ann B-PER`, or all in one line, as in `Ann/B-PER left/O`."""
    parts = [re.split(r":\s+|\s+", row.strip()) for row in rows]
    if len(rows) == 1 and len(parts[0]) > 1:
        words = rows[0].split()
        if all("/" in word for word in words):
            parts = [word.rsplit("/", 1) for word in words]
        else:
            parts = [words[at : at + 2] for at in range(0, len(words), 2)]
    if any(len(row) != 2 for row in parts) or not are_tags([tag.strip("()[]") for _, tag in parts]):
        return None
    parts = [[token, tag.strip("()[]")] for token, tag in parts]
    found = mentions_of_tags([token for token, _ in parts], [tag for _, tag in parts])
    return Lines(tuple(row[:2] for row in found), False, tuple(row[3] or 1 for row in found))


_CALL = re.compile(r"(?<!\w)([A-Za-z_]\w*)\(([^()]*)\)")
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')")


def _calls(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """Objects in Python, as in `Entity(text="Ann", label="PER")` or `PER(span="Ann")`."""
    text = "\n".join(rows)
    pairs: list[Pair] = []
    others = 0
    for call in _CALL.finditer(text):
        fields = {label_key(name): double or single for name, double, single in _ARGUMENT.findall(call[2])}
        key = next((name for name in _TEXT_HEADS if name in fields), None)
        if key is None:
            others += 1
            continue
        pairs.append((fields[key], next((fields[name] for name in _LABEL_HEADS if name in fields), call[1])))
    rest = re.sub(r"\w+\s*=|[\[\](),;\s]", "", _CALL.sub("", text))
    return Lines(tuple(pairs), bool(others or rest)) if pairs else None


_LEAF = re.compile(r"<([\w:-]+)[^<>]*>([^<>]*)</\1\s*>")
_CLOSED = re.compile(r"<[\w:-]+((?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))+)\s*/>")
_FIELD = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


def _elements(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """`<entity type="PER">Ann</entity>`, `<entity text="Ann" type="PER"/>`, or an element per field."""
    text = "\n".join(rows)
    pairs = [(match[2].strip(), match[1].strip()) for match in _ELEMENT.finditer(text)]
    if pairs:
        return Lines(tuple(pairs), bool(re.sub(r"<[^<>]*>|\s", "", _ELEMENT.sub("", text))))
    fields = [
        (name, double or single)
        for element in _CLOSED.finditer(text)
        for name, double, single in _FIELD.findall(element[1])
    ]
    if not fields:
        fields = [
            (match[1], match[2])
            for match in _LEAF.finditer(text)
            if is_structure(match[1]) and match[2].strip()
        ]
    found = _of_fields(fields, known)
    if found is None:
        return None
    rest = re.sub(r"<[^<>]*>|\s", "", _CLOSED.sub("", _LEAF.sub("", text)))
    return Lines(found.pairs, found.dropped or bool(rest))


def _of_fields(fields: Sequence[Pair], known: frozenset[str]) -> Lines | None:
    """The answers in names and values, of which each two, a text and a label in either order, are one."""
    pairs: list[Pair] = []
    half: dict[str, str] = {}
    dropped = False
    for name, value in fields:
        key = label_key(name)
        is_label = key in _LABEL_HEADS
        if key in known or not (is_label or key in _TEXT_HEADS):
            continue
        kind = "label" if is_label else "text"
        dropped |= kind in half
        half[kind] = _plain(value)
        if len(half) == 2:
            pairs.append((half["text"], half["label"]))
            half = {}
    return Lines(tuple(pairs), dropped or bool(half)) if pairs else None


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
    if len(known.intersection(head)) > 1:
        return _table_by_label(rows, start)
    text = next(
        (at for name in (*_TEXT_HEADS, *_LIST_HEADS) for at, cell in enumerate(head) if cell == name), None
    )
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
            several = head[text] in _LIST_HEADS
            texts = re.split(r"\s*[,;]\s+", cells[text]) if several else [cells[text]]
            pairs += [(each, cells[label]) for each in texts if not none_given(each)]
        end += 1
    dropped = start > 1 or end < len(rows)
    if are_tags([name for _, name in pairs]):
        found = mentions_of_tags([token for token, _ in pairs], [name for _, name in pairs])
        return Lines(tuple(row[:2] for row in found), dropped, tuple(row[3] or 1 for row in found))
    return Lines(tuple(pairs), dropped)


def _table_by_label(rows: Sequence[str], start: int) -> Lines:
    """A table with a column of texts for each label."""
    head = _cells(rows[start - 1])
    end = next((at for at in range(start + 1, len(rows)) if "|" not in rows[at]), len(rows))
    pairs = [
        (text, name)
        for row in rows[start + 1 : end]
        for name, cell in zip(head, _cells(row), strict=False)
        for text in re.split(r"\s*[,;]\s+", cell)
        if not none_given(text)
    ]
    return Lines(tuple(pairs), start > 1 or end < len(rows))


def _yaml(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """`text: Ann` and `label: PER` on lines in either order, `text = "Ann"`, or `{text: Ann, label: PER}`."""
    fields: list[Pair] = []
    others = 0
    for row in rows:
        bullet = _BULLET.match(row)
        line = row[bullet.end() if bullet else 0 :].strip()
        parts = re.split(r",\s+", line[1:-1]) if line[:1] == "{" and line[-1:] == "}" else [line]
        for part in parts:
            name, colon, value = part.partition(":")
            if "=" in name:
                name, colon, value = part.partition("=")
            key = label_key(name)
            if colon and value.strip() and key not in known and key in (*_TEXT_HEADS, *_LABEL_HEADS):
                fields.append((name, value))
            else:
                others += 1
    found = _of_fields(fields, known)
    return None if found is None else Lines(found.pairs, found.dropped or others > 0)


_PAIR = re.compile(r"[(\[]([^()\[\]]+?)(?:,|:|\||;|->|→)([^()\[\],:|;]+)[)\]]")


def _brackets(rows: Sequence[str], known: frozenset[str]) -> Lines | None:
    """Pairs in brackets, as in `(Ann, PER), (Rome, LOC)` or `((PER: Ann) (LOC: Rome))`."""
    text = "\n".join(rows)
    if re.search(r"[^\s,;.()\[\]]", _PAIR.sub("", text)):
        return None
    pairs: list[Pair] = []
    for first, last in ((_plain(match[1]), _plain(match[2])) for match in _PAIR.finditer(text)):
        if label_key(last) in known:
            pairs.append((first, last))
        elif label_key(first) in known:
            pairs.append((last, first))
        else:
            return None
    return Lines(tuple(pairs), False) if pairs else None


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
        (r";(?:\s+|$)", r"\.\s+", r"[,;]\s+", r"[,;]\s+(?:and\s+)?|\s+and\s+", r"(?:^|\s+)\(?\d{1,3}[.)]\s+"),
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
        rf"(?:^|[(\[:=→>|,;\t]\s*|\.\s+|\s[-–—]\s+|\band\s+|\d[.)]\s+)({names})"
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
    explained = _EXPLAINED.fullmatch(line) if len(line) < _LONG_LINE else None
    if explained is not None and _is_label(explained[2] or explained[3], known):
        return [(explained[1].strip(), (explained[2] or explained[3]).strip())]
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
