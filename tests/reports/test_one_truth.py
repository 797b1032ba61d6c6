"""Every surface of a document names the same significant pairs, with the same letters and bold scores.

Each surface has a small parser, which reads what is rendered. A further surface is one more entry in the
dictionaries of parsers.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from study_files import hash_of, predicted, sentences, write
from typed import present

import spanwise
from spanwise.document import Document
from spanwise.reports.html import render as html
from spanwise.reports.outlets import step_summary
from spanwise.reports.tables import table
from spanwise.reports.terminal import render
from spanwise.views.statements import statements
from spanwise.views.wording import interval, path_title

RATES = {"large": 0.1, "twin": 0.12, "small": 0.3, "rules": 0.5}
ASKED = [("large", "rules"), ("large", "twin"), ("small", "rules")]
DATASETS = ("north", "south")
ALONE = "test"  # the dataset of an evaluation


class Shown(Struct):
    """What a surface shows: (dataset, better, worse), the letter of every system, (dataset, bold system)."""

    better: set[tuple[str, str, str]]
    letters: dict[str, str] | None = None  # None: the surface has none
    bold: set[tuple[str, str]] | None = None

    @classmethod
    def of(
        cls,
        letters: dict[str, str],
        beats: dict[tuple[str, str], str],
        bold: set[tuple[str, str]] | None = None,
    ) -> Shown:
        """From the letters that each system beats on each dataset."""
        named = {sign: name for name, sign in letters.items()}
        better = {(dataset, name, named[sign]) for (dataset, name), signs in beats.items() for sign in signs}
        return cls(better, letters, bold)


Parser = Callable[[Document], Shown]


# ---- tables ----------------------------------------------------------------------------------------


def of_rows(rows: list[list[str]], letters_of: str, bold_of: str) -> Shown:
    """A table with a letter, a name and a score per dataset in each row, given patterns for marks."""
    header, *body = rows
    at = {dataset: header.index(dataset) for dataset in DATASETS if dataset in header} or {ALONE: 2}
    own = {row[1]: row[0] for row in body}
    beats, bold = {}, set()
    for row in body:
        for dataset, column in at.items():
            found = re.search(letters_of, row[column])
            beats[dataset, row[1]] = found[1] if found else ""
            if re.search(bold_of, row[column]):
                bold.add((dataset, row[1]))
    return Shown.of(own, beats, bold)


def markdown_table(text: str) -> Shown:
    lines = text[text.index("| letter ") :].splitlines()
    end = next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]
    return of_rows([rows[0], *rows[2:]], r"<sup>(\w+)</sup>", r"\*\*")


def markdown(document: Document) -> Shown:
    return markdown_table(table(document, "holistic").to_markdown())


def latex(document: Document) -> Shown:
    text = table(document, "holistic").to_latex()
    inside = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    lines = [line for line in inside.splitlines() if "&" in line]
    rows = [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in lines]
    return of_rows(rows, r"\^\{\\mathrm\{(\w+)\}\}", r"\\textbf")


def comma_separated(document: Document) -> Shown:
    header, *body = csv.reader(io.StringIO(table(document, "holistic").to_csv()))
    beats: dict[tuple[str, str], str] = {}
    for column, title in enumerate(header):
        if title.endswith("letters"):
            dataset = title.removesuffix("letters").strip() if len(DATASETS) > 1 else ALONE
            dataset = dataset if dataset in DATASETS else ALONE
            beats |= {(dataset, row[1]): row[column] for row in body}
    return Shown.of({row[1]: row[0] for row in body}, beats)


def summary(document: Document) -> Shown:
    return markdown_table(step_summary(document))


# ---- sentences -------------------------------------------------------------------------------------


def of_sentences(texts: Iterator[str]) -> Shown:
    better = set()
    for text in texts:
        found = re.match(r"(?:(\w+): )?(\w+) is better than (\w+) by ", text)
        if found:
            better.add((found[1] or ALONE, found[2], found[3]))
    return Shown(better)


def in_words(document: Document) -> Shown:
    return of_sentences(iter(statements(document)))


# ---- screens ---------------------------------------------------------------------------------------


def screen(document: Document) -> str:
    return render(document, width=110, color=False, detail="full")


def section(text: str, title: str) -> list[str]:
    """The lines of the first section with this title."""
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(f" {title} "))
    return lines[first + 1 : next(at for at in range(first + 1, len(lines)) if not lines[at].strip())]


def screen_letters(document: Document) -> Shown:
    own: dict[str, str] = {}
    beats: dict[tuple[str, str], str] = {}
    for line in section(screen(document), "Systems"):
        row = re.match(r"  ([a-z])  (\w+) +(\d.*)", line)
        cells = re.findall(r"\d+\.\d(?: ±\d+\.\d)? ?([a-z]*)", row[3]) if row else []
        if row and len(cells) == len(DATASETS):
            own[row[2]] = row[1]
            beats |= {(dataset, row[2]): signs for dataset, signs in zip(DATASETS, cells, strict=True)}
    return Shown.of(own, beats)


def board(text: str, dataset: str) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    header, *lines = section(text, "Systems")
    at = header.index("beats")
    own, beats = {}, {}
    for line in lines:
        row = re.match(r"  ([a-z])  (\w+) ", line)
        if row:
            own[row[2]] = row[1]
            beats[dataset, row[2]] = line[at : at + 5].replace(" ", "").replace("–", "")
    return own, beats


def screen_board(document: Document) -> Shown:
    return Shown.of(*board(screen(document), ALONE))


def screen_boards(document: Document) -> Shown:
    own: dict[str, str] = {}
    beats: dict[tuple[str, str], str] = {}
    for dataset in DATASETS:
        part = screen(document).partition(f" ── {dataset} ")[2]
        one, other = board(part, dataset)
        own |= one
        beats |= other
    return Shown.of(own, beats)


def stars(document: Document) -> Shown:
    better = set()
    rows = section(screen(document), "Differences")
    datasets = DATASETS if any(name in rows[0] for name in DATASETS) else (ALONE,)
    for line in rows:
        row = re.match(r"  (\w+) − (\w+) (.*)", line)
        if not row:
            continue
        signed = re.findall(r"([+−])\d+\.\d *(\*?)", row[3])[: len(datasets)]
        if datasets == (ALONE,):  # the star stands after the p-value
            signed = [(signed[0][0], "*" if "*" in row[3] else "")]
        for dataset, (sign, star) in zip(datasets, signed, strict=True):
            if star:
                better.add((dataset, row[1], row[2]) if sign == "+" else (dataset, row[2], row[1]))
    return Shown(better)


# ---- pages -----------------------------------------------------------------------------------------


class Tables(HTMLParser):
    """The cells of all tables of a page, each as its text, with bold and raised parts marked."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            self.tables[-1][-1].append("")
            self.inside = True
        elif tag in ("b", "sup") and self.inside:
            self.handle_data(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "table"):
            self.inside = False
        elif tag in ("b", "sup") and self.inside:
            self.handle_data(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.tables[-1][-1][-1] += data


def page_tables(document: Document) -> list[list[list[str]]]:
    return Tables(html(document)).tables


def page(document: Document) -> Shown:
    header, *body = next(rows for rows in page_tables(document) if rows[0][:2] == ["letter", "system"])
    names = [title.partition(" ")[0] for title in header]  # without the number of mentions
    body = [row for row in body if row[1]]  # without the axis
    return of_rows([names, *body], r"<sup>(\w+)</sup>", "<b>")


def page_board(document: Document) -> Shown:
    """The leaderboard; that of a study shows its first dataset."""
    header, *body = next(rows for rows in page_tables(document) if rows[0][:2] == ["pair", "letter"])
    ties = len(body[0]) - len(header)  # the title of the brackets spans several columns
    at = header.index("beats") + ties
    dataset = next((name for name in DATASETS if name in getattr(document, "datasets", {})), ALONE)
    beats = {(dataset, row[2]): row[at].replace("–", "") for row in body}
    bold = {(dataset, row[2]) for row in body if "<b>" in row[3]}
    return Shown.of({row[2]: row[1] for row in body}, beats, bold)


def page_words(document: Document) -> Shown:
    listed = re.findall(r"<li>([^<]+)</li>", html(document))
    return of_sentences(iter(listed))


# ---- JSON ------------------------------------------------------------------------------------------


def tree_of(document: Document) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(document.to_json())
    return tree


def compared(document: Document) -> Shown:
    tree = tree_of(document)
    parts = tree.get("datasets", {ALONE: tree})
    better = set()
    for dataset, part in parts.items():
        for row in part["comparisons"]:
            test = next(test for test in row["scores"] if test["role"] == "primary")
            assert test["significant"] == (test["p_corrected"] < 0.05)
            if test["significant"]:
                first, second = row["systems"] if test["difference"] > 0 else reversed(row["systems"])
                better.add((dataset, first, second))
    return Shown(better)


def json_letters(document: Document) -> Shown:
    tree = tree_of(document)
    if "datasets" not in tree:
        own = {name: "abcdef"[at] for at, name in enumerate(tree["letters"])}
        return Shown.of(own, {(ALONE, name): signs for name, signs in tree["letters"].items()})
    cells = {
        (dataset, name): cell
        for name, row in tree["analyses"]["holistic"].items()
        for dataset, cell in row.items()
    }
    letters = {
        name: {cell["letter"] for (_, other), cell in cells.items() if other == name} for _, name in cells
    }
    assert all(len(signs) == 1 for signs in letters.values()), "a letter names one system on all datasets"
    stored = {
        (dataset, name): signs
        for dataset, row in tree["analyses"]["letters"].items()
        for name, signs in row.items()
    }
    assert stored == {key: cell["letters"] for key, cell in cells.items()}
    return Shown.of({name: next(iter(signs)) for name, signs in letters.items()}, stored)


def by_direction(document: Document) -> dict[tuple[str, str], dict[str, int]]:
    """The number of datasets on which each system of a pair is better, as a study writes it."""
    pairs = tree_of(document)["analyses"]["bucket_wise"]["comparative"]
    return {tuple(pair["systems"]): pair["over_datasets"]["better"] for pair in pairs}


OF_BOTH: dict[str, Parser] = {
    "JSON comparisons": compared,
    "JSON letters": json_letters,
    "Markdown": markdown,
    "LaTeX": latex,
    "CSV": comma_separated,
    "summary": summary,
    "statements": in_words,
    "words of the page": page_words,
    "stars on the screen": stars,
}
OF_STUDIES: dict[str, Parser] = {
    **OF_BOTH, "screen": screen_letters, "screen by dataset": screen_boards, "page": page,
}  # fmt: skip
OF_EVALUATIONS: dict[str, Parser] = {**OF_BOTH, "screen": screen_board, "page": page_board}


def written(folder: Path) -> Path:
    for at, dataset in enumerate(DATASETS):
        gold = sentences(70, at)
        write(folder / dataset / "test.txt", gold)
        for system, rate in RATES.items():
            for run in "123":
                seed = hash_of(dataset, system, run)
                write(folder / dataset / f"{system}.{run}.txt", predicted(gold, rate, seed))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("truth"))


