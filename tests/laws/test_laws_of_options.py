"""Options given are options used, or refused, and all that is derived from the records of a format."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats import File, Format, Options, Part, Problem, Record, from_tags, read, validate
from spanwise.formats.parts import Cutting, pieces, read_piece, surveyed

TAGGED = {
    "conll": "Ann {0}\nBo {1}\n\n",
    "jsonl": '{{"tokens": ["Ann", "Bo"], "tags": ["{0}", "{1}"]}}\n',
    "hipe": "TOKEN\tNE-COARSE-LIT\tMISC\nAnn\t{0}\t_\nBo\t{1}\tEndOfSentence\n",
    "conllu": "# global.columns = ID FORM NER\n1\tAnn\t{0}\n2\tBo\t{1}\n\n",
    "flair": "Ann {0} {0}\nBo {1} {1}\n\n",
}


@pytest.mark.parametrize("name", sorted(TAGGED))
def test_every_format_with_tags_uses_the_scheme_and_the_repair_that_are_asked_for(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / f"tags.{name}"
    path.write_text(TAGGED[name].format("I-PER", "B-PER"), encoding="utf-8")
    two = [(0, 0, 1, "PER"), (0, 1, 2, "PER")]
    for scheme in ("IOB1", "IOB2"):
        annotation = read(path, format=name, scheme=scheme)
        assert (annotation.reading.scheme, annotation.mentions.rows()) == (scheme, two)
    assert read(path, format=name, scheme="IOB2", repair="discard").mentions.rows() == two[1:]
    with pytest.raises(InputError, match="impossible"):
        read(path, format=name, scheme="IOB2", repair="none")


def test_a_format_that_ignores_the_scheme_or_the_repair_is_refused(tmp_path: Path) -> None:
    def ignoring(file: File, options: Options) -> Annotation:
        return from_tags([line.split() for line in file.text.splitlines()], name=file.path)

    form = Format("bars", "tags with blanks between them", lambda file: None, read=ignoring)
    path = tmp_path / "tags.bars"
    path.write_text("B-PER I-PER\n")
    assert read(path, format=form).mentions.rows() == [(0, 0, 2, "PER")]
    for option in ({"scheme": "IOB1"}, {"repair": "none"}):
        with pytest.raises(InputError, match=f"the format 'bars' ignores {next(iter(option))}="):
            read(path, format=form, **option)  # type: ignore[arg-type]


def tagged_lines(part: Part, options: Options) -> Iterator[Record | Problem]:
    """A sentence in each line, as `word/tag word/tag`."""
    for number, line in part.lines():
        pairs = [pair.rpartition("/") for pair in line.split()]
        if any(not word for word, _, _ in pairs):
            yield Problem(number, "a word has no tag.\nWrite word/TAG.")
        elif pairs:
            yield Record([word for word, _, _ in pairs], tags=[tag for _, _, tag in pairs], line=number)


SLASHES = Format("slashes", "word/TAG", lambda file: None, tagged_lines, lambda data: data.rfind(b"\n") + 1)


def test_a_format_of_records_streams_validates_places_errors_and_uses_every_option(tmp_path: Path) -> None:
    path = tmp_path / "gold.slashes"
    path.write_text("".join(f"Ann/I-PER Bo/B-PER left/O in{number}/O\n" for number in range(40)))
    whole = read(path, format=SLASHES)
    survey = surveyed(path, {"format": SLASHES}, Cutting(tokens=20))
    assert survey is not None and survey.parts == 8
    parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    assert [name for part in parts for name in part.mentions.names()] == whole.mentions.names()
    places = [part.corpus.place(number) for part in parts for number in range(len(part.corpus))]
    assert places == [whole.corpus.place(number) for number in range(len(whole.corpus))]
    assert places[6] == f"{path}:7"
    assert read(path, format=SLASHES, scheme="IOB2", repair="discard").mentions.rows()[0] == (0, 1, 2, "PER")
    path.write_text("Ann/I-PER\nBo\nCy/PER\nDi/B-PER\n")
    problems = validate(path, format=SLASHES, scheme="IOB2").problems
    assert [problem.line for problem in problems] == [1, 2, 3]
    with pytest.raises(InputError, match=r"gold\.slashes:2: a word has no tag"):
        read(path, format=SLASHES)


def test_the_format_of_another_package_joins_the_law(tmp_path: Path) -> None:
    form = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "plugin" / "spanwise_toy.py"))["sent"]
    path = tmp_path / "gold.sent"
    path.write_text("".join(f"SENT Ann is in{number}\n0 1 PER\n2 3 LOC\n" for number in range(40)))
    whole = read(path, format=form)
    survey = surveyed(path, {"format": form}, Cutting(tokens=15))
    assert survey is not None and survey.parts == 8
    parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    assert [row[1:] for part in parts for row in part.mentions.rows()] == [
        row[1:] for row in whole.mentions.rows()
    ]
    places = [part.corpus.place(number) for part in parts for number in range(len(part.corpus))]
    assert places == [whole.corpus.place(number) for number in range(len(whole.corpus))]
    assert places[6] == f"{path}:19"
    assert read(path, format=form, map={"LOC": "GPE"}, only=["GPE"]).mentions.rows()[0] == (0, 2, 3, "GPE")
    path.write_text("SENT Ann is here\n0 1\nSENT Bo\n0 9 PER\n")
    assert [problem.line for problem in validate(path, format=form).problems] == [2, 3]
    with pytest.raises(InputError, match=r"gold\.sent:2: '0 1' is not a mention"):
        read(path, format=form)
