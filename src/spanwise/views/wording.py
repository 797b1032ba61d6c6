"""Wording and number formatting shared by all reports; nothing is computed here."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from spanwise.document import given
from spanwise.document.dataset import Drift
from spanwise.document.scores import (
    OUTCOME_WORDS,
    PRIMARY,
    SUBSET_WORDS,
    BucketEdges,
    Finding,
    SystemScores,
    WeakSlice,
)
from spanwise.rates import ByScore
from spanwise.statistics import LEVEL
from spanwise.statistics import format_p as format_p
from spanwise.statistics import p_value as p_value
from spanwise.streams import visible as visible

if TYPE_CHECKING:
    from spanwise.document.study import Analyses

UNDEFINED = "n/a"
MINUS = "−"

OUTCOMES, TOUGH = OUTCOME_WORDS, SUBSET_WORDS

_SUBSETS: Mapping[str, str] = {str(subset): words for subset, words in TOUGH.items()}

SCORES = {"f1": "F1", "precision": "precision", "recall": "recall", "gain": "F1", "accuracy": "accuracy"}

# The scores that a study can be about.
STUDY_SCORES = {
    "f1": "F1", "precision": "precision", "recall": "recall",
    "fair_f1": "fair F1", "fair_precision": "fair precision", "fair_recall": "fair recall",
}  # fmt: skip

# The scores that can be primary.
PRIMARY_SCORES = ByScore(
    {"f1": "F1", "precision": "precision", "recall": "recall", "macro": "macro F1", "fair": "fair F1"},
    lambda score: score.words,
)

# The wording of a score after its number.
SCORED = ByScore(
    {**PRIMARY_SCORES, "precision": "in precision", "recall": "in recall"}, lambda score: score.words
)

# The wording of a difference in a score.
DIFFERENCES = ByScore(
    {**PRIMARY_SCORES, "precision": "points of precision", "recall": "points of recall"},
    lambda score: score.words,
)

ERRORS = ("LE", "BE", "LBE", "FN", "FP")

LENGTHS = {
    "sentence_length": "tokens per sentence",
    "entity_length": "tokens per mention",
    "mentions_per_sentence": "mentions per sentence",
}
DOCUMENTS = {  # what the kinds of documents are called in lists
    "evaluation": "scores",
    "comparison": "a comparison of systems",
    "study": "a study of datasets",
    "description": "a description of data",
    "explanation": "scores by other conventions",
    "placement": "places of answers in the text",
    "agreement": "agreement of annotators",
    "confidence": "confidence scores",
    "suspects": "suspects in gold",
    "slices": "weak slices",
    "leaks": "what masking leaves readable",
    "leaks-study": "what masking leaves readable, by dataset",
    "split": "a split by toughness",
    "tuples": "tuples of mentions",
    "tuples-study": "tuples of mentions, by dataset",
    "plan": "a plan of test data",
    "curve": "what more training data would give",
    "changes": "what changed since an earlier result",
}
MOST_DRIFT = 12  # at most so many labels are listed


def drift_rows(drift: Drift) -> list[tuple[str, str, str, str]]:
    """One row per quantity: its name, its values in the training data and the test set, and their distance.

    Labels come last, the one with the largest difference first.
    """
    rows = []
    if drift.unknown_tokens is not None:
        pair = drift.unknown_tokens
        rows.append(("unknown tokens", percent(pair.train), percent(pair.test), ""))
    for subset, pair in drift.tough.items():
        rows.append((TOUGH[subset], percent(pair.train), percent(pair.test), ""))
    for name, moved in drift.lengths.items():
        rows.append((LENGTHS[name], plain(moved.train), plain(moved.test), percent(moved.distance)))
    rows.append(("labels", "", "", percent(drift.label_distance)))
    apart = sorted(
        drift.labels.items(), key=lambda item: -abs((item[1].train or 0.0) - (item[1].test or 0.0))
    )
    for label, pair in apart[:MOST_DRIFT]:
        rows.append((f"  {visible(label)}", percent(pair.train), percent(pair.test), ""))
    return rows


def base_name(path: object) -> str:
    """The last part of a path, with what follows it, such as a line."""
    return str(path).replace("\\", "/").rsplit("/", 1)[-1]


def capital(text: str) -> str:
    """The text with its first letter capitalised, for titles.

    Examples:
        >>> capital("fair F1")
        'Fair F1'
    """
    return "OOV" + text[3:] if text.startswith("oov ") else text[:1].upper() + text[1:]


def study_score(analyses: Analyses) -> str:
    """The score that the analyses of a study are about, in words."""
    score = analyses.score or "f1"
    return STUDY_SCORES.get(score, score)


def defined(value: object) -> bool:
    """Whether a value in the document is a number: neither null nor NaN."""
    return isinstance(value, int) or (isinstance(value, float) and not math.isnan(value))


def points(value: float | None, places: int = 1) -> str:
    """A fraction in points with one decimal; `n/a` if undefined.

    Examples:
        >>> points(0.9216), points(-0.0123), points(None), points(0.9216, 2)
        ('92.2', '−1.2', 'n/a', '92.16')
    """
    if value is None or not defined(value):
        return UNDEFINED
    text = f"{100 * value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", MINUS)


def signed(value: float | None, places: int = 1) -> str:
    """A difference of fractions in points with its sign; no sign if it rounds to zero.

    Examples:
        >>> signed(0.0131), signed(-0.02), signed(-0.0001), signed(None)
        ('+1.3', '−2.0', '0.0', 'n/a')
        >>> signed(0.0131, 2), signed(0.2, 0)
        ('+1.31', '+20')
    """
    if value is None or not defined(value):
        return UNDEFINED
    text = f"{100 * abs(value):.{places}f}"
    if float(text) == 0:
        return text
    return ("+" if value > 0 else MINUS) + text


def count(value: float | None) -> str:
    """A count with thousands separators; halves (focus "both") keep their decimal.

    Examples:
        >>> count(5204), count(2.5), count(None)
        ('5,204', '2.5', 'n/a')
    """
    if value is None or not defined(value):
        return UNDEFINED
    return f"{int(value):,}" if value == int(value) else f"{value:,.1f}"


def plural(number: float, noun: str) -> str:
    """`1 sentence`, `3,120 sentences`."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def interval(ends: Sequence[float | None] | None, places: int = 1) -> str:
    """Both ends of an interval in points; empty if there is none.

    Examples:
        >>> interval([0.915, 0.929]), interval(None), interval([0.915, 0.9291], 2)
        ('91.5–92.9', '', '91.50–92.91')
    """
    if not ends or not all(defined(end) for end in ends):
        return ""
    return f"{points(ends[0], places)}–{points(ends[1], places)}"


