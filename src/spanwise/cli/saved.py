"""Commands for saved results: `changes`, `report`, `figures`, `paper`, `table` and `export`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from spanwise.cli.arguments import (
    THRESHOLDS,
    Arguments,
    Command,
    Either,
    OptionGroup,
    finish_document,
    output,
    positional,
    shown,
    write_output,
)
from spanwise.cli.evaluating import outcome_of
from spanwise.errors import ChoiceError
from spanwise.reports import REPORTS, Report
from spanwise.settings import Setting
from spanwise.streams import write_message

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.gates import Outcome
    from spanwise.reports.tables import Table


RESULT = positional("result", "RESULT.json", "a result or study document, written by --json")

CHANGES_EXAMPLES = """examples:
  spanwise changes last.json run.json
  spanwise changes last.json run.json --system crf --html changes.html"""


CHANGES = Arguments(
    positional("earlier", "OLD.json", "the earlier result, written by --json"),
    positional("later", "NEW.json", "the later result, over the same gold data"),
    Setting("system", "only this system (default: all that both have)", metavar="NAME"),
    shown(),
)


def run_changes(args: argparse.Namespace) -> int:
    """Say which mentions broke and were fixed between two saved results, and whether F1 differs."""
    from spanwise.changing import changes

    finish_document(args, changes(args.earlier, args.later, system=args.system))
    return 0


REPORT_EXAMPLES = """examples:
  spanwise report run.json -o run.html
  spanwise report study.json -o study.html"""


REPORT = Arguments(
    RESULT,
    output("where to write the page (default: standard output)", often=True),
    Setting(
        "against", "an earlier result over the same gold file: the page says what changed",
        metavar="RESULT.json", often=True,
    ),
)  # fmt: skip


def run_report(args: argparse.Namespace) -> int:
    """Make the HTML page of a saved result or study: one file, no network, no server."""
    from spanwise.document.loading import load
    from spanwise.reports.html import render

    if not args.output and sys.stdout.isatty():
        raise ChoiceError("a page cannot be read on a terminal.\nName a file: -o report.html.")
    earlier = None if args.against is None else load(args.against)
    write_output(render(load(args.result), earlier), args.output)
    if args.output:
        write_message(f"saved: {args.output}")
    return 0


FIGURES_EXAMPLES = """examples:
  spanwise figures run.json
  spanwise figures run.json -o figures --format pdf,svg
  spanwise figures study.json -o figures --paper fu20-figure4 --format pdf --columns 1"""


FIGURES = Arguments(
    RESULT, positional("names", "NAME", "the figures to draw (default: all)", nargs="*"),
    output("where to write them", metavar="FOLDER"),
    Setting(
        "format", "svg, pdf, png, or several separated by commas (default: svg)", "svg", metavar="FORMATS"
    ),
    Setting(
        "paper", "a figure as a paper draws it, such as fu20-figure4; may be repeated", (), metavar="NAME"
    ),
    Setting(
        "columns", "as wide as one column of a paper (1: 240 pt) or two (2: 500 pt)", type=int, metavar="N"
    ),
    Setting(
        "labels",
        "the labels that a paper's confusion matrix shows, separated by commas; others are summed", "",
        metavar="LABELS",
    ),
    Setting("background", "white (default) or transparent", "white", metavar="COLOUR"),
)  # fmt: skip


def run_figures(args: argparse.Namespace) -> int:
    """Draw the figures of a saved result or study as SVG, PDF or PNG; without a folder, list their names.

    PDF files embed their fonts. --paper draws figures as the papers do.
    """
    from spanwise.document.loading import load
    from spanwise.reports.figures import names, papers, save

    document = load(args.result)
    if not args.output:
        lines = [*names(document), *(f"--paper {name:<15} {text}" for name, text in papers().items())]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return 0
    formats = [form.strip() for form in args.format.split(",") if form.strip()]
    written = save(
        document,
        args.output,
        formats=formats,
        names=args.names,
        papers=args.paper,
        labels=[label for label in args.labels.split(",") if label],
        background=args.background,
        columns=args.columns,
    )
    files = "1 file" if len(written) == 1 else f"{len(written)} files"
    write_message(f"saved: {files} in {args.output}")
    return 0


TABLE_EXAMPLES = """examples:
  spanwise table run.json
  spanwise table run.json holistic --latex
  spanwise table study.json model_wise --csv -o model_wise.csv"""


TYPESETTING = (
    Setting("decimals", "decimals of scores in points (default: 1)", type=int, choices=(1, 2)),
    Setting("wide", "LaTeX: use both columns of the page (table*) in any case", False),
)
TABLE = Arguments(
    RESULT, positional("names", "NAME", "the tables to print, or all", nargs="*"),
    Either("form", {
        "latex": "a booktabs table: best in bold, superscript letters, a caption that names the test",
        "markdown": "a pipe table (default)",
        "csv": "unrounded numbers, as fractions",
    }),
    TYPESETTING,
    Setting(
        "least_share", "leave out tough subsets with less than P %% of the gold mentions (the paper: 1)", 0,
        type=float, metavar="P",
    ),
    Setting("short", "use the short names of attributes: eLen, eCon", False),
    output("write to a file instead of standard output"),
)  # fmt: skip


def run_table(args: argparse.Namespace) -> int:
    """Print tables of a saved result or study as LaTeX, Markdown or CSV; without a name, list their names."""
    from spanwise.document.loading import load
    from spanwise.reports.tables import table, tables

    document = load(args.result)
    if not args.names:
        available = tables(document)
        width = max(map(len, available), default=0) + 2
        text = "".join(f"{name:<{width}}{_summary(entry.caption)}\n" for name, entry in available.items())
    else:
        names = list(tables(document)) if args.names == ["all"] else args.names
        if not 0 <= args.least_share <= 100:
            raise ChoiceError(
                f"--least-share is {args.least_share:g}, but must be a percentage from 0 to 100."
            )
        chosen = [
            table(document, name, short=args.short).without_rare(args.least_share / 100) for name in names
        ]
        text = "\n".join(_written(entry, args) for entry in chosen)
    write_output(text, args.output)
    return 0


def _written(table: Table, args: argparse.Namespace) -> str:
    """A table in the form that was asked for."""
    form = args.form or "markdown"
    if form == "csv" and args.decimals is not None:
        raise ChoiceError("--decimals rounds LaTeX and Markdown, but CSV is not rounded.\nLeave it out.")
    if form != "latex" and args.wide:
        raise ChoiceError("--wide is about LaTeX tables.\nAdd --latex, or leave it out.")
    if form == "csv":
        return table.to_csv()
    shown = table.rounded(args.decimals or 1)
    return shown.to_latex(wide=args.wide) if form == "latex" else shown.to_markdown()


def _summary(caption: str) -> str:
    first = caption.split(". ")[0].rstrip(".")
    return first if len(first) <= 76 else first[:75].rsplit(" ", 1)[0] + " …"


PAPER_EXAMPLES = """examples:
  spanwise paper study.json -o paper
  spanwise paper study.json -o paper --decimals 2 --appendix scores,tough
  spanwise paper run.json -o paper --wide --appendix none"""


PAPER = Arguments(
    positional("result", "STUDY.json", "a study or result document, written by --json"),
    output("the folder to write", metavar="FOLDER", required=True), TYPESETTING,
    Setting(
        "appendix",
        "the tables of the appendix, as 'spanwise table STUDY.json' lists them, separated by commas, or "
        "none (default: the data and all scores, labels and tough mentions)", metavar="NAMES",
    ),
)  # fmt: skip


def run_paper(args: argparse.Namespace) -> int:
    """Write the main table, a figure, what the tests say and an appendix as a LaTeX document.

    The document compiles by itself, in two columns of 7.7 cm, or in the style of the ACL if acl.sty is in its
    folder.
    """
    from spanwise.reports.paper import paper

    names = None if args.appendix is None else [name.strip() for name in args.appendix.split(",")]
    written = paper(
        args.result, args.output, decimals=args.decimals or 1, wide=args.wide,
        appendix=[] if names == ["none"] else names,
    )  # fmt: skip
    write_message(f"saved: {', '.join(map(str, written))}")
    return 0


EXPORT_EXAMPLES = (
    "forms:\n"
    + "".join(f"  {report.name:<13}{report.summary}\n" for report in REPORTS)
    + """
