"""Every format that can be read in parts gives the same bytes, and errors, as when it is read whole."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.corpus import Annotation
from spanwise.demo import Demo
from spanwise.errors import InputError
from spanwise.formats import FORMATS, Format
from spanwise.formats.parts import Cutting, pieces, read_piece, surveyed
from spanwise.formats.writing import write
from spanwise.schemes import encode

STREAMED = [format for format in FORMATS if format.survey is not None and format.name != "arrow"]
IN_LINES = [format for format in STREAMED if format.write_folder is None and format.name != "inception"]
LAYERED = [format for format in STREAMED if format.name in ("flair", "label-studio")]


@pytest.fixture
def small_parts(cut_records: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes files be surveyed and read in parts of a few sentences from then on."""

    def begin() -> None:
        cut_records(25)
        monkeypatch.setattr("spanwise.formats._surveying.LINES", 700)
        monkeypatch.setattr("spanwise.formats._json_items.CHUNK", 700)
        monkeypatch.setattr("spanwise.formats._records.TOGETHER", 2)

    return begin


def written(source: Path, format: Format, folder: Path, *, changed: str = "") -> Path:
    """A demo file in another format: as it is written, with other line endings, or compressed."""
    suffix = format.suffixes[0] if format.suffixes else f".{format.name}"
    path = folder / f"{source.stem}{'' if format.write_folder else suffix}"
    if format.name == "flair":
        write_flair(path, spanwise.read(source))
    elif format.name == "inception":
        path = path.with_suffix(".zip")
        write_project(path, spanwise.read(source))
    else:
        write(spanwise.read(source), path, format=format.name, lossy=True)
    if changed == "crlf":
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    if changed == "packed":
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        return packed
    return path


def write_flair(path: Path, gold: Annotation, predicted: Annotation | None = None) -> None:
    """Write a file of tokens with gold and predicted tags, which spanwise itself cannot write."""
    layers = [
        encode(annotation.mentions, annotation.corpus.lengths, "IOB2").lists()
        for annotation in (gold, predicted or gold)
    ]
    sentences = [
        "\n".join(map(" ".join, zip(gold.corpus.words(number), *tags, strict=True)))
        for number, tags in enumerate(zip(*layers, strict=True))
    ]
    path.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")


def write_project(path: Path, gold: Annotation) -> None:
    """Write an archive with a WebAnno TSV file for every document, one of them without sentences."""
    webanno = FORMATS.find("webanno")
    assert webanno.write is not None
    [header, *sentences] = webanno.write(gold, None).split(b"\n\n#Text")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, first in enumerate(range(0, len(sentences), 7)):
            body = b"\n\n#Text".join([header, *sentences[first : first + 7]])
            archive.writestr(f"annotation/doc{number:02}.txt/ann.tsv", body + b"\n")
            if number == 3:
                archive.writestr(f"annotation/doc{number:02}b.txt/ann.tsv", header)


@pytest.mark.parametrize("format", STREAMED, ids=lambda format: format.name)
@pytest.mark.parametrize(
    ("changed", "documents"), [("", None), ("", "none"), ("crlf", None), ("packed", None)]
)
def test_every_format_gives_the_same_bytes_in_parts_as_whole(
    demo: Demo,
    tmp_path: Path,
    small_parts: Callable[[], None],
    format: Format,
    changed: str,
    documents: str | None,
) -> None:
    if format not in IN_LINES and changed:
        pytest.skip("a folder or an archive is not packed, and has no lines")
    system, path = next(iter(demo.systems.items()))
    files = {
        name: written(path, format, tmp_path, changed=changed)
        for name, path in {"gold": demo.gold, system: path}.items()
    }
    systems = {system: files[system]}
    options: dict[str, Any] = {"resamples": 10, "format": format.name, "documents": documents}
    if format.name != "spans":  # span files contain no text
        options["train"] = files["gold"]
    whole = spanwise.evaluate(files["gold"], systems, **options).to_json()
    small_parts()
    survey = surveyed(files["gold"], {"format": format.name}, Cutting(tokens=25))
    assert survey is not None and survey.parts > 1
    assert spanwise.evaluate(files["gold"], systems, memory="1GB", **options).to_json() == whole


@pytest.mark.parametrize("format", STREAMED, ids=lambda format: format.name)
def test_the_parts_of_every_format_contain_the_same_as_the_whole(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None], format: Format
) -> None:
    path = written(demo.gold, format, tmp_path)
    whole = spanwise.read(path, format=format.name)
    small_parts()
    survey = surveyed(path, {"format": format.name}, Cutting(sentences=[1, 2, 5, 11]))
    assert survey is not None and survey.sentences == len(whole.corpus)
    parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    numbers = range(len(whole.corpus))
    assert [part.corpus.words(i) for part in parts for i in range(len(part.corpus))] == [
        whole.corpus.words(i) for i in numbers
    ]
    assert [part.corpus.place(i) for part in parts for i in range(len(part.corpus))] == [
        whole.corpus.place(i) for i in numbers
    ]
    assert [name for part in parts for name in part.mentions.names()] == whole.mentions.names()
    if whole.corpus.ids is not None:
        assert [name for part in parts for name in part.corpus.ids or ()] == list(whole.corpus.ids)


