"""The browser that tests of pages share."""

from browsing import browser

__all__ = ["browser"]
