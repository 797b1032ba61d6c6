"""Looking often is testing often: how many questions a gold set has been asked, and at which level each."""

from __future__ import annotations

from msgspec import Struct

FIRST_BATCH = 10  # looks; each later batch is twice as large as the one before
FIRST_LEVEL = 0.0025  # of the looks in the first batch; a quarter of it in the next, and so on
MOST_LOOKS = 150  # four batches; no shuffle could reach the level of the fifth


def level_of(look: int) -> float | None:
    """The level that a look is held against, from 1; None where no further look can be significant.

    A look of batch j = 0, 1, 2 … is held against .0025 / 4^j; batches have 10, 20, 40 … looks, so that the
    levels of all looks together add up to at most .05.

    Examples:
        >>> [level_of(look) for look in (1, 10, 11, 30, 31, 150, 151)]
        [0.0025, 0.0025, 0.000625, 0.000625, 0.00015625, 3.90625e-05, None]
    """
    if look > MOST_LOOKS:
        return None
    batch = ((look - 1) // FIRST_BATCH + 1).bit_length() - 1
    return FIRST_LEVEL / 4.0**batch


class AskedQuestion(Struct, frozen=True):
    """A question to a gold set: its number, and whether the number outlasts this server."""

    number: int
    lasting: bool = True

    @property
    def level(self) -> float | None:
        """The level that it is held against."""
        return level_of(self.number)

    @property
    def words(self) -> str:
        """Which question it is, and what its p-value is compared with."""
        return look_words(self.number) + ("" if self.lasting else TRANSIENT)


TRANSIENT = " The folder is read-only, so questions are counted only until the server stops."


def look_words(number: int) -> str:
    """Which question it is, and what its p-value is compared with, in a sentence.

    Examples:
        >>> look_words(12).partition(", since")[0]
        'Question 12 to this gold set, held against p ≤ 0.000625'
    """
    level = level_of(number)
    if level is None:
        return (
            f"This gold set has been asked {MOST_LOOKS} different questions, so no further one can be "
            "significant on it. Use documents that it does not contain."
        )
    return (
        f"Question {number} to this gold set, held against p ≤ {plain_level(level)}, "
        "since every further question needs more evidence."
    )


def plain_level(level: float) -> str:
    """A small level with three significant digits, without an exponent.

    Examples:
        >>> plain_level(0.0025), plain_level(0.000625), plain_level(0.0000390625)
        ('0.0025', '0.000625', '0.0000391')
    """
    from decimal import Decimal

    return f"{Decimal(f'{level:.2e}').normalize():f}"


def one_sided(p: float | None, difference: float | None) -> float | None:
    """The p-value against a fall: half of the two-sided one if the difference is negative.

    Examples:
        >>> one_sided(0.04, -0.1), one_sided(0.04, 0.1), one_sided(None, 0.1)
        (0.02, 0.98, None)
    """
    if p is None or difference is None:
        return None
    return p / 2 if difference < 0 else 1 - p / 2
