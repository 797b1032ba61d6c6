"""How strings are normalised before they are compared."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from functools import lru_cache

_ARTICLES = ("a", "an", "the")
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def collapse(text: str) -> str:
    """The text with one blank for every run of white space, and none at its ends.

    Examples:
        >>> collapse(" New   York ")
        'New York'
    """
    return " ".join(text.split())


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    """The text in Unicode form NFKC and case-folded, its white space collapsed.

    Examples:
        >>> fold("STRASSE ﬁ") == fold("straße fi")
        True
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bare(text: str) -> str:
    """The letters, digits and marks of a text.

    Examples:
        >>> bare("u.s.-based")
        'usbased'
    """
    if text.isalnum():
        return text
    return "".join([char for char in text if char.isalnum() or unicodedata.category(char)[0] in "LNM"])


def without_article(text: str) -> str:
    """The text behind a leading a, an or the; empty where it has none, or nothing else.

    Examples:
        >>> without_article("The Hague"), without_article("Rome")
        ('Hague', '')
    """
    first, _, rest = collapse(text).partition(" ")
    return rest if first.casefold() in _ARTICLES else ""


def label_key(label: str) -> str:
    """A label folded, with blanks for underscores and hyphens.

    Examples:
        >>> label_key("Geo-Political_Entity")
        'geo political entity'
    """
    return " ".join(fold(label).replace("_", " ").replace("-", " ").split())


def uniner(text: str) -> str:
    """The text in lower case, without ASCII punctuation and without a, an and the.

    Examples:
        >>> uniner("The U.S. Senate")
        'us senate'
    """
    return collapse(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)))


def as_written(text: str) -> str:
    """The text itself."""
    return text


NORMALISATIONS: dict[str, Callable[[str], str]] = {
    "as-written": as_written,
    "case": fold,
    "bare": lambda text: bare(fold(text)),
    "uniner": uniner,
}
