"""Train all taggers of Fu et al. (2020): the grid of Table 1, and K sentences of context.

    python benchmarks/zoo.py grid --data DATA --zoo FOLDER --out OUT        (uses a GPU if there is one)
    python benchmarks/zoo.py context --data DATA --zoo FOLDER --out OUT
    python benchmarks/zoo.py CcnnWrandLstmCrf@small@'{"hidden": 64}' --data DATA --out OUT
    python benchmarks/zoo.py unpack OUT/grid.npz --data DATA --to PREDICTIONS

DATA contains conll2003/ and wnut16/ with train.txt, dev.txt and test.txt; FOLDER contains the weights:
glove50.npz and glove100.npz (words, vectors), flair.safetensors, minilm/ (a Hugging Face folder). One file of
packed test predictions and one of dev curves, seconds and F1 are written to OUT. Unpacked, the predictions
are CoNLL files that a study can read.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from spanwise_taggers import Job, train_all

DATASETS = ("conll2003", "wnut16")
ROWS = (
    "CnoneWrandLstmCrf",
    "CcnnWnoneLstmCrf",
    "CcnnWrandLstmCrf",
    "CcnnWglove50LstmCrf",
    "CcnnWglove100LstmCrf",
    "CcnnWglove100CnnCrf",
    "CcnnWglove100LstmMlp",
    "CflairWnoneLstmCrf",
    "CflairWglove100LstmCrf",
)
CONTEXT = (1, 2, 3, 4, 5, 6, 10)


def resources(model: str, zoo: Path) -> dict[str, Any]:
    """The options of a model that name its weights."""
    options: dict[str, Any] = {}
    for size in ("50", "100"):
        if f"glove{size}" in model:
            options["vectors"] = str(zoo / f"glove{size}.npz")
    if "flair" in model:
        options["flair"] = str(zoo / "flair.safetensors")
    if "minilm" in model:
        options["encoder"] = str(zoo / "minilm")
    return options


def listed(
    what: str, datasets: list[str], seeds: int, zoo: Path, more: dict[str, Any]
) -> list[tuple[str, str, str, int, dict[str, Any]]]:
    """Every run as (dataset, model, variant, seed, options)."""
    runs = []
    variants: list[tuple[str, str, dict[str, Any]]]
    for dataset in datasets:
        if what == "grid":
            variants = [(model, "", {}) for model in ROWS]
        elif what == "minilm":
            variants = [
                ("CminilmWnoneLstmMlp", "finetuned", {}),
                ("CminilmWnoneLstmMlp", "frozen", {"finetune": False}),
            ]
        elif what == "context":
            variants = [
                ("CminilmWnoneMlp", f"K{k}", {"context": k, "cross": dataset == "wnut16"}) for k in CONTEXT
            ]
        elif what == "head":  # an LSTM over the window
            variants = [("CminilmWnoneLstmMlp", f"K{k}", {"context": k}) for k in (1, 10)]
        elif what == "around":  # the target sentence with context on both sides
            variants = [
                (
                    "CminilmWnoneMlp",
                    f"around{k}",
                    {"context": k, "mode": "context", "cross": dataset == "wnut16"},
                )
                for k in (3,)
            ]
        else:
            own_model, own_variant, text = (*what.split("@"), "", "{}")[:3]
            variants = [(own_model, own_variant, json.loads(text))]
        for model, variant, options in variants:
            own = {**resources(model, zoo), **options, **more}
            runs += [(dataset, model, variant, seed, own) for seed in range(1, seeds + 1)]
    return runs


def train(args: argparse.Namespace) -> None:
    import torch

    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    runs = [
        run
        for what in args.what
        for run in listed(what, args.datasets.split(","), args.seeds, args.zoo, json.loads(args.options))
    ]
    if args.longest_first:
        runs.sort(key=lambda run: (run[0] != "conll2003", "flair" not in run[1]))
    jobs = [
        Job(
            model,
            str(args.data / dataset / "train.txt"),
            str(args.data / dataset / "dev.txt"),
            (str(args.data / dataset / "test.txt"),),
            seed,
            options,
        )
        for dataset, model, _, seed, options in runs
    ]
    packed: dict[str, Any] = {}
    reports: dict[str, Any] = {}
    began = time.perf_counter()

    def done(number: int, ended: Any) -> None:
        dataset, model, variant, seed, _ = runs[number]
        key = "|".join((dataset, model, variant, str(seed)))
        if isinstance(ended, Exception):
            reports[key] = {"error": f"{type(ended).__name__}: {ended}"}
            print(key, reports[key], flush=True)
            return
        test = next(path for path in ended.codes if path != "dev")
        packed[key] = ended.codes[test].astype(np.uint8)
        report = {
            name: ended.report[name]
            for name in ("updates", "windows", "best_epoch", "seconds", "sentences_cut", "device")
        }
        report |= {"f1": {"dev": ended.report["f1"]["dev"], "test": ended.report["f1"][test]}}
        report |= {
            "mentions_cut": ended.report["mentions_cut"][test],
            "tags": list(ended.definition.vocabulary.tags),
        }
        report |= {
            "curve": [
                [round(epoch[name] or 0, 5) for name in ("loss", "dev_f1", "seconds")]
                for epoch in ended.report["curve"]
            ]
        }
        report |= {"ended": time.perf_counter() - began, "settings": ended.report["settings"]}
        if torch.cuda.is_available():
            report["gib"] = torch.cuda.memory_allocated() / 2**30
            report["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
            report["reserved_gib"] = torch.cuda.memory_reserved() / 2**30
        reports[key] = report
        f1 = report["f1"]
        scores = f"dev {100 * f1['dev']:.2f}  test {100 * f1['test']:.2f}"
        print(f"{report['ended']:6.1f} s  {key}  {scores}  ({report['seconds']:.1f} s)", flush=True)
        if len(reports) % 10 == 0:
            keep()

    def keep() -> None:
        np.savez_compressed(out / f"{args.name}.npz", **packed)
        text = {"total_seconds": time.perf_counter() - began, "at_once": args.at_once, "runs": reports}
        (out / f"{args.name}.json").write_text(json.dumps(text) + "\n", encoding="utf-8")

    train_all(jobs, done, device=args.device, at_once=args.at_once)
    keep()
    print(f"{len(jobs)} runs in {time.perf_counter() - began:.1f} s")
    means: dict[str, list[float]] = {}
    for key, report in reports.items():
        if "f1" in report:
            means.setdefault(key.rpartition("|")[0], []).append(100 * report["f1"]["test"])
    for key, values in means.items():
        spread = np.std(values, ddof=1) if len(values) > 1 else 0
        print(f"{key:45} {np.mean(values):6.2f} ± {spread:.2f}  ({len(values)})")


def unpack(args: argparse.Namespace) -> None:
    from spanwise.corpus import Annotation
    from spanwise.formats import read
    from spanwise.formats.writing import write
    from spanwise_taggers.encoding import mentions_of

    reports = json.loads(Path(args.what[1]).with_suffix(".json").read_text(encoding="utf-8"))["runs"]
    gold: dict[str, Annotation] = {}
    with np.load(args.what[1], allow_pickle=False) as archive:
        for key in archive.files:
            dataset, model, variant, seed = key.split("|")
            if dataset not in gold:
                gold[dataset] = read(args.data / dataset / "test.txt")
            corpus = gold[dataset].corpus
            scheme = "BIOES" if model.endswith("Crf") else "IOB2"
            mentions, _ = mentions_of(archive[key].astype(np.int64), reports[key]["tags"], corpus, scheme)
            name = f"{model}-{variant}" if variant else model
            file = Path(args.to) / dataset / f"{name}.{seed}.conll"
            file.parent.mkdir(parents=True, exist_ok=True)
            write(Annotation(corpus, mentions), file, format="conll")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="+", help="grid, minilm, context, head, around, or MODEL@VARIANT@OPTIONS"
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--zoo", type=Path)
    parser.add_argument("--out", default=".")
    parser.add_argument("--to", default="predictions")
    parser.add_argument("--name", default="zoo")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--at-once", type=int, default=12)
    parser.add_argument("--options", default="{}", help="settings for every run, as JSON")
    parser.add_argument("--longest-first", action="store_true")
    args = parser.parse_args()
    unpack(args) if args.what[0] == "unpack" else train(args)


if __name__ == "__main__":
    main()
