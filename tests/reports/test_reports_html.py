"""The page as text: what it contains, that it is reproducible, and that nothing in it can execute."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from documents import description, result, sentences
from study_documents import study

import spanwise

pytest.importorskip("altair", reason="the page needs the extra 'report'")
pytest.importorskip("vl_convert", reason="the page needs the extra 'report'")

from msgspec.structs import replace

from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import document_of
from spanwise.document.scores import Confusion
from spanwise.document.study import MainResult, Study
from spanwise.reports._document import examples
from spanwise.reports.html import render
from spanwise.reports.html.evaluation import confusion_view, standings_of, ties
from spanwise.reports.html.packing import contents
from spanwise.reports.html.standings import ScoreAxis, leads, place
from spanwise.reports.html.verdicts import packed_pairs, verdicts
from spanwise.views.points import shown_points
from spanwise.views.shown import evaluation_shown
from spanwise.views.verdict import verdict

HOSTILE = "</script><img src=x onerror=alert(1)>{{7*7}}\u202e\x1b[31m"


@pytest.fixture(scope="module")
def page() -> str:
    return render(result("bert", "crf"))


def unpacked(page: str) -> dict[str, Any]:
    match = re.search(r'id="data">([^<]*)<', page)
    assert match
    value: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(match[1])))
    return value


def packed_of(document: dict[str, Any]) -> dict[str, Any]:
    typed = document_of(document)
    assert isinstance(typed, Evaluation)
    return contents(evaluation_shown(typed))


def test_the_same_document_gives_the_same_bytes(page: str) -> None:
    assert render(result("bert", "crf")) == page


def test_every_section_is_present(page: str) -> None:
    for section in ("verdict", "score", "errors", "tough", "confusions", "slices", "diagnosis", "attributes",
                    "labels", "examples", "method"):  # fmt: skip
        assert f'id="{section}"' in page


def test_the_policy_allows_no_network_and_only_the_code_of_the_page(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    text = policy[1].replace("&#39;", "'")
    assert text.startswith("default-src 'none'; ")
    assert "unsafe" not in text and "http" not in text
    for tag in ("script", "style"):
        for body in re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S):
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in text


def test_nothing_in_the_page_points_outside(page: str) -> None:
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
    addresses = set(re.findall(r'(?:href|src|xmlns)="([^#"][^"]*)"', body))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_no_code_is_created_from_text(page: str) -> None:
    assert not re.search(r"\beval\(|new Function|document\.write|setAttribute\(.on", page)


def test_a_chart_is_drawn_for_every_attribute_and_both_systems(page: str) -> None:
    titles = re.findall(r'<svg[^>]* aria-label="([^"]*)"', page)
    assert "F1 by entity length" in titles and "F1 by token frequency" in titles and "F1 by label" in titles
    assert titles.count("F1 gained if all errors of a kind were fixed") == 1
    parts = "".join(unpacked(page)["parts"])
    assert parts.count("F1 gained if all errors of a kind were fixed") == 1


def test_the_page_without_sentences_is_small(page: str) -> None:
    document = result("bert", "crf") | {"sentences": []}
    assert len(render(document)) < 200_000


def test_the_verdict_states_the_lead_and_what_its_test_says(page: str) -> None:
    headline = re.sub(r"<[^>]*>", "", page.split('<h1 id="headline">')[1].split("</h1>")[0])
    assert headline == "bert is better than crf by 1.9 F1, beyond chance (p = .002)."
    assert "paired randomisation over documents" in page.split('id="how">')[1].split("</p>")[0]
    document = result("bert", "crf")
    document["comparisons"][0]["scores"][0] |= {"p_corrected": 0.28, "significant": False}
    headline = re.sub(r"<[^>]*>", "", render(document).split('<h1 id="headline">')[1].split("</h1>")[0])
    assert headline == "bert and crf cannot be told apart: bert is ahead by 1.9 F1 (p = .280)."


def test_a_single_system_has_a_verdict() -> None:
    page = render(result("crf"))
    headline = re.sub(r"<[^>]*>", "", page.split('<h1 id="headline">')[1].split("</h1>")[0])
    assert headline.startswith("crf scores ") and "above" not in headline


def test_a_page_without_findings_says_so() -> None:
    document = result("crf")
    document["findings"] = []
    assert "No finding concerns" in render(document)


def test_a_study_has_its_tables_and_radars() -> None:
    page = render(study(names=("news", "tweets", "law")))
    for section in ("holistic", "dataset", "leaderboard", "pair", "difficulty", "models", "pairs", "flips",
                    "tough", "examples", "method"):  # fmt: skip
        assert f'id="{section}"' in page
    assert [dataset["name"] for dataset in unpacked(page)["sets"]] == ["news", "tweets", "law"]
    assert 'class="r weak"' in page  # cells whose test is not significant
    assert render(study(names=("news", "tweets", "law"))) == page


def test_a_study_says_who_leads_on_each_dataset_and_over_all() -> None:
    plain = study(names=("news", "tweets", "law"))
    document = document_of(plain)
    assert isinstance(document, Study)
    rows, said = verdicts(document, ["bert", "crf"]), str(verdict(document).answer)
    assert said.startswith("bert ") and " of 3 datasets" in said
    leaders = {name: text.striptags().partition(" ")[0] for name, text in rows.items()}
    assert leaders == {"news": "bert", "tweets": "crf", "law": "bert"}
    page = render(plain)
    assert 'id="datasets"' in page and ">average<" in page
    shown = " ".join(re.sub("<[^>]*>", "", page).split())
    assert all(re.sub("<[^>]*>", "", str(text)) in shown for text in rows.values())


def test_a_study_opens_with_the_best_system_against_the_others_and_what_to_do() -> None:
    document = document_of(study(names=("news", "tweets", "law")))
    assert isinstance(document, Study)
    shown, page = leads(document), render(document)
    assert shown is not None and shown.first == "bert" and [row.name for row in shown.rivals] == ["crf"]
    (rival,) = shown.rivals
    assert rival.better == sum(chip.state == "better" for chip in rival.chips)
    assert f"better on {rival.better or 'none'} of 3" in page
    assert 'id="tasks"' in page and all(task.title in page for task in shown_points(document).tasks)


def test_runs_that_would_overlap_are_drawn_apart() -> None:
    runs = {"1": 0.5, "2": 0.5, "3": 0.6}
    drawn = place(MainResult(mean=0.53, std=0.06, runs=3, values=runs), ScoreAxis(0.4, 0.7))
    assert drawn is not None and [line for _, line in drawn.runs] == [0, 1, 0]


def test_a_page_without_training_data_and_attributes_says_so() -> None:
    document = result("crf")
    document["systems"]["crf"] |= {"tough": {}, "attributes": {}, "slices": []}
    document["dataset"].pop("tough")
    page = render(document)
    assert "Add it with --train." in page and "No attributes were asked for" in page


def test_three_systems_or_more_have_a_leaderboard_and_every_pair() -> None:
    names = [f"system{at}" for at in range(8)]
    page = render(result(*names))
    for section in ("leaderboard", "significance", "pair", "errors", "confusions", "labels", "examples"):
        assert f'id="{section}"' in page
    assert all(page.count(f'aria-label="{name} as A"') == 1 for name in names)
    assert page.count("<option") == 2 * 8
    board = unpacked(page)["sets"][0]["board"]
    assert len(board["pairs"]) == 28 and len(board["own"]) == 8
    assert all(len(row) == sum(len(group["rows"]) for group in board["groups"]) for row in board["scores"])


def test_comparisons_of_systems_missing_from_the_document_are_left_out() -> None:
    whole, fewer = result("bert", "crf", "llm"), result("bert", "crf", "llm")
    del fewer["systems"]["llm"]
    kept = [row for row in whole["comparisons"] if "llm" not in row["systems"]]
    assert len(kept) < len(whole["comparisons"]) == len(fewer["comparisons"])
    boards: list[Any] = []
    for document in (fewer, {**fewer, "comparisons": kept}):
        typed = document_of(document)
        assert isinstance(typed, Evaluation)
        boards.append(packed_pairs(evaluation_shown(typed)))
    assert boards[0] == boards[1] and list(boards[0]["pairs"]) == ["0,1"]
    assert boards[0]["pairs"]["0,1"]["tests"]


def test_letters_on_the_leaderboard_equal_those_of_the_document() -> None:
    document = document_of(result("bert", "crf", "llm"))
    assert isinstance(document, Evaluation)
    shown = evaluation_shown(document)
    rows = standings_of(shown)
    assert [(row.letter, row.name) for row in rows] == [(sign, name) for name, sign in shown.order.items()]
    assert [row.beats for row in rows] == [document.letters.get(row.name, "") for row in rows]


def test_brackets_join_systems_that_cannot_be_distinguished() -> None:
    document = document_of(result("a", "b", "c", "d"))
    assert isinstance(document, Evaluation)
    order = list(evaluation_shown(document).order)
    rows = []
    for comparison in document.comparisons:
        apart = abs(order.index(comparison.systems[0]) - order.index(comparison.systems[1])) > 1
        scores = tuple(
            replace(row, significant=apart) if row.path == ("exact", "overall", "f1") else row
            for row in comparison.scores
        )
        rows.append(replace(comparison, scores=scores))
    assert ties(replace(document, comparisons=tuple(rows)), order) == [(0, 1), (1, 2), (2, 3)]


def test_a_confusion_matrix_of_many_labels_adds_up_the_rare_ones() -> None:
    size = 40
    counts = tuple(tuple((row * column) % 5 for column in range(size)) for row in range(size))
    table = Confusion(
        labels=tuple(f"L{at}" for at in range(size)), counts=counts,
        missed=tuple(range(size)), spurious=tuple(range(size)),
    )  # fmt: skip
    view = confusion_view(table)
    assert len(view.labels) == 16 and view.labels[-1] == "others" and view.merged == 25
    assert view.total == sum(map(sum, counts)) + 2 * sum(range(size))
    assert view.linked(0, 3) and not view.linked(15)


def test_a_description_is_a_page_too() -> None:
    page = render(description())
    assert "120 sentences, 240 gold mentions, 4 labels." in page
    assert 'id="labels"' in page and 'id="tough"' in page and "<script>" in page


def test_the_page_of_a_description_shows_leaks_and_conflicts(tmp_path: Path) -> None:
    gold = [("Ann met Bob", ["B-PER", "O", "B-PER"]), ("Ann met Bob", ["B-LOC", "O", "B-PER"])]
    corpus = "".join(
        "".join(f"{word} {tag}\n" for word, tag in zip(text.split(), tags, strict=True)) + "\n"
        for text, tags in gold
    )
    path = tmp_path / "same.conll"
    path.write_text(corpus, encoding="utf-8")
    page = spanwise.describe(str(path), train=str(path)).to_html()
    assert "2 test sentences are also in training:" in page
    assert "1 group of equal sentences:" in page and "1 token sequence with several labels:" in page


def hostile(text: str) -> dict[str, Any]:
    """A document whose labels, names, tokens and paths all carry `text`."""
    plain = json.dumps(result("bert", "crf"))
    escaped = json.dumps(text)[1:-1]
    for word in ("PER", "Per0", "bert", "gold.conll"):
        plain = plain.replace(f'"{word}"', f'"{word}{escaped}"')
    document: dict[str, Any] = json.loads(plain)
    return document


@pytest.mark.parametrize(
    "text", [HOSTILE, '=HYPERLINK("x")', "' onmouseover='x", '"><script>x</script>', "a,b&c=d %00"]
)
def test_hostile_names_stay_text(text: str) -> None:
    page = render(hostile(text))
    assert "<img" not in page and "<script>x" not in page
    parts = "".join(unpacked(page)["parts"])
    assert "<img" not in parts and "<script" not in parts and "onmouseover='" not in parts
    assert ("49" not in re.findall(r"\{\{7\*7\}\}|49", page)[:0] and "{{7*7}}" in page) or "{{" not in text
    assert "\x1b" not in page and "\u202e" not in page


def test_links_name_what_they_count() -> None:
    assert examples(3, unit="gold", tough="SEEN") == "#examples?unit=gold,tough=SEEN,of=3"
    assert examples(unit="gold", gold="a,b=c") == "#examples?unit=gold,gold=a%2Cb%3Dc"
    with pytest.raises(TypeError, match=r"examples cannot be filtered by \['colour'\]"):
        examples(1, colour="red")


def test_packed_sentences_keep_every_mention() -> None:
    document = result("bert", "crf")
    ids, _, texts, gold, systems, _, _ = packed_of(document)["sentences"]
    assert len(ids) == len(document["sentences"])
    assert texts[0].split(" ") == document["sentences"][0]["tokens"]
    assert sum(map(len, gold)) == sum(len(row["gold"]) for row in document["sentences"])
    counted = sum(len(rows) for row in document["sentences"] for rows in row["systems"].values())
    assert sum(len(rows) for row in systems for rows in row) == counted
    for row, golds, packed in zip(document["sentences"], gold, systems, strict=True):
        for rows, mentions in zip(packed, row["systems"].values(), strict=True):
            for packed_mention, mention in zip(rows, mentions, strict=True):
                # A correct mention is packed as the index of its gold mention.
                assert isinstance(packed_mention, int) == (mention["outcome"] == "TP")
                start, end = (golds[packed_mention] if isinstance(packed_mention, int) else packed_mention)[
                    :2
                ]
                assert (start, end) == (mention["start"], mention["end"])


def test_text_without_tokens_is_cut_where_mentions_begin_and_end() -> None:
    document = result("crf")
    mention = {"start": 4, "end": 9, "label": "PER", "outcome": {"crf": "FN"}, "partner": {"crf": None},
               "tough": [], "buckets": {}}  # fmt: skip
    document["sentences"] = [{"id": "0", "source": "a:1", "text": "Dr. Jones-Smith (b.)", "gold": [mention],
                              "systems": {"crf": []}}]  # fmt: skip
    _, _, texts, gold, _, offsets, _ = packed_of(document)["sentences"]
    assert texts[0] == ["Dr", ".", "Jones", "-", "Smith", "(", "b", ".", ")"]
    assert gold[0][0][:2] == [2, 3]
    assert offsets[0][4:6] == [4, 9]


def test_redacted_sentences_have_lengths_and_no_text() -> None:
    document = result("crf")
    for row in document["sentences"]:
        row["length"] = len(row.pop("tokens"))
    document["settings"]["redacted"] = True
    page = render(document)
    data = unpacked(page)["sets"][0]
    assert data["redacted"] is True and set(map(type, data["sentences"][2])) == {int}
    assert "Per0" not in page


def test_every_count_of_a_bucket_has_a_link(page: str) -> None:
    rows = sentences(["bert", "crf"])
    length = sum(m["buckets"]["entity_length"] == "XS" for row in rows for m in row["gold"])
    link = examples(length, unit="gold", attribute="entity_length", bucket="XS")
    assert f'href="{link}"' in page


def test_an_error_about_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from spanwise.errors import MissingExtra
    from spanwise.reports import html

    monkeypatch.delitem(sys.modules, "spanwise.reports.html.page", raising=False)
    monkeypatch.delattr(html, "page", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        MissingExtra, match=r"(?s)the HTML page needs the package 'jinja2'.*spanwise\[report\]"
    ):
        render(result("crf"))


@pytest.mark.parametrize("of", ["crf", "crf bert", "a b c d", "a study"])
def test_our_svg_charts_show_the_same_as_those_of_vega(of: str) -> None:
    import altair as alt
    import vl_convert

    from spanwise.reports._charts import PAGE, marks
    from spanwise.reports._charts import svg as writing
    from spanwise.reports.html.evaluation import _study_drawings, evaluation_drawings

    document = document_of(study() if of == "a study" else result(*of.split()))
    if isinstance(document, Study):
        drawings = _study_drawings(document)
    else:
        assert isinstance(document, Evaluation)
        drawings = evaluation_drawings(document, list(next(iter(document.systems.values())).attributes))
    written = writing.svg(drawings)
    for drawing in drawings:
        size = {"width": drawing.width, "height": drawing.height}
        chart = drawing.plot.altair(config=alt.Config(**marks.config(PAGE)), **size)
        drawn = vl_convert.vegalite_to_svg(chart.to_dict())
        ours = written[drawing.name]
        for part in (r">([^<>]+)</text>", r'href="[^"#]*(#[^"]*)"'):
            assert sorted(re.findall(part, ours)) == sorted(re.findall(part, drawn)), (drawing.name, part)
        # Vega omits the label of an unlinked mark among linked ones, and names its own groups and axes.
        for label in set(re.findall(r'aria-roledescription="(?!axis)[^"]*" aria-label="([^"]*)"', drawn)):
            assert f'aria-label="{label}"' in ours, (drawing.name, label)


def test_the_page_of_an_evaluation_needs_neither_altair_nor_vega() -> None:
    code = (
        "import sys, spanwise\n"
        "spanwise.evaluate([['B-PER']], {'a': [['B-LOC']], 'b': [['B-PER']]}, resamples=0).to_html()\n"
        "print({'altair', 'vl_convert'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_a_study_without_attributes_has_no_empty_parts() -> None:
    document = document_of(study())
    assert isinstance(document, Study)
    pairs = tuple(
        replace(pair, datasets={name: {} for name in pair.datasets}, wilcoxon={})
        for pair in document.analyses.bucket_wise.comparative
    )
    bare = replace(
        document,
        analyses=replace(
            document.analyses,
            model_wise={name: {} for name in document.analyses.model_wise},
            attribute_wise={name: {} for name in document.analyses.attribute_wise},
            performance_table={},
            tough={},
            bucket_wise=replace(document.analyses.bucket_wise, self_={}, comparative=pairs),
        ),
    )
    page, screen = render(bare), bare.to_text(width=100)
    for title in ("How systems react to attributes", "Relative increase", 'id="tough"', 'href="#models"'):
        assert title in render(document) and title not in page
    for title in ("By model", "Comparative diagnosis"):
        assert title in document.to_text(width=100, detail="full") and title not in screen


def test_scores_based_on_few_units_are_marked_in_charts_too() -> None:
    document = document_of(result("crf"))
    assert isinstance(document, Evaluation)
    system = document.systems["crf"]
    labels = {name: replace(cell, few_units=7) for name, cell in system.exact.labels.items()}
    changed = replace(
        document,
        settings=replace(document.settings, resamples=100, few_units=False),
        systems={"crf": replace(system, exact=replace(system.exact, labels=labels))},
    )
    assert re.search(r">\d+\.\d†</text>", render(changed)) and "based on 7 units" in render(changed)
