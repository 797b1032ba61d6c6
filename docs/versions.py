"""Build the documentation of several versions side by side, with links between them.

    python docs/versions.py site v0.3.0 v0.2.0 main     the first one is shown first

Each version is a branch, tag or commit. It is built from its own files into a folder of its name; versions
from before these links are built without them. The packages that the documentation needs must be installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = """<!doctype html>
<meta charset="utf-8">
<title>spanwise</title>
<meta http-equiv="refresh" content="0; url={name}/index.html">
<a href="{name}/index.html">spanwise {name}</a>
"""


def main(arguments: Sequence[str]) -> int:
    """Build every version, then list them."""
    if len(arguments) < 2:
        sys.exit("usage: python docs/versions.py FOLDER VERSION [VERSION …]")
    site = Path(arguments[0])
    for version in arguments[1:]:
        build(version, site / folder_of(version))
    listed(site, arguments[1:])
    return 0


def folder_of(version: str) -> str:
    """The name of a version's folder: `v0.3.0` is in `v0.3.0`, and `fix/links` in `fix-links`."""
    return version.replace("/", "-")


def build(version: str, out: Path) -> None:
    """Build one version from its own files."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", version], cwd=ROOT, check=True, capture_output=True)
        subprocess.run(["tar", "-xf", "-", "-C", folder], input=archive.stdout, check=True)
        environment = {**os.environ, "PYTHONPATH": str(Path(folder) / "src"), "SPANWISE_VERSIONS": "1"}
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(Path(folder) / "docs"), str(out)]
        subprocess.run(command, env=environment, check=True)


def listed(site: Path, versions: Sequence[str]) -> None:
    """Write the list that `_static/versions.js` reads: each version with its pages; and the first page."""
    rows = [
        {"name": version, "folder": folder_of(version), "pages": pages(site / folder_of(version))}
        for version in versions
    ]
    (site / "versions.js").write_text(f"var spanwiseVersions = {json.dumps(rows)};\n", encoding="utf-8")
    (site / "index.html").write_text(HOME.format(name=folder_of(versions[0])), encoding="utf-8")


def pages(folder: Path) -> list[str]:
    """The pages of one version."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
