"""One dataset as a page shows it, with every system and run, and its sentences packed for the page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import TypeAlias, TypedDict

import numpy as np
from msgspec import UNSET, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from spanwise.columns import Column
from spanwise.diagnosis import lettering, mean_of, or_nan
from spanwise.document import Interval, Settings, given, usual_settings
from spanwise.document.evaluation import (
    Evaluation,
    ExampleCounts,
    GoldMention,
    MentionCodes,
    PredictedMention,
    Sentence,
)
from spanwise.document.scores import (
    PRIMARY,
    PRIMARY_OF,
    Bounded,
    BucketScores,
    ExactScores,
    Outcome,
    SubsetRecall,
    SystemScores,
)
from spanwise.document.study import DatasetRuns, MainResult, Study
from spanwise.reports import _wording as words

Path = tuple[str, ...]
Runs = Mapping[str, Mapping[str, SystemScores]]


class ShownDataset(Struct, frozen=True):
    """An evaluation, or one dataset of a study.

    `document` has every system once: in a study in the run whose F1 is nearest to the median. `runs` has
    all of them; sentences name them by `run_name`.
    """

    name: str
    document: Evaluation
    runs: Runs
    means: Mapping[str, MainResult]  # over runs; empty where each system has one run
    sentences: Sequence[Sentence]
    examples: ExampleCounts
    about: str = "f1"  # the score of the means

    @property
    def order(self) -> dict[str, str]:
        """The systems from the highest primary score to the lowest, each with its letter."""
        return lettering({name: self.score(name) for name in self.document.systems})

    @property
    def primary(self) -> str:
        """The score that systems are ranked and tested by: "f1" unless another was chosen."""
        return self.document.settings.primary or "f1"

    def score(self, name: str) -> float | None:
        """The primary score of a system, its mean over runs."""
        mean = self._mean(name)
        return mean_score(self, name, PRIMARY[self.primary]) if mean is None else mean.mean

    def score_interval(self, name: str) -> Interval | None:
        """The interval of that score; of runs it is known for the score that the study is about."""
        mean = self._mean(name)
        if mean is not None:
            return mean.interval.get("mean") if mean.interval else None
        return None if self.several(name) else self.document.systems[name].primary_ends(self.primary)

    def _mean(self, name: str) -> MainResult | None:
        """The mean over runs, where it is of the primary score."""
        return self.means.get(name) if self.about == self.primary else None

    def several(self, name: str) -> bool:
        """Whether a system has several runs."""
        return len(self.runs[name]) > 1

    @property
    def run_names(self) -> dict[str, tuple[str, str]]:
        """The name of every run in the sentences, with its system and its run."""
        return {
            run_name(name, run, self.runs[name]): (name, run)
            for name in self.order
            for run in self.runs[name]
        }

    def middle(self, name: str) -> str:
        """The name of the run that stands for a system."""
        return run_name(name, middle_run(self.runs[name]), self.runs[name])


def run_name(system: str, run: str, runs: Mapping[str, SystemScores]) -> str:
    """What a run is called among the systems of a page."""
    return f"{system} · {run}" if len(runs) > 1 else system


def middle_run(runs: Mapping[str, SystemScores]) -> str:
    """The run whose F1 is the (lower) median."""
    f1 = {run: scores.exact.overall.f1 for run, scores in runs.items()}
    ranked = sorted(runs, key=lambda run: (f1[run] is not None, f1[run] or 0.0))
    return ranked[(len(ranked) - 1) // 2]


def evaluation_shown(document: Evaluation) -> ShownDataset:
    """An evaluation: one run of each system."""
    none = ExampleCounts(policy="none", cap=0, shown=0, of=0)
    return ShownDataset(
        name=document.dataset.name,
        document=document,
        runs={name: {"": scores} for name, scores in document.systems.items()},
        means={},
        sentences=document.sentences,
        examples=document.examples or none,
    )


def study_shown(study: Study) -> list[ShownDataset]:
    """The datasets of a study that have runs."""
    return [
        _dataset_shown(study, name, one) for name, one in study.datasets.items() if one.runs and one.dataset
    ]


def _dataset_shown(study: Study, name: str, dataset: DatasetRuns) -> ShownDataset:
    assert dataset.dataset is not None
    systems = {system: runs[middle_run(runs)] for system, runs in dataset.runs.items()}
    inputs = tuple(row for row in study.inputs if row.dataset in (name, UNSET))
    document = Evaluation(
        spanwise=study.spanwise,
        inputs=inputs,
        settings=_settings(study),
        dataset=replace(dataset.dataset, name=name),
        systems=systems,
        comparisons=dataset.comparisons,
        letters=study.analyses.letters.get(name, {}),
        findings=dataset.findings,
        mentions=_study_mentions(name, dataset),
    )
    sentences = _merged(dataset) if dataset.sentences else []
    score = study.analyses.score or "f1"
    counts = dataset.examples.values() if dataset.examples else ()
    complete = bool(dataset.sentences) and all(one.shown == one.of for one in counts)
    policy = next((one.policy for one in counts), "none")
    return ShownDataset(
        name=name,
        document=document,
        runs=dataset.runs,
        means={system: row[name] for system, row in study.analyses.holistic.items() if name in row}
        if any(len(runs) > 1 for runs in dataset.runs.values())
        else {},
        sentences=sentences,
        examples=ExampleCounts(
            policy=policy,
            cap=max((one.cap for one in counts), default=0),
            shown=len(sentences),
            of=len(sentences) if complete else max((one.of for one in counts), default=0),
        ),
        about=PRIMARY_OF.get(score, score),
    )


def _settings(study: Study) -> Settings:
    """The settings of one dataset, the usual ones where datasets differ."""
    unknown = {"resamples": 0, "examples": "none", "examples_cap": 0}
    return usual_settings(**{**unknown, **to_builtins(study.settings)})


def _study_mentions(name: str, dataset: DatasetRuns) -> MentionCodes | UnsetType:
    """The mentions of all systems, each run under its name on the page."""
    if not dataset.mentions or set(dataset.mentions) != set(dataset.runs):
        return UNSET
    from spanwise.evaluation import packed_beside

    return packed_beside(
        [dataset.mentions[system] for system in dataset.runs],
        [{run: run_name(system, run, runs) for run in runs} for system, runs in dataset.runs.items()],
        place=name,
    )


# ---- sentences of a study -----------------------------------------------------------------------


def _merged(dataset: DatasetRuns) -> list[Sentence]:
    """The sentences of all systems as one list whose systems are the runs.

    A system without a sentence got it right in every run: sentences without errors may be left out.
    """
    assert dataset.sentences
    known: dict[str, dict[str, Sentence]] = {}
    for system, rows in dataset.sentences.items():
        for row in rows:
            known.setdefault(f"{row.id}\n{row.source}", {})[system] = row
    return [_joined(dataset.runs, rows) for rows in known.values()]


def _joined(all_runs: Runs, rows: Mapping[str, Sentence]) -> Sentence:
    first = next(iter(rows.values()))
    gold = [_gold(all_runs, rows, first, at) for at in range(len(first.gold))]
    systems: dict[str, Sequence[PredictedMention]] = {}
    for system, runs in all_runs.items():
        for run in runs:
            row = rows.get(system)
            systems[run_name(system, run, runs)] = _right(first) if row is None else row.systems.get(run, ())
    return replace(first, gold=gold, systems=systems)


def _gold(all_runs: Runs, rows: Mapping[str, Sentence], first: Sentence, at: int) -> GoldMention:
    outcome: dict[str, Outcome] = {}
    partner: dict[str, int | None] = {}
    for system, runs in all_runs.items():
        row = rows.get(system)
        for run in runs:
            name = run_name(system, run, runs)
            outcome[name] = "TP" if row is None else row.gold[at].outcome[run]
            partner[name] = at if row is None else row.gold[at].partner.get(run)
    return replace(first.gold[at], outcome=outcome, partner=partner)


def _right(sentence: Sentence) -> list[PredictedMention]:
    """What a system that got a sentence right predicted in it."""
    return [
        PredictedMention(
            start=one.start, end=one.end, label=one.label, outcome="TP", partner=at, parts=one.parts,
            buckets=one.buckets,
        )
        for at, one in enumerate(sentence.gold)
    ]  # fmt: skip


# ---- single scores ---------------------------------------------------------------------------------


def score_at(system: SystemScores, path: Path) -> tuple[float | None, Interval | None]:
    """One score of a system with its interval."""
    cell: Bounded | BucketScores | None
    match path:
        case ("gains", kind, _):
            cell = system.gains.of(kind)
        case ("tough", subset, _, _):
            cell = next((row.overall for key, row in system.tough.items() if key == subset), None)
        case ("exact", "labels", label, _):
            cell = system.exact.labels.get(label)
        case ("attributes", attribute, bucket, _):
            table = system.attributes.get(attribute)
            cell = None if table is None else table.bucket(bucket)
        case ("exact", "macro", _):
            cell = system.exact.macro
        case ("fair", *_):
            cell = system.fair.overall
        case _:
            cell = system.exact.overall
    if cell is None:
        return None, None
    value: float | None = getattr(cell, path[-1])
    return value, cell.interval.get(path[-1])


def run_values(shown: ShownDataset, name: str, path: Path) -> list[float | None]:
    """One score of every run of a system."""
    return [score_at(one, path)[0] for one in shown.runs[name].values()]


def mean_score(shown: ShownDataset, name: str, path: Path) -> float | None:
    """The mean over the runs of a system in which a score is defined."""
    return mean_of(or_nan(value) for value in run_values(shown, name, path)).mean


def both_ends(pair: Interval | None) -> tuple[float, float] | None:
    """An interval whose ends are both defined."""
    if pair is None or pair[0] is None or pair[1] is None:
        return None
    return pair[0], pair[1]


# ---- sentences in short rows, deflated, in base64 --------------------------------------------------


OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_WORD = re.compile(r"\w+|[^\w\s]")

Mention: TypeAlias = GoldMention | PredictedMention
Where: TypeAlias = Callable[[int, int], tuple[int, int]]  # where a span lies among the tokens that are shown


def packed(value: Mapping[str, object]) -> str:
    """Anything for the page's script: base64 of deflated JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Halves of surrogate pairs have no UTF-8; the page shows them as what they are not: a mark.
    data = text.encode("utf-8", "replace")
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def contents(shown: ShownDataset) -> dict[str, object]:
    """What the script needs to show examples: names once, then columns of numbers that point to them."""
    document = shown.document
    systems = list(shown.run_names)
    labels = labels_of(document)
    tough = list(words.TOUGH)
    attributes = _attributes(document)
    packer = _Packer(systems, labels, tough, attributes)
    rows = [packer.sentence(row) for row in shown.sentences]
    place = {name: at for at, name in enumerate(systems)}
    return {
        "name": shown.name, "names": list(shown.order), "systems": systems, "labels": labels, "tough": tough,
        "middle": [place[shown.middle(name)] for name in shown.order],
        "toughWords": words.TOUGH, "outcomes": words.OUTCOMES, "attributes": attributes,
        "redacted": document.settings.redacted, "known": _known(shown, systems),
        "confidence": document.settings.confidence,
        "z": NormalDist().inv_cdf((1 + document.settings.confidence) / 2),
        "examples": to_builtins(shown.examples), "units": _units(document, shown.sentences),
        "codes": _codes(document, systems, packer),
        "sentences": _columns(rows),
    }  # fmt: skip


