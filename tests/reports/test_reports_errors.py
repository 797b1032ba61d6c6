"""The list of errors: as many as the tables count, drawn, and safe to show and open."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from documents import description
from msgspec.structs import replace
from rich.cells import cell_len
from study_documents import study
from typed import present

from spanwise.cli.main import main
from spanwise.document.evaluation import Evaluation, GoldMention, PredictedMention, Sentence
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation import evaluate
from spanwise.formats import from_tags
from spanwise.reports.errors import incomplete, listing, to_csv, to_jsonl, to_text
from spanwise.settings import CAP

WORDS = ["Anna", "Berlin", "sees", "the", "Bank", "of", "Oslo", "in", "May", "."]


def random_tags(chance: random.Random, size: int) -> list[str]:
    tags: list[str] = []
    for _ in range(size):
        previous = tags[-1][2:] if tags and tags[-1] != "O" else None
        choices = ["O", "O", "B-PER", "B-LOC", "B-ORG"] + ([f"I-{previous}"] * 3 if previous else [])
        tags.append(chance.choice(choices))
    return tags


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold, two systems and training data as files of tokens and tags."""
    chance = random.Random(7)
    folder = tmp_path_factory.mktemp("errors")
    sentences = [[chance.choice(WORDS) for _ in range(chance.randint(3, 14))] for _ in range(150)]
    gold = [random_tags(chance, len(words)) for words in sentences]
    for name in ("gold", "one", "two", "train"):
        lines = []
        for words, tags in zip(sentences, gold, strict=True):
            own = tags
            if name != "gold":
                other = random_tags(chance, len(words))
                own = [b if chance.random() < 0.3 else a for a, b in zip(tags, other, strict=True)]
            lines += [f"{word} {tag}\n" for word, tag in zip(words, own, strict=True)] + ["\n"]
        (folder / f"{name}.conll").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def document(files: Path) -> Evaluation:
    systems = {name: files / f"{name}.conll" for name in ("one", "two")}
    return evaluate(files / "gold.conll", systems, train=files / "train.conll", resamples=0)


KINDS = ("LE", "BE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")


def test_every_kind_has_as_many_entries_as_the_table_counts(document: Evaluation) -> None:
    for name, system in document.systems.items():
        for kind in KINDS:
            assert len(listing(document, system=name, outcome=kind)) == system.fair.overall[kind] > 0


def test_every_label_has_as_many_entries_as_its_row_counts(document: Evaluation) -> None:
    for name, system in document.systems.items():
        for label, row in system.fair.labels.items():
            for kind in KINDS:
                gold, predicted = (None, label) if kind == "FP" else (label, None)
                errors = listing(document, system=name, outcome=kind, gold=gold, predicted=predicted)
                assert len(errors) == row[kind]


def test_every_cell_of_the_confusion_leads_to_its_errors(document: Evaluation) -> None:
    for name, system in document.systems.items():
        table = system.confusion
        for i, gold in enumerate(table.labels):
            for j, predicted in enumerate(table.labels):
                errors = listing(document, system=name, gold=gold, predicted=predicted)
                assert len(errors) == table.counts[i][j]
            assert len(listing(document, system=name, gold=gold, outcome="FN")) == table.missed[i]
            assert len(listing(document, system=name, predicted=gold, outcome="FP")) == table.spurious[i]


def test_every_bucket_has_as_many_entries_as_its_outcomes_count(document: Evaluation) -> None:
    for name, system in document.systems.items():
        for attribute, entry in system.attributes.items():
            if entry.unit != "mention":
                continue
            for row in entry.buckets:
                for over in ("gold", "predicted"):
                    for kind, number in row.outcomes[over].items():
                        if kind != "TP":
                            chosen = (attribute, row.name)
                            errors = listing(document, system=name, bucket=chosen, outcome=kind, over=over)
                            assert len(errors) == number, (attribute, row.name, over, kind)


def test_buckets_partition_the_errors(document: Evaluation) -> None:
    for attribute, entry in document.systems["one"]["attributes"].items():
        if entry.unit == "mention":
            names = [row.name for row in entry.buckets]
            parts = [listing(document, system="one", bucket=(attribute, name)) for name in names]
            assert sum(map(len, parts)) == len(listing(document, system="one"))


def test_every_tough_subset_has_as_many_entries_as_its_outcomes_count(document: Evaluation) -> None:
    for name, system in document.systems.items():
        for subset, entry in system.tough.items():
            missed = entry.overall.mentions - entry.overall.correct
            assert len(listing(document, system=name, tough=subset)) == missed
            for kind, number in entry.outcomes.items():
                if kind != "TP":
                    assert (
                        len(listing(document, system=name, tough=subset, outcome=kind, over="gold")) == number
                    )


