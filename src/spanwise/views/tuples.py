"""The view of tuples: which F1 is meant, what became of each tuple, what to fix, and sentences with arcs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.diagnosis import beaten_letters, lettering, significant_pairs
from spanwise.document import Interval
from spanwise.document.scores import Bounded, BucketScores, ExactScores
from spanwise.document.tuples import ShownTuple, SystemTuples, Tuples, TupleSentence
from spanwise.views import PAGE, SCREEN, SHOWN, Remark, Section, View, cells, differences, tabled
from spanwise.views import wording as words
from spanwise.views.cells import (
    Arc,
    ArcQuote,
    ArcSide,
    Block,
    Cell,
    Column,
    Grid,
    Number,
    Paragraphs,
    Phrase,
    ShareBar,
    Strip,
    StripAxis,
)
from spanwise.views.commands import closer_command, quoted, what_to_do
from spanwise.views.sentences import (
    NOT_APART,
    better_by,
    compared_sentence,
    how_tested,
    named_test,
    sentence_p,
    tested_as,
)

CRITERIA = {
    "strict": ("strict (Rel+)", "type, and span and label of every filler"),
    "boundaries": ("boundaries (Rel)", "type, and span of every filler"),
    "head": ("head", "type, and the head of every filler"),
    "overlap": ("overlap", "type, and fillers share a token"),
    "type": ("type", "type, values and links; spans are free"),
}
GOLD_OUTCOMES = {
    "right": ("right", "type and all fillers"),
    "type": ("other type", "all fillers right, another type"),
    "filler": ("wrong argument", "right type, some fillers right"),
    "mention missed": ("a mention was missed", "a filler is no predicted mention"),
    "missed": ("missed", "all mentions found, no such tuple"),
}
INVENTED = ("invented", "predicted, like nothing in gold")
EVENTS = {
    "trigger_identified": "trigger identified",
    "trigger_classified": "trigger classified",
    "argument_identified": "argument identified",
    "argument_classified": "argument classified",
}
ATTRIBUTES = {
    "distance": "tokens between arguments",
    "sentence_distance": "sentences between arguments",
    "arguments": "number of arguments",
    "type_frequency": "type in training",
    "direction": "direction",
    "labels": "labels of the pair",
}
MOST_TYPES = 20
MOST_BUCKETS = 24
MOST_SENTENCES = 2  # on a screen
MOST_FIRST = 2  # tasks of each system, at the top of a page
UP_TO = "up to: if all were right"
MOST_TASKS = 3  # of each system, beside where it is weak and what it has seen


def tuples_view(document: Tuples) -> View:
    """What the tuples of each system are worth under each criterion, and what became of them."""
    traps = cells.literal(" ".join(document.notes))
    statements = (*(cells.literal(text) for text in _compared(document)), traps)
    verdict = _verdict(document)
    gold = next(iter(document.systems.values())).criteria[document.criterion].overall.gold
    size = f"{words.plural(gold, 'gold tuple')} in {words.plural(document.units, document.settings.holds)}"
    given = "gold mentions" if document.mentions == "gold" else "predicted mentions"
    # Of several runs of a system, the first one is shown in detail.
    names = [own.systems[0] for own in document.runs.values()] if document.runs else list(document.systems)
    first = document
    if document.runs:
        own = {name: document.systems[name] for name in names}
        first = replace(document, systems=own, comparisons=())
    tasks = [[*_tasks(first, name)] for name in first.systems]
    every = [task for own in tasks for task in own]
    sections = [
        Section("verdict", cells.words(""), (Paragraphs((verdict, *statements)),), on=SCREEN),
        *what_to_do(every, UP_TO, SCREEN),
        *_over_runs(document),
        *_letters(document),
        _criteria(first),
        _outcomes(first),
        *what_to_do(every, UP_TO, PAGE),
        *_sentences(first),
        _types(first),
        _types_by_criterion(first),
        *_parts(first),
    ]
    how = named_test(document.comparisons, tested_as(document))
    return View(
        title="tuples",
        about=cells.words(f"tuples of mentions · {size} · {given}"),
        verdict=verdict,
        statements=statements,
        sections=(*sections, _paper(document), differences(document.comparisons, "Tuples", how)),
        findings=tuple(replace(task, command="") for own in tasks for task in own[:MOST_FIRST]),
        inputs=document.inputs,
        systems=tuple(names),
    )


# ---- the verdict -------------------------------------------------------------------------------------


def _verdict(document: Tuples) -> cells.Clause:
    """Which system is better by the chosen criterion, or what each of them scores."""
    score = _f1(CRITERIA[document.criterion][0])
    tests = [pair.primary for pair in document.comparisons]
    if len(tests) == 1 and (test := tests[0]) is not None and test.difference is not None:
        pair = document.comparisons[0]
        if pair.identical:
            return cells.words("{} and {} give the same predictions.", *pair.systems)
        shown = better_by(pair.systems, test.difference, test.interval, score, significant=test.significant)
        return cells.literal(f"{shown}.")
    if any(test is not None for test in tests):
        better = significant_pairs(document.comparisons)
        best, *others = lettering(_primary(document))
        beaten = [name for name in others if (best, name) in better]
        left = [name for name in others if name not in beaten]
        parts = [f"{best} is better than {words.either(beaten, 'and')}"] if beaten else []
        parts += [f"{words.either([best, *left], 'and')} {NOT_APART}"] if left else []
        return cells.literal(f"By {score}, {'; '.join(parts)}.")
    if document.runs:
        return cells.joined([_mean(document, system) for system in document.runs])
    return cells.joined([_alone(document, system) for system in document.systems])


def _primary(document: Tuples) -> dict[str, float | None]:
    """The F1 of each system by the chosen criterion, or its mean over runs."""
    if document.runs:
        return {name: own.mean[document.criterion]["f1"] for name, own in document.runs.items()}
    return {name: own.criteria[document.criterion].overall.f1 for name, own in document.systems.items()}


def _f1(name: str) -> str:
    """How the F1 of a criterion is called: *strict F1 (Rel+)*."""
    first, _, rest = name.partition(" ")
    return f"{first} F1 {rest}".strip()


def _mean(document: Tuples, name: str) -> cells.Clause:
    own = document.runs[name] if document.runs else None
    mean = own.mean[document.criterion]["f1"] if own else None
    over = words.plural(len(own.systems) if own else 0, "run")
    return cells.words(
        "{}: " + f"mean {_f1(CRITERIA[document.criterion][0])} {words.points(mean)} over {over}.", name
    )


def _alone(document: Tuples, name: str) -> cells.Clause:
    system = document.systems[name]
    chosen = system.criteria[document.criterion].overall
    ends = chosen.ends("f1")
    within = f" [{words.interval(ends)}]" if ends else ""
    spans = system.criteria["boundaries"].overall.f1
    beside = "" if document.criterion == "boundaries" else f"; {words.points(spans)} by spans alone (Rel)"
    return cells.words(
        "{}: " + f"{_f1(CRITERIA[document.criterion][0])} {words.points(chosen.f1)}{within}{beside}.", name
    )


def _compared(document: Tuples) -> Iterator[str]:
    """How the pairs were tested, and under which other criteria the answer is the same or another."""
    settings = tested_as(document)
    for pair in document.comparisons:
        if pair.identical or pair.primary is None or pair.primary.p_corrected is None:
            continue
        if len(document.comparisons) > 1:
            yield compared_sentence(pair, settings, _f1(CRITERIA[document.criterion][0]))
        else:
            yield f"Tested by {how_tested(pair, settings)}."
        said: dict[str, list[str]] = {}
        for criterion, (name, _) in CRITERIA.items():
            test = pair.score(("criteria", criterion, "overall", "f1"))
            if criterion == "type" or test is None or test.p_corrected is None:
                continue
            first, second = pair.systems if (test.difference or 0) >= 0 else pair.systems[::-1]
            better = f"{first} is better than {second}"
            said.setdefault(
                better if test.significant else f"{words.either(pair.systems, 'and')} {NOT_APART}", []
            ).append(name)
        for sentence, names in said.items():
            others = [name for name in names if name != CRITERIA[document.criterion][0]]
            if others and len(others) == len(names):
                yield f"By {words.either(others, 'and')}, {sentence}."
            elif others and len(document.comparisons) == 1:
                yield f"The same holds by {words.either(others, 'and')}."


def _tasks(document: Tuples, name: str) -> Iterator[Remark]:
    """What to do about a system: where it is weak, and the errors that cost most; then seen facts."""
    system = document.systems[name]
    who = f"{name}: " if len(document.systems) > 1 else ""
    for one in system.weak[:1]:
        yield Remark(
            f"{who}weak where {ATTRIBUTES.get(one.attribute, one.attribute)} is {one.value}.",
            f"F1 {words.points(one.f1)} [{words.interval(one.interval)}] on "
            f"{words.plural(one.gold, 'gold tuple')}, p {sentence_p(one.p)} (the worst of {one.of}).",
        )
    costly = sorted(_costly(system, document.criterion), key=lambda task: -task[0])
    for gain, what, why, kind in costly[:MOST_TASKS]:
        command = closer_command(document, "tuples", [*_as_chosen(document), f"--kind {quoted(kind)}"], name)
        if not kind:
            command = closer_command(document, "errors", ["--kind 'wrong label'"], name)
        yield Remark(f"{who}{what}.", f"{why}: up to +{words.points(gain)} F1.", command=command)
    if system.seen and system.seen.SEEN.tuples:
        yield Remark(
            f"{who}report seen facts apart.",
            f"{words.plural(system.seen.SEEN.tuples, 'gold fact')} known from training; without right "
            f"predictions of seen facts F1 is {words.points(system.seen.ign.f1)} (Ign-F1).",
        )


def _as_chosen(document: Tuples) -> Iterator[str]:
    """The options by which tuples are equal, where they are not the usual ones."""
    if document.criterion != "strict":
        yield f"--criterion {document.criterion}"
    if document.settings.undirected:
        yield f"--undirected {quoted(','.join(document.settings.undirected))}"


def _costly(system: SystemTuples, criterion: str) -> Iterator[tuple[float, str, str, str]]:
    """What would raise F1, by how much, what to do, what shows it, and the kind of its errors."""
    strict, spans = (system.criteria[one].overall for one in ("strict", "boundaries"))
    labels = spans.correct - strict.correct
    if criterion == "strict" and labels and strict.f1 is not None and spans.f1 is not None:
        why = f"{words.plural(labels, 'tuple')} with the right type and spans, and only another label"
        yield spans.f1 - strict.f1, "fix the labels of mentions", f"{why} (from Rel+ to Rel)", ""
    gold, invented = system.outcomes.gold, system.outcomes.predicted["spurious"]
    role, wrong = next(iter(system.outcomes.roles.items()), ("", 0))
    for kind, times, what, why in (
        ("type", gold["type"], "tell types apart", "with the right fillers and another type"),
        ("mention missed", gold["mention missed"], "find more mentions", "without one of the mentions"),
        ("missed", gold["missed"], "find more tuples", "missed, though all mentions were found"),
        ("spurious", invented, "invent fewer tuples", "like nothing in gold"),
        ("filler", gold["filler"], f"look at the role {role}",
         f"with a wrong argument, {wrong:,} of them in this role"),
    ):  # fmt: skip
        gain = system.gains[kind].gain
        if times and gain:
            yield gain, what, f"{words.plural(times, 'tuple')} {why}", kind


# ---- tables ----------------------------------------------------------------------------------------------


Scored: TypeAlias = tuple[float | None, Interval | None]  # a score and its interval
Row: TypeAlias = tuple[Sequence[Cell], tuple[str, ...]]  # cells, and the path of the score that is tested


def _section(name: str, title: str, grid: Grid, about: str) -> Section:
    return Section(name, cells.words(title), (grid,), about, on=SHOWN)


def _scored(scores: ExactScores | BucketScores | Bounded, score: str = "f1") -> Scored:
    return getattr(scores, score), scores.interval.get(score)


def _of_systems(document: Tuples, scored: Mapping[str, Scored]) -> Iterator[Cell]:
    """The score and the interval of every system; nothing for one without them."""
    for name in document.systems:
        value, ends = scored.get(name, (None, None))
        yield cells.points(value, "strong") if name in scored else Number(None, "")
        yield cells.interval(ends, style="faint") if name in scored else ""


def _system_columns(document: Tuples) -> Iterator[Column]:
    for name in document.systems:
        yield Column(name, right=True, names=True)
        yield Column("95% CI" if document.settings.resamples else "", rank=2)


def _tested(document: Tuples, columns: Sequence[Column], rows: Sequence[Row], wide: str = "") -> Grid:
    """A table with the test of the only pair of systems in each row, and its difference as a drawing.

    `wide` is the criterion whose difference is often so large that no other could be seen on the same axis.
    """
    if len(document.comparisons) != 1:
        return Grid(columns, [row for row, _ in rows])
    (pair,) = document.comparisons
    found: list[Sequence[Cell]] = []
    reach = [0.0]
    for row, path in rows:
        test = pair.score(path)
        if test is None or test.p_corrected is None:
            found.append([*row, Number(None, ""), Strip(None, None), Phrase("", "faint")])
            continue
        better = pair.systems[0 if (test.difference or 0) > 0 else 1]
        said = f"{better} better" if test.significant else NOT_APART
        shown = Phrase(f"{said}, p {sentence_p(test.p_corrected)}", "faint")
        found.append([*row, cells.signed(test.difference), Strip(test.difference, test.interval), shown])
        if path[1] != wide:
            reach += [end for end in test.interval or () if end is not None]
    drawn = Column("0 in grey", axis=StripAxis(tuple(reach), 0.0), on=PAGE)
    return Grid([*columns, Column("difference", right=True), drawn, Column("", rank=1)], found)


def _over_runs(document: Tuples) -> Iterator[Section]:
    """The mean F1 of each system over its runs, under every criterion."""
    if document.runs:
        columns = [Column("criterion", least=18)]
        rows: list[Row] = []
        for name, own in document.runs.items():
            columns.append(Column(f"{name} ({len(own.systems)})", right=True, names=True))
        for criterion, (name, _) in CRITERIA.items():
            both = [(run.mean[criterion]["f1"], run.std[criterion]["f1"]) for run in document.runs.values()]
            means = [Number(mean, words.spread(mean, std)) for mean, std in both]
            lead = Phrase(name, "strong" if criterion == document.criterion else "")
            rows.append(([lead, *means], ("criteria", criterion, "overall", "f1")))
        about = "mean F1 ± standard deviation (runs); below, the first run of each"
        yield _section("runs", "Over runs", _tested(document, columns, rows), about)


def _letters(document: Tuples) -> Iterator[Section]:
    """Of more than two systems, which of them each one is better than, by the chosen criterion."""
    if len(document.comparisons) > 1:
        scores = _primary(document)
        own = lettering(scores)
        beats = beaten_letters(own, significant_pairs(document.comparisons))
        rows = [(sign, name, cells.points(scores[name], "strong"), beats[name]) for name, sign in own.items()]
        columns = [Column(""), Column("system", least=8, names=True), Column("F1", right=True)]
        how = f"{CRITERIA[document.criterion][0]}; {named_test(document.comparisons, tested_as(document))}"
        grid = Grid([*columns, Column("better than")], rows)
        yield Section("letters", cells.words("Who is better than whom"), (grid,), how)


def _criteria(document: Tuples) -> Section:
    rows: list[Row] = []
    for criterion, (name, _) in CRITERIA.items():
        chosen = criterion == document.criterion
        of_all = {own: _scored(one.criteria[criterion].overall) for own, one in document.systems.items()}
        lead = Phrase(f"{name} ◂" if chosen else name, "strong" if chosen else "")
        rows.append(([lead, *_of_systems(document, of_all)], ("criteria", criterion, "overall", "f1")))
    columns = [Column("criterion", least=18), *_system_columns(document)]
    grid = _tested(document, columns, rows, "" if document.criterion == "type" else "type")
    equal = [Phrase(about, "faint") for _, about in CRITERIA.values()]
    grid = replace(
        grid, columns=[*grid.columns, Column("what must be equal", rank=3, least=16)],
        rows=[[*row, about] for row, about in zip(grid.rows, equal, strict=True)],
    )  # fmt: skip
    about = "F1; the verdict is about ◂" + (", the other tests are secondary" if document.comparisons else "")
    return _section("criteria", "Which F1 is this?", grid, about)


def _outcomes(document: Tuples) -> Section:
    systems = document.systems.values()
    bars = len(systems) <= 2
    rows: list[Sequence[Cell]] = []
    listed = [(key, *told, "gold") for key, told in GOLD_OUTCOMES.items()]
    listed.append(("spurious", *INVENTED, "predicted"))
    for key, name, about, side in listed:
        row: list[Cell] = [Phrase(name, "strong")]
        for system in systems:
            gain = system.gains[key].gain if key in system.gains else None
            times: dict[str, int] = getattr(system.outcomes, side)
            row += [cells.count(times[key])]
            row += [cells.signed(gain, "mark") if gain is not None else Number(None, "")]
            if bars:
                row.append(ShareBar(times[key] / max(sum(times.values()), 1)))
        rows.append([*row, Phrase(about, "faint")])
    columns = [Column("what became of it", least=12)]
    for name in document.systems:
        columns += [Column(name, right=True, names=True), Column("to gain", right=True)]
        if bars:
            columns.append(Column(least=6, most=16, rank=2, on=SHOWN if len(systems) == 1 else PAGE))
    columns.append(Column(rank=1, least=16))
    blocks: list[Block] = [Grid(columns, rows)]
    for name, system in document.systems.items():
        if system.outcomes.roles:
            roles = ", ".join(f"{role} {number:,}" for role, number in [*system.outcomes.roles.items()][:6])
            blocks.append(
                Paragraphs((cells.words("{}: wrong arguments by role: {}.", name, roles),), "faint")
            )
    about = "gold tuples, and invented ones; to gain: in F1, if all were fixed"
    return Section("outcomes", cells.words("What became of each tuple"), tuple(blocks), about, on=SHOWN)


def _types(document: Tuples) -> Section:
    systems = {name: one.criteria[document.criterion] for name, one in document.systems.items()}
    known = {kind: cell.gold for one in systems.values() for kind, cell in one.types.items()}
    rows: list[Row] = []
    for kind in sorted(known, key=lambda kind: (-known[kind], kind)):
        own = {name: _scored(one.types[kind]) for name, one in systems.items() if kind in one.types}
        path = ("criteria", document.criterion, "types", kind, "f1")
        rows.append(([kind, cells.count(known[kind]), *_of_systems(document, own)], path))
    means = {name: (one.macro.f1, None) for name, one in systems.items()}
    rows.append(([Phrase("macro average", "faint"), "", *_of_systems(document, means)], ()))
    columns = [Column("type", least=13), Column("gold", right=True), *_system_columns(document)]
    grid = replace(_tested(document, columns, rows), most=MOST_TYPES, noun="types")
    gold = next(iter(systems.values())).overall.gold
    about = f"F1, {CRITERIA[document.criterion][0]}; {words.plural(gold, 'gold tuple')}"
    return _section("types", "By type", grid, about)


def _types_by_criterion(document: Tuples) -> Section:
    """Precision and recall of every type, and its F1 under every criterion, side by side."""
    rows: list[Sequence[Cell]] = []
    for name, system in document.systems.items():
        chosen = system.criteria[document.criterion]
        order = sorted(chosen.types.items(), key=lambda item: (-item[1].gold, item[0]))
        for kind, cell in [*order, ("all", chosen.overall)]:
            row: list[Cell] = [*[name] * (len(document.systems) > 1), kind, cells.count(cell.gold)]
            row += [cells.points(cell.precision), cells.points(cell.recall)]
            for criterion, scores in system.criteria.items():
                one = scores.overall if kind == "all" else scores.types.get(kind)
                style = "strong" if criterion == document.criterion else ""
                row.append(cells.points(one.f1, style) if one else "")
            rows.append(row)
    columns = [Column("system", least=8, names=True)] * (len(document.systems) > 1)
    columns += [
        Column("type", least=13),
        *(Column(one, right=True) for one in ("gold", "precision", "recall")),
    ]
    columns += [Column(criterion, right=True) for criterion in CRITERIA]
    name = CRITERIA[document.criterion][0]
    about = f"precision and recall: {name}; then F1"
    grid = Grid(columns, rows, MOST_TYPES * len(document.systems), "types")
    on = SHOWN if len(document.systems) == 1 else PAGE
    return Section("criteria-types", cells.words("By type, under every criterion"), (grid,), about, on=on)


PARTS = {
    "events": ("Events", "distinct triggers and arguments; the criterion does not matter"),
    "links": ("Links", "strict: span, label and identifier; found: of mentions found by span"),
    "values": ("Values of attributes", "F1 by type and value"),
    "seen": ("Seen and unseen facts", "recall of gold facts; Ign leaves seen ones out of precision"),
    "mentions": ("Mentions", "exact F1 of the mentions themselves"),
    "buckets": ("By part", "F1 of the tuples in each part"),
}


def _parts(document: Tuples) -> Iterator[Section]:
    """Events, links, values, seen facts, mentions and buckets, as far as the data have them."""
    for name, (title, about) in PARTS.items():
        table: dict[tuple[str, str], dict[str, Scored]] = {}
        numbers: dict[tuple[str, str], int] = {}
        for system, own in document.systems.items():
            for kind, division, part, number, scored in _part_scores(own):
                if kind == name:
                    table.setdefault((division, part), {})[system] = scored
                    if number is not None:
                        numbers[division, part] = max(number, numbers.get((division, part), 0))
        rows: list[Sequence[Cell]] = []
        divisions = [""]
        for (division, part), scores in table.items():
            number = numbers.get((division, part))
            lead = "" if division == divisions[-1] else division
            gold = "" if number is None else cells.count(number)
            rows.append([lead, part, gold, *_of_systems(document, scores)])
            divisions.append(division)
        columns = [Column(least=16), Column(least=12), Column("gold", right=True), *_system_columns(document)]
        if rows:
            grid = Grid(columns, rows, MOST_BUCKETS if name == "buckets" else None, "parts")
            yield _section(name, title, grid, about)


def _part_scores(system: SystemTuples) -> Iterator[tuple[str, str, str, int | None, Scored]]:
    """The part of a page, the division and the name of each part, its gold tuples, and its score."""
    for score, cell in (system.events or {}).items():
        yield "events", EVENTS[score], "", cell.gold, _scored(cell)
    if system.links:
        strict, found = system.links.strict, system.links.found
        yield "links", "strict", "F1", strict.gold, _scored(strict)
        yield "links", "found", "accuracy", found.mentions, _scored(found, "accuracy")
    for kind, values in system.values.items():
        for value, cell in sorted(values.items(), key=lambda item: (-item[1].gold, item[0])):
            yield "values", kind, value, cell.gold, _scored(cell)
    if system.seen:
        for part, facts in (("seen", system.seen.SEEN), ("unseen", system.seen.UNSEEN)):
            yield "seen", part, "recall", facts.tuples, _scored(facts, "recall")
        yield "seen", "Ign-F1", "", None, _scored(system.seen.ign)
    if system.mentions:
        yield "mentions", "mentions", "", system.mentions.gold, _scored(system.mentions)
    for attribute, buckets in system.attributes.items():
        for bucket in buckets:
            yield "buckets", ATTRIBUTES.get(attribute, attribute), bucket.text, bucket.gold, _scored(bucket)


# ---- sentences ---------------------------------------------------------------------------------------------


def _sentences(document: Tuples) -> Iterator[Section]:
    for at, (name, system) in enumerate(document.systems.items()):
        drawn = tuple(_quote(sentence) for sentence in system.sentences)
        if not drawn:
            continue
        note = "gold above, the system below; what is wrong is dashed, marked ✗ and said in words"
        kind = f": {GOLD_OUTCOMES.get(one, INVENTED)[0]}" if (one := document.settings.kind) else ""
        title = cells.words("Sentences with an error of {}" + kind, name)
        yield Section(f"sentences-{at}", title, drawn, note, on=PAGE)
        yield Section(f"read-{at}", title, drawn[:MOST_SENTENCES], on=SCREEN)


def _quote(sentence: TupleSentence) -> ArcQuote:
    gold, predicted = sentence.gold, sentence.predicted
    remarks = [_predicted_remark(one, gold.tuples) for one in predicted.tuples]
    for one in gold.tuples:
        if one.outcome == "mention missed":
            lost = [
                each.text
                for each in one.fillers
                if each.mention is not UNSET and not gold.mentions[each.mention].found
            ]
            remarks.append((False, one.type, f"a mention was missed{': ' + ', '.join(lost) if lost else ''}"))
        elif one.outcome == "missed":
            remarks.append((False, one.type, "missed, though its mentions were found"))
    return ArcQuote(
        source=sentence.source,
        tokens=sentence.tokens,
        above=ArcSide(
            tuple((one.start, one.end, one.label, True) for one in gold.mentions),
            tuple(arc for one in gold.tuples for arc in _arcs(one, True)),
        ),
        below=ArcSide(
            tuple((one.start, one.end, one.label, one.found) for one in predicted.mentions),
            tuple(arc for one in predicted.tuples for arc in _arcs(one, one.outcome == "right")),
        ),
        remarks=tuple(remarks),
    )


def _arcs(one: ShownTuple, right: bool) -> Iterator[Arc]:
    """One arc between two mentions; one from a trigger to each argument; a mark for a value or link."""
    mentions = [filler for filler in one.fillers if filler.mention is not UNSET]
    others = [filler.text for filler in one.fillers if filler.mention is UNSET]
    label = f"{one.type}: {', '.join(others)}" if others else one.type
    if not mentions:
        return
    numbers = [int(filler.mention) for filler in mentions if filler.mention is not UNSET]
    if len(mentions) == 1:
        yield Arc(numbers[0], numbers[0], label, right)
    elif len(mentions) == 2 and not one.trigger:
        yield Arc(numbers[0], numbers[1], label, right)
    else:
        for filler, number in zip(mentions[1:], numbers[1:], strict=True):
            yield Arc(numbers[0], number, f"{label} {filler.role}", right)


def _predicted_remark(one: ShownTuple, gold: Sequence[ShownTuple]) -> tuple[bool, str, str]:
    partner = None if one.partner is UNSET else gold[one.partner]
    others = [name for name in one.right if name != "type"]
    under = f"; right by {' and '.join(others)}" if others else ""
    if one.outcome == "right":
        every = len(one.right) == len(CRITERIA)
        return True, one.type, "right by every criterion" if every else under.removeprefix("; ") or "right"
    if one.outcome == "type" and partner is not None:
        return False, one.type, f"other type: gold says {partner.type}"
    if one.outcome == "filler" and partner is not None:
        wanted = {(each.role, each.text) for each in partner.fillers}
        given = [(each.role, each.text) for each in one.fillers]
        wrong = [each for each in given if each not in wanted]
        missed = [each.text for each in partner.fillers if (each.role, each.text) not in given]
        if not wrong and not missed:
            return False, one.type, f"wrong argument: the label of a mention differs{under}"
        what = ", ".join(text for _, text in wrong) or "nothing"
        return False, one.type, f"wrong argument: {what} for {', '.join(missed) or 'nothing'}{under}"
    return False, one.type, "invented: gold has no such tuple"


# ---- papers ------------------------------------------------------------------------------------------------


def _paper(document: Tuples) -> Section:
    """Precision, recall and F1 of every system under every criterion, overall and by type."""
    rows: list[Sequence[Cell]] = []
    for name, system in document.systems.items():
        for criterion, scores in system.criteria.items():
            for part, cell in {"all": scores.overall, **scores.types}.items():
                row: list[Cell] = [name, criterion, part]
                row += [cells.count(number) for number in (cell.gold, cell.predicted, cell.correct)]
                for score in ("precision", "recall", "f1"):
                    value, ends = _scored(cell, score)
                    row += [cells.points(value), cells.interval(ends)]
                rows.append(row)
    titles = (
        "system", "criterion", "type", "gold", "predicted", "correct", "precision", "interval", "recall",
        "interval", "F1", "interval",
    )  # fmt: skip
    caption = (
        f"Tuples under every criterion, in points; mentions were {document.mentions}. Intervals: 95 % "
        f"logit-t, jackknife over {document.settings.unit}s."
    )
    return tabled("tuples", "Tuples", titles, rows, caption)
