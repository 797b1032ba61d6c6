"""The view of leaks and of tuples on several datasets: which system is better on how many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document.datasets import LeakStudy, TupleStudy
from spanwise.document.scores import Comparison
from spanwise.rates import LEAK_RATES
from spanwise.views import PAGE, SCREEN, Section, View, cells
from spanwise.views import wording as words
from spanwise.views.cells import Cell, Chart, Column, Grid, Paragraphs, Phrase
from spanwise.views.sentences import corrected
from spanwise.views.tuples import CRITERIA


class _ByDataset(Struct, frozen=True):
    """A score that is shown by dataset: its key among the means, and how it is found in a dataset."""

    key: str
    title: str
    note: str


def leak_study_view(document: LeakStudy) -> View:
    """What masking leaves readable, dataset by dataset."""
    notes = {
        "leak_rate": "mentions that are not wholly masked", "document_leak_rate": "that still show a mention",
        "over_masking": "of what is masked, the share that is harmless",
    }  # fmt: skip
    scored = [_ByDataset(key, LEAK_RATES[key].words.capitalize(), note) for key, note in notes.items()]
    return _view(document, scored, "leaks", better="leaks less", fewer=True)


def tuple_study_view(document: TupleStudy) -> View:
    """The F1 of tuples under every criterion, dataset by dataset; the chosen criterion first."""
    chosen = next(iter(document.datasets.values())).criterion
    order = sorted(CRITERIA, key=lambda name: name != chosen)
    scored = [_ByDataset(name, f"F1, {CRITERIA[name][0]}", CRITERIA[name][1]) for name in order]
    return _view(document, scored, "tuples", better="is better", fewer=False)


def _view(
    document: LeakStudy | TupleStudy, scored: Sequence[_ByDataset], verb: str, *, better: str, fewer: bool
) -> View:
    statements = tuple(cells.literal(text) for text in _statements(document, better=better, fewer=fewer))
    if statements:
        statements = (*statements, cells.literal(f"Tested by {_how(document)}."))
    verdict = _verdict(document, scored[0], fewer=fewer)
    sections = [
        Section("verdict", cells.words(""), (Paragraphs((verdict, *statements)),), on=SCREEN),
        *(_by_dataset(document, one) for one in scored),
        *_tests(document, scored[0]),
    ]
    for at, (name, own) in enumerate(document.datasets.items()):
        sections += _of_dataset(own, name, at)
    over = words.plural(len(document.datasets), "dataset")
    return View(
        title=f"{verb} on {over}",
        about=cells.words(f"{verb} on {over}"),
        verdict=verdict,
        statements=statements,
        sections=tuple(sections),
        notes=document.notes,
        inputs=document.inputs,
        systems=tuple(document.systems),
    )


def _verdict(document: LeakStudy | TupleStudy, score: _ByDataset, *, fewer: bool) -> cells.Clause:
    """The system with the best mean, which no test is behind."""
    means = {
        name: value
        for name, own in document.systems.items()
        if (value := own.mean.get(score.key)) is not None
        and own.datasets[score.key] == len(document.datasets)
    }
    over = words.plural(len(document.datasets), "dataset")
    if not means:
        return cells.words(f"No system has a score on all of {over}.")
    best = (min if fewer else max)(means, key=means.__getitem__)
    what = f"{score.title[0].lower()}{score.title[1:]}" if fewer else score.title
    if len(means) == 1:
        return cells.words("{}: " + f"{what} {words.points(means[best])}, mean over {over}.", best)
    way = "lowest" if fewer else "highest"
    return cells.words(
        "{} " + f"has the {way} mean over {over}: {what} {words.points(means[best])}. A mean is not tested.",
        best,
    )


def _statements(document: LeakStudy | TupleStudy, *, better: str, fewer: bool) -> Iterator[str]:
    """Of each pair, on how many datasets one system is significantly better, by direction."""
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for own in document.datasets.values():
        for row in own.comparisons:
            if row.primary is not None and row.primary.p_corrected is not None:
                pairs.setdefault(row.systems, []).append(row)
    for (first, second), rows in pairs.items():
        won = {first: 0, second: 0}
        for row in rows:
            test = row.primary
            if test is not None and test.significant and test.difference:
                won[first if (test.difference < 0) == fewer else second] += 1
        ahead, behind = sorted((first, second), key=lambda name: -won[name])
        number = words.plural(len(rows), "dataset")
        if not won[ahead]:
            yield f"{first} and {second} cannot be told apart on any of {number}."
        else:
            other = f"{behind} on {won[behind] or 'none'}"
            yield f"{ahead} {better} than {behind} on {won[ahead]} of {number}, {other}."


def _how(document: LeakStudy | TupleStudy) -> str:
    """The test of the primary score, and what is corrected together."""
    own: list[Any] = list(document.own.values())
    settings = document.settings
    unit = own[0].settings.unit
    runs = any(min(row.runs or (1,)) > 1 for one in own for row in one.comparisons)
    tests = 1 if settings.family == "dataset" else settings.tests
    how = f"{'t-test over runs and' if runs else 'paired randomisation over'} {unit}s"
    return ", ".join(filter(None, [how, corrected(settings.correction, tests, settings.family)]))


def _by_dataset(document: LeakStudy | TupleStudy, score: _ByDataset) -> Section:
    """One score of every system on every dataset, and its mean."""
    columns = [
        Column("system", least=8), *(Column(name, right=True, rank=0) for name in document.datasets),
        Column("mean", right=True),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            name,
            *(_value(own, name, score.key) for own in document.datasets.values()),
            cells.points(means.mean.get(score.key), style="strong"),
        ]
        for name, means in document.systems.items()
    ]
    spread = (
        "mean ± standard deviation over runs" if any(own.runs for own in document.datasets.values()) else ""
    )
    return Section(
        f"by-{score.key.replace('_', '-')}", cells.words(score.title), (Grid(columns, rows),),
        "; ".join(filter(None, [score.note, spread])),
        caption=f"{score.title} by dataset, in points; {score.note}"
        + (f". {spread.capitalize()}." if spread else "."),
    )  # fmt: skip


def _value(own: Any, system: str, key: str) -> Cell:
    """A score on one dataset: with its spread over runs, or its value; nothing if the system is not there."""
    leaks = key in LEAK_RATES
    if own.runs:
        run = own.runs.get(system)
        if run is None:
            return ""
        mean, std = (run.mean[key], run.std[key]) if leaks else (run.mean[key]["f1"], run.std[key]["f1"])
        spread = "" if mean is None or std is None else f" ±{100 * std:.1f}"
        return cells.Number(mean, f"{words.points(mean)}{spread}")
    if system not in own.systems:
        return ""
    one = own.systems[system]
    return cells.points(getattr(one.overall, key) if leaks else one.criteria[key].overall.f1)


def _tests(document: LeakStudy | TupleStudy, score: _ByDataset) -> Iterator[Section]:
    """The paired tests of the primary score."""
    rows: list[list[Cell]] = []
    last = ""
    for name, own in document.datasets.items():
        for row in own.comparisons:
            test = row.primary
            if test is None:
                continue
            verdict = "" if test.significant else "cannot be told apart"
            rows.append([
                "" if name == last else name, f"{row.systems[0]} − {row.systems[1]}",
                cells.signed(test.difference), cells.interval(test.interval, differs=True),
                cells.p_value(test.p_corrected),
                Phrase(str(row.unreachable or verdict), "faint"),
            ])  # fmt: skip
            last = name
    if not rows:
        return
    longest = min(max(len(str(row[1])) for row in rows), 40)
    columns = [
        Column("dataset", least=8), Column("pair", least=longest), Column("difference", right=True),
        Column("95% CI", rank=1), Column("p", right=True), Column(rank=2),
    ]  # fmt: skip
    yield Section(
        "tests", cells.words("Side by side"), (Grid(columns, rows),), _how(document),
        caption=f"{score.title} compared, in points, first minus second; {_how(document)}.",
    )  # fmt: skip


def _of_dataset(own: Any, name: str, at: int) -> Iterator[Section]:
    """What the page of one dataset shows, without charts."""
    from spanwise.views import view

    for section in view(own).on("page"):
        blocks = tuple(block for block in section.blocks if not isinstance(block, Chart))
        if blocks:
            yield replace(section, name=f"dataset-{at}-{section.name}", blocks=blocks, on=PAGE, group=name)
