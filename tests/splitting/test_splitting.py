"""Splits by toughness: shares are reached if possible, documents stay whole, nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.attributes import SUBSETS, Lexicon, toughness
from spanwise.cli.main import main
from spanwise.demo import generate
from spanwise.splitting import members


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    generate(folder, sentences=300, seed=1)
    return folder / "gold.conll"


def counted(path: Path, train: Path, subset: str) -> float:
    test = spanwise.read(path)
    tough = toughness(test.corpus, test.mentions, Lexicon.of([spanwise.read(train)]))
    return float(tough.of(subset).mean())


@pytest.mark.parametrize("target", [0.5, 0.6, 0.7])
def test_the_files_have_the_requested_share(corpus: Path, tmp_path: Path, target: float) -> None:
    result = spanwise.split(corpus, shares={"UNSEEN-ANY": target}, output=tmp_path)
    share = result.shares["UNSEEN-ANY"]
    assert share.reached == counted(tmp_path / "test.conll", tmp_path / "train.conll", "UNSEEN-ANY")
    assert share.reached == pytest.approx(target, abs=0.02)
    assert result.size.reached == pytest.approx(0.2, abs=0.02)


def test_every_sentence_is_in_one_part_and_documents_stay_whole(corpus: Path, tmp_path: Path) -> None:
    result = spanwise.split(corpus, shares={"UNSEEN-TOKENS": 0.4}, test=0.3, dev=0.2, output=tmp_path)
    whole = spanwise.read(corpus)
    documents = whole.corpus.document_of_sentence
    assert documents is not None
    part = np.full(len(whole.corpus), -1)
    for number, subset in enumerate(result.parts.values()):
        for run in subset.sentences:
            assert (part[run.first : run.last] == -1).all()
            part[run.first : run.last] = number
    assert (part >= 0).all()
    assert all(len(set(part[documents == subset].tolist())) == 1 for subset in set(documents.tolist()))
    lines = [(tmp_path / f"{name}.conll").read_text().split("\n") for name in ("train", "dev", "test")]
    kept = sorted(line for file in lines for line in file if line.strip())
    assert kept == sorted(line for line in corpus.read_text().split("\n") if line.strip())


def test_the_same_seed_gives_the_same_split_and_another_seed_another(corpus: Path) -> None:
    first, again, other = (spanwise.split(corpus, shares={"SEEN": 0.5}, seed=seed) for seed in (3, 3, 4))
    assert first.to_json() == again.to_json()
    assert first.parts["test"].sentences != other.parts["test"].sentences


def test_a_share_that_cannot_be_reached_is_reported() -> None:
    gold = spanwise.read([["B-LOC"]] * 4, tokens=[["Rome"]] * 4)
    result = spanwise.split(gold, shares={"UNSEEN-ANY": 1.0}, test=0.5)
    assert result.shares["UNSEEN-ANY"].reached == 0
    assert "UNSEEN-ANY should be 100.0% of the test mentions and is 0.0%" in result.notes[0]
    assert "documents are not marked" in result.notes[1]


def test_several_files_of_several_formats_are_pooled(corpus: Path, tmp_path: Path) -> None:
    assert main(["convert", str(corpus), str(tmp_path / "more.jsonl")]) == 0
    result = spanwise.split(
        [corpus, tmp_path / "more.jsonl"], shares={"SEEN": 1.0}, output=tmp_path / "parts"
    )
    assert sum(part.facts.sentences for part in result.parts.values()) == 600
    assert {run.file for part in result.parts.values() for run in part.sentences} == {0, 1}
    assert result.shares["SEEN"].reached == pytest.approx(1, abs=0.01)
    assert spanwise.read(tmp_path / "parts" / "test.conll").mentions.labels


def test_text_without_tokens_is_split_by_its_characters(tmp_path: Path) -> None:
    rows = [{"text": f"{name} is old.", "spans": [{"start": 0, "end": 4, "label": "LOC"}]} for name in
            ("Rome", "Rome", "Oslo", "Bern", "Kyiv", "Oslo")]  # fmt: skip
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = spanwise.split(
        tmp_path / "t.jsonl", shares={"UNSEEN-ANY": 1.0}, test=1 / 3, output=tmp_path / "parts"
    )
    assert result.shares["UNSEEN-ANY"].reached == 1
    assert len(spanwise.read(tmp_path / "parts" / "test.jsonl").mentions) == 2


counts = st.lists(st.integers(0, 3), min_size=2, max_size=3)


@settings(max_examples=60, deadline=None)
@given(counts.flatmap(lambda test: st.tuples(st.just(test), st.lists(st.integers(0, 2), min_size=len(test),
                                                                     max_size=len(test)))))  # fmt: skip
def test_counts_of_one_form_equal_those_of_tough_mentions(sides: tuple[list[int], list[int]]) -> None:
    def annotation(side: list[int]) -> spanwise.Annotation:
        labels = [f"L{label}" for label, number in enumerate(side) for _ in range(number)]
        return spanwise.Annotation(
            spanwise.Corpus.of([["Rome"]] * len(labels) + [["x"]]),
            spanwise.Mentions.of([(at, 0, 1, label) for at, label in enumerate(labels)]),
        )

    test, train = map(annotation, sides)
    tough = toughness(test.corpus, test.mentions, Lexicon.of([train]))
    assert members(*sides) == [int(tough.of(subset).sum()) for subset in SUBSETS]


def test_the_command_writes_parts_and_shows_the_shares_reached(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["split", str(corpus), "--unseen", "60", "--share", "TCM-ALL=5", "--dev", "10"]
    assert main([*call, "-o", str(tmp_path), "--html", str(tmp_path / "s.html")]) == 0
    screen = capsys.readouterr().out
    assert "unseen with this label  60.0%" in screen
    assert "documents" in screen and "random splits" in screen
    assert {path.name for path in tmp_path.iterdir()} == {"train.conll", "dev.conll", "test.conll", "s.html"}
    page = (tmp_path / "s.html").read_text()
    assert "unseen with this label" in page and "Documents were kept whole" in page


def test_the_document_can_be_loaded_and_has_its_tables(corpus: Path, tmp_path: Path) -> None:
    result = spanwise.split(corpus, shares={"UNSEEN-ANY": 0.5})
    result.to_json(tmp_path / "split.json")
    again = spanwise.load(tmp_path / "split.json")
    assert again.to_json() == result.to_json()
    assert [row[0] for row in again.table("composition").rows][:1] == ["ALL"]


def test_a_published_corpus_is_split_as_requested(data: Path, tmp_path: Path) -> None:
    result = spanwise.split(data / "wnut17" / "train.conll", shares={"UNSEEN-ANY": 0.9}, output=tmp_path)
    assert result.shares["UNSEEN-ANY"].reached == pytest.approx(0.9, abs=0.01)
    assert result.settings.unit == "sentence"


def test_what_the_files_of_the_parts_cannot_hold_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        {"id": f"s{i}", "tokens": ["Ann", "left"], "document": f"d{i}", "spans": [[0, 1, "PER"]]}
        for i in range(4)
    ]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    result = spanwise.split(tmp_path / "all.jsonl", test=0.5, output=tmp_path / "parts", to="conll")
    lost = "2 sentence ids; 2 document names"
    assert result.notes == tuple(f"lost in {part.path}: {lost}" for part in result.parts.values())
    assert main(["split", str(tmp_path / "all.jsonl"), "-o", str(tmp_path / "more"), "--to", "conll"]) == 0
    assert "! lost in" in capsys.readouterr().out
