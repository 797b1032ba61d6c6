"""Refresh the tables and figures of docs/replication.md from the predictions of trained taggers.

    python docs/replication.py FOLDER [--saved]

FOLDER holds data/ and predictions/ as examples/paper.toml names them, and fu20.json with the printed tables;
benchmarks/zoo.py trains the taggers and unpacks their predictions. A block of the page is `<!-- NAME -->` up
to `<!-- end -->`; pictures stand beside it. With --saved the study is not run again: FOLDER/paper.json
holds it.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from scipy.stats import spearmanr, ttest_rel

import spanwise
from spanwise.cli.main import main as command
from spanwise.document.study import Study

DOCS = Path(__file__).parent
PAGE = DOCS / "replication.md"
MANIFEST = DOCS.parent / "examples" / "paper.toml"
# Our system, the row of the paper that it stands for, and what differs.
ROWS = (
    ("crf", "CRF++", "averaged perceptron"),
    ("CnoneWrandLstmCrf", "CnonWrandLstmCrf", ""),
    ("CcnnWnoneLstmCrf", "CcnnWnoneLstmCrf", ""),
    ("CcnnWrandLstmCrf", "CcnnWrandLstmCrf", ""),
    ("CcnnWglove50LstmCrf", "CcnnWgloveLstmCrf", "50 dimensions"),
    ("CcnnWglove100LstmCrf", "CcnnWgloveLstmCrf", ""),
    ("CcnnWglove100CnnCrf", "CcnnWgloveCnnCrf", ""),
    ("CcnnWglove100LstmMlp", "CcnnWgloveLstmMlp", ""),
    ("CflairWnoneLstmCrf", "CflairWnoneLstmCrf", "fast models"),
    ("CflairWglove100LstmCrf", "CflairWgloveLstmCrf", "fast models"),
    ("CminilmWnoneLstmMlp-frozen", "CbertWnoneLstmMlp", "MiniLM, not trained along"),
    ("CminilmWnoneLstmMlp-finetuned", "CbertWnoneLstmMlp", "MiniLM, trained along"),
)
# Twice in the table, so once in correlations: the nearer stand-in.
ALTERNATIVES = {"CcnnWglove50LstmCrf", "CminilmWnoneLstmMlp-frozen"}
CORPORA = {"conll2003": "CoNLL", "wnut16": "WNUT"}  # and the column of the paper
NAMES = {"conll2003": "CoNLL-2003", "wnut16": "WNUT-16"}
F1 = ("exact", "overall", "f1")
SIZES = (1, 2, 3, 4, 5, 6, 10)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Rows as a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in ([head, ["---"] * len(head), *rows])]
    return "\n".join(lines)


def points(value: float, *, signed: bool = False) -> str:
    """A fraction in points, with a real minus."""
    text = f"{100 * value:+.2f}" if signed else f"{100 * value:.2f}"
    return text.replace("-", "−")


def p_value(p: float) -> str:
    """A p-value as papers print it."""
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 0.995 else "1"


def scores(study: Study, dataset: str, system: str) -> list[float]:
    """The test F1 of every run."""
    runs = study.datasets[dataset].runs.get(system, {})
    return [run.exact.overall.f1 or 0.0 for run in runs.values()]


def spread(values: list[float]) -> str:
    """Mean and standard deviation over runs."""
    return f"{points(statistics.mean(values))} ± {100 * statistics.stdev(values):.2f}"


def interval(study: Study, dataset: str, system: str) -> str:
    """The 95 % interval of the mean, over documents and runs."""
    low, high = study.analyses.holistic[system][dataset].interval["mean"]
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def table_one(study: Study, printed: dict[str, dict[str, str]]) -> str:
    """Test F1 beside the printed one, and rank correlations."""
    rows = []
    for system, row, note in ROWS:
        cells = [f"{system.partition('-')[0]}{f' ({note})' if note else ''}", row]
        for dataset, column in CORPORA.items():
            ours = f"{spread(scores(study, dataset, system))} {interval(study, dataset, system)}"
            cells += [printed[row][column], ours]
        rows.append(cells)
    elmo = [
        f"{printed['CelmWnoneLstmCrf'][name]}, {printed['CelmWgloveLstmCrf'][name]}"
        for name in CORPORA.values()
    ]
    rows.append(
        ["–", "CelmWnoneLstmCrf, CelmWgloveLstmCrf", elmo[0], "n/a: no weights", elmo[1], "n/a: no weights"]
    )
    text = table(["tagger", "row of the paper", "CoNLL-2003: paper", "here", "WNUT-16: paper", "here"], rows)
    told = []
    for dataset, column in CORPORA.items():
        chosen = [(system, row) for system, row, _ in ROWS if system not in ALTERNATIVES]
        ours = [statistics.mean(scores(study, dataset, system)) for system, _ in chosen]
        theirs = [float(printed[row][column]) for _, row in chosen]
        told.append(f"{spearmanr(ours, theirs).statistic:.2f} on {NAMES[dataset]}")
    said = f"Spearman's ρ between the {len(ours)} rows and the printed ones: {' and '.join(told)}."
    return f"{text}\n\n{said}"


def tests(study: Study) -> str:
    """The pairs that the manifest names, over data and runs at once."""
    rows = []
    asked = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["compare"]
    pairs = {tuple(pair["systems"]) for pair in asked}
    for dataset, held in study.datasets.items():
        for comparison in held.comparisons:
            first, second = comparison.systems
            if (first, second) not in pairs:
                continue
            for score in comparison.scores:
                if tuple(score.path) == F1 and score.interval is not None:
                    low, high = score.interval
                    said = f"{points(low, signed=True)} to {points(high, signed=True)}"
                    p = score.p_corrected
                    rows.append(
                        [
                            dataset,
                            f"{first} − {second}",
                            points(score.difference, signed=True),
                            said,
                            p_value(p),
                        ]
                    )
    return table(["corpus", "pair", "difference", "95 % interval", "p, corrected"], rows)


def table_two(study: Study, printed: dict[str, dict[str, dict[str, str]]]) -> str:
    """S^ρ and S^σ, averaged over models; the paper's by column name."""
    names = {
        "entity_label_consistency": "eCon",
        "token_label_consistency": "tCon",
        "entity_frequency": "eFre",
        "token_frequency": "tFre",
        "entity_length": "eLen",
        "sentence_length": "sLen",
        "entity_density": "eDen",
        "oov_density": "oDen",
    }
    rows = []
    for attribute, short in names.items():
        cells = [attribute.replace("_", " ")]
        for kind in ("spearman", "std"):
            ours, theirs = [], []
            for system, row, _ in ROWS:
                if system in ALTERNATIVES:
                    continue
                held = getattr(study.analyses.model_wise[system][attribute], kind)
                values = [held[dataset] for dataset in CORPORA if held.get(dataset) is not None]
                ours.append(statistics.mean(values) * (1 if kind == "spearman" else 100))
                theirs.append(float(printed[row][kind][short]) / (100 if kind == "spearman" else 1))
            form = (lambda value: f"{value:+.2f}") if kind == "spearman" else (lambda value: f"{value:.1f}")
            cells += [form(statistics.mean(values)).replace("-", "−") for values in (theirs, ours)]
            if kind == "std":
                cells.append(f"{spearmanr(ours, theirs).statistic:+.2f}".replace("-", "−"))
        rows.append(cells)
    head = ["attribute", "S^ρ: paper", "here", "S^σ: paper", "here", "rank correlation of models by S^σ"]
    return table(head, rows)


