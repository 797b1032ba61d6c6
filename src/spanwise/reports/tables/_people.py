"""The tables of the agreement of annotators and of confidence scores."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from spanwise.document.agreement import Agreement
from spanwise.reports.tables._table import Table
from spanwise.views.cells import PaperCell as Cell
from spanwise.views.cells import count, decimal, interval, p_value, points, signed
from spanwise.views.judging import THESE_ANNOTATORS, bound


def matrix(document: Agreement) -> Table | None:
    """F1 of every pair of annotators, who are both rows and columns."""
    f1 = {frozenset(pair.annotators): pair.overall.f1 for pair in document.pairs}
    rows = [
        (
            annotator,
            *(
                "" if annotator == other else points(f1.get(frozenset((annotator, other))))
                for other in document.annotators
            ),
        )
        for annotator in document.annotators
    ]
    caption = "Pairwise F1 of annotators (exact span and label) over the documents that both have."
    return Table("matrix", caption, ("annotator", *document.annotators), tuple(rows))


def pairs(document: Agreement) -> Table | None:
    """Every pair of annotators by every measure."""
    kappa = {pair.annotators: pair.kappa for pair in document.tokens.cohen}
    rows: list[tuple[Cell, ...]] = [
        (
            *pair.annotators, count(pair.shared), count(pair.overall.first), count(pair.overall.second),
            count(pair.overall.both), points(pair.overall.f1), interval(bound(pair.interval, "f1")),
            points(pair.spans.f1), points(pair.fair),
            points(pair.on_equal_spans.share), decimal(pair.on_equal_spans.kappa),
            decimal(kappa.get(pair.annotators)),
        )
        for pair in document.pairs
    ]  # fmt: skip
    header = (
        "first", "second", "documents", "mentions of first", "of second", "of both", "F1", "interval",
        "span F1", "fair F1", "equal labels", "label κ", "token κ",
    )  # fmt: skip
    caption = "Pairs of annotators. Labels are compared on spans that both marked; κ is Cohen's."
    return Table("pairs", caption, header, tuple(rows))


def levels(document: Agreement) -> Table | None:
    """The human level and systems beside it."""
    if document.levels is UNSET:
        return None
    human = document.levels.human
    rows: list[tuple[Cell, ...]] = [("human level", points(human.f1), interval(human.interval), "", "", "")]
    for name, level in document.levels.systems.items():
        rows.append(
            (f"system {name}", points(level.f1), interval(level.interval), signed(level.difference),
             interval(level.difference_interval, differs=True), p_value(level.p_corrected))
        )  # fmt: skip
    caption = (
        "Mean F1 of pairs of annotators, and of each system with each annotator; p of sign flips over "
        f"{document.settings.unit}s, Holm over systems. {THESE_ANNOTATORS}"
    )
    header = ("annotators or system", "F1", "interval", "difference", "its interval", "p")
    return Table("levels", caption, header, tuple(rows))


def annotators(document: Agreement) -> Table | None:
    """Annotators and systems compared with the majority of the others."""
    ends = document.ceiling.interval
    rows: list[tuple[Cell, ...]] = [
        (
            row.annotator, count(row.documents), count(row.mentions), points(row.mean_f1),
            points(row.others_f1), interval(ends.get(row.annotator)),
        )
        for row in document.ranking
    ]  # fmt: skip
    rows.append(
        ("mean of annotators", "", "", points(document.mean.overall.f1), points(document.ceiling.mean),
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
    caption = (
        "Agreement of annotators with the majority of the others, and of systems with the same majorities."
    )
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
    tokens, units = document.tokens, document.alpha_u
    rows: list[tuple[Cell, ...]] = [
        (title, decimal(value), *map(decimal, bound(ends, name) or (None, None)))
        for title, value, ends, name in (
            ("α_u, unitizing", units.all, units.interval, "all"),
            ("α, tokens that anyone marked", tokens.alpha_marked, tokens.interval, "alpha_marked"),
            ("α, all tokens", tokens.alpha, tokens.interval, "alpha"),
            ("Fleiss' κ, all tokens", tokens.fleiss, tokens.interval, "fleiss"),
        )
    ]
    if document.gamma is not None:
        mean = decimal(sum(gammas) / len(gammas) if gammas else None)
        rows.append(("γ, mean over documents", mean, decimal(None), decimal(None)))
    caption = (
        "Agreement beyond chance, with 95 % intervals from the jackknife over documents. Measures over all "
        "tokens are dominated by tokens outside mentions."
    )
    return Table("coefficients", caption, ("coefficient", "value", "low", "high"), tuple(rows))


AGREEMENT: tuple[Callable[[Agreement], Table | None], ...] = (
    matrix, pairs, levels, annotators, agreement_labels, coefficients,
)  # fmt: skip
