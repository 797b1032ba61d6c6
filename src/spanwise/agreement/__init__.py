"""Inter-annotator agreement on labeled spans: measures, the majority, and disagreements to resolve."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.agreement._differing import DifferenceSums, differences
from spanwise.agreement._frames import frame_documents
from spanwise.agreement._jackknife import MOST_UNITS, UnitPlan
from spanwise.agreement._lake import lake_documents
from spanwise.agreement._levels import (
    LevelSums,
    compared_parties,
    human_level,
    level_scores,
    pair_intervals,
)
from spanwise.agreement._majority import (
    AcceptedMentions,
    Decision,
    OpenRows,
    Votes,
    VoteSums,
    accepted,
    ceiling,
    check_votes,
    count_votes,
    decided_here,
    kept_text,
    majority_counts,
    read_decisions,
    score_systems,
)
from spanwise.agreement._pairs import PairSums, document_means, mean_of, means, pairs, pooled
from spanwise.agreement._shared import InMemoryDocuments, Presence, Shared, SharedSource, combine_annotations
from spanwise.agreement._sources import annotations_of
from spanwise.agreement._tokens import TokenSums, TokenUnits, token_agreement
from spanwise.agreement._unitizing import UnitSums, gamma_of, unitizing
from spanwise.columns import Ints, ints, offsets
from spanwise.corpus import Annotation, Corpus, Reading, joined_mentions
from spanwise.document import Input
from spanwise.document.agreement import (
    Agreement,
    AgreementPair,
    AgreementSettings,
    DisagreementExample,
    DisagreementMention,
    RankedAnnotator,
)
from spanwise.engines import Engine, InProcess, Joining, engine_of
from spanwise.engines.spark import FrameEngine, SparkEngine
from spanwise.errors import ChoiceError
from spanwise.evaluation.blocks import ReadLabels
from spanwise.evaluation.dataset import is_spark
from spanwise.evaluation.lake import joined_files
from spanwise.formats import ReadKeywords, says_label_rules, with_rules, write_atomically
from spanwise.formats.writing import lost_note, write_results

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["agree"]


@says_label_rules
def agree(
    source: object = None,
    *,
    annotators: Mapping[str, object] | Iterable[object] | str | Path | None = None,
    systems: Mapping[str, object] | Iterable[object] | None = None,
    votes: int | None = None,
    tokens: str | None = None,
    units: TokenUnits | None = None,
    gamma: bool = False,
    majority: str | Path | None = None,
    to: str | None = None,
    worksheet: str | Path | None = None,
    decisions: str | Path | None = None,
    examples: int = 20,
    redact: bool = False,
    engine: Engine | SparkSession | None = None,
    **reading: Any,
) -> Agreement:
    """Measure how well annotators agree.

    Only shared documents count: a pair of annotators is compared on the documents that both have; Fleiss' κ
    and the concatenation for α_u use those that all have.

    Args:
        source: a mapping from annotators to files, or to annotations already read; a list of files, each
            named by its stem or as "name=file"; one file with several annotators; or a Spark frame, as in
            `evaluate`.
        annotators: the same as a keyword; with a frame, each annotator's column of tags or spans.
        systems: predictions to compare with each annotator, beside how annotators compare with each other,
            and to score against the same majorities as the annotators.
        votes: the number of annotators needed to accept a mention; by default, more than half.
        tokens: what token measures compare: "label" or, for tags in IOB2, "iob2"; with a frame, its column
            of tokens.
        units: what token measures compare, if `tokens` names a column.
        gamma: also compute γ, which needs the extra `agreement` and is slow.
        majority: where to write the mentions that most annotators marked, leaving out ties: a file, or a
            folder for brat (a name that ends with / or without a suffix).
        to: the format of `majority`; by default, that of its suffix.
        worksheet: where to write the mentions on which annotators differ, as CSV for adjudication.
        decisions: such a worksheet, filled in; its decisions override the votes in `majority`.
        examples: the maximum number of sentences with disagreement to include in the document.
        redact: leave out all text.
        engine: where blocks of documents are counted instead of in this process: a Spark session, or any
            `Engine`. Spark reads the files itself if each annotator has their own paths.
        reading: keywords of `spanwise.read`; with a frame, also the columns `document` and `sentence`.

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
    compared = _compared(source, tokens, units)
    runner = engine_of(engine)
    shared, inputs, runner = (
        _framed(source, annotators, systems, {**reading, "tokens": tokens}, runner, whole=gamma)
        if is_spark(source)
        else _opened(_given(source, annotators), systems, reading, runner, whole=gamma)
    )
    try:
        presence = shared.presence.redacted() if redact else shared.presence
        check_votes(votes, len(presence.annotators))
        request = AgreementContext(
            source=shared,
            votes=votes,
            tokens=compared,
            plan=UnitPlan.of(presence, shared.sentences),
            examples=examples,
            redact=redact,
            gamma=gamma,
            worksheet=worksheet is not None,
            majority=majority is not None,
            decisions=() if decisions is None else read_decisions(decisions, shared.sentences),
            text=not isinstance(shared, InMemoryDocuments),
        )
        sums = _counted(request, runner)
    finally:
        if isinstance(runner, FrameEngine):
            runner.packed.free()
    lost: tuple[str, ...] = ()
    if majority is not None:
        form = to or ("brat" if _is_folder(majority) else None)
        lost = lost_note(majority, write_results(_majority(shared, sums, request), majority, format=form))
    if worksheet is not None:
        write_atomically(worksheet, sums.rows.sheet(presence))
    pair_scores = pairs(presence, sums.labels, sums.pairs, pair_intervals(presence, sums.levels))
    top = ceiling(presence, sums.votes)
    return Agreement(
        spanwise=__version__,
        signature=_signature(presence, compared, votes),
        inputs=inputs,
        settings=AgreementSettings(votes=votes, tokens=compared, unit=_unit(presence)),
        annotators=presence.annotators,
        unit=presence.unit,
        documents=int(presence.shared.sum()),
        pairs=pair_scores,
        mean=means(
            pair_scores, document_means(presence, sums.pairs), human_level(presence, sums.levels).interval
        ),
        disagreement=pooled(sums.pairs.outcomes),
        differences=differences(presence, sums.differences),
        tokens=token_agreement(presence, sums.labels, sums.tokens, compared, intervals=presence.by_document),
        alpha_u=unitizing(presence, sums.labels, sums.units, cut_document=request.source.cut_document),
        gamma={presence.documents[number]: value for number, value in sums.gamma.items()} if gamma else None,
        levels=level_scores(presence, sums.levels, request.plan),
        ceiling=top,
        ranking=_ranking(presence, sums, pair_scores, top.annotators),
        systems=score_systems(presence, sums.votes),
        majority=majority_counts(presence, sums.votes, votes),
        notes=(*_notes(presence, request.plan), *lost),
        sentences=tuple(
            replace(example.shown, document=presence.documents[example.document]) for example in sums.examples
        ),
    )