def signed_interval(ends: Sequence[float | None] | None, places: int = 1) -> str:
    """Both ends of the interval of a difference, with signs.

    Examples:
        >>> signed_interval([-0.004, 0.021])
        '−0.4 to +2.1'
    """
    if not ends or not all(defined(end) for end in ends):
        return ""
    return f"{signed(ends[0], places)} to {signed(ends[1], places)}"


LATER = "later: found on the mentions that remain after removing the slices above, without its own p-value"
SELECTED = "A slice is listed because it scored low, so its score is somewhat too low (by about 3 points)."


def none_found(tested: int, what: str, level: float) -> str:
    """What a search that lists nothing says: nothing was found, which does not mean that nothing is there.

    Examples:
        >>> none_found(45, "weak slice", 0.05)
        'No weak slice was found among 45 slices tested at a family-wise error rate of 5 %.'
    """
    tests = plural(tested, "slice")
    return f"No {what} was found among {tests} tested at a family-wise error rate of {100 * level:g} %."


def listed_p(p: float | None) -> str:
    """The p-value of a slice in a list; only the first slice has one.

    Examples:
        >>> listed_p(0.0312), listed_p(None)
        ('0.031', 'later')
    """
    return "later" if p is None else p_value(p)


def later_note(p_values: Iterable[float | None]) -> str:
    """The explanation of `later` for a list of slices; empty if none of them needs it."""
    return LATER if any(p is None for p in p_values) else ""


