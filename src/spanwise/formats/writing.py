"""Write annotations to files, after reading the result back to find out what it would lose."""

from __future__ import annotations

import os
import tempfile
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from spanwise.corpus import Annotation, Corpus, Mentions, Pieces
from spanwise.errors import ChoiceError, InputError, many
from spanwise.formats import FORMATS, PACKED, read_by, write_atomically
from spanwise.formats._format import UNBOUNDED, Format, Options, in_tokens
from spanwise.formats._opening import File
from spanwise.formats._sentences import texts_of

__all__ = ["check_scores_fit", "to_bytes", "write"]

_Written = TypeVar("_Written")
_Row = tuple[int, Pieces, str]
# Characters that end a column, a line or a file in some format.
_BREAKING = "\t\n\r\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff"


def write(
    annotation: Annotation,
    path: str | os.PathLike[str],
    *,
    format: str | Format | None = None,
    scheme: str | None = None,
    lossy: bool = False,
    scores: bool = False,
) -> tuple[str, ...]:
    """Write an annotation to a file atomically; the suffix decides the format unless it is given.

    A format of several files, such as brat, is written to a folder. Content that the format cannot
    represent raises InputError; with `lossy` it is left out. Scores of mentions are kept in jsonl; with
    `scores`, also in a third column of a CoNLL file, where every token of a mention has its mention's
    score and the others have `_`. Other formats are refused with `scores`.

    Returns:
        Descriptions of what was lost; empty unless `lossy`.
    """
    if not isinstance(annotation, Annotation):
        raise ChoiceError(
            f"{annotation!r} is not an annotation that can be written.\n"
            "Pass what spanwise.read returns, then the path."
        )
    chosen = FORMATS.find(format) if format is not None else _format_for(Path(path))
    if scores:
        check_scores_fit(path, format=chosen)
    if chosen.write_folder is not None:
        return _write_folder(annotation, path, chosen, lossy=lossy)
    data, lost = to_bytes(annotation, chosen, scheme=scheme, lossy=lossy, scores=scores, name=os.fspath(path))
    write_atomically(path, data)
    return lost


def check_scores_fit(path: str | os.PathLike[str], *, format: str | Format | None = None) -> None:
    """Raise ChoiceError if the format of a file cannot store the scores of mentions."""
    chosen = FORMATS.find(format) if format is not None else _format_for(Path(path))
    if chosen.write_scored is None:
        names = " or ".join(form.name for form in FORMATS if form.write_scored is not None)
        raise ChoiceError(
            f"{os.fspath(path)}: the format {chosen.name!r} has no place for scores.\nWrite {names}."
        )


def to_bytes(
    annotation: Annotation,
    format: str | Format,
    *,
    scheme: str | None = None,
    lossy: bool = False,
    scores: bool = False,
    name: str = "-",
) -> tuple[bytes, tuple[str, ...]]:
    """The annotation as the bytes of a file called `name`, and what was lost; see `write`."""
    chosen = FORMATS.find(format)
    if chosen.write is None:
        raise ChoiceError(f"the format {chosen.name!r} can be read, not written.\nWrite conll or jsonl.")
    write_bytes = (scores and chosen.write_scored) or chosen.write
    columns = {"score": chosen.score_column} if scores and chosen.score_column is not None else {}

    def write(given: Annotation) -> bytes:
        data = write_bytes(given, scheme)
        return data.encode("utf-8") if isinstance(data, str) else data

    def read_back(data: bytes, named: str | None) -> Annotation:
        file = File.of_bytes(name, data)
        return read_by(chosen, file, Options(scheme=named, columns=columns, limits=UNBOUNDED))

    return kept_in(annotation, chosen, scheme, write, read_back, lossy=lossy, name=name)


def _write_folder(
    annotation: Annotation, path: str | os.PathLike[str], chosen: Format, *, lossy: bool
) -> tuple[str, ...]:
    """Write a folder, after writing a temporary copy and reading it back."""
    assert chosen.write_folder is not None
    write_folder = chosen.write_folder

    def write(written: Annotation, folder: str) -> Annotation:
        write_folder(written, folder)
        return written

    def read_back(written: Annotation, named: str | None) -> Annotation:
        return read_by(chosen, File(trial), Options(limits=UNBOUNDED))

    with tempfile.TemporaryDirectory() as trial, renamed(trial, os.fspath(path)):
        written, lost = kept_in(
            annotation, chosen, None, lambda written: write(written, trial), read_back,
            lossy=lossy, name=os.fspath(path),
        )  # fmt: skip
    write_folder(written, path)
    return lost


def _format_for(path: Path) -> Format:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    for form in FORMATS:
        if suffixes and suffixes[-1] in form.suffixes and form.write is not None:
            return form
    names = ", ".join(form.name for form in FORMATS if form.write is not None)
    raise ChoiceError(f"the suffix of {str(path)!r} does not name a format to write.\nName one: {names}.")


# ---- what a written file would lose ----


def kept_in(
    annotation: Annotation,
    chosen: Format,
    scheme: str | None,
    write: Callable[[Annotation], _Written],
    read_back: Callable[[_Written, str | None], Annotation],
    *,
    lossy: bool,
    name: str,
) -> tuple[_Written, tuple[str, ...]]:
    """Write an annotation, read it back, and return the result and what was lost.

    Raises:
        InputError: Something was lost, and `lossy` is false.
    """
    try:
        written = write(annotation)
    except InputError:
        if not lossy:
            raise
        written = write(reduced(annotation))
    lost: list[str] = []
    for named in dict.fromkeys((None, scheme or annotation.reading.scheme)):
        try:
            lost = losses(annotation, read_back(written, named))
        except InputError as error:
            lost = [
                "it could not be read: " + str(error).partition("\n")[0].removeprefix(f"{name}: ").rstrip(".")
            ]
        if not lost:
            return written, ()
    if not lossy:
        raise InputError(
            f"{name}: {chosen.name} cannot hold all of this: {'; '.join(lost)}.\n"
            "Write jsonl, or leave out what does not fit with lossy=True."
        )
    return written, tuple(lost)


