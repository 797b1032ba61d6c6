"""Annotations from objects in memory: lists of tags or spans, and records or frames with several layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from numbers import Integral
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, codes, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Reading, Source
from spanwise.errors import ChoiceError, InputError, at, many, unknown
from spanwise.formats._format import Options, TableColumns, annotated, layers_of, whole
from spanwise.formats._sentences import columns_of, is_records, plain, score_of
from spanwise.schemes import Repair, Tags

Span = tuple[int, int, str] | tuple[int, int, str, float] | Mapping[str, object]


def from_tags(
    tags: Sequence[Sequence[str]],
    *,
    tokens: Sequence[Sequence[str]] | None = None,
    scheme: str | None = None,
    prefer: str | None = None,
    repair: Repair = "conlleval",
    documents: Sequence[int] | None = None,
    name: str = "<tags>",
) -> Annotation:
    """Build an annotation from lists of tags, one list per sentence.

    Without `tokens`, the sentences have lengths but no text.

    Examples:
        >>> from_tags([["B-PER", "I-PER", "O"]]).mentions.rows()
        [(0, 0, 2, 'PER')]
    """
    columns = Tags.of(tags)
    if tokens is not None:
        _check_lengths(tags, tokens, name)
        corpus = Corpus.of(tokens, documents=documents, source=Source(name))
    else:
        corpus = _textless(columns.sentences, documents, name)
    options = Options(scheme=scheme, prefer=prefer, repair=repair)
    return annotated(corpus, columns, options, Reading(path=name, format="tags"))


def from_spans(
    spans: Sequence[Iterable[Span]],
    *,
    tokens: Sequence[Sequence[str]] | None = None,
    duplicates: Literal["error", "drop"] = "error",
    documents: Sequence[int] | None = None,
    columns: Mapping[str, int | str] | None = None,
    name: str = "<spans>",
) -> Annotation:
    """Build an annotation from lists of spans, one list per sentence.

    A span is (start, end, label), half-open, or a dict. Without `tokens`, the sentences have no text.
    `columns` are further keys of dicts to keep, by name.

    Examples:
        >>> from_spans([[(0, 2, "PER"), (1, 2, "LOC")]]).mentions.rows()
        [(0, 0, 2, 'PER'), (0, 1, 2, 'LOC')]
    """
    listed = [list(sentence) for sentence in spans]
    rows = [
        (number, *span_of(span, f"{name}: sentence {number + 1}"))
        for number, sentence in enumerate(listed)
        for span in sentence
    ]
    scores = [score_of(span, f"{name}: sentence {at + 1}") for at, each in enumerate(listed) for span in each]
    if tokens is not None:
        _check_lengths(listed, tokens, name, sentences_only=True)
        corpus = Corpus.of(tokens, documents=documents, source=Source(name))
        for sentence, start, end, label in rows:
            if end > len(tokens[sentence]):
                raise InputError(
                    f"{name}: sentence {sentence + 1}: the mention {label} [{start}, {end}) ends after the "
                    f"sentence, which has {many(len(tokens[sentence]), 'token')}.\n"
                    "Positions are half-open and count tokens from 0."
                )
    else:
        corpus = _textless(offsets(np.zeros(len(listed), dtype=np.int64)), documents, name)
    has_scores = not all(isnan(score) for score in scores)
    mentions = Mentions.of(rows, score=scores if has_scores else None)
    if columns:
        kept = [
            {asked: span.get(str(key)) for asked, key in columns.items()} if isinstance(span, Mapping) else {}
            for each in listed
            for span in each
        ]
        mentions = replace(mentions, fields=columns_of(kept))
    mentions = mentions.sole(duplicates=duplicates, place=lambda _: name)
    return Annotation(corpus, mentions, Reading(path=name, format="spans in memory"))


def _textless(sentences: Ints, documents: Sequence[int] | None, name: str) -> Corpus:
    """A corpus whose sentences have lengths but no words."""
    return Corpus(
        tokens=codes(np.zeros(int(sentences[-1]), dtype=np.int32)),
        vocabulary=("",) if sentences[-1] else (),
        sentences=ints(sentences),
        documents=None if documents is None else offsets(documents),
        without_text=True,
        source=Source(name),
    )


def span_of(span: Span, location: str) -> tuple[int, int, str]:
    """Start, end and label of a span, which is a tuple or a mapping."""
    try:
        if isinstance(span, Mapping):
            label = span.get("label", span.get("type", span.get("entity_group")))
            start, end = span["start"], span["end"]
        else:
            start, end, label, *score = span
            if len(score) > 1:
                raise ValueError("too many values")
        start, end = whole(start), whole(end)
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"{location}: {span!r} is not a span.\n"
            "A span is (start, end, label), or a dict with the keys 'start', 'end' and 'label'."
        ) from None
    if not isinstance(label, str) or not label:
        raise InputError(f"{location}: the span {span!r} has no label.\nName it with the key 'label'.")
    if not 0 <= start < end:
        raise InputError(
            f"{location}: the span [{start}, {end}) of {label} is empty or begins before the sentence.\n"
            "Positions are half-open: 0 <= start < end."
        )
    return start, end, label


def _check_lengths(
    given: Sequence[Sequence[object]],
    tokens: Sequence[Sequence[str]],
    name: str,
    *,
    sentences_only: bool = False,
) -> None:
    if len(given) != len(tokens):
        raise InputError(
            f"{name}: the annotation has {many(len(given), 'sentence')}, but the tokens have {len(tokens)}.\n"
            "Give one list for each sentence."
        )
    if sentences_only:
        return
    for number, (marks, words) in enumerate(zip(given, tokens, strict=True)):
        if len(marks) != len(words):
            raise InputError(
                f"{name}: sentence {number + 1} has {many(len(marks), 'tag')}, but "
                f"{many(len(words), 'token')}.\nGive one tag for each token."
            )


def from_lists(source: object, options: Options, tokens: Any, name: str | None) -> Annotation:
    """The annotation of lists of tags, of numeric tags or of spans."""
    if not isinstance(source, Iterable):
        raise ChoiceError(f"{source!r} cannot be read.\nGive a path, or a list for each sentence.")
    listed = list(source)
    if listed and isinstance(listed[0], str):
        raise InputError(
            f"{name or '<tags>'}: there is one list of strings, beginning with {listed[0]!r}.\n"
            "Give a list for each sentence, even if there is only one: [[…]]."
        )
    first = next((item for sentence in listed for item in sentence), None)
    if isinstance(first, Integral):
        listed, first = _named_tags(listed, options, name or "<tags>"), ""
    if first is None and tokens is not None and any(map(len, tokens)):
        return from_spans(listed, tokens=tokens, name=name or "<spans>")
    if first is None or isinstance(first, str):
        return from_tags(
            listed, tokens=tokens, scheme=options.scheme, prefer=options.prefer, repair=options.repair,
            name=name or "<tags>",
        )  # fmt: skip
    return from_spans(
        listed, tokens=tokens, duplicates=options.duplicates, columns=options.columns, name=name or "<spans>"
    )


def _named_tags(listed: Sequence[Sequence[int]], options: Options, name: str) -> list[list[str]]:
    """Convert lists of numeric tags to lists of tags."""
    if options.labels is None:
        raise InputError(
            f"{name}: the tags are numbers.\nSay what they mean with labels=, the list of tags in order."
        )
    size = len(options.labels)
    for number, sentence in enumerate(listed, start=1):
        for tag in sentence:
            if not 0 <= tag < size:
                raise InputError(
                    f"{name}: sentence {number}: the tag {tag!r} is outside the {size} labels that were "
                    "given.\nGive all of them, in order."
                )
    return [[options.labels[tag] for tag in sentence] for sentence in listed]


# ---- records, frames and tables with gold and predictions in different columns ----

GOLD = ("gold", "gold_tags", "gold_labels", "gold_spans", "gold_entities", "reference", "true")
_ANNOTATIONS = (
    "ner_tags", "tags", "tag", "ner", "labels", "label", "ne_tags", "bio", "bio_tags", "iob",
    "entities", "spans", "ents", "mentions", "annotations",
)  # fmt: skip
_PREFIXES = ("predictions", "prediction", "predicted", "preds", "pred")


class Layered(Struct, frozen=True):
    """A table or records whose columns may hold several annotations of the same text."""

    path: str
    columns: TableColumns
    records: bool
    evidence: str
    format: str
    names: Sequence[str] | None = None  # the tags that numeric tags stand for

    def column(self, wanted: str) -> str:
        """Return the column name; raise an error that lists the columns if it is unknown."""
        if wanted not in self.columns:
            raise unknown("column", wanted, self.columns)
        return wanted

    def gold(self) -> str:
        """The gold column: one with a name for gold, or else one with a name for annotations."""
        by_lower_name = {name.lower(): name for name in self.columns}
        for candidate in (*GOLD, *_ANNOTATIONS):
            if candidate in by_lower_name:
                return by_lower_name[candidate]
        raise InputError(
            at(self.path, None, "no column seems to hold gold, such as 'gold', 'tags' or 'entities'.\n"
               f"The columns are: {', '.join(self.columns)}. Name the one of gold with gold=.")
        )  # fmt: skip

    def predicted(self) -> dict[str, str]:
        """The columns that hold predictions, by system name: `pred_bert` belongs to `bert`."""
        return {_system(name): name for name in self.columns if name.lower().startswith(_PREFIXES)}

    def layer(self, column: str, options: Options) -> Annotation:
        """The annotation in one column, on the text in the other columns."""
        others = {name for name in self.columns if _holds_annotation(name)}
        kept = {name: values for name, values in self.columns.items() if name not in others | {column}}
        kept["spans" if _are_spans(self.columns[column]) else "tags"] = self.columns[column]
        path = self.path if self.path[0] != "<" else f"{self.path[:-1]} {column}>"
        options = replace(options, tag_column=None)
        if self.records:
            rows = [
                {name: value for name, value in zip(kept, row, strict=True) if value is not None}
                for row in zip(*kept.values(), strict=True)
            ]
            from spanwise.formats import jsonl

            return jsonl.read(rows, options, name=path)
        from spanwise.formats import tables

        reading = Reading(path, format=self.format, evidence=self.evidence)
        return tables.table_annotation(kept, reading, options, names=self.names)


def _system(column: str) -> str:
    prefix = next(candidate for candidate in _PREFIXES if column.lower().startswith(candidate))
    rest = column[len(prefix) :].lstrip("_-. ")
    return rest if rest and rest.lower() not in _ANNOTATIONS else "predicted"


def _holds_annotation(name: str) -> bool:
    low = name.lower()
    return low in (*GOLD, *_ANNOTATIONS) or low.startswith((*_PREFIXES, "gold_"))


def _are_spans(values: Iterable[Any]) -> bool:
    """Whether cells hold lists of spans rather than tags, judged by the first list that is not empty."""
    for cell in values:
        if cell is not None and not isinstance(cell, str) and hasattr(cell, "__len__") and len(cell):
            return not isinstance(cell[0], str) and hasattr(cell[0], "__len__")
    return False


def is_layered(source: object) -> bool:
    """Whether an object has named columns: a frame, an Arrow table, a dataset, or records."""
    from spanwise.formats import tables

    return tables.accepts_frame(source) or tables.accepts_arrow(source) or is_records(source)


def layered(source: Any, name: str | None = None) -> Layered:
    """The columns of a frame, a table, a dataset or records."""
    from spanwise.formats import tables

    if tables.accepts_frame(source):
        library = type(source).__module__.partition(".")[0]
        columns = {str(name): source[name].to_list() for name in source.columns}
        return Layered(f"<{library} frame>", columns, False, f"a {library} frame", "frame")
    if tables.accepts_arrow(source):
        table, kind = tables.table_in(source), type(source).__name__
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        names = tables.class_names(table.schema)
        return Layered(f"<{kind}>", columns, False, f"a {kind} in memory", "arrow", names)
    records = [record for record in map(plain, source) if isinstance(record, Mapping)]
    keys = dict.fromkeys(key for record in records for key in record)
    columns = {key: [record.get(key) for record in records] for key in keys}
    return Layered(name or "<records>", columns, True, "records", "jsonl")


def annotated_columns(
    source: object, gold: str | None, systems: object, options: Options, *, name: str | None = None
) -> tuple[Annotation, Any] | None:
    """Gold and predictions from the columns of one object; None if it holds only gold.

    Args:
        gold: The gold column; by default it is recognised by its name.
        systems: The prediction columns: one name, several names, or a mapping from system to column. By
            default, columns whose names begin with "pred". Other sources of predictions are returned as
            they are.
    """
    layers = layers_of(source, options) if systems is None else None
    if layers is not None:
        return layers["gold"], {"predicted": layers["predicted"]}
    if not is_layered(source):
        return None
    table = layered(source, name)
    if systems is None:
        wanted: dict[str, str] | None = table.predicted()
        if not wanted:
            raise ChoiceError(
                f"{table.path}: no predictions were given, and no column seems to hold any.\n"
                f"The columns are: {', '.join(table.columns) or 'none'}. Give the predictions "
                'as another source, or name their column: systems={"mine": "column"}.'
            )
    else:
        wanted = _columns_named(systems, table)
        if wanted is None:
            return None if gold is None else (table.layer(table.column(gold), options), systems)
    if gold is None:
        gold = options.tag_column if isinstance(options.tag_column, str) else table.gold()
    layer = table.layer(table.column(gold), options)
    prefer = replace(options, prefer=layer.reading.scheme)
    return layer, {name: table.layer(table.column(column), prefer) for name, column in wanted.items()}


def _columns_named(systems: object, table: Layered) -> dict[str, str] | None:
    """The prediction column of each system; None if the systems are not given as columns."""
    if isinstance(systems, str):
        systems = [systems]
    if isinstance(systems, Mapping):
        named = dict(systems)
    elif isinstance(systems, list | tuple) and all(isinstance(column, str) for column in systems):
        named = {column: column for column in systems}
    else:
        return None
    columns = [column for column in named.values() if isinstance(column, str) and column in table.columns]
    if not columns:
        return None
    if len(columns) < len(named):
        other = next(
            column for column in named.values() if not (isinstance(column, str) and column in table.columns)
        )
        if isinstance(other, str):
            raise unknown("column", other, table.columns)
        return None
    return named
