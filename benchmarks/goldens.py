"""Every output of the commands, made again and compared with the frozen ones or with another revision.

    python -m benchmarks.goldens freeze                   write tests/golden/frozen from the demo corpus
    python -m benchmarks.goldens check [--data DATA]      compare this checkout with what is frozen
    python -m benchmarks.goldens against REVISION         build both versions and show the differences
    python -m benchmarks.goldens freeze --data DATA       the same with the hashes of the real corpora

Outputs of the demo corpus are kept as files, those over 20 kB as SHA-256 sums; outputs of real corpora only as
sums, so that no sentence of them enters the project. What names a version, a folder or a command is masked.
`against` says for every output that differs how, and exits with status 1 if any does.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FROZEN = ROOT / "tests" / "golden" / "frozen"
SUMS = FROZEN / "sums.json"
LARGE = 20_000  # bytes; larger outputs are kept as sums
SYSTEMS = "shortsighted.conll memoriser.conll swapper.conll"
MASKS = [
    (re.compile(rb'"spanwise": ?"[^"]*"'), b'"spanwise":"VERSION"'),
    (re.compile(rb'"command": ?"(?:[^"\\]|\\.)*"'), b'"command":"COMMAND"'),
    (re.compile(rb"\|v:[^|\"<&\s]*"), b"|v:VERSION"),
    (re.compile(rb"spanwise([ :])\d+\.\d+(\.\d+)?(\.?dev\d*)?"), rb"spanwise\1VERSION"),
]

# One command per line; `>` names a file for standard output, which otherwise is kept under the command's name.
DEMO = """
evaluate gold.conll swapper.conll > plain.txt
evaluate gold.conll swapper.conll --train train.conll --json one.json --html one.html --columns one.npz > one.txt
evaluate gold.conll swapper.conll --train train.conll --width 120 > one-wide.txt
evaluate gold.conll SYSTEMS --train train.conll --json three.json --html three.html > three.txt
evaluate gold.conll swapper.conll --train train.conll --memory 64MB --json parts.json --quiet
evaluate gold.conll swapper.conll --train train.conll --attributes fu19 --json fu19.json --quiet
evaluate gold.conll swapper.conll --train train.conll --redact --json redacted.json --html redacted.html --quiet
evaluate gold.conll mine=memoriser.conll --against one-mine.json --fail-drop 1 --not-worse-than 2 --floor PER=50 > gate.txt
evaluate gold.conll a=run.{run}.conll --json runs.json --html runs.html > runs.txt
evaluate nested/gold.jsonl nested/shortsighted.jsonl --train nested/train.jsonl --json nested.json > nested.txt
compare gold.conll SYSTEMS --train train.conll --json compare.json --html compare.html > compare.txt
compare gold.conll first=shortsighted.conll second=memoriser.conll --json pair.json --html pair.html > pair.txt
study study.toml --no-cache --workers 1 --json study.json --html study.html > study.txt
describe gold.conll --train train.conll --json describe.json --html describe.html > describe.txt
split gold.conll --unseen 60 --dev 10 -o parts --json split.json > split.txt
errors gold.conll swapper.conll --train train.conll > errors.txt
errors one.json --outcome LE > errors-saved.txt
slices gold.conll swapper.conll --train train.conll --json slices.json --html slices.html > slices.txt
slices gold.conll a=swapper.conll b=memoriser.conll --train train.conll --json slices-pair.json > slices-pair.txt
agree ada=memoriser.conll bo=swapper.conll cy=shortsighted.conll --majority majority.conll --worksheet todo.csv --json agree.json --html agree.html > agree.txt
suspects gold.conll SYSTEMS --train train.conll --top 50 -o worksheet.csv --json suspects.json --html suspects.html > suspects.txt
explain gold.conll shortsighted.conll --json explain.json > explain.txt
confidence gold.conll scored.jsonl --json confidence.json --html confidence.html > confidence.txt
place gold.conll answers.jsonl --json place.json --html place.html > place.txt
validate gold.conll > validate.txt
validate broken.conll > validate-broken.txt
figures three.json -o figures
figures study.json -o figures-study
table three.json all > tables.md
table three.json all --latex > tables.tex
table three.json all --csv > tables.csv
table study.json all > tables-study.md
table study.json all --latex > tables-study.tex
table study.json all --csv > tables-study.csv
table agree.json all > tables-agree.md
table slices.json all > tables-slices.md
table describe.json all > tables-describe.md
export three.json flat > flat.json
export three.json rows > rows.csv
export three.json summary > summary.md
export three.json junit --fail-under 80 > junit.xml
export three.json model-index --name demo > model-index.yaml
export study.json summary > summary-study.md
export study.json flat > flat-study.json
convert gold.conll gold.jsonl
convert gold.conll brat --to brat
convert gold.conll bioes.conll --to-scheme BIOES
list formats > formats.txt
list attributes > attributes.txt
list reports > reports.txt
cite > cite.txt
"""
CORPORA = {
    "wnut17": """
