"""A generated corpus and three simulated systems, for trying out and timing spanwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Column, Floats, Ints, Small, ints, offsets
from spanwise.document import DocumentLike
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import as_document
from spanwise.document.scores import Confusion, SystemScores, WeakSlice
from spanwise.errors import ChoiceError
from spanwise.formats import make_folder, write_atomically

__all__ = ["SYSTEMS", "Demo", "PlantedWeakness", "SimulatedSystem", "generate", "verdicts"]


# ---- names and sentence patterns -----------------------------------------------------------------
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

# What may fill a slot in a pattern: a kind of name, and the label it has there. Cities are also teams, so
# the same string can be LOC in one sentence and ORG in another.
SLOTS = {
    "PER": ("person", "PER"),
    "LOC": ("place", "LOC"),
    "TEAM": ("city", "ORG"),
    "ORG": ("firm", "ORG"),
    "LONG": ("institution", "ORG"),
    "WORK": ("title", "WORK"),
}

# One line per sentence; <word:LABEL> marks an ordinary word that a system may mistake for a mention.
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
    """A run of tokens that stay together: a name with its label, or the words between names.

    `inner` holds the mentions inside a name, which are written only with nested mentions; `trap` is the
    position of a word that a system may mistake for a mention with the label `trap_label`.
    """

    tokens: tuple[str, ...]
    label: str | None = None
    inner: tuple[tuple[int, int, str], ...] = ()
    trap: int | None = None
    trap_label: str | None = None


class Inventory(Struct, frozen=True):
    """All pieces, the pieces that fill each slot, and the patterns of each topic as pieces and slots."""

    pieces: tuple[SentencePiece, ...]
    slots: dict[str, range]
    topics: tuple[tuple[tuple[int | str, ...], ...], ...]
    form: tuple[int, ...]  # a number for each piece's tokens, the same for equal names


@cache
def inventory() -> Inventory:
    """The pieces of the demo corpus; the same in every run."""
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
    """The parts of a pattern in order: numbers of pieces with words, and names of slots."""
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
        yield from (([prefix, city], ()) for prefix, city in product(_PLACE_KINDS, cities[::4]))
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


# ---- texts drawn from them -----------------------------------------------------------------------
Part = Literal["train", "test"]

_KNOWN = 0.7  # share of names that may occur in training sentences
_NEW = 0.3  # share of test mentions drawn from the remaining names
_SIZES = (6, 14)  # fewest and most sentences per document


class DrawnText(Struct, frozen=True, eq=False):
    """The pieces of a text in order; sentence `i` has pieces `sentences[i]:sentences[i + 1]`."""

    pieces: Ints
    sentences: Ints
    documents: Ints

    def __len__(self) -> int:
        return len(self.sentences) - 1


def draw(inventory: Inventory, part: Part, *, sentences: int, seed: int) -> DrawnText:
    """Draw a text with the given number of sentences; each seed gives one training and one test text.

    Each document has one topic. Names early in a shuffled list are drawn more often, so that a few are
    frequent and most are rare. Training text only uses the first part of each list.
    """
    order = np.random.default_rng([seed, 0])  # both parts share the order, and so which names are known
    random = np.random.default_rng([seed, 1 if part == "train" else 2])
    documents = _documents(sentences, random)
    topic = np.repeat(
        (random.random(len(documents) - 1) * len(inventory.topics)).astype(int), np.diff(documents)
    )
    patterns = [pattern for patterns in inventory.topics for pattern in patterns]
    first = offsets([len(patterns) for patterns in inventory.topics])
    chosen = first[topic] + (random.random(sentences) * np.diff(first)[topic]).astype(int)
    starts = offsets(np.array([len(pattern) for pattern in patterns])[chosen])
    pieces = np.empty(starts[-1], dtype=np.int64)
    shuffled = {
        slot: np.argsort(order.random(len(names)), kind="stable") + names.start
        for slot, names in inventory.slots.items()
    }
    for number, pattern in enumerate(patterns):
        at = starts[:-1][chosen == number]
        for index, filler in enumerate(pattern):
            drawn = _fill(shuffled[filler], len(at), part, random) if isinstance(filler, str) else filler
            pieces[at + index] = drawn
    return DrawnText(ints(pieces), starts, documents)


def _documents(sentences: int, random: np.random.Generator) -> Ints:
    low, high = _SIZES
    sizes = low + (random.random(sentences // low + 1) * (high - low + 1)).astype(int)
    ends = np.cumsum(sizes)
    ends = ends[ends < sentences]
    return ints([0, *ends.tolist(), sentences] if sentences else [0])


def _fill(names: Ints, number: int, part: Part, random: np.random.Generator) -> Ints:
    boundary = int(len(names) * _KNOWN)
    skewed = random.random(number) ** 3
    drawn = (skewed * boundary).astype(int)
    if part == "test":
        new = random.random(number) < _NEW
        drawn = np.where(new, boundary + (skewed * (len(names) - boundary)).astype(int), drawn)
    return ints(names[drawn])


def seen(inventory: Inventory, train: DrawnText, labels: Ints) -> Bools:
    """A mask of the pieces that are names occurring in the training text with the same label."""
    form = np.array(inventory.form)
    pairs = form * (labels.max() + 2) + labels + 1
    return np.asarray(np.isin(pairs, pairs[np.unique(train.pieces)]))


# ---- simulated systems ---------------------------------------------------------------------------
# What a system predicts for a mention: right, missed, without its first or last token, with label k instead
# of its own (LABELED + k), or with label k and without its first token (BOTH + k). For words, RIGHT predicts
# no mention, TRAPPED predicts one at the marked word, and LABELED + k extends the preceding mention, with
# label k, over the first word.
RIGHT, MISSED, FIRST_LEFT_OUT, LAST_LEFT_OUT, LABELED = range(5)
TRAPPED = MISSED
BOTH = LABELED + len(LABELS)
VARIANTS = BOTH + len(LABELS)

LONG = 4  # tokens; the definitions' last bucket of entity_length
_CARELESS = 0.06  # share of mentions that every system gets wrong at random
_TRAPPED = 0.10  # share of marked words that every system mistakes for mentions


class SimulatedSystem(Struct, frozen=True):
    """A simulated system: its name, its planted weakness and how often that shows."""

    name: str
    weakness: str
    rate: float


SYSTEMS = (
    SimulatedSystem("shortsighted", "cuts the ends off mentions of four or more tokens", 0.66),
    SimulatedSystem(
        "memoriser", "misses mentions that do not occur in the training file with their label", 0.42
    ),
    SimulatedSystem("swapper", "writes LOC for ORG and ORG for LOC", 0.19),
)


class PieceFacts(Struct, frozen=True, eq=False):
    """Columns of facts about pieces: length, label (-1 for words), seen in training, contains a trap."""

    length: Ints
    label: Ints
    seen: Bools
    trap: Bools


def predict(system: SimulatedSystem, text: DrawnText, facts: PieceFacts, *, seed: int) -> Small:
    """The system's prediction for every piece of the text, as one of the variants above."""
    number = [candidate.name for candidate in SYSTEMS].index(system.name)
    random = np.random.default_rng([seed, 3 + number])
    label, length = facts.label[text.pieces], facts.length[text.pieces]
    mention = label >= 0
    chance = random.random((4, len(text.pieces)))
    variant = np.where(mention & (chance[0] < _CARELESS), _careless(chance[1], label), RIGHT)
    variant = np.where(~mention & facts.trap[text.pieces] & (chance[0] < _TRAPPED), TRAPPED, variant)
    struck = mention & (chance[2] < system.rate)
    if system.name == "shortsighted":
        cut = np.where(chance[3] < 0.5, FIRST_LEFT_OUT, LAST_LEFT_OUT)
        variant = np.where(struck & (length >= LONG), cut, variant)
    elif system.name == "memoriser":
        variant = np.where(struck & ~facts.seen[text.pieces], MISSED, variant)
    else:
        loc, org = LABELS.index("LOC"), LABELS.index("ORG")
        variant = np.where(struck & (label == loc), LABELED + org, variant)
        variant = np.where(struck & (label == org), LABELED + loc, variant)
    cut = (variant == FIRST_LEFT_OUT) | (variant == LAST_LEFT_OUT) | (variant >= BOTH)
    variant = np.where(
        mention & cut & (length == 1), MISSED, variant
    )  # cutting a single token leaves nothing
    return _run_on(variant, chance[0] < _CARELESS / 2, text, label).astype(np.int8)


