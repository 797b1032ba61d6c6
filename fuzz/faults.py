"""Kill workers, commands and studies while they work, and check that nothing hangs, remains or is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 60.0  # seconds after which a command counts as hanging


def kill_worker(folder: Path, seed: int) -> list[str]:
    """Kill a child of an evaluation in parts: expect one sentence and status 3, or a result if too late."""
    gold = _corpus(folder)
    process = _evaluate(gold, folder / f"worker{seed}.json")
    worker = next(_children(process), None)
    wrong = []
    if worker is not None:
        time.sleep(random.Random(seed).uniform(0, 0.3))
        _kill(worker)
    status, stderr = _end(process)
    if status is None:
        wrong.append("it hangs")
    elif status not in (0, 3) or "Traceback" in stderr or (status == 3 and "worker process" not in stderr):
        wrong.append(f"status {status}: {stderr[-300:]}")
    return wrong + _left(process.pid)


def kill_parent(folder: Path, seed: int) -> list[str]:
    """Kill the command itself: its workers must end too."""
    gold = _corpus(folder)
    process = _evaluate(gold, folder / f"parent{seed}.json")
    next(_children(process), None)
    time.sleep(random.Random(seed).uniform(0, 0.3))
    process.kill()
    _end(process)
    return _left(process.pid)


def kill_study(folder: Path, seed: int) -> list[str]:
    """Kill a study: finished cells must be cached, and the next run must give the same bytes."""
    manifest, whole = _study(folder)
    cache = folder / f"cache{seed}"
    process = _start("study", manifest, "--cache", cache, "--workers", "2")
    time.sleep(random.Random(seed).uniform(0.5, 2.5))
    process.kill()
    _, stderr = _end(process)
    finished = sum("/6 " in line and "F1" in line for line in stderr.split("\n"))
    cached = len(list(cache.glob("*.json.z"))) if cache.is_dir() else 0
    wrong = _left(process.pid)
    if cached < finished:
        wrong.append(f"{finished} cells were finished, but {cached} kept")
    if seed % 5 == 0:
        result = folder / f"study{seed}.json"
        again = _start("study", manifest, "--cache", cache, "--workers", "2", "--quiet", "--json", result)
        status, stderr = _end(again)
        if status != 0 or result.read_bytes() != whole:
            wrong.append(f"the study that was run again differs: status {status} {stderr[-200:]}")
    return wrong


KINDS = {"worker": kill_worker, "parent": kill_parent, "study": kill_study}


def run(folder: Path, times: int) -> dict[str, list[str]]:
    """The failures in so many kills of each kind, by kind."""
    return {
        name: [f"seed {seed}: {text}" for seed in range(times) for text in kill(folder, seed)]
        for name, kill in KINDS.items()
    }


def _corpus(folder: Path) -> Path:
    """A file that keeps two workers busy for about a second."""
    path = folder / "gold.conll"
    if not path.exists():
        draw = random.Random(0)
        lines = []
        for _ in range(60_000):
            for _ in range(8):
                lines.append(f"w{draw.randrange(5000)} {draw.choice(['O', 'O', 'O', 'B-PER', 'B-LOC'])}")
            lines.append("")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _study(folder: Path) -> tuple[Path, bytes]:
    """A study of six cells, and its document."""
    manifest, result = folder / "study.toml", folder / "whole.json"
    if not result.exists():
        draw = random.Random(1)
        rows = [f"[datasets.d{number}]\ntest = 'gold{number}.conll'\n" for number in range(3)]
        for number in range(3):
            for name in ("gold", "a", "b"):
                words = (f"w{index} {draw.choice(['O', 'O', 'B-PER'])}" for index in range(2000))
                text = "\n".join(f"{word}\n" if index % 10 == 9 else word for index, word in enumerate(words))
                (folder / f"{name}{number}.conll").write_text(text + "\n", encoding="utf-8")
        for name in ("a", "b"):
            rows.append(f"[systems.{name}]\npredictions = '{name}{{run}}.conll'\n")
        body = "resamples = 200\nattributes = 'none'\n" + "".join(rows)
        body = (
            body.replace("{run}", "{dataset}").replace("'a{dataset}", "'a-{dataset}").replace("'b{", "'b-{")
        )
        for name in ("a", "b"):
            for number in range(3):
                (folder / f"{name}{number}.conll").rename(folder / f"{name}-d{number}.conll")
        manifest.write_text(body, encoding="utf-8")
        process = _start("study", manifest, "--no-cache", "--quiet", "--json", result)
        status, stderr = _end(process)
        if status != 0:
            raise RuntimeError(stderr)
    return manifest, result.read_bytes()


def _evaluate(gold: Path, result: Path) -> subprocess.Popen[str]:
    options = ["--memory", "1MB", "--workers", "2", "--resamples", "0", "--attributes", "none", "--quiet"]
    return _start("evaluate", gold, f"same={gold}", *options, "--json", result)


def _start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "spanwise", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[str]) -> tuple[int | None, str]:
    """The exit status (None if the process hangs) and the standard error."""
    try:
        _, stderr = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, stderr = process.communicate()
        return None, stderr
    return process.returncode, stderr


def _children(process: subprocess.Popen[str]) -> Iterator[int]:
    """The workers of a process, as soon as there are any."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            children = path.read_text().split()
        except OSError:
            return
        if children:
            yield from map(int, children)
            return
        time.sleep(0.002)


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _left(session: int) -> list[str]:
    """A message about processes of a session that are still running after a moment."""
    for _ in range(50):
        remaining = [process for process in _processes() if _session(process) == session]
        if not remaining:
            return []
        time.sleep(0.05)
    os.killpg(session, signal.SIGKILL)
    return [f"{len(remaining)} processes stayed behind"]


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _session(process: int) -> int | None:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[3])
