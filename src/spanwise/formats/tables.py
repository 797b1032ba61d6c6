"""Tables in memory or on disk: pandas and polars frames, pyarrow tables, datasets, Parquet, Arrow files."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from math import isfinite, isnan
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeGuard

from msgspec.structs import replace

from spanwise.columns import Column
from spanwise.corpus import Annotation, Pieces, Reading
from spanwise.errors import ChoiceError, InputError, MissingExtra, at, many
from spanwise.formats._format import (
    UNBOUNDED,
    CutSource,
    Cutting,
    Format,
    Limits,
    Options,
    TableColumns,
    numbered_column,
    whole,
)
from spanwise.formats._opening import File
from spanwise.formats._sentences import (
    IDS,
    KEPT_IDS,
    Origin,
    Record,
    annotation,
    by_sentence,
    columns_of,
    hold_the_same,
    name_of,
    plain,
    possible_mentions,
    score_of,
    scores_by_sentence,
    sentences_of,
    tokens_for,
)
from spanwise.schemes import encode

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict
    from pyarrow import Schema, Table

_TOKENS = ("tokens", "token", "words", "word", "form", "text")
TABLE_TAGS = ("ner_tags", "tags", "tag", "ner", "labels", "label", "ne_tags")
TABLE_SPANS = ("spans", "entities", "mentions", "ents")
_SENTENCES = ("sentence", "sentence_id", "sent_id", "sentence #", "sent")
_DOCUMENTS = ("document", "document_id", "doc_id", "doc")


def table_annotation(
    table: TableColumns,
    reading: Reading,
    options: Options,
    *,
    names: Sequence[str] | None = None,
) -> Annotation:
    """The annotation of a table, given as a mapping from column names to values.

    A row is a sentence if its tokens are a list (with tags as strings or as indices into `names`, or with
    spans), a text if it is a string with spans, and a token if a column numbers the sentences.
    """
    origin = Origin(reading.path, reading.format, reading.evidence, reading.sha256)
    result = annotation(table_units(table, reading.path, options, names), origin, options)
    if options.further and len(result.corpus) == len(next(iter(table.values()))):
        fields = _further(table, options)
        result = replace(result, corpus=replace(result.corpus, fields=fields)) if fields else result
    return result


def _further(table: TableColumns, options: Options) -> dict[str, Column]:
    """The columns that are not read, one value per sentence."""
    columns = {name.lower(): name for name in table}
    read = {str(_id_column(columns))} - KEPT_IDS
    read |= {next((columns[name] for name in _DOCUMENTS if name in columns), "")}
    token, mentions = _words_and_mentions(columns, options, "")
    read |= {token, mentions}
    if mentions.lower() not in TABLE_SPANS and isinstance(table[token][0], str):  # a row is a token
        read |= {next(columns[name] for name in _SENTENCES if name in columns)}
    others = [name for name in table if name not in read]
    rows = zip(*(table[name] for name in others), strict=True)
    return columns_of([dict(zip(others, row, strict=True)) for row in rows])


def _words_and_mentions(columns: Mapping[str, str], options: Options, path: str) -> tuple[str, str]:
    """The column with the tokens or the text, and the one with the spans or tags."""
    token = _column(columns, _TOKENS, options.token_column, path, "tokens")
    spans = next((columns[name] for name in TABLE_SPANS if name in columns), None)
    if spans is not None and options.tag_column is None:
        return token, spans
    return token, _column(columns, TABLE_TAGS, options.tag_column, path, "tags")


def whole_rows(table: Mapping[str, Sequence[object]], options: Options, path: str) -> int:
    """The number of leading rows that are complete sentences, whatever rows may follow."""
    columns = {name.lower(): name for name in table}
    token = _column(columns, _TOKENS, options.token_column, path, "tokens")
    size = len(table[token])
    sentence = next((columns[name] for name in _SENTENCES if name in columns), None)
    of_spans = options.tag_column is None and any(name in columns for name in TABLE_SPANS)
    if not size or sentence is None or of_spans or not isinstance(table[token][0], str):
        return size
    documents = _of(table, columns, _DOCUMENTS)
    number, last = table[sentence], size - 1
    while size and (number[size - 1], documents[size - 1]) == (number[last], documents[last]):
        size -= 1
    return size


def table_units(
    table: TableColumns, path: str, options: Options, names: Sequence[str] | None
) -> Sequence[Record]:
    """The sentences or texts of a table, given as a mapping from column names to values."""
    columns = {name.lower(): name for name in table}
    token = _column(columns, _TOKENS, options.token_column, path, "tokens")
    if not len(table[token]):
        raise InputError(at(path, None, "the table has no row.\nGive at least one sentence."))
    missing = next((row for row, value in enumerate(table[token]) if _is_missing(value)), None)
    if missing is not None:
        raise InputError(at(path, None, f"row {missing + 1} has no {token!r}.\nFill it in."))
    spans = next((columns[name] for name in TABLE_SPANS if name in columns), None)
    listed = not isinstance(table[token][0], str)
    if listed:
        _refuse_other_tokens(table, token, columns, path)
    sentence = next((columns[name] for name in _SENTENCES if name in columns), None)
    if spans is not None and options.tag_column is None:
        units = _of_spans(table, token, spans, columns, path)
        _refuse_other_mentions(units, table, spans, columns, path, options)
        return units
    tag = _column(columns, TABLE_TAGS, options.tag_column, path, "tags")
    labels = options.labels if options.labels is not None else names
    if listed:
        rows = zip(
            table[token], table[tag], _ids(table, columns), _of(table, columns, _DOCUMENTS), strict=True
        )
        sentences = [
            Record(
                [str(word) for word in tokens],
                id=name,
                document=document,
                tags=_named(tags, labels, path, f"sentence {number}"),
            )
            for number, (tokens, tags, name, document) in enumerate(rows, start=1)
        ]
        return _checked(sentences, path)
    if sentence is None:
        raise InputError(
            at(path, None, "a row of the table is a token, but no column numbers the sentences; "
               f"it has: {', '.join(table)}.\nAdd a column 'sentence', or give lists of tokens.")
        )  # fmt: skip
    return _gathered(table, token, tag, sentence, columns, labels, path)


def _is_missing(value: object) -> bool:
    """Whether a value is None, or pandas' NaN or NA."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def _column(
    columns: Mapping[str, str], candidates: Sequence[str], wanted: int | str | None, path: str, what: str
) -> str:
    names = list(columns.values())
    if isinstance(wanted, int):
        return names[numbered_column(wanted, len(names), path)]
    looked = candidates if wanted is None else (wanted.lower(),)
    for name in looked:
        if name in columns:
            return columns[name]
    raise InputError(
        at(
            path,
            None,
            f"no column holds {what}; looked for {', '.join(looked)}.\nThe columns are: {', '.join(names)}.",
        )
    )


