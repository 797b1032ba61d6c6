"""Small result documents whose numbers add up, built without the engine, for tests of reports.

The outcomes of every sentence are planned, and the counts in the document are derived from its sentences,
so tests can check a number in a report against the examples it links to.
"""

from __future__ import annotations

from statistics import mean, pstdev
from typing import Any

from document_parts import SIGNATURE, settings, source

LABELS = ("PER", "LOC", "ORG", "MISC")
NEXT = dict(zip(LABELS, LABELS[1:] + LABELS[:1], strict=True))
SUBSETS = ("SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN", "TCM-UNSEEN")
GOLD_OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN")
LENGTH_BUCKETS = (("XS", "1", 1), ("S", "2", 2), ("L", "3", 3), ("XL", "4 or more", 4))
WORDS = ["the", "council", "of", "met", "near", "old", "river", "before", "noon", "and", "left", "town"]


def _plan(number: int, salt: int) -> str:
    """The planned outcome of gold mention `number`: mostly correct, less often for long mentions."""
    code = (number * 7 + salt * 11) % 30
    table = {0: "LE", 1: "BEs", 2: "BEl", 3: "LBE", 4: "FN", 5: "LE", 6: "BEo"}
    if _length(number) == 4 and code < 20:
        return ("BEs", "BEl", "FN", "LE")[code % 4]
    return table.get(code, "TP")


def _length(number: int) -> int:
    return (1, 2, 1, 3, 1, 2, 4, 1)[number % 8]


def _label(number: int) -> str:
    return ("PER", "LOC", "PER", "ORG", "LOC", "PER", "ORG", "MISC", "LOC", "PER")[number % 10]


def _subsets(number: int) -> list[str]:
    kind = ("SEEN", "SEEN", "UNSEEN-TOKENS", "SEEN", "UNSEEN-TYPE")[number % 5]
    subsets = [kind] + (["UNSEEN-ANY"] if kind != "SEEN" else [])
    if number % 6 == 0:
        subsets += ["TCM-ALL", "TCM-UNSEEN" if kind == "UNSEEN-TOKENS" else "TCM-SEEN"]
    return subsets


def _predict(start: int, end: int, label: str, outcome: str) -> tuple[int, int, str] | None:
    """A predicted mention with this outcome for the gold one, which has a spare token on either side."""
    match outcome:
        case "TP":
            return start, end, label
        case "LE":
            return start, end, NEXT[label]
        case "BEs":
            return (start, end - 1, label) if end - start > 1 else (start, end + 1, label)
        case "BEl":
            return start, end + 1, label
        case "BEo":
            return (start + 1, end + 1, label) if end - start > 1 else (start - 1, end, label)
        case "LBE":
            return start, end + 1, NEXT[label]
    return None


def _outcome_name(gold: tuple[int, int, str], predicted: tuple[int, int, str]) -> str:
    """The outcome by definition; it may differ from the plan, as one token cannot be predicted too short."""
    if gold[2] != predicted[2]:
        return "LE" if gold[:2] == predicted[:2] else "LBE"
    if gold[:2] == predicted[:2]:
        return "TP"
    if gold[0] <= predicted[0] and predicted[1] <= gold[1]:
        return "BEs"
    return "BEl" if predicted[0] <= gold[0] and gold[1] <= predicted[1] else "BEo"


def _bucket(length: int) -> str:
    return LENGTH_BUCKETS[min(length, 4) - 1][0]