@pytest.mark.parametrize("format", LAYERED, ids=lambda format: format.name)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_of_gold_and_predictions_can_be_read_in_parts(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None], format: Format, workers: int
) -> None:
    gold, predicted = spanwise.read(demo.gold), spanwise.read(next(iter(demo.systems.values())))
    path = tmp_path / f"both.{format.name}"
    if format.name == "flair":
        write_flair(path, gold, predicted)
    else:
        tasks = [
            json.loads(format.write(annotation, None))
            for annotation in (gold, predicted)
            if format.write is not None
        ]
        for task, other in zip(*tasks, strict=True):
            task["predictions"] = other["annotations"]
        path.write_text(json.dumps(tasks[0]), encoding="utf-8")
    whole = spanwise.evaluate(path, resamples=10, format=format.name).to_json()
    small_parts()
    survey = surveyed(path, {"format": format.name}, Cutting(tokens=25, merged=True))
    assert survey is not None and survey.parts > 1
    parts = spanwise.evaluate(path, resamples=10, format=format.name, memory="1GB", workers=workers)
    assert parts.to_json() == whole


@pytest.mark.parametrize("scheme", [None, "IOB2"])
def test_records_in_one_list_can_be_read_in_parts(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None], scheme: str | None
) -> None:
    files = {}
    for name, source in {"gold": demo.gold, **demo.systems}.items():
        lines, files[name] = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.json"
        write(spanwise.read(source), lines, scheme=scheme)
        records = lines.read_text(encoding="utf-8").splitlines()
        files[name].write_text("[" + ", ".join(records) + "]", encoding="utf-8")
    systems = {name: files[name] for name in demo.systems}
    options: dict[str, Any] = {"resamples": 10, "format": "jsonl", "train": files["gold"]}
    whole = spanwise.evaluate(files["gold"], systems, **options).to_json()
    small_parts()
    survey = surveyed(files["gold"], {"format": "jsonl"}, Cutting(tokens=25))
    assert survey is not None and survey.parts > 1
    assert spanwise.evaluate(files["gold"], systems, memory="1GB", workers=2, **options).to_json() == whole


LISTED = [format for format in STREAMED if format.name in ("label-studio", "w2ner")]


@pytest.mark.parametrize("format", LISTED, ids=lambda format: format.name)
@pytest.mark.parametrize(
    ("old", "new"),
    [("]\n", ",]\n"), ("]\n", ""), ("PER", "\\ud800"), (",\n", "\n"), ("[", "{"), (":", ": [1}")],
)
def test_a_damaged_list_is_refused_in_parts_as_whole(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None], format: Format, old: str, new: str
) -> None:
    path = written(demo.gold, format, tmp_path)
    text = path.read_text(encoding="utf-8")
    last = text.rindex(old)
    path.write_text(text[:last] + new + text[last + len(old) :], encoding="utf-8")
    with pytest.raises(InputError) as whole:
        spanwise.evaluate(path, {"mine": path}, format=format.name)
    small_parts()
    with pytest.raises(InputError) as parts:
        spanwise.evaluate(path, {"mine": path}, format=format.name, memory="1GB")
    assert str(parts.value) == str(whole.value)


@pytest.mark.parametrize("format", IN_LINES, ids=lambda format: format.name)
@pytest.mark.parametrize("line", ["one", "a\tb\tc", "\xff", '{"tokens": 3}'])
def test_a_broken_line_of_every_format_is_reported_in_parts_as_whole(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None], format: Format, line: str
) -> None:
    path = written(demo.gold, format, tmp_path)
    lines = path.read_bytes().split(b"\n")
    lines[-4:-4] = [line.encode("latin-1")]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(InputError) as whole:
        spanwise.evaluate(path, {"mine": path}, format=format.name)
    small_parts()
    with pytest.raises(InputError) as parts:
        spanwise.evaluate(path, {"mine": path}, format=format.name, memory="1GB")
    assert str(parts.value) == str(whole.value)


# Typical lines of CoNLL-U and HIPE, to be drawn in any order: words, ranges, empty nodes, comments, blanks.
CONLLU_LINES = [
    *(f"{number}\t{word}\t_\t_\t_\t_\t_\t_\t_\t{misc}" for number, word, misc in [
        (1, "Rome", "NER=B-LOC"), (2, "du", "SpaceAfter=No|NER=I-LOC"), (3, "#1", "_"), (4, "é", "NER=O"),
        ("1-2", "dudu", "_"), ("4.1", "gone", "NER=B-PER"),
    ]),
    "", "", "", "\t", "# sent_id = s1", "# sent_id = s2", "#sent_id=", "# text = no sent_id of newdoc",
    "# newdoc", "# newdoc id = a", "# newdoc id = b", "# newdocument = c",
]  # fmt: skip
HIPE_LINES = [
    *(f"{word}\t{tag}\tO\t{misc}" for word, tag, misc in [
        ("Rome", "B-LOC", "_"), ("du", "I-LOC", "NoSpaceAfter|EndOfSentence"), ("#", "O", "EndOfSentence"),
        ("EndOfSentence", "O", "_"), ("é", "-", "_"),
    ]),
    "", "# document_id = a", "# hipe2022:document_id = b", "# language = de", "#document_id=b",
]  # fmt: skip

