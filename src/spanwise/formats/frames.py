"""pandas and polars frames: a row a sentence with lists, or a row a token with the number of its sentence."""

from __future__ import annotations

from typing import Any

from spanwise.corpus import Annotation, Reading
from spanwise.errors import ChoiceError
from spanwise.formats._format import Format, Options
from spanwise.formats._table import annotation
from spanwise.formats._tagged import sentences_of


def accepts(source: Any) -> bool:
    """Whether the object is a frame of pandas or polars, told without importing either."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in ("pandas", "polars")


def read(source: Any, options: Options) -> Annotation:
    """The annotation of a frame; columns are found by name (tokens, tags, sentence, document) or named."""
    if not accepts(source):
        raise ChoiceError(
            "the format 'frame' reads a pandas or polars DataFrame, not a file.\nPass the frame itself."
        )
    library = type(source).__module__.partition(".")[0]
    table = {str(name): source[name].to_list() for name in source.columns}
    return annotation(
        table, Reading(f"<{library} frame>", format="frame", evidence=f"a {library} frame"), options
    )


def rows(annotation: Annotation, scheme: str | None = None) -> dict[str, list[Any]]:
    """The annotation as columns of tokens, as both libraries take them: `pandas.DataFrame(rows(…))`."""
    table: dict[str, list[Any]] = {"sentence": [], "token": [], "tag": []}
    documents: list[str | None] = []
    for number, sentence in enumerate(sentences_of(annotation, scheme)):
        size = len(sentence.tokens)
        table["sentence"] += [number] * size
        table["token"] += sentence.tokens
        table["tag"] += sentence.tags
        documents += [sentence.document] * size
    return table if annotation.corpus.documents is None else {"document": list(documents), **table}


FORMAT = Format(
    name="frame",
    summary="pandas and polars frames, given as objects",
    read=read,
    recognise=lambda file: None,
    accepts=accepts,
)
