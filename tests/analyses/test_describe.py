"""What describe says of a test set, in Python, on the terminal and as JSON; the papers that cite names."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spanwise import citations
from spanwise.cli.main import main
from spanwise.columns import codes, ints
from spanwise.composition import dataset_document
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.description import describe
from spanwise.errors import ChoiceError

TRAIN = "Rome B-LOC\nwins O\n\nJohn B-PER\nFord I-PER\nleft O\n"
TEST = "Rome B-LOC\nwins O\n\nRome B-ORG\nwins O\n\nFord B-PER\nsells O\nFord B-ORG\n\nOslo B-LOC\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "train.bio").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "test.bio").write_text(TEST, encoding="utf-8")
    return tmp_path


@pytest.fixture
def dataset(files):
    return describe(files / "test.bio", train=files / "train.bio").to_dict()["dataset"]


def test_sizes_and_labels_stand_by_frequency(dataset):
    assert (dataset["sentences"], dataset["tokens"], dataset["mentions"]) == (4, 8, 5)
    assert dataset["labels"] == {"LOC": 2, "ORG": 2, "PER": 1}
    assert dataset["label_order"] == ["LOC", "ORG", "PER"]
    assert dataset["documents"] is None


def test_zeta_is_the_mean_over_gold_units(dataset):
    assert dataset["zeta"]["entity_length"] == 1
    assert dataset["zeta"]["sentence_length"] == (2 + 2 + 3 + 3 + 1) / 5
    assert dataset["zeta"]["oov_density"] == pytest.approx((0 + 0 + 1 / 3 + 1 / 3 + 1) / 5)
    assert "label" not in dataset["zeta"] and "morphology" not in dataset["zeta"]


def test_tough_mentions_are_composed_by_label(dataset):
    assert dataset["tough"]["SEEN"]["overall"] == {"mentions": 1, "share": 1 / 5}
    assert dataset["tough"]["UNSEEN-TOKENS"]["labels"]["PER"] == {"mentions": 1, "share": 1.0}
    assert dataset["tough"]["TCM-ALL"]["overall"]["mentions"] == 4


def test_gold_units_stand_in_the_buckets_of_every_attribute(dataset):
    length = dataset["attributes"]["entity_length"]
    assert [(row["name"], row["gold"]) for row in length["buckets"]] == [
        ("XS", 5),
        ("S", 0),
        ("L", 0),
        ("XL", 0),
    ]
    for attribute in dataset["attributes"].values():
        # Every mention has one token, so there are as many units of either kind.
        assert sum(row["gold"] for row in attribute["buckets"]) == 5


def test_sentences_of_training_data_are_counted(dataset):
    assert dataset["duplicates_with_train"] == 2


@pytest.mark.parametrize("kinds", [2**64 - 1, 3])
def test_repeated_sentences_are_counted_exactly_though_half_of_their_hashes_be_equal(kinds, monkeypatch):
    from spanwise import composition as module

    hashes = module._sentence_hashes
    modulus = np.array([kinds, 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(module, "_sentence_hashes", lambda *text: hashes(*text) % modulus)
    random = np.random.default_rng(0)
    for _ in range(60):
        first, second, test = (
            [list(random.choice(["a", "b"], random.integers(0, 4))) for _ in range(random.integers(1, 9))]
            for _ in range(3)
        )
        known = module.KnownSentences.of([Corpus.of(first), Corpus.of(second)])
        assert known.count(Corpus.of(test)) == sum(one in first + second for one in test if one)


def test_conflicts_name_sequences_with_two_labels_and_sentences_annotated_in_two_ways(dataset):
    assert dataset["conflicts"]["labels"] == {
        "sequences": 2,
        "mentions": 4,
        "examples": [
            {"text": "Ford", "labels": {"PER": 1, "ORG": 1}},
            {"text": "Rome", "labels": {"LOC": 1, "ORG": 1}},
        ],
    }
    sentences = dataset["conflicts"]["sentences"]
    assert sentences["groups"] == 1
    assert [row["mentions"] for row in sentences["examples"][0]] == ["LOC [0, 1)", "ORG [0, 1)", "LOC [0, 1)"]
    assert sentences["examples"][0][1]["place"].endswith("test.bio:4")


def test_a_description_shows_itself_in_a_sentence_a_screen_and_a_notebook(files):
    described = describe(files / "test.bio", train=files / "train.bio")
    assert repr(described) == "<spanwise.Description test: 4 sentences, 5 mentions, 3 labels>"
    assert str(described) == described.to_text() and " Tough mentions " in str(described)
    shown = described._repr_html_()
    assert "<td>LOC</td><td>2</td>" in shown and "<td>all</td><td>5</td>" in shown and "SEEN" in shown


def test_a_notebook_shows_labels_as_text(tmp_path):
    (tmp_path / "test.bio").write_text("Rome B-<img/src=x>\n", encoding="utf-8")
    assert "<img" not in describe(tmp_path / "test.bio")._repr_html_()


def test_redaction_leaves_out_all_text(files):
    document = describe(files / "test.bio", train=files / "train.bio", redact=True)
    assert document.to_dict()["dataset"]["conflicts"]["labels"]["sequences"] == 2
    assert "Ford" not in document.to_json()


def test_without_training_data_what_needs_them_is_absent_and_says_why(files):
    dataset = describe(files / "test.bio").to_dict()["dataset"]
    assert dataset["duplicates_with_train"] is None
    assert dataset["absent"]["entity_frequency"] == "no training data were given"
    assert "entity_frequency" not in dataset["zeta"]
    assert list(dataset["tough"]) == ["TCM-ALL"]


def test_a_word_list_and_chosen_attributes(files):
    described = describe(files / "test.bio", attributes="oDen", vocabulary=["Rome"])
    assert list(described.to_dict()["dataset"]["zeta"]) == ["oov_density"]


def test_undefined_zeta_is_null():
    empty = Annotation(Corpus.of([["a"]]), Mentions.of([]))
    document = describe(empty).to_dict()["dataset"]
    assert document["zeta"]["entity_length"] is None
    assert json.loads(describe(empty).to_json())["dataset"]["mentions"] == 0


def test_a_file_of_positions_alone_has_no_tokens_and_no_tough_mentions():
    corpus = Corpus(codes([]), (), ints([0, 0]), without_text=True)
    document = describe(Annotation(corpus, Mentions.of([(0, 2, 5, "X")]))).to_dict()["dataset"]
    assert document["tokens"] is None and document["tough"] is None
    assert document["zeta"] == {"entity_length": 3}
    assert "conflicts" not in document


def test_the_dataset_of_a_result_is_of_the_same_form(files, dataset):
    gold = Annotation(Corpus.of([["Rome"]]), Mentions.of([(0, 0, 1, "LOC")]))
    document = dataset_document("small", gold, [], toughness=None, zeta={"x": float("nan")}, absent={})
    assert set(document) == set(dataset) - {"attributes", "conflicts", "drift"}
    assert document["zeta"] == {"x": None} and document["tough"] is None


def test_several_training_files_are_one_lexicon(files):
    both = describe(files / "test.bio", train=[files / "train.bio", files / "train.bio"]).to_dict()
    assert len(both["inputs"]) == 3
    assert both["dataset"]["tough"]["SEEN"]["overall"]["mentions"] == 1


# --- the commands -------------------------------------------------------------------------------


def test_the_command_shows_a_screen(files, capsys):
    assert main(["describe", str(files / "test.bio"), "--train", str(files / "train.bio")]) == 0
    shown = capsys.readouterr().out
    assert "entity length" in shown and "5 mentions" in shown


def test_the_command_writes_json(files, capsys):
    path = files / "described.json"
    assert main(["describe", str(files / "test.bio"), "--json", str(path), "--quiet"]) == 0
    written = json.loads(path.read_text(encoding="utf-8"))
    assert set(written) == {"spanwise", "schema", "kind", "signature", "inputs", "dataset"}
    assert capsys.readouterr().out == ""
    assert main(["describe", str(files / "test.bio"), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["dataset"] == written["dataset"]


def test_a_missing_file_is_status_3_and_an_unknown_attribute_status_2(files, capsys):
    assert main(["describe", str(files / "none.bio")]) == 3
    assert main(["describe", str(files / "test.bio"), "--attributes", "entity_lenght"]) == 2
    assert "Did you mean 'entity_length'?" in capsys.readouterr().err


def test_cite_prints_each_paper_and_its_bibtex(capsys):
    assert main(["cite"]) == 0
    shown = capsys.readouterr().out
    assert all(citation.name in shown for citation in citations.CITATIONS)
    assert main(["cite", "--bibtex", "ortmann2022fine"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("@inproceedings{ortmann2022fine,")
    assert "pages = {1400--1407}," in shown


def test_an_unknown_paper_is_answered_with_the_nearest():
    with pytest.raises(ChoiceError, match="no paper is called 'tu2021'"):
        citations.find(["tu2021"])
