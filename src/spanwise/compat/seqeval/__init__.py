"""A drop-in for seqeval 1.2.2 on integer columns: the same numbers and warnings, without scikit-learn.

Use `import spanwise.compat.seqeval as seqeval` in a single file, or `install()` for a whole program.
"""

from __future__ import annotations

import sys

from spanwise.compat.seqeval import metrics, reporters, scheme
from spanwise.compat.seqeval.metrics import sequence_labeling, v1

__version__ = "1.2.2"
__all__ = ["install", "metrics", "reporters", "scheme"]


def install() -> None:
    """Make `import seqeval` import this package from now on, whether seqeval is installed or not.

    Call this first: modules that have already imported names from seqeval keep them.

    Examples:
        >>> import subprocess
        >>> program = "import spanwise.compat.seqeval as s; s.install(); import seqeval; print(seqeval is s)"
        >>> subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip()
        'True'
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
