"""The scorers inside the packages they adapt to, with models that give fixed responses (extra `harness`)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.document.analyses import PlacementDocument
from spanwise.formats import from_tags

TEXTS = {"s0": "Ann met Bo", "s1": "Cy met Di", "s2": "so it goes"}
GOLD: dict[str, dict[str, list[str]]] = {"s0": {"PER": ["Ann", "Bo"]}, "s1": {"PER": ["Cy", "Di"]}, "s2": {}}
SAID = {"s0": '{"PER": ["Ann"]}', "s1": '```json\n{"PER": ["Cy", "Ed"]}\n```', "s2": "[]"}
F1 = 4 / 7  # of the corpus; 0.583 is the mean of the samples that have one


def expected_stderr() -> float:
    without = [2 / 4, 2 / 3]  # F1 without the second and without the first
    mean = sum(without) / 2
    return float((sum((value - mean) ** 2 for value in without) / 2) ** 0.5)


def reply(prompt: str) -> str:
    return next(SAID[key] for key, text in TEXTS.items() if text in prompt)


def placed_again(log: str | Path, **options: Any) -> PlacementDocument:
    """The placement of a log that a package wrote, after checking its score."""
    gold = from_tags(
        [["B-PER", "O", "B-PER"], ["B-PER", "O", "B-PER"], ["O", "O", "O"]],
        tokens=[text.split() for text in TEXTS.values()],
    )
    document = spanwise.place(gold, log, **options)
    assert document.policies.ordered.f1 == pytest.approx(F1)
    return document


def test_inspect_finds_the_scorer_and_divides_over_the_corpus(tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai._util.registry import registry_create
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    samples = [
        Sample(id=key, input=f"Entities: {text}", target=json.dumps(GOLD[key]), metadata={"text": text})
        for key, text in TEXTS.items()
    ]

    def answer(messages: Any, *_: Any) -> Any:
        output = ModelOutput.from_content("mockllm/model", reply(messages[-1].text))
        output.usage = ModelUsage(input_tokens=20, output_tokens=10, total_tokens=30)
        return output

    for epochs, log_format in ((1, "eval"), (3, "eval"), (3, "json")):
        task = inspect_ai.Task(
            dataset=samples, solver=generate(), scorer=registry_create("scorer", "spanwise/span_f1")
        )
        (log,) = inspect_ai.eval(
            task, model=get_model("mockllm/model", custom_outputs=answer), epochs=epochs, display="none",
            log_dir=str(tmp_path), log_format=log_format,
        )  # fmt: skip
        assert log.status == "success", log.error
        metrics = {
            name.rpartition("/")[2]: metric.value for name, metric in log.results.scores[0].metrics.items()
        }
        assert metrics["corpus_f1"] == pytest.approx(F1)
        assert metrics["corpus_stderr"] == pytest.approx(expected_stderr())
        assert metrics["corpus_unread"] == 0
        # The log that Inspect wrote goes in again, with the same score.
        document = placed_again(log.location.removeprefix("file://"), sample="1")
        assert document.usage and (document.usage.input_tokens, document.usage.output_tokens) == (60, 30)


def test_pydantic_evals_reports_the_score_of_the_corpus() -> None:
    pydantic_evals = pytest.importorskip("pydantic_evals")
    from spanwise.scorers.pydantic_evals import SpanCounts, SpanF1, corpus

    cases = [
        pydantic_evals.Case(name=key, inputs={"text": text}, expected_output=GOLD[key])
        for key, text in TEXTS.items()
    ]
    dataset = pydantic_evals.Dataset(
        name="spans", cases=cases, evaluators=[SpanCounts()], report_evaluators=[SpanF1()]
    )

    async def task(inputs: dict[str, str]) -> str:
        return reply(inputs["text"])

    async def failing(inputs: dict[str, str]) -> str:
        if inputs["text"] == TEXTS["s0"]:
            raise ValueError("no answer")
        return reply(inputs["text"])

    report = asyncio.run(dataset.evaluate(task, progress=False))
    assert {part.title: part.value for part in report.analyses}["corpus f1"] == pytest.approx(F1)
    assert corpus(report).stderr == pytest.approx(expected_stderr())
    score = corpus(asyncio.run(dataset.evaluate(failing, progress=False)))
    assert (score.gold, score.predicted, score.correct, score.unread) == (4, 2, 1, 1)


def test_dspy_evaluates_and_optimises_with_the_metric() -> None:
    dspy = pytest.importorskip("dspy")
    from spanwise.scorers.dspy import SpanF1

    examples = [
        dspy.Example(text=text, entities=json.dumps(GOLD[key])).with_inputs("text")
        for key, text in TEXTS.items()
    ]

    class Model(dspy.BaseLM):  # type: ignore[misc, name-defined]
        def forward(self, prompt: Any = None, messages: Any = None, **_: Any) -> Any:
            from types import SimpleNamespace as Part

            text = f"[[ ## entities ## ]]\n{reply(messages[-1]['content'])}\n\n[[ ## completed ## ]]"
            choice = Part(message=Part(content=text, tool_calls=None), finish_reason="stop", logprobs=None)
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            return Part(choices=[choice], usage=usage, model="fixed", _hidden_params={})

    dspy.configure(lm=Model("fixed"))
    program, metric = dspy.Predict("text -> entities"), SpanF1()
    result = dspy.Evaluate(devset=examples, metric=metric, num_threads=1, display_progress=False)(program)
    assert metric.corpus().f1 == pytest.approx(F1)
    assert result.score == pytest.approx(100 * (2 / 3 + 1 / 2 + 1) / 3, abs=0.01)  # the mean of the examples
    optimiser = dspy.BootstrapFewShot(metric=SpanF1(), max_bootstrapped_demos=1, max_labeled_demos=1)
    assert optimiser.compile(program, trainset=examples).demos


TASK = """\
task: spans
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "Entities: {{{{text}}}}"
doc_to_target: ""
process_results: !function spanwise.scorers.lm_eval.span_scores
metric_list:
  - {{metric: f1, aggregation: !function spanwise.scorers.lm_eval.corpus_f1}}
  - {{metric: precision, aggregation: !function spanwise.scorers.lm_eval.corpus_precision}}
  - {{metric: recall, aggregation: !function spanwise.scorers.lm_eval.corpus_recall}}
