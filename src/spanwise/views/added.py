"""Sections that other packages add to what is shown of a document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Document
from spanwise.registry import Registry
from spanwise.views import SHOWN, Section
from spanwise.views.cells import Block, Grid, note, words


class AddedSection(Struct, frozen=True):
    """A section that every surface shows: `function(document)` returns it, or None if it has nothing to say.

    `kinds` are the kinds of documents that it takes; by default, it is asked about all of them. The section
    stands under the name given here, whatever its own is.

    Examples:
        >>> from spanwise.views import Section, cells
        >>> def inputs(document):
        ...     table = cells.table(["files"], [[cells.count(len(document.inputs))]])
        ...     return Section("inputs", cells.words("How many files"), (table,))
        >>> AddedSection("inputs", "how many files", inputs, kinds=("split",)).name
        'inputs'
    """

    name: str
    summary: str
    function: Callable[[Any], Section | None]
    kinds: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The package that it comes from."""
        return str(getattr(self.function, "__module__", "")).partition(".")[0]


SECTIONS: Registry[AddedSection] = Registry("section", group="spanwise.sections")


def added(document: Document, taken: Collection[str] = ()) -> list[Section]:
    """The sections that packages add to a document; of one that fails, whose it is and what is wrong.

    Args:
        taken: the names of the document's own sections.
    """
    made = list(_made(document, taken))
    return [*made, *(_failure(name, str(error)) for name, error in SECTIONS.broken.items())]


def _made(document: Document, taken: Collection[str]) -> Iterator[Section]:
    for adding in SECTIONS:
        if adding.kinds and document.kind not in adding.kinds:
            continue
        try:
            section = adding.function(document)
            wrong = "" if section is None else _wrong(adding.name, section, taken)
        except Exception as error:  # somebody else's code: the rest of the document is shown all the same
            section, wrong = None, f"failed: {type(error).__name__}: {error}"
        if wrong:
            why = f"This section of the package {adding.package} {wrong}."
            yield _failure(adding.name, f"{why} Please report it to the authors of that package.")
        elif section is not None:
            yield replace(section, name=adding.name)


def _wrong(name: str, section: object, taken: Collection[str]) -> str:
    """Why no surface could show what a package returned; empty if all can."""
    if name in taken:
        return "has the name of another one"
    if not isinstance(section, Section):
        return f"is a {type(section).__name__}, not a Section"
    for block in section.blocks:
        if not isinstance(block, Block):
            return f"has a {type(block).__name__} in the place of a table or of sentences"
        if isinstance(block, Grid) and any(len(row) != len(block.columns) for row in block.rows):
            return f"has a table with {len(block.columns)} columns and a row of another length"
    return ""


def _failure(name: str, why: str) -> Section:
    return Section(name, words("Section {}", name), (note(why.replace("\n", " "), "warn"),), on=SHOWN)
