"""A file of columns as rows of codes: its layout found, its chunks parsed and put together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Ints, frozen, ints
from spanwise.corpus import Corpus, Source
from spanwise.errors import ChoiceError, InputError, at, unknown
from spanwise.formats._format import Options, numbered_column
from spanwise.formats._interning import Interner
from spanwise.formats._opening import File
from spanwise.formats._rows import BETWEEN, DOCSTART, Layout, Rows, parse, split

_FIRST, _MOST = 1 << 16, 1 << 19  # chunks grow up to a size that stays in the processor's cache
_HEADER = b"# global.columns ="


class Columns(Struct, frozen=True, eq=False):
    """A file, or a block of it, as columns of codes; each wanted column has its own list of strings."""

    layout: Layout
    rows: Rows
    strings: tuple[tuple[str, ...], ...]

    def offsets(self) -> Ints:
        """Where each sentence begins, and where the last one ends."""
        return ints(np.append(self.rows.begins, len(self.rows.columns[0])))


def whole(
    file: File, options: Options, tag_columns: tuple[int | str, ...], words: Interner | None = None
) -> Columns:
    """All rows of a file, put together from its chunks; `words` goes on numbering its tokens."""
    layout: Layout | None = None
    interners: tuple[Interner, ...] = ()
    parts: list[Rows] = []
    line, open_ = 1, False
    for chunk in chunks(file):
        check_utf8(file, chunk, line)
        if layout is None:
            layout, skipped = layout_of(file.path, chunk, options, tag_columns, line)
            if layout is None:
                line += chunk.count(b"\n")
                continue
            interners = interners_of(layout, words)
            chunk, line = without_header(chunk, line, skipped)
        if chunk:
            rows = parse(chunk, layout, interners, open=open_, line=line)
            open_, line = rows.open, rows.line
            parts.append(rows)
    if layout is None or not any(len(part.columns[0]) for part in parts):
        raise InputError(no_token(file.path))
    return Columns(layout, _joined(parts), tuple(tuple(interner.strings) for interner in interners))


def no_token(path: str) -> str:
    """The error text for a file without a token."""
    return at(path, None, "the file holds no token.\nGive a file with a token and a tag in each line.")


def tag_columns(options: Options, *, merged: bool) -> dict[str, int | str]:
    """The columns of tags by layer: `only`, or of a merged file `gold` and, in the next one, `predicted`."""
    column = options.tag_column
    if not merged:
        return {"only": -1 if column is None else column}
    if isinstance(column, str) and not is_number(column):
        raise ChoiceError(
            f"tag_column={column!r} names one column, but a merged file has two.\n"
            "Give the number of the gold one."
        )
    first = -2 if column is None else int(column)
    return {"gold": first, "predicted": first + 1}


def interners_of(layout: Layout, words: Interner | None = None) -> tuple[Interner, ...]:
    """One list of strings a wanted column, that of the tokens first; tags begin with O, as `parse` expects.

    `words` knows tokens already, those of other files.
    """
    first = Interner() if words is None else words
    result = (first, *(Interner() for _ in layout.wanted[1:]))
    for which, interner in zip(layout.wanted, result, strict=True):
        if which in layout.tags:
            interner.codes_of([b"O"])
    return result


def chunks(file: File) -> Iterator[bytes]:
    """Pieces of whole lines, small ones first."""
    rest: list[bytes] = []
    size, wanted = 0, _FIRST
    for piece in file.chunks(_FIRST):
        size += len(piece)
        cut = piece.rfind(b"\n") + 1
        if size < wanted or not cut:
            rest.append(piece)
            continue
        yield b"".join([*rest, piece[:cut]])
        rest, size = [piece[cut:]], len(piece) - cut
        wanted = min(wanted * 2, _MOST)
    if last := b"".join(rest):
        yield last


def check_utf8(file: File, chunk: bytes, line: int) -> None:
    """Raise where a chunk, whose first line is `line`, is not UTF-8."""
    if chunk.isascii():
        return
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(file.not_utf8(chunk, error, line)) from None


def without_header(chunk: bytes, line: int, skipped: int) -> tuple[bytes, int]:
    """The chunk behind its first `skipped` lines, and the line it begins with."""
    for _ in range(skipped):
        chunk = chunk[chunk.find(b"\n") + 1 :] if b"\n" in chunk else b""
    return chunk, line + skipped


def layout_of(
    path: str, chunk: bytes, options: Options, tag_columns: tuple[int | str, ...], line: int
) -> tuple[Layout | None, int]:
    """How the lines are cut, from the first ones, and how many lines the header takes."""
    if b"\n" not in chunk and b"\r" in chunk.rstrip(b"\r"):
        raise InputError(
            at(
                path,
                line,
                "the lines end with lone carriage returns.\nConvert them, for example with: tr '\\r' '\\n'",
            )
        )
    mark = None if options.comments is None else options.comments.encode("utf-8")
    if mark == b"":
        raise ChoiceError("comments='' would leave out every line.\nName the mark of comments, such as '#'.")
    texts = chunk.split(b"\n")
    separator = options.separator or _separator(texts, mark)
    if separator not in ("tab", "blank"):
        raise unknown("separator", separator, ("tab", "blank"))
    draft = Layout(path, separator, 0, 0, (), comments=mark)
    asked = (options.token_column or 0, *tag_columns, *options.columns.values())
    names, skipped = _header(texts, draft) if any(not is_number(column) for column in asked) else ([], 0)
    for number, text in enumerate(texts[skipped:], start=line + skipped):
        if mark is not None and text.startswith(mark):
            continue
        fields = split(text, draft)
        if not fields or fields[0] == DOCSTART:
            continue
        _check_width(path, number, fields, separator)
        if len(tag_columns) > 1 and len(fields) == 2:
            raise ChoiceError(
                at(path, number, "the line has 2 columns, but a file given alone must hold a token, a gold "
                   "tag and a predicted tag.\nGive the predictions as a second file.")
            )  # fmt: skip
        places = [_place(column, len(fields), names, path, number) for column in asked]
        tags = tuple(places[1 : 1 + len(tag_columns)])
        if places[0] in tags:
            raise ChoiceError(
                at(path, number, "the tokens and the tags would both be in column "
                   f"{places[0]}.\nName another column.")
            )  # fmt: skip
        return Layout(path, separator, len(fields), number, tuple(places), tags, mark), skipped
    return None, 0


def _check_width(path: str, line: int, fields: list[bytes], separator: str) -> None:
    if len(fields) > 1:
        return
    word = fields[0].decode("utf-8", "replace")
    shown = repr(word if len(word) < 40 else word[:40] + "…")
    raise InputError(
        at(path, line, f"the line has only one column, {shown} (columns are separated by "
           f"{BETWEEN[separator]}), but a token and a tag are needed.\n"
           "Is this a CoNLL file? Otherwise name its format.")
    )  # fmt: skip


def _separator(texts: list[bytes], mark: bytes | None) -> str:
    """Tabs where every line that is not blank has one, else blanks (spaces or tabs, one or more)."""
    seen = False
    for text in texts[:-1] if len(texts) > 1 else texts:
        if mark is not None and text.startswith(mark):
            continue
        bare = text.rstrip(b" \t\r")
        if not bare or bare.startswith(DOCSTART):
            continue
        if b"\t" not in bare:
            return "blank"
        seen = True
    return "tab" if seen else "blank"


def is_number(column: int | str) -> bool:
    """Whether a column is given by its number, be it as a string."""
    return isinstance(column, int) or column.lstrip("-").isdecimal()


def _header(texts: list[bytes], layout: Layout) -> tuple[list[str], int]:
    """The names of the columns, from a line `# global.columns = …` or from the first line, and its number."""
    for number, text in enumerate(texts):
        if text.startswith(_HEADER):
            return text[len(_HEADER) :].decode("utf-8", "replace").split(), number + 1
        if fields := split(text, layout):
            return [field.decode("utf-8", "replace") for field in fields], number + 1
    return [], 0


def _place(column: int | str, width: int, names: list[str], path: str, line: int) -> int:
    """The number of a column, from 0, that was asked for by number or name."""
    if not is_number(column):
        if column not in names:
            raise ChoiceError(
                at(path, None, f"{unknown('column', column, names)}\n"
                   "These stand in the first line; without such names, give a column by its number, from 0.")
            )  # fmt: skip
        return names.index(str(column))
    return numbered_column(int(column), width, path, line)


def _joined(parts: list[Rows]) -> Rows:
    """The rows of all parts, one after the other."""
    sizes = np.array([len(part.columns[0]) for part in parts])
    before = np.cumsum(sizes) - sizes
    return Rows(
        columns=tuple(
            np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)
        ),
        begins=ints(np.concatenate([part.begins + shift for part, shift in zip(parts, before, strict=True)])),
        lines=ints(np.concatenate([part.lines for part in parts])),
        marks=ints(np.concatenate([part.marks + shift for part, shift in zip(parts, before, strict=True)])),
        open=parts[-1].open,
        line=parts[-1].line,
        comments=sum(part.comments for part in parts),
        token_lines=_joined_lines(parts),
    )


def _joined_lines(parts: list[Rows]) -> Ints | None:
    listed = [part.token_lines for part in parts if part.token_lines is not None]
    return ints(np.concatenate(listed)) if listed else None


def corpus_of(columns: Columns, options: Options, file: File) -> Corpus:
    """The corpus of the first wanted column, with the columns asked for by name."""
    rows = columns.rows
    sentences = columns.offsets()
    first_extra = len(columns.strings) - len(options.columns)
    extra: dict[str, Column] = {}
    for place, name in enumerate(options.columns, start=first_extra):
        strings = np.array(columns.strings[place], dtype=object)
        extra[name] = frozen(strings[rows.columns[place]])
    return Corpus(
        tokens=rows.columns[0],
        vocabulary=columns.strings[0],
        sentences=sentences,
        documents=None if options.documents == "none" else _documents(rows.marks, sentences),
        columns=extra,
        source=Source(file.path, rows.lines, rows.token_lines if rows.comments else None),
    )


def _documents(marks: Ints, sentences: Ints) -> Ints | None:
    """Offsets of documents into the sentences; a document begins at each mark and has a sentence."""
    if not len(marks):
        return None
    number = len(sentences) - 1
    starts = np.searchsorted(sentences[:-1], marks)
    borders = np.concatenate([[0], starts, [number]])
    return ints(borders[np.concatenate([[True], np.diff(borders) > 0])])
