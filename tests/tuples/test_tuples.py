"""Scores of tuples from records and files: hand-computed examples, laws, parts, limits, and what is shown."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

import spanwise
from spanwise.cli.main import main
from spanwise.demo.tuples import generate_tuples
from spanwise.document.loading import load
from spanwise.document.tuples import Tuples
from spanwise.engines import Processes
from spanwise.errors import ChoiceError, InputError
from spanwise.relations import _parts, check_floors
from spanwise.reports.html.arcs import arc_quote
from spanwise.reports.outlets import flat, rows
from spanwise.views import view
from spanwise.views.cells import COMMAND, ArcQuote, Grid, Paragraphs, text_of

Record = dict[str, Any]


def mention(name: str, start: int, end: int, label: str = "X") -> Record:
    return {"id": name, "start": start, "end": end, "label": label}


def relation(kind: str, head: str, tail: str) -> Record:
    return {"type": kind, "roles": {"head": head, "tail": tail}}


TOKENS = ["Ida", "Fenwick", "runs", "Marrow", "&", "Sons", "in", "Port", "Denby"]
MENTIONS = [mention("a", 0, 2, "PER"), mention("b", 3, 6, "ORG"), mention("c", 7, 9, "LOC")]
GOLD: Record = {
    "id": "1", "tokens": TOKENS, "mentions": MENTIONS,
    "tuples": [relation("leads", "a", "b"), relation("based_in", "b", "c"), relation("born_in", "a", "c")],
}  # fmt: skip
# "leads" is right; "based_in" has the wrong boundary of Port Denby and another label.
PREDICTED: Record = {
    "id": "1", "tokens": TOKENS, "mentions": [*MENTIONS[:2], mention("c", 8, 9, "ORG")],
    "tuples": [relation("leads", "a", "b"), relation("based_in", "b", "c"), relation("lives_in", "a", "b")],
}  # fmt: skip


def scored(gold: list[Record], predicted: list[Record], **options: Any) -> Any:
    return spanwise.tuples(gold, {"mine": predicted}, **{"resamples": 0, **options})


def test_criteria_outcomes_and_gains_of_a_sentence_by_hand() -> None:
    document = scored([GOLD], [PREDICTED])
    mine = document.systems["mine"]
    correct = {name: scores.overall.correct for name, scores in mine.criteria.items()}
    assert correct == {"strict": 1, "boundaries": 1, "head": 2, "overlap": 2, "type": 2}
    assert mine.criteria["head"].overall.f1 == 2 / 3
    # Types: leads 1, based_in 0, born_in 0 (missed), lives_in 0 (spurious); all four are defined.
    assert mine.criteria["strict"].macro.f1 == 1 / 4
    assert mine.outcomes.gold == {"right": 1, "type": 0, "filler": 1, "mention missed": 1, "missed": 0}
    assert mine.outcomes.predicted == {"right": 1, "type": 0, "filler": 1, "spurious": 1}
    assert mine.outcomes.roles == {"tail": 1}
    # 2(TP + a + b) / (n + m + b − c) − F1, with F1 = 2·1/6.
    assert mine.gains["filler"].gain == pytest.approx(2 * 2 / 6 - 1 / 3)
    assert mine.gains["mention missed"].gain == pytest.approx(2 * 2 / 7 - 1 / 3)
    assert mine.gains["spurious"].gain == pytest.approx(2 * 1 / 5 - 1 / 3)
    assert (mine.mentions.correct, mine.mentions.gold) == (2, 3)


def test_undirected_types_ignore_the_order_of_fillers() -> None:
    turned = {**GOLD, "tuples": [relation("leads", "b", "a")]}
    gold = {**GOLD, "tuples": [relation("leads", "a", "b"), relation("leads", "b", "a")]}
    assert scored([gold], [turned]).systems["mine"].criteria["strict"].overall.gold == 2
    found = scored([gold], [turned], undirected="leads")
    assert found.duplicates == 1  # of gold: the same pair in both orders
    assert found.systems["mine"].criteria["strict"].overall.f1 == 1
    assert any("dropped: 1 of gold" in note for note in found.notes)


def test_the_four_scores_of_events_by_hand() -> None:
    def unit(kind: str, trigger: str, **roles: list[str]) -> Record:
        return {**GOLD, "tuples": [{"type": kind, "trigger": trigger, "roles": roles}]}

    # The trigger span is right and its type is not, so no argument is: it counts with its trigger's type.
    events = scored([unit("Hire", "b", who=["a"])], [unit("Fire", "b", who=["a"])]).systems["mine"].events
    assert [events[name].correct for name in events] == [1, 0, 0, 0]
    # The type is right, on another trigger; one argument has another role.
    pair = [unit("Hire", "b", who=["a"], where=["c"])], [unit("Hire", "a", who=["a"], by=["c"])]
    events = scored(*pair).systems["mine"].events
    assert [events[name].correct for name in events] == [0, 0, 2, 1]
    events = scored(*pair, with_trigger=True).systems["mine"].events
    assert [events[name].correct for name in events] == [0, 0, 0, 0]


def test_an_event_with_very_many_arguments_is_scored_without_comparing_all_of_them() -> None:
    number = 5000
    mentions = [mention(f"m{at}", at, at + 1) for at in range(number)]
    unit: Record = {"tokens": ["w"] * number, "mentions": mentions}

    def event(first: int) -> Record:
        names = [one["id"] for one in mentions[first:]]
        return {**unit, "tuples": [{"type": "Meet", "trigger": "m0", "roles": {"who": names}}]}

    events = scored([event(1)], [event(2)]).systems["mine"].events
    counts = [(one.gold, one.predicted, one.correct) for one in events.values()]
    assert counts == [(1, 1, 1), (1, 1, 1), *2 * [(number - 1, number - 2, number - 2)]]


def test_links_and_values_by_hand() -> None:
    def unit(*tuples: Record, mentions: list[Record] = MENTIONS) -> Record:
        return {**GOLD, "mentions": mentions, "tuples": list(tuples)}

    def link(name: str, *ids: str) -> Record:
        return {"type": "link", "roles": {"mention": name, "link": {"link": list(ids)}}}

    def negation(name: str, value: str) -> Record:
        return {"type": "negation", "roles": {"mention": name, "value": {"value": value}}}

    gold = unit(
        link("a", "Q1", "Q7"), link("b", "NIL"), link("c", "Q3"), negation("a", "yes"), negation("b", "no")
    )
    other = unit(
        link("a", "Q7"), link("b", "Q2"), negation("a", "yes"), negation("b", "yes"), mentions=MENTIONS[:2]
    )
    mine = scored([gold], [other]).systems["mine"]
    strict, found = mine.links.strict, mine.links.found
    assert (strict.correct, strict.gold, strict.predicted) == (1, 3, 2)
    assert (found.mentions, found.right, found.accuracy) == (2, 1, 0.5)
    yes, no = mine.values["negation"]["yes"], mine.values["negation"]["no"]
    assert (yes.gold, yes.predicted, yes.correct) == (1, 2, 1)
    assert (no.gold, no.predicted, no.correct) == (1, 0, 0)


def test_seen_facts_and_ign_f1_by_hand() -> None:
    train = [{**GOLD, "tuples": [relation("leads", "a", "b")]}]
    right = {**GOLD, "tuples": GOLD["tuples"][:2]}
    seen = scored([GOLD], [right], train=train).systems["mine"].seen
    assert (seen.SEEN.tuples, seen.SEEN.recall) == (1, 1)
    assert (seen.UNSEEN.tuples, seen.UNSEEN.recall) == (2, 1 / 2)
    # Two right predictions, one of them seen: precision (2 − 1)/(2 − 1), recall 2/3 as it is.
    assert (seen.ign.precision, seen.ign.recall) == (1, 2 / 3)
    assert seen.ign.f1 == pytest.approx(2 * (2 / 3) / (1 + 2 / 3))


def test_facts_need_text() -> None:
    bare = {name: value for name, value in GOLD.items() if name != "tokens"}
    for gold, train in ((bare, GOLD), (GOLD, bare)):
        with pytest.raises(InputError, match="neither tokens nor text"):
            scored([gold], [PREDICTED if gold is GOLD else bare], train=[train])


def test_distance_and_direction_are_those_of_the_outermost_mentions() -> None:
    document = scored(
        [GOLD, {**GOLD, "id": "2", "tuples": [relation("leads", "b", "a")]}],
        [PREDICTED, PREDICTED | {"id": "2"}],
    )
    attributes = document.systems["mine"].attributes
    # a–b: one token between (runs); b–c: one (in); a–c: five.
    assert [(one.low, one.high, one.gold) for one in attributes["distance"]] == [(None, 1, 3), (1, None, 1)]
    assert {one.label: one.gold for one in attributes["direction"]} == {"head first": 3, "tail first": 1}


def corpus(folder: Path, units: int = 60, documents: bool = True) -> tuple[Path, Path, Path]:
    """Gold, and two systems of which the second makes more errors."""
    draw = random.Random(3)
    paths = []
    golds = []
    for number in range(units):
        mentions = [mention(f"m{at}", 3 * at, 3 * at + 2, draw.choice(["PER", "ORG"])) for at in range(4)]
        kinds = draw.choices(["leads", "owns", "near"], k=3)
        tuples = [relation(kind, *draw.sample([one["id"] for one in mentions], 2)) for kind in kinds]
        record: Record = {"id": f"s{number}", "tokens": [f"w{draw.randrange(50)}" for _ in range(12)]}
        golds.append(
            {
                **record,
                **({"document": f"d{number // 4}"} if documents else {}),
                "mentions": mentions,
                "tuples": tuples,
            }
        )
    for name, noise in (("gold", 0.0), ("good", 0.15), ("bad", 0.5)):
        lines = []
        for record in golds:
            mentions = [
                {**one, "label": "PER"} if draw.random() < noise else one for one in record["mentions"]
            ]
            tuples = [{**one, "type": "owns"} if draw.random() < noise else one for one in record["tuples"]]
            lines.append(json.dumps({**record, "mentions": mentions, "tuples": tuples}))
        path = folder / f"{name}.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        paths.append(path)
    return paths[0], paths[1], paths[2]


def test_parts_workers_and_order_do_not_change_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold, good, bad = corpus(tmp_path)
    systems = {"good": good, "bad": bad}
    whole = spanwise.tuples(gold, systems, train=gold, undirected="near", resamples=50)
    monkeypatch.setattr(_parts, "_GOLD_BYTES", 2000)
    monkeypatch.setattr(_parts, "_UNITS", 7)
    assert spanwise.tuples(gold, systems, train=gold, undirected="near", resamples=50) == whole
    assert (
        spanwise.tuples(gold, systems, train=gold, undirected="near", resamples=50, engine=Processes(2))
        == whole
    )
    lines = good.read_text(encoding="utf-8").splitlines()
    good.write_text("\n".join(lines[::-1]) + "\n\n", encoding="utf-8")
    turned = spanwise.tuples(gold, systems, train=gold, undirected="near", resamples=50)
    assert [one.criteria for one in turned.systems.values()] == [
        one.criteria for one in whole.systems.values()
    ]
    assert turned.comparisons == whole.comparisons


def test_two_systems_are_compared_in_one_family(tmp_path: Path) -> None:
    gold, good, bad = corpus(tmp_path)
    document = spanwise.tuples(gold, {"good": good, "bad": bad}, resamples=200)
    (pair,) = document.comparisons
    primary = pair.score(document.primary)
    assert primary is not None and primary.role == "primary" and primary.significant
    secondary = pair.score(("criteria", "boundaries", "overall", "f1"))
    assert secondary is not None and secondary.role == "secondary"
    cell = document.systems["good"].criteria["strict"].overall
    low, high = cell.ends("f1") or (None, None)
    assert low is not None and high is not None and cell.f1 is not None and low < cell.f1 < high
    assert document.settings.unit == "document"
    assert document.settings.number == 15


def test_types_add_up_and_gold_against_itself_is_perfect(tmp_path: Path) -> None:
    gold, good, _ = corpus(tmp_path, documents=False)
    document = spanwise.tuples(gold, {"same": gold, "good": good}, resamples=0, train=gold)
    for system in document.systems.values():
        for scores in system.criteria.values():
            for count in ("gold", "predicted", "correct"):
                assert sum(getattr(cell, count) for cell in scores.types.values()) == getattr(
                    scores.overall, count
                )
        assert sum(system.outcomes.gold.values()) == system.criteria["strict"].overall.gold
        for buckets in system.attributes.values():
            assert sum(bucket.gold for bucket in buckets) == system.criteria["strict"].overall.gold
            assert sum(bucket.predicted for bucket in buckets) == system.criteria["strict"].overall.predicted
        assert system.seen is not UNSET
        assert system.seen.SEEN.tuples + system.seen.UNSEEN.tuples == system.criteria["strict"].overall.gold
    same = document.systems["same"]
    assert {scores.overall.f1 for scores in same.criteria.values()} == {1.0}
    assert {gain.gain for gain in same.gains.values()} == {0.0}


def test_a_document_is_saved_loaded_shown_and_tabled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, good, bad = corpus(tmp_path)
    written = tmp_path / "t.json"
    call = ["tuples", str(gold), f"good={good}", f"bad={bad}", "--resamples", "100", "--train", str(gold)]
    assert main([*call, "--json", str(written), "--html", str(tmp_path / "t.html")]) == 0
    screen = capsys.readouterr().out
    assert "Which F1 is this?" in screen
    assert "Mentions were predicted, not given." in screen
    document = load(written)
    assert isinstance(document, Tuples)
    assert set(document.tables()) == {"tuples", "differences"}
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert 'class="arc wrong"' in page
    assert page.count("<svg") >= 10
    assert document.without_sentences().systems["good"].sentences == ()


def test_text_is_data_on_the_page(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    unit = {**GOLD, "tokens": [evil, *TOKENS[1:]], "mentions": [mention("a", 0, 2, evil), *MENTIONS[1:]]}
    unit = {**unit, "tuples": [relation(evil, "a", "b"), *GOLD["tuples"]]}
    document = scored([unit], [{**unit, "tuples": [relation(evil + "{0}", "a", "b")]}])
    page = tmp_path / "t.html"
    document.to_html(page)
    assert evil not in page.read_text(encoding="utf-8")
    assert document.to_text(width=80)


def test_floors_decide_the_exit_status(tmp_path: Path) -> None:
    gold, good, _ = corpus(tmp_path)
    call = ["tuples", str(gold), f"good={good}", "--quiet", "--resamples", "50"]
    assert main([*call, "--floor", "50", "--floor", "near=10"]) == 0
    assert main([*call, "--floor", "99"]) == 1
    document = spanwise.tuples(gold, {"good": good}, resamples=50)
    score = 100 * (document.systems["good"].criteria["strict"].overall.f1 or 0)
    assert check_floors(document, {None: score})[0].passed
    assert not check_floors(document, {None: score}, bound=True)[0].passed


def test_redacted_documents_hold_no_text(tmp_path: Path) -> None:
    gold, good, _ = corpus(tmp_path)
    document = spanwise.tuples(gold, {"good": good}, resamples=0, redact=True)
    assert "w7" not in document.to_json()
    assert document.settings.redacted


def test_choices_are_checked(tmp_path: Path) -> None:
    for options, message in (
        ({"criterion": "stricter"}, "no criterion is called 'stricter'"),
        ({"mentions": "given"}, "must be 'predicted' or 'gold'"),
        ({"undirected": "leds"}, "no type of tuples is called 'leds'. Did you mean 'leads'?"),
        ({"unit": "document"}, "the data mark no documents"),
        ({"resamples": -1}, "must be between 0 and 1,000,000"),
    ):
        with pytest.raises(ChoiceError) as caught:
            scored([GOLD], [PREDICTED], **options)
        assert message in str(caught.value)


def test_runs_of_a_system_are_averaged_and_tested_together(tmp_path: Path) -> None:
    gold, good, poor = corpus(tmp_path)
    draw = random.Random(5)
    for name, source in (("good", good), ("poor", poor)):
        records = [json.loads(line) for line in Path(source).read_text(encoding="utf-8").splitlines()]
        for run in (1, 2, 3):
            lines = []
            for record in records:
                kept = [one for one in record["tuples"] if draw.random() < 0.9]
                lines.append(json.dumps({**record, "tuples": kept}))
            (tmp_path / f"{name}.{run}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    files = {name: str(tmp_path / f"{name}.{{run}}.jsonl") for name in ("good", "poor")}
    document = spanwise.tuples(gold, files, resamples=200)
    assert document.runs
    assert list(document.systems) == ["good.1", "good.2", "good.3", "poor.1", "poor.2", "poor.3"]
    own = document.runs["good"]
    for criterion in ("strict", "overlap"):
        single = [document.systems[run].criteria[criterion].overall.f1 or 0 for run in own.systems]
        mean = sum(single) / 3
        spread = (sum((one - mean) ** 2 for one in single) / 2) ** 0.5
        assert own.mean[criterion]["f1"] == pytest.approx(mean)
        assert own.std[criterion]["f1"] == pytest.approx(spread)
    (pair,) = document.comparisons
    assert pair.systems == ("good", "poor")
    test = pair.score(document.primary)
    assert test is not None
    assert test.difference == pytest.approx(
        own.mean["strict"]["f1"] - document.runs["poor"].mean["strict"]["f1"]  # type: ignore[operator]
    )
    text = document.to_text(width=100)
    assert "Over runs" in text
    assert "t-test over 3 runs" in text
    saved = tmp_path / "runs.json"
    document.to_json(saved)
    assert load(saved) == document
    # A single run against several: units are shuffled, and the screen says so.
    mixed = spanwise.tuples(gold, {"good": files["good"], "poor": tmp_path / "poor.1.jsonl"}, resamples=200)
    test = mixed.comparisons[0].score(mixed.primary)
    assert test is not None
    assert test.p is not None
    assert "single run of poor" in mixed.to_text(width=100).replace("\n ", "")
    damaged = {
        **document.to_dict(),
        "runs": {"good": {**document.to_dict()["runs"]["good"], "systems": ["x"]}},
    }
    saved.write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(InputError, match="a run is not among the systems"):
        load(saved)


def test_long_units_are_drawn_line_by_line() -> None:
    sentence = ["Ida", "runs", "Marrow", "in", "the", "old", "town", "by", "the", "sea", "."]
    mentions = [mention(f"m{at}", 11 * at, 11 * at + 1, f"L{at}") for at in range(12)]
    gold = {"tokens": sentence * 12, "mentions": mentions, "tuples": [relation("far", "m0", "m11")]}
    document = scored([gold], [{**gold, "tuples": [relation("near", "m0", "m1")]}])
    (quote,) = (
        block
        for section in view(document).on("page")
        for block in section.blocks
        if isinstance(block, ArcQuote)
    )
    drawn = str(arc_quote(quote)).partition("<ul>")[0]
    assert drawn.count("<svg") == 2  # the lines between have no end of an arc
    assert [drawn.count(f">{kind}<") for kind in ("far", "✗ near")] == [2, 1]
    assert drawn.count("✓ L0<") == drawn.count("✓ L11<") == 1
    assert "tokens without a tuple" in drawn
    assert "L5" not in drawn


def test_the_screen_says_what_to_do_and_where_a_system_is_weak(tmp_path: Path) -> None:
    demo = generate_tuples(tmp_path, documents=150)
    document = spanwise.tuples(demo.gold, dict(demo.systems), undirected="sibling_of", resamples=200)
    text = document.to_text(width=100)
    assert "backwards: weak where direction is tail first." in text
    assert "nearsighted: weak where tokens between arguments is" in text
    missed = document.systems["nearsighted"].outcomes.gold["missed"]
    assert f"{missed:,} tuples missed, though all mentions were found: up to +" in text


def test_each_task_names_a_command_that_shows_its_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    generate_tuples("facts", documents=30, seed=1)
    files = ["facts/gold.jsonl", "facts/backwards.jsonl"]
    assert main(["tuples", *files, "--undirected", "sibling_of", "--resamples", "0", "--json", "a.json"]) == 0
    document = load("a.json")
    (section,) = (one for one in view(document).on("page") if one.name == "tasks")
    commands = [
        str(text)
        for block in section.blocks
        if isinstance(block, Paragraphs) and block.style == COMMAND
        for text in block.texts
    ]
    assert (
        "spanwise tuples facts/gold.jsonl facts/backwards.jsonl --undirected sibling_of --kind missed"
        in commands
    )
    capsys.readouterr()
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0


def test_a_kind_of_error_chooses_units_and_changes_no_score() -> None:
    missed: Record = {
        "id": "2",
        "tokens": TOKENS,
        "mentions": MENTIONS,
        "tuples": [relation("leads", "a", "b")],
    }
    found = [PREDICTED, {**missed, "tuples": []}]
    both, one = (scored([GOLD, missed], found, kind=kind) for kind in (None, "missed"))
    assert [row.unit for row in both.systems["mine"].sentences] == [0, 1]
    assert [row.unit for row in one.systems["mine"].sentences] == [1]
    assert one.systems["mine"].criteria == both.systems["mine"].criteria
    assert one.settings.kind == "missed"
    with pytest.raises(ChoiceError):
        scored([GOLD], [PREDICTED], kind="label")


def test_the_verdict_names_the_best_of_several_systems(tmp_path: Path) -> None:
    generate_tuples(str(tmp_path), documents=60, seed=1)
    names = ("backwards", "nearsighted", "gold")
    systems = {name: str(tmp_path / f"{name}.jsonl") for name in names}
    shown = view(spanwise.tuples(systems["gold"], systems, undirected="sibling_of", resamples=200))
    assert str(shown.verdict) == "By strict F1 (Rel+), gold is better than nearsighted and backwards."
    table = next(section.table for section in shown.sections if section.name == "letters")
    assert table is not None
    assert [str(row[0]) for row in table.rows] == ["a", "b", "c"]
    assert [str(row[-1]) for row in table.rows] == ["bc", "", ""]


def test_every_type_has_all_scores_under_every_criterion_side_by_side() -> None:
    document = scored([GOLD], [PREDICTED])
    shown = view(document)
    (table,) = (one.blocks[0] for one in shown.on("screen") if one.name == "criteria-types")
    assert isinstance(table, Grid)
    found = {str(row[0]): [text_of(one) for one in row[1:]] for row in table.rows}
    # leads is right; based_in is right by head and overlap; born_in was missed, lives_in invented.
    assert found["based_in"] == ["1", "0.0", "0.0", "0.0", "0.0", "100.0", "100.0", "100.0"]
    assert found["born_in"] == ["1", "n/a", "0.0", "0.0", "0.0", "0.0", "0.0", "0.0"]
    assert found["all"][:4] == ["3", "33.3", "33.3", "33.3"]
    paper = next(one.table for one in shown.sections if one.name == "tuples")
    assert paper is not None and len(paper.rows) == 5 * 5  # all and four types, five criteria


def test_all_scores_are_exported_as_rows_and_under_stable_names() -> None:
    document = scored([GOLD], [PREDICTED])
    named = flat(document)
    assert (named["f1"], named["criterion/head/f1"]) == (1 / 3, 2 / 3)
    assert (named["type/leads/f1"], named["type/based_in/f1"]) == (1, 0)
    assert named["gain/filler"] == document.systems["mine"].gains["filler"].gain
    (row,) = (
        row
        for row in rows(document)
        if (row["kind"], row["name"], row["part"], row["score"]) == ("criterion", "head", "based_in", "f1")
    )
    assert (row["system"], row["value"], row["gold"]) == ("mine", 1, 1)
