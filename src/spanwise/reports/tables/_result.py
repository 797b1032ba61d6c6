"""The tables of an evaluation and of every other document except a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.document import Document, Settings
from spanwise.document.analyses import PlacementDocument
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import AttributeScores, BucketScores, Rates, SubsetRecall, SystemScores
from spanwise.reports._levels import level_rows
from spanwise.reports.tables._table import Table, paper
from spanwise.views import answers
from spanwise.views import sentences as sentences
from spanwise.views import silver as words_of_judge
from spanwise.views import wording as say
from spanwise.views.cells import Number, count, interval, p_value, points, signed
from spanwise.views.cells import PaperCell as Cell
from spanwise.views.dataset import TINY, composition, mentions
from spanwise.views.lookups import scored_labels
from spanwise.views.standing import ranked, tested
from spanwise.views.statements import statements as worded

RELAXED = ("strict", "exact", "partial", "type")
OUTCOMES = ("TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")


def marked(numbers: Sequence[Number]) -> list[Number]:
    """The numbers, with the highest marked as best if at least two are defined."""
    defined = [number.value for number in numbers if number.value is not None and say.defined(number.value)]
    if len(defined) < 2:
        return list(numbers)
    return [replace(number, best=number.value == max(defined)) for number in numbers]


def ranged(cells: Sequence[Number], number: int | None) -> list[Number]:
    """Recalls and their range; the best is marked unless there are too few mentions."""
    values = [cell.value for cell in cells if cell.value is not None]
    tiny = number is not None and number < TINY
    spread = points(max(values) - min(values) if len(values) > 1 else None)
    return [*(cells if tiny else marked(cells)), spread]


def _rates(rates: Rates | None) -> list[Number]:
    if rates is None:
        return [points(None)] * 3
    return [points(rates.precision), points(rates.recall), points(rates.f1)]


def _resampling(settings: Settings) -> str:
    if not settings.resamples:
        return ""
    few = " (few units)" if settings.few_units else ""
    return f" Intervals: {100 * settings.confidence:.0f}% logit-t, jackknife over {settings.unit}s{few}."


def _tested(document: Evaluation) -> str:
    return f"{sentences.named_test(document.comparisons, document.settings)}, p < .05"


def holistic(document: Evaluation) -> Table | None:
    """One row per system: the primary score with interval and letters, then the other overall scores."""
    primary = document.settings.primary or "f1"
    every = ("f1", *document.settings.more_scores, "precision", "recall", "fair", "macro")
    others = [name for name in every if name != primary]
    systems = {name: document.systems[name] for name in ranked(document)}
    tests = tested(document)
    beats, lettered = tests.beats, len(systems) > 1 and tests.tested
    best = tests.bold({name: system.primary(primary) for name, system in systems.items()})
    first = [
        replace(points(system.primary(primary)), letters=beats[name], best=name in best)
        for name, system in systems.items()
    ]
    remaining = [[points(system.primary(name)) for system in systems.values()] for name in others]
    rows: list[tuple[Cell, ...]] = []
    for index, (name, system) in enumerate(systems.items()):
        ends = interval(system.primary_ends(primary))
        signs = [tests.own[name]] if lettered else []
        rows.append((*signs, name, first[index], ends, *(column[index] for column in remaining)))
    settings = document.settings
    caption = "Exact-match F1, precision and recall, fair F1 and macro F1 in points." + _resampling(settings)
    bold, notes = tests.captions(systems)
    if len(systems) > 1:
        caption += f" Bold, for {say.PRIMARY_SCORES[primary]} alone: {bold}."
    if lettered:
        caption += (
            f" Raised letters: significantly better than the system with that letter ({_tested(document)})."
        )
    if lettered and notes:
        caption += f" {say.capital(notes)}."
    titles = [say.PRIMARY_SCORES[name] for name in (primary, *others)]
    header = ("system", titles[0], "interval", *titles[1:])
    return Table("holistic", caption, (("letter", *header) if lettered else header), tuple(rows))


def silver(document: Evaluation) -> Table | None:
    """F1 from gold alone, from the judge alone, and from both."""
    systems = words_of_judge.judged(document)
    if not systems:
        return None
    rows = [
        (name, cell, row.title, points(row.f1), interval(row.ends), row.note)
        for name, scores in systems.items()
        for cell, part in (("all", scores), *(scores.labels or {}).items())
        for row in words_of_judge.rows(part, document.settings.unit)
    ]
    statements = " ".join(filter(None, map(words_of_judge.compared, document.comparisons)))
    caption = f"{words_of_judge.explained(document)} {statements}".strip()
    return Table("silver", caption, ("system", "mentions of", "from", "F1", "interval", "note"), tuple(rows))


def costs(document: Evaluation | PlacementDocument) -> Table | None:
    """What the answers of each system cost in tokens and dollars, and F1 for it."""
    rows: list[tuple[Cell, ...]] = [
        (
            row.system, points(row.f1), count(row.usage.input_tokens), count(row.usage.output_tokens),
            row.dollars, row.per_dollar, row.per_1000_tokens,
        )
        for row in answers.costs(document)
    ]  # fmt: skip
    header = (
        "system", "F1", "input tokens", "output tokens", "dollars", "F1 per dollar", "F1 per 1,000 tokens",
    )  # fmt: skip
    return Table("costs", answers.ABOUT, header, tuple(rows)) if rows else None


def labels(document: Evaluation) -> Table | None:
    """One row per label: precision, recall and F1 of one system, or the F1 of several."""
    systems = document.systems
    rows: list[tuple[Cell, ...]] = []
    for label in scored_labels(document):
        cells = [system.exact.labels.get(label) for system in systems.values()]
        gold = count(next((cell.gold for cell in cells if cell is not None), None))
        if len(cells) == 1:
            ends = interval(None if cells[0] is None else cells[0].interval.get("f1"))
            rows.append((label, gold, *_rates(cells[0]), ends))
        else:
            rows.append((label, gold, *marked([points(cell.f1 if cell else None) for cell in cells])))
    if len(systems) == 1:
        header: tuple[str, ...] = ("label", "gold", "precision", "recall", "F1", "interval")
        caption = "Exact-match scores by label." + _resampling(document.settings)
        return Table("labels", caption, header, tuple(rows))
    caption = "Exact-match F1 by label. Bold: highest, not tested."
    return Table("labels", caption, ("label", "gold", *systems), tuple(rows))


def hierarchy(document: Evaluation) -> Table | None:
    """One row per level of a hierarchy of labels and system: exact scores and fair F1."""
    rows: list[tuple[Cell, ...]] = []
    for row in level_rows(document.systems):
        for name, scores in zip(document.systems, row.scores, strict=True):
            if scores is not None:
                cell = scores.exact.overall
                ends = interval(cell.interval.get("f1"))
                fair_f1 = points(scores.fair.overall.f1)
                rows.append((row.title, name, count(cell.gold), *_rates(cell), ends, fair_f1))
    header = ("level", "system", "gold", "precision", "recall", "F1", "interval", "fair F1")
    caption = (
        "Scores at each level of the labels: 0 is one label for all mentions, level k the first k steps of "
        "each label." + _resampling(document.settings)
    )
    return Table("hierarchy", caption, header, tuple(rows)) if rows else None


def errors(document: Evaluation) -> Table | None:
    """One row per kind of error: their number, and what fixing all of them would add to F1."""
    systems = document.systems
    header = ["error"]
    for name in systems:
        header += ["errors", "F1 gain"] if len(systems) == 1 else [f"{name} errors", f"{name} F1 gain"]
    rows: list[tuple[Cell, ...]] = []
    for kind in say.ERRORS:
        row: list[Cell] = [say.OUTCOMES[kind]]
        for system in systems.values():
            row += [count(system.fair.overall.count(kind)), signed(system.gains.of(kind).gain)]
        rows.append(tuple(row))
    caption = "Errors by kind, each counted once, and the F1 that fixing all errors of one kind would add."
    return Table("errors", caption, tuple(header), tuple(rows))


_FAIR = (*(say.OUTCOMES[kind] for kind in OUTCOMES), "fair precision", "fair recall", "fair F1")


def fair(document: Evaluation) -> Table | None:
    """Fair scores with the counts of each outcome."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        overall = system.fair.overall
        rows.append((name, *(count(overall.count(kind)) for kind in OUTCOMES), *_rates(overall)))
    caption = "Outcomes of mentions and fair scores (Ortmann 2022)."
    return Table("fair", caption, ("system", *_FAIR), tuple(rows))


