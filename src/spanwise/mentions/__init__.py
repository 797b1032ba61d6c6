"""The table of mentions: one row per mention of gold or of a system, in the columns that analyses ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Column, Ints, distinct, frozen, ints, offsets


class MentionTable(Struct, frozen=True, eq=False):
    """The mentions of gold or of one system, one row each; the rows keep the order of the input.

    Every table has the columns `unit` (of intervals and tests) and `label` (a code into `labels`). Others are
    there if they were asked for: `bucket.NAME` is the bucket of an attribute, `tough.SUBSET` whether a gold
    mention is in a tough subset, `found.SYSTEM` whether a system found a gold mention, `right` whether a
    prediction is right, `score` its confidence.

    Examples:
        >>> table = MentionTable.of(unit=[0, 1, 1], label=[0, 0, 1], labels=("LOC", "PER"), units=2)
        >>> table.by_unit(table.where(label="LOC")).tolist()
        [1, 1]
        >>> MentionTable.concat([table, table])["unit"].tolist()
        [0, 1, 1, 2, 3, 3]
    """

    columns: Mapping[str, Column]
    labels: tuple[str, ...]
    units: int  # there are, with and without mentions

    @classmethod
    def of(cls, *, labels: Sequence[str], units: int, **columns: object) -> MentionTable:
        """A table of any sequences."""
        return cls({}, tuple(labels), units).with_columns(
            {name: np.asarray(column) for name, column in columns.items()}
        )

    def __len__(self) -> int:
        return len(self.columns["unit"])

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def named(self, kind: str) -> dict[str, Column]:
        """The columns of a kind by what comes after it: of the kind `tough`, the column of each subset."""
        prefix = f"{kind}."
        return {
            name.removeprefix(prefix): column
            for name, column in self.columns.items()
            if name.startswith(prefix)
        }

    def with_columns(self, columns: Mapping[str, Column]) -> MentionTable:
        """The same rows with more columns."""
        return replace(
            self, columns={**self.columns, **{name: frozen(column) for name, column in columns.items()}}
        )

    def take(self, rows: Ints | Bools) -> MentionTable:
        """The rows with these numbers, or those that are marked."""
        return replace(self, columns={name: frozen(column[rows]) for name, column in self.columns.items()})

    def only(self, names: Sequence[str]) -> MentionTable:
        """The same rows with some of the columns."""
        return replace(self, columns={name: self.columns[name] for name in names})

    def labelled(self, labels: Sequence[str]) -> MentionTable:
        """The same mentions with codes into another list of labels, which has all that occur."""
        code_of = {label: code for code, label in enumerate(labels)}
        codes = ints([code_of.get(label, 0) for label in self.labels] or [0])
        return replace(self.with_columns({"label": codes[self["label"]]}), labels=tuple(labels))

    def where(self, *, label: str) -> Bools:
        """Which rows have a label."""
        code = self.labels.index(label) if label in self.labels else -1
        return np.asarray(self.columns["label"] == code)

    @property
    def used_labels(self) -> set[str]:
        """The labels that occur."""
        return {self.labels[code] for code in distinct(self.columns["label"]).tolist()}

    def by_unit(self, rows: Ints | Bools | slice = slice(None)) -> Ints:
        """The number of rows in each unit, of all rows or of those given."""
        return ints(np.bincount(self.columns["unit"][rows], minlength=self.units))

    def in_blocks(self, size: int) -> MentionTable:
        """The same mentions, with `size` consecutive units joined into one.

        Examples:
            >>> MentionTable.of(unit=[0, 3, 4], label=[0, 0, 0], labels=["PER"], units=5).in_blocks(2)["unit"]
            array([0, 1, 2])
        """
        joined = self.with_columns({"unit": self["unit"] // size})
        return replace(joined, units=-(-self.units // size))

    @classmethod
    def concat(cls, parts: Sequence[MentionTable]) -> MentionTable:
        """The rows of consecutive parts of a corpus, with the columns that all of them have.

        Units are numbered on from part to part; labels are sorted, unless there is one part only.
        """
        if len(parts) == 1:
            return parts[0]
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        begins = offsets([part.units for part in parts])
        moved = [
            {
                **part.columns,
                "unit": part["unit"] + begin,
                "label": part.labelled(labels)["label"],
            }
            for part, begin in zip(parts, begins[:-1].tolist(), strict=True)
        ]
        shared = [name for name in moved[0] if all(name in columns for columns in moved)]
        columns = {name: frozen(np.concatenate([columns[name] for columns in moved])) for name in shared}
        return cls(columns, labels, int(begins[-1]))


class MentionTables(Struct, frozen=True, eq=False):
    """The mentions of gold and of every system, as tables over the same units."""

    gold: MentionTable
    systems: Mapping[str, MentionTable]

    @classmethod
    def concat(cls, parts: Sequence[MentionTables]) -> MentionTables:
        """The mentions of consecutive parts of a corpus."""
        return cls(
            MentionTable.concat([part.gold for part in parts]),
            {
                system: MentionTable.concat([part.systems[system] for part in parts])
                for system in parts[0].systems
            },
        )

    def in_blocks(self, size: int) -> MentionTables:
        """The same mentions, with `size` consecutive units joined into one."""
        systems = {name: table.in_blocks(size) for name, table in self.systems.items()}
        return MentionTables(self.gold.in_blocks(size), systems)
