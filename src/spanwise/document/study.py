"""The document of a study: datasets × systems × runs, and the analyses over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from msgspec import UNSET, UnsetType, defstruct, field
from msgspec.structs import fields, replace

from spanwise.document import Count, Fraction, Interval, Part, Probability, Scalar, Settings
from spanwise.document.evaluation import DatasetRuns, ScoreGrid
from spanwise.document.scores import BucketEdges, BucketLeads, Subset

if TYPE_CHECKING:

    class StudySettings(Settings, frozen=True, kw_only=True):
        """The settings that all evaluations of a study share; those in which they differ are UNSET."""

        def __init__(self, *, command: str | None, **shared: object) -> None: ...
else:  # the fields of Settings, all but the command optional
    StudySettings = defstruct(
        "StudySettings",
        [
            (one.name, one.type) if one.name == "command" else (one.name, one.type, UNSET)
            for one in fields(Settings)
            if one.name != "switched_off"
        ],
        bases=(Part,),
        namespace={
            "__doc__": "The settings that all evaluations of a study share; those in which they differ are "
            "left out."
        },
        module=__name__,
        frozen=True,
        kw_only=True,
    )


class TestResult(Part, frozen=True, kw_only=True):
    """A test over blocks, pairs or buckets; `note` says what it cannot show."""

    __test__: ClassVar[bool] = False  # pytest takes every Test… for tests

    statistic: float | None
    p: Probability
    method: str | UnsetType = UNSET
    least: float | UnsetType | None = UNSET
    note: str | UnsetType | None = UNSET


class BlockTest(TestResult, frozen=True, kw_only=True):
    """Friedman's test over buckets; `grey` says that it does not show them to differ."""

    blocks: Count | UnsetType = UNSET
    left_out: tuple[str, ...] | UnsetType = UNSET
    grey: bool | UnsetType = UNSET


class BucketsDiffer(Part, frozen=True, kw_only=True):
    """Whether buckets differ, tested over units within datasets; None where too few can be tested."""

    p: Probability
    datasets: Mapping[str, Probability] = field(default_factory=dict)


class DatasetTest(TestResult, frozen=True, kw_only=True):
    """A test over datasets, runs averaged first; `holds` counts datasets on which it holds by itself."""

    datasets: Count
    difference: float | UnsetType | None = UNSET
    p_corrected: Probability | UnsetType = UNSET
    significant: bool | UnsetType = UNSET
    holds: Count | UnsetType = UNSET


class TrendTest(TestResult, frozen=True, kw_only=True):
    """Spearman's test of score against bucket number."""

    buckets: Count | UnsetType = UNSET


class PairedTest(TestResult, frozen=True, kw_only=True):
    """A signed-rank test over pairs of runs."""

    pairs: Count | UnsetType = UNSET
    difference: float | UnsetType | None = UNSET
    p_corrected: Probability | UnsetType = UNSET
    significant: bool | UnsetType = UNSET


class ZetaTrend(TestResult, frozen=True, kw_only=True):
    """Spearman's test of the gain of one system over another against ζ of the datasets."""

    datasets: Count


class OverallTest(PairedTest, frozen=True, kw_only=True):
    """The signed-rank test of overall F1, each dataset and run a block."""

    test: str | UnsetType = UNSET
    blocks: tuple[str, ...] | UnsetType = UNSET


class Spread(Part, frozen=True, kw_only=True):
    """Mean, sample standard deviation and number of runs."""

    mean: Fraction
    std: float | None
    runs: Count


class MainResult(Spread, frozen=True, kw_only=True, omit_defaults=False):
    """F1 of a system on a dataset over its runs."""

    values: Mapping[str, Fraction] = field(default_factory=dict)
    interval: Mapping[str, Interval] | UnsetType = UNSET
    letter: str | UnsetType | None = UNSET
    letters: str | UnsetType = UNSET
    missing: tuple[str, ...] | UnsetType = UNSET
    identical: Mapping[str, str] | UnsetType = UNSET

    def ends(self, score: str) -> Interval | None:
        """The interval of one score, where there is one."""
        return (self.interval or {}).get(score)


class DatasetMean(Part, frozen=True, kw_only=True, omit_defaults=False):
    """A mean over datasets, and over how many; runs were averaged first."""

    mean: Fraction
    used: Count


