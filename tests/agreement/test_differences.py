"""Who differs how: kinds, confused labels and repeated differences of annotators, by hand and by laws."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.corpus import Annotation
from spanwise.document import given
from spanwise.document.agreement import AnnotatorDifferences
from spanwise.formats import read
from spanwise.reports.tables import table
from spanwise.reports.terminal import render
from spanwise.views.differing import findings, lines_of

Span = tuple[int, int, str]
WORDS = ["Bo", ",", "Cy", "and", "Di", "left", "New", "York", "City", "for", "Rome"]
LIST = [(0, 1, "PER"), (2, 3, "PER"), (4, 5, "PER")]
PLACES = [(6, 9, "LOC"), (10, 11, "LOC")]


def marked(*spans: Span, sentences: int = 5) -> Annotation:
    return read([list(spans)] * sentences, tokens=[WORDS] * sentences)


def compared(**annotators: Annotation) -> dict[str, AnnotatorDifferences]:
    rows = given(spanwise.agree(annotators).differences)
    assert rows is not None
    return rows


def test_differences_from_the_majority_by_hand() -> None:
    rows = compared(
        ann=marked(*LIST, *PLACES),
        bo=marked(*LIST, *PLACES),
        max=marked((0, 5, "PER"), *PLACES),
        zoe=marked(*LIST, (6, 8, "LOC"), (10, 11, "ORG")),
    )
    none = dict.fromkeys(rows["ann"].kinds, 0)
    assert rows["ann"].kinds == rows["bo"].kinds == none
    # The list holds three mentions of the majority: one longer mention of Max, and none that is missed.
    assert (rows["max"].kinds, rows["max"].joins) == (none | {"longer": 5}, 5)
    assert rows["zoe"].kinds == none | {"shorter": 5, "label": 5}
    assert [(one.own, one.majority, one.count) for one in rows["zoe"].labels] == [("ORG", "LOC", 5)]
    assert [(one.kind, one.own, one.majority, one.count) for one in rows["zoe"].repeated] == [
        ("label", "Rome", "Rome", 5), ("shorter", "New York", "New York City", 5),
    ]  # fmt: skip
    assert [one.own for one in rows["max"].repeated] == ["Bo , Cy and Di"]


def test_two_annotators_are_compared_with_each_other() -> None:
    rows = compared(
        a=marked((0, 1, "PER"), (6, 9, "LOC")), b=marked((0, 1, "PER"), (6, 8, "LOC"), (10, 11, "LOC"))
    )
    assert rows["a"].kinds["longer"] == rows["b"].kinds["shorter"] == 5
    assert rows["a"].kinds["missed"] == rows["b"].kinds["extra"] == 5


def test_annotators_who_agree_do_not_differ() -> None:
    document = spanwise.agree({"a": marked(*PLACES), "b": marked(*PLACES)})
    assert all(not any(row.kinds.values()) for row in (given(document.differences) or {}).values())
    assert not findings(document)
    assert "Who differs how" not in render(document, width=100, color=False)


def test_findings_say_who_does_what_and_stand_on_every_surface(tmp_path: Path) -> None:
    document = spanwise.agree(
        {
            "Ann": marked(*LIST, *PLACES), "Bo": marked(*LIST, *PLACES),
            "Max": marked((0, 5, "PER"), *PLACES),
            "Zoe": marked(*LIST, (6, 8, "LOC"), (10, 11, "ORG")),
        }
    )  # fmt: skip
    said = [str(words) for words in findings(document)]
    assert said == [
        "Max joins lists: 5 boundaries longer than the majority's.",
        "Zoe marks less: 5 boundaries shorter than the majority's.",
        "Zoe says ORG where the majority says LOC: 5 mentions.",
    ]
    screen = render(document, width=100, color=False)
    document.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8").replace("<bdi>", "").replace("</bdi>", "")
    for sentence in said:
        assert sentence in screen
        assert sentence.replace("'", "&#39;") in page
    rows = list(csv.reader(table(document, "differences").to_csv().splitlines()))
    assert rows[0] == ["annotator", "longer", "shorter", "crossing", "other label", "both", "missed", "extra"]
    assert rows[3] == ["Max", "5", "0", "0", "0", "0", "0", "0"]


def test_redacted_differences_hold_no_words() -> None:
    document = spanwise.agree({"a": marked(*LIST), "b": marked((0, 5, "PER"))}, redact=True)
    rows = given(document.differences) or {}
    assert rows["b"].kinds["longer"] == 5
    assert not rows["a"].repeated and not rows["b"].repeated


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Two annotators' brat folders of one document, which is a single long sentence of forty lines."""
    text = "".join(f"Line {at}: Ada met Bo in New York. {'x' * 100}\n" for at in range(40))
    for who, size in (("ann", 8), ("max", 3)):
        folder = tmp_path / "campaign" / who
        folder.mkdir(parents=True)
        (folder / "d1.txt").write_text(text, encoding="utf-8")
        starts = [at for at in range(len(text)) if text.startswith("New York", at)]
        (folder / "d1.ann").write_text(
            "".join(
                f"T{at}\tLOC {start} {start + size}\t{text[start : start + size]}\n"
                for at, start in enumerate(starts, start=1)
            ),
            encoding="utf-8",
        )
    return tmp_path / "campaign"


