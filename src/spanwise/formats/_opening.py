"""Open files: unpack and check their bytes, read small text files, and write files atomically."""

from __future__ import annotations

import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from spanwise.errors import InputError, MissingExtra, at
from spanwise.hashing import sha256, sha256_in
from spanwise.streams import bytes_of_pipe, is_pipe

if TYPE_CHECKING:
    from hashlib import _Hash

    from spanwise.formats._format import Format

BOM = b"\xef\xbb\xbf"
PACKED = (".gz", ".xz", ".zst")  # the suffixes of compressed files
UTF8 = (None, "utf-8", "utf8", "UTF-8")  # the encodings that need no conversion
MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_FOREIGN_MAGIC = {b"PK\x03\x04": "a zip archive", b"BZh": "a bzip2 file", b"%PDF": "a PDF document"}
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_NO_TEXT = (*MAGIC, *_FOREIGN_MAGIC, *_WIDE)
_HEAD = 1 << 16  # bytes from which a format is recognised
_HELD = 1 << 26  # keep up to this many bytes of a packed or encoded file between recognising and reading it


def model_option(folder: Path) -> str:
    """The keyword that runs the model in a folder; empty if there is none."""
    if (folder / "config.cfg").is_file() and (folder / "meta.json").is_file():
        return "spacy"
    return "hf" if (folder / "config.json").is_file() else ""


