"""What is made only from a result document: screens, pages, figures, tables and files for other tools."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from spanwise.document import DocumentLike
from spanwise.registry import Registry


class Report(Struct, frozen=True):
    """One way to show a document: `function(document, **choices)` gives text or bytes.

    `takes` names the choices that `spanwise export` hands on: `fail_under` and `floors`; `checks`,
    `changes` and `notes` (the outcome of these and of an earlier result); `name`, `dataset`.
    """

    name: str
    summary: str
    function: Callable[..., str | bytes]
    suffix: str
    extra: str | None = None
    takes: tuple[str, ...] = ()


REPORTS: Registry[Report] = Registry("report", group="spanwise.reports")


def render(document: DocumentLike, name: str | Report, **choices: object) -> str | bytes:
    """The document in the form called `name`, as text or bytes.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER"]], {"crf": [["B-PER"]]}, resamples=0)
        >>> render(result, "flat").splitlines()[1]
        ' "precision": 1.0,'
    """
    return REPORTS.find(name).function(document, **choices)


def save(document: DocumentLike, path: str | Path, name: str | Report, **choices: object) -> None:
    """Write the report beside `path` and rename, so that no half-written file is ever met."""
    from spanwise.formats import write_atomically

    write_atomically(path, render(document, name, **choices))


def _lazy(module: str, function: str) -> Callable[..., str | bytes]:
    """A function of a module that is imported when it is first called: most reports need heavy packages."""

    def call(document: DocumentLike, **choices: Any) -> str | bytes:
        report: Callable[..., str | bytes] = getattr(import_module(f"spanwise.reports.{module}"), function)
        return report(document, **choices)

    return call


for _name, _summary, _place, _suffix, _extra, _takes in (
    ("flat", "scalars with stable names, as JSON", "outlets:flat_json", ".json", None, ()),
    ("rows", "every score as one row, as CSV", "outlets:rows_csv", ".csv", None, ()),
    (
        "summary",
        "Markdown, for a GitHub step summary",
        "outlets:step_summary",
        ".md",
        None,
        ("checks", "changes", "notes"),
    ),
    ("junit", "JUnit XML of the thresholds", "outlets:junit", ".xml", None, ("checks",)),
    (
        "model-index",
        "YAML for the front matter of a model card",
        "outlets:model_index",
        ".yml",
        None,
        ("name", "dataset"),
    ),
    ("terminal", "the screen that evaluate shows", "terminal:render", ".txt", None, ()),
    (
        "html",
        "one self-contained page with every chart and the examples",
        "html:render",
        ".html",
        "report",
        (),
    ),
):
    REPORTS.add(Report(_name, _summary, _lazy(*_place.split(":")), _suffix, _extra, _takes))
