"""Compare rules for placing answers without offsets on real data: `python -m benchmarks.answer_rules DATA`.

Prints Markdown tables: the ceiling of every policy, where damaged answers are placed, how much the scores of
real predictions vary once their offsets are removed, and how often spaCy-LLM and LangExtract place strings
where our presets do. The tables for the released data are kept in answers.md next to this file.
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
BLOCK = 10  # sentences per document
POLICIES = ("first", "all", "next", "ordered")
Row = tuple[int, int, int, str]


def corpora(data: Path) -> Iterator[tuple[str, Annotation]]:
    """The test sets, with documents of ten sentences."""
    files = {f"masakhaner {name}": f"masakhaner/{name}/test.txt" for name in ("ewe", "kin", "pcm")}
    files |= {"wnut17": "wnut17/test.conll", "conll2002-es": "conll2002-es/test.txt"}
    for name, path in files.items():
        yield name, in_blocks(spanwise.read(data / path))


def in_blocks(gold: Annotation) -> Annotation:
    """The annotation with every ten sentences as a document."""
    starts = ints([*range(0, len(gold.corpus), BLOCK), len(gold.corpus)])
    return replace(gold, corpus=replace(gold.corpus, documents=starts))


def ceilings(data: Path) -> None:
    """Print the F1 of every policy with gold as answers."""
    print("\n| data | unit | " + " | ".join(POLICIES) + " | clear mentions | ordered there |")
    print("|---|---|" + "---|" * 6)
    units: tuple[PromptUnit, ...] = ("sentence", "document")
    for name, gold in corpora(data):
        for unit in units:
            placed = spanwise.place(gold, without_offsets(gold, unit), prompt_unit=unit, level="exact")
            cells = [f"{100 * (getattr(placed.ceilings, policy) or 0):.2f}" for policy in POLICIES]
            clear_cells = ("", "")
            if unit == "sentence":
                part = clear(gold)
                ordered = spanwise.place(part, without_offsets(part, unit), level="exact").ceilings.ordered
                clear_cells = (
                    f"{100 * len(part.mentions) / len(gold.mentions):.1f} %",
                    f"{100 * (ordered or 0):.2f}",
                )
            print(f"| {name} | {unit} | {' | '.join([*cells, *clear_cells])} |", flush=True)


def clear(gold: Annotation) -> Annotation:
    """The mentions in sentences where every occurrence of a gold string is a mention with that label."""
    rows: dict[int, list[tuple[int, int, str]]] = {}
    for sentence, start, end, label in gold.mentions.rows():
        rows.setdefault(sentence, []).append((start, end, label))
    kept = {number for number, own in rows.items() if _is_clear(gold.corpus.words(number), own)}
    return replace(gold, mentions=Mentions.of([row for row in gold.mentions.rows() if row[0] in kept]))


def _is_clear(words: list[str], mentions: list[tuple[int, int, str]]) -> bool:
    for start, end, label in mentions:
        text = words[start:end]
        for position in range(len(words) - len(text) + 1):
            if (
                words[position : position + len(text)] == text
                and (position, position + len(text), label) not in mentions
            ):
                return False
    return True


def _letter(text: str, rng: random.Random) -> str:
    position = rng.choice([at for at, char in enumerate(text) if char.isalpha()])
    other = rng.choice([letter for letter in LETTERS if letter != text[position].casefold()])
    return text[:position] + other + text[position + 1 :]


DAMAGE: dict[str, Callable[[str, random.Random], str]] = {
    "one letter wrong": _letter,
    "punctuation dropped": lambda text, rng: "".join(c for c in text if c.isalnum() or c == " "),
    "article added": lambda text, rng: rng.choice(["the ", "The ", "a "]) + text,
    "re-cased": lambda text, rng: rng.choice([text.upper(), text.lower(), text.swapcase()]),
    "invented": lambda text, rng: "".join(rng.choices(LETTERS, k=rng.randint(5, 14))).title(),
}


def damage(data: Path) -> None:
    """Print where `first` places 1,000 answers with each kind of damage, one answer per sentence."""
    print("\n| data | damage | placed correctly | placed elsewhere | not placed |\n|---|---|---|---|---|")
    for name, gold in corpora(data):
        rng = random.Random(7)
        usable = [row for row in gold.mentions.rows() if any(map(str.isalpha, _text(gold, row)))]
        for kind, spoil in DAMAGE.items():
            chosen = [rng.choice(usable) for _ in range(1000)]
            corpus = Corpus.of([gold.corpus.words(sentence) for sentence, *_ in chosen])
            alone = Mentions.of([(unit, *row[1:]) for unit, row in enumerate(chosen)])
            answers = [[[spoil(_text(gold, row), rng), row[3]]] for row in chosen]
            document = spanwise.place(Annotation(corpus, alone), answers, policy="first")
            right, placed = document.policies.first.correct, document.answers.placed
            shares = " | ".join(f"{number / 10:.1f} %" for number in (right, placed - right, 1000 - placed))
            print(f"| {name} | {kind} | {shares} |", flush=True)


def _text(gold: Annotation, row: Row) -> str:
    return " ".join(gold.corpus.words(row[0])[row[1] : row[2]])


def spread(data: Path) -> None:
    """Print the F1 of real predictions under every rule once their offsets are removed."""
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
            answers = without_offsets(replace(predicted, corpus=gold.corpus), unit)
            document = spanwise.place(gold, answers, prompt_unit=unit)
            scores = [getattr(document.policies, policy).f1 for policy in POLICIES]
            cells = [100 * (score or 0.0) for score in (true, *scores, *document.spread)]
            print(f"| {name} | {unit} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)


def peers(data: Path) -> None:
    """Compare where other programs and our presets place gold strings."""
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
                theirs = {mention for number, own in rows.items() for mention in rule(gold, number, own)}
            except ImportError:
                continue
            same, strings = len(ours & theirs), sum(map(len, rows.values()))
            print(
                f"| {name} | {program} | {strings:,} | {len(theirs):,} | {len(ours):,} | {same:,} |",
                flush=True,
            )


def _borders(words: list[str]) -> tuple[dict[int, int], dict[int, int]]:
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    position = 0
    for token, word in enumerate(words):
        begins[position], ends[position + len(word)] = token, token + 1
        position += len(word) + 1
    return begins, ends


def _by_spacy_llm(gold: Annotation, number: int, rows: list[Row]) -> set[Row]:
    """Every occurrence of every string of a label, case-sensitive; occurrences inside words are not spans."""
    from spacy_llm.tasks.util.parsing import find_substrings

    words = gold.corpus.words(number)
    begins, ends = _borders(words)
    spans: set[Row] = set()
    for label in {row[3] for row in rows}:
        texts = [_text(gold, row) for row in rows if row[3] == label]
        for start, end in find_substrings(" ".join(words), texts, case_sensitive=True):
            if start in begins and end in ends:
                spans.add((number, begins[start], ends[end], label))
    return spans


def _by_langextract(gold: Annotation, number: int, rows: list[Row]) -> set[Row]:
    """Where LangExtract's aligner places the strings, in order, without fuzzy search."""
    from langextract.core.data import Extraction
    from langextract.resolver import WordAligner

    words = gold.corpus.words(number)
    begins, ends = _borders(words)
    extractions = [Extraction(extraction_class=row[3], extraction_text=_text(gold, row)) for row in rows]
    groups = WordAligner().align_extractions([extractions], " ".join(words), enable_fuzzy_alignment=False)
    spans: set[Row] = set()
    for extraction in (extraction for group in groups for extraction in group):
        interval = extraction.char_interval
        if interval is not None and interval.start_pos in begins and interval.end_pos in ends:
            spans.add(
                (number, begins[interval.start_pos], ends[interval.end_pos], extraction.extraction_class)
            )
    return spans


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for part in (ceilings, damage, spread, peers):
        part(folder)
