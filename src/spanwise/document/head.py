"""What every document begins with and can do: one family of typed, frozen values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from spanwise.registry import reach

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 2

Scalar: TypeAlias = str | int | float | bool | None
Interval: TypeAlias = tuple[float | None, float | None]


class Input(Struct, frozen=True, kw_only=True):
    """One file or object that was read, and how."""

    role: str
    path: str | None = None
    sha256: str | None = None
    format: str | None = None
    scheme: str | None = None
    repairs: int = 0
    system: str | UnsetType = UNSET


class Document(Struct, frozen=True, kw_only=True):
    """The head of a document, and the forms that it can be given.

    Each kind of document is a subclass with its own fields. Reports look up what they show by the kind:
    `reports/terminal/KIND.py`, `reports/html/KIND.py` and so on.
    """

    spanwise: str
    schema: int = SCHEMA
    kind: str
    signature: str = ""
    inputs: tuple[Input, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document as plain dicts and lists; undefined numbers are None."""
        import msgspec

        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def to_json(self, *, indent: int = 1) -> str:
        """The document as JSON text."""
        import msgspec

        return msgspec.json.format(msgspec.json.encode(self), indent=indent).decode()

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The screen: what the command line shows of this document."""
        text: str = reach("reports.terminal:render")(self, width=width, color=color)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained page, written to `path` where it is given."""
        text: str = reach("reports.html:render")(self)
        if path is not None:
            reach("formats:write_atomically")(path, text)
        return text