def _careless(chance: Floats, label: Ints) -> Column:
    """A random mistake: missed, too short on either side, another label, or both, all equally likely."""
    kind = (chance * 5).astype(int)
    another = (label + 1 + (chance * 1e6).astype(int) % (len(LABELS) - 1)) % len(LABELS)
    shortened = np.where(kind == 3, LABELED + another, kind + MISSED)
    return np.where(kind == 4, BOTH + another, shortened)


def _run_on(variants: Column, careless: Bools, text: DrawnText, label: Ints) -> Column:
    """Extend some mentions over the first word after them, if neither has another error."""
    after = np.arange(1, len(variants))
    inside = np.ones(len(after), dtype=bool)
    inside[text.sentences[1:-1] - 1] = False  # the next piece starts a new sentence
    chosen = after[inside & careless[1:] & (label[:-1] >= 0) & (label[1:] < 0) & (variants[:-1] == RIGHT)]
    variants = variants.copy()
    variants[chosen] = np.where(variants[chosen] == RIGHT, LABELED + label[chosen - 1], variants[chosen])
    return variants


def facts_of(inventory: Inventory, seen: Bools) -> PieceFacts:
    """The facts about all pieces of the inventory."""
    return PieceFacts(
        length=np.array([len(piece.tokens) for piece in inventory.pieces]),
        label=labels_of(inventory),
        seen=seen,
        trap=np.array([piece.trap is not None for piece in inventory.pieces]),
    )


