"""Results kept by what they were computed from: compressed JSON files named by a hash of their inputs."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from spanwise.document.head import written_out
from spanwise.formats import write_atomically

SUFFIX = ".json.z"

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
        """What was kept under `key`, or None."""
        try:
            return msgspec.json.decode(zlib.decompress(self._path(key).read_bytes()), type=kind)
        except (OSError, zlib.error, ValueError):
            return None

    def put(self, key: str, value: Struct) -> None:
        """Keep `value` under `key`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path(key), zlib.compress(msgspec.json.encode(value, enc_hook=written_out), 6))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"


def default_folder() -> Path:
    """Where results are kept unless told otherwise: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spanwise" / "studies"
