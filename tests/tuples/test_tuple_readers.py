"""Tuples are read from the files of other programs, and errors name the file and the line or record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import InputError
from spanwise.relations.corpus import side_of
from spanwise.relations.records import UnitRecord, read_records, tuple_format_of, write_records

TEXT = "Ida Fenwick runs Marrow & Sons in Port Denby ."


def records(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The records of a file as JSON, after the checks that hold for all formats."""
    listed = list(read_records(path, **options))
    side_of([record for record in listed if record.mentions is not None], str(path))
    return [
        {key: value for key, value in msgspec.to_builtins(one).items() if key != "line"} for one in listed
    ]


def spans(record: dict[str, Any]) -> dict[str, tuple[int, int, str]]:
    return {one["id"]: (one["start"], one["end"], one.get("label", "")) for one in record["mentions"]}


def error(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        list(read_records(path, **options))
    return str(caught.value)


# ---- brat ----


def brat(folder: Path, ann: str, text: str = TEXT, name: str = "a") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / f"{name}.ann").write_text(ann, encoding="utf-8")
    return folder


MENTIONS = """\
T1\tPER 0 11\tIda Fenwick
T2\tORG 17 30\tMarrow & Sons
T3\tLOC 34 44\tPort Denby
T4\tRun 12 16\truns
"""


def test_brat_relations_have_a_head_and_a_tail(tmp_path: Path) -> None:
    (record,) = records(
        brat(tmp_path / "b", MENTIONS + "R1\tleads Arg1:T1 Arg2:T2\t\nR2\tin Where:T3 Who:T2\n")
    )
    assert record["id"] == "a"
    assert record["text"] == TEXT
    assert spans(record)["T2"] == (17, 30, "ORG")
    assert record["tuples"] == [
        {"type": "leads", "roles": {"head": "T1", "tail": "T2"}},
        {"type": "in", "roles": {"Where": "T3", "Who": "T2"}},
    ]


def test_brat_events_have_triggers_and_numbered_roles_are_one_role(tmp_path: Path) -> None:
    lines = "E1\tRun:T4 Theme:T1 Theme2:T2 Place1:T3\nE2\tCause:T4 Cause:E1\n"
    (record,) = records(brat(tmp_path / "b", MENTIONS + lines))
    assert record["tuples"] == [
        {"type": "Run", "trigger": "T4", "roles": {"Theme": ["T1", "T2"], "Place1": "T3"}},
        {"type": "Cause", "trigger": "T4", "roles": {"Cause": "T4"}},  # an event is its trigger
    ]


def test_brat_attributes_have_values_and_references_are_links(tmp_path: Path) -> None:
    lines = (
        "E1\tRun:T4 Theme:T1\nR1\tin Arg1:T2 Arg2:T3\nA1\tNegated T1\nM2\tDegree E1 high\nA3\tSure R1\n"
        "N1\tReference T3 Wikidata:Q7\tPort Denby\nN2\tReference T3 link:NIL\tPort Denby\n#1\tNote T1\tx\n"
    )
    (record,) = records(brat(tmp_path / "b", MENTIONS + lines))
    assert record["tuples"][2:] == [
        {"type": "Negated", "roles": {"mention": "T1", "value": {"value": "yes"}}},
        {"type": "Degree", "roles": {"mention": "T4", "value": {"value": "high"}}},
        {"type": "link", "roles": {"mention": "T3", "link": {"link": ["Wikidata:Q7", "NIL"]}}},
    ]


def test_brat_equivalent_mentions_are_one_entity(tmp_path: Path) -> None:
    lines = "*\tEquiv T1 T4\nR1\tleads Arg1:T1 Arg2:T2\n"
    (record,) = records(brat(tmp_path / "b", MENTIONS + lines))
    assert record["tuples"][0]["roles"] == {"head": {"any": ["T1", "T4"]}, "tail": "T2"}