def _of(
    table: Mapping[str, Sequence[object]], columns: Mapping[str, str], candidates: Sequence[str]
) -> list[str | None]:
    name = next((columns[key] for key in candidates if key in columns), None)
    size = len(next(iter(table.values())))
    return [None] * size if name is None else [str(value) for value in table[name]]


def _id_column(columns: Mapping[str, str]) -> str | None:
    """The column that holds the ids of sentences, if there is one."""
    return next((columns[name] for name in IDS if name in columns), None)


def _ids(table: Mapping[str, Sequence[object]], columns: Mapping[str, str]) -> list[str]:
    """The id of each row, "" if it has none."""
    key = _id_column(columns)
    if key is None:
        return [""] * len(next(iter(table.values())))
    return ["" if _is_missing(name) else name_of(name) for name in table[key]]


def _named(tags: Sequence[object], names: Sequence[str] | None, path: str, location: str) -> list[str]:
    strings = [tag for tag in tags if isinstance(tag, str)]
    if len(strings) == len(tags):
        return strings
    if names is None:
        raise InputError(
            at(path, None, "the tags are numbers.\n"
               "Say what they mean with labels=, the list of tags in order.")
        )  # fmt: skip
    try:
        numbers = [whole(tag) for tag in tags]
    except ValueError as error:
        raise InputError(
            at(path, None, f"{location}: the tag {error}.\nGive tags, or their numbers.")
        ) from None
    for number in numbers:
        if not 0 <= number < len(names):
            raise InputError(
                at(path, None, f"{location}: the tag {number} is outside the {len(names)} labels that were "
                   "given.\nGive all of them, in order.")
            )  # fmt: skip
    return [names[number] for number in numbers]