class File:
    """A file to read: its path as given, its unpacked bytes, and the hash of its bytes on disk.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "Gold.CONLL")
        >>> _ = path.write_text("Ann B-PER\\n")
        >>> file = File(path)
        >>> file.name, file.suffix, file.head, file.text, file.data, file.is_folder
        ('Gold.CONLL', '.conll', b'Ann B-PER\\n', 'Ann B-PER\\n', b'Ann B-PER\\n', False)
    """

    def __init__(
        self, path: str | os.PathLike[str], *, encoding: str | None = None, unpacked: int = 1 << 26
    ) -> None:
        self.path = os.fspath(path)
        self.encoding = encoding
        self.recognised: Format | None = None  # set by `format_of`, so that formats are tried only once
        self.first_line = 0  # for a part of a file; 0 for a whole file
        self._most = unpacked
        self._hash = sha256()
        self._sha256: str | None = None  # set once all bytes have been read
        self._bytes: bytes | None = None  # the bytes on disk, if they are kept in memory
        self._begun: io.FileIO | None = None  # the open stream from which the head was read
        self._is_pipe = is_pipe(self.path)
        if not self._is_pipe:
            self._check()

    def __del__(self) -> None:
        # The file may have been recognised but never read.
        if (begun := self.__dict__.get("_begun")) is not None:
            begun.close()

    @classmethod
    def of_bytes(
        cls,
        path: str | os.PathLike[str],
        data: bytes,
        *,
        first_line: int = 0,
        sha256: str | None = None,
        encoding: str | None = None,
        unpacked: int = 1 << 26,
    ) -> File:
        """A file with this path and these bytes, whatever is on disk; not hashed if `sha256` is given.

        `first_line` is the number of the first line if the bytes are a part of a file.
        """
        file = cls("-", encoding=encoding, unpacked=unpacked)
        file.path, file._bytes, file.first_line, file._sha256 = os.fspath(path), data, first_line, sha256
        return file

    def __fspath__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """The file's name without its folder and without the suffix of a compressed file."""
        path = Path(self.path)
        return path.stem if path.suffix in PACKED else path.name

    @cached_property
    def suffix(self) -> str:
        """The last suffix, ignoring that of a compressed file, in lower case."""
        return Path(self.name).suffix.lower()

    @cached_property
    def is_zip(self) -> bool:
        """Whether the file is a zip archive."""
        return self.suffix in (".eval", ".zip") and self.stored[:4] == b"PK\x03\x04"

    @property
    def is_folder(self) -> bool:
        return not self._is_pipe and os.path.isdir(self.path)  # noqa: PTH112 - faster, and called often

    def _check(self) -> None:
        if not self.path:
            raise InputError("the name of a file is empty.\nName the file, or - for standard input.")
        path = Path(self.path)
        if not path.exists():
            raise InputError(at(self.path, None, f"there is no such file.{_near(path)}"))

    @property
    def sha256(self) -> str | None:
        """The hash of the bytes on disk; None until they have been read to the end."""
        return self._sha256

    @cached_property
    def data(self) -> bytes:
        """All bytes, unpacked, as UTF-8 without a byte order mark and without NUL."""
        return b"".join(self.chunks(1 << 24))

    @cached_property
    def stored(self) -> bytes:
        """All bytes as they are on disk, for binary formats."""
        if self.is_folder:
            raise InputError(self.no_file())
        try:
            with self._opened() as stream:
                stored = stream.read()
        except OSError as error:
            raise InputError(self._unreadable(error)) from None
        if self._sha256 is None:
            self._hash.update(stored)
            self._done()
        return stored

    def _opened(self) -> IO[bytes]:
        """A stream of the bytes on disk, from the beginning."""
        if self._is_pipe and self._bytes is None:
            self._bytes = bytes_of_pipe(self.path)
        if self._bytes is not None:
            return io.BytesIO(self._bytes)
        begun, self._begun = self._begun, None
        if begun is None:
            return open(self.path, "rb", buffering=0)  # noqa: PTH123
        begun.seek(0)
        return begun

    def seekable(self) -> IO[bytes]:
        """A seekable stream of the bytes on disk, which are not loaded into memory."""
        return self.again()._opened()

    @cached_property
    def text(self) -> str:
        """The whole file as a string, with its line endings unchanged."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(self.not_utf8(self.data, error, 1)) from None

    @property
    def utf8(self) -> bytes:
        """Like `data`, but checked to be valid UTF-8."""
        return self.data if self.data.isascii() else self.text.encode("utf-8")

    @cached_property
    def head(self) -> bytes:
        """The first 64 KB, unpacked, for recognising the format."""
        if "data" in self.__dict__:
            return self.data[:_HEAD]
        if self.is_folder:
            return b""
        start = self._plain_start()
        if start is not None:
            return start[:_HEAD]
        return b"".join(islice(self.again().chunks(_HEAD), 2))[:_HEAD]

    def first_lines(self, number: int) -> list[str]:
        """The first lines, without line endings, from which the layout of the file can be recognised."""
        lines = next(self.line_chunks(), b"").split(b"\n", number)[:number]
        return [line.rstrip(b"\r").decode("utf-8", "replace") for line in lines]

    def line_chunks(self, size: int = 1 << 19) -> Iterator[bytes]:
        """The unpacked bytes from the beginning, in pieces of whole lines."""
        rest = b""
        for piece in (self if "data" in self.__dict__ else self.again()).chunks(size):
            rest += piece
            end = rest.rfind(b"\n") + 1
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest:
            yield rest

    def again(self) -> File:
        """A fresh `File` for the same source, from which nothing has been read."""
        if self._is_pipe and self._bytes is None:
            self._bytes = bytes_of_pipe(self.path)
        again = File("-" if self._is_pipe else self.path, encoding=self.encoding, unpacked=self._most)
        again.path, again._bytes = self.path, self._bytes
        return again

    def _plain_start(self) -> bytes | None:
        """The first bytes of a file if they can be read as UTF-8 text without NUL, else None.

        The stream stays open for reading; a small file that must be unpacked or decoded is kept in memory.
        """
        try:
            stream = self._opened()
            start = stream.read(_HEAD + len(BOM))
            if isinstance(stream, io.FileIO):
                foreign = self.encoding not in UTF8 or start.startswith(tuple(MAGIC))
                if foreign and self._stored_size() <= _HELD:
                    self._bytes = start + stream.readall()
                    stream.close()
                else:
                    self._begun = stream
        except OSError:
            return None
        if self.encoding not in UTF8 or b"\x00" in start or start.startswith(_NO_TEXT):
            return None
        return start.removeprefix(BOM)

    def chunks(self, size: int) -> Iterator[bytes]:
        """The unpacked bytes in pieces of about `size`; raises InputError if they are not text."""
        if "data" in self.__dict__:
            yield self.data
            return
        before = 0
        first = True
        try:
            if self.encoding not in UTF8:
                yield self._transcoded()
                return
            with self._stream() as stream:
                while piece := stream.read(size):
                    if first and not self.first_line:  # a part may begin with any bytes
                        self._refuse_foreign(piece)
                        piece = piece.removeprefix(BOM)
                    first = False
                    if b"\x00" in piece:
                        raise InputError(self._binary(before + piece.index(b"\x00")))
                    before += len(piece)
                    self._check_unpacked(before)
                    yield piece
        except (EOFError, zlib.error, OSError) as error:
            raise InputError(self._unreadable(error)) from None
        except Exception as error:  # lzma and zstd may be missing, so compare the names of their errors
            if type(error).__name__ in {"LZMAError", "ZstdError"}:
                raise InputError(self._unreadable(error)) from None
            raise

    def _check_unpacked(self, size: int) -> None:
        """Refuse decompression bombs: small files that unpack to huge ones."""
        if size > self._most and size > 100 * self._stored_size():
            raise InputError(
                at(self.path, None, f"the file unpacks to more than {self._most:,} bytes, over a hundred "
                   "times its own size.\nIf this is intended, raise the limit with limits={'unpacked': …}.")
            )  # fmt: skip

    def _stored_size(self) -> int:
        return len(self._bytes) if self._bytes is not None else os.stat(self.path).st_size  # noqa: PTH116

    def _stream(self) -> IO[bytes]:
        if self.is_folder:
            raise InputError(self.no_file())
        raw = _Hashing(self._opened(), self._hash if self._sha256 is None else None, self._done)
        magic = raw.peek(6)
        for mark, kind in MAGIC.items():
            if magic.startswith(mark):
                return _unpacked(raw, kind)
        return raw  # type: ignore[return-value]

    def _done(self) -> None:
        if self._sha256 is None:
            self._sha256 = self._hash.hexdigest()

    def _transcoded(self) -> bytes:
        data = b""
        with self._stream() as stream:
            while piece := stream.read(1 << 24):
                data += piece
                self._check_unpacked(len(data))
        try:
            return data.decode(self.encoding or "utf-8").removeprefix("\ufeff").encode("utf-8")
        except LookupError:
            raise InputError(
                at(self.path, None, f"no encoding is called {self.encoding!r}.\nTry 'utf-8' or 'latin-1'.")
            ) from None
        except ValueError as error:
            raise InputError(
                at(
                    self.path,
                    None,
                    f"the file is not in {self.encoding}: {error}.\nName another encoding.",
                )
            ) from None

    def _refuse_foreign(self, head: bytes) -> None:
        for mark, kind in _FOREIGN_MAGIC.items():
            if head.startswith(mark):
                raise InputError(at(self.path, 1, f"this is {kind}, not text.\nUnpack or export it first."))
        for mark, kind in _WIDE.items():
            if head.startswith(mark):
                raise InputError(
                    at(self.path, 1, f"the file is in {kind}, but UTF-8 is expected.\n"
                       'Convert it, or pass encoding="utf-16".')
                )  # fmt: skip

    def _binary(self, position: int) -> str:
        with self.again()._stream() as stream:
            line = 1 + stream.read(position).count(b"\n")
        text = "the line holds a NUL byte, so this is not a text file.\nGive the file as UTF-8 text."
        return at(self.path, line, text)

    def no_file(self) -> str:
        """The error message for a folder where a file is expected."""
        if option := model_option(Path(self.path)):
            return at(
                self.path, None, "this is the folder of a model, which is a program and is not run by itself."
                f"\nIf you trust it, run it on gold's texts with {option}={self.path!r}.",
            )  # fmt: skip
        return at(self.path, None, "this is a folder, not a file.\nName the file in it.")

    def _unreadable(self, error: Exception) -> str:
        if isinstance(error, PermissionError):
            return at(self.path, None, "there is no permission to read this file.\nChange its permissions.")
        return at(
            self.path,
            None,
            f"the file cannot be read to its end ({error}).\nIs it complete? Copy or compress it again.",
        )

    def not_utf8(self, data: bytes, error: UnicodeDecodeError, first_line: int) -> str:
        """The error message for bytes that are not UTF-8, in `data` that begins at `first_line`."""
        line = first_line + data.count(b"\n", 0, error.start)
        return at(
            self.path,
            line,
            f"the byte {data[error.start]:#04x} is not UTF-8.\n"
            'Convert the file to UTF-8, or name its encoding, such as encoding="latin-1".',
        )


class _Hashing(io.RawIOBase):
    """A raw stream that hashes the bytes read from it and calls `done` at the end."""

    def __init__(self, raw: IO[bytes], digest: _Hash | None, done: Callable[[], None]) -> None:
        self._raw, self._digest, self._finished = raw, digest, done
        self._peeked = b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        self._peeked = self._raw.read(size)
        return self._peeked

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            piece, self._peeked = self._peeked + self._raw.read(), b""
        else:
            piece, self._peeked = self._peeked[:size], self._peeked[size:]
            if len(piece) < size:
                piece += self._raw.read(size - len(piece))
        if self._digest is not None:
            self._digest.update(piece)
        if size < 0 or not piece:
            self._finished()
        return piece

    def readinto(self, buffer: Any) -> int:
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _unpacked(raw: _Hashing, kind: str) -> IO[bytes]:
    stream = io.BufferedReader(raw, 1 << 18)
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(stream)
    return _zstd(stream)


def unpacked_zstd(data: bytes, size: int, purpose: str) -> bytes:
    """The content of bytes that were compressed with Zstandard, at most `size` bytes.

    Raises:
        MissingExtra: the package for reading them is missing.
        Exception: the bytes are damaged; the class of the error depends on the package.
    """
    with _zstd(io.BytesIO(data), purpose) as stream:
        return stream.read(size)


def _zstd(stream: IO[bytes], purpose: str = "reading a .zst file") -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return cast("IO[bytes]", zstd.ZstdFile(stream))
    try:
        import zstandard
    except ImportError:
        raise MissingExtra.of("zstandard", "zstd", purpose) from None
    unpacking = zstandard.ZstdDecompressor()
    return unpacking.stream_reader(stream, read_across_frames=True)


def stem_of(path: str | os.PathLike[str]) -> str:
    """The name of a file without its folder, its suffix and the suffix of a compressed file.

    Examples:
        >>> stem_of("runs/bert.conll.gz"), stem_of("crf.txt")
        ('bert', 'crf')
    """
    name = Path(path).name
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return Path(name).stem or name or "data"


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 hash of a file's bytes on disk."""
    if is_pipe(path):
        return sha256(File(path).stored).hexdigest()
    return sha256_in(Path(path).open("rb"))


