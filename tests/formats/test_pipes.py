"""A pipe can be read only once, and every command still gets all of its bytes."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import spanwise
from spanwise import formats

BODY = "".join(f"token{number} B-PER\nand O\n\n" for number in range(20_000)).encode()  # more than 64 KB


def command(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "spanwise", *arguments], input=given, capture_output=True, timeout=60
    )


def test_standard_input_is_read_whole_under_both_of_its_names() -> None:
    for name in ("-", "/dev/stdin"):
        done = command("convert", name, "-", "--to", "jsonl", given=BODY)
        assert (done.returncode, done.stdout.count(b"\n")) == (0, 20_000), done.stderr


def test_validate_reads_standard_input_once() -> None:
    done = command("validate", "-", given=BODY)
    assert done.returncode == 0
    assert b"20,000 sentences" in done.stdout


def test_a_compressed_pipe_is_decompressed() -> None:
    done = command("convert", "-", "-", "--to", "jsonl", given=gzip.compress(BODY))
    assert done.stdout.count(b"\n") == 20_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are needed")
def test_a_named_pipe_can_be_gold_and_have_other_bytes_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for body in (b"a B-PER\n", b"a O\nb B-PER\n"):
        writer = threading.Thread(target=path.write_bytes, args=(body,))
        writer.start()
        result = spanwise.evaluate(path, {"none": [["O"] * body.count(b"\n")]}, resamples=0)
        writer.join()
        assert result["none"].exact.overall.gold == 1
        assert result.inputs[0].sha256 is not None


def test_every_part_of_a_call_sees_the_same_bytes(tmp_path: Path) -> None:
    read, write = os.pipe()

    def fill() -> None:
        os.write(write, b"a B-X\n\n" * 100)
        os.close(write)

    threading.Thread(target=fill).start()
    validation = formats.validate(f"/dev/fd/{read}")
    os.close(read)
    assert validation.annotation is not None
    assert validation.annotation.reading.sha256 is not None
