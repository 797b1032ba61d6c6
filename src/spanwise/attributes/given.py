"""Attributes that come with the data: a column of the tokens, a field of sentences or mentions."""

from __future__ import annotations

import numpy as np

from spanwise.attributes._context import Attribute, Context, Side
from spanwise.columns import Column
from spanwise.errors import ChoiceError


def given(text: str) -> Attribute:
    """The attribute that `NAME=column:C` or `NAME=field:F` asks for; without `NAME=` it is called C or F.

    A column gives the value of the mention's first token; a field that of the mention,
    or else of its sentence. Values are numbers where those of all gold mentions are, else categories.

    Examples:
        >>> given("domain=column:3").name, given("field:source").name
        ('domain', 'source')
    """
    name, equals, place = text.partition("=")
    if not equals:
        name, place = "", text
    where, colon, key = place.partition(":")
    if where not in ("column", "field") or not colon or not key:
        raise ChoiceError(
            f"{text!r} does not say where the values of an attribute stand.\n"
            "Write NAME=column:NUMBER for a column of the tokens or NAME=field:NAME for a field"
            " of the sentences or mentions, such as domain=column:3."
        )
    summary = f"{where} {key!r} of the data" + (" (of the first token)" if where == "column" else "")

    def of_column(side: Side) -> Column:
        return _first_token(side, side.context.corpus.columns[key])

    def of_field(side: Side) -> Column:
        return _field(side, key)

    return Attribute(
        name=name or key,
        summary=summary,
        function=of_column if where == "column" else of_field,
        kind=None,
        needs=frozenset({f"{where}:{key}"}),
        source="the data",
        of_sentence=where == "field",
    )


def missing(need: str, context: Context) -> str | None:
    """Why the column or field of a need such as `column:3` is not there, or None where it is."""
    where, _, key = need.partition(":")
    if where == "column":
        known = context.corpus.columns
        kind = "column of the tokens"
    else:
        known = {**context.corpus.fields, **context.gold.fields}
        kind = "field of the gold sentences or mentions"
    if key in known:
        return None
    there = ", ".join(map(str, known)) or "none"
    return f"no {kind} is called {key!r} (there are: {there})"


def _first_token(side: Side, column: Column) -> Column:
    """The value of each mention's first token, None where it has none."""
    size, begin = side.runs.size, side.runs.at[:-1]
    some = np.flatnonzero(size > 0)
    result = np.full(len(size), None, dtype=object)
    result[some] = column[side.runs.position[begin[some]]]
    return result


def _field(side: Side, key: str) -> Column:
    """The value of each mention, or of its sentence; None for predictions that do not carry the field."""
    context, mentions = side.context, side.mentions
    if key in context.gold.fields:
        if key in mentions.fields:
            return mentions.fields[key]
        return np.full(len(mentions), None, dtype=object)
    return side.of_sentence(context.corpus.fields[key])
