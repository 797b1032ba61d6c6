"""Hints: signs that predictions do not mean what they seem to mean, such as positions counted from 1."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Ints, distinct, ints
from spanwise.corpus import Corpus, Mentions, with_one_labelling
from spanwise.document import Input
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import SystemScores
from spanwise.errors import differ_only_in, many
from spanwise.evaluation.choices import Block

# By how much starts and ends would have to move, in which words.
MOVES: Mapping[tuple[int, int], str] = {
    (0, 1): "they ended one position later: ends name the first position after a mention",
    (-1, -1): "they began and ended one position earlier: positions count from 0",
    (-1, 0): "they began one position earlier: positions count from 0, and ends name the first one after",
    (1, 1): "they began and ended one position later: are those of gold counted from 0?",
    (0, -1): "they ended one position earlier: do the ends in gold name the first position after a mention?",
    (1, 0): "they began one position later: are those of gold counted from 0?",
}
WORDS = "their positions numbered tokens: the gold file counts characters"
LATER = "each were given for the sentence before its own"
EARLIER = "each were given for the sentence after its own"
MOST, FEW = 0.8, 0.2  # shares of mentions: nearly all, hardly any
SOME, SEVERAL = 0.05, 5  # the share and the number of mentions inside words from which on they are reported
IMPOSSIBLE = 0.005  # the share of impossible tags that models without constraints leave, per mention
# Words in the names of files.
GOLD_NAMES = frozenset(("gold", "goldstandard", "groundtruth", "truth"))
PREDICTED_NAMES = frozenset(("pred", "preds", "predicted", "prediction", "predictions", "output", "outputs"))
MAPPED = 8  # labels of which a hint says how to map them
COPIED = 20  # gold mentions from which on a perfect score is worth a question


class Signs(Struct, frozen=True, eq=False):
    """How many predicted mentions lie where gold has one, as they are and if they are read in another way.

    The other ways are counted only in blocks in which fewer than half lie where gold has one.
    """

    predicted: int
    same: int  # that have the span of a gold mention
    labeled: int  # that have its label too
    ways: Mapping[str, int]
    inside: int = 0  # that begin or end inside a word, less those of gold that do
    scored: tuple[int, int] = (0, 0)  # how many mentions of gold and of the predictions have scores

    @classmethod
    def of(cls, corpus: Corpus, gold: Mentions, predicted: Mentions, same: int, labeled: int) -> Signs:
        """Count the mentions of one block."""
        ways: dict[str, int] = {}
        inside = 0
        if len(gold) and same < len(predicted):
            if 2 * same < len(predicted):
                ways = _ways(corpus, gold, predicted)
            if corpus.unit == "character" and corpus.token_start is not None:
                inside = max(_inside(corpus, predicted) - _inside(corpus, gold), 0)
        return cls(len(predicted), same, labeled, ways, inside, (_scored_in(gold), _scored_in(predicted)))

    def __add__(self, other: Signs) -> Signs:
        names = {**self.ways, **other.ways}
        return Signs(
            self.predicted + other.predicted,
            self.same + other.same,
            self.labeled + other.labeled,
            {name: self.ways.get(name, 0) + other.ways.get(name, 0) for name in names},
            self.inside + other.inside,
            (self.scored[0] + other.scored[0], self.scored[1] + other.scored[1]),
        )

    @property
    def way(self) -> str | None:
        """How the positions seem to be meant, if hardly any mention fits as it is."""
        if self.predicted < 2 or self.same > FEW * self.predicted:
            return None
        best = max(self.ways, key=lambda name: self.ways[name], default=None)
        return best if best is not None and self.ways[best] >= MOST * self.predicted else None


def _ways(corpus: Corpus, gold: Mentions, predicted: Mentions) -> dict[str, int]:
    """How many predicted mentions lie where gold has one, for each other way to read them."""
    placed = predicted.placed
    sentence, start, end = (column[placed] for column in (predicted.sentence, predicted.start, predicted.end))
    width = _width(gold.end, end)
    wanted = distinct(_keys(gold.sentence, gold.start, gold.end, width))

    def found(sentences: Column, starts: Column, ends: Column) -> int:
        return int(np.count_nonzero(np.isin(_keys(sentences, starts, ends, width), wanted)))

    ways = {name: found(sentence, start + first, end + last) for (first, last), name in MOVES.items()}
    ways[LATER] = found(sentence - 1, start, end)
    ways[EARLIER] = found(sentence + 1, start, end)
    if corpus.unit == "character" and corpus.token_start is not None and corpus.token_end is not None:
        known = end <= corpus.lengths[sentence]
        first = corpus.sentences[sentence[known]]
        begins, stops = corpus.token_start[first + start[known]], corpus.token_end[first + end[known] - 1]
        ways[WORDS] = found(sentence[known], begins, stops)
    return ways


def _width(*ends: Column) -> int:
    """More than any position, also of mentions that are moved by one."""
    return int(max(end.max(initial=0) for end in ends)) + 3


def _keys(sentences: Column, starts: Column, ends: Column, width: int) -> Ints:
    """A number for each span; equal spans of a sentence have equal numbers."""
    return ints((sentences * width + starts + 1) * width + ends + 1)


def _scored_in(mentions: Mentions) -> int:
    """How many mentions have a score."""
    return 0 if mentions.score is None else int(np.count_nonzero(~np.isnan(mentions.score)))


def _inside(corpus: Corpus, mentions: Mentions) -> int:
    """How many mentions begin or end inside a word."""
    assert corpus.token_start is not None and corpus.token_end is not None
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths)
    width = int(max(corpus.token_end.max(initial=0), mentions.end.max(initial=0))) + 1
    begins = np.isin(mentions.sentence * width + mentions.start, owner * width + corpus.token_start)
    stops = np.isin(mentions.sentence * width + mentions.end, owner * width + corpus.token_end)
    return int(np.count_nonzero(mentions.placed & ~(begins & stops)))


class Sides(Struct, frozen=True, eq=False):
    """Gold and the predictions of one system: how many mentions, and of which labels."""

    gold: int
    predicted: int
    right: int
    known: Sequence[str]  # the labels of gold
    given: Sequence[str]  # the labels of predictions
    signs: Signs | None = None

    @classmethod
    def of(cls, corpus: Corpus, gold: Mentions, predicted: Mentions) -> Sides:
        """Compare the mentions of one block."""
        mine, other = with_one_labelling([gold, predicted])
        width = _width(mine.end, other.end)
        keys = [_keys(side.sentence, side.start, side.end, width) for side in (mine, other)]
        labeled = [key * len(mine.labels) + side.label for key, side in zip(keys, (mine, other), strict=True)]
        same, right = (
            int(np.count_nonzero(np.isin(theirs, ours) & other.placed)) for ours, theirs in (keys, labeled)
        )
        known, given = (
            tuple(side.labels[code] for code in distinct(side.label).tolist()) for side in (mine, other)
        )
        signs = Signs.of(corpus, mine, other, same, right)
        return cls(len(mine), len(other), right, known, given, signs)

    @classmethod
    def of_block(cls, block: Block) -> dict[str, Sides]:
        """Gold and the predictions of every system in one block."""
        gold = block.gold.mentions
        return {name: cls.of(block.corpus, gold, predicted) for name, predicted in block.systems.items()}

    def __add__(self, other: Sides) -> Sides:
        signs = [side.signs for side in (self, other) if side.signs is not None]
        return Sides(
            self.gold + other.gold,
            self.predicted + other.predicted,
            self.right + other.right,
            sorted({*self.known, *other.known}),
            sorted({*self.given, *other.given}),
            signs[0] + signs[1] if len(signs) == 2 else next(iter(signs), None),
        )

    @classmethod
    def added(cls, blocks: Sequence[Mapping[str, Sides]]) -> dict[str, Sides]:
        """Add up the sides of several blocks, system by system."""
        total: dict[str, Sides] = {}
        for block in blocks:
            for name, sides in block.items():
                total[name] = total[name] + sides if name in total else sides
        return total

    @property
    def identical(self) -> bool:
        """Whether every mention is predicted, and no other."""
        return self.gold == self.predicted == self.right > 0


def hints(document: Evaluation, signs: Mapping[str, Signs]) -> tuple[str, ...]:
    """What a reader should check before believing the scores; at most a few sentences for each system."""
    sides = {name: _scored(system, signs.get(name)) for name, system in document.systems.items()}
    return hints_of(document.inputs, sides, nothing=", so that F1 is 0 and precision undefined")


def _scored(system: SystemScores, signs: Signs | None) -> Sides:
    overall, labels = system.exact.overall, system.exact.labels
    known = [name for name, cell in labels.items() if cell.gold]
    given = [name for name, cell in labels.items() if cell.predicted]
    return Sides(overall.gold, overall.predicted, overall.correct, known, given, signs)


def hints_of(
    inputs: Sequence[Input], systems: Mapping[str, Sides], *, labels: bool = True, nothing: str = ""
) -> tuple[str, ...]:
    """What a reader should check before believing what is said of some systems.

    Args:
        inputs: the files, gold first.
        labels: whether the labels of predictions matter.
        nothing: what follows where nothing is predicted.
    """
    entries = {entry.system: entry for entry in inputs if entry.role == "predicted"}
    found: list[str] = []
    for name, sides in systems.items():
        own = _of_system(inputs[0], entries.get(name), sides, labels=labels, nothing=nothing)
        found += [_sentence(hint, name if len(systems) > 1 else None) for hint in own]
    return (*found, *_of_scheme(inputs))


def _of_system(gold: Input, entry: Input | None, sides: Sides, *, labels: bool, nothing: str) -> list[str]:
    signs = sides.signs
    if entry is not None and _seems_swapped(gold, entry):
        return ["the names of the files suggest that gold and predictions are swapped"]
    if entry is not None and (sign := _of_model(gold, entry, sides)) is not None:
        return [f"{sign}: are gold and predictions swapped?"]
    same_file = entry is not None and entry.sha256 is not None and entry.sha256 == gold.sha256
    if sides.identical and (same_file or sides.gold >= COPIED):
        return ["the predictions are identical to gold: make sure that they are not a copy of it"]
    if sides.gold and not sides.predicted:
        return [f"no mention is predicted{nothing}"]
    found = _of_labels(sides.known, sides.given) if labels else []
    if signs is None or not signs.predicted or not sides.gold:
        return found
    if signs.way is not None:
        share = f"{signs.ways[signs.way]:,} of {many(signs.predicted, 'predicted mention')}"
        found.append(f"hardly any span is that of gold, but {share} would fit if {signs.way}")
    elif signs.inside >= max(SEVERAL, SOME * signs.predicted):
        found.append(
            f"{signs.inside:,} of {many(signs.predicted, 'predicted mention')} begin or end inside a word, "
            "unlike those of gold: positions must count characters, not bytes or UTF-16 units"
        )
    elif labels and not found and signs.same > MOST * signs.predicted and signs.labeled <= FEW * signs.same:
        found.append(
            f"{signs.same:,} of {many(signs.predicted, 'predicted mention')} have the span of a gold "
            f"mention, but {signs.same - signs.labeled:,} of them another label: the labels may be mixed up"
        )
    elif not found and entry is not None and _unchecked(gold, entry) and signs.same <= FEW * signs.predicted:
        found.append(
            "hardly any span is that of gold, and the predictions have neither text nor ids to show that "
            "they belong to these sentences"
        )
    return found


def _of_labels(known: Sequence[str], given: Sequence[str]) -> list[str]:
    found = _twins([name for name in given if name not in known], known)
    if not found and known and given and not {*known} & {*given}:
        found.append(f"no predicted label occurs in gold: {_listed(given)} here, {_listed(known)} there")
    return found


def _sentence(hint: str, system: str | None) -> str:
    text = f"{hint[0].upper()}{hint[1:]}" if system is None else f"{system}: {hint}"
    return text if text.endswith("?") else f"{text}."


def _seems_swapped(gold: Input, entry: Input) -> bool:
    """Whether the file of predictions is called gold and not predictions, and that of gold is not."""
    theirs, own = ({*re.split(r"[^a-z]+", PurePath(str(row.path)).name.lower())} for row in (gold, entry))
    return bool(own & GOLD_NAMES and not own & PREDICTED_NAMES and not theirs & GOLD_NAMES)


def _of_model(gold: Input, entry: Input, sides: Sides) -> str | None:
    """What gold has that annotators hardly ever leave and models do, if the predictions lack it."""
    scored, others = (0, 0) if sides.signs is None else sides.signs.scored
    if 2 * scored > sides.gold and not others and sides.predicted:
        return (
            f"{scored:,} of {many(sides.gold, 'gold mention')} have a score, and no predicted mention has one"
        )
    broken, rest = gold.repairs or 0, entry.repairs or 0
    enough = broken >= max(SEVERAL, IMPOSSIBLE * sides.gold)
    if enough and entry.scheme == gold.scheme and 10 * rest < broken:
        return f"{broken:,} tags of gold are impossible, and {rest:,} of the predictions"
    return None


def _unchecked(gold: Input, entry: Input) -> bool:
    """Whether nothing but the order of sentences shows that predictions belong to gold."""
    return entry.paired == "in order" and (gold.tokens is None or entry.tokens is None)


def _twins(unknown: Sequence[str], known: Sequence[str]) -> list[str]:
    """Labels that differ from one of gold only in case or in Unicode form."""
    found = []
    for kind in ("Unicode form", "case"):
        pairs = [(mine, other) for mine in unknown for other in known if differ_only_in(mine, other) == kind]
        if pairs:
            spelled = ascii if kind == "Unicode form" else repr  # both forms look the same
            shown = ", ".join(f"{spelled(mine)} here, {spelled(other)} in gold" for mine, other in pairs[:3])
            more = f" and {len(pairs) - 3:,} more" if len(pairs) > 3 else ""
            advice = "rename them in one of the files"
            if kind == "case" and all(re.fullmatch(r"[\w-]+", mine + other) for mine, other in pairs):
                named = ",".join(f"{mine}={other}" for mine, other in pairs[:MAPPED])
                advice += f", or map them: --map {named}{',…' if len(pairs) > MAPPED else ''}"
            found.append(f"labels differ only in {kind}: {shown}{more}; {advice}")
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name[:40] for name in names[:4]) + (" …" if len(names) > 4 else "")


def _of_scheme(inputs: Sequence[Input]) -> list[str]:
    """Hints about files in which every mention needed a repair in the scheme that was named for them."""
    return [
        f"In {entry.path}, {many(entry.repairs, 'tag')} of {many(entry.mentions, 'mention')} had to be "
        f"repaired: does it follow {entry.scheme}, the scheme that was named? Without one, it is recognised."
        for entry in inputs
        if entry.mentions
        and entry.repairs >= entry.mentions
        and str(entry.evidence).endswith(", as declared")
    ]
