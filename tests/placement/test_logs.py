"""Logs of harnesses go in: every format is recognised, joined with gold, and counted as by hand."""

from __future__ import annotations

import json
import shlex
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typed import present

import spanwise
from spanwise.cli.main import main
from spanwise.document.evaluation import Evaluation
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import from_tags
from spanwise.studies import of_runs
from spanwise.views.commands import errors_command

LOGS = Path(__file__).parent / "logs"
UNITS = {
    "s0": (["Ann", "left", "New", "York"], [(0, 1, "PER"), (2, 4, "LOC")]),
    "s1": (["the", "U.N."], [(1, 2, "ORG")]),
    "s2": (["Bo"], [(0, 1, "PER")]),
}


def read_records(records: list[dict[str, Any]]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gold.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return spanwise.read(file)


def gold(*, ids: bool = True, order: str = "012") -> Any:
    records = []
    for name in (f"s{number}" for number in order):
        tokens, spans = UNITS[name]
        record: dict[str, Any] = {"tokens": tokens, "spans": [list(span) for span in spans]}
        records.append({"id": name, **record} if ids else record)
    return read_records(records)


# file, keywords, and by hand: units with each status, predictions, correct ones
CASES: list[tuple[str, dict[str, Any], dict[str, int], int, int]] = [
    ("inspect.eval", {"sample": "1"}, {"read": 1, "repaired": 1, "failed": 1}, 3, 3),
    ("inspect.eval", {"sample": "2"}, {"read": 1, "empty": 1, "failed": 1}, 2, 2),
    ("inspect.json", {"sample": "1"}, {"read": 1, "repaired": 1, "failed": 1}, 3, 3),
    ("samples_spans.jsonl", {"sample": "2"}, {"read": 2, "empty": 1}, 3, 3),
    ("promptfoo.json", {"sample": "acme:large"}, {"read": 2, "empty": 1}, 3, 3),
    ("promptfoo.json", {"sample": "acme:small"}, {"read": 2, "failed": 1}, 3, 3),
    ("openai_batch.jsonl", {}, {"read": 1, "repaired": 1, "failed": 1}, 3, 3),
    ("anthropic_batch.jsonl", {}, {"read": 1, "repaired": 1, "failed": 1}, 3, 3),
    ("langsmith.jsonl", {}, {"read": 2, "failed": 1}, 3, 3),
    ("phoenix.json", {}, {"read": 2, "failed": 1}, 3, 3),
    ("answers.csv", {}, {"read": 2, "failed": 1}, 3, 3),
]


def statuses(document: Any) -> dict[str, int]:
    counts = {name: getattr(document.units, name) for name in document.units.__struct_fields__}
    return {name: number for name, number in counts.items() if number}


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[1].get('sample', '')}" for case in CASES])
def test_every_log_is_recognised_and_counted_as_by_hand(case: Any) -> None:
    file, keywords, units, predicted, correct = case
    document = spanwise.place(gold(), LOGS / file, **keywords)
    assert statuses(document) == units
    score = document.policies.ordered
    assert (score.gold, score.predicted, score.correct) == (4, predicted, correct)
    assert score.f1 == pytest.approx(2 * correct / (4 + predicted))


WITH_TEXT = [case for case in CASES if not case[0].endswith("_batch.jsonl")]


@pytest.mark.parametrize(
    "case", WITH_TEXT, ids=[f"{case[0]}-{case[1].get('sample', '')}" for case in WITH_TEXT]
)
def test_without_ids_in_gold_logs_are_joined_by_text_whatever_the_order(case: Any) -> None:
    file, keywords, _, predicted, correct = case
    document = spanwise.place(gold(ids=False, order="201"), LOGS / file, **keywords)
    assert (document.policies.ordered.predicted, document.policies.ordered.correct) == (predicted, correct)


def test_a_log_that_can_be_joined_neither_by_id_nor_by_text_is_refused() -> None:
    other = from_tags([["B-PER"]] * 3, tokens=[["Eve"], ["Zoe"], ["Mia"]])
    logs: list[tuple[str, dict[str, Any]]] = [
        ("openai_batch.jsonl", {}),
        ("inspect.eval", {"sample": "1"}),
        ("phoenix.json", {}),
    ]
    for file, keywords in logs:
        with pytest.raises(InputError, match="cannot be joined"):
            spanwise.place(other, LOGS / file, **keywords)