def test_kinds_may_be_given_together(document: Evaluation) -> None:
    whole = listing(document, system="one", outcome=["LE,FN", "FP"])
    parts = [listing(document, system="one", outcome=kind) for kind in ("LE", "FN", "FP")]
    assert len(whole) == sum(map(len, parts))


def test_all_three_forms_have_one_entry_per_error(document: Evaluation) -> None:
    errors = listing(document)
    rows = [json.loads(line) for line in to_jsonl(errors).splitlines()]
    assert len(rows) == len(errors)
    table = list(csv.DictReader(io.StringIO(to_csv(errors))))
    assert len(table) == len(errors)
    assert [row["outcome"] for row in rows] == [row["outcome"] for row in table]
    text = to_text(errors)
    assert sum(line.startswith("  ") and not line.startswith("    ") for line in text.splitlines()) == len(
        errors
    )
    heads = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert sum(int(line.rsplit("(", 1)[1].split()[0]) for line in heads) == len(errors)


def of_tags(
    tokens: list[str], gold: list[str], predicted: list[str], *, examples: str = "errors", cap: int = CAP
) -> Evaluation:
    gold_side = from_tags([gold], tokens=[tokens], name="gold.conll")
    predicted_side = from_tags([predicted], tokens=[tokens], name="pred.conll")
    return evaluate(
        gold_side,
        {"mine": predicted_side},
        resamples=0,
        attributes="none",
        examples=examples,
        examples_cap=cap,
    )


def test_spans_are_drawn_under_the_tokens() -> None:
    document = of_tags(["the", "Bank", "of", "Oslo", "said"], ["O", "B-ORG", "I-ORG", "I-ORG", "O"],
                       ["O", "O", "O", "B-LOC", "O"])  # fmt: skip
    drawn = to_text(listing(document)).splitlines()
    assert drawn[0] == "label + boundary  gold ORG, predicted LOC (1 error)"
    assert drawn[3:6] == [
        "    the Bank of Oslo said",
        "        ^^^^^^^^^^^^ gold ORG",
        "                ~~~~ predicted LOC",
    ]


def test_wide_characters_keep_the_marks_in_place() -> None:
    document = of_tags(["東京", "で", "山田"], ["O", "O", "B-PER"], ["O", "O", "O"])
    drawn = to_text(listing(document)).splitlines()
    assert drawn[4].index("^") == cell_len("    東京 で ")
    assert drawn[4].count("^") == cell_len("山田")


def test_a_long_sentence_is_shown_around_the_spans() -> None:
    tokens = [f"word{number}" for number in range(200)]
    tags = ["O"] * 200
    tags[100] = "B-PER"
    drawn = to_text(listing(of_tags(tokens, tags, ["O"] * 200)), width=60).splitlines()
    assert drawn[3].startswith("    … ")
    assert drawn[3].endswith(" …")
    assert "word100" in drawn[3]
    assert all(cell_len(line) <= 60 for line in drawn)
    assert drawn[3][drawn[4].index("^") :].startswith("word100")


def test_a_sentence_that_fits_the_line_is_shown_whole() -> None:
    tokens = ["w" * 9] * 5
    drawn = to_text(listing(of_tags(tokens, ["B-PER", *["O"] * 4], ["O"] * 5)), width=60).splitlines()
    assert drawn[3] == "    " + " ".join(tokens)
    assert drawn[4] == f"    {'^' * 9} gold PER"


@pytest.mark.parametrize("width", [40, 55, 70])
@pytest.mark.parametrize("at", [0, 3, 9])
def test_no_line_is_too_wide_wherever_the_mention_is(at: int, width: int) -> None:
    tags = ["O"] * 10
    tags[at] = "B-PERSON"
    for size in range(1, 8):
        drawn = to_text(listing(of_tags(["w" * size] * 10, tags, ["O"] * 10)), width=width).splitlines()
        assert max(map(cell_len, drawn)) <= width


def test_a_mention_longer_than_a_line_is_drawn_over_several() -> None:
    tokens = [f"word{number}" for number in range(40)]
    tags = ["B-PER", *["I-PER"] * 39]
    drawn = to_text(listing(of_tags(tokens, tags, ["O"] * 40)), width=60)
    assert drawn.count("gold PER") > 3
    assert all(cell_len(line) <= 60 for line in drawn.splitlines())
    assert all(f"word{number}" in drawn for number in range(40))


HOSTILE = "\x1b[31mred\u202egnorw\u2066\x07"


