"""The calls of seqeval 1.2.2 over integer columns: its numbers, reports and warnings, without scikit-learn.

`import spanwise.compat.seqeval as seqeval` changes one file; `install()` changes a whole program.
"""

from __future__ import annotations

import sys

from spanwise.compat.seqeval import metrics, reporters, scheme
from spanwise.compat.seqeval.metrics import sequence_labeling, v1

__version__ = "1.2.2"
__all__ = ["install", "metrics", "reporters", "scheme"]


def install() -> None:
    """Let `import seqeval` find this package from now on, whether seqeval is installed or not.

    Modules that took names from seqeval before keep them: call this first.
    """
    sys.modules["seqeval"] = sys.modules[__name__]
    for name, module in (
        ("metrics", metrics),
        ("metrics.sequence_labeling", sequence_labeling),
        ("metrics.v1", v1),
        ("reporters", reporters),
        ("scheme", scheme),
    ):
        sys.modules[f"seqeval.{name}"] = module
