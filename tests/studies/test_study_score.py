"""Studies of a score other than F1: every analysis uses it and names it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from study_files import MANIFEST, make
from typed import present

import spanwise
from spanwise.document.loading import document_of
from spanwise.document.study import Study
from spanwise.errors import InputError

SCORES = ("precision", "recall", "fair_f1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    make(folder)
    for score in (*SCORES, "f1"):
        (folder / f"{score}.toml").write_text(f'score = "{score}"\n{MANIFEST}')
    return folder


@pytest.fixture(scope="module")
def studies(folder: Path) -> dict[str, Study]:
    kept = folder / "kept"
    return {
        score: spanwise.study(folder / f"{score}.toml", workers=1, cache=kept) for score in (*SCORES, "f1")
    }


@pytest.mark.parametrize("score", SCORES)
def test_results_buckets_and_letters_use_the_score(studies: dict[str, Study], score: str) -> None:
    study = studies[score]
    kind, name = ("fair", score[5:]) if score.startswith("fair_") else ("exact", score)
    analyses = study.analyses
    assert analyses.score == score
    for system, row in analyses.holistic.items():
        for dataset, result in row.items():
            runs = study.datasets[dataset].runs[system].values()
            assert result.mean == pytest.approx(np.mean([run[kind].overall[name] for run in runs]))
            low, high = map(present, present(result.ends("mean")))
            assert low < present(result.mean) < high
            for attribute, buckets in analyses.performance_table[system][dataset].items():
                for at, bucket in enumerate(buckets):
                    tables = [run.attributes[attribute].buckets[at] for run in runs]
                    values = [
                        (table.fair or {name: None})[name] if kind == "fair" else table[name]
                        for table in tables
                    ]
                    defined = [value for value in values if value is not None]
                    expected = pytest.approx(np.mean(defined)) if defined else None
                    assert bucket.f1 == expected
    (pair,) = [table for table in analyses.bucket_wise.comparative if table.systems == ("large", "small")]
    means = {name: present(analyses.holistic[name]["north"].mean) for name in ("large", "small")}
    assert pair.gains["north"] == pytest.approx(means["large"] - means["small"])


def test_screens_and_tables_name_the_score(studies: dict[str, Study]) -> None:
    study = studies["fair_f1"]
    assert "fair F1, mean ± std over runs" in study.to_text()
    assert study.table("model_wise").header[1] == "fair F1"
    assert "Fair F1 in points" in study.table("holistic").caption
    assert "score:fair_f1" in study.signature
    assert document_of(study.to_dict()) == study


def test_fair_scores_are_defined_for_mentions_but_not_for_tokens(studies: dict[str, Study]) -> None:
    row = studies["fair_f1"].analyses.model_wise["large"]
    assert row["token_frequency"].std["mean"] is None
    assert row["entity_length"].std["mean"] is not None


def test_a_study_uses_f1_by_default(studies: dict[str, Study], folder: Path) -> None:
    plain = spanwise.study(folder / "study.toml", workers=1, cache=folder / "kept")
    assert plain.to_json() == studies["f1"].to_json()
    assert "score" not in plain.to_dict()["analyses"]


def test_an_unknown_score_is_refused_with_its_line(folder: Path) -> None:
    (folder / "wrong.toml").write_text(f'score = "f2"\n{MANIFEST}')
    with pytest.raises(InputError, match=r"wrong\.toml:1: no score of a study is called 'f2'"):
        spanwise.study(folder / "wrong.toml")
