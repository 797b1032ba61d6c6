"""Taggers trained on the demo: every cell of the grid, reproducibility, saving and loading, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise import InputError, evaluate, read

pytest.importorskip("torch", reason="the extra 'zoo' is not installed")
pytest.importorskip("safetensors", reason="the extra 'zoo' is not installed")
pytest.importorskip("pycrfsuite", reason="the extra 'zoo' is not installed")

from tagging import trained_together

from spanwise_taggers import Job, Trained, load, predict, train, train_all

SMALL: dict[str, Any] = {
    "hidden": 32, "char_filters": 24, "width": 48, "layers": 2, "word_size": 24,
    "rate": 2e-2, "batch": 8, "epochs": 2, "dropout": 0.2,
}  # fmt: skip


def trained(
    demo: dict[str, str], model: str, *, seed: int = 1, part: str = "train", **options: Any
) -> Trained:
    """A small tagger, trained on one part of the demo."""
    more = {"vectors": demo["vectors"]} if "glove" in model else {}
    return train(
        model,
        demo[part],
        demo["dev"],
        tests=[demo["test"]],
        seed=seed,
        device="cpu",
        **(SMALL | more | options),
    )


@pytest.fixture(scope="module")
def tagger(demo: dict[str, str]) -> Trained:
    """A tagger that several tests share."""
    return trained(demo, "CcnnWrandLstmCrf", rate=1e-2, epochs=3)


def test_all_sixteen_cells_of_the_grid_learn(demo: dict[str, str]) -> None:
    cells = [
        f"C{characters}W{words}{encoder}{decoder}"
        for characters in ("none", "cnn")
        for words in ("rand", "glove")
        for encoder in ("Lstm", "Cnn")
        for decoder in ("Crf", "Mlp")
    ]
    jobs = [
        Job(
            cell,
            demo["train"],
            demo["dev"],
            (demo["test"],),
            1,
            {**SMALL, "epochs": 1, "batch": 12, "rate": 3e-2, "vectors": demo["vectors"]},
        )
        for cell in cells
    ]
    for cell, result in zip(cells, trained_together(jobs), strict=True):
        assert result.report["f1"][demo["test"]] > 0.3, cell


def test_a_good_tagger_finds_nearly_everything_in_the_demo(demo: dict[str, str], tagger: Trained) -> None:
    result = evaluate(demo["test"], tagger.predictions[demo["test"]])
    f1 = next(iter(result.to_dict()["systems"].values()))["exact"]["overall"]["f1"]
    assert f1 >= 0.98
    assert f1 == pytest.approx(tagger.report["f1"][demo["test"]])


def test_the_same_seed_gives_the_same_tags_and_another_one_does_not(demo: dict[str, str]) -> None:
    first, again, other = (
        trained(demo, "CcnnWrandLstmCrf", seed=seed, part="dev", epochs=1) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.codes[demo["test"]], again.codes[demo["test"]])
    assert [epoch["loss"] for epoch in first.report["curve"]] != [
        epoch["loss"] for epoch in other.report["curve"]
    ]


def test_runs_trained_together_equal_runs_trained_alone(demo: dict[str, str]) -> None:
    jobs = [
        Job("CnoneWrandCnnCrf", demo["dev"], demo["dev"], (demo["test"],), seed, {**SMALL, "epochs": 1})
        for seed in (1, 2)
    ]
    _, second = trained_together(jobs, at_once=2)
    alone = trained(demo, "CnoneWrandCnnCrf", seed=2, part="dev", epochs=1)
    assert np.array_equal(second.codes[demo["test"]], alone.codes[demo["test"]])


def test_a_saved_tagger_tags_as_before(demo: dict[str, str], tagger: Trained, tmp_path: Path) -> None:
    tagger.save(tmp_path / "tagger")
    assert sorted(file.name for file in (tmp_path / "tagger").iterdir()) == [
        "model.safetensors",
        "predictions",
        "tagger.json",
    ]
    about = json.loads((tmp_path / "tagger" / "tagger.json").read_text(encoding="utf-8"))
    assert about["report"]["model"] == "CcnnWrandLstmCrf"
    assert len(about["report"]["curve"]) == 3
    again = load(tmp_path / "tagger").predict(demo["test"], device="cpu")
    assert again.mentions.rows() == tagger.predictions[demo["test"]].mentions.rows()
    saved = read(tmp_path / "tagger" / "predictions" / f"{Path(demo['test']).stem}.conll")
    assert saved.mentions.rows() == again.mentions.rows()


def test_scores_are_probabilities_and_wrong_mentions_have_lower_ones(
    demo: dict[str, str], tagger: Trained
) -> None:
    predicted = predict(tagger, demo["test"], scores=True, device="cpu")
    scores = predicted.mentions.score
    assert scores is not None
    assert ((scores > 0) & (scores <= 1)).all()
    gold = set(read(demo["test"]).mentions.rows())
    right = np.array([row in gold for row in predicted.mentions.rows()])
    assert scores[right].mean() > scores[~right].mean()


@pytest.mark.parametrize("order", ["--score-column=2", "--score-column=-1"])
def test_scores_in_a_column_of_a_conll_file_equal_those_in_json_lines(
    demo: dict[str, str], tagger: Trained, tmp_path: Path, order: str
) -> None:
    from spanwise.cli.main import main

    tagger.save(tmp_path / "tagger")
    about = {}
    for suffix, how in (("jsonl", []), ("conll", [order])):
        out, saved = str(tmp_path / f"out.{suffix}"), tmp_path / f"{suffix}.json"
        tag = ["tag", str(tmp_path / "tagger"), demo["test"], "-o", out, "--scores", "--device", "cpu"]
        assert main(tag) == 0
        assert main(["confidence", demo["test"], out, *how, "--quiet", "--json", str(saved)]) == 0
        about[suffix] = json.loads(saved.read_text(encoding="utf-8"))["systems"]["out"]
    assert about["conll"] == about["jsonl"]
    lines = (tmp_path / "out.conll").read_text(encoding="utf-8").splitlines()
    assert all((line.split()[1] == "O") == (line.split()[2] == "_") for line in lines if line)


def test_padding_and_the_order_of_sentences_change_nothing(demo: dict[str, str], tagger: Trained) -> None:
    from spanwise.corpus import Annotation, Corpus, Mentions

    text = read(demo["test"])
    sentences = [text.corpus.words(number) for number in range(60)]
    whole = predict(tagger, Annotation(Corpus.of(sentences), Mentions.of([])), device="cpu").mentions.rows()
    turned = predict(
        tagger, Annotation(Corpus.of(sentences[::-1]), Mentions.of([])), device="cpu"
    ).mentions.rows()
    assert sorted((59 - sentence, *row) for sentence, *row in turned) == sorted(whole)
    alone = []
    for number in range(0, 60, 7):
        predicted = predict(tagger, Annotation(Corpus.of([sentences[number]]), Mentions.of([])), device="cpu")
        alone += [(number, *row[1:]) for row in predicted.mentions.rows()]
    assert alone == [row for row in whole if row[0] % 7 == 0]


@pytest.mark.parametrize("mode", ["concat", "context"])
def test_windows_of_several_sentences_tag_every_token(demo: dict[str, str], mode: str) -> None:
    result = trained(demo, "CcnnWrandLstmCrf", context=3, mode=mode, epochs=1)
    assert len(result.codes[demo["test"]]) == len(read(demo["test"]).corpus.tokens)
    assert result.report["f1"][demo["test"]] > 0.5
    assert result.report["updates"] == pytest.approx(800 / 8, rel=0.05)


def test_the_linear_chain_model_is_trained_saved_and_loaded(demo: dict[str, str], tmp_path: Path) -> None:
    result = train("crf", demo["train"], demo["dev"], tests=[demo["test"]])
    assert result.report["f1"][demo["test"]] > 0.95
    result.save(tmp_path / "crf")
    again = predict(tmp_path / "crf", demo["test"], scores=True)
    assert again.mentions.rows() == result.predictions[demo["test"]].mentions.rows()
    assert again.mentions.score is not None
    assert (again.mentions.score > 0).all()


def test_the_linear_chain_model_of_l_bfgs_does_not_depend_on_the_seed(demo: dict[str, str]) -> None:
    files = (demo["dev"], demo["test"])
    first, second = (train("crf", *files, seed=seed, algorithm="lbfgs") for seed in (1, 2))
    assert first.predictions["dev"].mentions.rows() == second.predictions["dev"].mentions.rows()


def test_training_ends_after_some_epochs_without_a_better_score(demo: dict[str, str]) -> None:
    whole = trained(demo, "CnoneWrandLstmCrf", epochs=12)
    scores = [epoch["dev_f1"] for epoch in whole.report["curve"]]
    # The same run, stopped where the best epoch so far lies two epochs back.
    stops = next(
        (number for number in range(12) if number - int(np.argmax(scores[: number + 1])) >= 2),
        len(scores) - 1,
    )
    short = trained(demo, "CnoneWrandLstmCrf", epochs=12, patience=2)
    assert [epoch["dev_f1"] for epoch in short.report["curve"]] == scores[: stops + 1]
    assert stops < 11


def test_plain_gradient_descent_learns(demo: dict[str, str]) -> None:
    curve = trained(demo, "CnoneWrandLstmCrf", preset="fu19", epochs=3, rate=0.1).report["curve"]
    assert curve[-1]["loss"] < 0.8 * curve[0]["loss"]


def test_features_are_one_row_per_token(demo: dict[str, str], tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    for role in ("train", "dev", "test"):
        text = read(demo[role])
        # The output of a perfect extractor: one vector per form.
        rows = np.stack(
            [np.frombuffer(form.encode()[:8].ljust(8), np.uint8) / 255 for form in text.corpus.vocabulary]
        )
        np.save(tmp_path / f"{Path(demo[role]).stem}.npy", rows[text.corpus.tokens])
    if len({Path(demo[role]).stem for role in ("train", "dev", "test")}) == 3:
        trained(demo, "CfeaturesWnoneLstmCrf", features=str(tmp_path), epochs=1)
    np.save(tmp_path / f"{Path(demo['train']).stem}.npy", draw.normal(size=(3, 4)))
    with pytest.raises(InputError, match="Expected one row per token"):
        trained(demo, "CfeaturesWnoneLstmCrf", features=str(tmp_path), epochs=1)
    with pytest.raises(InputError, match="no file of them was given"):
        trained(demo, "CfeaturesWnoneLstmCrf", epochs=1)


def test_a_run_that_fails_does_not_stop_the_others(demo: dict[str, str]) -> None:
    jobs = [
        Job(model, demo["dev"], demo["dev"], (), 1, {**SMALL, "epochs": 1})
        for model in ("nonsense", "CfeaturesWnoneLstmCrf", "CnoneWrandCnnMlp")
    ]
    ended: dict[int, Trained | Exception] = {}
    train_all(jobs, ended.__setitem__, device="cpu")
    assert [isinstance(ended[number], Exception) for number in range(3)] == [True, True, False]


def test_unusable_training_data_is_refused(demo: dict[str, str], tmp_path: Path) -> None:
    empty = tmp_path / "empty.conll"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(InputError):
        train("crf", demo["train"], empty)
    nothing = tmp_path / "nothing.conll"
    nothing.write_text("a O\nb O\n\n", encoding="utf-8")
    for model in ("crf", "CcnnWrandLstmCrf"):
        with pytest.raises(InputError, match="contain no mentions"):
            train(model, nothing, demo["dev"], device="cpu")
    with pytest.raises(InputError, match="there is no tagger in this folder"):
        load(tmp_path)


def test_a_label_missing_from_training_is_missed_not_refused(demo: dict[str, str], tmp_path: Path) -> None:
    strange = tmp_path / "strange.conll"
    strange.write_text("Kalmora B-STRANGE\nwon O\n\n", encoding="utf-8")
    result = train(
        "CnoneWrandCnnMlp", demo["dev"], strange, tests=[strange], device="cpu", **(SMALL | {"epochs": 1})
    )
    assert result.report["f1"][str(strange)] == 0


def test_a_word_vector_file_without_our_words_is_reported(demo: dict[str, str], tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("xyzzy 1 2 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="no word of the data has a vector"):
        trained(demo, "CnoneWgloveCnnCrf", vectors=str(vectors))
