"""What a system that masks text leaves readable: leaks of mentions, positions, documents and identities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET, Struct, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.alignment import How
from spanwise.attributes import Attribute
from spanwise.buckets import Strategy
from spanwise.columns import Bools, Column, distinct
from spanwise.corpus import Annotation, Mentions
from spanwise.counts import Counts
from spanwise.covering import Covered, GoldPositions, Identified, PositionAxis
from spanwise.document.leaks import (
    PRIMARY,
    LeakCell,
    LeakingSentence,
    LeakPiece,
    LeakRuns,
    Leaks,
    LeakSettings,
    SystemLeaks,
)
from spanwise.engines import Engine, engine_of
from spanwise.errors import ChoiceError, InputError, many, unknown
from spanwise.evaluation.blocks import BlockSums
from spanwise.evaluation.choices import (
    Block,
    Choices,
    ResampledUnits,
    block_size,
    files_of_runs,
)
from spanwise.evaluation.comparisons import compare_runs
from spanwise.evaluation.dataset import (
    BlockContext,
    OpenedSources,
    UnopenedSources,
    open_sources,
    resolve_frame,
    sides_of,
)
from spanwise.evaluation.hints import Sides, hints_of
from spanwise.evaluation.scoring import score_and_test
from spanwise.formats import says_label_rules
from spanwise.intervals import FEW_UNITS
from spanwise.options import CheckedOptions
from spanwise.rates import LEAK_COUNTS, LEAK_RATES
from spanwise.scores import Measure, MeasureKey
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.uncertainty import Resampling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Limit", "check_limits", "leaks"]

NO_IDENTITY = ("", "_", "-", "O")  # what a column holds for a mention without an id
MOST_NAMED = 5  # labels that gold lacks
COSTS = ("masked", "outside", "text", "spans")  # known overall only
NO_TEXT = "the data have positions but no text, so the share of text that is lost is unknown"


@says_label_rules
def leaks(
    source: object = None,
    systems: object = None,
    *,
    gold: object = None,
    same_label: bool = False,
    identity: int | str | None = None,
    identity_across: bool = False,
    train: object = None,
    attributes: str | Attribute | Iterable[str | Attribute] = "none",
    buckets: Mapping[str, str | Strategy] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    unit: str | None = None,
    examples: int = 20,
    redact: bool = False,
    align: How = "strict",
    name: str | None = None,
    command: str | None = None,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Engine | SparkSession | None = None,
    **reading: Any,
) -> Leaks:
    """Say what is still readable if predicted spans are masked, and what was masked without need.

    Gold mentions are what must be hidden. A mention is hidden if every position of it is masked, exposed if
    none is, and partly hidden otherwise; it leaks unless it is hidden. Positions are characters that are not
    blank if there is text, and tokens otherwise.

    Args:
        source: gold, as in `evaluate`; without `systems`, a file with both gold and predicted tags.
        systems: one system, or several; every pair of systems is compared. {run} in a path stands for the
            runs of a system, which are tested together.
        gold: the same as `source` as a keyword, or the gold column of a Spark frame.
        same_label: only a prediction with the label of a mention hides it.
        identity: the key of gold mentions, or the column, that says whom or what they name.
        identity_across: the same id means the same in all documents.
        train: training data, for tough mentions and for attributes that need it.
        attributes: names or a preset; leaks are also counted in each bucket.
        buckets: how to cut attributes, as in `evaluate`.
        resamples: shuffles of the paired tests; 0 for no interval and no test.
        unit: what is independent: "document" if the data mark at least two, "sentence", or "block:20".
        examples: the maximum number of leaking sentences in the document, for each system.
        redact: leave out all text.
        memory: read files in parts that fit in about this much memory ("1GB"), as in `evaluate`.
        workers: the number of processes; it does not affect the result.
        engine: where mentions are counted, as in `evaluate`: a Spark session, or any `Engine`.
        reading: keywords of `spanwise.read`.

    Examples:
        >>> found = leaks([["B-PER", "I-PER", "O"]], {"mine": [["B-LOC", "O", "O"]]}, resamples=0)
        >>> found.systems["mine"].overall.partly, found.systems["mine"].overall.leaked_share
        (1, 0.5)
    """
    examples = 0 if redact else examples
    options = LeakOptions.of(locals())
    runner = engine_of(engine)
    if identity is not None:
        reading["columns"] = {**(reading.get("columns") or {}), str(identity): identity}
    source, systems, columns = resolve_frame(source, gold, systems, reading)
    gold = gold if source is None else source
    runs = files_of_runs(systems)
    if runs:
        systems = {f"{name}.{run}": file for name, own in runs.items() for run, file in own.items()}
    if gold is None:
        raise ChoiceError("there is no gold to hide.\nGive a file or lists as the first argument.")
    choices = Choices.of_mentions(
        attributes=attributes, buckets=buckets, unit=unit, redact=redact, align=align, reading=reading
    )
    unopened = UnopenedSources(gold, systems, train, choices, columns, name, runner)
    names = {name: [f"{name}.{run}" for run in own] for name, own in runs.items()}
    return _leaks(open_sources(unopened, memory=memory, workers=workers), options, names)


class LeakOptions(CheckedOptions, frozen=True, kw_only=True):
    """The checked options of `leaks`."""

    verb = "leaks"

    same_label: bool
    identity: int | str | None
    identity_across: bool
    resamples: int
    seed: int
    unit: str | None
    examples: int
    redact: bool
    command: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.identity_across and self.identity is None:
            raise ChoiceError("identity_across needs identity=.\nName the key or column of identities.")


# ---- one block -----------------------------------------------------------------------------------


class _LeakContext(Struct, frozen=True, eq=False):
    """What `tally` needs in addition to a block."""

    shared: BlockContext
    options: LeakOptions


Key = tuple[str, str]  # the kind of a table (overall, buckets, tough), and the attribute of buckets


class LeakSums(Struct, frozen=True, eq=False):
    """The counts of one block by system and table, identities, and leaking sentences."""

    units: int
    sentences: int
    unit: str  # what a position is
    known: bool  # whether there is text outside mentions
    counts: Mapping[str, Mapping[Key, Counts]]
    people: Identified | None
    examples: Mapping[str, tuple[LeakingSentence, ...]]
    sums: Mapping[str, BlockSums]
    sides: Mapping[str, Sides]

    @classmethod
    def joined(cls, parts: Sequence[LeakSums], most: int) -> LeakSums:
        """Join consecutive blocks; at most `most` sentences of each system are kept."""
        first, units = parts[0], [part.units for part in parts]
        begins = np.cumsum([0, *(part.sentences for part in parts)]).tolist()
        people = [part.people for part in parts if part.people is not None]
        return cls(
            sum(units),
            begins[-1],
            first.unit,
            all(part.known for part in parts),
            {
                system: {key: Counts.joined([part.counts[system][key] for part in parts]) for key in tables}
                for system, tables in first.counts.items()
            },
            Identified.joined(people, units) if people else None,
            {
                system: tuple(
                    replace(one, sentence=one.sentence + begin)
                    for part, begin in zip(parts, begins, strict=False)
                    for one in part.examples[system]
                )[:most]
                for system in first.examples
            },
            BlockSums.added([part.sums for part in parts]),
            Sides.added([part.sides for part in parts]),
        )


def tally(reference: object, tallying: _LeakContext) -> LeakSums:
    """Count the leaks of every system in one block."""
    context, options = tallying.shared, tallying.options
    block = context.source.open(reference)
    corpus, mentions = block.corpus, block.gold.mentions
    units = ResampledUnits.of(corpus, context.unit)
    first = np.arange(len(corpus))  # of each sentence, the first one of its document
    if (context.source.documents or 0) > 1 and corpus.documents is not None:
        first = corpus.documents[corpus.document_of_sentence]
    axis = PositionAxis.of(corpus, [mentions, *block.systems.values()])
    gold = GoldPositions(axis, mentions, units.number, units.of_sentence, units.of_sentence[first])
    cells = _cells(context, block)
    covered = {
        system: Covered.of(gold, predicted, same_label=options.same_label)
        for system, predicted in block.systems.items()
    }
    return LeakSums(
        units.number,
        len(corpus),
        corpus.unit,
        axis.known,
        {
            system: {key: own.counts(named, overall=key == OVERALL) for key, named in cells.items()}
            for system, own in covered.items()
        },
        None if options.identity is None else _people(block.gold, gold, covered, str(options.identity)),
        {system: _examples(block, own, options.examples) for system, own in covered.items()},
        BlockSums.of_block(block),
        Sides.of_block(block),
    )


OVERALL: Key = ("overall", "")


def _cells(context: BlockContext, block: Block) -> dict[Key, dict[str, Bools]]:
    """The gold mentions of each cell: by label, by bucket of each attribute, and by tough subset."""
    mentions, facts = block.gold.mentions, context.facts
    used = distinct(mentions.label).tolist()
    cells: dict[Key, dict[str, Bools]] = {
        OVERALL: {f"labels/{mentions.labels[code]}": np.asarray(mentions.label == code) for code in used}
    }
    if facts is None:
        return cells
    side = context.context(block.gold).side(mentions)
    for name, bucketed in sides_of(facts, side).items():
        cells["buckets", name] = {
            one.name: np.asarray(bucketed.bucket == code)
            for code, one in enumerate(facts.bucketings[name].buckets)
        }
    tough = context.toughness(block, side)
    if tough is not None:
        cells["tough", ""] = {subset: tough.of(subset) for subset in tough.subsets}
    return cells


def _people(
    annotation: Annotation, gold: GoldPositions, covered: Mapping[str, Covered], key: str
) -> Identified:
    """The gold mentions with an id, which is theirs or that of their first token."""
    corpus, mentions = annotation.corpus, annotation.mentions
    values: Column
    if key in mentions.fields:
        values = mentions.fields[key]
    elif key in corpus.columns:
        values = corpus.columns[key][corpus.sentences[mentions.sentence] + mentions.start]
    else:
        values = np.full(len(mentions), "", dtype=object)
    named = np.array(["" if value is None else str(value) for value in values.tolist()], dtype=np.str_)
    kept = ~np.isin(named, NO_IDENTITY)
    labels = np.array(mentions.labels, dtype=np.str_)
    return Identified(
        gold.unit[kept],
        gold.document[kept],
        named[kept],
        labels[mentions.label[kept]] if len(labels) else np.zeros(0, dtype=np.str_),
        {system: ~own.hidden[kept] for system, own in covered.items()},
        int((~kept).sum()),
    )


# ---- leaking sentences, of which only a few are shown ------------------------------------------------


def _examples(block: Block, covered: Covered, most: int) -> tuple[LeakingSentence, ...]:
    """The first sentences with a leak, cut into pieces; none without text."""
    corpus, gold = block.corpus, covered.gold
    if not most or corpus.without_text:
        return ()
    leaking = gold.mentions.sentence[~covered.hidden]
    return tuple(_example(block, covered, sentence) for sentence in distinct(leaking)[:most].tolist())


def _example(block: Block, covered: Covered, sentence: int) -> LeakingSentence:
    corpus, gold = block.corpus, covered.gold
    begin, end = gold.axis.first[sentence : sentence + 2].tolist()
    body: Sequence[str] = corpus.words(sentence) if corpus.texts is None else corpus.texts[sentence]
    here = np.flatnonzero(gold.mentions.sentence == sentence)
    owner, position = gold.pairs
    pairs = slice(*np.searchsorted(owner, [here[0], here[-1] + 1]).tolist())
    readable = set(position[pairs][~covered.pairs[pairs]].tolist())
    own = gold.mentions.take(here)
    wanted, masked = _labels_at(own, end - begin), covered.masked[begin:end].tolist()
    names = _labels_at(covered.predicted.take(covered.predicted.sentence == sentence), end - begin)
    pieces: list[tuple[str, str, list[str]]] = []  # state, label, and the tokens or characters
    for at, unit in enumerate(body):
        if begin + at in readable:
            state, label = "readable", wanted[at]
        elif masked[at]:
            state, label = ("masked" if wanted[at] else "needless"), names[at]
        elif pieces and pieces[-1][:2] == ("readable", wanted[at]) and not unit.strip():
            state, label = pieces[-1][:2]  # a blank within a readable mention
        else:
            state, label = "plain", ""
        if pieces and pieces[-1][:2] == (state, label):
            pieces[-1][2].append(unit)
        else:
            pieces.append((state, label, [unit]))
    join = " " if corpus.texts is None else ""
    ways = zip(covered.hidden[here].tolist(), covered.exposed[here].tolist(), strict=True)
    return LeakingSentence(
        sentence=sentence,
        source=corpus.place(sentence),
        leaks=tuple("exposed" if exposed else "partly" for hidden, exposed in ways if not hidden),
        pieces=tuple(
            convert(
                {"text": join.join(units), "state": state, **({"label": label} if label else {})}, LeakPiece
            )
            for state, label, units in pieces
        ),
    )


def _labels_at(mentions: Mentions, size: int) -> list[str]:
    """The label at each position of one sentence; that of the first mention where several overlap."""
    labels = [""] * size
    for pieces, label in zip(reversed(mentions.pieces()), reversed(mentions.names()), strict=True):
        for start, end in pieces:
            labels[start:end] = [label] * (end - start)
    return labels


# ---- the document ------------------------------------------------------------------------------------


def _leaks(opened: OpenedSources, options: LeakOptions, runs: Mapping[str, Sequence[str]]) -> Leaks:
    parts, context = opened.walk(tally, send=lambda current: _LeakContext(current, options))
    source, whole = context.source, LeakSums.joined(parts, options.examples)
    entries = context.entries(whole.sums)
    if whole.people is not None and not len(whole.people.unit):
        raise InputError(
            f"{source.path}: no gold mention has an identity {str(options.identity)!r}.\n"
            "Name a key of the spans in a JSONL file, or a column of a file of columns."
        )
    size = block_size(options.unit)
    unit, number = ("block", -(-whole.units // size)) if size > 1 else (context.unit, whole.units)
    measures = {system: _measures(whole, system, options, size) for system in whole.counts}
    resampling = Resampling(number, options.resamples, options.seed)
    how: dict[str, Any] = {
        "confidence": CONFIDENCE, "correction": CORRECTION, "primary": PRIMARY, "unit": unit
    }  # fmt: skip
    pairs = [] if runs else list(combinations(measures, 2))
    scored, comparisons = score_and_test(measures, pairs, resampling, **how)
    if runs:
        of_runs = {name: [measures[run] for run in own] for name, own in runs.items()}
        pairs = list(combinations(runs, 2))
        comparisons = compare_runs(of_runs, pairs, resampling, **how)
    systems = {system: _system(measures[system], scored[system].cells, whole, system) for system in measures}
    documents = "document" if (source.documents or 0) > 1 else "sentence"
    settings = LeakSettings(
        **options.kept_by(LeakSettings)
        | {"unit": unit, "identity": None if options.identity is None else str(options.identity)},
        documents=documents,
        confidence=CONFIDENCE,
        correction=CORRECTION,
        number=number,
        few_units=number < FEW_UNITS,
        redacted=options.redact,
    )
    inputs = tuple(entries)
    hints = hints_of(inputs, whole.sides, labels=options.same_label, nothing=", so that nothing is masked")
    return Leaks(
        spanwise=__version__,
        signature=_signature(settings, entries[0].sha256),
        inputs=inputs,
        positions="character" if whole.unit == "character" else "token",
        settings=settings,
        systems=systems,
        runs={name: _over_runs(own, systems) for name, own in runs.items()} or UNSET,
        comparisons=comparisons,
        without_identity=UNSET if whole.people is None else whole.people.without,
        notes=(*hints, *_notes(whole, settings)),
    )


def _over_runs(runs: Sequence[str], systems: Mapping[str, SystemLeaks]) -> LeakRuns:
    """The mean and the standard deviation of each rate over the runs in which it is defined."""
    values = {
        rate: [value for run in runs if (value := getattr(systems[run].overall, rate)) is not None]
        for rate in LEAK_RATES
    }
    return LeakRuns(
        systems=tuple(runs),
        mean={rate: float(np.mean(own)) if own else None for rate, own in values.items()},
        std={rate: float(np.std(own, ddof=1)) if len(own) > 1 else None for rate, own in values.items()},
    )


def _measures(whole: LeakSums, system: str, options: LeakOptions, size: int) -> list[Measure]:
    """The tables of one system, with the cells of all blocks in order."""
    rates = [
        name
        for name, rate in LEAK_RATES.items()
        if not (rate.below == "identities" and whole.people is None)
        and not (rate.below == "text" and not whole.known)
    ]
    measures = []
    for (kind, attribute), counts in whole.counts[system].items():
        if kind == "overall":
            names = sorted(name for name in counts.cells if name != "overall")
            counts = counts.with_cells(["overall", *names])
            labels = {name: name.removeprefix("labels/") for name in names}
            if whole.people is not None:
                counts = whole.people.added(counts, system, labels, across=options.identity_across)
            paths = (("overall",), *(("labels", label) for label in labels.values()))
            tested = tuple(rates)
        else:
            paths = tuple((kind, attribute, cell) if attribute else (kind, cell) for cell in counts.cells)
            tested = ("leak_rate",)
        measures.append(
            Measure(
                MeasureKey(kind, attribute), counts, "leaks", paths, "leaks", tested,
                scores=tuple(LEAK_RATES),
            ).in_blocks(size)
        )  # fmt: skip
    return measures


def _system(
    measures: Sequence[Measure],
    cells: Mapping[tuple[str, ...], Mapping[str, Any]],
    whole: LeakSums,
    name: str,
) -> SystemLeaks:
    """The cells of one system, each with its counts."""
    made: dict[tuple[str, ...], LeakCell] = {}
    for measure in measures:
        for path, totals in zip(measure.paths, measure.counts.total.tolist(), strict=True):
            counts: dict[str, int | None] = dict(zip(LEAK_COUNTS, totals, strict=True))
            scores = dict(cells[path])
            overall = path == ("overall",)
            if not overall:
                counts |= dict.fromkeys(COSTS)
            if whole.people is None or path[0] not in ("overall", "labels"):
                counts |= {"identities": None, "identities_leaking": None}
            if overall and not whole.known:
                counts["text"] = None
                scores["why"] = "; ".join(filter(None, [NO_TEXT, scores.get("why")]))
            if overall or counts["mentions"]:
                made[path] = convert({**counts, **scores}, LeakCell)
    buckets: dict[str, dict[str, LeakCell]] = {}
    for path, cell in made.items():
        if path[0] == "buckets":
            buckets.setdefault(path[1], {})[path[2]] = cell
    return SystemLeaks(
        overall=made["overall",],
        labels={path[1]: cell for path, cell in made.items() if path[0] == "labels"},
        buckets=buckets,
        tough={path[1]: cell for path, cell in made.items() if path[0] == "tough"},
        sentences=whole.examples[name],
    )


def _signature(settings: LeakSettings, digest: str | None) -> str:
    parts = ["spanwise", f"v:{__version__}", f"hide:{'same label' if settings.same_label else 'any label'}"]
    if settings.identity is not None:
        parts.append(f"identity:{settings.identity}{'.across' if settings.identity_across else ''}")
    parts += [
        f"ci:{'logit-t' if settings.resamples else 'none'}.{settings.unit}",
        f"resamples:{settings.resamples}",
        f"seed:{settings.seed}",
    ]
    return "|".join([*parts, f"gold:{digest[:8]}"] if digest else parts).replace("\n", " ")


def _notes(whole: LeakSums, settings: LeakSettings) -> tuple[str, ...]:
    notes = []
    if settings.documents == "sentence":
        notes.append("The data mark no documents, so each sentence stands for a document.")
    if not whole.known:
        notes.append(f"Lost text is not computed: {NO_TEXT}.")
    for name, side in whole.sides.items() if settings.same_label else ():
        if unknown := sorted({*side.given} - {*side.known}):
            shown = ", ".join(unknown[:MOST_NAMED]) + (", …" if len(unknown) > MOST_NAMED else "")
            notes.append(f"Predictions of {name} with labels that gold lacks hide nothing: {shown}.")
    if whole.people is not None and whole.people.without:
        number = whole.people.without
        verb = "is" if number == 1 else "are"
        notes.append(f"{many(number, 'gold mention')} without an identity {verb} left out of identities.")
    return tuple(notes)


# ---- thresholds ----------------------------------------------------------------------------------------


class Limit(Struct, frozen=True):
    """A leak rate, or the upper end of its interval, held against the most that is allowed, in points."""

    system: str
    label: str | None  # None: overall
    most: float
    value: float | None
    bound: bool  # whether the upper end of the interval is held against it
    leaks: int
    mentions: int

    @property
    def passed(self) -> bool:
        """Whether the limit holds; it does not if there is nothing to hold against it."""
        return self.value is not None and 100 * self.value <= self.most + 1e-9

    @property
    def message(self) -> str:
        """The limit in one line."""
        what = "upper end of the leak rate" if self.bound else "leak rate"
        shown = "undefined" if self.value is None else f"{100 * self.value:.2f}"
        verdict = "held" if self.passed else "missed"
        of = "" if self.label is None else f" of {self.label}"
        return (
            f"{verdict}: {self.system}: {what}{of} {shown}, at most {self.most:g} allowed "
            f"({self.leaks:,} of {self.mentions:,} leak)"
        )


def check_limits(document: Leaks, most: Mapping[str | None, float], *, bound: bool = False) -> list[Limit]:
    """Hold the leak rates of all systems against limits in points, by label; None stands for all mentions.

    Args:
        bound: hold the upper end of the interval against the limit instead of the rate.

    Raises:
        ChoiceError: a label does not occur in gold, a limit is not between 0 and 100, or `bound` is asked
            for, but there are no intervals.
    """
    if bound and not document.settings.resamples:
        raise ChoiceError("there are no intervals to hold against a limit.\nUse resamples above 0.")
    limits = []
    for label, points in most.items():
        if not 0 <= points <= 100:
            raise ChoiceError(f"the limit {points!r} of a leak rate must be between 0 and 100 points.")
        for name, system in document.systems.items():
            if label is not None and label not in system.labels:
                raise unknown("label in gold", label, system.labels)
            cell = system.overall if label is None else system.labels[label]
            ends = cell.ends("leak_rate")
            value = (None if ends is None else ends[1]) if bound else cell.leak_rate
            limits.append(Limit(name, label, points, value, bound, cell.leaks, cell.mentions))
    return limits
