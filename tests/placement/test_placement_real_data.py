"""Gold mentions of real corpora as answers, intact and damaged."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
import pytest
from msgspec.structs import replace
from typed import present

import spanwise
from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Mentions

CORPORA = {
    "ewe": "masakhaner/ewe/test.txt",
    "kin": "masakhaner/kin/test.txt",
    "pcm": "masakhaner/pcm/test.txt",
    "wnut17": "wnut17/test.txt",
    "conll2002-es": "conll2002-es/test.txt",
}


def read(data: Path, name: str) -> Annotation:
    paths = [data / CORPORA[name], *sorted((data / CORPORA[name]).parent.glob("*test*"))]
    return spanwise.read(next(path for path in paths if path.is_file()))


def texts(gold: Annotation) -> list[tuple[int, str, str]]:
    """The sentence, text and label of each gold mention, ordered by start, end and label."""
    rows = sorted(gold.mentions.rows())
    return [(s, " ".join(gold.corpus.words(s)[a:b]), label) for s, a, b, label in rows]


class Record(TypedDict):
    id: int
    answers: list[list[str]]


def records(mentions: Sequence[tuple[int, str, str]], *, unit_of: Ints | None = None) -> list[Record]:
    listed: dict[int, list[list[str]]] = {}
    for sentence, text, label in mentions:
        listed.setdefault(sentence if unit_of is None else int(unit_of[sentence]), []).append([text, label])
    return [{"id": unit, "answers": answers} for unit, answers in listed.items()]


def is_clear(words: list[str], mentions: list[tuple[int, int, str]]) -> bool:
    """Whether every occurrence of a gold string is a gold mention with that label."""
    for start, end, label in mentions:
        text = words[start:end]
        starts = [i for i in range(len(words) - len(text) + 1) if words[i : i + len(text)] == text]
        if any((at, at + len(text), label) not in mentions for at in starts):
            return False
    return True


@pytest.mark.parametrize("name", CORPORA)
def test_the_ceiling_of_ordered_is_100_if_every_occurrence_is_a_mention(data: Path, name: str) -> None:
    gold = read(data, name)
    rows: dict[int, list[tuple[int, int, str]]] = {}
    for sentence, start, end, label in gold.mentions.rows():
        rows.setdefault(sentence, []).append((start, end, label))
    clear = {number for number, mentions in rows.items() if is_clear(gold.corpus.words(number), mentions)}
    keep = np.array([number in clear for number in gold.mentions.sentence.tolist()], dtype=bool)
    part = replace(gold, mentions=gold.mentions.take(keep))
    document = spanwise.place(part, records(texts(part)), level="exact")
    assert len(part.mentions) > 0.9 * len(gold.mentions)
    assert document.ceilings.ordered == document.policies.ordered.f1 == 1


@pytest.mark.parametrize("name", CORPORA)
def test_gold_as_answers_scores_the_ceilings_and_no_policy_leaves_the_bounds(data: Path, name: str) -> None:
    gold = read(data, name)
    blocks = ints([*range(0, len(gold.corpus), 10), len(gold.corpus)])
    gold = replace(gold, corpus=replace(gold.corpus, documents=blocks))
    for prompt_unit in ("sentence", "document"):
        unit_of = gold.corpus.document_of_sentence if prompt_unit == "document" else None
        document = spanwise.place(
            gold, records(texts(gold), unit_of=unit_of), prompt_unit=prompt_unit, level="exact"
        )
        policies = document.policies
        for policy in document.ceilings.__struct_fields__:
            assert getattr(policies, policy).f1 == getattr(document.ceilings, policy)
        low, next_one, ordered, high = (
            present(policy_scores.f1)
            for policy_scores in (policies.worst, policies.next, policies.ordered, policies.best)
        )
        assert high == 1 and document.answers.hallucinated == document.answers.repeats == 0
        assert low <= next_one <= ordered <= high
        assert ordered > 0.97


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def one_letter(text: str, rng: random.Random) -> str:
    position = rng.choice([i for i, char in enumerate(text) if char.isalpha()])
    return (
        text[:position]
        + rng.choice([x for x in LETTERS if x != text[position].casefold()])
        + text[position + 1 :]
    )


DAMAGE: dict[str, tuple[Callable[[str, random.Random], str], float, float]] = {
    # kind of damage, least share placed correctly, most placed elsewhere; 1 letter in 6 is too much to match
    "one letter": (one_letter, 0.60, 0.02),
    "punctuation": (lambda text, rng: "".join(c for c in text if c.isalnum() or c == " "), 0.95, 0.04),
    "article": (lambda text, rng: rng.choice(["the ", "The ", "a "]) + text, 0.94, 0.06),
    "case": (lambda text, rng: rng.choice([text.upper(), text.lower(), text.swapcase()]), 0.93, 0.07),
    "invented": (lambda text, rng: "".join(rng.choices(LETTERS, k=rng.randint(5, 14))).title(), 0.0, 0.005),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_answers_are_placed_and_invented_ones_are_not(data: Path, kind: str) -> None:
    gold = read(data, "conll2002-es")
    rng = random.Random(7)
    damage, least, most = DAMAGE[kind]
    rows = gold.mentions.rows()
    usable = [row for row in rows if any(char.isalpha() for char in " ".join(words(gold, row)))]
    chosen = rng.sample(usable, 1000)
    corpus = spanwise.Corpus.of([gold.corpus.words(sentence) for sentence, *_ in chosen])
    alone = Mentions.of([(unit, start, end, label) for unit, (_, start, end, label) in enumerate(chosen)])
    answers = [[[damage(" ".join(words(gold, row)), rng), row[3]]] for row in chosen]
    document = spanwise.place(Annotation(corpus, alone), answers, policy="first")
    right = document.policies.first.correct
    elsewhere = document.answers.placed - right
    assert right >= 1000 * least and elsewhere <= 1000 * most


def words(gold: Annotation, row: tuple[int, int, int, str]) -> list[str]:
    return gold.corpus.words(row[0])[row[1] : row[2]]
