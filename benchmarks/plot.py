"""Draw how the cost grows, from the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

STAGES = ("read", "match", "attributes", "count", "resample")
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#8172b3", "#937860")
PEERS = ("spanwise", "seqeval", "seqeval, strict", "nervaluate")


def draw(results: dict[str, Any], path: Path) -> None:
    """Plot the seconds of every stage by size of the test set, and of peers by length of a document."""
    import altair as alt
    import vl_convert

    sections = {section["name"]: section for section in results["sections"]}
    stages = _long(sections.get("growth"), STAGES)
    peers = _long(sections.get("one_document"), PEERS)
    charts = []
    if stages:
        charts.append(_lines(alt, stages, STAGES, "Two systems, stage by stage", "tokens of the test set"))
    if peers:
        charts.append(_lines(alt, peers, PEERS, "One document that grows longer", "tokens of the document"))
    if not charts:
        return
    chart = alt.hconcat(*charts).resolve_scale(color="independent").configure_view(stroke=None)
    path.write_text(vl_convert.vegalite_to_svg(chart.to_json()), encoding="utf-8")


def _long(section: dict[str, Any] | None, names: tuple[str, ...]) -> list[dict[str, Any]]:
    if section is None:
        return []
    return [
        {"tokens": row["tokens"], "what": name, "seconds": max(row[name], 1e-4)}
        for row in section["rows"]
        for name in names
        if row.get(name) is not None
    ]


def _lines(alt: Any, rows: list[dict[str, Any]], names: tuple[str, ...], title: str, axis: str) -> Any:
    scale = alt.Scale(type="log")
    return (
        alt.Chart(alt.Data(values=rows), title=title, width=300, height=260)
        .mark_line(point=True)
        .encode(
            x=alt.X("tokens:Q", scale=scale, title=axis, axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y("seconds:Q", scale=scale, title="CPU seconds", axis=alt.Axis(format="~g", tickCount=6)),
            color=alt.Color(
                "what:N",
                sort=list(names),
                scale=alt.Scale(domain=list(names), range=list(COLOURS[: len(names)])),
                legend=alt.Legend(title=None, orient="top"),
            ),
        )
    )