examples:
  spanwise export run.json flat
  spanwise export run.json summary --fail-under 90 >> "$GITHUB_STEP_SUMMARY"
  spanwise export run.json summary --against last.json --fail-drop 0.5 --strict
  spanwise export run.json junit --fail-under 90 --floor PER=85 -o gate.xml
  spanwise export run.json annotations --against last.json --fail-drop 1
  spanwise export run.json model-index --name my-org/my-model --dataset conll2003
  spanwise export --schema

exit status 1 if a threshold was given and missed"""
)


_OFTEN = ("fail_under", "against", "fail_drop", "floor")
EXPORT = Arguments(
    positional("result", "RESULT.json", "a result or study document", nargs="?"),
    positional("form", "FORM", "one of: " + ", ".join(REPORTS.names()), nargs="?"),
    output("write to a file instead of standard output", often=True),
    Setting("schema", "print the JSON Schema of result documents", False, often=True),
    OptionGroup(
        "thresholds of summary, junit and annotations",
        [one._replace(often=one.name in _OFTEN) for one in THRESHOLDS],
    ),
    Setting("name", "model-index: the model's name; by default the system's", often=True),
    Setting("dataset", "model-index: the dataset's identifier; by default its name"),
)


def run_export(args: argparse.Namespace) -> int:
    """Export a saved result for other tools: scalars, rows, CI summaries, model cards."""
    if args.schema:
        import json

        from spanwise.document.loading import schema

        write_output(json.dumps(schema(), indent=2) + "\n", args.output or args.result)
        return 0
    forms = ", ".join(REPORTS.names())
    if args.result is None or args.form is None:
        raise ChoiceError(f"export needs a result document and a form.\nThe forms are: {forms}.")
    report = REPORTS.find(args.form)
    from spanwise.document.loading import load

    document = load(args.result)
    outcome = _outcome(args, document, report)
    checks = outcome.checks
    choices = {"fail_under": args.fail_under, "floors": args.floor, "checks": checks}
    choices |= {"changes": outcome.changes, "notes": outcome.notes}
    choices |= {"earlier": None if args.against is None else load(args.against)}
    choices |= {"name": args.name, "dataset": args.dataset}
    content = report.render(document, **{key: choices[key] for key in report.takes})
    write_output(content, args.output)
    return 0 if all(check.passed for check in checks) else 1


def _outcome(args: argparse.Namespace, document: Document, report: Report) -> Outcome:
    """The outcome of the given thresholds, and what changed since an earlier result."""
    from spanwise.gates import Outcome

    for name in ("fail_drop", "not_worse_than", "strict"):
        if getattr(args, name) not in (None, False) and args.against is None:
            flag = f"--{name.replace('_', '-')}"
            raise ChoiceError(f"{flag} needs an earlier result to compare with.\nAdd --against LAST.json.")
    if args.fail_under is None and not args.floor and args.against is None and args.gate is None:
        if report.name == "junit":
            raise ChoiceError(
                "junit needs a threshold.\n"
                "Add --fail-under POINTS, --floor PATH=POINTS, --gate FILE or --against FILE."
            )
        return Outcome(())
    return outcome_of(args, document)


COMMANDS = {
    "changes": Command(CHANGES, run_changes, CHANGES_EXAMPLES),
    "report": Command(REPORT, run_report, REPORT_EXAMPLES),
    "figures": Command(FIGURES, run_figures, FIGURES_EXAMPLES),
    "paper": Command(PAPER, run_paper, PAPER_EXAMPLES),
    "table": Command(TABLE, run_table, TABLE_EXAMPLES),
    "export": Command(EXPORT, run_export, EXPORT_EXAMPLES),
}
