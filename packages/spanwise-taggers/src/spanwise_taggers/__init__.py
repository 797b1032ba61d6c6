"""The taggers of the papers, trained by name, for studies that have no predictions of their own."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False

__all__ = ["Job", "Trained", "load", "names", "parse", "predict", "train", "train_all"]

_HOMES = {
    "Job": "api",
    "Trained": "api",
    "load": "saving",
    "names": "naming",
    "parse": "naming",
    "predict": "api",
    "train": "api",
    "train_all": "api",
}

if TYPE_CHECKING:
    from spanwise_taggers.api import Job, Trained, predict, train, train_all
    from spanwise_taggers.naming import names, parse
    from spanwise_taggers.saving import load


def __getattr__(name: str) -> object:
    # Lazy, so that PyTorch is only imported with the first name that needs it.
    if name not in _HOMES:
        raise AttributeError(f"module 'spanwise_taggers' has no attribute {name!r}")
    return getattr(import_module(f"spanwise_taggers.{_HOMES[name]}"), name)
