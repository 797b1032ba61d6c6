"""Results for other tools: scalars, frames, CI, model cards, notebooks and experiment trackers."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from xml.etree import ElementTree

from msgspec import Struct, UnsetType
from msgspec.structs import asdict, replace

from spanwise.averages import spread
from spanwise.document import Document, DocumentLike, Interval
from spanwise.document.dataset import Description
from spanwise.document.evaluation import Evaluation, ScoreGrid
from spanwise.document.leaks import LeakCell, Leaks, SystemLeaks
from spanwise.document.loading import as_document
from spanwise.document.scores import BucketScores, ExactScores, Rates, SystemScores
from spanwise.document.study import Spread, Study
from spanwise.document.tuples import SystemTuples, Tuples
from spanwise.errors import ChoiceError, InputError, MissingExtra, many, unknown
from spanwise.evaluation.saved import quotes
from spanwise.matching import OUTCOMES
from spanwise.rates import LEAK_RATES
from spanwise.reports._document import short_signature
from spanwise.reports.tables import Cell, Number, Table, markdown, paper, tables
from spanwise.settings import CONFIDENCE
from spanwise.statistics import LEVEL
from spanwise.views import view, wording
from spanwise.views.cells import Paragraphs
from spanwise.views.points import shown_points
from spanwise.views.tasks import TaskWords
from spanwise.views.verdict import verdict
from spanwise.views.wording import ERRORS, visible

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = [
    "TRACKERS",
    "flat",
    "flat_json",
    "junit",
    "log",
    "model_index",
    "rows",
    "rows_csv",
    "scalars",
    "step_summary",
    "to_arrow",
    "to_junit",
    "to_pandas",
    "to_polars",
]

# ---- every score as one row ------------------------------------------------------------------------


class ScoreRow(Struct, frozen=True, kw_only=True):
    """One score of one system: what it is a score of, its value, its interval and its gold mentions.

    `kind` is overall, macro, weighted, fair, credit, gain, label, tough or attribute, and for tuples also
    criterion, type, event or link. `name` is the credit, the error, the label, the tough subset, the
    attribute or the like. `part` is the bucket or, for tough mentions, the label, and for a criterion the
    type. `low` and `high` are the ends of the interval, `gold` is the number of gold mentions or units.
    """

    dataset: str | None = None
    system: str
    run: str | None = None
    kind: str
    name: str | None = None
    part: str | None = None
    score: str
    value: float | None
    low: float | None = None
    high: float | None = None
    gold: int | None = None

    @property
    def key(self) -> str:
        """The name of the score in `flat`, without its system; empty for scores that `flat` leaves out."""
        if self.kind in ("attribute", "credit") and self.score not in ("f1", *LEAK_RATES):
            return ""
        within = self.name if self.kind == "fair" else self.part if self.kind in _PARTED else None
        if within is not None:
            return ""
        place = () if self.kind == "overall" else (self.kind, self.name, self.part)
        return "/".join(filter(None, (*place, "" if self.kind == "gain" else self.score)))


COLUMNS = ScoreRow.__struct_fields__
_PARTED = ("credit", "criterion", "tough")  # kinds with parts, which `flat` leaves out
TEXTS, NUMBERS = COLUMNS[:7], COLUMNS[7:10]
ARROW_TABLES = ("scores", "mentions")
_KINDS = (
    "overall", "macro", "weighted", "fair", "credit", "criterion", "gain", "label", "type", "event", "link",
    "tough", "attribute",
)  # fmt: skip


def rows(document: DocumentLike) -> list[dict[str, str | float | None]]:
    """One row per score, with the fields of `ScoreRow`; what is undefined or does not apply is None."""
    return [asdict(row) for row in _rows(as_document(document))]


def _rows(document: Document) -> Iterator[ScoreRow]:
    if isinstance(document, Leaks):
        for system, own in document.systems.items():
            for (kind, name, part), cell in _leak_cells(own):
                for score in LEAK_RATES:
                    low, high = cell.ends(score) or (None, None)
                    yield ScoreRow(
                        system=system, kind=kind, name=name, part=part, score=score,
                        value=getattr(cell, score), low=low, high=high, gold=cell.mentions,
                    )  # fmt: skip
    for dataset, system, run, cells in _scored(document):
        for (kind, name, part), gold, ends, scores in cells:
            for score, value in scores.items():
                low, high = ends.get(score) or (None, None)
                yield ScoreRow(
                    dataset=dataset, system=system, run=run or None, kind=kind, name=name, part=part,
                    score=score, value=value, low=low, high=high, gold=gold,
                )  # fmt: skip


_Place: TypeAlias = tuple[str, str | None, str | None]
_Scores: TypeAlias = dict[str, float | None]


# A cell: its place, its gold units, its intervals and its scores.
_Cells: TypeAlias = Iterator[tuple[_Place, int | None, Mapping[str, Interval | None], _Scores]]


def _scored(document: Document) -> Iterator[tuple[str | None, str, str | None, _Cells]]:
    """The cells of every system in every run on every dataset."""
    if isinstance(document, ScoreGrid):
        for dataset, system, run, scored in document.scored():
            yield dataset, system, run, _cells(scored)
    elif isinstance(document, Tuples):
        for system, own in document.systems.items():
            yield None, system, None, _tuple_cells(own, document.criterion)


def _leak_cells(system: SystemLeaks) -> Iterator[tuple[_Place, LeakCell]]:
    """Kind, name and part of every cell of leaks, and the cell."""
    yield ("overall", None, None), system.overall
    yield from ((("label", label, None), cell) for label, cell in system.labels.items())
    yield from ((("tough", subset, None), cell) for subset, cell in system.tough.items())
    for attribute, buckets in system.buckets.items():
        yield from ((("attribute", attribute, bucket), cell) for bucket, cell in buckets.items())


def _three(rates: Rates | BucketScores) -> _Scores:
    return {"precision": rates.precision, "recall": rates.recall, "f1": rates.f1, **rates.more}


def _tuple_cells(system: SystemTuples, chosen: str) -> _Cells:
    """The cells of tuples: by the chosen criterion without its name, and by all others."""
    for criterion, scores in system.criteria.items():
        for kind, cell in ((None, scores.overall), *scores.types.items()):
            place = ("type" if kind else "overall", kind, None)
            yield place if criterion == chosen else ("criterion", criterion, kind), *_exact(cell)
    macro = system.criteria[chosen].macro
    yield ("macro", None, None), None, macro.interval, _three(macro)
    for error, gain in system.gains.items():
        yield ("gain", error, None), None, gain.interval, {"gain": gain.gain}
    for score, cell in (system.events or {}).items():
        yield ("event", score, None), *_exact(cell)
    if system.links:
        found = system.links.found
        yield ("link", "strict", None), *_exact(system.links.strict)
        yield ("link", "found", None), found.mentions, found.interval, {"accuracy": found.accuracy}
    if system.seen:
        for subset, row in (("SEEN", system.seen.SEEN), ("UNSEEN", system.seen.UNSEEN)):
            yield ("tough", subset, None), row.tuples, row.interval, {"recall": row.recall}
    for attribute, buckets in system.attributes.items():
        for bucket in buckets:
            yield ("attribute", attribute, bucket.name), *_exact(bucket)


def _exact(cell: ExactScores | BucketScores) -> tuple[int, Mapping[str, Interval | None], _Scores]:
    return cell.gold, cell.interval, _three(cell)


def _cells(scored: SystemScores) -> _Cells:
    """Kind, name and part of every cell, its gold units, its intervals and its scores."""
    exact, overall = scored.exact, scored.exact.overall
    accuracy = None if isinstance(overall.accuracy, UnsetType) else overall.accuracy
    scores = {**_three(overall), "accuracy": accuracy}
    yield ("overall", None, None), overall.gold, overall.interval, scores
    yield ("macro", None, None), None, exact.macro.interval, _three(exact.macro)
    yield ("weighted", None, None), None, exact.weighted.interval, _three(exact.weighted)
    for label, cell in exact.labels.items():
        yield ("label", label, None), cell.gold, cell.interval, _three(cell)
    for name, rates in ((None, scored.fair.overall), *scored.fair.labels.items()):
        yield ("fair", name, None), None, rates.interval, _three(rates)
    for credit, credited in (scored.credits or {}).items():
        for part, given in ((None, credited.overall), *credited.labels.items()):
            yield ("credit", credit, part), None, given.interval, _three(given)
    for kind in ERRORS:
        gain = scored.gains.of(kind)
        yield ("gain", kind, None), None, gain.interval, {"gain": gain.gain}
    for subset, recalls in scored.tough.items():
        for part, row in ((None, recalls.overall), *recalls.labels.items()):
            yield ("tough", subset, part), row.mentions, row.interval, {"recall": row.recall}
    for attribute, table in scored.attributes.items():
        for bucket in table.buckets:
            yield ("attribute", attribute, bucket.name), bucket.gold, bucket.interval, _three(bucket)


# ---- the main scores under stable names ------------------------------------------------------------


def flat(document: DocumentLike) -> dict[str, float]:
    """The main scores as fractions under names that do not change between versions; undefined ones are NaN.

    The names are `f1`, `precision`, `recall`, `accuracy`, `macro/f1`, `weighted/f1`, `fair/f1`, `gain/LE` …,
    `label/PER/f1` …, `tough/SEEN/recall` …, `attribute/entity_length/XL/f1` …. With several systems, each
    name is prefixed with its system, as in `crf/f1`. In a study, it is also prefixed with its dataset, and
    has the mean and sample standard deviation over runs: `news/crf/f1/mean`, `news/crf/f1/std`. Tuples also
    have `criterion/head/f1`, `type/leads/f1` and the like.

    Examples:
        >>> import spanwise
        >>> flat(spanwise.evaluate([["B-PER", "B-LOC"]], {"crf": [["B-PER", "O"]]}, resamples=0))["recall"]
        0.5
    """
    typed = as_document(document)
    if isinstance(typed, Study):
        return {
            f"{dataset}/{system}/{key}/{name}": math.nan if value is None else value
            for (dataset, system), scores in _means(typed).items()
            for key, mean in scores.items()
            for name, value in (("mean", mean.mean), ("std", mean.std))
        }
    return {
        key: math.nan if row.value is None else float(row.value) for key, row in _named(typed, _KINDS).items()
    }


def flat_json(document: DocumentLike) -> str:
    """The scores of `flat` as one JSON object, in which undefined scores are null."""
    values = {name: None if math.isnan(value) else value for name, value in flat(document).items()}
    return json.dumps(values, ensure_ascii=False, indent=1 if values else None, allow_nan=False) + "\n"


def _named(document: Document, kinds: Sequence[str]) -> dict[str, ScoreRow]:
    """The main scores of some kinds under their names, which begin with the system if there are several."""
    scored = list(_rows(document))
    several = len({row.system for row in scored}) > 1
    return {
        f"{row.system}/{row.key}" if several else row.key: row
        for _, group in groupby(scored, key=lambda row: row.system)
        for row in _in_order(group)
        if row.kind in kinds
    }


def _in_order(scored: Iterable[ScoreRow]) -> list[ScoreRow]:
    """The main scores, ordered by their kinds."""
    return sorted((row for row in scored if row.key), key=lambda row: _KINDS.index(row.kind))


def _means(document: Document) -> dict[tuple[str, str], dict[str, Spread]]:
    """The means of the main scores over runs, for every system on every dataset."""
    means = {}
    for (dataset, system), group in groupby(_rows(document), key=lambda row: (row.dataset, row.system)):
        values: dict[str, list[float | None]] = {}
        for row in _in_order(group):
            values.setdefault(row.key, []).append(row.value)
        means[dataset or "", system] = {key: spread(each) for key, each in values.items()}
    return means


# ---- rows for spreadsheets and data frames ---------------------------------------------------------


def rows_csv(document: DocumentLike) -> str:
    """The rows as comma-separated values; undefined scores are `n/a`, other missing values are empty."""
    table_rows: list[tuple[Cell, ...]] = []
    for row in rows(document):
        texts = tuple(str(row[name] or "") for name in TEXTS)
        ends = tuple("" if row[name] is None else _number_cell(row[name]) for name in COLUMNS[8:])
        table_rows.append((*texts, _number_cell(row["value"]), *ends))
    return Table("rows", "", COLUMNS, tuple(table_rows)).to_csv()


def _number_cell(value: str | float | None) -> Number:
    assert not isinstance(value, str)
    return Number(value, "")


def to_pandas(document: DocumentLike) -> pandas.DataFrame:
    """The rows as a pandas data frame."""
    return frame(lambda: list(rows(document)), COLUMNS)


def frame(content: Callable[[], Sequence[object]], columns: Sequence[str]) -> pandas.DataFrame:
    """Rows as a pandas data frame; they are made only if pandas is there."""
    try:
        import pandas
    except ImportError as error:
        raise _missing("pandas") from error
    return pandas.DataFrame(content(), columns=list(columns))


def to_polars(document: DocumentLike) -> polars.DataFrame:
    """The rows as a polars data frame."""
    try:
        import polars
    except ImportError as error:
        raise _missing("polars") from error
    schema = {**dict.fromkeys(TEXTS, polars.String), **dict.fromkeys(NUMBERS, polars.Float64)}
    return polars.DataFrame(rows(document), schema={**schema, "gold": polars.Int64})


def _missing(package: str) -> MissingExtra:
    return MissingExtra(
        f"a {package} frame needs the package {package!r}, which is not installed.\n"
        f"Install it with: pip install {package}"
    )


def to_arrow(document: DocumentLike, table: str = "scores") -> pyarrow.Table:
    """The scores, one row each, or the mentions as an Arrow table, which Polars and DuckDB read as it is.

    Mentions have one row per system and mention of gold or of its predictions, with the fair outcome; spans
    are half-open and count what the result counts, tokens or characters.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtra.of("pyarrow", "arrow", "an Arrow table") from error
    if table not in ARROW_TABLES:
        raise unknown("Arrow table", table, ARROW_TABLES)
    text, number, whole = pyarrow.string(), pyarrow.float64(), pyarrow.int64()
    if table == "scores":
        types = {**dict.fromkeys(TEXTS, text), **dict.fromkeys(NUMBERS, number), "gold": whole}
        return pyarrow.Table.from_pylist(rows(document), schema=pyarrow.schema(types.items()))
    names = ("system", "side", "sentence", "start", "end", "label", "text", "outcome")
    types = {name: whole if name in ("sentence", "start", "end") else text for name in names}
    listed = [dict(zip(names, row, strict=True)) for row in _mentions(as_document(document))]
    return pyarrow.Table.from_pylist(listed, schema=pyarrow.schema(types.items()))


