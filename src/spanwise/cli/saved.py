"""Commands for saved results: `changes`, `report`, `figures`, `table`, `export` and `workbench`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from spanwise.cli.arguments import Command, add_thresholds, write_output
from spanwise.cli.evaluating import outcome_of
from spanwise.errors import ChoiceError
from spanwise.reports import REPORTS, Report
from spanwise.streams import say

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.gates import Outcome
    from spanwise.reports.tables import Table


CHANGES_EXAMPLES = """examples:
  spanwise changes last.json run.json
  spanwise changes last.json run.json --system crf --html changes.html"""


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise changes`."""
    from spanwise.cli.arguments import add_document

    parser.add_argument("earlier", metavar="OLD.json", help="the earlier result, written by --json")
    parser.add_argument("later", metavar="NEW.json", help="the later result, over the same gold data")
    parser.add_argument("--system", metavar="NAME", help="only this system (default: all that both have)")
    add_document(parser.add_argument_group("what to show and write"))


def run_changes(args: argparse.Namespace) -> int:
    """Say which mentions broke and were fixed between two saved results, and whether F1 differs."""
    from spanwise.changing import changes
    from spanwise.cli.arguments import finish_document

    finish_document(args, changes(args.earlier, args.later, system=args.system))
    return 0


REPORT_EXAMPLES = """examples:
  spanwise report run.json -o run.html
  spanwise report study.json -o study.html"""


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise report`."""
    parser.add_argument("result", metavar="RESULT.json", help="a result or study document, written by --json")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write the page (default: standard output)"
    )


def run_report(args: argparse.Namespace) -> int:
    """Make the HTML page of a saved result or study: one file, no network, no server."""
    from spanwise.document.loading import load
    from spanwise.reports.html import render

    if not args.output and sys.stdout.isatty():
        raise ChoiceError("a page cannot be read on a terminal.\nName a file: -o report.html.")
    write_output(render(load(args.result)), args.output)
    if args.output:
        say(f"saved: {args.output}")
    return 0


FIGURES_EXAMPLES = """examples:
  spanwise figures run.json
  spanwise figures run.json -o figures --format pdf,svg
  spanwise figures study.json -o figures --paper fu20-figure4 --format pdf --columns 1"""


def add_figures(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise figures`."""
    parser.add_argument("result", metavar="RESULT.json", help="a result or study document, written by --json")
    parser.add_argument("names", metavar="NAME", nargs="*", help="the figures to draw (default: all)")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where to write them")
    parser.add_argument(
        "--format",
        default="svg",
        metavar="FORMATS",
        help="svg, pdf, png, or several separated by commas (default: svg)",
    )
    parser.add_argument(
        "--paper", action="append", default=[], metavar="NAME",
        help="a figure as a paper draws it, such as fu20-figure4; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--columns", type=int, metavar="N",
        help="as wide as one column of a paper (1: 240 pt) or two (2: 500 pt)",
    )  # fmt: skip
    parser.add_argument(
        "--labels", default="", metavar="LABELS",
        help="the labels that a paper's confusion matrix shows, separated by commas; others are summed",
    )  # fmt: skip
    parser.add_argument(
        "--background", default="white", metavar="COLOUR", help="white (default) or transparent"
    )


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
    say(f"saved: {files} in {args.output}")
    return 0


TABLE_EXAMPLES = """examples:
  spanwise table run.json
  spanwise table run.json holistic --latex
  spanwise table study.json model_wise --csv -o model_wise.csv"""


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise table`."""
    parser.add_argument("result", metavar="RESULT.json", help="a result or study document, written by --json")
    parser.add_argument("names", metavar="NAME", nargs="*", help="the tables to print, or all")
    form = parser.add_mutually_exclusive_group()
    for name, what in (
        ("latex", "a booktabs table: best in bold, superscript letters, a caption that names the test"),
        ("markdown", "a pipe table (default)"),
        ("csv", "unrounded numbers, as fractions"),
    ):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=what)
    add_typesetting(parser)
    parser.add_argument(
        "--least-share", type=float, default=0, metavar="P",
        help="leave out tough subsets with less than P %% of the gold mentions (the paper: 1)",
    )  # fmt: skip
    parser.add_argument("--short", action="store_true", help="use the short names of attributes: eLen, eCon")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")


