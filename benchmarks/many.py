"""Many systems at once: 12 and 40 systems on 1,000 sentences with training data, all pairs tested."""

from __future__ import annotations

import random
import re
from pathlib import Path

from benchmarks.measuring import Job
from benchmarks.planning import Plan, shown
from benchmarks.tables import Section

CORPUS = "12.8k"  # about 1,000 sentences
NUMBERS = (2, 6, 12, 40)


def systems(plan: Plan) -> Section:
    """Wall time, CPU time and peak memory of `spanwise compare` with increasing numbers of systems."""
    files = plan.corpus(CORPUS)["files"]
    numbers = NUMBERS if plan.large else NUMBERS[:1]  # a quick run only checks that it works
    paths = [_predicted(Path(files["gold"]), number) for number in range(max(numbers))]
    jobs = {}
    for number in numbers:
        call = ("compare", files["gold"], *paths[:number], "--train", files["train"], "--quiet")
        jobs[f"{number} systems"] = Job.spanwise(*call)
    jobs[f"{numbers[-1]} systems, --memory 200MB"] = Job.spanwise(*call, "--memory", "200MB")
    results = plan.bench.best(jobs, rounds=min(2, plan.bench.rounds))
    facts = {}
    for number in numbers[2:]:
        facts[f"systems {number} wall"] = results[f"{number} systems"].wall
        facts[f"systems {number} peak"] = results[f"{number} systems"].peak
    rows = [{"work": name, **shown(measured)} for name, measured in results.items()]
    note = "1,000 sentences with training data, all attributes, intervals, every pair and score tested."
    return Section("systems", "Many systems", note, ("work", "wall", "CPU", "peak"), rows, facts)


def _predicted(gold: Path, number: int) -> Path:
    """The gold file with some mentions dropped or relabelled, more of them for later systems."""
    path = gold.with_name(f"system{number:02d}.conll")
    if path.exists():
        return path
    chance = random.Random(number)
    text = gold.read_text(encoding="utf-8")
    labels = sorted(set(re.findall(r"[BI]-(\S+)$", text, re.MULTILINE)))
    share = 0.05 + 0.005 * number
    lines, change = [], None
    for line in text.split("\n"):
        head, tag = line.rpartition(" ")[::2] if " " in line else line.rpartition("\t")[::2]
        between = line[len(head) : len(line) - len(tag)]
        if tag.startswith("B-"):
            change = chance.choice(["O", *labels]) if chance.random() < share else None
        if change is not None and tag[:2] in ("B-", "I-"):
            tag = "O" if change == "O" else tag[:2] + change
        lines.append(f"{head}{between}{tag}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
