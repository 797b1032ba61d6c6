"""JSON lines read in parts give the same bytes as files read whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.corpus import Annotation
from spanwise.demo import Demo
from spanwise.errors import InputError
from spanwise.formats.parts import Cutting, surveyed
from spanwise.schemes import encode


def record(annotation: Annotation, number: int, kind: str) -> dict[str, Any]:
    """A sentence in one of the supported layouts."""
    words = annotation.corpus.words(number)
    spans = [
        (start, end, label)
        for sentence, start, end, label in annotation.mentions.rows()
        if sentence == number
    ]
    if kind == "text":
        at = [0, *accumulate(len(word) + 1 for word in words)]
        return {
            "text": " ".join(words),
            "spans": [[at[start], at[end] - 1, label] for start, end, label in spans],
        }
    if kind == "tags":
        return {
            "tokens": words,
            "tags": encode(annotation.mentions, annotation.corpus.lengths, "BIOES").lists()[number],
        }
    named = {"doc_id": number // 7, "id": f"s{number}"} if kind == "documents" else {}
    return {"tokens": words, "spans": [list(span) for span in spans], **named}


def written(source: Any, path: Path, kind: str, end: str = "\n") -> Path:
    annotation = spanwise.read(source)
    rows = [json.dumps(record(annotation, number, kind)) for number in range(len(annotation.corpus))]
    text = "".join(row + end + (end if number % 5 == 0 else "") for number, row in enumerate(rows))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("kind", ["tags", "spans", "text", "documents", "crlf"])
def test_json_lines_give_the_same_bytes_in_parts_as_whole(
    demo: Demo,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cut_records: Callable[[int], None],
    kind: str,
    suffix: str,
) -> None:
    end = "\r\n" if kind == "crlf" else "\n"
    files = {
        name: written(path, tmp_path / f"{name}.{suffix}", kind, end)
        for name, path in {"gold": demo.gold, **demo.systems}.items()
    }
    systems = {name: files[name] for name in demo.systems}
    options: dict[str, Any] = {"train": demo.train, "attributes": "all", "resamples": 10}
    whole = spanwise.evaluate(files["gold"], systems, **options).to_json()
    cut_records(80)
    monkeypatch.setattr("spanwise.formats._json_items.CHUNK", 2000)
    survey = surveyed(files["gold"], {}, Cutting(tokens=80))
    assert survey is not None and survey.parts > 4
    assert spanwise.evaluate(files["gold"], systems, memory="1GB", **options).to_json() == whole


@pytest.mark.parametrize(
    "line",
    ['{"tokens": ["a"], "tags": ["PER"]}', '{"tokens": ["a", "b"], "tags": ["O"]}', "no JSON"],
)
def test_a_wrong_json_line_is_reported_in_parts_as_whole(
    tmp_path: Path, cut_records: Callable[[int], None], line: str
) -> None:
    path = tmp_path / "gold.jsonl"
    good = '{"tokens": ["a"], "tags": ["B-PER"]}\n'
    path.write_text(good * 5 + line + "\n" + good + line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as whole:
        spanwise.evaluate(path, {"mine": path})
    cut_records(1)
    with pytest.raises(InputError) as parts:
        spanwise.evaluate(path, {"mine": path}, memory="1GB")
    assert str(parts.value) == str(whole.value)
