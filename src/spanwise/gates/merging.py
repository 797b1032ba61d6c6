"""Merge saved results over the same gold file into one document, comparing them by counts per unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType, convert
from msgspec.structs import replace

from spanwise.attributes import ATTRIBUTES
from spanwise.diagnosis import letters, with_leads
from spanwise.document import Document, Input, given, gold_input
from spanwise.document.evaluation import Evaluation, ExampleCounts, UnitCounts
from spanwise.document.loading import as_document
from spanwise.document.scores import PRIMARY, Comparison
from spanwise.errors import ChoiceError, InputError, many
from spanwise.evaluation.comparisons import compare_systems
from spanwise.evaluation.scoring import unpack_measures, with_lead_intervals
from spanwise.findings import findings
from spanwise.mentions.packing import combine_codes
from spanwise.scores import Measure
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.uncertainty import Resampling


def compare_documents(
    documents: Sequence[Document | Mapping[str, object]],
    *,
    names: Sequence[str],
    pairs: Sequence[tuple[str, str]] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    correction: str = CORRECTION,
    primary: str = "f1",
) -> Evaluation:
    """Merge several result documents over the same gold file, and compare them by counts per unit.

    Systems keep their names; if two documents use the same name, it is prefixed with the name of the document
    (the stem of its file). Slices that were bucketed differently are left out, and `notes` says which.

    Raises:
        InputError: the documents are not over the same gold file, or lack their counts per unit.
    """
    stems = [Path(name).stem for name in names]
    results = [
        evaluation_of(as_document(document), name) for document, name in zip(documents, names, strict=True)
    ]
    check_same_gold(results, names)
    renamed = _renamed(results, stems, always=pairs is not None)
    left_out, notes = differing(results)
    measures = _measures(results, names, renamed, left_out, pairs)
    if not resamples:  # only totals are needed, so merge all units
        measures = {name: [measure.of_one_unit() for measure in own] for name, own in measures.items()}
    tests = compare_systems(
        {name: [own] for name, own in measures.items()},
        list(combinations(measures, 2)) if pairs is None else list(pairs),
        Resampling(_units(results[0]).number, resamples, seed),
        confidence=confidence,
        correction=correction,
        primary=PRIMARY[primary],
        unit=_units(results[0]).kind,
    )
    merged = _merged(results, stems, renamed)
    chosen = {"correction": correction, "primary": UNSET if primary == "f1" else primary}
    settings = replace(merged.settings, resamples=resamples, seed=seed, confidence=confidence, **chosen)
    scores = {name: system.primary(primary) for name, system in merged.systems.items()}
    comparisons = with_lead_intervals(
        with_leads(
            convert(tests, tuple[Comparison, ...]),
            {name: [system] for name, system in merged.systems.items()},
        ),
        {name: [own] for name, own in measures.items()},
        _units(results[0]).number if resamples else 0,
        confidence,
    )
    result = replace(
        merged,
        settings=settings,
        comparisons=comparisons,
        letters=letters(scores, comparisons, path=PRIMARY[primary]),
        notes=tuple(notes),
    )
    return replace(result, findings=findings(result))


def compare_two(
    documents: tuple[Evaluation, Evaluation], systems: tuple[str, str], *, resamples: int, primary: str
) -> tuple[Comparison, tuple[str, ...]]:
    """Compare one system of each of two documents over the same gold file; also return notes.

    The scores are the same as in `compare_documents`, but without the breakdown of the lead and the findings.

    Raises:
        InputError: the documents are not over the same gold file, or lack their counts per unit.
    """
    names = ("a", "b")
    check_same_gold(documents, names)
    renamed = _renamed(documents, names, always=True)
    pair = (renamed["a", systems[0]], renamed["b", systems[1]])
    left_out, notes = differing(documents)
    measures = _measures(documents, names, renamed, left_out, [pair])
    comparisons = compare_systems(
        {name: [own] for name, own in measures.items()},
        [pair],
        Resampling(_units(documents[0]).number, resamples, 0),
        confidence=CONFIDENCE,
        correction=CORRECTION,
        primary=PRIMARY[primary],
        unit=_units(documents[0]).kind,
    )
    return comparisons[0], tuple(notes)


def _measures(
    documents: Sequence[Evaluation],
    names: Sequence[str],
    renamed: Mapping[tuple[str, str], str],
    differing: set[str],
    pairs: Sequence[tuple[str, str]] | None,
) -> dict[str, list[Measure]]:
    """The counts per unit of the compared systems, by their new names, without the differing measures."""
    wanted = None if pairs is None else {name for pair in pairs for name in pair}
    return {
        renamed[Path(name).stem, system]: [
            measure
            for measure in unpack_measures(_units(document).systems[system], location=name)
            if measure.name not in differing
        ]
        for document, name in zip(documents, names, strict=True)
        for system in document.systems
        if wanted is None or renamed[Path(name).stem, system] in wanted
    }


def _merged(
    documents: Sequence[Evaluation], stems: Sequence[str], renamed: Mapping[tuple[str, str], str]
) -> Evaluation:
    """One document with the systems of all documents under their new names, before any comparison."""
    first = documents[0]
    pairs = list(zip(stems, documents, strict=True))
    owned = [
        (renamed[stem, system], document, system) for stem, document in pairs for system in document.systems
    ]
    predicted = [
        replace(row, system=renamed[stem, row.system])
        for stem, document in pairs
        for row in document.inputs
        if row.role == "predicted" and row.system is not UNSET and row.system in document.systems
    ]
    return replace(
        first,
        kind="comparison",
        inputs=(*(row for row in first.inputs if row.role != "predicted"), *predicted),
        settings=replace(first.settings, examples="none"),
        systems={new: document.systems[system] for new, document, system in owned},
        # Each document holds the sentences of its own systems, which cannot be shown side by side.
        sentences=(),
        examples=ExampleCounts(policy="none", cap=0, shown=0, of=0),
        mentions=combine_codes(
            [document.mentions for document in documents],
            [{system: renamed[stem, system] for system in document.systems} for stem, document in pairs],
            location=stems[0],
        ),
        units=replace(
            _units(first),
            systems={new: _units(document).systems[system] for new, document, system in owned},
        ),
    )


def _renamed(
    documents: Sequence[Evaluation], stems: Sequence[str], *, always: bool
) -> dict[tuple[str, str], str]:
    """The new name of each document's systems, prefixed with the document's name if needed."""
    owners = [
        (stem, name) for stem, document in zip(stems, documents, strict=True) for name in document.systems
    ]
    if len(set(owners)) < len(owners):
        raise ChoiceError(
            "two of the documents have the same name and the same systems.\nRename one of the files."
        )
    if always or len({name for _, name in owners}) < len(owners):
        return {owner: f"{owner[0]} {owner[1]}" for owner in owners}
    return {owner: owner[1] for owner in owners}


def evaluation_of(document: Document, name: str) -> Evaluation:
    """Return the document if it is an evaluation with systems; refuse all others."""
    if not isinstance(document, Evaluation):
        raise InputError(
            f"{name}: only evaluations can be compared, but the document is of kind {document.kind!r}.\n"
            "Make one with spanwise evaluate --json."
        )
    if not document.systems:
        raise InputError(f"{name}: the document holds no systems.\nMake one with spanwise evaluate --json.")
    return document


def _units(document: Evaluation) -> UnitCounts:
    assert document.units is not UNSET  # `check_same_gold` refuses documents without them
    return document.units


class CountedGold(Struct, frozen=True):
    """The gold data of a document, and its counts per unit, if any."""

    gold: Input
    mentions: int
    units: UnitCounts | None
    rules: str = ""  # by which labels of gold were mapped or left out


def check_same_gold(documents: Sequence[Evaluation], names: Sequence[str]) -> None:
    """Refuse documents over different gold files, or without counts per unit."""
    check_gold(
        [
            CountedGold(
                gold_input(document.inputs, name),
                document.dataset.mentions,
                given(document.units),
                document.settings.gold_rules,
            )
            for document, name in zip(documents, names, strict=True)
        ],
        names,
    )


def check_gold(several: Sequence[CountedGold], names: Sequence[str]) -> None:
    """Refuse data that differ from the first, or lack counts per unit."""
    facts = []
    for counted_gold, name in zip(several, names, strict=True):
        if counted_gold.units is None or not counted_gold.units.systems:
            raise InputError(
                f"{name}: the document lacks its counts per unit.\n"
                "Make it again with spanwise evaluate --json."
            )
        facts.append(
            (
                counted_gold.gold.sha256,
                counted_gold.units.kind,
                counted_gold.units.number,
                counted_gold.mentions,
                (counted_gold.rules, counted_gold.gold.merged, counted_gold.gold.dropped),
            )
        )
    reference = facts[0]
    for counted_gold, own, name in zip(several, facts, names, strict=True):
        if own == reference:
            continue
        if own[0] != reference[0]:
            what = f"the gold data differ ({counted_gold.gold.path} here, {several[0].gold.path} there)"
        elif own[4] != reference[4]:
            what = "labels were mapped or left out by other rules"
        else:
            counted = f"{many(own[2], own[1])} here, {many(reference[2], reference[1])} there"
            what = f"the gold file was read differently ({counted})"
        raise InputError(
            f"{name}: {what}, so {names[0]} cannot be compared with it.\n"
            "A paired test needs two results over the same gold file."
        )


def differing(documents: Sequence[Evaluation]) -> tuple[set[str], list[str]]:
    """The measures that cannot be compared because documents differ, and notes that say why."""
    left_out: set[str] = set()
    notes = []
    train = {tuple(row.sha256 for row in document.inputs if row.role == "train") for document in documents}
    if len(train) > 1:
        trained = [attribute.name for attribute in ATTRIBUTES if "train" in attribute.needs]
        left_out |= {"tough", *(f"attribute {name}" for name in trained)}
        notes.append("the results used different training data; what depends on it is not compared.")
    named = dict.fromkeys(name for document in documents for name in _cuts(document))
    if len({document.settings.lowercase for document in documents}) > 1:
        left_out |= {f"attribute {name}" for name in named}
        notes.append("only some of the results compare strings in lower case; attributes are not compared.")
    for name in named:
        cuts = [_cuts(document).get(name) for document in documents]
        if f"attribute {name}" not in left_out and any(cut != cuts[0] for cut in cuts):
            left_out.add(f"attribute {name}")
            notes.append(f"{name} was bucketed differently and is not compared.")
    return left_out, notes


_Cut: TypeAlias = list[tuple[str, float | UnsetType | None, float | UnsetType | None]]


def _cuts(document: Evaluation) -> dict[str, _Cut]:
    """The buckets of every attribute of a document, by name and bounds."""
    system = next(iter(document.systems.values()))
    return {
        name: [(bucket.name, bucket.low, bucket.high) for bucket in table.buckets if bucket.low is not UNSET]
        for name, table in system.attributes.items()
    }
