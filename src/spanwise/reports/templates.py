"""Templates of pages: how they are read, where they are kept compiled, and how styles are made small."""

from __future__ import annotations

import marshal
import os
import re
import sys
from contextlib import suppress
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType

import jinja2
from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket

__all__ = ["compact_script", "compact_style", "environment_of"]


def environment_of(package: str, *, keep_trailing_newline: bool = False) -> Environment:
    """The templates of a package: values are escaped, and undefined names are errors."""
    return Environment(
        loader=PackageLoader(package), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, keep_trailing_newline=keep_trailing_newline,
        bytecode_cache=CompiledTemplates(),
    )  # fmt: skip


class CompiledTemplates(BytecodeCache):
    """Compiled templates beside their sources, as Python keeps modules; compiling is half of the work.

    A file is used if template, Python and Jinja are the same as when it was written. Where the folder cannot
    be written, or Python was told to write no bytecode, nothing is kept. Compiled templates must not depend
    on anything else, so none may apply a filter to a constant, which Jinja evaluates when it compiles.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file of a compiled template; empty if its source is not a file."""
        return cache_from_source(filename) if filename and Path(filename).is_file() else ""

    def get_source_checksum(self, source: str) -> str:
        """A hash of what a compiled template depends on."""
        return f"{MAGIC_NUMBER.hex()} {jinja2.__version__} {super().get_source_checksum(source)}"

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a compiled template, if it is still that of its source."""
        with suppress(OSError, ValueError, EOFError, TypeError):
            head, _, body = Path(bucket.key).read_bytes().partition(b"\n")
            if head == bucket.checksum.encode():
                code = marshal.loads(body)
                bucket.code = code if isinstance(code, CodeType) else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, written beside its place and then renamed."""
        if not bucket.key or sys.dont_write_bytecode:
            return
        path = Path(bucket.key)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(bucket.checksum.encode() + b"\n" + marshal.dumps(bucket.code))
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()


def compact_style(style: str) -> str:
    """A style sheet without the white space that only people need.

    Examples:
        >>> compact_style("a { color: red; }\\n@media print { a, b { color: black; } }\\n")
        'a{color:red;}@media print{a,b{color:black;}}'
    """
    return re.sub(r"\s*([{};,])\s*|(:)\s+", r"\1\2", style).strip()


def compact_script(script: str) -> str:
    """A script without indentation and without lines that hold only a comment.

    Examples:
        >>> compact_script("// Why.\\nif (a) {\\n  b();\\n}\\n")
        'if (a) {\\nb();\\n}'
    """
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
