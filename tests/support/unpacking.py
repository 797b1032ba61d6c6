"""Unpack the data embedded in a text, so that a test can search a page in full."""

from __future__ import annotations

import base64
import re
import zlib

_PACKED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


def everything(text: str) -> str:
    """A text followed by whatever is packed in it as base64, even when packed repeatedly."""
    pieces, fresh = [text], text
    for _ in range(3):
        fresh = "\n".join(content for packed in set(_PACKED.findall(fresh)) for content in _unpacked(packed))
        pieces.append(fresh)
    return "\n".join(pieces)


def _unpacked(packed: str) -> list[str]:
    try:
        data = base64.b64decode(packed + "==")
    except ValueError:
        return []
    texts = []
    for bits in (15, 31, -15):  # zlib, gzip, and deflate alone
        try:
            texts.append(zlib.decompress(data, bits).decode("utf-8", "replace"))
        except zlib.error:
            continue
    return texts or [data.decode("utf-8", "replace")]