def test_folders_of_annotators_need_no_pattern(campaign: Path) -> None:
    assert spanwise.agree(campaign).annotators == ("ann", "max")
    assert spanwise.agree([campaign / "ann", campaign / "max"]).annotators == ("ann", "max")


def test_a_document_of_one_sentence_is_shown_line_by_line(campaign: Path, tmp_path: Path) -> None:
    document = spanwise.agree(campaign, worksheet=tmp_path / "todo.csv")
    (example,) = document.sentences
    lines = lines_of(example)
    assert len(lines) == 40
    for at, line in enumerate(lines):
        assert line.text[0].startswith(f"Line {at}: Ada met Bo in New York. xx") and line.text[0].endswith(
            "…"
        )
        assert {line.text[0][mention.start : mention.end] for mention in line.mentions} == {"New", "New York"}
    screen = render(document, width=100, color=False)
    assert len(screen.splitlines()) < 90 and "36 more lines" in screen
    with (tmp_path / "todo.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert max(len(row["context"]) for row in rows) <= 2 * 60 + 8 + 2
    assert rows[0]["context"].startswith("Line 0: Ada met Bo in New York.")
    assert {row["source"].rpartition(" ")[2] for row in rows} == {f"d1:{at}" for at in range(1, 41)}
    assert {line.source.rpartition(" ")[2] for line in lines} == {f"d1:{at}" for at in range(1, 41)}
    assert "d1:1\n" in screen and "d1:2\n" in screen


def test_decisions_of_a_worksheet_apply_whatever_context_it_holds(campaign: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "todo.csv"
    spanwise.agree(campaign, worksheet=sheet)
    with sheet.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text = (campaign / "ann" / "d1.txt").read_text(encoding="utf-8")
    for contexts in ([row["context"] for row in rows], [text.rstrip("\n")] * len(rows)):
        with sheet.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            for row, context in zip(rows, contexts, strict=True):
                answer = "yes" if row["text"] == "New York" else "no"
                writer.writerow({**row, "context": context, "decision": answer})
        out = tmp_path / f"gold{len(contexts[0])}.jsonl"
        spanwise.agree(campaign, decisions=sheet, majority=out)
        assert len(spanwise.read(out).mentions) == 40


def test_the_majority_is_written_as_brat_and_for_label_studio(campaign: Path, tmp_path: Path) -> None:
    assert main(["agree", str(campaign), "--votes", "1", "--majority", f"{tmp_path}/out/", "--quiet"]) == 0
    assert len(spanwise.read(tmp_path / "out").mentions) == 80
    assert (tmp_path / "out" / "d1.ann").exists()
    path = tmp_path / "tasks.json"
    call = ["agree", str(campaign), "--votes", "1", "--majority", str(path), "--to", "label-studio"]
    assert main([*call, "--quiet"]) == 0
    assert spanwise.read(path).reading.format == "label-studio"