def _compared(source: object, tokens: str | None, units: str | None) -> TokenUnits:
    """What token measures compare: `units` if given or for a frame, otherwise `tokens`."""
    name, value = ("units", units) if units is not None or is_spark(source) else ("tokens", tokens)
    if value is None or value == "label":
        return "label"
    if value == "iob2":
        return "iob2"
    raise ChoiceError(f"{name} is {value!r}, but must be 'label' or 'iob2'.")


def _given(source: object, annotators: object) -> object:
    """The annotators' sources, given as the first argument or by keyword."""
    if source is not None and annotators is not None:
        raise ChoiceError(
            "annotators names columns of a Spark frame, but the first argument is not a frame.\n"
            "Give a frame, or the files of annotators alone."
        )
    if source is None and annotators is None:
        raise ChoiceError("agreement needs at least two annotators.\nGive a file for each of them.")
    sources = annotators if source is None else source
    named = sources.items() if isinstance(sources, Mapping) else ()
    for name, annotator_source in named:
        if is_spark(annotator_source):
            raise ChoiceError(
                f"the annotator {name!r} is a Spark frame, "
                "but the first argument must be the frame with the tokens.\n"
                'Write agree(frame, annotators={"first": "tags", "second": other}, sentence="id").'
            )
    return sources


def _framed(
    frame: DataFrame,
    annotators: object,
    systems: object,
    named: Mapping[str, object],
    engine: Engine | None,
    *,
    whole: bool,
) -> tuple[SharedSource, tuple[Input, ...], Engine]:
    """Like `_opened`, but for a Spark frame."""
    shared, readings, runner = frame_documents(frame, annotators, systems, named, engine, whole=whole)
    names = [*shared.presence.annotators, *shared.presence.systems]
    return shared, _inputs(shared.presence, dict(zip(names, readings, strict=True))), runner


