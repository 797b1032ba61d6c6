"""Links from a number to the mentions that it counts; the page's script reads them back."""

from __future__ import annotations

from urllib.parse import quote

# What the examples can be chosen by, in the order of the address; `of` is the number that was clicked.
KEYS = (
    "unit", "system", "outcome", "gold", "predicted", "attribute", "bucket", "tough", "where", "over", "of",
)  # fmt: skip


def examples(of: float | None = None, **choices: str | None) -> str:
    """The address of the examples behind a number: which mentions, and how many there are.

    `unit` is what is counted: `gold` mentions, `predicted` ones, or `error` (one a kind of
    disagreement, where a gold and a predicted mention that were paired count once).

    Examples:
        >>> examples(47, unit="error", system="crf", gold="B-PER/x")
        '#examples?unit=error,system=crf,gold=B-PER%2Fx,of=47'
    """
    given = {**choices, "of": None if of is None else f"{of:g}" if of != int(of) else str(int(of))}
    unknown = set(given) - set(KEYS)
    if unknown:
        raise TypeError(f"examples are not chosen by {sorted(unknown)}")
    parts = [f"{key}={quote(str(given[key]), safe='')}" for key in KEYS if given.get(key) is not None]
    # Commas, since they need no escape in HTML and a page has a thousand links.
    return "#examples?" + ",".join(parts)


def pair_link(one: str, other: str) -> str:
    """The address at which the page compares two systems.

    Examples:
        >>> pair_link("crf", "bert,large")
        '#pair?a=crf,b=bert%2Clarge'
    """
    return f"#pair?a={quote(one, safe='')},b={quote(other, safe='')}"
