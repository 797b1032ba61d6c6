"""Read annotations from files and from objects in memory, with one module per format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from spanwise.corpus import Annotation
from spanwise.document import Document
from spanwise.errors import ChoiceError, InputError, SpanwiseError
from spanwise.formats._format import (
    FORMATS,
    NO_SCORE,
    Column,
    Cutting,
    Format,
    JsonRecord,
    Limits,
    Options,
    Problem,
    ReadKeywords,
    format_of,
    is_position,
    label_notes,
    layers_of,
    whole,
)
from spanwise.formats._interning import Interner
from spanwise.formats._opening import (
    PACKED,
    File,
    make_folder,
    model_option,
    read_bytes,
    read_sheet,
    read_text,
    read_toml,
    read_words,
    sha256_of,
    stem_of,
    unpacked_zstd,
    write_atomically,
)
from spanwise.formats._sentences import (
    Part,
    Record,
    RepeatedKey,
    is_records,
    json_line,
    json_of,
    parse_json,
)
from spanwise.formats.memory import annotated_columns, from_lists, from_spans, from_tags
from spanwise.labels import HIERARCHY, RULES, GivenMap, Hierarchy, LabelRules, label_map, label_names
from spanwise.schemes import Repair
from spanwise.streams import pipes_read_once

__all__ = [
    "FORMATS",
    "NO_SCORE",
    "PACKED",
    "Cutting",
    "File",
    "Format",
    "JsonRecord",
    "Limits",
    "Options",
    "Part",
    "Problem",
    "ReadKeywords",
    "Reader",
    "Record",
    "RepeatedKey",
    "Validation",
    "file_of_bytes",
    "format_of",
    "from_spans",
    "from_tags",
    "is_position",
    "is_source",
    "json_line",
    "json_of",
    "label_notes",
    "levels_of",
    "listed_sources",
    "looks_merged",
    "make_folder",
    "model_option",
    "opened",
    "options_of",
    "parse_json",
    "read",
    "read_annotators",
    "read_bytes",
    "read_layers",
    "read_sheet",
    "read_text",
    "read_toml",
    "read_words",
    "refuse_merged",
    "rules_of",
    "says_label_rules",
    "sha256_of",
    "side_by_side",
    "stem_of",
    "unpacked_zstd",
    "validate",
    "whole",
    "with_rules",
    "write_atomically",
]


def read(
    source: object,
    *,
    format: str | Format | None = None,
    token_column: Column | None = None,
    tag_column: Column | None = None,
    separator: Literal["tab", "blank"] | None = None,
    scheme: str | None = None,
    prefer: str | None = None,
    repair: Repair = "conlleval",
    comments: str | None = None,
    duplicates: Literal["error", "drop"] = "error",
    labels: Sequence[str] | None = None,
    documents: str | None = None,
    annotator: str | None = None,
    columns: Mapping[str, Column] | None = None,
    fields: Mapping[str, str] | None = None,
    encoding: str | None = None,
    tokens: Sequence[Sequence[str]] | None = None,
    name: str | None = None,
    limits: Mapping[str, int] | None = None,
    map: GivenMap = None,
    predicted_map: GivenMap = None,
    only: str | Sequence[str] | None = None,
    without: str | Sequence[str] | None = None,
    hierarchy: GivenMap = None,
    hierarchy_separator: str | None = None,
    hierarchy_level: int | None = None,
) -> Annotation:
    """Read an annotation from a file, or from lists of tags or spans.

    Examples:
        >>> annotation = read([["B-PER", "I-PER", "O"]])
        >>> annotation.mentions.start.tolist(), annotation.mentions.end.tolist()
        ([0], [2])

    Args:
        source: A path (.gz, .xz and .zst files are unpacked; "-" is standard input), lists of tags or spans,
            records as in JSON lines, the output of a Hugging Face pipeline, or a frame, table or dataset.
        format: The name of the format; by default it is recognised from the content.
        token_column, tag_column: Columns of a CoNLL file, by number from 0 (-1 is the last) or by name.
        separator: "tab" or "blank"; recognised by default.
        scheme: The tag scheme; recognised by default.
        prefer: For predictions, the scheme of the gold file.
        repair: How to treat impossible tags: "conlleval", "discard", or "none" to raise an error.
        comments: Skip lines that begin with this string.
        duplicates: What to do with a mention that occurs twice: "error" or "drop".
        labels: The tags that numeric tags stand for, in order.
        documents: "none" to ignore document boundaries, or the field that names each sentence's document.
        annotator: Whose annotation to read if several people annotated the same texts.
        columns, fields: Extra columns (one value per token) or fields (one value per sentence) to keep,
            by name.
        encoding: The encoding of the text; UTF-8 by default.
        tokens: The tokens to which lists of tags or spans refer.
        name: What to call a source that is not a file.
        limits: Higher limits for unusual files: "labels", "nested", "unpacked" (bytes) and "values".
        map: The label that each label stands for, such as {"GPE": "LOC", "JUNK": None}, text such as
            "GPE=LOC,JUNK=", or a TOML file; None or nothing leaves a label out. Others stay as they are.
        predicted_map: The same for predictions alone, before `map`.
        only, without: The labels to keep, and those to leave out, after mapping.
        hierarchy: The path of each label, such as {"artist": "person/artist"}, or a TOML file of them.
        hierarchy_separator: What separates the steps of a path ("/"); without `hierarchy`, the labels are
            paths themselves.
        hierarchy_level: The number of first steps of each path that make up the label, after all other
            rules; 0 for one label for all. By default, labels stay as they are.
    """
    rules = rules_of(locals())
    options = Options(
        token_column, tag_column, separator, scheme, prefer, repair, comments, duplicates, labels, documents,
        annotator, columns or {}, fields or {}, encoding, Limits.of(limits or {}), further=True, rules=rules,
    )  # fmt: skip
    annotation = _read(source, format, options, tokens=tokens, name=name)
    rules.check(annotation.labels_as_read)
    return annotation


def _read(
    source: object,
    format: str | Format | None,
    options: Options,
    *,
    tokens: object = None,
    name: str | None = None,
    words: Interner | None = None,
) -> Annotation:
    if isinstance(source, (str, os.PathLike)):
        file = _opened(source, options)
        return read_by(format_of(file, format), file, options, words)
    return options.relabeled(_read_object(source, options, tokens, name))


def _read_object(source: object, options: Options, tokens: object, name: str | None) -> Annotation:
    if isinstance(source, Annotation):
        return source
    if isinstance(source, list | tuple) and {*map(type, source)} <= {list, tuple} and not is_records(source):
        return from_lists(source, options, tokens, name)
    chosen = _format_of_object(source)
    return from_lists(source, options, tokens, name) if chosen is None else chosen.read(source, options)


def side_by_side(
    source: object, gold: str | None, systems: object, **options: Any
) -> tuple[object, object] | None:
    """Split an object in memory that holds both gold and predictions: a frame, records, or spaCy Examples.

    Returns:
        Gold and the predictions by system, or None if the object holds only gold.
    """
    if isinstance(source, str | os.PathLike | Annotation) or not is_source(source):
        return None
    return annotated_columns(source, gold, systems, options_of(**options))


def read_by(form: Format, file: File, options: Options, words: Interner | None = None) -> Annotation:
    """Read a file in a given format; whatever the file contains, only spanwise's own errors are raised."""
    with _file_errors(form, file):
        annotation = form.read(file, options, words) if form.interning else form.read(file, options)
        options.check_used(annotation.reading, form.name)
        return options.finished(annotation)


