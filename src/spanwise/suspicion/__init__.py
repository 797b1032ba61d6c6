"""Find gold annotations worth a second look, from votes of systems and words annotated inconsistently."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.alignment import How
from spanwise.columns import Ints, Words, distinct, ints, offsets, plain, ratio
from spanwise.document import Input
from spanwise.document.dataset import (
    Suspect,
    SuspectEffect,
    SuspectEvidence,
    SuspectMention,
    Suspects,
    SuspectSettings,
    SuspectVotes,
)
from spanwise.engines import Engine, engine_of, joined, local_engine
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation.blocks import (
    BlockSource,
    OneBlock,
    ReadLabels,
    TrainingData,
    TrainingFiles,
    many_blocks,
)
from spanwise.evaluation.choices import (
    Choices,
    Inputs,
    check_keywords,
    combine_inputs,
    named_sources,
    parts_of,
)
from spanwise.evaluation.dataset import UnopenedSources, ignore_progress, is_spark, read_by_spark
from spanwise.formats import Reader, listed_sources, says_label_rules
from spanwise.settings import check_options
from spanwise.suspicion._blocks import (
    CachedVotesBlock,
    CandidateRows,
    Judged,
    ListedPlace,
    ShownEvidence,
    Voters,
    VotesContext,
    WordsMarked,
    judge,
    mark_elsewhere,
    mark_words,
    read_elsewhere,
    read_words,
    show,
    show_elsewhere,
)
from spanwise.suspicion._worksheet import apply_decisions, worksheet
from spanwise.suspicion.contexts import ContextCounts
from spanwise.suspicion.ranking import KINDS, OUTSIDE, ranked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["apply_decisions", "suspects", "suspects_of", "worksheet"]

STEPS = (10, 25, 50, 100, 200, 500, 1000)  # numbers of accepted proposals to report effects for
_ENOUGH = 5  # minimum number of occurrences to call a reading rare


@says_label_rules
def suspects(
    gold: object,
    systems: Mapping[str, object] | None = None,
    *,
    train: object = None,
    dev: object = None,
    top: int | None = 200,
    align: How = "strict",
    redact: bool = False,
    memory: int | str | None = None,
    workers: int | None = 1,
    engine: Engine | SparkSession | None = None,
    **reading: Any,
) -> Suspects:
    """List places of the gold data that are worth a second look.

    A suspect is not necessarily an error: systems can be wrong together, and the same words can have two
    readings for good reason. Its score is the larger of two. *Votes*: (systems for the proposal - systems for
    the gold mention) / systems, for proposals of at least two systems. *Variation*: the same words between
    the same neighbours are read differently elsewhere in train, dev and test; the share of the majority
    reading times (1 - 1/n).

    Args:
        gold: the gold file, or an annotation that has already been read.
        systems: predictions by the name of the system; a list of several runs of one system counts as one
            voter, which predicts what more than half of the runs predict.
        train, dev: one or more other annotated texts, in which words may be read differently.
        top: the maximum number of suspects to list; None for all.
        align: what to do if the tokens of predictions differ from gold, as in `evaluate`.
        redact: leave out all text.
        memory: read files in parts that fit in about this much memory ("1GB"), as in `evaluate`.
        workers: the number of processes; it does not affect the result.
        engine: where blocks run, as in `evaluate`: a Spark session, or any `Engine`.
        reading: keywords of `spanwise.read`.

    Examples:
        >>> from spanwise import read
        >>> tokens = [["Ada", "met", "Bo", "in", "Rome"]]
        >>> gold = read([[(0, 1, "PER"), (4, 5, "PER")]], tokens=tokens)
        >>> predicted = read([[(0, 1, "PER"), (4, 5, "LOC")]], tokens=tokens)
        >>> document = suspects(gold, {"first": predicted, "second": predicted})
        >>> [(suspect.kind, suspect.score, suspect.proposal.label) for suspect in document.suspects]
        [('label', 1.0, 'LOC')]
    """
    check_options("suspects", {"top": top})
    runs = {name: _runs(source) for name, source in (systems or {}).items()}
    voters, flat = _numbered(runs)
    more = [
        (role, listed_source)
        for role, sources in (("train", train), ("dev", dev))
        for listed_source in listed_sources(sources)
    ]
    runner, others = engine_of(engine), [listed_source for _, listed_source in more]
    if is_spark(gold) or read_by_spark(gold, flat, others, runner):
        raise ChoiceError(
            "suspects are found in local files, not by Spark.\n"
            "Give local files; with the session as engine=, its executors compare the mentions."
        )
    check_keywords(reading)
    choices = Choices.plain(attributes="none", align=align, reading=reading)
    unopened = UnopenedSources(gold, flat, others, choices, engine=runner)
    opened = _opened(unopened, memory=memory, workers=workers)
    roles = [role for role, _ in more]
    return _document(opened, voters, roles, SuspectSettings(top=top, align=align), redact=redact)


def suspects_of(inputs: Inputs, *, top: int | None = 200, redact: bool = False) -> Suspects:
    """Like `suspects`, but for data that has already been read; every system is one voter."""
    check_options("suspects", {"top": top})
    more = TrainingData(TrainingFiles.in_memory(inputs.train), local_engine(1)) if inputs.train else None
    opened = _OpenedVotes(CachedVotesBlock.of(OneBlock(inputs), scores=False), local_engine(1), more)
    voters = {name: (name,) for name in inputs.systems}
    roles = ["train"] * len(inputs.train)
    return _document(opened, voters, roles, SuspectSettings(top=top, align="strict"), redact=redact)


def _numbered(runs: Mapping[str, Sequence[object]]) -> tuple[Voters, dict[str, object]]:
    """Number all runs: return the numbers of each system's runs, and the source of each number."""
    flat: dict[str, object] = {}
    voters: dict[str, tuple[str, ...]] = {}
    for name, own in runs.items():
        keys = [str(len(flat) + index) for index in range(len(own))]
        flat.update(zip(keys, own, strict=True))
        voters[name] = tuple(keys)
    return voters, flat


