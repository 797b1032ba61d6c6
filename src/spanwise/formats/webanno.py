"""Read WebAnno TSV 3: tokens and the mentions of one layer, as whole columns or line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Codes, Ints, codes, distinct, ints, offsets
from spanwise.corpus import Corpus, Mentions, Parts, Pieces, Source
from spanwise.errors import InputError, at
from spanwise.formats._columns import (
    FieldPositions,
    field_positions,
    line_positions,
    lines_with,
    without,
    without_lines,
)
from spanwise.formats._format import Options, Problem
from spanwise.formats._interning import Interner, in_lines
from spanwise.formats._opening import File
from spanwise.formats._sentences import Part, Record
from spanwise.formats._surveying import Batch

SENTENCE_ID = "#Sentence.id="  # before the tokens of a sentence

_LAYER = re.compile(rb"^#T_[^\n]*", re.MULTILINE)
_TOKEN = re.compile(r"\d+-\d+")
_TOKENS = re.compile(rb"(?:\d+-\d+\n)+")  # whole tokens only, no parts of tokens
_ESCAPED = re.compile(r"\\(.)")
_SPLIT = re.compile(r"(?<!\\)\|")
_NUMBERED = re.compile(r"(.*?)(?<!\\)\[(\d+)\]$", re.DOTALL)
# For text without escapes: a label, then optionally a number in brackets at the end of the line.
_MARK = re.compile(r"^([^\[\n]*(?:\[(?!\d+\]$)[^\[\n]*)*)(?:\[(\d+)\])?$", re.MULTILINE)


class SpanLayer(Struct, frozen=True):
    """A span layer from the header, with the feature that holds its labels and the feature's column."""

    name: str
    feature: str
    column: int

    @property
    def evidence(self) -> str:
        """A description of the layer."""
        return f"the layer {self.name.rpartition('.')[2]}, feature {self.feature}"


def records(part: Part, options: Options) -> Iterator[Batch | Record | Problem]:
    """The sentences with the mentions of one layer, which the header names.

    Labels are the values of the feature `value` (or the first feature). `tag_column="Layer"` or
    `"Layer.feature"` selects others. A mention of a part of a token becomes a mention of the token.
    """
    regular = _regular(part)
    if regular is not None:
        yield regular
    else:
        yield from sentences_of(part)


def _regular(part: Part) -> Batch | None:
    """The sentences as columns if all lines have the same columns, else None."""
    column, words = part.head.column, part.words or Interner()
    data = part.data.replace(b"\r\n", b"\n")
    if b"\r" in data or b"\n\t" in data or data.startswith(b"\t"):
        return None
    data = data if data.endswith(b"\n") else data + b"\n"
    begins, ends = line_positions(data)
    comments = lines_with(data, b"#")
    texts = [data[begin:end] for begin, end in zip(begins[comments], ends[comments], strict=True)]
    kept = without(len(ends), comments)
    data = without_lines(data, begins[comments].tolist(), ends[comments].tolist())
    data = data.replace(b"\t\n", b"\n")  # a tab after the last column, as the tools write
    width = data.lstrip(b"\n").partition(b"\n")[0].count(b"\t") + 1
    places = field_positions(data, "tab", width) if 3 <= width > column else None
    if places is None or not _are_tokens(places, width):
        return None
    number = len(places.blanks) - 1
    breaks = places.blanks[:number] > 0
    breaks[0] = True
    firsts = np.flatnonzero(breaks)
    lines = ints(part.first + kept[firsts + np.cumsum(places.blanks)[firsts]])
    tokens = _token_codes(places, width, words)
    mentions = _mentions_of(*_marks(places, width, column), ints(firsts))
    sentences = ints(np.append(firsts, len(tokens)))
    ids = _ids(texts, ints(part.first + comments), lines)
    corpus = Corpus(tokens, words.strings, sentences, ids=ids, source=Source(part.path, lines))
    return Batch(corpus, lines, mentions={"gold": mentions})


# ---- lines that all have the same columns ----