def _checked(sentences: Sequence[Record], path: str) -> Sequence[Record]:
    for number, sentence in enumerate(sentences, start=1):
        size, tags = len(sentence.body), len(sentence.tags or ())
        if size != tags:
            raise InputError(
                at(path, None, f"sentence {number} has {many(tags, 'tag')}, but {many(size, 'token')}.\n"
                   "Give one tag for each token.")
            )  # fmt: skip
    return sentences


def _gathered(
    table: Mapping[str, Sequence[object]],
    token: str,
    tag: str,
    sentence: str,
    columns: Mapping[str, str],
    labels: Sequence[str] | None,
    path: str,
) -> list[Record]:
    """Join adjacent token rows with the same sentence and the same document into sentences."""
    documents = _of(table, columns, _DOCUMENTS)
    tags = _named(list(table[tag]), labels, path, f"the column {tag!r}")
    result: list[tuple[list[str], list[str], str, str | None]] = []
    before: object = object()
    for word, mark, number, document in zip(table[token], tags, table[sentence], documents, strict=True):
        if (number, document) != before:
            before = (number, document)
            result.append(([], [], str(number), document))
        result[-1][0].append(str(word))
        result[-1][1].append(mark)
    return [Record(words, id=name, document=document, tags=marks) for words, marks, name, document in result]


def _of_spans(
    table: TableColumns,
    token: str,
    spans: str,
    columns: Mapping[str, str],
    path: str,
) -> list[Record]:
    rows = zip(table[token], table[spans], _ids(table, columns), _of(table, columns, _DOCUMENTS), strict=True)
    units = []
    for number, (body, mentions, name, document) in enumerate(rows, start=1):
        parsed = [_mention(mention, path, number) for mention in mentions]
        scores = [score_of(mention, f"{path}: row {number}") for mention in mentions]
        text = body if isinstance(body, str) else [str(word) for word in body]
        known = scores if any(map(isfinite, scores)) else ()
        units.append(Record(text, parsed, name, document, scores=known))
    return units


def _refuse_other_tokens(table: TableColumns, token: str, columns: Mapping[str, str], path: str) -> None:
    """Refuse a table in which another column holds other tokens of the same sentences."""
    for name in {*_TOKENS} & columns.keys() - {token.lower()}:
        rows = enumerate(zip(table[token], table[columns[name]], strict=True), start=1)
        for number, (tokens, others) in rows:
            if isinstance(others, str) or not hasattr(others, "__iter__"):
                break  # not a list for each sentence
            if [*tokens] != [*others]:
                raise InputError(
                    at(path, None, f"{token!r} and {columns[name]!r} of row {number} hold different tokens.\n"
                       "Keep the column that is meant.")
                )  # fmt: skip


def _refuse_other_mentions(
    units: Sequence[Record],
    table: TableColumns,
    spans: str,
    columns: Mapping[str, str],
    path: str,
    options: Options,
) -> None:
    """Refuse a table in which another column holds other mentions of the same sentences."""
    for name in (*TABLE_SPANS, *TABLE_TAGS):
        other = columns.get(name, spans)
        if other == spans:
            continue
        for number, (unit, cell) in enumerate(zip(units, table[other], strict=True), start=1):
            if isinstance(cell, str) or not hasattr(cell, "__iter__"):
                break  # not a list for each sentence
            own = frozenset((*pieces[0], label) for pieces, label in unit.mentions)
            size = None if isinstance(unit.body, str) else len(unit.body)
            if hold_the_same([own], possible_mentions(plain(list(cell)), size, options)) is False:
                raise InputError(
                    at(path, None, f"{spans!r} and {other!r} of row {number} hold different mentions.\n"
                       "Keep the column that is meant.")
                )  # fmt: skip


