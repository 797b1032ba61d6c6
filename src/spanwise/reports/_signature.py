"""A signature without what is usual: short enough to stand under a page."""

from __future__ import annotations

USUAL = ("match:exact+fair", "focus:gold", "repair:conlleval", "align:strict", "conf:0.95", "seed:0")
# The attributes that are computed when none are asked for, and how each is cut.
USUAL_CUTS = (
    "entity_length[special(1, 2, 3), balanced(1)]", "sentence_length[balanced(4)]",
    "entity_density[balanced(4)]", "oov_density[special(0), balanced(3)]",
    "entity_frequency[special(0), balanced(3)]", "token_frequency[special(0), balanced(3)]",
    "entity_label_consistency[special(0, 1), balanced(2)]",
    "token_label_consistency[special(0, 1), balanced(2)]",
)  # fmt: skip
_ATTRIBUTES = "attributes:"


def short_signature(signature: str) -> str:
    """The parts of a signature that are not the usual ones.

    Examples:
        >>> short_signature("spanwise|v:0.2.0|match:exact+fair|focus:predicted|seed:0|gold:3d30d341")
        'spanwise|v:0.2.0|focus:predicted|gold:3d30d341'
    """
    parts = [part for part in signature.split("|") if part not in USUAL]
    return "|".join(part for part in map(_attributes, parts) if part)


def _attributes(part: str) -> str:
    """The attributes whose cuts are unusual; other parts as they are."""
    if not part.startswith(_ATTRIBUTES):
        return part
    unusual = [
        cut for cut in part.removeprefix(_ATTRIBUTES).split("]+") if f"{cut.rstrip(']')}]" not in USUAL_CUTS
    ]
    return f"{_ATTRIBUTES}{']+'.join(unusual)}" if unusual else ""
