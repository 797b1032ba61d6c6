"""INCEpTION projects: folders and archives, several annotators, and errors that must not go unnoticed."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

import spanwise
from spanwise.formats.parts import Cutting, pieces, read_piece, reading_of, surveyed

TSV = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|value


#Text=Ann left Rome
1-1\t0-3\tAnn\t{label}
1-2\t4-8\tleft\t_
1-3\t9-13\tRome\tLOC

#Text=She did
2-1\t14-17\tShe\t_
2-2\t18-21\tdid\t_
"""
XMI = """<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:t="http:///t.ecore">
<cas:Sofa xmi:id="1" sofaNum="1" sofaString="Ann left Rome"/>
<t:NamedEntity xmi:id="2" sofa="1" begin="0" end="3" value="{label}"/>
</xmi:XMI>
"""


def project(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


WORK = project(
    {
        "exportedproject.json": "{}",
        "source/doc01.txt": "Ann left Rome",
        "annotation/doc01.txt/ann.tsv": TSV.format(label="PER"),
        "annotation/doc01.txt/bob.tsv": TSV.format(label="LOC"),
        "annotation/doc01.txt/INITIAL_CAS.tsv": TSV.format(label="_"),
        "annotation/doc02.txt/ann.tsv": TSV.format(label="PER"),
        "curation/doc01.txt/CURATION_USER.tsv": TSV.format(label="ORG"),
    }
)


def packed(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def stored(files: dict[str, bytes], how: str, folder: Path) -> Path:
    """The project as a folder, an archive, or an archive of archives (which newer versions export)."""
    if how == "folder":
        for name, content in files.items():
            path = folder / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder / "project"
    if how == "nested":
        files = {
            f"{name.rpartition('.')[0]}.zip" if name.endswith((".tsv", ".xmi")) else name: (
                packed({name.rpartition("/")[2]: content, "TypeSystem.xml": b"<x/>"})
                if name.endswith((".tsv", ".xmi"))
                else content
            )
            for name, content in files.items()
        }
    path = folder / "project.zip"
    path.write_bytes(packed(files))
    return path


HOW = ["folder", "archive", "nested"]


@pytest.mark.parametrize("how", HOW)
def test_one_annotator_is_read_with_documents_and_positions(how: str, tmp_path: Path) -> None:
    path = stored(WORK, how, tmp_path)
    annotation = spanwise.read(path, annotator="ann")
    assert annotation.reading.format == "inception"
    assert annotation.corpus.document_ids == ("doc01.txt", "doc02.txt")
    assert annotation.mentions.rows() == [
        (0, 0, 1, "PER"),
        (0, 2, 3, "LOC"),
        (2, 0, 1, "PER"),
        (2, 2, 3, "LOC"),
    ]
    assert annotation.corpus.place(3) == f"{path}: doc02.txt:2"


@pytest.mark.parametrize("how", HOW)
def test_the_first_of_several_annotators_is_never_chosen_silently(how: str, tmp_path: Path) -> None:
    path = stored(WORK, how, tmp_path)
    with pytest.raises(spanwise.InputError, match="3 annotators marked the same texts"):
        spanwise.read(path)
    with pytest.raises(spanwise.ChoiceError, match="no annotator is called 'zoe'"):
        spanwise.read(path, annotator="zoe")


def test_the_curator_is_chosen_by_name_and_missing_documents_are_noted(tmp_path: Path) -> None:
    annotation = spanwise.read(stored(WORK, "folder", tmp_path), annotator="CURATION_USER")
    assert annotation.mentions.rows()[0] == (0, 0, 1, "ORG")
    assert annotation.reading.notes == ("1 document without a file of CURATION_USER",)


def test_a_single_annotator_needs_no_name(tmp_path: Path) -> None:
    alone = {name: content for name, content in WORK.items() if "bob" not in name and "curation" not in name}
    assert len(spanwise.read(stored(alone, "nested", tmp_path)).mentions) == 4


@pytest.mark.parametrize("how", HOW)
def test_annotators_of_a_project_are_compared_without_the_curator(how: str, tmp_path: Path) -> None:
    agreement = spanwise.agree(stored(WORK, how, tmp_path))
    assert agreement.annotators == ("ann", "bob")
    assert agreement.pairs[0].overall.f1 == 0.5


@pytest.mark.parametrize("how", HOW)
def test_xmi_is_read_too(how: str, tmp_path: Path) -> None:
    work = project({"annotation/doc01.txt/ann.xmi": XMI.format(label="PER")})
    assert spanwise.read(stored(work, how, tmp_path)).mentions.rows() == [(0, 0, 3, "PER")]


def test_the_annotation_folder_can_be_read_on_its_own(tmp_path: Path) -> None:
    path = stored(WORK, "folder", tmp_path) / "annotation"
    assert len(spanwise.read(path, annotator="bob").mentions) == 2


def test_other_archives_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    other.write_bytes(packed({"gold.conll": b"Ann B-PER\n"}))
    with pytest.raises(spanwise.InputError, match="this is a zip archive"):
        spanwise.read(other)
    damaged = tmp_path / "damaged.zip"
    work = {"annotation/doc01.txt/ann.zip": b"PK\x03\x04 no archive"}
    damaged.write_bytes(packed(work))
    with pytest.raises(spanwise.InputError, match="the archive cannot be read"):
        spanwise.read(damaged)


def test_an_archive_that_grows_without_end_is_refused(tmp_path: Path) -> None:
    path = stored(project({"annotation/d/ann.tsv": "#" * 3_000_000}), "archive", tmp_path)
    with pytest.raises(spanwise.InputError, match="unpacks to more than"):
        spanwise.read(path, limits={"unpacked": 1000})


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ["tsv", "xmi"])
def test_the_parts_of_a_project_contain_the_same_as_the_whole(how: str, kind: str, tmp_path: Path) -> None:
    texts = {
        "annotation/doc00.txt/ann": XMI,
        "annotation/doc02.txt/ann": XMI,
        "annotation/doc02.txt/bob": XMI,
    }
    xmi = project({f"{name}.xmi": text.format(label="PER") for name, text in texts.items()})
    path = stored(WORK if kind == "tsv" else xmi, how, tmp_path)
    whole = spanwise.read(path, annotator="ann")
    survey = surveyed(path, {"annotator": "ann"}, Cutting(sentences=[1, 3]))
    assert survey is not None and survey.sentences == len(whole.corpus)
    parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    assert len(parts) == (3 if kind == "tsv" else 2)
    numbers = [(part, number) for part in parts for number in range(len(part.corpus))]
    expected = [(whole, number) for number in range(len(whole.corpus))]
    for content in (
        lambda annotation, number: annotation.corpus.words(number),
        lambda annotation, number: annotation.corpus.place(number),
        lambda annotation, number: [row[1:] for row in annotation.mentions.rows() if row[0] == number],
    ):
        assert [content(*pair) for pair in numbers] == [content(*pair) for pair in expected]
    reading = reading_of(survey, "only", repairs=0, labels=whole.mentions.labels)
    assert (reading.evidence, reading.notes) == (whole.reading.evidence, whole.reading.notes)
    assert reading.sha256 == whole.reading.sha256
    assert surveyed(path, {}, Cutting(tokens=1)) is None  # two annotators: reading the whole reports it