def _opened(
    annotators: object, systems: object, reading: ReadKeywords, engine: Engine | None, *, whole: bool
) -> tuple[SharedSource, tuple[Input, ...], Engine]:
    """Return the shared documents, the `inputs` of the document, and the engine that counts its blocks.

    With `whole`, no document is split between blocks, even if there is only one.
    """
    reading = with_rules(reading)
    if isinstance(engine, SparkEngine):
        opened_lake = lake_documents(engine, annotators, systems, reading, whole=whole)
        if opened_lake is not None:
            lake, readings, runner = opened_lake
            names = [*lake.presence.annotators, *lake.presence.systems]
            return lake, _inputs(lake.presence, dict(zip(names, readings, strict=True))), runner
    parties = annotations_of(annotators, reading)
    others = annotations_of(systems, {**reading, "predicted": True}, "system")
    ReadLabels.of(
        [party.labels_as_read for party in parties.values()],
        [party.labels_as_read for party in others.values()],
    ).check(reading)
    shared = combine_annotations(parties, others)
    if whole:
        shared = shared.whole()
    own_readings = {name: party.reading for name, party in (*parties.items(), *others.items())}
    return shared, _inputs(shared.presence, own_readings), engine or InProcess()


def _counted(request: AgreementContext, engine: Engine) -> AgreementSums:
    """Count all blocks and add up their sums."""
    total: Joining[AgreementSums] = Joining(partial(joined_sums, context=request))
    for sums in engine.map(block_sums, request.source.references(), request):
        total.add(sums)
    return total.total()


def _majority(source: SharedSource, sums: AgreementSums, request: AgreementContext) -> Annotation:
    """The mentions accepted by majority or decision, in the documents that two or more annotators have."""
    parts = sums.majority
    begins = offsets([part.sentences for part in parts])
    added = {decision.row[3] for decision in request.decisions if decision.accepted}
    names = tuple(sorted({*sums.labels, *added}))
    mentions = joined_mentions([part.mentions for part in parts], begins[:-1]).relabeled(names)
    reading = Reading(path="<majority>")
    if isinstance(source, InMemoryDocuments):
        document = ints(np.repeat(np.arange(len(source.first) - 1), np.diff(source.first)))
        corpus = kept_text(source.corpus, document, source.presence.shared)
        return Annotation(corpus, mentions, reading)
    texts = [
        Annotation(part.corpus, part.mentions) for part in parts if part.corpus is not None and part.sentences
    ]
    corpus = joined_files(texts).corpus if texts else Corpus.of([])
    names_by_text = [text.corpus.document_ids for text in texts]
    if names_by_text and all(ids is not None for ids in names_by_text):
        corpus = replace(corpus, document_ids=tuple(name for ids in names_by_text for name in ids or ()))
    return Annotation(corpus, mentions, reading)


def _is_folder(path: str | Path) -> bool:
    """Whether a path names a folder, to which brat's files are written."""
    return str(path).endswith(("/", os.sep)) or not Path(path).suffix


def _unit(presence: Presence) -> str:
    """The unit of intervals: documents if the data mark at least two, otherwise sentences."""
    return "document" if presence.by_document else "sentence"


def _signature(presence: Presence, tokens: str, votes: int | None) -> str:
    rule = "majority" if votes is None else f"votes:{votes}"
    parts = (
        f"annotators:{len(presence.annotators)}",
        f"tokens:{tokens}",
        f"rule:{rule}",
        f"unit:{_unit(presence)}",
    )
    return "|".join(("agree", *parts, f"spanwise:{__version__}"))


