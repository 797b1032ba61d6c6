"""The options that say how files are read, under the names of the keywords of `spanwise.read`."""

from __future__ import annotations

import argparse
import re
from typing import Any

_KEYWORDS = (
    "format",
    "token_column",
    "tag_column",
    "separator",
    "scheme",
    "repair",
    "comments",
    "duplicates",
    "labels",
    "documents",
    "encoding",
    "limits",
)

# What else of the library's keywords its messages name.
_OTHERS = (
    "align",
    "examples",
    "root",
    "vocabulary",
    "unit",
    "preset",
    "train",
    "resamples",
    "seed",
    "confidence",
    "memory",
    "workers",
    "examples_cap",
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


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading files to a command."""
    group = parser.add_argument_group("how to read the files")
    group.add_argument("--format", metavar="NAME", help="the format, as 'list formats' names it")
    group.add_argument(
        "--token-column", metavar="COLUMN", type=_column,
        help="the column of the tokens, a number from 0 or a name (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--tag-column", metavar="COLUMN", type=_column, help="the column of the tags (default: -1, the last)"
    )
    group.add_argument("--separator", choices=["tab", "blank"], help="between columns (default: recognised)")
    group.add_argument("--scheme", metavar="NAME", help="the tag scheme, as 'list schemes' names it")
    group.add_argument(
        "--repair", choices=["conlleval", "discard", "none"],
        help="what becomes of impossible tags (default: conlleval; none: an error)",
    )  # fmt: skip
    group.add_argument("--comments", metavar="MARK", help="leave out lines that begin with MARK, such as '#'")
    group.add_argument(
        "--duplicates", choices=["error", "drop"],
        help="what becomes of a mention that stands twice (default: error)",
    )  # fmt: skip
    group.add_argument(
        "--labels", metavar="TAG,TAG", type=_listed,
        help="what numbers of tags mean, in their order: O,B-PER,I-PER",
    )  # fmt: skip
    group.add_argument(
        "--documents", metavar="FIELD",
        help="the field that names a sentence's document; none: disregard documents",
    )  # fmt: skip
    group.add_argument("--encoding", metavar="NAME", help="the encoding of the text (default: utf-8)")
    group.add_argument(
        "--limit", dest="limits", metavar="NAME=NUMBER", action=_Limits,
        help="raise a bound on what files may ask for: labels, nested, unpacked (bytes) or values",
    )  # fmt: skip


class _Limits(argparse.Action):
    """Gather NAME=NUMBER in a dictionary."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        name, _, number = str(values).partition("=")
        if not number.isascii() or not number.isdecimal() or len(number) > 18:
            parser.error(
                f"argument --limit: {values!r} does not read as NAME=NUMBER, such as unpacked=8000000000"
            )
        namespace.limits = {**(namespace.limits or {}), name: int(number)}


def add_train(group: Any) -> None:
    """Add the option for training data."""
    group.add_argument("--train", metavar="FILE", action="append", help="training data; may be repeated")


def add_words(group: Any) -> None:
    """Add the options for how attributes compare words."""
    group.add_argument(
        "--vocabulary", metavar="FILE", help="known words, one a line, for words out of vocabulary"
    )
    group.add_argument("--lowercase", action="store_true", help="compare strings of attributes in lower case")


def add_screen(group: Any, what: str = "screen") -> None:
    """Add the options for the width and the colours of what is shown."""
    add_width(group, what)
    group.add_argument(
        "--color", choices=["auto", "always", "never"], default="auto",
        help=f"colours of the {what} (default: auto, on a terminal; NO_COLOR and FORCE_COLOR are heard)",
    )  # fmt: skip


def add_width(group: Any, what: str = "screen") -> None:
    """Add the option for the width of what is shown."""
    group.add_argument(
        "--width", type=int, metavar="COLUMNS",
        help=f"columns of the {what} (default: the variable COLUMNS, else the terminal's, else 80)",
    )  # fmt: skip


def add_scores(group: Any) -> None:
    """Add the options for where the scores of predictions stand."""
    group.add_argument(
        "--score-column", metavar="COLUMN", type=_column,
        help="the column of token scores in a file of columns, a number from 0 or a name",
    )  # fmt: skip
    group.add_argument(
        "--token-scores", choices=["mean", "product", "min"], default="mean",
        help="how a mention's score is made from those of its tokens (default: mean)",
    )  # fmt: skip
    group.add_argument(
        "--missing", choices=["error", "lowest"], default="error",
        help="a mention without a score is an error (default), or gets the lowest score",
    )  # fmt: skip


def add_align(group: Any) -> None:
    """Add the option that says how predictions are put on the gold text."""
    group.add_argument(
        "--align", default="strict", choices=["strict", "position", "characters", "diff"],
        help="what to do where the tokens of predictions differ (default: strict, an error)",
    )  # fmt: skip


def add_answers(group: Any) -> None:
    """Add the options that say how answers without offsets are placed, beside the policy."""
    group.add_argument(
        "--level", metavar="NAME",
        help="the last level of candidates: exact, case, bare, article or fuzzy (default: fuzzy)",
    )  # fmt: skip
    group.add_argument(
        "--threshold", type=float, default=0.85, help="the least similarity at level fuzzy (default: 0.85)"
    )
    group.add_argument(
        "--aliases", metavar="FILE", help="a TOML file that maps labels of answers to labels of gold"
    )
    group.add_argument(
        "--repeats", choices=["drop", "keep"], default="drop",
        help="what becomes of a repeated answer that has no place left (default: drop; keep: a wrong one)",
    )  # fmt: skip
    group.add_argument(
        "--unknown", choices=["keep", "drop"], default="keep",
        help="what becomes of answers with a label that gold does not have (default: keep)",
    )  # fmt: skip
    group.add_argument(
        "--prompt-unit", choices=["sentence", "document"], default="sentence",
        help="what one record is about (default: sentence)",
    )  # fmt: skip
    group.add_argument("--response", metavar="FIELD", help="the field with the raw response of the model")
    group.add_argument("--sample", metavar="NAME", help="the sample to place, where units have several")


def add_policy(group: Any) -> None:
    """Add the option that asks for answers to be placed."""
    group.add_argument(
        "--answers", metavar="POLICY",
        help="place the answers of systems that give texts without positions: first, all, next, ordered, or "
        "as uie, spacy-llm or langextract do",
    )  # fmt: skip


def given_answers(args: argparse.Namespace) -> dict[str, Any] | None:
    """The keywords of `spanwise.place`, where answers are to be placed."""
    policy = getattr(args, "answers", None)  # not every command has the option
    return None if policy is None else {"policy": policy, **answers_of(args)}


def answers_of(args: argparse.Namespace) -> dict[str, Any]:
    """The keywords of `spanwise.place` that were given, the policy aside."""
    names = ("level", "threshold", "repeats", "unknown", "prompt_unit", "response", "sample")
    return {**{name: getattr(args, name) for name in names}, "aliases": _aliases(args.aliases)}


def _aliases(path: str | None) -> dict[str, str]:
    """Labels by alias from a TOML file, at its top or in a table `labels` or `aliases`."""
    if path is None:
        return {}
    import tomllib

    from spanwise.errors import InputError
    from spanwise.formats import read_text

    try:
        table = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'{path}: this is not TOML: {error}.\nWrite lines such as: person = "PER"') from None
    for name in ("aliases", "labels"):
        if isinstance(table.get(name), dict):
            table = table[name]
    for alias, label in table.items():
        if not isinstance(label, str):
            raise InputError(
                f'{path}: the alias {alias!r} is not mapped to a label.\nWrite lines such as: person = "PER"'
            )
    return table


