"""spaCy finds spanwise's scorers, and spaCy documents are read and written."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

spacy = pytest.importorskip("spacy", reason="the peer spaCy is not installed")

from spacy.scorer import Scorer, get_ner_prf  # noqa: E402
from spacy.tokens import Doc, DocBin, Span  # noqa: E402
from spacy.training import Example  # noqa: E402
from spacy.vocab import Vocab  # noqa: E402

from spanwise.compat.spacy import make_ner_scorer, make_spancat_scorer, ner_score, spancat_score  # noqa: E402
from spanwise.errors import ChoiceError, InputError, MissingExtra  # noqa: E402
from spanwise.evaluation import evaluate  # noqa: E402
from spanwise.formats import File, Options, from_spans, from_tags, read  # noqa: E402
from spanwise.formats.spacy_docs import read_layers  # noqa: E402
from spanwise.formats.writing import write  # noqa: E402

VOCAB = Vocab()
Spans = list[tuple[int, int, str]]


def doc(words: list[str], ents: Spans | None = None, group: Spans | None = None, **more: Any) -> Any:
    document = Doc(VOCAB, words=words, **more)
    if ents is not None:
        document.set_ents([Span(document, start, end, label=label) for start, end, label in ents])
    if group is not None:
        document.spans["sc"] = [Span(document, start, end, label=label) for start, end, label in group]
    return document


def flat_spans(draw: random.Random, size: int) -> Spans:
    spans: Spans = []
    position = 0
    while position < size:
        length = draw.randint(1, 3)
        if draw.random() < 0.4 and position + length <= size:
            spans.append((position, position + length, draw.choice("AB")))
        position += length
    return spans


def equal(mine: dict[str, Any], peer: dict[str, Any], prefix: str) -> None:
    for key in ("p", "r", "f"):
        assert mine[f"{prefix}_{key}"] == pytest.approx(peer[f"{prefix}_{key}"])
    types = peer[f"{prefix}_per_type"]
    assert mine[f"{prefix}_per_type"] == (
        None if types is None else {label: pytest.approx(row) for label, row in types.items()}
    )


def test_scores_of_entities_equal_those_of_spacy_on_random_documents() -> None:
    draw = random.Random(0)
    for _ in range(150):
        examples = []
        for _ in range(draw.randint(1, 4)):
            words = [draw.choice("abc") for _ in range(8)]
            examples.append(Example(doc(words, flat_spans(draw, 8)), doc(words, flat_spans(draw, 8))))
        equal(ner_score(examples), get_ner_prf(examples), "ents")


def test_scores_of_span_groups_equal_those_of_spacy_on_random_documents() -> None:
    from spacy.pipeline.spancat import spancat_score as scorer

    draw = random.Random(1)
    for _ in range(100):
        words = [draw.choice("abc") for _ in range(8)]
        sides = [doc(words, group=sorted(set(flat_spans(draw, 8) + flat_spans(draw, 8)))) for _ in range(2)]
        examples = [Example(*sides)]
        equal(spancat_score(examples, spans_key="sc"), scorer(examples, spans_key="sc"), "spans_sc")


def test_predictions_on_other_tokens_are_placed_by_characters() -> None:
    gold = doc(["in", "New", "York", "today"], [(1, 3, "LOC"), (3, 4, "DATE")])
    predicted = Doc(VOCAB, words=["in", "New York", "to", "day"])
    predicted.set_ents([Span(predicted, 1, 2, label="LOC"), Span(predicted, 2, 3, label="DATE")])
    scores = ner_score([Example(predicted, gold)])
    assert scores["ents_per_type"]["LOC"]["f"] == 1.0
    assert scores["ents_per_type"]["DATE"]["f"] == 0.0


def test_unannotated_tokens_are_neither_right_nor_wrong() -> None:
    predicted = doc(["a", "b"], [(0, 1, "A")])
    assert ner_score([Example(predicted, Doc(VOCAB, words=["a", "b"]))])["ents_f"] is None
    missing = Doc(VOCAB, words=["a", "b"])
    missing.set_ents([Span(missing, 1, 2, label="A")], default="missing")
    assert ner_score([Example(predicted, missing)])["ents_per_type"]["A"]["p"] == 0.0
    assert ner_score([Example(predicted, missing)])["ents_errors"]["FP"] == 0


def test_fair_scores_and_errors_are_added_to_those_of_spacy() -> None:
    gold = doc(["a", "b", "c"], [(0, 2, "A")])
    scores = ner_score([Example(doc(["a", "b", "c"], [(0, 1, "A"), (2, 3, "A")]), gold)])
    assert scores["ents_f"] == 0.0
    assert scores["ents_errors"]["BEs"] == 1 and scores["ents_errors"]["FP"] == 1
    assert scores["ents_fair_f"] == 0.0 and scores["ents_fair_r"] == 0.0


def test_the_scorers_are_found_by_name_and_used_by_a_pipeline() -> None:
    assert spacy.registry.scorers.get("spanwise.ner_scorer.v1") is make_ner_scorer
    assert spacy.registry.scorers.get("spanwise.spancat_scorer.v1") is make_spancat_scorer
    nlp = spacy.blank("en")
    nlp.add_pipe("ner", config={"scorer": {"@scorers": "spanwise.ner_scorer.v1"}})
    examples = [Example(doc(["a"], [(0, 1, "A")]), doc(["a"], [(0, 1, "A")]))]
    assert Scorer(nlp).score(examples)["ents_fair_f"] == 1.0


def test_documents_examples_and_files_are_read(tmp_path: Path) -> None:
    gold = doc(["Ann", "left", ".", "Rome", "fell"], [(0, 1, "PER"), (3, 4, "LOC")],
               sent_starts=[True, False, False, True, False])  # fmt: skip
    rows = [(0, 0, 1, "PER"), (1, 0, 1, "LOC")]
    packed = DocBin(docs=[gold])
    packed.to_disk(tmp_path / "x.spacy")
    for source in (gold, [gold], packed, tmp_path / "x.spacy", Example(gold, gold)):
        annotation = read(source)
        assert annotation.reading.format == "spacy"
        assert annotation.mentions.rows() == rows
        assert annotation.corpus.document_ids == ("document 1",)
    layers = read_layers([Example(doc(["Ann", "left", ".", "Rome", "fell"], []), gold)], Options())
    assert len(layers["gold"].mentions) == 2 and not len(layers["predicted"].mentions)


def test_an_entity_across_sentences_makes_the_document_one_sentence() -> None:
    crossing = doc(["a", "b", "c"], [(0, 2, "A")], sent_starts=[True, True, False])
    assert read(crossing).mentions.rows() == [(0, 0, 2, "A")]


def test_spacy_files_round_trip_flat_and_nested_mentions(tmp_path: Path) -> None:
    flat = from_tags([["B-PER", "I-PER"], ["O"]], tokens=[["Ann", "Lee"], ["left"]], documents=[2])
    write(flat, tmp_path / "x.spacy")
    again = read(tmp_path / "x.spacy")
    assert again.mentions.rows() == flat.mentions.rows() and again.corpus.words(1) == ["left"]
    nested = from_spans([[(0, 2, "A"), (1, 2, "B")]], tokens=[["x", "y"]])
    write(nested, tmp_path / "y.spacy")
    assert read(tmp_path / "y.spacy", tag_column="sc").mentions.rows() == nested.mentions.rows()


def test_wrong_spacy_documents_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.spacy"
    path.write_text("no")
    with pytest.raises(InputError, match="this is not a file of spaCy documents"):
        read(path)
    with pytest.raises(InputError, match=r"document 1 has no group of spans 'sc'\.\nThere are: ents\."):
        read(doc(["a"]), tag_column="sc")
    with pytest.raises(ChoiceError, match=r"a \.spacy file holds one annotation"):
        read_layers(File(path), Options())
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'spanwise\[spacy\]'"):
        read(path)


def test_importing_spanwise_imports_none_of_the_peers() -> None:
    code = (
        "import sys, spanwise, spanwise.compat.seqeval, spanwise.compat.evaluate, spanwise.compat.spacy,"
        "spanwise.compat.nervaluate, spanwise.compat.conlleval, spanwise.formats;"
        "list(spanwise.formats.FORMATS);"
        "peers = {'spacy', 'seqeval', 'evaluate', 'nervaluate', 'pandas', 'polars', 'pyarrow', 'datasets'};"
        "assert not peers & set(sys.modules), peers & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_examples_given_as_a_system_are_read_by_their_predictions() -> None:
    words = ["Ada", "Lovelace", "lived", "in", "London"]
    gold = doc(words, [(0, 2, "PER"), (4, 5, "LOC")])
    examples = [Example(doc(words, [(1, 2, "PER"), (4, 5, "LOC")]), gold)]
    for source in (examples, [gold]):
        assert evaluate(source, {"mine": examples}, resamples=0)["mine"].exact.overall.f1 == 0.5
    assert evaluate(examples, resamples=0)["predicted"].exact.overall.f1 == 0.5
