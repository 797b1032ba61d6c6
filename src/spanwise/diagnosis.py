"""What the scores of buckets, slices and systems say: where a system is weak, and where it leads.

Plain functions over the dictionaries of the result document. A bucket counts here when it lies
on the attribute's scale: `unplaced`, the mentions without a value, takes no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from string import ascii_letters
from typing import Any, TypeAlias

import numpy as np

from spanwise.columns import plain, ratio
from spanwise.statistics import rank_correlation

F1 = ("exact", "overall", "f1")  # where a document has the score that systems are ranked by
LEAST_GOLD = 50  # slices with fewer gold units are left out of rankings

Bucket = Mapping[str, Any]


def on_scale(buckets: Iterable[Bucket]) -> list[Bucket]:
    """The buckets that hold values of the attribute: all but `unplaced`, unless that is such a value."""
    return [b for b in buckets if not b["name"].startswith("unplaced") or b.get("value") is not None]


def is_categorical(buckets: Iterable[Bucket]) -> bool:
    """Whether buckets are named values, without an order that a correlation could follow."""
    return any(bucket.get("value") is not None for bucket in buckets)


def score_of(bucket: Bucket, score: str = "f1") -> float:
    """A score of a bucket, NaN where it is undefined."""
    value = bucket.get(score)
    return float("nan") if value is None else float(value)


def mean_of(values: Iterable[float]) -> dict[str, Any]:
    """The mean of the values that are defined, and how many those are.

    Examples:
        >>> mean_of([0.5, float("nan"), 1.0])
        {'mean': 0.75, 'used': 2}
    """
    defined = [value for value in values if not np.isnan(value)]
    # fsum, since the order of the values must not move the last bit.
    return {"mean": plain(ratio(fsum(defined), len(defined))), "used": len(defined)}


# ---- one system -----------------------------------------------------------------------------


def self_diagnosis(buckets: Sequence[Bucket], *, score: str = "f1") -> dict[str, Any]:
    """How one system's score moves over the buckets of one attribute.

    `spearman` (S^ρ) is Spearman's correlation of score and bucket number, and None with
    fewer than three defined scores, a constant row, or categories; `std` (S^σ) the
    population standard deviation; `gap` the best score less the worst. Buckets without
    a defined score take no part; of equal ones the first is named.

    Examples:
        >>> self_diagnosis([{"name": "XS", "f1": 0.9}, {"name": "S", "f1": 0.7},
        ...     {"name": "L", "f1": None}, {"name": "XL", "f1": 0.5}])["worst"]
        'XL'

    References:
        Fu, Liu and Neubig (2020), sections 4.1 and 4.3.
    """
    scale = on_scale(buckets)
    scores = np.array([score_of(bucket, score) for bucket in scale], np.float64)
    nothing = {"spearman": None, "std": None, "best": None, "worst": None, "gap": None}
    if not scale or np.isnan(scores).all():
        return nothing
    best, worst = int(np.nanargmax(scores)), int(np.nanargmin(scores))
    categories = is_categorical(scale)
    return {
        "spearman": None if categories else plain(rank_correlation(range(len(scale)), scores)),
        "std": float(np.nanstd(scores)),
        "best": scale[best]["name"],
        "worst": scale[worst]["name"],
        "gap": float(scores[best] - scores[worst]),
    }


def slices(system: Mapping[str, Any], dataset: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The slices of one system's data, the costliest first.

    The cost of a slice (a bucket, a label, a tough subset) is its share of the gold units times
    how far its score lies below the overall score: F1, or recall for tough subsets. Token
    units are compared with the score over all token units. Slices with fewer than 50 gold
    units, or without a score, are left out.
    """
    overall = system["exact"]["overall"]
    mentions = dataset["mentions"]
    found = [
        _slice("label", None, name, f"label = {name}", cell, "f1", overall["f1"], mentions)
        for name, cell in system["exact"]["labels"].items()
    ]
    for subset, cells in system.get("tough", {}).items():
        cell = {**cells["overall"], "gold": cells["overall"]["mentions"]}
        found.append(_slice("tough", None, subset, subset, cell, "recall", overall["recall"], mentions))
    for attribute, table in system.get("attributes", {}).items():
        if attribute == "label":
            continue  # the labels stand above, whether or not they were asked for as an attribute
        whole, units = overall["f1"], mentions
        if table.get("unit") == "token":
            whole, units = _whole(table["buckets"])
        found.extend(
            _slice("bucket", attribute, bucket["name"], _title(attribute, bucket), bucket, "f1", whole, units)
            for bucket in on_scale(table["buckets"])
        )
    kept = [row for row in found if row["gold"] >= LEAST_GOLD and row["cost"] is not None]
    return sorted(kept, key=lambda row: (-row["cost"], row["title"]))


