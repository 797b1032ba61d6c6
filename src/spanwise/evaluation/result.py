"""Results: what was found of every system, inspectable in Python and written as one document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spanwise.buckets import Bucketing
from spanwise.corpus import Mentions
from spanwise.description import SCHEMA
from spanwise.errors import ChoiceError, InputError, UnknownKey, unknown
from spanwise.evaluation._inputs import Inputs
from spanwise.evaluation._system import Counted, Evaluated
from spanwise.evaluation._units import packed
from spanwise.formats import read_text, write_atomically
from spanwise.matching import Matching
from spanwise.registry import reach

if TYPE_CHECKING:
    from spanwise.document.slices import Slices

_TOGETHER = 500  # items of a list that are encoded together


class View(Mapping[str, Any]):
    """A part of a result document: its keys are attributes too, and nothing can be changed.

    Examples:
        >>> View({"overall": {"f1": 0.5}}).overall.f1
        0.5
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def __getitem__(self, key: str) -> Any:
        if key not in self._content:
            raise UnknownKey(_not_here(key, self._content))
        value = self._content[key]
        return View(value) if isinstance(value, Mapping) else value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._content:
            raise AttributeError(_not_here(name, self._content))
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __dir__(self) -> list[str]:
        return [key for key in self._content if key.isidentifier()]

    def __repr__(self) -> str:
        return json.dumps(self._content, indent=1, ensure_ascii=False)


def _not_here(name: str, content: Mapping[str, Any]) -> str:
    usual = f"\nThe usual score is exact.overall.{name}." if name in ("f1", "precision", "recall") else ""
    listed = f"there is no {name!r} here.\nThere are: {', '.join(map(str, content)) or 'none'}."
    return listed + (usual if "exact" in content else "")


class SystemResult(View):
    """What was found of one system; `matching` tells what happened to each mention."""

    def __init__(self, name: str, content: Mapping[str, Any], evaluated: Evaluated | None) -> None:
        super().__init__(content)
        self.name = name
        self._kept = evaluated

    def __repr__(self) -> str:
        return f"<spanwise.SystemResult {self.name}: F1 {_points(self._content)}; {', '.join(self)}>"

    @property
    def _evaluated(self) -> Evaluated:
        if self._kept is None:
            raise ChoiceError(
                "the mentions of a streamed evaluation are not kept.\nLeave memory out to inspect them."
            )
        return self._kept

    @property
    def matching(self) -> Matching:
        """For each gold and each predicted mention its outcome and its partner."""
        return self._evaluated.matching

    @property
    def gold(self) -> Mentions:
        """The gold mentions, in the order of the matching."""
        return self._evaluated.case.gold

    @property
    def predicted(self) -> Mentions:
        """The predicted mentions in the gold file's positions, in the order of the matching."""
        return self._evaluated.case.predicted

    def events(self) -> list[dict[str, Any]]:
        """One row for everything that is counted: the outcome, and both mentions where there are two."""
        gold, predicted = self.gold.rows(), self.predicted.rows()
        keys = ("sentence", "start", "end", "label")
        return [
            {
                "outcome": outcome,
                "turn": turn,
                "gold": dict(zip(keys, gold[g], strict=True)) if g >= 0 else None,
                "predicted": dict(zip(keys, predicted[p], strict=True)) if p >= 0 else None,
            }
            for g, p, outcome, turn in self.matching.events().rows()
        ]


class Kept(Protocol):
    """What a result keeps beside its summary: counts always, mentions where they fit into memory."""

    @property
    def counted(self) -> Mapping[str, Counted]: ...
    @property
    def bucketings(self) -> Mapping[str, Bucketing]: ...
    @property
    def inputs(self) -> Inputs | None: ...
    def evaluated(self, name: str) -> Evaluated | None: ...
    def examples(self, settings: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]: ...