class _OpenedVotes(Struct, frozen=True, eq=False):
    """The blocks of the test set, the engine that processes them, and the other texts, if any."""

    source: BlockSource
    engine: Engine
    more: TrainingData | None


def _opened(unopened: UnopenedSources, *, memory: int | str | None, workers: int | None) -> _OpenedVotes:
    """Open the files, as a single block in memory or in parts."""
    reading = unopened.choices.reading
    bound, workers = parts_of(
        memory, workers, unopened.gold, unopened.systems, streamable=True, reading=reading,
        elsewhere=unopened.engine is not None,
    )  # fmt: skip
    runner = unopened.engine or local_engine(workers)
    source: BlockSource
    if bound is None:
        reader = Reader(**reading)
        gold = reader.read(unopened.gold)
        scheme = gold.reading.scheme
        predicted = {
            key: reader.read_predictions(named_source, prefer=scheme)
            for key, named_source in named_sources(unopened.systems).items()
        }
        others = [reader.read(listed_source) for listed_source in listed_sources(unopened.train)]
        inputs = combine_inputs(gold, predicted, others, align=unopened.choices.align, name=None)
        source, files = (
            CachedVotesBlock.of(OneBlock(inputs), scores=True),
            TrainingFiles.in_memory(inputs.train),
        )
    else:
        keep = not runner.elsewhere
        source = many_blocks(
            unopened.gold,
            unopened.systems,
            unopened.choices,
            name=None,
            memory=bound,
            keep=keep,
            progress=ignore_progress,
        )
        files = TrainingFiles.of(
            unopened.train, reading, keep=keep, hold_up_to=bound if keep else 0, documents=True
        )
    more = [file.labels["only"] for file in files.files]
    (source.read_labels | ReadLabels.of(more)).check(reading)
    return _OpenedVotes(source, runner, TrainingData(files, runner) if files.files else None)


