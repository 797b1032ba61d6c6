"""Describing a test set in Python, on the terminal and as JSON; and the papers that `cite` lists."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typed import present

from spanwise import citations, composition
from spanwise.cli.main import main
from spanwise.columns import codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.description import describe
from spanwise.document.dataset import DatasetFacts, MentionShare
from spanwise.errors import ChoiceError, InputError
from spanwise.hashing import sequence_hashes

TRAIN = "Rome B-LOC\nwins O\n\nJohn B-PER\nFord I-PER\nleft O\n"
TEST = "Rome B-LOC\nwins O\n\nRome B-ORG\nwins O\n\nFord B-PER\nsells O\nFord B-ORG\n\nOslo B-LOC\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "train.bio").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "test.bio").write_text(TEST, encoding="utf-8")
    return tmp_path


@pytest.fixture
def dataset(files: Path) -> DatasetFacts:
    return describe(files / "test.bio", train=files / "train.bio").dataset


def test_labels_are_ordered_by_frequency(dataset: DatasetFacts) -> None:
    assert (dataset.sentences, dataset.tokens, dataset.mentions) == (4, 8, 5)
    assert dataset.labels == {"LOC": 2, "ORG": 2, "PER": 1}
    assert dataset.label_order == ("LOC", "ORG", "PER")
    assert dataset.documents is None


def test_zeta_is_the_mean_over_gold_units(dataset: DatasetFacts) -> None:
    assert dataset.zeta["entity_length"] == 1
    assert dataset.zeta["sentence_length"] == (2 + 2 + 3 + 3 + 1) / 5
    assert dataset.zeta["oov_density"] == pytest.approx((0 + 0 + 1 / 3 + 1 / 3 + 1) / 5)
    assert "label" not in dataset.zeta and "morphology" not in dataset.zeta


def test_tough_mentions_are_composed_by_label(dataset: DatasetFacts) -> None:
    tough = present(dataset.tough)
    assert tough["SEEN"].overall == MentionShare(mentions=1, share=1 / 5)
    assert tough["UNSEEN-TOKENS"].labels["PER"] == MentionShare(mentions=1, share=1.0)
    assert tough["TCM-ALL"].overall.mentions == 4


def test_gold_units_are_counted_in_the_buckets_of_every_attribute(dataset: DatasetFacts) -> None:
    length = dataset.attributes["entity_length"]
    assert [(row.name, row.gold) for row in length.buckets] == [
        ("XS", 5),
        ("S", 0),
        ("L", 0),
        ("XL", 0),
    ]
    for attribute in dataset.attributes.values():
        # Every mention has one token, so there are equally many units of both kinds.
        assert sum(row.gold for row in attribute.buckets) == 5


def test_sentences_that_occur_in_the_training_data_are_counted(dataset: DatasetFacts) -> None:
    assert dataset.duplicates_with_train == 2


@pytest.mark.parametrize("kinds", [2**64 - 1, 3])
def test_repeated_sentences_are_counted_exactly_despite_hash_collisions(
    kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modulus = np.array([kinds, 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(composition, "sequence_hashes", lambda *text: sequence_hashes(*text) % modulus)
    random = np.random.default_rng(0)
    for _ in range(60):
        first, second, test = (
            [list(random.choice(["a", "b"], random.integers(0, 4))) for _ in range(random.integers(1, 9))]
            for _ in range(3)
        )
        train_sentences = composition.SentenceHashes.of([Corpus.of(first), Corpus.of(second)])
        assert train_sentences.count(Corpus.of(test)) == sum(
            words in first + second for words in test if words
        )


def test_conflicts_name_sequences_with_two_labels_and_sentences_annotated_in_two_ways(
    dataset: DatasetFacts,
) -> None:
    conflicts = present(dataset.conflicts)
    assert (conflicts.labels.sequences, conflicts.labels.mentions) == (2, 4)
    assert [(row.text, row.labels) for row in conflicts.labels.examples] == [
        ("Ford", {"PER": 1, "ORG": 1}),
        ("Rome", {"LOC": 1, "ORG": 1}),
    ]
    assert conflicts.sentences.groups == 1
    (example,) = conflicts.sentences.examples
    assert [row.mentions for row in example] == ["LOC [0, 1)", "ORG [0, 1)", "LOC [0, 1)"]
    assert example[1].place.endswith("test.bio:4")


def test_a_description_shows_itself_in_a_sentence_a_screen_and_a_notebook(files: Path) -> None:
    described = describe(files / "test.bio", train=files / "train.bio")
    assert repr(described) == "<spanwise.Description test: 4 sentences, 5 mentions, 3 labels>"
    assert str(described) == described.to_text() and " Tough mentions " in str(described)
    shown = described._repr_html_()
    assert "<td>LOC</td><td>2</td>" in shown and "<td>all</td><td>5</td>" in shown and "SEEN" in shown


def test_a_notebook_shows_labels_as_text(tmp_path: Path) -> None:
    (tmp_path / "test.bio").write_text("Rome B-<img/src=x>\n", encoding="utf-8")
    assert "<img" not in describe(tmp_path / "test.bio")._repr_html_()


def test_redaction_leaves_out_all_text(files: Path) -> None:
    document = describe(files / "test.bio", train=files / "train.bio", redact=True)
    assert present(document.dataset.conflicts).labels.sequences == 2
    assert "Ford" not in document.to_json()


def test_facts_that_need_training_data_are_absent_without_it_and_say_why(files: Path) -> None:
    dataset = describe(files / "test.bio").dataset
    assert dataset.duplicates_with_train is None
    assert present(dataset.absent)["entity_frequency"] == "no training data were given"
    assert "entity_frequency" not in dataset.zeta
    assert list(present(dataset.tough)) == ["TCM-ALL"]


def test_a_word_list_and_chosen_attributes(files: Path) -> None:
    described = describe(files / "test.bio", attributes="oDen", vocabulary=["Rome"])
    assert list(described.dataset.zeta) == ["oov_density"]


def test_undefined_zeta_is_null() -> None:
    empty = Annotation(Corpus.of([["a"]]), Mentions.of([]))
    assert describe(empty).dataset.zeta["entity_length"] is None
    assert json.loads(describe(empty).to_json())["dataset"]["mentions"] == 0


def test_a_file_of_positions_has_no_tokens_and_no_tough_mentions() -> None:
    corpus = Corpus(codes([]), (), ints([0, 0]), without_text=True)
    dataset = describe(Annotation(corpus, Mentions.of([(0, 2, 5, "X")]))).dataset
    assert dataset.tokens is None and dataset.tough is None
    assert dataset.zeta == {"entity_length": 3}
    assert dataset.conflicts is None


def test_a_file_that_is_not_text_is_described_too(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"tokens": [["Ann", "left"]], "tags": [["B-PER", "O"]]})
    path = tmp_path / "gold.arrow"
    with path.open("wb") as sink, arrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert describe(path).dataset.labels == {"PER": 1}


def test_the_dataset_of_a_result_has_the_same_form(dataset: DatasetFacts) -> None:
    gold = Annotation(Corpus.of([["Rome"]]), Mentions.of([(0, 0, 1, "LOC")]))
    document = composition.dataset_document(
        "small", gold, [], toughness=None, zeta={"x": float("nan")}, absent={}
    )
    assert set(document) == set(dataset.keys()) - {"attributes", "conflicts", "drift"}
    assert document["zeta"] == {"x": None} and document["tough"] is None


def test_training_data_without_text_is_refused_for_a_test_set_with_text(files: Path) -> None:
    (files / "train.spans").write_text("PER\t1\t1\n", encoding="utf-8")
    with pytest.raises(InputError, match="training data without tokens cannot show what was seen"):
        describe(files / "test.bio", train=files / "train.spans")


def test_the_command_describes_in_parts(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "describe",
        str(files / "test.bio"),
        "--train",
        str(files / "train.bio"),
        "--json",
        "-",
        "--quiet",
    ]
    assert main(call) == 0
    whole = capsys.readouterr().out
    assert main([*call, "--memory", "1MB", "--workers", "2"]) == 0
    assert capsys.readouterr().out == whole
    assert main([*call, "--memory", "much"]) == 2
    assert "--memory is 'much'" in capsys.readouterr().err


def test_an_unknown_keyword_is_answered_with_the_closest_one(files: Path) -> None:
    with pytest.raises(ChoiceError, match=r"Did you mean 'scheme'\?"):
        describe(files / "test.bio", schem="IOB2")


def test_several_training_files_are_one_lexicon(files: Path) -> None:
    both = describe(files / "test.bio", train=[files / "train.bio", files / "train.bio"])
    assert len(both.inputs) == 3
    assert present(both.dataset.tough)["SEEN"].overall.mentions == 1


# --- the commands -------------------------------------------------------------------------------


def test_the_command_shows_a_screen(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", str(files / "test.bio"), "--train", str(files / "train.bio")]) == 0
    shown = capsys.readouterr().out
    assert "entity length" in shown and "5 mentions" in shown


def test_the_command_writes_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files / "described.json"
    assert main(["describe", str(files / "test.bio"), "--json", str(path), "--quiet"]) == 0
    written = json.loads(path.read_text(encoding="utf-8"))
    assert set(written) == {"spanwise", "schema", "kind", "signature", "inputs", "dataset"}
    assert capsys.readouterr().out == ""
    assert main(["describe", str(files / "test.bio"), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["dataset"] == written["dataset"]


def test_a_missing_file_is_status_3_and_an_unknown_attribute_status_2(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", str(files / "none.bio")]) == 3
    assert main(["describe", str(files / "test.bio"), "--attributes", "entity_lenght"]) == 2
    assert "Did you mean 'entity_length'?" in capsys.readouterr().err


def test_cite_prints_each_paper_and_its_bibtex(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite"]) == 0
    shown = capsys.readouterr().out
    assert all(citation.name in shown for citation in citations.CITATIONS)
    assert main(["cite", "--bibtex", "ortmann2022fine"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("@inproceedings{ortmann2022fine,")
    assert "pages = {1400--1407}," in shown


def test_an_unknown_paper_is_answered_with_the_closest_one() -> None:
    with pytest.raises(ChoiceError, match="no paper is called 'tu2021'"):
        citations.find(["tu2021"])