class Result:
    """The result of an evaluation: one dataset, any number of systems.

    `result["name"]` is one system, `result.dataset` the test set; `to_dict()` is the
    whole document, from which every report is made.
    """

    def __init__(self, summary: dict[str, Any], kept: Kept) -> None:
        self._summary = summary
        self._kept = kept

    def __getitem__(self, name: str) -> SystemResult:
        if name not in self._summary["systems"]:
            raise UnknownKey(str(unknown("system", name, self)))
        return SystemResult(name, self._summary["systems"][name], self._kept.evaluated(name))

    if not TYPE_CHECKING:  # type checkers find such slips themselves

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # what failed inside a property tells more
            told = f"a result has no {name!r}."
            if not name.startswith("_") and len(self):
                told += f"\nScores stand under their system: result[{next(iter(self))!r}].exact.overall.f1."
            raise AttributeError(told)

    def __iter__(self) -> Iterator[str]:
        return iter(self._summary["systems"])

    def __len__(self) -> int:
        return len(self._summary["systems"])

    @property
    def systems(self) -> dict[str, SystemResult]:
        """All systems by name."""
        return {name: self[name] for name in self}

    @property
    def dataset(self) -> View:
        """What is known of the test set alone."""
        return View(self._summary["dataset"])

    @property
    def comparisons(self) -> list[View]:
        """The paired tests between systems."""
        return [View(one) for one in self._summary["comparisons"]]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The few things to know first."""
        return list(self._summary["findings"])

    @property
    def signature(self) -> str:
        """Every setting that shapes a number, in one line."""
        return str(self._summary["signature"])

    @property
    def summary(self) -> dict[str, Any]:
        """The document without its sentences and without counts per unit."""
        return self._summary

    @cached_property
    def _document(self) -> dict[str, Any]:
        sentences, about = self._kept.examples(self._summary["settings"])
        settings = self._summary["settings"]
        units = {
            "kind": settings["unit"],
            "number": settings["units"],
            "systems": {name: packed(one.measures) for name, one in self._kept.counted.items()},
        }
        return {**self._summary, "examples": about, "units": units, "sentences": sentences}

    def to_dict(self) -> dict[str, Any]:
        """The result document: plain lists, dicts, strings and numbers."""
        return self._document

    def to_json(self, path: str | Path | None = None) -> str:
        """The result document as JSON, also written to `path` where one is given."""
        return write_json(self._document, path)

    def edges(self) -> dict[str, Any]:
        """The buckets of every attribute, to be used for another system or dataset as `edges=`."""
        return {name: one.to_dict() for name, one in self._kept.bucketings.items()}

    def find_slices(self, **options: Any) -> Slices:
        """Where the systems are weak or differ, under the keywords of `spanwise.find_slices`."""
        if self._kept.inputs is None:
            raise ChoiceError(
                "the mentions of a streamed evaluation are not kept.\nLeave memory out to find slices."
            )
        found: Slices = reach("slices:slices_of")(self._kept.inputs, **options)
        return found

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The terminal screen."""
        return str(reach("reports.terminal:render")(self._summary, width=width, color=color))

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one HTML page, also written to `path` where one is given."""
        page = str(reach("reports.html:render")(self.to_dict()))
        if path is not None:
            write_atomically(path, page)
        return page

    def flat(self) -> dict[str, float]:
        """The main scores of every system as scalars with stable names."""
        flat: dict[str, float] = reach("reports.outlets:flat")(self._summary)
        return flat

    def to_pandas(self) -> Any:
        """Every score as one row of a pandas frame."""
        return reach("reports.outlets:to_pandas")(self._summary)

    def to_polars(self) -> Any:
        """Every score as one row of a polars frame."""
        return reach("reports.outlets:to_polars")(self._summary)

    def to_nervaluate(self, system: str | None = None) -> dict[str, Any]:
        """The relaxed scores in the structure of nervaluate 1.x."""
        one = self[system or next(iter(self))]
        converted: dict[str, Any] = reach("compat.nervaluate:to_nervaluate")(one)
        return converted

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        scores = ", ".join(f"{name}: F1 {_points(one)}" for name, one in self._summary["systems"].items())
        return f"<spanwise.Result {self._summary['dataset']['name']}: {scores}>"

    def _repr_html_(self) -> str:
        return str(reach("reports.notebook:table")(self._summary))


def _points(system: Mapping[str, Any]) -> str:
    value = system["exact"]["overall"]["f1"]
    return "n/a" if value is None else f"{100 * value:.2f}"


def write_json(document: Mapping[str, Any], path: str | Path | None = None) -> str:
    """A document as JSON, the same bytes for the same content; undefined numbers are null."""
    text = "".join(json_pieces(document))
    if path is not None:
        write_atomically(path, text)
    return text


def json_pieces(document: Mapping[str, Any]) -> Iterator[str]:
    """The JSON of a document, a key at a time, and of a long list, such as the sentences, some items a time.

    The encoder holds every number and name of what it encodes as an object of its own until it is done.
    """
    before = "{"
    for key, value in document.items():
        yield f"{before}{_json(str(key))}:"
        before = ","
        if isinstance(value, list) and len(value) > _TOGETHER:
            for at in range(0, len(value), _TOGETHER):
                yield "," if at else "["
                yield _json(value[at : at + _TOGETHER])[1:-1]
            yield "]"
        else:
            yield _json(value)
    yield "}\n" if document else "{}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def load(path: str | Path) -> dict[str, Any]:
    """The result document in a file that `--json` or `to_json` wrote.

    Raises:
        InputError: the file is missing, no result document, or was made by a later spanwise.
    """
    try:
        document = json.loads(read_text(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(
            f"{path}{line}: this is not a result document.\nMake one with spanwise evaluate … --json FILE."
        ) from error
    if not isinstance(document, dict) or "spanwise" not in document or "schema" not in document:
        raise InputError(
            f"{path}: this JSON is not a result document of spanwise.\n"
            "Make one with spanwise evaluate … --json FILE."
        )
    if not isinstance(document["schema"], int) or document["schema"] > SCHEMA:
        raise InputError(
            f"{path}: the document has schema {document['schema']!r}, this spanwise reads up to {SCHEMA}.\n"
            "Install a newer spanwise, or make the document anew."
        )
    return document
