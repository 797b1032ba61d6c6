"""What stands around every screen: the files at the top, what to do next and the signature at the end."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from spanwise.intervals import FEW_UNITS
from spanwise.reports import _wording as say
from spanwise.reports._document import Document
from spanwise.reports._statements import statements
from spanwise.reports.terminal._layout import Line, flow, heading, pieces, sentence, tail, text

_ROLES = {"gold": "gold", "predicted": "pred", "train": "train"}
_MOST_FILES = 8

MOST_STATEMENTS = 6


def banner(document: Document, seconds: float | None) -> list[Line]:
    """The name of the program and its version."""
    line = [*text(" spanwise", "title"), *text(f" {document.get('spanwise', '')}", "faint")]
    if seconds is not None:
        line += text(f"   evaluated in {seconds:.1f} s", "faint")
    return [line, []]


def files(document: Document, width: int) -> list[Line]:
    """One row a file: role, path, and what is worth knowing of it."""
    inputs = list(document.get("inputs") or ())
    shown = inputs if len(inputs) <= _MOST_FILES + 2 else inputs[:_MOST_FILES]
    paths = [tail(row["path"], max(16, width // 5)) for row in shown]
    room = max((cell_len(path) for path in paths), default=0)
    lines: list[Line] = []
    for path, row in zip(paths, shown, strict=True):
        lead = text(f" {_ROLES.get(row['role'], row['role']):<6} ", "faint")
        lead += [(path + " " * (room - cell_len(path)), ""), ("  ", "")]
        indent = 10 + room
        facts = flow(_facts(row, document), width - 1, indent=indent) or [[("", "")]]
        lines.append([*lead, *facts[0][1:]])
        lines += facts[1:]
    if len(shown) < len(inputs):
        lines.append(text(f" … and {len(inputs) - len(shown)} more files", "faint"))
    for note in document.get("notes") or ():
        first, *rest = sentence(str(note), width, indent=3)
        lines += [[(" ! ", "warn"), *first[1:]], *rest]
    return lines


def _facts(row: Mapping[str, Any], document: Document) -> list[Line]:
    facts: list[Line] = []
    dataset = document.get("dataset") or {}
    role = row["role"]
    if role == "predicted" and row.get("system") and row["system"] not in str(row["path"]):
        facts.append(text(row["system"], "strong"))
    if role != "predicted":
        facts += [text(say.plural(row[key], key[:-1])) for key in ("sentences", "tokens") if row.get(key)]
    if role != "train" and row.get("mentions") is not None:
        facts.append(text(say.plural(row["mentions"], "mention")))
    if role == "gold":
        if dataset.get("labels"):
            facts.append(text(say.plural(len(dataset["labels"]), "type")))
        if row.get("scheme"):
            facts.append(text(row["scheme"]))
    if role == "train":
        facts += _unseen(dataset)
    if row.get("repairs"):
        rule = f" ({row['repair']} rule)" if row.get("repair") else ""
        facts.append(_warned(f"{say.plural(row['repairs'], 'impossible tag')} repaired{rule}"))
    if role == "predicted":
        facts += _foreign((document.get("systems") or {}).get(row.get("system")) or {})
    facts += aligned(row.get("alignment"))
    facts += [_warned(str(note)) for note in row.get("notes") or ()]
    return facts


def _foreign(system: Mapping[str, Any]) -> list[Line]:
    """The types that are predicted and not in gold: mostly other names for the same thing."""
    labels = (system.get("exact") or {}).get("labels") or {}
    rows = {name: cell for name, cell in labels.items() if cell.get("predicted") and not cell.get("gold")}
    if not rows or not any(cell.get("gold") for cell in labels.values()):
        return []
    number = sum(cell["predicted"] for cell in rows.values())
    names = ", ".join(say.visible(name) for name in list(rows)[:4]) + (" …" if len(rows) > 4 else "")
    return [_warned(f"{say.plural(number, 'mention')} of types that gold has not: {names}")]


def aligned(report: Mapping[str, Any] | None) -> list[Line]:
    """How predictions were aligned, and what that changed, where it changed anything."""
    if not report or report.get("how") in (None, "strict"):
        return []
    facts = [text(f"aligned by {report['how']}")]
    if report.get("changed_tokens"):
        places = (
            f" in {say.plural(report['changed_sentences'], 'sentence')}"
            if "changed_sentences" in report
            else ""
        )
        facts.append(_warned(f"{say.plural(report['changed_tokens'], 'token')} differ{places}"))
    crossing = report.get("crossing") or 0
    if "crossing" in report:
        facts.append(text("sentences end elsewhere"))
    if crossing:
        said = f"{say.plural(crossing, 'mention')} crossed the end of a gold sentence, counted as spurious"
        facts.append(_warned(said))
    if (unplaced := (report.get("unplaced") or 0) - crossing) > 0:
        facts.append(_warned(f"{say.plural(unplaced, 'mention')} could not be placed, counted as spurious"))
    return facts


def _unseen(dataset: Mapping[str, Any]) -> list[Line]:
    facts: list[Line] = []
    unseen = ((dataset.get("tough") or {}).get("UNSEEN-TOKENS") or {}).get("overall") or {}
    if say.defined(unseen.get("share")):
        facts.append(text(f"{say.percent(unseen['share'])} of gold mentions never seen in training"))
    if dataset.get("duplicates_with_train"):
        facts.append(
            _warned(f"{say.plural(dataset['duplicates_with_train'], 'test sentence')} also in training")
        )
    return facts


def _warned(words: str) -> Line:
    return [("! ", "warn"), *text(words)]


def interval_title(document: Document) -> str:
    """`95% CI`, with a dagger where too few units were resampled."""
    settings = document.get("settings") or {}
    level = settings.get("confidence") or 0.95
    return f"{100 * level:.0f}% CI" + ("†" if settings.get("few_units") else "")


def mark(document: Document, cell: Mapping[str, Any]) -> str:
    """A dagger for a cell that few units hold, unless there are few in all and the column has one."""
    settings = document.get("settings") or {}
    few = cell.get("few_units") is not None or (cell.get("units") or FEW_UNITS) < FEW_UNITS
    return "†" if few and not settings.get("few_units") and settings.get("resamples") else ""


def few_units(document: Document, width: int) -> list[Line]:
    """The meaning of the dagger, where there is one."""
    settings = document.get("settings") or {}
    kind = settings.get("unit") or "sentence"
    if not settings.get("resamples"):
        return []
    if settings.get("few_units"):
        unit = say.plural(settings.get("units") or 0, kind)
        words = f"† few {kind}s: intervals rest on {unit}"
    elif any(mark(document, cell) for cell in _shown_cells(document)):
        words = f"† fewer than {FEW_UNITS} {kind}s hold it: the interval rests on little"
    else:
        return []
    return [[], *sentence(words, width, style="faint")]


def _shown_cells(document: Document) -> Iterator[Mapping[str, Any]]:
    """The labels and subsets of all systems and what was compared, whose intervals screens show."""
    for comparison in document.get("comparisons") or ():
        yield from comparison["scores"]
    for system in (document.get("systems") or {}).values():
        yield from system["exact"]["labels"].values()
        for subset in (system.get("tough") or {}).values():
            if isinstance(subset, Mapping) and subset.get("overall"):
                yield subset["overall"]


def in_words(document: Document, width: int) -> list[Line]:
    """One sentence per pair of systems that can be pasted into a paper; the first few."""
    found = statements(document)
    if not found:
        return []
    more = "" if len(found) <= MOST_STATEMENTS else f" · all {len(found)}: spanwise table RESULT statements"
    rows = [line for one in found[:MOST_STATEMENTS] for line in sentence(one, width)]
    return [*heading("In words", f"ready to paste{more}", width), *rows]


def next_steps(document: Document, width: int, saved: Sequence[str]) -> list[Line]:
    """Commands that lead on from this screen, with the paths that were given."""
    settings = document.get("settings") or {}
    if not settings.get("command"):
        return []  # called from Python, where there is no command to continue
    steps: list[tuple[str, str]] = []
    gold = next((row["path"] for row in document.get("inputs") or () if row["role"] == "gold"), None)
    for row in document.get("inputs") or ():
        if row["role"] == "predicted" and gold is not None and row.get("system") == _first_system(document):
            chosen, number = _largest_confusion(document, row["system"])
            note = say.plural(number, "error") if chosen else "every error in its sentence"
            # A file that holds gold and predictions is named once, as it was.
            files = [row["path"]] if _is_merged(document) else [gold, row["path"]]
            call = " ".join(["spanwise errors", *map(_quoted, files), *reading_options(settings["command"])])
            steps.append((f"{call}{chosen}", note))
    result = next((path for path in saved if str(path).endswith(".json")), None)
    if result is not None:
        steps.append((f"spanwise report {_quoted(result)} -o report.html", "interactive, one file"))
    elif not any(str(path).endswith(".html") for path in saved):
        steps.append((f"{say.visible(settings['command'])} --html report.html", "interactive, one file"))
    if not steps:
        return []
    lines = heading("Next", "", width)
    for command, note in steps:
        if cell_len(command) + cell_len(note) + 7 <= width:
            gap = width - 4 - cell_len(command) - cell_len(note)
            lines.append([(f"  {command}", ""), (" " * gap, ""), (note, "faint")])
        else:
            lines += [
                [("  " if at == 0 else "    ", ""), *line[1:]]
                for at, line in enumerate(_command_lines(command, width))
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
    found = []
    for at, word in enumerate(words):
        if word in _READING and at + 1 < len(words):
            found += [word, _quoted(words[at + 1])]
        elif word.partition("=")[0] in _READING:
            found.append(_quoted(word))
    return found


def _is_merged(document: Document) -> bool:
    """Whether gold and predictions stand in the same files: then the gold file is one of the systems'."""
    rows = document.get("inputs") or ()
    gold = {row["path"] for row in rows if row["role"] == "gold"}
    return bool(gold & {row["path"] for row in rows if row["role"] == "predicted"})


