"""Standard streams and pipes: read once, written in any encoding, free of control characters."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from spanwise.errors import InputError

# Joiners shape letters in many scripts and are part of the word; other format characters could mislead.
_JOINERS = "\u200c\u200d"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Replacements for drawing characters and symbols, for streams whose encoding lacks them.
_PLAIN = {
    "─": "-", "━": "-", "│": "|", "┃": "|", "█": "#", "▏": "|", "▎": "|", "▍": "|", "▌": "#", "▋": "#",
    "▊": "#", "▉": "#", "░": ".", "▒": ":", "▓": "#", "–": "-", "—": "-", "−": "-", "×": "x", "…": "...",
    "·": ".", "•": "*", "’": "'", "‘": "'", "“": '"', "”": '"', "→": "->", "←": "<-", "≤": "<=", "≥": ">=",
    "±": "+/-", "✓": "ok", "✗": "x", "\u00a0": " ", "\u202f": " ", "\u2009": " ",
    "╸": "-", "┊": "|", "●": "o", "◂": "<", "‹": "<", "›": ">", "†": "+", "‡": "++",
    "∞": "inf", "≠": "!=", "½": "1/2", "€": "EUR",
    "⁻": "^-", "⁰": "0", "¹": "1", "²": "2", "³": "3", "⁴": "4", "⁵": "5", "⁶": "6", "⁷": "7", "⁸": "8",
    "⁹": "9",
}  # fmt: skip


class _Pipes:
    """The bytes read from pipes and devices, by device and inode."""

    def __init__(self) -> None:
        self._read: dict[tuple[int, int], bytes] = {}
        self._lock = threading.Lock()

    def bytes_of(self, path: str) -> bytes:
        """All bytes of a pipe or device, which is read on the first call."""
        status = _stdin_status() if path == "-" else os.stat(path)  # noqa: PTH116
        key = (status.st_dev, status.st_ino)
        with self._lock:
            if key not in self._read:
                self._read[key] = _all_of(path)
            return self._read[key]


_pipes: ContextVar[_Pipes | None] = ContextVar("spanwise_pipes", default=None)


@contextmanager
def pipes_read_once() -> Iterator[None]:
    """A context in which each pipe is read only once, however often its bytes are needed.

    A file is opened once to recognise it, once to read it and once to hash it, but a pipe gives its
    bytes only once. Outside this context every call reads anew: a named pipe may have new bytes by then.
    """
    if _pipes.get() is not None:
        yield
        return
    token = _pipes.set(_Pipes())
    try:
        yield
    finally:
        _pipes.reset(token)


def bytes_of_pipe(path: str) -> bytes:
    """All bytes of standard input ("-"), a pipe or a device."""
    return (_pipes.get() or _Pipes()).bytes_of(path)


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether a path is standard input, a pipe or a device, which can be read only once."""
    if os.fspath(path) == "-":
        return True
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - faster, and called for every file
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _stdin_status() -> os.stat_result:
    if sys.stdin is None:
        raise InputError("-: standard input is closed.\nName a file, or pipe one in.")
    try:
        return os.fstat(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):  # replaced by another stream, as in tests
        return os.stat_result((0, id(sys.stdin), 0, 0, 0, 0, 0, 0, 0, 0))


def _all_of(path: str) -> bytes:
    if path != "-":
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123
            return stream.read()
    stdin = getattr(sys.stdin, "buffer", None)
    data: bytes = stdin.read() if stdin is not None else sys.stdin.read().encode("utf-8", "surrogateescape")
    return data


def visible(text: object) -> str:
    """The text on one line, with control, override and other invisible characters made visible.

    Control characters become control pictures; format characters (bidi overrides, zero-width
    spaces) and lone surrogates become their code points, so that no token or label can move
    the cursor, colour the screen or reverse the line.

    Examples:
        >>> visible("a\\x1b[31mb\\u202ec")
        'a␛[31mb⟨U+202E⟩c'
    """
    raw = str(text)
    if raw.isascii() and raw.isprintable():
        return raw
    return "".join(map(_shown, raw))


def _shown(character: str) -> str:
    code = ord(character)
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "␡"
    if unicodedata.category(character) in _HIDDEN and character not in _JOINERS:
        return f"⟨U+{code:04X}⟩"
    return character


def message(text: str) -> str:
    """A message of several lines, safe to print whatever file names and labels it quotes.

    Invisible characters are made visible, and a line that a build server would take for a command
    (`::error::`, `##[error]`) is prefixed with `| `.

    Examples:
        >>> message("a\\x1b[31m\\n::error::b")
        'a␛[31m\\n| ::error::b'
    """
    lines = "\n".join(map(visible, text.split("\n")))
    return re.sub(r"(?m)^(?=[^\S\n]*(?:::|##\[))", "| ", lines)


def write_message(text: str) -> None:
    """Write a message to standard error; do nothing if the stream is closed."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{message(text)}\n")
        sys.stderr.flush()


def put(pieces: str | bytes | Iterable[str]) -> None:
    """Write data to standard output as UTF-8, whatever the encoding of the terminal."""
    if _closed_stdout():
        raise InputError("-: standard output is closed.\nName a file to write to.")
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    for piece in [pieces] if isinstance(pieces, str | bytes) else pieces:
        if binary is None:  # replaced by another stream, as in notebooks
            sys.stdout.write(piece if isinstance(piece, str) else piece.decode("utf-8"))
        else:
            binary.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace"))


def prepare_streams() -> None:
    """Make standard output and error writable in any encoding, even if they were closed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # otherwise the next opened file would get the number of this stream
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = _Nowhere()
    if sys.stderr is None:
        sys.stderr = _Nowhere()
    codecs.register_error("spanwise", _plainly)
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):
            sys.stdout.reconfigure(errors="spanwise")


def leave_streams() -> None:
    """Flush both streams and discard those without a reader, so that Python prints no error at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Nowhere(io.StringIO):
    """A stream that discards everything, in place of a closed one."""

    def write(self, text: str) -> int:
        return len(text)


def _closed_stdout() -> bool:
    return sys.stdout is None or isinstance(sys.stdout, _Nowhere)


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler that replaces characters which the encoding of a stream lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    replaced = []
    for character in error.object[error.start : error.end]:
        code = ord(character)
        escape = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
        if 0x2400 <= code < 0x2420:  # a control picture: escape the control character it stands for
            escape = f"\\x{code - 0x2400:02x}"
        replaced.append(_PLAIN.get(character, escape))
    return "".join(replaced), error.end