def _mention(mention: Mapping[str, object] | Sequence[object], path: str, number: int) -> tuple[Pieces, str]:
    try:
        if isinstance(mention, Mapping):
            label = mention.get("label", mention.get("type"))
            start, end = mention["start"], mention["end"]
        else:
            start, end, label = list(mention)[:3]
        if not isinstance(label, str):
            raise TypeError(label)
        return ((whole(start), whole(end)),), label
    except (KeyError, TypeError, ValueError):
        raise InputError(
            at(
                path,
                None,
                f"row {number} has {mention!r} among its spans.\nA span has 'start', 'end' and 'label'.",
            )
        ) from None


class _Series(Protocol):
    def to_list(self) -> list[object]: ...


class Frame(Protocol):
    """A pandas or polars DataFrame, as far as it is read."""

    @property
    def columns(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> _Series: ...


def accepts_frame(source: object) -> TypeGuard[Frame]:
    """Whether the object is a pandas or polars DataFrame, without importing either library."""
    kind = type(source)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in ("pandas", "polars")


def read_frame(source: object, options: Options) -> Annotation:
    """Read a frame; its columns are recognised by name (tokens, tags, sentence, document) or given."""
    if not accepts_frame(source):
        raise ChoiceError(
            "the format 'frame' reads a pandas or polars DataFrame, not a file.\nPass the frame itself."
        )
    library = type(source).__module__.partition(".")[0]
    table = {str(name): source[name].to_list() for name in source.columns}
    return table_annotation(
        table, Reading(f"<{library} frame>", format="frame", evidence=f"a {library} frame"), options
    )


def rows(annotation: Annotation, scheme: str | None = None) -> dict[str, list[object]]:
    """The annotation as columns with one row per token, for pandas or polars: `pandas.DataFrame(rows(…))`."""
    table: dict[str, list[object]] = {"sentence": [], "token": [], "tag": []}
    documents: list[str | None] = []
    for number, sentence in enumerate(sentences_of(annotation, scheme)):
        size = len(sentence.body)
        table["sentence"] += [number] * size
        table["token"] += sentence.body
        table["tag"] += sentence.tags or ()
        documents += [sentence.document] * size
    return table if annotation.corpus.documents is None else {"document": list(documents), **table}


FRAMES = Format(
    name="frame",
    summary="pandas and polars frames, given as objects",
    read=read_frame,
    recognise=lambda file: None,
    accepts=accepts_frame,
)


EVIDENCE = "Parquet or Arrow columns"
_SUFFIXES = (".parquet", ".arrow", ".feather")


def accepts_arrow(source: object) -> TypeGuard[Table | Dataset | DatasetDict]:
    """Whether the object is a pyarrow Table or a Hugging Face dataset, without importing either library."""
    kind = type(source)
    package = kind.__module__.partition(".")[0]
    return (package, kind.__name__) in {
        ("pyarrow", "Table"),
        ("datasets", "Dataset"),
        ("datasets", "DatasetDict"),
    }


def read_arrow(source: File | Table | Dataset, options: Options) -> Annotation:
    """Read a file, table or dataset, in which a row is a sentence (with tags or spans) or a token."""
    if isinstance(source, File):
        table = _table_of(source, options.limits)
        reading = Reading(source.path, source.sha256, "arrow", evidence=EVIDENCE)
    else:
        table = table_in(source)
        kind = type(source).__name__
        reading = Reading(f"<{kind}>", format="arrow", evidence=f"a {kind} in memory")
    _refuse_twins(table.column_names, reading.path)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return table_annotation(columns, reading, options, names=class_names(table.schema))


def _pyarrow() -> ModuleType:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra.of("pyarrow", "arrow", "reading or writing Parquet and Arrow") from None
    module: ModuleType = pyarrow
    return module


def _table_of(file: File, limits: Limits) -> Table:
    """The table in a file, decoded in a subprocess, since a damaged file can crash pyarrow."""
    import subprocess

    arrow = _pyarrow()
    stored = file.stored
    if limits == UNBOUNDED:  # a file that this process has just written
        from pyarrow import parquet

        return parquet.ParquetFile(arrow.BufferReader(stored)).read(use_threads=False)
    done = subprocess.run(_child(limits, len(stored)), input=stored, capture_output=True, check=False)
    if done.returncode != 0:
        _refuse_undecoded(file.path, done.returncode, done.stderr)
    return _streamed(arrow, done.stdout)


def _streamed(arrow: ModuleType, data: bytes) -> Table:
    """The table in an Arrow stream, read without threads, as this process may be forked."""
    alone = arrow.ipc.IpcReadOptions(use_threads=False)
    with arrow.ipc.open_stream(arrow.BufferReader(data), options=alone) as stream:
        return stream.read_all()


def _child(limits: Limits, size: int) -> list[str]:
    """The command line of the subprocess that decodes a file of `size` bytes."""
    most = max(limits.values, 50 * size)
    memory = min((1 << 29) + 64 * most, 1 << 62)  # for pyarrow itself, and for the values
    return [sys.executable, str(Path(__file__).with_name("_arrow_child.py")), str(most), str(memory)]


def _refuse_undecoded(path: str, status: int, errors: bytes) -> NoReturn:
    last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
    ended = f"pyarrow ended with signal {-status}" if status < 0 else last
    raise InputError(at(path, None, f"the file is neither Parquet nor Arrow ({ended}).\nIs it complete?"))


def stored_batches(
    path: str, limits: Limits, rows: int, sizes: Sequence[int] = ()
) -> Generator[bytes, None, None]:
    """The rows of a file in batches of the given `sizes`, or of at most `rows`; each is an Arrow stream.

    A subprocess decodes the rows and holds only one batch at a time. It cannot deadlock, as it only
    ever waits for us to read: its input comes from a temporary file, and its errors go to another. It
    ends after the last row, or when this generator is closed.
    """
    import subprocess
    import tempfile

    command = [*_child(limits, Path(path).stat().st_size), path, str(rows)]
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write("\n".join(map(str, sizes)).encode())
        stdin.seek(0)
        child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr)
        pid = os.getpid()
        assert child.stdout is not None
        try:
            while len(head := child.stdout.read(8)) == 8:
                length = int.from_bytes(head, "little")
                data = child.stdout.read(length)
                if len(data) < length:
                    break
                yield data
            if child.wait() != 0:
                stderr.seek(0)
                _refuse_undecoded(path, child.returncode, stderr.read())
        finally:
            if os.getpid() == pid:  # not in a forked process, which has a copy of this generator
                child.kill()
                child.stdout.close()
                child.wait()


