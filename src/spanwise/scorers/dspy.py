"""A metric for DSPy: `SpanF1` scores each example, for optimisers, and keeps the counts for the corpus."""

from __future__ import annotations

from typing import Any

from spanwise.scorers import CorpusScore, SampleCounts, corpus_score, count_sample


class SpanF1:
    """A metric whose value is the F1 of an example; `corpus()` scores all examples since `reset()` together.

    An example with neither gold nor predicted mentions has no F1. Optimisers need a number, so its value is
    1: the program was right to predict nothing. The corpus score does not depend on this.

    Args:
        text: the field of the example with the text.
        gold: the field of the example with the gold mentions.
        answer: the field of the prediction with the answers; a text, or anything that JSON could hold.
        options: keywords of `spanwise.scorers.count_sample`.

    Examples:
        >>> from types import SimpleNamespace as Example
        >>> metric = SpanF1()
        >>> example = Example(text="Ann met Bo", entities={"PER": ["Ann", "Bo"]})
        >>> round(metric(example, Example(entities={"PER": ["Ann"]})), 3)
        0.667
        >>> metric.corpus().recall
        0.5
        >>> metric.reset()
        >>> metric.corpus().samples
        0
    """

    def __init__(
        self, text: str = "text", gold: str = "entities", answer: str = "entities", **options: Any
    ) -> None:
        self.text, self.gold, self.answer, self.options = text, gold, answer, options
        self.samples: list[SampleCounts] = []

    def __call__(self, example: Any, prediction: Any, trace: object = None, *_: object) -> float:
        """The F1 of one example."""
        answer = getattr(prediction, self.answer, None)
        counts = count_sample(
            getattr(example, self.text), getattr(example, self.gold), _plain(answer), **self.options
        )
        self.samples.append(counts)
        mentions = counts.gold + counts.predicted
        return 2 * counts.correct / mentions if mentions else 1.0

    def corpus(self) -> CorpusScore:
        """The scores of all examples since the last reset together."""
        return corpus_score(self.samples)

    def reset(self) -> None:
        """Forget the examples so far."""
        self.samples.clear()


def _plain(answer: Any) -> Any:
    """The answer as JSON could hold it: the models of a typed field become mappings."""
    if isinstance(answer, list | tuple):
        return [_plain(item) for item in answer]
    return answer.model_dump(mode="json") if hasattr(answer, "model_dump") else answer