def _ids(comments: Sequence[bytes], numbers: Ints, sentences: Ints) -> tuple[str, ...] | None:
    """The id of each sentence, which a comment before it gives; None if no comment does.

    `numbers` are the lines of the comments, `sentences` those of first tokens.
    """
    mark = SENTENCE_ID.encode()
    if not any(comment.startswith(mark) for comment in comments):
        return None
    names = [""] * len(sentences)
    following = np.searchsorted(sentences, numbers).tolist()
    for comment, sentence in zip(comments, following, strict=True):
        if comment.startswith(mark) and sentence < len(names):
            names[sentence] = _name_in(comment.decode("utf-8"))
    return tuple(names)


def _name_in(comment: str) -> str:
    """The id that a comment gives to a sentence."""
    return plain_text(comment.removeprefix(SENTENCE_ID)).strip()


def _are_tokens(fields: FieldPositions, width: int) -> bool:
    """Whether every row begins with its sentence and token numbers, and none is a part of a token."""
    begin, stop = fields.begin[::width], fields.stop[::width]
    return len(begin) > 0 and (
        _TOKENS.fullmatch(in_lines(fields.buffer, begin, stop - begin).tobytes()) is not None
    )


def _token_codes(fields: FieldPositions, width: int, words: Interner) -> Codes:
    begin, stop = fields.begin[2::width], fields.stop[2::width]
    if b"\\" not in fields.buffer:
        return words.codes(fields.buffer, begin, stop)
    written = Interner()
    column = written.codes(fields.buffer, begin, stop)
    return codes(words.codes_of([plain_text(string).encode() for string in written.strings])[column])


def _marks(fields: FieldPositions, width: int, column: int) -> tuple[Ints, Sequence[str], Sequence[str]]:
    """The row, label and number of each mark; rows with several labels are repeated, numbers may be ""."""
    begin, stop = fields.begin[column::width], fields.stop[column::width]
    letters = np.frombuffer(fields.buffer, dtype=np.uint8)
    rows = np.flatnonzero((stop - begin > 1) | (letters[begin] != ord("_")))
    if not len(rows):
        return ints([]), (), ()
    sizes = stop[rows] - begin[rows]
    lines = in_lines(fields.buffer, begin[rows], sizes)
    text = lines[:-1].tobytes().decode("utf-8")
    if "\\" in text:
        listed = [values_of(field) for field in text.split("\n")]
        marks = [(label, number or "") for values in listed for label, number in values]
        rows = np.repeat(rows, [len(values) for values in listed])
    else:
        marks = _MARK.findall(text.replace("|", "\n"))
        if "_" in text:
            marks = [("*" if label == "_" else label, number) for label, number in marks]
        rows = np.repeat(rows, 1 + np.add.reduceat(lines == ord("|"), offsets(sizes + 1)[:-1]))
    labels, numbers = zip(*marks, strict=True)
    return ints(rows), labels, numbers


def _mentions_of(rows: Ints, labels: Sequence[str], numbers: Sequence[str], firsts: Ints) -> Mentions:
    """One mention per sentence, number and label, and one per mark without a number.

    Mentions are in order of their first marks; sentences begin at the rows `firsts`.
    """
    if not len(rows):
        return Mentions.of([])
    names = tuple(sorted(set(labels)))
    code = {name: number for number, name in enumerate(names)}
    label = ints([code[name] for name in labels])
    number_codes: dict[str, int] = {}
    number = ints([number_codes.setdefault(name, len(number_codes)) if name else -1 for name in numbers])
    sentence = np.searchsorted(firsts, rows, side="right") - 1
    key = (sentence * max(len(number_codes), 1) + number) * len(names) + label
    key[number < 0] = -1 - np.flatnonzero(number < 0)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    group = np.argsort(order)[group]
    first = first[order]
    # Take each token of a mention once; a piece begins where the previous token is not in the mention.
    span = int(rows.max()) + 1
    owner, token = np.divmod(distinct(group * span + rows), span)
    begins = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(token, prepend=-2) != 1))
    ends = np.append(begins[1:], len(token)) - 1
    base = firsts[sentence[first]][owner[begins]]
    parts = Parts(
        offsets(np.bincount(owner[begins], minlength=len(first))),
        ints(token[begins] - base),
        ints(token[ends] + 1 - base),
    )
    return Mentions(
        sentence=ints(sentence[first]),
        start=parts.start[parts.at[:-1]],
        end=parts.end[parts.at[1:] - 1],
        label=codes(label[first]),
        labels=names,
        parts=parts if len(begins) > len(first) else None,
    )