def reading_of(args: argparse.Namespace) -> dict[str, Any]:
    """The keywords of `spanwise.read` that were given; what was left out keeps its default there."""
    given = {name: getattr(args, name, None) for name in _KEYWORDS}
    return {name: value for name, value in given.items() if value is not None}


def in_options(text: str) -> str:
    """An error text of the library with its keywords written as options.

    Examples:
        >>> in_options('Name its encoding, such as encoding="latin-1".')
        'Name its encoding, such as --encoding latin-1.'
        >>> in_options("examples_cap is -1, but must be 0 or more.")
        '--examples-cap is -1, but must be 0 or more.'
    """
    keywords = "|".join((*_KEYWORDS, *_OTHERS))

    def option(match: re.Match[str]) -> str:
        name = f"--{match[1].replace('_', '-')}"
        value = "".join(filter(None, match.groups()[1:]))
        return f"{name} {value}" if value else name

    text = re.sub(rf"""\b({keywords})=(?!\{{)(?:"([^"]*)"|'([^']*)'|(-?\d+))?""", option, text)
    text = re.sub(r"limits=\{'(\w+)': …\}", r"--limit \1=N", text).replace("lossy=True", "--lossy")
    return re.sub(rf"\A({keywords})(?= (?:is|asks|needs) )", option, text)


def _column(text: str) -> int | str:
    """A number where it is one, else a name."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
