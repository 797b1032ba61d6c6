"""The scores of systems overall, what a judge and their answers add, and the tests between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from spanwise.document import Document, given
from spanwise.document.analyses import PlacementDocument
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Comparison, ScoreTest, SystemScores
from spanwise.document.study import Study
from spanwise.views import Section, answers, cells, sentences, silver, tabled, wording
from spanwise.views.cells import (
    EVERYWHERE,
    PAPER,
    SHOWN,
    Block,
    Cell,
    Column,
    Flow,
    Grid,
    Phrase,
    Phrases,
    Strip,
    StripAxis,
)
from spanwise.views.lookups import union
from spanwise.views.standing import own_letters, ranked, tested, turned
from spanwise.views.statements import statements
from spanwise.views.systems import (
    Of,
    ShownSystems,
    difference,
    difference_columns,
    excludes_zero,
    interval_title,
    resampling,
)

MOST_PAIRS = 10
MOST_PARTS = 8
SHORT = {"f1": "F1", "precision": "P", "recall": "R", "fair": "fair F1", "macro": "macro"}


# ---- overall ---------------------------------------------------------------------------------------


def overall(measured: ShownSystems, *, notes: bool = True) -> Section:
    """The scores of one system in lines, or of several in a table with letters.

    Args:
        notes: whether to say on screens what else there is to know about the tests.
    """
    document = measured.document
    settings, systems = document.settings, measured.ranked
    tests = tested(document)
    lettered = len(systems) > 1 and tests.tested
    primary = settings.primary or "f1"
    named = wording.PRIMARY_SCORES[primary]
    bold, about = tests.captions(systems)
    caption = "Exact-match F1, precision and recall, fair F1 and macro F1 in points." + resampling(settings)
    if len(systems) > 1:
        caption += f" Bold, for {named} alone: {bold}."
    if lettered:
        test = f"{sentences.named_test(document.comparisons, settings)}, p < .05"
        caption += f" Raised letters: significantly better than the system with that letter ({test})."
    if lettered and about:
        caption += f" {wording.capital(about)}."
    table = _score_table(measured, primary, lettered)
    if len(systems) < 2:
        blocks: tuple[Block, ...] = tuple(line for of in systems.values() for line in _lines(of, measured))
        return Section("holistic", cells.words(""), (*blocks, replace(table, on=PAPER)), caption=caption)
    by = f" by {named}" if primary != "f1" else ""
    note = f"beats: significantly better{by} than the system with that letter" if tests.tested else ""
    if measured.over:
        note = "mean ± std over runs" + (f" · beats: significantly better{by}" if tests.tested else "")
    blocks = (table, cells.note(about, "faint")) if about and notes else (table,)
    return Section("holistic", cells.words("Systems"), blocks, note, caption)


def _score_table(measured: ShownSystems, primary: str, lettered: bool) -> Grid:
    """One row per system, the best first: the primary score with interval and letters, then the others."""
    document, systems = measured.document, measured.ranked
    tests = tested(document)
    best = tests.bold({name: of.part.primary(primary) for name, of in systems.items()})
    every = ("f1", *document.settings.more_scores, "precision", "recall", "fair", "macro")
    others = [name for name in every if name not in (primary, "macro")]
    macro = ["macro"] if primary != "macro" else []
    credits = list(union(of.part.credits or {} for of in systems.values()))
    rows: list[list[Cell]] = []
    reach: list[float] = []
    for name, of in systems.items():
        ends, beats = of.part.primary_ends(primary), tests.beats[name]
        first = replace(_primary(of, primary, "score"), letters=beats, best=name in best)
        reach += [value for value in (first.value, *(ends or ())) if value is not None]
        rows.append(
            [
                Phrase(tests.own[name], "faint"), Phrase(name, "strong"), first,
                cells.interval(ends, style="faint"), *(_primary(of, score) for score in others),
                *(_credited(of.part, credit) for credit in credits),
                *(_primary(of, score) for score in macro),
                Phrase(" ".join(beats) or "–", "good" if beats else "faint"), Strip(first.value, ends),
            ]
        )  # fmt: skip
    columns = [
        Column(paper="letter", on=EVERYWHERE if lettered else SHOWN),
        Column("system", least=8, names=True),
        Column(wording.PRIMARY_SCORES[primary], right=True),
        Column(interval_title(document.settings), paper="interval"),
        *(_score_column(name) for name in others),
        *(Column(name, right=True, least=7, rank=1, on=SHOWN) for name in credits),
        *(replace(_score_column(name), rank=1) for name in macro),
        Column("beats", least=5, on=SHOWN),
        Column(least=18, most=36, rank=2, axis=StripAxis(tuple(reach))),
    ]
    return Grid(columns, rows)


def _score_column(name: str) -> Column:
    words = wording.PRIMARY_SCORES[name]
    return Column(SHORT.get(name, words), right=True, paper=words)


def _primary(of: Of, score: str, style: str = "") -> cells.Number:
    return of.at(lambda system: system.primary(score)).number(style=style)


def _credited(system: SystemScores, credit: str) -> cells.Number:
    scores = (system.credits or {}).get(credit)
    return cells.points(scores.overall.f1 if scores is not None else None)


def _lines(of: Of, measured: ShownSystems) -> Iterator[Flow]:
    """The scores of one system: the main ones, then the others."""
    settings, system = measured.document.settings, of.part
    primary = settings.primary or "f1"
    ends = wording.interval(system.primary_ends(primary))
    dagger = "†" if ends and settings.few_units else ""
    main = [
        [*_scored(of, primary, "score", "strong"), Phrase(f"  {ends}{dagger}" if ends else "", "faint")],
        *(
            _scored(of, name)
            for name in ("f1", *settings.more_scores, "precision", "recall")
            if name != primary
        ),
    ]
    if primary != "fair":
        main.append([*_scored(of, "fair"), Phrase("  each error counted once", "faint")])
    exact = system.exact
    more = [] if primary == "macro" else [f"macro F1 {wording.points(exact.macro.f1)}"]
    more.append(f"weighted F1 {wording.points(exact.weighted.f1)}")
    more += [f"{name} F1 {wording.points(part.overall.f1)}" for name, part in (system.credits or {}).items()]
    if given(exact.overall.accuracy) is not None:
        more.append(f"token accuracy {wording.points(given(exact.overall.accuracy))}")
    more.append(f"{wording.count(exact.overall.correct)} right of {wording.count(exact.overall.gold)} gold")
    more += ["mean ± std over runs"] if measured.over else []
    more += [exact.overall.why] if exact.overall.why else []
    yield Flow(main, "    ")
    yield Flow([[Phrase(text, "faint")] for text in more])


def _scored(of: Of, score: str, style: str = "strong", title: str = "") -> list[Phrase]:
    number = _primary(of, score)
    spread = [Phrase(f" ±{number.spread}", "faint")] if number.spread else []
    return [Phrase(f"{wording.PRIMARY_SCORES[score]} ", title), Phrase(number.text, style), *spread]


# ---- a judge, and what answers cost ----------------------------------------------------------------


def judged(measured: ShownSystems) -> Section | None:
    """F1 from gold alone, from the judge alone, and from both."""
    document = measured.document
    systems = silver.judged(document)
    if not systems:
        return None
    unit = document.settings.unit
    several = len(systems) > 1
    shown: list[list[Cell]] = [
        [
            name if several and not at else "", row.title, cells.points(row.f1, "strong"),
            cells.interval(row.ends, style="faint"), Phrase(row.note, "faint"),
        ]
        for name, scores in systems.items()
        for at, row in enumerate(silver.rows(scores, unit))
    ]  # fmt: skip
    table: list[list[Cell]] = [
        [name, part, row.title, cells.points(row.f1), cells.interval(row.ends), row.note]
        for name, scores in systems.items()
        for part, estimates in (("all", scores), *(scores.labels or {}).items())
        for row in silver.rows(estimates, unit)
    ]
    columns = [
        Column(least=8 if several else 0), Column(), Column("F1", right=True), Column("95% CI", rank=1),
        Column(rank=2, least=10),
    ]  # fmt: skip
    titles = ("system", "mentions of", "from", "F1", "interval", "note")
    said = [words for row in document.comparisons if (words := silver.compared(row, document.settings))]
    explained = silver.explained(document)
    return Section(
        "silver",
        cells.words("Few gold labels and a judge"),
        (
            Grid(columns, shown, on=SHOWN), *map(cells.note, said), cells.note(explained, "faint"),
            cells.table(titles, table, PAPER),
        ),
        caption=" ".join([explained, *said]),
    )  # fmt: skip


def costs(document: Evaluation | PlacementDocument | Study) -> Section | None:
    """What the answers of each system cost in tokens and dollars, and F1 for it; of runs, the means."""
    given = answers.costs(document)
    several = any(row.sum for row in given)
    rows: list[list[Cell]] = [
        [
            row.dataset, row.system, row.f1, row.tokens, cells.count(row.usage.get("input_tokens")),
            cells.count(row.usage.get("output_tokens")), row.number("cost"), row.number("f1_per_dollar"),
            row.number("f1_per_1000_tokens"), row.all_tokens, row.all_dollars,
        ]
        for row in given
    ]  # fmt: skip
    paid = EVERYWHERE if any(row.usage.get("cost") is not None for row in given) else PAPER
    datasets, runs = len({row.dataset for row in given}) > 1, paid if several else ()
    columns = [
        Column("dataset", on=EVERYWHERE if datasets else ()), Column("system", least=8),
        Column("F1", right=True), Column("tokens", right=True, on=SHOWN),
        Column("input tokens", on=PAPER), Column("output tokens", on=PAPER),
        Column("dollars", right=True, on=paid), Column("F1 per dollar", right=True, on=paid),
        Column("per 1,000 tokens", right=True, paper="F1 per 1,000 tokens"),
        Column("tokens, all runs", on=PAPER if several else ()),
        Column("dollars, all runs", right=True, rank=1, on=runs),
    ]  # fmt: skip
    note = f"{answers.NOTE}; mean ± std over runs" if several else answers.NOTE
    about = answers.ABOUT + (answers.OF_RUNS if several else "")
    return Section("costs", cells.words(answers.TITLE), (Grid(columns, rows),), note, about) if rows else None


# ---- tests between systems -------------------------------------------------------------------------


def ordered_comparisons(document: Evaluation) -> list[Comparison]:
    """The comparisons in the order of the ranking, with the better system of each pair first."""
    rank = {name: index for index, name in enumerate(ranked(document))}
    comparisons = []
    for comparison in document.comparisons:
        first, second = comparison.systems
        if rank.get(first, 0) > rank.get(second, 0):
            tests = tuple(map(turned, comparison.scores))
            comparison = replace(comparison, systems=(second, first), scores=tests)
        comparisons.append(comparison)
    return sorted(comparisons, key=lambda comparison: [rank.get(name, 0) for name in comparison.systems])


def first_comparison(document: Evaluation) -> Comparison | None:
    """The comparison of two systems, the better one first; None if there are more, or none."""
    pairs = ordered_comparisons(document)
    return pairs[0] if len(pairs) == 1 and len(document.systems) == 2 else None


def pair_names(first: str, second: str, style: str = "") -> Phrases:
    """The names of a pair, whose first system is compared with the second."""
    return Phrases((Phrase(first, style), Phrase(" − ", "faint"), Phrase(second, style)))


def differences(measured: ShownSystems) -> Section | None:
    """The difference in the primary score of every pair."""
    document = measured.document
    comparisons = [row for row in ordered_comparisons(document) if row.primary is not None]
    rows: list[list[Cell]] = [
        [
            pair_names(*comparison.systems), *difference(test, document.settings),
            Phrase(_at_least(given(comparison.detectable)), "faint"),
        ]
        for comparison in comparisons
        for test in [comparison.primary]
        if test is not None
    ]  # fmt: skip
    if not rows:
        return None
    primary = wording.PRIMARY_SCORES[document.settings.primary or "f1"]
    columns = [
        Column("pair", least=16, names=True), *difference_columns(document.settings, primary),
        Column("detectable", right=True, rank=1),
    ]  # fmt: skip
    columns[2] = replace(columns[2], rank=0)
    columns[4] = replace(columns[4], least=1)
    notes = [cells.note(text, "faint") for text in _pair_notes(comparisons[:MOST_PAIRS])]
    note = sentences.named_test(document.comparisons, document.settings)
    table = Grid(columns, rows, MOST_PAIRS, "pairs")
    return Section("differences", cells.words("Differences"), (table, *notes), note, on=SHOWN)


def _pair_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """What the table of pairs does not say by itself."""
    tests = [(row, row.primary) for row in comparisons if row.primary is not None]
    if any(test.interval and (row.pairs or 1) > 1 for row, test in tests):
        yield "Intervals are not corrected for several tests; p is."
    elif any(excludes_zero(test.interval) != test.significant for _, test in tests if test.interval):
        yield "The interval (jackknife) and p (randomisation) are computed separately; p decides."
    for comparison in comparisons:
        if comparison.unreachable:
            yield f"{' − '.join(comparison.systems)}: {comparison.unreachable}."


def _at_least(value: float | None) -> str:
    return f"{wording.points(value)} or more" if wording.defined(value) else ""


def where_they_differ(measured: ShownSystems) -> Section | None:
    """The largest significant differences on labels, subsets and buckets."""
    document = measured.document
    pairs = ordered_comparisons(document)
    if not any(test.p is not None for pair in pairs for test in pair.scores):
        return None  # nothing was tested
    title, note = cells.words("Where they differ"), "significant after correction, largest first"
    differing = [
        (abs(test.difference), pair.systems, test)
        for pair in pairs
        for test in pair.scores
        if test.significant and test.path[1] != "overall" and test.difference is not None
    ]
    rows = list(_differing_rows(document, differing))
    if not rows:
        nowhere = cells.note("nowhere: no part differs significantly after correction", "faint")
        return Section("where", title, (nowhere,), note, on=SHOWN)
    columns = [
        Column("pair", on=SHOWN if len(pairs) > 1 else ()), Column("where", least=18),
        Column("gold", right=True, rank=2), *difference_columns(document.settings, ""),
    ]  # fmt: skip
    return Section("where", title, (Grid(columns, rows),), note, on=SHOWN)


def _differing_rows(
    document: Evaluation, differing: Iterable[tuple[float, tuple[str, str], ScoreTest]]
) -> Iterator[list[Cell]]:
    """Each part once, for the pair that differs most, so that one weak system does not fill the list."""
    ascending = sorted(differing, key=lambda part: part[0])
    once = sorted({part[2].path: part for part in ascending}.values(), key=lambda part: -part[0])
    contents = wording.bucket_contents(document.systems.values())
    letter = own_letters(document)
    for _, (first, second), test in once[:MOST_PARTS]:
        number = given(test.mentions)
        yield [
            pair_names(letter[first], letter[second], "strong"),
            wording.path_title(test.path, contents),
            "" if number is None else cells.count(number),
            *difference(test, document.settings),
        ]


def comparisons(measured: ShownSystems) -> Section:
    """Every tested difference between every pair of systems."""
    document = measured.document
    contents = wording.bucket_contents(document.systems.values())
    rows: list[list[Cell]] = [
        [
            *comparison.systems, wording.path_title(row.path, contents), cells.count(given(row.mentions)),
            cells.points(given(row.a)), cells.points(given(row.b)),
            replace(cells.signed(row.difference), best=row.significant),
            cells.interval(row.interval, differs=True), cells.p_value(row.p), cells.p_value(row.p_corrected),
        ]
        for comparison in document.comparisons
        for row in comparison.scores
    ]  # fmt: skip
    numbers = ("gold", "of first", "of second", "difference", "interval", "p", "corrected p")
    test = f"{sentences.named_test(document.comparisons, document.settings)}, p < .05"
    caption = f"Differences between systems. Bold: significant; for the primary score by {test}."
    return tabled("comparisons", "Comparisons", ("first", "second", "score", *numbers), rows, caption)


def in_words(document: Document) -> Section:
    """One sentence per question, ready for a paper."""
    caption = "What was found, in words. Intervals of differences are not corrected for many pairs."
    rows = [(text,) for text in statements(document, every=True)]
    return tabled("statements", "In words", ("statement",), rows, caption)
