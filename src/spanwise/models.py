"""Run spaCy pipelines and Transformers token classifiers on the texts of gold, so that they can be scored.

A model is a program. A folder is run only if it is named as a model, from local files alone; weights must be
safetensors, code of a repository is never run, and a spaCy pipeline with code of its own needs `trust`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from spanwise.columns import floats
from spanwise.corpus import Annotation, Corpus, Mentions, Reading
from spanwise.errors import ChoiceError, InputError, MissingExtra
from spanwise.formats import model_option, read

Progress = Callable[[str, int, int], None]
Rows = list[tuple[int, int, int, str, float | None]]  # sentence, start, end, label, score

BATCH = 16  # texts that a Transformers model reads at once
# The components and functions of spaCy itself, which a pipeline without code of its own is made of.
_FACTORIES = frozenset(
    [
        "attribute_ruler",
        "beam_ner",
        "beam_parser",
        "curated_transformer",
        "doc_cleaner",
        "entity_linker",
        "entity_ruler",
        "future_entity_ruler",
        "lemmatizer",
        "merge_entities",
        "merge_noun_chunks",
        "merge_subtokens",
        "morphologizer",
        "ner",
        "parser",
        "sentencizer",
        "senter",
        "span_cleaner",
        "span_finder",
        "span_ruler",
        "spancat",
        "spancat_singlelabel",
        "tagger",
        "textcat",
        "textcat_multilabel",
        "tok2vec",
        "token_splitter",
        "trainable_lemmatizer",
        "transformer",
    ]
)
_OWN = re.compile(r"spacy[\w-]*\.|[A-Za-z_]\w*\.v\d+$")


def with_models(
    gold: object,
    systems: object,
    spacy: object,
    hf: object,
    reading: Mapping[str, Any],
    *,
    trust: bool = False,
    progress: Progress,
) -> tuple[Annotation, dict[str, object]]:
    """Gold, and the systems with the predictions of each model on gold's texts.

    Args:
        systems: systems by name, or None.
        spacy: the folder of a spaCy pipeline, or folders by name.
        hf: the same for Transformers token classifiers.
        trust: whether to run a spaCy pipeline that has code of its own.
    """
    annotation = gold if isinstance(gold, Annotation) else read(gold, **reading)
    result: dict[str, object] = dict(systems) if isinstance(systems, Mapping) else {}
    models: list[tuple[str, str, _Spacy | _Transformers]] = [
        *((name, folder, _Spacy(folder, trust=trust)) for name, folder in _named(spacy)),
        *((name, folder, _Transformers(folder)) for name, folder in _named(hf)),
    ]
    if annotation.corpus.without_text:
        raise InputError(
            f"{annotation.reading.path}: gold has no text for a model to read.\nGive gold with its tokens."
        )
    for name, folder, model in models:
        if name in result:
            raise ChoiceError(f"two systems are called {name!r}.\nName the model, as in NAME={folder}.")
        rows = list(model.rows(annotation.corpus, progress))
        result[name] = Annotation(
            annotation.corpus, _mentions(rows), Reading(path=folder, format=model.format)
        )
    return annotation, result


def _named(models: object) -> list[tuple[str, str]]:
    """The folders by name; by default, a model is called after its folder."""
    if models is None:
        return []
    if isinstance(models, Mapping):
        return [(str(name), os.fspath(folder)) for name, folder in models.items()]
    given: Iterable[Any] = [models] if isinstance(models, str | os.PathLike) else models  # type: ignore[assignment]
    result = []
    for folder in map(os.fspath, given):
        name, equals, path = folder.partition("=")
        named = bool(equals and name) and not Path(folder).exists()
        result.append((name, path) if named else (Path(folder).resolve().name, folder))
    return result


def _mentions(rows: Rows) -> Mentions:
    rows = sorted(rows, key=lambda row: row[:4])
    mentions = Mentions.of([row[:4] for row in rows])
    if any(row[4] is None for row in rows) or not rows:
        return mentions
    return replace(mentions, score=floats([row[4] for row in rows]))


def _texts(corpus: Corpus) -> list[Any]:
    """The text of every sentence, or its tokens if positions count tokens."""
    if corpus.unit == "character":
        return list(corpus.texts or ())
    return [list(corpus.words(at)) for at in range(len(corpus))]


class _Spacy:
    """A spaCy pipeline."""

    format = "spacy pipeline"

    def __init__(self, folder: str, *, trust: bool) -> None:
        try:
            import spacy
            from spacy.util import load_config
        except ModuleNotFoundError as error:
            raise MissingExtra.of(error.name or "spacy", "spacy", "running a spaCy pipeline") from error
        path = Path(folder)
        if model_option(path) != "spacy":
            raise InputError(
                f"{folder}: this is not the folder of a spaCy pipeline.\n"
                "Name a folder with config.cfg and meta.json, as nlp.to_disk and spacy train write it."
            )
        own = sorted(_code(path, load_config(path / "config.cfg")))
        if own and not trust:
            raise ChoiceError(
                f"{folder}: this pipeline has code of its own: {', '.join(own[:5])}.\n"
                "It would run with your rights. If you trust it, add trust=True."
            )
        try:
            self._nlp = spacy.load(path)
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise InputError(
                f"{folder}: spaCy cannot load this pipeline: {_line(error)}.\n"
                "Load it with spacy.load to see what is missing."
            ) from error

    def rows(self, corpus: Corpus, progress: Progress) -> Iterator[tuple[int, int, int, str, float | None]]:
        from spacy.tokens import Doc

        characters = corpus.unit == "character"
        texts = _texts(corpus)
        docs = texts if characters else [Doc(self._nlp.vocab, words=words) for words in texts]
        for number, doc in enumerate(self._nlp.pipe(docs)):
            spans, scores = list(doc.ents), None
            if not spans and "sc" in doc.spans:
                spans, scores = list(doc.spans["sc"]), doc.spans["sc"].attrs.get("scores")
            for at, span in enumerate(spans):
                ends = (span.start_char, span.end_char) if characters else (span.start, span.end)
                yield number, *ends, span.label_, None if scores is None else float(scores[at])
            progress("tag", number + 1, len(texts))


def _code(folder: Path, config: Mapping[str, Any]) -> set[str]:
    """The names of components and functions in a pipeline that are not spaCy's own, and its Python files."""
    found = {file.name for file in folder.rglob("*.py")}
    for part in ("nlp", "components"):
        found |= _foreign(config.get(part, {}))
    return found


