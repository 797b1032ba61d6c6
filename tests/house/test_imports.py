"""Which modules `import spanwise` and `spanwise --help` load, and which they do not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "scipy", "rich", "altair", "vl_convert", "jinja2", "pandas", "polars", "pyarrow",
    "spacy", "zstandard", "datasets", "seqeval", "nervaluate", "seqscore", "statsmodels",
    "torch", "pycrfsuite", "starlette", "uvicorn", "spanwise.workbench",
}  # fmt: skip


def loaded_after(code: str) -> set[str]:
    """The names of the modules loaded in a fresh interpreter after running `code`."""
    listing = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{listing}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_importing_spanwise_loads_nothing_heavy() -> None:
    loaded = loaded_after("import spanwise")
    assert not loaded & (HEAVY | {"numpy"})


def test_the_public_names_load_nothing_optional() -> None:
    loaded = loaded_after("import spanwise\nfor name in spanwise.__all__: getattr(spanwise, name)")
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    "call",
    [["--help"], ["--version"], [], ["evaluate", "--help"], ["demo", "--help"], ["workbench", "--help"]],
)
def test_help_needs_no_numpy(call: list[str]) -> None:
    code = (
        "import contextlib, io\nfrom spanwise.cli.main import main\n"
        f"with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main({call!r})"
    )
    assert not loaded_after(code) & (HEAVY | {"numpy"})


def test_scores_of_small_files_need_only_what_they_use(tmp_path: Path) -> None:
    """Masked arrays alone take longer to load than the scores of a small file to compute."""
    (tmp_path / "gold.conll").write_text("Ann B-PER\nmet O\nBo B-PER\n\nRome B-LOC\n")
    (tmp_path / "a.conll").write_text("Ann B-PER\nmet O\nBo B-LOC\n\nRome O\n")
    call = ["evaluate", *(str(tmp_path / name) for name in ("gold.conll", "a.conll")), "--quiet"]
    unused = HEAVY | {"numpy.ma", "tomllib"}
    code = f"from spanwise.cli.main import main\nassert main({call!r}) == 0"
    assert not loaded_after(code) & unused
    assert "numpy.random" not in loaded_after(code.replace("'--quiet'", "'--quiet', '--resamples', '0'"))


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    import spanwise

    with pytest.raises(AttributeError, match="module 'spanwise' has no attribute 'nonsense'"):
        _ = spanwise.nonsense
    assert set(spanwise.__all__) <= set(dir(spanwise))
