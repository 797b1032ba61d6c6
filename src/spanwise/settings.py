"""The settings of `evaluate` and `read`, each declared once.

Command-line flags, the keys of a study's manifest, the checks of values, the parts of a signature and the
options named in messages are all derived from these records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from spanwise.errors import ChoiceError, unknown

if TYPE_CHECKING:
    from spanwise.document import Settings as Kept

Bounds = tuple[Callable[[Any], bool], str]  # whether a value is allowed, and the allowed values in words
CONFIDENCE = 0.95  # default level of intervals
CORRECTION = "holm"  # default correction of p-values
CAP = 10_000  # the default maximum number of sentences in a document
MOST_DRAWS = 1_000_000  # the maximum number of resamples or sign flips


# Not a Struct: `--help` needs these records, and importing msgspec would take longer than all of them.
class Setting(NamedTuple):
    """One keyword, with its flag, its check, its key in a manifest and its part of the signature."""

    name: str
    help: str = ""
    group: Literal["compute", "show", "preset", "read"] = "compute"
    type: Callable[..., object] = str  # of the flag; bool: a switch, list: may be repeated
    default: object = None  # of the flag
    usual: object = None  # the value used if none is given and the flag has no default
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    noun: str = ""  # what one of its choices is called in messages
    also: Callable[[Any], bool] | None = None  # further values that are allowed
    whole: bool = False  # must be a whole number
    bounds: Bounds | None = None
    toml: object = None  # the type of its key in a manifest; None: no such key
    signed: Callable[[Kept], str] | None = None  # its part of the signature; may be empty
    flag: str = ""  # if it differs from the name
    keyword: bool = True  # False: only a flag, from which other keywords are derived
    often: bool = False  # one of the ten options that `--help` shows; `--help-all` shows the others too

    @property
    def option(self) -> str:
        """The command-line flag."""
        return f"--{self.flag or self.name.replace('_', '-')}"

    @property
    def default_value(self) -> object:
        """The value used if none is given; None if it depends on the data."""
        return self.usual if self.default is None else self.default

    @property
    def per_dataset(self) -> bool:
        """Whether each dataset of a study may have its own value, as for reading and aligning files."""
        return self.group == "read" or self.name == "align"

    def check(self, value: object) -> None:
        """Raise `ChoiceError` for a value that the keyword does not accept.

        Examples:
            >>> SETTINGS["seed"].check(-1)
            Traceback (most recent call last):
                ...
            spanwise.errors.ChoiceError: seed is -1, but must be 0 or more.
        """
        if self.choices and self.noun and value not in self.choices and not (self.also and self.also(value)):
            raise unknown(self.noun, value, self.choices)
        if self.whole and not isinstance(value, Integral):
            raise ChoiceError(f"{self.name} is {value!r}, but must be a whole number.")
        if self.bounds is not None and not self.bounds[0](value):
            raise ChoiceError(f"{self.name} is {value!r}, but must be {self.bounds[1]}.")


def column(text: str) -> int | str:
    """A column given as a number or a name."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def listed(text: str) -> list[str]:
    """A list of names separated by commas."""
    return [name.strip() for name in text.split(",")]


def numbers(text: str) -> list[float]:
    """A list of numbers separated by commas."""
    return [float(number) for number in text.split(",")]


def _is_score(name: object) -> bool:
    from spanwise.rates import is_rate  # loads msgspec, which `--help` must not

    return isinstance(name, str) and is_rate(name)


def _interval(kept: Kept) -> str:
    return f"ci:{'logit-t' if kept.resamples else 'none'}.{kept.unit}{kept.block or ''}"


def _attributes(kept: Kept) -> str:
    cuts = "+".join(f"{name}[{kept.buckets[name]}]" for name in kept.attributes)
    return f"attributes:{cuts}" if cuts else ""


