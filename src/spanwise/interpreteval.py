"""Reproduce the program released with Fu, Liu and Neubig (2020), including its departures from the paper.

The program computes some attributes and buckets differently from the paper's definitions. `evaluate` follows
the program; each departure is a switch in `Departures`, and with all of them off the figures equal those of
`spanwise.evaluate`. This is never the default: it exists to check published figures.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET, Struct, field
from msgspec.structs import asdict, fields, replace

from spanwise.attributes import ATTRIBUTES
from spanwise.buckets import BUCKETINGS, FOUR, range_text
from spanwise.columns import plain, ratio
from spanwise.corpus import Annotation
from spanwise.diagnosis import comparative_diagnosis, or_nan, self_diagnosis, slices
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import AttributeScores, BucketLead, BucketLeads, BucketScores
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.evaluation.choices import Choices, Inputs
from spanwise.evaluation.presets import FigurePreset
from spanwise.evaluation.result import SMALL
from spanwise.formats import read
from spanwise.schemes import encode

__all__ = [
    "PRESET",
    "SHORT",
    "WHAT",
    "Departures",
    "Figures",
    "Tagged",
    "Training",
    "compare",
    "evaluate",
]


Mention = tuple[int, int, str]  # start, end in the file, label
Unit = Mention | tuple[int, str]  # a mention, or the position and label of one of its tokens

_DELETED = str.maketrans("", "", "()*+")

# What each departure changes, in the order of the program.
WHAT = {
    "lower_case": "strings are lower-cased, except for the density of unknown words",
    "last_hyphen": "a label is what follows the last hyphen of a tag, lower-cased",
    "one_sentence": "mentions are read over the whole file as if it were one sentence",
    "training_mentions": "eCon is 0 for a string that is not a training mention",
    "token_share": "eCon counts tokens of occurrences that carry the label, not mentions",
    "regular_expression": "occurrences are found by an unescaped regular expression in the joined text",
    "fifth_highest": "eFre and tFre are divided by the fifth highest count, not by the tokens",
    "gold_strings": "eFre is 0 for strings that are not gold or are more frequent than the fifth",
    "three_decimals": "eCon, tCon, eFre and tFre are rounded to three decimals",
    "inherited": "tCon of an unseen token is that of the token before it in the mention",
    "token_density": "eDen counts the tokens of mentions, not mentions",
    "word_list": "oDen counts words missing from a given list, not from the training text",
    "fixed_edges": "eCon and tCon have the buckets {0}, (0, .5], (.5, .999], {1}",
    "greedy": "each bucket is filled in ascending order until it exceeds its share",
    "dropped": "predicted units outside every bucket are dropped",
    "six_labels": "only the six most frequent labels are buckets",
    "clamped": "a comparison without a lead or a lag reports it as 0",
}


class Departures(Struct, frozen=True):
    """The program's departures from the paper; each applies unless it is switched off.

    Examples:
        >>> Departures(lower_case=False).lower_case, Departures().lower_case
        (False, True)
    """

    lower_case: bool = True
    last_hyphen: bool = True
    one_sentence: bool = True
    training_mentions: bool = True
    token_share: bool = True
    regular_expression: bool = True
    fifth_highest: bool = True
    gold_strings: bool = True
    three_decimals: bool = True
    inherited: bool = True
    token_density: bool = True
    word_list: bool = True
    fixed_edges: bool = True
    greedy: bool = True
    dropped: bool = True
    six_labels: bool = True
    clamped: bool = True


class Tagged(Struct, frozen=True, eq=False, dict=True):
    """Sentences of tokens and one tag per token, as the program reads them.

    Examples:
        >>> import spanwise
        >>> annotation = spanwise.read([["B-PER", "O"]], tokens=[["Ann", "left"]])
        >>> Tagged.of(annotation).tags
        [['B-PER', 'O']]
    """

    tokens: Sequence[Sequence[str]]
    tags: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        if [len(row) for row in self.tokens] != [len(row) for row in self.tags]:
            raise InputError(
                "the preset interpreteval needs one tag for every token.\nPass as many tags as tokens."
            )

    @classmethod
    def of(cls, annotation: Annotation, *, column: str | None = None) -> Tagged:
        """The sentences of an annotation, with the tags of a column or, without one, encoded as IOB2."""
        corpus = annotation.corpus
        tokens = [corpus.words(number) for number in range(len(corpus))]
        if column is None:
            return cls(tokens, encode(annotation.mentions, corpus.lengths, "IOB2").lists())
        return cls(
            tokens, [part.tolist() for part in np.split(corpus.columns[column], corpus.sentences[1:-1])]
        )

    @cached_property
    def words(self) -> list[str]:
        """All tokens of the file in one list."""
        return [token for sentence in self.tokens for token in sentence]

    @cached_property
    def sentence_of(self) -> list[int]:
        """The sentence number of every token."""
        return [number for number, sentence in enumerate(self.tokens) for _ in sentence]

    def labels(self, departures: Departures) -> list[str | None]:
        """The label of every token; None outside mentions."""
        return [_label(tag, departures) for sentence in self.tags for tag in sentence]

    def mentions(self, departures: Departures) -> list[Mention]:
        """The mentions, with positions in the file; a stray I- begins a mention."""
        whole = [[tag for sentence in self.tags for tag in sentence]]
        mentions: list[Mention] = []
        start = 0
        for sentence in whole if departures.one_sentence else self.tags:
            mentions.extend(_chunks(sentence, start, departures))
            start += len(sentence)
        return mentions


def _label(tag: str, departures: Departures) -> str | None:
    if tag == "O":
        return None
    return tag.rpartition("-")[2].lower() if departures.last_hyphen else tag.partition("-")[2]


def _chunks(tags: Sequence[str], first: int, departures: Departures) -> Iterator[Mention]:
    begun, current = 0, None
    for position, tag in enumerate([*tags, "O"]):
        label = _label(tag, departures)
        if current is not None and (label != current or tag.startswith("B-")):
            yield first + begun, first + position, current
            current = None
        if current is None and label is not None:
            begun, current = position, label


class Training(Struct, frozen=True, eq=False, dict=True):
    """What the program derives from the training file, subject to the departures."""

    tagged: Tagged
    departures: Departures
    matches: dict[tuple[bool, bool, str], list[int]] = field(default_factory=dict)

    @cached_property
    def words(self) -> list[str]:
        """All tokens, case-folded by `fold`."""
        return [self.fold(word) for word in self.tagged.words]

    @cached_property
    def labels(self) -> list[str | None]:
        """The label of every token; None outside mentions."""
        return self.tagged.labels(self.departures)

    @cached_property
    def mentions(self) -> set[Mention]:
        """The mentions, with positions in the file."""
        return set(self.tagged.mentions(self.departures))

    @cached_property
    def strings(self) -> set[str]:
        """The strings of the mentions."""
        return {" ".join(self.words[start:end]) for start, end, _ in self.mentions}

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each token occurs."""
        return Counter(self.words)

    @cached_property
    def labeled(self) -> Counter[tuple[str, str | None]]:
        """How often each token carries each label."""
        return Counter(zip(self.words, self.labels, strict=True))

    @cached_property
    def text(self) -> tuple[str, list[int]]:
        """The words joined by spaces, and the positions of the spaces."""
        joined = " ".join(self.words)
        return joined, [at for at, character in enumerate(joined) if character == " "]

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """The positions of each token."""
        positions: dict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(self.words):
            positions[word].append(at)
        return positions

    def fold(self, word: str) -> str:
        """A word in the form used for comparison: lower-cased, unless that is switched off."""
        return word.lower() if self.departures.lower_case else word

    def occurrences(self, string: str) -> list[int]:
        """The position of the first token of each occurrence of a string."""
        searched = self.departures.regular_expression
        key = (self.departures.lower_case, searched, string)
        if key not in self.matches:
            self.matches[key] = list(self._matches(string) if searched else self._equal(string))
        return self.matches[key]

    def _matches(self, string: str) -> Iterator[int]:
        try:
            pattern = re.compile(f" {string.translate(_DELETED)} ")
        except re.error:  # for example a lone bracket: the program finds nothing
            return
        text, blanks = self.text
        for match in pattern.finditer(text):
            yield bisect_left(blanks, match.start()) + 1

    def _equal(self, string: str) -> Iterator[int]:
        target = string.split(" ")
        sentence = self.tagged.sentence_of
        for at in self.positions.get(target[0], ()):
            end = at + len(target)
            if self.words[at:end] == target and sentence[at] == sentence[end - 1]:
                yield at


