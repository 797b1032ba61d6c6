"""Strict tag schemes, as in `seqeval.scheme`."""

from spanwise.compat._tags import (
    BILOU,
    IOB1,
    IOB2,
    IOBES,
    IOE1,
    IOE2,
    Entities,
    Entity,
    Prefix,
    Prefixes,
    Tag,
    Tokens,
    auto_detect,
)
from spanwise.compat._tags import SchemeToken as Token

__all__ = [
    "BILOU",
    "IOB1",
    "IOB2",
    "IOBES",
    "IOE1",
    "IOE2",
    "Entities",
    "Entity",
    "Prefix",
    "Prefixes",
    "Tag",
    "Token",
    "Tokens",
    "auto_detect",
]