# ---- line by line ----


def sentences_of(part: Part) -> Iterator[Record | Problem]:
    """The sentences of a part with their mentions."""
    tokens: list[str] = []
    marks: list[tuple[int, str, str | None]] = []  # token, label, number
    first, column, name = 0, part.head.column, ""
    for number, line in [*part.lines(), (0, "")]:
        if not line:
            if tokens:
                yield Record(tuple(tokens), _mentions(marks), name, line=first)
                name = ""
            tokens, marks = [], []
            continue
        if line.startswith("#"):
            if line.startswith(SENTENCE_ID):
                name = _name_in(line)
            continue
        fields = line.split("\t")
        if len(fields) < 3 or not _TOKEN.match(fields[0]):
            yield Problem(
                number,
                f"{line[:60]!r} is not a token.\n"
                "Expected 'sentence-token<tab>begin-end<tab>token<tab>…', as in WebAnno TSV 3.",
            )
            continue
        if "." not in fields[0]:
            if not tokens:
                first = number
            tokens.append(plain_text(fields[2]))
        value = fields[column] if column < len(fields) else "_"
        for label, identity in values_of(value):
            marks.append((len(tokens) - 1, label, identity))


# ---- the header ----


def webanno_layer(file: File, options: Options) -> SpanLayer:
    """The chosen layer of those in the header."""
    marked = [line for chunk in file.line_chunks() if b"#T_" in chunk for line in _LAYER.findall(chunk)]
    lines = [line.rstrip(b"\r").decode("utf-8", "replace") for line in marked]
    return _layer(file.path, lines, options)


def _layer(path: str, lines: Sequence[str], options: Options) -> SpanLayer:
    wanted = str(options.tag_column) if options.tag_column is not None else None
    layers = span_layers(lines)
    for layer in layers:
        short = layer.name.rpartition(".")[2]
        if wanted in (short, layer.name, f"{short}.{layer.feature}", f"{layer.name}.{layer.feature}"):
            return layer
    if wanted is None and layers:
        named = [layer for layer in layers if layer.name.endswith(".NamedEntity")]
        return next((layer for layer in named if layer.feature == "value"), (named or layers)[0])
    available = ", ".join(f"{layer.name.rpartition('.')[2]}.{layer.feature}" for layer in layers) or "none"
    raise InputError(
        at(
            path,
            None,
            f"there is no span layer {wanted or 'at all'} in the header.\nThe span layers are: {available}.",
        )
    )


def span_layers(lines: Sequence[str]) -> list[SpanLayer]:
    """Every feature of every span layer, with its column; columns of other layers are counted as well."""
    return [layer for kind, layer in all_layers(lines) if kind == "#T_SP"]


def all_layers(lines: Iterable[str]) -> Iterator[tuple[str, SpanLayer]]:
    """Every feature of every layer with its column, after the mark of the layer's kind, such as "#T_SP"."""
    column = 3
    for line in lines:
        if not line.startswith("#T_"):
            continue
        kind, _, layer = line.partition("=")
        name, *features = layer.split("|")
        for index, feature in enumerate(features or [""]):
            yield kind, SpanLayer(name, feature or "value", column + index)
        column += max(len(features), 1)


def values_of(field: str) -> list[tuple[str, str | None]]:
    """The labels in a field with their numbers; `_` means no mention, `*` a mention without a label."""
    if field == "_":
        return []
    result: list[tuple[str, str | None]] = []
    for part in _SPLIT.split(field):
        match = _NUMBERED.match(part)
        label, identity = (match[1], match[2]) if match else (part, None)
        result.append(("*" if label in ("*", "_") else plain_text(label), identity))
    return result


def _mentions(marks: Sequence[tuple[int, str, str | None]]) -> list[tuple[Pieces, str]]:
    """One mention per number and label, and one per mark without a number, in order of their first tokens."""
    tokens: dict[tuple[str, str], list[int]] = {}
    for index, (token, label, identity) in enumerate(marks):
        key = identity if identity is not None else f"single {index}"
        tokens.setdefault((key, label), []).append(token)
    return [
        (tuple((token, token + 1) for token in sorted(set(where))), label)
        for (_, label), where in tokens.items()
    ]


def plain_text(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
