"""What stands around every screen: the files at the top, what to do next and the signature at the end."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET
from rich.cells import cell_len

from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Alignment, Document, Input, Settings
from spanwise.document.scores import Bounded, Confusion, ScoreTest, SystemScores
from spanwise.intervals import FEW_UNITS
from spanwise.reports import _wording as say
from spanwise.reports._statements import statements
from spanwise.reports.terminal._layout import Line, flow, heading, pieces, sentence, tail, text

_ROLES = {"gold": "gold", "predicted": "pred", "train": "train"}
_MOST_FILES = 8

MOST_STATEMENTS = 6


def banner(document: Document, seconds: float | None) -> list[Line]:
    """The name of the program and its version."""
    line = [*text(" spanwise", "title"), *text(f" {document.spanwise}", "faint")]
    if seconds is not None:
        line += text(f"   evaluated in {seconds:.1f} s", "faint")
    return [line, []]


def files(
    inputs: Sequence[Input],
    width: int,
    *,
    dataset: DatasetFacts | None = None,
    systems: Mapping[str, SystemScores] | None = None,
    notes: Sequence[str] = (),
) -> list[Line]:
    """One row per file: role, path, and what is worth knowing of it."""
    shown = inputs if len(inputs) <= _MOST_FILES + 2 else inputs[:_MOST_FILES]
    paths = [tail(row.path, max(16, width // 5)) for row in shown]
    room = max((cell_len(path) for path in paths), default=0)
    lines: list[Line] = []
    for path, row in zip(paths, shown, strict=True):
        lead = text(f" {_ROLES.get(row.role, row.role):<6} ", "faint")
        lead += [(path + " " * (room - cell_len(path)), ""), ("  ", "")]
        indent = 10 + room
        facts = flow(_facts(row, dataset, systems or {}), width - 1, indent=indent) or [[("", "")]]
        lines.append([*lead, *facts[0][1:]])
        lines += facts[1:]
    if len(shown) < len(inputs):
        lines.append(text(f" … and {len(inputs) - len(shown)} more files", "faint"))
    for note in notes:
        first, *rest = sentence(note, width, indent=3)
        lines += [[(" ! ", "warn"), *first[1:]], *rest]
    return lines


def _facts(row: Input, dataset: DatasetFacts | None, systems: Mapping[str, SystemScores]) -> list[Line]:
    facts: list[Line] = []
    if row.role == "predicted" and row.system and row.system not in str(row.path):
        facts.append(text(row.system, "strong"))
    if row.role != "predicted":
        sizes = ((row.sentences, "sentence"), (row.tokens, "token"))
        facts += [text(say.plural(number, noun)) for number, noun in sizes if number]
    if row.role != "train" and row.mentions is not None:
        facts.append(text(say.plural(row.mentions, "mention")))
    if row.role == "gold":
        if dataset is not None and dataset.labels:
            facts.append(text(say.plural(len(dataset.labels), "label")))
        if row.scheme:
            facts.append(text(row.scheme))
    if row.role == "train" and dataset is not None:
        facts += _unseen(dataset)
    if row.repairs:
        rule = f" ({row.repair} rule)" if row.repair else ""
        facts.append(_warned(f"{say.plural(row.repairs, 'impossible tag')} repaired{rule}"))
    if row.role == "predicted" and row.system and row.system in systems:
        facts += _foreign(systems[row.system])
    facts += aligned(row.alignment)
    facts += [_warned(note) for note in row.notes]
    return facts


def _foreign(system: SystemScores) -> list[Line]:
    """The labels that are predicted and not in gold: mostly other names for the same thing."""
    labels = system.exact.labels
    rows = {name: cell for name, cell in labels.items() if cell.predicted and not cell.gold}
    if not rows or not any(cell.gold for cell in labels.values()):
        return []
    number = sum(cell.predicted for cell in rows.values())
    names = ", ".join(say.visible(name) for name in list(rows)[:4]) + (" …" if len(rows) > 4 else "")
    return [_warned(f"{say.plural(number, 'mention')} of labels not in gold: {names}")]


def aligned(report: Alignment | None) -> list[Line]:
    """How predictions were aligned, and what that changed, where it changed anything."""
    if report is None or report.how == "strict":
        return []
    facts = [text(f"aligned by {report.how}")]
    if report.changed_tokens:
        sentences = say.plural(report.changed_sentences, "sentence")
        facts.append(_warned(f"{say.plural(report.changed_tokens, 'token')} differ in {sentences}"))
    crossing = report.crossing or 0
    if report.crossing is not UNSET:
        facts.append(text("sentences end elsewhere"))
    if crossing:
        end = f"{say.plural(crossing, 'mention')} crossed the end of a gold sentence, counted as spurious"
        facts.append(_warned(end))
    if report.unplaced > crossing:
        unplaced = say.plural(report.unplaced - crossing, "mention")
        facts.append(_warned(f"{unplaced} could not be placed, counted as spurious"))
    return facts


def _unseen(dataset: DatasetFacts) -> list[Line]:
    facts: list[Line] = []
    unseen = (dataset.tough or {}).get("UNSEEN-TOKENS")
    if unseen is not None and say.defined(unseen.overall.share):
        facts.append(text(f"{say.percent(unseen.overall.share)} of gold mentions never seen in training"))
    if dataset.duplicates_with_train:
        facts.append(
            _warned(f"{say.plural(dataset.duplicates_with_train, 'test sentence')} also in training")
        )
    return facts


def _warned(words: str) -> Line:
    return [("! ", "warn"), *text(words)]


def interval_title(settings: Settings) -> str:
    """`95% CI`, with a dagger where too few units were resampled."""
    return f"{100 * settings.confidence:.0f}% CI" + ("†" if settings.few_units else "")


def mark(settings: Settings, cell: Bounded | ScoreTest) -> str:
    """A dagger for a cell that few units hold, unless there are few in all and the column has one."""
    if isinstance(cell, ScoreTest):
        few = (cell.units or FEW_UNITS) < FEW_UNITS
    else:
        few = cell.few_units is not UNSET
    return "†" if few and not settings.few_units and settings.resamples else ""


def few_units(document: Evaluation, width: int) -> list[Line]:
    """The meaning of the dagger, where there is one."""
    settings = document.settings
    if not settings.resamples:
        return []
    if settings.few_units:
        words = f"† few {settings.unit}s: intervals rest on {say.plural(settings.units, settings.unit)}"
    elif any(mark(settings, cell) for cell in _shown_cells(document)):
        words = f"† fewer than {FEW_UNITS} {settings.unit}s hold it: the interval rests on little"
    else:
        return []
    return [[], *sentence(words, width, style="faint")]


def _shown_cells(document: Evaluation) -> Iterator[Bounded | ScoreTest]:
    """The labels and subsets of all systems and what was compared, whose intervals screens show."""
    for comparison in document.comparisons:
        yield from comparison.scores
    for system in document.systems.values():
        yield from system.exact.labels.values()
        yield from (subset.overall for subset in system.tough.values())


def in_words(document: Document, width: int) -> list[Line]:
    """One sentence per pair of systems that can be pasted into a paper; the first few."""
    said = statements(document)
    if not said:
        return []
    more = "" if len(said) <= MOST_STATEMENTS else f" · all {len(said)}: spanwise table RESULT statements"
    rows = [line for statement in said[:MOST_STATEMENTS] for line in sentence(statement, width)]
    return [*heading("In words", f"ready to paste{more}", width), *rows]


def next_steps(document: Evaluation, width: int, saved: Sequence[str]) -> list[Line]:
    """Commands that lead on from this screen, with the paths that were given."""
    command = document.settings.command
    if not command:
        return []  # called from Python, where there is no command to continue
    steps: list[tuple[str, str]] = []
    gold = next((row.path for row in document.inputs if row.role == "gold"), None)
    first = _first_system(document)
    for row in document.inputs:
        if row.role == "predicted" and gold is not None and first is not None and row.system == first:
            chosen, number = _largest_confusion(document.systems[first].confusion)
            note = say.plural(number, "error") if chosen else "every error in its sentence"
            # A file that holds gold and predictions is named once, as it was.
            files = [row.path] if _is_merged(document.inputs) else [gold, row.path]
            call = " ".join(["spanwise errors", *map(_quoted, files), *reading_options(command)])
            steps.append((f"{call}{chosen}", note))
    result = next((path for path in saved if str(path).endswith(".json")), None)
    if result is not None:
        steps.append((f"spanwise report {_quoted(result)} -o report.html", "interactive, one file"))
    elif not any(str(path).endswith(".html") for path in saved):
        steps.append((f"{say.visible(command)} --html report.html", "interactive, one file"))
    if not steps:
        return []
    lines = heading("Next", "", width)
    for call, note in steps:
        if cell_len(call) + cell_len(note) + 7 <= width:
            gap = width - 4 - cell_len(call) - cell_len(note)
            lines.append([(f"  {call}", ""), (" " * gap, ""), (note, "faint")])
        else:
            lines += [
                [("  " if at == 0 else "    ", ""), *line[1:]]
                for at, line in enumerate(_command_lines(call, width))
            ]
    return lines


# The options of an evaluation without which `spanwise errors` would not read the same mentions.
_READING = (
    "--align", "--format", "--token-column", "--tag-column", "--separator", "--scheme", "--repair",
    "--comments", "--duplicates", "--labels", "--documents", "--encoding",
)  # fmt: skip


def reading_options(command: str) -> list[str]:
    """The options of a command that say how files are read, quoted for the shell."""
    words = shlex.split(command)
    options = []
    for at, word in enumerate(words):
        if word in _READING and at + 1 < len(words):
            options += [word, _quoted(words[at + 1])]
        elif word.partition("=")[0] in _READING:
            options.append(_quoted(word))
    return options


def _is_merged(inputs: Sequence[Input]) -> bool:
    """Whether gold and predictions stand in the same files: then the gold file is one of the systems'."""
    gold = {row.path for row in inputs if row.role == "gold"}
    return bool(gold & {row.path for row in inputs if row.role == "predicted"})


