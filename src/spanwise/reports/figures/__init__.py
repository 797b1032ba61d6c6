"""The charts of the page and the figures of the papers, as Altair charts and as SVG, PDF and PNG files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.document import DocumentLike
from spanwise.document.loading import as_document
from spanwise.errors import MissingExtra

if TYPE_CHECKING:
    import altair as alt

    from spanwise.reports._charts.marks import Drawing

FORMATS = ("svg", "pdf", "png")
WIDTHS = {1: 240.0, 2: 500.0}  # in points, for one and two columns, as in ACL and IEEE papers
BACKGROUNDS = ("white", "transparent")


@contextmanager
def _naming_extra() -> Iterator[None]:
    """Say which extra to install if a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "spanwise":
            raise
        raise MissingExtra.of(error.name or "altair", "report", "drawing figures") from error


@_naming_extra()
def figures(document: DocumentLike, *, background: str = "white") -> dict[str, alt.LayerChart]:
    """The charts of a result document by name, to show in a notebook or to customise.

    An evaluation has `score`, `labels`, `attribute-NAME`, and for every system
    `gains-SYSTEM`, `shares-`, `confusion-`, `tough-`, `slices-` and `diagnosis-SYSTEM`;
    a study has `holistic`, `radar-zeta`, `radar-rho`, `drivers`, `factor-NAME`,
    `buckets-ATTRIBUTE` with a panel per dataset, `critical-difference` and `increase-A-B`, and also
    the charts of an evaluation as means over runs, named `labels/DATASET` and so on with several datasets;
    confidence scores have `reliability-SYSTEM`, `precision-recall-SYSTEM` and
    `risk-coverage-SYSTEM`; agreement has `pairs`, `levels` and `ceiling`; leaks have `levels`, `price` and
    `labels`. Charts for which the document has no numbers are left out.
    """
    from spanwise.reports.figures._drawings import drawings

    return _charts(drawings(as_document(document)), background)


@_naming_extra()
def names(document: DocumentLike) -> list[str]:
    """The names of `figures`, without drawing them."""
    from spanwise.reports.figures._drawings import drawings

    return [drawing.name for drawing in drawings(as_document(document))]


@_naming_extra()
def paper(
    document: DocumentLike, name: str, *, labels: Sequence[str] = (), background: str = "white"
) -> dict[str, alt.LayerChart]:
    """The charts that reproduce one figure of a paper, by names that begin with `name`.

    `papers()` lists the figures. `labels` selects the labels of a confusion matrix; all others are added up.
    If the document lacks the numbers for a figure, the error says what is missing.
    """
    from spanwise.reports.figures._drawings import paper_drawings

    return _charts(paper_drawings(as_document(document), name, labels), background)


@_naming_extra()
def papers() -> dict[str, str]:
    """The names of the papers' figures, and what each shows."""
    from spanwise.reports.figures._drawings import summaries

    return summaries()


@_naming_extra()
def save(
    document: DocumentLike,
    folder: str | Path,
    *,
    formats: Sequence[str] = ("svg",),
    names: Sequence[str] = (),
    papers: Sequence[str] = (),
    labels: Sequence[str] = (),
    background: str = "white",
    columns: int | None = None,
) -> list[Path]:
    """Write charts to `folder`, which is created if needed, and return the files in order.

    Args:
        formats: any of `svg`, `pdf` and `png`; PDF files embed their fonts.
        names: the charts to write; by default all, or none if `papers` is given.
        papers: figures of papers, by name.
        labels: the labels that a paper's confusion matrix shows; all others are added up.
        columns: 1 or 2 for figures as wide as one column of a paper (240 points) or both (500 points);
            by default, figures have the size they have on the page.
    """
    document = as_document(document)
    from spanwise.errors import ChoiceError, unknown
    from spanwise.formats import make_folder, write_atomically
    from spanwise.reports.figures._drawings import drawings
    from spanwise.reports.figures._files import convert

    for form in formats:
        if form not in FORMATS:
            raise unknown("figure format", form, FORMATS)
    if background not in BACKGROUNDS:
        raise unknown("background", background, BACKGROUNDS)
    if columns is not None and columns not in WIDTHS:
        raise ChoiceError(f"columns is {columns!r}, but must be 1 or 2.\nChoose the width of the figures.")
    charts: dict[str, alt.LayerChart] = {}
    for name in papers:
        charts |= paper(document, name, labels=labels, background=background)
    if names or not papers:
        made = {drawing.name: drawing for drawing in drawings(document, narrow=columns == 1)}
        for name in names:
            if name not in made:
                raise unknown("figure of this result", name, made)
        charts |= _charts([made[name] for name in names or made], background)
    written = []
    for name, chart in charts.items():
        for form, content in convert(chart, formats, width=WIDTHS.get(columns or 0)).items():
            # Created only now: if drawing fails for lack of memory, no empty folder is left behind.
            path = make_folder(folder) / f"{file_name(name)}.{form}"
            write_atomically(path, content)
            written.append(path)
    return written


def _charts(drawings: Sequence[Drawing], background: str) -> dict[str, alt.LayerChart]:
    from spanwise.reports._charts import PRINT
    from spanwise.reports._charts.marks import unchecked

    # Altair validates each chart as a whole when it is shown or saved.
    with unchecked():
        return {drawing.name: drawing.altair(PRINT, background=background) for drawing in drawings}


def file_name(name: str) -> str:
    """A file name that every file system accepts; letters of all scripts are kept."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.") or "figure"
