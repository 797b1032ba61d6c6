"""Terminal screens: correct numbers, within the width, colour only on request, hostile text inert."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import documents
import pytest
import study_documents
from document_parts import SIGNATURE
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import replace
from rich.cells import cell_len

from spanwise.document.scores import Finding
from spanwise.reports import terminal
from spanwise.reports.tables import table
from spanwise.reports.terminal import _layout, screen_width, wants_color
from spanwise.reports.terminal import render as render_screen
from spanwise.views import wording

MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "one": documents.result,
    "two": lambda: documents.result("crf", "bert"),
    "five": lambda: documents.result("crf", "bert", "a-very-long-system-name-indeed", "d", "e"),
    "description": documents.description,
    "study": study_documents.study,
}
EVIL = "[red]x[/red]\x1b[31m\u202eevil\x07\r\n\t\x9b31m\u200b{{7*7}}</script>" + "very-long-label" * 12


@pytest.fixture(params=MAKERS, scope="module")
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    return MAKERS[request.param]()


def widest(screen: str) -> int:
    return max(cell_len(line) for line in screen.splitlines())


@pytest.mark.parametrize("width", [40, 60, 79, 80, 100, 140])
def test_no_line_is_wider_than_requested(document: dict[str, Any], width: int) -> None:
    assert widest(render_screen(document, width=width, color=False)) <= width


def test_a_screen_without_colour_has_no_escape_codes(document: dict[str, Any]) -> None:
    assert "\x1b" not in render_screen(document, width=80, color=False)


def test_colour_changes_nothing_but_the_colour(document: dict[str, Any]) -> None:
    painted = render_screen(document, width=100, color=True)
    assert "\x1b[" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render_screen(document, width=100, color=False)


def test_no_style_sets_a_background() -> None:
    assert not any(code[:1] == "4" for style in _layout.STYLES.values() for code in style.split(";"))


def test_the_same_document_gives_the_same_bytes(document: dict[str, Any]) -> None:
    again = copy.deepcopy(document)
    assert render_screen(document, width=100, color=True) == render_screen(again, width=100, color=True)
    assert document == again


def test_lines_have_no_trailing_spaces(document: dict[str, Any]) -> None:
    assert all(line == line.rstrip() for line in render_screen(document, width=90, color=False).splitlines())


def test_the_screen_of_one_system_has_its_numbers() -> None:
    document = documents.result()
    system = document["systems"]["crf"]
    screen = render_screen(document, width=100, color=False)
    overall = system["exact"]["overall"]
    assert f"F1 {100 * overall['f1']:.1f}" in screen
    assert f"precision {100 * overall['precision']:.1f}" in screen
    assert f"recall {100 * overall['recall']:.1f}" in screen
    assert f"fair F1 {100 * system['fair']['overall']['f1']:.1f}" in screen
    assert wording.interval(overall["interval"]["f1"]) in screen
    for label, cell in system["exact"]["labels"].items():
        row = next(line for line in screen.splitlines() if line.split()[:1] == [label])
        expected = [str(cell["gold"]), *(f"{100 * cell[key]:.1f}" for key in ("precision", "recall", "f1"))]
        assert row.split()[1:5] == expected
    for kind in wording.ERRORS:
        row = next(line for line in screen.splitlines() if line.startswith(f"  {wording.OUTCOMES[kind]} "))
        assert f"+{100 * system['gains'][kind]['gain']:.1f}" in row
        assert f" {system['fair']['overall'][kind]} " in row
    for subset, cell in system["tough"].items():
        row = next(line for line in screen.splitlines() if line.startswith(f"  {wording.TOUGH[subset]}  "))
        assert f"{100 * cell['overall']['recall']:.1f}" in row


def test_errors_show_their_kinds() -> None:
    document = documents.result()
    screen = render_screen(document, width=100, color=False)
    fair = document["systems"]["crf"]["fair"]["overall"]
    assert f"too short {fair['BEs']} · too long {fair['BEl']}" in screen
    gold, predicted, number = document["systems"]["crf"]["confusion"]["pairs"]["LE"][0]
    assert f"{gold}→{predicted} {number}" in screen


def test_wrong_labels_are_distinguished_from_those_with_wrong_boundaries() -> None:
    from spanwise.evaluation import evaluate

    gold = [["B-PER", "O", "B-LOC", "I-LOC"], ["B-PER", "O", "O", "O"], ["B-LOC", "O", "O", "O"]]
    near = [["B-LOC", "O", "B-ORG", "O"], ["B-LOC", "O", "O", "O"], ["B-PER", "O", "O", "O"]]
    result = evaluate(gold, {"near": near}, resamples=0)
    pairs = result.to_dict()["systems"]["near"]["confusion"]["pairs"]
    assert pairs == {"LE": [["PER", "LOC", 2], ["LOC", "PER", 1]], "LBE": [["LOC", "ORG", 1]]}
    screen = result.to_text(width=80)
    assert "PER→LOC 2 · LOC→PER 1" in screen
    assert "LOC→ORG 1" in screen


def test_other_credits_are_shown_next_to_the_fair_one() -> None:
    cell = {"precision": 0.9, "recall": 0.8, "f1": 0.847}
    for names in ((), ("crf", "bert")):
        document = documents.result(*names)
        for system in document["systems"].values():
            system["credits"] = {"ortmann-eq7": {"overall": cell, "labels": {}}}
        screen = render_screen(document, width=100, color=False)
        assert "ortmann-eq7" in screen
        assert "84.7" in screen


def test_small_buckets_carry_a_mark_that_is_explained() -> None:
    document = documents.result(count=108)
    screen = render_screen(document, width=100, color=False)
    assert "  ~XL 4 or more  " in screen
    assert "~ fewer than 30 gold units" in screen
    assert "~ fewer" not in render_screen(documents.result(), width=100, color=False)


def test_files_repairs_and_leaks_are_shown() -> None:
    screen = render_screen(documents.result("crf", "bert"), width=100, color=False)
    assert "120 sentences · 2,040 tokens · 240 mentions · 4 labels · IOB2" in screen
    assert "! 7 impossible tags repaired (conlleval rule)" in screen
    assert "20.0% of gold mentions never seen in training" in screen
    assert "! 3 test sentences also in training" in screen
    assert "† few documents: intervals rest on 12 documents" in screen


def test_an_alignment_that_changed_something_is_shown() -> None:
    document = documents.result()
    document["inputs"][1]["alignment"] = {
        "how": "diff", "sentences": 120, "changed_sentences": 3, "changed_tokens": 5, "unplaced": 1,
    }  # fmt: skip
    screen = render_screen(document, width=120, color=False)
    assert "· aligned by diff · ! 5" in screen
    assert "! 5 tokens differ in 3 sentences" in screen
    assert "! 1 mention could not be placed, counted as spurious" in screen


def test_undefined_scores_are_na_and_never_zero() -> None:
    document = documents.result()
    cell = document["systems"]["crf"]["exact"]["labels"]["MISC"]
    cell.update(precision=None, f1=None, interval={})
    row = next(
        line
        for line in render_screen(document, width=100, color=False).splitlines()
        if line.split()[:1] == ["MISC"]
    )
    assert row.split()[:5] == ["MISC", "24", "n/a", "100.0", "n/a"]


def test_a_result_without_intervals_training_or_attributes_can_be_shown() -> None:
    document = documents.result()
    system = document["systems"]["crf"]
    document["settings"].update(resamples=0, few_units=False)
    for part in ("tough", "credits", "relaxed"):
        system.pop(part)
    system.update(attributes={}, slices=[])
    for cell in [system["exact"]["overall"], *system["exact"]["labels"].values()]:
        cell.pop("interval")
    for cell in system["gains"].values():
        cell.pop("interval")
    document["findings"] = []
    screen = render_screen(document, width=80, color=False)
    assert "95% CI" not in screen
    assert "Tough mentions" not in screen
    assert "By attribute" not in screen


def test_several_systems_are_listed_in_order_with_their_letters() -> None:
    screen = render_screen(documents.result("bert", "crf"), width=100, color=False)
    rows = [line.split() for line in screen.splitlines() if line.startswith(("  a  ", "  b  "))]
    assert [row[1] for row in rows] == ["bert", "crf"]
    assert "b" in rows[0][2:]
    assert "–" in rows[1]


def test_a_pair_is_swapped_so_that_the_better_system_comes_first() -> None:
    document = documents.result("crf", "bert")
    (comparison,) = document["comparisons"]
    comparison["systems"] = ["bert", "crf"]
    for row in comparison["scores"]:
        if row["difference"] is not None:
            low, high = row["interval"]
            row.update(difference=-row["difference"], interval=[-high, -low])
    screen = render_screen(document, width=100, color=False)
    assert screen == render_screen(documents.result("crf", "bert"), width=100, color=False)
    row = next(line for line in screen.splitlines() if line.startswith("  crf − bert"))
    assert row.split()[3] == "+1.9"


def test_differences_show_the_interval_p_and_the_detectable_difference() -> None:
    document = documents.result("crf", "bert")
    screen = render_screen(document, width=100, color=False)
    assert "paired randomisation over documents" in screen
    assert "2.1 or more" in screen
    test = next(
        row for row in document["comparisons"][0]["scores"] if row["path"] == ["exact", "labels", "LOC", "f1"]
    )
    row = next(line for line in screen.splitlines() if line.startswith("  LOC "))
    assert wording.signed(test["difference"]) in row
    assert row.endswith("*") == test["significant"]


def test_systems_with_different_attributes_are_shown_side_by_side() -> None:
    document = documents.result("crf", "bert")
    document["systems"]["crf"].pop("tough")
    document["systems"]["crf"]["attributes"] = {}
    document["notes"] = ["the results used different training data; what depends on it is not compared."]
    screen = render_screen(document, width=80, color=False)
    row = next(line for line in screen.splitlines() if line.startswith("  seen in training"))
    assert row.split()[3:6] == ["144", "n/a", "72.2"]
    assert " ! the results used different training data" in screen
    assert "entity length" in screen


def test_untested_systems_are_not_called_equal() -> None:
    document = documents.result("crf", "bert")
    for row in document["comparisons"][0]["scores"]:
        row.update(p=None, p_corrected=None, significant=False, interval=None)
    assert "Where they differ" not in render_screen(document, width=100, color=False)


def test_a_study_shows_every_analysis() -> None:
    screen = render_screen(study_documents.study(), width=100, color=False, detail="full")
    for title in ("Systems", "Differences", "By model", "By attribute", "Self-diagnosis",
                  "Comparative diagnosis", "Buckets", "Rank flips", "Tough mentions"):  # fmt: skip
        assert f"\n {title} " in screen
    assert "70.6 ±1.2" in screen
    assert "(+0.60 / 4.1)" in screen, (
        "greyed cells stand in brackets, so that they are told apart without colour"
    )
    assert " −0.80 / 14.9 " in screen
    assert "entity length XL (≥ 4)" in screen


def test_screens_of_several_systems_explain_the_buckets() -> None:
    screen = render_screen(documents.result("crf", "bert"), width=80, color=False, detail="full")
    assert "\n  token frequency  XS 0  S ≤ 0.001  L ≤ 0.01  XL above 0.01\n" in screen


def test_a_study_explains_the_buckets_of_each_dataset() -> None:
    document = copy.deepcopy(study_documents.study())
    line = "  entity length    XS 1  S 2  L 3  XL 4 or more"
    assert line in render_screen(document, width=80, color=False, detail="full").splitlines()
    first, *_ = document["datasets"].values()
    document["datasets"]["other"] = copy.deepcopy(first)
    for runs in document["datasets"]["other"]["runs"].values():
        for run in runs.values():
            run["attributes"]["entity_length"]["buckets"][3]["label"] = "≥ 9"
    screen = render_screen(document, width=80, color=False, detail="full").splitlines()
    assert any(re.search(r"entity length +news +XS 1 .* XL 4 or more", line) for line in screen)
    assert any(re.search(r"entity length +other +XS 1 .* XL ≥ 9", line) for line in screen)
    assert any(re.search(r"token frequency +all +XS 0", line) for line in screen)


def test_slices_of_the_same_mentions_are_listed_once_with_their_other_names() -> None:
    document = documents.result()
    system = document["systems"]["crf"]
    first = {**system["slices"][0], "kind": "tough", "attribute": None, "name": "UNSEEN-ANY", "cost": 0.3}
    again = {**first, "kind": "bucket", "attribute": "entity_length", "name": "XS", "cost": 0.2}
    system["slices"] = [first, {**again, "title": "entity_length = 1"}]
    assert "    also " not in render_screen(document, width=80, color=False)
    buckets = system["attributes"]["entity_length"]["buckets"]
    buckets[0]["outcomes"] = {"gold": system["tough"]["UNSEEN-ANY"]["outcomes"]}
    lines = render_screen(document, width=80, color=False).splitlines()
    at = lines.index("    also entity length = 1")
    assert lines[at - 1].startswith("  unseen with this label ") and not lines[at + 1]


def test_buckets_named_by_their_labels_are_not_explained() -> None:
    document = documents.result("crf", "bert")
    for system in document["systems"].values():
        for entry in system["attributes"].values():
            for bucket in entry["buckets"]:
                bucket["label"] = bucket["name"]
    assert "what its buckets hold" not in render_screen(document, width=80, color=False)


def test_a_study_gives_each_system_one_letter_for_all_datasets() -> None:
    document = study_documents.study(models=("x", "y"), names=("one", "two"))
    best = {"mean": 0.9, "std": None, "runs": 1, "letter": "a", "letters": "b"}
    second = {"mean": 0.8, "std": None, "runs": 1, "letter": "b", "letters": ""}
    document["analyses"]["holistic"] = {"x": {"one": best, "two": second}, "y": {"one": second, "two": best}}
    for name, difference in (("one", 0.1), ("two", -0.1)):
        document["datasets"][name]["comparisons"][0]["scores"][0]["difference"] = difference
    assert table(document, "holistic").to_markdown().splitlines()[2:4] == [
        "| a | x | **90.0**<sup>b</sup> | 80.0 |",
        "| b | y | 80.0 | **90.0**<sup>a</sup> |",
    ]


def test_a_description_shows_labels_shares_and_conflicts() -> None:
    document = documents.description()
    document["dataset"]["conflicts"] = {
        "labels": {
            "sequences": 1, "mentions": 6,
            "examples": [{"text": "Quito", "labels": {"LOC": 4, "ORG": 2}}],
        },
        "sentences": {
            "groups": 1,
            "examples": [[{"place": "a:1", "mentions": ""}, {"place": "b:7", "mentions": ""}]],
        },
    }  # fmt: skip
    screen = render_screen(document, width=80, color=False)
    assert "1 name with several labels, 6 mentions" in screen
    assert "Quito LOC 4 ORG 2" in screen
    assert "a:1 ≠ b:7" in screen
    assert next(line for line in screen.splitlines() if line.split()[:1] == ["PER"]).split()[1:3] == [
        "96",
        "40.0%",
    ]
    assert "left out: oov density (needs training data or a word list)" in screen


def hostile(node: Any) -> Any:
    """The document with every name and free text made hostile, in keys and values."""
    swap = {
        "crf": EVIL + "crf",
        "bert": EVIL + "bert",
        "PER": EVIL + "PER",
        "LOC": "=1+1\x1b]0;t\x07",
        "news": EVIL,
    }
    if isinstance(node, dict):
        return {swap.get(key, key): hostile(value) for key, value in node.items()}
    if isinstance(node, list):
        return [hostile(value) for value in node]
    if isinstance(node, str):
        return swap.get(node, EVIL if node in ("gold", "gold.conll", "crf.conll", SIGNATURE) else node)
    return node


@pytest.mark.parametrize("kind", MAKERS)
def test_hostile_names_stay_inert_and_within_the_width(kind: str) -> None:
    document = MAKERS[kind]()
    roles = [row["role"] for row in document["inputs"]]
    evil = hostile(document)
    for row, role in zip(evil["inputs"], roles, strict=True):
        row["role"] = role
    if "settings" in evil:
        evil["settings"]["focus"] = "gold"
    screen = render_screen(evil, width=80, color=False)
    assert widest(screen) <= 80
    assert not set(screen) & set("\x1b\x07\r\t\x9b\u202e\u200b")
    assert "[red]x[/red]" in screen, "markup is text"
    painted = render_screen(evil, width=80, color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == screen


def test_pairs_of_wide_characters_and_emoji_keep_the_columns() -> None:
    document = documents.result("系统一号", "👩‍🚀-model")
    assert widest(render_screen(document, width=80, color=False)) <= 80


def test_the_signature_is_never_cut() -> None:
    document = documents.result()
    document["signature"] = "|".join(f"setting{number}:{'x' * number}" for number in range(60))
    screen = render_screen(document, width=80, color=False)
    tail = screen[screen.rindex(" setting0:") :]
    assert "".join(line[1:] for line in tail.splitlines()) == document["signature"]


def test_the_signature_leaves_out_defaults() -> None:
    document = documents.result()
    document["signature"] = "spanwise|v:0.3.0|match:exact+fair|focus:predicted|seed:0|gold:3d30d341"
    screen = render_screen(document, width=80, color=False)
    assert screen.rstrip("\n").endswith(" spanwise|v:0.3.0|focus:predicted|gold:3d30d341")
    assert "seed:0" not in screen
    long = render_screen(document, width=80, color=False, signature="long")
    assert long.rstrip("\n").endswith(f" {document['signature']}")


def test_long_names_are_shortened_in_the_middle_and_columns_are_headed_by_letters() -> None:
    names = [f"bert-base-multilingual-cased-finetuned-on-news-seed-{seed}" for seed in range(1, 4)]
    screen = render_screen(documents.result(*names), width=80, color=False)
    rows = [line for line in screen.splitlines() if line.startswith(("  a  ", "  b  ", "  c  "))]
    assert len(rows) >= 3 and all(f"seed-{seed}" in "".join(rows) for seed in range(1, 4))
    heads = next(line for line in screen.splitlines() if line.startswith("  kind"))
    assert heads.split() == ["kind", "a", "b", "c"]


def test_saved_files_and_suggested_commands_are_shown() -> None:
    document = documents.result()
    screen = render_screen(document, width=100, color=False, saved=["run.json", "run.html"])
    assert "saved run.json · run.html" in screen
    assert "spanwise report" not in screen and "spanwise table run.json labels" in screen
    saved = render_screen(document, width=100, color=False, saved=["run.json"])
    assert "spanwise report run.json -o report.html" in saved
    assert "spanwise errors gold.conll crf.conll --kind 'wrong boundary'" in screen
    shown = next(line for line in screen.splitlines() if "spanwise errors" in line)
    assert shown.endswith(" errors")


def test_paths_in_commands_are_quoted_for_the_shell() -> None:
    document = documents.result()
    document["inputs"][0]["path"] = "my files/$(rm -rf)/gold.conll"
    assert "'my files/$(rm -rf)/gold.conll'" in render_screen(document, width=120, color=False)


def test_without_a_command_no_further_commands_are_suggested() -> None:
    document = documents.result()
    document["settings"]["command"] = None
    assert "Next" not in render_screen(document, width=100, color=False)


def test_colour_follows_the_terminal_and_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", type("Tty", (), {"isatty": lambda self: True})())
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    document = documents.result()
    assert "\x1b[" in render_screen(document, width=80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in render_screen(document, width=80)


@pytest.mark.parametrize(
    ("choice", "variables", "tty", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_one_rule_decides_on_colour(
    choice: Literal["auto", "always", "never"],
    variables: dict[str, str],
    tty: bool,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", type("Stream", (), {"isatty": lambda self: tty})())
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert wants_color(choice) is expected


def test_the_width_is_as_requested_or_columns_or_eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", type("Pipe", (), {"isatty": lambda self: False})())
    monkeypatch.delenv("COLUMNS", raising=False)
    assert screen_width() == 80
    assert screen_width(100) == 100
    monkeypatch.setenv("COLUMNS", "132")
    assert screen_width() == 132 and screen_width(terminal=True) == 132 and screen_width(100) == 100
    for odd in ("", "0", "wide", "-3"):
        monkeypatch.setenv("COLUMNS", odd)
        assert screen_width() == 80
    monkeypatch.setenv("COLUMNS", "7")
    assert screen_width() == 40


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.text(max_size=30))
def test_visible_text_is_one_line_without_hidden_characters(text: str) -> None:
    shown = wording.visible(text)
    assert len(shown.splitlines()) <= 1
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
    assert wording.visible(shown) == shown
    shown.encode("utf-8")


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=60)), min_size=1, max_size=4),
    st.integers(min_value=10, max_value=60),
)
def test_a_grid_never_exceeds_its_width(rows: list[tuple[str, str]], width: int) -> None:
    columns = [_layout.Column("name", least=6), _layout.Column("more", right=True, rank=1)]
    for line in _layout.grid(columns, [list(row) for row in rows], width):
        assert _layout.size(line) <= width


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(8, 44))
def test_a_strip_has_one_dot_within_its_width(values: list[float], width: int) -> None:
    scale = _layout.Scale.around(values)
    assert _layout.size(scale.axis(width)) <= width
    for value in values:
        line = scale.strip(value, [value, value], mark=values[0])(width)
        assert _layout.size(line) == width
        assert "".join(piece for piece, _ in line).count("●") == 1


@pytest.mark.parametrize("values", [[1.0], [0.0], [0.999, 1.0], [0.9], [0.4, 0.45]])
def test_no_scale_exceeds_a_hundred_points(values: list[float]) -> None:
    scale = _layout.Scale.around(values)
    assert 0 <= scale.low < scale.high <= 1
    assert scale.low <= min(values) and max(values) <= scale.high


def test_a_value_off_the_scale_is_marked_with_an_arrow() -> None:
    line = _layout.Scale(0.7, 1.0).strip(0.1, None)(10)
    assert "".join(piece for piece, _ in line) == "‹" + " " * 9


def test_findings_become_sentences() -> None:
    lead = Finding(
        kind="lead", system="bert", other="crf", overall=0.041, p=0.0002, significant=True, value=0.165,
        score="f1", count=None, filter={}, path=("exact", "labels", "DATE", "f1"),
        loses=("tough", "SEEN", "overall", "recall"),
    )  # fmt: skip
    assert wording.finding(lead) == (
        "bert is better than crf: 4.1 F1, p < 0.001; significantly so on label DATE, +16.5 F1; "
        "crf is better on mentions seen in training."
    )
    chance = replace(lead, significant=False, p=0.28)
    assert wording.finding(chance) == "bert and crf cannot be told apart: bert is ahead by 4.1 F1, p = 0.28."
    data = Finding(
        kind="data", system=None, score=None, value=3, count=None, path=(), filter={},
        of={"repairs": 1, "unplaced": 2}, few_units=12,
    )  # fmt: skip
    assert wording.finding(data) == (
        "check the data: 1 impossible tag repaired, 2 predicted mentions without a place, "
        "only 12 units, so intervals are unreliable."
    )
    findings = convert(documents.result()["findings"], list[Finding])
    assert wording.finding(findings[0]) == "wrong boundaries cost crf the most: 12.6 F1 in 30 errors."
    assert wording.finding(findings[2]) == (
        "mentions unseen with their label are hard for crf: "
        "recall 77.1, against 68.1 on seen ones (96 mentions)."
    )


def test_real_results_fit_the_screen(data: Path) -> None:
    from spanwise.evaluation import evaluate

    folder = data / "masakhaner" / "ewe"
    systems = {name: folder / "predictions" / f"{name}.1.txt" for name in ("mbert", "rembert")}
    result = evaluate(folder / "test.txt", systems, train=folder / "train.txt", resamples=50)
    for width in (80, 100, 140):
        assert widest(terminal.render(result.to_dict(), width=width, color=False)) <= width
    screen = result.to_text(width=100)
    assert "rembert − mbert" in screen
    assert "89.3" in screen
