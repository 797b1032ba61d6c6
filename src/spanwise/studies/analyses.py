"""The analyses of a study: model-wise, attribute-wise and bucket-wise, over the runs of its document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, sqrt
from typing import Any

from msgspec import Struct

from spanwise.columns import plain, ratio
from spanwise.diagnosis import (
    LEAST_GOLD,
    comparative_diagnosis,
    is_categorical,
    mean_of,
    on_scale,
    rank_flips,
    score_of,
    self_diagnosis,
)
from spanwise.statistics import LEVEL, Test, complete_blocks, correct, friedman, spearman, wilcoxon
from spanwise.studies._manifest import Manifest, Pair

NAN = float("nan")
BLOCKS = "Wilcoxon signed-rank over datasets × runs"


def over_runs(values: Mapping[str, float]) -> dict[str, Any]:
    """Mean, sample standard deviation and number of the defined values of several runs.

    Examples:
        >>> over_runs({"1": 0.5, "2": 0.7, "3": float("nan")})["runs"]
        2
    """
    defined = [value for value in values.values() if value == value]
    mean = float(ratio(fsum(defined), len(defined)))
    square = fsum((value - mean) ** 2 for value in defined)
    deviation = sqrt(float(ratio(square, len(defined) - 1))) if len(defined) > 1 else NAN
    return {"mean": plain(mean), "std": plain(deviation), "runs": len(defined)}


class Scores(Struct, frozen=True):
    """The runs of a study, asked for by name; systems and datasets stand in sorted order."""

    datasets: Mapping[str, Mapping[str, Any]]
    systems: Sequence[str]

    def runs(self, system: str, dataset: str) -> Mapping[str, Mapping[str, Any]]:
        """The scored runs of a system on a dataset, by name."""
        found: Mapping[str, Mapping[str, Any]] = self.datasets[dataset]["runs"].get(system, {})
        return found

    def over(self, system: str, dataset: str, pick: Callable[[Mapping[str, Any]], float]) -> dict[str, float]:
        """One number of every run."""
        return {name: pick(run) for name, run in self.runs(system, dataset).items()}

    def attributes(self, dataset: str | None = None) -> list[str]:
        """The attributes that some run has been cut by, in the order of the runs."""
        names = [dataset] if dataset is not None else list(self.datasets)
        found: dict[str, None] = {}
        for name in names:
            for system in self.systems:
                for run in self.runs(system, name).values():
                    found.update(dict.fromkeys(run.get("attributes", {})))
        return list(found)

    def buckets(self, system: str, dataset: str, attribute: str) -> list[dict[str, Any]]:
        """The buckets of one attribute with F1 over the runs: one row of T[model, attribute, bucket]."""
        rows: dict[str, dict[str, Any]] = {}
        for name, run in self.runs(system, dataset).items():
            for bucket in on_scale(run.get("attributes", {}).get(attribute, {}).get("buckets", [])):
                row = rows.setdefault(bucket["name"], {**_about(bucket), "values": {}})
                row["values"][name] = score_of(bucket)
        return [{**_dropped(row, "values"), **_f1(row["values"])} for row in rows.values()]

    def row(self, run: Mapping[str, Any], attribute: str) -> dict[str, float]:
        """F1 of the buckets of one run, by name; a category without gold units is no bucket of a test."""
        buckets = on_scale(run.get("attributes", {}).get(attribute, {}).get("buckets", []))
        categories = is_categorical(buckets)
        return {b["name"]: score_of(b) for b in buckets if b["gold"] or not categories}


def _about(bucket: Mapping[str, Any]) -> dict[str, Any]:
    known = ("name", "label", "low", "high", "value", "special", "gold")
    return {key: bucket[key] for key in known if key in bucket}


def _dropped(row: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != key}


def _f1(values: Mapping[str, float]) -> dict[str, Any]:
    found = over_runs(values)
    return {"f1": found["mean"], "std": found["std"], "runs": found["runs"]}


def analyses(datasets: Mapping[str, Any], manifest: Manifest, *, correction: str = "holm") -> dict[str, Any]:
    """Everything that is computed over the runs of a study (`analyses` of the study document)."""
    scores = Scores(datasets, [system.name for system in manifest.systems])
    return {
        "holistic": holistic(scores),
        "performance_table": _by_cell(scores, lambda s, d, a: scores.buckets(s, d, a)),
        "model_wise": model_wise(scores),
        "attribute_wise": attribute_wise(scores),
        "bucket_wise": {
            "self": _by_cell(scores, lambda s, d, a: _self(scores.buckets(s, d, a))),
            "comparative": comparative(scores, manifest.pairs, correction=correction),
            **flips(scores),
        },
        "tough": tough(scores),
        "factors": factors(scores, manifest),
    }


def _by_cell(scores: Scores, make: Callable[[str, str, str], Any]) -> dict[str, Any]:
    return {
        system: {
            dataset: {name: make(system, dataset, name) for name in scores.attributes(dataset)}
            for dataset in scores.datasets
            if scores.runs(system, dataset)
        }
        for system in scores.systems
    }


def _self(buckets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = self_diagnosis(buckets)
    return {key: found[key] for key in ("best", "worst", "gap")}


def overall(run: Mapping[str, Any]) -> float:
    """F1 of one run."""
    return score_of(run["exact"]["overall"])


def holistic(scores: Scores) -> dict[str, Any]:
    """F1 of every system on every dataset: mean and sample standard deviation over runs, and each run."""
    found: dict[str, Any] = {}
    for system in scores.systems:
        found[system] = {}
        for dataset in scores.datasets:
            values = scores.over(system, dataset, overall)
            each = {run: plain(value) for run, value in values.items()}
            found[system][dataset] = {**over_runs(values), "values": each}
    return found


def tough(scores: Scores) -> dict[str, Any]:
    """Recall of every tough subset, overall and per label: mean and standard deviation over runs."""
    found: dict[str, Any] = {}
    for system in scores.systems:
        found[system] = {}
        for dataset in scores.datasets:
            runs = scores.runs(system, dataset)
            subsets = dict.fromkeys(name for run in runs.values() for name in run.get("tough", {}))
            found[system][dataset] = {name: _subset(runs, name) for name in subsets}
    return found


def _subset(runs: Mapping[str, Mapping[str, Any]], subset: str) -> dict[str, Any]:
    cells = {name: run["tough"][subset] for name, run in runs.items()}
    labels = dict.fromkeys(label for cell in cells.values() for label in cell.get("labels", {}))
    return {
        **_recalls({name: cell["overall"] for name, cell in cells.items()}),
        "labels": {
            label: _recalls({name: cell["labels"].get(label, {}) for name, cell in cells.items()})
            for label in labels
        },
    }


def _recalls(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Recall over runs, and the mentions of the run that has most."""
    mentions = max((row.get("mentions", 0) for row in rows.values()), default=0)
    return {**over_runs({name: score_of(row, "recall") for name, row in rows.items()}), "mentions": mentions}


