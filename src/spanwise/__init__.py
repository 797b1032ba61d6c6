"""spanwise tells why one system scores better than another on labeled spans, and whether it is real."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names and the module each lives in; loaded when first used, so that
# `import spanwise` and `spanwise --help` stay instant.
_HOMES = {
    "Corpus": "corpus",
    "Mentions": "corpus",
    "Annotation": "corpus",
    "SpanwiseError": "errors",
    "InputError": "errors",
    "ChoiceError": "errors",
    "MissingExtra": "errors",
}

if TYPE_CHECKING:
    from spanwise.corpus import Annotation, Corpus, Mentions
    from spanwise.errors import ChoiceError, InputError, MissingExtra, SpanwiseError

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spanwise' has no attribute {name!r}")
    return getattr(import_module(f"spanwise.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
