"""Fine-tuned BERT-type encoders: training only the pieces that occur gives the same result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise import Annotation, Corpus, InputError, Mentions, read

pytest.importorskip("torch", reason="the extra 'zoo' is not installed")
pytest.importorskip("safetensors", reason="the extra 'zoo' is not installed")
pytest.importorskip("tokenizers", reason="the extra 'zoo' is not installed")

import torch
from safetensors import torch as safetensors
from tagging import trained_together
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from spanwise_taggers import Job, Trained, load, predict, train
from spanwise_taggers.bert import Splitter

WIDTH, MARKS = 16, ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
SMALL: dict[str, Any] = {
    "epochs": 3, "batch": 8, "rate": 2e-2, "encoder_rate": 1e-2, "clip": 0.5, "average": 0.9,
}  # fmt: skip
OTHERS = ("zyzzyva", "zyzzyvas", "quagga")  # words in no corpus; the first two share a vector


@pytest.fixture(scope="module")
def pieces(demo: dict[str, str]) -> list[str]:
    """The pieces of the words of the demo: some whole words, some split in two."""
    forms = {form.lower() for role in ("train", "dev", "test") for form in read(demo[role]).corpus.vocabulary}
    whole = {form for form in forms if len(form) < 7 or not form.isalpha()}
    halves = {half for form in forms - whole for half in (form[:4], f"##{form[4:]}")}
    return sorted(whole | halves)


def encoder(folder: Path, vocabulary: list[str], pieces: list[str]) -> str:
    """A Hugging Face folder with a tiny encoder whose vectors of `pieces` are the same in any vocabulary."""
    folder.mkdir()
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "model_type": "bert", "hidden_size": WIDTH, "intermediate_size": 32, "num_attention_heads": 2,
        "num_hidden_layers": 1, "max_position_embeddings": 512, "hidden_dropout_prob": 0.1,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    draw = np.random.default_rng(5)
    vectors = dict(zip([*MARKS, *pieces], draw.normal(size=(len(pieces) + 4, WIDTH)), strict=True))
    vectors |= dict.fromkeys(OTHERS[:2], draw.normal(size=WIDTH))
    word = [
        vectors[word_piece] if word_piece in vectors else draw.normal(size=WIDTH) for word_piece in vocabulary
    ]
    draw = np.random.default_rng(6)
    layer = "encoder.layer.0."
    shapes = {
        **{f"{layer}attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")},
        f"{layer}attention.output.dense": (WIDTH, WIDTH),
        f"{layer}intermediate.dense": (32, WIDTH),
        f"{layer}output.dense": (WIDTH, 32),
    }
    weights = {f"{name}.weight": draw.normal(size=shape) * 0.2 for name, shape in shapes.items()}
    weights |= {f"{name}.bias": np.zeros(shape[0]) for name, shape in shapes.items()}
    for name in ("embeddings.", f"{layer}attention.output.", f"{layer}output."):
        weights |= {f"{name}LayerNorm.weight": np.ones(WIDTH), f"{name}LayerNorm.bias": np.zeros(WIDTH)}
    weights["embeddings.word_embeddings.weight"] = np.stack(word)
    weights["embeddings.position_embeddings.weight"] = draw.normal(size=(512, WIDTH)) * 0.1
    weights["embeddings.token_type_embeddings.weight"] = np.zeros((2, WIDTH))
    held = {name: torch.from_numpy(np.asarray(value, np.float32)) for name, value in weights.items()}
    safetensors.save_file(held, folder / "model.safetensors")
    return str(folder)


def trained(demo: dict[str, str], folder: str) -> Trained:
    """A tagger with a fine-tuned encoder; every update is clipped, and weights are averaged."""
    return train(
        "CminilmWnoneMlp",
        demo["dev"],
        demo["dev"],
        tests=[demo["test"]],
        device="cpu",
        encoder=folder,
        **SMALL,
    )


@pytest.fixture(scope="module")
def tagger(demo: dict[str, str], pieces: list[str], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A tagger whose encoder has many words that occur in no corpus, between those that do."""
    unused = [*OTHERS, *(f"{piece}{piece}" for piece in pieces)]
    folder = tmp_path_factory.mktemp("encoders") / "large"
    return trained(demo, encoder(folder, sorted([*MARKS, *pieces, *unused]), pieces))


def test_pieces_that_never_occur_change_nothing(
    demo: dict[str, str], pieces: list[str], tagger: Trained, tmp_path: Path
) -> None:
    # Every piece of this encoder occurs, so it is trained as a whole.
    whole = trained(demo, encoder(tmp_path / "small", sorted([*MARKS, *pieces]), pieces))
    assert tagger.report["curve"][-1]["loss"] < 0.7 * tagger.report["curve"][0]["loss"]
    for part, codes in whole.codes.items():
        assert np.array_equal(tagger.codes[part], codes)
    assert tagger.network is not None
    assert whole.network is not None
    weights = whole.network.state_dict()
    for name, value in tagger.network.state_dict().items():
        if not name.endswith("bert.word"):
            assert torch.equal(value, weights[name]), name


