"""Settings are declared once; keywords, flags and signatures follow from them."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import COMMANDS, parser_of
from spanwise.rates import SCORES, Rate
from spanwise.settings import OPTIONS, SETTINGS
from spanwise.workbench.jobs import OPTIONS as UPLOADS

GOLD = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "O"]]
PREDICTED = {"one": [["B-PER", "O", "O"], ["B-LOC", "O", "O"]], "two": GOLD}
PYTHON_ALONE = {
    "gold",
    "systems",
    "pairs",
    "engine",
    "progress",
    "answers",
    "command",
    "source",
    "tags",
    "reading",
}


def test_every_keyword_of_evaluate_is_declared() -> None:
    keywords = set(inspect.signature(spanwise.evaluate).parameters) - PYTHON_ALONE
    assert keywords == {
        name for name, setting in SETTINGS.items() if setting.group != "read" and setting.keyword
    }


def test_a_flag_has_the_default_of_its_keyword() -> None:
    keywords = inspect.signature(spanwise.evaluate).parameters
    flags = vars(parser_of("evaluate").parse_args(["gold.conll"]))
    for name in set(keywords) & set(flags) - PYTHON_ALONE - {"workers"}:  # commands use all cores
        assert (flags[name] or None) == (keywords[name].default or None), name


CHANGED: dict[str, Any] = {
    "matcher": "exact",
    "focus": "both",
    "weights": "ortmann-eq7",
    "attributes": "label",
    "buckets": {"entity_length": "1"},
    "vocabulary": ["a"],
    "lowercase": True,
    "resamples": 20,
    "seed": 1,
    "confidence": 0.9,
    "unit": "block:2",
    "primary": "recall",
    "correction": "bh",
    "align": "position",
    "repair": "discard",
    "beta": 2,
    "scores": Rate("jaccard", "Jaccard", above=(1.0, 0.0, 0.0), below=(1.0, 1.0, 1.0)),
    "map": {"PER": "NAME"},
    "hierarchy": {"PER": "name/PER"},
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_setting_that_shapes_numbers_shows_in_the_signature(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SCORES, "_values", dict(SCORES._values))
    evaluate = partial(spanwise.evaluate, GOLD, PREDICTED, resamples=10)
    assert evaluate(**{name: CHANGED[name]}).signature != evaluate().signature


def test_every_signed_setting_is_among_those_tried() -> None:
    assert {name for name, setting in SETTINGS.items() if setting.signed is not None} <= set(CHANGED)


def test_another_matcher_leaves_exact_and_relaxed_scores_alone() -> None:
    fair, other = (
        spanwise.evaluate(GOLD, PREDICTED, matcher=name, resamples=0) for name in ("fair", "exact")
    )
    assert fair["one"].exact == other["one"].exact
    assert fair["one"].relaxed == other["one"].relaxed
    assert (fair["one"].fair.overall.BEs, other["one"].fair.overall.BEs) == (1, 0)


@pytest.mark.parametrize(
    ("name", "value"), [(name, setting) for name, values in UPLOADS.items() for setting in values]
)
def test_evaluate_accepts_what_an_upload_may_choose(name: str, value: str) -> None:
    options: dict[str, Any] = {name: value}
    assert spanwise.evaluate(GOLD, PREDICTED, resamples=0, **options)["two"].exact.overall.f1 == 1


def test_a_reading_flag_without_a_default_documents_the_default_of_read() -> None:
    keywords = inspect.signature(spanwise.read).parameters
    usual = {
        name: setting.usual
        for name, setting in SETTINGS.items()
        if setting.group == "read" and setting.usual is not None
    }
    assert usual == {name: keywords[name].default for name in usual}


FUNCTIONS: dict[str, Any] = {
    "slices": spanwise.find_slices,
    "confidence": spanwise.confidence,
    "leaks": spanwise.leaks,
    "tuples": spanwise.tuples,
    "describe": spanwise.describe,
    "suspects": spanwise.suspects,
}
OF_ALL = {"gold", "source", "systems", "name", "command", "engine", "reading"}


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_keyword_of_another_function_is_declared(verb: str) -> None:
    parameters = inspect.signature(FUNCTIONS[verb]).parameters.values()
    keywords = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY} - OF_ALL
    assert keywords == {name for name, option in OPTIONS[verb].items() if option.keyword} - OF_ALL


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_a_keyword_of_another_function_has_the_default_of_its_flag(verb: str) -> None:
    assert verb in COMMANDS
    parameters = inspect.signature(FUNCTIONS[verb]).parameters
    for name in {*OPTIONS[verb]} & {*parameters} - {"workers"}:  # commands use all cores
        default = parameters[name].default
        listed = ",".join(default) if isinstance(default, tuple) else default
        assert (OPTIONS[verb][name].default or None) == (listed or None), name
