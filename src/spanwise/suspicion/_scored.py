"""What the scores of predictions leave for gold's reading of a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from spanwise.columns import Ints
from spanwise.corpus import Mentions
from spanwise.document.dataset import SuspectMention

Said = tuple[int, int, str, float]  # start, end, label and score of a prediction


class Scored(Struct, frozen=True):
    """Predictions with scores in some sentences, one list per system and run."""

    systems: tuple[Mapping[int, Sequence[Said]], ...]

    @classmethod
    def of(cls, systems: Mapping[str, Sequence[Mentions]], sentences: Ints) -> Scored:
        """The predictions with a score in these sentences."""
        wanted = set(sentences.tolist())
        found = []
        for mentions in (one for own in systems.values() for one in own if one.score is not None):
            assert mentions.score is not None
            said: dict[int, list[Said]] = {}
            for (sentence, start, end, label), score in zip(
                mentions.rows(), mentions.score.tolist(), strict=True
            ):
                if sentence in wanted and 0 <= score <= 1:
                    said.setdefault(sentence, []).append((start, end, label, score))
            found.append(said)
        return cls(tuple(found))

    def of_label(
        self, sentence: int, own: SuspectMention | None, proposal: SuspectMention | None
    ) -> float | None:
        """The lowest probability of gold's label over the tokens of a place; None where no score says so.

        A system that predicts gold's label on a token gives it its score, one that predicts another label
        gives it one minus its score; one that predicts nothing there says nothing. The probability of a
        token is the mean over systems and runs.
        """
        place = own or proposal
        if place is None or not self.systems:
            return None
        label = None if own is None else own.label
        lowest = None
        for token in range(place.start, place.end):
            given = [
                max(score if name == label else 1 - score for start, end, name, score in covering)
                for said in self.systems
                if (covering := [one for one in said.get(sentence, ()) if one[0] <= token < one[1]])
            ]
            if given:
                mean = sum(given) / len(given)
                lowest = mean if lowest is None else min(lowest, mean)
        return lowest
