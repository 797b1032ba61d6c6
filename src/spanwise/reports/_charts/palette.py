"""The colours of charts: as CSS variables for the page, as fixed values for files."""

from __future__ import annotations

from msgspec import Struct

# The names of the page's CSS variables, and the values that files use: those of the light page. The
# series are blue, orange, green … after Okabe and Ito, darkened until text in them reads on white.
LIGHT = {
    "ink": "#15171c",
    "muted": "#5f6573",
    "grid": "#e6e7e4",
    "axis": "#9a9fa8",
    "panel": "#ffffff",
    "s0": "#0a6ebd",
    "s1": "#b35a00",
    "s2": "#0b7a5b",
    "s3": "#8c4a86",
    "s4": "#6b6100",
    "s5": "#2f7391",
    "on": "#ffffff",
    "wrong": "#b4123f",
    "none": "#6d7583",
}
SERIES = 6


class Palette(Struct, frozen=True):
    """A colour for each role; hue tells systems (or datasets) apart and means nothing else."""

    name: str
    colours: dict[str, str]

    def __getitem__(self, role: str) -> str:
        return self.colours[role]

    def series(self, place: int) -> str:
        """The colour of the system or dataset at `place`; beyond six they repeat, the shape tells them."""
        return self.colours[f"s{place % SERIES}"]


PAGE = Palette("page", {role: f"var(--{role})" for role in LIGHT})
PRINT = Palette("print", LIGHT)
