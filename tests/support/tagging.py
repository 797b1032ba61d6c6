"""Train several taggers at a time, all of which must succeed."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise_taggers import Job, Trained, train_all


def trained_together(jobs: Sequence[Job], *, at_once: int | None = None) -> list[Trained]:
    """The trained taggers, in the order of their jobs."""
    ended: dict[int, Trained | Exception] = {}
    train_all(jobs, ended.__setitem__, device="cpu", at_once=at_once)
    taggers = [result for _, result in sorted(ended.items()) if isinstance(result, Trained)]
    assert len(taggers) == len(jobs), ended
    return taggers
