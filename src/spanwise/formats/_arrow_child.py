"""Decode a Parquet or Arrow file in a process of its own, which a damaged file may end.

Run as a program: the file on standard input, the checked table as an Arrow stream on standard
output, or one line on standard error and exit status 3. It needs nothing but pyarrow.
"""

from __future__ import annotations

import sys
from typing import Any


def main() -> int:
    """Decode standard input; the arguments are the most values and the most bytes of memory."""
    most, memory = int(sys.argv[1]), int(sys.argv[2])
    data = sys.stdin.buffer.read()
    _bound(memory)
    import pyarrow as arrow

    try:
        table = _table(arrow, data, most)
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
        values = 0
        for group in range(file.metadata.num_row_groups):
            about = file.metadata.row_group(group)
            values += sum(about.column(column).num_values for column in range(about.num_columns))
        if values > most or file.metadata.num_rows > most:
            sys.stderr.write(f"it holds {max(values, file.metadata.num_rows):,} values, more than {most:,}")
            sys.exit(3)
        return file.read(use_threads=False)
    try:
        return arrow.ipc.open_file(stream).read_all()
    except arrow.ArrowInvalid:
        stream.seek(0)
        return arrow.ipc.open_stream(stream).read_all()


if __name__ == "__main__":
    sys.exit(main())