def labels_of(inventory: Inventory) -> Ints:
    """The label number of each piece; -1 for words."""
    return np.array([-1 if piece.label is None else LABELS.index(piece.label) for piece in inventory.pieces])


# ---- files ---------------------------------------------------------------------------------------
Span = tuple[int, int, str]


def conll(inventory: Inventory, text: DrawnText, variants: Small | None = None) -> bytes:
    """The text with tags, one token per line; `variants` has a system's prediction for every piece.

    Each combination of piece and variant is rendered once and then joined by number, which avoids Python
    code for each token.
    """
    end = len(inventory.pieces) * VARIANTS
    keys = text.pieces * VARIANTS + (0 if variants is None else variants)
    laid = _lay(text, keys, end_of_sentence=end, start_of_document=end + 1)
    rendered: list[bytes] = [b""] * (end + 2)
    used = np.zeros(end + 2, dtype=bool)
    used[laid] = True
    for key in np.flatnonzero(used[:end]).tolist():
        rendered[key] = _conll_piece(inventory.pieces[key // VARIANTS], key % VARIANTS)
    rendered[end], rendered[end + 1] = b"\n", b"-DOCSTART- O\n\n"
    return b"".join(map(rendered.__getitem__, laid.tolist()))


def _lay(text: DrawnText, keys: Ints, *, end_of_sentence: int, start_of_document: int) -> Ints:
    """Insert a marker before every document and after every sentence into the keys."""
    sentence = np.repeat(np.arange(len(text)), np.diff(text.sentences))
    documents = len(text.documents) - 1
    document = np.repeat(np.arange(documents), np.diff(text.documents))
    laid = np.full(len(keys) + len(text) + documents, end_of_sentence, dtype=np.int64)
    laid[np.arange(len(keys)) + sentence + document[sentence] + 1] = keys
    first = text.documents[:-1]
    laid[text.sentences[first] + first + np.arange(documents)] = start_of_document
    return laid


def _conll_piece(piece: SentencePiece, variant: int) -> bytes:
    tags = ["O"] * len(piece.tokens)
    if runs_on(piece, variant):
        tags[0] = f"I-{LABELS[variant - LABELED]}"
    for start, end, label in spans_of(piece, variant):
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return "".join(f"{token} {tag}\n" for token, tag in zip(piece.tokens, tags, strict=True)).encode()


def runs_on(piece: SentencePiece, variant: int) -> bool:
    """Whether the mention before these words extends over the first of them."""
    return piece.label is None and variant >= LABELED


def spans_of(piece: SentencePiece, variant: int, *, nested: bool = False) -> list[Span]:
    """The mentions that a system predicts in a piece; inner mentions are kept if all their tokens are."""
    if piece.label is None:
        if variant != TRAPPED or piece.trap is None or piece.trap_label is None:
            return []
        return [(piece.trap, piece.trap + 1, piece.trap_label)]
    start = 1 if variant == FIRST_LEFT_OUT or variant >= BOTH else 0
    end = len(piece.tokens) - (1 if variant == LAST_LEFT_OUT else 0)
    label = LABELS[(variant - LABELED) % len(LABELS)] if variant >= LABELED else piece.label
    outer = [] if variant == MISSED else [(start, end, label)]
    inner = [span for span in piece.inner if start <= span[0] and span[1] <= end] if nested else []
    return outer + inner


def jsonl(inventory: Inventory, text: DrawnText, variants: Small | None = None) -> bytes:
    """The text with all mentions, including inner ones, as one JSON object per sentence."""
    predictions = np.zeros(len(text.pieces), np.int8) if variants is None else variants
    return "".join(json.dumps(row) + "\n" for row in _rows(inventory, text, predictions)).encode()


def _rows(inventory: Inventory, text: DrawnText, variants: Small) -> Iterator[dict[str, object]]:
    document = np.repeat(np.arange(len(text.documents) - 1), np.diff(text.documents)).tolist()
    pieces, predictions, starts = text.pieces.tolist(), variants.tolist(), text.sentences.tolist()
    for sentence, number in enumerate(document):
        tokens: list[str] = []
        spans: list[Span] = []
        outer = 0
        for index in range(starts[sentence], starts[sentence + 1]):
            piece = inventory.pieces[pieces[index]]
            shift = len(tokens)
            if runs_on(piece, predictions[index]):
                spans[outer] = (spans[outer][0], shift + 1, spans[outer][2])
            outer = len(spans)  # an outer mention comes before its inner ones
            spans += [
                (shift + start, shift + end, label)
                for start, end, label in spans_of(piece, predictions[index], nested=True)
            ]
            tokens += piece.tokens
        yield {"document": f"d{number}", "tokens": tokens, "spans": spans}


# ---- the corpus ----------------------------------------------------------------------------------

_MOST_TRAINING = 100_000  # sentences; more would only repeat the same names


class Demo(Struct, frozen=True):
    """The paths of a generated corpus: gold file, training file and one file per system.

    Examples:
        >>> Demo(Path("gold.conll"), Path("train.conll"), {"mine": Path("mine.conll")}).systems["mine"].name
        'mine.conll'
    """

    gold: Path
    train: Path
    systems: dict[str, Path]


def generate(folder: str | Path, *, sentences: int = 1000, nested: bool = False, seed: int = 0) -> Demo:
    """Write a gold and a training file and the predictions of three simulated systems to `folder`.

    The names are invented. Each document has a topic; in sport, cities are teams, so that the same string can
    be LOC or ORG; institutions and titles are long; many test mentions do not occur in the training file,
    which has twice as many sentences (at most 100,000). The same arguments always give the same bytes.

    With `nested`, places and persons inside institutions and titles are mentions too, and the files
    are JSONL (tokens and spans) instead of CoNLL columns with IOB2 tags.

    Examples:
        >>> import tempfile
        >>> demo = generate(tempfile.mkdtemp(), sentences=20)
        >>> demo.gold.name, sorted(demo.systems)
        ('gold.conll', ['memoriser', 'shortsighted', 'swapper'])
    """
    if sentences < 1:
        raise ChoiceError(
            f"sentences={sentences!r} is not a size.\nGive the number of test sentences, from 1."
        )
    if seed < 0:
        raise ChoiceError(f"seed={seed!r} is not a seed.\nGive a whole number from 0.")
    stock = inventory()
    render, suffix = (jsonl, "jsonl") if nested else (conll, "conll")
    train = draw(stock, "train", sentences=min(2 * sentences, _MOST_TRAINING), seed=seed)
    test = draw(stock, "test", sentences=sentences, seed=seed)
    facts = facts_of(stock, seen(stock, train, labels_of(stock)))
    target = make_folder(folder)
    demo = Demo(
        gold=target / f"gold.{suffix}",
        train=target / f"train.{suffix}",
        systems={system.name: target / f"{system.name}.{suffix}" for system in SYSTEMS},
    )
    write_atomically(demo.train, render(stock, train))
    write_atomically(demo.gold, render(stock, test))
    for system in SYSTEMS:
        variants = predict(system, test, facts, seed=seed)
        write_atomically(demo.systems[system.name], render(stock, test, variants))
    return demo


# ---- whether an evaluation finds the planted weaknesses ------------------------------------------
class PlantedWeakness(Struct, frozen=True):
    """The weakness planted in a system, the main findings of a result document, and whether they match.

    `slice` is the costliest slice, `gain` the kind of error whose correction would gain the most F1 and how
    much, and `confused` the label pairs that are confused most often, with their counts.
    """

    system: str
    weakness: str
    found: bool
    slice: WeakSlice | None
    gain: tuple[str, float]
    confused: tuple[tuple[str, str, int], ...]


def verdicts(document: DocumentLike) -> list[PlantedWeakness]:
    """One verdict per system, using only a result document for the demo corpus."""
    typed = as_document(document)
    scores = typed.systems if isinstance(typed, Evaluation) else {}
    return [
        _verdict(system.name, system.weakness, scores[system.name])
        for system in SYSTEMS
        if system.name in scores
    ]


def _verdict(name: str, weakness: str, scores: SystemScores) -> PlantedWeakness:
    costliest = next(iter(scores.slices), None)
    gains = {kind: gain.gain or 0.0 for kind, gain in scores.gains.items()}
    kind = max(gains, key=lambda key: gains[key])
    confused = _confused(scores.confusion)
    draft = PlantedWeakness(name, weakness, False, costliest, (kind, gains[kind]), confused)
    return PlantedWeakness(name, weakness, _SIGNS[name](draft), costliest, draft.gain, confused)


def _confused(confusion: Confusion) -> tuple[tuple[str, str, int], ...]:
    pairs = [
        (gold, predicted, count)
        for gold, row in zip(confusion.labels, confusion.counts, strict=True)
        for predicted, count in zip(confusion.labels, row, strict=True)
        if gold != predicted and count
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair[2])[:2])


def _long(verdict: PlantedWeakness) -> bool:
    row = verdict.slice
    longest = row is not None and row.attribute == "entity_length" and row.name == "XL"
    return longest and verdict.gain[0] == "BE"


def _unseen(verdict: PlantedWeakness) -> bool:
    row = verdict.slice
    return row is not None and row.kind == "tough" and "UNSEEN" in row.name and verdict.gain[0] == "FN"


def _swapped(verdict: PlantedWeakness) -> bool:
    pairs = {(gold, predicted) for gold, predicted, _ in verdict.confused}
    return verdict.gain[0] == "LE" and pairs == {("LOC", "ORG"), ("ORG", "LOC")}


_SIGNS: dict[str, Callable[[PlantedWeakness], bool]] = {
    "shortsighted": _long,
    "memoriser": _unseen,
    "swapper": _swapped,
}
