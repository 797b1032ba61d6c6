"""One of each thing that a package can add: format, attribute, score, section, command and so on."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from spanwise import read
from spanwise.attributes import Mention, Side, own
from spanwise.buckets import Strategy
from spanwise.cli.arguments import Command
from spanwise.columns import Floats
from spanwise.corpus import Mentions, Pieces
from spanwise.document.dataset import Description
from spanwise.document.evaluation import Evaluation
from spanwise.formats import File, Format, Options, Part, Problem, Record
from spanwise.matching import Matcher, Matching, match
from spanwise.rates import Rate
from spanwise.reports import Report
from spanwise.views import Section, cells
from spanwise.views.added import AddedSection

# ---- a format: a line `SENT words`, then a line `start end label` for every mention ------------------


def _recognise(file: File) -> str | None:
    return "lines that begin with SENT" if file.head.startswith(b"SENT ") else None


def _records(part: Part, options: Options) -> Iterator[Record | Problem]:
    words: list[str] = []
    mentions: list[tuple[Pieces, str]] = []
    first = part.first
    for number, line in part.lines():
        if line.startswith("SENT "):
            if words:
                yield Record(words, mentions, line=first)
            words, mentions, first = line.split()[1:], [], number
        elif line:
            try:
                start, end, label = line.split()
                mentions.append((((int(start), int(end)),), label))
            except ValueError:
                yield Problem(number, f"{line!r} is not a mention.\nExpected 'start end label'.")
    if words:
        yield Record(words, mentions, line=first)


def _border(data: bytes) -> int:
    """Where the last sentence begins, which may go on."""
    return data.rfind(b"\nSENT ") + 1


sent = Format("sent", "SENT lines with spans below", _recognise, _records, _border, suffixes=(".sent",))


# ---- attributes: of one mention, and of all mentions of a side at once --------------------------------


def _letters(mention: Mention) -> int:
    """How many letters a mention has."""
    return sum(map(len, mention.tokens))


def _known(side: Side) -> Sequence[int]:
    """How many tokens the training data hold."""
    lexicon = side.context.lexicon
    return [lexicon.tokens if lexicon else 0] * len(side.mentions)


letters = own(_letters, name="letters")
known = own(_known, name="known", needs=["train"], columns=True)


# ---- a way to choose the edges of buckets -------------------------------------------------------------


def _halves(values: Floats, numbers: tuple[float, ...]) -> list[float]:
    """The median of the sorted gold values; a bucket holds the values up to its edge."""
    return [float(values[(len(values) - 1) // 2])] if len(values) else []


halves = Strategy("halves", "two buckets, cut at the median", _halves)


# ---- a matcher that names no error but missed and spurious mentions -----------------------------------


def _exact_only(gold: Mentions, predicted: Mentions) -> Matching:
    return match(gold, predicted, matcher="exact")


plain = Matcher("plain", "missed and spurious mentions alone", _exact_only)


# ---- a score: its weights of right, false and missed mentions above and below the line ----------------


jaccard = Rate("jaccard", "Jaccard", above=(1.0, 0.0, 0.0), below=(1.0, 1.0, 1.0))


# ---- exports ------------------------------------------------------------------------------------------


def _f1_only(document: Evaluation) -> str:
    return "".join(f"{name} {system.exact.overall.f1}\n" for name, system in document.systems.items())


def _fails(document: Evaluation) -> str:
    raise RuntimeError("this export is never right")


mine = Report("mine", "F1 of every system", _f1_only, ".txt", kinds=("evaluation", "comparison"))
broken = Report("broken", "an export with a mistake", _fails, ".txt")


# ---- sections: a screen, page, paper, table, notebook and the workbench show them ---------------------


def _errors_each(document: Evaluation) -> Section | None:
    """How many wrong predictions and missed mentions every system has."""
    rows: list[list[cells.Cell]] = []
    for name, system in document.systems.items():
        overall = system.exact.overall
        wrong, missed = overall.predicted - overall.correct, overall.gold - overall.correct
        rows.append([name, cells.count(wrong), cells.count(missed)])
    table = cells.table(("system", "wrong", "missed"), rows)
    return Section("errors", cells.words("Wrong and missed"), (table,), "mentions by exact matching")


def _never(document: Description) -> Section:
    raise RuntimeError("this section is never right")


wrong_and_missed = AddedSection(
    "wrong_and_missed",
    "wrong predictions and missed mentions",
    _errors_each,
    kinds=("evaluation", "comparison"),
)
never = AddedSection("never", "a section with a mistake", _never, kinds=("description",))


# ---- a command: it parses, calls one function and prints ----------------------------------------------


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", help="the annotated file")


def _run(args: argparse.Namespace) -> int:
    """Count the mentions of a file by their number of tokens."""
    mentions = read(args.gold).mentions
    counts = Counter((mentions.end - mentions.start).tolist())
    sys.stdout.write("".join(f"{length}\t{counts[length]}\n" for length in sorted(counts)))
    return 0


LENGTHS = Command(_add, _run, "examples:\n  spanwise lengths gold.conll")
