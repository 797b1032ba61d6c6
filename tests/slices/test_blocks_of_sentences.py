"""Blocks of sentences as units give the numbers of documents that hold the same sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from parts import small_parts

import spanwise
from spanwise.cli.main import main
from spanwise.demo import generate

SIZE = 7


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Gold and predictions with scores; documents of `SIZE` consecutive sentences, the last one shorter."""
    demo = generate(tmp_path_factory.mktemp("demo"), sentences=100)
    sides = {"gold": demo.gold, "swapper": demo.systems["swapper"]}
    rows: dict[str, list[dict[str, Any]]] = {}
    for side, path in sides.items():
        annotation = spanwise.read(path)
        spans: list[list[dict[str, Any]]] = [[] for _ in range(len(annotation.corpus))]
        for sentence, start, end, label in annotation.mentions.rows():
            score = (sentence * 7 + start) % 11 / 11
            spans[sentence].append({"start": start, "end": end, "label": label, "score": score})
        rows[side] = [
            {"tokens": annotation.corpus.words(number), "spans": own, "doc": str(number // SIZE)}
            for number, own in enumerate(spans)
        ]
    return rows


def without_documents(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "doc"} for row in rows]


def answers(document: Any) -> dict[str, Any]:
    """What a document says, without its inputs and what the unit is called."""
    read = document.to_dict()
    settings = {name: value for name, value in read["settings"].items() if name not in ("unit", "block")}
    left_out = {"inputs", "signature", "notes"}
    return {**{name: value for name, value in read.items() if name not in left_out}, "settings": settings}


@pytest.mark.parametrize("over", ["recall", "f1"])
def test_slices_over_blocks_are_those_over_documents_of_the_same_sentences(
    records: dict[str, list[dict[str, Any]]], over: Any
) -> None:
    marked = spanwise.find_slices(
        records["gold"], {"one": records["swapper"]}, over=over, flips=199, least=5, documents="doc"
    )
    blocks = spanwise.find_slices(
        without_documents(records["gold"]), {"one": without_documents(records["swapper"])},
        over=over, flips=199, least=5, unit=f"block:{SIZE}",
    )  # fmt: skip
    assert answers(blocks) == answers(marked)
    assert (marked.settings.unit, blocks.settings.unit, blocks.settings.block) == ("document", "block", SIZE)
    assert blocks.settings.number == -(-len(records["gold"]) // SIZE)
    assert f"signflip.maxT.block{SIZE}.199" in blocks.signature


def test_confidence_over_blocks_is_that_over_documents_of_the_same_sentences(
    records: dict[str, list[dict[str, Any]]],
) -> None:
    marked = spanwise.confidence(records["gold"], {"one": records["swapper"]}, resamples=99, documents="doc")
    blocks = spanwise.confidence(
        without_documents(records["gold"]), {"one": without_documents(records["swapper"])}, resamples=99,
        unit=f"block:{SIZE}",
    )  # fmt: skip
    assert answers(blocks) == answers(marked)
    assert blocks.settings.block == SIZE and f"logit-t.block{SIZE}" in blocks.signature


def test_both_commands_take_blocks_whole_and_in_parts(
    records: dict[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, tokens=50)
    files = []
    for side, rows in records.items():
        files.append(str(tmp_path / f"{side}.jsonl"))
        Path(files[-1]).write_text("\n".join(map(json.dumps, without_documents(rows))), encoding="utf-8")
    for command, draws in (("slices", "--flips"), ("confidence", "--resamples")):
        written = []
        for memory in ([], ["--memory", "1MB"]):
            path = tmp_path / "result.json"
            units = ["--unit", f"block:{SIZE}", draws, "99", *memory]
            assert main([command, *files, *units, "--json", str(path), "--quiet"]) == 0
            read = json.loads(path.read_bytes())
            del read["settings"]["command"]
            written.append(read)
        assert written[0] == written[1] and written[0]["settings"]["block"] == SIZE