def test_own_numbers_of_a_log_are_used_only_where_the_prompt_contains_the_text(tmp_path: Path) -> None:
    def log(first: int, texts: list[str]) -> Path:
        file = tmp_path / "samples_x.jsonl"
        lines = [
            {"doc_id": first + number, "doc": {"question": f"Find names in: {text}"}, "resps": [["[]"]]}
            for number, text in enumerate(texts)
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return file

    texts = [" ".join(tokens) for tokens, _ in UNITS.values()]
    assert spanwise.place(gold(ids=False), log(0, texts)).units.empty == 3
    assert spanwise.place(gold(ids=False), log(1, texts)).units.empty == 3
    with pytest.raises(InputError, match="cannot be joined"):
        spanwise.place(gold(ids=False), log(0, texts[::-1]))


def test_character_intervals_are_positions_and_a_right_answer_scores_100() -> None:
    annotated = read_records(
        [
            {"id": "s0", "tokens": ["Ann", "left", "New", "York"], "spans": [[0, 1, "PER"], [2, 4, "LOC"]]},
            {"id": "s1", "tokens": ["the", "U.N."], "spans": [[1, 2, "ORG"]]},
            {"id": "s2", "tokens": ["Bo", "met", "Bo"], "spans": [[2, 3, "PER"]]},
        ]
    )
    document = spanwise.place(annotated, LOGS / "langextract.jsonl")
    assert document.policies.first.correct == 4 and document.policies.first.recall == 1
    assert document.answers.positions == 4 and document.answers.hallucinated == 1  # Zed has no interval
    assert document.answers.alignments == {"match_exact": 3, "match_lesser": 1}
    assert document.inputs[1].format == "langextract-jsonl"
    assert "by position:  placed 4  match exact 3  match lesser 1" in document.to_text(width=110)


def test_a_position_is_kept_only_where_the_text_agrees() -> None:
    twice = from_tags([["O", "O", "B-PER"]], tokens=[["Ann", "met", "Ann"]])
    right = [{"text": "Ann", "label": "PER", "start": 8, "end": 11}]
    wrong = [{"text": "Ann", "label": "PER", "start": 4, "end": 7}]
    for answers, positions, correct in ((right, 1, 1), (wrong, 0, 0)):
        document = spanwise.place(twice, [{"id": 0, "response": json.dumps(answers)}])
        assert (document.answers.positions, document.policies.first.correct) == (positions, correct)


def test_refusals_truncations_and_errors_are_counted() -> None:
    batch = spanwise.place(gold(), LOGS / "openai_batch.jsonl")
    assert (batch.responses.refused, batch.responses.truncated, batch.responses.errors) == (1, 1, 0)
    smith = spanwise.place(gold(), LOGS / "langsmith.jsonl")
    assert (smith.responses.refused, smith.responses.errors) == (0, 1)
    assert [row.why for row in smith.unplaced] == ["the request failed: TimeoutError()"]


def test_messages_of_a_batch_that_were_stopped_or_not_sent_are_counted(tmp_path: Path) -> None:
    def message(reason: str, text: str) -> dict[str, Any]:
        content = [{"type": "text", "text": text}] if text else []
        return {"type": "succeeded", "message": {"content": content, "stop_reason": reason}}

    results = [
        message("refusal", ""), message("max_tokens", '{"PER": ["A'), {"type": "canceled"},
        message("model_context_window_exceeded", '{"PER": ["B'), {"type": "expired"},
    ]  # fmt: skip
    lines = [{"custom_id": str(number), "result": result} for number, result in enumerate(results)]
    file = tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    document = spanwise.place(from_tags([["B-PER"]] * 5, tokens=[["Bo"]] * 5), file)
    said = document.responses
    assert (said.refused, said.truncated, said.errors) == (1, 2, 2)
    assert document.inputs[1].format == "anthropic-batch"
    assert {row.why for row in document.unplaced} >= {"the request failed: expired"}
    usage = spanwise.place(gold(), LOGS / "anthropic_batch.jsonl").usage
    assert usage and (usage.input_tokens, usage.output_tokens) == (40, 20)  # of the input, 15 from a cache


@pytest.mark.parametrize("samples", [1, 2])
def test_a_filter_called_all_can_be_chosen(samples: int, tmp_path: Path) -> None:
    said = {"all": '{"PER": ["Ann", "Bo"]}', "strict": "[]"}
    lines = [
        {"doc_id": number, "doc": {"id": name, "text": " ".join(tokens)}, "filter": kept,
         "filtered_resps": [said[kept]] * samples}
        for kept in said for number, (name, (tokens, _)) in enumerate(UNITS.items())
    ]  # fmt: skip
    file = tmp_path / "samples_spans.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for name, correct in (("all", 2), ("strict", 0)):
        sample = name if samples == 1 else f"{name}/2"
        assert spanwise.place(gold(), file, sample=sample).score.correct == correct
        study = of_runs(gold(), {"llm": str(file)}, answers={"policy": "next", "sample": name}, resamples=0)
        (dataset,) = study.datasets.values()
        (runs,) = dataset.runs.values()
        assert [scores.exact.overall.correct for scores in runs.values()] == [correct] * len(runs)
    both = of_runs(gold(), {"llm": str(file)}, answers={"policy": "next", "sample": None}, resamples=0)
    (dataset,) = both.datasets.values()
    assert list(dataset.runs) == ["all", "strict"]
    with pytest.raises(InputError, match="several samples per unit"):
        spanwise.place(gold(), LOGS / "inspect.eval", sample="all")


def test_tokens_and_dollars_are_added_up_where_the_log_has_them() -> None:
    usage = spanwise.place(gold(), LOGS / "langsmith.jsonl").usage
    assert usage and (usage.input_tokens, usage.output_tokens) == (60, 30)
    assert usage.cost == pytest.approx(0.003)
    assert usage.f1_per_dollar == pytest.approx(100 * (6 / 7) / 0.003)
    assert usage.f1_per_1000_tokens == pytest.approx(100 * (6 / 7) / 0.09)
    assert not spanwise.place(gold(), LOGS / "answers.csv").usage


def test_providers_of_one_log_are_systems_of_an_evaluation() -> None:
    result = spanwise.evaluate(gold(), {"log": LOGS / "promptfoo.json"}, answers="ordered", resamples=0)
    assert list(result.systems) == ["acme:large", "acme:small"]
    assert result["acme:large"].exact.overall.f1 == pytest.approx(6 / 7)


def promptfoo(file: Path, *, repeats: int = 1) -> Path:
    """Two providers and two prompts, numbered as promptfoo does: a column per pair, a row per repetition."""
    rows: list[dict[str, Any]] = []
    for test, (name, (tokens, spans)) in enumerate([*UNITS.items(), ("s3", UNITS["s2"])]):
        for repeat in range(repeats):
            for column in range(4):
                missed = (repeat > 0 and name == "s1") or (repeat > 1 and name == "s2")
                kept = [] if missed else spans[: 1 if column == 3 else None]
                said = [{"text": " ".join(tokens[low:high]), "label": label} for low, high, label in kept]
                rows.append({
                    "promptIdx": column, "testIdx": test * repeats + repeat,
                    "vars": {"text": " ".join(tokens)},
                    "provider": {"id": "acme:large" if column < 2 else "acme:small"},
                    "prompt": {"label": f"prompt {column % 2}: {{{{text}}}}", "raw": "…"},
                    "response": {"output": json.dumps(said)},
                })  # fmt: skip
    file.write_text(json.dumps({"results": {"results": rows}}), encoding="utf-8")
    return file


def test_a_log_that_promptfoo_wrote_has_two_prompts_with_copies_as_repetitions() -> None:
    """Written by promptfoo 0.121.20 with a provider of fixed answers: `eval --repeat 2 -o results.json`."""
    study = of_runs(gold(), {"log": str(LOGS / "promptfoo_written.json")}, answers="ordered", resamples=0)
    (dataset,) = study.datasets.values()
    counts = {
        name: [(scores.exact.overall.predicted, scores.exact.overall.correct) for scores in runs.values()]
        for name, runs in dataset.runs.items()
    }
    assert counts == {"fixed, prompt 1": [(1, 1)], "fixed, prompt 2": [(3, 3)]}  # the repetitions are equal
    spent = [present(result.usage).sum for row in study.analyses.holistic.values() for result in row.values()]
    assert [(each["input_tokens"], each["cost"]) for each in spent] == [(40, 0.002), (60, 0.003)]


FOUR = ["acme:large, prompt 1", "acme:large, prompt 2", "acme:small, prompt 1", "acme:small, prompt 2"]


def twice() -> Any:
    """Gold whose last text occurs twice."""
    return read_records(
        [{"tokens": tokens, "spans": [list(span) for span in spans]} for tokens, spans in
         [*UNITS.values(), UNITS["s2"]]]
    )  # fmt: skip


def test_prompts_have_the_same_numbers_with_each_provider(tmp_path: Path) -> None:
    log = promptfoo(tmp_path / "results.json")
    result = spanwise.evaluate(twice(), {"log": log}, answers="ordered", resamples=0)
    assert list(result.systems) == FOUR
    assert [result[name].exact.overall.correct for name in FOUR] == [5, 5, 5, 4]


def test_the_errors_of_one_prompt_are_listed_from_a_log_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    promptfoo(tmp_path / "results.json")
    records = [
        {"tokens": tokens, "spans": [list(span) for span in spans]}
        for tokens, spans in [*UNITS.values(), UNITS["s2"]]
    ]
    Path("gold.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    command = "spanwise evaluate gold.jsonl results.json --answers ordered --resamples 0"
    assert main([*shlex.split(command)[1:], "--json", "saved.json", "--quiet"]) == 0
    document = spanwise.load("saved.json")
    assert isinstance(document, Evaluation)
    found = {}
    for name in FOUR:
        listed = errors_command(document, name)
        assert listed.endswith(f"--system '{name}'")
        capsys.readouterr()
        assert main(shlex.split(listed)[1:]) == 0
        found[name] = capsys.readouterr().err.splitlines()[-1]
    assert found == {name: "1 error" if name == FOUR[3] else "0 errors" for name in FOUR}


def test_repetitions_of_providers_and_prompts_are_runs_of_each(tmp_path: Path) -> None:
    log = promptfoo(tmp_path / "results.json", repeats=3)
    study = of_runs(twice(), {"log": str(log)}, answers="ordered", resamples=0)
    (dataset,) = study.datasets.values()
    runs = dataset.runs
    assert list(runs) == FOUR
    for name, correct in zip(FOUR, (5, 5, 5, 4), strict=True):
        assert [scores.exact.overall.correct for scores in runs[name].values()] == [
            correct, correct - 1, correct - 2
        ]  # fmt: skip


def test_epochs_of_one_log_are_runs_of_a_study() -> None:
    study = spanwise.study(
        {
            "datasets": {"test": {"test": gold()}},
            "systems": {"llm": {"predictions": str(LOGS / "inspect.eval"), "answers": "ordered"}},
        }
    )
    runs = study.datasets["test"].runs["llm"]
    assert {run: scores.exact.overall.correct for run, scores in runs.items()} == {"1": 3, "2": 2}


def test_a_dotted_path_names_the_response(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    lines = [{"id": name, "reply": {"choices": [{"body": "[]"}]}} for name in UNITS]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert spanwise.place(gold(), file, response="reply.choices.0.body").units.empty == 3


def test_a_dotted_path_leads_into_the_json_of_a_column(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    cell = json.dumps({"choices": [{"text": "[]"}]}).replace('"', '""')
    rows = [f'{name},"{cell}"' for name in ("s0", "s1")] + ["s2,cut {"]
    file.write_text("\n".join(["id,raw", *rows]), encoding="utf-8")
    units = spanwise.place(gold(), file, response="raw.choices.0.text").units
    assert (units.empty, units.failed) == (2, 1)


@pytest.mark.parametrize("name", ["inspect", "lm-eval", "phoenix"])
def test_a_file_of_another_format_than_named_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="this is not a log of the format"):
        spanwise.place(gold(), LOGS / "openai_batch.jsonl", answers_format=name)
    with pytest.raises(ChoiceError, match="format of answers"):
        spanwise.place(gold(), LOGS / "openai_batch.jsonl", answers_format="inspekt")


def cut(data: bytes, share: float) -> bytes:
    return data[: int(len(data) * share)]


def flipped(data: bytes, share: float) -> bytes:
    place = int((len(data) - 1) * share)
    return data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]


@given(st.sampled_from([case[0] for case in CASES]), st.sampled_from([cut, flipped]), st.floats(0, 1))
def test_a_damaged_log_gives_counted_statuses_or_one_sentence(
    file: str, damage: Callable[[bytes, float], bytes], share: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_bytes(damage((LOGS / file).read_bytes(), share))
        try:
            document = spanwise.place(gold(), path)
        except (InputError, ChoiceError) as error:
            assert str(error)
            return
        assert sum(statuses(document).values()) == 3
        answers = document.answers
        assert answers.given == answers.placed + answers.hallucinated + answers.repeats


def test_an_archive_without_samples_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(InputError, match="holds no samples"):
        spanwise.place(gold(), tmp_path / "log.eval")


def test_what_could_not_be_read_costs_at_most_the_score_with_those_mentions_found() -> None:
    document = spanwise.place(gold(), LOGS / "langsmith.jsonl")
    # 3 of 4 found by 3 predictions; the unread unit has one mention: 2(3 + 1)/(4 + 3 + 1) − 6/7
    assert document.responses.unread_mentions == 1
    assert document.responses.unread_cost == pytest.approx(1 - 6 / 7)
    assert document.troubles[0] == "1 of 3 responses could not be read: at most 14.3 F1."
    result = spanwise.evaluate(gold(), {"llm": LOGS / "langsmith.jsonl"}, answers="ordered", resamples=0)
    assert isinstance(result.hints, tuple) and result.hints[:2] == document.troubles[:2]
