"""What is sent to the API and what it answers, where the rooms below have no type for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from spanwise.document.scores import ScoreTest
from spanwise.workbench.drawing import Drawn
from spanwise.workbench.index import SliceTest


class Health(Struct, frozen=True):
    """That the server answers."""

    spanwise: str
    read_only: bool


class GoldRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A gold file of the folder, and its training files."""

    path: str
    train: tuple[str, ...] = ()
    name: str | None = None


class ResultSummary(Struct, frozen=True, kw_only=True):
    """One system in one document."""

    id: int
    system: str
    path: str
    gone: bool
    scores: Mapping[str, float | None]
    interval: tuple[float | None, float | None] | None
    tags: Mapping[str, str]
    made_at: float
    signature: str


class Comparison(Struct, frozen=True, kw_only=True):
    """Two results: every score that was tested and, where conditions were asked for, their mentions alone."""

    a: int
    b: int
    scores: tuple[ScoreTest, ...]
    notes: tuple[str, ...]
    slice: SliceTest | None = None


class Sentences(Struct, frozen=True, kw_only=True):
    """Sentences with mentions that were asked for; `next` goes on."""

    mentions: int
    sentences: tuple[Drawn, ...]
    next: int | None


class SliceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A slice to be saved."""

    name: str
    where: str
    score: str | None = None
    least: float | None = None


class NoteRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A note on a sentence, or on the mention of it that `start`, `end` and `label` name."""

    sentence: int
    start: int | None = None
    end: int | None = None
    label: str | None = None
    tag: str = ""
    text: str = ""
    by: str = ""


class NoteChange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a note says now."""

    tag: str = ""
    text: str = ""
    by: str = ""


class Way(Struct, frozen=True):
    """A way out of a problem: what to press, and what it sets."""

    title: str
    says: str
    set: Mapping[str, str]


class Problem(Struct, frozen=True, kw_only=True):
    """What is wrong, in the words of the command line."""

    title: str
    status: int
    detail: str
    ways: tuple[Way, ...] = ()
    type: str = "about:blank"
    extra: Mapping[str, str] = field(default_factory=dict)


def ways_out(error: str) -> tuple[Way, ...]:
    """What can be tried where an upload could not be used."""
    if "align" not in error:
        return ()
    return (
        Way("Align by characters", "maps spans through the text of the sentence", {"align": "characters"}),
        Way("Align by difference", "as diff does, token by token", {"align": "diff"}),
        Way("Align by position", "takes the tokens of both as the same", {"align": "position"}),
    )