def labels_of(document: Evaluation) -> list[str]:
    """The labels that some system has scores of, the most frequent gold ones first."""
    known = dict.fromkeys(label for one in document.systems.values() for label in one.exact.labels)
    return list(dict.fromkeys([*(one for one in document.dataset.labels_in_order if one in known), *known]))


def _units(document: Evaluation, sentences: Sequence[Sentence]) -> list[int] | str:
    """The unit of each sentence that intervals rest on; in words where the page cannot know it."""
    if document.settings.unit == "sentence":
        return list(range(len(sentences)))
    if document.settings.unit != "document" or any(row.document in (None, UNSET) for row in sentences):
        return document.settings.unit
    number: dict[object, int] = {}
    return [number.setdefault(row.document, len(number)) for row in sentences]


def _codes(document: Evaluation, systems: Sequence[str], packer: _Packer) -> dict[str, object] | None:
    """Every mention as numbers of the page's own lists; None where the document has none of this."""
    if document.mentions is UNSET or (
        document.mentions.gold and not set(systems) <= set(document.mentions.systems)
    ):
        return None
    from spanwise.evaluation import CodedSystem, unpacked_codes  # heavy, and not every page needs it

    about: dict[str, object] = {"number": document.mentions.number, "cap": document.mentions.cap}
    coded = unpacked_codes(document.mentions, place="the document")
    if coded is None:
        return about
    labels = [packer.code(label) for label in coded.labels]
    subsets = [packer.tough.get(name, -1) for name in coded.subsets]
    masks = [
        sum(1 << to for at, to in enumerate(subsets) if to >= 0 and mask >> at & 1) for mask in range(256)
    ]
    buckets = {
        name: [codes.get(bucket, -1) for bucket in coded.buckets[name]]
        for name, codes in packer.attributes
        if name in coded.buckets
    }

    def side(parts: Sequence[Mapping[str, Column]]) -> list[object]:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        unit = columns["unit"].astype(np.int64)
        steps = np.diff(unit, prepend=0)
        return [
            _characters(steps) if len(steps) == 0 or steps.min() >= 0 else unit.tolist(),
            _recoded(columns["label"], labels),
            [
                _recoded(columns[f"bucket {name}"], buckets[name]) if name in buckets else None
                for name, _ in packer.attributes
            ],
            _recoded(columns["tough"], masks) if "tough" in columns else None,
        ]

    def system(one: CodedSystem) -> list[object]:
        return [_characters(one.found), *side([one.paired, one.alone])]

    return {**about, "gold": side([coded.gold]), "systems": [system(coded.systems[name]) for name in systems]}


