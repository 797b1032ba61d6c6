"""Attributes of mentions: computed from their shape or from training data, or given in the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args, overload

import numpy as np

from spanwise.attributes._context import (
    Attribute,
    AttributeUnit,
    Context,
    Kind,
    Mention,
    Side,
    Token,
    Values,
    collect_lexicon_queries,
    compute,
    mention_views,
    per_mention,
    per_token,
)
from spanwise.attributes._lexicon import Lexicon, LexiconQueries, LexiconSums, SummedLexicon, TrainingCounts
from spanwise.attributes.given import NEEDS, PHI, Aggregate, compared, familiarity, given, is_given, missing
from spanwise.attributes.papers import SHAPE, TRAINING
from spanwise.attributes.positions import POSITION
from spanwise.attributes.toughness import (
    SUBSETS,
    Confusable,
    LabelCollector,
    Labeled,
    Toughness,
    toughness,
)
from spanwise.corpus import Mentions
from spanwise.errors import ChoiceError, unknown
from spanwise.registry import Registry

__all__ = [
    "ATTRIBUTES",
    "PRESETS",
    "SUBSETS",
    "Attribute",
    "Confusable",
    "Context",
    "Kind",
    "LabelCollector",
    "Labeled",
    "Lexicon",
    "LexiconQueries",
    "LexiconSums",
    "Mention",
    "Side",
    "SummedLexicon",
    "Token",
    "Toughness",
    "TrainingCounts",
    "Values",
    "choose",
    "collect_lexicon_queries",
    "given",
    "is_built_in",
    "is_given",
    "mention_views",
    "own",
    "register",
    "toughness",
    "values",
    "values_of",
    "why_absent",
]

F = TypeVar("F", bound=Callable[..., object])

ATTRIBUTES: Registry[Attribute] = Registry("attribute", group="spanwise.attributes")

_FU20 = (
    "entity_length",
    "sentence_length",
    "entity_density",
    "oov_density",
    "entity_frequency",
    "token_frequency",
    "entity_label_consistency",
    "token_label_consistency",
)
_FU19 = (
    "entity_token_density",
    "oov_density_fu19",
    "sentence_length_fu19",
    "entity_length_fu19",
    "morphology",
    "entity_familiarity",
    "token_familiarity",
    "label",  # F-tag: the paper's buckets are the classes
    "entity_label_familiarity",
    "token_label_familiarity",
)

# Listed in the order of the papers: the eight of Fu20, the label, those only in Fu19, then all others.
_built_in = {attribute.name: attribute for attribute in (*SHAPE, *TRAINING, *POSITION)}
_KNOWN = tuple(dict.fromkeys((*_FU20, "label", *_FU19, *_built_in)))
# The attributes named `_fu19` differ from those of Fu20 only in name or buckets, so "all" leaves them out.
_ALL = tuple(name for name in _KNOWN if not name.endswith("_fu19"))
for _name in _KNOWN:
    ATTRIBUTES.add(_built_in[_name], aliases=tuple(filter(None, (_built_in[_name].alias,))))

PRESETS: dict[str, tuple[str, ...]] = {"fu20": _FU20, "fu19": _FU19, "all": _ALL}


def choose(names: str | Attribute | Iterable[str | Attribute]) -> list[Attribute]:
    """Resolve names, aliases, presets, `NAME=column:3` and attributes to a list without duplicates.

    Examples:
        >>> [attribute.name for attribute in choose("eLen,label")]
        ['entity_length', 'label']
        >>> len(choose("fu20"))
        8
    """
    listed = (
        names.split(",") if isinstance(names, str) else [names] if isinstance(names, Attribute) else names
    )
    chosen: dict[str, Attribute] = {}
    for name in listed:
        for attribute in _one_or_preset(name.strip() if isinstance(name, str) else name):
            chosen.setdefault(attribute.name, attribute)
    return list(chosen.values())


def _one_or_preset(name: str | Attribute) -> list[Attribute]:
    if isinstance(name, str) and name in PRESETS:
        return [ATTRIBUTES.find(member) for member in PRESETS[name]]
    if isinstance(name, str) and name.startswith(("F:", "MF:")) and name not in ATTRIBUTES:
        return [familiarity(name, _property)]
    if isinstance(name, str) and ":" in name and name not in ATTRIBUTES:
        return [given(name)]
    return [ATTRIBUTES.find(name)]


def _property(name: str) -> Attribute:
    """The attribute for one part of an `F:` or `MF:` name, including columns and fields of the data."""
    if ":" in name and name not in ATTRIBUTES:
        return given(name)
    if name not in ATTRIBUTES:
        raise unknown("attribute or part of a mention", name, [*PHI, *ATTRIBUTES.names()])
    return ATTRIBUTES.find(name)


def is_built_in(attribute: Attribute) -> bool:
    """Whether an attribute is built in rather than user-defined."""
    built_in = _built_in.get(attribute.name)
    return built_in is not None and built_in.function is attribute.function


def why_absent(attribute: str | Attribute, context: Context) -> str | None:
    """The reason why an attribute cannot be computed, or None if it can."""
    for need in sorted(ATTRIBUTES.find(attribute).needs):
        reason = _missing_need(need, context)
        if reason is not None:
            return reason
    return None


def _missing_need(need: str, context: Context) -> str | None:
    lexicon = context.lexicon
    if need == "text":
        return "the file holds only positions, not the text" if context.corpus.without_text else None
    if need == "train mentions":
        whole = lexicon is None or isinstance(lexicon, Lexicon)
        return None if whole else "mentions of training data read in parts are not kept"
    if need == "train" or (need == "vocabulary" and context.known is None):
        if lexicon is None:
            return "no training data were given" + (" and no word list" if need == "vocabulary" else "")
        if not lexicon.tokens:
            return "the training data contain no tokens"
        if need == "train" and not lexicon.mentions:
            return "the training data contain no mentions"
        return None
    if need == "vocabulary":
        return None
    return missing(need, context)


def values(attribute: str | Attribute, context: Context, mentions: Mentions) -> Values:
    """The values of an attribute over the mentions of one side, gold or predicted.

    Examples:
        >>> from spanwise.corpus import Corpus
        >>> corpus = Corpus.of([["New", "York", "is", "big"]])
        >>> gold = Mentions.of([(0, 0, 2, "LOC")])
        >>> values("entity_length", Context(corpus, gold), gold).value.tolist()
        [2.0]
    """
    return values_of(attribute, context.side(mentions))


def values_of(attribute: str | Attribute, side: Side) -> Values:
    """Like `values`, but over a side, so that several attributes can share its columns."""
    chosen = ATTRIBUTES.find(attribute)
    reason = why_absent(chosen, side.context)
    if reason is not None:
        raise ChoiceError(
            f"the attribute {chosen.name!r} cannot be computed: {reason}.\n"
            "Give what it needs, or leave it out."
        )
    return compute(chosen, side)


def own(
    function: Callable[..., object],
    *,
    name: str = "",
    unit: AttributeUnit = "mention",
    kind: Kind | None = None,
    summary: str = "",
    needs: Iterable[str] = (),
    source: str = "",
    alias: str = "",
    buckets: str = "",
    bounds: tuple[float, float] = (-np.inf, np.inf),
    columns: bool = False,
    aggregate: Aggregate | None = None,
) -> Attribute:
    """Make an attribute from a plain function.

    The function takes one `Mention` (`.tokens`, `.label`, `.sentence`, `.start`, `.end`, `.text`, `.fields`)
    or, with unit "token", one `Token` (`.text`, `.label`, `.sentence`, `.position`), and returns a number
    or a string. Both have `.training`, the `TrainingCounts`, for a function that declares needs=["train"].
    With `columns=True`, the function is instead called once per side, with a `Side` of integer
    columns, and returns one value per unit. With `aggregate`, it is a φ of a mention in its
    sentence, and the attribute compares the mention with training mentions: "familiarity" is the
    share of training mentions with the same φ, "consistency" the share of those with the same φ that
    have the same label (equations 1 and 2 of Fu, Liu and Neubig 2020). If `kind` is None, it is
    inferred: numeric if the values of all gold units are numbers. The name defaults to that of the
    function, the summary to the first line of its docstring.

    Examples:
        >>> def capitals(mention):
        ...     "Tokens of the mention that begin with a capital"
        ...     return sum(token[0].isupper() for token in mention.tokens)
        >>> from spanwise.corpus import Corpus
        >>> corpus, gold = Corpus.of([["New", "York"]]), Mentions.of([(0, 0, 2, "LOC")])
        >>> values(own(capitals), Context(corpus, gold), gold).value.tolist()
        [2.0]
    """
    if not name and function.__name__ == "<lambda>":
        raise ChoiceError("a function without a name cannot be an attribute.\nPass name=.")
    if aggregate is not None and (columns or unit != "mention" or aggregate not in get_args(Aggregate)):
        raise ChoiceError(
            f"aggregate={aggregate!r} must be 'familiarity' or 'consistency', with a function of one mention."
        )
    needs = frozenset(needs)
    documented = (function.__doc__ or "").strip().partition("\n")[0]
    return Attribute(
        name=name or function.__name__,
        summary=summary or documented or "a user-defined attribute",
        function=_over_sides(function, unit, columns, aggregate),
        alias=alias,
        unit=unit,
        kind="numeric" if aggregate else kind,
        needs=frozenset(
            {"text", *needs, *(NEEDS if aggregate or ("train" in needs and not columns) else ())}
        ),
        source=source,
        buckets=buckets,
        bounds=(0.0, 1.0) if aggregate else bounds,
    )


def _over_sides(
    function: Callable[..., object], unit: AttributeUnit, columns: bool, aggregate: Aggregate | None
) -> Callable[[Side], object]:
    if aggregate is not None:
        return compared(function, aggregate)
    return function if columns else (per_token if unit == "token" else per_mention)(function)


@overload
def register(function: F, *, replace: bool = False, **about: Any) -> F: ...
@overload
def register(function: None = None, *, replace: bool = False, **about: Any) -> Callable[[F], F]: ...
def register(function: F | None = None, *, replace: bool = False, **about: Any) -> F | Callable[[F], F]:
    """Register a plain function as an attribute that can be chosen by name, as a decorator or by a call.

    Returns the function unchanged. `about` are the keyword arguments of `own`.
    A name that is already taken is an error unless `replace` is true.

    Examples:
        >>> import spanwise
        >>> @spanwise.attribute
        ... def starts_with_a(mention):
        ...     return mention.text.startswith("A")
        >>> gold = [{"tokens": ["Ann", "and", "Bob"], "spans": [[0, 1, "PER"], [2, 3, "PER"]]}]
        >>> result = spanwise.evaluate(gold, {"mine": gold}, attributes=["starts_with_a"], resamples=0)
        >>> [(bucket.label, bucket.gold) for bucket in result["mine"].attributes["starts_with_a"].buckets]
        [('≤ 0', 1), ('> 0', 1)]
        >>> ATTRIBUTES.remove("starts_with_a")
    """

    def decorate(plain: F) -> F:
        attribute = own(plain, **about)
        ATTRIBUTES.add(attribute, aliases=(attribute.alias,) if attribute.alias else (), replace=replace)
        return plain

    return decorate if function is None else decorate(function)
