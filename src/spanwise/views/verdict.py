"""The answer of a document in one sentence, and what could change it: the one maker for every surface.

Screens, pages, notebooks, summaries and the workbench show the same words: who is better or that systems
cannot be told apart, by how much, and what the lead rests on; then how this was tested; then one line for
everything that could change it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from spanwise.averages import spread
from spanwise.diagnosis import lettering
from spanwise.document import DocumentLike, Interval, Settings, given
from spanwise.document.evaluation import DatasetRuns, Evaluation, ScoreGrid
from spanwise.document.loading import as_document
from spanwise.document.scores import PRIMARY, Comparison, Finding, ScoreTest, SystemScores
from spanwise.document.study import DatasetTest, PairDiagnosis, PlanNotes, Study, StudySettings
from spanwise.findings import lead_finding
from spanwise.views import has_view, sentences, silver, wording
from spanwise.views import view as view_of
from spanwise.views.cells import Clause, joined, literal, words
from spanwise.views.inputs import pairing
from spanwise.views.standing import decides, family_of, tested_on, turned

MOST_NAMED = 3  # systems, labels and datasets named in a sentence; the rest are counted


class Verdict(Struct, frozen=True, kw_only=True):
    """The answer of a document.

    Attributes:
        sentence: who is better, or that systems cannot be told apart, and by how much; for one system, its
            score.
        reason: what the lead rests on; empty if no part of the data differs significantly.
        test: the interval, the test, its units and its correction; empty if nothing was tested.
        checks: what could change the answer, one sentence each.
    """

    sentence: Clause
    reason: Clause = Clause("")
    test: str = ""
    checks: tuple[str, ...] = ()

    @property
    def answer(self) -> Clause:
        """The sentence and its reason: the headline of every surface."""
        return joined([part for part in (self.sentence, self.reason) if part])

    def to_dict(self) -> dict[str, object]:
        """The words as plain text, for an API."""
        return {
            "answer": str(self.answer),
            "sentence": str(self.sentence),
            "reason": str(self.reason),
            "test": self.test,
            "checks": list(self.checks),
        }


def verdict(document: DocumentLike) -> Verdict:
    """The answer of any document: an evaluation, a study, or what has a view; empty if it has none.

    Examples:
        >>> import spanwise
        >>> gold = [["B-PER", "O"], ["B-LOC", "O"]] * 4
        >>> result = spanwise.evaluate(gold, {"crf": [["B-PER", "O"]] * 8}, resamples=0)
        >>> str(verdict(result).answer)
        'crf scores 50.0 F1.'
    """
    document = as_document(document)
    match document:
        case Evaluation():
            (part,) = document.datasets.values()
            found = of_dataset(part, document.settings)
        case Study() if len(document.datasets) == 1:
            (part,) = document.datasets.values()
            found = of_dataset(part, document.settings, family_of(document))
        case Study():
            found = _of_datasets(document)
        case _ if not has_view(document):
            return Verdict(sentence=Clause(""))
        case _:
            shown = view_of(document)
            return Verdict(sentence=shown.verdict, checks=shown.notes)
    return Verdict(
        sentence=found.sentence, reason=found.reason, test=found.test, checks=tuple(_checks(document))
    )


MOST_HINTS = 8
MANY_COPIES = 0.1  # the share of sentences from which copies are named under the answer


def selected(findings: Iterable[Finding]) -> list[str]:
    """The sentence that the scores of weak slices are biased, if one of the findings is such a slice."""
    return [wording.SELECTED] if any(row.kind == "slice" for row in findings) else []


# ---- one dataset -----------------------------------------------------------------------------------


def of_dataset(part: DatasetRuns, settings: Settings | StudySettings, family: str = "") -> Verdict:
    """The answer for one dataset: about the best two systems that were tested, or the only system."""
    primary = settings.primary or "f1"
    means = _means(silver.with_judge(part) if primary == "f1" else part, primary)
    order = list(lettering(means))
    if not order:
        return Verdict(sentence=literal("There are no scores."))
    if len(order) == 1:
        return _alone(order[0], part, means[order[0]], settings)
    first, second = _asked([part], order)
    among = order if [first, second] == order[:2] else ()
    return of_pair(part, settings, first, second, among=among, family=family)


def _asked(parts: Collection[DatasetRuns], order: Sequence[str]) -> tuple[str, str]:
    """The two best systems; if others alone were tested against each other, the best pair of these."""
    pairs = combinations(order, 2)
    return next(
        (pair for pair in pairs if any(_decided(part, *pair) for part in parts)), (order[0], order[1])
    )


def _means(part: DatasetRuns, primary: str) -> dict[str, float | None]:
    """The primary score of every system, averaged over its runs."""
    return {
        name: spread(run.primary(primary) for run in runs.values()).mean for name, runs in part.runs.items()
    }


def _alone(name: str, part: DatasetRuns, score: float | None, settings: Settings | StudySettings) -> Verdict:
    primary = settings.primary or "f1"
    helped = primary == "f1" and silver.helped(part, [name])
    runs = list((silver.with_judge(part) if helped else part).runs[name].values())
    scored = f"{wording.points(score)} {wording.SCORED[primary]}"
    ends = runs[0].primary_ends(primary) if len(runs) == 1 else None
    if len(runs) > 1:
        scored += f", the mean of {len(runs)} runs"
    unit = settings.unit or "unit"
    over = wording.plural(settings.units, unit) if settings.units else f"{unit}s"
    test = f"{_level(settings)} interval over {over}{sentences.blocks(settings)}" if ends else ""
    if helped:
        unreliable = silver.unreliable(runs[0].silver, unit)
        test = f"{test} with gold, corrected by the judge{unreliable} · {silver.alone(part, [name])}"
    between = f", between {wording.points(ends[0])} and {wording.points(ends[1])}" if ends else ""
    return Verdict(sentence=words(f"{{}} scores {scored}{between}.", name), test=test)


def of_pair(
    part: DatasetRuns,
    settings: Settings | StudySettings,
    first: str,
    second: str,
    *,
    among: Sequence[str] = (),
    family: str = "",
) -> Verdict:
    """The answer about two systems, of which the first scores higher; `among` are all systems, best first."""
    primary = settings.primary or "f1"
    gold_alone = part
    helped = primary == "f1" and silver.helped(part, [first, second])
    part = silver.with_judge(part) if helped else part
    means = _means(part, primary)
    comparison = part.comparison(first, second)
    test = None if comparison is None else _turned(comparison, first)
    others = [name for name in among if name not in (first, second)]
    rank = f", the next of {len(among)} systems," if others else ""
    if comparison is None or test is None or test.difference is None or test.p_corrected is None:
        return Verdict(sentence=_untested(means, first, second, rank, primary))
    if comparison.identical:
        return Verdict(sentence=words("{} and {} give the same predictions.", first, second))
    leader, other = (first, second) if test.difference >= 0 else (second, first)
    by = f"{wording.points(abs(test.difference))} {wording.DIFFERENCES[primary]}"
    if test.significant or not others:
        sentence = pair_sentence(
            leader,
            other,
            abs(test.difference),
            test.p_corrected,
            primary,
            significant=test.significant,
            rank=rank,
        )
    else:
        chance = f"p {sentences.sentence_p(test.p_corrected)}"
        sentence = _not_apart(part, leader, other, others, f"{by} ({chance})")
    tested = _tested(comparison, test if leader == first else turned(test), settings, family)
    if helped:  # what a lead rests on is known of the gold units alone
        tested += silver.unreliable(comparison.silver, settings.unit)
        return Verdict(sentence=sentence, test=f"{tested} · {silver.alone(gold_alone, [first, second])}")
    return Verdict(sentence=sentence, reason=_reason(comparison, leader, part.runs), test=tested)


def _turned(comparison: Comparison, first: str) -> ScoreTest | None:
    """The test of the primary score, with the difference as `first` minus the other system."""
    test = comparison.primary
    return test if test is None or comparison.systems[0] == first else turned(test)


def _untested(means: Mapping[str, float | None], first: str, second: str, rank: str, primary: str) -> Clause:
    one, other = means[first], means[second]
    if one is None or other is None:
        score = wording.SCORED[primary]
        return words(
            f"{{}} scores {wording.points(one)} {score}, {{}} {wording.points(other)}.", first, second
        )
    by = f"{wording.points(one - other)} {wording.DIFFERENCES[primary]}"
    return words(f"{{}} is ahead of {{}}{rank} by {by}; this was not tested.", first, second)


def pair_sentence(
    leader: str,
    other: str,
    lead: float,
    p: float | None,
    primary: str,
    *,
    significant: bool,
    rank: str = "",
) -> Clause:
    """Which of two systems is better and by how much, or that they cannot be told apart.

    Examples:
        >>> str(pair_sentence("a", "b", 0.048, 0.0004, "f1", significant=True))
        'a is better than b by 4.8 F1, beyond chance (p < .001).'
        >>> str(pair_sentence("a", "b", 0.004, 0.38, "f1", significant=False))
        'a and b cannot be told apart: a is ahead by 0.4 F1 (p = .380).'
    """
    by, chance = f"{wording.points(lead)} {wording.DIFFERENCES[primary]}", f"p {sentences.sentence_p(p)}"
    if significant:
        return words(f"{{}} is better than {{}}{rank} by {by}, beyond chance ({chance}).", leader, other)
    if not lead:
        text = f"{{}} and {{}} {sentences.NOT_APART}: the difference is {by} ({chance})."
        return words(text, leader, other)
    text = f"{{}} and {{}} {sentences.NOT_APART}: {{}} is ahead by {by} ({chance})."
    return words(text, leader, other, leader)


def _not_apart(part: DatasetRuns, leader: str, other: str, others: Sequence[str], by: str) -> Clause:
    """The systems that cannot be told apart from the leader, and how far it is ahead of the next."""
    equal = [other, *(name for name in others if _alike(part, leader, name))]
    among = all(_alike(part, one, two) for one, two in combinations(equal, 2))
    names = ([leader] if among else []) + equal
    listed = ", ".join(["{}"] * len(names[: MOST_NAMED + 1]))
    if len(names) > MOST_NAMED + 1:
        listed += f" and {len(names) - MOST_NAMED - 1} more"
    else:
        listed = " and ".join(listed.rsplit(", ", 1))
    text = f"{listed} {sentences.NOT_APART}" if among else f"{{}} {sentences.NOT_APART} from {listed}"
    shown = ([] if among else [leader]) + names[: MOST_NAMED + 1]
    return words(f"{text}: {{}} is ahead by {by}.", *shown, leader)


def _alike(part: DatasetRuns, one: str, other: str) -> bool:
    """Whether two systems were tested and do not differ significantly."""
    row = part.comparison(one, other)
    return row is not None and row.primary is not None and not row.primary.significant


def _tested(comparison: Comparison, test: ScoreTest, settings: Settings | StudySettings, family: str) -> str:
    """The interval, the test, the correction, and whose training seeds are not considered."""
    pairs = comparison.pairs or 1
    bounds = f"{_level(settings)} interval {_ends(test.interval)}" if test.interval else ""
    if bounds and pairs > 1:
        bounds += ", not corrected"
    how = [
        sentences.worded_test(comparison, test, settings),
        sentences.corrected(comparison.correction or settings.correction, pairs, family),
    ]
    limits = [
        "more shuffles would be needed to decide" if comparison.undecided else "",
        str(comparison.unreachable) if comparison.unreachable else "",
        *sentences.of_runs([comparison]),
    ]
    parts = [bounds, ", ".join(part for part in how if part), *limits]
    return " · ".join(part for part in parts if part)


def _ends(ends: Interval | None) -> str:
    low, high = ends or (None, None)
    return f"{wording.points(low)} to {wording.points(high)}"


def _level(settings: Settings | StudySettings) -> str:
    return f"{100 * (given(settings.confidence) or 0.95):g} %"


# ---- what a lead rests on --------------------------------------------------------------------------


def _reason(comparison: Comparison, leader: str, runs: Mapping[str, Mapping[str, SystemScores]]) -> Clause:
    """Where the lead comes from, or where two systems differ that cannot be told apart overall."""
    lead = lead_finding(comparison, leader)
    if lead is None or lead.path in PRIMARY.values():
        return Clause("")
    contents = wording.bucket_contents(run for system in runs.values() for run in system.values())
    there, gain = wording.part_words(lead.path, contents), _difference(lead.value, lead.path)
    loses = wording.part_words(lead.loses, contents) if lead.loses else ""
    loss = _difference(given(lead.loss), lead.loses)
    other = lead.other or ""
    if lead.even:
        text = f"On parts of the data they differ: {{}} is better on {_safe(there)} ({gain}), "
        return words(f"{text}{{}} on {_safe(loses)} ({_positive(loss)}).", leader, other)
    share = _contribution(comparison, leader, lead)
    most = share is not None and 2 * share > (lead.overall or 0.0)
    text = f"{'Most' if most else 'Part'} of the lead is on {_safe(there)} ({gain})"
    if not loses:
        return Clause(f"{text}.")
    return words(f"{text}; {{}} is better on {_safe(loses)} ({_positive(loss)}).", other)


def _safe(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _difference(value: float | None, path: Sequence[str]) -> str:
    return f"{wording.signed(value)} {wording.SCORES.get(path[-1], path[-1])}" if path else ""


def _positive(difference: str) -> str:
    return difference.replace(wording.MINUS, "+", 1)


def _contribution(comparison: Comparison, leader: str, lead: Finding) -> float | None:
    """How much of the lead the mentions of a part contribute; None if this is not known."""
    head, *rest = lead.path
    division, names = {
        "tough": ("tough", _SUBSET_PARTS.get(rest[0], (rest[0],))),
        "exact": ("labels", rest[1:2]),
    }.get(head, (rest[0], rest[1:2]))
    parts = {row.name: row.contribution for row in comparison.lead.get(division, ())}
    if not all(name in parts for name in names):
        return None
    sign = 1 if comparison.systems[0] == leader else -1
    return sign * sum(parts[name] for name in names)


# Tough subsets that are made of several parts of a lead.
_SUBSET_PARTS = {"UNSEEN-ANY": ("UNSEEN-TYPE", "UNSEEN-TOKENS")}


# ---- several datasets ------------------------------------------------------------------------------


def _of_datasets(study: Study) -> Verdict:
    """The answer of a study of several datasets: the two systems with the highest mean over all of them."""
    primary, means = study.settings.primary or "f1", means_over_datasets(study)
    order = list(lettering(means))
    number = wording.plural(len(study.datasets), "dataset")
    if not order:
        return Verdict(sentence=literal(f"No system has scores on all of {number}."))
    first = order[0]
    if len(order) == 1:
        scored = f"{wording.points(means[first])} {wording.SCORED[primary]}"
        return Verdict(sentence=words(f"{{}} scores {scored}, the mean over {number}.", first))
    first, second = _asked(study.datasets.values(), order)
    next_best = ", the next best," if len(order) > 2 and [first, second] == order[:2] else ""
    by = f"{wording.points((means[first] or 0.0) - (means[second] or 0.0))} {wording.DIFFERENCES[primary]}"
    return Verdict(
        sentence=_over_datasets(study, first, second, next_best, by),
        test=_tested_in(study, first, second),
    )


def means_over_datasets(study: Study) -> dict[str, float | None]:
    """The mean primary score of every system that has one on all datasets."""
    on = [_means(part, study.settings.primary or "f1") for part in study.datasets.values()]
    return {
        system: spread(row[system] for row in on).mean
        for system in study.analyses.holistic
        if all(row.get(system) is not None for row in on)
    }


def _over_datasets(study: Study, first: str, second: str, next_best: str, by: str) -> Clause:
    """On how many datasets each of two systems is better, and where they cannot be told apart."""
    compared = [name for name, part in study.datasets.items() if _decided(part, first, second)]
    pair = f"{{}} and {{}}{next_best}"
    if not compared:
        ahead = f"{{}} is ahead of {{}}{next_best} by {by} on average; this was not tested."
        return words(ahead, first, second)
    better = {name: tested_on(study, name).better for name in compared}
    wins = [name for name in compared if (first, second) in better[name]]
    losses = [name for name in compared if (second, first) in better[name]]
    total, over = len(study.datasets), _pair(study, first, second)
    if over is not None and decides(over) and over.significant:
        text = f"{{}} is better than {{}}{next_best} by {by} on average over {total} datasets, beyond chance "
        text += f"(p {sentences.sentence_p(given(over.p_corrected))}): on {len(wins) or 'none'} of them by "
        text += f"itself, {{}} on {len(losses) or 'none'}."
        return words(text, first, second, second)
    if not wins and not losses:
        text = f"{pair} {sentences.NOT_APART} on any of {total} datasets: {{}} is ahead by {by} on average."
        return words(text, first, second, first)
    if not wins:
        text = f"{{}} has the highest mean, by {by}, but {{}}{next_best} is better on "
        return words(f"{text}{len(losses)} of {total} datasets and {{}} on none.", first, second, first)
    text = f"{{}} is better than {{}}{next_best} on {len(wins)} of {total} datasets"
    names = [first, second]
    if losses:
        text += f", and {{}} on {len(losses)}"
        names.append(second)
    ties = _named([name for name in compared if name not in wins and name not in losses])
    if ties:
        text += f". On {ties.text} the two {sentences.NOT_APART}"
    return words(f"{text}.", *names, *ties.names)


def _named(names: Sequence[str]) -> Clause:
    if len(names) > MOST_NAMED:
        return literal(f"{len(names)} datasets")
    listed = ", ".join(["{}"] * len(names))
    return Clause(" and ".join(listed.rsplit(", ", 1)), tuple(names))


def _decided(part: DatasetRuns, first: str, second: str) -> bool:
    row = part.comparison(first, second)
    return row is not None and row.primary is not None and row.primary.p_corrected is not None


def _pair(study: Study, first: str, second: str) -> DatasetTest | None:
    rows: Iterator[PairDiagnosis] = iter(study.analyses.bucket_wise.comparative)
    pair = next((row for row in rows if set(row.systems) == {first, second}), None)
    return pair.over_datasets or None if pair is not None else None


def _tested_in(study: Study, first: str, second: str) -> str:
    """The tests on each dataset and, where it decides, the one over datasets."""
    rows = [row for part in study.datasets.values() if (row := part.comparison(first, second)) is not None]
    if not rows:
        return ""
    parts = [sentences.named_test(rows, study.settings, family_of(study)), *sentences.of_runs(rows)]
    over = _pair(study, first, second)
    if over is not None and over.datasets > 1:
        named = f"Wilcoxon over {over.datasets} datasets"
        p = given(over.p_corrected)
        parts.append(
            f"{named}: p {sentences.sentence_p(p)}" if decides(over) else f"{named}: too few to decide"
        )
    return " · ".join(part for part in parts if part)


# ---- what could change the answer ------------------------------------------------------------------


def _checks(document: ScoreGrid) -> Iterator[str]:
    """One sentence for everything that could change the answer."""
    settings = document.settings if isinstance(document, Evaluation | Study) else None
    assert settings is not None
    several = len(document.datasets) > 1
    if isinstance(document, Evaluation | Study):
        hints = list(map(wording.visible, document.hints or ()))
        most = MOST_HINTS if len(hints) > MOST_HINTS + 1 else len(hints)
        yield from hints[:most]
        if len(hints) > most:
            yield f"{len(hints) - most:,} more such hints are in the JSON (hints)."
    for name, part in document.datasets.items():
        where = f"{wording.visible(name)}: " if several else ""
        yield from (f"{where}{text}" for text in _unknown_labels(part))
        yield from (f"{where}{text}" for text in _copied(part))
        if isinstance(document, Evaluation) and len(part.runs) > 2:  # of two, the answer itself says it
            for row in part.comparisons:
                if row.identical:
                    yield f"{' and '.join(map(wording.visible, row.systems))} give the same predictions."
    yield from pairing(document.inputs)
    yield from _units(document, settings)
    if isinstance(document, Study) and document.plan:
        if document.plan.missing:
            runs = wording.plural(len(document.plan.missing), "run")
            yield f"{runs} of this study {'is' if len(document.plan.missing) == 1 else 'are'} missing."
        yield from _copies(document.plan)


def _copied(part: DatasetRuns) -> Iterator[str]:
    """That many sentences repeat earlier ones, which intervals and tests take for new evidence."""
    facts = part.dataset
    copies = given(facts.duplicates) if facts is not None else None
    if facts is None or not copies or copies < MANY_COPIES * facts.sentences:
        return
    yield (
        f"{copies:,} of {facts.sentences:,} test sentences repeat earlier ones: intervals may be too narrow "
        "and p too small."
    )


def _copies(plan: PlanNotes) -> Iterator[str]:
    """Runs that are the file of another run, which may have been put there twice by mistake."""
    if plan.identical:
        row = {key: wording.visible(str(value)) for key, value in plan.identical[0].items()}
        first, of = f"run {row['run']} of {row['system']}", f"those of run {row['same_as']}"
        if len(plan.identical) == 1:
            yield f"The predictions of {first} are {of}; copies count once."
        else:
            copied = f"the predictions of {first} are {of}"
            yield f"{len(plan.identical)} runs are copies, which count once: {copied}, and so on."
    for shared in plan.shared[:MOST_NAMED]:
        named = [f"{wording.visible(system)} (run {wording.visible(run)})" for system, run in shared.runs]
        yield f"{' and '.join(named)} have the same predictions."


def _unknown_labels(part: DatasetRuns) -> Iterator[str]:
    """The systems that predict labels which gold does not have, and what the labels seem to mean."""
    meant = {row.path[-1]: row.path[-2] for row in part.findings if row.kind == "alias"}
    for name, runs in part.runs.items():
        labels = next(iter(runs.values())).exact.labels if runs else {}
        unknown = {label: row.predicted for label, row in labels.items() if row.predicted and not row.gold}
        if unknown and any(row.gold for row in labels.values()):
            first = sorted(unknown, key=lambda label: label not in meant)[:MOST_NAMED]
            named = ", ".join(
                wording.visible(label)
                + (f" (mostly {wording.visible(meant[label])})" if label in meant else "")
                for label in first
            )
            more = " …" if len(unknown) > MOST_NAMED else ""
            number = wording.plural(sum(unknown.values()), "prediction")
            have = "has a label" if sum(unknown.values()) == 1 else "have labels"
            yield f"{number} of {wording.visible(name)} {have} that gold lacks: {named}{more}."


def _units(document: ScoreGrid, settings: Settings | StudySettings) -> Iterator[str]:
    """That units are few, that documents are not marked, or that few units carry the scores."""
    unit, number = settings.unit or "unit", given(settings.units)
    if not settings.resamples and not any(part.comparisons for part in document.datasets.values()):
        return
    parts = [part.dataset for part in document.datasets.values() if part.dataset is not None]
    if unit == "sentence" and any(facts.documents is None for facts in parts):
        yield (
            "No documents are marked, so sentences count as independent: intervals may be too narrow "
            "(--documents FIELD or --unit block:20)."
        )
    if settings.few_units and number is not None:
        are = "is" if number == 1 else "are"
        yield f"There {are} only {wording.plural(number, unit)}: intervals and tests are unreliable."
    elif isinstance(document, Evaluation):
        yield from (f"{wording.capital(text)}." for text in wording.carried(document.systems, unit))
