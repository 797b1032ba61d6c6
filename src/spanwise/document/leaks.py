"""The document of leaks: what masking leaves readable, and what it hides without need."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.document import Count, Document, Fraction, Interval
from spanwise.document.scores import Comparison
from spanwise.rates import LEAK_RATES

PRIMARY = ("overall", "leak_rate")


class LeakCell(Struct, frozen=True, kw_only=True):
    """The counts and rates of a group of gold mentions; null where undefined.

    What masking costs (`masked`, `outside`, `text`, `spans` and the rates of them) is known overall only.
    """

    mentions: Count
    hidden: Count
    partly: Count
    exposed: Count
    positions: Count
    leaked: Count
    masked: Count | None
    outside: Count | None
    text: Count | None
    spans: Count | None
    documents: Count
    documents_leaking: Count
    identities: Count | None
    identities_leaking: Count | None
    leak_rate: Fraction
    exposure_rate: Fraction
    leaked_share: Fraction
    document_leak_rate: Fraction
    identity_leak_rate: Fraction
    over_masking: Fraction
    lost_text: Fraction
    interval: dict[str, Interval | None] | UnsetType = UNSET
    few_units: Count | UnsetType = UNSET
    carried_by: float | UnsetType = UNSET
    errors_carried_by: float | UnsetType = UNSET
    why: str | UnsetType = UNSET

    @property
    def leaks(self) -> int:
        """How many gold mentions are not wholly hidden."""
        return self.partly + self.exposed

    def ends(self, rate: str) -> Interval | None:
        """The interval of a rate, or None if it has none."""
        return None if self.interval is UNSET else self.interval.get(rate)


class LeakPiece(Struct, frozen=True, kw_only=True):
    """A piece of a sentence: readable though gold, masked, masked needlessly, or plain text."""

    text: str
    state: Literal["readable", "masked", "needless", "plain"]
    label: str | UnsetType = UNSET


class LeakingSentence(Struct, frozen=True, kw_only=True):
    """A sentence with at least one leak; `leaks` says of each leaking mention how it leaks."""

    sentence: Count
    source: str
    leaks: tuple[Literal["exposed", "partly"], ...]
    pieces: tuple[LeakPiece, ...]


class SystemLeaks(Struct, frozen=True, kw_only=True):
    """What one system leaks, and the first sentences that it leaks in."""

    overall: LeakCell
    labels: dict[str, LeakCell]
    buckets: dict[str, dict[str, LeakCell]] = {}  # by attribute, if attributes were requested
    tough: dict[str, LeakCell] = {}  # with training data
    sentences: tuple[LeakingSentence, ...] = ()

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """The paths of all parts that have rates: labels, buckets and tough subsets, in order."""
        paths = [("labels", label) for label in self.labels]
        buckets = [("buckets", name, bucket) for name, cells in self.buckets.items() for bucket in cells]
        return [*paths, *buckets, *(("tough", subset) for subset in self.tough)]


class LeakRuns(Struct, frozen=True, kw_only=True):
    """The rates of a system over its runs: means, and sample standard deviations (null for one run)."""

    systems: tuple[str, ...]  # the names of its runs among the systems
    mean: dict[str, Fraction]
    std: dict[str, Fraction]


class LeakSettings(Struct, frozen=True, kw_only=True):
    """The choices that affect the rates of leaks."""

    same_label: bool
    identity: str | None
    identity_across: bool
    documents: str  # what counts as a document: "document" or "sentence"
    resamples: Count
    seed: Count
    confidence: float
    correction: str
    unit: str
    number: Count
    few_units: bool
    redacted: bool = False
    command: str | None = None


class Leaks(Document, frozen=True, kw_only=True):
    """What masking leaves readable, by mention, position, document and identity, and what it costs."""

    kind: Literal["leaks"] = "leaks"
    positions: Literal["token", "character"]
    settings: LeakSettings
    systems: dict[str, SystemLeaks]
    runs: dict[str, LeakRuns] | UnsetType = UNSET  # by system, if a path stood for several runs
    comparisons: tuple[Comparison, ...] = ()  # of systems; over their runs, if there are several
    without_identity: Count | UnsetType = UNSET  # gold mentions without an id, which identities leave out
    notes: tuple[str, ...] = ()

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if runs or comparisons name something that there is not; see `Document.inconsistent`."""
        if not self.systems:
            return "$.systems", "there is no system"
        for name, own in (self.runs or {}).items():
            if not own.systems or not self.systems.keys() >= {*own.systems}:
                return f"$.runs.{name}.systems", "a run is not among the systems"
            if not own.mean.keys() == own.std.keys() == LEAK_RATES.keys():
                return f"$.runs.{name}.mean", "a rate is missing"
        listed = [run for own in (self.runs or {}).values() for run in own.systems]
        if len(listed) > len({*listed}):
            return "$.runs", "a run belongs to two systems"
        for name in ("identities", "masked", "outside", "text", "spans"):
            if len({getattr(own.overall, name) is None for own in self.systems.values()}) > 1:
                return "$.systems", f"{name} are counted for some systems only"
        parts = {name: own.parts for name, own in self.systems.items()}
        for name, own_parts in parts.items():
            if own_parts != next(iter(parts.values())):
                return (
                    f"$.systems.{name}",
                    "the labels, buckets or subsets are not those of the other systems",
                )
        for number, pair in enumerate(self.comparisons):
            for at, test in enumerate(pair.scores):
                if not test.path or test.path[-1] not in LEAK_RATES:
                    path = f"$.comparisons[{number}].scores[{at}].path"
                    return path, f"there is no rate of leaks called {'.'.join(test.path)!r}"
        return None

    def without_sentences(self) -> Leaks:
        """A copy without sentences."""
        systems = {name: replace(system, sentences=()) for name, system in self.systems.items()}
        return replace(self, systems=systems)