def test_a_saved_encoder_has_all_its_pieces_including_those_that_never_occurred(
    demo: dict[str, str], tagger: Trained, tmp_path: Path
) -> None:
    tagger.save(tmp_path / "tagger")
    folder = Path(tagger.report["settings"]["encoder"])
    before = safetensors.load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    after = safetensors.load_file(tmp_path / "tagger" / "model.safetensors")["inputs.0.bert.word"]
    numbers = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    occurring = {form.lower() for form in read(demo["dev"]).corpus.vocabulary}
    for piece, row in numbers.items():
        if piece in OTHERS:
            assert torch.equal(after[row], before[row])
        elif piece in occurring:
            assert not torch.equal(after[row], before[row])
    again = load(tmp_path / "tagger").predict(demo["test"], device="cpu")
    assert again.mentions.rows() == tagger.predictions[demo["test"]].mentions.rows()


def test_words_missing_from_training_are_represented_by_their_own_vectors(
    demo: dict[str, str], tagger: Trained, tmp_path: Path
) -> None:
    tagger.save(tmp_path / "tagger")
    text = read(demo["test"])
    number, start, end, _ = text.mentions.rows()[0]
    words = text.corpus.words(number)
    sentences = [[*words[:start], other, *words[end:]] for other in OTHERS]
    probe = Annotation(Corpus.of(sentences), Mentions.of([]))
    predictions = [
        predict(model, probe, scores=True, device="cpu") for model in (tagger, tmp_path / "tagger")
    ]
    assert predictions[0].mentions.rows() == predictions[1].mentions.rows()
    scores = predictions[1].mentions.score
    assert scores is not None
    by_sentence = [scores[predictions[1].mentions.sentence == index].tolist() for index in range(3)]
    assert by_sentence[0]
    assert by_sentence[0] == by_sentence[1]
    assert by_sentence[0] != by_sentence[2]


def test_a_run_next_to_one_with_larger_windows_gives_the_same_result(
    demo: dict[str, str], tagger: Trained
) -> None:
    options = {**SMALL, "encoder": tagger.report["settings"]["encoder"]}
    jobs = [
        Job("CminilmWnoneMlp", demo["dev"], demo["dev"], (demo["test"],), 1, {**options, "context": size})
        for size in (3, 1)
    ]
    large, small = trained_together(jobs, at_once=2)
    assert np.array_equal(small.codes[demo["test"]], tagger.codes[demo["test"]])
    assert large.report["windows"] < small.report["windows"] == tagger.report["windows"]


def test_a_tokenizer_that_does_not_match_the_weights_is_reported(
    demo: dict[str, str], pieces: list[str], tmp_path: Path
) -> None:
    folder = encoder(tmp_path / "one", [*MARKS, *pieces], pieces)
    encoder(tmp_path / "other", [*MARKS, *pieces[:5]], pieces)
    (tmp_path / "other" / "model.safetensors").replace(Path(folder) / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors: the weights do not fit"):
        trained(demo, folder)


@pytest.mark.parametrize("finetune", [True, False])
def test_the_row_of_bert_takes_any_folder_with_either_spelling_of_its_weights(
    demo: dict[str, str], pieces: list[str], tmp_path: Path, finetune: bool
) -> None:
    folder = Path(encoder(tmp_path / "bert", sorted([*MARKS, *pieces]), pieces))
    options = {**SMALL, "epochs": 1, "finetune": finetune}
    first = train("CbertWnoneMlp", demo["dev"], demo["dev"], device="cpu", encoder=str(folder), **options)
    assert first.model.name == "CbertWnoneMlp"
    # As in checkpoints of the first versions.
    weights = safetensors.load_file(folder / "model.safetensors")
    old = {
        "bert." + name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): value
        for name, value in weights.items()
    }
    safetensors.save_file(old, folder / "model.safetensors")
    second = train("CbertWnoneMlp", demo["dev"], demo["dev"], device="cpu", encoder=str(folder), **options)
    assert np.array_equal(first.codes["dev"], second.codes["dev"])


@pytest.mark.parametrize(
    ("case", "expected"), [(None, [["rome"], ["u", "."]]), (False, [["[UNK]"], ["U", "."]])]
)
def test_a_folder_with_a_list_of_pieces_alone_is_split_as_bert_splits(
    tmp_path: Path, case: bool | None, expected: list[list[str]]
) -> None:
    pieces = [*MARKS, "rome", "u", "U", "."]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    if case is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": case}))
    found = Splitter(tmp_path).pieces(["Rome", "U."])
    assert [[pieces[number] for number in word] for word in found] == expected
