"""The options of the public functions, each declared once.

Command-line flags and their help, the keys of a study's manifest, the checks of values, the parts of a
signature and the options named in messages are all derived from these records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from spanwise.errors import ChoiceError, unknown

if TYPE_CHECKING:
    from spanwise.document import Settings as Kept

Group = Literal["compute", "show", "preset", "read"]
Bounds = tuple[Callable[[Any], bool], str]  # whether a value is allowed, and the allowed values in words
CONFIDENCE = 0.95  # default level of intervals
CORRECTION = "holm"  # default correction of p-values
CAP = 10_000  # the default maximum number of sentences in a document
MOST_DRAWS = 1_000_000  # the maximum number of resamples or sign flips


# Not a Struct: `--help` needs these records, and importing msgspec would take longer than all of them.
class Setting(NamedTuple):
    """One option: a keyword with its flag, its check, its key in a manifest and its part of the signature."""

    name: str
    help: str = ""
    default: object = None  # of the flag
    type: Callable[..., object] | None = (
        None  # of the flag, by default that of `default`; list: may be repeated
    )
    group: Group = "compute"  # of the settings of `evaluate`
    usual: object = None  # the value used if none is given and the flag has no default
    metavar: str | None = None
    choices: tuple[Any, ...] = ()
    noun: str = ""  # what one of its choices is called in messages
    also: Callable[[Any], bool] | None = None  # further values that are allowed
    whole: bool = False  # must be a whole number
    least: int | None = None  # must be a whole number of this or more
    bounds: Bounds | None = None
    toml: object = None  # the type of its key in a manifest; None: no such key
    signed: Callable[[Kept], str] | None = None  # its part of the signature; may be empty
    flags: tuple[str, ...] = ()  # if they differ from the name
    nargs: str | None = None  # how many values, if not one
    required: bool = False
    positional: bool = False  # an argument without a flag
    keyword: bool = True  # False: only a flag, from which keywords are derived
    often: bool = False  # one of the ten options that `--help` shows; `--help-all` shows the others too

    @property
    def option(self) -> str:
        """The command-line flag."""
        return self.flags[-1] if self.flags else f"--{self.name.replace('_', '-')}"

    @property
    def kind(self) -> Callable[..., object]:
        """The type of the flag; bool: a switch, list: may be repeated."""
        if self.type is not None:
            return self.type
        kind = type(self.default)
        return {type(None): str, tuple: list}.get(kind, kind)

    @property
    def repeated(self) -> bool:
        """Whether the flag may be given several times."""
        return self.kind is list or (self.kind is int and self.default == ())

    @property
    def default_value(self) -> object:
        """The value used if none is given; None if it depends on the data."""
        return self.usual if self.default is None else self.default

    @property
    def per_dataset(self) -> bool:
        """Whether each dataset of a study may have its own value, as for reading and aligning files."""
        return self.group == "read" or self.name == "align"

    def check(self, value: Any) -> None:
        """Raise `ChoiceError` for a value that the keyword does not accept.

        Examples:
            >>> SETTINGS["seed"].check(-1)
            Traceback (most recent call last):
                ...
            spanwise.errors.ChoiceError: seed is -1, but must be 0 or more.
        """
        if self.choices and self.noun and value not in self.choices and not (self.also and self.also(value)):
            raise unknown(self.noun, value, self.choices)
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if self.least is not None and not (is_whole and int(value) >= self.least):
            words = f"a whole number of {self.least} or more"
            raise ChoiceError(f"{self.name} is {value!r}, but must be {words}.")
        if self.whole and not is_whole:
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


_NATURAL: Bounds = (lambda value: value >= 0, "0 or more")
_POSITIVE: Bounds = (lambda value: value >= 1, "1 or more")
_SHARE: Bounds = (lambda value: 0 < value <= 1, "above 0 and at most 1")

_COMPUTE = (
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
        default=(), metavar="CREDIT", toml=list[object] | str,
        signed=lambda kept: "weights:" + "+".join(kept.credits) if kept.credits else "",
    ),
    Setting(
        "attributes", "names separated by commas, or fu20 (default), fu19, all, none",
        usual="fu20", metavar="NAMES", toml=str | list[object], signed=_attributes,
    ),
    Setting(
        "attribute", "an attribute that comes with the data: NAME=column:N or NAME=field:NAME",
        default=(), metavar="NAME=column:N", keyword=False,
    ),
    Setting(
        "buckets",
        "how to bucket an attribute: entity_length=1,2,3 or sentence_length=balanced:6; may be repeated",
        default=(), metavar="ATTRIBUTE=HOW", toml=dict[str, object],
    ),
    Setting("edges", "use the buckets that --save-edges wrote", metavar="FILE"),
    Setting(
        "cross", "cross the buckets of two attributes", default=(), metavar="A,B",
        toml=list[object],
    ),
    Setting(
        "vocabulary", "known words, one per line, to recognise out-of-vocabulary words", metavar="FILE",
        signed=lambda kept: "" if kept.vocabulary is None else f"vocabulary:{kept.vocabulary}",
    ),
    Setting(
        "lowercase", "lower-case strings when computing attributes", default=False, toml=bool,
        signed=lambda kept: "lowercase" if kept.lowercase else "",
    ),
    Setting(
        "resamples", "random draws of a test, at least (default: 1000; 0: no tests or intervals)",
        default=1000, whole=True, toml=int,
        bounds=(lambda value: 0 <= value <= MOST_DRAWS, f"between 0 and {MOST_DRAWS:,}"),
    ),
    Setting(
        "seed", "random seed of these draws (default: 0)", default=0, whole=True, toml=int,
        bounds=_NATURAL, signed=lambda kept: f"seed:{kept.seed}",
    ),
    Setting(
        "confidence", f"confidence level of the intervals (default: {CONFIDENCE})",
        default=CONFIDENCE, toml=float,
        bounds=(lambda value: value >= 0.5 and (1 + value) / 2 < 1, "at least 0.5 and below 1"),
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
        "an F-beta such as f2, or a score of another package",
        default="f1", choices=("f1", "precision", "recall", "macro", "fair"), noun="primary score", toml=str,
        also=_is_score, metavar="SCORE",
        signed=lambda kept: f"primary:{kept.primary}" if kept.primary else "",
    ),
    Setting(
        "beta", "the F-betas to report besides F1: 2, or 0.5,2", default=(), type=numbers, metavar="BETA",
        toml=float | list[float],
        signed=lambda kept: "beta:" + "+".join(f"{beta:g}" for beta in kept.beta) if kept.beta else "",
    ),
    Setting(
        "scores", "the scores of other packages to report, as 'list scores' names them", default=(),
        type=listed, metavar="NAMES", toml=str | list[object],
        signed=lambda kept: "scores:" + "+".join(one.name for one in kept.scores) if kept.scores else "",
    ),
    Setting(
        "spacy",
        "run a spaCy pipeline on gold's texts; a model folder is a program: run those you trust",
        default=(), metavar="FOLDER", often=True,
    ),
    Setting(
        "hf", "run a Transformers token classifier in a local folder (safetensors only)",
        default=(), metavar="FOLDER", often=True,
    ),
    Setting(
        "trust", "with --spacy: run a pipeline that has code of its own", default=False,
    ),
    Setting(
        "silver", "a judge's annotation of all units, of which gold covers a random sample", metavar="FILE",
    ),
    Setting(
        "random_sample", "the gold units were drawn at random from all units, which --silver requires",
        default=False,
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
        type=int, metavar="N", bounds=_POSITIVE,
    ),
    Setting(
        "align", "what to do if the tokens of predictions and gold differ (default: strict, an error)",
        default="strict", choices=("strict", "position", "characters", "diff"),
        noun="way to align", toml=str,
        signed=lambda kept: f"align:{kept.align}",
    ),
)  # fmt: skip
_SHOW = (
    Setting(
        "examples", "the sentences to include in the document and the page (default: errors)",
        default="errors", choices=("errors", "all", "none"), noun="policy for examples", toml=str,
    ),
    Setting(
        "examples_cap", "the maximum number of sentences to include", CAP, whole=True, toml=int,
        bounds=_NATURAL,
    ),
    Setting("redact", "leave out all text", False),
)  # fmt: skip
_PRESET = (
    Setting(
        "preset", "the figures of another program: interpreteval, released with Fu, Liu and Neubig (2020)",
        metavar="NAME",
    ),
    Setting(
        "switched_off", "a quirk of the preset to switch off; may be repeated", (),
        metavar="SWITCH", flags=("--switch-off",),
    ),
)  # fmt: skip
_READ = (
    Setting("format", "the format, as 'list formats' names it", metavar="NAME", toml=str, often=True),
    Setting(
        "token_column", "the column of the tokens, a number from 0 or a name (default: 0)", type=column,
        metavar="COLUMN", toml=int | str,
    ),
    Setting(
        "tag_column", "the column of the tags (default: -1, the last)", type=column,
        metavar="COLUMN", toml=int | str,
    ),
    Setting(
        "separator", "what separates columns (default: detected)", choices=("tab", "blank"),
        noun="separator", toml=str,
    ),
    Setting(
        "scheme", "the tag scheme, as 'list schemes' names it, or bare or token for tasks without labels",
        metavar="NAME", toml=str,
    ),
    Setting(
        "repair", "what to do with impossible tags (default: conlleval; none: an error)",
        usual="conlleval", choices=("conlleval", "discard", "none"), noun="repair", toml=str,
        signed=lambda kept: f"repair:{kept.repair}",
    ),
    Setting(
        "comments", "skip lines that begin with MARK, such as '#'", metavar="MARK", toml=str
    ),
    Setting(
        "duplicates", "what to do with a mention that occurs twice (default: error)",
        choices=("error", "drop"), noun="way to treat duplicates", toml=str,
    ),
    Setting(
        "labels", "the tags that numbers stand for, in order: O,B-PER,I-PER", type=listed,
        metavar="TAG,TAG", toml=list[str],
    ),
    Setting(
        "documents", "the field that names a sentence's document; none: ignore documents",
        metavar="FIELD", toml=str,
    ),
    Setting(
        "annotator", "whose annotation to read, if several people annotated the same texts",
        metavar="NAME", toml=str,
    ),
    Setting("encoding", "the encoding of the text (default: utf-8)", metavar="NAME", toml=str),
    Setting(
        "map", "what labels stand for: 'GPE=LOC,JUNK=' (nothing: left out), or a TOML file",
        metavar="MAP", toml=str | dict[str, object], often=True,
        signed=lambda kept: f"labels:{kept.label_rules}" if kept.label_rules else "",
    ),
    Setting(
        "predicted_map", "the same for the labels of predictions alone, before --map", metavar="MAP",
        toml=str | dict[str, object],
    ),
    Setting(
        "only", "the labels to keep, after mapping: PER,LOC", type=listed, metavar="LABELS",
        toml=str | list[object],
    ),
    Setting(
        "without", "the labels to leave out, after mapping: MISC", type=listed, metavar="LABELS",
        toml=str | list[object],
    ),
    Setting(
        "hierarchy",
        "a hierarchy of labels, of which evaluate scores every level: a TOML file, label = \"path/to/it\"",
        metavar="FILE", toml=str | dict[str, object],
        signed=lambda kept: f"hierarchy:{kept.signed_hierarchy}" if kept.signed_hierarchy else "",
    ),
    Setting(
        "hierarchy_separator",
        "what separates the steps of a hierarchy (/); without --hierarchy, the labels are paths themselves",
        metavar="TEXT", toml=str,
    ),
    Setting(
        "hierarchy_level",
        "read labels at this level of the hierarchy: its number of steps, 0 for one label for all",
        type=int, metavar="N", toml=int,
    ),
    Setting(
        "limits", "raise a limit on input files: labels, nested, unpacked (bytes) or values",
        type=dict, metavar="NAME=NUMBER", flags=("--limit",),
    ),
    # These have no flags: --attribute sets them.
    Setting("columns", toml=dict[str, object]),
    Setting("fields", toml=dict[str, str]),
)  # fmt: skip

# The keywords of `read` that map labels or leave them out, the last three by a hierarchy.
HIERARCHY = ("hierarchy", "hierarchy_separator", "hierarchy_level")
RULES = ("map", "predicted_map", "only", "without", *HIERARCHY)

# The settings of `evaluate` and `read`, by group.
GROUPS: dict[Group, tuple[Setting, ...]] = {
    "compute": _COMPUTE, "show": _SHOW, "preset": _PRESET, "read": _READ,
}  # fmt: skip

SETTINGS: Mapping[str, Setting] = {
    setting.name: setting._replace(group=group) for group, settings in GROUPS.items() for setting in settings
}


def _in_parts(verb: str) -> tuple[Setting, ...]:
    """The options of functions that read files in parts; `verb` says what they do in parts."""
    memory, (_, whole) = SETTINGS["memory"], SETTINGS["memory"].help.split(" ", 1)
    return memory._replace(help=f"{verb} {whole}"), SETTINGS["workers"]


def _like(name: str, help: str, **differs: Any) -> Setting:
    """A setting of `evaluate` with other words."""
    return SETTINGS[name]._replace(help=help, **differs)


def _examples(what: str) -> Setting:
    """The option for how many examples a document lists."""
    return Setting("examples", f"the maximum number of {what} shown (default: 20)", 20, group="show", least=0)


_SCORES = (
    Setting(
        "score_column", "the column of token scores in a file of columns, a number from 0 or a name",
        type=column, metavar="COLUMN", often=True,
    ),
    Setting(
        "token_scores", "how a mention's score is computed from those of its tokens (default: mean)",
        "mean", choices=("mean", "product", "min"), noun="way to join scores of tokens",
    ),
    Setting(
        "missing", "a mention without a score is an error (default), or gets the lowest score", "error",
        choices=("error", "lowest"), noun="way to treat missing scores",
    ),
)  # fmt: skip
_PLACING = (
    Setting(
        "level", "the last level of candidates: exact, case, bare, article or fuzzy (default: fuzzy)",
        metavar="NAME",
    ),
    Setting("threshold", "the minimum similarity at level fuzzy (default: 0.85)", 0.85),
    Setting(
        "aliases", "a TOML file with the labels that labels of answers stand for, as --predicted-map",
        metavar="FILE",
    ),
    Setting(
        "repeats",
        "what to do with a repeated answer that has no place left (default: drop; keep: count as wrong)",
        "drop", choices=("drop", "keep"),
    ),
    Setting(
        "unknown", "what to do with answers whose label does not occur in gold (default: keep)",
        "keep", choices=("keep", "drop"),
    ),
    Setting(
        "prompt_unit", "what one record covers (default: sentence)", "sentence",
        choices=("sentence", "document"),
    ),
    Setting(
        "answers_format",
        "inspect, lm-eval, promptfoo, langextract-jsonl, openai-batch, anthropic-batch, langsmith, phoenix, "
        "csv, records (default: auto, which recognises it)", "auto", metavar="NAME",
    ),
    Setting(
        "response",
        "the field with the raw response of the model; dots lead to inner fields, as in outputs.answer",
        metavar="FIELD",
    ),
    Setting(
        "sample",
        "the sample to place, if units have several, or the system of a log (default: all, as runs)",
        metavar="NAME",
    ),
)  # fmt: skip
_ENGINE = (
    Setting(
        "engine", "this machine's processes (default), or Apache Spark (needs Java and the extra 'spark')",
        "local", choices=("local", "spark"),
    ),
    Setting("master", "the Spark master: local[2], spark://host:7077 (default: local[*])", metavar="URL"),
    Setting(
        "partitions", "number of tasks in a Spark job (default: one per part)", type=int, metavar="N",
        bounds=_POSITIVE,
    ),
    Setting(
        "conf",
        "a Spark setting, such as spark.executor.memory=4g, or spark.spanwise.lexicon=4GB, the largest "
        "training lexicon that is sent to every worker whole (default: 1GB); may be repeated",
        (), metavar="KEY=VALUE",
    ),
)  # fmt: skip

# The options of other functions, in the order of their help. A name stands for a setting of `evaluate`.
_VERBS: dict[str, tuple[str | Setting, ...]] = {
    "slices": (
        "train",
        Setting(
            "over",
            "gold mentions that are missed (default: recall), missed and wrong mentions together (f1), or "
            "gold mentions that are not wholly masked by predictions of any label (hidden)",
            "recall", choices=("recall", "f1", "hidden"), noun="kind of items", often=True,
        ),
        Setting("depth", "the maximum number of conditions in a slice (default: 2)", 2, least=1, often=True),
        Setting(
            "least", "the minimum number of mentions inside and outside a slice (default: 50)", 50, least=1
        ),
        Setting(
            "level", "family-wise error rate, as a fraction (default: 0.05)", 0.05,
            bounds=(lambda value: 0 < value < 1, "between 0 and 1"),
        ),
        Setting(
            "flips", "random sign flips (default: 2000)", 2000, least=19,
            bounds=(lambda value: value <= MOST_DRAWS, f"at most {MOST_DRAWS:,}"),
        ),
        _like("seed", "random seed of the flips (default: 0)"),
        Setting(
            "confirm", "also find slices on one half of the documents and test the best five on the other",
            False, often=True,
        ),
        SETTINGS["unit"]._replace(often=False),
        _like(
            "attributes",
            "names separated by commas, or all, fu20, fu19 (default: fu20,label); tough subsets are always "
            "included", default="fu20,label",
        ),
        "attribute", "buckets", "vocabulary", "lowercase", "align", *_in_parts("search"), "redact",
    ),
    "confidence": (
        Setting(
            "dev", "gold and predictions of a dev set, on which the threshold is chosen", metavar="FILE",
            nargs="+", often=True,
        ),
        Setting(
            "precision", "the precision to reach with the highest recall (default: 0.95; 95 means the same)",
            0.95, bounds=_SHARE, often=True,
        ),
        Setting(
            "recall", "the recall at which systems are compared (default: the highest that both reach)",
            type=float, bounds=_SHARE,
        ),
        "train",
        _like(
            "attributes", "attributes whose buckets are assessed too, such as fu20 (default: none)",
            default="none",
        ),
        "buckets", *_SCORES, "resamples", "seed", SETTINGS["unit"]._replace(often=False), "align",
        *_in_parts("read files"),
    ),
    "leaks": (
        Setting("same_label", "only a prediction with the mention's label hides it", False, often=True),
        Setting(
            "identity",
            "the key of gold spans, or the column (a number from 0 or a name), that says whom they name",
            type=column, metavar="COLUMN|KEY", often=True,
        ),
        Setting("identity_across", "the same identity means the same in all documents", False),
        "train",
        _like(
            "attributes", "attributes in whose buckets leaks are counted too, such as fu20 (default: none)",
            default="none",
        ),
        "buckets", "resamples", "seed", "unit", "align", *_in_parts("count"),
        _examples("leaking sentences on the page"), "redact",
    ),
    "tuples": (
        Setting(
            "criterion", "when fillers are equal, for the verdict; all are shown (default: strict)",
            "strict", choices=("strict", "boundaries", "head", "overlap", "type"), noun="criterion",
            often=True,
        ),
        Setting("undirected", "the types whose fillers may be exchanged", "", metavar="A,B", often=True),
        Setting(
            "mentions", "whether systems were given the gold mentions; only printed (default: predicted)",
            "predicted", choices=("predicted", "gold"),
            bounds=(lambda value: value in ("predicted", "gold"), "'predicted' or 'gold'"),
        ),
        Setting("with_trigger", "an argument of an event also needs its trigger's span", False),
        Setting(
            "answers",
            "the predictions are answers of language models without positions: place their texts (such as "
            "first), as spanwise place does", metavar="POLICY", often=True,
        ),
        Setting("response", "the field of answers with the raw response", metavar="FIELD"),
        Setting("train", "training data, for seen and unseen facts", metavar="FILE", often=True),
        Setting(
            "kind", "show units with this kind of error alone",
            choices=("type", "filler", "mention missed", "missed", "spurious"), noun="kind of error",
            often=True,
        ),
        "resamples", "seed", "unit", "workers", _examples("units with an error on the page"), "redact",
    ),
    "describe": (
        "train",
        _like("name", "the name of the dataset (default: the file's stem)"),
        _like("attributes", "names separated by commas, or all (default), fu20, fu19", default="all"),
        "vocabulary", "lowercase", *_in_parts("describe"), _examples("conflicts"), "redact",
    ),
    "agree": (
        Setting(
            "systems", "predictions to compare with the human level", (), metavar="NAME=FILE", nargs="+",
            often=True,
        ),
        Setting(
            "votes", "how many annotators must mark a mention for the majority (default: more than half)",
            type=int, metavar="K", often=True,
        ),
        Setting(
            "tokens", "what token measures compare (default: label)", "label", choices=("label", "iob2")
        ),
        Setting("gamma", "also compute gamma (extra 'agreement'; slow)", False),
        _examples("sentences"), "redact",
    ),
    "suspects": (
        "train",
        Setting("dev", "more annotated text; may be repeated", type=list, metavar="FILE", often=True),
        Setting(
            "top", "the maximum number of suspects listed (default: 200; 0: all)", 200,
            bounds=(lambda value: value is None or value >= 0, "0 or more"),
            often=True,
        ),
        "align", *_in_parts("read files"), "redact",
    ),
    "place": (
        Setting(
            "policy",
            "first, all, next or ordered (default), or the rule of uie, spacy-llm or langextract; uniner and "
            "gollie compare strings", "ordered", metavar="NAME", often=True,
        ),
        *_PLACING,
    ),
    "apply": _SCORES,
    "study": (
        _like(
            "memory",
            "evaluate in parts that need about this much memory, such as 512MB (default: only if the "
            "files of a system would not fit); does not change any number",
        ),
        _like("workers", "number of processes (default: one per core)"),
    ),
    "engine": _ENGINE,
}  # fmt: skip

OPTIONS: Mapping[str, Mapping[str, Setting]] = {
    verb: {
        option.name: option
        for option in (SETTINGS[option] if isinstance(option, str) else option for option in options)
    }
    for verb, options in _VERBS.items()
}


def check_options(verb: str, given: Mapping[str, Any]) -> None:
    """Check the keywords of a function; None stands for a value that depends on the data."""
    for name, option in OPTIONS[verb].items():
        if name in given and not (given[name] is None and option.default is None):
            option.check(given[name])


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


# Keywords of gates and studies that occur in messages.
_OTHERS = ("root", "against", "fail_under", "fail_drop", "not_worse_than", "floor_bound")


def in_options(text: str) -> str:
    """An error message of the library with its keywords written as command-line options.

    Examples:
        >>> in_options('Name its encoding, such as encoding="latin-1".')
        'Name its encoding, such as --encoding latin-1.'
        >>> in_options("examples_cap is -1, but must be 0 or more.")
        '--examples-cap is -1, but must be 0 or more.'
    """
    of_verbs = (name for options in OPTIONS.values() for name in options)
    known = dict.fromkeys([*SETTINGS, *_OTHERS, *of_verbs])
    keywords = "|".join(name for name in known if name != "name")  # as in name=path

    def option(match: re.Match[str]) -> str:
        name = f"--{match[1].replace('_', '-')}"
        value = "".join(filter(None, match.groups()[1:]))
        return f"{name} {value}" if value else name

    text = re.sub(rf"""\b({keywords})=(?!\{{)(?:"([^"]*)"|'([^']*)'|(-?\d+))?""", option, text)
    text = text.replace("trust=True", "--trust")
    text = re.sub(r"limits=\{'(\w+)': …\}", r"--limit \1=N", text).replace("lossy=True", "--lossy")
    return re.sub(rf"\A({keywords})(?= (?:is|asks|needs|names|maps|has) )", option, text)
