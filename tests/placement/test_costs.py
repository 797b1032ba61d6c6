"""What unusable responses cost, what a log says was paid, and prompt, answer and placement side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typed import present

import spanwise
from spanwise.cli.main import main
from spanwise.document.analyses import PlacementDocument
from spanwise.document.evaluation import Evaluation
from spanwise.document.study import Study
from spanwise.formats import from_tags, opened
from spanwise.placement._logs import read_log
from spanwise.reports.html import render

LOGS = Path(__file__).parent / "logs"
UNITS = {
    "s0": (["Ann", "left", "New", "York"], [(0, 1, "PER"), (2, 4, "LOC")]),
    "s1": (["the", "U.N."], [(1, 2, "ORG")]),
    "s2": (["Bo"], [(0, 1, "PER")]),
}
GOLD = from_tags(
    [["B-PER", "O", "B-LOC", "I-LOC"], ["O", "B-ORG"], ["B-PER"], ["B-PER", "O", "B-PER"]],
    tokens=[["Ann", "left", "New", "York"], ["the", "U.N."], ["Bo"], ["Cy", "met", "Di"]],
)


def choice(content: str, reason: str = "stop") -> dict[str, Any]:
    return {"message": {"content": content}, "finish_reason": reason}


def batch(path: Path, choices: list[dict[str, Any]]) -> Path:
    path.write_text(
        "".join(
            json.dumps(
                {"custom_id": str(number), "response": {"status_code": 200, "body": {"choices": [one]}}}
            )
            + "\n"
            for number, one in enumerate(choices)
        )
    )
    return path


@pytest.fixture
def placed(tmp_path: Path) -> PlacementDocument:
    """Six gold mentions: two right; an answer hallucinated, a response cut, and one refused."""
    log = batch(
        tmp_path / "batch.jsonl",
        [
            choice('{"PER": ["Ann", "Zed", "zed"]}'),
            choice("I'm sorry, but I can't help with that.", "content_filter"),
            choice("[]"),
            choice('[{"text": "Cy", "label": "PER"}, {"text": "D', "length"),
        ],
    )
    gold = [
        {"id": str(number), "tokens": list(GOLD.corpus.words(number)), "spans": spans}
        for number, spans in enumerate(
            [[[0, 1, "PER"], [2, 4, "LOC"]], [[1, 2, "ORG"]], [[0, 1, "PER"]], [[0, 1, "PER"], [2, 3, "PER"]]]
        )
    ]
    file = tmp_path / "gold.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in gold))
    return spanwise.place(file, log)


def test_what_went_wrong_costs_what_one_can_count_by_hand(placed: PlacementDocument) -> None:
    score, said = placed.score, placed.responses
    assert (score.gold, score.predicted, score.correct) == (6, 3, 2)  # "zed" repeats "Zed"
    f1 = 2 * 2 / (6 + 3)
    assert score.f1 == pytest.approx(f1)
    assert said.unread_cost == pytest.approx(2 * (2 + 1) / (6 + 3 + 1) - f1)  # the ORG
    assert said.refused_cost == said.unread_cost
    assert said.truncated_cost == pytest.approx(2 * (2 + 1) / (6 + 3 + 1) - f1)  # Di
    assert said.hallucinated_cost == pytest.approx(2 * 2 / (6 + 3 - 1) - f1)  # Zed


def test_each_trouble_is_one_sentence_with_its_cost(placed: PlacementDocument) -> None:
    assert placed.troubles == (
        "1 of 4 responses could not be read: at most 15.6 F1.",
        "Of these, 1 was refused (at most 15.6 F1).",
        "1 of 4 responses was truncated: at most 15.6 F1.",
        "2 of 4 answers are not in the text and count as wrong: 5.6 F1.",
    )
    assert placed.troubles[0] in placed.to_text(width=110)


def test_troubles_stand_under_the_scores_of_an_evaluation() -> None:
    answers = [{"id": 0, "response": '{"PER": ["Ann", "Zed"]}'}]
    result = spanwise.evaluate(GOLD, {"llm": answers}, answers="ordered", resamples=0)
    assert present(result.hints)[:2] == (
        "3 of 4 responses are missing: at most 58.3 F1.",
        "1 of 2 answers is not in the text and counts as wrong: 3.6 F1.",
    )


def test_units_with_an_error_show_prompt_answer_and_placement(placed: PlacementDocument) -> None:
    cases = {case.id: case for case in placed.cases}
    assert list(cases) == ["0", "1", "2", "3"]
    first = cases["0"]
    assert first.response == '{"PER": ["Ann", "Zed", "zed"]}'
    assert [(answer.text, answer.outcome) for answer in first.answers] == [
        ("Ann", "right"), ("Zed", "hallucinated"), ("zed", "hallucinated")
    ]  # fmt: skip
    assert [(piece.text, piece.state, piece.label) for piece in first.pieces] == [
        ("Ann ", "right", "PER"), ("left ", "plain", ""), ("New York ", "missed", "LOC")
    ]  # fmt: skip
    assert (cases["1"].status, cases["1"].answers) == ("failed", ())
    page = render(placed)
    assert "Prompt, answer and placement" in page
    assert page.count('<details class="case" open>') == 1  # the first, so that one sees what is there
    assert "1 missed, 2 hallucinated" in page
    assert "Zed" in page
    assert not placed.redacted().cases
    assert "Zed" not in render(placed.redacted())


def test_a_unit_without_an_error_is_not_listed_and_a_wrong_place_is_wrong() -> None:
    answers = [
        {"id": 0, "prompt": "Find names:\nAnn left New York", "answers": [["New", "LOC"], ["Ann", "PER"]]},
        {"id": 1, "answers": [["U.N.", "ORG"]]}, {"id": 2, "answers": [["Bo", "PER"]]},
        {"id": 3, "answers": [["Cy", "PER"], ["Di", "PER"]]},
    ]  # fmt: skip
    (case,) = spanwise.place(GOLD, answers).cases
    assert (case.unit, case.prompt) == (0, "Find names:\nAnn left New York")
    assert [answer.outcome for answer in case.answers] == ["wrong", "right"]
    assert [(piece.text, piece.state) for piece in case.pieces] == [
        ("Ann ", "right"), ("left ", "plain"), ("New ", "wrong"), ("York ", "missed")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("log", "prompt"),
    [
        ("inspect.json", "Entities as JSON: Bo"), ("promptfoo.json", "Entities as JSON: Bo"),
        ("samples_spans.jsonl", "Entities as JSON: Bo"), ("langextract.jsonl", "Bo"),
    ],
)  # fmt: skip
def test_logs_say_what_was_asked(log: str, prompt: str, tmp_path: Path) -> None:
    responses = present(read_log(opened(LOGS / log))).responses
    asked = [response.prompt for response in responses]
    assert all(asked)
    assert any(text.endswith("Bo") for text in asked), (prompt, asked)


def gold_file(tmp_path: Path) -> Path:
    file = tmp_path / "gold.jsonl"
    records = [
        {"id": name, "tokens": tokens, "spans": [list(span) for span in spans]}
        for name, (tokens, spans) in UNITS.items()
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def test_f1_per_dollar_and_token_is_shown_on_screen_page_and_in_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, page = gold_file(tmp_path), tmp_path / "page.html"
    assert main(
        ["evaluate", str(gold), str(LOGS / "promptfoo.json"), "--answers", "ordered", "--html", str(page),
         "--json", str(tmp_path / "run.json"), "--width", "100"]
    ) == 0  # fmt: skip
    screen = capsys.readouterr().out
    assert "What the answers cost" in screen
    result = spanwise.load(tmp_path / "run.json")
    assert isinstance(result, Evaluation)
    answers = present(result.answers)
    usage = present(answers["acme:large"].usage)
    f1 = 100 * present(answers["acme:large"].score.f1)
    assert usage.f1_per_dollar == pytest.approx(f1 / present(usage.cost))
    tokens = present(usage.input_tokens) + present(usage.output_tokens)
    assert usage.f1_per_1000_tokens == pytest.approx(1000 * f1 / tokens)
    assert "28,600" in screen
    assert page.read_text().count("<svg") > 2
    assert 'id="costs"' in page.read_text()
    assert main(["table", str(tmp_path / "run.json"), "costs"]) == 0
    assert "| acme:small |" in capsys.readouterr().out


@pytest.mark.parametrize("log", ["inspect.eval", "inspect.json"])
def test_epochs_of_a_log_are_runs_on_the_command_line(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", str(gold_file(tmp_path)), f"llm={LOGS / log}", "--answers", "ordered"]
    assert main([*command, "--width", "100"]) == 0
    screen = capsys.readouterr().out
    assert "mean ± std over runs" in screen
    assert "run 1: 1 of 3 responses could not be read" in screen


def test_what_runs_cost_is_their_mean_and_sum_on_screen_page_in_tables_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = json.loads((LOGS / "promptfoo.json").read_text())
    rows = log["results"]["results"]
    again = [json.loads(json.dumps(row)) for row in rows]
    for row in again:  # the second repetition costs twice as much, and one answer is missing
        row["response"]["cost"] = 2 * row["response"].get("cost", 0.0)
        if row["testIdx"] == 0:
            row["response"]["output"] = "[]"
    rows += again
    (tmp_path / "results.json").write_text(json.dumps(log))
    command = ["evaluate", str(gold_file(tmp_path)), str(tmp_path / "results.json"), "--answers", "ordered"]
    page, run = tmp_path / "page.html", tmp_path / "run.json"
    assert main([*command, "--width", "120", "--html", str(page), "--json", str(run)]) == 0
    screen = capsys.readouterr().out
    assert "What the answers cost" in screen and "dollars, all runs" in screen
    study = spanwise.load(run)
    assert isinstance(study, Study)
    for system in ("acme:large", "acme:small"):
        (result,) = study.analyses.holistic[system].values()
        usage = present(result.usage)
        spent = [[row["response"].get("cost", 0.0) for row in given if row["provider"]["id"] == system]
                 for given in (rows[: len(again)], again)]  # fmt: skip
        assert [present(usage.runs[number].cost) for number in "12"] == pytest.approx(list(map(sum, spent)))
        f1 = [100 * present(result.values[number]) for number in "12"]
        per_dollar = [value / sum(each) for value, each in zip(f1, spent, strict=True)]
        assert usage.mean["f1_per_dollar"] == pytest.approx(sum(per_dollar) / 2)
        assert usage.std["f1_per_dollar"] == pytest.approx(abs(per_dollar[0] - per_dollar[1]) / 2**0.5)
        assert usage.sum["cost"] == pytest.approx(sum(map(sum, spent)))
        tokens = [present(one.input_tokens) for one in usage.runs.values()]
        assert (usage.sum["input_tokens"], usage.mean["input_tokens"]) == (sum(tokens), sum(tokens) / 2)
    assert page.read_text().count("F1 per dollar") > 2  # the table, and a chart
    assert main(["table", str(run), "costs", "--csv"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert "tokens, all runs" in head and len(lines) == 2


def test_a_single_system_of_a_log_has_its_own_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(
        ["place", str(gold_file(tmp_path)), str(LOGS / "promptfoo.json"), "--sample", "acme:large"]
    ) == 0  # fmt: skip
    _, _, costs = capsys.readouterr().out.partition("What the answers cost")
    assert "acme:large" in costs.split("Policies")[0] and "promptfoo" not in costs.split("Policies")[0]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
def test_choices_of_one_request_share_its_tokens(number: int, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 23}
    body = {"choices": [choice("[]") for _ in range(number)], "usage": usage}
    log = tmp_path / "batch.jsonl"
    log.write_text(json.dumps({"custom_id": "0", "response": {"status_code": 200, "body": body}}) + "\n")
    shares = [present(one.usage) for one in present(read_log(opened(log))).responses]
    assert sum(present(one.input_tokens) for one in shares) == 10
    assert sum(present(one.output_tokens) for one in shares) == 23
    assert max(present(one.input_tokens) for one in shares) - 10 // number in (0, 1)
