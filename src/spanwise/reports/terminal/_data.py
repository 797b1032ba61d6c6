"""The screens for data and annotations: description, split, agreement and suspects."""

from __future__ import annotations

from msgspec import UNSET

from spanwise.document import Interval
from spanwise.document.agreement import Agreement, DisagreementExample, PairMean
from spanwise.document.dataset import (
    DatasetFacts,
    Description,
    LabelConflict,
    Suspect,
    SuspectMention,
    Suspects,
)
from spanwise.document.scores import BucketEdges
from spanwise.reports.terminal._layout import (
    Column,
    ScreenCell,
    ScreenLine,
    and_more,
    banner,
    bar,
    files,
    flow,
    grid,
    heading,
    packed,
    sentence,
    tail,
    text,
)
from spanwise.reports.terminal._result import absent
from spanwise.reports.terminal._view import section_lines
from spanwise.views import differing
from spanwise.views import wording as say
from spanwise.views.differing import lines_of, words_of
from spanwise.views.judging import THESE_ANNOTATORS, bound, level_sentences

# ---- description -----------------------------------------------------------------------------------


MOST_LABELS = 30
MOST_NAMES = 12
MOST_GROUPS = 4
MOST_SAME = 2


def description_lines(document: Description, width: int, seconds: float | None) -> list[ScreenLine]:
    """All sections of a description."""
    dataset = document.dataset
    return [
        *banner(document, seconds),
        *files(document.inputs, width, dataset=dataset),
        *_described_labels(dataset, width),
        *tough_lines(dataset, width),
        *_attributes(dataset, width),
        *_drift(dataset, width),
        *_conflicts(dataset, width),
    ]


def _order(dataset: DatasetFacts) -> tuple[str, ...]:
    labels = dataset.labels
    return dataset.label_order or tuple(sorted(labels, key=lambda label: -labels[label]))


