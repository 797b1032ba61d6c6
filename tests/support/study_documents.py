"""A small study document with several datasets, models and runs, for tests of reports."""

from __future__ import annotations

from statistics import mean, stdev
from typing import Any

from document_parts import SIGNATURE, settings, source
from documents import LENGTH_BUCKETS, SUBSETS, dataset, follow, sentences, system


def study(
    models: tuple[str, ...] = ("crf", "bert"),
    names: tuple[str, ...] = ("news", "tweets"),
    runs: tuple[str, ...] = ("1", "2", "3"),
) -> dict[str, Any]:
    """A study document: datasets × models × runs, with every analysis."""
    datasets: dict[str, Any] = {}
    for number, name in enumerate(names):
        by_model: dict[str, Any] = {}
        for at, model in enumerate(models):
            rows = {run: sentences([model], salt=5 * number + 3 * at + int(run)) for run in runs}
            by_model[model] = {run: system(rows[run], model) for run in runs}
        datasets[name] = {
            "dataset": dataset(sentences([]), name=name),
            "runs": by_model,
            "comparisons": [
                _compared(by_model, first, second)
                for at, first in enumerate(models)
                for second in models[at + 1 :]
            ],
        }
    return {
        "spanwise": "0.1.0", "schema": 1, "signature": SIGNATURE, "inputs": [source("gold", "news/test.txt")],
        "settings": settings(command="spanwise study study.toml"), "datasets": datasets,
        "analyses": _analyses(datasets, models),
    }  # fmt: skip


def _compared(by_model: dict[str, Any], first: str, second: str) -> dict[str, Any]:
    """Two systems on one dataset, significantly different over their runs."""
    path = ["exact", "overall", "f1"]
    runs = ([follow(run, path)[0] or 0.0 for run in by_model[name].values()] for name in (first, second))
    a, b = map(mean, runs)
    test = {
        "path": path, "family": "overall", "role": "primary", "a": a, "b": b, "difference": a - b,
        "interval": [a - b - 0.001, a - b + 0.001], "p": 0.001, "p_corrected": 0.004, "significant": True,
        "units": 60,
    }  # fmt: skip
    return {
        "systems": [first, second], "scores": [test], "test": "t-test over runs", "correction": "holm",
        "pairs": 4, "runs": [len(by_model[name]) for name in (first, second)], "detectable": 0.02,
    }  # fmt: skip


def _analyses(datasets: dict[str, Any], models: tuple[str, ...]) -> dict[str, Any]:
    def over(model: str, name: str, path: list[str]) -> dict[str, Any]:
        values = [follow(run, path)[0] for run in datasets[name]["runs"][model].values()]
        defined = [value for value in values if value is not None]
        return {
            "mean": mean(defined) if defined else None, "std": stdev(defined) if len(defined) > 1 else None,
            "runs": len(defined),
        }  # fmt: skip

    def per(score: str, model: str, attribute: str) -> dict[str, Any]:
        first = {
            name: datasets[name]["runs"][model]["1"]["attributes"][attribute][score] for name in datasets
        }
        return {**first, "mean": mean(first.values())}

    attributes = ("entity_length", "token_frequency")
    test = {"statistic": 9.4, "p": 0.024, "blocks": 6, "left_out": []}
    weak = {"statistic": 2.1, "p": 0.55, "blocks": 6, "left_out": []}
    compared = []
    for at, model_a in enumerate(models):
        for model_b in models[at + 1 :]:
            compared.append(_comparative(datasets, model_a, model_b, attributes))
    holistic = {m: {n: over(m, n, ["exact", "overall", "f1"]) for n in datasets} for m in models}
    for name in datasets:
        order = sorted(models, key=lambda model: -holistic[model][name]["mean"])
        for rank, model in enumerate(order):
            holistic[model][name] |= {"letter": "abcd"[rank], "letters": "abcd"[rank + 1 : len(order)]}
    flip = {
        "dataset": "news", "kind": "bucket", "attribute": "entity_length", "name": "XL", "label": "≥ 4",
        "gold": 60, "score": "f1", "overall": models[0], "here": models[1], "lead": 0.012, "reversal": 0.034,
    }  # fmt: skip
    return {
        "holistic": holistic,
        "model_wise": {
            model: {
                attribute: {
                    "spearman": per("spearman", model, attribute), "std": per("std", model, attribute),
                    "friedman": test if attribute == "entity_length" else weak,
                    "buckets_differ": {"p": 0.024 if attribute == "entity_length" else 0.55},
                }
                for attribute in attributes
            }
            for model in models
        },
        "attribute_wise": {
            name: {
                attribute: {
                    "zeta": 1.9 - at, "rho1": 0.8, "rho2": -0.8, "sigma": 0.06, "friedman": test,
                    "buckets_differ": {"p": 0.024},
                }
                for at, attribute in enumerate(attributes)
            }
            for name in datasets
        },
        "bucket_wise": {
            "self": {
                m: {
                    n: {
                        a: {
                            k: datasets[n]["runs"][m]["1"]["attributes"][a][k]
                            for k in ("best", "worst", "gap")
                        }
                        for a in attributes
                    }
                    for n in datasets
                }
                for m in models
            },
            "comparative": compared,
            "rank_flips": [flip],
        },
        "tough": {
            m: {n: {s: over(m, n, ["tough", s, "overall", "recall"]) for s in SUBSETS} for n in datasets}
            for m in models
        },
    }  # fmt: skip


def _comparative(
    datasets: dict[str, Any], model_a: str, model_b: str, attributes: tuple[str, ...]
) -> dict[str, Any]:
    by_dataset: dict[str, Any] = {}
    for name in datasets:
        by_dataset[name] = {}
        for attribute in attributes:
            pair = [
                datasets[name]["runs"][m]["1"]["attributes"][attribute]["buckets"] for m in (model_a, model_b)
            ]
            gaps = [(a["f1"] - b["f1"], a["name"]) for a, b in zip(*pair, strict=True)]
            best, worst = max(gaps), min(gaps)
            by_dataset[name][attribute] = {
                "best": {"bucket": best[1], "difference": best[0]},
                "worst": {"bucket": worst[1], "difference": worst[0]},
                "beta": best[0] if worst[0] > 0 else worst[0],
                "relative": [gap / b["f1"] for (gap, _), b in zip(gaps, pair[1], strict=True)],
            }
    tests = {
        attribute: {bucket: {"statistic": 3.0, "p": 0.125, "pairs": 6} for bucket, *_ in LENGTH_BUCKETS}
        for attribute in attributes
    }
    overall = {
        "statistic": 2.0, "p": 0.0625, "pairs": 6, "difference": 0.0071, "p_corrected": 0.0625,
        "significant": False, "note": "",
    }  # fmt: skip
    return {"systems": [model_a, model_b], "datasets": by_dataset, "wilcoxon": tests, "overall": overall}