@contextmanager
def _file_errors(format: Format, file: File) -> Iterator[None]:
    """Report any exception raised in this context as an error in the file."""
    try:
        yield
    except (SpanwiseError, OSError, MemoryError):
        raise
    except RecursionError:
        raise InputError(f"{file.path}: the file is nested too deeply.\nIs it the right file?") from None
    except Exception as error:  # last resort: third-party parsers raise their own errors
        message = str(error).partition("\n")[0][:200]
        raise InputError(
            f"{file.path}: the file cannot be read as {format.name} ({type(error).__name__}: {message}).\n"
            "Is it complete, and is this its format?"
        ) from error


class Reader:
    """Reads several sources with the same `read` keywords.

    The word codes are shared between files, so words seen in earlier files are cheap to read again.
    """

    def __init__(
        self,
        *,
        format: str | Format | None = None,
        tokens: object = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self._format, self._tokens, self._name = format, tokens, name
        self._options = options_of(**options)
        self._words = Interner()

    def read(self, source: object, *, extras: bool = True, prefer: str | None = None) -> Annotation:
        """Read a source; the extra columns and fields are read only with `extras`."""
        return self._read(source, self._options, extras=extras, prefer=prefer)

    def _read(self, source: object, options: Options, *, extras: bool, prefer: str | None) -> Annotation:
        options = options if extras else replace(options, columns={}, fields={})
        options = options if prefer is None else replace(options, prefer=prefer)
        return _read(source, self._format, options, tokens=self._tokens, name=self._name, words=self._words)

    def read_predictions(
        self, source: object, *, prefer: str | None = None, extras: bool = False
    ) -> Annotation:
        """Read a system's annotation: like `read`, but takes the predicted side of spaCy Examples."""
        options = replace(self._options, predicted=True)
        if not isinstance(source, str | os.PathLike | Annotation):
            layers = layers_of(source, options)
            if layers is not None:
                return options.relabeled(layers["predicted"])
        return self._read(source, options, extras=extras, prefer=prefer)

    def read_layers(self, source: str | os.PathLike[str]) -> dict[str, Annotation]:
        """Read the gold and the predicted annotation from one merged file."""
        return _read_layers(source, self._format, self._options, self._words)


def options_of(*, limits: Mapping[str, int] | None = None, **options: Any) -> Options:
    """The keywords of `read` as `Options`; keywords that are None keep their defaults."""
    given = {key: value for key, value in options.items() if value is not None and key not in RULES}
    return Options(**given, limits=Limits.of(limits or {}), rules=rules_of(options))


P = ParamSpec("P")
Made = TypeVar("Made", bound=Document)


def rules_of(reading: ReadKeywords) -> LabelRules:
    """The keywords of `read` that map labels or leave them out."""
    rules = LabelRules(
        _map_of(reading.get("map"), "map"),
        _map_of(reading.get("predicted_map"), "predicted_map"),
        label_names(reading.get("only"), option="only"),
        label_names(reading.get("without"), option="without"),
    )
    hierarchy, level = hierarchy_of(reading), reading.get("hierarchy_level")
    if hierarchy is None or level is None:
        return rules
    return replace(
        rules, hierarchy=hierarchy.paths, hierarchy_separator=hierarchy.separator, hierarchy_level=level
    )


def says_label_rules(verb: Callable[P, Made]) -> Callable[P, Made]:
    """Note in the document that a function makes by which rules labels were mapped or left out, if any."""

    @wraps(verb)
    def noting(*sources: P.args, **options: P.kwargs) -> Made:
        document = verb(*sources, **options)
        rules = rules_of(options)
        if not rules:
            return document
        signature = "|".join(filter(None, (document.signature, f"labels:{rules.key(predicted=True)}")))
        return replace(document, label_rules=rules.to_dict(), signature=signature)

    return noting


def hierarchy_of(reading: ReadKeywords) -> Hierarchy | None:
    """The hierarchy of labels among the keywords of `read`; None if there is none.

    Raises:
        ChoiceError: it cannot be read, or the level is not a whole number or has no hierarchy.
    """
    given, separator, level = map(reading.get, HIERARCHY)
    hierarchy = Hierarchy.of(_map_of(given, "hierarchy"), separator)
    if level is None:
        return hierarchy
    if not isinstance(level, int) or isinstance(level, bool) or level < 0:
        raise ChoiceError(f"hierarchy_level is {level!r}, but must be a whole number, 0 or more.")
    if hierarchy is None:
        raise ChoiceError(
            "hierarchy_level needs a hierarchy of labels.\n"
            "Give one with hierarchy=, or with hierarchy_separator= if labels are paths."
        )
    return hierarchy


def levels_of(reading: ReadKeywords) -> Hierarchy | None:
    """The hierarchy that an evaluation scores level by level: of labels at a level, those above it."""
    hierarchy = hierarchy_of(reading)
    if hierarchy is None or reading.get("hierarchy_level") is None:
        return hierarchy
    return replace(hierarchy, paths={})


def with_rules(reading: ReadKeywords) -> dict[str, Any]:
    """The keywords of `read`, with maps of labels read from their files, so that they can be sent along."""
    rest = {key: value for key, value in reading.items() if key not in RULES}
    hierarchy = hierarchy_of(reading)
    if hierarchy is not None:
        rest |= {"hierarchy": dict(hierarchy.paths), "hierarchy_separator": hierarchy.separator}
    return rest | rules_of(reading).to_dict()


def _map_of(given: GivenMap, option: str) -> dict[str, str | None]:
    """A map of labels, which may be in a TOML file."""
    if isinstance(given, str) and "=" not in given and given.strip():
        given = Path(given)
    if isinstance(given, os.PathLike):
        if not Path(given).is_file():
            raise ChoiceError(
                f"{option} is {os.fspath(given)!r}, neither a file nor a map such as 'GPE=LOC,JUNK='."
            )
        given = read_toml(given, 'Write one label per line, such as GPE = "LOC".')
    return label_map(given, option=option)


def opened(
    source: str | os.PathLike[str], *, encoding: str | None = None, limits: Mapping[str, int] | None = None
) -> File:
    """The file at a path; an open `File` is returned as it is, so its format is recognised only once."""
    if isinstance(source, File):
        return source
    return File(source, encoding=encoding, unpacked=Limits.of(limits or {}).unpacked)


def file_of_bytes(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    sha256: str,
    encoding: str | None = None,
    limits: Mapping[str, int] | None = None,
) -> File:
    """A file whose bytes have already been read and hashed, so that it is not opened again."""
    unpacked = Limits.of(limits or {}).unpacked
    return File.of_bytes(path, data, sha256=sha256, encoding=encoding, unpacked=unpacked)


def _opened(source: str | os.PathLike[str], options: Options) -> File:
    if isinstance(source, File):
        return source
    return File(source, encoding=options.encoding, unpacked=options.limits.unpacked)


def listed_sources(sources: Any) -> list[object]:
    """One or several sources for `read`, as a list; nested lists of tags or spans are one source.

    Examples:
        >>> listed_sources("a.conll"), listed_sources(["a.conll", "b.conll"]), listed_sources([["B-PER"]])
        (['a.conll'], ['a.conll', 'b.conll'], [[['B-PER']]])
    """
    if sources is None:
        return []
    if is_source(sources):
        return [sources]
    listed = list(sources)
    return listed if all(map(is_source, listed)) else [listed]


def is_source(value: object) -> bool:
    """Whether this is certainly a single source: a path, an annotation, or an object that a format reads.

    Such objects are frames, tables, datasets, and spaCy documents or lists of them. Other lists are
    ambiguous: they may hold tags or spans, or be lists of sources.

    Examples:
        >>> is_source("a.conll"), is_source(["a.conll"]), is_source([["B-PER"]])
        (True, False, False)
    """
    if isinstance(value, str | os.PathLike | Annotation):
        return True
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], str):  # tags or paths; scanning a long list is slow
            return False
        if {*map(type, value)} <= {list, tuple, str} and not is_records(value):
            return False
    return _format_of_object(value) is not None


