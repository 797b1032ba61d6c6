"""Records, frames and tables in memory whose columns hold gold and predictions side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.corpus import Annotation, Reading
from spanwise.errors import ChoiceError, InputError, at, unknown
from spanwise.formats import jsonl, tables
from spanwise.formats._format import Options, layers_of
from spanwise.formats._sentences import is_records, plain

GOLD = ("gold", "gold_tags", "gold_labels", "gold_spans", "gold_entities", "reference", "true")
_ANNOTATIONS = (
    "ner_tags", "tags", "tag", "ner", "labels", "label", "ne_tags", "bio", "bio_tags", "iob",
    "entities", "spans", "ents", "mentions", "annotations",
)  # fmt: skip
_PREFIXES = ("predictions", "prediction", "predicted", "preds", "pred")


class Layered(Struct, frozen=True):
    """A table or records whose columns may hold several annotations of the same text."""

    path: str
    columns: Mapping[str, Sequence[Any]]
    records: bool
    evidence: str
    format: str
    names: Sequence[str] | None = None  # behind numbers of tags

    def column(self, wanted: str) -> str:
        """The column of this name, or the error that lists those there are."""
        if wanted not in self.columns:
            raise unknown("column", wanted, self.columns)
        return wanted

    def gold(self) -> str:
        """The column that holds gold: one that says so, or the only one that holds annotations."""
        named = {name.lower(): name for name in self.columns}
        for known in (*GOLD, *_ANNOTATIONS):
            if known in named:
                return named[known]
        raise InputError(
            at(self.path, None, "no column seems to hold gold, such as 'gold', 'tags' or 'entities'.\n"
               f"The columns are: {', '.join(self.columns)}. Name the one of gold with gold=.")
        )  # fmt: skip

    def predicted(self) -> dict[str, str]:
        """The columns that hold predictions, by the names of their systems: `pred_bert` is of `bert`."""
        return {_system(name): name for name in self.columns if name.lower().startswith(_PREFIXES)}

    def layer(self, column: str, options: Options) -> Annotation:
        """The annotation that one column holds, with the text beside it."""
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
            return jsonl.read(rows, options, name=path)
        reading = Reading(path, format=self.format, evidence=self.evidence)
        return tables.table_annotation(kept, reading, options, names=self.names)


def _system(column: str) -> str:
    prefix = next(known for known in _PREFIXES if column.lower().startswith(known))
    rest = column[len(prefix) :].lstrip("_-. ")
    return rest if rest and rest.lower() not in _ANNOTATIONS else "predicted"


def _holds_annotation(name: str) -> bool:
    low = name.lower()
    return low in (*GOLD, *_ANNOTATIONS) or low.startswith((*_PREFIXES, "gold_"))


def _are_spans(values: Iterable[Any]) -> bool:
    """Whether cells hold lists of spans: a list of spans may be empty, and so may a list of tags."""
    for cell in values:
        if cell is not None and not isinstance(cell, str) and hasattr(cell, "__len__") and len(cell):
            return not isinstance(cell[0], str) and hasattr(cell[0], "__len__")
    return False


def is_layered(source: object) -> bool:
    """Whether the columns of an object can be named: a frame, an Arrow table, a dataset, or records."""
    return tables.accepts_frame(source) or tables.accepts_arrow(source) or is_records(source)


def layered(source: Any, name: str | None = None) -> Layered:
    """The columns of a frame, a table, a dataset or records."""
    if tables.accepts_frame(source):
        library = type(source).__module__.partition(".")[0]
        columns = {str(name): source[name].to_list() for name in source.columns}
        return Layered(f"<{library} frame>", columns, False, f"a {library} frame", "frame")
    if tables.accepts_arrow(source):
        table, kind = tables.table_in(source), type(source).__name__
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        names = tables.class_names(table)
        return Layered(f"<{kind}>", columns, False, f"a {kind} in memory", "arrow", names)
    rows = [plain(record) for record in source]
    keys = dict.fromkeys(key for record in rows if isinstance(record, Mapping) for key in record)
    columns = {key: [record.get(key) for record in rows] for key in keys} if keys else {}
    return Layered(name or "<records>", columns, True, "records", "jsonl")


def annotated_columns(
    source: object, gold: str | None, systems: object, options: Options, *, name: str | None = None
) -> tuple[Any, Any] | None:
    """Gold and predictions that one object holds side by side; None where it holds gold alone.

    Args:
        gold: the column of gold, unless it is to be found by its name.
        systems: names of columns: one, several, or by system. Without them those whose names begin with
            "pred" are taken. Sources of another kind are left as they are.
    """
    layers = layers_of(source, options) if systems is None else None
    if layers is not None:
        return layers["gold"], {"predicted": layers["predicted"]}
    if not is_layered(source):
        return None
    table = layered(source, name)
    if systems is None:
        wanted: Any = table.predicted()
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
    """Columns by system, where the systems are given as columns."""
    if isinstance(systems, str):
        systems = [systems]
    if isinstance(systems, Mapping):
        named = dict(systems)
    elif isinstance(systems, list | tuple) and all(isinstance(one, str) for one in systems):
        named = {one: one for one in systems}
    else:
        return None
    columns = [one for one in named.values() if isinstance(one, str) and one in table.columns]
    if not columns:
        return None
    if len(columns) < len(named):
        other = next(one for one in named.values() if not (isinstance(one, str) and one in table.columns))
        if isinstance(other, str):
            raise unknown("column", other, table.columns)
        return None
    return named