# ---- model-wise and attribute-wise ----------------------------------------------------------


def model_wise(scores: Scores) -> dict[str, Any]:
    """S^ρ and S^σ of every system and attribute, per dataset and averaged; Friedman over buckets.

    Blocks of the test are datasets × runs. `grey` says that it does not show the buckets to differ.
    """
    found: dict[str, Any] = {}
    for system in scores.systems:
        found[system] = {}
        for attribute in scores.attributes():
            diagnosed = {d: self_diagnosis(scores.buckets(system, d, attribute)) for d in scores.datasets}
            blocks = [
                (f"{dataset} {run}", scores.row(scored, attribute))
                for dataset in scores.datasets
                for run, scored in scores.runs(system, dataset).items()
            ]
            means = {
                key: {dataset: row[key] for dataset, row in diagnosed.items()} for key in ("spearman", "std")
            }
            used = {key: _mean(values) for key, values in means.items()}
            found[system][attribute] = {
                **{key: {**values, "mean": used[key]["mean"]} for key, values in means.items()},
                "used": {key: row["used"] for key, row in used.items()},
                "tests": {d: _trend(scores.buckets(system, d, attribute)) for d in scores.datasets},
                "friedman": _friedman(blocks),
            }
    return found


def _mean(values: Mapping[str, float | None]) -> dict[str, Any]:
    return mean_of(NAN if value is None else value for value in values.values())