def _near(path: Path) -> str:
    import difflib

    folder = path.parent
    if not folder.is_dir():
        return f"\nThere is no folder {str(folder)!r} either."
    matches = difflib.get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=1)
    return f"\nDid you mean {str(folder / matches[0])!r}?" if matches else "\nCheck the path."


def write_atomically(path: str | os.PathLike[str], data: bytes | str | Iterable[str]) -> None:
    """Write to a temporary file next to `path`, then rename it, so that readers never see a partial file.

    If the path ends in .gz or .xz, the data is compressed. A symbolic link is followed. A pipe or a device
    (such as /dev/stdout) is written to directly, as renaming a file over it would replace it.
    """
    target = Path(path)
    import tempfile

    pieces = _packed(data, target.suffix)
    if target.exists() and not target.is_file() and not target.is_dir():
        try:
            with target.open("wb") as stream:
                stream.writelines(pieces)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritable(target, error) from None
        return
    if target.is_symlink():
        target = target.resolve()
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise unwritable(target, error) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(pieces)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(target, error) from None
        raise


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder and its parents if they do not exist, and return its path."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            at(str(folder), None, "there is a file where a folder is needed.\nName another folder.")
        ) from None
    except OSError as error:
        raise unwritable(folder, error, "folder") from None
    return folder