def test_brat_mentions_may_have_gaps(tmp_path: Path) -> None:
    (record,) = records(brat(tmp_path / "b", "T1\tPER 0 3;12 16\tIda runs\n"))
    assert record["mentions"] == [
        {"id": "T1", "start": 0, "end": 16, "label": "PER", "parts": [(0, 3), (12, 16)]}
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("R1\tleads Arg1:T1 Arg2:T9", "a.ann:5: R1 refers to T9, which is not a mention of the file."),
        ("R1\tleads Arg1:T1", "a.ann:5: R1 does not have two arguments with different roles."),
        ("R1\tleads T1 T2", "a.ann:5: 'leads T1 T2' does not name roles and mentions."),
        ("E1\t", "a.ann:5: '' does not name roles and mentions."),
        ("A1\tNegated", "a.ann:5: 'Negated' is not an attribute."),
        ("M1\tNegated T7", "a.ann:5: M1 refers to T7, which is not a mention of the file."),
        ("N1\tReference T1", "a.ann:5: 'Reference T1' is not a reference."),
        (
            "T9\tPER 0 99\tIda",
            "a.ann:5: the mention PER 0 99 is not inside the text, which has 46 characters.",
        ),
    ],
)
def test_brat_errors_name_the_line(tmp_path: Path, line: str, message: str) -> None:
    assert message in error(brat(tmp_path / "b", f"{MENTIONS}{line}\n"))


def test_brat_needs_its_text(tmp_path: Path) -> None:
    brat(tmp_path / "b", MENTIONS)
    (tmp_path / "b" / "a.txt").unlink()
    assert "its text 'a.txt' is missing" in error(tmp_path / "b")


# ---- writing brat ----

UNIT: dict[str, Any] = {
    "id": "s1",
    "tokens": ["Ida", "runs", "Marrow", "&", "Sons"],
    "mentions": [
        {"id": "a", "start": 0, "end": 1, "label": "PER"},
        {"id": "b", "start": 2, "end": 5, "label": "ORG"},
        {"id": "c", "start": 1, "end": 2, "label": "Run"},
    ],
}


def written(tmp_path: Path, unit: dict[str, Any]) -> str:
    write_records([msgspec.convert(unit, UnitRecord)], tmp_path / "out", format="brat")
    return (tmp_path / "out" / f"{unit['id']}.ann").read_text(encoding="utf-8")


def test_tokens_are_written_as_text(tmp_path: Path) -> None:
    lines = written(tmp_path, {**UNIT, "tuples": [{"type": "leads", "roles": {"head": "a", "tail": "b"}}]})
    assert lines.splitlines() == [
        "T1\tPER 0 3\tIda", "T2\tORG 9 22\tMarrow & Sons", "T3\tRun 4 8\truns", "R1\tleads Arg1:T1 Arg2:T2",
    ]  # fmt: skip
    assert (tmp_path / "out" / "s1.txt").read_text(encoding="utf-8") == "Ida runs Marrow & Sons"


def test_a_folder_with_other_files_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes").write_text("mine")
    with pytest.raises(InputError, match="the folder already holds other files"):
        written(tmp_path, {**UNIT, "tuples": []})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tuples": [{"type": "a b", "roles": {"head": "a", "tail": "b"}}]}, "'a b', which is not one word"),
        ({"tuples": [{"type": "t", "roles": {"x": "a", "y": "b", "z": "c"}}]}, "no trigger and 3 roles"),
        ({"tuples": [{"type": "t", "roles": {"x": "a", "y": {"value": "1"}}}]}, "in the place of a mention"),
        ({"tuples": [{"type": "t", "roles": {"x:y": "a", "y": "b"}}]}, "not one word"),
        (
            {"tuples": [{"type": "t", "trigger": "c", "roles": {"x": "a", "x2": "b"}}]},
            "the roles 'x' and 'x2'",
        ),
        (
            {"mentions": [{"id": "a", "start": 0, "end": 2, "head": 0, "label": "X"}]},
            "the head of the mention",
        ),
        ({"id": "../s"}, "a unit is called '../s', which is not the name of a new file in the folder."),
        (
            {
                "tuples": [
                    {"type": "t", "roles": {"x": {"any": ["a", "b"]}, "y": "c"}},
                    {"type": "t", "roles": {"x": "b", "y": "c"}},
                ]
            },
            "a mention that is one of several in one tuple and not in another",
        ),
    ],
)
def test_what_brat_cannot_hold_is_refused_and_nothing_is_left(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match="out: ") as caught:
        written(tmp_path, {**UNIT, "tuples": [], **change})
    assert message in str(caught.value)
    assert not [*tmp_path.iterdir()]


