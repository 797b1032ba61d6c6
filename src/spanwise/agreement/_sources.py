"""Read annotators' sources: files, patterns with {annotator}, folders, and files with several annotators."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from spanwise.columns import offsets
from spanwise.corpus import Annotation, Source, joined_corpora, joined_mentions
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import PACKED, Reader, ReadKeywords, is_source, read_annotators, stem_of

WHO = "{annotator}"


def annotations_of(sources: Any, reading: ReadKeywords, what: str = "annotator") -> dict[str, Annotation]:
    """Read the given sources; return the annotations by the names of the annotators.

    A single path may stand for several annotators: a pattern with {annotator}, a folder with one subfolder
    for each of them, or a file in which records or columns belong to different annotators.
    """
    if sources is None:
        return {}
    if isinstance(sources, Mapping):
        return {str(name): _read(source, reading) for name, source in sources.items()}
    listed = [sources] if is_source(sources) else list(sources)
    alone = listed[0] if len(listed) == 1 and isinstance(listed[0], str | os.PathLike) else None
    if alone is not None and what == "annotator":
        several = _several(os.fspath(alone), reading)
        if several is not None:
            return several
    return {name: _read(source, reading) for name, source in named_annotators(listed, what).items()}


def _read(source: object, reading: ReadKeywords) -> Annotation:
    return Reader(**reading).read(source)


def _several(path: str, reading: ReadKeywords) -> dict[str, Annotation] | None:
    if WHO in path:
        return _by_pattern(path, reading)
    if Path(path).is_dir():
        project = read_annotators(path, **reading)
        if project is not None:
            return project
        folders = [entry for entry in Path(path).iterdir() if entry.is_dir()]
        return _by_pattern(str(Path(path) / WHO), reading) if folders else None
    return read_annotators(path, **reading) if Path(path).is_file() else None


def _by_pattern(pattern: str, reading: Mapping[str, object]) -> dict[str, Annotation]:
    """Read the files that match a pattern, by annotator; `*` matches (part of) the name of the document."""
    shape = re.compile(
        "".join(
            "(?P<who>[^/]+)" if part == WHO else "([^/]*)" if part == "*" else re.escape(part)
            for part in re.split(r"(\{annotator\}|\*)", _once(pattern))
        )
    )
    glob = Path("*".join(escape(part).replace("[*]", "*") for part in pattern.split(WHO)))
    paths = sorted(Path(glob.anchor or ".").glob(str(glob.relative_to(glob.anchor))))
    files: dict[str, list[tuple[str, Path]]] = {}
    for path in paths:
        match = shape.fullmatch(path.as_posix())
        if match is None or path.name.startswith("."):
            continue
        rest = [text for index, text in enumerate(match.groups()) if index != shape.groupindex["who"] - 1]
        files.setdefault(match["who"], []).append(("/".join(rest), path))
    if not files:
        raise InputError(
            f"no file matches {pattern!r}.\n{{annotator}} and * each stand for part of a file or folder name."
        )
    return {who: _of_files(own, reading) for who, own in files.items()}


def _once(pattern: str) -> str:
    if pattern.count(WHO) > 1:
        raise ChoiceError(f"{pattern!r} names {{annotator}} twice.\nName it once.")
    return Path(pattern).as_posix()


def _of_files(files: Sequence[tuple[str, Path]], reading: ReadKeywords) -> Annotation:
    """Read the files of one annotator, each as a document; brat folders and single files are read as is."""
    name, path = files[0]
    if len(files) == 1 and path.is_dir() and not any(path.rglob("*.ann")):
        inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not inside:
            raise InputError(
                f"{path}: there is no file in the folder.\nGive each annotator's files a folder."
            )
        files = [(_stem(file), file) for file in inside]
    elif not name:
        return _read(path, reading)
    return concatenated([_read(file, reading) for _, file in files], [document for document, _ in files])


def _stem(path: Path) -> str:
    return stem_of(path) if path.suffix in PACKED else path.stem


def concatenated(parts: Sequence[Annotation], names: Sequence[str]) -> Annotation:
    """Concatenate annotations; each becomes one document, unless it has documents of its own."""
    corpora = [part.corpus for part in parts]
    sizes: list[int] = []
    ids: list[str] = []
    for name, corpus in zip(names, corpora, strict=True):
        inner = corpus.documents if corpus.documents is not None and len(corpus.documents) > 2 else None
        own = [len(corpus)] if inner is None else np.diff(inner).tolist()
        sizes += own
        inner_ids = corpus.document_ids or [str(number) for number in range(1, len(own) + 1)]
        ids += [name] if inner is None else [f"{name}/{inner_id}" for inner_id in inner_ids]
    # Documents are matched by their names, and lines count within each file.
    corpus = replace(
        joined_corpora(corpora), documents=offsets(sizes), document_ids=tuple(ids), ids=None, source=Source()
    )
    mentions = joined_mentions([part.mentions for part in parts], offsets([len(own) for own in corpora])[:-1])
    reading = parts[0].reading.joined(part.reading for part in parts[1:])
    return Annotation(corpus, mentions, replace(reading, sha256=None))


def named_annotators(sources: Sequence[object], what: str) -> dict[str, object]:
    """Name each source: by `NAME=FILE`, else by its stem, or by its folder if stems are not unique."""
    pairs: list[tuple[str | None, Any]] = []
    for number, source in enumerate(sources, start=1):
        if not isinstance(source, str | os.PathLike):
            pairs.append((f"{what} {number}", source))
            continue
        name, equals, path = os.fspath(source).partition("=")
        is_named = bool(equals and name) and not Path(source).exists()
        pairs.append((name, path) if is_named else (None, os.fspath(source)))
    stems = [stem_of(path) for name, path in pairs if name is None]
    result: dict[str, object] = {}
    for name, path in pairs:
        own = name
        if own is None:
            own = stem_of(path)
            if stems.count(own) > 1:
                own = Path(path).parent.name or own
        if own in result:
            raise ChoiceError(
                f"two {what}s are called {own!r}.\nName them, as in first={result[own]} second={path}."
            )
        result[own] = path
    return result
