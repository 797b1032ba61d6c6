"""Taggers trained several at a time, all of which must end well."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.taggers import Job, Trained, train_all


def trained_together(jobs: Sequence[Job], *, at_once: int | None = None) -> list[Trained]:
    """The taggers of jobs, in their order."""
    ended: dict[int, Trained | Exception] = {}
    train_all(jobs, ended.__setitem__, device="cpu", at_once=at_once)
    taggers = [one for _, one in sorted(ended.items()) if isinstance(one, Trained)]
    assert len(taggers) == len(jobs), ended
    return taggers