def small_p(p: float | None) -> str:
    """A p-value that shows its magnitude even when it is tiny.

    Examples:
        >>> small_p(0.0000312), small_p(0.0312), small_p(0.0)
        ('3.1×10⁻⁵', '0.031', '0')
    """
    if p is None or not defined(p) or p >= 0.001:
        return p_value(p)
    if not p:
        return "0"
    digits, _, exponent = f"{p:.1e}".partition("e-")
    return f"{digits}×10⁻{exponent.lstrip('0').translate(_RAISED)}"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def correlation(value: float | None) -> str:
    """A rank correlation with two decimals and its sign.

    Examples:
        >>> correlation(0.8), correlation(-0.333), correlation(None)
        ('+0.80', '−0.33', 'n/a')
    """
    if value is None or not defined(value):
        return UNDEFINED
    text = f"{abs(value):.2f}"
    return text if text == "0.00" else ("+" if value > 0 else MINUS) + text


def plain(value: float | None) -> str:
    """A number that is not a score, with about three significant digits.

    Examples:
        >>> plain(1.875), plain(0.00042), plain(24.31), plain(3120.0)
        ('1.88', '0.00042', '24.3', '3,120')
    """
    if value is None or not defined(value):
        return UNDEFINED
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(value: float | None) -> str:
    """A share as a percentage, such as `46.4%`."""
    return UNDEFINED if value is None or not defined(value) else f"{100 * value:.1f}%"


def spread(mean: float | None, std: float | None, places: int = 1) -> str:
    """A mean over runs with its sample standard deviation, in points.

    Examples:
        >>> spread(0.9216, 0.004), spread(0.9216, None)
        ('92.2 ±0.4', '92.2')
    """
    if std is None or not defined(std):
        return points(mean, places)
    return f"{points(mean, places)} ±{points(std, places)}"


def attribute(name: str, *, short: bool = False) -> str:
    """The name of an attribute in words, or its short name from the papers.

    Examples:
        >>> attribute("entity_length"), attribute("entity_length", short=True)
        ('entity length', 'eLen')
    """
    return (short and short_name(name)) or visible(name).replace("_", " ")


def short_name(name: str) -> str:
    """The short name of an attribute in the papers; empty if it has none."""
    from spanwise.attributes import ATTRIBUTES

    return next(iter(ATTRIBUTES.aliases(name)), "")


def bucket(edges: BucketEdges) -> str:
    """What a bucket holds, in words: its interval, its single value, or its category.

    Examples:
        >>> bucket(BucketEdges(name="XL", label="≥ 4", low=3, high=None))
        '≥ 4'
        >>> bucket(BucketEdges(name="S", low=0.25, high=0.5)), bucket(BucketEdges(name="XS", low=1, high=1))
        ('(0.25, 0.5]', '1')
    """
    if edges.label:
        return visible(edges.label)
    if edges.is_category:
        return visible(edges.value)
    low, high = given(edges.low), given(edges.high)
    if low is None and high is None:
        return visible(edges.name)
    if low is None:
        return f"up to {plain(high)}"
    if high is None:
        return f"over {plain(low)}"
    return plain(low) if low == high else f"({plain(low)}, {plain(high)}]"


def upper_bound(contents: str) -> str:
    """What a bucket holds, when listed after the lower ones: only the upper end of an interval.

    Examples:
        >>> upper_bound("(0, 0.67]"), upper_bound("(0.67, 1)")
        ('≤ 0.67', '< 1')
        >>> upper_bound("≥ 4")
        '≥ 4'
    """
    _, comma, end = contents.partition(", ")
    if not (comma and contents.startswith("(") and contents.endswith((")", "]"))):
        return contents
    return f"{'≤' if end.endswith(']') else '<'} {end[:-1]}"


def slice_title(kind: str, name: str, title: str | None = None) -> str:
    """A slice in plain words."""
    if kind == "label":
        return f"label is {visible(name)}"
    if kind == "tough":
        return tough(name)
    return _plain_title(title or name)


def tough(subset: str) -> str:
    """A tough subset in words."""
    return _SUBSETS.get(subset, visible(subset))


def _plain_title(title: str) -> str:
    """A title from the document without underscores, and without `=` before a comparison sign.

    Examples:
        >>> _plain_title("entity_length = ≥ 4"), _plain_title("entity_length = 2")
        ('entity length ≥ 4', 'entity length = 2')
    """
    words = visible(title).replace("_", " ")
    for sign in "≤≥<>":
        words = words.replace(f" = {sign}", f" {sign}")
    return words


