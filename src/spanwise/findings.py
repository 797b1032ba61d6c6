"""The few things that a reader of a result document should know first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.columns import ratio
from spanwise.diagnosis import F1, LEAST_GOLD, distinct, lettering, score_row

MOST_FINDINGS = 4
LEAST_EFFECT = 0.01  # a point of F1 or recall


def findings(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The few things a reader of a result document should know first, at most four.

    About the system with the highest F1: the kind of error whose mending would gain most;
    mentions unseen in training, if their recall lies below that of seen ones; the costliest
    slice of other mentions; with a second system, whether the lead over the runner-up is real and where it
    comes from (then only the costlier of the two slices stands); and what is odd about
    the data. Each rests on at least 50 mentions, is worth at least one point, and is significant: a
    lead after correction; a gain, a slice or a subset where its interval excludes what it is held
    against. Reports word them; `filter` chooses the sentences behind the number.
    """
    systems = document.get("systems") or {}
    if not systems:
        return []
    order = list(lettering({name: system["exact"]["overall"]["f1"] for name, system in systems.items()}))
    name = order[0]
    weak = _weak_findings(name, systems[name])
    lead = _lead_finding(document, name, order[1]) if len(order) > 1 else None
    if lead and not _matters(lead):
        lead = None
    if lead:
        weak = sorted(weak, key=lambda row: -row["cost"])[:1]
    gain = _gain_finding(name, systems[name])
    found = [gain if gain and _matters(gain) else None, *weak, lead, _data_finding(document)]
    return [row for row in found if row][:MOST_FINDINGS]