evaluate DATA/wnut17/test.conll a=DATA/wnut17/predictions/FIRST b=DATA/wnut17/predictions/SECOND --train DATA/wnut17/train.conll --align diff --json wnut17.json --html wnut17.html > wnut17.txt
""",
    "conll2002-es": """
describe DATA/conll2002-es/test.txt --train DATA/conll2002-es/train.txt --json es.json --html es.html > es.txt
""",
    "masakhaner": """
study masakhaner.toml --no-cache --workers 1 --json masakhaner.json --html masakhaner.html > masakhaner.txt
table masakhaner.json all --latex > masakhaner.tex
slices DATA/masakhaner/ewe/test.txt DATA/masakhaner/ewe/predictions/mbert.1.txt --train DATA/masakhaner/ewe/train.txt --json ewe.json > ewe.txt
""",
}

MANIFEST = """predictions = "{dataset}-{system}.{run}.conll"
resamples = 200
[datasets.demo]
train = "train.conll"
test = "gold.conll"
[datasets.half]
train = "train.conll"
test = "half.conll"
[systems.swap]
[systems.memo]
[systems.short]
"""
MASAKHANER = """predictions = "DATA/masakhaner/{dataset}/predictions/{system}.{run}.txt"
resamples = 200
[datasets.ewe]
train = "DATA/masakhaner/ewe/train.txt"
test = "DATA/masakhaner/ewe/test.txt"
[datasets.kin]
train = "DATA/masakhaner/kin/train.txt"
test = "DATA/masakhaner/kin/test.txt"
[systems.mbert]
[systems.rembert]
[systems.mdeberta]
[[compare]]
systems = ["mdeberta", "mbert"]
"""


def prepare(folder: Path, data: Path | None) -> None:
    """Write the demo corpus and what is made from it into an empty folder."""
    command("demo . --only-files")
    command("demo nested --nested --only-files")
    sentences = {
        path.stem: path.read_text("utf-8").strip("\n").split("\n\n") for path in folder.glob("*.conll")
    }

    def write(name: str, chosen: Sequence[str]) -> None:
        (folder / name).write_text("\n\n".join(chosen) + "\n", encoding="utf-8")

    short, memo, swap = (sentences[name] for name in ("shortsighted", "memoriser", "swapper"))
    for run in (1, 2, 3):  # mixtures of two systems stand for runs of one
        for name, first, second in (("swap", swap, memo), ("memo", memo, short), ("short", short, swap)):
            mixed = [b if at % 7 == run else a for at, (a, b) in enumerate(zip(first, second, strict=True))]
            write(f"demo-{name}.{run}.conll", mixed)
            write(f"half-{name}.{run}.conll", mixed[::2])
        shutil.copy(folder / f"demo-swap.{run}.conll", folder / f"run.{run}.conll")
    write("half.conll", sentences["gold"][::2])
    write("broken.conll", [*sentences["gold"][:3], "London I-LOC\nis E-LOC extra"])
    (folder / "study.toml").write_text(MANIFEST, encoding="utf-8")
    command("convert swapper.conll swapper.jsonl")
    rows = [json.loads(line) for line in (folder / "swapper.jsonl").read_text("utf-8").splitlines()]
    for at, row in enumerate(rows):
        for span in row["spans"]:
            span["score"] = round(0.5 + (7 * at + 3 * span["start"]) % 49 / 100, 2)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "scored.jsonl").write_text(lines, encoding="utf-8")
    answers = [
        {"id": at, "response": json.dumps([
            {"text": " ".join(row["tokens"][span["start"] : span["end"]]), "label": span["label"]}
            for span in row["spans"]
        ])}
        for at, row in enumerate(rows)
    ]  # fmt: skip
    lines = "".join(json.dumps(row) + "\n" for row in answers)
    (folder / "answers.jsonl").write_text(lines, encoding="utf-8")
    command("evaluate gold.conll mine=swapper.conll --quiet --json one-mine.json")
    if data:
        text = MASAKHANER.replace("DATA", data.as_posix())
        (folder / "masakhaner.toml").write_text(text, encoding="utf-8")


def command(line: str) -> tuple[int, bytes, bytes]:
    """Run a command in the current folder; its exit status, standard output and standard error."""
    from spanwise.cli.main import main

    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, "utf-8") for stream in written)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(shlex.split(line))
        except SystemExit as ended:
            status = int(ended.code or 0)
    out.flush()
    err.flush()
    return status or 0, written[0].getvalue(), written[1].getvalue()


def outputs(lines: str, folder: Path, data: Path | None) -> Iterator[tuple[str, bytes]]:
    """Everything that commands print and write, by name, in their order."""
    for line in filter(None, lines.splitlines()):
        call, _, printed = line.partition(" > ")
        call = call.replace("SYSTEMS", SYSTEMS)
        if data:
            first, second = sorted((data / "wnut17" / "predictions").glob("*"))[:2]
            call = call.replace("FIRST", first.name).replace("SECOND", second.name)
            call = call.replace("DATA", data.as_posix())
        before = {path: path.stat().st_mtime_ns for path in files(folder)}
        status, out, err = command(call)
        name = printed or "-".join(call.split()[:2])
        yield f"{name}.status", f"{status}\n".encode() + masked(err, folder, data)
        if printed:
            (folder / printed).write_bytes(out)
            yield printed, masked(out, folder, data)
        for path in files(folder):
            relative = path.relative_to(folder).as_posix()
            if relative != printed and path.stat().st_mtime_ns != before.get(path):
                yield relative, masked(path.read_bytes(), folder, data)


def helps() -> Iterator[tuple[str, bytes]]:
    """The help of every command, with the most used options and with all."""
    from spanwise.cli.main import COMMANDS

    yield "help/spanwise.txt", command("--help")[1]
    for name in COMMANDS:
        yield f"help/{name}.txt", command(f"{name} --help")[1]
        yield f"help-all/{name}.txt", command(f"{name} --help-all")[1]


def files(folder: Path) -> list[Path]:
    """All files below a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def masked(text: bytes, folder: Path, data: Path | None) -> bytes:
    """The bytes without versions, commands, and names of folders."""
    for path, name in ((folder, b"FOLDER"), (data, b"DATA")):
        if path:
            text = text.replace(str(path).encode(), name)
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    return text