def _whole(buckets: Sequence[Bucket]) -> tuple[float | None, int]:
    gold, predicted, correct = (
        sum(int(bucket[key]) for bucket in buckets) for key in ("gold", "predicted", "correct")
    )
    return plain(ratio(2 * correct, gold + predicted)), gold


def _title(attribute: str, bucket: Bucket) -> str:
    text = str(bucket.get("label") or bucket["name"])
    return f"{attribute} in {text}" if text[0] in "([" else f"{attribute} = {text}"


def _slice(
    kind: str,
    attribute: str | None,
    name: str,
    title: str,
    cell: Bucket,
    score: str,
    overall: float | None,
    units: int,
) -> dict[str, Any]:
    value = cell.get(score)
    cost = None
    if value is not None and overall is not None and units:
        cost = float(ratio(cell["gold"], units)) * (overall - value)
    return {
        "kind": kind,
        "attribute": attribute,
        "name": name,
        "title": title,
        "score": score,
        "value": value,
        "overall": overall,
        "gold": cell["gold"],
        "cost": cost,
        "interval": (cell.get("interval") or {}).get(score),
    }


# Slices (subsets, and buckets of one value) that are parts of subsets by definition.
_PARTS: dict[tuple[str, float] | str, tuple[str, ...]] = {
    "UNSEEN-TYPE": ("UNSEEN-ANY",),
    "UNSEEN-TOKENS": ("UNSEEN-ANY",),
    "TCM-SEEN": ("TCM-ALL",),
    "TCM-UNSEEN": ("TCM-ALL",),
    ("entity_frequency", 0): ("UNSEEN-TOKENS", "UNSEEN-ANY"),
    ("entity_label_consistency", 0): ("UNSEEN-ANY",),
}
_NEARLY = 0.8  # the share of a slice that a part of it has at least, to be nearly the same