def _weak_findings(name: str, system: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What training did not show, and the costliest slice: if both stand, of other mentions."""
    tough = _tough_finding(name, system)
    found = [tough] if tough and _matters(tough) else []
    other = _slice_finding(name, system, without="UNSEEN-ANY" if found else None)
    return [*found, other] if other and _matters(other) else found


def _matters(row: Mapping[str, Any]) -> bool:
    """Whether a finding rests on enough mentions, is worth a point, and is no chance."""
    effect = row["value"] - row.get("against", 0.0)
    enough = (row.get("mentions") or row["count"] or 0) >= LEAST_GOLD
    return bool(enough and abs(effect) >= LEAST_EFFECT and row["significant"])


def _excludes(bounds: Sequence[float] | None, value: float) -> bool:
    """Whether an interval leaves a value out; without intervals nothing is said to be chance."""
    return bounds is None or not bounds[0] <= value <= bounds[1]


def _gain_finding(name: str, system: Mapping[str, Any]) -> dict[str, Any] | None:
    gains = {kind: row["gain"] for kind, row in system.get("gains", {}).items() if row["gain"]}
    if not gains:
        return None
    kind = max(gains, key=lambda key: gains[key])
    if gains[kind] <= 0:
        return None
    return {
        "kind": "gain",
        "system": name,
        "score": "gain",
        "value": gains[kind],
        "count": system["fair"]["overall"][kind],
        "significant": _excludes((system["gains"][kind].get("interval") or {}).get("gain"), 0.0),
        "path": ["gains", kind, "gain"],
        "filter": {"system": name, "outcome": kind},
    }


def _tough_finding(name: str, system: Mapping[str, Any]) -> dict[str, Any] | None:
    tough = system.get("tough") or {}
    if "SEEN" not in tough or "UNSEEN-ANY" not in tough:
        return None
    seen, unseen = tough["SEEN"]["overall"], tough["UNSEEN-ANY"]["overall"]
    if min(seen["mentions"], unseen["mentions"]) < LEAST_GOLD or not unseen["recall"] < seen["recall"]:
        return None
    overall = system["exact"]["overall"]
    return {
        "kind": "tough",
        "system": name,
        "score": "recall",
        "value": unseen["recall"],
        "against": seen["recall"],
        "count": unseen["mentions"] - unseen["correct"],
        "mentions": unseen["mentions"],
        "significant": _excludes((unseen.get("interval") or {}).get("recall"), seen["recall"]),
        "cost": float(ratio(unseen["mentions"], overall["gold"])) * (overall["recall"] - unseen["recall"]),
        "path": ["tough", "UNSEEN-ANY", "overall", "recall"],
        "filter": {"system": name, "tough": "UNSEEN-ANY"},
    }


def _slice_finding(name: str, system: Mapping[str, Any], *, without: str | None) -> dict[str, Any] | None:
    rows = [row for row in system.get("slices", []) if row["cost"] > 0]
    groups = distinct(rows, system)
    said = [row for group in groups for row in group if any(one["name"] == without for one in group)]
    row = next((row for row in rows if row["kind"] != "tough" and row not in said), None)
    if row is None:
        return None
    if row["kind"] == "label":
        path, chosen = ["exact", "labels", row["name"], "f1"], {"gold": row["name"]}
    else:
        path = ["attributes", row["attribute"], row["name"], "f1"]
        chosen = {"attribute": row["attribute"], "bucket": row["name"]}
    return {
        "kind": "slice",
        "system": name,
        "score": row["score"],
        "value": row["value"],
        "against": row["overall"],
        "count": row["gold"],
        "mentions": row["gold"],
        "significant": _excludes(row.get("interval"), row["overall"]),
        "cost": row["cost"],
        "title": row["title"],
        "path": path,
        "filter": {"system": name, **chosen},
    }


def _lead_finding(document: Mapping[str, Any], first: str, second: str) -> dict[str, Any] | None:
    """The lead over the runner-up, where it is real, and the slice that gives most of it."""
    comparison = next(
        (c for c in document.get("comparisons", []) if set(c["systems"]) == {first, second}), None
    )
    overall = score_row(comparison, F1) if comparison else None
    if comparison is None or overall is None or overall["difference"] is None:
        return None
    sign = 1 if comparison["systems"][0] == first else -1
    found: dict[str, Any] = {
        "kind": "lead",
        "system": first,
        "other": second,
        "score": "f1",
        "overall": sign * overall["difference"],
        "p": overall.get("p_corrected"),
        "significant": bool(overall["significant"]),
        "value": sign * overall["difference"],
        "count": overall.get("mentions"),
        "path": list(overall["path"]),
        "filter": {"system": first},
    }
    if not found["significant"] or abs(found["overall"]) < LEAST_EFFECT:
        return None
    shares = [
        (sign * row["difference"] * row["mentions"], row)
        for row in comparison["scores"]
        if row["family"] in ("labels", "buckets", "tough")
        and row["significant"]
        and row["mentions"] >= LEAST_GOLD
        and abs(row["difference"]) >= LEAST_EFFECT
    ]
    gains = [pair for pair in shares if pair[0] > 0]
    losses = [pair for pair in shares if pair[0] < 0]
    if gains:
        row = max(gains, key=lambda pair: pair[0])[1]
        found |= {
            "score": row["path"][-1],
            "value": sign * row["difference"],
            "count": row["mentions"],
            "path": list(row["path"]),
            "filter": {"system": first, **_chosen(row["path"])},
        }
    if losses:
        found["loses"] = list(min(losses, key=lambda pair: pair[0])[1]["path"])
    return found


def _chosen(path: Sequence[str]) -> dict[str, str]:
    match path[0]:
        case "tough":
            return {"tough": path[1]}
        case "attributes":
            return {"attribute": path[1], "bucket": path[2]}
        case _:
            return {"gold": path[2]}


def _data_finding(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a reader should check before believing any number: repairs, leaks, misfits, few units."""
    inputs = document.get("inputs", [])
    alignments = [row.get("alignment") or {} for row in inputs]
    odd = {
        "repairs": sum(row.get("repairs") or 0 for row in inputs),
        "duplicates_with_train": document.get("dataset", {}).get("duplicates_with_train") or 0,
        "changed_tokens": sum(alignment.get("changed_tokens") or 0 for alignment in alignments),
        "unplaced": sum(alignment.get("unplaced") or 0 for alignment in alignments),
        "notes": sum(len(row.get("notes") or []) for row in inputs),
    }
    settings = document.get("settings", {})
    few = bool(settings.get("few_units"))
    total = sum(odd.values())
    if not total and not few:
        return None
    return {
        "kind": "data",
        "system": None,
        "score": None,
        "value": total,
        "count": total,
        "of": {key: value for key, value in odd.items() if value},
        "few_units": settings.get("units") if few else None,
        "path": ["inputs"],
        "filter": {},
    }
