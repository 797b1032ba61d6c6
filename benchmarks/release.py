"""Check a release: build wheels and sdists, install them into clean environments, and compare numbers.

    python -m benchmarks.release                                    with this Python
    python -m benchmarks.release --python python3.12 python3.13     with others
    python -m benchmarks.release --with 'numpy==1.26.*' --extra report

In each environment the demo corpus is made and evaluated; its scores must be those of this checkout. The exit
status is 1 if any differ. The package of the taggers, which is released with it, is installed beside it, and
its commands must be found. Package indexes are those that pip is configured for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Calls one hook of the build backend; each hook needs a process of its own.
BUILD = (
    "import sys; from setuptools import build_meta as backend; "
    "print(getattr(backend, sys.argv[1])(sys.argv[2]))"
)
SCORES = """
import json, sys, spanwise
from spanwise.demo import generate
demo = generate(sys.argv[1])
result = spanwise.evaluate(demo.gold, dict(demo.systems), train=demo.train, resamples=200)
rows = {name: system.exact.overall for name, system in result.systems.items()}
scores = {name: [row.precision, row.recall, row.f1, *row.interval["f1"]] for name, row in rows.items()}
tests = [row.score(("exact", "overall", "f1")).p for row in result.comparisons]
print(json.dumps({"scores": scores, "p": tests}))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, install, run and compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.release", description=__doc__.split("\n")[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="the Pythons to install into")
    parser.add_argument("--with", dest="packages", nargs="*", default=[], help="further requirements for pip")
    parser.add_argument("--extra", default="", help="extras to install, such as report,arrow")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        expected = scores_of(sys.executable, work / "here", {"PYTHONPATH": str(ROOT / "src")})
        failed = 0
        own = environment(sys.executable, work / "build")
        run(own, "-m", "pip", "install", "-q", "setuptools>=77")
        source = work / "source"
        subprocess.run(["git", "checkout-index", "--all", f"--prefix={source}/"], cwd=ROOT, check=True)
        taggers = build(own, source / "packages" / "spanwise-taggers", work / "dist")
        for file, beside in zip(build(own, source, work / "dist"), taggers, strict=True):
            for number, python in enumerate(args.python):
                own = environment(python, work / f"{file.suffix}{number}")
                extra = f"[{args.extra}]" if args.extra else ""
                run(own, "-m", "pip", "install", "-q", f"{file}{extra}", str(beside), *args.packages)
                run(own, "-m", "spanwise", "train", "--help")
                run(own, "-m", "spanwise", "demo", str(work / f"demo{file.suffix}{number}"), "--only-files")
                found = scores_of(own, work / f"scores{file.suffix}{number}", {})
                same = close(found, expected)
                failed += not same
                print(f"{file.name} on {version(own)}: {'the same scores' if same else 'OTHER SCORES'}")
    return 1 if failed else 0


def build(python: str, source: Path, out: Path) -> list[Path]:
    """The sdist and the wheel of the package in a folder."""
    out.mkdir(exist_ok=True)
    hooks = ("build_sdist", "build_wheel")
    return [out / run(python, "-c", BUILD, hook, str(out), cwd=source).splitlines()[-1] for hook in hooks]


def environment(python: str, folder: Path) -> str:
    """The Python of a new environment."""
    run(python, "-m", "venv", str(folder))
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def scores_of(python: str, folder: Path, variables: Mapping[str, str]) -> dict[str, object]:
    """The scores of the demo corpus, by the spanwise of this Python."""
    scores: dict[str, object] = json.loads(
        run(python, "-c", SCORES, str(folder), variables=variables).splitlines()[-1]
    )
    return scores


def close(one: object, other: object) -> bool:
    """Whether scores are equal up to rounding, which differs between versions of NumPy."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-12
    return one == other


def version(python: str) -> str:
    """Python and NumPy of an environment."""
    code = "import sys, numpy; print(f'Python {sys.version.split()[0]}, NumPy {numpy.__version__}')"
    return run(python, "-c", code).strip()


def run(
    python: str, *arguments: str, cwd: Path | None = None, variables: Mapping[str, str] | None = None
) -> str:
    """What a command prints; its errors end the check."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environ |= variables or {}
    done = subprocess.run([python, *arguments], cwd=cwd, env=environ, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{python} {' '.join(arguments)[:200]}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
