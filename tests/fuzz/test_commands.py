"""Files read by single commands: inputs that once broke something give a result or an error of ours."""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from fuzz.working import lay_out

import spanwise
import spanwise_taggers
from fuzz import seeds, verbs
from spanwise.cli.main import main
from spanwise.columns import Column
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation.columns import MentionColumns
from spanwise.formats import read_toml
from spanwise.suspicion import apply_decisions

DIGITS = "9" * 5000


def test_every_kind_of_file_is_used_as_it_was_written(tmp_path: Path) -> None:
    lay_out(tmp_path)
    (tmp_path / "gold.conll").write_text(seeds.TEXTS["conll"][1])
    for name in ("paired", "answers", "scores", "gate", "aliases", "edges", "columns"):
        for data in seeds.VERBS[name].files():
            path = tmp_path / seeds.VERBS[name].name
            path.write_bytes(data)
            verbs.TARGETS[name](path, random.Random(1))


@pytest.mark.parametrize("answer", ['{"text": "Ann", "label": "\\ud800"}', '["\\ud800 Lee", "PER"]'])
def test_a_lone_surrogate_in_an_answer_is_shown_as_such(answer: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"id": "0", "answers": [{answer}]}}\n{{"id": "1", "answers": []}}\n')
    document = spanwise.place(seeds.gold(), tmp_path / "a.jsonl")
    assert document.answers.given == 1 and "\ufffd" in document.to_json()


@pytest.mark.parametrize(
    "item",
    [f'"score": {DIGITS[:400]}', '"score": Infinity', f'"occurrence": "{DIGITS}"', '"occurrence": 1e999'],
)
def test_invalid_numbers_in_an_answer_are_left_out(item: str, tmp_path: Path) -> None:
    answer = f'{{"text": "Ann Lee", "label": "PER", {item}}}'
    (tmp_path / "a.jsonl").write_text(f'{{"id": "0", "answers": [{answer}]}}\n{{"id": "1", "answers": []}}\n')
    assert spanwise.place(seeds.gold(), tmp_path / "a.jsonl").answers.placed == 1


def test_nested_wrappers_around_answers_are_a_failed_response() -> None:
    deep: object = [["Ann", "PER"]]
    for _ in range(100_000):
        deep = {"answers": deep}
    assert spanwise.place(seeds.gold(), [deep, []]).units.failed == 1


@pytest.mark.parametrize("cell", ["x" * 200_000, "²", DIGITS, "", "-1", "1.0"])
def test_worksheets_with_invalid_cells_are_refused(cell: str, tmp_path: Path) -> None:
    spanwise.write(seeds.gold(), tmp_path / "gold.conll")
    head = "sentence,gold_start,gold_end,gold_label,start,end,label,decision\n"
    (tmp_path / "sheet.csv").write_text(f"{head}{cell},0,2,PER,0,1,PER,accept\n")
    with pytest.raises(InputError, match=r"sheet\.csv:2: "):
        apply_decisions(tmp_path / "sheet.csv", tmp_path / "gold.conll", tmp_path / "out.conll")
    assert not (tmp_path / "out.conll").exists()


@pytest.mark.parametrize("text", [f"a = {DIGITS}", "a = " + "[" * 5000, "a = '\x00'", "= 1"])
def test_settings_that_are_not_toml_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(InputError):
        read_toml(tmp_path / "a.toml", "Write it anew.")


def test_absurd_sizes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("Ann B-PER\n")
    call = ["evaluate", str(tmp_path / "a.conll"), str(tmp_path / "a.conll"), "--quiet", "--resamples", "0"]
    assert main([*call, "--memory", DIGITS]) == 0


def _columns(path: Path, **changed: Column) -> Path:
    """A copy of the column file with some arrays replaced."""
    path.write_bytes(seeds.columns()[0])
    loaded = MentionColumns.load(path)
    arrays = {**loaded.arrays, **{name.replace("__", "."): value for name, value in changed.items()}}
    MentionColumns(loaded.head, arrays).save(path)
    return path


@pytest.mark.parametrize(
    "changed",
    [
        {"gold__start": np.array([0, 99, 0])}, {"gold__end": np.array([99, 4, 2])},
        {"gold__end": np.array([-5, 4, 2])}, {"gold__sentence": np.array([0, 0, 7])},
        {"tokens": np.array([0, 1, 2, 3, 4, 99])}, {"sentences": np.array([0, 9, 6])},
        {"sentences": np.array([0, 4, 1 << 60])}, {"vocabulary__at": np.array([0, 99, 3, 4, 5, 6, 7])},
        {"unit_of_sentence": np.array([0, 99])}, {"gold__label": np.array([0.5, 1, 1])},
        {"system0__partner": np.array([0, 99, -1])}, {"gold__tough": np.array([255, 0])},
        {"gold__start": np.zeros((3, 1), np.int32)},
    ],
    ids=str,
)  # fmt: skip
def test_columns_that_do_not_fit_together_are_refused(changed: dict[str, Column], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not hold mention columns"):
        MentionColumns.load(_columns(tmp_path / "a.npz", **changed))


def test_column_files_run_no_code_and_fill_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.evaluation.columns.MOST_UNPACKED", 1 << 20)
    pickled, bomb, promised = (tmp_path / name for name in ("p.npz", "b.npz", "h.npz"))
    np.savez(pickled, head=np.array([print], dtype=object))
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("head.npy", bytes(1 << 22))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i8", "fortran_order": False, "shape": (1 << 50,)}
    )
    with zipfile.ZipFile(promised, "w") as archive:
        archive.writestr("head.npy", header.getvalue())
    for path in (pickled, bomb, promised):
        assert MentionColumns.read_head(path) is None
        with pytest.raises(InputError, match="does not hold mention columns"):
            MentionColumns.load(path)


