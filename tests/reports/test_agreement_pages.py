"""The pages and screens of agreement and suspects are complete, escaped and reproducible."""

from __future__ import annotations

import pytest
from annotators import by_annotator, campaign

import spanwise
from spanwise.formats import from_spans

pytest.importorskip("jinja2")

HOSTILE = "<script>alert(1)</script>\x1b[31m"


def test_the_page_of_agreement_has_the_matrix_and_sentences_side_by_side() -> None:
    document = spanwise.agree(by_annotator(campaign(5)))
    page = document.to_html()
    assert page == document.to_html()
    assert "Two annotators mark the same span" in page
    assert "<mark>" in page
    for name in document.annotators:
        assert f"<bdi>{name}</bdi>" in page


def test_user_text_is_escaped_on_pages_and_screens() -> None:
    tokens = [["in", HOSTILE, "now"]]
    first = from_spans([[(1, 2, "LOC")]], tokens=tokens)
    second = from_spans([[(1, 2, HOSTILE)]], tokens=tokens)
    agreement = spanwise.agree({"a": first, HOSTILE: second})
    suspects = spanwise.suspects(first, {"b": second, HOSTILE: second})
    for document in (agreement, suspects):
        assert "<script>alert" not in document.to_html()
        assert "\x1b[31m" not in document.to_text(width=100)
        assert "\x1b" not in document.to_html()


def test_the_page_of_suspects_says_that_they_are_not_errors() -> None:
    tokens = [["in", "Rome", "now"]]
    gold, predicted = (from_spans([[(1, 2, label)]], tokens=tokens) for label in ("PER", "LOC"))
    document = spanwise.suspects(gold, {"a": predicted, "b": predicted, "c": gold})
    page = document.to_html()
    assert "A suspect is worth a second look; it is not an error." in page
    assert "2 of 3 systems say LOC here" in page
    assert "not an error" in document.to_text(width=100)


def test_redacted_documents_contain_no_text() -> None:
    tokens = [["in", "Secret", "now"]]
    gold, predicted = (from_spans([[(1, 2, label)]], tokens=tokens) for label in ("PER", "LOC"))
    assert "Secret" not in spanwise.suspects(gold, {"a": predicted, "b": predicted}, redact=True).to_json()
    assert "Secret" not in spanwise.agree({"a": gold, "b": predicted}, redact=True).to_json()
    assert "Secret" not in spanwise.suspects(gold, {"a": predicted, "b": predicted}, redact=True).to_html()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_screens_stay_within_their_width(width: int) -> None:
    document = spanwise.agree(by_annotator(campaign(6)))
    assert max(map(len, document.to_text(width=width).splitlines())) <= width


def test_pages_open_with_a_few_cards_and_sentences_and_fold_the_rest() -> None:
    page = spanwise.agree(by_annotator(campaign(5))).to_html()
    cards, _, rest = page.partition('<details class="part"')
    assert cards.count('<section class="card') == 5
    assert "Sentences on which they differ most" in rest
    tokens = [["in", "Rome", "now"]] * 9
    gold, predicted = (from_spans([[(1, 2, label)]] * 9, tokens=tokens) for label in ("PER", "LOC"))
    suspects = spanwise.suspects(gold, {"a": predicted, "b": predicted, "c": gold}).to_html()
    assert suspects.count('<div class="leaking">') == 9 and "<summary>6 more</summary>" in suspects