WORDS = st.text("abcXYZ", min_size=1, max_size=4)


@st.composite
def units(draw: st.DrawFn) -> dict[str, Any]:
    """A unit with mentions and tuples of every kind that brat can hold."""
    text = draw(st.text("ab é\n", min_size=1, max_size=30))
    names = [f"n{number}" for number in range(draw(st.integers(0, 5)))]
    mentions = []
    for name in names:
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        mentions.append({"id": name, "start": start, "end": end, "label": draw(WORDS)})
    tuples: list[dict[str, Any]] = []
    one = st.sampled_from(names or [""])
    for _ in range(draw(st.integers(0, 6)) if names else 0):
        kind = draw(st.sampled_from(["relation", "event", "attribute", "entity"]))
        if kind == "relation":
            tuples.append({"type": draw(WORDS), "roles": {"head": draw(one), "tail": draw(one)}})
        elif kind == "event":
            roles = draw(
                st.dictionaries(st.sampled_from(["Theme", "Agent"]), st.lists(one, min_size=1, max_size=3))
            )
            shown = {role: given[0] if len(given) == 1 else given for role, given in roles.items()}
            tuples.append({"type": draw(WORDS), "trigger": draw(one), "roles": shown})
        elif kind == "attribute":
            tuples.append(
                {"type": draw(WORDS), "roles": {"mention": draw(one), "value": {"value": draw(WORDS)}}}
            )
    for linked in draw(st.sets(one, max_size=2)) if names else ():
        identifiers = draw(st.lists(st.sampled_from(["Q1", "Q2", "NIL", "db:7"]), min_size=1, max_size=2))
        tuples.append({"type": "link", "roles": {"mention": linked, "link": {"link": identifiers}}})
    return {"id": draw(WORDS), "text": text, "mentions": mentions, "tuples": tuples}


def plain(record: UnitRecord) -> Any:
    """A record with its mentions in the place of their names, and its tuples in any order."""
    mentions = {one.id: (one.start, one.end, one.label) for one in record.mentions or ()}

    def shown(value: Any) -> Any:
        if isinstance(value, list):
            return [shown(one) for one in value]
        return mentions.get(value, value) if isinstance(value, str) else msgspec.to_builtins(value)

    tuples = [
        (
            one.type,
            shown(one.trigger),
            sorted((role, repr(shown(filler))) for role, filler in one.roles.items()),
        )
        for one in record.tuples
    ]
    return record.id, record.text, sorted(mentions.values()), sorted(tuples, key=repr)


@settings(max_examples=150, deadline=None)
@given(units())
def test_brat_gives_back_what_was_written(unit: dict[str, Any]) -> None:
    import tempfile

    record = msgspec.convert(unit, UnitRecord)
    with tempfile.TemporaryDirectory() as folder:
        write_records([record], Path(folder) / "out", format="brat")
        (again,) = read_records(Path(folder) / "out")
    assert plain(again) == plain(record)


# ---- JSON of other programs ----