def _inputs(presence: Presence, readings: Mapping[str, Reading]) -> tuple[Input, ...]:
    return tuple(
        Input(
            role="annotator" if number < len(presence.annotators) else "system",
            path=reading.path,
            sha256=reading.sha256,
            format=reading.format,
            scheme=reading.scheme,
            repairs=reading.repairs,
            merged=reading.counted(reading.merged),
            dropped=reading.counted(reading.dropped),
            system=name,
        )
        for number, (name, reading) in enumerate(readings.items())
    )


def _ranking(
    presence: Presence,
    sums: AgreementSums,
    pair_scores: Sequence[AgreementPair],
    others: Mapping[str, float | None],
) -> tuple[RankedAnnotator, ...]:
    """The annotators, sorted by their agreement with the majority of the others, highest first."""
    rows = []
    somewhere = presence.present.any(axis=0)
    for number, name in enumerate(presence.annotators):
        own = [pair.overall.f1 for pair in pair_scores if name in pair.annotators]
        missing = np.flatnonzero(somewhere & ~presence.present[number]).tolist()
        rows.append(
            RankedAnnotator(
                annotator=name,
                documents=int(presence.present[number].sum()),
                mentions=int(sums.mentions[number]),
                mean_f1=mean_of(own).f1,
                others_f1=others[name],
                missing=tuple(presence.documents[document] for document in missing),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.others_f1 or 0), -(row.mean_f1 or 0), row.annotator)))


def _notes(presence: Presence, plan: UnitPlan) -> tuple[str, ...]:
    notes = []
    if not presence.marked:
        notes.append(
            "documents are not marked, so intervals are over sentences, which are not independent, and κ, α "
            "and α_u have none; name the field that marks documents with --documents"
        )
    if plan.joined:
        kind = "documents" if plan.by_document else "sentences"
        notes.append(
            f"the {plan.items:,} {kind} were joined with their neighbours into {MOST_UNITS:,} groups, which "
            "are the units of intervals and tests"
        )
    alone = np.flatnonzero(presence.present.sum(axis=0) == 1).tolist()
    if alone:
        names = ", ".join(presence.documents[number] for number in alone[:5])
        more = f" and {len(alone) - 5:,} more" if len(alone) > 5 else ""
        notes.append(f"documents of only one annotator are not counted: {names}{more}")
    for number, name in enumerate(presence.annotators):
        missing = np.flatnonzero(presence.present.any(axis=0) & ~presence.present[number]).tolist()
        if missing:
            names = ", ".join(presence.documents[document] for document in missing[:5])
            more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
            notes.append(f"{name} did not annotate {names}{more}")
    return tuple(notes)


# ---- sums over blocks of documents, from which all measures are computed ----


class AgreementContext(Struct, frozen=True, eq=False):
    """What `block_sums` needs in addition to a block; it can be pickled."""

    source: SharedSource
    votes: int | None
    tokens: TokenUnits
    plan: UnitPlan
    examples: int
    redact: bool
    gamma: bool
    worksheet: bool
    majority: bool
    decisions: Sequence[Decision]
    text: bool  # whether to return the text along with the majority


class Example(Struct, frozen=True, eq=False):
    """A sentence with disagreement: the number of disputed mentions, and the number of its document."""

    disputed: int
    document: int
    shown: DisagreementExample


class AgreementSums(Struct, frozen=True, eq=False):
    """The sums over one or more blocks."""

    labels: tuple[str, ...]
    mentions: Ints  # of each annotator
    pairs: PairSums
    levels: LevelSums
    votes: VoteSums
    differences: DifferenceSums
    tokens: TokenSums
    units: UnitSums
    gamma: Mapping[int, float | None]
    examples: tuple[Example, ...]  # the most disputed sentences, in decreasing order
    rows: OpenRows
    majority: tuple[AcceptedMentions, ...]

    def relabeled(self, labels: tuple[str, ...], units: TokenUnits) -> AgreementSums:
        """The sums with label codes from `labels`, which must include all of their labels."""
        if labels == self.labels:
            return self
        new_code = ints([labels.index(label) for label in self.labels])
        return replace(
            self,
            labels=labels,
            pairs=self.pairs.relabeled(new_code, len(labels)),
            tokens=self.tokens.relabeled(new_code, units),
            units=self.units.relabeled(new_code, len(labels)),
        )