def bucket_contents(systems: Iterable[SystemScores]) -> dict[tuple[str, str], str]:
    """What each bucket of each attribute holds, in words; the same for all systems."""
    return {
        (name, edges.name): bucket(edges)
        for system in systems
        for name, table in system.attributes.items()
        for edges in table.buckets
    }


def path_title(path: Sequence[str], contents: Mapping[tuple[str, str], str] | None = None) -> str:
    """The path of a score in words; with `contents`, a bucket is named by what it holds.

    Examples:
        >>> path_title(["exact", "labels", "PER", "f1"]), path_title(["tough", "SEEN", "overall", "recall"])
        ('label PER, F1', 'seen in training, recall')
        >>> path_title(["attributes", "entity_length", "XL", "f1"]), path_title(["gains", "LE", "gain"])
        ('entity length XL, F1', 'F1 lost to wrong label')
        >>> path_title(["attributes", "entity_length", "XL", "f1"], {("entity_length", "XL"): "≥ 4"})
        'entity length ≥ 4, F1'
    """
    head, *rest = [visible(part) for part in path]
    score = SCORES.get(rest[-1], rest[-1]) if rest else ""
    if head == "gains":
        return f"F1 lost to {OUTCOMES.get(rest[0], rest[0])}"
    if head == "tough":
        where = tough(rest[0])
        return f"{where}, {score}" if rest[1] == "overall" else f"{where}, label {rest[-2]}, {score}"
    if head == "attributes":
        holds = (contents or {}).get((path[1], path[2]))
        where = rest[1] if holds is None else f"in {holds}" if holds.startswith("(") else f"= {holds}"
        return f"{_plain_title(f'{rest[0]} {where}')}, {score}"
    if rest[:1] == ["labels"]:
        return f"label {rest[1]}, {score}" if head == "exact" else f"label {rest[1]}, {head} {score}"
    if rest[:1] == ["overall"]:
        return score if head == "exact" else f"{head} {score}"
    return " ".join((*([] if head == "exact" else [head]), *rest[:-1], score))


def part_words(path: Sequence[str], contents: Mapping[tuple[str, str], str] | None = None) -> str:
    """The mentions that a score in the document is about, in words; a bucket by what it holds.

    Examples:
        >>> part_words(["tough", "UNSEEN-TOKENS", "overall", "recall"])
        'mentions never seen'
        >>> part_words(["attributes", "entity_length", "XL", "f1"], {("entity_length", "XL"): "≥ 4"})
        'mentions of entity length ≥ 4'
        >>> part_words(["exact", "labels", "ORG", "f1"])
        'the label ORG'
    """
    head, name = path[0], path[1]
    if head == "tough":
        return f"mentions {tough(name)}"
    if head == "attributes":
        holds = (contents or {}).get((name, path[2]), path[2])
        return f"mentions of {attribute(name)} {visible(holds)}"
    return f"the label {visible(path[2])}" if name == "labels" else path_title(path)


def slice_score(row: WeakSlice, system: SystemScores) -> str:
    """The name of a slice's score, preceded by the unit unless it counts mentions."""
    table = system.attributes.get(row.attribute or "")
    score = SCORES.get(row.score, row.score)
    return score if table is None or table.unit == "mention" else f"{table.unit} {score}"


def finding(item: Finding) -> str:
    """A finding as a sentence with its number and its count."""
    headline, rest = finding_parts(item)
    end = "" if item.kind == "alias" else "."  # a full stop would be copied along with the option
    return f"{headline}: {rest}{agreement(item)}{end}"


def agreement(item: Finding) -> str:
    """How many runs show a finding, and which run its numbers are from; empty for a single run.

    Examples:
        >>> agreement(Finding(kind="gain", system="a", score="f1", value=0.3, count=64, path=(), filter={},
        ...     run="2", runs=(2, 3)))
        ' (in 2 of 3 runs; these are the numbers of run 2)'
    """
    if not item.runs or not item.run:
        return ""
    showing, runs = item.runs
    return f" (in {showing} of {runs} runs; these are the numbers of run {visible(item.run)})"


