"""Streamed and parallel evaluation gives the same bytes as in memory, for any part size and workers."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from parts import small_parts

import spanwise
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation import parse_memory

LABELS = ("PER", "LOC", "ORG", "MISC-x")
WORDS = ["Ann", "Rome", "Oslo", "the", "won", "in", "Ford", "x", "</script>", "new", "York"]


def write_corpus(
    path: Path,
    sentences: int,
    seed: int,
    *,
    documents: bool = False,
    end: str = "\n",
    noise: int | None = None,
) -> None:
    """Write a random corpus; `noise` gives the same tokens other tags."""
    tokens, tags = random.Random(seed), random.Random(seed if noise is None else noise)
    lines: list[str] = []
    for number in range(sentences):
        if documents and number % 7 == 0:
            lines += ["-DOCSTART- O", ""]
        length, before = tokens.randrange(1, 12), "O"
        for _ in range(length):
            word = tokens.choice(WORDS)
            kind = tags.choice(["O", "O", "O", "B", "B", "I"])
            label = before[2:] if kind == "I" and before != "O" else tags.choice(LABELS)
            before = "O" if kind == "O" else f"{kind}-{label}"
            lines.append(f"{word} {before}")
        lines += [""] * tokens.randrange(1, 3)
    path.write_bytes(end.join([*lines, ""]).encode())


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.conll" for name in ("gold", "one", "two", "train")}
    write_corpus(paths["gold"], 80, 1)
    write_corpus(paths["one"], 80, 1, noise=2)
    write_corpus(paths["two"], 80, 1, noise=3)
    write_corpus(paths["train"], 40, 5)
    return paths


def documents(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tokens: int, **options: Any) -> Any:
    """The document computed in memory, and streamed in parts of at least so many tokens."""
    small_parts(monkeypatch, tokens=tokens)
    workers = options.pop("workers", 1)
    systems = {"one": files["one"], "two": files["two"]}
    choices: dict[str, Any] = {"train": files["train"], "resamples": 30, **options}
    whole = spanwise.evaluate(files["gold"], systems, **choices)
    parts = spanwise.evaluate(files["gold"], systems, memory="1GB", workers=workers, **choices)
    return whole.to_json(), parts.to_json()


@pytest.mark.parametrize("tokens", [1, 7, 50, 1000])
def test_parts_of_any_size_give_the_same_bytes(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tokens: int
) -> None:
    whole, parts = documents(files, monkeypatch, tokens)
    assert parts == whole


@pytest.mark.parametrize(
    "options",
    [
        {"attributes": "all", "cross": [("entity_length", "label")]},
        {"focus": "both", "weights": ["ortmann-eq7"], "examples": "all", "examples_cap": 25},
        {"lowercase": True, "examples": "none", "vocabulary": ["Rome", "in"]},
        {"train": None, "repair": "discard"},
        {"examples_cap": 3, "redact": True, "buckets": {"sentence_length": "balanced:3"}},
        {"scheme": "IOB2", "align": "position", "unit": "sentence"},
    ],
)
def test_every_choice_gives_the_same_bytes(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    whole, parts = documents(files, monkeypatch, 60, **options)
    assert parts == whole


def test_the_number_of_workers_changes_no_byte(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = documents(files, monkeypatch, 60, workers=2)
    assert parts == whole


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [{}, {"attributes": "all", "lowercase": True}, {"comments": "#"}])
def test_files_that_do_not_fit_in_memory_are_read_again_and_give_the_same_bytes(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, workers: int, options: dict[str, Any]
) -> None:
    monkeypatch.setattr("spanwise.evaluation.blocks.KEPT_SHARE", 1 << 60)
    whole, parts = documents(files, monkeypatch, 50, workers=workers, **options)
    assert parts == whole


@pytest.mark.parametrize("tokens", [1, 13, 100])
@pytest.mark.parametrize("options", [{}, {"attributes": "all", "lowercase": True}])
def test_training_data_in_parts_of_any_size_gives_the_same_bytes(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tokens: int, options: dict[str, Any]
) -> None:
    small_parts(monkeypatch, training=tokens)
    second = files["train"].with_name("second.conll")
    write_corpus(second, 30, 8, documents=True)
    trained = {"train": [files["train"], second], **options}
    whole, parts = documents(files, monkeypatch, 60, **trained)
    assert parts == whole


def test_training_data_that_cannot_be_streamed_gives_the_same_bytes(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = files["train"].with_name("train.jsonl")
    spanwise.write(spanwise.read(files["train"]), lines)
    both: dict[str, Any] = {"train": [lines, files["two"]], "attributes": "all"}
    whole, parts = documents(files, monkeypatch, 60, **both)
    assert parts == whole


def test_token_sequences_are_merged_while_parts_are_still_read(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("spanwise.attributes.toughness"), "_WAITING", 5)
    whole, parts = documents(files, monkeypatch, 10)
    assert parts == whole


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_documents_are_never_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    paths = {name: tmp_path / f"{name}.conll" for name in ("gold", "one", "two", "train")}
    write_corpus(paths["gold"], 80, 1, documents=True, end=end)
    write_corpus(paths["one"], 80, 1, noise=2, documents=True, end=end)
    write_corpus(paths["two"], 80, 1, noise=3, end=end)
    write_corpus(paths["train"], 40, 5)
    whole, parts = documents(paths, monkeypatch, 30)
    assert parts == whole
    assert '"unit":"document"' in whole


def test_packed_files_are_streamed(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gold", "one"):
        packed = files[name].with_suffix(".conll.gz")
        packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + files[name].read_bytes(), mtime=0))
        files[name] = packed
    for workers in (1, 2):
        whole, parts = documents(files, monkeypatch, 45, workers=workers)
        assert parts == whole


def test_merged_files_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, noise in (("gold", None), ("one", 2)):
        write_corpus(tmp_path / name, 60, 1, noise=noise)
    pairs = zip(
        (tmp_path / "gold").read_text().split("\n"), (tmp_path / "one").read_text().split("\n"), strict=True
    )
    merged = tmp_path / "merged.txt"
    merged.write_text("\n".join(f"{a} {b.split()[-1]}" if a else "" for a, b in pairs))
    small_parts(monkeypatch, tokens=40)
    whole = spanwise.evaluate(merged, resamples=20)
    assert spanwise.evaluate(merged, resamples=20, memory="1GB").to_json() == whole.to_json()


def test_a_merged_file_has_no_columns_by_name(tmp_path: Path) -> None:
    path = tmp_path / "both.txt"
    path.write_text("word gold said\nRome B-LOC O\n")
    with pytest.raises(ChoiceError, match="names one column, but a merged file has two"):
        spanwise.evaluate(path, memory="1MB", tag_column="gold")


def test_a_column_that_is_numeric_in_only_one_part_is_categorical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("a 1 B-X\n\nb 2 B-X\n\nc web B-Y\n\n" * 5)
    small_parts(monkeypatch, tokens=1)
    choices: dict[str, Any] = {"columns": {"1": 1}, "attributes": ["domain=column:1"], "resamples": 0}
    whole = spanwise.evaluate(gold, {"it": gold}, **choices)
    assert spanwise.evaluate(gold, {"it": gold}, memory="1GB", **choices).to_json() == whole.to_json()


def test_only_the_gold_file_needs_a_column_of_its_own(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wide = tmp_path / "wide.txt"
    lines = files["gold"].read_text().split("\n")
    tokens = [line.split() for line in lines]
    wide.write_text(
        "\n".join(f"{fields[0]} news {fields[-1]}" if len(fields) > 1 else "" for fields in tokens)
    )
    chosen = {"attributes": ["domain=column:1"], "columns": {"1": 1}}
    whole, parts = documents({**files, "gold": wide}, monkeypatch, 60, **chosen)
    assert parts == whole
    assert '"news"' in whole


def test_the_first_difference_is_named_by_its_line(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = files["one"].read_text().split("\n")
    last = max(number for number, line in enumerate(lines) if line)
    lines[last] = "changed O"
    files["one"].write_text("\n".join(lines))
    small_parts(monkeypatch, tokens=40)
    with pytest.raises(InputError, match=rf"one\.conll:{last + 1}"):
        spanwise.evaluate(files["gold"], {"one": files["one"]}, memory="1GB")


@pytest.mark.parametrize("options", [{}, {"comments": "#"}])
@pytest.mark.parametrize("line", [1, 2, 200, 201, 202])
def test_a_wrong_tag_is_named_by_its_line_as_in_memory(
    files: dict[str, Path], cut_chunks: Callable[[int, int], None], line: int, options: dict[str, Any]
) -> None:
    cut_chunks(64, 64)
    lines = files["gold"].read_text().split("\n")
    lines[line:line] = ["word PER"]
    lines[-3:-3] = ["word LOC", "word X"]
    files["gold"].write_text("\n".join(lines))
    messages = []
    for memory in (None, "1GB"):
        with pytest.raises(InputError) as caught:
            spanwise.evaluate(files["gold"], {"one": files["one"]}, memory=memory, **options)
        messages.append(str(caught.value))
    assert messages[0].startswith(f"{files['gold']}:{line + 1}: 'PER' is not a tag")
    assert messages[0].endswith("2 more tokens with such tags.")
    assert messages[1] == messages[0]


def test_a_different_number_of_sentences_is_refused(files: dict[str, Path]) -> None:
    files["one"].write_text(files["one"].read_text() + "more O\n")
    with pytest.raises(InputError, match="there are 81 sentences, but 80 in the gold file"):
        spanwise.evaluate(files["gold"], {"one": files["one"]}, memory="1GB")


def test_mentions_are_not_kept(files: dict[str, Path]) -> None:
    result = spanwise.evaluate(files["gold"], {"one": files["one"]}, memory="1GB", resamples=0)
    with pytest.raises(ChoiceError, match="but every mention is needed"):
        _ = result["one"].matching


@pytest.mark.parametrize(("text", "size"), [("1GB", 1 << 30), ("512 mb", 512 << 20), (1 << 20, 1 << 20)])
def test_memory_sizes_are_parsed(text: str | int, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "much"}, "memory is 'much', but must be a size such as '512MB'"),
        ({"memory": "1KB"}, "must be at least 1MB"),
        ({"workers": 0}, "workers is 0"),
    ],
)
def test_wrong_choices_are_refused(files: dict[str, Path], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ChoiceError) as caught:
        spanwise.evaluate(files["gold"], {"one": files["one"]}, **options)
    assert message in str(caught.value)


def test_sequences_confusable_across_two_parts_are_seen_or_unseen_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold, train = tmp_path / "gold.conll", tmp_path / "train.conll"
    gold.write_text("Zed B-PER\n\nRome B-LOC\n\nZed B-LOC\n\nRome B-ORG\n\n")
    train.write_text("Rome B-LOC\n\n")
    small_parts(monkeypatch, tokens=1)
    streamed = spanwise.evaluate(gold, {"it": gold}, train=train, resamples=0, memory="1GB")
    tough = streamed["it"].tough
    assert [tough[name].overall.mentions for name in ("TCM-ALL", "TCM-SEEN", "TCM-UNSEEN")] == [4, 2, 2]
    assert streamed.to_json() == spanwise.evaluate(gold, {"it": gold}, train=train, resamples=0).to_json()


def test_several_merged_files_cannot_be_streamed(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("a B-X B-X\n")
    with pytest.raises(ChoiceError, match="only one file with gold and predicted tags"):
        spanwise.evaluate([tmp_path / "one.txt", tmp_path / "two.txt"], memory="1GB")


def test_lists_and_standard_input_are_read_whole_and_then_cut_into_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_parts(monkeypatch, tokens=1)
    gold, predicted = [["B-X", "O"], ["O", "B-Y"], ["B-Y"]], [["B-X", "O"], ["O", "O"], ["B-X"]]
    options: dict[str, Any] = {"resamples": 20}
    whole = spanwise.evaluate(gold, {"a": predicted}, **options).to_json()
    assert spanwise.evaluate(gold, {"a": predicted}, memory="1GB", **options).to_json() == whole
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a B-X\n\nb O\n")))
    assert spanwise.evaluate("-", {"a": "-"}, memory="1GB", format="conll")["a"].exact.overall.f1 == 1


@pytest.mark.parametrize("suffix", ["jsonl", "spans"])
def test_other_formats_give_the_same_bytes(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    other = {}
    for name in ("gold", "one", "two"):
        other[name] = files[name].with_suffix(f".{suffix}")
        spanwise.write(spanwise.read(files[name]), other[name], lossy=suffix == "spans")
    whole, parts = documents({**files, **other}, monkeypatch, 60)
    assert parts == whole


def test_real_files_give_the_same_bytes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch, tokens=5000)
    folder = data / "wnut17"
    options: dict[str, Any] = {"align": "position", "train": folder / "train.conll", "resamples": 50}
    systems = {name: folder / "predictions" / f"{name}.conll" for name in ("mic-cis", "arcada")}
    whole = spanwise.evaluate(folder / "test.conll", systems, **options)
    streamed = spanwise.evaluate(folder / "test.conll", systems, memory="1GB", workers=2, **options)
    assert streamed.to_json() == whole.to_json()