"""


def test_lm_evaluation_harness_aggregates_over_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    rows = [{"id": key, "text": text, "entities": json.dumps(GOLD[key])} for key, text in TEXTS.items()]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    (tmp_path / "spans.yaml").write_text(TASK.format(data=tmp_path / "data.jsonl"), encoding="utf-8")

    class Model(LM):  # type: ignore[misc]
        def loglikelihood(self, requests: Any) -> Any:
            return []

        loglikelihood_rolling = loglikelihood

        def generate_until(self, requests: Any) -> list[str]:
            return [reply(request.args[0]) for request in requests]

    results = lm_eval.simple_evaluate(
        Model(), tasks=["spans"], task_manager=TaskManager(include_path=str(tmp_path)), bootstrap_iters=0,
        log_samples=True,
    )  # fmt: skip
    scores = results["results"]["spans"]
    assert scores["f1,none"] == pytest.approx(F1)
    assert scores["recall,none"] == pytest.approx(2 / 4)
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(task_name="spans", samples=samples["spans"])
    (log,) = (tmp_path / "out").rglob("samples_spans_*.jsonl")
    assert placed_again(log).inputs[1].format == "lm-eval"


def test_documents_of_langextract_go_in_with_their_positions(tmp_path: Path) -> None:
    langextract = pytest.importorskip("langextract")
    from langextract.io import save_annotated_documents

    def extraction(text: str, found: str) -> Any:
        at = text.find(found)
        return langextract.data.Extraction(
            extraction_class="PER", extraction_text=found,
            char_interval=langextract.data.CharInterval(at, at + len(found)) if at >= 0 else None,
            alignment_status=langextract.data.AlignmentStatus.MATCH_EXACT if at >= 0 else None,
        )  # fmt: skip

    documents = [
        langextract.data.AnnotatedDocument(text=text, extractions=[extraction(text, found) for found in said])
        for text, said in zip(TEXTS.values(), (["Ann"], ["Cy", "Ed"], []), strict=True)
    ]
    save_annotated_documents(
        iter(documents), output_dir=tmp_path, output_name="found.jsonl", show_progress=False
    )
    document = placed_again(tmp_path / "found.jsonl")
    assert (document.answers.positions, document.answers.hallucinated) == (2, 1)
    assert document.answers.alignments == {"match_exact": 2}