def dumped(tmp_path: Path, value: object, name: str = "gold.json") -> Path:
    (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
    return tmp_path / name


SPERT: dict[str, Any] = {
    "tokens": ["Ida", "runs", "Marrow"],
    "entities": [{"type": "PER", "start": 0, "end": 1}, {"type": "ORG", "start": 2, "end": 3}],
    "relations": [{"type": "leads", "head": 0, "tail": 1}],
    "orig_id": 17,
}


def test_spert_relations_refer_to_entities_by_number(tmp_path: Path) -> None:
    assert records(dumped(tmp_path, [SPERT])) == [
        {
            "id": "17",
            "tokens": ["Ida", "runs", "Marrow"],
            "mentions": [
                {"id": "m1", "start": 0, "end": 1, "label": "PER"},
                {"id": "m2", "start": 2, "end": 3, "label": "ORG"},
            ],
            "tuples": [{"type": "leads", "roles": {"head": "m1", "tail": "m2"}}],
        }
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"relations": [{"type": "leads", "head": 0, "tail": 2}]}, "there is no entity 2"),
        ({"relations": [{"type": "leads", "head": 0, "tail": -1}]}, "there is no entity -1"),
        ({"relations": [{"head": 0, "tail": 1}]}, "'type' is missing"),
    ],
)
def test_spert_errors_name_the_sentence(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    assert f"gold.json: sentence 2 cannot be read: {message}." in error(
        dumped(tmp_path, [SPERT, SPERT | change])
    )


DOCRED: dict[str, Any] = {
    "title": "Marrow",
    "sents": [["Ida", "runs", "Marrow"], ["Marrow", "is", "old"]],
    "vertexSet": [
        [{"name": "Ida", "pos": [0, 1], "sent_id": 0, "type": "PER"}],
        [
            {"name": "Marrow", "pos": [2, 3], "sent_id": 0, "type": "ORG"},
            {"name": "Marrow", "pos": [0, 1], "sent_id": 1, "type": "ORG"},
        ],
    ],
    "labels": [{"h": 0, "t": 1, "r": "P108", "evidence": [0]}],
}


def test_docred_relations_hold_between_entities(tmp_path: Path) -> None:
    (record,) = records(dumped(tmp_path, [DOCRED]))
    assert record["sentences"] == [0, 3]
    assert spans(record) == {"e0.0": (0, 1, "PER"), "e1.0": (2, 3, "ORG"), "e1.1": (3, 4, "ORG")}
    assert record["tuples"] == [
        {"type": "P108", "roles": {"head": "e0.0", "tail": {"any": ["e1.0", "e1.1"]}}}
    ]


def test_a_submission_to_docred_refers_to_the_entities_of_gold(tmp_path: Path) -> None:
    gold = list(read_records(dumped(tmp_path, [DOCRED, DOCRED | {"title": "Second"}])))
    answers = [{"title": "Marrow", "h_idx": 1, "t_idx": 0, "r": "P17"}]
    submitted = dumped(tmp_path, answers, "result.json")
    assert records(submitted) == [
        {"id": "Marrow", "tuples": [{"type": "P17", "roles": {"head": "e1.0", "tail": "e0.0"}}]}
    ]
    side = side_of(read_records(submitted), "result.json", gold=side_of(gold))
    assert (len(side), side.missing) == (1, 1)


def test_docred_errors_name_the_document(tmp_path: Path) -> None:
    wrong = DOCRED | {"labels": [{"h": 0, "t": 7, "r": "P108"}]}
    assert "gold.json: document 1 cannot be read: there is no entity 7." in error(dumped(tmp_path, [wrong]))
    assert "answer 1 cannot be read: 't_idx' is missing." in error(
        dumped(tmp_path, [{"title": "a", "h_idx": 0, "r": "t_idx"}]), format="docred"
    )
    assert "gold.json:1: this is not a list of records." in error(dumped(tmp_path, {}), format="docred")


PURE = {
    "doc_key": "d1",
    "sentences": [["Ida", "runs", "Marrow"], ["She", "left"]],
    "ner": [[[0, 0, "PER"], [2, 2, "ORG"]], []],
    "relations": [[[0, 0, 2, 2, "leads"]], []],
    "predicted_ner": [[[0, 1, "PER"]], []],
    "predicted_relations": [[[0, 1, 2, 2, "leads"]], []],
}


def test_pure_has_inclusive_ends_and_predictions_beside_gold(tmp_path: Path) -> None:
    path = dumped(tmp_path, PURE, "pure.json")
    (gold,) = records(path)
    assert spans(gold) == {"m1": (0, 1, "PER"), "m2": (2, 3, "ORG")}
    assert gold["tuples"] == [{"type": "leads", "roles": {"head": "m1", "tail": "m2"}}]
    (predicted,) = records(path, predicted=True)
    assert spans(predicted)["m1"] == (0, 2, "PER")
    assert predicted["mentions"][1] == {"id": "m2", "start": 2, "end": 3}  # its span is not in predicted_ner
    wrong = dumped(tmp_path, PURE | {"relations": [[[0, 0, 2]]]}, "wrong.json")
    assert "wrong.json:1: the document cannot be read" in error(wrong)


def test_dygie_has_events_whose_triggers_are_tokens(tmp_path: Path) -> None:
    events = [[[[1, "Lead"], [0, 0, "Person"], [2, 2, "Group"], [3, 3, "Group"]]]]
    found = [[[[1, "Lead", 2.5, 0.9], [0, 0, "Person", 1.5, 0.8]]]]
    row = {
        "doc_key": "d", "sentences": [["Ida", "runs", "Marrow", "Sons"]], "ner": [[[0, 0, "PER"]]],
        "events": events, "predicted_ner": [[]], "predicted_events": found,
    }  # fmt: skip
    path = dumped(tmp_path, row, "events.json")
    (gold,) = records(path)
    assert spans(gold) == {"m1": (0, 1, "PER"), "m2": (2, 3, ""), "m3": (3, 4, ""), "t1": (1, 2, "Lead")}
    roles = {"Person": ["m1"], "Group": ["m2", "m3"]}
    assert gold["tuples"] == [{"type": "Lead", "trigger": "t1", "roles": roles}]
    (predicted,) = records(path, predicted=True)
    assert predicted["tuples"] == [{"type": "Lead", "trigger": "t1", "roles": {"Person": ["m1"]}}]


TASK: dict[str, Any] = {
    "id": 4,
    "data": {"text": TEXT},
    "annotations": [
        {
            "result": [
                {
                    "id": "x",
                    "type": "labels",
                    "from_name": "ner",
                    "value": {"start": 0, "end": 11, "labels": ["PER"]},
                },
                {
                    "id": "y",
                    "type": "labels",
                    "from_name": "ner",
                    "value": {"start": 17, "end": 30, "labels": ["ORG"]},
                },
                {
                    "id": "x",
                    "type": "choices",
                    "from_name": "role",
                    "value": {"start": 0, "end": 11, "choices": ["boss"]},
                },
                {"type": "relation", "from_id": "y", "to_id": "x", "direction": "left", "labels": ["leads"]},
            ]
        }
    ],
}


def test_label_studio_relations_follow_their_direction_and_choices_are_attributes(tmp_path: Path) -> None:
    (record,) = records(dumped(tmp_path, [TASK]))
    assert record["id"] == "4"
    assert spans(record) == {"x": (0, 11, "PER"), "y": (17, 30, "ORG")}
    assert record["tuples"] == [
        {"type": "leads", "roles": {"head": "x", "tail": "y"}},
        {"type": "role", "roles": {"mention": "x", "value": {"value": "boss"}}},
    ]


def test_label_studio_errors_name_the_task(tmp_path: Path) -> None:
    wrong = json.loads(json.dumps(TASK).replace('"to_id": "x"', '"to_id": "z"'))
    path = dumped(tmp_path, [TASK, wrong])
    assert "task 2 cannot be read: a relation names the region 'z', which has no label." in error(path)
    assert "this is not a list of tasks" in error(dumped(tmp_path, {}), format="label-studio")


# ---- PubTator ----

PUBTATOR = """\
7|t|Aspirin and pain
7|a|Aspirin eases ulcers.
7\t0\t7\tAspirin\tChemical\tD1
7\t12\t16\tpain\tDisease\tD2
7\t17\t24\tAspirin\tChemical\tD1
7\t31\t37\tulcers\tDisease\tD3|D4
7\tCID\tD1\tD2
7\tPositive_Correlation\tChemical|D1\tD4\tNovel

8|t|Nothing
8|a|
"""


def test_pubtator_relations_hold_between_concepts(tmp_path: Path) -> None:
    (tmp_path / "a.pubtator").write_text(PUBTATOR)
    first, second = records(tmp_path / "a.pubtator")
    assert first["text"] == "Aspirin and pain\nAspirin eases ulcers."
    assert first["tuples"] == [
        {"type": "CID", "roles": {"head": {"any": ["m1", "m3"]}, "tail": "m2"}},
        {"type": "Positive_Correlation", "roles": {"head": {"any": ["m1", "m3"]}, "tail": "m4"}},
    ]
    assert second == {"id": "8", "text": "Nothing", "mentions": []}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("CID\tD1\tD2", "CID\tD1\tD9", "a.pubtator:7: no mention of this article has the identifier 'D9'."),
        ("CID\tD1\tD2", "CID", "a.pubtator:7: '7\\tCID' is neither a mention nor a relation"),
        ("7\tCID", "8\tCID", "a.pubtator:7: '8\\tCID\\tD1\\tD2' is neither"),
    ],
)
def test_pubtator_errors_name_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "a.pubtator").write_text(PUBTATOR.replace(old, new))
    assert message in error(tmp_path / "a.pubtator")