def test_documents_that_contradict_themselves_are_refused(tmp_path: Path) -> None:
    described = json.loads(seeds.documents()[2])
    described["dataset"]["label_order"].append("ORG")
    agreed = json.loads(seeds.documents()[5])
    agreed["annotators"] = ["someone", "else"]
    for content in (described, agreed):
        (tmp_path / "r.json").write_text(json.dumps(content))
        with pytest.raises(InputError, match="is not among"):
            spanwise.load(tmp_path / "r.json")


@pytest.mark.parametrize("kind", range(9))
def test_every_kind_of_document_is_shown_or_refused_by_every_command(kind: int, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(seeds.documents()[kind])
    calls = [["table"], ["errors"], *(["export", form] for form in ("flat", "rows", "summary", "terminal"))]
    assert {main([command, str(path), *rest]) for command, *rest in calls} <= {0, 2, 3}


def test_conditions_are_parsed_back_as_they_were_written() -> None:
    from spanwise.conditions import parse

    for text in ('label="a\\"b", label!=LOC', "label=\x000\x00", 'label="\\\\"', "entity_length>=1e308"):
        condition = parse(text)
        assert parse(str(condition)) == condition
    for text in ("", "&", "label", "label=", "=PER", "entity_length>=nan", 'label="PER', "a" * 100_000):
        with pytest.raises(ChoiceError):
            parse(text)


@pytest.fixture(scope="module")
def taggers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pycrfsuite")
    folder = tmp_path_factory.mktemp("taggers")
    (folder / "train.conll").write_text(seeds.TEXTS["conll"][1] * 3)
    spanwise_taggers.train("crf", folder / "train.conll", folder / "train.conll").save(folder / "crf")
    return folder


def test_a_damaged_model_cannot_kill_the_process(taggers: Path, tmp_path: Path) -> None:
    shutil.copytree(taggers / "crf", tmp_path / "crf")
    model = (taggers / "crf" / "model.crfsuite").read_bytes()
    far = model[:28] + b"\xff" * 16 + model[44:]  # the offsets of its parts
    for damaged in (far, model[: len(model) // 2], b"", b"lCRF"):
        (tmp_path / "crf" / "model.crfsuite").write_bytes(damaged)
        with pytest.raises(InputError, match="its file is damaged"):
            spanwise_taggers.predict(tmp_path / "crf", taggers / "train.conll")


def test_another_process_gives_the_same_tags(taggers: Path) -> None:
    from spanwise_taggers import crfsuite

    annotation = spanwise.read(taggers / "train.conll")
    model = (taggers / "crf" / "model.crfsuite").read_bytes()
    in_process = crfsuite.predict(model, annotation.corpus)
    apart = crfsuite.predict_apart(model, annotation.corpus, scores=True)
    assert in_process.rows() == apart.rows() and len(in_process) > 0


def test_a_folder_that_does_not_contain_a_tagger_is_not_replaced(taggers: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("ten years of work")
    call = ["train", "crf", "--train", str(taggers / "train.conll"), "--dev", str(taggers / "train.conll")]
    assert main([*call, "-o", str(tmp_path / "thesis"), "--quiet"]) == 3
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "ten years of work"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 1 << 40),
        ("hidden", -1),
        ("layers", 10**9),
        ("width", 10**12),
        ("char_filters", 1 << 50),
    ],
)
def test_forged_sizes_allocate_no_memory(name: str, value: int, taggers: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "network"
    model = "CcnnWrandCnnMlp" if name in ("layers", "width") else "CcnnWrandLstmMlp"
    train = taggers / "train.conll"
    spanwise_taggers.train(
        model, train, train, device="cpu", epochs=1, hidden=8, width=8, char_filters=8
    ).save(path)
    about = msgspec.json.decode((path / "tagger.json").read_bytes())
    about["settings"][name] = value
    (path / "tagger.json").write_bytes(msgspec.json.encode(about))
    with pytest.raises(InputError, match="the weights do not fit"):
        spanwise_taggers.load(path)


@pytest.mark.parametrize("body", [b"\xff\xfe", b'"\xff"', b"[" * 100_000, b'{"sentence": 1e999}', b""])
def test_bodies_that_are_not_json_are_a_bad_request(body: bytes, tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("httpx")
    from benches import client_of

    (tmp_path / "gold.conll").write_text(seeds.TEXTS["conll"][1])
    with client_of(verbs._bench(tmp_path / "request.json")) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        headers = {"content-type": "application/json"}
        answer = client.post(f"/api/v1/golds/{slug}/notes", content=body, headers=headers)
        assert answer.status_code == 400