Sentence = tuple[
    list[str], list[str], str, str | None, int
]  # tokens, tags, its id and document, its first line


def conllu_by_hand(lines: list[str]) -> list[Sentence]:
    sentences: list[Sentence] = []
    name, document, begun, is_open = "", None, 0, False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            name, is_open = "", False
        elif line.startswith("#"):
            key, _, value = (part.strip() for part in line[1:].partition("="))
            if key == "sent_id":
                name = value
                if is_open:
                    sentences[-1] = (*sentences[-1][:2], name, *sentences[-1][3:])
            elif key.split(" ")[0] == "newdoc":
                name = "" if is_open else name
                begun, is_open = begun + 1, False
                document = value or f"document {begun}"
        elif (fields := line.split("\t"))[0].isdigit():
            if not is_open:
                sentences.append(([], [], name, document, number))
                is_open = True
            keys = dict(part.split("=") for part in fields[9].split("|") if "=" in part)
            sentences[-1][0].append(fields[1])
            sentences[-1][1].append(keys.get("NER", "O"))
    return sentences


def hipe_by_hand(lines: list[str]) -> list[Sentence]:
    sentences: list[Sentence] = []
    document, is_open = None, False
    for number, line in enumerate(lines, start=1):
        if number == 1 or not line:
            continue
        fields = line.split("\t")
        if len(fields) == 1:
            if "document_id" in line:
                document, is_open = line.rpartition("=")[2].strip(), False
            continue
        if not is_open:
            sentences.append(([], [], "", document, number))
        sentences[-1][0].append(fields[0])
        sentences[-1][1].append("O" if fields[1] == "-" else fields[1])
        is_open = "EndOfSentence" not in fields[-1]
    return sentences


def sentences_of(annotation: Annotation) -> list[Sentence]:
    """The sentences of an annotation."""
    corpus, owner = annotation.corpus, annotation.corpus.document_of_sentence
    tags = encode(annotation.mentions, corpus.lengths, "IOB2").lists()
    names = None if owner is None else [(corpus.document_ids or ())[which] for which in owner.tolist()]
    return [
        (
            corpus.words(number),
            tags[number],
            "" if corpus.ids is None else corpus.ids[number],
            None if names is None else names[number],
            int(corpus.place(number, 0).rpartition(":")[2]),
        )
        for number in range(len(corpus))
    ]


@pytest.mark.parametrize("format", ["conllu", "hipe"])
@given(data=st.data())
def test_lines_of_any_kind_are_read_as_by_hand_and_in_parts(
    tmp_path_factory: pytest.TempPathFactory, format: str, data: st.DataObject
) -> None:
    in_conllu = format == "conllu"
    drawn = data.draw(st.lists(st.sampled_from(CONLLU_LINES if in_conllu else HIPE_LINES), max_size=25))
    first = CONLLU_LINES[:1] if in_conllu else ["TOKEN\tNE-COARSE-LIT\tNE-COARSE-METO\tMISC", HIPE_LINES[0]]
    lines = [*first, *drawn]
    path = tmp_path_factory.mktemp("lines") / f"a.{format}"
    path.write_bytes(data.draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""]).encode())
    expected = conllu_by_hand(lines) if in_conllu else hipe_by_hand(lines)
    named = any(document is not None for *_, document, _ in expected)
    expected = [(*row[:3], (row[3] or "") if named else None, row[4]) for row in expected]
    # Tags are not compared here: how conlleval's rules read them is tested elsewhere.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.formats._surveying.LINES", data.draw(st.sampled_from([20, 100, 10_000])))
        whole = sentences_of(spanwise.read(path, format=format, scheme="IOB2"))
        assert [row[0] for row in whole] == [row[0] for row in expected]
        assert [row[2:] for row in whole] == [row[2:] for row in expected]
        cuts = sorted(data.draw(st.sets(st.integers(1, max(len(whole) - 1, 1)))))
        survey = surveyed(path, {"format": format, "scheme": "IOB2"}, Cutting(sentences=cuts))
        assert survey is not None
        parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    assert sum(len(part.mentions) for part in parts) == sum(
        tag.startswith("B") for _, tags, *_ in whole for tag in tags
    )
    ids = [] if all(not row[2] for row in whole) else [row[2] for row in whole]
    assert [row[:2] + row[3:] for part in parts for row in sentences_of(part)] == [
        row[:2] + row[3:] for row in whole
    ]
    assert not ids or [name for part in parts for name in part.corpus.ids or ()] == ids
