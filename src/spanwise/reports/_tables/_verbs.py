"""The tables of other verbs: agreement, confidence, slices, suspects and placed answers."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from spanwise.document.analyses import Confidence, ConfidenceCell, PlacementDocument, Slices
from spanwise.document.dataset import Agreement, SuspectMention, Suspects
from spanwise.reports import _wording as say
from spanwise.reports._tables._result import count, interval, p_value, points, signed
from spanwise.reports._tables._table import Cell, Number, Table


def decimal(value: float | None) -> Number:
    """A coefficient with three decimals."""
    return Number(value, "n/a" if value is None else f"{value:.3f}")


def matrix(document: Agreement) -> Table | None:
    """F1 of every pair of annotators, who stand as rows and as columns."""
    f1 = {frozenset(pair.annotators): pair.overall.f1 for pair in document.pairs}
    rows = [
        (
            one,
            *(
                "" if one == other else points(f1.get(frozenset((one, other))))
                for other in document.annotators
            ),
        )
        for one in document.annotators
    ]
    caption = "Pairwise F1 of annotators (exact span and label) over the documents that both have."
    return Table("matrix", caption, ("annotator", *document.annotators), tuple(rows))


def pairs(document: Agreement) -> Table | None:
    """Every pair of annotators by every measure."""
    kappa = {pair.annotators: pair.kappa for pair in document.tokens.cohen}
    rows: list[tuple[Cell, ...]] = [
        (
            *one.annotators, count(one.shared), count(one.overall.first), count(one.overall.second),
            count(one.overall.both), points(one.overall.f1), points(one.spans.f1), points(one.fair),
            points(one.on_equal_spans.share), decimal(one.on_equal_spans.kappa),
            decimal(kappa.get(one.annotators)),
        )
        for one in document.pairs
    ]  # fmt: skip
    header = (
        "first", "second", "documents", "mentions of first", "of second", "of both", "F1", "span F1",
        "fair F1", "equal labels", "label κ", "token κ",
    )  # fmt: skip
    caption = "Pairs of annotators. Labels are compared on spans that both marked; κ is Cohen's."
    return Table("pairs", caption, header, tuple(rows))


def annotators(document: Agreement) -> Table | None:
    """Annotators and systems beside the human ceiling."""
    ends = document.ceiling.interval
    rows: list[tuple[Cell, ...]] = [
        (
            one.annotator, count(one.documents), count(one.mentions), points(one.mean_f1),
            points(one.others_f1), interval(ends.get(one.annotator)),
        )
        for one in document.ranking
    ]  # fmt: skip
    rows.append(
        ("human ceiling", "", "", points(document.mean.overall.f1), points(document.ceiling.mean),
         interval(ends.get("mean")))
    )  # fmt: skip
    for name, system in document.systems.items():
        rows.append((f"system {name}", "", "", "", points(system.f1), interval(system.interval.get("f1"))))
    header = (
        "annotator",
        "documents",
        "mentions",
        "mean F1 with others",
        "F1 with their majority",
        "interval",
    )
    caption = "Annotators against the majority of the others, and systems against the same majorities."
    return Table("annotators", caption, header, tuple(rows))


def agreement_labels(document: Agreement) -> Table | None:
    """Mean pairwise F1 and α_u of every label."""
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            points(mean.f1),
            points(mean.std),
            count(mean.pairs),
            decimal(document.alpha_u.labels.get(name)),
        )
        for name, mean in document.mean.labels.items()
    ]
    caption = "Agreement by label: mean and standard deviation of F1 over pairs, and Krippendorff's α_u."
    return Table("labels", caption, ("label", "F1", "std", "pairs", "α_u"), tuple(rows))


def coefficients(document: Agreement) -> Table | None:
    """The chance-corrected coefficients."""
    gammas = [value for value in (document.gamma or {}).values() if value is not None]
    rows: list[tuple[Cell, ...]] = [
        ("α_u, unitizing", decimal(document.alpha_u.all)),
        ("α, tokens that anyone marked", decimal(document.tokens.alpha_marked)),
        ("α, all tokens", decimal(document.tokens.alpha)),
        ("Fleiss' κ, all tokens", decimal(document.tokens.fleiss)),
    ]
    if document.gamma is not None:
        rows.append(("γ, mean over documents", decimal(sum(gammas) / len(gammas) if gammas else None)))
    caption = "Agreement beyond chance. Measures over all tokens are dominated by tokens outside mentions."
    return Table("coefficients", caption, ("coefficient", "value"), tuple(rows))


def scores(document: Confidence) -> Table | None:
    """What the scores of every system are worth, overall, by label and by bucket."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        rows.append((name, "all", *_cell(system.overall)))
        rows += [(name, label, *_cell(cell)) for label, cell in system.labels.items()]
        for attribute, cells in system.buckets.items():
            rows += [(name, f"{attribute}={bucket}", *_cell(cell)) for bucket, cell in cells.items()]
    header = (
        "system", "predictions of", "predicted", "right", "gold", "AP", "interval", "AP-101", "AURC", "ECE",
        "chance ECE", "Brier",
    )  # fmt: skip
    caption = "Average precision, area under the risk-coverage curve and calibration error in points."
    return Table("scores", caption, header, tuple(rows))