def fair_labels(document: Evaluation) -> Table | None:
    """Fair scores by label and overall with the counts of each outcome; boundary errors whole and by kind."""
    at = OUTCOMES.index("BEs")
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        labels = system.fair.labels
        first = [label for label in scored_labels(document) if label in labels]
        scored = [(label, labels[label]) for label in dict.fromkeys([*first, *labels])]
        for label, scores in (*scored, ("Overall", system.fair.overall)):
            counts = [count(scores.count(kind)) for kind in (*OUTCOMES[:at], "BE", *OUTCOMES[at:])]
            rows.append((name, label, *counts, *_rates(scores)))
    caption = (
        "Outcomes of mentions and fair scores by label (Ortmann 2022, Table 2)."
        " Boundary (all): too short, too long and crossing together."
        f" Errors count under the {document.settings.focus} label, spurious mentions under the predicted one."
    )
    header = ("system", "label", *_FAIR[:at], "boundary (all)", *_FAIR[at:])
    return Table("fair_labels", caption, header, tuple(rows))


def boundaries(document: Evaluation) -> Table | None:
    """Boundary errors by label: too short, too long, crossing, and the side on which they are wrong."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        parts = {"all": system.fair.overall, **system.fair.labels}
        for label, scores in parts.items():
            sides = scores.sides
            if sides is UNSET:
                continue
            kinds = [count(scores.count(kind)) for kind in ("BE", "BEs", "BEl", "BEo")]
            rows.append((name, label, *kinds, *map(count, (sides.left, sides.right, sides.both))))
    caption = (
        "Boundary errors by label (Ortmann 2022): by how the predicted span relates to the gold one, and by"
        " the side on which it ends differently."
    )
    kinds_named = [say.OUTCOMES[kind] for kind in ("BE", "BEs", "BEl", "BEo")]
    header = ("system", "label", *kinds_named, "left", "right", "both sides")
    return Table("boundaries", caption, header, tuple(rows))


def credits(document: Evaluation) -> Table | None:
    """Scores under every requested credit, beside the exact and fair scores."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        requested = {} if system.credits is UNSET else system.credits
        standard: dict[str, Rates] = {"exact": system.exact.overall, "fair": system.fair.overall}
        scores = {**standard, **{credit: part.overall for credit, part in requested.items()}}
        rows += [(name, credit, *_rates(rates)) for credit, rates in scores.items() if requested]
    header = ("system", "credit", "precision", "recall", "F1")
    return Table("credits", "Scores under several credits for errors (Ortmann 2022).", header, tuple(rows))


