"""Damage result documents by structure, and show them in every way that a saved result can be shown.

A document is damaged at one to three positions: lists get longer or shorter, keys are removed, renamed or
added, and values change, mostly within their type, so that parts contradict each other. Each position is
drawn by its shape (`systems.*.confusion.labels`), so that rare parts are damaged as often as frequent ones.
"""

from __future__ import annotations

import copy
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from fuzz import seeds
from fuzz.inputs import Input
from fuzz.targets import run_command
from spanwise.document import DocumentLike
from spanwise.document.loading import load
from spanwise.errors import SpanwiseError
from spanwise.gates import gate
from spanwise.gates.merging import compare_documents
from spanwise.reports import REPORTS, render
from spanwise.reports.tables import table, tables

Path_ = tuple[str | int, ...]


@cache
def originals() -> tuple[bytes, ...]:
    """Documents of every kind, with everything that they can hold."""
    import spanwise

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, tags in {
            "gold": seeds.GOLD,
            "a.1": seeds.SYSTEM,
            "a.2": seeds.GOLD,
            "b.1": seeds.GOLD,
        }.items():
            spanwise.write(spanwise.read(tags, tokens=seeds.TOKENS), folder / f"{file}.conll")
        (folder / "study.toml").write_text(seeds.MANIFEST, encoding="utf-8")
        study = spanwise.study(folder / "study.toml", cache=False, workers=1)
        split = spanwise.split(folder / "gold.conll", test=0.5)
        leaks = spanwise.study_of("leaks", folder / "study.toml", resamples=20)
        gold, predicted = seeds.tuples()
        for file, rows in {"gold": gold, "a": predicted, "b": gold}.items():
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{file}.jsonl").write_text(lines, encoding="utf-8")
        of_tuples = spanwise.study_of(
            "tuples",
            {
                "predictions": f"{folder}/{{system}}.jsonl",
                "datasets": {"d": {"test": str(folder / "gold.jsonl")}},
                "systems": {"a": {}, "b": {}},
            },
            resamples=20,
        )
    whole = spanwise.evaluate(
        seeds.GOLD, {"a": seeds.SYSTEM, "b": seeds.GOLD}, tokens=seeds.TOKENS, train=seeds.gold(),
        resamples=20, cross=[("entity_length", "label")], weights=["BE = 0.5 TP"], examples="all",
    ).with_analyses(slices={"least": 1, "flips": 20})  # fmt: skip
    some, all_words = seeds.TOKENS * 12, seeds.TOKENS * 20
    judged = spanwise.evaluate(
        spanwise.read(seeds.GOLD * 12, tokens=some),
        {"a": spanwise.read(seeds.SYSTEM * 20, tokens=all_words)},
        silver=spanwise.read(seeds.GOLD * 20, tokens=all_words), random_sample=True, resamples=20,
    )  # fmt: skip
    curve = spanwise.curve(dict.fromkeys((100, 200, 400, 800), whole))
    changes = spanwise.changes(spanwise.evaluate(seeds.GOLD, {"a": seeds.GOLD}, tokens=seeds.TOKENS), whole)
    tuples = spanwise.tuples(gold, {"a": predicted, "b": gold}, train=gold, resamples=20)
    plans = spanwise.plan(whole), spanwise.plan(judged)
    made = (study, leaks, split, whole, judged, *plans, curve, changes, tuples, of_tuples)
    return (*seeds.documents(), *(document.to_json().encode() for document in made))


@cache
def _shapes(number: int) -> tuple[list[Path_], ...]:
    """The positions of a document, grouped by shape."""
    shapes: dict[Path_, list[Path_]] = {}
    for path, shape in _positions(json.loads(originals()[number]), (), ()):
        shapes.setdefault(shape, []).append(path)
    return tuple(shapes.values())


NAMED = {"systems", "labels", "attributes", "datasets", "runs", "interval", "pairs", "cross", "letters"}


