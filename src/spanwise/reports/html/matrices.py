"""The confusion matrix of a page: the labels with most errors, and all others as one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from spanwise.document.scores import Confusion

MOST_LABELS = 16  # a wider matrix is no longer read


class ConfusionView(Struct, frozen=True):
    """A confusion matrix as it is shown; the last label may be `others`, which no link leads to."""

    labels: Sequence[str]
    counts: Sequence[Sequence[int]]
    missed: Sequence[int]
    spurious: Sequence[int]
    merged: int  # how many labels the last one stands for; 0: none

    @property
    def total(self) -> int:
        """All errors."""
        return sum(map(sum, self.counts)) + sum(self.missed) + sum(self.spurious)

    @property
    def most(self) -> int:
        """The largest number in a cell."""
        return max(
            (number for row in (*self.counts, self.missed, self.spurious) for number in row), default=0
        )

    def linked(self, *places: int) -> bool:
        """Whether a cell is about labels that the examples can be chosen by."""
        return not self.merged or all(place < len(self.labels) - 1 for place in places)


def confusion_view(confusion: Confusion, most: int = MOST_LABELS) -> ConfusionView:
    """The labels ordered by their errors; beyond `most` they are added up.

    Examples:
        >>> table = Confusion(labels=("A", "B", "C"), counts=((0, 0, 0), (0, 0, 2), (0, 1, 0)),
        ...                   missed=(1, 0, 0), spurious=(0, 0, 4))
        >>> view = confusion_view(table, most=2)
        >>> view.labels, view.merged, view.counts, view.missed
        (['C', 'others'], 2, [[0, 1], [2, 0]], [0, 1])
    """
    size = len(confusion.labels)
    inside = [sum(confusion.counts[at]) + sum(row[at] for row in confusion.counts) for at in range(size)]
    errors = [sum(each) for each in zip(inside, confusion.missed, confusion.spurious, strict=True)]
    order = sorted(range(size), key=lambda at: (-errors[at], at))
    groups = [[at] for at in order]
    if size > most:
        groups = [*groups[: most - 1], order[most - 1 :]]
    merged = len(groups[-1]) if size > most else 0
    return ConfusionView(
        labels=[confusion.labels[group[0]] for group in groups[: -1 if merged else None]]
        + (["others"] if merged else []),
        counts=[
            [sum(confusion.counts[g][p] for g in gold for p in predicted) for predicted in groups]
            for gold in groups
        ],
        missed=[sum(confusion.missed[at] for at in group) for group in groups],
        spurious=[sum(confusion.spurious[at] for at in group) for group in groups],
        merged=merged,
    )  # fmt: skip
