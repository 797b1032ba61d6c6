"""Commands that take a manifest of several datasets in place of gold and predictions."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spanwise.cli.arguments import OptionGroup, engine_of
from spanwise.errors import ChoiceError
from spanwise.settings import Setting

# Keywords that the manifest, or the command itself, says.
_NOT_OF_DATASETS = ("gold", "train", "name", "buckets", "command", "engine")

MANIFEST = OptionGroup("with a manifest in place of the files", [
    Setting("root", "the folder that its paths are relative to (default: its own)", metavar="FOLDER"),
    Setting(
        "family", "which tests are corrected together: of all datasets (default), or of each",
        choices=("study", "dataset"),
    ),
])  # fmt: skip


def is_manifest(args: argparse.Namespace) -> bool:
    """Whether the files are a manifest: one file that ends in .toml, without predictions."""
    return not args.systems and str(args.gold).endswith(".toml")


def over_manifest(args: argparse.Namespace, verb: str, function: Callable[..., object], **given: Any) -> Any:
    """What a verb says of every dataset of a manifest, whose settings give way to options that were given."""
    from inspect import signature

    from spanwise.studies.verbs import study_of

    if getattr(args, "train", None):
        raise ChoiceError("--train is not for a manifest.\nGive train under each of its datasets.")
    options = dict(given)
    keywords = {
        part.name: part.default
        for part in signature(function).parameters.values()
        if part.kind is part.KEYWORD_ONLY and part.name not in _NOT_OF_DATASETS
    }
    options |= {
        name: value
        for name, default in keywords.items()
        if (value := getattr(args, name, None)) is not None and value != default
    }
    with engine_of(args) as engine:
        if engine is not None:
            options["engine"] = engine
        return study_of(
            verb, args.gold, root=args.root, family=args.family,
            command=shlex.join(["spanwise", *args.command_line]), **options,
        )  # fmt: skip


def each(document: Any) -> dict[str, Any]:
    """The document of each dataset; of a document of one dataset, itself under an empty name."""
    from spanwise.document.datasets import VerbStudy

    return dict(document.own) if isinstance(document, VerbStudy) else {"": document}


def limits_of(
    limits: Mapping[str | None, float], own: Iterable[str], everywhere: Iterable[str]
) -> dict[str | None, float]:
    """The limits that a dataset is held against: those of its `own` names, and of names that none has."""
    elsewhere = {*everywhere} - {*own}
    return {name: points for name, points in limits.items() if name not in elsewhere}
