"""Answers are placed as by other programs, on real text."""

from __future__ import annotations

from pathlib import Path

import pytest

import spanwise
from spanwise.placement import checked, placement


def test_langextract_places_gold_strings_like_its_preset(data: Path) -> None:
    resolver = pytest.importorskip("langextract.resolver")
    from langextract.core.data import Extraction

    gold = spanwise.read(data / "conll2002-es" / "test.txt")
    rows: dict[int, list[tuple[int, int, str]]] = {}
    for sentence, start, end, label in sorted(gold.mentions.rows()):
        rows.setdefault(sentence, []).append((start, end, label))
    chosen = dict(list(rows.items())[:150])
    records = [
        {
            "id": number,
            "answers": [[" ".join(gold.corpus.words(number)[a:b]), label] for a, b, label in listed],
        }
        for number, listed in chosen.items()
    ]
    ours = {
        (s, a, b, label)
        for s, a, b, label in placement(
            gold, records, checked(policy="langextract")
        ).annotation.mentions.rows()
    }
    theirs = set()
    for number, listed in chosen.items():
        words = gold.corpus.words(number)
        begins, ends, position = {}, {}, 0
        for token, word in enumerate(words):
            begins[position], ends[position + len(word)] = token, token + 1
            position += len(word) + 1
        extractions = [
            Extraction(extraction_class=label, extraction_text=" ".join(words[a:b])) for a, b, label in listed
        ]
        groups = resolver.WordAligner().align_extractions(
            [extractions], " ".join(words), enable_fuzzy_alignment=False
        )
        for extraction in (
            extraction for group in groups for extraction in group if extraction.char_interval is not None
        ):
            interval = extraction.char_interval
            theirs.add(
                (number, begins[interval.start_pos], ends[interval.end_pos], extraction.extraction_class)
            )
    assert theirs == ours and len(ours) == sum(map(len, chosen.values()))
