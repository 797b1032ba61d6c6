"""The first words of the page: who scores what, whether the lead is real, and at most four findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from spanwise.diagnosis import F1
from spanwise.reports import _wording as words
from spanwise.reports._document import compared, ranked
from spanwise.reports._links import examples


class Finding(Struct, frozen=True):
    """One sentence of the verdict: its sign, what stands out, the rest, and where it leads."""

    sign: str
    strong: str
    rest: str
    link: str | None = None
    href: str | None = None
    even: bool = False  # two systems that differ in parts of the data but not overall: it is told first


def verdict(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headline as pieces of text, each with the name of the system it is about, or nothing."""
    order = ranked(document)
    first = order[0]
    overall = document["systems"][first]["exact"]["overall"]
    pieces = [(words.visible(first), first), (f" scores {words.points(overall['f1'])} F1", "")]
    if len(order) == 1:
        pair = words.interval((overall.get("interval") or {}).get("f1"))
        return [*pieces, (f", between {pair.replace('–', ' and ')}." if pair else ".", "")]
    second = order[1]
    row = compared(document, first, second, F1)
    if row is None or not words.defined(row.get("difference")):
        score = words.points(document["systems"][second]["exact"]["overall"]["f1"])
        return [*pieces, (", ", ""), (words.visible(second), second), (f" {score}.", "")]
    next_one = "" if len(order) == 2 else f", the next of {len(order)} systems"
    lead = words.signed(row["difference"]).lstrip("+")
    if lead == "0.0":
        return [*pieces, (", the same as ", ""), (words.visible(second), second), (".", "")]
    end = f"{next_one}. The lead holds when the data are resampled."
    if not row.get("significant"):
        p = words.p_value(row.get("p_corrected"))
        end = f"{next_one}. A lead this small can be chance (p {p if p.startswith('<') else '= ' + p})."
    return [*pieces, (f", {lead} above ", ""), (words.visible(second), second), (end, "")]


def findings(document: Mapping[str, Any]) -> list[Finding]:
    """The findings of the document, worded, each with a link to its mentions."""
    return [worded(document, row) for row in document.get("findings") or ()]


def worded(document: Mapping[str, Any], row: Mapping[str, Any]) -> Finding:
    """One finding in words."""
    match row["kind"]:
        case "gain":
            return _gain(document, row)
        case "tough" | "slice":
            return _weak(document, row)
        case "lead":
            return _lead(document, row)
        case "data":
            return _data(row)
    return Finding("·", words.finding(row), "")


def _named(document: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The system that a finding is about, where there is more than one."""
    return words.visible(row["system"]) if len(document["systems"]) > 1 else ""


def _gain(document: Mapping[str, Any], row: Mapping[str, Any]) -> Finding:
    kind, name = row["path"][1], _named(document, row)
    title = {
        "LE": "Wrong labels", "BE": "Wrong boundaries", "LBE": "Wrong label and boundary",
        "FN": "Missed mentions", "FP": "Spurious mentions",
    }[kind]  # fmt: skip
    title += f" cost {name} the most" if name else " cost the most"
    title += f", or {words.costly(row['tied'])}:" if row.get("tied") else ":"
    rest = f"fixing them would add {words.points(row['value'])} F1."
    href = examples(row["count"], unit="error", system=row["system"], outcome=kind)
    return Finding("−", title, rest, words.plural(row["count"], "error"), href)


def _weak(document: Mapping[str, Any], row: Mapping[str, Any]) -> Finding:
    score = words.SCORES.get(row["score"], row["score"])
    against, name = row.get("against"), _named(document, row)
    if row["kind"] == "tough":
        strong = f"New names are hard for {name}:" if name else "New names are hard:"
        rest = f"{score} {words.points(row['value'])} on mentions unseen with their type"
        rest += f", against {words.points(against)} on seen ones." if words.defined(against) else "."
    else:
        title = words.slice_title({"kind": _kind(row), "name": row["path"][-2], "title": row.get("title")})
        strong = f"{name} is weakest where {title}:" if name else f"Weakest where {title}:"
        rest = f"{score} {words.points(row['value'])}"
        rest += f", against {words.points(against)} overall." if words.defined(against) else "."
    return Finding("−", strong, rest, *_mentions(document, row))


def _kind(row: Mapping[str, Any]) -> str:
    return {"exact": "label", "tough": "tough"}.get(row["path"][0], "bucket")


def _lead(document: Mapping[str, Any], row: Mapping[str, Any]) -> Finding:
    other = words.visible(row.get("other") or "the next system")
    if row.get("even"):
        gain, loss = (words.path_title(row[key]).rsplit(", ", 1) for key in ("path", "loses"))
        strong = f"{words.visible(row['system'])} gains on some mentions what it loses to {other} on others:"
        rest = f"{words.signed(row['value'])} {gain[1]} on {gain[0]}, "
        rest += f"{words.signed(row['loss'])} {loss[1]} on {loss[0]}."
        return Finding("+", strong, rest, *_mentions(document, row), even=True)
    if tuple(row["path"]) == F1:
        strong, rest = f"Ahead of {other} overall:", f"{words.signed(row['value'])} F1."
    else:
        place = words.path_title(row["path"]).rsplit(", ", 1)[0]
        score = words.SCORES.get(row["score"], row["score"])
        strong = f"The lead over {other} comes most from {place}:"
        rest = f"{words.signed(row['value'])} {score} there."
    if row.get("loses"):
        place = words.path_title(row["loses"]).rsplit(", ", 1)[0]
        rest += f" It trails in {place}."
    return Finding("+", strong, rest, *_mentions(document, row))


def _mentions(document: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The count of a finding with its link; tokens are counted but lead nowhere."""
    chosen = dict(row.get("filter") or {})
    number, attribute = row.get("count"), chosen.get("attribute")
    if number is None:
        return None, None
    system = document["systems"].get(chosen.pop("system", None) or row.get("system")) or {}
    unit = ((system.get("attributes") or {}).get(attribute) or {}).get("unit", "mention")
    if unit != "mention":
        return words.plural(number, unit), None
    if row.get("mentions") not in (None, number):
        # Fewer than the slice holds: the finding counts what is wrong in it.
        chosen.update(system=row["system"], outcome="wrong")
        return f"{words.count(number)} wrong", examples(number, unit="gold", **chosen)
    return words.plural(number, "mention"), examples(number, unit="gold", **chosen)


def _data(row: Mapping[str, Any]) -> Finding:
    said = {
        "repairs": "tag repaired", "duplicates_with_train": "test sentence also in training",
        "changed_tokens": "token changed", "unplaced": "mention without a place",
        "notes": "note on the files",
    }  # fmt: skip
    parts = []
    for key, number in (row.get("of") or {}).items():
        text = said.get(key, key)
        if number != 1:
            head, _, tail = text.partition(" ")
            many = {"tag": "tags", "test": "test", "token": "tokens", "mention": "mentions", "note": "notes"}
            text = f"{many.get(head, head)} {tail}".replace("test sentence ", "test sentences ")
        parts.append(f"{words.count(number)} {text}")
    if row.get("few_units"):
        parts.append(f"only {words.count(row['few_units'])} units: intervals rest on little")
    return Finding("!", "Check the data:", (", ".join(parts) or "see the method") + ".", "method", "#method")
