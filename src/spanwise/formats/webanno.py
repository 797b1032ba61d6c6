"""Read WebAnno TSV 3: tokens and the mentions of one layer, as whole columns or line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Codes, Ints, codes, distinct, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Pieces, Reading, Source, joined_mentions
from spanwise.errors import InputError, at
from spanwise.formats._columns import (
    FieldPositions,
    check_utf8,
    field_positions,
    line_positions,
    lines_with,
    without,
    without_lines,
)
from spanwise.formats._format import Options, label_notes
from spanwise.formats._interning import Interner, in_lines
from spanwise.formats._opening import File
from spanwise.formats._sentences import (
    Origin,
    Record,
    check_inside,
    mentions_of,
    with_documents,
)
from spanwise.formats._surveying import Batch, Before, after_blank_line, whole_pieces

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


class SentenceRows(Struct, frozen=True, eq=False):
    """The sentences of some lines: their tokens as codes, and their mentions."""

    tokens: Codes
    begins: Ints  # the first token of each sentence
    lines: Ints  # the line of each of these tokens
    mentions: Mentions

    @classmethod
    def joined(cls, parts: Sequence[SentenceRows]) -> SentenceRows:
        """Concatenate the sentences of consecutive parts."""
        tokens = offsets([len(part.tokens) for part in parts])[:-1]
        sentences = offsets([len(part.begins) for part in parts])[:-1]
        return cls(
            np.concatenate([part.tokens for part in parts]),
            ints(np.concatenate([part.begins + first for part, first in zip(parts, tokens, strict=True)])),
            ints(np.concatenate([part.lines for part in parts])),
            joined_mentions([part.mentions for part in parts], sentences),
        )

    def between(self, first: int, last: int) -> SentenceRows:
        """The sentences with indices from `first` up to, but not including, `last`."""
        begins = np.append(self.begins, len(self.tokens))
        chosen = slice(*np.searchsorted(self.mentions.sentence, [first, last]).tolist())
        mentions = self.mentions.take(chosen)
        return SentenceRows(
            self.tokens[begins[first] : begins[last]],
            ints(self.begins[first:last] - begins[first]),
            self.lines[first:last],
            replace(mentions, sentence=ints(mentions.sentence - first)),
        )

    def corpus(self, words: Interner, source: Source) -> Corpus:
        """The corpus of these sentences."""
        sentences = ints(np.append(self.begins, len(self.tokens)))
        return Corpus(self.tokens, tuple(words.strings), sentences, source=source)


class WebannoReader(Struct, frozen=True):
    """Reads sentences with the mentions of one layer, from a whole file or a part."""

    layer: SpanLayer

    @property
    def evidence(self) -> str:
        """A description of the layer that holds the mentions."""
        return f"the layer {self.layer.name.rpartition('.')[2]}, feature {self.layer.feature}"

    def border(self, data: bytes) -> int:
        """The end of the last complete sentence."""
        return after_blank_line(data)

    def read(self, file: File, options: Options, before: Before) -> Batch | None:
        """The sentences of a part."""
        words = Interner()
        rows = self.rows(file, words)
        if not len(rows.begins):
            return None
        part = annotation_of(rows, words, Origin(file.path, "webanno"), options)
        return Batch.of(part, rows.lines)

    def whole(self, file: File, words: Interner) -> SentenceRows:
        """The sentences of a whole file, read some lines at a time."""
        parts: list[SentenceRows] = []
        line, sentences = 1, 0
        for chunk in whole_pieces(file, self.border):
            check_utf8(file, chunk, line)
            rows = self.rows(File.of_bytes(file.path, chunk, first_line=line), words, sentences)
            parts.append(rows)
            line += chunk.count(b"\n")
            sentences += len(rows.begins)
        if not parts:
            return self._rows(File.of_bytes(file.path, b"", first_line=1), words, 0)
        return SentenceRows.joined(parts)

    def rows(self, file: File, words: Interner, first: int = 0) -> SentenceRows:
        """The sentences of some lines; `first` sentences precede them in the file."""
        rows = self._regular_rows(file, words)
        return rows if rows is not None else self._rows(file, words, first)

    def _regular_rows(self, file: File, words: Interner) -> SentenceRows | None:
        """The sentences if all lines have the same columns, else None."""
        data = file.data.replace(b"\r\n", b"\n")
        if b"\r" in data or b"\n\t" in data or data.startswith(b"\t"):
            return None
        data = data if data.endswith(b"\n") else data + b"\n"
        begins, ends = line_positions(data)
        comments = lines_with(data, b"#")
        kept = without(len(ends), comments)
        data = without_lines(data, begins[comments].tolist(), ends[comments].tolist())
        data = data.replace(b"\t\n", b"\n")  # a tab after the last column, as the tools write
        width = data.lstrip(b"\n").partition(b"\n")[0].count(b"\t") + 1
        places = field_positions(data, "tab", width) if 3 <= width > self.layer.column else None
        if places is None or not _are_tokens(places, width):
            return None
        number = len(places.blanks) - 1
        breaks = places.blanks[:number] > 0
        breaks[0] = True
        firsts = np.flatnonzero(breaks)
        lines = file.first_line + kept[firsts + np.cumsum(places.blanks)[firsts]]
        tokens = _token_codes(places, width, words)
        mentions = _mentions_of(*_marks(places, width, self.layer.column), ints(firsts))
        return SentenceRows(tokens, ints(firsts), ints(lines), mentions)

    def _rows(self, file: File, words: Interner, first: int) -> SentenceRows:
        """The sentences, read line by line."""
        units = sentences_of(file, self.layer)
        check_inside(units, Origin(file.path, "webanno"), first)
        return SentenceRows(
            words.codes_of([token.encode() for unit in units for token in unit.body]),
            offsets([len(unit.body) for unit in units])[:-1],
            ints([unit.line for unit in units]),
            mentions_of([unit.mentions for unit in units]),
        )


def annotation_of(
    rows: SentenceRows,
    words: Interner,
    origin: Origin,
    options: Options,
    documents: Sequence[str | None] | None = None,
) -> Annotation:
    """The annotation of sentences; if they come from several files, with documents instead of lines."""
    lines = rows.lines if documents is None else None
    corpus = rows.corpus(words, Source(origin.path, lines=lines))
    if documents is not None:
        corpus = with_documents(corpus, documents, options)

    def place(row: int) -> str:
        sentence = int(rows.mentions.sentence[row])
        if lines is not None:
            return f"{origin.path}:{lines[sentence]}"
        return f"{origin.path}: sentence {sentence + 1}"

    mentions = rows.mentions.sole(duplicates=options.duplicates, place=place)
    reading = Reading(
        path=origin.path,
        sha256=origin.sha256,
        format=origin.format,
        evidence=origin.evidence,
        notes=(*origin.notes, *label_notes(mentions)),
    )
    return Annotation(corpus, mentions, reading)


# ---- lines that all have the same columns ----


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


def sentences_of(file: File, layer: SpanLayer) -> list[Record]:
    """The sentences of a file or of a part, with their mentions."""
    units: list[Record] = []
    tokens: list[str] = []
    marks: list[tuple[int, str, str | None]] = []  # token, label, number
    first = 0

    def close() -> None:
        if tokens:
            units.append(Record(tuple(tokens), _mentions(marks), line=first))
        tokens.clear()
        marks.clear()

    for number, line in enumerate(file.text.split("\n"), start=file.first_line or 1):
        line = line.rstrip("\r")
        if not line:
            close()
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) < 3 or not _TOKEN.match(fields[0]):
            raise InputError(
                at(file.path, number, f"{line[:60]!r} is not a token.\n"
                   "Expected 'sentence-token<tab>begin-end<tab>token<tab>…', as in WebAnno TSV 3.")
            )  # fmt: skip
        if "." not in fields[0]:
            if not tokens:
                first = number
            tokens.append(plain_text(fields[2]))
        value = fields[layer.column] if layer.column < len(fields) else "_"
        for label, identity in values_of(value):
            marks.append((len(tokens) - 1, label, identity))
    close()
    return units


# ---- the header ----


def webanno_reader(file: File, options: Options) -> WebannoReader:
    """The reader for the chosen layer of those in the header."""
    marked = [line for chunk in file.line_chunks() if b"#T_" in chunk for line in _LAYER.findall(chunk)]
    lines = [line.rstrip(b"\r").decode("utf-8", "replace") for line in marked]
    return WebannoReader(_layer(file.path, lines, options))


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
    column = 3
    layers: list[SpanLayer] = []
    for line in lines:
        if not line.startswith("#T_"):
            continue
        name, *features = line.partition("=")[2].split("|")
        for index, feature in enumerate(features or [""]):
            if line.startswith("#T_SP"):
                layers.append(SpanLayer(name, feature or "value", column + index))
        column += max(len(features), 1)
    return layers


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