def studied(folder: Path, **options: object) -> Any:
    manifest = {
        "predictions": "{dataset}/{system}.{run}.txt", "attributes": "none", "resamples": 200,
        "unit": "sentence",
        "datasets": {name: {"test": f"{name}/test.txt"} for name in DATASETS},
        "systems": {name: {} for name in RATES},
        "compare": [{"systems": list(pair)} for pair in ASKED],
        **options,
    }  # fmt: skip
    return spanwise.study(manifest, root=folder, cache=False, workers=1)


@pytest.fixture(scope="module", params=["study", "dataset"])
def study(folder: Path, request: pytest.FixtureRequest) -> Any:
    return studied(folder, **({} if request.param == "study" else {"family": request.param}))


@pytest.fixture(scope="module")
def evaluation(folder: Path) -> Any:
    systems = {name: folder / "north" / f"{name}.1.txt" for name in ("large", "twin", "rules")}
    return spanwise.compare(
        folder / "north" / "test.txt", systems, attributes="none", resamples=200, unit="sentence", name=ALONE
    )


def agree(surfaces: dict[str, Shown]) -> Shown:
    """Assert that all surfaces show the same, and return it."""
    pairs = {name: sorted(shown.better) for name, shown in surfaces.items()}
    letters = {name: shown.letters for name, shown in surfaces.items() if shown.letters is not None}
    bold = {name: sorted(shown.bold) for name, shown in surfaces.items() if shown.bold is not None}
    truth = pairs["JSON comparisons"]
    assert pairs == dict.fromkeys(pairs, truth)
    assert letters == dict.fromkeys(letters, letters["JSON letters"])
    assert bold == dict.fromkeys(bold, bold["LaTeX"])
    losers = {(dataset, worse) for dataset, _, worse in truth}
    assert bold["LaTeX"] and not losers & set(bold["LaTeX"]), "a system in bold is beaten by none"
    return Shown(set(truth), letters["JSON letters"], set(bold["LaTeX"]))


