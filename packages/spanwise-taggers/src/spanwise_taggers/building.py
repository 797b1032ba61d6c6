"""Prepare a run from a model and data: the vocabulary, arrays on the device, and the network."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Column, Ints, ints, offsets
from spanwise.corpus import Annotation, Corpus, with_one_vocabulary
from spanwise.errors import ChoiceError, InputError
from spanwise.windows import Windows, windows
from spanwise_taggers.bert import Bert, Pretrained, Splitter
from spanwise_taggers.encoding import Vocabulary, build_words, check_corpus, columns_of, tag_codes, tag_names
from spanwise_taggers.features import features_of
from spanwise_taggers.naming import Model
from spanwise_taggers.network import Case, Characters, Cnn, DeviceStore, Features, Lstm, Pieces, Tagger, Words
from spanwise_taggers.settings import TaggerSettings, encoder_folder
from spanwise_taggers.vectors import Matrix, available_vectors, read_vectors, spellings


class TaggerDefinition(Struct, frozen=True, eq=False):
    """What defines a tagger apart from its weights; saved with them."""

    model: Model
    settings: TaggerSettings
    vocabulary: Vocabulary
    feature_width: int = 0
    pieces: int = 0


class Material(Struct, frozen=True, eq=False):
    """Corpora as flat arrays of tokens on a device, and the windows of each part."""

    annotations: tuple[Annotation, ...]
    roles: tuple[str, ...]
    begins: Ints  # the first token of each part
    store: DeviceStore
    windows: tuple[Windows, ...] = ()  # positions count the tokens of all parts
    piece: Ints | None = None  # the first word piece of each token
    encoder: Pretrained | None = None  # fine-tuned with the tagger
    rows: Ints | None = (
        None  # the encoder's pieces that occur; the store numbers pieces by their position here
    )


def choose_device(name: str) -> torch.device:
    """The device for "auto", "cpu" or "cuda".

    Raises:
        ChoiceError: the device is not available.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ChoiceError(
            "the device 'cuda' was asked for, but PyTorch sees no GPU here.\nUse device 'cpu' or 'auto'."
        )
    try:
        return torch.device(name)
    except RuntimeError:
        raise ChoiceError(f"{name!r} is not a device.\nGive auto, cpu or cuda.") from None


def learn(
    model: Model, settings: TaggerSettings, train: Annotation, others: Sequence[Annotation]
) -> tuple[TaggerDefinition, Matrix | None]:
    """The vocabulary of the training data, and its word vectors, which are NaN for words without one."""
    model = replace(model, words=_vectors_named(model, settings))
    scheme = "BIOES" if model.decoder == "crf" else "IOB2"
    labels = sorted({train.mentions.labels[code] for code in np.unique(train.mentions.label).tolist()})
    if not labels:
        raise InputError(
            f"{train.reading.path}: the training data contain no mentions.\nA tagger needs some to learn "
            "from."
        )
    words: tuple[str, ...] = ()
    singles: tuple[int, ...] = ()
    table = None
    lowercase = settings.lowercase or model.words.startswith("glove")
    if model.words != "none":
        vectors = None
        if model.words != "rand":
            forms = {form for annotation in (train, *others) for form in annotation.corpus.vocabulary}
            vectors = read_vectors(model.words, forms, settings.vectors)
        corpora = [annotation.corpus for annotation in others]
        words, singles, table = build_words(train.corpus, corpora, vectors, lowercase=lowercase)
    characters = ""
    if model.characters == "cnn":
        characters = "".join(sorted({character for form in train.corpus.vocabulary for character in form}))
    vocabulary = Vocabulary(tag_names(labels, scheme), scheme, characters, words, singles, lowercase)
    return TaggerDefinition(model, settings, vocabulary), table


def _vectors_named(model: Model, settings: TaggerSettings) -> str:
    if model.words == "glove" and settings.vectors and Path(settings.vectors).is_file():
        return "glove"
    return available_vectors(model.words)


