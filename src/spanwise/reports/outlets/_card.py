"""The `model-index` of a model card, as YAML that needs no YAML package."""

from __future__ import annotations

import json
from collections.abc import Callable

from msgspec import UNSET

from spanwise.document.evaluation import Evaluation
from spanwise.document.head import DocumentLike
from spanwise.document.loading import as_document
from spanwise.document.scores import SystemScores
from spanwise.reports._wording import defined, visible

_METRICS: tuple[tuple[str, str, Callable[[SystemScores], object]], ...] = (
    ("f1", "F1", lambda one: one.exact.overall.f1),
    ("precision", "Precision", lambda one: one.exact.overall.precision),
    ("recall", "Recall", lambda one: one.exact.overall.recall),
    (
        "accuracy",
        "Accuracy",
        lambda one: None if one.exact.overall.accuracy is UNSET else one.exact.overall.accuracy,
    ),
    ("f1", "Macro F1", lambda one: one.exact.macro.f1),
    ("f1", "Fair F1", lambda one: one.fair.overall.f1),
)


def model_index(document: DocumentLike, *, name: str | None = None, dataset: str | None = None) -> str:
    """The metadata that a model card's front matter takes, one model a system.

    Undefined scores are left out. Texts are written as JSON strings, which YAML reads as they are.

    Args:
        name: of the model, where the document has one system; else the systems' names.
        dataset: its identifier; else the name it has in the document.
    """
    typed = as_document(document)
    systems = typed.systems if isinstance(typed, Evaluation) else {}
    called = (typed.dataset.name if isinstance(typed, Evaluation) else "") or "unknown"
    # A comment, since a `source` must carry an address; `visible` keeps it on one line.
    lines = [f"# {visible(typed.signature)}"] if typed.signature else []
    lines.append("model-index:")
    for system, found in systems.items():
        model = name if name is not None and len(systems) == 1 else system
        lines += [
            f"- name: {_text(model)}",
            "  results:",
            "  - task:",
            '      type: "token-classification"',
            '      name: "Token Classification"',
            "    dataset:",
            f"      name: {_text(called)}",
            f"      type: {_text(dataset or called)}",
            "    metrics:",
        ]
        for kind, title, score in _METRICS:
            value = score(found)
            if defined(value):
                lines += [
                    f"    - type: {_text(kind)}",
                    f"      value: {value!r}",
                    f"      name: {_text(title)}",
                ]
    return "\n".join(lines) + "\n" if systems else "model-index: []\n"


def _text(value: object) -> str:
    return json.dumps(visible(value))