FIRST = 40  # the character that stands for 0: those from it on need no escape but one


def _characters(column: Column) -> str | list[int]:
    """Numbers from -1 on, each as one character; as they are where one is too large for that."""
    if int(column.max(initial=0)) >= 0xD800 - FIRST:
        return [int(value) for value in column]
    return (column.astype(np.int64) + FIRST).astype("<u4").tobytes().decode("utf-32-le")


def _recoded(column: Column, table: Sequence[int]) -> str | list[int]:
    return _characters(np.asarray(table or [0])[column])


def _known(shown: ShownDataset, names: Sequence[str]) -> dict[str, list[list[object]]]:
    """Gold, predicted and correct of every run, and an interval, for each single filter."""
    found: dict[str, list[list[object]]] = {}

    def add(key: str, place: int, cell: ExactScores | BucketScores) -> None:
        rows = found.setdefault(key, [[0, 0, 0] for _ in names])
        rows[place] = [cell.gold, cell.predicted, cell.correct, *(cell.ends("f1") or ())]

    def add_subset(key: str, place: int, cell: SubsetRecall) -> None:
        rows = found.setdefault(key, [[0, None, 0] for _ in names])
        rows[place] = [cell.mentions, None, cell.correct, *(cell.ends("recall") or ())]

    for place, (name, run) in enumerate(shown.run_names.values()):
        system: SystemScores = shown.runs[name][run]
        add("", place, system.exact.overall)
        for label, cell in system.exact.labels.items():
            add(f"gold\n{label}", place, cell)
        for subset, table in system.tough.items():
            add_subset(f"tough\n{subset}", place, table.overall)
        for attribute, buckets in system.attributes.items():
            if buckets.unit == "mention":
                for bucket in buckets.buckets:
                    add(f"bucket\n{attribute}\n{bucket.name}", place, bucket)
    return found


