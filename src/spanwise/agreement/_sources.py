"""Annotations by annotator: from a mapping, from named files, from a pattern, or from one file of several."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spanwise.corpus import Annotation
from spanwise.errors import ChoiceError
from spanwise.formats import is_source, read, stem_of


def annotations_of(given: Any, reading: Mapping[str, Any], what: str = "annotator") -> dict[str, Annotation]:
    """What was given, read, by the names of the annotators."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(name): read(source, **reading) for name, source in given.items()}
    listed = [given] if is_source(given) else list(given)
    return {name: read(source, **reading) for name, source in _named(listed, what).items()}


def _named(sources: Iterable[Any], what: str) -> dict[str, Any]:
    """`NAME=FILE`, or a file called by its stem, or by its folder too where stems are the same."""
    pairs: list[tuple[str | None, Any]] = []
    for number, source in enumerate(sources, start=1):
        if not isinstance(source, str | os.PathLike):
            pairs.append((f"{what} {number}", source))
            continue
        name, equals, path = os.fspath(source).partition("=")
        given = bool(equals and name) and not Path(source).exists()
        pairs.append((name, path) if given else (None, os.fspath(source)))
    stems = [stem_of(path) for name, path in pairs if name is None]
    result: dict[str, Any] = {}
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