class BucketSpread(BucketEdges, frozen=True, kw_only=True):
    """F1 in one bucket over runs."""

    gold: Count
    f1: Fraction
    std: float | None
    runs: Count


class ModelWise(Part, frozen=True, kw_only=True, omit_defaults=False):
    """How one system's score moves over the buckets of an attribute, by dataset and on average."""

    spearman: Mapping[str, float | None]
    std: Mapping[str, float | None]
    used: Mapping[str, Count] = field(default_factory=dict)
    tests: Mapping[str, TrendTest | None] = field(default_factory=dict)
    friedman: BlockTest
    wilcoxon: PairedTest | UnsetType = UNSET  # of the worst against the best bucket
    buckets_differ: BucketsDiffer | UnsetType = UNSET


class AttributeWise(Part, frozen=True, kw_only=True, omit_defaults=False):
    """How the scores of all systems move over the buckets of an attribute of one dataset."""

    zeta: float | None
    zeta_relative: float | UnsetType | None = UNSET
    rho1: Fraction
    rho2: float | None
    sigma: Fraction
    models: Mapping[str, Count] = field(default_factory=dict)
    friedman: BlockTest
    buckets_differ: BucketsDiffer | UnsetType = UNSET


class SelfDiagnosis(Part, frozen=True, kw_only=True):
    """The best and the worst bucket of one system, and Fu20's test of one against the other over runs."""

    best: str | None
    worst: str | None
    gap: Fraction
    best_f1: Fraction | UnsetType = UNSET
    worst_f1: Fraction | UnsetType = UNSET
    wilcoxon: PairedTest | UnsetType = UNSET


class PairDiagnosis(Part, frozen=True, kw_only=True):
    """Where the first of two systems leads, by dataset, and tests over datasets × runs."""

    systems: tuple[str, str]
    factor: str | UnsetType | None = UNSET
    datasets: Mapping[str, Mapping[str, BucketLeads]]
    wilcoxon: Mapping[str, Mapping[str, PairedTest]]
    overall: OverallTest | UnsetType = UNSET
    over_datasets: DatasetTest | UnsetType = UNSET  # where there are two datasets
    gains: Mapping[str, float | None] = field(default_factory=dict)
    pays: Mapping[str, ZetaTrend] = field(default_factory=dict)


class RankedSlice(Part, frozen=True, kw_only=True, omit_defaults=False):
    """A slice of a dataset."""

    dataset: str
    kind: Literal["bucket", "label", "tough"]
    attribute: str | None = None
    name: str
    gold: Count
    score: str
    label: str | UnsetType | None = UNSET


class SliceRanks(RankedSlice, frozen=True, kw_only=True):
    """The score and the rank of every system in a slice."""

    scores: Mapping[str, float | None]
    ranks: Mapping[str, Count]


class RankFlip(RankedSlice, frozen=True, kw_only=True):
    """A slice in which the overall order of two systems reverses."""

    overall: str
    here: str
    lead: float
    reversal: float


class BucketWise(Part, frozen=True, kw_only=True, omit_defaults=False):
    """Diagnoses by bucket: of each system, of pairs, and where ranks reverse."""

    self_: Mapping[str, Mapping[str, Mapping[str, SelfDiagnosis]]] = field(name="self")
    comparative: tuple[PairDiagnosis, ...]
    ranks: tuple[SliceRanks, ...] = ()
    rank_flips: tuple[RankFlip, ...]


class SubsetSpread(Spread, frozen=True, kw_only=True):
    """The recall of tough mentions over runs, and how many mentions there are."""

    mentions: Count | UnsetType = UNSET
    labels: Mapping[str, SubsetSpread] = field(default_factory=dict)


class FactorPoint(Part, frozen=True, kw_only=True):
    """The score of a system against the value of a factor."""

    value: Scalar
    system: str
    datasets: Mapping[str, Spread]
    mean: Fraction
    used: Count


class FactorStep(Part, frozen=True, kw_only=True):
    """By how much a system leads the one with the lowest value of a factor, by dataset and on average."""

    value: float
    system: str
    gains: Mapping[str, float | None]
    gain: float | None


class FactorGroup(Part, frozen=True, kw_only=True):
    """Systems that are equal in all factors but one, from its lowest value to its highest."""

    factors: Mapping[str, Scalar]
    steps: tuple[FactorStep, ...]


