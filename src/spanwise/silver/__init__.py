"""Few gold labels and a judge: gold for a random sample of units, another annotation for all of them.

The judge's annotation (*silver*) is a control variate: it need not be right, only related to the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.columns import Floats, Ints, distinct, ints, offsets
from spanwise.composition import input_entry
from spanwise.corpus import Annotation, Corpus
from spanwise.document import Interval
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Comparison, SystemScores
from spanwise.document.silver import SilverOnly, SilverRates, SilverScores, SilverTest, SilverUnits
from spanwise.errors import ChoiceError, InputError, many
from spanwise.evaluation import Inputs, has_runs, read_inputs
from spanwise.evaluation.scoring import unpack_measures
from spanwise.formats import Reader
from spanwise.labels import RULES
from spanwise.rates import RATES, Rate
from spanwise.settings import SETTINGS, default_value
from spanwise.silver._estimate import LEAST_UNITS, Combined, Design, Influences, Ratios, combined
from spanwise.statistics import holm

__all__ = ["with_judge"]

NOT_WITH_JUDGE = ("memory", "engine", "answers", "preset", "edges")
AT_THE_EDGE = "F1 is at 0 or 1 on the gold units or in the estimate, where a judge cannot help"
UNDEFINED = "a score is undefined on the gold units, or without one of them"
FEW = "fewer than {least} gold units hold the label"


def with_judge(
    source: object = None,
    systems: object = None,
    *,
    gold: object = None,
    silver: object,
    random_sample: bool = False,
    evaluate: Callable[..., Evaluation],
    **options: Any,
) -> Evaluation:
    """Evaluate on the gold units, and estimate each score over all units with the help of a judge.

    Predictions and silver cover all units; gold covers those that were drawn at random.
    """
    gold = gold if source is None else source
    _check(systems, random_sample, options)
    reading = {
        name: value for name, value in options.items() if name in SETTINGS and SETTINGS[name].group == "read"
    }
    as_read = {name: value for name, value in reading.items() if name not in RULES}
    align = options.get("align", default_value("align"))
    everything = _read_all(silver, systems, align=align, reading=as_read)
    part = Reader(**as_read, further=True).read(gold)
    places = find_units(part, everything.gold)
    order = np.argsort(places, kind="stable")
    places = ints(places[order])
    unit = _unit_of(options.get("unit"), everything.gold.corpus, places)
    numbers, documents = _units(unit, everything.gold.corpus, places)
    if len(numbers) < LEAST_UNITS:
        raise InputError(
            f"{part.reading.path}: gold holds {many(len(numbers), unit)}, but at least {LEAST_UNITS} are "
            "needed to say how far the judge can be trusted.\nAnnotate more of them."
        )
    whole_documents = everything.gold.corpus.documents if unit == "document" else None
    rules = {name: options[name] for name in RULES if name in options}
    judged = evaluate(
        _grouped(everything.gold, whole_documents),
        {name: _grouped(predicted, whole_documents) for name, predicted in everything.predicted.items()},
        resamples=0, attributes="none", examples="none", unit=unit, **rules,
    )  # fmt: skip
    drawn = {name: predicted.take(places) for name, predicted in everything.predicted.items()}
    result = evaluate(
        _grouped(part.take(ints(order)), documents),
        {name: _grouped(predicted, documents) for name, predicted in drawn.items()},
        **{**{name: value for name, value in options.items() if name not in as_read}, "unit": unit},
    )
    design = _design(part.corpus, order, documents, judged.settings.units)
    samples = {name: Sample.of(result, judged, name, numbers, design) for name in result.systems}
    scored: dict[str, SystemScores] = {
        name: replace(scores, silver=_scores(samples[name], scores, result.settings.confidence))
        for name, scores in result.systems.items()
    }
    return replace(
        result,
        inputs=(*result.inputs, input_entry("silver", everything.gold)),
        systems=scored,
        comparisons=_tested(result.comparisons, samples, result.settings.confidence),
    )


def _read_all(silver: object, systems: object, *, align: Any, reading: Any) -> Inputs:
    """Silver and predictions for all units; errors name silver as what predictions are compared with."""
    try:
        return read_inputs(silver, systems, None, align=align, reading=reading, name=None)
    except InputError as error:
        what = str(error).replace("the gold file", "the silver file")
        if what == str(error):
            raise
        raise InputError(f"{what}\nSilver and predictions must both hold all units.") from None


def _check(systems: object, random_sample: bool, options: Mapping[str, object]) -> None:
    if not random_sample:
        raise ChoiceError(
            "silver is given, but not that the gold units are a random sample of all units.\n"
            "Add --random-sample if they were drawn at random (spanwise sample draws them); "
            "an estimate from any other choice of units is biased."
        )
    if systems is None or has_runs(systems):
        raise ChoiceError("silver needs one file of predictions for each system.\nName the files.")
    for name in NOT_WITH_JUDGE:
        if options.get(name) is not None:
            raise ChoiceError(f"silver cannot be used with {name}.\nLeave out one of them.")


def find_units(part: Annotation, everything: Annotation) -> Ints:
    """The number of each gold sentence among all sentences: by its id, else by its text.

    Sentences with the same text are taken in order; ids must be unique.
    """
    ids, other_ids = _ids(part.corpus), _ids(everything.corpus)
    by_id = ids is not None and other_ids is not None
    names = ids if ids is not None and by_id else _texts(part)
    others = other_ids if other_ids is not None and by_id else _texts(everything)
    places: dict[object, list[int]] = {}
    for place, name in enumerate(others):
        places.setdefault(name, []).append(place)
    free = {name: iter(numbers) for name, numbers in places.items()}
    found: list[int] = []
    for number, name in enumerate(names):
        what = f"the id {name!r}" if by_id else "this sentence of gold"
        if by_id and len(places.get(name, ())) > 1:
            raise InputError(
                f"{everything.reading.path}: {what} occurs {len(places[name])} times.\n"
                "Give every unit an id of its own."
            )
        found_at = next(free.get(name, iter(())), None)
        if found_at is None:
            again = name in places
            raise InputError(
                f"{part.corpus.place(number)}: {what} "
                f"{'occurs more often in gold than' if again else 'is not'} among the units of "
                f"{everything.reading.path}.\n"
                "Silver and predictions must hold every gold unit, with the same id or the same text."
            )
        found.append(found_at)
    return ints(found)


def _ids(corpus: Corpus) -> Sequence[object] | None:
    """The names of sentences: their ids, with those of their documents if ids occur in several."""
    if corpus.ids is None:
        return None
    documents = corpus.document_of_sentence
    if documents is None or corpus.document_ids is None or len(set(corpus.ids)) == len(corpus.ids):
        return list(corpus.ids)
    return [
        (corpus.document_ids[document], name)
        for document, name in zip(documents.tolist(), corpus.ids, strict=True)
    ]


def _texts(whole: Annotation) -> list[object]:
    corpus = whole.corpus
    if corpus.without_text:
        raise InputError(
            f"{whole.reading.path}: the file has neither ids nor text, so gold units cannot be found in it.\n"
            "Give every unit an id."
        )
    if corpus.texts is not None:
        return list(corpus.texts)
    return [tuple(corpus.words(number)) for number in range(len(corpus))]


def _unit_of(requested: str | None, corpus: Corpus, places: Ints) -> str:
    """Documents if they are marked and gold holds whole ones; else sentences."""
    documents = corpus.document_of_sentence
    if requested not in (None, "sentence", "document"):
        raise ChoiceError(f"unit is {requested!r}, but with silver it must be 'sentence' or 'document'.")
    if requested == "sentence" or documents is None or corpus.documents is None:
        if requested == "document":
            raise InputError(f"{corpus.source.path}: the file marks no documents.\nUse unit='sentence'.")
        return "sentence"
    drawn = distinct(documents[places])
    complete = int(np.diff(corpus.documents)[drawn].sum()) == len(places)
    if requested == "document" and not complete:
        raise InputError(
            f"{corpus.source.path}: gold holds only parts of some documents, so documents were not drawn.\n"
            "Use unit='sentence'."
        )
    return "document" if complete and len(corpus.documents) > 2 else "sentence"


def _units(unit: str, corpus: Corpus, places: Ints) -> tuple[Ints, Ints | None]:
    """The number of each gold unit among all units, and the offsets of gold documents, if these are units."""
    documents = corpus.document_of_sentence
    if unit == "sentence" or documents is None:
        return places, None
    numbers, sizes = np.unique(documents[places], return_counts=True)
    return ints(numbers), offsets(sizes)


def _grouped(whole: Annotation, documents: Ints | None) -> Annotation:
    """The annotation with these documents, or with none."""
    return replace(whole, corpus=replace(whole.corpus, documents=documents, document_ids=None))


def _design(corpus: Corpus, order: Ints, documents: Ints | None, units: int) -> Design:
    """How units were drawn: by the weights and strata that `sample` wrote, or at random."""
    first = order if documents is None else order[documents[:-1]]
    weight = corpus.fields.get("weight")
    if weight is None:
        return Design.simple(len(first), units)
    weights = np.asarray(weight, np.float64)[first]
    stratum = corpus.fields.get("stratum", weight)
    if not np.isclose(weights.sum(), units):
        raise InputError(
            f"{corpus.source.path}: the weights of gold units add up to {weights.sum():g}, but there are "
            f"{units} units.\nUse the file that spanwise sample wrote, and silver for the same corpus."
        )
    return Design(units, weights, ints(np.unique(np.asarray(stratum)[first], return_inverse=True)[1]))


class Sample(Struct, frozen=True, eq=False):
    """The counts of one system: per gold unit under gold and under silver, and in all under silver.

    Each is an array of units × cells × (right, false, missed); the first cell is overall, then the labels.
    """

    labels: tuple[str, ...]
    gold: Floats
    silver: Floats
    everything: Floats
    design: Design

    @classmethod
    def of(cls, result: Evaluation, judged: Evaluation, name: str, numbers: Ints, design: Design) -> Sample:
        """The counts of one system in both evaluations."""
        labels, under_gold = counts_of(result, name)
        others, under_silver = counts_of(judged, name)
        union = tuple(sorted({*labels, *others}))
        silver = _cells(under_silver, others, union)
        return cls(union, _cells(under_gold, labels, union), silver[numbers], silver, design)

    def ratios(self, cell: int, rate: Rate) -> tuple[Ratios, Ratios, Ratios]:
        """A score of one cell under gold, under silver on the gold units, and under silver on all units."""
        above, below = np.asarray(rate.above), np.asarray(rate.below)
        gold, silver, everything = (
            Ratios(counts[:, cell] @ above, counts[:, cell] @ below)
            for counts in (self.gold, self.silver, self.everything)
        )
        return gold, silver, everything

    def estimated(self, cell: int, rate: Rate) -> Combined | None:
        """A score of one cell from gold and judge; None where it is undefined."""
        gold, part = self.influences(cell, rate)
        return combined(gold, part, self.judged(cell, rate), self.design)

    def influences(self, cell: int, rate: Rate) -> tuple[Influences, Influences]:
        """The influences of the gold units on a score, under gold and under silver."""
        gold, part, _ = self.ratios(cell, rate)
        return Influences.of(gold, self.design), Influences.of(part, self.design)

    def judged(self, cell: int, rate: Rate) -> float:
        """A score under silver on all units; NaN where it is undefined."""
        everything = self.ratios(cell, rate)[2]
        below = float(everything.below.sum())
        return float(everything.above.sum()) / below if below else float("nan")


def counts_of(result: Evaluation, name: str) -> tuple[tuple[str, ...], Floats]:
    """The labels, and the counts of right, false and missed mentions per unit and label."""
    units = result.units
    measures = unpack_measures(units.systems[name] if units else (), location=name)
    exact = next(measure for measure in measures if measure.name == "exact").counts
    table = exact.matrix().reshape(exact.units, len(exact.cells), len(exact.columns)).astype(np.float64)
    gold, predicted, correct = (
        table[..., exact.columns.index(key)] for key in ("gold", "predicted", "correct")
    )
    return exact.cells, np.stack([correct, predicted - correct, gold - correct], axis=-1)


def _cells(counts: Floats, labels: Sequence[str], union: Sequence[str]) -> Floats:
    """The counts overall, then those of every label of either side."""
    cells = np.zeros((len(counts), 1 + len(union), 3))
    cells[:, 0] = counts.sum(axis=1)
    for place, label in enumerate(labels):
        cells[:, 1 + union.index(label)] = counts[:, place]
    return cells


def _scores(sample: Sample, scores: SystemScores, confidence: float) -> SilverScores:
    overall = _estimates(sample, 0, scores.exact.overall.interval, confidence)
    labels = {}
    for cell, label in enumerate(sample.labels, 1):
        exact = scores.exact.labels.get(label)
        if exact is not None:
            labels[label] = _estimates(sample, cell, exact.interval, confidence)
    return replace(overall, labels=labels)


def _estimates(
    sample: Sample,
    cell: int,
    intervals: Mapping[str, Interval | None],
    confidence: float,
) -> SilverScores:
    """All three estimates of one cell; intervals of gold alone are those of the evaluation."""
    number, everything = len(sample.gold), len(sample.everything)
    # Overall, all gold units count, whether or not they hold a mention; a label needs units that hold it.
    held = int(sample.gold[:, cell].any(axis=-1).sum()) if cell else number
    found = {name: sample.estimated(cell, rate) for name, rate in RATES.items()}
    usable = {
        name: one if one is not None and held >= LEAST_UNITS and one.interval(confidence) else None
        for name, one in found.items()
    }
    f1, bias = usable["f1"], found["f1"]
    if not sample.design.equal:  # the evaluation does not weight units, so its intervals are of another score
        intervals = {
            name: None if one is None else one.gold_interval(confidence) for name, one in found.items()
        }
    why: str | UnsetType = UNSET
    if f1 is None:
        reason = AT_THE_EDGE if bias is not None else UNDEFINED
        why = FEW.format(least=LEAST_UNITS) if held < LEAST_UNITS else reason

    def gold_only(name: str) -> float | None:
        return _known(sample.influences(cell, RATES[name])[0].value)

    def judge_alone(name: str) -> float | None:
        return _known(sample.judged(cell, RATES[name]))

    def both(name: str) -> float | None:
        return None if (one := usable[name]) is None else one.value

    return SilverScores(
        units=SilverUnits(gold=number, all=everything),
        gold_only=SilverRates(
            precision=gold_only("precision"), recall=gold_only("recall"), f1=gold_only("f1"),
            interval={name: intervals[name] for name in RATES if name in intervals},
        ),
        silver_only=SilverOnly(
            precision=judge_alone("precision"), recall=judge_alone("recall"), f1=judge_alone("f1"),
            bias=None if bias is None else bias.bias,
        ),
        combined=SilverRates(
            precision=both("precision"), recall=both("recall"), f1=both("f1"),
            interval={name: None if one is None else one.interval(confidence) for name, one in usable.items()},  # noqa: E501
            why=why,
        ),
        weight=None if f1 is None else f1.weight,
        effective=None if f1 is None else f1.effective,
        within=None if f1 is None else f1.within,
        shared=None if f1 is None else f1.shared,
        few_carry=(f1 is not None and f1.few_carry) or UNSET,
    )  # fmt: skip


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _tested(
    comparisons: Sequence[Comparison], samples: Mapping[str, Sample], confidence: float
) -> tuple[Comparison, ...]:
    """The comparisons with the difference in F1 from gold and judge, corrected by Holm over the pairs."""
    found = {pair: difference(samples[pair[0]], samples[pair[1]]) for pair in combinations(samples, 2)}
    asked = [row.systems for row in comparisons]
    estimates = [found[pair] if pair in found else found[pair[1], pair[0]] for pair in asked]
    tested = [number for number, one in enumerate(estimates) if one is not None]
    p = holm([one.p for one in estimates if one is not None]) if tested else np.empty(0)
    corrected = dict(zip(tested, p.tolist(), strict=True))
    rows = []
    for number, (row, one) in enumerate(zip(comparisons, estimates, strict=True)):
        sign = 1 if row.systems in found else -1
        ends = None if one is None else one.difference_interval(confidence)
        rows.append(
            replace(
                row,
                silver=SilverTest(
                    difference=None if one is None else sign * one.value,
                    interval=None if ends is None else (ends if sign > 0 else (-ends[1], -ends[0])),
                    p=None if one is None else one.p,
                    p_corrected=corrected.get(number),
                    weight=None if one is None else one.weight,
                    effective=None if one is None or one.se == 0 else one.effective,
                    within=None if one is None else one.within,
                    shared=None if one is None else one.shared,
                    few_carry=(one is not None and one.few_carry) or UNSET,
                ),
            )
        )
    return tuple(rows)


def difference(first: Sample, second: Sample) -> Combined | None:
    """The difference in overall F1 between two systems; None where an F1 is undefined."""
    rate = RATES["f1"]
    (gold, part), (other_gold, other_part) = first.influences(0, rate), second.influences(0, rate)
    judged = first.judged(0, rate) - second.judged(0, rate)
    return combined(gold.minus(other_gold), part.minus(other_part), judged, first.design)
