"""The invented names and the sentence patterns that the demo corpus is made of, cut into reusable pieces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from msgspec import Struct

LABELS = ("PER", "LOC", "ORG", "WORK")


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_FIRST = _listed(
    "Aldis Berin Casmir Delva Edrik Fenna Gerrit Hanelle Ivaro Jorun Kaisel Lunette Marek Nerys Ombra "
    "Pellan Quillon Rosamel Sevrin Tavia Ulfrid Verona Wendel Xanthe Yorick Zelma Arlen Brisa Corwen "
    "Dunya"
)
_LAST_STEMS = _listed(
    "Tolv Harv Brann Kess Mord Ostr Pell Quarr Rend Sigl Thorn Vand Wick Yarr Zell Ald Corb Dresk"
)
_LAST_ENDS = _listed("ane ik ovic holt strom")
_CITY_STEMS = _listed(
    "Vel Tor Mar Kal Oster Brim Duns Fal Gry Hol Ister Lind Nor Pere Quen Rav Sol Tam Ul Wes"
)
_CITY_ENDS = _listed("mora vik stead haven ford")
_PLACE_KINDS = _listed("Port Lake Upper Saint")
_FIRMS = _listed(
    "Ardentix Bluefern Cobaltra Drayline Everlode Foxmere Granitel Heliovar Inkwell Juniparc Kestralon "
    "Lumivane Meridax Novabrook Orchidea Pinecroft Quartzen Riverlock Stormglass Tidewell"
)
_FIRM_KINDS = ("Works", "Group", "Freight Lines", "and Sons")
_FIELDS = _listed("Maritime Alpine Colonial Digital Rural Botanical Nuclear Medieval")
_STUDIES = _listed("Trade History Medicine Geology Music Agriculture Engineering Law")
_MOODS = _listed("Last Silent Golden Broken Distant Hollow Endless Crimson")
_THINGS = _listed("Lantern Harbour Orchard Winter Mirror Garden Voyage Letter")

# A slot is what may stand in a pattern: the kind of a name and the label it has there. A city that is
# also a team makes the same string LOC in one sentence and ORG in another.
SLOTS = {
    "PER": ("person", "PER"),
    "LOC": ("place", "LOC"),
    "TEAM": ("city", "ORG"),
    "ORG": ("firm", "ORG"),
    "LONG": ("institution", "ORG"),
    "WORK": ("title", "WORK"),
}

# One line a sentence; <word:LABEL> marks an ordinary word that a system may take for a mention.
TOPICS = {
    "sport": """
        {TEAM} beat {TEAM} 3 : 1 on <Saturday:WORK> evening .
        {PER} scored twice for {TEAM} before half time .
        {TEAM} coach {PER} praised the crowd in {LOC} .
        The <Cup:WORK> final between {TEAM} and {TEAM} will be played in {LOC} .
        {PER} , who grew up in {LOC} , leaves {TEAM} after nine seasons .
        The match in {LOC} was stopped because of rain .
        After the defeat {PER} refused to speak to reporters .
        Nobody expected that {TEAM} would sign {PER} so early in the season .
    """,
    "politics": """
        The mayor of {LOC} , {PER} , opened the new bridge on <Monday:WORK> .
        {PER} will travel from {LOC} to {LOC} next week .
        The <Parliament:ORG> rejected a proposal by {PER} .
        {LONG} warned of higher prices in {LOC} .
        A spokeswoman of {LONG} declined to comment .
        {PER} and {PER} met in {LOC} to discuss the budget .
        The road between {LOC} and {LOC} stays closed until <March:LOC> .
        According to {PER} the vote in {LOC} was fair .
    """,
    "culture": """
        {PER} reads from {WORK} in the town hall of {LOC} .
        {WORK} by {PER} won the prize of {LONG} .
        The museum of {LOC} shows {WORK} until <June:PER> .
        Critics call {WORK} the best novel of the year .
        {PER} dedicated {WORK} to the people of {LOC} .
        Tickets for {WORK} are sold out .
        {LONG} bought the manuscript of {WORK} .
        The author of {WORK} , {PER} , lives near {LOC} .
    """,
    "business": """
        {ORG} will close its plant in {LOC} .
        Shares of {ORG} rose by 4 percent after {PER} resigned .
        {ORG} and {ORG} announced a merger on <Friday:ORG> .
        {PER} leaves {ORG} for {LONG} .
        A court in {LOC} ordered {ORG} to pay a fine .
        {ORG} , based in {LOC} , hires two hundred engineers .
        {LONG} supports a study by {ORG} .
        The takeover of {ORG} was blocked , said {PER} .
    """,
}


class SentencePiece(Struct, frozen=True):
    """A run of tokens that stands together: a name with its label, or words between names.

    `inner` are the mentions inside a name, written when nested mentions are asked for; `trap` is the
    position of a word that a system may take for a mention of the label `trap_label`.
    """

    tokens: tuple[str, ...]
    label: str | None = None
    inner: tuple[tuple[int, int, str], ...] = ()
    trap: int | None = None
    trap_label: str | None = None


class Inventory(Struct, frozen=True):
    """All pieces, those that fill each slot, and the patterns of each topic as rows of pieces and slots."""

    pieces: tuple[SentencePiece, ...]
    slots: dict[str, range]
    topics: tuple[tuple[tuple[int | str, ...], ...], ...]
    form: tuple[int, ...]  # the number of the token sequence of each piece: equal for equal names


@cache
def inventory() -> Inventory:
    """The pieces of the demo corpus, the same in every run."""
    pieces: list[SentencePiece] = []
    slots: dict[str, range] = {}
    for slot, (kind, label) in SLOTS.items():
        first = len(pieces)
        pieces.extend(SentencePiece(tuple(tokens), label, inner) for tokens, inner in _names(kind))
        slots[slot] = range(first, len(pieces))
    topics = tuple(
        tuple(tuple(_pattern(line.strip(), pieces)) for line in patterns.strip().splitlines())
        for patterns in TOPICS.values()
    )
    forms: dict[tuple[str, ...], int] = {}
    form = tuple(forms.setdefault(piece.tokens, len(forms)) for piece in pieces)
    return Inventory(tuple(pieces), slots, topics, form)


def _pattern(line: str, pieces: list[SentencePiece]) -> Iterator[int | str]:
    """The numbers of the pieces of words and the names of the slots of one pattern, in order."""
    words: list[str] = []

    def flush() -> Iterator[int]:
        if words:
            pieces.append(_words(words))
            words.clear()
            yield len(pieces) - 1

    for word in line.split():
        if word.startswith("{"):
            yield from flush()
            yield word[1:-1]
        else:
            words.append(word)
    yield from flush()


def _words(words: list[str]) -> SentencePiece:
    tokens, trap, trap_label = [], None, None
    for position, word in enumerate(words):
        if word.startswith("<"):
            word, trap_label = word[1:-1].split(":")
            trap = position
        tokens.append(word)
    return SentencePiece(tuple(tokens), trap=trap, trap_label=trap_label)


def _names(kind: str) -> Iterator[tuple[list[str], tuple[tuple[int, int, str], ...]]]:
    """The token sequences of all names of a kind, with the mentions inside them."""
    cities = [stem + end for stem, end in product(_CITY_STEMS, _CITY_ENDS)]
    families = [stem + end for stem, end in product(_LAST_STEMS, _LAST_ENDS)]
    if kind == "person":
        yield from (([first, last], ()) for first, last in product(_FIRST, families))
        yield from (([last], ()) for last in families)
    elif kind == "city":
        yield from (([city], ()) for city in cities)
    elif kind == "place":
        yield from (([city], ()) for city in cities)
        yield from (([place, city], ()) for place, city in product(_PLACE_KINDS, cities[::4]))
    elif kind == "firm":
        yield from (([firm], ()) for firm in _FIRMS)
        yield from (([firm, *kind.split()], ()) for firm, kind in product(_FIRMS, _FIRM_KINDS))
    elif kind == "institution":
        for field, study, city in product(_FIELDS, _STUDIES, cities[::5]):
            yield ["Institute", "of", field, study, "in", city], ((5, 6, "LOC"),)
        for study, city in product(_STUDIES, cities[::2]):
            yield [city, "Society", "for", study], ((0, 1, "LOC"),)
    elif kind == "title":
        yield from ((["The", mood, thing], ()) for mood, thing in product(_MOODS, _THINGS))
        for thing, city in product(_THINGS, cities[::3]):
            yield ["A", thing, "for", city], ((3, 4, "LOC"),)
        for mood, thing, last in product(_MOODS, _THINGS, families[::3]):
            yield ["The", mood, thing, "of", "Captain", last], ((5, 6, "PER"),)