def _foreign(table: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _foreign(value)
        elif (key == "factory" and value not in _FACTORIES) or (
            key.startswith("@") and not _OWN.match(str(value))
        ):
            found.add(str(value))
    return found


class _Transformers:
    """A token classifier of Transformers: the first piece of a word says its tag, as in training."""

    format = "transformers"

    def __init__(self, folder: str) -> None:
        path = Path(folder)
        if model_option(path) != "hf":
            raise InputError(
                f"{folder}: this is not the folder of a Transformers model.\n"
                "Name a folder with config.json, as save_pretrained writes it."
            )
        if not [*path.glob("*.safetensors")]:
            raise InputError(
                f"{folder}: there are no weights in safetensors.\n"
                "Other files of weights can hold code. Save the model again with save_pretrained."
            )
        if "auto_map" in json.loads((path / "config.json").read_text(encoding="utf-8")):
            raise InputError(
                f"{folder}: this model brings code of its own (auto_map), which is never run.\n"
                "Use a model that Transformers itself defines."
            )
        try:
            import torch
            from transformers import AutoModelForTokenClassification, AutoTokenizer
        except ModuleNotFoundError as error:
            raise MissingExtra.of(
                error.name or "transformers", "hf", "running a Transformers model"
            ) from error
        local = {"local_files_only": True, "trust_remote_code": False}
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, **local)
            self._model = AutoModelForTokenClassification.from_pretrained(
                folder, use_safetensors=True, **local
            )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            raise InputError(
                f"{folder}: Transformers cannot load this model: {_line(error)}.\n"
                "Load it with AutoModelForTokenClassification to see what is missing."
            ) from error
        self._torch = torch
        self._model.eval()
        config = self._model.config
        self._tags = [str(config.id2label[number]) for number in range(config.num_labels)]
        longest = min(self._tokenizer.model_max_length, getattr(config, "max_position_embeddings", 512))
        self._longest = int(min(longest, 512))

    def rows(self, corpus: Corpus, progress: Progress) -> Iterator[tuple[int, int, int, str, float | None]]:
        characters = corpus.unit == "character"
        texts = _texts(corpus)
        places = [_words(text) if characters else [(at, at + 1) for at in range(len(text))] for text in texts]
        for first in range(0, len(texts), BATCH):
            some = range(first, min(first + BATCH, len(texts)))
            words = [
                [texts[at][begin:end] for begin, end in places[at]] if characters else texts[at]
                for at in some
            ]
            for at, (tags, scores) in zip(some, self._tagged(words), strict=True):
                for start, end, label in _spans(tags):
                    yield (
                        at, places[at][start][0], places[at][end - 1][1], label,
                        sum(scores[start:end]) / (end - start),
                    )  # fmt: skip
            progress("tag", some.stop, len(texts))

    def _tagged(self, sentences: Sequence[Sequence[str]]) -> list[tuple[list[str], list[float]]]:
        """The tag of every word and its probability; long sentences are read in several parts."""
        result = [(["O"] * len(words), [0.0] * len(words)) for words in sentences]
        kept = [at for at, words in enumerate(sentences) if words]
        if not kept:
            return result
        batch = self._tokenizer(
            [list(sentences[at]) for at in kept], is_split_into_words=True, truncation=True, padding=True,
            max_length=self._longest, return_overflowing_tokens=True, return_tensors="pt",
        )  # fmt: skip
        sample = batch.pop("overflow_to_sample_mapping").tolist()
        with self._torch.inference_mode():
            chances = self._model(**batch).logits.softmax(-1)
        best, tag = chances.max(-1)
        for row, own in enumerate(sample):
            tags, scores = result[kept[own]]
            before = None
            for piece, word in enumerate(batch.word_ids(row)):
                if word is not None and word != before and not scores[word]:
                    tags[word], scores[word] = self._tags[int(tag[row, piece])], float(best[row, piece])
                before = word
        return result


def _words(text: str) -> list[tuple[int, int]]:
    """The positions of words and of single signs in a text."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def _spans(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """The mentions that tags of any scheme describe."""
    if not any(tag != "O" for tag in tags):
        return []
    plain = [tag if tag == "O" or re.match(r"[BIESLU]-", tag) else f"I-{tag}" for tag in tags]
    return [row[1:4] for row in read([plain], tokens=[["x"] * len(plain)]).mentions.rows()]


def _line(error: Exception) -> str:
    """The first line of an error of another library."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
