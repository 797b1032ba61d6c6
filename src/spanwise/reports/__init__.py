"""Everything that is made from a result document alone: screens, pages, figures, tables, and exports."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from msgspec import Struct

from spanwise.document import DocumentLike
from spanwise.errors import InputError
from spanwise.registry import Registry


class Report(Struct, frozen=True):
    """One way to show a document: `function(document, **choices)` returns text or bytes.

    `takes` names the choices that `spanwise export` passes on: `fail_under` and `floors`; `checks`,
    `changes` and `notes` (the outcome of thresholds and of the comparison with an earlier result);
    `earlier` (that result); `name` and `dataset`. `kinds` are the kinds of documents that it takes; by
    default, it takes all of them.

    Examples:
        >>> import spanwise
        >>> signature = Report("signature", "how it was made", lambda document: document.signature, ".txt")
        >>> result = spanwise.evaluate([["B-PER"]], {"crf": [["B-PER"]]}, resamples=0)
        >>> signature.render(result).partition("|")[0]
        'spanwise'
    """

    name: str
    summary: str
    function: Callable[..., str | bytes]
    suffix: str
    extra: str | None = None
    takes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def render(self, document: DocumentLike, **choices: object) -> str | bytes:
        """The report on a document, as text or bytes; refuses a kind of document that it does not take."""
        from spanwise.document.loading import as_document  # so that help does not import the documents

        given = as_document(document)
        if self.kinds and given.kind not in self.kinds:
            raise InputError(
                f"the report {self.name!r} takes no document of kind {given.kind!r}.\n"
                f"It takes: {', '.join(self.kinds)}."
            )
        return self.function(given, **choices)


REPORTS: Registry[Report] = Registry("report", group="spanwise.reports")


def render(document: DocumentLike, name: str | Report, **choices: object) -> str | bytes:
    """Render the document with the report called `name`, as text or bytes.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER"]], {"crf": [["B-PER"]]}, resamples=0)
        >>> render(result, "flat").splitlines()[1]
        ' "precision": 1.0,'
    """
    return REPORTS.find(name).render(document, **choices)


def save(document: DocumentLike, path: str | Path, name: str | Report, **choices: object) -> None:
    """Write the report to a temporary file and rename it to `path`, so that no partial file is ever seen."""
    from spanwise.formats import write_atomically

    write_atomically(path, render(document, name, **choices))


def _lazy(module: str, function: str) -> Callable[..., str | bytes]:
    """A function that imports its module only when it is called: most reports need heavy packages."""

    def call(document: DocumentLike, **choices: object) -> str | bytes:
        report: Callable[..., str | bytes] = getattr(import_module(f"spanwise.reports.{module}"), function)
        return report(document, **choices)

    return call


for _name, _summary, _target, _suffix, _extra, _takes, *_kinds in (
    ("flat", "scalars with stable names, as JSON", "outlets:flat_json", ".json", None, ()),
    ("rows", "every score as one row, as CSV", "outlets:rows_csv", ".csv", None, ()),
    (
        "summary",
        "Markdown, for a GitHub step summary",
        "outlets:step_summary",
        ".md",
        None,
        ("checks", "changes", "notes", "earlier"),
    ),
    ("junit", "JUnit XML of the thresholds", "outlets:junit", ".xml", None, ("checks",)),
    (
        "annotations",
        "workflow commands that mark missed thresholds and broken mentions on GitHub",
        "broken:github_annotations",
        ".txt",
        None,
        ("checks", "earlier"),
    ),
    (
        "model-index",
        "YAML for the front matter of a model card",
        "outlets:model_index",
        ".yml",
        None,
        ("name", "dataset"),
        "evaluation",
        "comparison",
        "study",
    ),
    (
        "dataset-card",
        "a Croissant-style card of the test data, as JSON-LD",
        "outlets:dataset_card",
        ".json",
        None,
        ("dataset",),
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
    REPORTS.add(Report(_name, _summary, _lazy(*_target.split(":")), _suffix, _extra, _takes, tuple(_kinds)))