def test_all_surfaces_of_a_study_agree(study: Any) -> None:
    truth = agree({name: parse(study) for name, parse in OF_STUDIES.items()})
    asked = {frozenset(pair) for pair in ASKED}
    assert {frozenset((first, second)) for _, first, second in truth.better} == asked - {
        frozenset(("large", "twin"))
    }, "some asked pairs differ, one does not, and pairs that were not asked for have no letter"
    north = page_board(study)
    assert north.better == {row for row in truth.better if row[0] == DATASETS[0]}
    assert north.letters == truth.letters
    for (first, second), counts in by_direction(study).items():
        assert counts == {
            name: sum((dataset, name, other) in truth.better for dataset in DATASETS)
            for name, other in ((first, second), (second, first))
        }


def test_all_surfaces_of_an_evaluation_agree(evaluation: Any) -> None:
    truth = agree({name: parse(evaluation) for name, parse in OF_EVALUATIONS.items()})
    assert {(first, second) for _, first, second in truth.better} == {("large", "rules"), ("twin", "rules")}


def leaderboard_api(client: Any, gold: str) -> Shown:
    board = client.get(f"/api/v1/golds/{gold}/leaderboard").json()
    better = {
        (DATASETS[0], *((row["a"], row["b"]) if row["difference"] > 0 else (row["b"], row["a"])))
        for row in board["pairs"]
        if row["significant"]
    }
    beats = {(DATASETS[0], row["system"]): row["letters"] for row in board["rows"]}
    shown = Shown.of({row["system"]: row["letter"] for row in board["rows"]}, beats)
    assert shown.better == better
    return shown