def _format_of_object(source: object) -> Format | None:
    return next((form for form in FORMATS if form.accepts is not None and form.accepts(source)), None)


class Validation(Struct, frozen=True, eq=False):
    """The problems in a file, and the annotation that could be read despite them, if any.

    Examples:
        >>> Validation("gold.conll", (Problem(3, "there is no tag"),), None).problems[0].line
        3
    """

    path: str
    problems: tuple[Problem, ...]
    annotation: Annotation | None


@pipes_read_once()
def validate(
    source: str | os.PathLike[str], *, format: str | Format | None = None, **options: Any
) -> Validation:
    """List every malformed line and every impossible tag of a file; takes the keywords of `read`.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "bad.conll")
        >>> _ = path.write_text("Ann B-PER\\nleft O O\\n")
        >>> [problem.line for problem in validate(path).problems]
        [2]
    """
    choices = options_of(**{**options, "repair": "conlleval"})
    file = File(source, encoding=choices.encoding, unpacked=choices.limits.unpacked)
    chosen = format_of(file, format)
    annotation, error = None, None
    try:
        annotation = read_by(chosen, file, choices)
    except InputError as trouble:
        error = trouble
    problems: list[Problem] = []
    if chosen.problems is not None:
        try:
            again = File(source, encoding=choices.encoding, unpacked=choices.limits.unpacked)
            with _file_errors(chosen, again):
                problems = chosen.problems(again, choices)
        except InputError as trouble:
            error = trouble
    if error is not None and all(problem.repairable for problem in problems):
        problems.insert(0, Problem(None, str(error).removeprefix(f"{file.path}: ").replace("\n", " ")))
    return Validation(file.path, tuple(problems), annotation)


