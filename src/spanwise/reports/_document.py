"""Links from numbers to examples, and signatures without their usual parts."""

from __future__ import annotations

from functools import cache
from urllib.parse import quote

from spanwise.document import usual_settings
from spanwise.settings import SETTINGS, default_value

# ---- links from a number to the mentions it counts, which the script of the page parses ------------


# What examples can be filtered by, in the order of the address; `of` is the number that was clicked.
KEYS = (
    "unit", "system", "outcome", "gold", "predicted", "attribute", "bucket", "tough", "where", "pattern",
    "over", "of",
)  # fmt: skip


def examples(of: float | None = None, **choices: str | None) -> str:
    """The address of the examples behind a number: which mentions, and how many there are.

    `unit` is what is counted: `gold` mentions, `predicted` mentions, or each `error`, where a gold
    and a predicted mention that were paired count once.

    Examples:
        >>> examples(47, unit="error", system="crf", gold="B-PER/x")
        '#examples?unit=error,system=crf,gold=B-PER%2Fx,of=47'
    """
    values = {**choices, "of": None if of is None else f"{of:g}" if of != int(of) else str(int(of))}
    unknown = set(values) - set(KEYS)
    if unknown:
        raise TypeError(f"examples cannot be filtered by {sorted(unknown)}")
    parts = [f"{key}={quote(str(values[key]), safe='')}" for key in KEYS if values.get(key) is not None]
    # Joined with commas, which need no escaping in HTML: a page has a thousand links.
    return "#examples?" + ",".join(parts)


def pair_link(one: str, other: str) -> str:
    """The address at which the page compares two systems.

    Examples:
        >>> pair_link("crf", "bert,large")
        '#pair?a=crf,b=bert%2Clarge'
    """
    return f"#pair?a={quote(one, safe='')},b={quote(other, safe='')}"


# ---- signatures without their usual parts ----------------------------------------------------------


_ATTRIBUTES = "attributes:"


@cache
def _usual_parts() -> frozenset[str]:
    """The parts of a signature whose settings have their usual values."""
    usual = usual_settings()
    # A setting without a usual value depends on the data and is always shown.
    fixed = [
        setting
        for setting in SETTINGS.values()
        if setting.signed is not None and setting.default_value is not None
    ]
    return frozenset(setting.signed(usual) for setting in fixed if setting.signed is not None)


@cache
def _usual_cuts() -> frozenset[str]:
    """The attributes that are computed by default, each with its usual buckets."""
    from spanwise.attributes import choose
    from spanwise.buckets import parse

    return frozenset(f"{usual.name}[{parse(usual.buckets)}]" for usual in choose(default_value("attributes")))


def short_signature(signature: str) -> str:
    """A signature without the parts that have their usual values.

    Examples:
        >>> short_signature("spanwise|v:0.3.0|match:exact+fair|focus:predicted|seed:0|gold:3d30d341")
        'spanwise|v:0.3.0|focus:predicted|gold:3d30d341'
    """
    parts = [part for part in signature.split("|") if part not in _usual_parts()]
    return "|".join(part for part in map(_attributes, parts) if part)


def _attributes(part: str) -> str:
    """Reduce the attributes part to attributes with unusual buckets; leave other parts unchanged."""
    if not part.startswith(_ATTRIBUTES):
        return part
    unusual = [
        cut
        for cut in part.removeprefix(_ATTRIBUTES).split("]+")
        if f"{cut.rstrip(']')}]" not in _usual_cuts()
    ]
    return f"{_ATTRIBUTES}{']+'.join(unusual)}" if unusual else ""
