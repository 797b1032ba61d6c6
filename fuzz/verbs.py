"""Use the input files of single commands, and send requests to the workbench."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spanwise
from fuzz import seeds
from spanwise.errors import ChoiceError, SpanwiseError
from spanwise.formats._sentences import id_field


def answers(path: Path, draw: random.Random) -> None:
    """Place answers on the gold text."""
    policy = draw.choice(["ordered", "first", "all", "next", "uie", "spacy-llm", "langextract"])
    response = "response" if b'"response"' in path.read_bytes() and draw.random() < 0.5 else None
    spanwise.place(seeds.gold(), str(path), policy=policy, response=response).to_json()


def paired(path: Path, draw: random.Random) -> None:
    """Evaluate predictions in any order; a score must be the one that their ids and documents imply."""
    options: dict[str, Any] = draw.choice([{}, {}, {"memory": "64MB"}])
    result = spanwise.evaluate(seeds.PAIRED, {"a": str(path)}, resamples=0, attributes="none", **options)
    lines = [line for line in path.read_bytes().decode("utf-8").split("\n") if line.strip()]
    rows = [json.loads(line) for line in lines]
    implied = _implied_score(rows)
    if implied is not None and result["a"].exact.overall.f1 != implied:
        raise AssertionError(f"F1 {result['a'].exact.overall.f1}, but the ids imply {implied}")


def _implied_score(rows: list[Any]) -> float | None:
    """F1 of records whose ids are those of gold, in any order; None if that is not what the file holds."""
    gold = {row["id"]: row for row in seeds.PAIRED}
    if not all(isinstance(row, dict) and isinstance(row.get("spans"), list) for row in rows):
        return None
    ids = [str(row.get(id_field(row) or "id")) for row in rows]
    if sorted(ids) != sorted(gold):
        return None
    right = sum(
        span in gold[name]["spans"] for name, row in zip(ids, rows, strict=True) for span in row["spans"]
    )
    predicted = sum(len(row["spans"]) for row in rows)
    return 2 * right / (predicted + sum(len(row["spans"]) for row in seeds.PAIRED))


def scores(path: Path, draw: random.Random) -> None:
    """Evaluate confidence scores, or keep the mentions above a threshold."""
    if draw.random() < 0.7:
        from spanwise.calibration import read_scored
        from spanwise.settings import OPTIONS

        missing = draw.choice(OPTIONS["apply"]["missing"].choices)
        spanwise.apply_threshold(read_scored(str(path)), 0.5, missing=missing)
    else:
        spanwise.confidence(seeds.gold(), {"a": str(path)}, resamples=draw.choice([0, 5])).to_json()


def condition(path: Path, draw: random.Random) -> None:
    """Parse a condition, check that its text parses back to it, and apply it to mentions."""
    from spanwise.conditions import parse
    from spanwise.evaluation.columns import mention_columns
    from spanwise.slices.index import SliceIndex

    parsed = parse(path.read_bytes().decode("utf-8", "surrogateescape"))
    if parse(str(parsed)) != parsed:
        raise AssertionError(f"{parsed} is read back as {parse(str(parsed))}")
    SliceIndex.of(mention_columns(seeds.evaluated())).counted(parsed)


def worksheet(path: Path, draw: random.Random) -> None:
    """Apply the decisions of a worksheet, also to a file that has changed since it was made."""
    from spanwise.suspicion import apply_decisions

    gold = path.with_name("gold-of-sheet.conll")
    spanwise.write(seeds.gold(), gold)
    if draw.random() < 0.3:
        _change(gold, draw)
        _apply_to_changed(gold, draw)
    elif draw.random() < 0.6:
        apply_decisions(path, gold, path.with_name("applied.conll"))
    else:
        majority = path.with_name("majority.conll")
        spanwise.agree({"a": seeds.gold(), "b": seeds.gold()}, decisions=path, majority=majority)


def _change(gold: Path, draw: random.Random) -> None:
    """Insert, repeat, remove or swap sentences of a CoNLL file, or change one of its words."""
    blocks = gold.read_text(encoding="utf-8").strip("\n").split("\n\n")
    at = draw.randrange(len(blocks))
    kind = draw.choice(["insert", "repeat", "remove", "swap", "word"])
    if kind == "insert":
        blocks.insert(at, "New O\nwords O")
    elif kind == "repeat":
        blocks.insert(at, blocks[draw.randrange(len(blocks))])
    elif kind == "remove" and len(blocks) > 1:
        del blocks[at]
    elif kind == "swap":
        blocks[0], blocks[at] = blocks[at], blocks[0]
    else:
        blocks[at] = "x" + blocks[at]
    gold.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _apply_to_changed(gold: Path, draw: random.Random) -> None:
    """Apply an intact worksheet to a changed file; if it fits, every proposal has the words of its row."""
    import csv

    from spanwise.suspicion import apply_decisions

    sheet, output = gold.with_name("intact.csv"), gold.with_name("applied.conll")
    sheet.write_bytes(seeds.worksheets()[0])
    apply_decisions(sheet, gold, output)
    new = spanwise.read(output)
    for row in csv.DictReader(sheet.read_text(encoding="utf-8").splitlines()):
        words = new.corpus.words(int(row["sentence"]) - 1)
        if row["start"] and " ".join(words[int(row["start"]) : int(row["end"])]) != row["text"]:
            raise AssertionError(f"{row['text']!r} was placed on other words")


def gate(path: Path, draw: random.Random) -> None:
    """Check a result against the thresholds in a file."""
    from spanwise.gates import gate as hold

    hold(seeds.evaluated(), file=path)


def aliases(path: Path, draw: random.Random) -> None:
    """Place answers with the aliases in a file."""
    answers_path = path.with_name("answers.jsonl")
    answers_path.write_text(seeds.ANSWERS[0], encoding="utf-8")
    _command("place", path.with_name("gold.conll"), answers_path, "--aliases", path, "--quiet")


def edges(path: Path, draw: random.Random) -> None:
    """Evaluate with the buckets in a file."""
    gold = path.with_name("gold.conll")
    _command("evaluate", gold, f"a={gold}", "--edges", path, "--quiet", "--resamples", "0")


def columns(path: Path, draw: random.Random) -> None:
    """Load mention columns, and count a slice and read sentences, as the workbench does."""
    from spanwise.conditions import parse
    from spanwise.evaluation.columns import MentionColumns
    from spanwise.slices.index import SliceIndex

    MentionColumns.read_head(path)
    loaded = MentionColumns.load(path)
    SliceIndex.of(loaded).counted(parse("label=PER"))
    for sentence in range(min(loaded.head.sentences, 5)):
        loaded.words(sentence), loaded.location(sentence)


def tagger(path: Path, draw: random.Random) -> None:
    """Load a tagger whose description or weights are damaged, and tag with it."""
    about, weights = seeds.taggers()
    damaged = path.read_bytes()
    folder = path.with_name("tagger")
    folder.mkdir(exist_ok=True)
    is_about = damaged[:1] == b"{"
    (folder / "tagger.json").write_bytes(damaged if is_about else about)
    (folder / "model.crfsuite").write_bytes(weights if is_about else damaged)
    from spanwise_taggers import predict

    predict(folder, path.with_name("gold.conll"))


def request(path: Path, draw: random.Random) -> None:
    """Send a request to the workbench; a status of 500 or more is a bug."""
    from benches import client_of

    try:
        fields = json.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
        method, address = str(fields["method"]), str(fields["path"])
        query, headers = fields.get("query", {}), fields.get("headers", {})
        body = json.dumps(fields.get("body"))
        if not (method + address).isprintable():
            raise ValueError
        (method + address + json.dumps(query) + str(headers)).encode("ascii")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ChoiceError("this is not a request.") from None
    with client_of(_bench(path)) as client:
        slug = client.get("/api/v1/golds").json()[0]["slug"]
        import httpx

        try:
            answer = client.request(
                method,
                address.replace("{gold}", slug),
                params=query if isinstance(query, dict) else None,
                headers={"content-type": "application/json", **headers}
                if isinstance(headers, dict)
                else None,
                content=body,
            )
        except (httpx.HTTPError, httpx.InvalidURL, TypeError, ValueError) as error:
            raise ChoiceError(f"the client does not send this: {error}") from None
        if answer.status_code >= 500:
            raise AssertionError(f"status {answer.status_code}: {answer.text[:200]}")


def warm_up(folder: Path) -> None:
    """Use every kind of file once, undamaged."""
    from fuzz.targets import run_command
    from fuzz.working import lay_out

    lay_out(folder)
    run_command(["report", str(folder / "result.json"), "-o", str(folder / "page.html")])
    for name, target in TARGETS.items():
        for data in seeds.VERBS[name].files() if name in seeds.VERBS else ():
            path = folder / seeds.VERBS[name].name
            path.write_bytes(data)
            with contextlib.suppress(SpanwiseError):
                target(path, random.Random(0))


def _bench(path: Path) -> Path:
    """A folder of results for the workbench, made once per process."""
    folder = path.with_name("bench")
    if not folder.exists():
        from spanwise.evaluation.columns import mention_columns

        folder.mkdir()
        shutil.copy(path.with_name("gold.conll"), folder / "gold.conll")
        seeds.evaluated().to_json(folder / "a.json")
        mention_columns(seeds.evaluated()).save(folder / "a.npz")
    return folder


def _command(*arguments: object) -> None:
    from fuzz.targets import run_command

    run_command([str(argument) for argument in arguments])


TARGETS: dict[str, Callable[[Path, random.Random], None]] = {
    function.__name__: function
    for function in (
        paired, answers, scores, condition, worksheet, gate, aliases, edges, columns, tagger, request,
    )
}  # fmt: skip