def _cell(cell: ConfidenceCell) -> tuple[Cell, ...]:
    ends = None if cell.interval is UNSET else cell.interval.get("average_precision")
    return (
        count(cell.predicted), count(cell.correct), count(cell.gold), points(cell.average_precision),
        interval(ends), points(cell.ap101), points(cell.aurc), points(cell.ece), points(cell.chance_ece.high),
        points(cell.brier),
    )  # fmt: skip


def equal(document: Confidence) -> Table | None:
    """Systems side by side at equal recall and at equal precision."""
    rows: list[tuple[Cell, ...]] = []
    for pair in document.pairs:
        for title, one in (
            ("AP", pair.average_precision),
            (f"precision at recall {say.points(pair.at_recall.at)}", pair.at_recall),
            (f"recall at precision {say.points(pair.at_precision.at)}", pair.at_precision),
        ):
            rows.append(
                (*pair.systems, title, points(one.first), points(one.second), signed(one.difference),
                 interval(one.interval, differs=True))
            )  # fmt: skip
    header = ("first", "second", "score", "of first", "of second", "difference", "interval")
    return Table("equal", "Systems compared, each at a threshold of its own.", header, tuple(rows))


def weak(document: Slices) -> Table | None:
    """The slices in which a system is weak."""
    rows: list[tuple[Cell, ...]] = [
        (
            name, one.where, count(one.units), points(None if one.loss is None else 1 - one.loss),
            Number(one.t, f"{one.t:.1f}"), p_value(one.p),
        )
        for name, system in document.systems.items()
        for one in system.slices
    ]  # fmt: skip
    caption = f"Weak slices at a family-wise error rate of {say.percent(document.settings.level)}."
    return Table(
        "weak", caption, ("system", "mentions with", "mentions", document.over, "T", "p"), tuple(rows)
    )


def different(document: Slices) -> Table | None:
    """The slices in which two systems differ."""
    rows: list[tuple[Cell, ...]] = [
        (*pair.systems, one.where, count(one.units), one.better, signed(one.difference), p_value(one.p))
        for pair in document.comparison
        for one in pair.slices
    ]
    header = ("first", "second", "mentions with", "mentions", "better", "difference", "p")
    return Table("different", "Slices in which two systems differ.", header, tuple(rows))


def suspects(document: Suspects) -> Table | None:
    """The places that are worth a second look."""
    rows: list[tuple[Cell, ...]] = [
        (
            count(one.rank), decimal(one.score), one.kind, one.source, _mention(one.gold),
            _mention(one.proposal), "; ".join(one.evidence.words),
        )
        for one in document.suspects
    ]  # fmt: skip
    header = ("rank", "score", "kind", "where", "gold", "proposal", "evidence")
    return Table(
        "suspects", "Places of gold worth a second look; none of them is an error yet.", header, tuple(rows)
    )


def _mention(one: SuspectMention | None) -> str:
    return "" if one is None else f"{one.label} [{one.start}, {one.end})"


def policies(document: PlacementDocument) -> Table | None:
    """The score of the same answers by every rule."""
    named = {name: getattr(document.policies, name) for name in document.policies.__struct_fields__}
    named |= {"sets of strings": document.strings.set, "multisets of strings": document.strings.multiset}
    named |= {f"as {name}": score for name, score in document.presets.items()}
    rows: list[tuple[Cell, ...]] = [
        (
            name, count(one.predicted), count(one.correct), points(one.precision), points(one.recall),
            points(one.f1), points(getattr(document.ceilings, name, None)),
        )
        for name, one in named.items()
    ]  # fmt: skip
    caption = "The same answers by every rule. Ceiling: F1 with the gold mentions themselves as answers."
    return Table("policies", caption, ("rule", "predicted", "right", "P", "R", "F1", "ceiling"), tuple(rows))


AGREEMENT: tuple[Callable[[Agreement], Table | None], ...] = (
    matrix, pairs, annotators, agreement_labels, coefficients,
)  # fmt: skip
CONFIDENCE: tuple[Callable[[Confidence], Table | None], ...] = (scores, equal)
SLICES: tuple[Callable[[Slices], Table | None], ...] = (weak, different)