def leaderboard_page(client: Any, gold: str) -> Shown:
    page = client.get(f"/g/{gold}").text
    parts = r'aria-label="choose (\w+)"', r'<b class="letter">(\w)</b>', r'data-name="better than">(\w*)</td>'
    rows = re.findall(".*?".join(parts), page, re.S)
    return Shown.of(
        {name: own for name, own, _ in rows}, {(DATASETS[0], name): signs for name, _, signs in rows}
    )


def test_a_workbench_folder_shows_what_a_study_of_the_same_runs_shows(folder: Path, tmp_path: Path) -> None:
    from benches import client_of

    for system in RATES:
        for run in "123":
            files = folder / "north" / "test.txt", {system: folder / "north" / f"{system}.{run}.txt"}
            result = spanwise.evaluate(*files, attributes="none", unit="sentence", tags={"seed": run})
            result.to_json(tmp_path / f"{system}-{run}.json")
    one = {"datasets": {DATASETS[0]: {"test": f"{DATASETS[0]}/test.txt"}}, "compare": [], "resamples": 1000}
    study = studied(folder, **one)
    with client_of(tmp_path) as client:
        (gold,) = (row["slug"] for row in client.get("/api/v1/golds").json())
        shown = {"API": leaderboard_api(client, gold), "page": leaderboard_page(client, gold)}
        whole, some = (
            client.get(f"/api/v1/golds/{gold}/leaderboard{query}").json() for query in ("", "?q=large")
        )
        page = client.get(f"/g/{gold}?q=rules").text
    truth = compared(study)
    assert len(truth.better) >= 4, "some pairs differ"
    for name, one_surface in shown.items():
        assert one_surface.better == truth.better, name
        assert one_surface.letters == json_letters(study).letters, name
    # A filter shows fewer rows of the same leaderboard: the family, p and the letters stay.
    assert [row["system"] for row in some["rows"]] == ["large"]
    assert some["rows"][0] in whole["rows"] and some["pairs"] == whole["pairs"]
    letters = present(json_letters(study).letters)
    assert re.findall(r'<b class="letter">(\w)</b>', page) == [letters["rules"]]