class Attributes:
    """The eight attributes, for the mentions of gold or of a system."""

    def __init__(self, gold: Tagged, training: Training, vocabulary: Iterable[str] | None) -> None:
        self.gold, self.training, self.departures = gold, training, training.departures
        self.words = [training.fold(word) for word in gold.words]
        self.mentions = gold.mentions(self.departures)
        listed = self.departures.word_list
        if listed and vocabulary is None:
            raise InputError(
                "the preset interpreteval needs a list of known words for its density of unknown ones.\n"
                "Pass vocabulary=, or switch word_list off."
            )
        known_words = set(vocabulary or ()) if listed else set(training.words)
        self.unknown = [
            sum((word if listed else training.fold(word)) not in known_words for word in row)
            for row in gold.tokens
        ]
        self.covered = Counter[int]()
        for start, end, _ in self.mentions:
            self.covered[gold.sentence_of[start]] += end - start if self.departures.token_density else 1
        counts = {string: len(training.occurrences(string)) for string in map(self._string, self.mentions)}
        self.highest_string = self._highest(counts.values())
        self.highest_token = self._highest(training.counts.values())
        # The program's list excludes strings more frequent than the fifth.
        most = self.highest_string if self.departures.fifth_highest else inf
        self.listed = {string for string, count in counts.items() if count <= most}

    def _highest(self, counts: Iterable[int]) -> int:
        """The divisor of frequencies: the fifth highest count, or the number of training tokens."""
        if not self.departures.fifth_highest:
            return len(self.training.words)
        ordered = sorted(counts, reverse=True)
        return ordered[min(4, len(ordered) - 1)] if ordered else 0

    def _string(self, mention: Mention) -> str:
        return " ".join(self.words[mention[0] : mention[1]])

    def _share(self, count: int, whole: int) -> float:
        """A share, rounded as in the program; 0 if `whole` is 0, as the first bucket requires."""
        share = count / whole if whole else 0.0
        return float(f"{share:.3f}") if self.departures.three_decimals else share

    def of(self, name: str, mentions: Iterable[Mention]) -> dict[Unit, float]:
        """The value of an attribute for every unit of the mentions."""
        if name.startswith("token_"):
            return dict(self._tokens(name, mentions))
        value = self._of_mention[name]
        return {mention: value(mention) for mention in mentions}

    @property
    def _of_mention(self) -> Mapping[str, Callable[[Mention], float]]:
        """The functions for attributes of mentions, by name."""
        return {
            "entity_label_consistency": self._entity_label_consistency,
            "entity_frequency": self._entity_frequency,
            "entity_length": self._entity_length,
            "sentence_length": self._sentence_length,
            "entity_density": self._entity_density,
            "oov_density": self._oov_density,
        }

    def _tokens(self, name: str, mentions: Iterable[Mention]) -> Iterator[tuple[Unit, float]]:
        for start, end, label in mentions:
            before = 0.0
            for position in range(start, end):
                if name == "token_frequency":
                    before = self._token_frequency(position)
                else:
                    before = self._token_label_consistency(position, label, before)
                yield (position, label), before

    def _token_frequency(self, position: int) -> float:
        return min(self._share(self.training.counts[self.words[position]], self.highest_token), 1.0)

    def _token_label_consistency(self, position: int, label: str, before: float) -> float:
        word = self.words[position]
        uses = self.training.counts[word]
        if not uses:
            return before if self.departures.inherited else 0.0
        return self._share(self.training.labeled[word, label], uses)

    def _entity_label_consistency(self, mention: Mention) -> float:
        string, (start, end, label) = self._string(mention), mention
        if self.departures.training_mentions and string not in self.training.strings:
            return 0.0
        size, uses = end - start, self.training.occurrences(string)
        if not self.departures.token_share:
            return self._share(
                sum((at, at + size, label) in self.training.mentions for at in uses), len(uses)
            )
        carried = (self.training.labels[at : at + size] for at in uses)
        return self._share(sum(labels.count(label) for labels in carried), len(uses) * size)

    def _entity_frequency(self, mention: Mention) -> float:
        string = self._string(mention)
        if self.departures.gold_strings and string not in self.listed:
            return 0.0
        return self._share(len(self.training.occurrences(string)), self.highest_string)

    def _entity_length(self, mention: Mention) -> float:
        return float(mention[1] - mention[0])

    def _sentence_length(self, mention: Mention) -> float:
        return float(len(self.gold.tokens[self.gold.sentence_of[mention[0]]]))

    def _entity_density(self, mention: Mention) -> float:
        return self.covered[self.gold.sentence_of[mention[0]]] / self._sentence_length(mention)

    def _oov_density(self, mention: Mention) -> float:
        return self.unknown[self.gold.sentence_of[mention[0]]] / self._sentence_length(mention)


