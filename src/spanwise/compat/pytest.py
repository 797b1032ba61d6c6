"""A plugin for pytest: thresholds as tests, which show the verdict and broken mentions when they fail.

Nothing of spanwise is imported before a gate is used, so that other tests start as fast as before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.document.evaluation import Result
    from spanwise.gates import Outcome

SHOWN = 5  # broken mentions in a failure


class Gate:
    """What the fixture `spanwise_gate` is: call it to evaluate and to check thresholds.

    Examples:
        >>> gate = Gate("test_scores")
        >>> gate([["B-PER"]], {"mine": [["B-PER"]]}, fail_under=90, resamples=0)["mine"].exact.overall.f1
        1.0
    """

    def __init__(self, test: str, folder: Path | None = None) -> None:
        self.test, self.folder = test, folder
        self._calls = 0

    def __call__(
        self,
        source: object,
        systems: object = None,
        *,
        fail_under: float | None = None,
        against: str | Path | Document | Mapping[str, object] | None = None,
        fail_drop: float | None = None,
        not_worse_than: float | None = None,
        floors: Sequence[str] | Mapping[str, float] = (),
        floor_bound: bool = False,
        file: str | Path | None = None,
        strict: bool = False,
        **evaluation: Any,
    ) -> Result:
        """Evaluate, and let the test fail if a threshold is missed; return the result.

        Args:
            source: gold, as for `spanwise.evaluate`, or a result that was made before.
            systems: predictions, as for `spanwise.evaluate`.
            fail_under: the minimum of the primary score, in points.
            against: an earlier result or its file.
            fail_drop: fail if the score drops by significantly more than this.
            not_worse_than: pass only if a drop of this size or more is excluded.
            floors: the minimum of labels and slices, such as `{"PER": 90, "tough/UNSEEN-ANY": 70}`.
            floor_bound: compare with the lower ends of intervals.
            file: a TOML file with thresholds.
            strict: fail if a drop cannot be tested.
            evaluation: the other keywords of `spanwise.evaluate`, such as `train`.
        """
        import spanwise
        from spanwise.document.evaluation import Evaluation
        from spanwise.errors import ChoiceError
        from spanwise.gates import gate

        if isinstance(source, Evaluation):
            if systems is not None or evaluation:
                raise ChoiceError("a result was given, which is not evaluated again.\nLeave out the rest.")
            result = source
        else:
            result = spanwise.evaluate(source, systems, **evaluation)
        outcome = gate(
            result, fail_under=fail_under, against=against, fail_drop=fail_drop,
            not_worse_than=not_worse_than, floors=floors, floor_bound=floor_bound, file=file, strict=strict,
        )  # fmt: skip
        if not outcome.checks:
            raise ChoiceError(
                "the gate has no threshold, so that it could never fail.\n"
                'Pass fail_under=, floors={"PER": 90}, file= or, with against=, fail_drop=.'
            )
        if self.folder is not None:
            self._save(result)
        if not outcome.passed:
            pytest.fail(_message(result, outcome, against), pytrace=False)
        return result

    def _save(self, result: Result) -> None:
        """Write the page and the document of a gate, named after its test."""
        assert self.folder is not None
        self._calls += 1
        number = f"-{self._calls}" if self._calls > 1 else ""
        name = re.sub(r"[^\w.-]+", "-", self.test).strip("-") + number
        self.folder.mkdir(parents=True, exist_ok=True)
        result.to_json(self.folder / f"{name}.json")
        result.to_html(self.folder / f"{name}.html")


def _message(result: Result, outcome: Outcome, against: Any) -> str:
    """The lines of the verdict, then the first broken mentions in their sentences."""
    from spanwise.document.loading import as_document, load
    from spanwise.reports.broken import broken
    from spanwise.reports.errors import to_text

    if against is None or isinstance(against, str | Path):
        earlier = None if against is None else load(against)
    else:
        earlier = as_document(against)
    found = broken(result, earlier)
    some = f"the first {SHOWN} of {found.title}" if len(found.errors) > SHOWN else found.title
    return "\n".join([*outcome.lines, "", some, "", to_text(found.errors[:SHOWN])]).rstrip()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--spanwise-report`."""
    parser.getgroup("spanwise").addoption(
        "--spanwise-report",
        metavar="FOLDER",
        help="write the page and the document of every spanwise_gate to this folder",
    )


@pytest.fixture
def spanwise_gate(request: pytest.FixtureRequest) -> Gate:
    """Check scores against thresholds; a failure shows the verdict and five broken mentions."""
    folder = request.config.getoption("--spanwise-report")
    return Gate(request.node.nodeid, None if folder is None else Path(folder))