def unwritable(path: Path, error: OSError, what: str = "file") -> InputError:
    """The error for a file or folder that the system does not let us write."""
    return InputError(
        at(str(path), None, f"the {what} cannot be written ({error.strerror}).\nChoose another place.")
    )


def _packed(data: bytes | str | Iterable[str], suffix: str) -> Iterable[bytes]:
    """The bytes to write, compressed if the suffix is that of a compressed file."""
    if suffix not in (".gz", ".xz") and not isinstance(data, bytes | str):
        return (piece.encode("utf-8") for piece in data)
    whole = data if isinstance(data, bytes | str) else "".join(data)
    return [_pack(whole.encode("utf-8") if isinstance(whole, str) else whole, suffix)]


def _pack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        import gzip

        return gzip.compress(data, mtime=0)
    if suffix == ".xz":
        import lzma

        return lzma.compress(data)
    return data


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, unpacked and without a byte order mark."""
    return File(path).data


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, with line endings converted to line feeds.

    Raises:
        InputError: the file is missing, or is not UTF-8.
    """
    data = (path if isinstance(path, File) else File(path)).data
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        text = f"the byte {data[error.start]:#04x} is not UTF-8.\nSave the file as UTF-8."
        raise InputError(at(os.fspath(path), line, text)) from None