def _document(
    opened: _OpenedVotes, voters: Voters, roles: Sequence[str], settings: SuspectSettings, *, redact: bool
) -> Suspects:
    source, engine, more = opened.source, opened.engine, opened.more
    asked = VotesContext(source, None if more is None else more.source, voters, redact=redact)
    marked = joined(engine.map(mark_words, source.references(), asked))
    elsewhere = [] if more is None else [more.map_and_join(mark_elsewhere, asked)]
    all_marked = WordsMarked.joined([marked, *elsewhere])
    asked = replace(
        asked, labels=tuple(sorted(all_marked.labels)), text=all_marked.text, surfaces=all_marked.surfaces
    )
    if asked.text:
        counts = joined(engine.map(read_words, source.references(), asked))
        if more is not None:
            other_counts = more.map_and_join(read_elsewhere, replace(asked, among=distinct(counts.context)))
            counts = ContextCounts.joined([counts, other_counts])
        asked = replace(asked, counts=counts.varying())
    judged = list(engine.map(judge, source.references(), asked))
    first = offsets([block.sentences for block in judged])
    rows = CandidateRows.joined([block.everyone for block in judged], first[:-1].tolist())
    order, rank, tied = ranked(rows.candidates, rows.lot)
    listed = order if settings.top is None else order[: settings.top]
    case = _SuspicionCase(asked, rows, len(voters))
    evidence = _shown(opened, case, listed, first)
    number = len(order)
    named = Counter(rows.kind.tolist())
    entries = [
        *source.entries(marked.sums),
        *(
            []
            if more is None
            else more.source.entries({int(key): sums for key, sums in elsewhere[0].sums.items()})
        ),
    ]
    return Suspects(
        spanwise=__version__,
        signature=f"suspects|voters:{len(voters)}|texts:{1 + len(roles)}|spanwise:{__version__}",
        inputs=_inputs(entries, voters, roles),
        settings=settings,
        voters=tuple(voters),
        found=number,
        kinds={kind: named[code] for code, kind in enumerate(KINDS)},
        suspects=tuple(
            _suspect(case, row, int(rank[index]), int(tied[index]), evidence, index)
            for index, row in enumerate(listed.tolist())
        ),
        effects=_effects(judged, first[:-1].tolist(), tuple(voters), settings.top),
        notes=_notes(case, len(listed), number, rank, tied),
    )


class _SuspicionCase(Struct, frozen=True, eq=False, dict=True):
    """The data that suspects are described from."""

    shared: VotesContext
    rows: CandidateRows
    voters: int

    def mentions(self, row: int) -> tuple[SuspectMention | None, SuspectMention | None]:
        """The gold mention of a candidate, and the mention proposed instead; either may be None."""
        rows, labels = self.rows, self.shared.labels
        own = proposal = None
        if rows.own_label[row] >= 0:
            own = SuspectMention(
                start=int(rows.own_start[row]),
                end=int(rows.own_end[row]),
                label=labels[int(rows.own_label[row])],
            )
        candidates = rows.candidates
        if candidates.label[row] >= 0:
            proposal = SuspectMention(
                start=int(candidates.start[row]),
                end=int(candidates.end[row]),
                label=labels[int(candidates.label[row])],
            )
        return own, proposal

    @cached_property
    def contexts(self) -> Words:
        """The distinct contexts, which candidates refer to by index."""
        assert self.shared.counts is not None
        return distinct(self.shared.counts.context)

    def pair(self, row: int) -> tuple[int, int] | None:
        """The context and the proposed reading of a candidate found by variation; None for others."""
        group = int(self.rows.candidates.group[row])
        return (int(self.contexts[group]), int(self.rows.candidates.label[row]) + 1) if group >= 0 else None