def lay_out(
    definition: TaggerDefinition,
    annotations: Sequence[Annotation],
    roles: Sequence[str],
    device: torch.device,
) -> Material:
    """The arrays of several corpora on the device, training data first and without windows yet.

    If an encoder is fine-tuned, only the pieces that occur in one of the corpora are included: the others
    have no gradient and would take most of the memory.
    """
    settings, vocabulary = definition.settings, definition.vocabulary
    for annotation, role in zip(annotations, roles, strict=True):
        check_corpus(annotation, role)
    corpora = with_one_vocabulary([annotation.corpus for annotation in annotations])
    whole = _joined(corpora)
    splitter = Splitter(encoder_folder(settings)) if _tunes_encoder(definition) else None
    columns: dict[str, Column] = columns_of(whole, vocabulary, splitter)
    tags = [tag_codes(annotation, vocabulary.tags, vocabulary.scheme) for annotation in annotations]
    columns["tag"] = np.concatenate([*tags, np.zeros(1, np.int64)])
    if _has_features(definition):
        vectors = [
            features_of(definition.model.characters, annotation, settings, device)
            for annotation in annotations
        ]
        columns["features"] = np.concatenate([*vectors, np.zeros_like(vectors[0][:1])])
    begins = offsets([len(corpus.tokens) for corpus in corpora])
    piece = ints(columns["piece"]) if splitter is not None else None
    encoder, rows = None, None
    if splitter is not None and "training" in roles:
        encoder = Pretrained.read(encoder_folder(settings), splitter)
        rows = ints(np.union1d(columns["pieces"], [encoder.first, encoder.last]))
        columns["pieces"] = np.searchsorted(rows, columns["pieces"])
    store = DeviceStore({name: torch.from_numpy(np.array(column)) for name, column in columns.items()})
    return Material(
        tuple(annotations), tuple(roles), begins, store.to(device), piece=piece, encoder=encoder, rows=rows
    )


def in_windows(material: Material, settings: TaggerSettings) -> Material:
    """A copy with the windows that the settings define."""
    begins, parts = material.begins, []
    sizes = None if material.piece is None else np.diff(material.piece)
    for number, (annotation, role) in enumerate(zip(material.annotations, material.roles, strict=True)):
        own = None if sizes is None else ints(sizes[begins[number] : begins[number + 1]])
        count = settings.context if role == "training" else settings.test_context or settings.context
        ranges = windows(
            annotation.corpus,
            count,
            mode=settings.mode,
            limit=None if sizes is None else 510,
            sizes=own,
            cross=settings.cross,
        )
        at = begins[number]
        parts.append(
            Windows(ranges.start + at, ranges.stop + at, ranges.first + at, ranges.last + at, ranges.cut)
        )
    return replace(material, windows=tuple(parts))


def _joined(corpora: Sequence[Corpus]) -> Corpus:
    sizes = np.concatenate([np.diff(corpus.sentences) for corpus in corpora])
    tokens = np.concatenate([corpus.tokens for corpus in corpora])
    return Corpus(tokens=tokens, vocabulary=corpora[0].vocabulary, sentences=offsets(sizes))


def _tunes_encoder(definition: TaggerDefinition) -> bool:
    return definition.model.has_encoder and definition.settings.finetune


def _has_features(definition: TaggerDefinition) -> bool:
    model = definition.model
    return (
        model.characters == "flair"
        or model.has_features
        or (model.has_encoder and not definition.settings.finetune)
    )


def network(
    definition: TaggerDefinition,
    table: Matrix | None,
    feature_width: int = 0,
    bert: Callable[[], Bert] | None = None,
) -> Tagger:
    """A network with initial weights, drawn from PyTorch's global generator.

    `bert` creates the encoder to fine-tune; without it, the encoder is read from its folder.
    """
    model, settings, vocabulary = definition.model, definition.settings, definition.vocabulary
    inputs: list[torch.nn.Module] = []
    if model.words != "none":
        inputs.append(Words(_word_table(vocabulary, settings, table), settings.unknown))
        inputs[-1].table.requires_grad_(settings.tune_words)
    if model.characters == "cnn":
        size = len(vocabulary.characters) + 2
        inputs.append(Characters(size, settings.char_size, settings.char_filters, settings.char_dropout))
    if _tunes_encoder(definition):
        make = bert or Pretrained.read(encoder_folder(settings)).bert
        inputs.append(Pieces(make(), mean=settings.mean_pieces))
    if _has_features(definition):
        inputs.append(Features(feature_width, settings.feature_size))
    if settings.case:
        inputs.append(Case())
    width = sum(int(part.size) for part in inputs)
    encoder: torch.nn.Module | None = None
    if model.encoder == "lstm":
        encoder = Lstm(width, settings.hidden)
    elif model.encoder == "cnn":
        encoder = Cnn(width, settings.width, settings.layers, settings.dropout)
    return Tagger(
        inputs,
        encoder,
        len(vocabulary.tags),
        decoder=model.decoder,
        dropout=settings.dropout,
        locked=settings.locked,
        word_dropout=settings.word_dropout,
        impossible=_impossible(vocabulary.tags) if settings.constrain and model.decoder == "crf" else None,
    )


