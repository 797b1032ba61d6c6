"""Use an input, and check the outcome, which must be a result or an error of our own."""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import spanwise
from fuzz import seeds
from fuzz.inputs import Input
from spanwise.errors import InputError, SpanwiseError
from spanwise.formats import FORMATS, validate
from spanwise.formats.unread import unread
from spanwise.formats.writing import to_bytes

SECONDS = 5.0  # limit of CPU time for an input of less than 1 MB
HANGING = 60.0  # limit of wall time, which includes delays by other work on the machine
MEGABYTES = 500  # limit of additional memory for an input


class TooSlow(BaseException):
    """An input exceeds the limit of wall time."""


def attempt(given: Input, folder: Path, number: int) -> str | None:
    """What went wrong with an input, or None."""
    before = _held()
    began = time.process_time()  # not wall time, which depends on how busy the machine is
    try:
        with _bounded():
            _use(given, folder, number)
    except TooSlow:
        return f"took more than {HANGING:.0f} s on the clock"
    except SpanwiseError as error:
        if isinstance(error.__cause__, Exception) and isinstance(error, InputError):
            _unexpected[f"{type(error.__cause__).__name__} in {_where(error.__cause__)}"] = number
    except OSError as error:
        if error.filename is None:
            return f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__} in {_where(error)}: {str(error)[:200]}"
    took, needed = time.process_time() - began, _peak() - before
    if took > _costs[0].seconds:
        _costs[0] = _costs[0]._replace(seconds=took, slowest=number)
    if needed > _costs[0].megabytes:
        _costs[0] = _costs[0]._replace(megabytes=needed, largest=number)
    if took > SECONDS:
        return f"took {took:.1f} s"
    if needed > MEGABYTES:
        return f"needed {needed} MB"
    return None


class Costs(NamedTuple):
    """The largest costs of any input: CPU seconds, and megabytes of additional memory."""

    seconds: float = 0.0
    slowest: int = -1
    megabytes: int = 0
    largest: int = -1


def costs() -> Costs:
    """The largest costs of any input in this process."""
    return _costs[0]


def forget_costs() -> None:
    """Reset the costs, so that imports do not count."""
    _costs[0] = Costs()


_costs = [Costs()]
# Errors of other libraries that a reader converted by its catch-all handler, each with an example input.
_unexpected: dict[str, int] = {}


def unexpected() -> dict[str, int]:
    """The locations of errors that only the catch-all handler caught, each with the number of an input."""
    return dict(_unexpected)


def _use(given: Input, folder: Path, number: int) -> None:
    path = folder / given.name
    path.write_bytes(given.data)
    draw = random.Random(number)
    if given.target == "document":
        _show(path, draw)
    elif given.target == "damaged":
        from fuzz.documents import use

        use(path, draw)
    elif given.target == "manifest":
        spanwise.study(path, cache=False, workers=1)
    elif given.target == "options":
        _command(given, folder)
    elif given.target == "read":
        _read(path, given, draw)
    else:
        from fuzz.verbs import TARGETS

        TARGETS[given.target](path, draw)


def _read(path: Path, given: Input, draw: random.Random) -> None:
    if path.suffix == ".ann":
        path.with_suffix(".txt").write_text(seeds.BRAT_TEXT, encoding="utf-8")
    if draw.random() < 0.2:
        validate(path, **given.options)
    annotation = spanwise.read(path, **given.options)
    if draw.random() < 0.3:
        names = ["conll", "jsonl", "spans", "w2ner", "webanno", "conllu", "hipe", "pubtator", "label-studio"]
        with contextlib.suppress(InputError):
            to_bytes(annotation, FORMATS.find(draw.choice(names)), lossy=draw.random() < 0.3)
    if draw.random() < 0.2:
        unread(path, annotation, **given.options)
    if draw.random() < 0.02:
        spanwise.evaluate(annotation, {"same": annotation}, resamples=10).to_dict()


def _show(path: Path, draw: random.Random) -> None:
    form = draw.choice(["flat", "rows", "summary", "model-index", "terminal"])
    calls = [["table"], ["errors"], ["export", form], ["report", "-o", str(path.with_name("page.html"))]]
    command, *rest = draw.choices(calls, [10, 10, 20, 1])[0]
    run_command([command, str(path), *rest])


def _command(given: Input, folder: Path) -> None:
    from fuzz.working import lay_out

    lay_out(folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        run_command(list(given.arguments))
    finally:
        os.chdir(before)


def run_command(call: list[str]) -> None:
    """Run a command in this process, and raise an error if it ends with an unexpected status."""
    from spanwise.cli.main import main

    stderr = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stderr):
        try:
            status = main(call)
        except SystemExit as leaving:  # --help
            status = int(leaving.code or 0)
    if status not in (0, 1, 2, 3):
        raise AssertionError(f"status {status} of {call!r}: {stderr.getvalue()[-400:]}")


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """Interrupt the block if it hangs."""

    def late(number: int, frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, HANGING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _held() -> int:
    """The current memory in megabytes; resets the peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    except OSError:  # not Linux: only what exceeds the highest peak so far is noticed
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return _peak()


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) // 1024


def _where(error: BaseException) -> str:
    """The last line of the program in the traceback of an error."""
    site, trace = "?", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "spanwise" in name:
            site = f"{Path(name).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return site
