"""Leaks and tuples on every dataset of a manifest, with the tests of all datasets corrected together."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

from msgspec.structs import replace

from spanwise import __version__
from spanwise.document.datasets import DatasetMeans, LeakStudy, TupleStudy, VerbStudySettings
from spanwise.document.leaks import Leaks
from spanwise.document.scores import Comparison
from spanwise.document.study import PlanNotes
from spanwise.document.tuples import CRITERIA, Tuples
from spanwise.errors import ChoiceError, InputError, SpanwiseError, at, unknown
from spanwise.formats import rules_of
from spanwise.labels import RULES, LabelRules, MissingLabel, gathered_missing
from spanwise.leakage import leaks
from spanwise.rates import LEAK_RATES
from spanwise.relations import READING, tuples
from spanwise.settings import CORRECTION
from spanwise.studies._family import FAMILIES, corrected
from spanwise.studies._manifest import Manifest, manifest_of, read_manifest
from spanwise.studies._paired import PairedTests
from spanwise.studies._plan import StudyCell, found_cells, found_dataset, plan_of

__all__ = ["VERBS", "study_of"]

Asked = Leaks | Tuples


class _Verb(NamedTuple):
    """What tells one verb from another here: its function, its keywords, and the means of its document."""

    function: Callable[..., Any]
    document: type[LeakStudy] | type[TupleStudy]
    means: Callable[[Any, str], dict[str, float | None]]  # of a system in the document of one dataset
    reading: Sequence[str] | None  # the keywords of a manifest about reading that it takes; None for all

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords of the function."""
        parts = inspect.signature(self.function).parameters.values()
        return tuple(part.name for part in parts if part.kind is part.KEYWORD_ONLY)


def _leak_means(document: Leaks, system: str) -> dict[str, float | None]:
    if document.runs:
        return dict(document.runs[system].mean)
    return {rate: getattr(document.systems[system].overall, rate) for rate in LEAK_RATES}


def _tuple_means(document: Tuples, system: str) -> dict[str, float | None]:
    if document.runs:
        return {criterion: document.runs[system].mean[criterion]["f1"] for criterion in CRITERIA}
    return {name: scores.overall.f1 for name, scores in document.systems[system].criteria.items()}


VERBS: Mapping[str, _Verb] = {
    "leaks": _Verb(leaks, LeakStudy, _leak_means, None),
    "tuples": _Verb(tuples, TupleStudy, _tuple_means, (*READING, *RULES)),
}