def _mentions(document: Document) -> Iterator[tuple[object, ...]]:
    """The mentions on both sides of each system, in the order of the columns of `to_arrow`."""
    if not isinstance(document, Evaluation):
        raise InputError(
            f"a document of kind {document.kind!r} has no mentions.\nUse a result of spanwise evaluate."
        )
    quote = quotes(document)
    for name in document:
        system = document[name]
        found = system.matching
        for side, mentions, outcomes in (
            ("gold", system.gold, found.gold_outcome),
            ("predicted", system.predicted, found.predicted_outcome),
        ):
            for (sentence, start, end, label), outcome in zip(
                mentions.rows(), outcomes.tolist(), strict=True
            ):
                text = quote(sentence, start, end)
                yield name, side, sentence, start, end, label, text, OUTCOMES[outcome]


MENTION_COLUMNS = (
    "system", "outcome", "kind", "sentence", "gold_start", "gold_end", "gold_label", "predicted_start",
    "predicted_end", "predicted_label",
)  # fmt: skip


def mentions_frame(document: Evaluation) -> pandas.DataFrame:
    """Every mention of an evaluation, one row per counted event."""
    content: list[tuple[object, ...]] = []
    for name in document:
        for event in document[name].events():
            gold, predicted = (_event_side(event[side]) for side in ("gold", "predicted"))
            sentence = next(side["sentence"] for side in (gold, predicted) if side)
            cells = [side.get(key) for side in (gold, predicted) for key in ("start", "end", "label")]
            outcome = str(event["outcome"])
            content.append((name, outcome, wording.OUTCOMES[outcome], sentence, *cells))
    return frame(lambda: content, MENTION_COLUMNS)