def batch_of(data: bytes, path: str) -> tuple[list[str] | None, dict[str, list[object]]]:
    """The class names and columns of one Arrow stream."""
    table = _streamed(_pyarrow(), data)
    _refuse_twins(table.column_names, path)
    return class_names(table.schema), {name: table.column(name).to_pylist() for name in table.column_names}


def _refuse_twins(names: Sequence[str], path: str) -> None:
    if len({*names}) < len(names):
        raise InputError(at(path, None, f"two columns have the same name: {', '.join(names)}.\nRename one."))


def table_in(source: Table | Dataset | DatasetDict) -> Table:
    """The Arrow table behind a table or dataset."""
    if type(source).__name__ == "DatasetDict":
        raise ChoiceError(f"a DatasetDict holds several datasets.\nPass one of them: {', '.join(source)}.")
    if type(source).__name__ == "Dataset":
        # A filtered or shuffled dataset keeps the original table with a list of row numbers.
        return source.with_format("arrow")[:]
    return source


def class_names(schema: Schema) -> list[str] | None:
    """The class names of a Hugging Face ClassLabel, from the schema's metadata; None if there are none."""
    raw = (schema.metadata or {}).get(b"huggingface")
    if raw is None:
        return None
    try:
        features = json.loads(raw)["info"]["features"]
        listed = [names for feature in features.values() if (names := _names_in(feature))]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # metadata written by another program
    return listed[0] if listed else None


