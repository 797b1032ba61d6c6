"""Drawing units: the same for the same seed, in proportion within strata, with weights that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.errors import ChoiceError, InputError
from spanwise.sampling import allocated

WORDS = [[f"w{number}"] * (1 + number % 7) for number in range(60)]
FIRST = ["B-PER" if number % 10 == 0 else "B-LOC" if number % 3 == 0 else "O" for number in range(60)]
TAGS = [[first] + ["O"] * (number % 7) for number, first in enumerate(FIRST)]
CORPUS = spanwise.read(TAGS, tokens=WORDS)


@given(sizes=st.lists(st.integers(1, 200), min_size=1, max_size=8), data=st.data())
def test_shares_add_up_and_no_stratum_is_left_out_or_overdrawn(sizes: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(len(sizes), sum(sizes)))
    shares = allocated(sizes, n)
    assert sum(shares) == n
    assert all(1 <= share <= size for share, size in zip(shares, sizes, strict=True))
    exact = [n * size / sum(sizes) for size in sizes]
    if min(exact) >= 1:  # then nothing but rounding moves a share
        assert all(abs(share - wanted) < 1 for share, wanted in zip(shares, exact, strict=True))


def words_of(part: spanwise.Annotation) -> list[str]:
    return [part.corpus.words(number)[0] for number in range(len(part.corpus))]


def test_the_same_seed_draws_the_same_units_in_the_order_of_the_corpus() -> None:
    first, again, other = (words_of(spanwise.sample(CORPUS, 20, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other and len(set(first)) == 20
    assert first == sorted(first, key=lambda word: int(word[1:]))


def test_every_unit_is_drawn_equally_often() -> None:
    times = np.zeros(60)
    for seed in range(600):
        for word in words_of(spanwise.sample(CORPUS, 15, seed=seed)):
            times[int(word[1:])] += 1
    expected = 600 * 15 / 60
    assert np.abs(times - expected).max() < 4.5 * (expected * 0.75) ** 0.5


@pytest.mark.parametrize("strata", ["label", "length"])
def test_weights_are_units_of_a_stratum_per_unit_drawn(strata: str) -> None:
    part = spanwise.sample(CORPUS, 25, strata=strata)
    weight, stratum = (np.asarray(part.corpus.fields[key]) for key in ("weight", "stratum"))
    assert weight.sum() == pytest.approx(60) and len(set(stratum.tolist())) > 1
    for code in set(stratum.tolist()):
        assert len(set(weight[stratum == code].tolist())) == 1


def test_a_weighted_mean_is_unbiased() -> None:
    lengths = [len(words) for words in WORDS]
    means = []
    for seed in range(300):
        part = spanwise.sample(CORPUS, 12, strata="label", seed=seed)
        weight = np.asarray(part.corpus.fields["weight"])
        means.append(float((weight * part.corpus.lengths).sum() / weight.sum()))
    error = np.std(means) / len(means) ** 0.5
    assert abs(np.mean(means) - np.mean(lengths)) < 4 * error


def test_units_on_which_systems_disagree_are_a_stratum() -> None:
    first = [["O"] * len(words) for words in WORDS]
    second = [[*tags] for tags in first]
    for number in range(6):
        second[number][0] = "B-PER"
    systems = [spanwise.read(tags, tokens=WORDS) for tags in (first, second)]
    part = spanwise.sample(CORPUS, 20, strata="system-disagreement", systems=systems)
    drawn = {int(word[1:]) for word in words_of(part)}
    assert len(drawn & set(range(6))) == 2


def test_documents_are_drawn_whole() -> None:
    corpus = spanwise.Corpus.of(WORDS, documents=[10] * 6)
    whole = spanwise.Annotation(corpus, CORPUS.mentions)
    part = spanwise.sample(whole, 3, by="document")
    assert len(part.corpus) == 30 and part.corpus.documents is not None
    assert part.corpus.documents.tolist() == [0, 10, 20, 30]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InputError, match="60 sentences, fewer than 61"):
        spanwise.sample(CORPUS, 61)
    with pytest.raises(InputError, match="no documents"):
        spanwise.sample(CORPUS, 2, by="document")
    with pytest.raises(ChoiceError, match="at least two systems"):
        spanwise.sample(CORPUS, 10, strata="system-disagreement")
    with pytest.raises(ChoiceError, match="strat"):
        spanwise.sample(CORPUS, 10, strata="color")
    with pytest.raises(ChoiceError, match="only used to draw within strata='system-disagreement'"):
        spanwise.sample(CORPUS, 10, systems=[CORPUS, CORPUS])
