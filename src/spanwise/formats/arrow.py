"""Parquet and Arrow files, pyarrow tables, and Hugging Face datasets, with the names behind their numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from spanwise.corpus import Annotation, Reading
from spanwise.errors import ChoiceError, InputError, MissingExtra, at
from spanwise.formats._format import UNBOUNDED, Format, Limits, Options
from spanwise.formats._opening import File
from spanwise.formats._standoff import by_sentence, tokens_for
from spanwise.formats._table import annotation
from spanwise.schemes import encode

_SUFFIXES = (".parquet", ".arrow", ".feather")


def accepts(source: Any) -> bool:
    """Whether the object is a pyarrow Table or a Hugging Face Dataset, told without importing either."""
    kind = type(source)
    package = kind.__module__.partition(".")[0]
    return (package, kind.__name__) in {
        ("pyarrow", "Table"),
        ("datasets", "Dataset"),
        ("datasets", "DatasetDict"),
    }


def read(source: Any, options: Options) -> Annotation:
    """The annotation of a file, table or dataset: a row is a sentence (tags or spans), or a token."""
    if isinstance(source, File):
        table = _table_of(source, options.limits)
        reading = Reading(source.path, source.sha256, "arrow", evidence="Parquet or Arrow columns")
    else:
        table = table_in(source)
        kind = type(source).__name__
        reading = Reading(f"<{kind}>", format="arrow", evidence=f"a {kind} in memory")
    if len({*table.column_names}) < len(table.column_names):
        raise InputError(
            at(reading.path, None, f"two columns have the same name: {', '.join(table.column_names)}.\n"
               "Rename one.")
        )  # fmt: skip
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return annotation(columns, reading, options, names=class_names(table))


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra.of("pyarrow", "arrow", "reading or writing Parquet and Arrow") from None
    return pyarrow


def _table_of(file: File, limits: Limits) -> Any:
    """The table of a file, decoded by another process: a damaged file can end pyarrow's."""
    import subprocess
    import sys
    from pathlib import Path

    arrow = _pyarrow()
    stored = file.stored
    if limits == UNBOUNDED:  # what this process has just written
        from pyarrow import parquet

        return parquet.ParquetFile(arrow.BufferReader(stored)).read(use_threads=False)
    most = max(limits.values, 50 * len(stored))
    program = Path(__file__).with_name("_arrow_child.py")
    memory = min((1 << 29) + 64 * most, 1 << 62)  # what pyarrow itself needs, and room for the values
    done = subprocess.run(
        [sys.executable, str(program), str(most), str(memory)], input=stored, capture_output=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        ended = f"pyarrow ended with signal {-done.returncode}" if done.returncode < 0 else said
        raise InputError(
            at(file.path, None, f"the file is neither Parquet nor Arrow ({ended}).\nIs it complete?")
        )
    with arrow.ipc.open_stream(arrow.BufferReader(done.stdout)) as stream:
        return stream.read_all()


def table_in(source: Any) -> Any:
    """The Arrow table of a table or dataset."""
    if type(source).__name__ == "DatasetDict":
        raise ChoiceError(f"a DatasetDict holds several datasets.\nPass one of them: {', '.join(source)}.")
    if type(source).__name__ == "Dataset":
        # A dataset that was selected or shuffled keeps its table and a list of rows.
        return source.with_format("arrow")[:]
    return source


def class_names(table: Any) -> list[str] | None:
    """The names of a ClassLabel that datasets keeps in the schema's metadata."""
    raw = (table.schema.metadata or {}).get(b"huggingface")
    if raw is None:
        return None
    try:
        features = json.loads(raw)["info"]["features"]
        found = [names for feature in features.values() if (names := _names_in(feature))]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # metadata of somebody else's
    return found[0] if found else None


def _names_in(feature: Any) -> list[str] | None:
    if isinstance(feature, list):
        return _names_in(feature[0]) if feature else None
    if not isinstance(feature, Mapping):
        return None
    if feature.get("_type") == "ClassLabel":
        return list(feature["names"])
    return _names_in(feature.get("feature"))


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """Parquet with `tokens` and `ner_tags`; mentions that overlap, or a text, are written as `spans`."""
    arrow = _pyarrow()
    import pyarrow.parquet as parquet

    corpus = annotation.corpus
    columns: dict[str, Any] = {}
    owner = corpus.document_of_sentence
    if owner is not None:
        ids = corpus.document_ids
        columns["document"] = [ids[i] if ids else str(i + 1) for i in owner.tolist()]
    if corpus.ids is not None:
        columns["id"] = list(corpus.ids)
    if corpus.unit == "character":
        columns |= {"text": list(corpus.texts or ()), "spans": _spans(annotation)}
    else:
        tokens_for(annotation, "arrow")
        columns["tokens"] = [corpus.words(i) for i in range(len(corpus))]
        try:
            columns["ner_tags"] = encode(annotation.mentions, corpus.lengths, scheme or "IOB2").lists()
        except InputError:
            columns["spans"] = _spans(annotation)
    stream = io.BytesIO()
    parquet.write_table(arrow.table(columns), stream)
    return stream.getvalue()


def _spans(annotation: Annotation) -> list[list[dict[str, Any]]]:
    if annotation.mentions.parts is not None:
        raise InputError(
            f"{annotation.reading.path}: a mention lies in several pieces, which Parquet cannot hold.\n"
            "Write it as w2ner or brat."
        )
    return [
        [{"start": pieces[0][0], "end": pieces[0][1], "label": label} for pieces, label in mentions]
        for mentions in by_sentence(annotation)
    ]


def recognise(file: Any) -> str | None:
    """The suffix .parquet, .arrow or .feather: the content is binary."""
    return f"the suffix {file.suffix}" if file.suffix in _SUFFIXES and not file.is_folder else None


FORMAT = Format(
    name="arrow",
    summary="Parquet and Arrow files, pyarrow tables, Hugging Face datasets",
    read=read,
    write=write,
    recognise=recognise,
    suffixes=_SUFFIXES[:1],
    accepts=accepts,
    source="https://arrow.apache.org, https://huggingface.co/docs/datasets",
)
