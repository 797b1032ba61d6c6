"""Reports as text and as a dict, as in `seqeval.reporters`."""

from spanwise.compat._report import DictReporter, Reporter, StringReporter

__all__ = ["DictReporter", "Reporter", "StringReporter"]