def distinct(rows: Iterable[Mapping[str, Any]], system: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """The slices of one system in groups that hold the same mentions or nearly so; order is kept.

    Two slices of mentions hold the same ones where they have the same number of gold mentions with
    every outcome; nearly the same where one is a part of the other by definition and has at least
    four fifths of its gold mentions. Slices that are alike to a third stand in one group with it.
    """
    listed = list(rows)
    groups: list[list[int]] = []
    for place, row in enumerate(listed):
        alike = [group for group in groups if any(_alike(row, listed[one], system) for one in group)]
        joined = sorted([place, *(one for group in alike for one in group)])
        groups = sorted([*(group for group in groups if group not in alike), joined])
    return [[listed[place] for place in group] for group in groups]


def _alike(one: Mapping[str, Any], other: Mapping[str, Any], system: Mapping[str, Any]) -> bool:
    first, second = _held(one, system), _held(other, system)
    if first is None or second is None:
        return False
    return first[1] == second[1] or _is_most_of(first, second) or _is_most_of(second, first)


_Held: TypeAlias = tuple[tuple[str, float] | str | None, Mapping[str, int]]


def _is_most_of(part: _Held, whole: _Held) -> bool:
    (name, some), (of, all_) = part, whole
    if name is None or of not in _PARTS.get(name, ()) or any(some[key] > all_.get(key, 0) for key in some):
        return False
    return sum(some.values()) >= _NEARLY * sum(all_.values())


def _held(row: Mapping[str, Any], system: Mapping[str, Any]) -> _Held | None:
    """The subset, or the attribute and its one value, and the outcomes of the gold mentions, where told."""
    name: tuple[str, float] | str | None = row["name"]
    if row["kind"] == "tough":
        outcomes = ((system.get("tough") or {}).get(name) or {}).get("outcomes")
    elif row["kind"] == "bucket":
        buckets = ((system.get("attributes") or {}).get(row["attribute"]) or {}).get("buckets") or ()
        bucket: Bucket = next((cell for cell in buckets if cell["name"] == name), {})
        outcomes = (bucket.get("outcomes") or {}).get("gold")
        low = bucket.get("low")
        name = (row["attribute"], low) if low is not None and low == bucket.get("high") else None
    else:
        return None
    return (name, outcomes) if outcomes else None


# ---- two systems ----------------------------------------------------------------------------


def comparative_diagnosis(
    first: Sequence[float], second: Sequence[float], names: Sequence[str]
) -> dict[str, Any]:
    """Where the first system leads most and least over the buckets of one attribute.

    `best` and `worst` are the buckets where M1 − M2 is largest and smallest, whatever its sign;
    `beta` is the largest difference if M1 wins every bucket, else the smallest; `relative`
    is (M1 − M2) / M2 bucket by bucket, None where M2 is 0 or undefined.

    Examples:
        >>> found = comparative_diagnosis([0.9, 0.6], [0.8, 0.4], ["XS", "XL"])
        >>> found["best"]["bucket"], found["worst"]["bucket"], round(found["beta"], 2)
        ('XL', 'XS', 0.2)

    References:
        Fu, Liu and Neubig (2020), Table 4 and Figure 6; β is the 2019 submission's.
    """
    new, old = np.array(first, np.float64), np.array(second, np.float64)
    difference = new - old
    relative = [plain(value) for value in ratio(difference, np.where(np.isnan(old), 0.0, old)).tolist()]
    row: dict[str, Any] = {
        "buckets": list(names),
        "differences": [plain(value) for value in difference.tolist()],
        "relative": relative,
    }
    if np.isnan(difference).all():
        return {"best": None, "worst": None, "beta": None, **row}
    best, worst = int(np.nanargmax(difference)), int(np.nanargmin(difference))
    wins = bool((difference[~np.isnan(difference)] > 0).all())
    return {
        "best": {"bucket": names[best], "difference": float(difference[best])},
        "worst": {"bucket": names[worst], "difference": float(difference[worst])},
        "beta": float(difference[best] if wins else difference[worst]),
        **row,
    }


# ---- many systems ---------------------------------------------------------------------------


def lettering(scores: Mapping[str, float | None]) -> dict[str, str]:
    """A letter for each system in descending order of score, undefined ones last, ties by name.

    Examples:
        >>> lettering({"crf": 0.7, "bert": 0.9})
        {'bert': 'a', 'crf': 'b'}
    """
    order = sorted(scores, key=lambda name: (-_or_lowest(scores[name]), name))
    return {name: letter(place) for place, name in enumerate(order)}


def letter(place: int) -> str:
    """The sign of the system at a place, from 0: a … z, A … Z, then its number in brackets."""
    return ascii_letters[place] if place < len(ascii_letters) else f"({place + 1})"


def _or_lowest(value: float | None) -> float:
    return -np.inf if value is None else value


def letters(
    systems: Mapping[str, Mapping[str, Any]] | Mapping[str, float | None],
    comparisons: Iterable[Mapping[str, Any]],
    *,
    path: Sequence[str] = F1,
) -> dict[str, str]:
    """For every system the letters of those it is significantly better than, in order of score.

    Args:
        systems: the systems of a result document, or the score of each.
        comparisons: the comparisons of a result document; `path` names the score they are asked for.

    Examples:
        >>> row = {"path": ["exact", "overall", "f1"], "difference": -0.2, "significant": True}
        >>> letters({"crf": 0.7, "bert": 0.9}, [{"systems": ["crf", "bert"], "scores": [row]}])
        {'bert': 'b', 'crf': ''}
    """
    scores = {
        name: _follow(value, path) if isinstance(value, Mapping) else value for name, value in systems.items()
    }
    sign = lettering(scores)
    beaten: dict[str, set[str]] = {name: set() for name in sign}
    for comparison in comparisons:
        row = score_row(comparison, path)
        if row is None or not row["significant"] or not row["difference"]:
            continue
        winner, loser = comparison["systems"] if row["difference"] > 0 else reversed(comparison["systems"])
        if winner in beaten and loser in sign:
            beaten[winner].add(loser)
    return {name: "".join(sign[other] for other in sign if other in beaten[name]) for name in sign}


def score_row(comparison: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any] | None:
    """The row of a comparison about one score, where it has one."""
    return next((row for row in comparison["scores"] if list(row["path"]) == list(path)), None)


def _follow(tree: Mapping[str, Any], path: Sequence[str]) -> Any:
    node: Any = tree
    for key in path:
        node = node[key]
    return node


def rank_flips(
    scores: Mapping[str, float], cells: Iterable[tuple[Mapping[str, Any], Mapping[str, float]]]
) -> list[dict[str, Any]]:
    """The slices in which the overall order of two systems reverses, the largest reversal first.

    `cells` pairs what is known of a slice with the score of every system in it; each reversed
    pair gives a row with the system that leads `overall`, the one that leads `here`, and by how much.

    Examples:
        >>> rank_flips({"a": 0.9, "b": 0.8}, [({"slice": "XL"}, {"a": 0.4, "b": 0.5})])[0]["here"]
        'b'
    """
    flips = []
    names = sorted(scores)
    for about, values in cells:
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                overall = scores[one] - scores[other]
                here = values.get(one, np.nan) - values.get(other, np.nan)
                if not overall * here < 0:  # undefined and equal scores reverse nothing
                    continue
                lead, trail = (one, other) if overall > 0 else (other, one)
                flips.append(
                    {**about, "overall": lead, "here": trail, "lead": abs(overall), "reversal": abs(here)}
                )
    return sorted(flips, key=lambda row: -row["reversal"])