def _event_side(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


# ---- continuous integration: a Markdown summary, and thresholds as JUnit XML -----------------------


class Checked(Protocol):
    """A threshold that was checked, as `spanwise.gates` returns it."""

    @property
    def name(self) -> str: ...
    @property
    def passed(self) -> bool: ...
    @property
    def message(self) -> str: ...
    @property
    def state(self) -> str: ...


def to_junit(checks: Sequence[Checked], *, suite: str = "spanwise", details: str = "") -> str:
    """One test case per threshold, in the XML that CI servers read.

    It contains no times or host names, so that equal results give identical files.
    """
    missed = sum(not check.passed for check in checks)
    skipped = sum(check.passed and check.state == "too few units" for check in checks)
    sizes = {"tests": str(len(checks)), "failures": str(missed), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", sizes)
    cases = ElementTree.SubElement(root, "testsuite", {"name": wording.visible(suite), **sizes})
    for check in checks:
        names = {"classname": wording.visible(suite), "name": wording.visible(check.name)}
        case = ElementTree.SubElement(cases, "testcase", names)
        if check.passed and check.state == "too few units":
            ElementTree.SubElement(case, "skipped", {"message": wording.visible(check.message)})
        elif check.passed:
            ElementTree.SubElement(case, "system-out").text = wording.visible(check.message)
        else:
            attributes = {"message": wording.visible(check.message), "type": "threshold"}
            failure = ElementTree.SubElement(case, "failure", attributes)
            failure.text = "\n".join(filter(None, (wording.visible(check.message), wording.visible(details))))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def junit(
    document: DocumentLike,
    *,
    fail_under: float | None = None,
    floors: Sequence[str] = (),
    checks: Sequence[Checked] | None = None,
) -> str:
    """JUnit XML for thresholds in points, as in `spanwise.gates.gate`, or for `checks` made before."""
    from spanwise.gates import gate

    document = as_document(document)
    if checks is None:
        checks = gate(document, fail_under=fail_under, floors=floors).checks
    name = document.dataset.name if isinstance(document, Evaluation) else ""
    return to_junit(checks, suite=f"spanwise {name}" if name else "spanwise", details=document.signature)


class ChangedScore(Protocol):
    """How a system changed since an earlier result, as `spanwise.gates` returns it."""

    @property
    def system(self) -> str: ...
    @property
    def before(self) -> float | None: ...
    @property
    def after(self) -> float | None: ...
    @property
    def difference(self) -> float | None: ...
    @property
    def interval(self) -> tuple[float | None, float | None] | None: ...
    @property
    def p(self) -> float | None: ...
    @property
    def new(self) -> bool: ...
    @property
    def score(self) -> str: ...


def _sign(check: Checked) -> str:
    if check.passed and check.state == "too few units":
        return "⚠️"
    return "✅" if check.passed else "❌"


def _changes(changes: Sequence[ChangedScore], confidence: float) -> str:
    """One row per system: the score before and now, the difference with its interval, and p."""
    score = changes[0].score
    titles = (
        "system",
        f"{score} before",
        f"{score} now",
        "difference",
        f"{100 * confidence:g} % interval",
        "p",
    )
    listed: list[tuple[Cell, ...]] = []
    for change in changes:
        name, before, after = visible(change.system), _two_places(change.before), _two_places(change.after)
        low, high = change.interval or (None, None)
        bounds, is_real = "", False
        if low is not None and high is not None:
            bounds = f"{100 * low:+.2f} to {100 * high:+.2f}"
            is_real = not low <= 0 <= high and change.p is not None and change.p < LEVEL
        moved = "n/a" if change.difference is None else f"{100 * change.difference:+.2f}"
        p = Number(change.p, "not tested" if change.p is None else wording.p_value(change.p))
        tested = (Number(change.difference, moved, best=is_real), bounds, p)
        listed.append((name, before, after, *(("new, untested", "", "") if change.new else tested)))
    return "### Since the earlier result\n\n" + Table("", "", titles, tuple(listed)).to_markdown()


def _two_places(value: float | None) -> Number:
    """A score with two decimals, as in gates, because a pull request may change little."""
    return Number(value, "n/a" if value is None else f"{100 * value:.2f}")


def _changed(document: Document, earlier: DocumentLike) -> tuple[str, list[str]]:
    """What changed in one sentence; then by label, and what broke and was fixed, the latter folded."""
    from spanwise.changing import changes

    try:
        shown = view(changes(earlier, document))
    except InputError as error:  # an earlier result without mentions still has scores to compare
        return "", [markdown(str(error))]
    parts = []
    for section in shown.sections:
        kind, title = section.name.partition("-")[0], markdown(wording.capital(str(section.title)))
        if kind == "labels" and (table := paper(section)):
            parts.append(replace(table, caption="").to_markdown())
        for block in section.blocks:
            if kind not in ("broken", "fixed") or not isinstance(block, Paragraphs):
                continue
            quoted = "\n".join(f"- {markdown(str(text))}" for text in block.texts)
            about = f"{title} ({section.note})"
            parts.append(
                f"**{about}**\n\n{quoted}"
                if kind == "broken"
                else f"<details><summary>{about}</summary>\n\n{quoted}\n\n</details>"
            )
    return markdown(" ".join(map(str, [shown.verdict, *shown.statements]))), parts


def step_summary(
    document: DocumentLike,
    *,
    checks: Sequence[Checked] = (),
    changes: Sequence[ChangedScore] = (),
    notes: Sequence[str] = (),
    earlier: DocumentLike | None = None,
) -> str:
    """Markdown for `$GITHUB_STEP_SUMMARY`: the answer, findings, thresholds, scores; the rest is folded.

    With `changes` since an earlier result, a table shows how every system changed; a difference
    whose interval excludes 0 is bold if p is below .05 as well. With the `earlier` result itself, the
    labels and the first sentences say what broke and what was fixed.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER"]], {"crf": [["B-PER"]]}, resamples=0, name="tiny")
        >>> step_summary(result).splitlines()[0]
        '## spanwise: tiny'
    """
    document = as_document(document)
    by_name = tables(document)
    dataset = document.dataset.name if isinstance(document, Evaluation | Description) else ""
    parts = ["## spanwise" + (f": {markdown(dataset)}" if dataset else "")]
    since, changed = ("", []) if earlier is None else _changed(document, earlier)
    if since:
        parts.append(f"**{since}**")
    found = verdict(document)
    if found.answer:
        parts.append(f"**{markdown(str(found.answer))}**")
    if found.test:
        parts.append(f"<sub>{markdown(found.test)}</sub>")
    if found.checks:
        parts.append("\n".join(f"- ⚠️ {markdown(text)}" for text in found.checks))
    known = shown_points(document)
    if known.findings or known.tasks:
        listed = [[f"- {markdown(text)}" for text in known.findings], list(map(_task, known.tasks))]
        first, second = reversed(listed) if known.urgent else listed
        parts.append("\n".join([*first, *second]))
    if checks:
        parts.append("\n".join(f"- {_sign(check)} {markdown(check.message)}" for check in checks))
    if changes:
        confidence = document.settings.confidence if isinstance(document, Evaluation) else CONFIDENCE
        parts.append(_changes(changes, confidence))
    parts += changed
    if notes:
        parts.append("\n".join(f"- {markdown(note)}" for note in notes))
    if "holistic" in by_name:
        parts.append(by_name["holistic"].to_markdown())
    if "errors" in by_name:
        parts.append("### Errors\n\n" + by_name["errors"].to_markdown())
    for name in ("labels", "tough", "model_wise", "rank_flips", *(key for key in by_name if "/" in key)):
        if name in by_name and name.partition("/")[0] in _FOLDED:
            title = markdown(name.replace("_", " "))
            parts.append(f"<details><summary>{title}</summary>\n\n{by_name[name].to_markdown()}\n</details>")
    if document.signature:
        parts.append(f"<sub>{markdown(short_signature(document.signature))}</sub>")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _task(task: TaskWords) -> str:
    """A task as an item of a list in Markdown, with its gain and its command."""
    gain = f" ({markdown(task.gain)})" if task.gain else ""
    quote = "``" if "`" in task.command else "`"
    command = f" {quote}{task.command}{quote}" if task.command else ""
    return f"- **{markdown(task.title)}** {markdown(task.reason)}{gain}{command}"


# The tables that a summary shows collapsed, for every dataset if there are several.
_FOLDED = ("errors", "labels", "tough", "model_wise", "rank_flips")


# ---- the `model-index` of a model card, as YAML that needs no YAML package -------------------------


_METRICS = {  # the key in `flat`: the type of the metric, and its name
    "f1": ("f1", "F1"),
    "precision": ("precision", "Precision"),
    "recall": ("recall", "Recall"),
    "accuracy": ("accuracy", "Accuracy"),
    "macro/f1": ("f1", "Macro F1"),
    "fair/f1": ("f1", "Fair F1"),
}


def model_index(document: DocumentLike, *, name: str | None = None, dataset: str | None = None) -> str:
    """The metadata for a model card's front matter: one model per system, with means over runs.

    Undefined scores are left out. Text is written as JSON strings, which are valid YAML.

    Args:
        name: the name of the model, if the document has one system; by default the system's name.
        dataset: the dataset's identifier, if there is one dataset; by default its name in the document.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER"]], {"crf": [["B-PER"]]}, resamples=0)
        >>> model_index(result, name="my-model").splitlines()[2]
        '- name: "my-model"'
    """
    typed = as_document(document)
    scored: dict[str, list[tuple[str, Mapping[str, Spread]]]] = {}
    for (on, system), means in _means(typed).items():
        if means.keys() & _METRICS.keys():  # rates of leaks are not among them
            scored.setdefault(system, []).append((on or "unknown", means))
    # This is a comment because a `source` would need a URL; `visible` keeps it on one line.
    lines = [f"# {visible(short_signature(typed.signature))}"] if typed.signature else []
    lines.append("model-index:")
    for system, results in scored.items():
        model = name if name is not None and len(scored) == 1 else system
        lines += [f"- name: {_text(model)}", "  results:"]
        for dataset_name, scores in results:
            lines += [
                "  - task:",
                '      type: "token-classification"',
                '      name: "Token Classification"',
                "    dataset:",
                f"      name: {_text(dataset_name)}",
                f"      type: {_text(dataset if dataset and len(results) == 1 else dataset_name)}",
                "    metrics:",
            ]
            for key, (kind, title) in _METRICS.items():
                if key in scores and scores[key].mean is not None:
                    lines += [
                        f"    - type: {_text(kind)}",
                        f"      value: {scores[key].mean!r}",
                        f"      name: {_text(title)}",
                    ]
    return "\n".join(lines) + "\n" if scored else "model-index: []\n"


def dataset_card(document: DocumentLike, *, dataset: str | None = None) -> str:
    """A card of the test data as JSON-LD in the vocabulary of schema.org and Croissant, with its SHA-256.

    It holds what the document knows of the data: sizes, labels with their numbers of mentions, and the files.

    Args:
        dataset: the name of the dataset; by default its name in the document.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER"]], {"crf": [["B-PER"]]}, resamples=0, name="tiny")
        >>> json.loads(dataset_card(result))["description"]
        '1 sentence, 1 token, 1 mention'
    """
    typed = as_document(document)
    if not isinstance(typed, Evaluation | Description):
        raise InputError(
            f"a document of kind {typed.kind!r} describes no single dataset.\n"
            "Use a result of spanwise evaluate or describe."
        )
    facts = typed.dataset
    sizes = {
        "sentences": facts.sentences, "documents": facts.documents,
        "tokens": facts.tokens, "mentions": facts.mentions,
    }  # fmt: skip
    counted = {**sizes, **{f"mentions of {label}": number for label, number in facts.labels.items()}}
    card = {
        "@context": {
            "@vocab": "https://schema.org/",
            "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/",
            "conformsTo": "http://purl.org/dc/terms/conformsTo",
        },
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": dataset or facts.name,
        "description": ", ".join(many(number, name[:-1]) for name, number in sizes.items() if number),
        "keywords": ["named entity recognition", *facts.labels],
        "variableMeasured": [
            {"@type": "sc:PropertyValue", "name": name, "value": number}
            for name, number in counted.items()
            if number is not None
        ],
        "distribution": [
            {
                "@type": "cr:FileObject", "@id": str(row.path), "name": str(row.path),
                "contentUrl": str(row.path), "sha256": row.sha256,
                "encodingFormat": "text/plain", "description": row.role,
            }
            for row in typed.inputs
            if row.role in ("gold", "train") and row.path and row.sha256
        ],
    }  # fmt: skip
    return json.dumps(card, indent=1, ensure_ascii=False) + "\n"


def _text(value: object) -> str:
    return json.dumps(visible(value))


# ---- experiment trackers, if they are installed ----------------------------------------------------


_BATCH = 1000  # metrics that MLflow accepts in one request
_PAGE = "spanwise/report.html"
_DOCUMENT = "spanwise/result.json"


def log(
    document: DocumentLike,
    tracker: str,
    *,
    to: object = None,
    prefix: str = "",
    step: int | None = None,
    page: bool = True,
) -> None:
    """Log a document to an experiment tracker: scores, intervals, signature, and the page as an artifact.

    Scores have the names of `flat`, such as `f1`, `label/PER/f1`, `accuracy` (token accuracy); the ends of
    their intervals are `f1_low` and `f1_high`. The difference between two systems is `difference/A/B/f1`,
    with its interval and `f1_p`. Undefined scores are left out: a tracker would draw them as zero.

    Args:
        tracker: "mlflow", "wandb", "tensorboard" or "comet".
        to: the destination: the module `mlflow` or a compatible object, a Weights & Biases run, a
            SummaryWriter or log folder for TensorBoard, or a Comet experiment. By default the active one.
        prefix: put before every name, such as "test/".
        step: the step or epoch that the scores belong to.
        page: whether to log the page and the JSON document too; the page needs the extra "report".
    """
    if tracker not in TRACKERS:
        raise unknown("tracker", tracker, TRACKERS)
    typed = as_document(document)
    html = typed.to_html() if page else None  # first, as it may need a missing package
    TRACKERS[tracker](typed, to, scalars(typed, prefix), prefix, step, html)


_BOUNDED = ("overall", "macro", "weighted", "fair", "label")  # the kinds whose intervals are logged


def scalars(document: Document, prefix: str = "") -> dict[str, float]:
    """The defined scores of a document, the ends of their intervals, and the differences between systems.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER"]], {"crf": [["B-PER"]]}, resamples=0)
        >>> scalars(result, "test/")["test/label/PER/f1"]
        1.0
    """
    named: list[tuple[str, float | None]] = [*flat(document).items(), *_differences(document)]
    if not isinstance(document, Study):
        for name, row in _named(document, _BOUNDED).items():
            named += [(f"{name}_low", row.low), (f"{name}_high", row.high)]
    return {
        prefix + visible(name): value for name, value in named if value is not None and not math.isnan(value)
    }


def _differences(document: Document) -> Iterator[tuple[str, float | None]]:
    """The differences in F1 between compared systems, with intervals and p-values."""
    if not isinstance(document, ScoreGrid):
        return
    for dataset, part in document.datasets.items():
        for comparison in part.comparisons:
            pair = "/".join(comparison.systems)
            name = (
                f"{dataset}/difference/{pair}/f1" if isinstance(document, Study) else f"difference/{pair}/f1"
            )
            for row in comparison.scores:
                if tuple(row.path) == ("exact", "overall", "f1") and row.difference is not None:
                    low, high = row.interval or (None, None)
                    yield from ((name, row.difference), (f"{name}_low", low), (f"{name}_high", high))
                    yield f"{name}_p", row.p


Values = Mapping[str, float]


def _mlflow(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    """MLflow allows letters, digits and `_ - . / : ` in names; other characters in labels become `_`."""
    target = to if to is not None else _imported("mlflow", "mlflow", "logging to MLflow")
    named = [(re.sub(r"[^\w\-./: ]", "_", name), value) for name, value in values.items()]
    for begin in range(0, len(named), _BATCH):
        target.log_metrics(dict(named[begin : begin + _BATCH]), step=step)
    if document.signature:
        target.set_tag("spanwise.signature", visible(document.signature)[:5000])
    if page is not None:
        target.log_text(page, prefix + _PAGE)
        target.log_text(document.to_json(), prefix + _DOCUMENT)


def _wandb(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    run = to if to is not None else _imported("wandb", "wandb", "logging to Weights & Biases").run
    if run is None:
        raise ChoiceError(
            "there is no Weights & Biases run to log to.\nCall wandb.init() first, or pass to=."
        )
    run.log(dict(values), step=step)
    if document.signature:
        run.summary["spanwise/signature"] = visible(document.signature)
    if page is None:
        return
    artifact = _imported("wandb", "wandb", "keeping the page in Weights & Biases").Artifact(
        f"spanwise-{re.sub(r'[^A-Za-z0-9_.-]', '-', prefix) or 'result'}", type="evaluation"
    )
    for name, text in ((_PAGE, page), (_DOCUMENT, document.to_json())):
        with artifact.new_file(Path(name).name, encoding="utf-8") as stream:
            stream.write(text)
    run.log_artifact(artifact)


def _tensorboard(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    """TensorBoard has no artifacts, so the page is written next to the logs and named in a text entry."""
    opened = isinstance(to, str | os.PathLike)
    if to is None:
        raise ChoiceError(
            "TensorBoard needs a place to log to.\n"
            'Pass to=, a SummaryWriter or the folder of the logs, such as to="runs/test".'
        )
    writer = _summary_writer()(os.fspath(to)) if opened else to
    try:
        for name, value in values.items():
            writer.add_scalar(name, value, step)
        text = f"signature: `{visible(document.signature)}`"
        if page is not None:
            from spanwise.formats import make_folder, write_atomically

            path = Path(os.fspath(to) if opened else _log_folder(writer), prefix.strip("/"), _PAGE)
            make_folder(path.parent)
            write_atomically(path, page)
            write_atomically(path.with_name(Path(_DOCUMENT).name), document.to_json())
            text += f"  \npage: `{path}`"
        writer.add_text(f"{prefix}spanwise", text, step)
        writer.flush()
    finally:
        if opened:
            writer.close()


def _log_folder(writer: object) -> str:
    return str(getattr(writer, "log_dir", None) or getattr(writer, "logdir", None) or ".")


def _summary_writer() -> Any:
    for module in ("tensorboardX", "torch.utils.tensorboard"):
        try:
            return import_module(module).SummaryWriter
        except ImportError:
            continue
    raise MissingExtra.of("tensorboardX", "tensorboard", "logging to TensorBoard")


def _comet(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    experiment = to
    if experiment is None:
        experiment = _imported("comet_ml", "comet", "logging to Comet").get_running_experiment()
    if experiment is None:
        raise ChoiceError(
            "there is no Comet experiment to log to.\nCall comet_ml.start() first, or pass to=."
        )
    experiment.log_metrics(dict(values), step=step)
    if document.signature:
        experiment.log_other("spanwise/signature", visible(document.signature))
    if page is not None:
        experiment.log_asset_data(page, name=prefix + _PAGE, step=step)
        experiment.log_asset_data(document.to_json(), name=prefix + _DOCUMENT, step=step)


TRACKERS: Mapping[str, Callable[[Document, object, Values, str, int | None, str | None], None]] = {
    "comet": _comet,
    "mlflow": _mlflow,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
}


def _imported(package: str, extra: str, purpose: str) -> ModuleType:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra.of(package, extra, purpose) from error
