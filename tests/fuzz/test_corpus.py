"""Inputs that once broke something, and the first inputs of the fuzzer, give a result or an error of ours."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from fuzz.inputs import input_of
from fuzz.targets import attempt
from fuzz.working import files
from line_counts import lines_run

import spanwise
from spanwise.cli.main import main
from spanwise.errors import InputError, SpanwiseError
from spanwise.formats import from_spans, read
from spanwise.formats.writing import to_bytes

PACKAGE = str(Path(spanwise.__file__).parent)
BIG = "9" * 5000
FILES: dict[str, tuple[str, str]] = {
    "digits in spans": ("a.spans", f"X\t{BIG}\t{BIG}\n"),
    "digits in jsonl": ("a.jsonl", f'{{"spans": [[0, {BIG}, "X"]]}}'),
    "2**63 in jsonl": ("a.jsonl", f'{{"spans": [[0, {2**63}, "X"]]}}'),
    "2**63 in w2ner": ("a.json", f'[{{"sentence": ["a"], "ner": [{{"index": [{2**63}], "type": "X"}}]}}]'),
    "2**63 in pubtator": ("a.pubtator", f"1|t|a\n1\t{2**63}\t{2**63}\ta\tX\n"),
    "digits in xmi": (
        "a.xmi",
        '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI"><Sofa sofaString="a"/>'
        f'<NamedEntity begin="0" end="{BIG}"/></xmi:XMI>',
    ),
    "a power as a digit": ("a.pubtator", "1|t|a\n1\t²\t²\ta\tX\n"),
    "a power in brat": ("a.ann", "T1\tX ² ²\ta\n"),
    "tokens that are a number": ("a.jsonl", '{"tokens": 5}'),
    "Infinity": ("a.jsonl", '{"spans": [[0, Infinity, "X"]]}'),
    "a fraction": ("a.json", '[{"sentence": ["a", "b", "c"], "ner": [{"index": [2.7], "type": "X"}]}]'),
    "deep lists": ("a.jsonl", "[" * 100_000),
    "deep tasks": ("a.json", '[{"data": ' * 50_000),
    "half a character": ("a.jsonl", r'{"tokens": ["\ud800"], "spans": []}'),
    "a declared encoding": ("a.xmi", '<?xml version="1.0" encoding="utf-7"?><xmi:XMI xmlns:xmi="x"/>'),
    "no file of spaCy": ("a.spacy", "no"),
    "a single column, without tokens": ("a.conllu", "# global.columns = NER\nB-X\n"),
    "a record without tokens": (
        "a.jsonl",
        '{"tokens": ["a"], "spans": [[0, 1, "X"]]}\n{"tokens": "a", "spans": []}\n',
    ),
    "tags among spans": (
        "a.jsonl",
        '{"tokens": ["a"], "spans": [[0, 1, "X"]]}\n{"tokens": ["a"], "tags": ["B-X"]}\n',
    ),
    "no Parquet": ("a.parquet", "PAR1PAR1"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_once_broke_a_reader_are_refused(name: str, tmp_path: Path) -> None:
    file, text = FILES[name]
    (tmp_path / file).write_text(text)
    (tmp_path / "a.txt").write_text("abc")
    with pytest.raises(SpanwiseError) as caught:
        read(tmp_path / file)
    assert not isinstance(caught.value.__cause__, Exception), "the last resort spoke, not the reader"


def test_large_positions_cost_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"spans": [[0, 2147483648, "X"]]}')
    data, _ = to_bytes(read(tmp_path / "a.jsonl"), "spans")
    assert data == b"X\t1\t2147483648\n\n"


@pytest.mark.parametrize("command", ["validate", "describe"])
@pytest.mark.parametrize("last", [b"", b"a B-X\n", b"word ner\na B-X\n"])
def test_no_line_of_python_runs_for_each_empty_line(command: str, last: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.conll.gz"
    path.write_bytes(gzip.compress(b"\n" * 2_000_000 + last))
    named = ["--tag-column", "ner"] if b"ner" in last else []
    ended = []
    ran = lines_run(lambda: ended.append(main([command, str(path), *named])), within=PACKAGE)
    assert ended == [0 if last else 3]
    assert max(ran.values()) < 70_000  # lines of the first 64 KB, from which formats are recognised


def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.conll.gz").write_bytes(gzip.compress(b"a O\n" * 10_000_000))
    with pytest.raises(InputError, match="over a hundred times its own size"):
        read(tmp_path / "a.conll.gz", limits={"unpacked": 1 << 20})


def test_many_labels_and_deep_nesting_are_refused(tmp_path: Path) -> None:
    rows = (json.dumps({"tokens": ["a"], "spans": [[0, 1, f"L{number}"]]}) for number in range(1001))
    (tmp_path / "labels.jsonl").write_text("\n".join(rows))
    with pytest.raises(InputError, match="1,001 labels"):
        read(tmp_path / "labels.jsonl")
    spans = [[0, end, "X"] for end in range(1, 3002)]
    (tmp_path / "nested.jsonl").write_text(json.dumps({"tokens": ["a"] * 3001, "spans": spans}))
    with pytest.raises(InputError, match="3,001 mentions cover one position"):
        read(tmp_path / "nested.jsonl")


def test_many_gate_nodes_take_linear_time(tmp_path: Path) -> None:
    nodes = "".join(f'<Node id="{number}"/>a' for number in range(60_000))
    body = f"<TextWithNodes>{nodes}</TextWithNodes><AnnotationSet></AnnotationSet>"
    (tmp_path / "a.xmi").write_text(f"<GateDocument>{body}</GateDocument>")
    assert len(read(tmp_path / "a.xmi").corpus) == 1


def test_escape_sequences_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[31m\n::error::b.conll"
    Path(name).write_text("a\tB-\x1b[2J\nb\n")
    main(["validate", name])
    main(["evaluate", name, "missing\x1b]0;title\x07"])
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert not any(line.startswith("::") for line in (shown.out + shown.err).split("\n"))


@pytest.mark.parametrize("format", ["conllu", "hipe", "webanno", "conll"])
def test_names_and_labels_with_line_breaks_are_kept_or_refused(format: str) -> None:
    odd = [("X\\", "a"), ("X", "\ufeffa"), ("X", "a\x00"), ("X\n", "a"), ("X|Y", "a"), ("X[1]", "a\\")]
    for label, token in odd:
        annotation = from_spans([[(0, 1, label)]], tokens=[[token, "b"]])
        try:
            data, lost = to_bytes(annotation, format)
        except InputError:
            continue
        assert (bool(data), lost) == (True, ())


def test_the_first_inputs_of_the_fuzzer_are_handled(tmp_path: Path) -> None:
    files(tmp_path)
    wrong = [
        (number, text) for number in range(1500) if (text := attempt(input_of(number), tmp_path, number))
    ]
    assert wrong == []