_DECLARED = (
    Setting(
        "train", "training data; may be repeated", type=list, metavar="FILE", often=True,
    ),
    Setting("name", "what to call the dataset; by default the gold file's stem"),
    Setting(
        "matcher", "how mentions are paired to name errors, see 'list matchers' (default: fair)",
        default="fair", metavar="NAME", toml=str,
        signed=lambda kept: f"match:exact+{kept.matcher or default_value('matcher')}",
    ),
    Setting(
        "focus", "the label under which errors count (default: gold; both: half each)",
        default="gold", choices=("gold", "predicted", "both"), noun="focus", toml=str,
        signed=lambda kept: f"focus:{kept.focus}",
    ),
    Setting(
        "weights",
        "a further credit: ortmann-eq6, ortmann-eq7, or a formula 'BE = 0.5 TP + 0.25 FP + 0.25 FN'",
        type=list, default=(), metavar="CREDIT", toml=list[object] | str,
        signed=lambda kept: "weights:" + "+".join(kept.credits) if kept.credits else "",
    ),
    Setting(
        "attributes", "names separated by commas, or fu20 (default), fu19, all, none",
        usual="fu20", metavar="NAMES", toml=str | list[object], signed=_attributes,
    ),
    Setting(
        "attribute", "an attribute that comes with the data: NAME=column:N or NAME=field:NAME",
        type=list, default=(), metavar="NAME=column:N", keyword=False,
    ),
    Setting(
        "buckets",
        "how to bucket an attribute: entity_length=1,2,3 or sentence_length=balanced:6; may be repeated",
        type=list, default=(), metavar="ATTRIBUTE=HOW", toml=dict[str, object],
    ),
    Setting("edges", "use the buckets that --save-edges wrote", metavar="FILE"),
    Setting(
        "cross", "cross the buckets of two attributes", type=list, default=(), metavar="A,B",
        toml=list[object],
    ),
    Setting(
        "vocabulary", "known words, one per line, to recognise out-of-vocabulary words", metavar="FILE",
        signed=lambda kept: "" if kept.vocabulary is None else f"vocabulary:{kept.vocabulary}",
    ),
    Setting(
        "lowercase", "lower-case strings when computing attributes", type=bool, default=False, toml=bool,
        signed=lambda kept: "lowercase" if kept.lowercase else "",
    ),
    Setting(
        "resamples", "bootstrap resamples (default: 1000; 0: none)",
        type=int, default=1000, whole=True, toml=int,
        bounds=(lambda value: 0 <= value <= MOST_DRAWS, f"between 0 and {MOST_DRAWS:,}"),
    ),
    Setting(
        "seed", "random seed of the resampling (default: 0)", type=int, default=0, whole=True, toml=int,
        bounds=(lambda value: value >= 0, "0 or more"), signed=lambda kept: f"seed:{kept.seed}",
    ),
    Setting(
        "confidence", f"confidence level of the intervals (default: {CONFIDENCE})",
        type=float, default=CONFIDENCE, toml=float,
        bounds=(lambda value: 0.5 <= value < 1, "at least 0.5 and below 1"),
        signed=lambda kept: f"conf:{kept.confidence}",
    ),
    Setting(
        "unit", "what intervals and tests treat as independent: sentence, document, or block:N (sentences)",
        metavar="UNIT", often=True, toml=str, signed=_interval,
    ),
    Setting(
        "correction", f"correction of p-values within a family (default: {CORRECTION})",
        default=CORRECTION, choices=("holm", "bh"), noun="correction", toml=str,
    ),
    Setting(
        "primary",
        "the score that the primary question is about: f1 (default), precision, recall, macro, fair, "
        "or an F-beta such as f2",
        default="f1", choices=("f1", "precision", "recall", "macro", "fair"), noun="primary score", toml=str,
        also=_is_score, metavar="SCORE",
        signed=lambda kept: f"primary:{kept.primary}" if kept.primary else "",
    ),
    Setting(
        "beta", "the F-betas to report besides F1: 2, or 0.5,2", type=numbers, default=(), metavar="BETA",
        toml=float | list[float],
        signed=lambda kept: "beta:" + "+".join(f"{beta:g}" for beta in kept.beta) if kept.beta else "",
    ),
    Setting(
        "hierarchy", "score every level of a hierarchy of labels: a TOML file with label = \"path/to/it\"",
        metavar="FILE", toml=str | dict[str, object],
        signed=lambda kept: f"hierarchy:{kept.signed_hierarchy}" if kept.signed_hierarchy else "",
    ),
    Setting(
        "hierarchy_separator",
        "what separates the steps of a hierarchy (/); without --hierarchy, the labels are paths themselves",
        metavar="TEXT", toml=str,
    ),
    Setting(
        "spacy",
        "run a spaCy pipeline on gold's texts; a model folder is a program: run those you trust",
        type=list, default=(), metavar="FOLDER", often=True,
    ),
    Setting(
        "hf", "run a Transformers token classifier in a local folder (safetensors only)",
        type=list, default=(), metavar="FOLDER", often=True,
    ),
    Setting(
        "trust", "with --spacy: run a pipeline that has code of its own", type=bool, default=False,
    ),
    Setting(
        "silver", "a judge's annotation of all units, of which gold covers a random sample", metavar="FILE",
    ),
    Setting(
        "random_sample", "the gold units were drawn at random from all units, which --silver requires",
        type=bool, default=False,
    ),
    Setting(
        "memory",
        "evaluate in parts that need about this much memory, such as 512MB (default: parts of 1GB if "
        "files are large); does not change any number",
        metavar="SIZE",
    ),
    Setting(
        "workers",
        "number of processes (default: one per core, if files are large); "
        "does not change any number",
        type=int, metavar="N",
    ),
    Setting(
        "align", "what to do if the tokens of predictions and gold differ (default: strict, an error)",
        default="strict", choices=("strict", "position", "characters", "diff"), toml=str,
        signed=lambda kept: f"align:{kept.align}",
    ),
    Setting(
        "examples", "the sentences to include in the document and the page (default: errors)", "show",
        default="errors", choices=("errors", "all", "none"), noun="policy for examples", toml=str,
    ),
    Setting(
        "examples_cap", "the maximum number of sentences to include", "show", int, CAP, whole=True, toml=int,
        bounds=(lambda value: value >= 0, "0 or more"),
    ),
    Setting("redact", "leave out all text", "show", bool, False),
    Setting(
        "preset", "the bucket figures of the program released with Fu, Liu and Neubig (2020)", "preset",
        choices=("interpreteval",),
    ),
    Setting(
        "switched_off", "a quirk of the preset to switch off; may be repeated", "preset",
        type=list, default=(), metavar="SWITCH", flag="switch-off",
    ),
    # How files are read.
    Setting("format", "the format, as 'list formats' names it", "read", metavar="NAME", toml=str, often=True),
    Setting(
        "token_column", "the column of the tokens, a number from 0 or a name (default: 0)", "read", column,
        metavar="COLUMN", toml=int | str,
    ),
    Setting(
        "tag_column", "the column of the tags (default: -1, the last)", "read", column,
        metavar="COLUMN", toml=int | str,
    ),
    Setting(
        "separator", "what separates columns (default: detected)", "read", choices=("tab", "blank"), toml=str
    ),
    Setting(
        "scheme", "the tag scheme, as 'list schemes' names it, or bare or token for tasks without labels",
        "read", metavar="NAME", toml=str,
    ),
    Setting(
        "repair", "what to do with impossible tags (default: conlleval; none: an error)", "read",
        usual="conlleval", choices=("conlleval", "discard", "none"), toml=str,
        signed=lambda kept: f"repair:{kept.repair}",
    ),
    Setting(
        "comments", "skip lines that begin with MARK, such as '#'", "read", metavar="MARK", toml=str
    ),
    Setting(
        "duplicates", "what to do with a mention that occurs twice (default: error)", "read",
        choices=("error", "drop"), toml=str,
    ),
    Setting(
        "labels", "the tags that numbers stand for, in order: O,B-PER,I-PER", "read", listed,
        metavar="TAG,TAG", toml=list[object],
    ),
    Setting(
        "documents", "the field that names a sentence's document; none: ignore documents", "read",
        metavar="FIELD", toml=str,
    ),
    Setting(
        "annotator", "whose annotation to read, if several people annotated the same texts", "read",
        metavar="NAME", toml=str,
    ),
    Setting("encoding", "the encoding of the text (default: utf-8)", "read", metavar="NAME", toml=str),
    Setting(
        "map", "what labels stand for: 'GPE=LOC,JUNK=' (nothing: left out), or a TOML file", "read",
        metavar="MAP", toml=str | dict[str, object], often=True,
        signed=lambda kept: f"labels:{kept.label_rules}" if kept.label_rules else "",
    ),
    Setting(
        "predicted_map", "the same for the labels of predictions alone, before --map", "read", metavar="MAP",
        toml=str | dict[str, object],
    ),
    Setting(
        "only", "the labels to keep, after mapping: PER,LOC", "read", listed, metavar="LABELS",
        toml=str | list[object],
    ),
    Setting(
        "without", "the labels to leave out, after mapping: MISC", "read", listed, metavar="LABELS",
        toml=str | list[object],
    ),
    Setting(
        "limits", "raise a limit on input files: labels, nested, unpacked (bytes) or values",
        "read", dict, metavar="NAME=NUMBER", flag="limit",
    ),
    # These have no flags: --attribute sets them.
    Setting("columns", group="read", toml=dict[str, object]),
    Setting("fields", group="read", toml=dict[str, object]),
)  # fmt: skip

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _DECLARED}


