"""Read the manifest of a study and check every key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, TypeAlias, get_args, get_origin

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import replace

from spanwise.corpus import Annotation
from spanwise.document.scores import PRIMARY_OF
from spanwise.errors import ChoiceError, InputError, at, unknown
from spanwise.formats import FORMATS, ReadKeywords, options_of, read_text, read_toml, with_rules
from spanwise.labels import RULES
from spanwise.placement import checked, place_keywords
from spanwise.settings import SETTINGS as DECLARED

Table: TypeAlias = Mapping[str, Any]  # a table of a manifest; values are checked where they are used
Options: TypeAlias = Mapping[str, Any]  # keywords of `evaluate`, as given in a manifest

PLACEHOLDERS = ("dataset", "system", "run")

# The keys that each table may have, and their types; names match the keywords of the Python functions.
READING: dict[str, object] = {
    name: setting.toml
    for name, setting in DECLARED.items()
    if setting.toml is not None and setting.per_dataset
}
SETTINGS: dict[str, object] = {
    name: setting.toml
    for name, setting in DECLARED.items()
    if setting.toml is not None and not setting.per_dataset
} | {"shared_seeds": bool, "score": str, "family": str}
TOP: dict[str, object] = {
    "name": str,
    "order": str,
    "predictions": str,
    "runs": list[int | str],
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
    "name": str,
    "train": str | list[object],
    "dev": str,
    "test": str,
    "vocabulary": str,
    **READING,
}
SYSTEM: dict[str, object] = {
    "name": str,
    "predictions": str | list[object],
    "answers": str | dict[str, object],
    "factors": dict[str, object],
    "runs": list[int | str],
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
ORDERS = ("name", "manifest")  # of datasets and systems: by name, or as written
COLUMNS = ("token", "tag")  # names with a meaning in `columns`; any other is a column to keep

_WORDS = {
    str: "text",
    list: "a list",
    dict: "a table",
    int: "a whole number",
    float: "a number with a point",
    bool: "true or false",
    list[str]: "a list of texts",
    list[int | str]: "a list of numbers or texts",
    dict[str, str]: "a table of texts",
}


# How to find what these keys name.
_NAMED: dict[str, Callable[[Any], object]] = {
    "format": FORMATS.find,
    "scheme": lambda name: options_of(scheme=name),
}


class StudyDataset(Struct, frozen=True):
    """One dataset: its gold test file, its training files, and how to read them.

    `name` is what it is called in results, and `key` in the manifest and in the names of files.
    """

    name: str
    key: str
    test: str
    train: tuple[str, ...] = ()
    dev: str | None = None
    vocabulary: str | None = None  # a file of known words, one per line
    reading: ReadKeywords = field(default_factory=dict)
    gold: Annotation | None = None  # used instead of the file
    words: tuple[str, ...] | None = None  # known words, used instead of a file


class StudySystem(Struct, frozen=True):
    """One system: where its predictions are, and the factors that distinguish it from others.

    `name` is what it is called in results, and `key` in the manifest and in the names of files.
    """

    name: str
    key: str
    predictions: str
    factors: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] | None = None
    train: Mapping[str, object] | None = None  # the settings of a tagger that the study trains
    command: tuple[str, ...] = ()  # the command of an external trainer
    answers: Mapping[str, object] | None = None  # how to place answers without offsets
    records: tuple[object, ...] | None = None  # the answers themselves, if they are not in a file

    @property
    def is_trained(self) -> bool:
        """Whether the study trains the system to get its predictions."""
        return self.train is not None or bool(self.command)


class Pair(Struct, frozen=True):
    """Two systems to compare.

    `factor` is the only factor in which they differ; None if there is no such factor. `datasets` are those on
    which they are compared; None for all.
    """

    first: str
    second: str
    factor: str | None = None
    datasets: tuple[str, ...] | None = None


class Manifest(Struct, frozen=True):
    """The contents of a manifest: datasets, systems, pairs to compare and settings.

    Datasets and systems are sorted by name, or as written if the manifest says so.
    """

    path: str
    root: Path
    name: str | None
    datasets: tuple[StudyDataset, ...]
    systems: tuple[StudySystem, ...]
    pairs: tuple[Pair, ...]
    settings: Options
    text: str = ""

    def location(self, *keys: str) -> str:
        """The location of a key as `file:line`, or only the file if the line is unknown."""
        line = _line(self.text, keys)
        return self.path if line is None else f"{self.path}:{line}"


def read_manifest(path: str | Path, *, root: str | Path | None = None) -> Manifest:
    """Read and check a manifest in a TOML file; its paths are relative to `root` or, by default, its folder.

    Raises:
        InputError: a key is unknown, missing or of the wrong type; the message names the line.
    """
    tree = read_toml(path, "Fix the manifest there.")
    base = Path(path).parent if root is None else Path(root)
    return _manifest(tree, path=str(path), root=base, text=read_text(path))


def manifest_of(tree: Mapping[str, object], *, root: str | Path | None = None) -> Manifest:
    """Check a manifest given as a dict; paths are relative to `root` or, by default, the current folder."""
    return _manifest(tree, path="<study>", root=Path(root or "."), text="")


def _manifest(tree: Table, *, path: str, root: Path, text: str) -> Manifest:
    check = _Check(path, text, root)
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
    check.once("datasets", datasets)
    check.once("systems", systems)
    if check.order(tree.get("order", "name")) == "name":
        datasets.sort(key=lambda dataset: natural(dataset.name))
        systems.sort(key=lambda system: natural(system.name))
    for system in systems:
        check.pattern(
            system,
            datasets=len(datasets),
            systems=len(systems),
            own="predictions" in tree["systems"][system.key] or system.is_trained,
        )
    names = ({part.key: part.name for part in datasets}, {part.key: part.name for part in systems})
    requested = [check.pair(number, value, *names) for number, value in enumerate(tree.get("compare", []))]
    pairs = _pairs([pair for group in requested for pair in group], systems)
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


def _settings(given: Options) -> dict[str, object]:
    """The settings, with `primary` taken from `score` if only `score` is given."""
    if "score" not in given or "primary" in given:
        return dict(given)
    return {**given, "primary": PRIMARY_OF.get(given["score"], given["score"])}


def _pairs(requested: Iterable[Pair], systems: Iterable[StudySystem]) -> list[Pair]:
    """The requested pairs, in the given order, and all pairs that differ in only one factor.

    If no pairs are requested and no system has factors, all pairs.
    """
    listed = {system.name: system for system in systems}
    chosen = {frozenset((pair.first, pair.second)): pair for pair in requested}
    all_pairs = not chosen and not any(system.factors for system in listed.values())
    for first, second in combinations(listed.values(), 2):
        if all_pairs or _differing(first, second):
            names = _in_order(first, second)
            chosen.setdefault(frozenset(names), Pair(*names))
    return [
        replace(pair, factor=_differing(listed[pair.first], listed[pair.second])) for pair in chosen.values()
    ]


def _differing(first: StudySystem, second: StudySystem) -> str | None:
    """The factor in which two systems differ; None if there are several or none, or if only one has it."""
    keys = sorted(set(first.factors) | set(second.factors))
    differ = [key for key in keys if first.factors.get(key) != second.factors.get(key)]
    comparable = len(differ) == 1 and differ[0] in first.factors and differ[0] in second.factors
    return differ[0] if comparable else None


def _in_order(first: StudySystem, second: StudySystem) -> tuple[str, str]:
    """The names of two systems, swapped if they differ in a numeric factor that is larger for the second."""
    factor = _differing(first, second) or ""
    value, other = first.factors.get(factor), second.factors.get(factor)
    if isinstance(value, int | float) and isinstance(other, int | float) and other > value:
        return second.name, first.name
    return first.name, second.name


class _Check(Struct, frozen=True):
    """Checks the parts of a manifest; every error names the line."""

    path: str
    text: str
    root: Path

    def error(self, keys: tuple[str, ...], message: str) -> InputError:
        return InputError(at(self.path, _line(self.text, keys), message))

    def keys(self, table: Mapping[str, object], types: Mapping[str, object], where: tuple[str, ...]) -> None:
        """Check that every key of a table is among `types`, and that its value has that type."""
        for key, value in table.items():
            if key not in types:
                near = difflib.get_close_matches(key, types, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                message = f"the key {key!r} is not known here.{hint}\nThere are: {', '.join(sorted(types))}."
                raise self.error((*where, key), message)
            try:
                convert(value, types[key])
            except ValidationError:
                kinds = get_args(types[key]) if isinstance(types[key], UnionType) else (types[key],)
                expected = " or ".join(_WORDS.get(kind) or _WORDS[get_origin(kind) or kind] for kind in kinds)
                raise self.error((*where, key), f"{key!r} must be {expected}, not {value!r}.") from None
            if key in DECLARED and (types is TOP or key in READING):
                self.value(_NAMED.get(key, DECLARED[key].check), value, (*where, key))

    def value(self, check: Callable[[Any], object], value: object, where: tuple[str, ...]) -> None:
        """Raise an error, with the line if there is one, for a value that `evaluate` would reject."""
        try:
            check(value)
        except ChoiceError as error:
            if not self.text:
                raise
            raise self.error(where, str(error)) from None

    def reading(self, table: Table, where: tuple[str, ...]) -> ReadKeywords:
        """The keywords of `spanwise.read` among the keys of a table."""
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
        for name in ("map", "predicted_map", "hierarchy"):
            if isinstance(given := reading.get(name), str) and "=" not in given:
                reading[name] = self.root / given
        try:
            return with_rules(reading)
        except ChoiceError as error:
            key = next((name for name in RULES if str(error).startswith(f"{name} ")), "map")
            raise self.error((*where, key), str(error)) from None

    def dataset(self, name: str, given: object, shared: ReadKeywords) -> StudyDataset:
        where = ("datasets", name)
        table = self.named(where, given)
        gold = table.get("test")
        if isinstance(gold, Annotation):
            table = {**table, "test": gold.reading.path}
        self.keys(table, DATASET, where)
        if "test" not in table:
            raise self.error(where, f'the dataset {name!r} has no gold file.\nAdd: test = "PATH"')
        train = table.get("train", [])
        if not isinstance(train, str) and not all(isinstance(path, str | PathLike) for path in train):
            raise self.error((*where, "train"), f"'train' must be a path or a list of paths, not {train!r}.")
        return StudyDataset(
            name=self.shown(where, table),
            key=name,
            test=table["test"],
            train=tuple([train] if isinstance(train, str) else train),
            dev=table.get("dev"),
            vocabulary=table.get("vocabulary"),
            reading={**shared, **self.reading(table, where)},
            gold=gold if isinstance(gold, Annotation) else None,
        )

    def system(self, name: str, given: object, tree: Table) -> StudySystem:
        where = ("systems", name)
        table = self.named(where, given)
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
                answers = place_keywords(answers)
                checked(**answers).with_places()
            except ChoiceError as error:
                raise self.error((*where, "answers"), str(error)) from None
        records = None
        if isinstance(pattern, list):
            if not all(isinstance(record, Mapping) for record in pattern):
                message = "'predictions' must be text, or records that hold answers."
                raise self.error((*where, "predictions"), message)
            records, pattern, answers = tuple(pattern), f"<{name}>", answers or place_keywords("ordered")
        for key, value in table.get("factors", {}).items():
            if not isinstance(value, str | int | float):
                raise self.error(
                    (*where, "factors"), f"the factor {key!r} must be text or a number, not {value!r}."
                )
        return StudySystem(
            name=self.shown(where, table),
            key=name,
            predictions=pattern,
            factors=dict(sorted(table.get("factors", {}).items())),
            runs=None if runs is None else tuple(str(run) for run in runs),
            train=table.get("train"),
            command=tuple(table.get("command", ())),
            answers=answers,
            records=records,
        )

    def expanded(self, tree: Table) -> dict[str, object]:
        """All systems, including one for every cell of the grid and every context size."""
        systems: dict[str, object] = dict(tree.get("systems", {}))
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
        expanded: dict[str, object] = {}
        for name, table in systems.items():
            own = table.get("train") if isinstance(table, dict) else None
            # The linear-chain model reads one sentence at a time, so it has no context size.
            if not isinstance(table, dict) or not isinstance(own, dict) or own.get("model", name) == "crf":
                expanded[name] = table
                continue
            for size in sizes:
                train = {"model": name, **own, "context": size}
                factors = {**table.get("factors", {}), "context": size}
                named = {"name": f"{table['name']}-K{size}"} if "name" in table else {}
                expanded[f"{name}-K{size}"] = {**table, **named, "train": train, "factors": factors}
        return expanded

    def named(self, where: tuple[str, ...], table: object) -> Table:
        """Return a dataset or system after checking that it is a table and has a valid name."""
        if not isinstance(table, dict):
            raise self.error(where, f"{'.'.join(where)} must be a table, not {table!r}.")
        if not where[1] or "/" in where[1] or where[1] == "mean":
            raise self.error(
                where, f"{where[1]!r} cannot be a name.\nChoose one without '/', other than 'mean'."
            )
        return table

    def shown(self, where: tuple[str, ...], table: Table) -> str:
        """What a dataset or system is called in results: its own `name`, else its key."""
        name = str(table.get("name", where[1]))
        self.named((where[0], name), table)
        return name

    def once(self, kind: str, parts: Sequence[StudyDataset] | Sequence[StudySystem]) -> None:
        """Check that no two datasets or systems are called the same."""
        keys: dict[str, str] = {}
        for part in parts:
            other = keys.setdefault(part.name, part.key)
            if other != part.key:
                raise self.error(
                    (kind, part.key),
                    f"{other!r} and {part.key!r} are both called {part.name!r}.\nRename one.",
                )

    def order(self, order: str) -> str:
        """Check the order of datasets and systems."""
        if order not in ORDERS:
            raise self.error(("order",), str(unknown("order", order, ORDERS)))
        return order

    def pattern(self, system: StudySystem, *, datasets: int, systems: int, own: bool) -> None:
        """Check the placeholders in the pattern of a system's prediction files."""
        where = ("systems", system.key, "predictions") if own else ("predictions",)
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

    def pair(
        self, number: int, table: object, datasets: Mapping[str, str], systems: Mapping[str, str]
    ) -> list[Pair]:
        """The pairs that one [[compare]] table requests, given the names of datasets and systems by key."""
        where = ("compare",)
        if not isinstance(table, dict):
            raise self.error(where, '\'compare\' must be written as [[compare]] with systems = ["a", "b"].')
        self.keys(table, COMPARE, where)
        names = table.get("systems", [])
        chosen = table.get("datasets")
        self.among("system", names, systems)
        self.among("dataset", chosen or [], datasets)
        if len(set(names)) < 2:
            raise self.error(where, f"comparison {number + 1} needs two different systems, not {names!r}.")
        on = None if chosen is None else tuple(sorted(datasets[key] for key in chosen))
        return [
            Pair(systems[first], systems[second], datasets=on) for first, second in combinations(names, 2)
        ]

    def among(self, what: str, names: Iterable[object], defined: Mapping[str, object]) -> None:
        """Check that the systems or datasets of a comparison are defined."""
        for name in names:
            if not isinstance(name, str) or name not in defined:
                near = difflib.get_close_matches(str(name), defined, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                message = f"no {what} is called {name!r}.{hint}\nThere are: {', '.join(sorted(defined))}."
                raise self.error(("compare",), message)


def _line(text: str, keys: tuple[str, ...]) -> int | None:
    """The line of a key, found by a text search; None if it is not found or there are no keys."""
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
    if len(keys) > 1 and not start:  # in a table that is written in one line
        return _line(text, keys[:-1])
    return start + 1 if start else None


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key for natural order, in which run 2 comes before run 10 and system K2 before K10.

    Examples:
        >>> sorted(["10", "2", "a"], key=natural)
        ['2', '10', 'a']
    """
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)