def read_words(path: str | os.PathLike[str]) -> list[str]:
    """The words of a file with one word per line, such as a model's vocabulary."""
    return read_text(path).split("\n")


def read_toml(path: str | os.PathLike[str], example: str) -> dict[str, Any]:
    """The content of a TOML file; error messages end with `example`.

    Raises:
        InputError: the file is missing, is not UTF-8 or is not TOML.
    """
    import tomllib

    text = read_text(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(at(os.fspath(path), None, f"the tables are nested too deeply.\n{example}")) from None
    except ValueError as error:  # invalid TOML, or a number with too many digits
        match = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error))
        message, line = (match[1], int(match[2])) if match else (str(error), None)
        message = message[:1].lower() + message[1:].removesuffix(" (at end of document)")
        if not isinstance(error, tomllib.TOMLDecodeError):
            message = "a number is too long"
        raise InputError(at(os.fspath(path), line, f"this is not TOML: {message}.\n{example}")) from None


def read_sheet(
    path: str | os.PathLike[str], needed: Sequence[str], advice: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV worksheet with a header, each with its `file:line`; missing cells are empty.

    Raises:
        InputError: the file is missing, is not UTF-8 or not CSV, or lacks one of the columns `needed`.
    """
    import csv

    where = os.fspath(path)
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    try:
        names = reader.fieldnames or ()
        missing = next((name for name in needed if name not in names), None)
        if missing is not None:
            raise InputError(f"{where}: the worksheet has no column {missing!r}.\n{advice}")
        for line in reader:
            yield f"{where}:{reader.line_num}", {name: line.get(name) or "" for name in names}
    except csv.Error as error:
        raise InputError(at(where, reader.line_num + 1, f"this is not CSV: {error}.\n{advice}")) from None
