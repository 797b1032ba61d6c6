"""Places of the gold data that are worth a second look: votes of systems, and words read in several ways."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.alignment import How
from spanwise.alignment import align as align_text
from spanwise.columns import Bools, Ints, codes, ints, plain, ratio
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_labelling, with_one_vocabulary
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
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation._choices import Inputs
from spanwise.formats import listed_sources, read
from spanwise.suspicion._ranking import (
    OUTSIDE,
    Ballot,
    Candidates,
    Occurrences,
    Readings,
    ScoredPredictions,
    Text,
    VariationTable,
    VoteCandidates,
    ballot,
    count,
    in_tokens,
    join,
    kinds,
    majority_of_runs,
    no_variation,
    occurrences,
    places_of,
    ranked,
    readings_of,
    text_of,
    variation,
    votes_for,
)
from spanwise.suspicion._worksheet import apply_decisions, worksheet

__all__ = ["apply_decisions", "suspects", "suspects_of", "worksheet"]

STEPS = (10, 25, 50, 100, 200, 500, 1000)  # how many proposals are taken as accepted
_ENOUGH = 5  # occurrences from which on a reading may be called rare


def suspects(
    gold: Any,
    systems: Mapping[str, Any] | None = None,
    *,
    train: object = None,
    dev: object = None,
    top: int | None = 200,
    align: How = "strict",
    redact: bool = False,
    **reading: Any,
) -> Suspects:
    """List places of the gold data that are worth a second look.

    A suspect is not an error: systems can be wrong together, and words can be read in two ways with good
    reason. Its score is the larger of two. *Votes*: (systems for the proposal - systems for the gold
    mention) / systems, for proposals of at least two systems. *Variation*: the same words between the
    same neighbours are read differently elsewhere in train, dev and test; the share of the majority reading
    times (1 - 1/n).

    Args:
        gold: the gold file, or an annotation that was read.
        systems: predictions by the name of the system; several runs of one system, in a list, are one
            voter: what more than half of them predict.
        train, dev: more annotated text, or several, in which words may be read differently.
        top: the maximum number of suspects to list; None for all.
        align: what to do where the tokens of predictions differ, as `evaluate` takes it.
        redact: leave out all text.
        reading: how to read the files, as `spanwise.read` takes it.

    Examples:
        >>> tokens = [["Ada", "met", "Bo", "in", "Rome"]]
        >>> gold = read([[(0, 1, "PER"), (4, 5, "PER")]], tokens=tokens)
        >>> said = read([[(0, 1, "PER"), (4, 5, "LOC")]], tokens=tokens)
        >>> found = suspects(gold, {"one": said, "two": said})
        >>> [(one.kind, one.score, one.proposal.label) for one in found.suspects]
        [('label', 1.0, 'LOC')]
    """
    check_top(top)
    whole = read(gold, **reading)
    runs = {name: [read(one, **reading) for one in _runs(source)] for name, source in (systems or {}).items()}
    more = [
        (role, read(source, **reading))
        for role, given in (("train", train), ("dev", dev))
        for source in listed_sources(given)
    ]
    aligned = {name: [_aligned(whole, run, align) for run in own] for name, own in runs.items()}
    inputs = (
        _input("gold", None, whole),
        *(_input("predicted", name, one) for name, own in runs.items() for one in own),
        *(_input(role, None, one) for role, one in more),
    )
    settings = SuspectSettings(top=top, align=align)
    return _document(whole, aligned, [one for _, one in more], inputs, settings, redact=redact)


def suspects_of(inputs: Inputs, *, top: int | None = 200, redact: bool = False) -> Suspects:
    """The same of data that were read already: every system is one voter."""
    check_top(top)
    systems = {name: [_placed(mentions)] for name, mentions in inputs.systems.items()}
    settings = SuspectSettings(top=top, align="strict")
    return _document(inputs.gold, systems, inputs.train, inputs.documented(), settings, redact=redact)


def check_top(top: int | None) -> None:
    """Refuse a negative number of suspects."""
    if top is not None and top < 0:
        raise ChoiceError(f"top is {top}, but must be 0 or more.")


def _document(
    whole: Annotation,
    systems: Mapping[str, Sequence[Mentions]],
    more: Sequence[Annotation],
    inputs: tuple[Input, ...],
    settings: SuspectSettings,
    *,
    redact: bool,
) -> Suspects:
    case = _case(whole, systems, more)
    voters, top = len(systems), settings.top
    everyone = np.ones(voters, dtype=bool)
    counted = count(case.ballot, everyone)
    candidates = join(case.ballot, counted, voters, case.places)
    order, rank, tied = ranked(candidates, whole.corpus)
    listed = order if top is None else order[:top]
    named = kinds(candidates, case.ballot)
    scored = ScoredPredictions.of(systems, candidates.sentence[listed])
    rows = tuple(
        _suspect(
            case, candidates, row, named[row], int(rank[place]), int(tied[place]), voters, scored, redact
        )
        for place, row in enumerate(listed.tolist())
    )
    return Suspects(
        spanwise=__version__,
        signature=f"suspects|voters:{voters}|texts:{1 + len(more)}|spanwise:{__version__}",
        inputs=inputs,
        settings=settings,
        voters=tuple(systems),
        found=len(candidates.gold),
        kinds={kind: Counter(named)[kind] for kind in ("label", "boundary", "missing", "spurious")},
        suspects=rows,
        effects=_effects(case, tuple(systems), top),
        notes=_notes(case, voters, len(listed), len(candidates.gold), rank, tied),
    )


class _SuspicionCase(Struct, frozen=True, eq=False):
    """Everything that suspects are found from, read and compared once."""

    gold: Annotation
    texts: tuple[Annotation, ...]
    ballot: Ballot
    places: VariationTable
    text: Text | None
    occurrences: Occurrences | None
    by_context: Readings | None
    by_surface: Readings | None


def _runs(source: object) -> list[object]:
    """One source or several runs of a system; `{run}` in a path stands for any name."""
    if isinstance(source, str | os.PathLike) and "{run}" in os.fspath(source):
        from glob import escape

        pattern = Path("*".join(map(escape, os.fspath(source).split("{run}"))))
        root = Path(pattern.anchor or ".")
        paths = sorted(root.glob(str(pattern.relative_to(pattern.anchor))))
        if not paths:
            raise InputError(
                f"no file matches {os.fspath(source)!r}.\n{{run}} stands for part of a file or folder name."
            )
        return list[Any](paths)
    return listed_sources(source)


def _aligned(gold: Annotation, predicted: Annotation, how: How) -> Mentions:
    mentions = align_text(gold, predicted, how=how).mentions
    # Aligned mentions are in the order in which they were read.
    return _placed(replace(mentions, score=predicted.mentions.score))


def _placed(mentions: Mentions) -> Mentions:
    return mentions if mentions.placed.all() else mentions.take(np.flatnonzero(mentions.placed))


def _case(
    gold: Annotation, systems: Mapping[str, Sequence[Mentions]], more: Sequence[Annotation]
) -> _SuspicionCase:
    voting = [majority_of_runs(own) for own in systems.values()]
    sides = with_one_labelling([gold.mentions, *voting, *(one.mentions for one in more)])
    box = ballot(sides[0], sides[1 : 1 + len(voting)])
    corpora = with_one_vocabulary([gold.corpus, *(one.corpus for one in more)])
    texts = tuple(
        Annotation(corpus, mentions, one.reading)
        for corpus, mentions, one in zip(
            corpora, [sides[0], *sides[1 + len(voting) :]], [gold, *more], strict=True
        )
    )
    if any(one.corpus.without_text for one in texts):
        return _SuspicionCase(gold, texts, box, no_variation(box), None, None, None, None)
    line = text_of(texts)
    distinct = box.mentions
    supported = np.flatnonzero(distinct.by[1:].sum(axis=0) >= 2)
    proposals = Mentions(
        distinct.sentence[supported], distinct.start[supported], distinct.end[supported],
        codes(distinct.label[supported]), box.labels,
    )  # fmt: skip
    readable = [in_tokens(one.corpus, one.mentions) for one in texts]
    places = occurrences(line, readable, [in_tokens(gold.corpus, proposals)])
    readings = len(box.labels) + 1
    by_context = readings_of(places.context, places.reading, readings)
    by_surface = readings_of(places.surface, places.reading, readings)
    within = int(line.origin[len(gold.corpus)]) if len(more) and len(line.origin) > len(gold.corpus) else len(
        line.tokens
    )  # fmt: skip
    varied = variation(places, by_context, within)
    return _SuspicionCase(
        gold,
        texts,
        box,
        places_of(places, varied, line, box, gold.corpus),
        line,
        places,
        by_context,
        by_surface,
    )


def _suspect(
    case: _SuspicionCase,
    candidates: Candidates,
    row: int,
    kind: str,
    rank: int,
    tied: int,
    voters: int,
    scored: ScoredPredictions,
    redact: bool,
) -> Suspect:
    distinct, labels = case.ballot.mentions, case.ballot.labels
    sentence = int(candidates.sentence[row])
    own = None
    if candidates.gold[row] >= 0:
        at = int(case.ballot.gold[candidates.gold[row]])
        own = SuspectMention(
            start=int(distinct.start[at]), end=int(distinct.end[at]), label=labels[int(distinct.label[at])]
        )
    proposal = None
    if candidates.label[row] >= 0:
        proposal = SuspectMention(
            start=int(candidates.start[row]),
            end=int(candidates.end[row]),
            label=labels[int(candidates.label[row])],
        )
    first = own or proposal
    corpus = case.gold.corpus
    return Suspect(
        rank=rank,
        tied=tied,
        score=float(candidates.score[row]),
        kind=kind,
        sentence=sentence,
        source=corpus.place(sentence, first.start if first and corpus.unit == "token" else 0),
        gold=own,
        proposal=proposal,
        votes=SuspectVotes(for_=int(candidates.supporting[row]), against=int(candidates.opposing[row])),
        evidence=_evidence(
            case, candidates, row, own, proposal, voters, scored.of_label(sentence, own, proposal)
        ),
        tokens=() if redact or corpus.without_text else _text(corpus, sentence),
    )


def _text(corpus: Corpus, sentence: int) -> tuple[str, ...]:
    """The tokens of a sentence, or its text alone where positions are characters."""
    return tuple(corpus.words(sentence)) if corpus.texts is None else (corpus.texts[sentence],)


def _evidence(
    case: _SuspicionCase,
    candidates: Candidates,
    row: int,
    own: SuspectMention | None,
    proposal: SuspectMention | None,
    voters: int,
    confidence: float | None,
) -> SuspectEvidence:
    words: list[str] = []
    if voters >= 2:
        words.append(
            _vote_words(int(candidates.supporting[row]), int(candidates.opposing[row]), voters, own, proposal)
        )
    readings: dict[str, int] = {}
    example = None
    if candidates.group[row] >= 0 and case.by_context is not None:
        readings = _read_as(case, case.by_context, int(candidates.group[row]))
        example = _example(case, int(candidates.group[row]), proposal)
        listed = ", ".join(f"{name} {number}×" for name, number in readings.items())
        words.append(f"the same words between the same neighbours are read as {listed}")
    rarity = _rarity(case, int(candidates.sentence[row]), own, proposal)
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
        said = f"{supporting} of {voters} systems mark nothing here"
    elif own is not None and (own.start, own.end) != (proposal.start, proposal.end):
        said = f"{supporting} of {voters} systems mark another span, as {proposal.label}"
    else:
        said = f"{supporting} of {voters} systems say {proposal.label} here"
    return said if own is None else f"{said}, {opposing} say {own.label} as gold does"


def _read_as(case: _SuspicionCase, counts: Readings, group: int) -> dict[str, int]:
    """The readings of a group, the most frequent first."""
    first, last = np.searchsorted(counts.cell, [group * counts.readings, (group + 1) * counts.readings])
    rows = [
        (int(number), "O" if code == OUTSIDE else case.ballot.labels[code - 1])
        for number, code in zip(
            counts.count[first:last].tolist(),
            (counts.cell[first:last] % counts.readings).tolist(),
            strict=True,
        )
    ]
    return {name: number for number, name in sorted(rows, key=lambda pair: (-pair[0], pair[1]))}


def _example(case: _SuspicionCase, group: int, proposal: SuspectMention | None) -> str | None:
    """A place where the words are read as proposed."""
    occurrences, text = case.occurrences, case.text
    if occurrences is None or text is None:
        return None
    code = OUTSIDE if proposal is None else case.ballot.labels.index(proposal.label) + 1
    rows = np.flatnonzero((occurrences.context == group) & (occurrences.reading == code))
    if not len(rows):
        return None
    begin = int(occurrences.begin[rows].min())
    sentence = int(np.searchsorted(text.origin, begin, "right")) - 1
    number = int(np.searchsorted(text.first, sentence, "right")) - 1
    inside = sentence - int(text.first[number])
    return case.texts[number].corpus.place(inside, begin - int(text.origin[sentence]))


def _rarity(
    case: _SuspicionCase, sentence: int, own: SuspectMention | None, proposal: SuspectMention | None
) -> float | None:
    """1 - the share of gold's reading among the occurrences of the words, where there are five or more."""
    occurrences, text, counts = case.occurrences, case.text, case.by_surface
    mention = own or proposal
    if occurrences is None or text is None or counts is None or mention is None:
        return None
    where = Mentions.of([(sentence, mention.start, mention.end, mention.label)])
    placed = in_tokens(case.gold.corpus, where).rows()
    if not placed:
        return None
    _, start, end, _ = placed[0]
    at = _occurrence(occurrences, int(text.origin[sentence]) + start, end - start)
    if at is None or counts.total[occurrences.surface[at]] < _ENOUGH:
        return None
    reading = OUTSIDE if own is None else case.ballot.labels.index(own.label) + 1
    group = ints([occurrences.surface[at]])
    return plain(1 - ratio(counts.of(group, ints([reading]))[0], counts.total[group[0]]))


