"""Whether recall drops after some token of documents or sentences, as if inputs had been truncated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from spanwise.attributes import Side as AttributeSide
from spanwise.attributes.positions import position, sentence_position
from spanwise.columns import Floats, ratio
from spanwise.counts import Counts
from spanwise.diagnosis import LEAST_GOLD
from spanwise.document.scores import SystemScores, Truncation
from spanwise.evaluation._measures import MatchedSystem
from spanwise.evaluation.scoring import tested_slices
from spanwise.scores import RECALL, Measure, MeasureKey
from spanwise.statistics import LEVEL
from spanwise.uncertainty import Resampling

CUTS = (64, 128, 256, 384, 512, 768, 1024, 2048, 4096)  # the usual limits of inputs, in tokens
LEAST_DROP = 0.2  # of recall
DOCUMENT, SENTENCE = "document", "sentence"


def positions(side: AttributeSide) -> dict[str, Floats]:
    """The tokens before each gold mention in its document and in its sentence; empty if no cut can matter."""
    corpus = side.context.corpus
    if corpus.without_text or len(corpus.tokens) <= CUTS[0]:
        return {}
    within = {SENTENCE: sentence_position(side)}
    if corpus.documents is not None:
        within[DOCUMENT] = position(side)
    return {name: values for name, values in within.items() if (values >= CUTS[0]).any()}


def cut_counts(case: MatchedSystem, within: Mapping[str, Floats]) -> Counts:
    """Gold mentions and those that were found, after each cut that has mentions behind it."""
    chosen = {
        f"{name}/{cut}": values >= cut
        for name, values in within.items()
        for cut in CUTS
        if (values >= cut).any()
    }
    unit = case.gold_units.unit
    columns = [
        np.bincount(unit[rows], minlength=case.units.number)
        for after in chosen.values()
        for rows in (after, after & case.right)
    ]
    empty = np.zeros((case.units.number, 0), dtype=np.int64)
    return Counts.of_matrix(list(chosen), RECALL, np.stack(columns, axis=1) if columns else empty)


def with_truncation(
    scores: SystemScores, measures: Sequence[Measure], cuts: Counts | None, resampling: Resampling, size: int
) -> SystemScores:
    """The scores with the cut after which recall drops most surely, if significantly and by 20 points.

    All cuts with at least 50 gold mentions on either side are tested together, apart from all other tests.
    """
    overall = scores.exact.overall
    if cuts is None or not cuts.cells:
        return scores
    number = {name: int(gold) for name, gold in zip(cuts.cells, cuts.total[:, 0], strict=True)}
    cells = [
        at for at, name in enumerate(cuts.cells)
        if LEAST_GOLD <= number[name] <= overall.gold - LEAST_GOLD
    ]  # fmt: skip
    exact = next((measure for measure in measures if measure.name == "exact"), None)
    if not cells or exact is None or not resampling.resamples:
        return scores
    paths = tuple(tuple(name.split("/")) for name in cuts.cells)
    measure = Measure(MeasureKey("cuts"), cuts, "recall", paths).in_blocks(size)
    tests = tested_slices([(measure, cells)], exact.cell_by_cell.counts.select_cells([0]), resampling)
    found: list[Truncation] = []
    for cell, t, p in zip(cells, tests.t.tolist(), tests.p.tolist(), strict=True):
        gold, correct = map(int, cuts.total[cell])
        before = float(ratio(overall.correct - correct, overall.gold - gold))
        after = float(ratio(correct, gold))
        if p < LEVEL and before - after >= LEAST_DROP:
            of, cut = paths[cell]
            found.append(
                Truncation(
                    of="document" if of == DOCUMENT else "sentence", after=int(cut), recall_before=before,
                    recall=after, mentions=gold, missed=gold - correct, t=t, p=p, among=tests.distinct,
                )
            )  # fmt: skip
    if not found:
        return scores
    return replace(scores, truncation=max(found, key=lambda one: (one.t, one.mentions)))