def joined_sums(parts: Sequence[AgreementSums], context: AgreementContext) -> AgreementSums:
    """Add up the sums of consecutive blocks."""
    labels = tuple(sorted({label for part in parts for label in part.labels}))
    parts = [part.relabeled(labels, context.tokens) for part in parts]
    examples = [example for part in parts for example in part.examples]
    return AgreementSums(
        labels=labels,
        mentions=ints(sum(part.mentions for part in parts)),
        pairs=PairSums.joined([part.pairs for part in parts]),
        levels=LevelSums.joined([part.levels for part in parts]),
        votes=VoteSums.joined([part.votes for part in parts]),
        differences=DifferenceSums.joined([part.differences for part in parts]),
        tokens=TokenSums.joined([part.tokens for part in parts]),
        units=UnitSums.joined([part.units for part in parts]),
        gamma={number: value for part in parts for number, value in part.gamma.items()},
        examples=tuple(sorted(examples, key=lambda item: -item.disputed)[: context.examples]),
        rows=OpenRows.joined([part.rows for part in parts]),
        majority=tuple(item for part in parts for item in part.majority),
    )


def block_sums(reference: object, context: AgreementContext) -> AgreementSums:
    """Compute the sums of one block."""
    block = context.source.open(reference)
    votes = count_votes(block, context.votes)
    decided = decided_here(block, context.decisions)
    return AgreementSums(
        labels=block.labels,
        mentions=ints([len(mentions) for mentions in block.mentions]),
        pairs=PairSums.of(block, context.plan),
        levels=LevelSums.of(block, compared_parties(context.source.presence), context.plan),
        votes=VoteSums.of(block, votes, by_document=context.plan.by_document),
        differences=DifferenceSums.of(block, votes, redact=context.redact),
        tokens=TokenSums.of(block, context.tokens, context.plan),
        units=UnitSums.of(block, context.plan),
        gamma=gamma_of(block) if context.gamma else {},
        examples=() if context.redact else _examples(block, votes, context.examples),
        rows=OpenRows.of(block, votes, redact=context.redact) if context.worksheet else OpenRows(),
        majority=(accepted(block, votes, decided, text=context.text),) if context.majority else (),
    )


def _examples(block: Shared, votes: Votes, most: int) -> tuple[Example, ...]:
    """The sentences with the most mentions that some but not all of their annotators marked."""
    distinct, corpus = block.distinct, block.corpus
    if corpus.without_text:
        return ()
    disputed = (votes.voters >= 2) & (votes.votes > 0) & (votes.votes < votes.voters)
    number = np.bincount(distinct.sentence[disputed], minlength=len(corpus))
    order = np.argsort(-number, kind="stable")[:most]
    result = []
    for sentence in order[number[order] > 0].tolist():
        first, last = np.searchsorted(distinct.sentence, [sentence, sentence + 1])
        document = int(block.document[sentence])
        shown = DisagreementExample(
            document="",
            source=corpus.place(sentence),
            text=tuple(corpus.words(sentence)) if corpus.texts is None else (corpus.texts[sentence],),
            annotators=tuple(name for i, name in enumerate(block.annotators) if block.present[i, document]),
            mentions=tuple(
                DisagreementMention(
                    start=int(distinct.start[row]),
                    end=int(distinct.end[row]),
                    label=block.labels[int(distinct.label[row])],
                    annotators=tuple(name for i, name in enumerate(block.annotators) if distinct.by[i, row]),
                )
                for row in range(int(first), int(last))
                if votes.votes[row]
            ),
        )
        result.append(Example(int(number[sentence]), int(block.numbers[document]), shown))
    return tuple(result)
