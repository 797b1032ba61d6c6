"""Results kept by what they were computed from: sealed JSON files named by a hash of their inputs."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from spanwise.document.head import written_out
from spanwise.errors import InputError
from spanwise.formats import write_atomically

SUFFIX = ".json.z"
_SEAL = 32  # bytes of a keyed hash, and of its key

T = TypeVar("T")


def key_of(*parts: Any) -> str:
    """The name of a result: a hash of everything it depends on, as canonical JSON.

    Examples:
        >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
        True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Cache(Struct, frozen=True):
    """A folder of results; a file is there whole or not at all, and a damaged one is as good as none."""

    folder: Path

    def get(self, key: str, kind: type[T]) -> T | None:
        """What was kept under `key`, or None; an entry that this user's spanwise did not write is none."""
        try:
            kept = self._path(key).read_bytes()
            seal, data = kept[:_SEAL], kept[_SEAL:]
            if not hmac.compare_digest(seal, _seal(self._secret.read_bytes(), key, data)):
                return None
            return msgspec.json.decode(zlib.decompress(data), type=kind)
        except (OSError, zlib.error, ValueError, RecursionError):
            return None

    def put(self, key: str, value: Struct) -> bool:
        """Keep `value` under `key`; False where the folder cannot be written to, which ends nothing."""
        data = zlib.compress(msgspec.json.encode(value, enc_hook=written_out), 6)
        try:
            self.prepare()
            write_atomically(self._path(key), _seal(self._secret.read_bytes(), key, data) + data)
        except (OSError, InputError):
            return False
        return True

    def prepare(self) -> None:
        """Make the folder and the key of its seals, before several processes would each make one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            handle = os.open(self._secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(_SEAL))

    @property
    def _secret(self) -> Path:
        """The file with the key of the seals, which this user alone can read."""
        return self.folder / ".key"

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"


def _seal(secret: bytes, key: str, data: bytes) -> bytes:
    """A keyed hash of an entry and its name."""
    return hmac.digest(secret, key.encode("ascii") + data, "sha256")


def default_folder() -> Path:
    """Where results are kept unless told otherwise: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spanwise" / "studies"