def _trend(buckets: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Spearman's test of score against bucket number."""
    if not buckets or is_categorical(buckets):
        return None
    return spearman(range(len(buckets)), [score_of(bucket) for bucket in buckets]).to_dict("buckets")


def _friedman(blocks: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, Any]:
    """Friedman's test over buckets set side by side by name; blocks with other names are left out."""
    named = [(name, row) for name, row in blocks if row]
    whole = [frozenset(row) for _, row in named if not any(value != value for value in row.values())]
    # Equally many buckets have equal names (XS … XL, B1 … Bk); categories must be the same ones.
    common = max(
        set(whole), key=lambda names: (whole.count(names), len(names), sorted(names)), default=frozenset()
    )
    order = next((tuple(row) for _, row in named if frozenset(row) == common), ())
    rows = [(name, [row[key] for key in order] if frozenset(row) == common else [NAN]) for name, row in named]
    taken, left_out = complete_blocks(rows)
    test = friedman(taken, exact=False)  # as the paper has it
    return {**test.to_dict("blocks"), "left_out": left_out, "grey": _grey(test)}


def _grey(test: Test) -> bool:
    return not test.p < LEVEL  # an undefined test shows nothing either


def attribute_wise(scores: Scores) -> dict[str, Any]:
    """ζ, ρ¹, ρ² and σ of every dataset and attribute; Friedman over buckets, blocks models × runs."""
    found: dict[str, Any] = {}
    for dataset, part in scores.datasets.items():
        found[dataset] = {}
        zeta = part["dataset"].get("zeta", {})
        for attribute in scores.attributes(dataset):
            rows = [self_diagnosis(scores.buckets(s, dataset, attribute)) for s in scores.systems]
            rho = [NAN if row["spearman"] is None else row["spearman"] for row in rows]
            sigma = mean_of(NAN if row["std"] is None else row["std"] for row in rows)
            blocks = [
                (f"{system} {run}", scores.row(scored, attribute))
                for system in scores.systems
                for run, scored in scores.runs(system, dataset).items()
            ]
            highest = _highest(scores, attribute)
            found[dataset][attribute] = {
                "zeta": zeta.get(attribute),
                "zeta_relative": _relative(zeta.get(attribute), highest),
                "rho1": mean_of(abs(value) for value in rho)["mean"],
                "rho2": mean_of(rho)["mean"],
                "sigma": sigma["mean"],
                "models": {"rho": mean_of(rho)["used"], "sigma": sigma["used"]},
                "friedman": _friedman(blocks),
            }
    return found


def _highest(scores: Scores, attribute: str) -> float | None:
    """The highest ζ of an attribute over the datasets that have one."""
    values = [part["dataset"].get("zeta", {}).get(attribute) for part in scores.datasets.values()]
    return max((value for value in values if value is not None), default=None)


def _relative(zeta: float | None, highest: float | None) -> float | None:
    return None if zeta is None or not highest else plain(ratio(zeta, highest))


# ---- bucket-wise ----------------------------------------------------------------------------


def comparative(scores: Scores, pairs: Sequence[Pair], *, correction: str) -> list[dict[str, Any]]:
    """Every pair asked for: where the first leads most and least, and tests over datasets × runs.

    The tests of all buckets of all attributes over all pairs are one family, those of the
    overall scores another.
    """
    found = [_compared(scores, pair) for pair in pairs]
    buckets = [test for row in found for tests in row["wilcoxon"].values() for test in tests.values()]
    for family in (buckets, [row["overall"] for row in found]):
        _correct(family, correction)
    return found


def _correct(tests: Sequence[dict[str, Any]], correction: str) -> None:
    """Correct the p-values of one family; say so where the correction puts the level out of reach."""
    defined = [test for test in tests if test["p"] is not None]
    corrected = correct([test["p"] for test in defined], correction)
    # Where every test shows the most it can, the correction leaves them at this (Holm) or untouched (BH).
    steps = len(defined) if correction == "holm" else 1
    for test in tests:
        test |= {"p_corrected": None, "significant": False}
    for test, p in zip(defined, corrected.tolist(), strict=True):
        test |= {"p_corrected": p, "significant": bool(p < LEVEL)}
        least = steps * test["least"]
        if not test["note"] and least >= LEVEL:
            test["note"] = (
                f"cannot reach p < {LEVEL:g} once corrected: over {steps} tests of {test['pairs']} pairs "
                f"p is at least {min(least, 1):.2g}"
            )


def _compared(scores: Scores, pair: Pair) -> dict[str, Any]:
    datasets: dict[str, Any] = {}
    for dataset in scores.datasets:
        datasets[dataset] = {}
        for attribute in scores.attributes(dataset):
            sides = [scores.buckets(system, dataset, attribute) for system in (pair.first, pair.second)]
            names = [b["name"] for b in sides[0] if b["name"] in {other["name"] for other in sides[1]}]
            first, second = ({b["name"]: score_of(b) for b in side} for side in sides)
            datasets[dataset][attribute] = comparative_diagnosis(
                [first[name] for name in names], [second[name] for name in names], names
            )
    paired = _paired(scores, pair)
    return {
        "systems": [pair.first, pair.second],
        "factor": pair.factor,
        "datasets": datasets,
        "wilcoxon": {name: _bucket_tests(scores, paired, name) for name in scores.attributes()},
        "overall": _overall_test(paired),
    }


Paired = Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]]


def _paired(scores: Scores, pair: Pair) -> Paired:
    """The runs of equal name on the same dataset, side by side."""
    found = []
    for dataset in scores.datasets:
        first, second = (scores.runs(system, dataset) for system in (pair.first, pair.second))
        found += [(f"{dataset} {run}", first[run], second[run]) for run in first if run in second]
    return found