def finding_parts(finding: Finding) -> tuple[str, str]:
    """A finding as a headline and the numbers behind it.

    Examples:
        >>> finding_parts(Finding(kind="gain", system="crf", score="f1", value=0.028, count=148,
        ...     path=("gains", "LE", "gain"), filter={}))
        ('wrong labels cost crf the most', '2.8 F1 in 148 errors')
    """
    system = visible(finding.system or "")
    match finding.kind:
        case "gain":
            kind = _COSTLY.get(finding.path[1], "errors")
            errors = plural(int(finding.count or 0), "error")
            if finding.ties:
                kind = either([kind, *map(costly, finding.ties)])
            return f"{kind} cost {system} the most", f"{points(finding.value)} F1 in {errors}"
        case "tough":
            name = finding.path[1]
            return f"{_HARD.get(name, visible(name))} are hard for {system}", _against(
                finding, "on seen ones"
            )
        case "slice":
            return f"{system} is weak where {_weak_part(finding)}", _against(finding, "overall") + tested(
                finding
            )
        case "lead":
            return _lead(finding)
        case "data":
            return "check the data", _odd(finding)
        case "alias":
            return alias_parts(finding)
        case "truncation":
            return truncation_parts(finding)


def truncation_parts(finding: Finding) -> tuple[str, str]:
    """The token after which recall drops, and what that may mean.

    Examples:
        >>> truncation_parts(Finding(kind="truncation", system=None, score="recall", value=0.516,
        ...     against=0.886, count=45, mentions=93, title="384", path=("truncation", "document"),
        ...     filter={}))[0]
        'recall drops after token 384 (88.6 → 51.6)'
    """
    drop = f"{points(given(finding.against))} → {points(finding.value)}"
    whose = f"{visible(finding.system)}: " if finding.system else ""
    missed = f"{count(finding.count)} of {plural(int(given(finding.mentions) or 0), 'mention')}"
    return (
        f"{whose}recall drops after token {finding.title} ({drop})",
        f"truncated input? {missed} after it in their {finding.path[-1]} are missed",
    )


def tested(finding: Finding) -> str:
    """The corrected p-value of a weak slice, and over how many slices it is corrected; empty without a test.

    Examples:
        >>> tested(Finding(kind="slice", system="a", score="f1", value=0.1, count=9, path=(), filter={},
        ...     p=0.004, among=18))
        '; p = 0.004, corrected over 18 slices'
    """
    p, among = given(finding.p), given(finding.among)
    return "" if p is None or among is None else f"; {_chance(p)}, corrected over {plural(among, 'slice')}"


