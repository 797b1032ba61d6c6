"""The human level, systems beside it, and intervals of agreement, compared with plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pytest
from annotators import annotation, by_annotator, campaign
from typed import present

import spanwise
from spanwise.agreement._levels import flipped
from spanwise.columns import floats
from spanwise.corpus import Annotation
from spanwise.document.agreement import Agreement

Marks = list[set[tuple[object, ...]]]  # the mentions of each document
SEEDS = range(6)


def documents_of(source: Annotation) -> Marks:
    """The mentions of each document, with their sentences."""
    corpus = source.corpus
    first = present(corpus.documents).tolist()
    marks: Marks = [set() for _ in first[1:]]
    for sentence, start, end, label in source.mentions.rows():
        number = int(np.searchsorted(first, sentence, "right")) - 1
        marks[number].add((sentence, start, end, label))
    return marks


def f1(first: Marks, second: Marks, documents: Sequence[int]) -> float:
    both = sum(len(first[at] & second[at]) for at in documents)
    marks = sum(len(first[at]) + len(second[at]) for at in documents)
    return 2 * both / marks if marks else math.nan


def mean(values: Sequence[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


def t_interval(value: float, left: Sequence[float], *, logit: bool) -> tuple[float, float]:
    """An interval from values without each unit, by the formula."""
    from scipy import stats

    u, centre = len(left), sum(left) / len(left)
    error = math.sqrt((u - 1) / u * sum((one - centre) ** 2 for one in left))
    t = stats.t.ppf(0.975, u - 1)
    if not logit:
        return value - t * error, value + t * error
    odds, reach = math.log(value / (1 - value)), t * error / (value * (1 - value))
    low, high = (1 / (1 + math.exp(-(odds + sign * reach))) for sign in (-1, 1))
    return low, high


def without(statistic: Callable[[Sequence[int]], float], units: Sequence[int]) -> list[float]:
    return [statistic([other for other in units if other != at]) for at in units]


def case(seed: int, documents: int = 9) -> tuple[dict[str, Annotation], Annotation]:
    """Two or more annotators, and a system."""
    people = by_annotator(campaign(seed, documents=documents))
    names = list(people)
    return {name: people[name] for name in names[:-1]}, people[names[-1]]


def cases() -> list[tuple[dict[str, Annotation], Annotation]]:
    return [made for made in map(case, range(20)) if len(made[0]) >= 2][: len(SEEDS)]


@pytest.mark.parametrize("number", SEEDS)
def test_levels_and_their_intervals_equal_those_of_plain_loops(number: int) -> None:
    people, system = cases()[number]
    found = spanwise.agree(people, systems={"s": system})
    marks = [documents_of(own) for own in people.values()]
    own = documents_of(system)
    every = range(len(own))

    def human(documents: Sequence[int]) -> float:
        return mean([f1(a, b, documents) for a, b in combinations(marks, 2)])

    def level(documents: Sequence[int]) -> float:
        return mean([f1(a, own, documents) for a in marks])

    levels = present(found.levels)
    h, s = human(every), level(every)
    by_people = [at for at in every if any(side[at] for side in marks)]
    by_system = [at for at in every if own[at] or any(side[at] for side in marks)]
    assert levels.human.f1 == pytest.approx(h) == found.mean.overall.f1
    assert levels.human.interval == pytest.approx(t_interval(h, without(human, by_people), logit=True))
    assert levels.human.interval == present(found.mean.overall.interval)["f1"]
    beside = levels.systems["s"]
    assert (beside.f1, beside.difference, beside.human) == pytest.approx((s, s - h, h))
    assert beside.interval == pytest.approx(t_interval(s, without(level, by_system), logit=True))
    left = without(lambda documents: level(documents) - human(documents), by_system)
    assert beside.difference_interval == pytest.approx(t_interval(s - h, left, logit=False))
    assert beside.p == pytest.approx(plain_p(marks, own, h, s))
    assert beside.flips == 0 and beside.units == len(by_system)


def plain_p(marks: Sequence[Marks], own: Marks, h: float, s: float) -> float:
    """The share of all signs of z_d whose sum is at least as far from 0 as the difference."""
    centre = (h + s) / 2

    def share(first: Marks, second: Marks, at: int) -> float:
        n = sum(len(a) + len(b) for a, b in zip(first, second, strict=True))
        return (2 * len(first[at] & second[at]) - centre * (len(first[at]) + len(second[at]))) / n

    z = [
        mean([share(a, own, at) for a in marks]) - mean([share(a, b, at) for a, b in combinations(marks, 2)])
        for at in range(len(own))
    ]
    assert sum(z) == pytest.approx(s - h)
    z = [value for value in z if abs(value) > 1e-12]
    sums = [sum(sign * value for sign, value in zip(signs, z, strict=True))
            for signs in product((-1, 1), repeat=len(z))]  # fmt: skip
    return sum(abs(total) >= abs(sum(z)) - 1e-12 for total in sums) / len(sums)


@pytest.mark.parametrize("number", SEEDS)
def test_pairs_have_the_intervals_of_plain_loops(number: int) -> None:
    people, _ = cases()[number]
    marks = {name: documents_of(own) for name, own in people.items()}
    for pair in spanwise.agree(people).pairs:
        first, second = (marks[name] for name in pair.annotators)
        held = [at for at in range(len(first)) if first[at] or second[at]]

        def value(documents: Sequence[int], a: Marks = first, b: Marks = second) -> float:
            return f1(a, b, documents)

        expected = t_interval(value(held), without(value, held), logit=True)
        assert present(pair.interval)["f1"] == pytest.approx(expected)


def parts(people: Mapping[str, Annotation], chosen: Sequence[int]) -> dict[str, Annotation]:
    """The annotations of some documents alone."""
    result = {}
    for name, own in people.items():
        first = present(own.corpus.documents).tolist()
        rows: list[list[list[tuple[int, int, str]]]] = [
            [[] for _ in range(first[at], first[at + 1])] for at in chosen
        ]
        for sentence, start, end, label in own.mentions.rows():
            number = int(np.searchsorted(first, sentence, "right")) - 1
            if number in chosen:
                rows[chosen.index(number)][sentence - first[number]].append((start, end, label))
        text = [[own.corpus.words(at) for at in range(first[n], first[n + 1])] for n in chosen]
        result[name] = annotation(text, rows)
    return result


def coefficients(document: Agreement) -> dict[str, float | None]:
    found: dict[str, float | None] = {
        "alpha": document.tokens.alpha,
        "alpha_marked": document.tokens.alpha_marked,
        "fleiss": document.tokens.fleiss,
        "all": document.alpha_u.all,
    }
    return (
        found
        | {f"cohen {at}": pair.kappa for at, pair in enumerate(document.tokens.cohen)}
        | {f"labels {at}": pair.on_equal_spans.kappa for at, pair in enumerate(document.pairs)}
    )


@pytest.mark.parametrize("number", SEEDS[:3])
def test_coefficients_have_the_jackknife_intervals_of_agreement_computed_anew(number: int) -> None:
    people, _ = cases()[number]
    document = spanwise.agree(people)
    size = document.documents
    left = [
        coefficients(spanwise.agree(parts(people, [other for other in range(size) if other != at])))
        for at in range(size)
    ]
    intervals = dict(present(document.tokens.interval)) | dict(present(document.alpha_u.interval))
    intervals |= {f"cohen {at}": present(pair.interval)["kappa"]
                  for at, pair in enumerate(document.tokens.cohen)}  # fmt: skip
    checked = 0
    for name, value in coefficients(document).items():
        if name.startswith("labels"):
            continue  # a document without equal spans is not left out
        without_one = [present(row[name]) for row in left]
        low, high = t_interval(present(value), without_one, logit=False)
        assert intervals[name] == pytest.approx((low, min(high, 1.0)), abs=1e-9), name
        checked += 1
    assert checked >= 5


def test_the_order_of_systems_annotators_and_documents_changes_no_level() -> None:
    people, system = cases()[0]
    size = len(documents_of(system))
    forwards = present(spanwise.agree(people, systems={"s": system, "t": next(iter(people.values()))}).levels)
    order = [*range(size)][::-1]
    turned = parts({**people, "s": system}, order)
    last = turned.pop("s")
    first = next(iter(turned))
    backwards = present(
        spanwise.agree(dict(reversed(turned.items())), systems={"t": turned[first], "s": last}).levels
    )
    assert backwards.human.f1 == pytest.approx(forwards.human.f1, abs=1e-12)
    assert backwards.human.interval == pytest.approx(forwards.human.interval, abs=1e-12)
    for name, level in forwards.systems.items():
        other = backwards.systems[name]
        assert (other.f1, other.difference, other.p) == pytest.approx(
            (level.f1, level.difference, level.p), abs=1e-12
        )
        assert other.difference_interval == pytest.approx(level.difference_interval, abs=1e-12)


def test_a_system_that_lacks_documents_is_compared_on_those_it_has() -> None:
    people, system = cases()[1]
    size = len(documents_of(system))
    some = list(range(0, size, 2))
    lacking = parts({"s": system}, some)["s"]
    whole = present(spanwise.agree(people, systems={"s": lacking, "t": system}).levels)
    alone = present(spanwise.agree(parts(people, some), systems={"s": lacking}).levels)
    assert whole.systems["s"].human == pytest.approx(alone.human.f1)
    assert whole.systems["s"].difference == pytest.approx(alone.systems["s"].difference)
    assert whole.systems["s"].difference_interval == pytest.approx(alone.systems["s"].difference_interval)
    assert whole.systems["t"].human == whole.human.f1


def test_few_documents_cannot_show_a_difference_and_all_surfaces_say_so() -> None:
    people, _ = case(3, documents=4)
    names = list(people)
    document = spanwise.agree(people, systems={"twin": people[names[0]]})
    level = present(document.levels).systems["twin"]
    assert not level.significant and "so the test cannot reach .05" in present(level.why)
    for shown in (document.to_text(), document.to_html()):
        assert "cannot be told apart from the human level" in " ".join(shown.split())


def test_a_single_pair_has_no_standard_deviation() -> None:
    people, _ = cases()[0]
    two = dict(list(people.items())[:2])
    document = spanwise.agree(two)
    assert document.mean.overall.std is None and document.mean.overall.pairs == 1
    assert "±" not in document.to_text()


def test_unmarked_documents_give_no_intervals_of_coefficients_and_a_note() -> None:
    tokens = [["Ada", "met", "Bo"], ["Cy", "left"], ["Di", "ran"]]
    spans = [[[(0, 1, "PER"), (2, 3, "PER")], [(0, 1, "PER")], []], [[(0, 1, "PER")], [(0, 1, "LOC")], []]]
    from spanwise.formats import read

    document = spanwise.agree({name: read(own, tokens=tokens) for name, own in zip("ab", spans, strict=True)})
    assert document.settings.unit == "sentence" and document.tokens.alpha is not None
    assert not document.tokens.interval and not document.alpha_u.interval
    assert "κ, α and α_u have none" in document.notes[0]


def test_many_shares_are_flipped_at_random_and_small_p_values_are_close_to_exact_ones() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0.0015, 0.01, 16)
    exact = flipped([floats(values)])[0]
    assert exact.flips == 0
    many = flipped([floats(np.concatenate([values, np.full(3, 1e-9)]))])[0]
    assert many.flips >= 1000 and many.p == pytest.approx(exact.p, abs=4 * math.sqrt(0.25 / many.flips))
    assert flipped([floats(np.zeros(5))])[0].p == 1.0


def test_the_human_level_does_not_move_with_the_number_of_annotators_but_the_majority_does() -> None:
    """The same people, 2 to 4 of them: everyone marks nine in ten of what is there, independently."""
    rng = np.random.default_rng(0)
    there = [[(at, at + 1, "PER") for at in range(0, 40, 2)] for _ in range(40)]
    text = [[[f"d{number}w{at}" for at in range(40)]] for number in range(40)]
    people = {
        name: annotation(text, [[[span for span in own if rng.random() < 0.9]] for own in there])
        for name in "abcd"
    }
    levels, majorities = [], []
    for number in (2, 3, 4):
        groups = [dict(chosen) for chosen in combinations(people.items(), number)]
        found = [spanwise.agree(group) for group in groups]
        levels.append(mean([present(present(one.levels).human.f1) for one in found]))
        majorities.append(mean([present(one.ceiling.mean) for one in found]))
    assert max(levels) - min(levels) < 1e-9  # the mean over all groups is the mean over all pairs
    assert max(majorities) - min(majorities) > 0.02