def _columns(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    """The rows turned: texts beside texts and numbers beside numbers deflate a sixth better."""
    return [[row[at] if at < len(row) else 0 for row in rows] for at in range(6)]


class PackedAttribute(TypedDict):
    """An attribute of mentions with the names and intervals of its buckets."""

    name: str
    title: str
    buckets: list[str]
    titles: list[str]
    bounds: list[list[float | bool | None]]


def _attributes(document: Evaluation) -> list[PackedAttribute]:
    """The attributes of mentions, as any system has them."""
    found: dict[str, PackedAttribute] = {}
    for system in document.systems.values():
        for name, table in system.attributes.items():
            if table.unit != "mention":
                continue
            row = found.setdefault(
                name,
                {"name": name, "title": words.attribute(name), "buckets": [], "titles": [], "bounds": []},
            )
            for bucket in table.buckets:
                if bucket.name not in row["buckets"]:
                    row["buckets"].append(bucket.name)
                    row["titles"].append(words.bucket(bucket))
                    row["bounds"].append(_bounds(bucket))
    return list(found.values())


def _bounds(bucket: BucketScores) -> list[float | bool | None]:
    """Both ends of a bucket, and whether it holds one special value."""
    ends = [given(bucket.low), given(bucket.high)]
    return [*ends, bool(bucket.special)]


class _Packer:
    """Turns sentences of the document into rows; unknown labels and buckets join their lists."""

    def __init__(
        self,
        systems: Sequence[str],
        labels: list[str],
        tough: Sequence[str],
        attributes: list[PackedAttribute],
    ) -> None:
        self._systems = systems
        self._labels = labels
        self._label = {label: code for code, label in enumerate(labels)}
        self.tough = {name: bit for bit, name in enumerate(tough)}
        self.attributes = [
            (row["name"], {name: code for code, name in enumerate(row["buckets"])}) for row in attributes
        ]

    def sentence(self, row: Sentence) -> list[object]:
        """One sentence: id, source, tokens, gold mentions, mentions of each system, offsets of pieces."""
        tokens, where, offsets = _text(row)
        gold = [
            [
                *where(one.start, one.end), self.code(one.label),
                [_CODE[one.outcome[name]] for name in self._systems],
                [_or_none(one.partner.get(name)) for name in self._systems],
                sum(1 << self.tough[name] for name in one.tough or () if name in self.tough),
                self._buckets(one), *_parts(one, where),
            ]
            for one in row.gold
        ]  # fmt: skip
        systems = [
            [self._predicted(one, where, gold) for one in row.systems.get(name) or ()]
            for name in self._systems
        ]
        packed_row = [str(row.id), row.source or "", tokens, gold, systems]
        return [*packed_row, offsets] if offsets else packed_row

    def _predicted(
        self, one: PredictedMention, where: Where, gold: Sequence[Sequence[object]]
    ) -> list[object] | int:
        """A predicted mention; of a right one the place of its gold mention, which says all of it."""
        start, end = where(one.start, one.end)
        label, buckets, rest = self.code(one.label), self._buckets(one), _rest(one, where)
        if one.outcome == "TP" and one.partner is not None:
            partner = gold[one.partner]
            if [start, end, label, buckets, *rest] == [*partner[:3], *partner[6:]]:
                return one.partner
        return [start, end, label, _CODE[one.outcome], _or_none(one.partner), buckets, *rest]

    def code(self, label: str) -> int:
        """The number of a label."""
        if label not in self._label:
            self._label[label] = len(self._labels)
            self._labels.append(label)
        return self._label[label]

    def _buckets(self, mention: Mention) -> list[int]:
        own = mention.buckets or {}
        return [codes.get(own.get(name) or "", -1) for name, codes in self.attributes]


def _or_none(place: int | None) -> int:
    return -1 if place is None else place


def _parts(mention: Mention, where: Where) -> list[object]:
    return [[list(where(start, end)) for start, end in mention.parts]] if mention.parts else []


def _rest(mention: PredictedMention, where: Where) -> list[object]:
    """The parts of a mention that has several, and what was said of one that has no place."""
    parts = _parts(mention, where)
    return [*(parts or [None]), mention.answer] if mention.answer else parts


def _text(row: Sentence) -> tuple[object, Where, list[int]]:
    """The tokens to show, how positions of mentions map to them, and where they lie in the text."""
    if row.tokens is not UNSET:
        plain = all(token and not re.search(r"\s", token) for token in row.tokens)
        return (" ".join(row.tokens) if plain and row.tokens else list(row.tokens)), _span, []
    mentions: list[Mention] = [*row.gold, *(one for rows in row.systems.values() for one in rows)]
    if row.text is UNSET:
        # Redacted: as many blanks as there were tokens.
        length = row.length or max((one.end for one in mentions), default=0)
        return int(length), _span, []
    return _pieces(row.text, mentions)


def _span(start: int, end: int) -> tuple[int, int]:
    return start, end


def _pieces(text: str, mentions: Sequence[Mention]) -> tuple[list[str], Where, list[int]]:
    """Words and signs of a text, cut wherever a mention begins or ends, so that spans fall on pieces."""
    cuts = {end for one in mentions for end in (one.start, one.end)}
    cuts |= {end for one in mentions for part in one.parts or () for end in part}
    pieces: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        inner = sorted({match.start(), match.end(), *(c for c in cuts if match.start() < c < match.end())})
        pieces += pairwise(inner)
    starts, stops = [start for start, _ in pieces], [stop for _, stop in pieces]

    def where(start: int, end: int) -> tuple[int, int]:
        if start < 0:
            return -1, -1
        first, last = bisect_right(stops, start), bisect_left(starts, end)
        if first < last:
            return first, last
        # A mention of blanks alone has no piece; it stands at the next one.
        place = min(bisect_left(starts, start), max(len(pieces) - 1, 0))
        return place, place + 1

    return [text[a:b] for a, b in pieces], where, [end for piece in pieces for end in piece]
