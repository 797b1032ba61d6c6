"""The second look of an evaluation in parts, at gold and predictions: everything counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.alignment import align
from spanwise.attributes import Context, Toughness, toughness
from spanwise.corpus import Annotation
from spanwise.description import DatasetPart
from spanwise.engines import local_engine
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Dataset, sides_of
from spanwise.evaluation._entries import survey_entry
from spanwise.evaluation._examples import examples
from spanwise.evaluation._files import Files, Shared
from spanwise.evaluation._inputs import Inputs, Units
from spanwise.evaluation._system import Counted, evaluate_system
from spanwise.formats.parts import Piece

Sentences = list[dict[str, Any]]
TOGETHER = 8  # parts whose counts are added up at once


class Task(Struct, frozen=True, eq=False):
    """The pieces of one part, and how many of its sentences can still be shown, by policy."""

    pieces: Mapping[str, Piece]
    room: Mapping[str, int]


class Part(Struct, frozen=True, eq=False):
    """One part, counted."""

    counted: Mapping[str, Counted]
    described: DatasetPart
    units: int
    repairs: Mapping[str, int]
    labels: Mapping[str, Sequence[str]]
    mentions: Mapping[str, int]
    alignment: Mapping[str, Mapping[str, Any]]
    chosen: Mapping[str, Sentences]  # by policy
    choosable: int


class Sums:
    """The counts of parts, added up some at a time, so that neither they nor the adding grows too dear."""

    def __init__(self) -> None:
        self._levels: list[list[Counted]] = []  # those of later levels are sums of more parts, and older

    def add(self, one: Counted) -> None:
        """Take the counts of the next part."""
        for level in self._levels:
            level.append(one)
            if len(level) < TOGETHER:
                return
            one = Counted.joined(level)
            level.clear()
        self._levels.append([one])

    def total(self) -> Counted:
        """The counts over all parts, one after the other."""
        return Counted.joined([one for level in reversed(self._levels) for one in level])


class Gathered:
    """All parts, counted, and the sentences that were chosen to be shown."""

    def __init__(self, choices: Choices, systems: Iterable[str]) -> None:
        self.parts: list[Part] = []
        self._sums = {system: Sums() for system in systems}
        self._choices = choices
        # Sentences with errors stand before all others.
        policies = {"errors": ["errors"], "all": ["errors", "correct"], "none": []}[choices.examples]
        self._chosen: dict[str, Sentences] = {policy: [] for policy in policies}

    def count(self, shared: Shared, workers: int) -> None:
        """Count every part.

        The first one is counted here, before processes part ways: they have what was found of it in the
        training text, and need not write sentences where it has filled the room for them.
        """
        # Tasks are asked for one by one, so that they know how much room is left.
        tasks = (Task(pieces, self._room()) for pieces in shared.files.parts())
        self._take(_count(next(tasks), shared))
        for part in local_engine(workers).map(_count, tasks, shared):
            self._take(part)

    def _take(self, part: Part) -> None:
        room = self._room()
        for policy, sentences in part.chosen.items():
            self._chosen[policy] += sentences[: room[policy]]
        for system, counted in part.counted.items():
            self._sums[system].add(counted)
        self.parts.append(replace(part, chosen={}, counted={}))

    def _room(self) -> dict[str, int]:
        return {policy: self._choices.examples_cap - len(kept) for policy, kept in self._chosen.items()}

    def counted(self) -> dict[str, Counted]:
        """The counts of every system over all parts."""
        return {system: sums.total() for system, sums in self._sums.items()}

    def sentences(self) -> tuple[Sentences, dict[str, Any]]:
        """The chosen sentences, those with errors first, and how many there are in all."""
        cap = self._choices.examples_cap
        shown = [row for kept in self._chosen.values() for row in kept][:cap]
        total = sum(part.choosable for part in self.parts)
        about = {"policy": self._choices.examples, "cap": cap, "shown": len(shown), "of": total}
        return shown, about

    def entries(self, files: Files) -> list[dict[str, Any]]:
        """The `inputs` of the document, as they are for files that were read whole."""
        entries = [self._entry("gold", files, "")]
        for name in files.systems:
            reports = [part.alignment[name] for part in self.parts]
            summed = {key: sum(report[key] for report in reports) for key in reports[0] if key != "how"}
            entry = self._entry("predicted", files, name)
            entries.append({**entry, "system": name, "alignment": {"how": reports[0]["how"], **summed}})
        return entries

    def _entry(self, role: str, files: Files, name: str) -> dict[str, Any]:
        return survey_entry(
            role,
            files.systems[name] if name else files.gold,
            layer=role if files.merged else "only",
            repairs=sum(part.repairs[name] for part in self.parts),
            mentions=sum(part.mentions[name] for part in self.parts),
            labels={label for part in self.parts for label in part.labels[name]},
        )


def _count(task: Task, shared: Shared) -> Part:
    assert shared.facts is not None
    gold, predicted = shared.files.read(task.pieces)
    aligned = {name: align(gold, one, how=shared.choices.align) for name, one in predicted.items()}
    mentions = {name: one.mentions for name, one in aligned.items()}
    context = shared.context(gold, list(mentions.values()))
    data = Dataset(
        Inputs("", gold, mentions, predicted, shared.files.merged, (), ()),
        Units.of(gold.corpus, shared.unit),
        _toughness(context, gold, shared),
        shared.facts,
        sides_of(shared.facts, context, gold.mentions),
    )
    evaluated = {name: evaluate_system(data, context, one, shared.choices) for name, one in mentions.items()}
    shown = {
        policy: examples(data, evaluated, policy=policy, cap=room, redact=shared.choices.redact)
        for policy, room in task.room.items()
    }
    context.release()
    sides = {"": gold, **predicted}
    return Part(
        counted={name: one.counted for name, one in evaluated.items()},
        described=DatasetPart.of(gold, shared.known, data.toughness),
        units=data.units.number,
        repairs={name: one.reading.repairs for name, one in sides.items()},
        labels={name: one.mentions.labels for name, one in sides.items()},
        mentions={name: len(one.mentions) for name, one in sides.items()},
        alignment={name: one.report for name, one in aligned.items()},
        chosen={policy: sentences for policy, (sentences, _) in shown.items()},
        choosable=sum(about["of"] for _, about in shown.values()),
    )


def _toughness(context: Context, gold: Annotation, shared: Shared) -> Toughness | None:
    """The tough subsets of a part; which sequences are confusable is known from the whole."""
    if shared.lexicon is None:
        return None
    as_written = replace(context, lowercase=False) if context.lowercase else context
    return toughness(
        gold.corpus, gold.mentions, shared.lexicon, context=as_written, confusable=shared.confusable
    )