@overload
def study_of(
    verb: Literal["leaks"], manifest: str | Path | Mapping[str, object], **options: Any
) -> LeakStudy: ...
@overload
def study_of(
    verb: Literal["tuples"], manifest: str | Path | Mapping[str, object], **options: Any
) -> TupleStudy: ...
@overload
def study_of(
    verb: str, manifest: str | Path | Mapping[str, object], **options: Any
) -> LeakStudy | TupleStudy: ...
def study_of(
    verb: str,
    manifest: str | Path | Mapping[str, object],
    *,
    root: str | Path | None = None,
    family: str | None = None,
    command: str | None = None,
    **options: Any,
) -> LeakStudy | TupleStudy:
    """Ask `leaks` or `tuples` of every dataset of a manifest, with all its systems and their runs.

    The manifest is that of a study. Its keys about reading apply, on top and by dataset, and so do those of
    its settings that the verb has too, such as `resamples`, `unit` or `attributes`; `options` take their
    place. The p-values of the primary score are corrected together by Holm's method: those of all pairs on
    all datasets, or with `family="dataset"` those of each dataset. With `[[compare]]` or factors, only the
    pairs of the manifest are kept.

    Examples:
        >>> import tempfile
        >>> from spanwise.demo import generate
        >>> manifest = {
        ...     "predictions": "{system}.conll", "resamples": 0,
        ...     "datasets": {"demo": {"test": "gold.conll"}}, "systems": {"swapper": {}},
        ... }
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = generate(folder, sentences=60)
        ...     result = study_of("leaks", manifest, root=folder)
        >>> list(result.datasets)
        ['demo']

    Args:
        verb: "leaks" or "tuples".
        manifest: a TOML file, or a dict with its keys.
        root: the folder that paths in the manifest are relative to; by default, the folder of the manifest.
        family: "study" or "dataset"; by default, as the manifest says, else "study".
        options: keywords of the verb.

    Raises:
        ChoiceError: the verb has no such keyword, or systems are trained or have answers to be placed.
        InputError: the manifest or a file cannot be used.
    """
    if verb not in VERBS:
        raise unknown("verb of studies", verb, VERBS)
    how = VERBS[verb]
    read = (
        manifest_of(manifest, root=root)
        if isinstance(manifest, Mapping)
        else read_manifest(manifest, root=root)
    )
    family = family or str(read.settings.get("family", FAMILIES[0]))
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    for system in read.systems:
        if system.is_trained or system.answers is not None:
            what = "trained by the study" if system.is_trained else "answers that must be placed first"
            raise ChoiceError(
                f"the predictions of {system.name!r} are {what}, which {verb} of a manifest does not do.\n"
                "Give files of predictions."
            )
    for name in options:
        if name not in how.keywords and (how.reading is not None and name not in how.reading):
            raise unknown(f"keyword of spanwise.{verb}", name, how.keywords)
    shared = {
        name: value for name, value in read.settings.items() if name in how.keywords and name != "examples"
    }
    datasets = [found_dataset(read, dataset).opened(hold=False) for dataset in read.datasets]
    cells = [cell.opened(hold=False) for cell in found_cells(read)]
    plan = plan_of(datasets, cells)
    asking: dict[str, Callable[..., Any]] = {}
    rules: dict[str, LabelRules] = {}
    for dataset in datasets:
        name = dataset.dataset.name
        files = {cell.system: cell for cell in cells if cell.dataset == name and cell.runs}
        if not files:
            raise InputError(
                at(
                    read.location("datasets", dataset.dataset.key),
                    None,
                    f"no system has predictions for {name!r}.\nAdd files for it, or leave it out.",
                )
            )
        reading = dict(dataset.dataset.reading)
        if how.reading is not None:
            for key in reading:
                if key not in how.reading:
                    raise unknown(f"key of a manifest for spanwise {verb}", key, how.reading)
        train = [file.path for file in dataset.train]
        given = {
            **shared,
            **reading,
            **options,
            "train": (train if len(train) > 1 else train[0]) if train else None,
        }
        rules[name] = rules_of(given)
        asking[name] = _asking(how, name, dataset.test.path, _sources(files), given)
    documents: dict[str, Any] = {}
    missing: dict[str, list[MissingLabel]] = {}
    for name, ask in asking.items():
        with gathered_missing() as missing[name]:
            documents[name] = ask()
    _refuse_missing(missing, rules)
    kept = _kept(read, documents)
    correction = str(read.settings.get("correction", CORRECTION))
    tested = corrected(
        {
            name: PairedTests(
                comparisons=rows, letters_about="", interval={}, unit=documents[name].settings.unit
            )
            for name, rows in kept.items()
        },
        correction=correction,
        family=family,
        again=lambda name, pairs, shuffles, others: [
            row for row in asking[name](resamples=shuffles, examples=0).comparisons if row.systems in pairs
        ],
    )
    documents = {
        name: replace(document, comparisons=tested[name].comparisons) for name, document in documents.items()
    }
    tests = sum(
        row.primary is not None and row.primary.p is not None and not row.identical
        for one in tested.values()
        for row in one.comparisons
    )
    return how.document(
        spanwise=__version__,
        signature=_signature(verb, documents, family, correction, len(read.systems)),
        name=read.name,
        inputs=tuple(
            replace(row, dataset=name) for name, document in documents.items() for row in document.inputs
        ),
        settings=VerbStudySettings(
            manifest=read.path, family="dataset" if family == "dataset" else "study", correction=correction,
            tests=tests, command=command,
        ),
        datasets=documents,
        systems={system.name: _means(how, documents, system.name) for system in read.systems},
        plan=PlanNotes(
            missing=tuple(plan.missing), identical=tuple(plan.identical), shared=tuple(plan.shared)
        ),
        notes=(
            *_notes(documents), *(f"{name}: {row.note()}." for name, rows in missing.items() for row in rows)
        ),
    )  # fmt: skip