def in_bucket(study: Study, dataset: str, system: str, attribute: str, bucket: str) -> list[float]:
    """The F1 of one bucket in every run."""
    runs = study.datasets[dataset].runs[system].values()
    found = []
    for run in runs:
        held = {one.name: one.f1 for one in run.attributes[attribute].buckets}
        found.append(held[bucket] or 0.0)
    return found


def contrasts(study: Study, dataset: str, size: int, attribute: str) -> list[float]:
    """For every seed: the gain over K = 1 in bucket XS, minus the gain in XL."""
    gains = {}
    for bucket in ("XS", "XL"):
        more = in_bucket(study, dataset, f"CminilmWnoneMlp-K{size}", attribute, bucket)
        single = in_bucket(study, dataset, "CminilmWnoneMlp-K1", attribute, bucket)
        gains[bucket] = [a - b for a, b in zip(more, single, strict=True)]
    return [low - high for low, high in zip(gains["XS"], gains["XL"], strict=True)]


def context(study: Study) -> str:
    """F1 by K, gains with tests over seeds, and contrasts."""
    rows = []
    for size in SIZES:
        cells = [str(size)]
        for dataset in CORPORA:
            values = scores(study, dataset, f"CminilmWnoneMlp-K{size}")
            single = scores(study, dataset, "CminilmWnoneMlp-K1")
            cells.append(spread(values))
            if size == 1:
                cells += ["–", "–", "–"]
                continue
            gain = statistics.mean(values) - statistics.mean(single)
            p = float(ttest_rel(values, single).pvalue)
            held = contrasts(study, dataset, size, "token_label_consistency")
            cells += [points(gain, signed=True), p_value(p)]
            cells.append(
                f"{points(statistics.mean(held), signed=True)} ({sum(one > 0 for one in held)} of 5)"
            )
        rows.append(cells)
    own = ["gain", "p over seeds", "contrast (seeds above 0)"]
    head = ["K", "CoNLL-2003", *own, "WNUT-16", *own]
    entity = contrasts(study, "conll2003", 10, "entity_label_consistency")
    mean, positive = points(statistics.mean(entity), signed=True), sum(one > 0 for one in entity)
    over = []
    for dataset, name in NAMES.items():
        for comparison in study.datasets[dataset].comparisons:
            if tuple(comparison.systems) == ("CminilmWnoneMlp-K10", "CminilmWnoneMlp-K1"):
                score = next(one for one in comparison.scores if tuple(one.path) == F1)
                low, high = (points(bound, signed=True) for bound in score.interval or ())
                p = p_value(score.p_corrected)
                over.append(f"{name} {points(score.difference, signed=True)} [{low}, {high}], p = {p}")
    return (
        f"{table(head, rows)}\n\n"
        f"For entity label consistency on CoNLL-2003 the contrast at K = 10 is {mean}, positive in "
        f"{positive} of {len(entity)} seeds. K = 10 against K = 1 over data and runs at once, corrected over "
        f"all pairs: {'; '.join(over)}."
    )


