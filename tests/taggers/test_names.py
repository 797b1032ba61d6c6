"""Names of taggers, and their default settings."""

from __future__ import annotations

import pytest

from spanwise import ChoiceError
from spanwise.taggers import names, parse
from spanwise.taggers.settings import settings_for


@pytest.mark.parametrize("name", names())
def test_every_name_of_the_grid_is_parsed_and_written_back(name: str) -> None:
    assert parse(name).name == name


def test_the_papers_short_names_are_aliases() -> None:
    assert parse("CnonWrandLstmCrf") == parse("CnoneWrandLstmCrf")
    assert parse("CRF++") == parse("crf")
    assert parse("CminilmWnoneMlp").encoder == "none"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("CcnWgloveLstmCrf", "Did you mean 'CcnnWgloveLstmCrf'"),
        ("CelmWgloveLstmCrf", "train CfeaturesWgloveLstmCrf"),
        ("CbertWnoneLstmMlp", "train CfeaturesWnoneLstmMlp"),
        ("CnoneWnoneLstmCrf", "neither characters nor words"),
        ("lstm", "no tagger is called 'lstm'"),
    ],
)
def test_an_unknown_name_is_answered_with_suggestions(name: str, message: str) -> None:
    with pytest.raises(ChoiceError, match=message.replace("(", r"\(")):
        parse(name)


def test_small_corpora_are_trained_longer_in_smaller_batches() -> None:
    model = parse("CcnnWrandLstmCrf")
    assert settings_for(model, 14_000).batch > settings_for(model, 2_000).batch
    assert settings_for(model, 14_000).epochs < settings_for(model, 2_000).epochs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epoch": 3}, "Did you mean 'epochs'"),
        ({"epochs": "many"}, "wrong type"),
        ({"mode": "both"}, "the mode of windows is 'both', but must be 'concat' or 'context'"),
        ({"mode": 3}, "the mode of windows is 3, but must be"),
        ({"epochs": 0}, "must be 1 or more"),
        ({"dropout": 1.0}, "at least 0 and below 1"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ChoiceError, match=message):
        settings_for(parse("CcnnWrandLstmCrf"), 100, options)
