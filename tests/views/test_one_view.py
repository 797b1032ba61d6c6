"""Every word and number of a view is on every surface that shows its section."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from spanwise import views
from spanwise.cli.main import main
from spanwise.document import Document
from spanwise.document.loading import load
from spanwise.reports import html as pages
from spanwise.reports import tables, terminal
from spanwise.views import Section, View, cells
from spanwise.views.added import SECTIONS, AddedSection
from spanwise.views.cells import (
    Column,
    Flow,
    Grid,
    Interval,
    NamedNumbers,
    Number,
    Paragraphs,
    Quote,
    ShareBar,
    text_of,
)  # fmt: skip

SYSTEMS = "a=swapper.conll b=memoriser.conll"
COMMANDS = {
    "agreement": "agree a=memoriser.conll b=swapper.conll c=shortsighted.conll --systems s=gold.conll",
    "changes": "changes sizes/1.json sizes/2.json",
    "comparison": f"compare gold.conll {SYSTEMS} --train train.conll",
    "confidence": "confidence gold.conll a=scored.jsonl b=scored.jsonl --train train.conll --attributes fu20",
    "curve": "curve sizes",
    "description": "describe gold.conll --train train.conll",
    "evaluation": f"evaluate gold.conll {SYSTEMS} c=shortsighted.conll --train train.conll",
    "evaluation of one system": "evaluate gold.conll a=swapper.conll --train train.conll",
    "leaks": f"leaks gold.conll {SYSTEMS} --train train.conll --attributes fu20",
    "leaks-study": "leaks study.toml",
    "placement": "place gold.conll answers.jsonl",
    "plan": "plan sizes/1.json",
    "slices": f"slices gold.conll {SYSTEMS} --train train.conll --confirm",
    "split": "split gold.conll --unseen 60 --dev 10 -o parts",
    "study": "study study.toml --no-cache --workers 1",
    "study of one dataset": "study one.toml --no-cache --workers 1",
    "suspects": f"suspects gold.conll {SYSTEMS} --train train.conll",
    "tuples": "tuples tuples.jsonl a=fewer.jsonl b=tuples.jsonl --train tuples.jsonl --resamples 50",
    "tuples-study": "tuples tuples.toml",
}

OWN_PAGES = ("comparison", "evaluation", "study")  # whose pages have a template of their own
PAGES = [name for name in COMMANDS if name.split()[0] not in OWN_PAGES]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Document]:
    """A document of every kind that has a view, from the demo corpus."""
    folder = tmp_path_factory.mktemp("views")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(["demo", ".", "--only-files"])
        _write_scored(folder)
        _write_tuples(folder)
        _write_sizes(folder)
        _write_studies(folder)
        for name, line in COMMANDS.items():
            assert main([*line.split(), "--json", f"{name}.json", "--quiet"]) == 0
    return {name: load(folder / f"{name}.json") for name in COMMANDS}


def _write_scored(folder: Path) -> None:
    """Predictions with scores, and the same mentions as strings without positions."""
    main(["convert", "swapper.conll", "swapper.jsonl"])
    rows = [json.loads(line) for line in (folder / "swapper.jsonl").read_text("utf-8").splitlines()]
    answers = []
    for at, row in enumerate(rows):
        named = []
        for span in row["spans"]:
            span["score"] = round(0.5 + (7 * at + 3 * span["start"]) % 49 / 100, 2)
            named.append(
                {"text": " ".join(row["tokens"][span["start"] : span["end"]]), "label": span["label"]}
            )
        answers.append({"id": at, "response": json.dumps(named)})
    for name, lines in (("scored", rows), ("answers", answers)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _write_sizes(folder: Path) -> None:
    """Results of four sizes of training data; the larger, the more sentences are predicted as in gold."""
    gold = (folder / "gold.conll").read_text("utf-8").split("\n\n")
    other = (folder / "memoriser.conll").read_text("utf-8").split("\n\n")
    (folder / "sizes").mkdir()
    for power in range(4):
        mixed = [
            ours if at % 16 < 2**power else theirs
            for at, (ours, theirs) in enumerate(zip(gold, other, strict=True))
        ]
        (folder / "mixed.conll").write_text("\n\n".join(mixed), encoding="utf-8")
        options = ["--tag", f"size={1000 * 2**power}", "--resamples", "20", "--quiet"]
        main(["evaluate", "gold.conll", "crf=mixed.conll", *options, "--json", f"sizes/{power}.json"])


def _write_studies(folder: Path) -> None:
    """Studies of two systems with two runs each, on one and on two datasets."""
    files = {
        name: (folder / f"{name}.conll").read_text("utf-8").strip("\n").split("\n\n")
        for name in ("gold", "swapper", "memoriser")
    }
    (folder / "half.conll").write_text("\n\n".join(files["gold"][::2]) + "\n", encoding="utf-8")
    for system, other in (("swapper", "memoriser"), ("memoriser", "swapper")):
        for run in (1, 2):
            mixed = [
                theirs if at % 7 == run else ours
                for at, (ours, theirs) in enumerate(zip(files[system], files[other], strict=True))
            ]
            for name, part in (("gold", mixed), ("half", mixed[::2])):
                written = "\n\n".join(part) + "\n"
                (folder / f"{name}-{system}.{run}.conll").write_text(written, encoding="utf-8")
    for file, datasets in (("study", ("gold", "half")), ("one", ("gold",))):
        lines = [
            'predictions = "{dataset}-{system}.{run}.conll"', "resamples = 100",
            *(f'[datasets.{name}]\ntrain = "train.conll"\ntest = "{name}.conll"' for name in datasets),
            "[systems.swapper]", "[systems.memoriser]",
        ]  # fmt: skip
        (folder / f"{file}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_tuples(folder: Path) -> None:
    """Tuples between neighbouring mentions of the demo, and a system that has only some of them."""
    main(["convert", "gold.conll", "spans.jsonl"])
    lines: dict[str, list[str]] = {"tuples": [], "fewer": []}
    for at, line in enumerate((folder / "spans.jsonl").read_text("utf-8").splitlines()):
        row = json.loads(line)
        mentions = [{"id": number, **span} for number, span in enumerate(row["spans"])]
        pairs = [
            {"type": "next", "roles": {"head": one, "tail": one + 1}} for one in range(len(mentions) - 1)
        ]
        record = {"id": at, "tokens": row["tokens"], "mentions": mentions, "tuples": pairs}
        lines["tuples"].append(json.dumps(record))
        lines["fewer"].append(json.dumps({**record, "tuples": pairs[: at % 2]}))
    for name, written in lines.items():
        (folder / f"{name}.jsonl").write_text("\n".join(written) + "\n", encoding="utf-8")
    manifest = 'predictions = "{dataset}-{system}.jsonl"\nresamples = 50\n'
    for dataset, part in (("whole", slice(None)), ("even", slice(None, None, 2))):
        manifest += f'[datasets.{dataset}]\ntest = "{dataset}-right.jsonl"\n'
        for system, written in (("right", lines["tuples"]), ("fewer", lines["fewer"])):
            text = "\n".join(written[part]) + "\n"
            (folder / f"{dataset}-{system}.jsonl").write_text(text, encoding="utf-8")
    (folder / "tuples.toml").write_text(f"{manifest}[systems.right]\n[systems.fewer]\n", encoding="utf-8")


def test_every_kind_of_document_with_a_view_is_tested() -> None:
    assert {name.split()[0] for name in COMMANDS} == set(views.VIEWS)


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_screen_begins_with_its_answer(kind: str, documents: Mapping[str, Document]) -> None:
    shown = views.view(documents[kind])
    first = shown.on("screen")[0]
    block = first.blocks[0] if first.name in ("answer", "verdict") else None
    answer = block.texts[0] if isinstance(block, Paragraphs) else shown.verdict
    screen = " ".join(terminal.render(documents[kind], width=100, color=False).split())
    assert str(answer) and screen.startswith(" ".join(str(answer).split()))


@pytest.mark.parametrize("kind", COMMANDS)
def test_every_word_and_number_of_a_section_is_on_the_screen(
    kind: str, documents: Mapping[str, Document]
) -> None:
    document = documents[kind]
    screen = _plain(terminal.render(document, width=120, color=False, detail="full"))
    for section in views.view(document).on("screen"):
        for text in _texts(section, screen=True):
            # A cell may be cut at the end of its column; titles and sentences are wrapped, not cut.
            assert _plain(text)[:10].rstrip() in screen, (section.name, text)


@pytest.mark.parametrize("kind", PAGES)
def test_every_word_and_number_of_a_section_is_on_the_page(
    kind: str, documents: Mapping[str, Document]
) -> None:
    document = documents[kind]
    shown = views.view(document)
    page = _plain(html.unescape(re.sub("<[^>]*>", " ", pages.render(document))))
    for text in (str(shown.about), str(shown.verdict), *shown.notes, *_of_page(shown)):
        assert _plain(text) in page, text


@pytest.mark.parametrize("kind", COMMANDS)
def test_every_word_and_number_of_a_section_is_in_papers(
    kind: str, documents: Mapping[str, Document]
) -> None:
    document = documents[kind]
    shown = views.view(document).on("paper")
    assert shown and list(tables.tables(document)) == [section.name for section in shown]
    for section in shown:
        table = tables.table(document, section.name)
        latex, markdown = table.to_latex(), table.to_markdown()
        values = {value for row in csv.reader(io.StringIO(table.to_csv())) for value in row}
        assert section.table is not None
        for row in section.table.rows:
            numbers = [cell for cell in row if isinstance(cell, Number | Interval)]
            left_out = bool(numbers) and all(text_of(cell) in ("n/a", "") for cell in numbers)
            for cell in row:
                if not left_out:
                    assert tables.latex(text_of(cell)) in latex
                    assert tables.markdown(text_of(cell)) in markdown
                for value in _values(cell):
                    assert value in values, (section.name, value)
            paper = [column.paper or column.title for column in section.table.columns]
            assert set(table.header) <= set(paper)


EARTH = Section(
    "earth",
    cells.words("Moons of {}", "Earth"),
    (Grid([Column("moon"), Column("craters", right=True)], [["Luna", cells.count(5185)]]),),
    "as counted from here",
)


def _adding(monkeypatch: pytest.MonkeyPatch, function: Callable[[Document], object], *kinds: str) -> None:
    """Add a section to documents as another package does."""
    own = AddedSection("moons", "the moons of planets", cast(Any, function), kinds)
    monkeypatch.setitem(SECTIONS._values, "moons", own)


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_section_added_in_one_place_is_on_every_surface(
    kind: str, documents: Mapping[str, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    document = documents[kind]
    _adding(monkeypatch, lambda _: EARTH)
    screen, page = terminal.render(document, width=100, color=False), pages.render(document)
    table, notebook = tables.table(document, "moons"), document._repr_html_()
    for text in (screen, page, table.to_latex(), table.to_markdown(), notebook):
        assert all(word in text for word in ("moon", "craters", "Luna", "5,185"))
    for text in (screen, page, table.to_latex(), table.to_markdown()):
        assert "as counted from here" in text
    assert "Moons of Earth" in screen and "Moons of <bdi>Earth</bdi>" in page
    assert table.to_csv().splitlines() == ["moon,craters", "Luna,5185"]


def test_a_section_is_added_to_the_kinds_of_documents_that_it_takes(
    documents: Mapping[str, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    _adding(monkeypatch, lambda _: EARTH, "split")
    assert [kind for kind in COMMANDS if "moons" in tables.tables(documents[kind])] == ["split"]
    _adding(monkeypatch, lambda _: None)
    assert "moons" not in tables.tables(documents["split"])


def _mistaken(document: Document) -> Section:
    raise KeyError("no moon")


NARROW = Section("moons", cells.words("Moons"), (Grid([Column("moon")], [["Luna", "Earth"]]),))
WRONG = {
    "failed: KeyError: 'no moon'": _mistaken,
    "is a str, not a Section": lambda _: "Luna",
    "has a str in the place of a table or of sentences": lambda _: replace(EARTH, blocks=("Luna",)),
    "has a table with 1 columns and a row of another length": lambda _: NARROW,
}


@pytest.mark.parametrize("why", WRONG)
@pytest.mark.parametrize("kind", ["split", "evaluation", "description"])
def test_a_section_that_fails_is_said_to_be_of_its_package_and_the_rest_is_shown(
    kind: str, why: str, documents: Mapping[str, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    document = documents[kind]
    before = terminal.render(document, width=100, color=False).splitlines()
    _adding(monkeypatch, WRONG[why])
    package = __name__.partition(".")[0]
    says = f"This section of the package {package} {why}. Please report it to the authors of that"
    screen = terminal.render(document, width=100, color=False)
    assert {*before} < {*screen.splitlines()}
    for text in (screen, pages.render(document), document._repr_html_()):
        assert " ".join(says.split()) in " ".join(html.unescape(text).split())


def test_a_section_cannot_take_the_place_of_another(
    documents: Mapping[str, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECTIONS._values, "labels", AddedSection("labels", "moons", lambda _: EARTH))
    document = documents["evaluation"]
    assert "has the name of another one" in terminal.render(document, width=200)
    assert "Luna" not in tables.table(document, "labels").to_csv()


def test_names_in_a_title_cannot_change_the_page_around_them() -> None:
    from spanwise.reports.html.views import isolated

    assert isolated(cells.words("Where {} is <weak>", "<b>{}")) == (
        "Where <bdi>&lt;b&gt;{}</bdi> is &lt;weak&gt;"
    )
    assert str(cells.literal("a {b} c")) == "a {b} c"


def _of_page(shown: View) -> Iterator[str]:
    for section in shown.on("page"):
        if any(isinstance(block, cells.Chart) for block in section.blocks):
            continue  # left out if there is nothing to draw
        yield from _texts(section, screen=False)


def _texts(section: Section, *, screen: bool) -> Iterator[str]:
    """Titles, notes, sentences and cells; on a screen only the columns and rows that it has room for."""
    yield str(section.title)
    yield section.note
    for block in section.blocks:
        if isinstance(block, Paragraphs):
            yield from map(str, block.texts)
        if isinstance(block, Flow):
            yield from (phrase.text for part in block.parts for phrase in part)
        if isinstance(block, Quote):
            yield from (block.source, *block.chips, block.evidence)
            for side, pieces in block.readings:
                yield from (side, *(part for piece in pieces for part in (piece.text, piece.label)))
        if isinstance(block, Grid) and ("screen" if screen else "page") in block.on:
            block = block.shown_on("screen" if screen else "page")
            yield from (phrase.text for flow in block.under if flow for part in flow.parts for phrase in part)
            kept = [at for at, column in enumerate(block.columns) if not screen or not column.rank]
            for row in block.rows[: block.most if screen else None]:
                for cell in (row[at] for at in kept):
                    if isinstance(cell, NamedNumbers):
                        yield from (
                            f"{name} {number}" for name, number in cell.pairs[: 1 if screen else None]
                        )
                    elif not isinstance(cell, ShareBar):
                        yield text_of(cell)


def _values(cell: cells.Cell) -> Iterator[str]:
    """The unrounded numbers of a cell, as CSV writes them."""
    if isinstance(cell, Number):
        yield "n/a" if cell.value is None else str(cell.value)
    elif isinstance(cell, Interval):
        yield from ("n/a" if end is None else str(end) for end in cell.ends)


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text)
