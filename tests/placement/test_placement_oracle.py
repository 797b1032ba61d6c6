"""Placement beside brute force over all runs and all placements, on small random units."""

from __future__ import annotations

import random

import placement_oracle as oracle
import pytest

import spanwise
from spanwise.corpus import Annotation, Corpus, Mentions

WORDS = ["Ann", "ann", "Anna", "The", "the", "Bank", "bank", "of", "New", "York", "york", "U.S.", "U", "S",
         ".", "-", "Cöln", "CÖLN", "Bankes", "Hamburg", "Hamburgs", "Straße", "strasse"]  # fmt: skip
LABELS = ["PER", "LOC"]


def unit(seed: int) -> tuple[list[list[str]], list[tuple[int, int, int, str]], list[oracle.Said]]:
    """Sentences of one document, gold mentions, and answers made of runs, damaged runs and inventions."""
    rng = random.Random(seed)
    words = rng.sample(WORDS, rng.randint(3, 8))
    sentences = [[rng.choice(words) for _ in range(rng.randint(1, 6))] for _ in range(rng.randint(1, 2))]
    gold = set()
    for number, tokens in enumerate(sentences):
        for _ in range(rng.randint(0, 3)):
            start = rng.randrange(len(tokens))
            gold.add((number, start, rng.randint(start + 1, min(len(tokens), start + 3)), rng.choice(LABELS)))
    said = []
    for _ in range(rng.randint(0, 5)):
        tokens = rng.choice(sentences)
        start = rng.randrange(len(tokens))
        text = " ".join(tokens[start : rng.randint(start + 1, min(len(tokens), start + 3))])
        said.append((damaged(text, rng), rng.choice(LABELS)))
    return sentences, sorted(gold), said


def damaged(text: str, rng: random.Random) -> str:
    kind = rng.randrange(8)
    if kind == 0:
        return text.upper()
    if kind == 1:
        return "the " + text
    if kind == 2:
        return text.replace(" ", "").replace(".", "")
    if kind == 3:
        place = rng.randrange(len(text))
        return text[:place] + rng.choice("abx ") + text[place + 1 :]
    if kind == 4:
        return rng.choice(["Zürich", "—", "", "Bob", "Hamburg er"])
    return text


def expected(sentences, gold, said, policy, *, repeats="drop", level="fuzzy"):  # type: ignore[no-untyped-def]
    firsts = [0, *[len(sentences[0])] * (len(sentences) > 1)]
    spans = {((firsts[s] + a, firsts[s] + b), label) for s, a, b, label in gold}
    found = [oracle.candidates(sentences, text, level=level)[1] for text, _ in said]
    placed = {
        "first": [runs[:1] for runs in found],
        "all": found,
        "next": [[run] if run else [] for run in oracle.place_next(said, found)],
        "ordered": [[run] if run else [] for run in oracle.place_ordered(said, found)],
    }[policy]
    return oracle.counts(said, placed, spans, repeats=repeats)


def placed(sentences, gold, said, **choices):  # type: ignore[no-untyped-def]
    corpus = Corpus.of(sentences, documents=[len(sentences)])
    annotation = Annotation(corpus, Mentions.of(gold))
    answers = [[{"text": text, "label": label} for text, label in said]]
    return spanwise.place(annotation, answers, prompt_unit="document", **choices)


@pytest.mark.parametrize("block", range(8))
def test_every_policy_and_both_bounds_are_those_of_brute_force(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        sentences, gold, said = unit(seed)
        repeats = "keep" if seed % 3 == 0 else "drop"
        document = placed(sentences, gold, said, repeats=repeats)
        for policy in ("first", "all", "next", "ordered"):
            score = getattr(document.policies, policy)
            told = expected(sentences, gold, said, policy, repeats=repeats)
            assert (score.predicted, score.correct) == told, (seed, policy, sentences, gold, said)
        firsts = [0, *[len(sentences[0])] * (len(sentences) > 1)]
        spans = {((firsts[s] + a, firsts[s] + b), label) for s, a, b, label in gold}
        found = [oracle.candidates(sentences, text)[1] for text, _ in said]
        _, fewest, most = oracle.bounds(said, found, spans)
        assert (document.policies.worst.correct, document.policies.best.correct) == (fewest, most), seed


@pytest.mark.parametrize("level", ["exact", "case", "bare", "article", "fuzzy"])
def test_levels_are_those_of_brute_force(level: str) -> None:
    for seed in range(2000, 2150):
        sentences, gold, said = unit(seed)
        document = placed(sentences, gold, said, level=level)
        found = [oracle.candidates(sentences, text, level=level) for text, _ in said]
        counted = {
            name: sum(one == name for one, _ in found) for name in document.answers.levels.__struct_fields__
        }
        assert {name: getattr(document.answers.levels, name) for name in counted} == counted, seed
        assert document.answers.hallucinated == sum(one is None for one, _ in found), seed
        assert document.answers.ambiguous == sum(len(runs) > 1 for _, runs in found), seed
        answers = document.answers
        assert answers.given == answers.placed + answers.hallucinated + answers.repeats == len(said)
