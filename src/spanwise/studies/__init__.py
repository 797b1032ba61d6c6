"""Studies: datasets × models × runs from one TOML file, planned, run, kept and analysed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spanwise import __version__
from spanwise.description import SCHEMA
from spanwise.engines.threads import cores
from spanwise.studies._cache import default_folder
from spanwise.studies._manifest import Dataset, Manifest, Pair, System, manifest_of, read_manifest
from spanwise.studies._plan import Plan, make_plan

__all__ = [
    "Dataset",
    "Manifest",
    "Pair",
    "Plan",
    "System",
    "make_plan",
    "manifest_of",
    "read_manifest",
    "study",
]


def study(
    manifest: str | Path | Mapping[str, Any] | Manifest,
    *,
    root: str | Path | None = None,
    workers: int | None = None,
    cache: str | Path | bool = True,
    progress: Any = None,
) -> dict[str, Any]:
    """The document of a study: every run scored, and the analyses over all of them.

    Args:
        manifest: the TOML file, a dict with its keys, or what `read_manifest` made of it.
        root: the folder that its paths are relative to; by default its own.
        workers: processes; by default as many as there are cores. They change no byte of the document.
        cache: a folder where results are kept by content; True for the user's cache folder, False for none.
        progress: called with one line of text whenever something is done.

    Raises:
        InputError: the manifest or a file cannot be used; told before anything is computed.
    """
    from spanwise.studies.analyses import analyses
    from spanwise.studies.run import can_be_kept, check_settings, run_cells, run_pairs, tasks_of

    read = _read(manifest, root)
    said = progress or (lambda text: None)
    check_settings(read)
    kept = default_folder() if cache is True else Path(cache) if cache else None
    if not can_be_kept(read):
        kept = None
    plan = make_plan(read)
    _tell(plan, said)
    tasks = tasks_of(read, plan, cache=kept)
    number = max(1, workers if workers is not None else cores())
    cells = run_cells(tasks, workers=number, progress=said)
    tested = run_pairs(read, tasks, cells, progress=said, cache=kept)
    datasets = {
        dataset.name: {
            "dataset": next((cells[t.key]["dataset"] for t in tasks if t.dataset == dataset.name), {}),
            "runs": {
                task.system: cells[task.key]["systems"] for task in tasks if task.dataset == dataset.name
            },
            "comparisons": tested.get(dataset.name, {}).get("comparisons", []),
        }
        for dataset in read.datasets
    }
    found = analyses(datasets, read, correction=read.settings.get("correction", "holm"))
    _add_tests(found["holistic"], tested, plan)
    found["letters"] = {dataset: part["letters"] for dataset, part in tested.items()}
    settings = _settings(read, cells)
    return {
        "spanwise": __version__,
        "schema": SCHEMA,
        "kind": "study",
        "signature": _signature(read, cells, tasks),
        "name": read.name,
        "inputs": _inputs(plan, tasks, cells),
        "settings": settings,
        "plan": {"missing": plan.missing, "identical": plan.identical, "shared": plan.shared},
        "systems_factors": {system.name: dict(system.factors) for system in read.systems},
        "datasets": datasets,
        "analyses": found,
    }


def _read(manifest: str | Path | Mapping[str, Any] | Manifest, root: str | Path | None) -> Manifest:
    if isinstance(manifest, Manifest):
        return manifest
    if isinstance(manifest, Mapping):
        return manifest_of(manifest, root=root)
    return read_manifest(manifest, root=root)


def _tell(plan: Plan, progress: Any) -> None:
    for row in plan.missing:
        progress(f"missing: {row['dataset']} × {row['system']}, run {row['run']}")
    for row in plan.identical:
        progress(
            f"{row['dataset']} × {row['system']}: run {row['run']} is the same file as run {row['same_as']} "
            "and is not counted again"
        )


def _add_tests(holistic: dict[str, Any], tested: Mapping[str, Any], plan: Plan) -> None:
    """The data interval, the letters and what is missing, beside the spread over runs."""
    cells = {(cell.system, cell.dataset): cell for cell in plan.cells}
    for system, row in holistic.items():
        for dataset, cell in row.items():
            found = tested.get(dataset, {})
            bounds = found.get("interval", {}).get(system)
            cell["interval"] = {"mean": bounds} if bounds else {}
            cell["letter"] = found.get("letter", {}).get(system)
            cell["letters"] = found.get("letters", {}).get(system, "")
            planned = cells[system, dataset]
            cell["missing"] = list(planned.missing)
            cell["identical"] = dict(planned.identical)


def _inputs(plan: Plan, tasks: Any, cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every file once, gold and training files first; paths as the manifest writes them."""
    planned = {(cell.dataset, cell.system): cell for cell in plan.cells}
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for task in tasks:
        entries = cells[task.key]["inputs"]
        shared = [entry for entry in entries if entry["role"] != "predicted"]
        if task.dataset not in seen:
            seen.add(task.dataset)
            shown = [plan.test[task.dataset].shown, *(file.shown for file in plan.train[task.dataset])]
            for entry, path in zip(shared, shown, strict=True):
                rows.append({**entry, "path": path, "dataset": task.dataset})
        for entry in entries:
            if entry["role"] == "predicted":
                file = planned[task.dataset, task.system].runs[entry["system"]]
                rows.append(
                    {
                        **entry,
                        "path": file.shown,
                        "dataset": task.dataset,
                        "system": task.system,
                        "run": entry["system"],
                    }
                )
    return rows


def _settings(manifest: Manifest, cells: Mapping[str, Any]) -> dict[str, Any]:
    """What all cells share; the unit of resampling where it is the same everywhere."""
    parts = [cell["settings"] for cell in cells.values()]
    if not parts:
        return {"command": None}
    first = {key: value for key, value in parts[0].items() if all(part[key] == value for part in parts)}
    units = sorted({part["unit"] for part in parts})
    return {
        **first,
        "correction": manifest.settings.get("correction", "holm"),
        "unit": units[0] if len(units) == 1 else "sentence or document",
        "few_units": any(part["few_units"] for part in parts),
        # Neither the name of the manifest nor the number of workers may show in the document.
        "command": None,
    }


def _signature(manifest: Manifest, cells: Mapping[str, Any], tasks: Any) -> str:
    """The settings that shape numbers, from the first cell, and the size of the study."""
    if not tasks:
        return f"spanwise|v:{__version__}|study"
    first = cells[tasks[0].key]["signature"].split("|")
    parts = [part for part in first if not part.startswith(("gold:", "test:"))]
    runs = sum(len(task.runs) for task in tasks)
    size = f"study:{len(manifest.datasets)}x{len(manifest.systems)}.{runs}runs"
    tests = f"test:randomisation.{manifest.settings.get('correction', 'holm')}"
    return "|".join([*parts, tests, size])
