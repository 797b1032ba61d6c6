"""Update the tables and figures of docs/replication.md from the predictions of trained taggers.

    python docs/replication.py FOLDER [--saved]

FOLDER contains data/ and predictions/, as expected by examples/paper.toml, and fu20.json with the printed
tables; benchmarks/zoo.py trains the taggers and unpacks their predictions. A block of the page starts with
`<!-- NAME -->` and ends with `<!-- end -->`; figures are written next to the page. With --saved, the study is
loaded from FOLDER/paper.json instead of being run again.
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
# Our system, the corresponding row of the paper, and how it differs.
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
    ("CminilmWnoneLstmMlp-frozen", "CbertWnoneLstmMlp", "MiniLM, frozen"),
    ("CminilmWnoneLstmMlp-finetuned", "CbertWnoneLstmMlp", "MiniLM, fine-tuned"),
)
# These rows have two systems in the table; correlations use only the closer one and leave these out.
ALTERNATIVES = {"CcnnWglove50LstmCrf", "CminilmWnoneLstmMlp-frozen"}
CORPORA = {"conll2003": "CoNLL", "wnut16": "WNUT"}  # the columns of the paper
NAMES = {"conll2003": "CoNLL-2003", "wnut16": "WNUT-16"}
F1 = ("exact", "overall", "f1")
SIZES = (1, 2, 3, 4, 5, 6, 10)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Format rows as a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in ([head, ["---"] * len(head), *rows])]
    return "\n".join(lines)


def points(value: float, *, signed: bool = False) -> str:
    """Format a fraction in points, with a typographic minus sign."""
    text = f"{100 * value:+.2f}" if signed else f"{100 * value:.2f}"
    return text.replace("-", "−")


def p_value(p: float) -> str:
    """Format a p-value in the style of papers."""
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 0.995 else "1"


def scores(study: Study, dataset: str, system: str) -> list[float]:
    """The test F1 of every run."""
    runs = study.datasets[dataset].runs.get(system, {})
    return [run.exact.overall.f1 or 0.0 for run in runs.values()]


def spread(values: list[float]) -> str:
    """Format the mean and standard deviation over runs."""
    return f"{points(statistics.mean(values))} ± {100 * statistics.stdev(values):.2f}"


def interval(study: Study, dataset: str, system: str) -> str:
    """The 95 % interval of the mean, over documents and runs."""
    low, high = study.analyses.holistic[system][dataset].interval["mean"]
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def table_one(study: Study, printed: dict[str, dict[str, str]]) -> str:
    """Test F1 next to the printed scores, and rank correlations."""
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
    correlations = []
    for dataset, column in CORPORA.items():
        chosen = [(system, row) for system, row, _ in ROWS if system not in ALTERNATIVES]
        ours = [statistics.mean(scores(study, dataset, system)) for system, _ in chosen]
        theirs = [float(printed[row][column]) for _, row in chosen]
        correlations.append(f"{spearmanr(ours, theirs[-1]).statistic:.2f} on {NAMES[dataset]}")
    note = f"Spearman's ρ between the {len(ours)} rows and the printed ones: {' and '.join(correlations)}."
    return f"{text}\n\n{note}"


def tests(study: Study) -> str:
    """The pairs listed in the manifest, tested over data and runs at once."""
    rows = []
    listed = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["compare"]
    pairs = {tuple(pair["systems"]) for pair in listed}
    for name, dataset in study.datasets.items():
        for comparison in dataset.comparisons:
            first, second = comparison.systems
            if (first, second) not in pairs:
                continue
            for score in comparison.scores:
                if tuple(score.path) == F1 and score.interval is not None:
                    low, high = score.interval
                    bounds = f"{points(low, signed=True)} to {points(high, signed=True)}"
                    p = score.p_corrected
                    rows.append(
                        [
                            name,
                            f"{first} − {second}",
                            points(score.difference, signed=True),
                            bounds,
                            p_value(p),
                        ]
                    )
    return table(["corpus", "pair", "difference", "95 % interval", "p, corrected"], rows)


def table_two(study: Study, *printed: dict[str, dict[str, dict[str, str]]]) -> str:
    """S^ρ and S^σ, averaged over models, next to those of the paper: printed, and by names of columns."""
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
            ours: list[float] = []
            theirs: list[list[float]] = [[] for _ in printed]
            for system, row, _ in ROWS:
                if system in ALTERNATIVES:
                    continue
                by_dataset = getattr(study.analyses.model_wise[system][attribute], kind)
                known = [by_dataset[name] for name in CORPORA if by_dataset.get(name) is not None]
                ours.append(statistics.mean(known) * (1 if kind == "spearman" else 100))
                for values, rows_printed in zip(theirs, printed, strict=True):
                    values.append(float(rows_printed[row][kind][short]) / (100 if kind == "spearman" else 1))
            form = (lambda value: f"{value:+.2f}") if kind == "spearman" else (lambda value: f"{value:.1f}")
            cells += [form(statistics.mean(values)).replace("-", "−") for values in (*theirs, ours)]
            if kind == "std":
                cells.append(f"{spearmanr(ours, theirs[-1]).statistic:+.2f}".replace("-", "−"))
        rows.append(cells)
    own = ["printed", "by name", "here"]
    head = ["attribute", *(f"S^ρ: {name}" for name in own), *(f"S^σ: {name}" for name in own)]
    head.append("rank correlation of models by S^σ (by name)")
    return table(head, rows)


def in_bucket(study: Study, dataset: str, system: str, attribute: str, bucket: str) -> list[float]:
    """The F1 of one bucket in every run."""
    runs = study.datasets[dataset].runs[system].values()
    values = []
    for run in runs:
        by_name = {row.name: row.f1 for row in run.attributes[attribute].buckets}
        values.append(by_name[bucket] or 0.0)
    return values


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
            differences = contrasts(study, dataset, size, "token_label_consistency")
            cells += [points(gain, signed=True), p_value(p)]
            above = sum(difference > 0 for difference in differences)
            cells.append(f"{points(statistics.mean(differences), signed=True)} ({above} of 5)")
        rows.append(cells)
    own = ["gain", "p over seeds", "contrast (seeds above 0)"]
    head = ["K", "CoNLL-2003", *own, "WNUT-16", *own]
    entity = contrasts(study, "conll2003", 10, "entity_label_consistency")
    mean = points(statistics.mean(entity), signed=True)
    positive = sum(difference > 0 for difference in entity)
    over = []
    for dataset, name in NAMES.items():
        for comparison in study.datasets[dataset].comparisons:
            if tuple(comparison.systems) == ("CminilmWnoneMlp-K10", "CminilmWnoneMlp-K1"):
                score = next(test for test in comparison.scores if tuple(test.path) == F1)
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
        result = spanwise.study(
            MANIFEST, root=folder, workers=1, progress=lambda line: sys.stderr.write(f"{line}\n")
        )
        result.to_json(folder / "paper.json")
    study = spanwise.load(folder / "paper.json")
    first, second, corrected = printed["1"]["rows"], printed["2"]["rows"], printed["2"]["corrected"]["rows"]
    blocks: dict[str, Callable[[], str]] = {
        "table 1": lambda: table_one(study, first),
        "tests": lambda: tests(study),
        "table 2": lambda: table_two(study, second, corrected),
        "context": lambda: context(study),
        "spanish": lambda: spanish(study),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, render in blocks.items():
        block = f"<!-- {name} -->\n{render()}\n<!-- end -->"
        text, count = re.subn(
            rf"<!-- {name} -->\n.*?<!-- end -->", lambda _, block=block: block, text, flags=re.DOTALL
        )
        if count != 1:
            raise SystemExit(f"{PAGE.name} has {count} blocks named {name!r}, but should have one.")
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