def relaxed(document: Evaluation) -> Table | None:
    """The four matchings of MUC and SemEval-2013."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        matchings = {} if system.relaxed is UNSET else system.relaxed
        for matching in RELAXED:
            scores = matchings.get(matching)
            if scores is not None:
                parts = (scores.correct, scores.incorrect, scores.partial, scores.missed, scores.spurious)
                rows.append((name, matching, *map(count, parts), *_rates(scores)))
    parts_named = ("correct", "incorrect", "partial", "missed", "spurious")
    header = ("system", "matching", *parts_named, "precision", "recall", "F1")
    return Table("relaxed", "Relaxed matchings of MUC and SemEval-2013 task 9.1.", header, tuple(rows))


def tough(document: Evaluation) -> Table | None:
    """Recall on all mentions and on each tough subset, with the range over systems."""
    systems = document.systems
    subsets = dict.fromkeys(subset for system in systems.values() for subset in system.tough)
    rows: list[tuple[Cell, ...]] = []

    def add(subset: str, words: str, gold: int | None, recalls: Sequence[float | None]) -> None:
        cells = ranged([points(recall) for recall in recalls], gold)
        rows.append((subset, words, mentions(gold), *(cells if len(systems) > 1 else cells[:-1])))

    if subsets:
        recalls = [system.exact.overall.recall for system in systems.values()]
        add("ALL", "all mentions", document.dataset.mentions, recalls)
    for subset in subsets:
        cells: list[SubsetRecall | None] = [
            system.tough[subset].overall if subset in system.tough else None for system in systems.values()
        ]
        gold = next((cell.mentions for cell in cells if cell is not None), None)
        add(subset, say.TOUGH.get(subset, subset), gold, [cell.recall if cell else None for cell in cells])
    caption = f"Recall on tough mentions (Tu and Lignos 2021). † fewer than {TINY} mentions."
    if len(systems) > 1:
        caption += " Range: highest minus lowest system."
    names = ["recall"] if len(systems) == 1 else [*systems, "range"]
    return Table("tough", caption, ("subset", "mentions", "gold", *names), tuple(rows))


def attributes(document: Evaluation) -> Table | None:
    """One row per system and attribute: worst and best bucket, their gap, and the trend over buckets."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        for attribute, table in system.attributes.items():
            ends: list[Cell] = []
            for end in (table.worst, table.best):
                bucket = None if end is None else table.bucket(end)
                ends += [_bucket(bucket), points(bucket.f1 if bucket else None)]
            trend = Number(table.spearman, say.correlation(table.spearman))
            numbers = (points(table.gap), trend, points(table.std))
            rows.append((name, say.attribute(attribute), *ends, *numbers))
    header = ("system", "attribute", "worst", "F1", "best", "F1", "gap", "Sρ", "Sσ")
    caption = (
        "Self-diagnosis by attribute: worst and best bucket, the F1 between them, Spearman's correlation of"
        " F1 with the bucket number and the standard deviation over buckets (Fu, Liu and Neubig 2020)."
    )
    return Table("attributes", caption, header, tuple(rows))