def looks_merged(
    source: object, *, format: str | Format | None = None, encoding: str | None = None, **_: object
) -> bool:
    """Whether a source is a CoNLL file whose last two columns look like gold and predicted tags."""
    if not isinstance(source, (str, os.PathLike)):
        return False
    if format is not None and FORMATS.find(format).name != "conll":
        return False
    from spanwise.formats.conll import looks_merged as in_columns

    file = opened(source, encoding=encoding)
    return format_of(file, format).name == "conll" and in_columns(file)


def refuse_merged(gold: object, **reading: Any) -> None:
    """Refuse a gold file that seems to contain predictions as well, unless a tag column was named.

    Otherwise the predicted tags in its last column would be read as gold, and that system would score 100%.
    """
    if not isinstance(gold, str | os.PathLike) or reading.get("tag_column") is not None:
        return
    if looks_merged(gold, **reading):
        raise ChoiceError(
            f"{os.fspath(gold)}: the last two columns hold tags of the same types, so they seem to be "
            "gold and predicted tags.\nGive such files alone, without other predictions; "
            "if the last column is gold, add tag_column=-1."
        )


def read_layers(
    source: str | os.PathLike[str], *, format: str | Format | None = None, **options: Any
) -> dict[str, Annotation]:
    """Read the gold and the predicted annotation from one merged file; takes the keywords of `read`."""
    return _read_layers(source, format, options_of(**options), None)