def sentences(names: list[str], *, count: int = 120, salt: int = 0) -> list[dict[str, Any]]:
    """`count` sentences with two gold mentions each, and the predictions of every system."""
    result = []
    for index in range(count):
        spans = []
        for half, offset in enumerate((2, 9)):
            number = 2 * index + half
            spans.append((offset, offset + _length(number), _label(number), number))
        gold: list[dict[str, Any]] = [
            {
                "start": start, "end": end, "label": label, "outcome": {}, "partner": {},
                "tough": _subsets(number), "buckets": {"entity_length": _bucket(end - start)},
            }
            for start, end, label, number in spans
        ]  # fmt: skip
        systems: dict[str, list[dict[str, Any]]] = {}
        for position, name in enumerate(names):
            rows: list[dict[str, Any]] = []
            for mention, (start, end, label, number) in zip(gold, spans, strict=True):
                span = _predict(start, end, label, _plan(number, salt + position * 3))
                outcome = _outcome_name((start, end, label), span) if span else "FN"
                mention["outcome"][name] = outcome
                mention["partner"][name] = len(rows) if span else None
                if span:
                    rows.append(_predicted(*span, outcome=outcome, partner=gold.index(mention)))
            if (index + position) % 9 == 0:
                rows.append(_predicted(15, 16, LABELS[index % 4], outcome="FP", partner=None))
            systems[name] = rows
        tokens = [f"{WORDS[(index + at) % len(WORDS)]}" for at in range(17)]
        for start, end, label, number in spans:
            tokens[start:end] = [f"{label.title()}{number}"] + [f"x{at}" for at in range(1, end - start)]
        result.append(
            {
                "id": str(index), "source": f"gold.conll:{index * 18 + 1}", "document": str(index // 10),
                "tokens": tokens, "gold": gold, "systems": systems,
            }
        )  # fmt: skip
    return result


def _predicted(start: int, end: int, label: str, *, outcome: str, partner: int | None) -> dict[str, Any]:
    return {
        "start": start, "end": end, "label": label, "outcome": outcome, "partner": partner,
        "buckets": {"entity_length": _bucket(end - start)},
    }  # fmt: skip


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None


def _interval(value: float | None, half: float = 0.02) -> list[float] | None:
    return None if value is None else [max(0.0, value - half), min(1.0, value + half)]


def _intervals(scores: dict[str, float | None], half: float = 0.02) -> dict[str, Any]:
    return {name: _interval(value, half) for name, value in scores.items() if value is not None}


def _exact(gold: int, predicted: int, correct: int) -> dict[str, Any]:
    scores = {
        "precision": _ratio(correct, predicted),
        "recall": _ratio(correct, gold),
        "f1": _ratio(2 * correct, gold + predicted),
    }
    return {
        "gold": gold, "predicted": predicted, "correct": correct, **scores,
        "interval": _intervals(scores),
    }  # fmt: skip


def _fair(outcomes: dict[str, int]) -> dict[str, Any]:
    boundary = sum(outcomes.get(kind, 0) for kind in ("BEs", "BEl", "BEo"))
    counts = {kind: outcomes.get(kind, 0) for kind in ("TP", "FP", "FN", "LE", "BEs", "BEl", "BEo", "LBE")}
    half = (counts["LE"] + boundary + counts["LBE"]) / 2
    right, wrong, missed = counts["TP"], counts["FP"] + half, counts["FN"] + half
    scores = {
        "precision": _ratio(right, right + wrong),
        "recall": _ratio(right, right + missed),
        "f1": _ratio(2 * right, 2 * right + wrong + missed),
    }
    return {**counts, "BE": boundary, **scores, "interval": _intervals(scores)}


def _tally(rows: list[dict[str, Any]], name: str, keep: Any = None) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        for mention in row["gold"]:
            if keep is None or keep(mention):
                outcome = mention["outcome"][name]
                counts[outcome] = counts.get(outcome, 0) + 1
        for mention in row["systems"][name]:
            if mention["outcome"] == "FP" and (keep is None or keep(mention)):
                counts["FP"] = counts.get("FP", 0) + 1
    return counts


def _totals(rows: list[dict[str, Any]], name: str, keep: Any = None) -> tuple[int, int, int]:
    gold = [m for row in rows for m in row["gold"] if keep is None or keep(m)]
    predicted = [m for row in rows for m in row["systems"][name] if keep is None or keep(m)]
    return len(gold), len(predicted), sum(m["outcome"][name] == "TP" for m in gold)


def system(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The object under `systems.NAME`, counted from the sentences."""
    gold, predicted, correct = _totals(rows, name)
    overall = _exact(gold, predicted, correct)
    labels = {label: _exact(*_totals(rows, name, lambda m, w=label: m["label"] == w)) for label in LABELS}
    means = {score: mean(labels[label][score] for label in LABELS) for score in ("precision", "recall", "f1")}
    outcomes = _tally(rows, name)
    fair = _fair(outcomes)
    errors = {kind: fair[kind] for kind in ("LE", "BE", "LBE", "FN", "FP")}
    gains = {}
    for kind, count in errors.items():
        fixed = count if kind != "FP" else 0
        extra, fewer = (count if kind == "FN" else 0), (count if kind == "FP" else 0)
        gain = 2 * (correct + fixed) / (gold + predicted + extra - fewer) - 2 * correct / (gold + predicted)
        gains[kind] = {"gain": gain, "count": count, "interval": {"gain": [gain * 0.7, gain * 1.3]}}
    first, second, *_ = sorted(gains, key=lambda kind: -gains[kind]["gain"])
    lead = gains[first]["gain"] - gains[second]["gain"]
    gains[first]["lead"] = {"over": second, "difference": lead, "interval": [lead / 2, lead * 2], "p": 0.001}
    total = sum(errors.values())
    return {
        "exact": {
            "overall": {**overall, "accuracy": 0.95},
            "macro": {**means, "labels": len(LABELS)},
            "weighted": {**means, "labels": len(LABELS)},
            "labels": labels,
        },
        "fair": {
            "overall": fair,
            "labels": {
                label: _fair(_tally(rows, name, lambda m, w=label: m["label"] == w)) for label in LABELS
            },
            "shares": {
                "traditional": {
                    "FP": (predicted - correct) / (gold + predicted - 2 * correct),
                    "FN": (gold - correct) / (gold + predicted - 2 * correct),
                },
                "fair": {kind: count / total for kind, count in errors.items()},
            },
        },
        "relaxed": {},
        "credits": {},
        "gains": gains,
        "confusion": _confusion(rows, name),
        "tough": {subset: _tough(rows, name, subset) for subset in SUBSETS},
        "attributes": {
            "entity_length": _lengths(rows, name),
            "token_frequency": _frequencies(correct, gold, predicted),
        },
        "slices": _slices(rows, name, overall, labels),
        "cross": {},
    }


def _confusion(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    labels = sorted(LABELS)
    counts = [[0] * len(labels) for _ in labels]
    missed, spurious = [0] * len(labels), [0] * len(labels)
    for row in rows:
        for mention in row["gold"]:
            at, outcome = labels.index(mention["label"]), mention["outcome"][name]
            if outcome == "FN":
                missed[at] += 1
            elif outcome != "TP":
                partner = row["systems"][name][mention["partner"][name]]
                counts[at][labels.index(partner["label"])] += 1
        for mention in row["systems"][name]:
            spurious[labels.index(mention["label"])] += mention["outcome"] == "FP"
    pairs = {kind: _pairs(rows, name, kind) for kind in ("LE", "LBE")}
    return {"labels": labels, "counts": counts, "missed": missed, "spurious": spurious, "pairs": pairs}


def _pairs(rows: list[dict[str, Any]], name: str, kind: str) -> list[list[Any]]:
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        for mention in row["gold"]:
            if mention["outcome"][name] == kind:
                key = (mention["label"], row["systems"][name][mention["partner"][name]]["label"])
                counts[key] = counts.get(key, 0) + 1
    return [[*key, number] for key, number in sorted(counts.items(), key=lambda item: -item[1])]


def _recall(rows: list[dict[str, Any]], name: str, keep: Any) -> dict[str, Any]:
    chosen = [m for row in rows for m in row["gold"] if keep(m)]
    right = sum(m["outcome"][name] == "TP" for m in chosen)
    value = _ratio(right, len(chosen))
    return {
        "mentions": len(chosen), "correct": right, "recall": value,
        "interval": _intervals({"recall": value}, 0.04),
    }  # fmt: skip


def _tough(rows: list[dict[str, Any]], name: str, subset: str) -> dict[str, Any]:
    tally = _tally(rows, name, lambda m: subset in m.get("tough", ()))
    return {
        "overall": _recall(rows, name, lambda m: subset in m["tough"]),
        "labels": {
            label: _recall(rows, name, lambda m, w=label: subset in m["tough"] and m["label"] == w)
            for label in LABELS
        },
        "outcomes": {outcome: tally.get(outcome, 0) for outcome in GOLD_OUTCOMES},
    }


def _attribute(unit: str, buckets: list[dict[str, Any]], strategy: str, zeta: float) -> dict[str, Any]:
    defined = [bucket for bucket in buckets if bucket["f1"] is not None]
    ordered = sorted(defined, key=lambda bucket: bucket["f1"])
    return {
        "unit": unit, "kind": "numeric", "strategy": strategy, "zeta": zeta, "buckets": buckets,
        "spearman": -0.8 if unit == "mention" else 0.6, "std": pstdev(bucket["f1"] for bucket in defined),
        "best": ordered[-1]["name"], "worst": ordered[0]["name"], "gap": ordered[-1]["f1"] - ordered[0]["f1"],
    }  # fmt: skip


def _lengths(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    buckets = []
    for bucket, text, value in LENGTH_BUCKETS:
        keep = lambda m, w=bucket: m["buckets"]["entity_length"] == w  # noqa: E731
        scores = _exact(*_totals(rows, name, keep))
        gold = dict.fromkeys(GOLD_OUTCOMES, 0)
        predicted = dict.fromkeys((*GOLD_OUTCOMES[:-1], "FP"), 0)
        for row in rows:
            for mention in filter(keep, row["gold"]):
                gold[mention["outcome"][name]] += 1
            for mention in filter(keep, row["systems"][name]):
                predicted[mention["outcome"]] += 1
        buckets.append(
            {
                "name": bucket, "label": text, "low": min(value, 3), "high": value if value < 4 else None,
                "special": value < 4, **scores, "outcomes": {"gold": gold, "predicted": predicted},
                "small": scores["gold"] < 30,
            }
        )  # fmt: skip
    return _attribute("mention", buckets, "special(1, 2, 3), balanced(1)", 1.875)


def _frequencies(correct: int, gold: int, predicted: int) -> dict[str, Any]:
    shares = (0.9, 1.0, 1.05, 1.02)
    edges = ((0, 0), (0, 0.001), (0.001, 0.01), (0.01, None))
    texts = ("0", "(0, 0.001]", "(0.001, 0.01]", "above 0.01")
    buckets = [
        {
            "name": bucket, "label": text, "low": low, "high": high, "special": low == high,
            **_exact(gold // 4, predicted // 4, int(correct / 4 * share)), "small": False,
        }
        for bucket, text, (low, high), share in zip(("XS", "S", "L", "XL"), texts, edges, shares, strict=True)
    ]  # fmt: skip
    return _attribute("token", buckets, "special(0), balanced(3)", 0.0042)


def _slices(
    rows: list[dict[str, Any]], name: str, overall: dict[str, Any], labels: dict[str, Any]
) -> list[dict[str, Any]]:
    total = overall["gold"]
    cells: list[tuple[str, str | None, str, str, str, dict[str, Any]]] = []
    for bucket in _lengths(rows, name)["buckets"]:
        cells.append(
            ("bucket", "entity_length", bucket["name"], f"entity_length = {bucket['label']}", "f1", bucket)
        )
    for label in LABELS:
        cells.append(("label", None, label, f"label = {label}", "f1", labels[label]))
    for subset in SUBSETS:
        cells.append(("tough", None, subset, subset, "recall", _tough(rows, name, subset)["overall"]))
    slices = []
    for kind, attribute, key, title, score, cell in cells:
        gold = cell["gold"] if "gold" in cell else cell["mentions"]
        if gold < 50 or cell[score] is None:
            continue
        slices.append(
            {
                "kind": kind, "attribute": attribute, "name": key, "title": title, "score": score,
                "value": cell[score], "overall": overall[score], "gold": gold,
                "cost": gold / total * (overall[score] - cell[score]),
                "interval": cell["interval"].get(score),
            }
        )  # fmt: skip
    slices = [{**row, "t": 3.0, "p": 0.001, "among": len(slices)} for row in slices]
    return sorted(slices, key=lambda row: -row["cost"])


def dataset(rows: list[dict[str, Any]], *, name: str = "gold") -> dict[str, Any]:
    """The `dataset` object, counted from the sentences."""
    gold = [m for row in rows for m in row["gold"]]
    labels = {label: sum(m["label"] == label for m in gold) for label in LABELS}

    def share(subset: str, label: str | None) -> dict[str, Any]:
        of = [m for m in gold if label is None or m["label"] == label]
        inside = sum(subset in m["tough"] for m in of)
        return {"mentions": inside, "share": _ratio(inside, len(of))}

    return {
        "name": name, "sentences": len(rows), "documents": len(rows) // 10,
        "tokens": sum(len(row["tokens"]) for row in rows), "mentions": len(gold), "labels": labels,
        "label_order": sorted(labels, key=lambda label: -labels[label]),
        "tough": {
            subset: {"overall": share(subset, None), "labels": {w: share(subset, w) for w in LABELS}}
            for subset in SUBSETS
        },
        "zeta": {"entity_length": 1.875, "token_frequency": 0.0042},
        "duplicates_with_train": 3, "absent": {"oov_density": "needs training data or a word list"},
    }  # fmt: skip


def result(*names: str, count: int = 120) -> dict[str, Any]:
    """A result document for the named systems (by default "crf"); two or more are compared."""
    systems = list(names) or ["crf"]
    rows = sentences(systems, count=count)
    scored = {name: system(rows, name) for name in systems}
    wrong = [row for row in rows if _has_error(row)]
    inputs = [source("gold", "gold.conll")]
    for number, name in enumerate(systems):
        mentions = scored[name]["exact"]["overall"]["predicted"]
        inputs.append(
            source("predicted", f"{name}.conll", system=name, repairs=7 * number, mentions=mentions)
        )
    inputs.append(source("train", "train.conll", mentions=900, sentences=400, tokens=7000))
    order = sorted(systems, key=lambda name: -scored[name]["exact"]["overall"]["f1"])
    return {
        "spanwise": "0.1.0", "schema": 1, "signature": SIGNATURE, "inputs": inputs, "settings": settings(),
        "dataset": dataset(rows), "systems": scored,
        "comparisons": [
            _comparison(scored, first, second)
            for at, first in enumerate(systems)
            for second in systems[at + 1 :]
        ],
        "letters": {name: "abcdef"[order.index(name) + 1 : len(order)] for name in order},
        "findings": _findings(scored, systems[0]), "sentences": wrong,
        "examples": {"policy": "errors", "cap": 2000, "shown": len(wrong), "of": len(wrong)},
    }  # fmt: skip


def _has_error(row: dict[str, Any]) -> bool:
    return any(mention["outcome"] != "TP" for rows in row["systems"].values() for mention in rows) or any(
        outcome != "TP" for mention in row["gold"] for outcome in mention["outcome"].values()
    )


def _comparison(scored: dict[str, Any], first: str, second: str) -> dict[str, Any]:
    paths: list[tuple[str, list[str]]] = [
        ("overall", ["exact", "overall", s]) for s in ("f1", "precision", "recall")
    ]
    paths += [("overall", ["fair", "overall", "f1"])]
    paths += [("labels", ["exact", "labels", label, "f1"]) for label in LABELS]
    paths += [("errors", ["gains", kind, "gain"]) for kind in ("LE", "BE", "LBE", "FN", "FP")]
    paths += [("tough", ["tough", subset, "overall", "recall"]) for subset in SUBSETS]
    paths += [("buckets", ["attributes", "entity_length", name, "f1"]) for name, *_ in LENGTH_BUCKETS]
    scores = []
    for number, (family, path) in enumerate(paths):
        a, b = (follow(scored[name], path) for name in (first, second))
        difference = None if a[0] is None or b[0] is None else a[0] - b[0]
        p = 0.001 + 0.07 * (number % 5)
        scores.append(
            {
                "path": path, "family": family, "a": a[0], "b": b[0], "difference": difference,
                "interval": _around(difference),
                "p": p, "p_corrected": min(1.0, 2 * p), "significant": 2 * p < 0.05, "mentions": a[1],
            }
        )  # fmt: skip
    return {
        "systems": [first, second],
        "scores": scores,
        "detectable": 0.021,
        "better": {"a": [], "b": []},
    }


def _around(difference: float | None) -> list[float] | None:
    return None if difference is None else [max(-1.0, difference - 0.015), min(1.0, difference + 0.015)]


def follow(tree: dict[str, Any], path: list[str]) -> tuple[float | None, int]:
    if path[0] == "attributes":
        buckets = {bucket["name"]: bucket for bucket in tree["attributes"][path[1]]["buckets"]}
        return buckets[path[2]][path[3]], buckets[path[2]]["gold"]
    node: Any = tree
    for key in path[:-1]:
        node = node[key]
    return node[path[-1]], node.get("gold", node.get("mentions", tree["exact"]["overall"]["gold"]))


def _findings(scored: dict[str, Any], name: str) -> list[dict[str, Any]]:
    scores = scored[name]
    kind = max(scores["gains"], key=lambda key: scores["gains"][key]["gain"])
    worst = next(row for row in scores["slices"] if row["kind"] == "bucket")
    tough = scores["tough"]["UNSEEN-ANY"]["overall"]
    return [
        {
            "kind": "gain", "system": name, "score": "gain", "value": scores["gains"][kind]["gain"],
            "count": scores["fair"]["overall"][kind], "path": ["gains", kind, "gain"],
            "filter": {"system": name, "outcome": kind},
        },
        {
            "kind": "slice", "system": name, "score": worst["score"], "value": worst["value"],
            "against": worst["overall"], "count": worst["gold"], "mentions": worst["gold"],
            "cost": worst["cost"], "title": worst["title"],
            "path": ["attributes", "entity_length", worst["name"], "f1"],
            "filter": {"system": name, "attribute": worst["attribute"], "bucket": worst["name"]},
        },
        {
            "kind": "tough", "system": name, "score": "recall", "value": tough["recall"],
            "against": scores["tough"]["SEEN"]["overall"]["recall"], "mentions": tough["mentions"],
            "count": tough["mentions"] - tough["correct"],
            "path": ["tough", "UNSEEN-ANY", "overall", "recall"],
            "filter": {"system": name, "tough": "UNSEEN-ANY"},
        },
    ]  # fmt: skip


def description() -> dict[str, Any]:
    """A document as `describe` writes it: inputs and the dataset, but no systems."""
    rows = sentences([])
    return {
        "spanwise": "0.1.0", "schema": 1, "signature": SIGNATURE,
        "inputs": [source("gold", "gold.conll"), source("train", "train.conll")], "dataset": dataset(rows),
    }  # fmt: skip
