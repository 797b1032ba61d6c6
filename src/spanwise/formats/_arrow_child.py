"""Decode a Parquet or Arrow file in a process of its own, which a damaged file may end.

Run as a program: the file on standard input, the checked table as an Arrow stream on standard
output, or one line on standard error and exit status 3. With a path and a number of rows after the bounds
it reads that file instead, and writes some rows at a time: a stream for each, after its length in eight
bytes. Standard input then says how many rows belong together, a number on each line;
where it is empty, at most as many as the argument says and about `BYTES` do. What is read from are
files, and what is written to, standard output, is the only pipe: nothing waits but for its reader.
It needs nothing but pyarrow.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

STEP = 1 << 12  # rows that are decoded together, at most
BYTES = 1 << 22  # of rows that are decoded together, or written together where no number is given, about


def main() -> int:
    """Decode standard input, or some rows of a file; the bounds are the most values and bytes of memory."""
    most, memory, *rows = sys.argv[1:]
    data = sys.stdin.buffer.read()
    _bound(int(memory))
    import pyarrow as arrow

    try:
        if rows:
            path, together = rows
            _write_rows(arrow, path, int(most), int(together), [int(size) for size in data.split()])
            return 0
        table = _table(arrow, data, int(most))
        table.validate(full=True)
        stream = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        sys.stdout.buffer.write(stream.getvalue())
    except Exception as error:  # whatever pyarrow raises is about the file
        sys.stderr.write(str(error).partition("\n")[0][:300] or type(error).__name__)
        return 3
    return 0


def _bound(memory: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, hard))


def _table(arrow: Any, data: bytes, most: int) -> Any:
    stream = arrow.BufferReader(data)
    if data.startswith(b"PAR1"):
        import pyarrow.parquet as parquet

        file = parquet.ParquetFile(stream)
        _check_values(file.metadata, most)
        return file.read(use_threads=False)
    try:
        return arrow.ipc.open_file(stream).read_all()
    except arrow.ArrowInvalid:
        stream.seek(0)
        return arrow.ipc.open_stream(stream).read_all()


def _check_values(about: Any, most: int) -> None:
    values = 0
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        values += sum(group.column(column).num_values for column in range(group.num_columns))
    if values > most or about.num_rows > most:
        sys.stderr.write(f"it holds {max(values, about.num_rows):,} values, more than {most:,}")
        sys.exit(3)


def _write_rows(arrow: Any, path: str, most: int, together: int, sizes: list[int]) -> None:
    """Write the rows of a file, as many together as the sizes say, or at most this many without sizes."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # once the reader is gone, there is nothing to say
    with arrow.memory_map(path) as stream:
        schema, batches = _batches(arrow, stream, most, min(max(sizes, default=together), STEP))
        waiting: list[Any] = []
        due = iter(sizes)
        size = next(due, together)
        for batch in batches:
            batch.validate(full=True)
            while batch.num_rows:
                room = size - sum(part.num_rows for part in waiting)
                if not sizes:  # long rows that repeat are few bytes in the file
                    room = min(room, max(1, BYTES * batch.num_rows // max(batch.nbytes, 1)))
                waiting.append(batch.slice(0, room))
                batch = batch.slice(room)
                full = waiting[-1].num_rows == room
                if full or (not sizes and sum(part.nbytes for part in waiting) >= BYTES):
                    _write(arrow, schema, waiting)
                    waiting, size = [], next(due, together)
        if waiting:
            _write(arrow, schema, waiting)


def _write(arrow: Any, schema: Any, batches: list[Any]) -> None:
    written = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(written, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    data = written.getvalue()
    sys.stdout.buffer.write(data.size.to_bytes(8, "little"))
    sys.stdout.buffer.write(data)


def _batches(arrow: Any, stream: Any, most: int, size: int) -> tuple[Any, Iterator[Any]]:
    """The schema of a file, and its rows in batches."""
    if stream.read(4) == b"PAR1":
        import pyarrow.parquet as parquet

        file = parquet.ParquetFile(stream, buffer_size=1 << 16, pre_buffer=False)
        about = file.metadata
        _check_values(about, most)
        held = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
        fitting = BYTES * about.num_rows // max(held, 1)  # rows of the usual length
        return file.schema_arrow, file.iter_batches(max(1, min(size, fitting)), use_threads=False)
    stream.seek(0)
    try:
        reader = arrow.ipc.open_file(stream)
        return reader.schema, (reader.get_batch(at) for at in range(reader.num_record_batches))
    except arrow.ArrowInvalid:
        stream.seek(0)
        opened = arrow.ipc.open_stream(stream)
        return opened.schema, iter(opened)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # no thread of pyarrow is waited for