def add_typesetting(parser: argparse.ArgumentParser) -> None:
    """Add the options for how tables are set in a paper."""
    parser.add_argument(
        "--decimals", type=int, choices=(1, 2), help="decimals of scores in points (default: 1)"
    )
    parser.add_argument(
        "--wide", action="store_true", help="LaTeX: use both columns of the page (table*) in any case"
    )


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


def add_paper(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise paper`."""
    parser.add_argument("result", metavar="STUDY.json", help="a study or result document, written by --json")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="the folder to write")
    add_typesetting(parser)
    parser.add_argument(
        "--appendix", metavar="NAMES",
        help="the tables of the appendix, as 'spanwise table STUDY.json' lists them, separated by commas, or "
        "none (default: the data and all scores, labels and tough mentions)",
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
    say(f"saved: {', '.join(map(str, written))}")
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


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise export`."""
    parser.add_argument("result", metavar="RESULT.json", nargs="?", help="a result or study document")
    parser.add_argument("form", metavar="FORM", nargs="?", help="one of: " + ", ".join(REPORTS.names()))
    parser.add_argument(
        "-o", "--output", often=True, metavar="FILE", help="write to a file instead of standard output"
    )
    parser.add_argument(
        "--schema", often=True, action="store_true", help="print the JSON Schema of result documents"
    )
    add_thresholds(parser.add_argument_group("thresholds of summary, junit and annotations"), often=True)
    parser.add_argument("--name", often=True, help="model-index: the model's name; by default the system's")
    parser.add_argument("--dataset", help="model-index: the dataset's identifier; by default its name")


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
    content = report.function(document, **{key: choices[key] for key in report.takes})
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


WORKBENCH_EXAMPLES = """examples:
  spanwise workbench runs/
  spanwise evaluate gold.conll pred.conll --train train.conll --json runs/a.json --columns runs/a.npz
  spanwise workbench runs/ --port 8000
  spanwise workbench runs/ --bundle pages/      save its pages for people without a server"""


def add_workbench(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise workbench`."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="the folder of results")
    parser.add_argument("--port", type=int, default=7350, help="the port to listen on (default: 7350)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--behind-proxy", metavar="ORIGIN", help="the address of a proxy in front of it, such as https://NAME"
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="how much memory the evaluation of an upload may use, such as 4GB (default: 3/4 of all)",
    )
    parser.add_argument(
        "--bundle", metavar="OUT", help="save the pages in a new folder instead of serving them"
    )
    parser.add_argument("--systems", metavar="A,B", help="with --bundle: the systems to show (default: all)")


def run_workbench(args: argparse.Namespace) -> int:
    """Serve a folder of results as a local web application.

    Results appear as soon as they are put into the folder. Any two can be compared, any slice scored, and
    notes are kept. It can be opened only on this machine, with the printed link.
    """
    from spanwise.workbench import bundle, serve

    if args.bundle is not None:
        names = [name for name in (args.systems or "").split(",") if name]
        number = bundle(args.folder, args.bundle, systems=names)
        say(f"spanwise: {number} pages are in {args.bundle}; open {args.bundle}/index.html.")
        return 0
    if args.systems is not None:
        raise ChoiceError("--systems chooses what --bundle saves.\nGive --bundle OUT, or leave it out.")
    serve(args.folder, port=args.port, host=args.host, behind_proxy=args.behind_proxy, memory=args.memory)
    return 0


COMMANDS = {
    "changes": Command(add_changes, run_changes, CHANGES_EXAMPLES),
    "report": Command(add_report, run_report, REPORT_EXAMPLES),
    "figures": Command(add_figures, run_figures, FIGURES_EXAMPLES),
    "paper": Command(add_paper, run_paper, PAPER_EXAMPLES),
    "table": Command(add_table, run_table, TABLE_EXAMPLES),
    "export": Command(add_export, run_export, EXPORT_EXAMPLES),
    "workbench": Command(add_workbench, run_workbench, WORKBENCH_EXAMPLES),
}
