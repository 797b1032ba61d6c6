"""Figures as another program computes them, in the place of an evaluation's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from spanwise.document.evaluation import Evaluation
from spanwise.evaluation.choices import Choices, Inputs
from spanwise.registry import Registry


class FigurePreset(Struct, frozen=True):
    """A program whose figures an evaluation can show.

    `check(switched_off, train)` refuses what the program could not do, and returns what `apply` needs;
    `apply(document, inputs, choices, checked)` returns the document with the figures of the program.
    """

    name: str
    summary: str
    check: Callable[[Sequence[str], object], Any]
    apply: Callable[[Evaluation, Inputs, Choices, Any], Evaluation]


PRESETS: Registry[FigurePreset] = Registry("preset", group="spanwise.presets")
