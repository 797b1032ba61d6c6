"""The `model-index` of a model card, as YAML that needs no YAML package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from spanwise.document.head import Document, plain_of
from spanwise.reports._wording import defined, visible

_METRICS = (
    ("f1", "F1", ("exact", "overall", "f1")),
    ("precision", "Precision", ("exact", "overall", "precision")),
    ("recall", "Recall", ("exact", "overall", "recall")),
    ("accuracy", "Accuracy", ("exact", "overall", "accuracy")),
    ("f1", "Macro F1", ("exact", "macro", "f1")),
    ("f1", "Fair F1", ("fair", "overall", "f1")),
)


def model_index(
    document: Mapping[str, Any] | Document, *, name: str | None = None, dataset: str | None = None
) -> str:
    """The metadata that a model card's front matter takes, one model a system.

    Undefined scores are left out. Texts are written as JSON strings, which YAML reads as they are.

    Args:
        name: of the model, where the document has one system; else the systems' names.
        dataset: its identifier; else the name it has in the document.
    """
    document = plain_of(document)
    systems: Mapping[str, Any] = document.get("systems") or {}
    called = (document.get("dataset") or {}).get("name") or "unknown"
    # A comment, since a `source` must carry an address; `visible` keeps it on one line.
    lines = [f"# {visible(document['signature'])}"] if document.get("signature") else []
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
        for kind, title, path in _METRICS:
            value = _follow(found, path)
            if defined(value):
                lines += [
                    f"    - type: {_text(kind)}",
                    f"      value: {value!r}",
                    f"      name: {_text(title)}",
                ]
    return "\n".join(lines) + "\n" if systems else "model-index: []\n"


def _follow(tree: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        tree = (tree or {}).get(key)
    return tree


def _text(value: object) -> str:
    return json.dumps(visible(value))
