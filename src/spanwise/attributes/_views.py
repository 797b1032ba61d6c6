"""Mentions and tokens as plain objects, for functions of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from spanwise.attributes._context import Side


class Mention(Struct, frozen=True):
    """One mention as a function of one's own sees it.

    `tokens` are its words, `start` and `end` their positions among those of `sentence`
    (the borders, where it has gaps), `label` its own label, `text` the words joined by
    blanks, or the characters themselves where the data give the text. `fields` are the
    values that came with the mention or its sentence.
    """

    tokens: tuple[str, ...]
    label: str
    sentence: tuple[str, ...]
    start: int
    end: int
    text: str
    fields: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.tokens)


class Token(Struct, frozen=True):
    """One token of a mention as a function of one's own sees it."""

    text: str
    label: str
    sentence: tuple[str, ...]
    position: int  # in the sentence


def mention_views(side: Side) -> Iterator[Mention | None]:
    """Each mention as a plain object, None where it could not be placed."""
    corpus, mentions, runs = side.context.corpus, side.mentions, side.runs
    words: tuple[str, ...] = ()
    read = -1
    for i, (sentence, start, end, label) in enumerate(mentions.rows()):
        if start < 0:
            yield None
            continue
        if sentence != read:
            words, read = tuple(corpus.words(sentence)), sentence
        begin = int(corpus.sentences[sentence])
        positions = (runs.position[runs.at[i] : runs.at[i + 1]] - begin).tolist()
        tokens = tuple(words[position] for position in positions)
        by_character = corpus.texts is not None and corpus.unit == "character"
        yield Mention(
            tokens=tokens,
            label=label,
            sentence=words,
            start=positions[0] if positions else start,
            end=positions[-1] + 1 if positions else end,
            text=corpus.texts[sentence][start:end] if by_character and corpus.texts else " ".join(tokens),
            fields={
                **{name: column[sentence] for name, column in corpus.fields.items()},
                **{name: column[i] for name, column in mentions.fields.items()},
            },
        )


def token_views(side: Side) -> Iterator[Token | None]:
    """Each token unit as a plain object, None where its mention could not be placed."""
    corpus, mentions = side.context.corpus, side.mentions
    names = mentions.names()
    words: tuple[str, ...] = ()
    read = -1
    for mention, position in zip(*(column.tolist() for column in side.units), strict=True):
        if position < 0:
            yield None
            continue
        sentence = int(mentions.sentence[mention])
        if sentence != read:
            words, read = tuple(corpus.words(sentence)), sentence
        inside = position - int(corpus.sentences[sentence])
        yield Token(words[inside], names[mention], words, inside)


def per_mention(function: Callable[[Mention], Any]) -> Callable[[Side], list[Any]]:
    """The function over a side that calls `function` with each mention; one not placed has None."""
    return lambda side: [None if view is None else function(view) for view in mention_views(side)]


def per_token(function: Callable[[Token], Any]) -> Callable[[Side], list[Any]]:
    """The function over a side that calls `function` with each token unit."""
    return lambda side: [None if view is None else function(view) for view in token_views(side)]
