"""A second implementation of attributes, tough subsets and buckets: plain, slow, from the definitions alone.

A sentence is a list of words; a mention is (sentence, tuple of token positions in it, label).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

MENTION_UNITS = (
    "entity_length",
    "sentence_length",
    "entity_density",
    "oov_density",
    "entity_frequency",
    "entity_label_consistency",
    "label",
    "entity_token_density",
    "entity_familiarity",
    "label_familiarity",
    "entity_label_familiarity",
    "position",
    "relative_position",
)
TOKEN_UNITS = (
    "token_frequency",
    "token_label_consistency",
    "morphology",
    "token_familiarity",
    "token_label_familiarity",
)


Sentences = Sequence[Sequence[str]]
Mention = tuple[int, Sequence[int], str]  # sentence, positions, label
Form = tuple[str, ...]
Value = Any  # a number, or the name of a category


@dataclass
class Text:
    """Sentences with their mentions."""

    sentences: Sentences
    mentions: list[Mention]
    grams: dict[int, Counter[Form]] = field(
        default_factory=dict
    )  # length -> how often each sequence of that length occurs

    def words(self, mention: Mention) -> Form:
        sentence, positions, _ = mention
        return tuple(self.sentences[sentence][i] for i in positions)

    def occurrences(self, form: Form) -> int:
        if not form:
            return 0
        if len(form) not in self.grams:
            self.grams[len(form)] = Counter(
                tuple(words[i : i + len(form)])
                for words in self.sentences
                for i in range(len(words) - len(form) + 1)
            )
        return self.grams[len(form)][form]


class Oracle:
    """The attribute values of a test set, given a training set."""

    def __init__(
        self, train: Text, test: Text, *, known: Collection[str] | None = None, lowercase: bool = False
    ) -> None:
        self.written = test.sentences  # morphology looks at the word as written
        if lowercase:
            train, test = lowered(train), lowered(test)
            known = None if known is None else {word.lower() for word in known}
        self.train, self.test = train, test
        self.tokens = [word for words in train.sentences for word in words]
        self.count = Counter(self.tokens)
        self.vocabulary = set(self.tokens) if known is None else known
        self.trained = [(train.words(m), m[2]) for m in train.mentions]
        # Occurrences that are exactly a mention: contiguous, and each (span, label) counted once.
        spans = {
            (m[0], m[1][0], m[1][-1] + 1, m[2])
            for m in train.mentions
            if m[1] and list(m[1]) == list(range(m[1][0], m[1][-1] + 1))
        }
        self.exact = Counter((tuple(train.sentences[s][a:b]), label) for s, a, b, label in spans)
        units = {(s, i, label) for s, positions, label in train.mentions for i in positions}
        self.inside = Counter(train.sentences[s][i] for s, i, _ in units)
        self.inside_label = Counter((train.sentences[s][i], label) for s, i, label in units)
        self.form_count = Counter(form for form, _ in self.trained)
        self.pair_count = Counter(self.trained)
        self.label_count = Counter(label for _, label in self.trained)
        self.per_sentence = Counter(m[0] for m in test.mentions)
        self.covered: dict[int, set[int]] = {}
        for sentence, positions, _ in test.mentions:
            self.covered.setdefault(sentence, set()).update(positions)

    def units(self, attribute: str, mentions: Sequence[Mention]) -> list[tuple[Any, Value]]:
        """The units of one side with their values, in the order of the mentions."""
        if attribute in TOKEN_UNITS:
            met: dict[tuple[int, int, str], Value] = {}
            for sentence, positions, label in mentions:
                for i in positions:
                    met.setdefault((sentence, i, label), self.of_token(attribute, sentence, i, label))
            return list(met.items())
        return [(mention, self.of_mention(attribute, mention)) for mention in mentions]

    def of_mention(self, attribute: str, mention: Mention) -> Value:
        sentence, positions, label = mention
        words = self.test.sentences[sentence]
        form = self.test.words(mention)
        if attribute == "entity_length":
            return len(positions)
        if attribute == "sentence_length":
            return len(words)
        if attribute == "position":  # the texts of the oracle mark no documents
            return min(positions)
        if attribute == "relative_position":
            return min(positions) / len(words)
        if attribute == "entity_density":
            return self.per_sentence[sentence] / len(words)
        if attribute == "oov_density":
            return sum(word not in self.vocabulary for word in words) / len(words)
        if attribute == "entity_token_density":
            return len(self.covered.get(sentence, ())) / len(words)
        if attribute == "label":
            return label
        if attribute == "entity_frequency":
            return self.train.occurrences(form) / len(self.tokens)
        if attribute == "entity_label_consistency":
            return share(self.exact[form, label], self.train.occurrences(form))
        if attribute == "entity_familiarity":
            return self.form_count[form] / len(self.trained)
        if attribute == "label_familiarity":
            return self.label_count[label] / len(self.trained)
        if attribute == "entity_label_familiarity":
            return share(self.pair_count[form, label], self.form_count[form])
        raise KeyError(attribute)

    def of_token(self, attribute: str, sentence: int, position: int, label: str) -> Value:
        word = self.test.sentences[sentence][position]
        if attribute == "token_frequency":
            return self.count[word] / len(self.tokens)
        if attribute == "token_label_consistency":
            return share(self.inside_label[word, label], self.count[word])
        if attribute == "token_familiarity":
            return self.inside[word] / sum(self.inside.values())
        if attribute == "token_label_familiarity":
            return share(self.inside_label[word, label], self.inside[word])
        if attribute == "morphology":
            return morphology(self.written[sentence][position])
        raise KeyError(attribute)

    def tough(self) -> list[set[str]]:
        """For each gold mention, the names of the tough subsets it belongs to."""
        pairs = set(self.trained)
        forms = {form for form, _ in pairs}
        labels: dict[Form, set[str]] = {}
        for mention in self.test.mentions:
            labels.setdefault(self.test.words(mention), set()).add(mention[2])
        result = []
        for mention in self.test.mentions:
            form = self.test.words(mention)
            names = set()
            if (form, mention[2]) in pairs:
                names.add("SEEN")
            else:
                names.add("UNSEEN-ANY")
                names.add("UNSEEN-TYPE" if form in forms else "UNSEEN-TOKENS")
            if len(labels[form]) > 1:
                names |= {"TCM-ALL", "TCM-UNSEEN" if form not in forms else "TCM-SEEN"}
            result.append(names)
        return result


def share(part: int, whole: int) -> float:
    return part / whole if whole else 0


def lowered(text: Text) -> Text:
    return Text([[word.lower() for word in words] for words in text.sentences], text.mentions)


def morphology(word: str) -> str:
    digits = [c for c in word if c.isdigit()]
    if digits and all(c in ".,:/-%+$€" for c in word if not c.isdigit()):
        return "digit"
    cased = [c for c in word if c.lower() != c or c.upper() != c]
    if cased and all(c == c.upper() for c in cased):
        return "upper"
    if cased and all(c == c.lower() for c in cased):
        return "lower"
    return "capitalised" if word[0] != word[0].lower() else "other"


# --- buckets ------------------------------------------------------------------------------------


def edges_of(strategy: str, numbers: Sequence[Any], gold: Sequence[Any]) -> list[Any]:
    """The inner edges that a strategy chooses, given the gold values."""
    distinct = sorted(set(gold))
    if strategy == "balanced":
        chosen = set()
        times = Counter(gold)
        upto = dict(zip(distinct, accumulate(times[value] for value in distinct), strict=True))
        for j in range(1, numbers[0]):
            if distinct:
                target = Fraction(len(gold) * j, numbers[0])
                chosen.add(min(distinct, key=lambda value: (abs(upto[value] - target), value)))
        return sorted(chosen)
    if strategy == "even_range":
        if len(distinct) < 2:
            return []
        low, high, many = distinct[0], distinct[-1], numbers[0]
        return [low + (high - low) * j / many for j in range(1, many)]
    if strategy == "fixed":
        return sorted(numbers)
    if strategy == "discrete":
        return distinct[: min(len(distinct), numbers[0]) - 1] if distinct else []
    if strategy == "familiarity":
        return [i / numbers[0] for i in range(1, numbers[0])]
    raise KeyError(strategy)


def bucket_counts(
    specials: Sequence[Any], then: tuple[str, Sequence[Any]], gold: Sequence[Any], values: Sequence[Any]
) -> dict[tuple[str, Any], int]:
    """The number of `values` in each bucket, keyed by ("is", special value) or ("rest", index)."""
    strategy, numbers = then
    edges = edges_of(strategy, numbers, [value for value in gold if value not in specials])
    counts = Counter({("is", special): 0 for special in specials})
    counts.update({("rest", i): 0 for i in range(len(edges) + 1)})
    for value in values:
        if value in specials:
            counts["is", value] += 1
        else:
            counts["rest", sum(edge < value for edge in edges)] += 1
    return dict(counts)
