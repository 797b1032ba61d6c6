"""Where counting runs: every engine maps one function over the parts of a corpus, in their order."""

from __future__ import annotations

from spanwise.engines.local import map_parts

__all__ = ["map_parts"]