def _positions(value: Any, path: Path_, shape: Path_) -> Iterator[tuple[Path_, Path_]]:
    if path:
        yield path, shape
    if isinstance(value, dict):
        for key, inner in value.items():
            named = bool(path) and path[-1] in NAMED
            yield from _positions(inner, (*path, key), (*shape, "*" if named else key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _positions(inner, (*path, index), (*shape, "#"))


def input_of(number: int) -> Input:
    """The damaged document with this number."""
    draw = random.Random(f"document {number}")
    which = draw.randrange(len(originals()))
    value = json.loads(originals()[which])
    shapes = _shapes(which)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        _damage(draw, value, draw.choice(draw.choice(shapes)))
    return Input("damaged", "damaged.json", json.dumps(value).encode("utf-8", "surrogatepass"), {})


def _damage(draw: random.Random, value: Any, path: Path_) -> None:
    """Change the value at a path, in place; a position that an earlier change removed stays as it is."""
    *way, last = path
    try:
        for step in way:
            value = value[step]
        inner = value[last]
    except (KeyError, IndexError, TypeError):
        return
    if draw.random() < 0.1 and isinstance(value, dict):
        del value[last]
    else:
        value[last] = _changed(draw, inner)


def _changed(draw: random.Random, value: Any) -> Any:
    if isinstance(value, list):
        return _list(draw, value)
    if isinstance(value, dict):
        return _mapping(draw, value)
    if isinstance(value, str):
        return draw.choice(["", "x", "PER", "LOC", "a", "b", "f1", f"{value}x", value[:-1], value * 2, None])
    if isinstance(value, bool) or value is None:
        return draw.choice([None, True, False, 0, 1, 0.5, "x", [], {}])
    return draw.choice([0, 1, -1, 2, 0.5, None, 10**6, 1e308, -1e308, 1e-308, 2**53, value + 1, value / 3])


def _list(draw: random.Random, value: list[Any]) -> list[Any]:
    if not value:
        return draw.choice([[0], ["x"], [None], [[]], [{}]])
    one = copy.deepcopy(draw.choice(value))
    position = draw.randrange(len(value))
    return draw.choice(
        [
            [], value[:-1], value[1:], [*value[:position], *value[position + 1 :]], [*value, one],
            [one, *value],
            value * 2, value[::-1], [*value, None], [*value, "X"], [*value, 7],
        ]
    )  # fmt: skip


def _mapping(draw: random.Random, value: dict[str, Any]) -> dict[str, Any]:
    if not value:
        return draw.choice([{"x": 0}, {"x": {}}, {"x": []}, {"a": 0.5}, {"": None}])
    key, other = draw.choice(list(value)), draw.choice(list(value))
    return draw.choice(
        [
            {},
            {name: inner for name, inner in value.items() if name != key},
            {f"{name}x" if name == key else name: inner for name, inner in value.items()},
            {**value, f"{key}x": copy.deepcopy(value[key])},
            {**value, key: copy.deepcopy(value[other])},
            {**value, key: None},
            dict(reversed(value.items())),
        ]
    )


def use(path: Path, draw: random.Random) -> None:
    """Load a document and show it in several of the ways in which results are shown.

    Pages, commands and the workbench take longer than the rest, so they are used more rarely.
    """
    document = load(path)
    for show in draw.sample(_SURFACES, 5):
        with suppress(SpanwiseError):  # not every kind of document can be shown in every way
            show(document, draw)
    chance = draw.random()
    if chance < 0.02:
        _watched(path)
    elif chance < 0.06:
        run_command(["report", str(path), "-o", str(path.with_name("page.html"))])
    elif chance < 0.08:
        run_command(["figures", str(path)])
    elif chance < 0.3:
        _commanded(path, draw)


def _table(document: DocumentLike, draw: random.Random) -> None:
    form = draw.choice(["to_latex", "to_markdown", "to_csv"])
    for name in tables(document):
        getattr(table(document, name, short=draw.random() < 0.5), form)()


def _against(document: DocumentLike, draw: random.Random) -> None:
    new, old = draw.sample([document, _sound(draw.randrange(len(originals())))], 2)
    gate(new, against=old, fail_under=50, fail_drop=1)


def _compared(document: DocumentLike, draw: random.Random) -> None:
    both = draw.sample([document, _sound(draw.randrange(len(originals())))], 2)
    compare_documents(both, names=["one.json", "other.json"], resamples=20)


def _report(name: str) -> Callable[[DocumentLike, random.Random], object]:
    return lambda document, draw: render(document, name)


_SURFACES: list[Callable[[DocumentLike, random.Random], object]] = [
    _table, _against, _compared, *(_report(name) for name in REPORTS.names() if name not in ("html", "junit"))
]  # fmt: skip


@cache
def _sound(number: int) -> DocumentLike:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "sound.json"
        path.write_bytes(originals()[number])
        return load(path)


def _commanded(path: Path, draw: random.Random) -> None:
    document, sound = str(path), path.with_name("sound.json")
    if not sound.exists():
        sound.write_bytes(originals()[0])
    form = draw.choice([name for name in REPORTS.names() if name != "html"])
    run_command(
        draw.choice([
            ["table", document, "all"], ["export", document, form, "--fail-under", "50"],
            ["errors", document], ["export", document, "summary", "--against", str(sound)],
            ["export", str(sound), "summary", "--against", document],
            ["compare", document, str(sound), "--resamples", "20"],
            ["slices", document], ["confidence", document],
        ])
    )  # fmt: skip


def _watched(path: Path) -> None:
    """Put a document into a folder that the workbench serves, and open its pages."""
    from benches import client_of

    folder = path.with_name("served")
    folder.mkdir(exist_ok=True)
    (folder / "damaged.json").write_bytes(path.read_bytes())
    with client_of(folder) as client:
        addresses = ["/", "/?all", "/settings"]
        for gold in client.get("/api/v1/golds").json():
            at = f"/g/{gold['slug']}"
            addresses += [at, f"{at}/history", f"{at}/compare", f"{at}/gate", f"{at}/worksheet"]
            for result in client.get(f"/api/v1/golds/{gold['slug']}/results").json():
                addresses += [f"/api/v1/results/{result['id']}/units"]
        for address in addresses:
            answer = client.get(address)
            if answer.status_code >= 500:
                raise AssertionError(f"status {answer.status_code} of {address}: {answer.text[:200]}")
