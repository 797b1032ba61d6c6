"""Serve a folder of results as a local web application.

Results that are put into the folder appear by themselves. Any two can be compared, any slice scored;
notes last. Only this machine and who has the printed link can open it.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise workbench runs/
  spanwise evaluate gold.conll pred.conll --train train.conll --json runs/a.json --columns runs/a.npz
  spanwise workbench runs/ --port 8000"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise workbench`."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="where the results are")
    parser.add_argument("--port", type=int, default=7350, help="of this machine (default: 7350)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to serve (default: 127.0.0.1)")
    parser.add_argument(
        "--behind-proxy", metavar="ORIGIN", help="the address of a proxy before it, such as https://NAME"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from spanwise.workbench import serve

    serve(args.folder, port=args.port, host=args.host, behind_proxy=args.behind_proxy)
    return 0
