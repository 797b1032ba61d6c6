"""Reading WebAnno TSV in columns gives the same result as line by line, whole and in parts."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import spanwise
from spanwise.corpus import Annotation, Pieces, joined_pieces
from spanwise.errors import InputError
from spanwise.formats import File, Options, Part, Record
from spanwise.formats.parts import Cutting, pieces, read_piece, surveyed
from spanwise.formats.webanno import sentences_of, webanno_layer

HEADER = ["#FORMAT=WebAnno TSV 3.3", "#T_SP=x.POS|value", "#T_SP=x.NamedEntity|identifier|value", "", ""]
# Labels alone, with a number, several at once, unnamed, with escapes, and with unusual brackets.
VALUES = [
    *("_", "PER", "LOC[1]", "LOC[2]", "LOC[1]|PER[3]", "PER|PER", "*", "*[4]", "_[5]|_", "[1]", "|", "a b"),
    *("A\\_B", "\\_", "A\\|B[2]", "x\\[1]", "y[1][2]", "z[", "é[٣]", "[", "w[1]x", "\\"),
]
TOKENS = ["Ann", "é", "a b", "#", "-DOCSTART-", "_", "\\[b\\]", " "]
REGULAR = [
    f"1-{number}\t0-3\t{TOKENS[number % len(TOKENS)]}\tN\t*\t{value}"
    for number, value in enumerate(VALUES, start=1)
]
BESIDE = ["", "", "", "#Text=Ann left", "#", "#T_RL=x.Relation|to"]
ODD = [
    "1-3.1\t0-2\tle\tN\t*\tODD",
    "1-9\t0-3\tshort",
    "1-9\t0-3\tw\tN\t*\tPER\t\t",
    "1-9\t\tw\tN\t*\tPER",
    "1-9\t0-3\t\t\t\t",
]
WRONG = ["word", "x\ty\tz", "\t", " "]

Sentence = tuple[list[str], list[tuple[Pieces, str]], str]  # tokens, mentions, and position


def by_lines(path: Path) -> list[Sentence]:
    """The sentences, read line by line, with duplicate mentions dropped."""
    part = Part(str(path), data=path.read_bytes(), head=webanno_layer(File(path), Options()))
    units = [unit for unit in sentences_of(part) if isinstance(unit, Record)]
    return [
        (
            list(unit.body),
            list(dict.fromkeys((joined_pieces(pieces), label) for pieces, label in unit.mentions)),
            f"{path}:{unit.line}",
        )
        for unit in units
    ]


def contents(annotation: Annotation) -> list[Sentence]:
    """The sentences of an annotation."""
    mentions: list[list[tuple[Pieces, str]]] = [[] for _ in range(len(annotation.corpus))]
    for sentence, parts, label in zip(
        annotation.mentions.sentence.tolist(),
        annotation.mentions.pieces(),
        annotation.mentions.names(),
        strict=True,
    ):
        mentions[sentence].append((parts, label))
    return [(annotation.corpus.words(i), own, annotation.corpus.place(i)) for i, own in enumerate(mentions)]


@given(
    lines=st.lists(st.sampled_from(REGULAR) | st.sampled_from(BESIDE), min_size=1, max_size=25),
    odd=st.lists(st.sampled_from(ODD), max_size=2),
    behind=st.sampled_from(["", "\t"]),
    ending=st.sampled_from(["\n", "\r\n"]),
    size=st.sampled_from([40, 200, 10_000]),
    data=st.data(),
)
def test_webanno_read_in_columns_equals_reading_line_by_line(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    odd: list[str],
    behind: str,
    ending: str,
    size: int,
    data: st.DataObject,
) -> None:
    rows = [f"{line}{behind}" if "\t" in line else line for line in lines]
    first = [f"{REGULAR[0]}{behind}"]
    for line in odd:
        rows.insert(data.draw(st.integers(0, len(rows))), line)
    # A part of a token before any token is outside its sentence, which the test below covers.
    tokens = ["", *(line for line in [*first, *rows] if not line.startswith("#"))]
    assume(all(before or line != ODD[0] for before, line in pairwise(tokens)))
    path = tmp_path_factory.mktemp("webanno") / "a.tsv"
    path.write_bytes(ending.join([*HEADER, *first, *rows, ""]).encode())
    expected = by_lines(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.formats._surveying.LINES", size)
        whole = spanwise.read(path, duplicates="drop")
        assert contents(whole) == expected
        cuts = sorted(data.draw(st.sets(st.integers(1, max(len(expected) - 1, 1)))))
        survey = surveyed(path, {"duplicates": "drop"}, Cutting(sentences=cuts))
        assert survey is not None
        parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    assert [sentence for part in parts for sentence in contents(part)] == expected
    assert whole.mentions.labels == tuple(sorted({label for _, own, _ in expected for _, label in own}))


@pytest.mark.parametrize("line", WRONG)
@pytest.mark.parametrize("size", [100, 10_000])
def test_a_line_that_is_not_a_token_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, size: int
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("\n".join([*HEADER, *REGULAR[:5], "", *REGULAR[:3], line, *REGULAR[:2], ""]))
    monkeypatch.setattr("spanwise.formats._surveying.LINES", size)
    with pytest.raises(InputError, match=re.escape(f"a.tsv:15: {line!r} is not a token")):
        spanwise.read(path)


def test_a_part_of_a_token_before_any_token_is_outside_its_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("\n".join([*HEADER, REGULAR[0], "", ODD[0], REGULAR[0], ""]))
    monkeypatch.setattr("spanwise.formats._surveying.LINES", 130)
    with pytest.raises(InputError, match=r"a\.tsv:9: the mention ODD \[-1, 0\) is not inside sentence 2"):
        spanwise.read(path)
