"""Attributes that compare a mention with training mentions: how many are like it, or share its label.

φ is anything that can be said of the tokens and the label of a mention. Training mentions are counted by
their φ, so any φ gives an attribute of familiarity or of consistency (Fu, Liu and Neubig 2020, equations 1
and 2), and any two give one of combined familiarity (the MF-buckets of Fu19).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import Literal

from spanwise.attributes._context import Attribute, Side, no_training
from spanwise.attributes._lexicon import Lexicon
from spanwise.attributes._values import Mention, mention_views
from spanwise.citations import FU19
from spanwise.errors import ChoiceError, unknown

NEEDS = ("text", "train", "train mentions")
Phi = Callable[[Mention], Hashable]
Aggregate = Literal["familiarity", "consistency"]

# What can be asked for by name.
PHI: dict[str, tuple[str, Phi]] = {
    "entity": ("the token sequence", lambda mention: mention.tokens),
    "label": ("the label", lambda mention: mention.label),
    "entity_length": ("the number of tokens", lambda mention: len(mention.tokens)),
    "first_token": ("the first token", lambda mention: mention.tokens[0]),
    "last_token": ("the last token", lambda mention: mention.tokens[-1]),
    "casing": ("casing of tokens", lambda mention: tuple(token[:1].isupper() for token in mention.tokens)),
}


def training_mentions(lexicon: Lexicon) -> Iterator[tuple[Mention, int]]:
    """Each distinct training mention, and how often it occurs; its sentence is not known."""
    seen, words = lexicon.seen, lexicon.vocabulary
    form, label, times = (column.tolist() for column in seen.mentions.met())
    heads, keys, width = seen.forms.heads.tolist(), seen.forms.keys.tolist(), seen.forms.width
    for number, code, count in zip(form, label, times, strict=True):
        tokens: list[str] = []
        while number >= len(heads):
            number, last = divmod(keys[number - len(heads)], width)
            tokens.append(words[last])
        tokens.append(words[heads[number]])
        whole = tuple(reversed(tokens))
        yield Mention(whole, seen.labels[code], whole, 0, len(whole), " ".join(whole), {}), count


def compared(
    phi: Phi, aggregate: Aggregate, given: Phi | None = None
) -> Callable[[Side], list[float | None]]:
    """The function over a side that gives each mention its share of training mentions.

    "familiarity": of all training mentions, or of those with the same value of `given`, the share with the
    same φ. "consistency": of the training mentions with the same φ, the share with the same label.
    0 where there is nothing to take a share of.
    """

    def whole(mention: Mention) -> Hashable:
        if aggregate == "consistency":
            return phi(mention)
        return None if given is None else given(mention)

    def part(mention: Mention) -> Hashable:
        return whole(mention), mention.label if aggregate == "consistency" else phi(mention)

    def values(side: Side) -> list[float | None]:
        lexicon = side.context.training
        if not isinstance(lexicon, Lexicon):
            raise no_training()
        parts: Counter[Hashable] = Counter()
        wholes: Counter[Hashable] = Counter()
        for mention, times in training_mentions(lexicon):
            wholes[whole(mention)] += times
            parts[part(mention)] += times
        lowercase = side.context.lowercase

        def value(mention: Mention) -> float:
            seen = _lowered(mention) if lowercase else mention
            number = wholes[whole(seen)]
            return parts[part(seen)] / number if number else 0.0

        # A mention of no token, such as one between characters, has no φ.
        return [None if view is None or not view.tokens else value(view) for view in mention_views(side)]

    return values


def _lowered(mention: Mention) -> Mention:
    tokens = tuple(token.lower() for token in mention.tokens)
    return Mention(tokens, mention.label, tokens, 0, len(tokens), " ".join(tokens), mention.fields)


def familiarity(text: str) -> Attribute:
    """The attribute that `F:PHI` or `MF:PHI+PHI` asks for; of two, the share of the second given the first.

    Examples:
        >>> familiarity("MF:entity_length+label").summary
        'training mentions with the same number of tokens that have the same label'
    """
    kind, _, names = text.partition(":")
    wanted = names.split("+")
    if len(wanted) != {"F": 1, "MF": 2}.get(kind):
        raise ChoiceError(
            f"{text!r} does not say what is compared with training mentions.\n"
            f"Write F:NAME or MF:NAME+NAME with names among {', '.join(PHI)}."
        )
    for name in wanted:
        if name not in PHI:
            raise unknown("part of a mention", name, PHI)
    *first, (words, phi) = (PHI[name] for name in wanted)
    like = f"with the same {first[0][0].removeprefix('the ')} that have" if first else "with"
    return Attribute(
        name=text,
        summary=f"training mentions {like} the same {words.removeprefix('the ')}",
        function=compared(phi, "familiarity", first[0][1] if first else None),
        needs=frozenset(NEEDS),
        source=FU19,
        buckets="familiarity:5" if first else "special:0+balanced:5",
        bounds=(0.0, 1.0),
    )
