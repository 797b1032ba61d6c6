"""No token of redacted data appears in anything that any command writes, including packed parts."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import pytest
from unpacking import everything

import spanwise
from spanwise.cli.main import main

DRAW = random.Random(0)
TOKENS = [f"zq{number:03d}x" for number in range(60)]
COLUMN = [f"vk{number:03d}y" for number in range(60)]
SECRETS = (*TOKENS, *COLUMN, "secretid", "secretdoc", "secretfield")


def conll(tags: list[str]) -> str:
    """A CoNLL file of six sentences of ten tokens, with a column of secrets."""
    lines = [f"{word} {more} {tag}" for word, more, tag in zip(TOKENS, COLUMN, tags, strict=True)]
    return "\n\n".join("\n".join(lines[begin : begin + 10]) for begin in range(0, 60, 10)) + "\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("redaction")
    gold = [DRAW.choice(["O", "O", "B-PER", "B-LOC"]) for _ in TOKENS]
    for name in ("gold", "train", "a", "b", "c"):
        wrong = 0.0 if name == "gold" else 0.3
        tags = [DRAW.choice(["O", "B-PER", "B-LOC"]) if DRAW.random() < wrong else tag for tag in gold]
        (folder / f"{name}.conll").write_text(conll(tags))
    for name, spans in (("gold", [[0, 2, "PER"]]), ("a", [[0, 1, "PER"]])):
        rows = [
            {"id": f"secretid{begin}", "document": f"secretdoc{begin}", "field": f"secretfield{begin}",
             "tokens": TOKENS[begin : begin + 10], "spans": spans} for begin in range(0, 60, 10)
        ]  # fmt: skip
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def leaked(folder: Path, shown: str = "") -> dict[str, list[str]]:
    """The secrets found in each file of a folder, and on the screen."""
    texts = {"screen": shown}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                inner = b"".join(archive.read(name) for name in archive.namelist())
            texts[path.name] = inner.decode("latin-1")
        elif path.is_file():
            texts[path.name] = path.read_bytes().decode("utf-8", "replace")
    secrets_of = {}
    for name, text in texts.items():
        whole = everything(text)
        if names := [secret for secret in SECRETS if secret in whole]:
            secrets_of[name] = names
    return secrets_of


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_no_output_of_a_redacted_evaluation_contains_a_token(
    command: str, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "o.json"
    call = [command, str(files / "gold.conll"), f"a={files / 'a.conll'}", f"b={files / 'b.conll'}"]
    call += [
        "--train",
        str(files / "train.conll"),
        "--tag-column",
        "2",
        "--token-column",
        "0",
        "--resamples",
        "10",
    ]
    call += [
        "--examples",
        "all",
        "--attribute",
        "w=column:0",
        "--attribute",
        "v=column:1",
        "--cross",
        "w,label",
    ]
    call += ["--json", str(out), "--html", str(tmp_path / "o.html"), "--save-edges", str(tmp_path / "e.json")]
    if command == "evaluate":
        call += [
            "--columns",
            str(tmp_path / "o.npz"),
            "--junit",
            str(tmp_path / "o.xml"),
            "--fail-under",
            "1.5",
        ]
    assert main([*call, "--redact"]) in (0, 1)
    for form in ("flat", "rows", "summary", "terminal"):
        assert main(["export", str(out), form]) == 0
    exported = spanwise.load(out).tables()
    tables = "".join(table.to_csv() + table.to_latex() for table in exported.values())
    if command == "compare":
        assert main(["figures", str(out), "-o", str(tmp_path / "figures")]) == 0
    main(["errors", str(out)])
    shown = capsys.readouterr()
    assert len(exported) > 5
    assert leaked(tmp_path, shown.out + shown.err + tables) == {}


def test_names_and_fields_stay_out_of_every_output(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", str(files / "gold.jsonl"), f"a={files / 'a.jsonl'}", "--attribute", "field:field"]
    call += [
        "--resamples",
        "10",
        "--examples",
        "all",
        "--unit",
        "document",
        "--json",
        str(tmp_path / "o.json"),
    ]
    assert main([*call, "--columns", str(tmp_path / "o.npz"), "--redact"]) == 0
    shown = capsys.readouterr()
    assert leaked(tmp_path, shown.out + shown.err) == {}


def test_descriptions_agreement_and_suspects_contain_no_token(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, a, b, c = (str(files / f"{name}.conll") for name in ("gold", "a", "b", "c"))
    reading = ["--tag-column", "2", "--token-column", "0", "--redact"]
    calls = [
        ["describe", gold, "--train", str(files / "train.conll"), "--json", str(tmp_path / "d.json"),
         "--html", str(tmp_path / "d.html")],
        ["agree", a, b, c, "--json", str(tmp_path / "a.json"), "--html", str(tmp_path / "a.html"),
         "--worksheet", str(tmp_path / "a.csv")],
        ["suspects", gold, f"a={a}", f"b={b}", f"c={c}", "--train", str(files / "train.conll"),
         "--json", str(tmp_path / "s.json"), "--html", str(tmp_path / "s.html"),
         "-o", str(tmp_path / "s.csv")],
    ]  # fmt: skip
    for call in calls:
        assert main([*call, *reading]) == 0, call
    texts = [str(files / f"{name}.jsonl") for name in ("gold", "a")]
    calls = [["agree", *texts, "--worksheet", str(tmp_path / "j.csv")]]
    calls += [["suspects", texts[0], f"a={texts[1]}", f"b={texts[1]}"]]
    for call in calls:
        name = tmp_path / f"j-{call[0]}"
        assert main([*call, "--json", f"{name}.json", "--html", f"{name}.html", "--redact"]) == 0
    shown = capsys.readouterr()
    assert leaked(tmp_path, shown.out + shown.err) == {}


def test_a_workbench_of_redacted_results_serves_no_token(files: Path, tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("httpx")
    from benches import client_of

    call = ["evaluate", str(files / "gold.conll"), f"a={files / 'a.conll'}", f"b={files / 'b.conll'}"]
    call += ["--tag-column", "2", "--token-column", "0", "--resamples", "10", "--examples", "all", "--quiet"]
    runs = tmp_path / "runs"
    runs.mkdir()
    assert main([*call, "--json", str(runs / "o.json"), "--columns", str(runs / "o.npz"), "--redact"]) == 0
    with client_of(runs) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        endpoints = [
            "",
            "/results",
            "/slice?label=PER",
            "/mentions?label=PER",
            "/comparison?a=1&b=2",
            "/slices",
        ]
        pages = [f"/api/v1/golds/{slug}{endpoint}" for endpoint in endpoints]
        pages += ["/", f"/golds/{slug}", f"/golds/{slug}/slice?label=PER", "/api/v1/results/1", "/r/1"]
        text = "".join(client.get(page).text for page in pages)
    assert leaked(runs, text) == {}


def test_leaks_contain_no_token(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["leaks", str(files / "gold.conll"), f"a={files / 'a.conll'}", "--tag-column", "2", "--redact"]
    call += ["--token-column", "0", "--identity", "1", "--resamples", "10"]
    assert main([*call, "--json", str(tmp_path / "l.json"), "--html", str(tmp_path / "l.html")]) == 0
    for form in ("flat", "rows", "terminal"):
        assert main(["export", str(tmp_path / "l.json"), form]) == 0
    shown = capsys.readouterr()
    assert leaked(tmp_path, shown.out + shown.err) == {}
