"""The letters of tags and the schemes that use them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from spanwise.registry import Registry

# What a letter before the hyphen says, whatever the scheme: where in its mention the token stands.
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
KINDS = {"B": BEGIN, "I": INSIDE, "M": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE, "W": SINGLE}
LETTERS = "O" + "".join(KINDS)
KIND_OF_LETTER = np.array([OUTSIDE, *KINDS.values()], dtype=np.int8)


class Scheme(Struct, frozen=True):
    """A way to write mentions as tags.

    `begin`, `inside`, `end` and `single` are the letters for the tokens of a
    mention; the same letter may serve for several. Schemes that mark a border only
    between neighbours of one label (IOB1, IOE1) name its letter in `between`.
    """

    name: str
    summary: str
    begin: str
    inside: str
    end: str
    single: str
    between: str | None = None

    @property
    def letters(self) -> frozenset[str]:
        """All letters that the scheme uses."""
        return frozenset({self.begin, self.inside, self.end, self.single, self.between or self.begin})


SCHEMES: Registry[Scheme] = Registry("scheme")
# Name, other names, letters (begin, inside, end, single, between) and summary, in the
# order in which ties are broken when a scheme is recognised.
_KNOWN = (
    ("IOB2", ("BIO",), "BIIB", None, "every mention begins with B-, I- goes on"),
    ("BIOES", ("IOBES",), "BIES", None, "B- begins, I- goes on, E- ends, S- is a mention of one token"),
    ("BILOU", ("BILUO",), "BILU", None, "B- begins, I- goes on, L- ends, U- is a mention of one token"),
    ("BMES", ("BMESO",), "BMES", None, "B- begins, M- goes on, E- ends, S- is a mention of one token"),
    ("IOB1", ("IOB",), "IIII", "B", "I- throughout; B- begins only right behind a mention of the same label"),
    ("IO", (), "IIII", None, "I- throughout; neighbours of one label cannot be told apart"),
    ("IOE1", (), "IIII", "E", "I- throughout; E- ends only right before a mention of the same label"),
    ("IOE2", ("IOE",), "IIEE", None, "every mention ends with E-, I- goes before"),
    ("BMEWO", (), "BMEW", None, "B- begins, M- goes on, E- ends, W- is a mention of one token"),
)
for _name, _others, _marks, _between, _summary in _KNOWN:
    _spellings = {name.lower(): None for name in (_name, *_others)}
    _begin, _inside, _end, _single = tuple(_marks)
    _scheme = Scheme(_name, _summary, _begin, _inside, _end, _single, between=_between)
    SCHEMES.add(_scheme, aliases=(*_others, *_spellings))


# Tags of tasks without labeled mentions, named in place of a scheme: what each tag is read as.
SPELLINGS = {
    "bare": "letters without a label, as in word segmentation; all mentions have the label WORD",
    "token": "every tag but O is the label of a mention of one token, as in part-of-speech tagging",
}


def spelled(tag: str, spelling: str | None) -> str:
    """A tag as the schemes write it.

    Examples:
        >>> spelled("B", "bare"), spelled("NN", "token"), spelled("B-PER", None), spelled("O", "token")
        ('B-WORD', 'S-NN', 'B-PER', 'O')
    """
    if spelling == "bare" and tag in KINDS:
        return f"{tag}-WORD"
    return f"S-{tag}" if spelling == "token" and tag not in ("", "O") else tag


def malformed(tag: str) -> str | None:
    """Why `tag` is no tag of any scheme, and what to do; None where it is one.

    Examples:
        >>> malformed("B-LOC-geo") is None
        True
        >>> print(malformed("o"))
        'o' is not a tag; outside mentions it is 'O', with a capital letter.
    """
    if tag == "O":
        return None
    letter, hyphen, label = tag.partition("-")
    if hyphen and letter in KINDS and label:
        return None
    if tag == "o":
        return "'o' is not a tag; outside mentions it is 'O', with a capital letter."
    if tag == "0":
        return "'0' (the digit) is not a tag; outside mentions it is 'O', the letter."
    bare = "".join(tag.split())
    if bare != tag and malformed(bare) is None:
        return f"{tag!r} holds white space that is part of it; write {bare!r}."
    if not tag:
        return "the tag is empty; outside mentions it is 'O'."
    if not hyphen:
        near = letter.upper()
        if near in KINDS:
            return (
                f"{tag!r} has no label; a tag is 'O' or a letter, a hyphen and a label, such as 'B-PER'. "
                'If the task has no labels, name scheme="bare".'
            )
        return (
            f"{tag!r} is not a tag; a tag is 'O' or a letter, a hyphen and a label, such as 'B-PER'. "
            'Is this the column of the tags? If every token has a tag of its own, name scheme="token".'
        )
    if not label:
        return f"{tag!r} has no label after the hyphen; write 'O', or name the label, such as 'B-PER'."
    if letter.upper() in KINDS:
        return f"{tag!r} has a small letter in front; write {letter.upper() + '-' + label!r}."
    known = ", ".join(KINDS)
    return f"{tag!r} begins with {letter!r}, which no scheme knows; the letters are {known}, and 'O' alone."
