"""The cost of placing answers: many short units or one long document, with some answers damaged.

Run with `python -m benchmarks.answers sentences` (100,000 sentences, 300,000 answers) or
`python -m benchmarks.answers document` (200,000 tokens, 20,000 answers).
"""

from __future__ import annotations

import random
import resource
import sys
import time
from bisect import bisect
from itertools import accumulate

from spanwise import place
from spanwise.corpus import Annotation, Corpus, Mentions

NAMES = 30_000
DAMAGED = 0.3


def corpus(sentences: int, rng: random.Random) -> tuple[list[list[str]], list[tuple[int, int, int, str]]]:
    """Sentences of about 22 made-up words with three names each, whose frequencies follow Zipf's law."""

    def word() -> str:
        return "".join(rng.choice("bcdfglmnprstv") + rng.choice("aeiou") for _ in range(rng.randint(1, 4)))

    common = [word() for _ in range(20_000)]
    names = [[word().title() for _ in range(rng.choice((1, 2, 2)))] for _ in range(NAMES)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(len(common))))
    by_rank = list(accumulate(1 / (rank + 5) for rank in range(NAMES)))
    text: list[list[str]] = []
    gold: list[tuple[int, int, int, str]] = []
    for number in range(sentences):
        tokens: list[str] = []
        for _ in range(3):
            tokens += rng.choices(common, cum_weights=weights, k=rng.randint(3, 8))
            name = names[min(bisect(by_rank, rng.random() * by_rank[-1]), NAMES - 1)]
            gold.append((number, len(tokens), len(tokens) + len(name), rng.choice(("PER", "LOC", "ORG"))))
            tokens += name
        text.append(tokens)
    return text, gold


def damaged(text: str, rng: random.Random) -> str:
    """The text, sometimes with a wrong letter, in upper case, with an article, or replaced."""
    if rng.random() >= DAMAGED:
        return text
    position = rng.randrange(len(text))
    choices = (
        text[:position] + "x" + text[position + 1 :],
        text.upper(),
        f"the {text}",
        f"Quex{position} Zaw",
    )
    return rng.choice(choices)


def main(what: str) -> None:
    """Make the data, place the answers, and print seconds, memory and the outcome."""
    rng = random.Random(1)
    sentences = 100_000 if what == "sentences" else 10_000
    text, gold = corpus(sentences, rng)
    one_document = what == "document"
    annotation = Annotation(
        Corpus.of(text, documents=[sentences] if one_document else None), Mentions.of(gold)
    )
    answers: list[list[list[str]]] = [[] for _ in range(1 if one_document else sentences)]
    for number, start, end, label in gold:
        answer = [damaged(" ".join(text[number][start:end]), rng), label]
        answers[0 if one_document else number].append(answer)
    if one_document:
        answers = [[answers[0][row] for row in sorted(rng.sample(range(len(answers[0])), 20_000))]]
    began, cpu = time.perf_counter(), time.process_time()
    document = place(annotation, answers, prompt_unit="document" if one_document else "sentence")
    seconds, busy = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{len(annotation.corpus.tokens):,} tokens, {document.answers.given:,} answers")
    print(f"{seconds:.1f} s ({busy:.1f} s of one core), {peak:,} MB at most, the data included")
    print(document.answers)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sentences")
