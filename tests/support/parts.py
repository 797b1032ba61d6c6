"""Make the parts that files are cut into small, so that a few sentences fill several."""

from __future__ import annotations

import pytest

from spanwise import engines
from spanwise.agreement import _lake as agreement_parts
from spanwise.evaluation import blocks, lake


def small_parts(
    monkeypatch: pytest.MonkeyPatch,
    *,
    tokens: int | None = None,
    training: int | None = None,
    sentences: int | None = None,
    together: int | None = None,
) -> None:
    """Cut test and training files into parts of so many tokens, and folders and frames by sentences.

    `together` is the number of blocks whose sums are merged at once.
    """
    if tokens is not None:
        monkeypatch.setattr(blocks, "LEAST_TOKENS", tokens)
        monkeypatch.setattr(blocks, "BYTES_PER_TOKEN", 1 << 60)  # so that the available memory has no effect
    if training is not None:
        monkeypatch.setattr(blocks, "TRAINING_TOKENS", training)
    if together is not None:
        monkeypatch.setattr(engines, "JOINED_TOGETHER", together)
    if sentences is not None:
        monkeypatch.setattr(lake, "SENTENCES", sentences)
        monkeypatch.setattr(agreement_parts, "BLOCK_SENTENCES", sentences)