M = 4  # buckets per attribute
_SPECIAL = {
    "entity_label_consistency": (0.0, 1.0),
    "token_label_consistency": (0.0, 1.0),
    "entity_frequency": (0.0,),
    "token_frequency": (0.0,),
    "oov_density": (0.0,),
    "entity_length": (1.0, 2.0, 3.0),
}


class ProgramBucket(NamedTuple):
    """A bucket: the single value `high`, or the values above `low` up to `high`."""

    low: float
    high: float
    point: bool
    special: bool = False


def cut(name: str, values: Iterable[float], departures: Departures) -> list[ProgramBucket]:
    """The buckets of an attribute in ascending order, computed from the values of the gold units."""
    if departures.fixed_edges and name.endswith("_consistency"):
        inner = ProgramBucket(0.0, 0.5, False), ProgramBucket(0.5, 0.999, False)
        return [ProgramBucket(0.0, 0.0, True, True), *inner, ProgramBucket(1.0, 1.0, True, True)]
    counts = Counter(values)
    special = [v for v in _SPECIAL.get(name, ()) if v in counts or not departures.greedy]
    rest = sorted((value, count) for value, count in counts.items() if value not in special)
    grouped = _greedy if departures.greedy else _balanced
    groups = grouped(rest, max(M - len(special), 1))
    buckets = [ProgramBucket(value, value, True, True) for value in special]
    below = max((value for value in special if not rest or value < rest[0][0]), default=None)
    for group in groups:
        point = departures.dropped and len(group) == 1
        low = group[0] if point or (below is None and departures.dropped) else below
        below = group[-1]
        buckets.append(ProgramBucket(-inf if low is None else low, below, point))
    if not rest and not departures.greedy:
        buckets.append(ProgramBucket(-inf if below is None else below, inf, False))
    return sorted(buckets, key=lambda bucket: bucket.high)