def first_network(
    definition: TaggerDefinition, table: Matrix | None, material: Material, seed: int
) -> Tagger:
    """The network before training; it depends only on the seed, not on other runs."""
    encoder = material.encoder
    bert = None if encoder is None else partial(encoder.bert, material.rows)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return network(definition, table, _width(material), bert)


def widen(network: Tagger, material: Material) -> Tagger:
    """Move a trained network to the host and restore all pieces of its encoder."""
    network = network.cpu()  # frees the memory on the device
    if material.encoder is not None and material.rows is not None:
        for part in network.inputs:
            if isinstance(part, Pieces):
                material.encoder.widen(part.bert, material.rows)
    return network


def _width(material: Material) -> int:
    features = getattr(material.store, "features", None)
    return 0 if features is None else int(features.shape[1])


def empty_network(definition: TaggerDefinition, word_size: int) -> Tagger:
    """The network of a saved tagger, before its weights are loaded."""
    table = np.zeros((len(definition.vocabulary.words) + 2, word_size), np.float32) if word_size else None
    return network(definition, table, definition.feature_width)


def shapes_of(definition: TaggerDefinition, word_size: int) -> dict[str, tuple[int, ...]]:
    """The shapes of all weights of a saved tagger, computed without allocating memory."""
    sized = replace(definition, settings=replace(definition.settings, word_size=word_size))
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the weights of an encoder's folder are not needed
        empty = network(sized, None, definition.feature_width)
    return {name: tuple(value.shape) for name, value in empty.state_dict().items()}


def extended(
    definition: TaggerDefinition, network: Tagger, annotation: Annotation
) -> tuple[TaggerDefinition, Tagger]:
    """The tagger extended with the vectors of words that it did not know when it was trained."""
    if not definition.model.words.startswith("glove"):
        return definition, network
    import copy

    vocabulary = definition.vocabulary
    known_rows = vocabulary.rows()
    forms = [
        form
        for form in annotation.corpus.vocabulary
        if not any(spelling in known_rows for spelling in spellings(form))
    ]
    if not forms:
        return definition, network
    vectors = read_vectors(definition.model.words, forms, definition.settings.vectors, none=True)
    fresh = sorted(word for word in vectors if word not in known_rows)
    if not fresh:
        return definition, network
    network = copy.deepcopy(network)
    rows = torch.from_numpy(np.stack([vectors[word] for word in fresh]))
    part = network.inputs[0]
    part.table = torch.nn.Parameter(torch.cat([part.table.detach().cpu(), rows]))
    return replace(definition, vocabulary=replace(vocabulary, words=(*vocabulary.words, *fresh))), network


def _word_table(vocabulary: Vocabulary, settings: TaggerSettings, table: Matrix | None) -> torch.Tensor:
    size = settings.word_size if table is None else table.shape[1]
    scale = (3 / size) ** 0.5
    drawn = torch.empty(len(vocabulary.words) + 2, size).uniform_(-scale, scale)
    drawn[0] = 0
    if table is not None:
        vectors = torch.from_numpy(table)
        drawn = torch.where(torch.isnan(vectors), drawn, vectors)
    return drawn


def _impossible(tags: Sequence[str]) -> torch.Tensor:
    """A table with 1 where a tag (column) may not follow another (row) under BIOES.

    The last two rows have 1 where a tag may not begin or end a sentence.
    """
    letter = [tag[0] for tag in tags]
    label = [tag[2:] for tag in tags]
    wrong = np.zeros((len(tags) + 2, len(tags)), np.float32)
    for after in range(len(tags)):
        continues = letter[after] in "IE"
        wrong[-2, after] = continues
        wrong[-1, after] = letter[after] in "BI"
        for before in range(len(tags)):
            is_open = letter[before] in "BI"
            wrong[before, after] = is_open != continues or (continues and label[before] != label[after])
    return torch.from_numpy(wrong)
