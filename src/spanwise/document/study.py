"""The document of a study: datasets × systems × runs, and the analyses of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from msgspec import UNSET, UnsetType, defstruct, field
from msgspec.structs import fields, replace

from spanwise.document import Count, DocumentPart, Fraction, Interval, Probability, Scalar, Settings
from spanwise.document.analyses import UsageTotals
from spanwise.document.evaluation import DatasetRuns, ScoreGrid
from spanwise.document.scores import BucketEdges, BucketLeads, Subset
from spanwise.registry import resolve

if TYPE_CHECKING:

    class StudySettings(Settings, frozen=True, kw_only=True):
        """The settings that all evaluations of a study share; those that differ are UNSET."""

        def __init__(self, *, command: str | None, **shared: object) -> None: ...
else:  # the fields of Settings, all optional except the command
    StudySettings = defstruct(
        "StudySettings",
        [
            (setting.name, setting.type) if setting.name == "command" else (setting.name, setting.type, UNSET)
            for setting in fields(Settings)
            if setting.name != "switched_off"
        ],
        bases=(DocumentPart,),
        namespace={
            "__doc__": "The settings that all evaluations of a study share; those that differ are left out."
        },
        module=__name__,
        frozen=True,
        kw_only=True,
    )


class TestResult(DocumentPart, frozen=True, kw_only=True):
    """A test over blocks, pairs or buckets; `note` explains its limits."""

    __test__: ClassVar[bool] = False  # pytest would otherwise collect this class, because of its name

    statistic: float | None
    p: Probability
    method: str | UnsetType = UNSET
    least: float | UnsetType | None = UNSET
    note: str | UnsetType | None = UNSET


class BlockTest(TestResult, frozen=True, kw_only=True):
    """Friedman's test over buckets; `grey` is set if it does not show that they differ."""

    blocks: Count | UnsetType = UNSET
    left_out: tuple[str, ...] | UnsetType = UNSET
    grey: bool | UnsetType = UNSET


class BucketsDiffer(DocumentPart, frozen=True, kw_only=True):
    """Whether buckets differ, tested over units within datasets; None if too few buckets can be tested."""

    p: Probability
    datasets: Mapping[str, Probability] = field(default_factory=dict)


class DatasetTest(TestResult, frozen=True, kw_only=True):
    """A test over datasets, with runs averaged first.

    `better` is, for each of the two systems, the number of datasets on which it is significantly better by
    itself. Earlier versions wrote `holds`, the number of datasets with a difference in either direction.
    """

    datasets: Count
    difference: float | UnsetType | None = UNSET
    p_corrected: Probability | UnsetType = UNSET
    significant: bool | UnsetType = UNSET
    better: Mapping[str, Count] | UnsetType = UNSET
    holds: Count | UnsetType = UNSET


class TrendTest(TestResult, frozen=True, kw_only=True):
    """Spearman's test for a correlation of the score with the bucket number."""

    buckets: Count | UnsetType = UNSET


class PairedTest(TestResult, frozen=True, kw_only=True):
    """A signed-rank test over pairs of runs."""

    pairs: Count | UnsetType = UNSET
    difference: float | UnsetType | None = UNSET
    p_corrected: Probability | UnsetType = UNSET
    significant: bool | UnsetType = UNSET


class ZetaTrend(TestResult, frozen=True, kw_only=True):
    """Spearman's test for a correlation of one system's gain over another with ζ of the datasets."""

    datasets: Count


class OverallTest(PairedTest, frozen=True, kw_only=True):
    """The signed-rank test of the overall score, with each run on each dataset as a block."""

    test: str | UnsetType = UNSET
    blocks: tuple[str, ...] | UnsetType = UNSET


class Spread(DocumentPart, frozen=True, kw_only=True):
    """The mean and sample standard deviation over runs, and the number of runs."""

    mean: Fraction
    std: float | None
    runs: Count


class UsageOverRuns(DocumentPart, frozen=True, kw_only=True):
    """What answers cost, and the F1 they gave: of each run, over runs, and the sum of what was spent.

    The keys of `mean`, `std` and `sum` are those of a run; one that no run has is left out.
    """

    runs: Mapping[str, UsageTotals]
    mean: Mapping[str, float]
    std: Mapping[str, float] = field(default_factory=dict)
    sum: Mapping[str, int | float]