def _shown(opened: _OpenedVotes, case: _SuspicionCase, listed: Ints, first: Ints) -> ShownEvidence:
    """Collect what is shown of the listed suspects, in their order."""
    rows, blocks = case.rows, dict[int, list[ListedPlace]]()
    sentence = rows.candidates.sentence[listed]
    number = np.searchsorted(first, sentence, "right") - 1
    for row, at, block in zip(listed.tolist(), sentence.tolist(), number.tolist(), strict=True):
        listed_place = ListedPlace(at - int(first[block]), *case.mentions(row))
        blocks.setdefault(block, []).append(listed_place)
    size, surface = rows.size[listed], rows.surface[listed]
    pairs = {pair for row in listed.tolist() if (pair := case.pair(row)) is not None}
    asked = replace(
        case.shared,
        surfaces={int(length): distinct(surface[size == length]) for length in distinct(size[size > 0])},
        counts=None,
        listed=blocks,
        pairs=tuple(sorted(pairs)),
    )
    source, more = opened.source, opened.more
    parts = [joined(opened.engine.map(show, enumerate(source.references()), asked))]
    if more is not None and asked.text and len(listed):
        parts.append(more.map_and_join(show_elsewhere, asked))
    evidence = ShownEvidence.joined(parts)
    # Results come block by block; restore the order of the list.
    order = np.argsort(np.argsort(number, kind="stable"), kind="stable").tolist()
    return replace(evidence, places=tuple(evidence.places[at] for at in order))


def _inputs(entries: Sequence[Input], voters: Voters, roles: Sequence[str]) -> tuple[Input, ...]:
    names = {run: name for name, runs in voters.items() for run in runs}
    tested = [entry for entry in entries if entry.role != "train"]
    rest = [entry for entry in entries if entry.role == "train"]
    return (
        *(
            entry if entry.role == "gold" else replace(entry, system=names[str(entry.system)])
            for entry in tested
        ),
        *(replace(entry, role=role) for entry, role in zip(rest, roles, strict=True)),
    )


def _runs(source: object) -> list[object]:
    """The runs of a system: one or several sources; `{run}` in a path matches any name."""
    if isinstance(source, str | os.PathLike) and "{run}" in os.fspath(source):
        from glob import escape

        pattern = Path("*".join(map(escape, os.fspath(source).split("{run}"))))
        root = Path(pattern.anchor or ".")
        paths = sorted(root.glob(str(pattern.relative_to(pattern.anchor))))
        if not paths:
            raise InputError(
                f"no file matches {os.fspath(source)!r}.\n{{run}} stands for part of a file or folder name."
            )
        return [*paths]
    return listed_sources(source)


def _suspect(
    case: _SuspicionCase, row: int, rank: int, tied: int, evidence: ShownEvidence, index: int
) -> Suspect:
    own, proposal = case.mentions(row)
    candidates, shown = case.rows.candidates, evidence.places[index]
    return Suspect(
        rank=rank,
        tied=tied,
        score=float(candidates.score[row]),
        kind=KINDS[int(case.rows.kind[row])],
        sentence=int(candidates.sentence[row]),
        source=shown.source,
        gold=own,
        proposal=proposal,
        votes=SuspectVotes(for_=int(candidates.supporting[row]), against=int(candidates.opposing[row])),
        evidence=_evidence(case, row, own, proposal, shown.confidence, evidence),
        tokens=shown.tokens,
    )


def _evidence(
    case: _SuspicionCase,
    row: int,
    own: SuspectMention | None,
    proposal: SuspectMention | None,
    confidence: float | None,
    evidence: ShownEvidence,
) -> SuspectEvidence:
    words: list[str] = []
    candidates, voters = case.rows.candidates, case.voters
    if voters >= 2:
        words.append(
            _vote_words(int(candidates.supporting[row]), int(candidates.opposing[row]), voters, own, proposal)
        )
    readings: dict[str, int] = {}
    example, pair = None, case.pair(row)
    if pair is not None:
        readings = _read_as(case, pair[0])
        example = evidence.examples.get(pair)
        listed = ", ".join(f"{name} {number}×" for name, number in readings.items())
        words.append(f"the same words between the same neighbours are read as {listed}")
    rarity = _rarity(case, row, evidence)
    if rarity is not None and rarity >= 0.5:
        words.append(f"{100 * rarity:.0f} % of the occurrences of these words are read differently")
    if confidence is not None and confidence < 0.5:
        words.append(f"the systems' scores leave {100 * confidence:.0f} % for the gold reading")
    return SuspectEvidence(
        confidence=confidence,
        votes=float(candidates.vote_score[row]) or None if voters >= 2 else None,
        variation=float(candidates.variation_score[row]) or None,
        rarity=rarity,
        readings=readings,
        example=example,
        words=tuple(words),
    )


