"""Word segmentation and part-of-speech tags: tags without labels, and labels without letters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import main

GOLD = "我 S\n爱 S\n北 B\n京 E\n天 B\n安 M\n门 E\n\n你 B\n好 E\n吗 S\n\n"
PREDICTED = "我 B\n爱 E\n北 B\n京 E\n天 B\n安 E\n门 S\n\n你 B\n好 E\n吗 S\n\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "gold.txt").write_text(GOLD)
    (tmp_path / "pred.txt").write_text(PREDICTED)
    return str(tmp_path / "gold.txt"), str(tmp_path / "pred.txt")


def test_words_are_scored_as_spans(files: tuple[str, str]) -> None:
    result = spanwise.evaluate(files[0], {"mine": files[1]}, scheme="bare", resamples=0)
    scores = result["mine"]
    assert (scores.exact.overall.gold, scores.exact.overall.predicted, scores.exact.overall.correct) == (
        6,
        6,
        3,
    )
    assert scores.fair.overall.BE == 4
    assert result.dataset.labels == {"WORD": 6}
    assert result.inputs[0].scheme == "BMES"


def test_tags_without_labels_give_the_same_in_parts_as_whole(files: tuple[str, str]) -> None:
    whole, parts = (
        spanwise.evaluate(files[0], {"mine": files[1]}, scheme="bare", resamples=0, memory=memory)
        for memory in (None, "64MB")
    )
    assert parts.systems == whole.systems
    assert parts.inputs == whole.inputs


def test_tags_of_tokens_are_labels_of_single_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gold.txt").write_text("the DT\ndog NN\nbarks VBZ\n\n")
    (tmp_path / "pred.txt").write_text("the DT\ndog NN\nbarks NNS\n\n")
    call = ["evaluate", str(tmp_path / "gold.txt"), str(tmp_path / "pred.txt"), "--scheme", "token"]
    assert main([*call, "--resamples", "0", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    system = document["systems"]["pred"]
    assert system["exact"]["overall"]["f1"] == system["exact"]["overall"]["accuracy"] == pytest.approx(2 / 3)
    assert system["confusion"]["pairs"]["LE"] == [["VBZ", "NNS", 1]]


def test_records_and_lists_are_read_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"tokens": ["北", "京"], "tags": ["B", "E"]}\n')
    assert spanwise.read(tmp_path / "a.jsonl", scheme="bare").mentions.rows() == [(0, 0, 2, "WORD")]
    assert spanwise.read([["B", "I", "O"]], scheme="bare").mentions.rows() == [(0, 0, 2, "WORD")]


def test_a_file_is_valid_only_under_its_spelling(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", files[0], "--scheme", "bare"]) == 0
    assert main(["validate", files[0]]) == 3
    assert "has no label" in capsys.readouterr().out


def test_a_study_accepts_a_spelling_per_dataset(files: tuple[str, str], tmp_path: Path) -> None:
    tree = {
        "predictions": "pred.txt", "attributes": "entity_length", "resamples": 0,
        "datasets": {"words": {"test": "gold.txt", "scheme": "bare"}}, "systems": {"cut": {}},
    }  # fmt: skip
    study = spanwise.study(tree, root=tmp_path, cache=False, workers=1)
    assert study.analyses.holistic["cut"]["words"].mean == pytest.approx(0.5)


def test_part_of_speech_tags_of_a_published_corpus(data: Path) -> None:
    tags = spanwise.read(data / "conll2003" / "test.txt", tag_column=1, scheme="token")
    assert len(tags.mentions) == len(tags.corpus.tokens) == 46435
