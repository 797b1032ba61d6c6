"""The pages and screens of agreement and suspects: complete, escaped, the same every time."""

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


def test_text_of_users_is_escaped_on_pages_and_screens() -> None:
    tokens = [["in", HOSTILE, "now"]]
    one = from_spans([[(1, 2, "LOC")]], tokens=tokens)
    other = from_spans([[(1, 2, HOSTILE)]], tokens=tokens)
    agreement = spanwise.agree({"a": one, HOSTILE: other})
    suspects = spanwise.suspects(one, {"b": other, HOSTILE: other})
    for document in (agreement, suspects):
        assert "<script>alert" not in document.to_html()
        assert "\x1b[31m" not in document.to_text(width=100)
        assert "\x1b" not in document.to_html()


def test_the_page_of_suspects_says_that_they_are_no_errors() -> None:
    tokens = [["in", "Rome", "now"]]
    gold, said = (from_spans([[(1, 2, label)]], tokens=tokens) for label in ("PER", "LOC"))
    document = spanwise.suspects(gold, {"a": said, "b": said, "c": gold})
    page = document.to_html()
    assert "A suspect is not an error" in page
    assert "2 of 3 systems say LOC here" in page
    assert "not an error" in document.to_text(width=100)


def test_redacted_documents_hold_no_text() -> None:
    tokens = [["in", "Secret", "now"]]
    gold, said = (from_spans([[(1, 2, label)]], tokens=tokens) for label in ("PER", "LOC"))
    assert "Secret" not in spanwise.suspects(gold, {"a": said, "b": said}, redact=True).to_json()
    assert "Secret" not in spanwise.agree({"a": gold, "b": said}, redact=True).to_json()
    assert "Secret" not in spanwise.suspects(gold, {"a": said, "b": said}, redact=True).to_html()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_screens_keep_within_their_width(width: int) -> None:
    document = spanwise.agree(by_annotator(campaign(6)))
    assert max(map(len, document.to_text(width=width).splitlines())) <= width
