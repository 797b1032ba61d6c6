"""How much may be asked for at once."""

from __future__ import annotations

MOST_CONDITIONS = 16
MOST_ROWS = 200  # of a page or an answer
MOST_BODY = 1 << 20  # bytes of a request body that is not an upload
MOST_UPLOAD = 2 << 30  # bytes of predictions
MOST_NOTE = 4000  # characters
IDLE = 60.0  # seconds without a byte after which an upload is given up
