"""Leaks from files: identities, parts, limits, real data, and what the reports show."""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parts import small_parts
from typed import present

import spanwise
from spanwise.cli.main import main
from spanwise.counts import Counts
from spanwise.document.leaks import Leaks
from spanwise.document.loading import load
from spanwise.errors import ChoiceError
from spanwise.intervals import jackknife, wilson
from spanwise.leakage import check_limits
from spanwise.reports.outlets import flat, rows
from spanwise.scores import Measure, MeasureKey
from spanwise.student import t_quantile
from spanwise.views import leaks, view
from spanwise.views.cells import Grid, Paragraphs, text_of

EVIL = "<script>alert(1)</script>"


def records(seed: int, wrong: float) -> list[dict[str, Any]]:
    """Forty documents of one to three texts, with names that recur; a share of the mentions is cut short."""
    draw, listed = random.Random(7), []
    noise = random.Random(seed)
    for document in range(40):
        for _ in range(draw.randint(1, 3)):
            text, spans = "", []
            for _ in range(draw.randint(1, 6)):
                text += draw.choice(["the ", "on ", "met  "])
                name, label = draw.choice([("Ann Lee", "PER"), ("Rose", "PER"), ("Leeds", "LOC")])
                begin, end = len(text), len(text) + len(name)
                text += name + " "
                if noise.random() < wrong:
                    if noise.random() < 0.5:
                        continue
                    end -= 2
                spans.append({"start": begin, "end": end, "label": label, "who": f"{name[:3]}"})
            listed.append({"document": f"d{document}", "text": text, "spans": spans})
    return listed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaks")
    for name, wrong in (("gold", 0.0), ("a", 0.1), ("b", 0.3)):
        lines = map(json.dumps, records(len(name) + int(100 * wrong), wrong))
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return folder


def found(folder: Path, **options: Any) -> Leaks:
    systems = {name: folder / f"{name}.jsonl" for name in ("a", "b")}
    return spanwise.leaks(folder / "gold.jsonl", systems, **options)


def test_identities_come_from_a_key_of_spans(folder: Path) -> None:
    within, across = (
        found(folder, identity="who", identity_across=way).systems["a"] for way in (False, True)
    )
    documents: set[tuple[str, str]] = set()
    for record in records(0, 0.0):
        documents |= {(record["document"], span["who"]) for span in record["spans"]}
    assert within.overall.identities == len(documents)
    assert across.overall.identities == 3
    assert across.labels["LOC"].identities == 1
    assert present(within.overall.identity_leak_rate) >= present(within.overall.leak_rate)


def test_identities_come_from_a_column(tmp_path: Path) -> None:
    (tmp_path / "gold.conll").write_text("Ann p1 B-PER\nLee p1 I-PER\nmet _ O\nBen _ B-PER\n\nAnn p1 B-PER\n")
    (tmp_path / "a.conll").write_text("Ann B-PER\nLee I-PER\nmet O\nBen O\n\nAnn O\n")
    gold, system = tmp_path / "gold.conll", {"a": tmp_path / "a.conll"}
    apart = spanwise.leaks(gold, system, identity=1, resamples=0)
    assert apart.without_identity == 1
    assert any("1 gold mention without an identity is left out" in note for note in apart.notes)
    cell = apart.systems["a"].overall  # each sentence stands for a document
    assert (cell.identities, cell.identities_leaking) == (2, 1)
    one = spanwise.leaks(gold, system, identity=1, identity_across=True, resamples=0).systems["a"].overall
    assert (one.identities, one.identities_leaking) == (1, 1)


def test_identities_in_memory() -> None:
    gold = [
        [{"start": 0, "end": 1, "label": "PER", "who": 7}, {"start": 2, "end": 3, "label": "PER", "who": 7}]
    ]
    cell = spanwise.leaks(gold, {"a": [[(0, 1, "X")]]}, identity="who", resamples=0).systems["a"].overall
    assert (cell.identities, cell.identities_leaking, cell.leak_rate) == (1, 1, 0.5)


