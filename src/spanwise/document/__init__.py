"""The typed result: one family of documents that every verb returns and every report is made of."""

from __future__ import annotations

from spanwise.document.head import SCHEMA, Document, Input, Interval, Part, Scalar

__all__ = ["SCHEMA", "Document", "Input", "Interval", "Part", "Scalar"]