def _bucket_tests(scores: Scores, paired: Paired, attribute: str) -> dict[str, Any]:
    rows = [(scores.row(one, attribute), scores.row(other, attribute)) for _, one, other in paired]
    names = dict.fromkeys(name for one, other in rows for name in one if name in other)
    found = {}
    for name in names:
        sides = [(one[name], other[name]) for one, other in rows if name in one and name in other]
        test = wilcoxon([a for a, _ in sides], [b for _, b in sides])
        found[name] = {**test.to_dict("pairs"), "difference": mean_of(a - b for a, b in sides)["mean"]}
    return found


def _overall_test(paired: Paired) -> dict[str, Any]:
    """The test that uses data sets and training runs alike: each is a block of a signed-rank test."""
    first, second = [overall(one) for _, one, _ in paired], [overall(other) for _, _, other in paired]
    difference = mean_of(a - b for a, b in zip(first, second, strict=True))["mean"]
    test = wilcoxon(first, second)
    return {
        "test": BLOCKS,
        **test.to_dict("pairs"),
        "difference": difference,
        "blocks": [b for b, _, _ in paired],
    }


def flips(scores: Scores) -> dict[str, Any]:
    """The rank of every system in every slice with 50 gold units or more, and where the order reverses."""
    ranked: list[dict[str, Any]] = []
    reversed_: list[dict[str, Any]] = []
    for dataset in scores.datasets:
        whole = {s: over_runs(scores.over(s, dataset, overall))["mean"] for s in scores.systems}
        defined = {name: value for name, value in whole.items() if value is not None}
        cells = [({"dataset": dataset, **about}, values) for about, values in _slices(scores, dataset)]
        ranked += [{**about, "scores": values, "ranks": _ranks(values)} for about, values in cells]
        reversed_ += rank_flips(defined, cells)
    reversed_.sort(key=lambda row: -row["reversal"])
    return {"ranks": ranked, "rank_flips": reversed_}


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    return {name: 1 + sum(other > value for other in values.values()) for name, value in values.items()}


def _slices(scores: Scores, dataset: str) -> list[tuple[dict[str, Any], dict[str, float]]]:
    """What is known of each slice of a dataset, and its mean score over runs of every system that has one."""
    about: dict[tuple[str, str, str], dict[str, Any]] = {}
    values: dict[tuple[str, str, str], dict[str, dict[str, float]]] = {}
    for system in scores.systems:
        for run, scored in scores.runs(system, dataset).items():
            for row in _cells(scored):
                key = (row["kind"], row["attribute"] or "", row["name"])
                about.setdefault(key, {name: row[name] for name in row if name != "value"})
                values.setdefault(key, {}).setdefault(system, {})[run] = row["value"]
    found = []
    for key, row in about.items():
        means = {system: over_runs(runs)["mean"] for system, runs in values[key].items()}
        defined = {system: mean for system, mean in means.items() if mean is not None}
        if row["gold"] >= LEAST_GOLD and len(defined) > 1:
            found.append((row, defined))
    return found


def _cells(run: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for name, cell in run["exact"]["labels"].items():
        yield _cell("label", None, name, cell["gold"], "f1", cell)
    for attribute, table in run.get("attributes", {}).items():
        for bucket in on_scale(table["buckets"]) if attribute != "label" else ():
            yield _cell("bucket", attribute, bucket["name"], bucket["gold"], "f1", bucket)
    for name, cell in run.get("tough", {}).items():
        yield _cell("tough", None, name, cell["overall"]["mentions"], "recall", cell["overall"])


def _cell(
    kind: str, attribute: str | None, name: str, gold: int, score: str, cell: Mapping[str, Any]
) -> dict[str, Any]:
    about = {"kind": kind, "attribute": attribute, "name": name, "gold": gold, "score": score}
    return {**about, "label": cell.get("label"), "value": score_of(cell, score)}


# ---- factors --------------------------------------------------------------------------------


def factors(scores: Scores, manifest: Manifest) -> dict[str, Any]:
    """For each factor the pairs that differ in it alone and, where it is a number, scores against it."""
    known = sorted({key for system in manifest.systems for key in system.factors})
    return {factor: _factor(scores, manifest, factor) for factor in known}


def _factor(scores: Scores, manifest: Manifest, factor: str) -> dict[str, Any]:
    having = [system for system in manifest.systems if factor in system.factors]
    numeric = all(isinstance(system.factors[factor], int | float) for system in having)
    points = [
        {
            "value": system.factors[factor],
            "system": system.name,
            "datasets": {d: over_runs(scores.over(system.name, d, overall)) for d in scores.datasets},
        }
        for system in having
    ]
    for point in points:
        means = [row["mean"] for row in point["datasets"].values()]
        point |= mean_of(NAN if mean is None else mean for mean in means)
    return {
        "numeric": numeric,
        "values": {system.name: system.factors[factor] for system in having},
        "pairs": [[pair.first, pair.second] for pair in manifest.pairs if pair.factor == factor],
        "line": sorted(points, key=lambda point: (point["value"], point["system"])) if numeric else None,
    }