@contextmanager
def renamed(trial: str, path: str) -> Iterator[None]:
    """In errors raised in this context, replace the path of the temporary copy by the real path."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(trial, path)) from None


def losses(annotation: Annotation, again: Annotation) -> list[str]:
    """Describe what an annotation lost when it was written to a file and read back as `again`.

    Compares tokens (or texts, treating all white-space characters as equal), sentences, and mentions with
    their pieces and labels. If the file holds texts, the tokens are compared as the texts they were
    written as. Names of sentences are not compared.
    """
    try:
        bodies, rows = _content(annotation, again.corpus)
        kept_bodies, kept_rows = _content(again, again.corpus)
    except InputError as error:
        return [str(error).partition("\n")[0]]
    changes = []
    if len(bodies) != len(kept_bodies):
        what = "text" if again.corpus.unit == "character" else "sentence"
        changes.append(f"{many(len(bodies), what)} would become {len(kept_bodies):,}")
    else:
        changed = [
            i
            for i, (body, kept_body) in enumerate(zip(bodies, kept_bodies, strict=True))
            if body != kept_body
        ]
        if changed:
            changes.append(
                f"the words of {many(len(changed), 'sentence')} would change, "
                f"first {_short(bodies[changed[0]])} to {_short(kept_bodies[changed[0]])}"
            )
    missing, more = Counter(rows), Counter(kept_rows)
    lost, gained = missing - more, more - missing
    if lost:
        first = next(row for row in rows if row in lost)
        changes.append(
            f"{lost.total():,} of {many(len(rows), 'mention')} cannot be kept, first {_named(first)}"
        )
    if gained and not changes:
        changes.append(f"{many(gained.total(), 'mention')} would be added")
    return changes


def _content(annotation: Annotation, like: Corpus) -> tuple[Sequence[object], list[_Row]]:
    """The words or texts, and the mentions, in the units of the corpus `like`."""
    if like.unit == "character":
        units = list(texts_of(annotation))
        bodies: list[object] = [_spaced(str(unit.body)) for unit in units]
        return bodies, [
            (number, pieces, label) for number, unit in enumerate(units) for pieces, label in unit.mentions
        ]
    annotation = in_tokens(annotation)
    corpus, mentions = annotation.corpus, annotation.mentions
    rows = list(zip(mentions.sentence.tolist(), mentions.pieces(), mentions.names(), strict=True))
    if like.without_text or corpus.without_text:
        return [None] * len(corpus), rows
    return [corpus.words(number) for number in range(len(corpus))], rows


def _spaced(text: str) -> str:
    """The text with each white-space character replaced by a blank, and trailing blanks removed."""
    return "".join(" " if character.isspace() else character for character in text).rstrip(" ")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _named(row: _Row) -> str:
    sentence, pieces, label = row
    spans = " and ".join(f"[{start}, {end})" for start, end in pieces)
    return f"{label!r} {spans} in sentence {sentence + 1}"


def reduced(annotation: Annotation) -> Annotation:
    """The annotation reduced to what flat column formats can represent.

    Discontinuous mentions, and those that overlap a longer one (or an earlier one of the same length), are
    left out, and characters that end a line or column become underscores.
    """
    mentions = annotation.mentions
    if mentions.parts is not None:
        whole = np.diff(mentions.parts.at) == 1
        mentions = replace(mentions.take(whole), parts=None)
    mentions = _cleaned(mentions.take(_flat(mentions)))
    corpus = annotation.corpus
    corpus = replace(
        corpus,
        vocabulary=tuple(map(_plain, corpus.vocabulary)),
        texts=None if corpus.texts is None else tuple(map(_plain, corpus.texts)),
        ids=None if corpus.ids is None else tuple(map(_plain, corpus.ids)),
        document_ids=None if corpus.document_ids is None else tuple(map(_plain, corpus.document_ids)),
    )
    return replace(annotation, corpus=corpus, mentions=mentions)


def _flat(mentions: Mentions) -> list[int]:
    """The rows of a set of mentions without overlaps, chosen greedily from the longest down."""
    taken: dict[int, list[tuple[int, int]]] = {}  # by sentence, sorted and without overlaps
    chosen = []
    order = np.lexsort((np.arange(len(mentions)), mentions.start, -mentions.length))
    spans = list(zip(mentions.sentence.tolist(), mentions.start.tolist(), mentions.end.tolist(), strict=True))
    for row in order.tolist():
        sentence, start, end = spans[row]
        own = taken.setdefault(sentence, [])
        index = bisect(own, (start, end))
        before = index == 0 or own[index - 1][1] <= start
        if start >= 0 and before and (index == len(own) or end <= own[index][0]):
            own.insert(index, (start, end))
            chosen.append(row)
    return sorted(chosen)


def _cleaned(mentions: Mentions) -> Mentions:
    """The mentions with labels free of characters that end a line; labels that become equal are merged."""
    rows = mentions.rows()
    return Mentions.of(
        [(sentence, start, end, _plain(label).strip() or "_") for sentence, start, end, label in rows]
    )


def _plain(text: str) -> str:
    return "".join("_" if character in _BREAKING else character for character in text)