def _occurrence(occurrences: Occurrences, begin: int, length: int) -> int | None:
    """Occurrences are ordered by length, then by place."""
    first, last = np.searchsorted(occurrences.length, [length, length + 1])
    at = int(first + np.searchsorted(occurrences.begin[first:last], begin))
    return at if at < last and occurrences.begin[at] == begin else None


def _effects(
    case: _SuspicionCase, names: Sequence[str], top: int | None
) -> dict[str, tuple[SuspectEffect, ...]]:
    """F1 of each system if the first k proposals were accepted, found without its own vote."""
    if len(names) < 3:
        return {}
    result = {}
    for number, name in enumerate(names):
        others = np.ones(len(names), dtype=bool)
        others[number] = False
        counted = count(case.ballot, others)
        candidates = join(case.ballot, counted, len(names) - 1, case.places)
        order, _, _ = ranked(candidates, case.gold.corpus)
        result[name] = _effect(
            case.ballot, counted, candidates.take(order), case.ballot.mentions.by[number + 1], top
        )
    return result


def _effect(
    box: Ballot, counted: VoteCandidates, candidates: Candidates, own: Bools, top: int | None
) -> tuple[SuspectEffect, ...]:
    distinct = box.mentions
    inside = distinct.by[0]
    gold, predicted, correct = int(inside.sum()), int(own.sum()), int((inside & own).sum())
    has = replace(counted, votes=ints(own))
    proposed = candidates.label >= 0
    gains = np.zeros(len(candidates.gold), dtype=np.int64)
    rows = np.flatnonzero(proposed)
    gains[rows] = votes_for(
        box,
        has,
        candidates.sentence[rows],
        candidates.start[rows],
        candidates.end[rows],
        candidates.label[rows],
    )
    loses = (
        np.where(candidates.gold >= 0, own[box.gold[np.maximum(candidates.gold, 0)]], False)
        if len(box.gold)
        else 0
    )
    right = correct + np.concatenate([[0], np.cumsum(gains - loses)])
    size = gold + np.concatenate([[0], np.cumsum(proposed.astype(int) - (candidates.gold >= 0))])
    last = len(candidates.gold) if top is None else min(top, len(candidates.gold))
    steps: Ints = ints(sorted({0, last, *(step for step in STEPS if step < last)}))
    return tuple(
        SuspectEffect(k=step, f1=plain(ratio(2 * right[step], size[step] + predicted)))
        for step in steps.tolist()
    )


def _notes(
    case: _SuspicionCase, voters: int, listed: int, number: int, rank: Ints, tied: Ints
) -> tuple[str, ...]:
    notes = []
    if voters < 2:
        notes.append("votes need at least two systems; suspects rest only on variation")
    elif voters == 2:
        notes.append("effects on scores need at least three systems: a system does not vote on itself")
    if case.text is None:
        notes.append("variation needs text; suspects rest only on votes")
    if 0 < listed < number and rank[listed - 1] == rank[listed]:
        last = int(rank[listed - 1])
        shown = listed - last + 1
        notes.append(
            f"rank {last:,} is shared by {int(tied[listed - 1]):,} suspects, of which {shown:,} are listed"
        )
    return tuple(notes)


def _input(role: str, name: str | None, one: Annotation) -> Input:
    reading = one.reading
    entry = Input(
        role=role,
        path=reading.path,
        sha256=reading.sha256,
        format=reading.format,
        scheme=reading.scheme,
        repairs=reading.repairs,
    )
    return entry if name is None else replace(entry, system=name)
