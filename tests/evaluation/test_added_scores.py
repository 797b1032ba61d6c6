"""Scores that packages and calls add: computed by name, kept in documents, shown without the package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.document import scores as document_scores
from spanwise.document.loading import document_of, load
from spanwise.errors import ChoiceError, InputError
from spanwise.rates import SCORES, Rate

JACCARD = Rate("jaccard", "Jaccard", above=(1.0, 0.0, 0.0), below=(1.0, 1.0, 1.0))
GOLD = [["B-PER", "O", "B-LOC"], ["B-PER", "I-PER", "O"], ["B-LOC", "O", "O"]]
PREDICTED = {"a": [["B-PER", "O", "O"], ["B-PER", "O", "O"], ["B-LOC", "O", "B-PER"]], "b": GOLD}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Scores that a test adds are forgotten after it."""
    before = dict(SCORES._values)
    yield
    SCORES._values.clear()
    SCORES._values.update(before)


def _evaluated(**options: Any) -> spanwise.Result:
    return spanwise.evaluate(GOLD, PREDICTED, resamples=50, **options)


def test_an_added_score_is_the_ratio_of_its_weighted_sums_with_interval_and_test() -> None:
    result = _evaluated(scores=JACCARD)
    # Two of four gold mentions are right, and two of four predictions are false: 2 / (2 + 2 + 2).
    assert result["a"].exact.overall.more == {"jaccard": 2 / 6}
    assert result["b"].exact.labels["PER"].more == {"jaccard": 1.0}
    low, high = result["a"].exact.overall.ends("jaccard") or (None, None)
    assert low is not None and high is not None and low < 2 / 6 < high
    tested = {row.path[-1]: row for row in result.comparisons[0].scores if row.path[1] == "overall"}
    assert tested["jaccard"].difference == pytest.approx(2 / 6 - 1)
    assert tested["jaccard"].p is not None


def test_a_score_that_is_not_asked_for_is_not_computed() -> None:
    SCORES.declare(JACCARD)
    assert _evaluated()["a"].exact.overall.more == {}
    assert _evaluated(scores="jaccard")["a"].exact.overall.more == {"jaccard": 2 / 6}


def test_an_added_score_can_be_the_primary_one() -> None:
    SCORES.declare(JACCARD)
    result = _evaluated(primary="jaccard")
    (test,) = (row for row in result.comparisons[0].scores if row.role == "primary")
    assert test.path == ("exact", "overall", "jaccard")
    assert "|primary:jaccard|scores:jaccard|" in result.signature


def test_a_document_shows_a_score_whose_package_is_not_installed(tmp_path: Path) -> None:
    result = _evaluated(scores=JACCARD)
    result.to_json(tmp_path / "run.json")
    SCORES.remove("jaccard")
    again = load(tmp_path / "run.json")
    assert again.to_json() == result.to_json()
    assert isinstance(again, spanwise.Result)
    assert again["a"].exact.overall.more == {"jaccard": 2 / 6}
    assert "Jaccard" in again.to_html()
    assert "a/jaccard" in again.flat()


def test_a_document_cannot_give_a_known_score_other_weights() -> None:
    plain = json.loads(_evaluated(scores=JACCARD).to_json())
    plain["settings"]["scores"][0]["above"] = [2, 0, 0]
    with pytest.raises(InputError, match="there are two scores called 'jaccard', with different weights"):
        document_of(plain)
    plain["settings"]["scores"][0]["above"] = [0, 1, 0]
    with pytest.raises(InputError, match=r"settings.scores\[0\]: the score 'jaccard' must count right"):
        document_of(plain)


@pytest.mark.parametrize("name", ["f1", "f2", "gold", "interval", "Jaccard", "a b", ""])
def test_a_score_cannot_have_a_name_that_means_something_else(name: str) -> None:
    with pytest.raises(ChoiceError, match="a score cannot be called"):
        SCORES.declare(Rate(name, "words", above=(1.0, 0.0, 0.0), below=(1.0, 1.0, 1.0)))


def test_no_score_can_have_the_name_of_a_key_beside_scores() -> None:
    structs = (each for each in vars(document_scores).values() if hasattr(each, "__struct_fields__"))
    beside = {key for each in structs if "more" in each.__struct_fields__ for key in each.__struct_fields__}
    assert "few_units" in beside
    for name in beside:
        with pytest.raises(ChoiceError):
            SCORES.declare(Rate(name, "words", above=(1.0, 0.0, 0.0), below=(1.0, 1.0, 1.0)))


def test_an_unknown_score_is_refused() -> None:
    with pytest.raises(ChoiceError, match="no score is called 'jacard'"):
        _evaluated(scores=["jacard"])