def _greedy(values: Sequence[tuple[float, int]], most: int) -> list[list[float]]:
    """Groups of distinct values, each filled until it exceeds its share; the last one takes the rest."""
    share = ratio(sum(count for _, count in values), most)
    groups: list[list[float]] = [[]]
    size = 0
    for value, count in values:
        if size > share and len(groups) < most:
            groups.append([])
            size = 0
        groups[-1].append(value)
        size += count
    return [group for group in groups if group]


def _balanced(values: Sequence[tuple[float, int]], most: int) -> list[list[float]]:
    """Groups of distinct values, as defined by the balanced bucketing."""
    units = np.repeat([value for value, _ in values], [count for _, count in values])
    edges = BUCKETINGS.find("balanced").function(units, (most,)) if values else ()
    groups: dict[int, list[float]] = defaultdict(list)
    for value, _ in values:
        groups[bisect_left(edges, value)].append(value)
    return list(groups.values())


def members(
    units: Mapping[Unit, float], buckets: Sequence[ProgramBucket], departures: Departures, *, predicted: bool
) -> list[set[Unit]]:
    """The units in each bucket; a gold unit may lie on the lower edge of the first bucket."""
    ranged = [number for number, bucket in enumerate(buckets) if not bucket.special]

    def place(value: float) -> int | None:
        for number, (low, high, point, _) in enumerate(buckets):
            on_edge = number == 0 and not predicted and value == low
            if value == high if point else (low < value <= high or on_edge):
                return number
        if departures.dropped or not ranged:
            return None
        return next((number for number in ranged if value <= buckets[number].high), ranged[-1])

    bucket_of = {value: place(value) for value in set(units.values())}
    groups: list[set[Unit]] = [set() for _ in buckets]
    for unit, value in units.items():
        number = bucket_of[value]
        if number is not None:
            groups[number].add(unit)
    return groups


SHORT = {
    name: ATTRIBUTES.find(name).alias
    for name in (
        "entity_label_consistency", "token_label_consistency", "entity_frequency", "token_frequency",
        "entity_length", "sentence_length", "entity_density", "oov_density", "label",
    )
}  # fmt: skip