def default_value(name: str) -> Any:
    """The value of a setting if none is given."""
    return SETTINGS[name].default_value


# The parts of a signature in the order of published signatures; any others follow.
_FIRST = ("matcher", "focus", "scheme", "repair", "align", "unit", "confidence", "seed", "correction")
_NEXT = ("attributes", "weights", "lowercase", "vocabulary")


def signed_parts(kept: Kept, others: Mapping[str, str]) -> list[str]:
    """The parts of a signature; `others` are those that combine several settings."""
    parts = {
        setting.name: setting.signed(kept) for setting in SETTINGS.values() if setting.signed is not None
    }
    parts |= others
    order = dict.fromkeys([*_FIRST, *_NEXT, *parts])
    return [parts[name] for name in order if parts.get(name)]


# Keywords of other functions that occur in messages.
_OTHERS = (
    "answers",
    "root",
    "against",
    "fail_under",
    "fail_drop",
    "not_worse_than",
    "floor_bound",
    "score_column",
    "missing",
    "precision",
    "over",
    "depth",
    "least",
    "level",
    "flips",
    "policy",
    "threshold",
    "response",
    "sample",
    "prompt_unit",
    "votes",
    "tokens",
    "top",
)


def in_options(text: str) -> str:
    """An error message of the library with its keywords written as command-line options.

    Examples:
        >>> in_options('Name its encoding, such as encoding="latin-1".')
        'Name its encoding, such as --encoding latin-1.'
        >>> in_options("examples_cap is -1, but must be 0 or more.")
        '--examples-cap is -1, but must be 0 or more.'
    """
    keywords = "|".join(name for name in (*SETTINGS, *_OTHERS) if name != "name")  # as in name=path

    def option(match: re.Match[str]) -> str:
        name = f"--{match[1].replace('_', '-')}"
        value = "".join(filter(None, match.groups()[1:]))
        return f"{name} {value}" if value else name

    text = re.sub(rf"""\b({keywords})=(?!\{{)(?:"([^"]*)"|'([^']*)'|(-?\d+))?""", option, text)
    text = text.replace("trust=True", "--trust")
    text = re.sub(r"limits=\{'(\w+)': …\}", r"--limit \1=N", text).replace("lossy=True", "--lossy")
    return re.sub(rf"\A({keywords})(?= (?:is|asks|needs|names|maps|has) )", option, text)
