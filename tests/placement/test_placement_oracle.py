"""Placement compared with brute force over all runs and placements, on small random units."""

from __future__ import annotations

import random
from typing import Literal, NamedTuple, TypeAlias

import placement_oracle as oracle
import pytest

import spanwise
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.document.analyses import PlacementDocument

WORDS = ["Ann", "ann", "Anna", "The", "the", "Bank", "bank", "of", "New", "York", "york", "U.S.", "U", "S",
         ".", "-", "Cöln", "CÖLN", "Bankes", "Hamburg", "Hamburgs", "Straße", "strasse"]  # fmt: skip
LABELS = ["PER", "LOC"]


Repeats: TypeAlias = Literal["drop", "keep"]


class Unit(NamedTuple):
    """The sentences of one document, its gold mentions, and the answers of a system."""

    sentences: list[list[str]]
    gold: list[tuple[int, int, int, str]]
    said: list[oracle.Said]

    @property
    def spans(self) -> set[tuple[oracle.Run, str]]:
        """The gold mentions in token positions of the document."""
        firsts = (0, len(self.sentences[0]))
        return {((firsts[s] + a, firsts[s] + b), label) for s, a, b, label in self.gold}


def unit(seed: int) -> Unit:
    """Sentences, gold mentions, and answers made of runs, damaged runs and inventions."""
    rng = random.Random(seed)
    words = rng.sample(WORDS, rng.randint(3, 8))
    sentences = [[rng.choice(words) for _ in range(rng.randint(1, 6))] for _ in range(rng.randint(1, 2))]
    gold = set()
    for number, tokens in enumerate(sentences):
        for _ in range(rng.randint(0, 3)):
            start = rng.randrange(len(tokens))
            gold.add((number, start, rng.randint(start + 1, min(len(tokens), start + 3)), rng.choice(LABELS)))
    answers = []
    for _ in range(rng.randint(0, 5)):
        tokens = rng.choice(sentences)
        start = rng.randrange(len(tokens))
        text = " ".join(tokens[start : rng.randint(start + 1, min(len(tokens), start + 3))])
        answers.append((damaged(text, rng), rng.choice(LABELS)))
    return Unit(sentences, sorted(gold), answers)


def damaged(text: str, rng: random.Random) -> str:
    kind = rng.randrange(8)
    if kind == 0:
        return text.upper()
    if kind == 1:
        return "the " + text
    if kind == 2:
        return text.replace(" ", "").replace(".", "")
    if kind == 3:
        position = rng.randrange(len(text))
        return text[:position] + rng.choice("abx ") + text[position + 1 :]
    if kind == 4:
        return rng.choice(["Zürich", "—", "", "Bob", "Hamburg er"])
    return text


def expected(unit: Unit, policy: str, *, repeats: Repeats) -> tuple[int, int]:
    candidates = [oracle.candidates(unit.sentences, text)[1] for text, _ in unit.said]
    placed_runs = {
        "first": [runs[:1] for runs in candidates],
        "all": candidates,
        "next": [[run] if run else [] for run in oracle.place_next(unit.said, candidates)],
        "ordered": [[run] if run else [] for run in oracle.place_ordered(unit.said, candidates)],
    }[policy]
    return oracle.counts(unit.said, placed_runs, unit.spans, repeats=repeats)


def placed(unit: Unit, *, repeats: Repeats = "drop", level: str | None = None) -> PlacementDocument:
    corpus = Corpus.of(unit.sentences, documents=[len(unit.sentences)])
    gold = Annotation(corpus, Mentions.of(unit.gold))
    answers = [[{"text": text, "label": label} for text, label in unit.said]]
    return spanwise.place(gold, answers, prompt_unit="document", repeats=repeats, level=level)


@pytest.mark.parametrize("block", range(8))
def test_every_policy_and_both_bounds_equal_brute_force(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        case = unit(seed)
        repeats: Repeats = "keep" if seed % 3 == 0 else "drop"
        policies = placed(case, repeats=repeats).policies
        for policy in ("first", "all", "next", "ordered"):
            score = getattr(policies, policy)
            assert (score.predicted, score.correct) == expected(case, policy, repeats=repeats), (
                seed,
                policy,
                case,
            )
        candidates = [oracle.candidates(case.sentences, text)[1] for text, _ in case.said]
        _, fewest, most = oracle.bounds(case.said, candidates, case.spans)
        assert (policies.worst.correct, policies.best.correct) == (fewest, most), seed


@pytest.mark.parametrize("level", ["exact", "case", "bare", "article", "fuzzy"])
def test_levels_equal_brute_force(level: str) -> None:
    for seed in range(2000, 2150):
        case = unit(seed)
        answers = placed(case, level=level).answers
        candidates = [oracle.candidates(case.sentences, text, level=level) for text, _ in case.said]
        counted = {
            name: sum(own == name for own, _ in candidates) for name in answers.levels.__struct_fields__
        }
        assert {name: getattr(answers.levels, name) for name in counted} == counted, seed
        assert answers.hallucinated == sum(own is None for own, _ in candidates), seed
        assert answers.ambiguous == sum(len(runs) > 1 for _, runs in candidates), seed
        assert answers.given == answers.placed + answers.hallucinated + answers.repeats == len(case.said)
