"""Patterns of errors, computed one error at a time from the definition: a check of the product's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

ORDER = (
    "starts after", "swallows before", "stops before", "swallows after",
    "labels", "text", "shape", "follows", "precedes",
)  # fmt: skip
Group: TypeAlias = tuple[str, ...]
Listed: TypeAlias = tuple[str, Group, int, int, Fraction, dict[str, int]]


def groups(tokens: Sequence[str], event: Mapping[str, Any]) -> tuple[str, set[Group]]:
    """The kind of an error, and the groups that it is in."""
    kind, gold, predicted = event["outcome"], event["gold"], event["predicted"]
    found: set[Group] = set()
    if kind in ("BEs", "BEl", "BEo"):
        inside = set(range(gold["start"], gold["end"])), set(range(predicted["start"], predicted["end"]))
        for name, positions in (
            ("starts after", [at for at in inside[0] - inside[1] if at < predicted["start"]]),
            ("swallows before", [at for at in inside[1] - inside[0] if at < gold["start"]]),
            ("stops before", [at for at in inside[0] - inside[1] if at >= predicted["end"]]),
            ("swallows after", [at for at in inside[1] - inside[0] if at >= gold["end"]]),
        ):
            if positions:
                found.add((name, tokens[min(positions)].lower()))
        return "BE", found
    if kind == "LE":
        return kind, {("labels", tokens[gold["end"] - 1].lower(), gold["label"], predicted["label"])}
    mention = gold or predicted
    words = tokens[mention["start"] : mention["end"]]
    text = " ".join(words)
    found.add(("text", text.lower()))
    cased = [sign for sign in text if sign.lower() != sign.upper()]
    if any(sign in "0123456789" for sign in text) and set(text) <= set("0123456789 .,:/-%+$€"):
        found.add(("shape", "digits"))
    elif cased and all(sign == sign.upper() for sign in cased):
        found.add(("shape", "all caps"))
    elif cased and all(sign == sign.lower() for sign in cased):
        found.add(("shape", "lower case"))
    elif len(words) == 1:
        found.add(("shape", "one token"))
    if mention["start"] > 0:
        found.add(("follows", tokens[mention["start"] - 1].lower()))
    if mention["end"] < len(tokens):
        found.add(("precedes", tokens[mention["end"]].lower()))
    return kind, found


def patterns(
    sentences: Sequence[Sequence[str]],
    events: Mapping[str, Sequence[Mapping[str, Any]]],
    name: str,
    counts: tuple[int, int, int],
) -> list[Listed]:
    """The patterns of one system: kind, group, errors, errors of the kind, gain, errors of the others."""
    errors = {
        system: [
            (*groups(sentences[(row["gold"] or row["predicted"])["sentence"]], row), row)
            for row in rows
            if row["outcome"] not in ("TP", "LBE")
        ]
        for system, rows in events.items()
    }
    listed: list[Listed] = []
    for kind in ("BE", "LE", "FN", "FP"):
        left = {system: [row for row in rows if row[0] == kind] for system, rows in errors.items()}
        total = len(left[name])
        while True:
            sizes: dict[Group, int] = {}
            for _, found, _ in left[name]:
                for group in found:
                    sizes[group] = sizes.get(group, 0) + 1
            if not sizes:
                break
            chosen = min(sizes, key=lambda group: (-sizes[group], ORDER.index(group[0]), group[2:], group[1]))
            if sizes[chosen] < 5 or Fraction(sizes[chosen], total) < Fraction(1, 10):
                break
            fixed = [row for _, found, row in left[name] if chosen in found]
            others = {
                system: sum(chosen in found for _, found, _ in rows)
                for system, rows in left.items()
                if system != name
            }
            listed.append((kind, chosen, len(fixed), total, _gain(fixed, *counts), others))
            left = {system: [row for row in rows if chosen not in row[1]] for system, rows in left.items()}
    return listed


def _gain(fixed: Sequence[Mapping[str, Any]], gold: int, predicted: int, correct: int) -> Fraction:
    """What F1 gains if these errors are right: a gold mention is found, a prediction goes, or both."""
    more = sum(row["turn"] in (1, 2) or row["outcome"] == "FN" for row in fixed)
    predictions = predicted
    for row in fixed:
        if row["outcome"] == "FN" or row["turn"] == 2:
            predictions += 1
        if row["outcome"] == "FP" or row["turn"] == 3:
            predictions -= 1
    before = Fraction(2 * correct, gold + predicted)
    return Fraction(2 * (correct + more), gold + predictions) - before