class Figures(Struct, frozen=True):
    """The buckets of every attribute, in the form used in result documents.

    Examples:
        >>> gold = Tagged([["Ann", "met", "Bo"]], [["B-PER", "O", "B-PER"]])
        >>> evaluate(gold, gold, gold, vocabulary=["met"]).scores("entity_length")
        [1.0]
    """

    attributes: Mapping[str, AttributeScores]
    departures: Departures

    def scores(self, name: str) -> list[float]:
        """The F1 of each bucket of an attribute; NaN if undefined."""
        return [or_nan(bucket.f1) for bucket in self.attributes[name].buckets]


def evaluate(
    gold: Tagged,
    predicted: Tagged,
    train: Tagged | Training,
    *,
    vocabulary: Iterable[str] | None = None,
    departures: Departures = Departures(),
) -> Figures:
    """The F1 of every bucket of the eight attributes and of the labels, as computed by the released program.

    A bucket contains gold and predicted units (mentions, or positions with a label). Units that are in the
    bucket on both sides are correct, and F1 is 2·correct / (gold + predicted).
    `vocabulary` is the list of known words used for the density of unknown words.

    Examples:
        >>> tokens = [["Ann", "left", "Rome"]]
        >>> gold, predicted = Tagged(tokens, [["B-PER", "O", "B-LOC"]]), Tagged(tokens, [["B-PER", "O", "O"]])
        >>> figures = evaluate(gold, predicted, Tagged([["Rome"]], [["B-LOC"]]), vocabulary=["left"])
        >>> [(bucket.gold, bucket.f1) for bucket in figures.attributes["entity_length"].buckets]
        [(2, 0.6666666666666666)]
    """
    training = train if isinstance(train, Training) else Training(train, departures)
    departures = training.departures
    attributes = Attributes(gold, training, vocabulary)
    mentions = predicted.mentions(departures)
    result = {}
    for name in SHORT:
        if name == "label":
            rows = _label_rows(attributes.mentions, mentions, departures)
        else:
            rows = _rows(
                name, attributes.of(name, attributes.mentions), attributes.of(name, mentions), departures
            )
        result[name] = AttributeScores(
            unit="token" if name.startswith("token_") else "mention",
            buckets=rows,
            **asdict(self_diagnosis(rows)),
        )
    return Figures(result, departures)


def _rows(
    name: str, gold: Mapping[Unit, float], predicted: Mapping[Unit, float], departures: Departures
) -> tuple[BucketScores, ...]:
    buckets = cut(name, gold.values(), departures)
    gold_members = members(gold, buckets, departures, predicted=False)
    predicted_members = members(predicted, buckets, departures, predicted=True)
    names = FOUR if len(buckets) == M else [f"B{n + 1}" for n in range(len(buckets))]
    return tuple(
        BucketScores(name=name, low=bucket.low, high=bucket.high, special=bucket.special, **_score(a, b))
        for name, bucket, a, b in zip(names, buckets, gold_members, predicted_members, strict=True)
    )


def _label_rows(
    gold: Sequence[Mention], predicted: Sequence[Mention], departures: Departures
) -> tuple[BucketScores, ...]:
    counts = Counter(label for *_, label in gold)
    chosen = counts.most_common(6 if departures.six_labels else None)
    sides = {label: [{m for m in side if m[2] == label} for side in (gold, predicted)] for label, _ in chosen}
    return tuple(BucketScores(name=label, value=label, **_score(*sides[label])) for label in sorted(sides))


def _score(gold: Set[object], predicted: Set[object]) -> dict[str, Any]:
    correct = len(gold & predicted)
    return {
        "gold": len(gold),
        "predicted": len(predicted),
        "correct": correct,
        "precision": plain(ratio(correct, len(predicted))),
        "recall": plain(ratio(correct, len(gold))),
        "f1": plain(ratio(2 * correct, len(gold) + len(predicted))),
    }


def compare(first: Figures, second: Figures) -> dict[str, BucketLeads]:
    """Comparative diagnosis of two systems on the same file: best and worst lead, and relative differences.

    The program starts its search for the largest lead and lag from 0 and the first bucket, so a lead or lag
    that does not exist is reported as 0 in that bucket.
    """
    result = {}
    for name, attribute in first.attributes.items():
        names = [bucket.name for bucket in attribute.buckets]
        leads = comparative_diagnosis(first.scores(name), second.scores(name), names)
        if first.departures.clamped:
            none = BucketLead(bucket=names[0], difference=0.0)
            if leads.best is not None and (leads.best.difference or 0.0) < 0:
                leads = replace(leads, best=none)
            if leads.worst is not None and (leads.worst.difference or 0.0) > 0:
                leads = replace(leads, worst=none)
        result[name] = leads
    return result


