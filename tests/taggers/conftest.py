"""The demo corpus, cut into training, dev and test files, with documents and word vectors of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spanwise import read
from spanwise.demo import generate


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of train, dev, test and vectors."""
    folder: Path = tmp_path_factory.mktemp("demo")
    made = generate(folder, sentences=400)
    forms = sorted({form.lower() for form in read(made.train).corpus.vocabulary})
    draw = np.random.default_rng(0)
    rows = [f"{form} {' '.join(f'{value:.3f}' for value in draw.normal(size=20))}" for form in forms]
    vectors = folder / "vectors.txt"
    vectors.write_text("\n".join(rows) + "\n", encoding="utf-8")
    # Another seed is other text of the same kind: what chooses an epoch is not what is tested on.
    other = generate(folder / "other", sentences=150, seed=1)
    return {"train": str(made.train), "dev": str(other.gold), "test": str(made.gold), "vectors": str(vectors)}
