"""Scores, intervals, signature and page into experiment trackers, where they are installed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import UnsetType

from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Document
from spanwise.document.loading import as_document
from spanwise.document.scores import Rates
from spanwise.errors import ChoiceError, MissingExtra, unknown
from spanwise.reports._wording import visible
from spanwise.reports.outlets._flat import flat

_BATCH = 1000  # metrics that MLflow takes in one request
_PAGE = "spanwise/report.html"
_DOCUMENT = "spanwise/result.json"


def log(
    document: Mapping[str, Any] | Document,
    tracker: str,
    *,
    to: Any = None,
    prefix: str = "",
    step: int | None = None,
    page: bool = True,
) -> None:
    """Log a document to an experiment tracker: scores, intervals, signature, and the page as an artifact.

    Scores have the names of `flat`, such as `f1`, `label/PER/f1`, `accuracy` (token accuracy); the ends of
    their intervals are `f1_low` and `f1_high`. What two systems differ by is `difference/A/B/f1`, with
    its interval and `f1_p`. Undefined scores are left out: a tracker would draw them as zero.

    Args:
        tracker: "mlflow", "wandb", "tensorboard" or "comet".
        to: where it goes: the module `mlflow` or one like it, a run of Weights & Biases, a SummaryWriter or
            the folder of logs for TensorBoard, an experiment of Comet. By default the one that is active.
        prefix: goes before every name, such as "test/".
        step: the step or epoch that the scores belong to.
        page: whether the page and the JSON document go along; the page needs the extra "report".
    """
    if tracker not in TRACKERS:
        raise unknown("tracker", tracker, TRACKERS)
    typed = as_document(document)
    made = typed.to_html() if page else None  # before anything is logged: it may need a missing package
    TRACKERS[tracker](typed, to, scalars(typed, prefix), prefix, step, made)


def scalars(document: Document, prefix: str = "") -> dict[str, float]:
    """The defined scores of a document with the ends of their intervals and the differences of systems."""
    named = [*flat(document).items(), *_intervals(document), *_differences(document)]
    return {prefix + visible(name): value for name, value in named if not math.isnan(value)}


def _intervals(document: Document) -> Iterator[tuple[str, float]]:
    if not isinstance(document, Evaluation):
        return
    for name, system in document.systems.items():
        before = "" if len(document.systems) == 1 else f"{name}/"
        parts: dict[str, Rates] = {
            "": system.exact.overall, "macro/": system.exact.macro, "weighted/": system.exact.weighted,
            "fair/": system.fair.overall,
            **{f"label/{label}/": one for label, one in system.exact.labels.items()},
        }  # fmt: skip
        for part, rates in parts.items():
            ends = None if isinstance(rates.interval, UnsetType) else rates.interval
            for score, bounds in (ends or {}).items():
                low, high = bounds or (None, None)
                yield f"{before}{part}{score}_low", math.nan if low is None else low
                yield f"{before}{part}{score}_high", math.nan if high is None else high


def _differences(document: Document) -> Iterator[tuple[str, float]]:
    """What the systems of a comparison differ by in F1, with its interval and p."""
    for comparison in document.comparisons if isinstance(document, Evaluation) else ():
        for row in comparison.scores:
            if tuple(row.path) != ("exact", "overall", "f1") or row.difference is None:
                continue
            name = f"difference/{comparison.systems[0]}/{comparison.systems[1]}/f1"
            yield name, row.difference
            if row.interval:
                low, high = row.interval
                yield f"{name}_low", math.nan if low is None else low
                yield f"{name}_high", math.nan if high is None else high
            if row.p is not None:
                yield f"{name}_p", row.p


Values = Mapping[str, float]


def _mlflow(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    """MLflow takes letters, digits and `_ - . / : ` in names; other characters of labels become `_`."""
    target = to if to is not None else _imported("mlflow", "mlflow", "logging to MLflow")
    named = [(re.sub(r"[^\w\-./: ]", "_", name), value) for name, value in values.items()]
    for begin in range(0, len(named), _BATCH):
        target.log_metrics(dict(named[begin : begin + _BATCH]), step=step)
    if document.signature:
        target.set_tag("spanwise.signature", visible(document.signature)[:5000])
    if page is not None:
        target.log_text(page, prefix + _PAGE)
        target.log_text(document.to_json(), prefix + _DOCUMENT)


def _wandb(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    run = to if to is not None else _imported("wandb", "wandb", "logging to Weights & Biases").run
    if run is None:
        raise ChoiceError(
            "there is no Weights & Biases run to log to.\nCall wandb.init() first, or pass to=."
        )
    run.log(dict(values), step=step)
    if document.signature:
        run.summary["spanwise/signature"] = visible(document.signature)
    if page is None:
        return
    kept = _imported("wandb", "wandb", "keeping the page in Weights & Biases").Artifact(
        f"spanwise-{re.sub(r'[^A-Za-z0-9_.-]', '-', prefix) or 'result'}", type="evaluation"
    )
    for name, text in ((_PAGE, page), (_DOCUMENT, document.to_json())):
        with kept.new_file(Path(name).name, encoding="utf-8") as stream:
            stream.write(text)
    run.log_artifact(kept)


def _tensorboard(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    """TensorBoard has no artifacts: the page lies beside the logs, and a text names it."""
    opened = isinstance(to, str | os.PathLike)
    if to is None:
        raise ChoiceError(
            "TensorBoard needs a place to log to.\n"
            'Pass to=, a SummaryWriter or the folder of the logs, such as to="runs/test".'
        )
    writer = _summary_writer()(os.fspath(to)) if opened else to
    try:
        for name, value in values.items():
            writer.add_scalar(name, value, step)
        said = f"signature: `{visible(document.signature)}`"
        if page is not None:
            from spanwise.formats import make_folder, write_atomically

            place = Path(os.fspath(to) if opened else _log_folder(writer), prefix.strip("/"), _PAGE)
            make_folder(place.parent)
            write_atomically(place, page)
            write_atomically(place.with_name(Path(_DOCUMENT).name), document.to_json())
            said += f"  \npage: `{place}`"
        writer.add_text(f"{prefix}spanwise", said, step)
        writer.flush()
    finally:
        if opened:
            writer.close()


def _log_folder(writer: Any) -> str:
    return str(getattr(writer, "log_dir", None) or getattr(writer, "logdir", None) or ".")


def _summary_writer() -> Any:
    for module in ("tensorboardX", "torch.utils.tensorboard"):
        try:
            return import_module(module).SummaryWriter
        except ImportError:
            continue
    raise MissingExtra.of("tensorboardX", "tensorboard", "logging to TensorBoard")


def _comet(
    document: Document, to: Any, values: Values, prefix: str, step: int | None, page: str | None
) -> None:
    experiment = to
    if experiment is None:
        experiment = _imported("comet_ml", "comet", "logging to Comet").get_running_experiment()
    if experiment is None:
        raise ChoiceError(
            "there is no Comet experiment to log to.\nCall comet_ml.start() first, or pass to=."
        )
    experiment.log_metrics(dict(values), step=step)
    if document.signature:
        experiment.log_other("spanwise/signature", visible(document.signature))
    if page is not None:
        experiment.log_asset_data(page, name=prefix + _PAGE, step=step)
        experiment.log_asset_data(document.to_json(), name=prefix + _DOCUMENT, step=step)


TRACKERS: Mapping[str, Callable[[Document, Any, Values, str, int | None, str | None], None]] = {
    "comet": _comet,
    "mlflow": _mlflow,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
}


def _imported(package: str, extra: str, purpose: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra.of(package, extra, purpose) from error