def _chance(p: float | None) -> str:
    """A p-value with its sign, as in `p = 0.012`."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def alias_parts(finding: Finding) -> tuple[str, str]:
    """A predicted label that gold does not have, and the option that maps it to the gold label it stands for.

    Examples:
        >>> alias_parts(Finding(kind="alias", system=None, score=None, value=52, count=57, filter={},
        ...     path=("confusion", "pairs", "LE", "location", "LOC")))[1]
        '--map LOC=location'
    """
    gold, label = map(visible, finding.path[-2:])
    whose = f" of {visible(finding.system)}" if finding.system else ""
    number = plural(int(finding.count or 0), "prediction")
    told = f"{number}{whose} are labeled {label}, which gold does not have"
    return f"{told}; {count(finding.value)} of them are exactly a gold {gold}", f"--map {_map(finding.path)}"


def _map(path: Sequence[str]) -> str:
    """The argument of --map for a predicted and a gold label, quoted for a shell where needed."""
    return visible(shlex.quote(f"{path[-1]}={path[-2]}"))


_HARD = {"UNSEEN-ANY": "mentions unseen with their label", "UNSEEN-TOKENS": "mentions never seen in training"}

_COSTLY = {
    "LE": "wrong labels",
    "BE": "wrong boundaries",
    "LBE": "wrong labels with wrong boundaries",
    "FN": "missed mentions",
    "FP": "spurious mentions",
}


def costly(kind: object) -> str:
    """A kind of error in words, in the plural."""
    return _COSTLY.get(str(kind), "other errors")


def either(names: Sequence[str], word: str = "or") -> str:
    """Several names as alternatives, or joined by another word.

    Examples:
        >>> either(["missed mentions", "wrong labels", "wrong boundaries"])
        'missed mentions, wrong labels or wrong boundaries'
    """
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _against(finding: Finding, what: str) -> str:
    words = f"{SCORES.get(str(finding.score), visible(finding.score))} {points(finding.value)}"
    if defined(finding.against):
        words += f", against {points(given(finding.against))} {what}"
    number = given(finding.mentions) if finding.mentions is not UNSET else finding.count
    return words + (f" ({plural(number, 'mention')})" if isinstance(number, int) else "")


def _lead(finding: Finding) -> tuple[str, str]:
    leader, other = visible(finding.system), visible(finding.other or "the next")
    overall, score = given(finding.overall), SCORED[finding.primary or "f1"]
    margin, chance = points(finding.value if overall is None else overall), _chance(given(finding.p))
    if not finding.significant:
        return (
            f"{leader} and {other} cannot be told apart",
            f"{leader} is ahead by {margin} {score}, {chance}",
        )
    words = f"{margin} {score}, {chance}"
    path = finding.path
    if finding.even:
        gain = f"{signed(finding.value)} {SCORES.get(path[-1], path[-1])} on {_mentions(path)}"
        loss = f"{signed(given(finding.loss))} {SCORES.get(finding.loses[-1], finding.loses[-1])}"
        return parts_differ(finding), f"{leader} has {gain}, {loss} on {_mentions(finding.loses)}"
    if path and path not in PRIMARY.values():
        gain = f"{signed(finding.value)} {SCORES.get(path[-1], path[-1])}"
        words += f"; significantly so on {_mentions(path)}, {gain}"
    if finding.loses:
        words += f"; {other} is better on {_mentions(finding.loses)}"
    return f"{leader} is better than {other}", words


def parts_differ(finding: Finding) -> str:
    """That two systems differ in both directions on parts of the data, and what the test says overall."""
    leader, other = visible(finding.system), visible(finding.other or "the next")
    overall, p = given(finding.overall), given(finding.p)
    if overall and p is not None and p < LEVEL:
        better, worse = (leader, other) if overall > 0 else (other, leader)
        by = f"{points(abs(overall))} {SCORED[finding.primary or 'f1']}"
        return f"{better} is better than {worse} by {by} overall, but not on all parts of the data"
    return f"{leader} and {other} cannot be told apart overall, but differ on parts of the data"


def _mentions(path: Sequence[str]) -> str:
    """The mentions that a score in the document is about, in words."""
    head, name = path[0], visible(path[1])
    if head == "tough":
        return f"mentions {tough(name)}"
    if head == "attributes":
        return f"mentions of {attribute(name)} {visible(path[2])}"
    return f"label {visible(path[2])}" if name == "labels" else path_title(path)


_ODD = {
    "repairs": "impossible tag",
    "duplicates_with_train": "test sentence",
    "changed_tokens": "token",
    "unplaced": "predicted mention",
    "notes": "note",
}
_ODD_WHAT = {
    "repairs": "repaired",
    "duplicates_with_train": "also in training",
    "changed_tokens": "unlike gold",
    "unplaced": "without a place",
    "notes": "on the files",
}


def _odd(finding: Finding) -> str:
    parts = [
        f"{plural(number, _ODD.get(key, key))} {_ODD_WHAT.get(key, '')}".strip()
        for key, number in (finding.of or {}).items()
    ]
    units = given(finding.few_units)
    if units is not None:
        parts.append(f"only {plural(units, 'unit')}, so intervals are unreliable")
    return ", ".join(parts) or count(finding.value)


def _weak_part(finding: Finding) -> str:
    chosen = finding.filter
    if "gold" in chosen:
        return f"the label is {visible(chosen['gold'])}"
    if finding.title:
        return _plain_title(finding.title)
    if "attribute" in chosen and "bucket" in chosen:
        return f"{attribute(chosen['attribute'])} is {visible(chosen['bucket'])}"
    return "it is measured"


def carried(systems: Mapping[str, SystemScores], unit: str) -> list[str]:
    """A sentence each on whose overall score, and whose errors, few units carry."""
    overall = {name: system.exact.overall for name, system in systems.items()}
    carrying = {
        "score": [name for name, cell in overall.items() if given(cell.carried_by) is not None],
        "errors": [name for name, cell in overall.items() if given(cell.errors_carried_by) is not None],
    }
    return [
        f"few {unit}s carry the {what} of {', '.join(map(visible, names))}: the interval is unreliable"
        for what, names in carrying.items()
        if names
    ]
