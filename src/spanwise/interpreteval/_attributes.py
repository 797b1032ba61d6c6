"""The eight attributes as the program computes them, each departure as its switch says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import inf

from spanwise.errors import InputError
from spanwise.interpreteval._reading import Mention, Tagged, Training, Unit


class Attributes:
    """The eight attributes of the mentions of one side of a file."""

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
        known = set(vocabulary or ()) if listed else set(training.words)
        self.unknown = [
            sum((word if listed else training.fold(word)) not in known for word in row) for row in gold.tokens
        ]
        self.covered = Counter[int]()
        for start, end, _ in self.mentions:
            self.covered[gold.sentence_of[start]] += end - start if self.departures.token_density else 1
        counts = {string: len(training.occurrences(string)) for string in map(self._string, self.mentions)}
        self.highest_string = self._highest(counts.values())
        self.highest_token = self._highest(training.counts.values())
        # The program's list: strings more frequent than the fifth are not on it.
        most = self.highest_string if self.departures.fifth_highest else inf
        self.listed = {string for string, count in counts.items() if count <= most}

    def _highest(self, counts: Iterable[int]) -> int:
        """What a count is divided by: the fifth highest, or the number of training tokens."""
        if not self.departures.fifth_highest:
            return len(self.training.words)
        ordered = sorted(counts, reverse=True)
        return ordered[min(4, len(ordered) - 1)] if ordered else 0

    def _string(self, mention: Mention) -> str:
        return " ".join(self.words[mention[0] : mention[1]])

    def _share(self, count: int, whole: int) -> float:
        """A share with the program's decimals; 0 of nothing is 0, as the first buckets ask."""
        share = count / whole if whole else 0.0
        return float(f"{share:.3f}") if self.departures.three_decimals else share

    def of(self, name: str, mentions: Iterable[Mention]) -> dict[Unit, float]:
        """The value of every unit of the mentions."""
        if name.startswith("token_"):
            return dict(self._tokens(name, mentions))
        value: Callable[[Mention], float] = getattr(self, f"_{name}")
        return {mention: value(mention) for mention in mentions}

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
