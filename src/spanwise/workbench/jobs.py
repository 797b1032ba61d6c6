"""Evaluations of uploads, one at a time, each in its own process so that it can be cancelled."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from spanwise.errors import ChoiceError, InputError
from spanwise.settings import RULES, SETTINGS
from spanwise.workbench.child import ChildMessage, ReportTask, SearchTask, Task
from spanwise.workbench.private import UPLOADS, make_folders, sweep, upload_of
from spanwise.workbench.store import EvaluationJob, Gold, JobOptions, Store
from spanwise.workbench.watch import BenchEvents

# The settings that an upload may choose, named as on the command line; those of labels take any text.
OPTIONS = {name: SETTINGS[name].choices for name in ("align", "repair", *RULES)}
KILLED = -signal.SIGKILL
DAY = 86400.0  # seconds for which an upload without a job is kept


class Jobs:
    """The queue of evaluations for one folder."""

    def __init__(self, folder: Path, store: Store, events: BenchEvents, *, memory: int | None = None) -> None:
        self.folder, self.store, self.events = folder, store, events
        self.memory = memory if memory is not None else _most_memory()
        self.uploads = folder / UPLOADS
        self._queue: queue.Queue[int | None] = queue.Queue()
        self._running: tuple[int, subprocess.Popen[str]] | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start running jobs; unfinished jobs of an earlier server are marked as interrupted."""
        make_folders(self.folder)
        self.store.interrupt_jobs()
        sweep(self.folder, self.store.uploads(), time.time() - DAY)
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Kill the running job; the next server marks it as interrupted."""
        self._stopped.set()
        self._queue.put(None)
        if self._running is not None:
            self._running[1].kill()
        if self._thread is not None:
            self._thread.join()

    def add(self, gold: Gold, system: str, body: JobOptions) -> EvaluationJob:
        """Queue an evaluation."""
        job = self.store.add_job(gold.slug, system, body)
        self._queue.put(job.id)
        self.events.add("job", gold.slug, f"{system} waits")
        return job

    def again(self, job: EvaluationJob, options: Mapping[str, str]) -> EvaluationJob:
        """Queue another evaluation of the same upload, with changed options."""
        gold = self.store.gold(job.gold)
        if gold is None:
            raise InputError(_NO_GOLD)
        self._upload(job)
        body = msgspec.structs.replace(job.body, options={**job.body.options, **options})
        return self.add(gold, job.system, body)

    def _upload(self, job: EvaluationJob) -> Path:
        """The file of a job; a database from elsewhere may name any other."""
        path = upload_of(self.folder, job.body.upload)
        if path is None:
            raise InputError(_GONE)
        return path

    def cancel(self, job: EvaluationJob) -> None:
        """Cancel a job that is waiting or running."""
        if job.state not in ("waiting", "running"):
            return
        self.store.set_job(job.id, "cancelled")
        if self._running is not None and self._running[0] == job.id:
            self._running[1].kill()
        self.events.add("job", job.gold, f"{job.system} cancelled")

    def _run(self) -> None:
        while (number := self._queue.get()) is not None and not self._stopped.is_set():
            job = self.store.job(number)
            gold = None if job is None else self.store.gold(job.gold)
            if job is None or gold is None or job.state != "waiting":
                continue
            try:
                self._evaluate(job, gold)
            except (OSError, InputError) as error:
                self.store.set_job(job.id, "failed", error=str(error))
            self.events.add("job", job.gold, f"{job.system} ended")

    def _evaluate(self, job: EvaluationJob, gold: Gold) -> None:
        stem = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', job.system).strip('.-')[:60] or 'system'}-{job.id}"
        task = Task(
            gold=str(inside(self.folder, gold.path)),
            train=tuple(str(inside(self.folder, path)) for path in gold.train),
            system=job.system,
            upload=str(self._upload(job)),
            folder=str(self.folder),
            stem=stem,
            options=job.body.options,
            tags=job.body.tags,
            memory=self.memory,
        )
        self.store.set_job(job.id, "running", step="start")
        child = subprocess.Popen(
            [sys.executable, "-m", "spanwise.workbench.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
        )  # fmt: skip
        self._running = (job.id, child)
        if self._stopped.is_set():  # `stop` may have missed the process while it was starting
            child.kill()
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(BrokenPipeError), child.stdin as stream:
            stream.write(msgspec.json.encode(task).decode())
        error, difference = "", None

        def named(text: str) -> str:
            return text.replace(task.upload, job.body.name).replace(f"{self.folder}/", "")

        for line in child.stdout:
            update = msgspec.json.decode(line, type=ChildMessage)
            if update.error:
                error, difference = named(update.error), update.difference
                if difference is not None:
                    difference = msgspec.structs.replace(
                        difference,
                        gold_place=named(difference.gold_place),
                        predicted_place=named(difference.predicted_place),
                    )
            elif self._state(job) == "running":
                self.store.set_job(job.id, "running", step=update.step, done=update.done, total=update.total)
                self.events.add("job", job.gold, f"{job.system}: {update.step}")
        status = child.wait()
        self._running = None
        if self._stopped.is_set() or self._state(job) == "cancelled":
            return
        if status == 0:
            self.store.set_job(job.id, "done", step="done", done=1, total=1)
        elif status == KILLED:
            limit = f" It could take {self.memory / 1e9:.1f} GB." if self.memory else ""
            self.store.set_job(job.id, "failed", error=_ENDED.replace("\n", f"{limit}\n", 1))
        else:
            self.store.set_job(job.id, "failed", error=error or _BROKEN, difference=difference)

    def _state(self, job: EvaluationJob) -> str:
        job_now = self.store.job(job.id)
        return "" if job_now is None else job_now.state


class Child:
    """Runs costly requests one at a time, each in a new process whose memory is freed when it ends."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def ask(self, task: ReportTask | SearchTask) -> bytes:
        """Run the task in a child process and return its output.

        Raises:
            ChoiceError: the task is not possible as requested.
            InputError: the task failed, or the process was killed.
        """
        sent = msgspec.json.encode(msgspec.structs.replace(task, memory=self.memory))
        with self._lock:
            child = subprocess.Popen(
                [sys.executable, "-m", "spanwise.workbench.child"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            self._running = child
            if self._stopped:
                child.kill()
            answer, error = child.communicate(sent)
            self._running = None
        if child.returncode in (2, 3):
            kind = ChoiceError if child.returncode == 2 else InputError
            raise kind(error.decode())
        if child.returncode:
            raise InputError(_KILLED if child.returncode == KILLED else _ALONE)
        return answer

    def stop(self) -> None:
        """Kill the running process, and any that is still starting."""
        self._stopped = True
        if self._running is not None:
            self._running.kill()


_GONE = "the upload no longer exists.\nSend the file again."
_NO_GOLD = "the gold data of this job is no longer known.\nPut the gold file and a result into the folder."
_KILLED = (
    "the process that computed this was killed, most often because memory ran out.\n"
    "Start the workbench with a higher --memory, or try again."
)
_ALONE = "the process that computed this ended without a message.\nTry again."

_ENDED = (
    "the evaluation was killed, most often because memory ran out.\n"
    "Start the workbench with a higher --memory, or evaluate the file with "
    "spanwise evaluate --memory 1GB --json FILE and put the result into the folder."
)
_BROKEN = "the evaluation ended without a message.\nRun spanwise evaluate with the same files to see why."


def _most_memory() -> int:
    """Three quarters of this machine's memory; 0, meaning no limit, if that is not available."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4
    except (AttributeError, ValueError, OSError):
        return 0


def inside(folder: Path, path: str | None) -> Path:
    """Resolve a path to a file inside the folder; files outside it are never opened.

    Raises:
        InputError: there is no such file in the folder.
    """
    for candidate in () if path is None else (folder / path, folder / Path(path).name):
        try:
            resolved = candidate.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            continue
        if resolved.is_relative_to(folder) and resolved.is_file():
            return resolved
    name = "the gold data" if path is None else path
    raise InputError(f"{name}: there is no such file in the folder.\nPut the gold and training files there.")