def _command_lines(command: str, width: int) -> list[Line]:
    # Broken between words with the shell's own continuation, so that it can still be pasted.
    lines = flow([[(word, "")] for word in command.split(" ")], width - 2, indent=4, join=" ")
    return [[*line, (" \\", "")] for line in lines[:-1]] + lines[-1:]


def _quoted(value: object) -> str:
    return say.visible(shlex.quote(str(value)))


def _first_system(document: Evaluation) -> str | None:
    """The system that the findings speak of, else the first."""
    for finding in document.findings:
        if finding.system is not None and finding.system in document.systems:
            return finding.system
    return next(iter(document.systems), None)


def _largest_confusion(table: Confusion) -> tuple[str, int]:
    """The options that list the most frequent confusion of two labels, and how many errors those are."""
    cells = [
        (number, gold, predicted)
        for gold, row in zip(table.labels, table.counts, strict=True)
        for predicted, number in zip(table.labels, row, strict=True)
        if gold != predicted and number
    ]
    if not cells:
        return "", 0
    number, gold, predicted = max(cells, key=lambda cell: cell[0])
    return f" --gold {_quoted(gold)} --predicted {_quoted(predicted)}", number


def footer(document: Document, width: int, saved: Sequence[str]) -> list[Line]:
    """The files that were saved and the signature, which carries every setting behind the numbers."""
    lines: list[Line] = [[]]
    if saved:
        lines += flow([text(f"saved {path}" if at == 0 else path) for at, path in enumerate(saved)], width)
    if document.signature:
        # Broken behind its bars: a copied signature is the same once the line ends are dropped.
        parts = pieces(document.signature, width - 2)
        lines += flow([[(piece, "faint")] for piece in parts], width, join="")
    return lines if len(lines) > 1 else []