def _described_labels(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    labels, order = dataset.labels, _order(dataset)
    if not labels:
        return []
    top, total = max(labels.values()) or 1, dataset.mentions or 1
    rows: list[list[ScreenCell]] = [
        [text(label), say.count(labels[label]), say.percent(labels[label] / total), bar(labels[label] / top)]
        for label in order[:MOST_LABELS]
    ]
    columns = [
        Column("label", least=12), Column("mentions", right=True), Column("share", right=True),
        Column(least=16, most=50),
    ]  # fmt: skip
    sizes = (
        (dataset.documents, "document"), (dataset.sentences, "sentence"), (dataset.mentions, "mention"),
    )  # fmt: skip
    facts = [say.plural(number, noun) for number, noun in sizes if number]
    return [
        *heading("Labels", " · ".join(facts), width),
        *grid(columns, rows, width),
        *and_more(len(order) - MOST_LABELS, width, "labels"),
    ]


def tough_lines(dataset: DatasetFacts, width: int, *, title: str = "Tough mentions") -> list[ScreenLine]:
    """The number of gold mentions in each tough subset, and their share overall and by label."""
    order = _order(dataset)[: max(1, (width - 50) // 8)]
    rows: list[list[ScreenCell]] = []
    for subset, shares in (dataset.tough or {}).items():
        cells = [shares.labels.get(label) for label in order]
        rows.append(
            [
                say.TOUGH[subset],
                say.count(shares.overall.mentions),
                [(say.percent(shares.overall.share), "strong")],
                *(say.percent(None if cell is None else cell.share) for cell in cells),
            ]
        )
    columns = [Column("mentions", least=14), Column("gold", right=True), Column("share", right=True)]
    columns += [
        Column(say.visible(label), right=True, least=6, rank=index + 1) for index, label in enumerate(order)
    ]
    return (
        [*heading(title, "share of all, and of each label", width), *grid(columns, rows, width)]
        if rows
        else []
    )


def _attributes(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    zeta, tables = dataset.zeta, dataset.attributes
    rows: list[list[ScreenCell]] = []
    for name in dict.fromkeys([*tables, *zeta]):
        if name == "label":
            continue  # the labels are listed above
        buckets = tables[name].buckets if name in tables else ()
        shown = [[(f"{_bucket(bucket)} ", "faint"), (say.percent(bucket.share), "")] for bucket in buckets]
        rows.append([text(say.attribute(name)), _zeta(zeta.get(name)), packed(shown, join="  ")])
    columns = [Column("attribute", least=16), Column("ζ", right=True), Column("buckets", least=20, most=110)]
    result: list[ScreenLine] = []
    if rows:
        result += heading("Attributes", "ζ: mean over gold units · share of gold units in each bucket", width)
        result += grid(
            columns if tables else columns[:2], rows if tables else [row[:2] for row in rows], width
        )
    return [*result, *absent(dataset, width)]


def _zeta(value: float | None) -> str:
    return "" if value is None else say.plain(value)


def _bucket(bucket: BucketEdges) -> str:
    return say.bucket(bucket).replace(" ", "") if bucket.value is UNSET else say.bucket(bucket)


def _drift(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    """The test set compared with its training data: labels, lengths, unknown tokens, unseen mentions."""
    drift = dataset.drift
    if drift is None:
        return []
    rows: list[list[ScreenCell]] = [
        [text(title), train, test, apart] for title, train, test, apart in say.drift_rows(drift)
    ]
    columns = [
        Column("", least=24), Column("training", right=True), Column("test", right=True),
        Column("distance", right=True),
    ]  # fmt: skip
    units = f"training: each {drift.left_out} beside the others" if drift.left_out else ""
    return [*heading("Drift", units, width), *grid(columns, rows, width)]


def _conflicts(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    """Names with several labels and sentences annotated in several ways, which may need fixing."""
    if dataset.conflicts is None:
        return []
    names, sentences = dataset.conflicts.labels, dataset.conflicts.sentences
    result: list[ScreenLine] = []
    if names.sequences:
        mentions = say.plural(names.mentions, "mention")
        size = f"{say.plural(names.sequences, 'name')} with several labels, {mentions}"
        result += flow([text(size)], width, indent=2)
        result += flow([_name(row) for row in names.examples[:MOST_NAMES]], width, indent=4, join="  ")
    if sentences.groups:
        size = f"{say.plural(sentences.groups, 'sentence')} annotated in more than one way"
        result += flow([text(size)], width, indent=2)
        for group in sentences.examples[:MOST_GROUPS]:
            room = max(12, width // 2 - 6)
            sources = [text(tail(row.place, room), "faint") for row in group[:MOST_SAME]]
            result += flow(sources, width, indent=4, join=" ≠ ")
    variation = dataset.conflicts.variation
    if variation is not None and variation.places:
        places = say.plural(variation.places, "place")
        result += flow(
            [text(f"{places} read differently elsewhere between the same neighbours")], width, indent=2
        )
        parts: list[ScreenLine] = [
            [
                (say.visible(row.text), "strong"),
                (f" {say.visible(row.label)}, elsewhere {say.visible(row.elsewhere)}", "faint"),
            ]
            for row in variation.examples[:MOST_NAMES]
        ]
        result += flow(parts, width, indent=4, join="  ")
    return [*heading("Conflicts", "worth a look before any system is run", width), *result] if result else []


def _name(row: LabelConflict) -> ScreenLine:
    counts = " ".join(f"{say.visible(label)} {say.count(number)}" for label, number in row.labels.items())
    shown = text(row.text, "strong") if row.text else []
    return [*shown, (f" {counts}" if shown else counts, "faint")]


# ---- agreement -------------------------------------------------------------------------------------


# Symmetric wording: in a pair of annotators, neither is gold and neither is wrong.
DISAGREEMENTS = {
    "LE": "same span, other label",
    "BE": "same label, other boundary",
    "LBE": "overlapping, other label",
    "alone": "marked by only one",
}
_MOST_PAIRS = 15
_MOST_LABELS = 12
_MOST_EXAMPLES = 3
_MOST_LINES = 4


def agreement_lines(document: Agreement, width: int) -> list[ScreenLine]:
    """All sections, the main result first."""
    return [
        *banner(document, None),
        *_files(document, width),
        *_overview(document, width),
        *_levels(document, width),
        *_annotators(document, width),
        *_pairs(document, width),
        *_agreed_labels(document, width),
        *_kinds(document, width),
        *(line for section in differing.sections(document) for line in section_lines(section, width)),
        *_chance(document, width),
        *_majority(document, width),
        *_examples(document, width),
    ]


def _files(document: Agreement, width: int) -> list[ScreenLine]:
    parts = [
        text(say.plural(len(document.annotators), "annotator")),
        text(f"{say.plural(document.documents, 'document')} shared by two or more"),
        text(f"positions in {document.unit}s"),
    ]
    result = flow(parts, width)
    for note in document.notes:
        first, *rest = sentence(note, width, indent=3)
        result += [[(" ! ", "warn"), *first[1:]], *rest]
    return result


def _mean(mean: PairMean) -> str:
    spread = "" if mean.std is None else f" ± {say.points(mean.std)}"
    return f"{say.points(mean.f1)}{spread}"


def _overview(document: Agreement, width: int) -> list[ScreenLine]:
    mean = document.mean
    ends = bound(mean.overall.interval, "f1")
    rows: list[list[ScreenCell]] = [
        [text("the same span and label", "strong"), text(_mean(mean.overall), "score"), say.interval(ends)],
        ["the same span, any label", _mean(mean.spans), ""],
        ["near misses credited by half (fair)", _mean(mean.fair), ""],
    ]
    shares = [pair.on_equal_spans for pair in document.pairs if pair.on_equal_spans.share is not None]
    if shares:
        equal, spans = sum(share.equal for share in shares), sum(share.spans for share in shares)
        rows.append([f"the same label on {say.plural(spans, 'equal span')} of all pairs",
                     say.points(equal / spans) if spans else say.UNDEFINED, ""])  # fmt: skip
    number = mean.overall.pairs
    note = "one pair" if number == 1 else f"mean ± standard deviation over {say.plural(number, 'pair')}"
    return [
        *heading("How often two annotators agree (F1)", note, width),
        *grid([Column(), Column(), Column("95% CI" if ends else "")], rows, width),
    ]


def _levels(document: Agreement, width: int) -> list[ScreenLine]:
    """The human level and systems beside it; without systems, it is the mean of pairs above."""
    if document.levels is UNSET or not document.levels.systems:
        return []
    human = document.levels.human
    rows: list[list[ScreenCell]] = [
        [
            text("human level", "strong"), text(say.points(human.f1), "score"), say.interval(human.interval),
            "", "", "",
        ]
    ]  # fmt: skip
    rows += [
        [
            text(name), say.points(level.f1), say.interval(level.interval), say.signed(level.difference),
            say.signed_interval(level.difference_interval), say.p_value(level.p_corrected),
        ]
        for name, level in document.levels.systems.items()
    ]  # fmt: skip
    columns = [
        Column(), Column("F1", right=True), Column("95% CI", rank=1), Column("difference", right=True),
        Column("95% CI", rank=2), Column("p", right=True),
    ]  # fmt: skip
    result = [
        *heading("Human level", "mean F1 of pairs of annotators; of a system with each of them", width),
        *grid(columns, rows, width),
    ]
    for words in level_sentences(document):
        result += sentence(words, width)
    return [*result, *sentence(THESE_ANNOTATORS, width, style="faint")]


def _annotators(document: Agreement, width: int) -> list[ScreenLine]:
    rows: list[list[ScreenCell]] = [
        [
            text(row.annotator, "strong"),
            say.count(row.mentions),
            say.points(row.mean_f1),
            text(say.points(row.others_f1), "score"),
            bar(row.others_f1 or 0.0),
            text(f"{len(row.missing):,} documents missing" if row.missing else "", "faint"),
        ]
        for row in document.ranking
    ]
    columns = [
        Column(""), Column("mentions", right=True), Column("with each other", right=True),
        Column("with majority of the others", right=True), Column(most=20, least=6, rank=2), Column(rank=1),
    ]  # fmt: skip
    result = [*heading("Annotators", "F1, in points", width), *grid(columns, rows, width)]
    result += _ceiling(document, width)
    return result


def _ceiling(document: Agreement, width: int) -> list[ScreenLine]:
    top = document.ceiling
    rows: list[list[ScreenCell]] = [
        [
            text("mean of annotators", "strong"),
            text(say.points(top.mean), "score"),
            say.interval(top.interval.get("mean")),
        ]
    ]
    rows += [
        [text(name), say.points(system.f1), say.interval(system.interval.get("f1"))]
        for name, system in document.systems.items()
    ]
    columns = [Column(), Column("F1", right=True), Column("95% CI")]
    return [
        *heading("Agreement with the majority of the others", "moves with their number", width),
        *grid(columns, rows, width),
    ]


def _pairs(document: Agreement, width: int) -> list[ScreenLine]:
    if len(document.pairs) < 2:
        return []
    ranked = sorted(document.pairs, key=lambda pair: (pair.overall.f1 is None, pair.overall.f1 or 0))
    cells: list[list[ScreenCell]] = [
        [
            text(" – ".join(pair.annotators)),
            say.points(pair.overall.f1),
            say.interval(bound(pair.interval, "f1")),
            say.points(pair.spans.f1),
            say.points(pair.on_equal_spans.share),
            _decimal(pair.on_equal_spans.kappa),
            say.count(pair.overall.both),
            say.count(pair.overall.first),
            say.count(pair.overall.second),
        ]
        for pair in ranked[:_MOST_PAIRS]
    ]
    columns = [
        Column("pair", least=12, names=True), Column("F1", right=True), Column("95% CI", rank=1),
        Column("spans", right=True),
        Column("labels", right=True), Column("κ of labels", right=True, rank=1),
        Column("both", right=True, rank=2), Column("first", right=True, rank=2),
        Column("second", right=True, rank=2),
    ]  # fmt: skip
    return [
        *heading("Pairs", "least agreement first", width),
        *grid(columns, cells, width),
        *and_more(len(ranked) - _MOST_PAIRS, width, "pairs"),
    ]


def _agreed_labels(document: Agreement, width: int) -> list[ScreenLine]:
    labels = sorted(document.mean.labels.items(), key=lambda pair: (pair[1].f1 is None, pair[1].f1 or 0))
    cells: list[list[ScreenCell]] = [
        [text(name), _mean(mean), _decimal(document.alpha_u.labels.get(name))]
        for name, mean in labels[:_MOST_LABELS]
    ]
    columns = [Column("label"), Column("F1", right=True), Column("α_u", right=True)]
    return [
        *heading("Labels", "least agreement first", width),
        *grid(columns, cells, width),
        *and_more(len(labels) - _MOST_LABELS, width, "labels"),
    ]


def _kinds(document: Agreement, width: int) -> list[ScreenLine]:
    counts = document.disagreement
    named = {kind: counts.get(kind, 0) for kind in ("LE", "BE", "LBE")}
    named["alone"] = counts.get("FN", 0) + counts.get("FP", 0)
    total = sum(named.values())
    if not total:
        return []
    rows: list[list[ScreenCell]] = [
        [text(DISAGREEMENTS[kind]), say.count(number), say.percent(number / total), bar(number / total)]
        for kind, number in sorted(named.items(), key=lambda pair: -pair[1])
    ]
    columns = [Column(), Column(right=True), Column(right=True), Column(most=24, least=6, rank=1)]
    note = "over ordered pairs: each counts from both sides"
    return [*heading("What they differ in", note, width), *grid(columns, rows, width)]


def _chance(document: Agreement, width: int) -> list[ScreenLine]:
    tokens, units = document.tokens, document.alpha_u
    kappas = [row.kappa for row in tokens.cohen if row.kappa is not None]
    rows: list[list[ScreenCell]] = [
        [
            "α_u: where mentions begin and end",
            text(_decimal(units.all), "score"),
            _decimals(bound(units.interval, "all")),
            text(units.why or "", "faint"),
        ],
        [
            "α over tokens that anyone marked",
            text(_decimal(tokens.alpha_marked)),
            _decimals(bound(tokens.interval, "alpha_marked")),
            text(tokens.why or "", "faint"),
        ],
        [
            "α over all tokens",
            _decimal(tokens.alpha),
            _decimals(bound(tokens.interval, "alpha")),
            _outside(tokens.outside),
        ],
        [
            "Fleiss' κ over all tokens",
            _decimal(tokens.fleiss),
            _decimals(bound(tokens.interval, "fleiss")),
            "",
        ],
    ]
    if kappas:
        rows.append(["Cohen's κ over all tokens, mean of pairs", _decimal(sum(kappas) / len(kappas)), "", ""])
    if document.gamma is not None:
        values = [value for value in document.gamma.values() if value is not None]
        rows.append(["γ, mean of documents", _decimal(sum(values) / len(values) if values else None), "", ""])
    shown = any(row[2] for row in rows)
    columns = [Column(), Column(right=True), Column("95% CI" if shown else ""), Column(rank=1, least=10)]
    return [*heading("Beyond chance", "1 is perfect, 0 is chance", width), *grid(columns, rows, width)]


def _outside(share: float | None) -> ScreenLine:
    if share is None:
        return []
    return text(f"{say.percent(share)} of token labels are O, which dominates it", "faint")


def _decimal(value: float | None) -> str:
    return say.UNDEFINED if value is None else f"{value:.3f}".replace("-", say.MINUS)


def _decimals(bounds: Interval | None) -> str:
    return "" if bounds is None else f"{_decimal(bounds[0])} to {_decimal(bounds[1])}"


def _majority(document: Agreement, width: int) -> list[ScreenLine]:
    majority = document.majority
    words = (
        f"{say.plural(majority.accepted, 'mention')} with {majority.rule} of the votes, "
        f"{majority.unanimous:,} of them marked by all; "
        f"{majority.tied:,} tied, {majority.rejected:,} with fewer."
    )
    return [*heading("Majority", "", width), *sentence(words, width)]


def _examples(document: Agreement, width: int) -> list[ScreenLine]:
    if not document.sentences:
        return []
    result = heading("Sentences", "sentences with most disagreement first", width)
    for example in document.sentences[:_MOST_EXAMPLES]:
        lines = lines_of(example)
        for line in lines[:_MOST_LINES]:
            result += [*sentence(" ".join(line.text), width), *_side_by_side(line, width), []]
        if len(lines) > _MOST_LINES:
            left = say.plural(len(lines) - _MOST_LINES, "more line")
            result += [*sentence(f"{left} of {example.source}", width, style="faint"), []]
    return result[:-1]


def _side_by_side(example: DisagreementExample, width: int) -> list[ScreenLine]:
    rows: list[list[ScreenCell]] = [
        [
            text(mention.label, "mark"),
            text(words_of(example, mention)),
            text(", ".join(mention.annotators), "faint"),
        ]
        for mention in example.mentions
        if len(mention.annotators) < len(example.annotators)
    ]
    return grid([Column(), Column(least=12), Column(least=12)], rows, width, indent=4)


# ---- suspects --------------------------------------------------------------------------------------


SUSPICIONS = {
    "label": "another label",
    "boundary": "another span",
    "missing": "a mention missing in gold",
    "spurious": "not a mention at all",
}
_MOST = 15


def suspects_lines(document: Suspects, width: int) -> list[ScreenLine]:
    """All sections, the summary first."""
    return [
        *banner(document, None),
        *_summary(document, width),
        *_listed(document, width),
        *_effects(document, width),
    ]


def _summary(document: Suspects, width: int) -> list[ScreenLine]:
    voters = f"{say.plural(len(document.voters), 'voter')}: {', '.join(document.voters)}"
    parts = [
        text(say.plural(document.found, "suspect"), "strong"),
        text(voters if document.voters else "no voters"),
    ]
    result = flow(parts, width)
    for note in document.notes:
        first, *rest = sentence(note, width, indent=3)
        result += [[(" ! ", "warn"), *first[1:]], *rest]
    words = (
        "A suspect is worth a second look; it is not an error. Systems can be wrong together, and the same "
        "words can be read in two ways."
    )
    result += [[], *sentence(words, width, style="faint")]
    rows: list[list[ScreenCell]] = [
        [text(f"evidence for {SUSPICIONS.get(kind) or say.visible(kind)}"), say.count(number)]
        for kind, number in document.kinds.items()
        if number
    ]
    if not rows:
        return result
    return [*result, *heading("Kinds", "", width), *grid([Column(), Column(right=True)], rows, width)]


def _listed(document: Suspects, width: int) -> list[ScreenLine]:
    if not document.suspects:
        return []
    result = heading("Suspects", "score 0 to 1; suspects of one rank are tied", width)
    for suspect in document.suspects[:_MOST]:
        shared = f" (shared by {suspect.tied:,})" if suspect.tied > 1 else ""
        head = [
            text(f"rank {suspect.rank:,}{shared}", "strong"),
            text(f"{suspect.score:.2f}", "score"),
            text(suspect.kind, "mark"),
            text(suspect.source, "faint"),
        ]
        result += [*flow(head, width, indent=2), _drawn(suspect)]
        result += sentence("; ".join(suspect.evidence.words), width, indent=4, style="faint")
        result.append([])
    return [*result[:-1], *and_more(len(document.suspects) - _MOST, width, "suspects")]


def _drawn(suspect: Suspect) -> ScreenLine:
    """The words around the mention, with gold in square brackets and the proposal in braces."""
    if not suspect.tokens:
        return [
            ("    ", ""),
            *_named("gold", suspect.gold),
            (" → ", "faint"),
            *_named("proposal", suspect.proposal),
        ]
    spans = [mention for mention in (suspect.gold, suspect.proposal) if mention is not None]
    # If positions are characters, the suspect's text is a single string.
    by_characters = len(suspect.tokens) == 1 and any(mention.end > 1 for mention in spans)
    units, around, join = (suspect.tokens[0], 30, "") if by_characters else (suspect.tokens, 5, " ")
    first = max(min(mention.start for mention in spans) - around, 0)
    last = min(max(mention.end for mention in spans) + around, len(units))
    line: ScreenLine = [("    " + ("… " if first else ""), "")]
    for index in range(first, last):
        for mention, mark in ((suspect.proposal, "{"), (suspect.gold, "[")):
            if mention is not None and mention.start == index:
                line.append((mark, "mark" if mark == "[" else "score"))
        inside = any(mention.start <= index < mention.end for mention in spans)
        line += text(units[index], "strong" if inside else "")
        for mention, mark in ((suspect.gold, "]"), (suspect.proposal, "}")):
            if mention is not None and mention.end == index + 1:
                line += text(f"{mark}{mention.label}", "mark" if mark == "]" else "score")
        line.append((join, ""))
    return [*line, ("…", "")] if last < len(units) else line


def _named(side: str, mention: SuspectMention | None) -> ScreenLine:
    if mention is None:
        return text(f"{side}: none")
    return text(f"{side}: {mention.label} [{mention.start}, {mention.end})")


def _effects(document: Suspects, width: int) -> list[ScreenLine]:
    if not document.effects:
        return []
    steps = [point.k for point in max(document.effects.values(), key=len)]
    rows: list[list[ScreenCell]] = []
    for name, effect in document.effects.items():
        by_step = {point.k: point.f1 for point in effect}
        rows.append([text(name), *(say.points(by_step[step]) if step in by_step else "" for step in steps)])
    columns = [Column(), *(Column(f"first {step:,}" if step else "now", right=True) for step in steps)]
    note = "each system without its own vote"
    return [*heading("F1 if the first proposals were accepted", note, width), *grid(columns, rows, width)]
