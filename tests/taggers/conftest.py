"""The demo corpus as training, dev and test files, with documents and word vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spanwise import read
from spanwise.demo import generate


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The paths of the training, dev and test files and of the word vectors."""
    folder: Path = tmp_path_factory.mktemp("demo")
    files = generate(folder, sentences=400)
    forms = sorted({form.lower() for form in read(files.train).corpus.vocabulary})
    draw = np.random.default_rng(0)
    rows = [f"{form} {' '.join(f'{value:.3f}' for value in draw.normal(size=20))}" for form in forms]
    vectors = folder / "vectors.txt"
    vectors.write_text("\n".join(rows) + "\n", encoding="utf-8")
    # Another seed gives other text of the same kind, so that epochs are not chosen on test data.
    other = generate(folder / "other", sentences=150, seed=1)
    return {
        "train": str(files.train),
        "dev": str(other.gold),
        "test": str(files.gold),
        "vectors": str(vectors),
    }
