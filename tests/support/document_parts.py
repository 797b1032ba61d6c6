"""The parts of a document that do not affect any number: files and settings."""

from __future__ import annotations

from typing import Any

SIGNATURE = "spanwise|match:exact|scheme:IOB2|repair:conlleval|ci:bootstrap.document.1000|seed:0|v:0.1.0"


def source(role: str, path: str, **more: Any) -> dict[str, Any]:
    return {
        "role": role, "path": path, "sha256": "0123456789abcdef" * 4, "format": "conll", "scheme": "IOB2",
        "evidence": "no tag is impossible under IOB2", "repairs": 0, "repair": "conlleval", "notes": [],
        "mentions": 240, "sentences": 120, "tokens": 2040, "alignment": None, **more,
    }  # fmt: skip


def settings(**more: Any) -> dict[str, Any]:
    return {
        "focus": "gold", "seed": 0, "resamples": 1000, "confidence": 0.95, "unit": "document", "units": 12,
        "few_units": True, "repair": "conlleval", "align": "strict", "lowercase": False,
        "attributes": ["entity_length", "token_frequency"],
        "buckets": {"entity_length": "special:1,2,3+balanced:1", "token_frequency": "special:0+balanced:3"},
        "correction": "holm", "credits": {}, "examples": "errors", "examples_cap": 2000, "redacted": False,
        "preset": None, "vocabulary": None,
        "command": "spanwise evaluate gold.conll crf.conll --train train.conll", **more,
    }  # fmt: skip
