"""The command `workbench`."""

from __future__ import annotations

import argparse

from spanwise.cli.arguments import Arguments, Command, named, positional
from spanwise.errors import ChoiceError
from spanwise.settings import Setting
from spanwise.streams import write_message

EXAMPLES = """examples:
  spanwise workbench runs/
  spanwise evaluate gold.conll pred.conll --train train.conll --json runs/a.json --columns runs/a.npz
  spanwise workbench runs/ --port 8000
  spanwise workbench runs/ --bundle pages/      save its pages for people without a server"""


_ARGUMENTS = Arguments(
    positional("folder", "FOLDER", "the folder of results", nargs="?", default="."),
    Setting("port", "the port to listen on (default: 7350)", 7350),
    Setting("host", "the address to listen on (default: 127.0.0.1)", "127.0.0.1"),
    Setting(
        "behind_proxy", "the address of a proxy in front of it, such as https://NAME", metavar="ORIGIN"
    ),
    *named(
        "memory",
        help="how much memory the evaluation of an upload may use, such as 4GB (default: 3/4 of all)",
    ),
    Setting("bundle", "save the pages in a new folder instead of serving them", metavar="OUT"),
    Setting("systems", "with --bundle: the systems to show (default: all)", metavar="A,B"),
)  # fmt: skip


def run_workbench(args: argparse.Namespace) -> int:
    """Serve a folder of results as a local web application.

    Results appear as soon as they are put into the folder. Any two can be compared, any slice scored, and
    notes are kept. It can be opened only on this machine, with the printed link.
    """
    from spanwise.workbench import bundle, serve

    if args.bundle is not None:
        names = [name for name in (args.systems or "").split(",") if name]
        number = bundle(args.folder, args.bundle, systems=names)
        write_message(f"spanwise: {number} pages are in {args.bundle}; open {args.bundle}/index.html.")
        return 0
    if args.systems is not None:
        raise ChoiceError("--systems chooses what --bundle saves.\nGive --bundle OUT, or leave it out.")
    serve(args.folder, port=args.port, host=args.host, behind_proxy=args.behind_proxy, memory=args.memory)
    return 0


WORKBENCH = Command(_ARGUMENTS, run_workbench, EXAMPLES)