def _bucket(bucket: BucketScores | None) -> str:
    if bucket is None:
        return say.UNDEFINED
    words = say.bucket(bucket)
    return bucket.name if words == bucket.name else f"{bucket.name} {words}"


def _attributes(systems: Mapping[str, SystemScores]) -> dict[str, AttributeScores]:
    """The attributes that any system has; saved results that are compared may have different ones."""
    tables: dict[str, AttributeScores] = {}
    for system in systems.values():
        for name, table in system.attributes.items():
            tables.setdefault(name, table)
    return tables


def buckets(document: Evaluation) -> Table | None:
    """One row per bucket: its gold units and the F1 of every system."""
    systems = document.systems
    rows: list[tuple[Cell, ...]] = []
    for attribute, table in _attributes(systems).items():
        for bucket in table.buckets:
            cells = [_same_bucket(system, attribute, bucket.name) for system in systems.values()]
            scores = marked([points(cell.f1 if cell else None) for cell in cells])
            about = (say.attribute(attribute), bucket.name, say.bucket(bucket), count(bucket.gold))
            rows.append((*about, *scores))
    names = ["F1"] if len(systems) == 1 else list(systems)
    return Table("buckets", "F1 by bucket.", ("attribute", "bucket", "values", "gold", *names), tuple(rows))


def _same_bucket(system: SystemScores, attribute: str, name: str) -> BucketScores | None:
    return system.attributes[attribute].bucket(name) if attribute in system.attributes else None


