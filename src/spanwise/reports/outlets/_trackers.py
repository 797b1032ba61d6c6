"""Scores into MLflow and Weights & Biases, where they are installed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from spanwise.document.head import Document
from spanwise.document.loading import as_document
from spanwise.errors import MissingExtra
from spanwise.reports._wording import visible
from spanwise.reports.outlets._flat import flat


def log_mlflow(
    document: Mapping[str, Any] | Document, *, prefix: str = "", step: int | None = None, mlflow: Any = None
) -> None:
    """Log every defined scalar as a metric of the active MLflow run, and the signature as a tag.

    MLflow takes letters, digits and `_ - . / : ` in names; other characters of labels become `_`.

    Args:
        mlflow: the module or a stand-in with `log_metrics` and `set_tag`; imported when not given.
    """
    typed = as_document(document)
    target = mlflow if mlflow is not None else _imported("mlflow", "logging to MLflow")
    target.log_metrics(
        {re.sub(r"[^\w\-./: ]", "_", name): value for name, value in _defined(typed, prefix)}, step=step
    )
    if typed.signature:
        target.set_tag("spanwise.signature", visible(typed.signature)[:5000])


def log_wandb(
    document: Mapping[str, Any] | Document, *, prefix: str = "", step: int | None = None, run: Any = None
) -> None:
    """Log every defined scalar to a Weights & Biases run, and put the signature into its summary.

    Args:
        run: what `wandb.init` gave back; the current run when not given.
    """
    typed = as_document(document)
    target = run if run is not None else _imported("wandb", "logging to Weights & Biases").run
    if target is None:
        raise MissingExtra(
            "there is no Weights & Biases run to log to.\nCall wandb.init() first, or pass run=."
        )
    target.log(dict(_defined(typed, prefix)), step=step)
    if typed.signature:
        target.summary["spanwise/signature"] = visible(typed.signature)


def _defined(document: Document, prefix: str) -> list[tuple[str, float]]:
    # A tracker draws NaN as a gap at best and as zero at worst; what is undefined is left out.
    return [
        (prefix + visible(name), value) for name, value in flat(document).items() if not math.isnan(value)
    ]


def _imported(package: str, purpose: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs the package {package!r}, which is not installed.\n"
            f"Install it with: pip install {package}"
        ) from error