@pytest.mark.parametrize("where", [{"memory": "1GB"}, {"memory": "1GB", "workers": 2}])
def test_parts_give_the_same_document(
    folder: Path, where: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {
        "identity": "who", "identity_across": True, "train": folder / "gold.jsonl",
        "attributes": "entity_length,label", "resamples": 100,
    }  # fmt: skip
    whole = found(folder, **options)
    small_parts(monkeypatch, tokens=40)
    monkeypatch.setattr("spanwise.evaluation.choices.BYTES_PER_BYTE", 1 << 40)
    parts = found(folder, **options, **where)
    assert parts.to_json() == whole.to_json()
    assert whole.systems["a"].buckets["label"]["LOC"].leak_rate == whole.systems["a"].labels["LOC"].leak_rate
    assert whole.systems["a"].tough["SEEN"].mentions == whole.systems["a"].overall.mentions


def test_the_unit_moves_intervals_but_no_rate(folder: Path) -> None:
    documents, sentences, blocks = (found(folder, unit=unit) for unit in (None, "sentence", "block:5"))
    cells = [one.systems["b"].overall for one in (documents, sentences, blocks)]
    assert documents.settings.unit == "document"
    assert {cell.document_leak_rate for cell in cells} == {cells[0].document_leak_rate}
    assert len({cell.ends("leak_rate") for cell in cells}) == 3


def test_where_nothing_leaks_the_interval_is_that_of_wilson(folder: Path) -> None:
    result = spanwise.leaks(folder / "gold.jsonl", {"gold": folder / "gold.jsonl"})
    cell = result.systems["gold"].overall
    assert (cell.leak_rate, cell.leaked_share, cell.over_masking, cell.lost_text) == (0, 0, 0, 0)
    upper = {}
    for rate, size in (
        ("leak_rate", cell.mentions), ("leaked_share", cell.mentions), ("document_leak_rate", cell.documents),
        ("over_masking", present(cell.spans)), ("lost_text", cell.documents),
    ):  # fmt: skip
        low, upper[rate] = present(cell.ends(rate))
        # The number of documents bounds the degrees of freedom, and with them t, from above.
        assert low == 0
        assert present(upper[rate]) >= float(wilson(0.0, size, t_quantile(39.0, 0.95))[1]) - 1e-12
    assert present(upper["lost_text"]) > present(upper["leak_rate"])
    text = result.to_text(width=110)
    assert f"0 of {cell.mentions}" in text
    assert f"at most {leaks.percent(upper['leak_rate'])}" in text


def test_the_leak_rate_has_the_interval_of_recall_over_hidden_mentions(folder: Path) -> None:
    """With the mentions that are hidden as those that are found, recall is 1 − leak rate."""
    gold, mine = records(0, 0.0), records(11, 0.1)
    table: dict[str, list[int]] = {}
    for record, other in zip(gold, mine, strict=True):
        masked = {at for span in other["spans"] for at in range(span["start"], span["end"])}
        row = table.setdefault(record["document"], [0, 0])
        for span in record["spans"]:
            wanted = {at for at in range(span["start"], span["end"]) if record["text"][at] != " "}
            row[0] += 1
            row[1] += wanted <= masked
    counts = Counts.of_matrix(["all"], ["mentions", "correct"], np.array(list(table.values())))
    recall = jackknife(Measure(MeasureKey("tough"), counts, "recall", (("all",),)))["recall"]
    low, high = recall.interval()[0]
    cell = found(folder).systems["a"].overall
    assert 1 - present(cell.leak_rate) == pytest.approx(float(recall.value[0]))
    assert cell.ends("leak_rate") == pytest.approx((1 - high, 1 - low))


def test_slices_over_hidden_say_which_names_leak(folder: Path) -> None:
    """1 − the loss over hidden is the share of hidden mentions, of each slice and overall."""
    systems = {name: folder / f"{name}.jsonl" for name in ("a", "b")}
    options: dict[str, Any] = {"attributes": "label,entity_length", "flips": 200, "least": 20, "depth": 1}
    searched = spanwise.find_slices(folder / "gold.jsonl", systems, over="hidden", **options)
    leaky = found(folder, attributes="entity_length", resamples=0)
    for name in systems:
        overall = leaky.systems[name].overall
        assert searched.systems[name].overall.units == overall.mentions
        assert searched.systems[name].overall.loss == pytest.approx(overall.leak_rate)
        cells = {**leaky.systems[name].labels, **leaky.systems[name].buckets["entity_length"]}
        for row in searched.systems[name].slices:
            if row.after == 0:
                cell = cells[row.conditions[0].value]
                assert row.units == cell.mentions
                assert row.loss == pytest.approx(cell.leak_rate)
    difference = present(searched.comparison[0].overall["difference"])
    first, second = (leaky.systems[name].overall.leak_rate for name in ("a", "b"))
    assert difference == pytest.approx(present(first) - present(second))
    assert "hidden" in searched.to_text()


def test_runs_of_a_system_have_means_and_are_tested_together(folder: Path, tmp_path: Path) -> None:
    for run, wrong in enumerate((0.1, 0.15, 0.2), start=1):
        for name, more in (("a", 0.0), ("b", 0.25)):
            lines = map(json.dumps, records(run, wrong + more))
            (tmp_path / f"{name}.{run}.jsonl").write_text("\n".join(lines))
    systems = {name: str(tmp_path / f"{name}.{{run}}.jsonl") for name in ("a", "b")}
    result = spanwise.leaks(folder / "gold.jsonl", systems)
    assert list(result.systems) == ["a.1", "a.2", "a.3", "b.1", "b.2", "b.3"]
    alone = [
        spanwise.leaks(folder / "gold.jsonl", {"a": tmp_path / f"a.{run}.jsonl"}, resamples=0)
        for run in (1, 2, 3)
    ]
    own = present(result.runs)["a"]
    rates = [present(one.systems["a"].overall.leak_rate) for one in alone]
    assert own.systems == ("a.1", "a.2", "a.3")
    assert own.mean["leak_rate"] == pytest.approx(np.mean(rates))
    assert own.std["leak_rate"] == pytest.approx(np.std(rates, ddof=1))
    (comparison,) = result.comparisons
    assert comparison.systems == ("a", "b")
    test = present(comparison.score(("overall", "leak_rate")))
    others = present(result.runs)["b"].mean["leak_rate"]
    assert test.difference == pytest.approx(present(own.mean["leak_rate"]) - present(others))
    assert present(test.p_corrected) < 0.05
    text = result.to_text(width=120)
    assert "Over runs" in text
    said = " ".join(text.split())
    assert re.search(r"a is better than b by \d+\.\d points \(leak rate\) \[\d+\.\d, \d+\.\d\]", said)
    assert f"t-test over 3 runs and {test.units} documents, p " in said
    detail = text.partition("What stays readable")[2].partition(" Data ")[0]
    assert "the first run of each system" in detail
    assert all(name in detail for name in ("a.1", "b.1")) and "a.2" not in detail
    assert "Over runs" in result.to_html()
    result.to_json(tmp_path / "leaks.json")
    loaded = load(tmp_path / "leaks.json")
    assert isinstance(loaded, Leaks)
    assert loaded.runs == result.runs
    # A single run against several: units are shuffled, and the test has a p-value.
    mixed = spanwise.leaks(folder / "gold.jsonl", {"a": systems["a"], "b": tmp_path / "b.1.jsonl"})
    assert mixed.comparisons[0].runs == (3, 1)
    assert present(mixed.comparisons[0].score(("overall", "leak_rate"))).p is not None
    said = " ".join(mixed.to_text(width=120).split())
    assert "of the single run of b, whose training seed is not considered, and the 3 runs of a" in said


def test_limits_are_held_against_rates_or_upper_ends(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = found(folder)
    rate = 100 * present(result.systems["a"].labels["PER"].leak_rate)
    upper = 100 * present(present(result.systems["a"].labels["PER"].ends("leak_rate"))[1])
    between = (rate + upper) / 2
    assert check_limits(result, {"PER": between})[0].passed
    assert not check_limits(result, {"PER": between}, bound=True)[0].passed
    assert check_limits(result, {"PER": rate})[0].passed  # at most
    call = ["leaks", str(folder / "gold.jsonl"), f"a={folder / 'a.jsonl'}", "--quiet"]
    assert main([*call, "--max-leak", f"PER={between}", "--max-leak", "100"]) == 0
    assert capsys.readouterr().err.count("held: a: leak rate") == 2
    assert main([*call, "--max-leak", f"PER={between}", "--floor-bound"]) == 1
    assert "missed: a: upper end of the leak rate of PER" in capsys.readouterr().err
    assert main([*call, "--max-leak", "overall=100"]) == 0
    assert "held: a: leak rate 10.95, at most 100 allowed" in capsys.readouterr().err
    (folder / "gate.toml").write_text(f"fail_under = 50\n[leak]\nPER = {between}\noverall = 0\n")
    assert main([*call, "--gate", str(folder / "gate.toml")]) == 1
    (folder / "gate.toml").write_text(f"fail_under = 50\n[leak]\nPER = {between}\n")
    assert main([*call, "--gate", str(folder / "gate.toml")]) == 0
    assert main([*call, "--gate", str(folder / "gate.toml"), "--max-leak", "PER=0"]) == 1
    assert main(["evaluate", *call[1:], "--gate", str(folder / "gate.toml")]) == 0
    with pytest.raises(ChoiceError, match=r"no label in gold is called 'PERS'\. Did you mean 'PER'"):
        check_limits(result, {"PERS": 1.0})


def test_labels_that_gold_lacks_hide_nothing_if_labels_count() -> None:
    gold, mine = [["B-LOC", "O"]] * 3, {"a": [["B-place", "O"]] * 3}
    note = "Predictions of a with labels that gold lacks hide nothing: place."
    assert note in spanwise.leaks(gold, mine, resamples=0, same_label=True).notes
    assert note not in spanwise.leaks(gold, mine, resamples=0).notes
    mapped = spanwise.leaks(gold, mine, resamples=0, same_label=True, map={"place": "LOC"})
    assert mapped.systems["a"].overall.leak_rate == 0 and note not in mapped.notes


def test_positions_without_text_have_no_lost_text() -> None:
    result = spanwise.leaks([[(0, 2, "PER")], []], {"a": [[(1, 4, "PER")], [(3, 4, "LOC")]]}, resamples=0)
    cell = result.systems["a"].overall
    assert (cell.leaked, cell.masked, cell.outside, cell.text, cell.lost_text) == (1, 4, 3, None, None)
    assert "no text" in str(cell.why)
    assert any("Lost text is not computed" in note for note in result.notes)


def test_recall_says_less_than_leaks_on_masakhaner(data: Path) -> None:
    """Recall is 85 to 92, while 91 to 96 % of mentions are wholly masked and 9 to 20 % of sentences leak."""
    recalls, hidden, sentences = [], [], []
    for language in ("ewe", "kin", "pcm"):
        folder = data / "masakhaner" / language
        systems = {path.name.split(".")[0]: path for path in folder.glob("predictions/*.1.txt")}
        result = spanwise.leaks(folder / "test.txt", systems, resamples=0)
        exact = spanwise.evaluate(folder / "test.txt", systems, resamples=0, attributes="none")
        for name, system in result.systems.items():
            cell = system.overall
            assert cell.mentions == exact[name].exact.overall.gold
            recalls.append(round(100 * present(exact[name].exact.overall.recall)))
            hidden.append(round(100 * (1 - present(cell.leak_rate))))
            sentences.append(round(100 * present(cell.document_leak_rate)))
    assert (min(recalls), max(recalls)) == (85, 92)
    assert (min(hidden), max(hidden)) == (91, 96)
    assert (min(sentences), max(sentences)) == (9, 20)


def test_real_tags_leak_where_a_loop_over_lines_says(data: Path) -> None:
    """The tags of gold are IOB2 throughout, and any predicted tag but O masks its token."""
    folder = data / "masakhaner" / "ewe"
    gold, mine = (
        [line.split() for line in (folder / name).read_text(encoding="utf-8").split("\n")]
        for name in ("test.txt", "predictions/mbert.1.txt")
    )
    mentions: list[list[bool]] = []
    leaked = needless = masked = 0
    for row, other in zip(gold, mine, strict=False):
        if not row:
            continue
        covered = other[-1] != "O"
        masked += covered
        if row[-1] == "O":
            needless += covered
            continue
        if row[-1].startswith("B-"):
            mentions.append([])
        mentions[-1].append(covered)
        leaked += not covered
    cell = spanwise.leaks(folder / "test.txt", {"a": folder / "predictions" / "mbert.1.txt"}, resamples=0)
    own = cell.systems["a"].overall
    assert own.mentions == len(mentions) == 2344
    assert own.hidden == sum(map(all, mentions))
    assert own.exposed == sum(not any(one) for one in mentions)
    assert (own.leaked, own.masked, own.outside) == (leaked, masked, needless)


def test_the_cards_say_which_mentions_leak_what_is_masked_without_need_and_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = f"spanwise leaks {folder / 'gold.jsonl'} {folder / 'a.jsonl'} {folder / 'b.jsonl'}"
    found_here = found(folder, train=folder / "gold.jsonl", attributes="entity_length", command=call)
    shown = view(found_here)
    screen, page = ({one.name: one for one in shown.on(where)} for where in ("screen", "page"))
    for name in ("which", "price", "tasks"):
        assert screen[name].blocks == page[name].blocks
    grids = [block for block in page["which"].blocks if isinstance(block, Grid)]
    for system, grid in zip(found_here.systems.values(), grids, strict=True):
        *parts, (*_, all_counts, all_rate, _) = grid.rows
        assert (all_counts, text_of(all_rate)) == (
            f"{system.overall.leaks} of {system.overall.mentions}", leaks.percent(system.overall.leak_rate),
        )  # fmt: skip
        every = [*system.labels.values(), *system.tough.values()]
        every += [cell for cells in system.buckets.values() for cell in cells.values()]
        more = [one for one in every if present(one.leak_rate) > present(system.overall.leak_rate)]
        more.sort(key=lambda one: (-present(present(one.ends("leak_rate"))[0]), -one.mentions))
        assert [row[2] for row in parts] == [f"{one.leaks} of {one.mentions}" for one in more[: len(parts)]]
        assert parts and len(parts) == min(len(more), 5)
    commands = [
        str(block.texts[0])
        for block in page["tasks"].blocks
        if isinstance(block, Paragraphs) and block.style == "command"
    ]
    assert [command.split()[1] for command in commands] == ["errors", "errors", "slices", "leaks"]
    for command in commands:  # about the system that leaks less; its own limit holds
        assert "b.jsonl" not in command
        assert main(shlex.split(command)[1:]) == 0
    assert "held: a: upper end of the leak rate" in capsys.readouterr().err
    without = found(folder, resamples=0)
    assert "What to do" in without.to_text(width=100)
    assert "--max-leak" not in without.to_text(width=100)


def test_text_that_is_masked_without_need_is_named_unless_it_is_redacted() -> None:
    gold = [{"tokens": ["May", "met", "Ann", "in", "May"], "tags": ["O", "O", "B-PER", "O", "O"]}] * 8
    mine = [{"tokens": ["May", "met", "Ann", "in", "May"], "tags": ["B-PER", "O", "O", "O", "B-PER"]}] * 8
    said = "In the first 8 sentences that mine leaks in, it masks without need: May (PER) 16 times."
    shown, redacted = (spanwise.leaks(gold, {"mine": mine}, redact=way) for way in (False, True))
    assert said in shown.to_text(width=120)
    assert "16 of 16 masked tokens are harmless, 100 %." in shown.to_text(width=120)
    assert "May (PER)" in re.sub("<[^>]*>", "", shown.to_html())
    assert "May" not in redacted.to_text(width=120) + re.sub("<style.*?</style>", "", redacted.to_html())
    assert "Ann" not in redacted.to_text(width=120)
    by_label = spanwise.leaks(gold, {"mine": mine}, same_label=True).to_text(width=120)
    assert "Find more mentions" in by_label and "Find out which mentions leak" not in by_label
    empty = spanwise.leaks(gold, {"mine": gold}, resamples=0).to_text()
    assert "Which mentions leak" not in empty and "What to do" not in empty


def test_the_reports_show_text_as_text_and_redacted_ones_show_none(tmp_path: Path) -> None:
    gold = [{"text": f"{EVIL} met Ann Lee", "spans": [{"start": 30, "end": 37, "label": EVIL}]}]
    mine = [{"text": f"{EVIL} met Ann Lee", "spans": [{"start": 30, "end": 33, "label": EVIL}]}]
    for name, content in (("gold", gold), ("mine", mine)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, content)))
    call = ["leaks", str(tmp_path / "gold.jsonl"), f"{EVIL}={tmp_path / 'mine.jsonl'}", "--quiet"]
    assert main([*call, "--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")]) == 0
    result = load(tmp_path / "r.json")
    assert isinstance(result, Leaks)
    (sentence,) = result.systems[EVIL].sentences
    assert [(piece.state, piece.text) for piece in sentence.pieces] == [
        ("plain", f"{EVIL} met "), ("masked", "Ann"), ("plain", " "), ("readable", "Lee"),
    ]  # fmt: skip
    page = (tmp_path / "r.html").read_text()
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    assert set(result.tables()) == {"leaks"}
    assert flat(result)[f"label/{EVIL}/leak_rate"] == 1
    assert {row["score"] for row in rows(result)} >= {"leak_rate", "lost_text"}
    assert (
        main([*call, "--redact", "--json", str(tmp_path / "x.json"), "--html", str(tmp_path / "x.html")]) == 0
    )
    for name in ("x.json", "x.html"):
        assert "Lee" not in (tmp_path / name).read_text()