class FactorLine(Part, frozen=True, kw_only=True, omit_defaults=False):
    """The pairs that differ in one factor alone, and scores against it where it is a number."""

    numeric: bool
    values: Mapping[str, Scalar]
    pairs: tuple[tuple[str, str], ...]
    line: tuple[FactorPoint, ...] | None = None
    groups: tuple[FactorGroup, ...] = ()


class Ranking(Part, frozen=True, kw_only=True):
    """Mean ranks of the systems over datasets, and which of them cannot be told apart (Demšar 2006).

    `groups` are runs of neighbouring systems whose mean ranks differ by less than the critical difference of
    Nemenyi's test, from the best to the worst; a single system is not a group.
    """

    datasets: Count
    ranks: Mapping[str, float]
    critical: float
    groups: tuple[tuple[str, ...], ...] = ()


class Analyses(Part, frozen=True, kw_only=True, omit_defaults=False):
    """What is computed over the runs of a study.

    `score` is what all of it is about; keys that are called f1 hold that score. Unset: F1.
    """

    score: str | UnsetType = UNSET
    holistic: Mapping[str, Mapping[str, MainResult]]
    average: Mapping[str, DatasetMean] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, Mapping[str, Spread]]] = field(default_factory=dict)
    performance_table: Mapping[str, Mapping[str, Mapping[str, tuple[BucketSpread, ...]]]] = field(
        default_factory=dict
    )
    model_wise: Mapping[str, Mapping[str, ModelWise]]
    attribute_wise: Mapping[str, Mapping[str, AttributeWise]]
    bucket_wise: BucketWise
    tough: Mapping[str, Mapping[str, Mapping[Subset, SubsetSpread]]]
    factors: Mapping[str, FactorLine] = field(default_factory=dict)
    letters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    letters_about: Mapping[str, str] | UnsetType = UNSET  # by dataset, where a system has a single run
    over_datasets: DatasetTest | UnsetType = UNSET  # Friedman's test of all systems, where there are three
    ranking: Ranking | UnsetType = UNSET  # where there are three systems and two datasets


class SharedRuns(Part, frozen=True, kw_only=True):
    """Runs of several systems on one dataset that have the same predictions, each as system and run."""

    dataset: str
    runs: tuple[tuple[str, str], ...]


class PlanNotes(Part, frozen=True, kw_only=True, omit_defaults=False):
    """What the plan of a study found: runs that are missing, and files that are the same."""

    missing: tuple[Mapping[str, Scalar], ...] = ()
    identical: tuple[Mapping[str, Scalar], ...] = ()
    shared: tuple[SharedRuns, ...] = ()


class Study(ScoreGrid, frozen=True, kw_only=True):
    """The result of a study: every run scored, and the analyses over all of them."""

    INDENT: ClassVar[int] = 0

    kind: Literal["study"] = "study"
    name: str | UnsetType | None = UNSET
    settings: StudySettings
    plan: PlanNotes | UnsetType = UNSET
    systems_factors: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    datasets: Mapping[str, DatasetRuns]
    analyses: Analyses
    notes: tuple[str, ...] | UnsetType = UNSET

    def without_sentences(self) -> Self:
        """The document without its sentences and mentions: all that a screen needs."""
        return replace(
            self,
            datasets={
                name: replace(dataset, units=UNSET, mentions=UNSET, sentences=UNSET)
                for name, dataset in self.datasets.items()
            },
        )

    def inconsistent(self) -> tuple[str, str] | None:
        """The place of the first analysis that lacks a system, or has one that the main results lack."""
        results = self.analyses.holistic
        for part in self.datasets.values():
            for system in part.runs:
                if system not in results:
                    return "$.analyses.holistic", f"the system {system!r} is missing"
        about: dict[str, Mapping[str, object]] = {
            "average": self.analyses.average, "scores": self.analyses.scores,
            "performance_table": self.analyses.performance_table, "model_wise": self.analyses.model_wise,
            "tough": self.analyses.tough,
        }  # fmt: skip
        for name, systems in about.items():
            for system in systems:
                if system not in results:
                    return f"$.analyses.{name}", f"the system {system!r} is not in analyses.holistic"
        return None

    def __getitem__(self, dataset: str) -> DatasetRuns:
        return self.datasets[dataset]

    def __repr__(self) -> str:
        systems = list(self.analyses.holistic)
        return f"<spanwise.Study {len(self.datasets)} datasets × {len(systems)} systems>"
