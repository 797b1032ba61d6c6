"""The preset `interpreteval` reproduces the figures released by Fu, Liu and Neubig (2020)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import fields, replace
from typed import loaded, present

import spanwise
import spanwise.formats
from spanwise import interpreteval
from spanwise.cli.main import main
from spanwise.document.evaluation import Evaluation
from spanwise.errors import InputError
from spanwise.interpreteval import SHORT, Departures, Figures, Tagged, Training

Columns = list[list[list[str]]]


def columns(path: Path, separator: str) -> Columns:
    """The columns of a file, each as a list of sentences, read in the simplest way."""
    blocks = path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    rows = [[line.split(separator) for line in block.split("\n") if line] for block in blocks]
    sentences = [block for block in rows if block]
    return [[[row[i] for row in block] for block in sentences] for i in range(len(sentences[0][0]))]


class ReleasedBucket(Struct):
    """A bucket of the released figures: the tag of a category, or the bounds of a numeric bucket."""

    index: int
    f1: float
    gold: int
    tag: str | None = None
    lo: float | None = None
    hi: float | None = None


class ReleasedDiagnosis(Struct):
    """The indices of the worst and the best bucket, and the gap between them."""

    worst: int
    best: int
    gap: float


class Derived(Struct):
    """Figures derived from the buckets."""

    sigma: float
    rho: float | None


class ReleasedModel(Struct):
    """The figures of one model, by the short names of attributes."""

    buckets: dict[str, list[ReleasedBucket]]
    self_diagnosis: dict[str, ReleasedDiagnosis]
    derived_from_buckets: dict[str, Derived]


class ReleasedLead(Struct):
    """The indices of the buckets in which one model leads most and least, and by how much."""

    worst: int
    worst_gap: float
    best: int
    best_gap: float


class Released(Struct):
    """All figures released by the authors."""

    models: dict[str, ReleasedModel]
    comparative: dict[str, ReleasedLead]
    heatmap_relative: dict[str, list[float]]


class Wnut16(NamedTuple):
    """The files behind the figures (columns and known words), and the figures themselves."""

    train: Columns
    systems: dict[str, Columns]
    known: list[str]
    released: Released


@pytest.fixture(scope="module")
def wnut16(data: Path) -> Wnut16:
    folder = data / "wnut16"
    return Wnut16(
        columns(folder / "train.txt", "\t"),
        {"Flair": columns(folder / "flair.txt", " "), "ELMo": columns(folder / "elmo.txt", " ")},
        (folder / "known_words.txt").read_text(encoding="utf-8").split("\n"),
        msgspec.json.decode((folder / "released-figures.json").read_bytes(), type=Released),
    )


def evaluated(wnut16: Wnut16, system: str, departures: Departures = Departures()) -> Figures:
    tokens, gold, predicted = wnut16.systems[system]
    train_tokens, train_tags = wnut16.train
    return interpreteval.evaluate(
        Tagged(tokens, gold),
        Tagged(tokens, predicted),
        Tagged(train_tokens, train_tags),
        vocabulary=wnut16.known,
        departures=departures,
    )


@pytest.fixture(scope="module")
def both(wnut16: Wnut16) -> dict[str, Figures]:
    return {system: evaluated(wnut16, system) for system in ("Flair", "ELMo")}


@pytest.mark.parametrize("system", ["Flair", "ELMo"])
def test_every_released_bucket_is_reproduced(wnut16: Wnut16, both: dict[str, Figures], system: str) -> None:
    released = wnut16.released.models[system].buckets
    cells = 0
    for name, short in SHORT.items():
        for ours, theirs in zip(both[system].attributes[name].buckets, released[short], strict=True):
            assert ours.f1 == pytest.approx(theirs.f1, abs=1e-9), (short, theirs.index)
            assert ours.gold == theirs.gold
            if short == "tag":
                assert ours.value == theirs.tag
            else:
                assert (ours.low, ours.high) == (theirs.lo, theirs.hi)
            cells += 1
    assert cells == 8 * 4 + 6


@pytest.mark.parametrize("system", ["Flair", "ELMo"])
def test_the_released_self_diagnosis_is_reproduced(
    wnut16: Wnut16, both: dict[str, Figures], system: str
) -> None:
    model = wnut16.released.models[system]
    for name, short in SHORT.items():
        ours, theirs = both[system].attributes[name], model.self_diagnosis[short]
        derived = model.derived_from_buckets[short]
        assert ours.worst == ours.buckets[theirs.worst].name
        assert ours.best == ours.buckets[theirs.best].name
        assert ours.gap == pytest.approx(theirs.gap, abs=1e-9)
        assert ours.std == pytest.approx(derived.sigma, abs=1e-9)
        assert ours.spearman == pytest.approx(derived.rho, abs=1e-9)


def test_the_released_comparative_diagnosis_is_reproduced(wnut16: Wnut16, both: dict[str, Figures]) -> None:
    diagnoses = interpreteval.compare(both["Flair"], both["ELMo"])
    for name, short in SHORT.items():
        ours, theirs = diagnoses[name], wnut16.released.comparative[short]
        rows = both["Flair"].attributes[name].buckets
        for extreme, index, gap in (
            (ours.best, theirs.best, theirs.best_gap),
            (ours.worst, theirs.worst, theirs.worst_gap),
        ):
            assert present(extreme).bucket == rows[index].name
            assert present(extreme).difference == pytest.approx(gap, abs=1e-9)
        assert ours.relative == pytest.approx(wnut16.released.heatmap_relative[short], abs=1e-9)


TOKENS = [["Ann", "Lee", "left", "New-York", "."], ["acme", "sold", "Acme", "Corp"]]
GOLD = [["B-PER", "I-PER", "O", "B-geo-LOC", "O"], ["B-ORG", "O", "B-ORG", "I-ORG"]]
TRAIN = [["Acme", "hired", "Ann", "in", "New-York"], ["a", "Lee", "shore"], ["acme", "Corp"]]
TRAIN_TAGS = [["B-ORG", "O", "B-PER", "O", "B-geo-LOC"], ["O", "O", "O"], ["O", "O"]]


def small(predicted: list[list[str]] = GOLD, **switched: bool) -> Figures:
    return interpreteval.evaluate(
        Tagged(TOKENS, GOLD),
        Tagged(TOKENS, predicted),
        Tagged(TRAIN, TRAIN_TAGS),
        vocabulary=["left", "."],
        departures=replace(Departures(), **switched),
    )


def values(name: str, **switched: bool) -> list[float]:
    """The values of the gold units of the small corpus, in order."""
    departures = replace(Departures(), **switched)
    training = Training(Tagged(TRAIN, TRAIN_TAGS), departures)
    attributes = interpreteval.Attributes(Tagged(TOKENS, GOLD), training, ["left", "."])
    return [round(value, 4) for value in attributes.of(name, attributes.mentions).values()]


def test_the_label_is_what_follows_the_last_hyphen() -> None:
    assert [row.value for row in small().attributes["label"].buckets] == ["loc", "org", "per"]
    rows = small(last_hyphen=False).attributes["label"].buckets
    assert [row.value for row in rows] == ["ORG", "PER", "geo-LOC"]


def test_mentions_may_cross_the_end_of_a_sentence() -> None:
    tagged = Tagged([["a"], ["b"]], [["B-X"], ["I-X"]])
    assert tagged.mentions(Departures()) == [(0, 2, "x")]
    assert tagged.mentions(replace(Departures(), one_sentence=False)) == [(0, 1, "x"), (1, 2, "x")]


def test_consistency_of_a_string_that_is_not_a_training_mention_is_zero() -> None:
    # Mentions: Ann Lee, New-York, acme, Acme Corp. "acme" occurs as ORG and as O; "acme corp" only as O.
    # The first word of the training file is not preceded by a space, so the search does not find it.
    assert values("entity_label_consistency") == [0, 1, 0, 0]
    assert values("entity_label_consistency", regular_expression=False) == [0, 1, 0.5, 0]
    assert values("entity_label_consistency", regular_expression=False, lower_case=False) == [0, 1, 0, 0]


def test_an_unseen_token_inherits_the_value_before_it() -> None:
    tagged = Tagged([["Acme", "Zed"]], [["B-ORG", "I-ORG"]])
    for inherited, last in ((True, 0.5), (False, 0.0)):
        training = Training(Tagged(TRAIN, TRAIN_TAGS), replace(Departures(), inherited=inherited))
        attributes = interpreteval.Attributes(tagged, training, [])
        by_unit = attributes.of("token_label_consistency", attributes.mentions)
        assert list(by_unit.values()) == [0.5, last]


def test_densities_count_tokens_of_mentions_and_words_outside_the_list() -> None:
    assert values("entity_density") == [0.6, 0.6, 0.75, 0.75]
    assert values("entity_density", token_density=False) == [0.4, 0.4, 0.5, 0.5]
    assert values("oov_density") == [0.6, 0.6, 1.0, 1.0]
    # Without the list, words missing from the training text are unknown; everything is lowercased.
    assert values("oov_density", word_list=False) == [0.4, 0.4, 0.25, 0.25]


def test_a_single_bracket_is_not_a_pattern_and_finds_nothing() -> None:
    training = Training(Tagged([["a", "[", "b"]], [["O", "B-X", "O"]]), Departures())
    assert training.occurrences("[") == []
    assert Training(training.tagged, replace(Departures(), regular_expression=False)).occurrences("[") == [1]


def test_comparisons_are_clamped_at_zero_unless_switched_off() -> None:
    worse = [["O", "O", "O", "B-geo-LOC", "O"], ["O", "O", "O", "O"]]
    better, figures = small(), small(worse)
    clamped = present(interpreteval.compare(better, figures)["label"].worst)
    assert (clamped.bucket, clamped.difference) == ("loc", 0.0)
    lead = interpreteval.compare(small(clamped=False), small(worse, clamped=False))["entity_length"]
    assert present(present(lead.worst).difference) > 0


def test_the_preset_requires_its_word_list() -> None:
    with pytest.raises(InputError, match="needs a list of known words"):
        interpreteval.evaluate(Tagged(TOKENS, GOLD), Tagged(TOKENS, GOLD), Tagged(TRAIN, TRAIN_TAGS))


def test_unequal_numbers_of_tokens_and_tags_are_refused() -> None:
    with pytest.raises(InputError, match="needs one tag for every token"):
        Tagged([["a", "b"]], [["O"]])


def test_gold_against_itself_is_perfect_in_every_bucket_that_keeps_its_units() -> None:
    for switch in fields(Departures):
        figures = small(GOLD, **{switch.name: False, "dropped": False})
        for name, attribute in figures.attributes.items():
            for row in attribute.buckets:
                assert row.f1 in (1.0, None), (switch.name, name, row)


def test_with_every_departure_off_the_figures_equal_those_of_evaluate(wnut16: Wnut16, data: Path) -> None:
    off = Departures(**{switch.name: False for switch in fields(Departures)})
    figures = evaluated(wnut16, "Flair", off)
    result = spanwise.evaluate(
        data / "wnut16" / "flair.txt", train=data / "wnut16" / "train.txt", resamples=0
    )
    system = result["flair"]
    for name in SHORT:
        if name == "label":
            labels = {row.value: row.f1 for row in figures.attributes[name].buckets}
            assert labels == {label: row.f1 for label, row in system.exact.labels.items()}
            continue
        ours, theirs = (
            [(row.gold, row.predicted, row.correct) for row in attributes[name].buckets]
            for attributes in (system.attributes, figures.attributes)
        )
        assert ours == theirs, name


def test_annotations_are_accepted_as_well_as_lists(wnut16: Wnut16, data: Path) -> None:
    layers = spanwise.formats.read_layers(data / "wnut16" / "flair.txt")
    train = spanwise.read(data / "wnut16" / "train.txt")
    figures = interpreteval.evaluate(
        Tagged.of(layers["gold"]),
        Tagged.of(layers["predicted"]),
        Tagged.of(train),
        vocabulary=wnut16.known,
    )
    assert figures.attributes == evaluated(wnut16, "Flair").attributes


def test_the_command_line_gives_the_released_figures(wnut16: Wnut16, data: Path, tmp_path: Path) -> None:
    folder = data / "wnut16"
    written = tmp_path / "result.json"
    call = [
        "evaluate", str(folder / "flair.txt"), "--train", str(folder / "train.txt"),
        "--preset", "interpreteval", "--vocabulary", str(folder / "known_words.txt"),
        "--resamples", "0", "--quiet", "--json", str(written),
    ]  # fmt: skip
    assert main(call) == 0
    (system,) = loaded(written, Evaluation).systems.values()
    released = wnut16.released.models["Flair"].buckets
    for name, short in SHORT.items():
        rows = system.attributes[name].buckets
        assert [row.gold for row in rows] == [cell.gold for cell in released[short]]
        assert [row.f1 for row in rows] == pytest.approx([cell.f1 for cell in released[short]], abs=1e-9)