# ---- columns ----

HIPE = """\
TOKEN\tNE-COARSE-LIT\tNE-COARSE-METO\tNEL-LIT\tNEL-METO\tMISC
# document_id = d1
Port\tB-loc\tO\tQ7|Q8\t_\t_
Denby\tI-loc\tO\tQ7|Q8\t_\t_
won\tO\tO\t_\t_\tEndOfSentence
Marrow\tB-loc\tB-org\tNIL\tQ9\t_
"""


def test_hipe_links_stand_at_the_first_token_of_a_mention(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(HIPE)
    first, second = records(tmp_path / "a.tsv")
    assert first["tokens"] == ["Port", "Denby", "won"]
    assert spans(first) == {"m1": (0, 2, "loc")}
    assert first["tuples"] == [{"type": "link", "roles": {"mention": "m1", "link": {"link": ["Q7", "Q8"]}}}]
    assert second["tuples"][0]["roles"]["link"] == {"link": ["NIL"]}
    assert first["document"] == second["document"] == "d1"


def test_hipe_metonymic_links_are_another_column(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(HIPE)
    first, second = records(tmp_path / "a.tsv", column="NEL-METO")
    assert first.get("tuples", []) == []
    assert spans(second) == {"m1": (0, 1, "org")}
    assert second["tuples"][0]["roles"]["link"] == {"link": ["Q9"]}
    assert "a.tsv:1: the header has no column 'NEL'." in error(tmp_path / "a.tsv", column="NEL")


def test_conllu_links_stand_in_a_column_or_under_a_key(tmp_path: Path) -> None:
    (tmp_path / "a.conllup").write_text(
        "# global.columns = ID FORM NER NEL\n# sent_id = s1\n"
        "1\tPort\tB-LOC\tQ7|NIL\n2\tDenby\tI-LOC\tQ7\n3\twon\tO\t_\n"
    )
    (record,) = records(tmp_path / "a.conllup")
    assert record["id"] == "s1"
    assert record["tuples"] == [{"type": "link", "roles": {"mention": "m1", "link": {"link": ["Q7", "NIL"]}}}]
    blank = "\t_" * 7
    (tmp_path / "b.conllu").write_text(f"1\tDenby{blank}\tNER=B-LOC|Wikidata=Q7,Q8\n2\twon{blank}\tNER=O\n")
    (record,) = records(tmp_path / "b.conllu")
    assert record["tuples"][0]["roles"]["link"] == {"link": ["Q7", "Q8"]}
    (record,) = records(tmp_path / "b.conllu", column="Other")
    assert record.get("tuples", []) == []


# ---- WebAnno ----

WEBANNO = """\
#FORMAT=WebAnno TSV 3.3
#T_SP=custom.Entity|identifier|value
#T_RL=custom.Relation|kind|BT_custom.Entity


#Text=Ida Fenwick runs Marrow
1-1\t0-3\tIda\t*[1]\tPER[1]\t_\t_\t
1-2\t4-11\tFenwick\t*[1]\tPER[1]\t_\t_\t
1-3\t12-16\truns\t_\t_\t_\t_\t
1-4\t17-23\tMarrow\t*\tORG\tleads|owns\t1-1[1_0]|1-1[1_0]\t

#Text=Denby
2-1\t24-29\tDenby\t*\tLOC\t*\t1-4\t
"""


def test_webanno_relations_go_from_their_source_to_their_row(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.tsv").write_text(WEBANNO)
    (record,) = records(tmp_path / "w" / "a.tsv")
    assert records(tmp_path / "w") == [record]
    assert record["tokens"] == ["Ida", "Fenwick", "runs", "Marrow", "Denby"]
    assert spans(record) == {"m1": (0, 2, "PER"), "t1-4": (3, 4, "ORG"), "t2-1": (4, 5, "LOC")}
    assert record["tuples"] == [
        {"type": "leads", "roles": {"head": "m1", "tail": "t1-4"}},
        {"type": "owns", "roles": {"head": "m1", "tail": "t1-4"}},
        {"type": "Relation", "roles": {"head": "t1-4", "tail": "t2-1"}},
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t1-4\t", "\t1-3\t", "a.tsv:13: '1-3' names no mention as the source of this row's relation."),
        ("2-1\t24-29", "x\t24-29", "a.tsv:13: 'x\\t24-29"),
        ("#T_RL=custom.Relation|kind|BT_custom.Entity\n", "", "a.tsv: the header has no relation layer."),
        ("BT_custom.Entity", "BT_custom.Other", "which is not a span layer of the header"),
    ],
)
def test_webanno_errors_name_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "a.tsv").write_text(WEBANNO.replace(old, new))
    assert message in error(tmp_path / "a.tsv")


def test_webanno_layers_are_chosen_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(WEBANNO)
    assert len(records(tmp_path / "a.tsv", column="Relation")) == 1
    assert "there is no relation layer 'X'.\nThere are: Relation." in error(tmp_path / "a.tsv", column="X")


def test_every_format_is_recognised_by_itself_alone(tmp_path: Path) -> None:
    from spanwise.formats._opening import File

    (tmp_path / "a.tsv").write_text(HIPE)
    (tmp_path / "w.tsv").write_text(WEBANNO)
    (tmp_path / "p.txt").write_text(PUBTATOR)
    paths = {
        "hipe": tmp_path / "a.tsv",
        "webanno": tmp_path / "w.tsv",
        "pubtator": tmp_path / "p.txt",
        "brat": brat(tmp_path / "b", MENTIONS),
        "spert": dumped(tmp_path, [SPERT], "s.json"),
        "docred": dumped(tmp_path, [DOCRED], "d.json"),
        "dygie": dumped(tmp_path, PURE, "y.json"),
        "label-studio": dumped(tmp_path, [TASK], "l.json"),
        "jsonl": dumped(tmp_path, {**UNIT, "tuples": []}, "j.jsonl"),
    }
    assert {name: tuple_format_of(File(path)).name for name, path in paths.items()} == {n: n for n in paths}
