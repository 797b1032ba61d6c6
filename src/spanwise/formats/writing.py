"""Write annotations to files, after reading the result back to find out what it would lose."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from spanwise.columns import codes
from spanwise.corpus import Annotation, Mentions
from spanwise.errors import ChoiceError, InputError, at
from spanwise.formats import FORMATS, PACKED, make_folder, read_by, write_atomically
from spanwise.formats._format import UNBOUNDED, Format, Options
from spanwise.formats._opening import File, unwritable
from spanwise.formats.holding import (
    ASPECTS,
    Loss,
    changes,
    declared_losses,
    has_gaps,
    is_flat,
    measured_losses,
    named_as_documents,
)

__all__ = ["check_scores_fit", "lost_note", "to_bytes", "write", "write_results"]

_Written = TypeVar("_Written")
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

    A format of several files, such as brat, is written to a new or empty folder. What the annotation holds
    and the format cannot hold (scores, names of documents, boundaries, further fields and so on) raises
    InputError; with `lossy` it is left out. With `scores`, the scores of mentions are also kept in a
    third column of a CoNLL file, where every token of a mention has its mention's score and the others
    have `_`. Formats without a place for scores are refused with `scores`.

    Returns:
        Descriptions of what was lost, with numbers; empty unless `lossy`.

    Examples:
        >>> import tempfile
        >>> import spanwise
        >>> annotation = spanwise.read([["B-PER", "O"]], tokens=[["Ann", "left"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(annotation, f"{folder}/gold.conll")
        ...     print(open(f"{folder}/gold.conll").read().strip())
        ()
        Ann B-PER
        left O
    """
    may_lose = EVERYTHING if lossy else NOTHING
    return _write(annotation, path, format=format, scheme=scheme, may_lose=may_lose, scores=scores)


def write_results(
    annotation: Annotation,
    path: str | os.PathLike[str],
    *,
    format: str | Format | None = None,
    scores: bool = False,
) -> tuple[str, ...]:
    """Write mentions that were computed: like `write`, but only words and mentions must fit the format.

    Returns:
        Descriptions of what the format had no place for.
    """
    return _write(annotation, path, format=format, scheme=None, may_lose=BESIDE_MENTIONS, scores=scores)


def lost_note(path: str | os.PathLike[str], lost: Sequence[str]) -> tuple[str, ...]:
    """A note that names what a written file has no place for; none if that is nothing."""
    return (f"lost in {os.fspath(path)}: {'; '.join(lost)}",) if lost else ()


def _write(
    annotation: Annotation,
    path: str | os.PathLike[str],
    *,
    format: str | Format | None,
    scheme: str | None,
    may_lose: frozenset[str],
    scores: bool,
) -> tuple[str, ...]:
    if not isinstance(annotation, Annotation):
        raise ChoiceError(
            f"{annotation!r} is not an annotation that can be written.\n"
            "Pass what spanwise.read returns, then the path."
        )
    chosen = FORMATS.find(format) if format is not None else _format_for(Path(path))
    if scores:
        check_scores_fit(path, format=chosen)
    if chosen.write_folder is not None:
        return _write_folder(annotation, path, chosen, may_lose=may_lose)
    data, lost = _to_bytes(annotation, chosen, scheme, may_lose, scores, os.fspath(path))
    write_atomically(path, data)
    return lost