def _command_lines(command: str, width: int) -> list[Line]:
    # Broken between words with the shell's own continuation, so that it can still be pasted.
    lines = flow([[(word, "")] for word in command.split(" ")], width - 2, indent=4, join=" ")
    return [[*line, (" \\", "")] for line in lines[:-1]] + lines[-1:]


def _quoted(value: object) -> str:
    return say.visible(shlex.quote(str(value)))


def _first_system(document: Document) -> str | None:
    """The system that the findings speak of, else the first."""
    for row in document.get("findings") or ():
        if row.get("system") in (document.get("systems") or {}):
            return str(row["system"])
    return next(iter(document.get("systems") or ()), None)


def _largest_confusion(document: Document, system: str) -> tuple[str, int]:
    """The options that list the most frequent confusion of two labels, and how many errors those are."""
    table = document["systems"][system].get("confusion") or {}
    labels = table.get("labels") or []
    cells = [
        (number, gold, predicted)
        for gold, row in zip(labels, table.get("counts") or [], strict=True)
        for predicted, number in zip(labels, row, strict=True)
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
    if document.get("signature"):
        # Broken behind its bars: a copied signature is the same once the line ends are dropped.
        parts = pieces(document["signature"], width - 2)
        lines += flow([[(piece, "faint")] for piece in parts], width, join="")
    return lines if len(lines) > 1 else []
