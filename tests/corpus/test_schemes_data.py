"""On real files, mentions equal those of seqeval and scores the published ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import formats
from spanwise.corpus import Annotation

get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities


def plain_tags(path: Path, column: int) -> list[list[str]]:
    """The tags of a file, read in the simplest way: split lines at spaces, sentences at blank lines."""
    sentences: list[list[str]] = [[]]
    for line in path.read_bytes().decode().split("\n"):
        fields = line.replace("\t", " ").strip(" \r").split(" ")
        if fields == [""]:
            sentences.append([])
        else:
            sentences[-1].append(fields[column])
    return [sentence for sentence in sentences if sentence]


def same_as_seqeval(read: Annotation, path: Path, column: int) -> None:
    tags = plain_tags(path, column)
    rows = [
        (number, start, end + 1, label)
        for number, sentence in enumerate(tags)
        for label, start, end in get_entities(sentence)
    ]
    assert read.mentions.rows() == rows
    assert read.corpus.lengths.tolist() == [len(sentence) for sentence in tags]


def test_mentions_of_every_tagged_file_equal_those_of_seqeval(data: Path) -> None:
    paths = [
        *data.glob("masakhaner/*/test.txt"),
        *data.glob("masakhaner/*/predictions/*.1.txt"),
        *data.glob("wnut17/**/*.conll"),
        data / "wnut16" / "train.txt",
        data / "conll2002-es" / "test.txt",
    ]
    assert len(paths) > 20
    for path in paths:
        same_as_seqeval(formats.read(path), path, -1)


@pytest.mark.parametrize(("name", "points"), [("flair", 45.96), ("elmo", 45.33)])
def test_the_systems_of_wnut16_have_the_published_f1(data: Path, name: str, points: float) -> None:
    path = data / "wnut16" / f"{name}.txt"
    layers = formats.read_layers(path)
    same_as_seqeval(layers["gold"], path, -2)
    same_as_seqeval(layers["predicted"], path, -1)
    gold, predicted = (set(layers[side].mentions.rows()) for side in ("gold", "predicted"))
    assert round(100 * 2 * len(gold & predicted) / (len(gold) + len(predicted)), 2) == points
