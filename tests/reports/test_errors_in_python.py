"""Errors are asked for in printed words, and a result in Python shows them with their sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.conditions import parse
from spanwise.demo import generate
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import OUTCOME_WORDS, SUBSET_WORDS, code_of
from spanwise.errors import ChoiceError
from spanwise.reports.errors import KINDS, listing

EVIL = "</td><script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo")
    generate(path, sentences=300)
    return path


@pytest.fixture(scope="module")
def result(folder: Path) -> Evaluation:
    systems = {name: folder / f"{name}.conll" for name in ("shortsighted", "memoriser")}
    return spanwise.evaluate(
        folder / "gold.conll", systems, train=folder / "train.conll", attributes="fu20", examples="all"
    )


def test_every_printed_word_is_the_code_that_it_stands_for() -> None:
    for code, text in [*OUTCOME_WORDS.items(), *SUBSET_WORDS.items()]:
        assert code_of(text) == code_of(text.upper()) == code
    assert code_of("wrong label and boundary") == "LBE" and code_of("nothing") == "nothing"


def test_kinds_in_words_choose_the_same_errors_as_codes(result: Evaluation) -> None:
    whole = listing(result)
    assert {error.outcome for error in whole} <= set(KINDS)
    for code, words in {**OUTCOME_WORDS, "LBE": "wrong label and boundary"}.items():
        if code != "TP":
            assert listing(result, outcome=words) == listing(result, outcome=code)
    assert len(listing(result, outcome="missed, spurious")) == len(listing(result, outcome="FN,FP"))
    with pytest.raises(ChoiceError, match="Did you mean 'wrong boundary'"):
        listing(result, outcome="wrong bondary")


def test_tough_subsets_and_outcomes_are_conditions_by_themselves(result: Evaluation) -> None:
    assert str(parse("never seen & !missed")) == "outcome!=FN & toughness=UNSEEN-TOKENS"
    assert parse("toughness=never seen") == parse("toughness=UNSEEN-TOKENS") == parse("tough = Never Seen")
    unseen = listing(result, tough="UNSEEN-TOKENS")
    assert unseen and listing(result, where="never seen") == unseen == listing(result, tough="never seen")
    assert listing(result, where="missed", over="gold") == listing(result, outcome="FN", over="gold")


def test_words_in_a_mention_and_next_to_it_are_found(result: Evaluation) -> None:
    chosen = {phrase: listing(result, where=phrase) for phrase in ("text has of", "before in", "after .")}
    assert all(chosen.values())
    for error in listing(result):
        words = [word.casefold() for word in error.sentence.tokens or ()]
        mention = error.consumed
        expected = {
            "text has of": "of" in words[mention.start : mention.end],
            "before in": mention.start > 0 and words[mention.start - 1] == "in",
            "after .": mention.end < len(words) and words[mention.end] == ".",
        }
        assert {phrase: error in errors for phrase, errors in chosen.items()} == expected
    assert listing(result, where="text has of, in") == listing(result, where="text=of,in")


def test_buckets_are_named_with_their_range(result: Evaluation) -> None:
    whole = listing(result, bucket=("entity_length", "XL"))
    for text in ("≥ 4", "XL ≥ 4", "XL (≥ 4)"):
        assert listing(result, bucket=("entity_length", text)) == whole


def test_a_result_lists_its_errors_as_text_and_html(result: Evaluation) -> None:
    errors = result.errors("shortsighted", kind="wrong boundary", limit=5)
    assert len(errors) == len(listing(result, system="shortsighted", outcome="BE")) > 5
    assert str(errors).count("gold.conll:") == 5 and f"{len(errors) - 5} more" in repr(errors)
    html = errors._repr_html_()
    assert html.count("<tr>") == 5 and f"{len(errors)} errors" in html and "too short" in html
    assert next(iter(errors)) == errors[0]
    pandas = pytest.importorskip("pandas")
    assert isinstance(errors.to_pandas(), pandas.DataFrame) and len(errors.to_pandas()) == len(errors)
    assert repr(result.errors("shortsighted", kind="LBE", gold="PER", predicted="PER")) == "no errors"


def test_names_and_text_stay_text_in_html() -> None:
    gold = [[f"B-{EVIL}", "O"]] * 3
    result = spanwise.evaluate(gold, {EVIL: [["O", "O"]] * 3}, resamples=0)
    for html in (result.errors()._repr_html_(), result[EVIL]._repr_html_(), result._repr_html_()):
        assert "<script" not in html


def test_a_system_has_html_and_results_have_readable_parts(result: Evaluation) -> None:
    html = result["memoriser"]._repr_html_()
    assert "memoriser scores " in html and "missed" in html and "<table>" in html
    assert repr(result.examples).startswith("<spanwise.ExampleCounts ")
    assert repr(result.mentions).startswith("<spanwise.MentionCodes ")


def test_mentions_as_a_frame_count_as_the_tables_do(result: Evaluation) -> None:
    pytest.importorskip("pandas")
    frame = result.to_pandas("mentions")
    for name, system in result.systems.items():
        own = frame[frame.system == name]
        assert (own.outcome == "TP").sum() == system.exact.overall.correct
        assert (own.kind == "missed").sum() == system.fair.overall.FN
    assert len(result.to_pandas()) > 0


def test_the_command_takes_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("gold", "shortsighted", "train")
    gold, predicted, train = (str(folder / f"{name}.conll") for name in names)
    main(["errors", gold, predicted, "--train", train, "--kind", "wrong boundary", "--where", "never seen"])
    words = capsys.readouterr().out
    code = "toughness=UNSEEN-TOKENS"
    main(["errors", gold, predicted, "--train", train, "--outcome", "BE", "--where", code])
    assert words == capsys.readouterr().out != ""


def test_the_command_lists_at_most_as_many_as_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / f"{name}.conll") for name in ("gold", "shortsighted")]
    assert main(["errors", *files, "--as", "csv", "--most", "3"]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 1 + 3
    assert shown.err.splitlines()[-1].endswith(" errors, of which 3 are listed")
    assert main(["errors", *files, "--as", "csv", "--most", "9999"]) == 0
    assert "listed" not in capsys.readouterr().err
    assert main(["errors", *files, "--most", "0"]) == 2
