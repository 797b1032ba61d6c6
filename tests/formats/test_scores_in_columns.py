"""Scores of mentions in a third column of a CoNLL file, written and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import Annotation, Mentions, read, write
from spanwise.calibration import read_scored
from spanwise.corpus import Corpus
from spanwise.errors import ChoiceError, InputError


def scored(scores: list[float], words: int = 3) -> Annotation:
    """One sentence per score, whose first words are a mention with that score, and one without mentions."""
    sentences = [[f"w{at}" for at in range(words + 1)] for _ in scores] + [["none"]]
    rows = [(at, 0, words, "PER") for at in range(len(scores))]
    return Annotation(Corpus.of(sentences), Mentions.of(rows, score=scores))


def test_every_token_of_a_mention_carries_its_score_and_others_carry_none(tmp_path: Path) -> None:
    write(scored([0.25], words=2), tmp_path / "out.conll", scores=True)
    assert (tmp_path / "out.conll").read_text() == (
        "w0 B-PER 0.25\nw1 I-PER 0.25\nw2 O _\n\nnone O _\n\n"
    )  # fmt: skip


def test_without_scores_there_are_two_columns_as_before(tmp_path: Path) -> None:
    lost = write(scored([0.25], words=1), tmp_path / "out.conll", lossy=True)
    assert lost == ("1 score",)
    assert (tmp_path / "out.conll").read_text() == "w0 B-PER\nw1 O\n\nnone O\n\n"


@settings(max_examples=60)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
    st.integers(1, 9),
    st.sampled_from(["mean", "min"]),
)
def test_scores_that_are_read_back_are_the_same_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float], words: int, how: Literal["mean", "min"]
) -> None:
    path = tmp_path_factory.mktemp("scored") / "out.conll"
    write(scored(scores, words), path, scores=True)
    again = read_scored(path, score_column=2, token_scores=how)
    assert again.mentions.rows() == scored(scores, words).mentions.rows()
    assert again.mentions.score is not None and again.mentions.score.tolist() == scores


@pytest.mark.parametrize("column", [2, -1])
def test_tags_are_in_the_last_column_other_than_the_scores(tmp_path: Path, column: int) -> None:
    write(scored([0.5]), tmp_path / "out.conll", scores=True)
    assert len(read(tmp_path / "out.conll", columns={"score": column}).mentions) == 1
    assert len(read(tmp_path / "out.conll", columns={"score": column}, tag_column=1).mentions) == 1


def test_scores_before_the_tags_leave_them_in_the_last_column(tmp_path: Path) -> None:
    (tmp_path / "out.conll").write_text("Ann 0.75 B-PER\nleft _ O\n")
    annotation = read_scored(tmp_path / "out.conll", score_column=1)
    assert annotation.mentions.rows() == [(0, 0, 1, "PER")]
    assert annotation.mentions.score is not None and annotation.mentions.score.tolist() == [0.75]


def test_documents_are_marked_in_three_columns(tmp_path: Path) -> None:
    (tmp_path / "in.conll").write_text("-DOCSTART- O\n\nAnn B-PER\n\n-DOCSTART- O\n\nBo B-PER\n")
    text = read(tmp_path / "in.conll")
    with_scores = Annotation(text.corpus, Mentions.of(text.mentions.rows(), score=[0.1, 0.2]))
    write(with_scores, tmp_path / "out.conll", scores=True)
    assert "-DOCSTART- O _\n\nBo B-PER 0.2\n" in (tmp_path / "out.conll").read_text()
    again = read(tmp_path / "out.conll", columns={"score": 2})
    assert again.corpus.documents is not None and again.corpus.documents.tolist() == [0, 1, 2]


def test_a_mention_without_a_score_is_read_back_without_one(tmp_path: Path) -> None:
    write(scored([0.5, np.nan]), tmp_path / "out.conll", scores=True)
    score = read_scored(tmp_path / "out.conll", score_column=2).mentions.score
    assert score is not None and score[0] == 0.5 and np.isnan(score[1])


def test_a_score_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.conll").write_text("Ann B-PER high\n")
    with pytest.raises(InputError, match="the score 'high' is not a number"):
        read_scored(tmp_path / "out.conll", score_column=2)


@pytest.mark.parametrize("name", ["out.conllu", "out.pubtator"])
def test_formats_that_cannot_store_scores_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ChoiceError, match=r"has no place for scores\.\nWrite one of: .*, jsonl, conll\."):
        write(scored([0.5]), tmp_path / name, scores=True)
    assert not (tmp_path / name).exists()