# ---- as a preset of `spanwise.evaluate` ------------------------------------------------------


def _check_preset(switched_off: Sequence[str], train: object) -> Departures:
    """The departures that apply under the preset."""
    if train is None:
        raise ChoiceError("the preset 'interpreteval' needs training data.\nPass train=.")
    switches = [switch.name for switch in fields(Departures)]
    for name in switched_off:
        if name not in switches:
            raise unknown("switch of the preset", name, switches)
    return replace(Departures(), **dict.fromkeys(switched_off, False))


def _with_preset(summary: Evaluation, inputs: Inputs, choices: Choices, departures: Departures) -> Evaluation:
    """The document with the program's buckets as its attributes, and with the program's diagnoses."""
    training = Training(_training(inputs, choices), departures)
    gold, predicted = _preset_sides(inputs, choices)
    figures: dict[str, Figures] = {}
    systems = dict(summary.systems)
    for name, tagged in zip(inputs.systems, predicted, strict=True):
        figures[name] = evaluate(gold[name], tagged, training, vocabulary=choices.vocabulary)
        attributes = {
            key: _preset_attribute(attribute) for key, attribute in figures[name].attributes.items()
        }
        scores = replace(systems[name], attributes=attributes)
        systems[name] = replace(scores, slices=slices(scores, summary.dataset.mentions))
    comparisons = tuple(
        replace(comparison, interpreteval=compare(*(figures[name] for name in comparison.systems)))
        for comparison in summary.comparisons
    )
    off = tuple(switch.name for switch in fields(Departures) if not getattr(departures, switch.name))
    return replace(
        summary,
        systems=systems,
        comparisons=comparisons,
        settings=replace(summary.settings, preset="interpreteval", switched_off=off),
        signature=summary.signature + "|preset:interpreteval" + "".join(f"-{name}" for name in off),
    )


def _preset_attribute(table: AttributeScores) -> AttributeScores:
    kind = "category" if any(bucket.is_category for bucket in table.buckets) else "numeric"
    buckets = tuple(replace(_labelled(bucket), small=bucket.gold < SMALL) for bucket in table.buckets)
    return replace(table, kind=kind, strategy="interpreteval", zeta=None, buckets=buckets)


def _labelled(bucket: BucketScores) -> BucketScores:
    """The bucket with its display label."""
    if bucket.is_category:
        return replace(bucket, label=str(bucket.value), special=False)
    low, high = (None if end is UNSET else end for end in (bucket.low, bucket.high))
    return replace(bucket, label=range_text(low, high, bool(bucket.special) or low == high, ()))


def _training(inputs: Inputs, choices: Choices) -> Tagged:
    sides = [_tagged(annotation, choices, -1) for annotation in inputs.train]
    return Tagged(
        [row for side in sides for row in side.tokens], [row for side in sides for row in side.tags]
    )


def _preset_sides(inputs: Inputs, choices: Choices) -> tuple[dict[str, Tagged], list[Tagged]]:
    """Gold tags for every system, and the tags of each system."""
    if inputs.merged:
        gold = {name: _tagged(side, choices, -2) for name, side in inputs.predicted.items()}
        return gold, [_tagged(side, choices, -1) for side in inputs.predicted.values()]
    tagged = _tagged(inputs.gold, choices, -1)
    predicted = [_tagged(side, choices, -1) for side in inputs.predicted.values()]
    # The program compares positions in the file, so all sides use the gold tokens.
    return (
        dict.fromkeys(inputs.predicted, tagged),
        [Tagged(tagged.tokens, side.tags) for side in predicted],
    )


def _tagged(annotation: Annotation, choices: Choices, column: int) -> Tagged:
    """The tags as written in a CoNLL file, since the program reads mentions across sentence boundaries."""
    path = annotation.reading.path
    if annotation.reading.format != "conll" or not Path(path).is_file():
        return Tagged.of(annotation)
    options = {key: value for key, value in choices.reading.items() if key != "columns"}
    if column == -1 and options.get("tag_column") is not None:
        column = options["tag_column"]
    return Tagged.of(read(path, **options, columns={"tag": column}), column="tag")


PRESET = FigurePreset(
    "interpreteval", "the program released with Fu, Liu and Neubig (2020)", _check_preset, _with_preset
)