def test_control_characters_and_overrides_are_shown_escaped() -> None:
    label = "P\x1b]0;x\x07ER"
    document = of_tags(["a", HOSTILE, "b"], ["O", f"B-{label}", "O"], ["O", "O", "O"])
    drawn = to_text(listing(document))
    assert not any(ord(letter) < 32 and letter != "\n" for letter in drawn)
    assert not set(drawn) & set("\u202e\u2066\x7f\x9b")
    assert "␛[31mred⟨U+202E⟩gnorw⟨U+2066⟩␇" in drawn
    assert "\x1b[1m" in to_text(listing(document), color=True)


def test_json_lines_contain_the_text_but_no_bidirectional_overrides() -> None:
    document = of_tags(["a", HOSTILE, "x\u2028y"], ["O", "B-PER", "B-PER"], ["O", "O", "O"])
    written = to_jsonl(listing(document))
    assert len(written.splitlines()) == 2
    assert "\u202e" not in written
    assert json.loads(written.splitlines()[0])["gold"]["text"] == HOSTILE


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " ="])
def test_no_cell_of_the_error_csv_can_be_a_formula(start: str) -> None:
    cell = f"{start}HYPERLINK(1)"
    document = of_tags([cell, "b"], ["B-PER", "O"], ["O", "O"])
    row = next(csv.DictReader(io.StringIO(to_csv(listing(document)), newline="")))
    assert row["gold_text"] == f"'{cell}"
    assert row["text"].startswith("'")


def test_an_unplaced_predicted_mention_is_shown_as_such(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("New B-LOC\nYork I-LOC\n. O\n", encoding="utf-8")
    (tmp_path / "pred").write_text("NewY B-LOC\nork B-LOC\n. O\n", encoding="utf-8")
    document = evaluate(
        tmp_path / "gold", {"mine": tmp_path / "pred"}, align="diff", resamples=0, attributes="none",
        format="conll",
    )  # fmt: skip
    lost = [error for error in listing(document) if error.predicted and error.predicted.start < 0]
    assert lost
    assert "predicted LOC, which has no place in the gold text" in to_text(lost)
    assert next(csv.DictReader(io.StringIO(to_csv(lost))))["predicted_start"] == ""


GOLD = GoldMention(start=0, end=6, label="A", outcome={"mine": "BEs"}, partner={"mine": 0})
SHORT = PredictedMention(start=0, end=2, label="A", outcome="BEs", partner=0)
SENTENCE = Sentence(id="0", source="x:1", document=None, gold=[GOLD], systems={"mine": [SHORT]})


def document_of(sentence: Sentence) -> Evaluation:
    """A document of one system with this sentence."""
    return replace(of_tags(["a"], ["B-A"], ["O"]), sentences=[sentence])


def test_discontinuous_mentions_are_drawn_in_pieces() -> None:
    gold = replace(GOLD, parts=[(0, 2), (4, 6)])
    errors = listing(document_of(replace(SENTENCE, tokens=list("abcdef"), gold=[gold])))
    assert "    ^^^     ^^^ gold A" in to_text(errors)
    assert json.loads(to_jsonl(errors))["gold"]["text"] == "a b … e f"


def test_texts_without_tokens_are_drawn_by_characters() -> None:
    errors = listing(document_of(replace(SENTENCE, text="Bonn am Rhein")))
    assert "    Bonn am Rhein\n    ^^^^^^ gold A\n    ~~ predicted A\n" in to_text(errors)
    assert json.loads(to_jsonl(errors))["predicted"]["text"] == "Bo"


def test_without_text_the_positions_are_shown() -> None:
    errors = listing(document_of(replace(SENTENCE, length=9)))
    assert "    gold A [0, 6)\n    predicted A [0, 2)\n" in to_text(errors)
    assert json.loads(to_jsonl(errors))["gold"]["text"] is None


def test_a_mention_with_two_errors_is_shown_as_such() -> None:
    both = {"mine": [SHORT, replace(SHORT, start=2, end=4)]}
    sentence = replace(SENTENCE, gold=[replace(GOLD, end=4)], systems=both, tokens=list("abcd"))
    errors = listing(document_of(sentence))
    assert [error.turn for error in errors] == [1, 3]
    assert "(the gold mention belongs to another error, too)" in to_text(errors)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"outcome": "BX"}, "no kind of error is called 'BX'"),
        ({"gold": "LOK"}, "no label is called 'LOK'. Did you mean 'LOC'?"),
        ({"predicted": "X"}, "no label is called 'X'"),
        ({"system": "three"}, "no system is called 'three'"),
        ({"bucket": ("entity_lenght", "XS")}, "Did you mean 'entity_length'?"),
        ({"bucket": ("entity_length", "XXL")}, "no value of entity_length is called 'XXL'"),
        ({"tough": "SEEM"}, "no tough subset is called 'SEEM'. Did you mean 'SEEN'?"),
        ({"over": "silver"}, "no way to count errors is called 'silver'"),
    ],
)
def test_an_unknown_choice_is_refused(document: Evaluation, choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ChoiceError) as caught:
        listing(document, **choices)
    assert message in str(caught.value)