def _names_in(feature: object) -> list[str] | None:
    if isinstance(feature, list):
        return _names_in(feature[0]) if feature else None
    if not isinstance(feature, Mapping):
        return None
    if feature.get("_type") == "ClassLabel":
        return list(feature["names"])
    return _names_in(feature.get("feature"))


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a Parquet file: `tokens` and `ner_tags`, or `spans` for texts and overlapping mentions."""
    arrow = _pyarrow()
    import pyarrow.parquet as parquet

    corpus = annotation.corpus
    columns: dict[str, object] = {}
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
            if scheme is None and annotation.mentions.score is not None:
                columns["spans"] = _spans(annotation)
            else:
                columns["ner_tags"] = encode(annotation.mentions, corpus.lengths, scheme or "IOB2").lists()
        except InputError:
            columns["spans"] = _spans(annotation)
    # Beside tokens, a text is a further field; other columns would be read as words or mentions.
    taken = {*_TOKENS, *TABLE_TAGS, *TABLE_SPANS} - ({"text"} if "tokens" in columns else set())
    fields = {name: column for name, column in corpus.fields.items() if name.lower() not in taken}
    further = {name: [plain(value) for value in column] for name, column in fields.items()}
    stream = io.BytesIO()
    parquet.write_table(arrow.table({**_typed(arrow, further), **columns}), stream)
    return stream.getvalue()


def _typed(arrow: ModuleType, columns: Mapping[str, list[object]]) -> dict[str, object]:
    """The columns as arrays; a column whose values are of several types is left out."""
    arrays: dict[str, object] = {}
    for name, values in columns.items():
        try:
            arrays[name] = arrow.array(values)
        except (arrow.ArrowException, OverflowError):
            continue  # reading the file back will find that it is missing
    return arrays


def _spans(annotation: Annotation) -> list[list[dict[str, object]]]:
    if annotation.mentions.parts is not None:
        raise InputError(
            f"{annotation.reading.path}: a mention is discontinuous, which Parquet cannot hold.\n"
            "Write it as w2ner or brat."
        )
    scores = scores_by_sentence(annotation)
    listed: list[list[dict[str, object]]] = []
    for number, mentions in enumerate(by_sentence(annotation)):
        listed.append([])
        for row, (pieces, label) in enumerate(mentions):
            span: dict[str, object] = {"start": pieces[0][0], "end": pieces[0][1], "label": label}
            if scores[number]:
                span["score"] = None if isnan(scores[number][row]) else scores[number][row]
            listed[-1].append(span)
    return listed


def recognise(file: File) -> str | None:
    """Recognise the suffixes .parquet, .arrow and .feather."""
    return f"the suffix {file.suffix}" if file.suffix in _SUFFIXES and not file.is_folder else None


def survey(file: File, options: Options, cutting: Cutting) -> CutSource | None:
    """Scan a table on disk and decide where to cut it."""
    from spanwise.formats._table_surveys import survey_table

    return survey_table(file, options, cutting)


ARROW = Format(
    name="arrow",
    summary="Parquet and Arrow files, pyarrow tables, Hugging Face datasets",
    read=read_arrow,
    write=write,
    recognise=recognise,
    suffixes=_SUFFIXES[:1],
    accepts=accepts_arrow,
    source="https://arrow.apache.org, https://huggingface.co/docs/datasets",
    survey=survey,
    holds=frozenset(
        (
            "words",
            "white space",
            "tokens",
            "sentences",
            "sentence ids",
            "documents",
            "document names",
            "nested",
            "scores",
            "fields",
        )
    ),
)
