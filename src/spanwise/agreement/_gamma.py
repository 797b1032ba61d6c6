"""γ of each document, through the package pygamma-agreement."""

from __future__ import annotations

import numpy as np

from spanwise.agreement._shared import Shared
from spanwise.errors import MissingExtra


def gamma_of(ground: Shared) -> dict[str, float | None]:
    """γ of each document that two annotators have; None where a document leaves nothing to align.

    Positions are combined with labels as the package does by default. It draws samples of chance from
    NumPy's common generator, which is seeded here and put back as it was.

    References:
        Mathet, Widlöcher and Métivier (2015), The unified and holistic method gamma (γ).
    """
    try:
        from pyannote.core import Segment
        from pygamma_agreement import CombinedCategoricalDissimilarity, Continuum
    except ModuleNotFoundError as error:
        raise MissingExtra.of("pygamma-agreement", "agreement", "gamma") from error
    lengths = ground.corpus.lengths
    if ground.corpus.texts is not None:
        lengths = np.array([len(text) for text in ground.corpus.texts])
    origin = np.concatenate([[0], np.cumsum(lengths)])
    result: dict[str, float | None] = {}
    before = np.random.get_state()
    try:
        for document, name in enumerate(ground.documents):
            has = np.flatnonzero(ground.present[:, document]).tolist()
            if len(has) < 2:
                continue
            continuum = Continuum()
            owners: list[int] = []
            for who in has:
                continuum.add_annotator(ground.annotators[who])
                mentions = ground.mentions[who]
                own = np.flatnonzero(ground.document[mentions.sentence] == document)
                for sentence, start, end, label in mentions.take(own).rows():
                    at = int(origin[sentence])
                    owners.append(who)
                    continuum.add(ground.annotators[who], Segment(at + start, at + end), label)
            # Chance is sampled from everybody's units, so that everybody needs some.
            marked = set(owners) == set(has)
            np.random.seed(0)
            found = continuum.compute_gamma(CombinedCategoricalDissimilarity()) if marked else None
            result[name] = None if found is None else float(found.gamma)
    finally:
        np.random.set_state(before)
    return result