def spanish(study: Study) -> str:
    """Test F1 on CoNLL-2002 Spanish."""
    rows = [
        [system, spread(values)]
        for system in study.datasets["conll2002-es"].runs
        if (values := scores(study, "conll2002-es", system))
    ]
    return table(["tagger", "CoNLL-2002 Spanish"], rows)


def main() -> None:
    """Run the study and fill every block of the page."""
    folder = Path(sys.argv[1])
    printed = json.loads((folder / "fu20.json").read_text(encoding="utf-8"))["tables"]
    if "--saved" not in sys.argv:
        made = spanwise.study(
            MANIFEST, root=folder, workers=1, progress=lambda line: sys.stderr.write(f"{line}\n")
        )
        made.to_json(folder / "paper.json")
    study = spanwise.load(folder / "paper.json")
    one, two = printed["1"]["rows"], printed["2"]["corrected"]["rows"]
    blocks: dict[str, Callable[[], str]] = {
        "table 1": lambda: table_one(study, one),
        "tests": lambda: tests(study),
        "table 2": lambda: table_two(study, two),
        "context": lambda: context(study),
        "spanish": lambda: spanish(study),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, made in blocks.items():
        block = f"<!-- {name} -->\n{made()}\n<!-- end -->"
        text, count = re.subn(
            rf"<!-- {name} -->\n.*?<!-- end -->", lambda _, block=block: block, text, flags=re.DOTALL
        )
        if count != 1:
            raise SystemExit(f"{PAGE.name} holds {count} blocks named {name!r}")
    PAGE.write_text(text, encoding="utf-8")
    drawn = {
        "figure5": "factor-K",
        "figure6": "increase-CminilmWnoneMlp-K10-CminilmWnoneMlp-K1",
    }
    if command(["figures", str(folder / "paper.json"), *drawn.values(), "-o", str(folder / "figures")]):
        raise SystemExit("the figures could not be drawn")
    for name, figure in drawn.items():
        shutil.copy(folder / "figures" / f"{figure}.svg", DOCS / f"replication-{name}.svg")


if __name__ == "__main__":
    main()