def test_tough_subsets_without_training_data_are_refused() -> None:
    document = of_tags(["a"], ["B-PER"], ["O"])
    with pytest.raises(ChoiceError, match="asks for tough subsets, which need training data"):
        listing(document, tough="SEEN")


def test_a_document_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match=r"errors are listed of .* this document is of the kind description"):
        listing(description())


def test_a_document_with_only_some_sentences_says_so() -> None:
    tokens, gold = ["a", "b"], ["B-PER", "O"]
    assert incomplete(of_tags(tokens, gold, ["O", "O"])) is None
    assert "0 of 1 sentences" in present(incomplete(of_tags(tokens, gold, ["O", "O"], cap=0)))
    with pytest.raises(InputError, match=r"holds no sentences\.\nMake it again with examples=\"errors\""):
        listing(of_tags(tokens, gold, ["O", "O"], examples="none"))


def test_a_study_without_sentences_is_refused() -> None:
    with pytest.raises(InputError, match=r"holds no sentences\.\nMake it again with examples=\"errors\""):
        listing(study())


def test_a_bucket_may_be_given_by_its_label() -> None:
    document = evaluate(
        [["B-X", "I-X", "B-X"]], {"one": [["O", "O", "O"]]}, attributes=["entity_length"], resamples=0
    )
    labels = {row.name: row.label for row in document["one"].attributes["entity_length"].buckets}
    for name in ("XS", "S"):
        by_name = listing(document, bucket=("entity_length", name))
        assert (
            len(by_name) == 1 and listing(document, bucket=("entity_length", f" {labels[name]} ")) == by_name
        )


# The command


def test_the_command_lists_the_same_from_files_and_from_a_result(
    files: Path, document: Evaluation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "run.json"
    document.to_json(saved)
    choice = ["--system", "one", "--outcome", "LE", "--as", "csv"]
    assert main(["errors", str(saved), *choice]) == 0
    first = capsys.readouterr()
    sources = [str(files / "gold.conll"), *(f"{name}={files / name}.conll" for name in ("one", "two"))]
    assert main(["errors", *sources, *choice]) == 0
    assert capsys.readouterr().out == first.out
    number = document.systems["one"]["fair"]["overall"]["LE"]
    assert first.err.endswith(f"{number} errors\n")
    assert len(first.out.splitlines()) == number + 1


def test_the_command_accepts_buckets_and_tough_subsets(
    files: Path, document: Evaluation, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [str(files / "gold.conll"), f"one={files / 'one.conll'}", "--train", str(files / "train.conll")]
    assert main(["errors", *sources, "--tough", "SEEN", "--bucket", "entity_length=XS", "--as", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows
    assert all(
        "SEEN" in row["gold"]["tough"] and row["gold"]["end"] - row["gold"]["start"] == 1 for row in rows
    )


def test_the_command_writes_a_file(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "errors.txt"
    assert main(["errors", str(files / "gold.conll"), str(files / "one.conll"), "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert "predicted" in target.read_text(encoding="utf-8")


def test_the_command_reports_a_capped_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = of_tags(["a", "b"], ["B-PER", "O"], ["O", "O"], cap=0)
    saved = tmp_path / "run.json"
    document.to_json(saved)
    assert main(["errors", str(saved)]) == 0
    assert "so the list is not complete" in capsys.readouterr().err


@pytest.mark.parametrize("bucket", ["entity_length", "=XS", "entity_length="])
def test_the_command_refuses_a_bucket_that_cannot_be_parsed(
    files: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["errors", str(files / "gold.conll"), str(files / "one.conll"), "--bucket", bucket]) == 2
    assert "Write it like --bucket entity_length=XL." in capsys.readouterr().err


def test_the_number_of_germeval_errors_equals_that_of_ortmann(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = data / "ortmann-ner"
    sources = [str(folder / "gold.spans"), str(folder / "predicted.spans")]
    assert main(["errors", *sources, "--gold", "LOC", "--predicted", "ORG", "--as", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 54
    assert main(["errors", *sources, "--as", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1302


def test_an_error_in_a_text_of_several_lines_names_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, label in (("gold", "PER"), ("mine", "LOC")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "doc01.txt").write_text("Nothing here\nAnn saw Rome\n", encoding="utf-8")
        (tmp_path / name / "doc01.ann").write_text(f"T1\t{label} 13 16\tAnn\n", encoding="utf-8")
    for form in ("text", "csv", "jsonl"):
        assert main(["errors", str(tmp_path / "gold"), str(tmp_path / "mine"), "--as", form]) == 0
        assert "gold: doc01:2" in capsys.readouterr().out
