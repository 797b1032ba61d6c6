"""Sphinx configuration: Markdown pages, and a reference generated from the program at every build."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import _generate

import spanwise

project = "spanwise"
author = copyright = "The spanwise authors"
release = version = spanwise.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
python_maximum_signature_line_length = 88
add_module_names = False
# A type in a signature, such as the built-in `slice`, may also be the name of several attributes.
suppress_warnings = ["ref.python"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "reference/generated/gallery.md"]  # included by another page
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_static_path = ["_static"]
html_js_files = ["versions.js"] if "SPANWISE_VERSIONS" in os.environ else []  # set by versions.py
html_search_scorer = str(Path(__file__).parent / "search.js")
html_title = f"spanwise {release}"
html_show_sourcelink = False
html_extra_path = ["reference/generated/sample", "reference/schema.json"]

_generate.write(Path(__file__).parent / "reference" / "generated")
