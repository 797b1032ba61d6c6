"""Names of taggers, and their default settings."""

from __future__ import annotations

import pytest

from spanwise import ChoiceError
from spanwise_taggers import names, parse
from spanwise_taggers.settings import settings_for


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
        ("CnoneWnoneLstmCrf", "neither characters nor words"),
        ("lstm", "no tagger is called 'lstm'"),
    ],
)
def test_an_unknown_name_is_answered_with_suggestions(name: str, message: str) -> None:
    with pytest.raises(ChoiceError, match=message.replace("(", r"\(")):
        parse(name)


@pytest.mark.parametrize(
    ("name", "key"),
    [("CelmWgloveLstmCrf", "features"), ("CelmoWnoneLstmCrf", "features"), ("CbertWnoneLstmMlp", "encoder")],
)
def test_models_with_weights_of_the_user_ask_for_a_folder_of_them(name: str, key: str) -> None:
    with pytest.raises(ChoiceError, match=f"{key} = FOLDER"):
        settings_for(parse(name), 100)
    assert getattr(settings_for(parse(name), 100, {key: "somewhere"}), key) == "somewhere"


def test_the_papers_twelve_names_are_all_models() -> None:
    rows = (
        "CRF++ CnonWrandLstmCrf CcnnWnoneLstmCrf CcnnWrandLstmCrf CcnnWgloveLstmCrf CcnnWgloveCnnCrf "
        "CcnnWgloveLstmMlp CelmWnoneLstmCrf CelmWgloveLstmCrf CbertWnoneLstmMlp CflairWnoneLstmCrf "
        "CflairWgloveLstmCrf"
    )
    assert len({parse(name).name for name in rows.split()}) == 12


def test_a_preset_replaces_defaults_and_is_replaced_by_options() -> None:
    model = parse("CcnnWrandLstmCrf")
    preset = settings_for(model, 14_000, {"preset": "fu19", "hidden": 50})
    assert (preset.optimiser, preset.rate, preset.batch, preset.hidden) == ("sgd", 0.01, 10, 50)
    with pytest.raises(ChoiceError, match="There are: fu19"):
        settings_for(model, 14_000, {"preset": "fu20"})


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
        ({"patience": -1}, "must be 0 or more"),
        ({"optimiser": "adam"}, "the optimiser is 'adam', but must be 'adamw' or 'sgd'"),
        ({"dropout": 1.0}, "at least 0 and below 1"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ChoiceError, match=message):
        settings_for(parse("CcnnWrandLstmCrf"), 100, options)