def slices(document: Evaluation) -> Table | None:
    """The slices of every system, the costliest first."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        for row in system.slices:
            title = say.slice_title(row.kind, row.name, row.title)
            score = say.slice_score(row, system)
            numbers = (points(row.value), interval(row.interval), points(row.cost))
            rows.append((name, title, count(row.gold), score, *numbers))
    header = ("system", "slice", "gold", "score", "value", "interval", "cost")
    caption = (
        "Slices by cost: share of gold units times how far the score lies below the overall one;"
        " slices under 50 gold units are left out. Intervals hold for all slices at once."
    )
    return Table("slices", caption, header, tuple(rows))


def comparisons(document: Evaluation) -> Table | None:
    """Every tested difference between every pair of systems."""
    contents = {
        (name, bucket.name): say.bucket(bucket)
        for name, table in _attributes(document.systems).items()
        for bucket in table.buckets
    }
    rows: list[tuple[Cell, ...]] = []
    for comparison in document.comparisons:
        for row in comparison.scores:
            a, b, gold = (None if value is UNSET else value for value in (row.a, row.b, row.mentions))
            rows.append(
                (
                    *comparison.systems, say.path_title(row.path, contents), count(gold), points(a),
                    points(b), replace(signed(row.difference), best=row.significant),
                    interval(row.interval, differs=True), p_value(row.p), p_value(row.p_corrected),
                )
            )  # fmt: skip
    numbers = ("gold", "of first", "of second", "difference", "interval", "p", "corrected p")
    caption = f"Differences between systems. Bold: significant; for the primary score by {_tested(document)}."
    return Table("comparisons", caption, ("first", "second", "score", *numbers), tuple(rows))


def statements(document: Document) -> Table | None:
    """One sentence per question, ready for a paper."""
    caption = "What was found, in words. Intervals of differences are not corrected for many pairs."
    texts = worded(document, every=True)
    return Table("statements", caption, ("statement",), tuple((text,) for text in texts))


def confusion(document: Evaluation) -> Table | None:
    """Errors only: gold labels as rows, predicted labels as columns, with missed and spurious mentions."""
    systems = document.systems
    names = list(dict.fromkeys(label for system in systems.values() for label in system.confusion.labels))
    rows: list[tuple[Cell, ...]] = []
    for name, system in systems.items():
        table = system.confusion
        positions = {label: index for index, label in enumerate(table.labels)}
        for label in table.labels:
            counts = table.counts[positions[label]]
            cells = [count(counts[positions[other]]) if other in positions else count(0) for other in names]
            rows.append((name, label, *cells, count(table.missed[positions[label]])))
        if table.labels:
            spurious = [
                count(table.spurious[positions[other]]) if other in positions else count(0) for other in names
            ]
            rows.append((name, "spurious", *spurious, ""))
    caption = (
        "Errors only: gold labels as rows, predicted ones as columns; boundary errors are on the diagonal."
    )
    return Table("confusion", caption, ("system", "gold", *names, "missed"), tuple(rows))


TableMaker: TypeAlias = Callable[[Evaluation], Table | None]

TABLES: dict[str, TableMaker] = {
    maker.__name__: maker
    for maker in (
        holistic,
        silver,
        costs,
        labels,
        hierarchy,
        errors,
        fair,
        fair_labels,
        boundaries,
        credits,
        relaxed,
        tough,
        attributes,
        buckets,
        slices,
        comparisons,
        statements,
        confusion,
    )
} | {"composition": lambda document: paper(composition(document.dataset))}


# ---- placed answers ---


def policies(document: PlacementDocument) -> Table | None:
    """The scores of the same answers under every rule."""
    named = {name: getattr(document.policies, name) for name in document.policies.__struct_fields__}
    named |= {"sets of strings": document.strings.set, "multisets of strings": document.strings.multiset}
    named |= {f"as {name}": score for name, score in document.presets.items()}
    rows: list[tuple[Cell, ...]] = [
        (
            name, count(rates.predicted), count(rates.correct), points(rates.precision), points(rates.recall),
            points(rates.f1), points(getattr(document.ceilings, name, None)),
        )
        for name, rates in named.items()
    ]  # fmt: skip
    caption = "The same answers by every rule. Ceiling: F1 with the gold mentions themselves as answers."
    return Table("policies", caption, ("rule", "predicted", "right", "P", "R", "F1", "ceiling"), tuple(rows))