def build(target: Path, data: Path | None) -> None:
    """Make every output in a temporary folder and write what it is, masked, below `target`."""
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    with tempfile.TemporaryDirectory() as name:
        folder, came_from = Path(name).resolve(), Path.cwd()
        os.chdir(folder)
        try:
            prepare(folder, data)
            groups = {"demo": DEMO, **(CORPORA if data else {})}
            for group, lines in groups.items():
                made = dict(outputs(lines, folder, data if group != "demo" else None))
                if group == "demo":
                    made |= dict(helps())
                for name, content in made.items():
                    path = target / group / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
        finally:
            os.chdir(came_from)


def built(source: Path, target: Path, data: Path | None) -> Path:
    """The outputs of the package in a source folder, made in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    call = [sys.executable, "-m", "benchmarks.goldens", "build", str(target)]
    if data:
        call += ["--data", str(data)]
    subprocess.run(call, check=True, cwd=ROOT, env=environment)
    return target


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 sum of every output, by its name."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files(folder)
    }


def freeze(made: Path) -> None:
    """Keep the outputs in the project: small ones of the demo as files, all as sums."""
    kept = json.loads(SUMS.read_text("utf-8")) if SUMS.exists() else {}
    kept = {name: value for name, value in kept.items() if not (made / name.partition("/")[0]).is_dir()}
    shutil.rmtree(FROZEN / "demo", ignore_errors=True)
    for path in files(made / "demo"):
        if path.stat().st_size <= LARGE and path.suffix != ".npz":
            target = FROZEN / path.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    FROZEN.mkdir(exist_ok=True)
    text = json.dumps(dict(sorted({**kept, **sums(made)}.items())), indent=0)
    SUMS.write_text(text + "\n", encoding="utf-8")


def changed(made: Path, expected: Mapping[str, str]) -> list[str]:
    """The names of outputs that differ from the expected sums, that are missing, or that are new."""
    found = sums(made)
    groups = {path.name for path in made.iterdir()}
    wanted = {name: value for name, value in expected.items() if name.partition("/")[0] in groups}
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))


def difference(before: Path, after: Path, most: int) -> list[str]:
    """The first lines in which two outputs differ."""
    if not before.exists() or not after.exists():
        return ["only now" if after.exists() else "gone" if before.exists() else "kept as a sum alone"]
    try:
        old, new = (path.read_bytes().decode("utf-8").splitlines() for path in (before, after))
    except UnicodeDecodeError:
        return ["different bytes"]
    lines = difflib.unified_diff(old, new, lineterm="", n=0)
    return [line[:160] for line in lines if not line.startswith(("---", "+++", "@@"))][:most]


def main() -> int:
    """Freeze, check, or compare with another revision."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["freeze", "check", "against", "build"])
    parser.add_argument("where", nargs="?", help="against: a revision; build: a folder")
    parser.add_argument("--data", type=Path, help="a folder with real corpora")
    parser.add_argument("--most", type=int, default=6, help="how many lines of a difference to show")
    args = parser.parse_args()
    data = args.data.resolve() if args.data else None
    if args.what == "build":
        build(Path(args.where).resolve(), data)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        now = built(ROOT / "src", folder / "now", data)
        if args.what == "freeze":
            freeze(now)
            return 0
        if args.what == "check":
            expected, before = json.loads(SUMS.read_text("utf-8")), FROZEN
        else:
            archive = subprocess.run(
                ["git", "archive", args.where, "src"], cwd=ROOT, check=True, stdout=subprocess.PIPE
            )
            (folder / "old").mkdir()
            subprocess.run(["tar", "-x", "-C", str(folder / "old")], input=archive.stdout, check=True)
            before = built(folder / "old" / "src", folder / "before", data)
            expected = sums(before)
        names = changed(now, expected)
        for output in names:
            sys.stdout.write(f"{output}\n")
            for line in difference(before / output, now / output, args.most):
                sys.stdout.write(f"    {line}\n")
        sys.stdout.write(f"{len(names)} of {len(sums(now))} outputs differ\n")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
