"""Which claims are allowed: drops by interval, gold compared by content, identical systems counted once."""

from __future__ import annotations

from functools import partial

import pytest
from typed import present

import spanwise
from spanwise.errors import InputError
from spanwise.gates import gate
from spanwise.reports.tables import table

GOLD = [["B-A", "O", "B-B"]] * 40
WORSE = [["B-A", "O", "O"]] * 15 + GOLD[15:]
evaluate = partial(spanwise.evaluate, attributes="none", resamples=100)


def test_a_drop_fails_if_its_lower_end_exceeds_the_allowed_drop() -> None:
    old, new = (spanwise.evaluate(GOLD, {"a": predicted}) for predicted in (GOLD, WORSE))
    assert not gate(new, against=old, fail_drop=0).passed
    assert gate(new, against=old, fail_drop=60).passed
    assert gate(old, against=old, not_worse_than=1).passed
    assert not gate(new, against=old, not_worse_than=2).passed


def test_a_floor_may_apply_to_the_lower_bound() -> None:
    result = spanwise.evaluate(GOLD, {"a": WORSE})
    assert (
        gate(result, floors={"f1": 85}).passed
        and not gate(result, floors={"f1": 85}, floor_bound=True).passed
    )


def test_gold_in_memory_is_identified_by_its_content() -> None:
    first = spanwise.evaluate(GOLD, {"a": GOLD})
    second = spanwise.evaluate([["B-A", "B-B", "O"]] * 40, {"a": [["B-A", "B-B", "O"]] * 40})
    with pytest.raises(InputError, match="the gold data differ"):
        gate(first, against=second, fail_drop=0)


def test_the_same_predictions_under_two_names_are_one_system() -> None:
    result = spanwise.evaluate(GOLD, {"a": WORSE, "twin": WORSE, "b": GOLD})
    pairs = {comparison.systems: comparison for comparison in result.comparisons}
    assert pairs["a", "twin"].identical and pairs["a", "b"].pairs == 1
    f1 = ("exact", "overall", "f1")
    assert present(pairs["a", "b"].score(f1)).p == present(pairs["twin", "b"].score(f1)).p
    assert table(result, "statements").rows[0][0] == "a and twin give the same predictions."


def test_blocks_of_sentences_are_units_and_unmarked_documents_are_noted() -> None:
    result = spanwise.evaluate(GOLD, {"a": WORSE}, unit="block:8")
    assert (result.settings.unit, result.settings.units, result.settings.block) == ("block", 5, 8)
    without_blocks = spanwise.evaluate(GOLD, {"a": WORSE})
    assert without_blocks.notes and "--unit block:20" in without_blocks.notes[0] and not result.notes
