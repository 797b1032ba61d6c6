"""Texts with all that is packed in them, so that a test can search a page whole."""

from __future__ import annotations

import base64
import re
import zlib

_PACKED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


def everything(text: str) -> str:
    """A text, and behind it whatever is packed in it as base64, once and once more."""
    pieces, fresh = [text], text
    for _ in range(3):
        fresh = "\n".join(one for packed in set(_PACKED.findall(fresh)) for one in _unpacked(packed))
        pieces.append(fresh)
    return "\n".join(pieces)


def _unpacked(packed: str) -> list[str]:
    try:
        data = base64.b64decode(packed + "==")
    except ValueError:
        return []
    found = []
    for bits in (15, 31, -15):  # zlib, gzip, and deflate alone
        try:
            found.append(zlib.decompress(data, bits).decode("utf-8", "replace"))
        except zlib.error:
            continue
    return found or [data.decode("utf-8", "replace")]