def test_a_pair_that_is_not_in_the_family_is_said_to_be_untested(study: Any) -> None:
    caption = table(study, "holistic").caption
    assert "Not tested: a–c, b–c, b–d." in caption  # of large, twin, small, rules
    assert "not tested: a–c, b–c, b–d" in screen(study)
    assert statements(study)[-2].startswith("Not tested: large and small, rules and twin, small and twin.")
    rows = tree_of(study)["analyses"]["family"]["untested"]
    assert rows == [["large", "small"], ["rules", "twin"], ["small", "twin"]]


def test_less_is_better_of_what_errors_cost_and_more_of_every_other_score(
    study: Any, evaluation: Any
) -> None:
    said: list[str] = []
    for document in (study, evaluation):
        rows = [row for part in getattr(document, "datasets", {}).values() for row in part.comparisons]
        for comparison in document.comparisons if document is evaluation else rows:
            first, second = comparison.systems
            for test in comparison.scores:
                if test.role != "primary" and test.significant:
                    ahead = (test.difference > 0) != (test.path[0] == "gains")
                    better, worse = (first, second) if ahead else (second, first)
                    by = f"{100 * abs(test.difference):.1f} points ({path_title(test.path)})"
                    said.append(f"{better} is better than {worse} by {by}")
    shown = [text for document in (study, evaluation) for text in statements(document, every=True)]
    assert any("F1 lost to" in text for text in said) and any("precision" in text for text in said)
    assert not [text for text in said if not any(text in whole for whole in shown)]
    assert not [text for text in shown if " points (" in text and "shuffles" in text]


def test_a_slice_has_the_same_interval_on_the_screen_on_the_page_and_in_tables(tmp_path: Path) -> None:
    gold = sentences(300, 0)
    write(tmp_path / "gold.txt", gold)
    for system, rate in {"large": 0.1, "rules": 0.3}.items():
        write(tmp_path / f"{system}.txt", predicted(gold, rate, hash_of(system)))
    systems = {name: tmp_path / f"{name}.txt" for name in ("large", "rules")}
    evaluation: Any = spanwise.compare(tmp_path / "gold.txt", systems, attributes="none", resamples=200)
    leader = max(evaluation.systems, key=lambda name: evaluation[name].exact.overall.f1)
    row = evaluation[leader].slices[0]
    ends, usual = row.interval, evaluation[leader].exact.labels[row.name].interval["f1"]
    assert row.kind == "label" and row.cost > 0 and ends[0] < usual[0] and ends[1] > usual[1]
    slices_of_page = html(evaluation).partition('id="slices"')[2].partition("</section>")[0]
    screened = screen(evaluation).partition("Costliest slices")[2]
    for shown in (slices_of_page, screened, table(evaluation, "slices").to_markdown()):
        assert interval(ends) in shown and interval(usual) not in shown
    for text in (slices_of_page, screened):
        assert "all slices at once" in text or "for all at once" in text


def test_the_page_names_the_correction_of_the_other_scores(study: Any, evaluation: Any) -> None:
    for document, named in ((study, "Holm"), (evaluation, "Westfall-Young")):
        assert f"all other differences are one family ({named})." in html(document)
        others = [text for text in statements(document, every=True) if " points (" in text]
        assert others and all(f", {named} over " in text for text in others)


def test_captions_name_the_family(study: Any) -> None:
    by = tree_of(study)["analyses"]["family"]["by"]
    (tests,) = {row.pairs for part in study.datasets.values() for row in part.comparisons}
    words = {
        "study": "Holm over 6 tests (pairs × datasets)",
        "dataset": "Holm over 3 pairs, each dataset at 5 %",
    }[by]
    assert tests == (6 if by == "study" else 3)
    assert ("family:dataset" in study.signature) == (by == "dataset")
    for text in (table(study, "holistic").caption, screen(study), html(study), statements(study)[0]):
        assert words in re.sub(r"\s+", " ", text)


def test_the_p_values_of_a_study_are_corrected_over_pairs_and_datasets(study: Any) -> None:
    rows = [row.primary for part in study.datasets.values() for row in part.comparisons]
    groups = [rows] if study.analyses.family.by == "study" else [rows[:3], rows[3:]]
    for group in groups:
        order = sorted(group, key=lambda row: row.p)
        least = 0.0
        for at, row in enumerate(order):  # Holm, by hand
            least = max(least, min(1.0, row.p * (len(order) - at)))
            assert row.p_corrected == pytest.approx(least, abs=1e-12)
