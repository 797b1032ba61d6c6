"""Serve a folder of results as a local web application.

Results that are put into the folder appear by themselves. Any two can be compared, any slice scored;
notes last. Only this machine and who has the printed link can open it.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise workbench runs/
  spanwise evaluate gold.conll pred.conll --train train.conll --json runs/a.json --columns runs/a.npz
  spanwise workbench runs/ --port 8000
  spanwise workbench runs/ --bundle pages/      save its pages for people without a server"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise workbench`."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="where the results are")
    parser.add_argument("--port", type=int, default=7350, help="of this machine (default: 7350)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to serve (default: 127.0.0.1)")
    parser.add_argument(
        "--behind-proxy", metavar="ORIGIN", help="the address of a proxy before it, such as https://NAME"
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="what evaluating an upload may take, such as 4GB (default: 3/4 of all)",
    )
    parser.add_argument(
        "--bundle", metavar="OUT", help="save the pages in a new folder instead of serving them"
    )
    parser.add_argument("--systems", metavar="A,B", help="with --bundle: the systems to show (default: all)")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or save the pages."""
    from spanwise.errors import ChoiceError
    from spanwise.streams import say
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
