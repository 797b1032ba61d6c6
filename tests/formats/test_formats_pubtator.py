"""Reading PubTator articles in columns gives the same result as line by line, whole and in parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats import Part, Record
from spanwise.formats.parts import Cutting, pieces, read_piece, surveyed
from spanwise.formats.standoff import articles_of

TEXTS = ["Ann left Rome", "", "é 𝄞", "a|t|b", "0\t1", "x"]
LABELS = ["PER", "é x", "LOC\tMESH:1", "PER\t", ""]
WRONG = ["12", "12\t0\t3", "12\tx\t3\tAnn\tPER", "13\t0\t1\tA\tPER", "12\t0\t999\tA\tPER", "12\t2\t1\tA\tPER"]

Text = tuple[str, str, list[tuple[int, int, str]], int]  # name, text, mentions, and line number


@st.composite
def articles(draw: st.DrawFn) -> list[str]:
    """The lines of one article: usually as in PubTator, sometimes with other passages or relations."""
    name = draw(st.sampled_from(["12", "13", "a b"]))
    title, abstract = draw(st.sampled_from(TEXTS)), draw(st.sampled_from(TEXTS))
    lines = [f"{name}|t|{title}", f"{name}|a|{abstract}"]
    if draw(st.integers(0, 5)) == 0:
        lines = draw(st.sampled_from([lines[:1], lines[1:], [*lines, f"{name}|b|more"], lines[::-1]]))
    text = "\n".join(line.split("|", 2)[2] for line in lines).removesuffix("\n")
    spans = [(start, end) for start in range(len(text)) for end in range(start + 1, len(text) + 1)]
    for start, end in draw(st.lists(st.sampled_from(spans), max_size=4)) if spans else []:
        lines.append(f"{name}\t{start}\t{end}\tquoted\t{draw(st.sampled_from(LABELS))}")
    if draw(st.integers(0, 5)) == 0:
        lines.append(f"{name}\tCID\tD1\tD2")
    return [*lines, *[""] * draw(st.sampled_from([1, 1, 1, 2, 0]))]


def by_lines(path: Path) -> list[Text]:
    """The articles, read line by line, with duplicate mentions dropped."""
    part = Part(str(path), data=path.read_bytes())
    units = [unit for unit in articles_of(part) if isinstance(unit, Record)]
    return [
        (
            unit.id,
            str(unit.body),
            list(dict.fromkeys((*parts[0], label) for parts, label in unit.mentions)),
            unit.line or 0,
        )
        for unit in units
    ]


def contents(annotation: Annotation) -> list[tuple[str, str, list[tuple[int, int, str]]]]:
    """The articles of an annotation."""
    rows = annotation.mentions.rows()
    return [
        (name, text, [row[1:] for row in rows if row[0] == number])
        for number, (name, text) in enumerate(
            zip(annotation.corpus.ids or (), annotation.corpus.texts or (), strict=True)
        )
    ]


@given(
    listed=st.lists(articles(), min_size=1, max_size=6),
    ending=st.sampled_from(["\n", "\r\n"]),
    size=st.sampled_from([40, 200, 10_000]),
    data=st.data(),
)
def test_pubtator_read_in_columns_equals_reading_line_by_line(
    tmp_path_factory: pytest.TempPathFactory,
    listed: list[list[str]],
    ending: str,
    size: int,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("pubtator") / "a.pubtator"
    path.write_bytes(ending.join([*(line for lines in listed for line in lines), ""]).encode())
    expected = by_lines(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.formats._surveying.LINES", size)
        whole = spanwise.read(path, format="pubtator", duplicates="drop")
        assert contents(whole) == [article[:3] for article in expected]
        cuts = sorted(data.draw(st.sets(st.integers(1, max(len(expected) - 1, 1)))))
        reading = {"format": "pubtator", "duplicates": "drop"}
        survey = surveyed(path, reading, Cutting(sentences=cuts))
        assert survey is not None
        assert [cut.line for cut in survey.cuts[1:-1]] == [expected[c][3] for c in cuts if c < len(expected)]
        parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    assert [article for part in parts for article in contents(part)] == [article[:3] for article in expected]


@pytest.mark.parametrize("line", WRONG)
@pytest.mark.parametrize("size", [40, 10_000])
def test_a_wrong_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, size: int) -> None:
    path = tmp_path / "a.pubtator"
    whole = ["11|t|Ann left", "11|a|Rome too.", "11\t0\t3\tAnn\tPER", ""]
    path.write_text("\n".join([*whole, "12|t|Bob left", "12|a|", line, ""]))
    monkeypatch.setattr("spanwise.formats._surveying.LINES", size)
    number = 5 if "\t999\t" in line or "\t2\t1\t" in line else 7
    with pytest.raises(InputError, match=rf"a\.pubtator:{number}: "):
        spanwise.read(path)