def _read_layers(
    source: str | os.PathLike[str], format: str | Format | None, options: Options, words: Interner | None
) -> dict[str, Annotation]:
    file = _opened(source, options)
    chosen = format_of(file, format)
    if chosen.read_layers is None:
        raise ChoiceError(
            f"a file of the format {chosen.name!r} holds one annotation.\n"
            "Give gold and predictions as two files."
        )
    with _file_errors(chosen, file):
        if chosen.interning:
            layers = chosen.read_layers(file, options, words)
        else:
            layers = chosen.read_layers(file, options)
        return {name: options.finished(layer, name) for name, layer in layers.items()}


def read_annotators(
    source: str | os.PathLike[str], *, format: str | Format | None = None, **options: Any
) -> dict[str, Annotation] | None:
    """Read the annotation of each annotator in a file; None if the file does not distinguish annotators.

    Takes the keywords of `read`. Records of Prodigy, doccano and Label Studio name their annotators. If a
    CoNLL file has several tag columns, each column is an annotator named after its number, unless
    `tag_column` is given.
    """
    choices = options_of(**options)
    file = _opened(source, choices)
    try:
        chosen = format_of(file, format)
    except InputError:  # a folder that is not in a format, such as one with a folder for each annotator
        return None
    if chosen.read_annotators is None:
        return None
    with _file_errors(chosen, file):
        annotations = chosen.read_annotators(file, choices)
    if annotations is None:
        return None
    return {who: choices.finished(annotation) for who, annotation in annotations.items()}