def _vote_words(
    supporting: int, opposing: int, voters: int, own: SuspectMention | None, proposal: SuspectMention | None
) -> str:
    if proposal is None:
        votes = f"{supporting} of {voters} systems mark nothing here"
    elif own is not None and (own.start, own.end) != (proposal.start, proposal.end):
        votes = f"{supporting} of {voters} systems mark another span, as {proposal.label}"
    else:
        votes = f"{supporting} of {voters} systems say {proposal.label} here"
    return votes if own is None else f"{votes}, {opposing} say {own.label} as gold does"


def _read_as(case: _SuspicionCase, context: int) -> dict[str, int]:
    """The readings of the words of a context, most frequent first."""
    counts, labels = case.shared.counts, case.shared.labels
    assert counts is not None
    first, last = (
        int(np.searchsorted(counts.context, np.uint64(context), side)) for side in ("left", "right")
    )
    rows = [
        (number, "O" if code == OUTSIDE else labels[code - 1])
        for number, code in zip(
            counts.count[first:last].tolist(), counts.reading[first:last].tolist(), strict=True
        )
    ]
    return {name: number for number, name in sorted(rows, key=lambda pair: (-pair[0], pair[1]))}


def _rarity(case: _SuspicionCase, row: int, evidence: ShownEvidence) -> float | None:
    """1 minus the share of gold's reading among the occurrences of the words; None below five occurrences."""
    size, words = int(case.rows.size[row]), int(case.rows.surface[row].view(np.int64))
    if not size:
        return None
    times = [evidence.readings.get((words, size, code), 0) for code in range(len(case.shared.labels) + 1)]
    if sum(times) < _ENOUGH:
        return None
    reading = OUTSIDE if case.rows.own_label[row] < 0 else int(case.rows.own_label[row]) + 1
    return plain(1 - ratio(times[reading], sum(times)))


def _effects(
    judged: Sequence[Judged], first: Sequence[int], names: Sequence[str], top: int | None
) -> dict[str, tuple[SuspectEffect, ...]]:
    """The F1 each system would have if the first k proposals, found without its vote, were accepted."""
    if len(names) < 3:
        return {}
    gold = sum(block.gold for block in judged)
    result = {}
    for number, name in enumerate(names):
        rows = CandidateRows.joined([block.without[number] for block in judged], first)
        order, _, _ = ranked(rows.candidates, rows.lot)
        accepted = rows.candidates.take(order)
        predicted, correct = (
            sum(int(getattr(block, column)[number]) for block in judged)
            for column in ("predicted", "correct")
        )
        right = correct + np.concatenate([[0], np.cumsum(rows.gain[order])])
        grown = (accepted.label >= 0).astype(int) - (accepted.gold >= 0)
        size = gold + np.concatenate([[0], np.cumsum(grown)])
        last = len(order) if top is None else min(top, len(order))
        steps: Ints = ints(sorted({0, last, *(step for step in STEPS if step < last)}))
        result[name] = tuple(
            SuspectEffect(k=step, f1=plain(ratio(2 * right[step], size[step] + predicted)))
            for step in steps.tolist()
        )
    return result


def _notes(case: _SuspicionCase, listed: int, number: int, rank: Ints, tied: Ints) -> tuple[str, ...]:
    notes, voters = [], case.voters
    if voters < 2:
        notes.append("votes need at least two systems; suspects rest only on variation")
    elif voters == 2:
        notes.append("effects on scores need at least three systems: a system does not vote on itself")
    if not case.shared.text:
        notes.append("variation needs text; suspects rest only on votes")
    if 0 < listed < number and rank[listed - 1] == rank[listed]:
        last = int(rank[listed - 1])
        shown = listed - last + 1
        notes.append(
            f"rank {last:,} is shared by {int(tied[listed - 1]):,} suspects, of which {shown:,} are listed"
        )
    return tuple(notes)