def check_scores_fit(path: str | os.PathLike[str], *, format: str | Format | None = None) -> None:
    """Raise ChoiceError if the format of a file cannot store the scores of mentions."""
    chosen = FORMATS.find(format) if format is not None else _format_for(Path(path))
    if not chosen.keeps_scores:
        names = ", ".join(form.name for form in FORMATS if form.keeps_scores)
        raise ChoiceError(
            f"{os.fspath(path)}: the format {chosen.name!r} has no place for scores.\nWrite one of: {names}."
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
    may_lose = EVERYTHING if lossy else NOTHING
    return _to_bytes(annotation, FORMATS.find(format), scheme, may_lose, scores, name)


def _to_bytes(
    annotation: Annotation,
    chosen: Format,
    scheme: str | None,
    may_lose: frozenset[str],
    scores: bool,
    name: str,
) -> tuple[bytes, tuple[str, ...]]:
    if chosen.write is None:
        raise ChoiceError(f"the format {chosen.name!r} can be read, not written.\nWrite conll or jsonl.")
    write_bytes = (scores and chosen.write_scored) or chosen.write
    columns = {"score": chosen.score_column} if scores and chosen.score_column is not None else {}

    def write(given: Annotation) -> bytes:
        try:
            data = write_bytes(given, scheme)
            return data.encode("utf-8") if isinstance(data, str) else data
        except UnicodeEncodeError as error:  # in a further field: reading checks the rest
            half = error.object[error.start : error.end]
            raise InputError(
                at(name, None, f"a further field holds half of a surrogate pair ({half!r}), which no file "
                   "can hold.\nWrite the whole character, or leave it out.")
            ) from None  # fmt: skip

    def read_back(data: bytes, named: str | None) -> Annotation:
        file = File.of_bytes(name, data)
        options = Options(scheme=named, columns=columns, limits=UNBOUNDED, further=True)
        again = read_by(chosen, file, options)
        if columns:  # each token has the score of its mention
            again = replace(again, mentions=replace(again.mentions, score=annotation.mentions.score))
        return again

    holds = chosen.holds | {"scores"} if chosen.holds is not None and columns else chosen.holds
    return kept_in(annotation, chosen, scheme, write, read_back, may_lose=may_lose, name=name, holds=holds)


def _write_folder(
    annotation: Annotation, path: str | os.PathLike[str], chosen: Format, *, may_lose: frozenset[str]
) -> tuple[str, ...]:
    """Write a folder beside its place, read it back, and rename it, so that it is never there in part."""
    assert chosen.write_folder is not None
    write_folder = chosen.write_folder
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()
    check_free(target, os.fspath(path))
    make_folder(target.absolute().parent)
    with _system_errors(target):
        trial = tempfile.mkdtemp(dir=target.absolute().parent, prefix=f".{target.name}.")

    def write(given: Annotation) -> str:
        for old in Path(trial).iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        write_folder(given, trial)
        return trial

    def read_back(written: str, named: str | None) -> Annotation:
        return read_by(chosen, File(written), Options(limits=UNBOUNDED, further=True))

    try:
        with _system_errors(target), renamed(trial, os.fspath(path)):
            _, lost = kept_in(
                annotation, chosen, None, write, read_back,
                may_lose=may_lose, name=os.fspath(path), holds=chosen.holds,
            )  # fmt: skip
        umask = os.umask(0)
        os.umask(umask)
        check_free(target, os.fspath(path))
        with _system_errors(target):
            Path(trial).chmod(0o777 & ~umask)
            if target.is_dir() and os.name == "nt":
                target.rmdir()
            Path(trial).replace(target)
    except BaseException:
        shutil.rmtree(trial, ignore_errors=True)
        raise
    return lost


@contextmanager
def _system_errors(folder: Path) -> Iterator[None]:
    """In this context, report an error of the system, such as a full disk, as one of the folder."""
    try:
        yield
    except OSError as error:
        raise unwritable(folder, error, "folder") from None


def check_free(target: Path, name: str) -> None:
    """Refuse a folder with files, which would be read together with the new ones."""
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{name}: the folder already holds other files.\nChoose an empty or a new folder.")


def _format_for(path: Path) -> Format:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    for form in FORMATS:
        if suffixes and suffixes[-1] in form.suffixes and form.write is not None:
            return form
    names = ", ".join(form.name for form in FORMATS if form.write is not None)
    raise ChoiceError(f"the suffix of {str(path)!r} does not name a format to write.\nName one: {names}.")


# ---- what a written file would lose ----

NOTHING: frozenset[str] = frozenset()
EVERYTHING = frozenset(ASPECTS)
# What may be missing from a file of results, which is written for its words and mentions.
BESIDE_MENTIONS = EVERYTHING - {"nested", "discontinuous"}


def kept_in(
    annotation: Annotation,
    chosen: Format,
    scheme: str | None,
    write: Callable[[Annotation], _Written],
    read_back: Callable[[_Written, str | None], Annotation],
    *,
    may_lose: frozenset[str],
    name: str,
    holds: frozenset[str] | None,
) -> tuple[_Written, tuple[str, ...]]:
    """Write an annotation, read it back, and return the result and what was lost.

    What the format declares that it cannot hold is counted; what it `holds` is compared.

    Raises:
        InputError: Something was lost that is not in `may_lose`.
    """
    lossy = may_lose == EVERYTHING
    if holds is not None and {"white space", "document names"} <= holds and "sentence ids" not in holds:
        annotation = named_as_documents(annotation)
    declared = declared_losses(annotation, holds)
    given = _without(annotation, {loss.aspect for loss in declared})
    try:
        written = write(given)
    except InputError:
        if not lossy:
            raise
        written = _written_plainly(given, write)
    found: list[Loss] = []
    done = EVERYTHING - holds if holds is not None else NOTHING
    for named in dict.fromkeys((None, scheme or annotation.reading.scheme)):
        try:
            again = read_back(written, named)
        except InputError as error:
            reason = str(error).partition("\n")[0].removeprefix(f"{name}: ").rstrip(".")
            found = [Loss("words", f"it could not be read: {reason}")]
            continue
        wrong = changes(given, again)
        found = [*wrong, *measured_losses(given, again, done - {"tokens"})]
        if not wrong:
            break
    lost = [*declared, *found]
    if found and found[0].aspect == "words" and not lossy:
        raise _refusal(name, chosen, lost)
    if not {loss.aspect for loss in lost} <= may_lose:
        raise _refusal(name, chosen, lost)
    return written, tuple(loss.text for loss in lost)


def _refusal(name: str, chosen: Format, lost: Sequence[Loss]) -> InputError:
    other = "Leave" if chosen.name == "jsonl" else "Write jsonl, or leave"
    return InputError(
        f"{name}: {chosen.name} cannot hold all of this: {'; '.join(loss.text for loss in lost)}.\n"
        f"{other} out what does not fit with lossy=True."
    )


def _without(annotation: Annotation, aspects: set[str]) -> Annotation:
    """The annotation without mentions that the format cannot hold."""
    mentions = annotation.mentions
    if "discontinuous" in aspects:
        mentions = replace(mentions.take(~has_gaps(mentions)), parts=None)
    if "nested" in aspects:
        mentions = mentions.take(is_flat(mentions) | has_gaps(mentions))
    return annotation if mentions is annotation.mentions else replace(annotation, mentions=mentions)


def _written_plainly(annotation: Annotation, write: Callable[[Annotation], _Written]) -> _Written:
    """The annotation without what could not be written: odd characters, then also the names."""
    plain = reduced(annotation)
    try:
        return write(plain)
    except InputError:
        unnamed = replace(plain.corpus, ids=None, document_ids=None)
        return write(replace(plain, corpus=unnamed))


@contextmanager
def renamed(trial: str, path: str) -> Iterator[None]:
    """In errors raised in this context, replace the path of the temporary copy by the real path."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(trial, path)) from None


def reduced(annotation: Annotation) -> Annotation:
    """The annotation reduced to what flat column formats can represent.

    Discontinuous mentions, and those that overlap a longer one (or an earlier one of the same length), are
    left out, and characters that end a line or column become underscores.
    """
    mentions = annotation.mentions
    mentions = _cleaned(replace(mentions.take(is_flat(mentions)), parts=None))
    corpus = annotation.corpus
    corpus = replace(
        corpus,
        vocabulary=tuple(map(_plain, corpus.vocabulary)),
        texts=None if corpus.texts is None else tuple(map(_plain, corpus.texts)),
        ids=None if corpus.ids is None else tuple(map(_plain, corpus.ids)),
        document_ids=None if corpus.document_ids is None else tuple(map(_plain, corpus.document_ids)),
    )
    return replace(annotation, corpus=corpus, mentions=mentions)


def _cleaned(mentions: Mentions) -> Mentions:
    """The mentions with labels free of characters that end a line; labels that become equal are merged."""
    names = [_plain(label).strip() or "_" for label in mentions.names()]
    labels = tuple(sorted(set(names)))
    return replace(mentions, label=codes([labels.index(name) for name in names]), labels=labels)


def _plain(text: str) -> str:
    return "".join("_" if character in _BREAKING else character for character in text)
