"""What every surface shows of a document, from the document alone: a verdict, findings and sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Document, DocumentLike, Input
from spanwise.document.dataset import DatasetFacts
from spanwise.document.loading import as_document
from spanwise.document.scores import Comparison
from spanwise.views import cells
from spanwise.views.cells import EVERYWHERE as EVERYWHERE
from spanwise.views.cells import PAGE as PAGE
from spanwise.views.cells import PAPER as PAPER
from spanwise.views.cells import SCREEN as SCREEN
from spanwise.views.cells import SHOWN as SHOWN
from spanwise.views.cells import Block, Cell, Clause, Grid, Phrase, Surface, table, words


class Section(Struct, frozen=True):
    """One part of a document: a title, a note, and tables, sentences or charts.

    Attributes:
        name: the name of its table in papers, and of its place on the page.
        caption: the caption in papers; by default the note.
        on: the surfaces that show it.
        group: the title over this section and those that follow on a page, such as a system's name.

    Examples:
        >>> from spanwise.views import cells
        >>> table = cells.table(["moon", "craters"], [["Luna", cells.count(5185)]])
        >>> Section("moons", cells.words("Moons of {}", "Earth"), (table,)).table.rows[0][0]
        'Luna'
    """

    name: str
    title: Clause
    blocks: tuple[Block, ...]
    note: str = ""
    caption: str = ""
    on: tuple[Surface, ...] = EVERYWHERE
    group: str = ""

    def is_on(self, surface: Surface) -> bool:
        """Whether a surface shows it: not if all it has are tables for others."""
        others = (isinstance(block, Grid) and surface not in block.on for block in self.blocks)
        return surface in self.on and not all(others)

    @property
    def table(self) -> Grid | None:
        """Its first table that has rows and is for papers, or None."""
        tables = (block for block in self.blocks if isinstance(block, Grid) and "paper" in block.on)
        return next((table.shown_on("paper") for table in tables if table.rows), None)


class Remark(Struct, frozen=True):
    """Something to know before reading on; `check` if it is a reason for doubt."""

    strong: str
    rest: str
    check: bool = False
    link: str = ""
    command: str = ""  # what shows it, or does it


class View(Struct, frozen=True, kw_only=True):
    """What there is to show of a document.

    Attributes:
        about: what the page is about, over the verdict.
        verdict: the answer in a sentence.
        findings: what else to know first.
        statements: sentences that support the verdict.
        notes: warnings.
        inputs: the files, listed at the top of a screen with facts about the `dataset`.
        facts: what a screen says at the top if it does not list files.
        systems: the names of systems in the order of their colours.
        tables: the names of tables in the order of papers, if that is not the order of the sections.
    """

    title: str
    about: Clause
    verdict: Clause
    sections: tuple[Section, ...]
    findings: tuple[Remark, ...] = ()
    statements: tuple[Clause, ...] = ()
    notes: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    dataset: DatasetFacts | None = None
    facts: tuple[Phrase, ...] = ()
    systems: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def on(self, surface: Surface) -> list[Section]:
        """The sections that a surface shows; papers show tables alone."""
        shown = [section for section in self.sections if section.is_on(surface)]
        if surface != "paper":
            return shown
        if self.tables:
            shown.sort(key=lambda section: self.tables.index(section.name))
        return [section for section in shown if section.table]


VIEWS = {
    "agreement": "agreement:agreement_view",
    "changes": "changes:changes_view",
    "comparison": "evaluation:evaluation_view",
    "confidence": "confidence:confidence_view",
    "description": "description:description_view",
    "evaluation": "evaluation:evaluation_view",
    "leaks": "leaks:leaks_view",
    "leaks-study": "datasets:leak_study_view",
    "curve": "planning:curve_view",
    "placement": "placement:placement_view",
    "plan": "planning:plan_view",
    "slices": "slices:slices_view",
    "split": "dataset:split_view",
    "study": "study:study_view",
    "suspects": "suspects:suspects_view",
    "tuples": "tuples:tuples_view",
    "tuples-study": "datasets:tuple_study_view",
}


def tabled(
    name: str, title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str
) -> Section:
    """A section that only papers have: one table."""
    return Section(name, words(title), (table(header, rows),), caption=caption, on=PAPER)


def differences(
    comparisons: Iterable[Comparison],
    what: str,
    how: str,
    *,
    part: str = "part",
    score: str = "score",
    named: Callable[[str], str] = str,
) -> Section:
    """The paired tests of all pairs, for papers: what was compared, and how.

    `part` and `score` are titles, and `named` is how a score is called.
    """
    rows = [
        (*pair.systems, " ".join(test.path[:-1]), named(test.path[-1]), cells.signed(test.difference),
         cells.interval(test.interval, differs=True), cells.p_value(test.p_corrected))
        for pair in comparisons
        for test in pair.scores
    ]  # fmt: skip
    titles = ("first", "second", part, score, "difference", "interval", "p")
    caption = f"{what} compared, first minus second; {how}. Intervals are not corrected."
    return tabled("differences", "Differences", titles, rows, caption)


def has_view(document: Document) -> bool:
    """Whether a document is shown through its view."""
    return document.kind in VIEWS


def view(document: DocumentLike, *, short: bool = False) -> View:
    """The view of a document: what every surface shows of it, with the sections that packages add.

    Args:
        short: whether the papers of a study name attributes as eLen, eCon.

    Examples:
        >>> import spanwise
        >>> leaks = spanwise.leaks([["B-PER", "O"]], {"crf": [["O", "O"]]}, resamples=0)
        >>> shown = view(leaks)
        >>> str(shown.verdict), [section.name for section in shown.on("paper")]
        ('crf: 1 of 1 sentence still shows a mention.', ['leaks'])
    """
    document = as_document(document)
    module, function = VIEWS[document.kind].split(":")
    make: Callable[..., View] = getattr(import_module(f"spanwise.views.{module}"), function)
    own = make(document, short=True) if short and document.kind == "study" else make(document)
    from spanwise.views.added import added  # which needs what is above

    more = added(document, own.tables or {section.name for section in own.sections})
    tables = (*own.tables, *(section.name for section in more)) if own.tables else ()
    return replace(own, sections=(*own.sections, *more), tables=tables)
