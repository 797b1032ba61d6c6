"""Commands that take a manifest of several datasets in place of gold and predictions."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spanwise.cli.arguments import OptionGroup, engine_of, finish_document
from spanwise.errors import ChoiceError
from spanwise.settings import Setting

OVERALL = "overall"  # the name of all mentions, or tuples, in limits
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


def points_by_name(texts: Iterable[str], option: str, named: str, of_all: str) -> dict[str | None, float]:
    """Limits in points, as in `--max-leak PERSON=0.5` or `--max-leak 2`, by name; None stands for all.

    Args:
        named, of_all: what a limit is for in a message, with a name and without.
    """
    limits: dict[str | None, float] = {}
    for text in texts:
        name, _, points = text.rpartition("=")
        try:
            limits[name or None] = float(points)
        except ValueError:
            raise ChoiceError(
                f"{option} {text!r} is not a limit.\nWrite it as {option} {named}, or {option} {of_all}."
            ) from None
    return limits


def held(
    args: argparse.Namespace,
    document: Any,
    limits: Mapping[str | None, float],
    names_of: Callable[[Any], Iterable[str]],
    check: Callable[..., Sequence[Any]],
) -> int:
    """Show a document, and hold it, or that of each dataset, against limits; the exit status.

    A dataset is held against the limits of its own names, and of names that no dataset has, which is an
    error. A limit of `overall` is one of all, unless something is called so.
    """
    from spanwise.streams import write_message

    own = each(document)
    names = {dataset: {*names_of(one)} for dataset, one in own.items()}
    everywhere = set().union(*names.values())
    limits = {
        None if name == OVERALL and name not in everywhere else name: points
        for name, points in limits.items()
    }
    checked = []
    for dataset, one in own.items():
        elsewhere = everywhere - names[dataset]
        its_own = {name: points for name, points in limits.items() if name not in elsewhere}
        checked += [(dataset, limit) for limit in check(one, its_own, bound=args.floor_bound)]
    finish_document(args, document)
    for dataset, limit in checked:
        write_message(f"{dataset}: {limit.message}" if dataset else limit.message)
    return 0 if all(limit.passed for _, limit in checked) else 1