class MainResult(Spread, frozen=True, kw_only=True, omit_defaults=False):
    """The main score of a system on a dataset over its runs."""

    values: Mapping[str, Fraction] = field(default_factory=dict)
    interval: Mapping[str, Interval] | UnsetType = UNSET
    letter: str | UnsetType | None = UNSET
    letters: str | UnsetType = UNSET
    missing: tuple[str, ...] | UnsetType = UNSET
    identical: Mapping[str, str] | UnsetType = UNSET
    usage: UsageOverRuns | UnsetType = UNSET  # only for answers whose log records it

    def ends(self, score: str) -> Interval | None:
        """The interval of one score, or None if it has none."""
        return (self.interval or {}).get(score)


class DatasetMean(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """A mean over datasets, with runs averaged first, and the number of datasets in it."""

    mean: Fraction
    used: Count


class BucketSpread(BucketEdges, frozen=True, kw_only=True):
    """The score of one bucket over runs."""

    gold: Count
    f1: Fraction
    std: float | None
    runs: Count


class ModelWise(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """How one system's score varies over the buckets of an attribute, by dataset and on average."""

    spearman: Mapping[str, float | None]
    std: Mapping[str, float | None]
    used: Mapping[str, Count] = field(default_factory=dict)
    tests: Mapping[str, TrendTest | None] = field(default_factory=dict)
    friedman: BlockTest
    wilcoxon: PairedTest | UnsetType = UNSET  # the worst against the best bucket
    buckets_differ: BucketsDiffer | UnsetType = UNSET


class AttributeWise(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """How the scores of all systems vary over the buckets of an attribute on one dataset."""

    zeta: float | None
    zeta_relative: float | UnsetType | None = UNSET
    rho1: Fraction
    rho2: float | None
    sigma: Fraction
    models: Mapping[str, Count] = field(default_factory=dict)
    friedman: BlockTest
    buckets_differ: BucketsDiffer | UnsetType = UNSET


class SelfDiagnosis(DocumentPart, frozen=True, kw_only=True):
    """The best and the worst bucket of one system, and the test of Fu20 between the two over runs."""

    best: str | None
    worst: str | None
    gap: Fraction
    best_f1: Fraction | UnsetType = UNSET
    worst_f1: Fraction | UnsetType = UNSET
    wilcoxon: PairedTest | UnsetType = UNSET


class PairDiagnosis(DocumentPart, frozen=True, kw_only=True):
    """The buckets in which the first of two systems leads, by dataset, and tests over datasets × runs."""

    systems: tuple[str, str]
    factor: str | UnsetType | None = UNSET
    datasets: Mapping[str, Mapping[str, BucketLeads]]
    wilcoxon: Mapping[str, Mapping[str, PairedTest]]
    overall: OverallTest | UnsetType = UNSET
    over_datasets: DatasetTest | UnsetType = UNSET  # if there are at least two datasets
    gains: Mapping[str, float | None] = field(default_factory=dict)
    pays: Mapping[str, ZetaTrend] = field(default_factory=dict)


class RankedSlice(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """A slice of a dataset in which systems are ranked."""

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


class BucketWise(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """Diagnoses by bucket: of each system, of pairs, and where ranks reverse."""

    self_: Mapping[str, Mapping[str, Mapping[str, SelfDiagnosis]]] = field(name="self")
    comparative: tuple[PairDiagnosis, ...]
    ranks: tuple[SliceRanks, ...] = ()
    rank_flips: tuple[RankFlip, ...]


class SubsetSpread(Spread, frozen=True, kw_only=True):
    """The recall of tough mentions over runs, and the number of mentions."""

    mentions: Count | UnsetType = UNSET
    labels: Mapping[str, SubsetSpread] = field(default_factory=dict)


class FactorPoint(DocumentPart, frozen=True, kw_only=True):
    """The value of a factor for one system, and the score of the system."""

    value: Scalar
    system: str
    datasets: Mapping[str, Spread]
    mean: Fraction
    used: Count


class FactorStep(DocumentPart, frozen=True, kw_only=True):
    """The gain of a system over the one with the lowest value of a factor, by dataset and on average."""

    value: float
    system: str
    gains: Mapping[str, float | None]
    gain: float | None


class FactorGroup(DocumentPart, frozen=True, kw_only=True):
    """Systems that differ in only one factor, from its lowest value to its highest."""

    factors: Mapping[str, Scalar]
    steps: tuple[FactorStep, ...]


class FactorLine(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The pairs of systems that differ only in one factor and, if it is numeric, scores by its value."""

    numeric: bool
    values: Mapping[str, Scalar]
    pairs: tuple[tuple[str, str], ...]
    line: tuple[FactorPoint, ...] | None = None
    groups: tuple[FactorGroup, ...] = ()


class Ranking(DocumentPart, frozen=True, kw_only=True):
    """The mean ranks of systems over datasets, and which systems cannot be told apart (Demšar 2006).

    `groups` are sets of adjacent systems, from best to worst, whose mean ranks differ by less than the
    critical difference of Nemenyi's test; a single system is not a group.
    """

    datasets: Count
    ranks: Mapping[str, float]
    critical: float
    groups: tuple[tuple[str, ...], ...] = ()


class PairFamily(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The tests between systems that are corrected together, behind every letter, star and sentence.

    A family is all `pairs` on all datasets, or with `by` "dataset" those on one dataset. The other pairs of
    systems are `untested`. The number of tests in a family is under `pairs` of each comparison.
    """

    by: Literal["study", "dataset"]
    pairs: tuple[tuple[str, str], ...]
    untested: tuple[tuple[str, str], ...] = ()


class Analyses(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """All analyses over the runs of a study.

    `score` is the score that they are about; keys called f1 hold this score. If it is not set, it is F1.
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
    family: PairFamily | UnsetType = UNSET
    letters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    letters_about: Mapping[str, str] | UnsetType = UNSET  # by dataset, if a system has a single run
    over_datasets: DatasetTest | UnsetType = UNSET  # Friedman's test; needs three systems and two datasets
    ranking: Ranking | UnsetType = UNSET  # needs three systems and two datasets


class SharedRuns(DocumentPart, frozen=True, kw_only=True):
    """Runs of different systems on one dataset with the same predictions, as pairs of system and run."""

    dataset: str
    runs: tuple[tuple[str, str], ...]


class PlanNotes(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """What planning a study found: runs that are missing, and prediction files that are identical."""

    missing: tuple[Mapping[str, Scalar], ...] = ()
    identical: tuple[Mapping[str, Scalar], ...] = ()
    shared: tuple[SharedRuns, ...] = ()


class Study(ScoreGrid, frozen=True, kw_only=True):
    """The result of a study: the scores of every run, and the analyses of all of them."""

    INDENT: ClassVar[int] = 0

    kind: Literal["study"] = "study"
    name: str | UnsetType | None = UNSET
    settings: StudySettings
    plan: PlanNotes | UnsetType = UNSET
    systems_factors: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    datasets: Mapping[str, DatasetRuns]
    analyses: Analyses
    notes: tuple[str, ...] | UnsetType = UNSET
    hints: tuple[str, ...] | UnsetType = UNSET  # what to check before believing the scores

    def without_sentences(self) -> Self:
        """A copy without sentences, mentions and counts per unit, which a screen does not need."""
        return replace(
            self,
            datasets={
                name: replace(dataset, units=UNSET, mentions=UNSET, sentences=UNSET)
                for name, dataset in self.datasets.items()
            },
        )

    def inconsistent(self) -> tuple[str, str] | None:
        """The path of the first analysis whose systems differ from those of the main results."""
        results = self.analyses.holistic
        for part in self.datasets.values():
            for system in part.runs:
                if system not in results:
                    return "$.analyses.holistic", f"the system {system!r} is missing"
        by_system: dict[str, Mapping[str, object]] = {
            "average": self.analyses.average, "scores": self.analyses.scores,
            "performance_table": self.analyses.performance_table, "model_wise": self.analyses.model_wise,
            "tough": self.analyses.tough,
        }  # fmt: skip
        for name, systems in by_system.items():
            for system in systems:
                if system not in results:
                    return f"$.analyses.{name}", f"the system {system!r} is not in analyses.holistic"
        return None

    def __getitem__(self, dataset: str) -> DatasetRuns:
        return self.datasets[dataset]

    def __repr__(self) -> str:
        systems = list(self.analyses.holistic)
        answer = resolve("views.verdict:verdict")(self).answer
        return f"<spanwise.Study {len(self.datasets)} datasets × {len(systems)} systems: {answer}>"
