"""Decode a Parquet or Arrow file in a process of its own, since a damaged file may crash pyarrow.

Run as a script, it reads the file from standard input, checks it, and writes the table as an Arrow stream to
standard output; on failure it writes one line to standard error and exits with status 3. Its arguments are
the largest number of values and of bytes of memory. With two more arguments, a path and a number of rows, it
reads that file instead and writes its rows in batches, each an Arrow stream preceded by its length in eight
bytes. Standard input then lists the sizes of the batches, one number per line; if it is empty, a batch has
at most the given number of rows and about `BYTES` bytes. Standard output is the only pipe and everything
else is a file, so the process only ever waits for its reader. It depends on pyarrow alone.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import NativeFile, RecordBatch, Schema, Table
    from pyarrow.parquet import FileMetaData

STEP = 1 << 12  # the largest number of rows to decode at a time
BYTES = 1 << 22  # the approximate size of rows decoded, or written if no sizes are given, at a time


def main() -> int:
    """Decode standard input, or the rows of a file in batches, and return the exit status."""
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
    except Exception as error:  # whatever pyarrow raises is due to the file
        sys.stderr.write(str(error).partition("\n")[0][:300] or type(error).__name__)
        return 3
    return 0


def _bound(memory: int) -> None:
    try:
        import resource
    except ImportError:  # on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, hard))


def _table(arrow: ModuleType, data: bytes, most: int) -> Table:
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


def _check_values(metadata: FileMetaData, most: int) -> None:
    values = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        values += sum(group.column(column).num_values for column in range(group.num_columns))
    if values > most or metadata.num_rows > most:
        sys.stderr.write(f"it holds {max(values, metadata.num_rows):,} values, more than {most:,}")
        sys.exit(3)


def _write_rows(arrow: ModuleType, path: str, most: int, together: int, sizes: list[int]) -> None:
    """Write the rows of a file in batches of the given sizes, or of at most `together` rows without sizes."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # exit quietly once the reader is gone
    with arrow.memory_map(path) as stream:
        schema, batches = _batches(arrow, stream, most, min(max(sizes, default=together), STEP))
        waiting: list[RecordBatch] = []
        due = iter(sizes)
        size = next(due, together)
        for batch in batches:
            batch.validate(full=True)
            while batch.num_rows:
                room = size - sum(part.num_rows for part in waiting)
                if not sizes:  # a few bytes in the file can decode to long rows
                    room = min(room, max(1, BYTES * batch.num_rows // max(batch.nbytes, 1)))
                waiting.append(batch.slice(0, room))
                batch = batch.slice(room)
                full = waiting[-1].num_rows == room
                if full or (not sizes and sum(part.nbytes for part in waiting) >= BYTES):
                    _write(arrow, schema, waiting)
                    waiting, size = [], next(due, together)
        if waiting:
            _write(arrow, schema, waiting)


def _write(arrow: ModuleType, schema: Schema, batches: list[RecordBatch]) -> None:
    written = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(written, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    data = written.getvalue()
    sys.stdout.buffer.write(data.size.to_bytes(8, "little"))
    sys.stdout.buffer.write(data)


def _batches(
    arrow: ModuleType, stream: NativeFile, most: int, size: int
) -> tuple[Schema, Iterator[RecordBatch]]:
    """The schema of a file, and its rows in batches."""
    if stream.read(4) == b"PAR1":
        import pyarrow.parquet as parquet

        file = parquet.ParquetFile(stream, buffer_size=1 << 16, pre_buffer=False)
        metadata = file.metadata
        _check_values(metadata, most)
        total = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
        fitting = BYTES * metadata.num_rows // max(total, 1)  # rows of average length
        return file.schema_arrow, file.iter_batches(max(1, min(size, fitting)), use_threads=False)
    stream.seek(0)
    try:
        reader = arrow.ipc.open_file(stream)
        return reader.schema, (reader.get_batch(index) for index in range(reader.num_record_batches))
    except arrow.ArrowInvalid:
        stream.seek(0)
        opened = arrow.ipc.open_stream(stream)
        return opened.schema, iter(opened)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # does not wait for pyarrow's threads
