"""What changed between two results over the same gold data: mentions broken and fixed, and new errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import UNSET, Struct

from spanwise import __version__
from spanwise.columns import Bools
from spanwise.document import Document, DocumentLike, given
from spanwise.document.changes import (
    BucketChanges,
    ChangeCounts,
    ChangedSentence,
    ChangedSpan,
    Changes,
    ChangesSettings,
    LabelChanges,
    SystemChanges,
    Way,
)
from spanwise.document.evaluation import (
    Evaluation,
    ExampleCounts,
    GoldMention,
    MentionCodes,
    PredictedMention,
    Sentence,
)
from spanwise.document.loading import as_document, load
from spanwise.document.scores import Outcome, SystemScores
from spanwise.document.study import Study
from spanwise.errors import InputError
from spanwise.gates import ComparedPair, compared_data, differing
from spanwise.matching import OUTCOMES
from spanwise.mentions import MentionTable
from spanwise.mentions.packing import unpack_codes
from spanwise.settings import CONFIDENCE, CORRECTION

__all__ = ["changes"]

SHOWN = 5  # sentences of each change and system
CONTEXT = 60  # characters beside a mention

Key: TypeAlias = tuple[object, ...]
Mention: TypeAlias = GoldMention | PredictedMention


def changes(
    earlier: DocumentLike | str | Path, later: DocumentLike | str | Path, *, system: str | None = None
) -> Changes:
    """Say which mentions a result breaks and fixes since an earlier one over the same gold data.

    A gold mention is *broken* if it was right in the earlier result and is not in the later one, and *fixed*
    in the reverse case; a wrong prediction is *new* if the earlier result does not have it, and *gone* in
    the reverse case. With several runs, a mention is right if it is in more than half of them, and a wrong
    prediction counts if more than half of them make it. The test is the paired one of F1, later minus
    earlier; the counts describe the difference and are not tested.

    Args:
        earlier: a result of `evaluate`, `compare` or `study`, or the path of a saved one.
        later: another one over the same gold data. Systems are paired by name, or as the only ones.
        system: only the system of this name in the later result.

    Raises:
        InputError: the gold data differ, or the results hold no mentions.
        ChoiceError: the later result has no such system.

    Examples:
        >>> import spanwise
        >>> gold = [["B-PER", "O", "B-LOC"]]
        >>> before = spanwise.evaluate(gold, {"mine": [["B-PER", "O", "O"]]}, resamples=0)
        >>> after = spanwise.evaluate(gold, {"mine": [["O", "O", "B-LOC"]]}, resamples=0)
        >>> found = changes(before, after).systems["mine"]
        >>> found.broken, found.fixed, found.labels["PER"].broken
        (1, 1, 1)
    """
    names = [_name(earlier, "the earlier result"), _name(later, "the later result")]
    old, new = _loaded(earlier), _loaded(later)
    data = compared_data(new, old, names[::-1], system=system)
    systems: dict[str, SystemChanges] = {}
    sentences: list[ChangedSentence] = []
    left_out, notes = _differing(old, new)
    for part in data:
        for pair in part.pairs:
            sides = (
                ChangeSide.of(old, part.datasets[1], pair.earlier, names[0]),
                ChangeSide.of(new, part.datasets[0], pair.system, names[1]),
            )
            if all(side.complete for side in sides):
                rows = _rows(*sides)
                counts = _of_rows(rows, left_out)
                sentences += _shown(pair.title, rows)
            else:
                counts = _of_codes(*sides, left_out)
                notes += [side.missing for side in sides if not side.complete]
            systems[pair.title] = _summary(pair, sides, counts)
    first = data[0]
    return Changes(
        spanwise=__version__,
        inputs=(*old.inputs, *(row for row in new.inputs if row.role == "predicted")),
        settings=ChangesSettings(
            unit=first.unit,
            units=first.units,
            resamples=new.settings.resamples or 0,
            seed=new.settings.seed or 0,
            confidence=new.settings.confidence or CONFIDENCE,
            correction=CORRECTION,
        ),
        systems=systems,
        sentences=tuple(sentences),
        notes=tuple(dict.fromkeys(notes)),
    )


def _name(result: DocumentLike | str | Path, otherwise: str) -> str:
    return str(result) if isinstance(result, str | Path) else otherwise


def _loaded(result: DocumentLike | str | Path) -> Evaluation | Study:
    document = load(result) if isinstance(result, str | Path) else as_document(result)
    if not isinstance(document, Evaluation | Study):
        instead = "Make one with spanwise evaluate --json."
        if document.kind in ("leaks", "tuples"):
            instead = f"Compare both predictions at once: spanwise {document.kind} GOLD OLD NEW."
        raise InputError(
            f"{_name(result, 'the document')}: only evaluations and studies can be compared, but this "
            f"document is of kind {document.kind!r}.\n{instead}"
        )
    return document


def _differing(old: Document, new: Document) -> tuple[set[str], list[str]]:
    """The attributes whose buckets cannot be compared, and notes that say why; studies share theirs."""
    if not isinstance(old, Evaluation) or not isinstance(new, Evaluation):
        return set(), []
    left_out, notes = differing([old, new])
    return {name.removeprefix("attribute ") for name in left_out}, notes


# ---- the mentions of one system in one result -----------------------------------------------------------


class ChangeSide(Struct, frozen=True):
    """What a result holds of the mentions of one system: its sentences with errors, and codes."""

    location: str
    runs: tuple[str, ...]
    scores: SystemScores  # of its first run: gold mentions by label, and the buckets of each attribute
    sentences: Sequence[Sentence]
    examples: ExampleCounts
    codes: MentionCodes | None

    @classmethod
    def of(cls, document: Evaluation | Study, dataset: str, system: str, location: str) -> ChangeSide:
        """The side of a system; the sentences of its runs are those of systems named like the runs."""
        none = ExampleCounts(policy="none", cap=0, shown=0, of=0)
        if isinstance(document, Evaluation):
            return cls(
                location,
                (system,),
                document.systems[system],
                document.sentences,
                document.examples or none,
                given(document.mentions),
            )
        part = document.datasets[dataset]
        return cls(
            location,
            tuple(part.runs[system]),
            next(iter(part.runs[system].values())),
            (given(part.sentences) or {}).get(system, ()),
            (given(part.examples) or {}).get(system, none),
            (given(part.mentions) or {}).get(system),
        )

    @property
    def complete(self) -> bool:
        """Whether every sentence with an error is there."""
        return self.examples.policy in ("errors", "all") and self.examples.shown == self.examples.of

    @property
    def missing(self) -> str:
        """What is missing, and the command that makes it."""
        return (
            f"{self.location} does not hold all of its sentences with errors, so new and gone errors, kinds "
            "of error and sentences are unknown; keep them with: "
            "spanwise evaluate … --json FILE --examples errors --examples-cap 1000000"
        )

    def most(self, number: int) -> bool:
        """Whether a number of runs is more than half of them."""
        return 2 * number > len(self.runs)

    def wrong(self) -> dict[Key, Wrong]:
        """The gold mentions that are not right in more than half of the runs, by their places."""
        found: dict[Key, list[Wrong]] = {}
        for sentence in self.sentences:
            for at, mention in enumerate(sentence.gold):
                for run in self.runs:
                    outcome = mention.outcome.get(run)
                    if outcome is None or outcome == "TP":
                        continue
                    partner = mention.partner.get(run)
                    other = None if partner is None else sentence.systems[run][partner]
                    found.setdefault((*_place(sentence), at), []).append(
                        Wrong(sentence, mention, outcome, mention, other)
                    )
        return {
            key: _usual(several)
            for key, several in found.items()
            if not self.most(len(self.runs) - len(several))
        }

    def spurious(self) -> dict[Key, Wrong]:
        """The wrong predictions that more than half of the runs make, by their places."""
        found: dict[Key, list[Wrong]] = {}
        for sentence in self.sentences:
            for run in self.runs:
                seen: Counter[Key] = Counter()
                for mention in sentence.systems.get(run, ()):
                    if mention.outcome == "TP":
                        continue
                    span = (mention.start, mention.end, mention.label, tuple(mention.parts))
                    own: Key = (*_place(sentence), *span, given(mention.answer))
                    seen[own] += 1  # an answer without a place may be given twice
                    gold = None if mention.partner is None else sentence.gold[mention.partner]
                    found.setdefault((*own, seen[own]), []).append(
                        Wrong(sentence, mention, mention.outcome, gold, mention)
                    )
        return {key: _usual(several) for key, several in found.items() if self.most(len(several))}


class Wrong(Struct, frozen=True):
    """A mention that is wrong, what kind of error it is, and the mentions of both sides."""

    sentence: Sentence
    mention: Mention
    outcome: Outcome
    gold: GoldMention | None
    predicted: PredictedMention | None


def _place(sentence: Sentence) -> Key:
    return given(sentence.document), sentence.id


def _usual(several: Sequence[Wrong]) -> Wrong:
    """The error with the kind that most runs make; the first of those that are equally frequent."""
    kind = Counter(wrong.outcome for wrong in several).most_common(1)[0][0]
    return next(wrong for wrong in several if wrong.outcome == kind)


# ---- counts ----------------------------------------------------------------------------------------


Row: TypeAlias = tuple[Way, Wrong]


class ChangeParts(Struct, frozen=True):
    """The changes of a system, overall and in its parts."""

    overall: ChangeCounts
    labels: Mapping[str, ChangeCounts]
    kinds: Mapping[Outcome, ChangeCounts] | None
    buckets: Mapping[str, Mapping[str, ChangeCounts]]


def _rows(old: ChangeSide, new: ChangeSide) -> list[Row]:
    """Every change, in the order of the sentences of the result that has the error."""
    before, after = old.wrong(), new.wrong()
    gone, came = old.spurious(), new.spurious()
    return [
        *(("broken", wrong) for key, wrong in after.items() if key not in before),
        *(("fixed", wrong) for key, wrong in before.items() if key not in after),
        *(("new", wrong) for key, wrong in came.items() if key not in gone),
        *(("gone", wrong) for key, wrong in gone.items() if key not in came),
    ]


def _of_rows(rows: Sequence[Row], left_out: set[str]) -> ChangeParts:
    labels: dict[str, Counter[Way]] = {}
    kinds: dict[Outcome, Counter[Way]] = {}
    buckets: dict[str, dict[str, Counter[Way]]] = {}
    for way, wrong in rows:
        labels.setdefault(wrong.mention.label, Counter())[way] += 1
        kinds.setdefault(wrong.outcome, Counter())[way] += 1
        for name, bucket in (given(wrong.mention.buckets) or {}).items():
            if bucket is not None and name not in left_out:
                buckets.setdefault(name, {}).setdefault(bucket, Counter())[way] += 1
    return ChangeParts(
        _counts(Counter(way for way, _ in rows)),
        {label: _counts(own) for label, own in sorted(labels.items())},
        {kind: _counts(kinds[kind]) for kind in OUTCOMES if kind in kinds},
        {name: {bucket: _counts(number) for bucket, number in own.items()} for name, own in buckets.items()},
    )


def _counts(number: Mapping[Way, int]) -> ChangeCounts:
    return ChangeCounts(
        broken=number.get("broken", 0),
        fixed=number.get("fixed", 0),
        new=number.get("new", 0),
        gone=number.get("gone", 0),
    )


def _of_codes(old: ChangeSide, new: ChangeSide, left_out: set[str]) -> ChangeParts:
    """The gold mentions that changed, from the codes of all mentions, which know no wrong predictions."""
    (_, was), (gold, now) = _found(old), _found(new)
    broken, fixed = was & ~now, now & ~was

    buckets = {} if new.codes is None else new.codes.buckets

    def counted(chosen: Bools) -> ChangeCounts:
        return ChangeCounts(
            broken=int((broken & chosen).sum()), fixed=int((fixed & chosen).sum()), new=None, gone=None
        )

    return ChangeParts(
        counted(np.ones(len(broken), dtype=bool)),
        {label: counted(gold.where(label=label)) for label in gold.labels},
        None,
        {
            name: {bucket: counted(gold[f"bucket.{name}"] == code) for code, bucket in enumerate(names)}
            for name, names in buckets.items()
            if name not in left_out
        },
    )


def _found(side: ChangeSide) -> tuple[MentionTable, Bools]:
    """The gold mentions, and which of them are right in more than half of the runs."""
    tables = None if side.codes is None else unpack_codes(side.codes, location=side.location)
    if tables is None:
        raise InputError(
            f"{side.location}: the document holds no mentions, so what changed is unknown.\n"
            "Make it again: spanwise evaluate … --json FILE --examples errors"
        )
    found = np.sum([tables.gold[f"found.{run}"] > 0 for run in side.runs], axis=0)
    return tables.gold, 2 * found > len(side.runs)


def _summary(pair: ComparedPair, sides: tuple[ChangeSide, ChangeSide], counted: ChangeParts) -> SystemChanges:
    """The counts of a system beside the tests."""
    tests = pair.comparison
    gold = {label: scores.gold for label, scores in sides[1].scores.exact.labels.items()}
    none = ChangeCounts(broken=0, fixed=0, new=0, gone=0)
    known = counted.kinds is not None
    labels = {}
    for label in sorted({*gold, *counted.labels}):
        own = counted.labels.get(label, none)
        labels[label] = LabelChanges(
            broken=own.broken,
            fixed=own.fixed,
            new=own.new if known else None,
            gone=own.gone if known else None,
            gold=gold.get(label, 0),
            difference=tests.score(("exact", "labels", label, "f1")) or UNSET,
        )
    return SystemChanges(
        broken=counted.overall.broken,
        fixed=counted.overall.fixed,
        new=counted.overall.new,
        gone=counted.overall.gone,
        earlier=pair.earlier,
        runs=(len(sides[0].runs), len(sides[1].runs)),
        difference=tests.primary or UNSET,
        labels=labels,
        kinds=counted.kinds if counted.kinds is not None else UNSET,
        buckets={
            name: {
                bucket.name: BucketChanges(
                    broken=row.broken, fixed=row.fixed, new=row.new, gone=row.gone, label=bucket.label or ""
                )
                for bucket in table.buckets
                if (row := counted.buckets[name].get(bucket.name)) is not None
            }
            for name, table in sides[1].scores.attributes.items()
            if name in counted.buckets
        },
    )


# ---- sentences -------------------------------------------------------------------------------------


def _shown(system: str, rows: Sequence[Row]) -> Iterator[ChangedSentence]:
    """The first sentences of each change, those of the label that changed most before the others."""
    for way in ("broken", "fixed", "new", "gone"):
        own = [wrong for which, wrong in rows if which == way]
        often = Counter(wrong.mention.label for wrong in own)
        ranked = sorted(own, key=lambda wrong: -often[wrong.mention.label])
        readable = [wrong for wrong in ranked if wrong.sentence.tokens or wrong.sentence.text]
        for wrong in readable[:SHOWN]:
            mention = wrong.mention
            before, inside, after = _around(wrong.sentence, mention)
            yield ChangedSentence(
                system=system,
                change=way,
                outcome=wrong.outcome,
                id=wrong.sentence.id,
                source=wrong.sentence.source,
                before=before,
                mention=inside,
                after=after,
                gold=_span(wrong.sentence, wrong.gold),
                predicted=_span(wrong.sentence, wrong.predicted),
            )


def _span(sentence: Sentence, mention: Mention | None) -> ChangedSpan | None:
    if mention is None:
        return None
    text = _around(sentence, mention)[1]
    return ChangedSpan(start=mention.start, end=mention.end, label=mention.label, text=text)


def _around(sentence: Sentence, mention: Mention) -> tuple[str, str, str]:
    """What is before a mention, its words, and what is after it; an answer without a place has its words."""
    if mention.start < 0:
        return "", (given(mention.answer) if isinstance(mention, PredictedMention) else None) or "", ""
    start, end = mention.start, mention.end
    if sentence.tokens:
        tokens = sentence.tokens
        before, inside, after = (" ".join(part) for part in (tokens[:start], tokens[start:end], tokens[end:]))
        before, after = f"{before} " if before else "", f" {after}" if after else ""
    else:
        text = sentence.text or ""
        before, inside, after = text[:start], text[start:end], text[end:]
    if len(before) > CONTEXT:
        before = f"…{before[-CONTEXT:]}"
    if len(after) > CONTEXT:
        after = f"{after[:CONTEXT]}…"
    return before, inside, after
