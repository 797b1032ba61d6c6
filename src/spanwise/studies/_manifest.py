"""The manifest of a study, checked key by key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from itertools import combinations, product
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import replace

from spanwise.corpus import Annotation
from spanwise.document.scores import PRIMARY_OF
from spanwise.errors import ChoiceError, InputError, at
from spanwise.formats import read_text, read_toml
from spanwise.formats._format import ReadKeywords
from spanwise.placement import asked, checked
from spanwise.settings import SETTINGS as DECLARED

PLACEHOLDERS = ("dataset", "system", "run")

# What may be given where, and of which type; the words are the keywords of the Python functions.
READING: dict[str, object] = {
    name: one.toml for name, one in DECLARED.items() if one.toml is not None and one.per_dataset
}
SETTINGS: dict[str, object] = {
    name: one.toml for name, one in DECLARED.items() if one.toml is not None and not one.per_dataset
} | {"shared_seeds": bool, "score": str}
TOP: dict[str, object] = {
    "name": str,
    "predictions": str,
    "runs": list[object],
    "datasets": dict[str, object],
    "systems": dict[str, object],
    "compare": list[object],
    "grid": dict[str, object],
    "context": list[object],
    "trained": str,
    **SETTINGS,
    **READING,
}
DATASET: dict[str, object] = {
    "train": str | list[object],
    "dev": str,
    "test": str,
    "vocabulary": str,
    **READING,
}
SYSTEM: dict[str, object] = {
    "predictions": str | list[object],
    "answers": str | dict[str, object],
    "factors": dict[str, object],
    "runs": list[object],
    "train": dict[str, object],
    "command": list[object],
}
GRID: dict[str, object] = {
    "char": list[object],
    "word": list[object],
    "encoder": list[object],
    "decoder": list[object],
    "train": dict[str, object],
}
TRAINED = "trained"  # the folder for predictions of systems that a study trains
COMPARE: dict[str, object] = {"systems": list[object], "datasets": list[object], "name": str}
COLUMNS = ("token", "tag")  # of `columns`; any other name is a column to keep

_WORDS = {
    str: "text",
    list: "a list",
    dict: "a table",
    int: "a whole number",
    float: "a number with a point",
    bool: "true or false",
}


class StudyDataset(Struct, frozen=True):
    """One dataset: its gold test file, its training files, and how to read them."""

    name: str
    test: str
    train: tuple[str, ...] = ()
    dev: str | None = None
    vocabulary: str | None = None  # a file of known words, one a line
    reading: ReadKeywords = field(default_factory=dict)
    gold: Annotation | None = None  # in place of the file
    words: tuple[str, ...] | None = None  # known words in place of those of a file


class StudySystem(Struct, frozen=True):
    """One system: where its predictions are, and the factors that distinguish it from others."""

    name: str
    predictions: str
    factors: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] | None = None
    train: Mapping[str, object] | None = None  # the settings of a tagger that the study trains
    command: tuple[str, ...] = ()  # another trainer
    answers: Mapping[str, object] | None = None  # how to place answers without offsets
    records: tuple[object, ...] | None = None  # the answers themselves, where no file holds them

    @property
    def is_trained(self) -> bool:
        """Whether the study itself makes the predictions."""
        return self.train is not None or bool(self.command)


class Pair(Struct, frozen=True):
    """Two systems to compare, and the one factor in which they differ (None: asked for by name).

    `datasets` are those on which they are compared; None for all.
    """

    first: str
    second: str
    factor: str | None = None
    datasets: tuple[str, ...] | None = None


class Manifest(Struct, frozen=True):
    """A study as its manifest describes it: the files and the comparisons. Names are in sorted order."""

    path: str
    root: Path
    name: str | None
    datasets: tuple[StudyDataset, ...]
    systems: tuple[StudySystem, ...]
    pairs: tuple[Pair, ...]
    settings: Mapping[str, Any]
    text: str = ""

    def place(self, *keys: str) -> str:
        """`file:line` of a key of the manifest, or the file alone where the line cannot be told."""
        line = _line(self.text, keys)
        return self.path if line is None else f"{self.path}:{line}"


def read_manifest(path: str | Path, *, root: str | Path | None = None) -> Manifest:
    """The manifest in a TOML file, checked; paths in it are relative to `root`, else to the file.

    Raises:
        InputError: with the line, where a key is unknown, of the wrong type or missing.
    """
    tree = read_toml(path, "Fix the manifest there.")
    base = Path(path).parent if root is None else Path(root)
    return _manifest(tree, path=str(path), root=base, text=read_text(path))


def manifest_of(tree: Mapping[str, object], *, root: str | Path | None = None) -> Manifest:
    """The manifest of a dict with the keys of the TOML file; paths are relative to `root`, else to here."""
    return _manifest(tree, path="<study>", root=Path(root or "."), text="")


def _manifest(tree: Mapping[str, Any], *, path: str, root: Path, text: str) -> Manifest:
    check = _Check(path, text)
    check.keys(tree, TOP, ())
    tree = {**tree, "systems": check.expanded(tree)}
    for table in ("datasets", "systems"):
        if not tree.get(table):
            raise check.error((), f"the manifest names no {table}.\nAdd a table such as [{table}.NAME].")
    for key, value in tree.get("buckets", {}).items():
        if not isinstance(value, str):
            raise check.error(
                ("buckets", key), f"'buckets' of {key!r} must be text such as \"1,2,3\", not {value!r}."
            )
    shared = check.reading(tree, ())
    datasets = [check.dataset(key, value, shared) for key, value in tree["datasets"].items()]
    systems = [check.system(key, value, tree) for key, value in tree["systems"].items()]
    datasets.sort(key=lambda dataset: natural(dataset.name))
    systems.sort(key=lambda system: natural(system.name))
    for system in systems:
        check.pattern(
            system,
            datasets=len(datasets),
            systems=len(systems),
            own="predictions" in tree["systems"][system.name] or system.is_trained,
        )
    asked = [check.pair(number, value, tree) for number, value in enumerate(tree.get("compare", []))]
    pairs = _pairs([pair for group in asked for pair in group], systems)
    return Manifest(
        path=path,
        root=root,
        name=tree.get("name"),
        datasets=tuple(datasets),
        systems=tuple(systems),
        pairs=tuple(
            sorted(pairs, key=lambda pair: (pair.factor or "", natural(pair.first), natural(pair.second)))
        ),
        settings=_settings({key: tree[key] for key in sorted(SETTINGS) if key in tree}),
        text=text,
    )


def _settings(given: Mapping[str, Any]) -> dict[str, object]:
    """The settings; what a study is about is its primary question, too, unless that is named."""
    if "score" not in given or "primary" in given:
        return dict(given)
    return {**given, "primary": PRIMARY_OF.get(given["score"], given["score"])}


def _pairs(asked: Iterable[Pair], systems: Iterable[StudySystem]) -> list[Pair]:
    """The pairs asked for, in the direction they were asked, and those that differ in only one factor.

    Where nothing is asked and no system names a factor, all pairs.
    """
    listed = {system.name: system for system in systems}
    chosen = {frozenset((pair.first, pair.second)): pair for pair in asked}
    everything = not chosen and not any(system.factors for system in listed.values())
    for one, other in combinations(listed.values(), 2):
        if everything or _differing(one, other):
            names = _in_order(one, other)
            chosen.setdefault(frozenset(names), Pair(*names))
    return [
        replace(pair, factor=_differing(listed[pair.first], listed[pair.second])) for pair in chosen.values()
    ]


def _differing(one: StudySystem, other: StudySystem) -> str | None:
    """The factor in which two systems differ, if it is one alone."""
    keys = sorted(set(one.factors) | set(other.factors))
    differ = [key for key in keys if one.factors.get(key) != other.factors.get(key)]
    return differ[0] if len(differ) == 1 else None


def _in_order(one: StudySystem, other: StudySystem) -> tuple[str, str]:
    """Which of two systems comes first: the one with the larger number, else the first name."""
    factor = _differing(one, other) or ""
    here, there = one.factors.get(factor), other.factors.get(factor)
    if isinstance(here, int | float) and isinstance(there, int | float) and there > here:
        return other.name, one.name
    return one.name, other.name


class _Check(Struct, frozen=True):
    """Checks of the parts of one manifest; every error names the line."""

    path: str
    text: str

    def error(self, keys: tuple[str, ...], message: str) -> InputError:
        return InputError(at(self.path, _line(self.text, keys), message))

    def keys(self, table: Mapping[str, object], known: Mapping[str, object], where: tuple[str, ...]) -> None:
        for key, value in table.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                message = f"the key {key!r} is not known here.{hint}\nThere are: {', '.join(sorted(known))}."
                raise self.error((*where, key), message)
            try:
                convert(value, known[key])
            except ValidationError:
                kinds = get_args(known[key]) if isinstance(known[key], UnionType) else (known[key],)
                expected = " or ".join(_WORDS[get_origin(kind) or kind] for kind in kinds)
                raise self.error((*where, key), f"{key!r} must be {expected}, not {value!r}.") from None
            if known is TOP and key in SETTINGS and key in DECLARED:
                self.value(key, value)

    def value(self, key: str, value: object) -> None:
        """Refuse a value that `evaluate` would refuse, with its line where there is one."""
        try:
            DECLARED[key].check(value)
        except ChoiceError as error:
            if not self.text:
                raise
            raise self.error((key,), str(error)) from None

    def reading(self, table: Mapping[str, Any], where: tuple[str, ...]) -> dict[str, Any]:
        reading = {key: table[key] for key in READING if key in table}
        columns = dict(reading.pop("columns", {}))
        for name, column in columns.items():
            if not isinstance(column, int | str):
                message = f"the column {name!r} must be a number or a name, not {column!r}."
                raise self.error((*where, "columns"), message)
        for name in COLUMNS:
            if name in columns:
                reading[f"{name}_column"] = columns.pop(name)
        if columns:
            reading["columns"] = columns
        return reading

    def dataset(self, name: str, table: Any, shared: Mapping[str, Any]) -> StudyDataset:
        where = ("datasets", name)
        self.named(where, table)
        gold = table.get("test")
        if isinstance(gold, Annotation):
            table = {**table, "test": gold.reading.path}
        self.keys(table, DATASET, where)
        if "test" not in table:
            raise self.error(where, f'the dataset {name!r} has no gold file.\nAdd: test = "PATH"')
        train = table.get("train", [])
        return StudyDataset(
            name=name,
            test=table["test"],
            train=tuple([train] if isinstance(train, str) else train),
            dev=table.get("dev"),
            vocabulary=table.get("vocabulary"),
            reading={**shared, **self.reading(table, where)},
            gold=gold if isinstance(gold, Annotation) else None,
        )

    def system(self, name: str, table: Any, tree: Mapping[str, Any]) -> StudySystem:
        where = ("systems", name)
        self.named(where, table)
        self.keys(table, SYSTEM, where)
        trained = "train" in table or "command" in table
        if trained:
            pattern = f"{tree.get('trained', TRAINED)}/{{dataset}}/{{system}}.{{run}}.conll"
            if "predictions" in table:
                raise self.error(
                    where, f"{name!r} has predictions and is trained as well.\nKeep one of them."
                )
            if not all(isinstance(part, str) for part in table.get("command", [])):
                raise self.error((*where, "command"), f"the command of {name!r} must be a list of texts.")
        else:
            pattern = table.get("predictions", tree.get("predictions"))
        if pattern is None:
            raise self.error(
                where,
                f"the manifest does not say where to find the predictions of {name!r}.\n"
                'Add, above all tables: predictions = "{dataset}/predictions/{system}.{run}.txt"',
            )
        runs = table.get("runs", tree.get("runs", [1] if trained else None))
        answers = table.get("answers")
        if answers is not None:
            try:
                answers = asked(answers)
                checked(**answers).with_places()
            except ChoiceError as error:
                raise self.error((*where, "answers"), str(error)) from None
        records = None
        if isinstance(pattern, list):
            if not all(isinstance(record, Mapping) for record in pattern):
                message = "'predictions' must be text, or records that hold answers."
                raise self.error((*where, "predictions"), message)
            records, pattern, answers = tuple(pattern), f"<{name}>", answers or asked("ordered")
        for key, value in table.get("factors", {}).items():
            if not isinstance(value, str | int | float):
                raise self.error(
                    (*where, "factors"), f"the factor {key!r} must be text or a number, not {value!r}."
                )
        return StudySystem(
            name=name,
            predictions=pattern,
            factors=dict(sorted(table.get("factors", {}).items())),
            runs=None if runs is None else tuple(str(run) for run in runs),
            train=table.get("train"),
            command=tuple(table.get("command", ())),
            answers=answers,
            records=records,
        )

    def expanded(self, tree: Mapping[str, Any]) -> dict[str, object]:
        """The systems, with every cell of the grid and every size of context as one of its own."""
        systems: dict[str, Any] = dict(tree.get("systems", {}))
        grid = tree.get("grid")
        if grid is not None:
            self.keys(grid, GRID, ("grid",))
            axes = {"char": ["cnn"], "word": ["rand"], "encoder": ["lstm"], "decoder": ["crf"]}
            axes |= {axis: grid[axis] for axis in axes if axis in grid}
            for values in product(*axes.values()):
                if not all(isinstance(value, str) for value in values):
                    raise self.error(
                        ("grid",), f"the axes of the grid must be lists of names, not {values!r}."
                    )
                character, word, encoder, decoder = values
                name = f"C{character}W{word}{encoder.title()}{decoder.title()}"
                factors = dict(zip(axes, values, strict=True))
                systems.setdefault(name, {"train": dict(grid.get("train", {})), "factors": factors})
        if "context" in tree:
            systems = self._with_context(systems, tree["context"])
        return systems

    def _with_context(self, systems: Mapping[str, object], sizes: list[object]) -> dict[str, object]:
        if not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
            raise self.error(
                ("context",), f"'context' must be a list of numbers of 1 or more, not {sizes!r}."
            )
        made: dict[str, object] = {}
        for name, table in systems.items():
            own = table.get("train") if isinstance(table, dict) else None
            # The linear-chain model reads one sentence at a time.
            if not isinstance(table, dict) or not isinstance(own, dict) or own.get("model", name) == "crf":
                made[name] = table
                continue
            for size in sizes:
                train = {"model": name, **own, "context": size}
                factors = {**table.get("factors", {}), "context": size}
                made[f"{name}-K{size}"] = {**table, "train": train, "factors": factors}
        return made

    def named(self, where: tuple[str, ...], table: object) -> None:
        if not isinstance(table, dict):
            raise self.error(where, f"{'.'.join(where)} must be a table, not {table!r}.")
        if not where[1] or "/" in where[1] or where[1] == "mean":
            raise self.error(
                where, f"{where[1]!r} cannot be a name.\nChoose one without '/', other than 'mean'."
            )

    def pattern(self, system: StudySystem, *, datasets: int, systems: int, own: bool) -> None:
        where = ("systems", system.name, "predictions") if own else ("predictions",)
        used = set(re.findall(r"\{([^{}]*)\}", system.predictions))
        for name in sorted(used - set(PLACEHOLDERS)):
            raise self.error(
                where,
                f"the pattern {system.predictions!r} holds {{{name}}}.\n"
                "It may hold {dataset}, {system} and {run}.",
            )
        for name, number, needed in (("dataset", datasets, True), ("system", systems, not own)):
            if needed and number > 1 and name not in used:
                raise self.error(
                    where,
                    f"the pattern {system.predictions!r} names the same files for all {number} {name}s.\n"
                    f"Put {{{name}}} into it.",
                )

    def pair(self, number: int, table: Any, tree: Mapping[str, Any]) -> list[Pair]:
        where = ("compare",)
        if not isinstance(table, dict):
            raise self.error(where, '\'compare\' must be written as [[compare]] with systems = ["a", "b"].')
        self.keys(table, COMPARE, where)
        names = table.get("systems", [])
        chosen = table.get("datasets")
        self.among("system", names, tree["systems"])
        self.among("dataset", chosen or [], tree["datasets"])
        if len(set(names)) < 2:
            raise self.error(where, f"comparison {number + 1} needs two different systems, not {names!r}.")
        datasets = None if chosen is None else tuple(sorted(chosen))
        return [Pair(first, second, datasets=datasets) for first, second in combinations(names, 2)]

    def among(self, what: str, names: Iterable[object], known: Mapping[str, object]) -> None:
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                message = f"no {what} is called {name!r}.{hint}\nThere are: {', '.join(sorted(known))}."
                raise self.error(("compare",), message)


def _line(text: str, keys: tuple[str, ...]) -> int | None:
    """The line of a key, as well as a search can tell; None for the whole file."""
    if not keys:
        return None
    lines = text.splitlines()
    start = 0
    headers = [f"[{'.'.join(keys[:size])}]" for size in range(len(keys), 0, -1)] + [f"[[{keys[0]}]]"]
    for header in headers:
        for number, line in enumerate(lines):
            if re.sub(r"[\s\"']", "", line.partition("#")[0]) == header:
                start = number
                break
        else:
            continue
        break
    for number in range(start, len(lines)):
        if re.match(rf"\s*[\"']?{re.escape(keys[-1])}[\"']?\s*[.=]", lines[number]):
            return number + 1
    return start + 1 if start else None


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A key that puts run 2 before run 10, and system K2 before K10.

    Examples:
        >>> sorted(["10", "2", "a"], key=natural)
        ['2', '10', 'a']
    """
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)
