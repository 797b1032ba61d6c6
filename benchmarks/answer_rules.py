"""What rules for answers without offsets do on real data: `python -m benchmarks.answer_rules DATA`.

Prints Markdown tables: ceilings of every policy, what becomes of damaged answers, how far real predictions
spread once their offsets are removed, and how often spaCy-LLM and LangExtract place strings where our
presets do. Those of the released data are kept in answers.md beside this file.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

import spanwise
from spanwise.columns import ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.placement import PromptUnit, checked, placement, without_offsets

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BLOCK = 10  # sentences that stand for a document
POLICIES = ("first", "all", "next", "ordered")
Row = tuple[int, int, int, str]


def corpora(data: Path) -> Iterator[tuple[str, Annotation]]:
    """Test sets, in blocks of ten sentences where documents are asked for."""
    files = {f"masakhaner {name}": f"masakhaner/{name}/test.txt" for name in ("ewe", "kin", "pcm")}
    files |= {"wnut17": "wnut17/test.conll", "conll2002-es": "conll2002-es/test.txt"}
    for name, path in files.items():
        yield name, in_blocks(spanwise.read(data / path))


def in_blocks(gold: Annotation) -> Annotation:
    """The same sentences in documents of ten."""
    starts = ints([*range(0, len(gold.corpus), BLOCK), len(gold.corpus)])
    return replace(gold, corpus=replace(gold.corpus, documents=starts))


def ceilings(data: Path) -> None:
    """F1 of every policy with gold as answers."""
    print("\n| data | unit | " + " | ".join(POLICIES) + " | clear mentions | ordered there |")
    print("|---|---|" + "---|" * 6)
    units: tuple[PromptUnit, ...] = ("sentence", "document")
    for name, gold in corpora(data):
        for unit in units:
            found = spanwise.place(gold, without_offsets(gold, unit), prompt_unit=unit, level="exact")
            cells = [f"{100 * (getattr(found.ceilings, policy) or 0):.2f}" for policy in POLICIES]
            told = ("", "")
            if unit == "sentence":
                part = clear(gold)
                there = spanwise.place(part, without_offsets(part, unit), level="exact").ceilings.ordered
                told = (f"{100 * len(part.mentions) / len(gold.mentions):.1f} %", f"{100 * (there or 0):.2f}")
            print(f"| {name} | {unit} | {' | '.join([*cells, *told])} |", flush=True)


def clear(gold: Annotation) -> Annotation:
    """The mentions of sentences in which every occurrence of a gold string is a mention with that label."""
    rows: dict[int, list[tuple[int, int, str]]] = {}
    for sentence, start, end, label in gold.mentions.rows():
        rows.setdefault(sentence, []).append((start, end, label))
    kept = {number for number, own in rows.items() if _is_clear(gold.corpus.words(number), own)}
    return replace(gold, mentions=Mentions.of([row for row in gold.mentions.rows() if row[0] in kept]))


def _is_clear(words: list[str], mentions: list[tuple[int, int, str]]) -> bool:
    for start, end, label in mentions:
        text = words[start:end]
        for place in range(len(words) - len(text) + 1):
            if words[place : place + len(text)] == text and (place, place + len(text), label) not in mentions:
                return False
    return True


def _letter(text: str, rng: random.Random) -> str:
    place = rng.choice([at for at, char in enumerate(text) if char.isalpha()])
    other = rng.choice([letter for letter in LETTERS if letter != text[place].casefold()])
    return text[:place] + other + text[place + 1 :]


DAMAGE: dict[str, Callable[[str, random.Random], str]] = {
    "one letter wrong": _letter,
    "punctuation dropped": lambda text, rng: "".join(c for c in text if c.isalnum() or c == " "),
    "article added": lambda text, rng: rng.choice(["the ", "The ", "a "]) + text,
    "re-cased": lambda text, rng: rng.choice([text.upper(), text.lower(), text.swapcase()]),
    "invented": lambda text, rng: "".join(rng.choices(LETTERS, k=rng.randint(5, 14))).title(),
}


def damage(data: Path) -> None:
    """Where 1,000 answers of each kind of damage are placed by `first`, one answer per sentence."""
    print("\n| data | damage | placed correctly | placed elsewhere | not placed |\n|---|---|---|---|---|")
    for name, gold in corpora(data):
        rng = random.Random(7)
        usable = [row for row in gold.mentions.rows() if any(map(str.isalpha, _text(gold, row)))]
        for kind, spoil in DAMAGE.items():
            chosen = [rng.choice(usable) for _ in range(1000)]
            corpus = Corpus.of([gold.corpus.words(sentence) for sentence, *_ in chosen])
            alone = Mentions.of([(unit, *row[1:]) for unit, row in enumerate(chosen)])
            said = [[[spoil(_text(gold, row), rng), row[3]]] for row in chosen]
            found = spanwise.place(Annotation(corpus, alone), said, policy="first")
            right, placed = found.policies.first.correct, found.answers.placed
            shares = " | ".join(f"{number / 10:.1f} %" for number in (right, placed - right, 1000 - placed))
            print(f"| {name} | {kind} | {shares} |", flush=True)


def _text(gold: Annotation, row: Row) -> str:
    return " ".join(gold.corpus.words(row[0])[row[1] : row[2]])


def spread(data: Path) -> None:
    """F1 of real predictions by every rule, once their offsets are removed."""
    print("\n| predictions | unit | F1 with offsets | " + " | ".join(POLICIES) + " | lowest | highest |")
    print("|---|---|---|" + "---|" * 6)
    pairs = {
        "masakhaner pcm, afroxlmr": ("masakhaner/pcm/test.txt", "masakhaner/pcm/predictions/afroxlmr.1.txt"),
        "wnut16, flair": ("wnut16/test.txt", "wnut16/flair.txt"),
    }
    units: tuple[PromptUnit, ...] = ("sentence", "document")
    for name, (test, predictions) in pairs.items():
        gold, predicted = in_blocks(spanwise.read(data / test)), spanwise.read(data / predictions)
        true = spanwise.evaluate(gold, {"a": predicted}, resamples=0)["a"].exact.overall.f1
        for unit in units:
            said = without_offsets(replace(predicted, corpus=gold.corpus), unit)
            found = spanwise.place(gold, said, prompt_unit=unit)
            scores = [getattr(found.policies, policy).f1 for policy in POLICIES]
            cells = [100 * (score or 0.0) for score in (true, *scores, *found.spread)]
            print(f"| {name} | {unit} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)


def peers(data: Path) -> None:
    """Places of gold strings by other programs and by our presets."""
    print("\n| data | program | strings | placed by the program | placed by our preset | equal |")
    print("|---|---|---|---|---|---|")
    for name, gold in corpora(data):
        for program, rule in (("spacy-llm", _by_spacy_llm), ("langextract", _by_langextract)):
            chosen = {sentence for sentence, *_ in gold.mentions.rows()}
            numbers = sorted(chosen)[: 400 if program == "langextract" else None]
            rows: dict[int, list[Row]] = {}
            for row in sorted(gold.mentions.rows()):
                if row[0] <= numbers[-1]:
                    rows.setdefault(row[0], []).append(row)
            records = [
                {"id": number, "answers": [[_text(gold, row), row[3]] for row in own]}
                for number, own in rows.items()
            ]
            ours = set(placement(gold, records, checked(policy=program)).annotation.mentions.rows())
            try:
                theirs = {one for number, own in rows.items() for one in rule(gold, number, own)}
            except ImportError:
                continue
            same, said = len(ours & theirs), sum(map(len, rows.values()))
            print(
                f"| {name} | {program} | {said:,} | {len(theirs):,} | {len(ours):,} | {same:,} |", flush=True
            )


def _borders(words: list[str]) -> tuple[dict[int, int], dict[int, int]]:
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    place = 0
    for token, word in enumerate(words):
        begins[place], ends[place + len(word)] = token, token + 1
        place += len(word) + 1
    return begins, ends


def _by_spacy_llm(gold: Annotation, number: int, rows: list[Row]) -> set[Row]:
    """Every occurrence of every string of a label, case-sensitive; those inside words are no spans."""
    from spacy_llm.tasks.util.parsing import find_substrings

    words = gold.corpus.words(number)
    begins, ends = _borders(words)
    found: set[Row] = set()
    for label in {row[3] for row in rows}:
        texts = [_text(gold, row) for row in rows if row[3] == label]
        for start, end in find_substrings(" ".join(words), texts, case_sensitive=True):
            if start in begins and end in ends:
                found.add((number, begins[start], ends[end], label))
    return found


def _by_langextract(gold: Annotation, number: int, rows: list[Row]) -> set[Row]:
    """Where its aligner puts the strings, in their order, without its fuzzy search."""
    from langextract.core.data import Extraction
    from langextract.resolver import WordAligner

    words = gold.corpus.words(number)
    begins, ends = _borders(words)
    said = [Extraction(extraction_class=row[3], extraction_text=_text(gold, row)) for row in rows]
    groups = WordAligner().align_extractions([said], " ".join(words), enable_fuzzy_alignment=False)
    found: set[Row] = set()
    for one in (one for group in groups for one in group):
        place = one.char_interval
        if place is not None and place.start_pos in begins and place.end_pos in ends:
            found.add((number, begins[place.start_pos], ends[place.end_pos], one.extraction_class))
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for part in (ceilings, damage, spread, peers):
        part(folder)
