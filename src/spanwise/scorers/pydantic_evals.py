"""Evaluators for pydantic-evals: `SpanCounts` counts the mentions of a case, `SpanF1` scores the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_evals.evaluators import (
    Evaluator,
    EvaluatorContext,
    ReportEvaluator,
    ReportEvaluatorContext,
)
from pydantic_evals.reporting.analyses import ScalarResult

from spanwise.scorers import CorpusScore, corpus_score, count_sample

NAMES = ("gold", "predicted", "correct", "unread")


@dataclass
class SpanCounts(Evaluator[Any, Any, Any]):
    """The gold, predicted and correct mentions of a case: its input is the text, its expected output gold.

    `text` is the key of the text, if inputs are a mapping; `options` are keywords of
    `spanwise.scorers.count_sample`.

    Examples:
        >>> from types import SimpleNamespace as Context
        >>> case = Context(inputs="Ann left", expected_output={"PER": ["Ann"]}, output={"PER": []})
        >>> SpanCounts().evaluate(case)
        {'gold': 1, 'predicted': 0, 'correct': 0, 'unread': 0}
    """

    text: str = "text"
    options: dict[str, Any] = field(default_factory=dict)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, int]:
        """The counts of one case, and whether its output could not be read."""
        text = ctx.inputs[self.text] if isinstance(ctx.inputs, dict) else ctx.inputs
        counts = count_sample(text, ctx.expected_output, ctx.output, **self.options)
        return dict(zip(NAMES, counts.row, strict=True))


@dataclass
class SpanF1(ReportEvaluator[Any, Any, Any]):
    """F1, precision and recall of all cases together, as analyses of the report.

    Examples:
        >>> from types import SimpleNamespace as Of
        >>> scores = {name: Of(value=1) for name in ("gold", "predicted", "correct", "unread")}
        >>> report = Of(cases=[Of(scores=scores)], failures=[])
        >>> [row.title for row in SpanF1().evaluate(Of(report=report))]
        ['corpus f1', 'corpus precision', 'corpus recall']
    """

    text: str = "text"
    options: dict[str, Any] = field(default_factory=dict)

    def evaluate(self, ctx: ReportEvaluatorContext[Any, Any, Any]) -> list[Any]:
        """The scores that are defined, with the interval of F1 in its description."""
        score = corpus(ctx.report, text=self.text, options=self.options)
        about = "no interval" if score.low is None else f"95% interval {score.low:.3f} to {score.high:.3f}"
        return [
            ScalarResult(title=f"corpus {name}", value=value, description=about if name == "f1" else None)
            for name in ("f1", "precision", "recall")
            if (value := getattr(score, name)) is not None
        ]


def corpus(report: Any, *, text: str = "text", options: dict[str, Any] | None = None) -> CorpusScore:
    """The scores of all cases of a report; the gold mentions of a case whose task failed count as missed."""
    samples = [tuple(int(case.scores[name].value) for name in NAMES) for case in report.cases]
    for case in report.failures:
        given = case.inputs[text] if isinstance(case.inputs, dict) else case.inputs
        samples.append(count_sample(given, case.expected_output, None, **(options or {})).row)
    return corpus_score(samples)
