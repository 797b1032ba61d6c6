"""How far annotators agree on labeled spans: measures, majority, and what is left to decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from spanwise import __version__
from spanwise.agreement._coefficients import gamma_of, token_agreement, unitizing
from spanwise.agreement._pairs import (
    Votes,
    beside,
    ceiling,
    count_votes,
    document_means,
    fair_outcomes,
    majority_counts,
    mean_of,
    means,
    pairs,
    read_decisions,
    targets,
)
from spanwise.agreement._pairs import majority as majority_gold
from spanwise.agreement._pairs import worksheet as worksheet_of
from spanwise.agreement._shared import Shared, annotations_of, redacted, shared
from spanwise.corpus import Annotation
from spanwise.document.dataset import (
    Agreement,
    AgreementPair,
    AgreementSettings,
    DisagreementExample,
    DisagreementMention,
    RankedAnnotator,
)
from spanwise.document.head import Input
from spanwise.errors import ChoiceError
from spanwise.formats import write, write_atomically

__all__ = ["agree"]


def agree(
    annotators: Mapping[str, Any] | Iterable[Any] | str | Path,
    *,
    systems: Mapping[str, Any] | Iterable[Any] | None = None,
    votes: int | None = None,
    tokens: Literal["label", "iob2"] = "label",
    gamma: bool = False,
    majority: str | Path | None = None,
    worksheet: str | Path | None = None,
    decisions: str | Path | None = None,
    examples: int = 20,
    redact: bool = False,
    **reading: Any,
) -> Agreement:
    """Measure how far annotators agree.

    Only documents that annotators share count: a pair is compared over those that both have, Fleiss' κ and
    the concatenation behind α_u use those that all have.

    Args:
        annotators: a file, or an annotation that was read, for each annotator's name; a list of files,
            each called by its stem or given as "name=file"; or one file that holds several annotators.
        systems: predictions to be scored against the same majorities as the annotators.
        votes: how many annotators accept a mention; by default more than half.
        tokens: what token measures compare: labels, or tags in IOB2.
        gamma: also compute γ, which needs the extra `agreement` and time.
        majority: where to write the mentions that most annotators marked; ties stay out.
        worksheet: where to write the mentions on which annotators differ, as CSV for adjudication.
        decisions: such a worksheet, filled in; its decisions overrule the votes in `majority`.
        examples: how many sentences with disagreement the document holds at most.
        redact: leave out all text.
        reading: how to read the files, as `spanwise.read` takes it.

    Raises:
        ChoiceError: there are fewer than two annotators.
        InputError: no two annotators share a document, or a shared document has different texts.

    Examples:
        >>> from spanwise.formats import read
        >>> tokens = [["Ada", "met", "Bo", "in", "Rome"]]
        >>> first = read([[(0, 1, "PER"), (2, 3, "PER"), (4, 5, "LOC")]], tokens=tokens)
        >>> second = read([[(0, 1, "PER"), (4, 5, "ORG")]], tokens=tokens)
        >>> agree({"first": first, "second": second}).mean.overall.f1
        0.4
    """
    if tokens not in ("label", "iob2"):
        raise ChoiceError(f"tokens is {tokens!r}, but must be 'label' or 'iob2'.")
    parties = annotations_of(annotators, reading)
    others = annotations_of(systems, reading, "system")
    ground = shared(parties, others)
    counted = count_votes(ground, votes)
    decided = {} if decisions is None else read_decisions(decisions, ground)
    if majority is not None:
        write(majority_gold(ground, counted, decided), majority)
    if redact:
        ground = redacted(ground)
    if worksheet is not None:
        write_atomically(worksheet, worksheet_of(ground, counted, redact=redact))
    target = targets(ground, counted)
    fair, disagreement = fair_outcomes(ground)
    found = pairs(ground, fair)
    top = ceiling(ground, target)
    return Agreement(
        spanwise=__version__,
        signature=_signature(ground, tokens, votes),
        inputs=(
            *(_input("annotator", name, one) for name, one in parties.items()),
            *(_input("system", name, one) for name, one in others.items()),
        ),
        settings=AgreementSettings(votes=votes, tokens=tokens, unit=_unit(ground)),
        annotators=ground.annotators,
        unit=ground.corpus.unit,
        documents=int((ground.present.sum(axis=0) >= 2).sum()),
        pairs=found,
        mean=means(found, document_means(ground)),
        disagreement=disagreement,
        tokens=token_agreement(ground, tokens),
        alpha_u=unitizing(ground),
        gamma=gamma_of(ground) if gamma else None,
        ceiling=top,
        ranking=_ranking(ground, found, top.annotators),
        systems=beside(ground, target, counted),
        majority=majority_counts(ground, counted, votes),
        notes=_notes(ground),
        sentences=() if redact else _examples(ground, counted, examples),
    )


def _unit(ground: Shared) -> str:
    """What intervals rest on: documents where the data mark at least two, else sentences."""
    return "document" if ground.marked and len(ground.documents) > 1 else "sentence"


def _signature(ground: Shared, tokens: str, votes: int | None) -> str:
    rule = "majority" if votes is None else f"votes:{votes}"
    parts = (
        f"annotators:{len(ground.annotators)}",
        f"tokens:{tokens}",
        f"rule:{rule}",
        f"unit:{_unit(ground)}",
    )
    return "|".join(("agree", *parts, f"spanwise:{__version__}"))


def _input(role: str, name: str, one: Annotation) -> Input:
    reading = one.reading
    return Input(
        role=role,
        path=reading.path,
        sha256=reading.sha256,
        format=reading.format,
        scheme=reading.scheme,
        repairs=reading.repairs,
        system=name,
    )


def _ranking(
    ground: Shared, found: Sequence[AgreementPair], others: Mapping[str, float | None]
) -> tuple[RankedAnnotator, ...]:
    """The annotators, those nearest to the majority of the others first."""
    rows = []
    somewhere = ground.present.any(axis=0)
    for number, name in enumerate(ground.annotators):
        own = [pair.overall.f1 for pair in found if name in pair.annotators]
        missing = np.flatnonzero(somewhere & ~ground.present[number]).tolist()
        rows.append(
            RankedAnnotator(
                annotator=name,
                documents=int(ground.present[number].sum()),
                mentions=len(ground.mentions[number]),
                mean_f1=mean_of(own).f1,
                others_f1=others[name],
                missing=tuple(ground.documents[document] for document in missing),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.others_f1 or 0), -(row.mean_f1 or 0), row.annotator)))


def _notes(ground: Shared) -> tuple[str, ...]:
    notes = []
    if not ground.marked:
        notes.append(
            "nothing marks documents, so intervals rest on sentences; --documents names a field that does"
        )
    alone = np.flatnonzero(ground.present.sum(axis=0) == 1).tolist()
    if alone:
        names = ", ".join(ground.documents[number] for number in alone[:5])
        more = f" and {len(alone) - 5:,} more" if len(alone) > 5 else ""
        notes.append(f"documents of one annotator alone count nowhere: {names}{more}")
    for number, name in enumerate(ground.annotators):
        missing = np.flatnonzero(ground.present.any(axis=0) & ~ground.present[number]).tolist()
        if missing:
            names = ", ".join(ground.documents[document] for document in missing[:5])
            more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
            notes.append(f"{name} has no annotation of {names}{more}")
    return tuple(notes)


def _examples(ground: Shared, votes: Votes, most: int) -> tuple[DisagreementExample, ...]:
    """The sentences with the most mentions that not all of their annotators marked."""
    distinct, corpus = ground.distinct, ground.corpus
    if corpus.without_text:
        return ()
    disputed = (votes.voters >= 2) & (votes.votes > 0) & (votes.votes < votes.voters)
    number = np.bincount(distinct.sentence[disputed], minlength=len(corpus))
    order = np.argsort(-number, kind="stable")[:most]
    result = []
    for sentence in order[number[order] > 0].tolist():
        first, last = np.searchsorted(distinct.sentence, [sentence, sentence + 1])
        document = int(ground.document[sentence])
        result.append(
            DisagreementExample(
                document=ground.documents[document],
                source=corpus.place(sentence),
                text=tuple(corpus.words(sentence)) if corpus.texts is None else (corpus.texts[sentence],),
                annotators=tuple(
                    name for i, name in enumerate(ground.annotators) if ground.present[i, document]
                ),
                mentions=tuple(
                    DisagreementMention(
                        start=int(distinct.start[row]),
                        end=int(distinct.end[row]),
                        label=ground.labels[int(distinct.label[row])],
                        annotators=tuple(
                            name for i, name in enumerate(ground.annotators) if distinct.by[i, row]
                        ),
                    )
                    for row in range(int(first), int(last))
                    if votes.votes[row]
                ),
            )
        )
    return tuple(result)
