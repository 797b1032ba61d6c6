"""The reports of seqeval as text and as a dict, with the classes of `seqeval.reporters`."""

from __future__ import annotations

import abc
from typing import Any


class Reporter(abc.ABC):
    """What gathers the rows of a report."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    @abc.abstractmethod
    def report(self) -> Any:
        """The report of the rows written so far."""
        raise NotImplementedError

    @abc.abstractmethod
    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        raise NotImplementedError


class DictReporter(Reporter):
    """Rows by name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.report_dict: dict[str, dict[str, Any]] = {}

    def report(self) -> dict[str, dict[str, Any]]:
        """The rows by name."""
        return self.report_dict

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        scores = {"precision": precision, "recall": recall, "f1-score": f1, "support": support}
        self.report_dict[row_name] = scores

    def write_blank(self) -> None:
        """Nothing: a dict has no blank rows."""


class StringReporter(Reporter):
    """Rows right-aligned in columns of nine characters behind a name of `width`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.buffer: list[str] = []
        self.width = kwargs.get("width", 10)
        self.digits = kwargs.get("digits", 4)
        self.row_fmt = "{:>{width}s}  {:>9.{digits}f} {:>9.{digits}f} {:>9.{digits}f} {:>9}"

    def report(self) -> str:
        """The header and the rows."""
        return self.write_header() + "\n".join(self.buffer)

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        row = self.row_fmt.format(
            row_name, precision, recall, f1, support, width=self.width, digits=self.digits
        )
        self.buffer.append(row)

    def write_header(self) -> str:
        """The names of the columns and a blank row."""
        names = "".join(f" {name:>9}" for name in ("precision", "recall", "f1-score", "support"))
        return f"{'':>{self.width}s} {names}\n\n"

    def write_blank(self) -> None:
        """Add a blank row."""
        self.buffer.append("")
