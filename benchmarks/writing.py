"""Write the results of a run as JSON, Markdown and a chart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.goals import judged
from benchmarks.tables import markdown


def write(results: dict[str, Any], out: Path) -> None:
    """Write results.json, results.md and growth.svg."""
    from benchmarks.plot import draw

    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    (out / "results.json").write_text(text, encoding="utf-8")
    (out / "results.md").write_text(document(results), encoding="utf-8")
    draw(results, out / "growth.svg")


def document(results: dict[str, Any]) -> str:
    """All tables as one Markdown text, with the goals first."""
    facts = {key: value for section in results["sections"] for key, value in section["facts"].items()}
    tiny = "The corpora of this run are tiny, so goals that are missed here mean nothing."
    goals = {
        "title": "Goals",
        "note": tiny if results["quick"] else "",
        "columns": ["work", "goal", "measured", "verdict"],
        "rows": judged(facts),
    }
    machine = results["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    head = (
        f"Measured with `{results['command']}` in {results['seconds']:,} s on {machine['cores']} cores of"
        f" {machine['processor']} (load at the end {results['load']:.1f}), Python {machine['python']};"
        f" {packages}.\n\nEach job runs in a separate process; jobs that are compared run alternately, and"
        " the best run of each counts. CPU is the sum of user and system time; peak is the largest resident"
        " memory of the process.\n"
    )
    return head + "\n" + "\n".join(markdown(table) for table in (goals, *results["sections"]))