def _asking(
    how: _Verb, dataset: str, gold: Path, systems: Mapping[str, object], given: Mapping[str, Any]
) -> Callable[..., Any]:
    """A function that asks the verb of one dataset; its errors name the dataset."""

    def ask(**changed: Any) -> Any:
        try:
            return how.function(gold, systems, **{**given, **changed})
        except SpanwiseError as error:
            raise type(error)(f"{dataset}: {error}") from error

    return ask


def _sources(cells: Mapping[str, StudyCell]) -> dict[str, object]:
    """The file of each system, or its files by run if any system has several."""
    if all(len(cell.runs) == 1 and not cell.identical for cell in cells.values()):
        return {name: next(iter(cell.runs.values())).path for name, cell in cells.items()}
    return {name: {run: file.path for run, file in cell.runs.items()} for name, cell in cells.items()}


def _kept(read: Manifest, documents: Mapping[str, Asked]) -> dict[str, tuple[Comparison, ...]]:
    """The comparisons of each dataset that the manifest asks for."""
    wanted = [(frozenset((pair.first, pair.second)), pair.datasets) for pair in read.pairs]
    return {
        name: tuple(
            row
            for row in document.comparisons
            if any(
                pair == frozenset(row.systems) and (chosen is None or name in chosen)
                for pair, chosen in wanted
            )
        )
        for name, document in documents.items()
    }


def _means(how: _Verb, documents: Mapping[str, Asked], system: str) -> DatasetMeans:
    rows = [
        how.means(document, system)
        for document in documents.values()
        if system in (document.runs or document.systems)
    ]
    values = {
        score: [value for row in rows if (value := row[score]) is not None]
        for score in (rows[0] if rows else ())
    }
    return DatasetMeans(
        mean={score: sum(own) / len(own) if own else None for score, own in values.items()},
        datasets={score: len(own) for score, own in values.items()},
    )


def _refuse_missing(missing: Mapping[str, Sequence[MissingLabel]], rules: Mapping[str, LabelRules]) -> None:
    """Refuse a name that a rule on labels has, but no dataset with that rule."""
    asked = Counter((row.option, row.name) for own in rules.values() for row in own.missing((), ()))
    absent = Counter((row.option, row.name) for rows in missing.values() for row in rows)
    for row in (row for rows in missing.values() for row in rows):
        if absent[row.option, row.name] == asked[row.option, row.name]:
            there = {name for rows in missing.values() for one in rows for name in one.there}
            raise replace(row, there=tuple(sorted(there))).error("which no file has")


def _notes(documents: Mapping[str, Asked]) -> tuple[str, ...]:
    """The notes of all datasets; one that several have is given once, with their names."""
    about: dict[str, list[str]] = {}
    for name, document in documents.items():
        for note in document.notes:
            about.setdefault(note, []).append(name)
    return tuple(
        note if len(own) == len(documents) else f"{', '.join(own)}: {note}" for note, own in about.items()
    )


def _signature(verb: str, documents: Mapping[str, Asked], family: str, correction: str, systems: int) -> str:
    """The settings of the first dataset without its gold, and what is corrected together."""
    first = next(iter(documents.values())).signature.split("|")
    shared = [part for part in first if not part.startswith("gold:")]
    return "|".join([*shared, f"{verb}:{len(documents)}x{systems}", f"tests:{correction}.{family}"])
