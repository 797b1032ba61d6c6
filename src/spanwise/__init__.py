"""spanwise explains why one system scores better than another on labeled spans, and whether it is real."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` would double the import time

__version__ = "0.3.0"

__all__ = [
    "Annotation",
    "ChoiceError",
    "Corpus",
    "Data",
    "InputError",
    "Mentions",
    "Metric",
    "MissingExtra",
    "Result",
    "SpanwiseError",
    "agree",
    "apply_threshold",
    "attribute",
    "changes",
    "compare",
    "confidence",
    "curve",
    "describe",
    "evaluate",
    "explain",
    "find_slices",
    "leaks",
    "load",
    "open",
    "paper",
    "place",
    "plan",
    "read",
    "sample",
    "split",
    "study",
    "study_of",
    "suspects",
    "tuples",
    "write",
]

# The module of each public name. Modules are imported when a name is first used, so that
# `import spanwise` and `spanwise --help` stay instant.
_HOMES = {
    "Annotation": "corpus:Annotation",
    "ChoiceError": "errors:ChoiceError",
    "Corpus": "corpus:Corpus",
    "Data": "data:Data",
    "InputError": "errors:InputError",
    "Mentions": "corpus:Mentions",
    "Metric": "metric:Metric",
    "MissingExtra": "errors:MissingExtra",
    "Result": "document.evaluation:Result",
    "SpanwiseError": "errors:SpanwiseError",
    "apply_threshold": "calibration:apply_threshold",
    "agree": "agreement:agree",
    "attribute": "attributes:register",
    "changes": "changing:changes",
    "compare": "evaluation:compare",
    "confidence": "calibration:confidence",
    "curve": "curves:curve",
    "describe": "description:describe",
    "evaluate": "evaluation:evaluate",
    "explain": "explanation:explain",
    "find_slices": "slices:find_slices",
    "leaks": "leakage:leaks",
    "load": "document.loading:load",
    "open": "data:open_data",
    "paper": "reports.paper:paper",
    "place": "placement:place",
    "plan": "planning:plan",
    "read": "formats:read",
    "sample": "sampling:sample",
    "split": "splitting:split",
    "study": "studies:study",
    "study_of": "studies.verbs:study_of",
    "suspects": "suspicion:suspects",
    "tuples": "relations:tuples",
    "write": "formats.writing:write",
}

if TYPE_CHECKING:
    from spanwise.agreement import agree
    from spanwise.attributes import register as attribute
    from spanwise.calibration import apply_threshold, confidence
    from spanwise.changing import changes
    from spanwise.corpus import Annotation, Corpus, Mentions
    from spanwise.curves import curve
    from spanwise.data import Data
    from spanwise.data import open_data as open
    from spanwise.description import describe
    from spanwise.document.evaluation import Result
    from spanwise.document.loading import load
    from spanwise.errors import ChoiceError, InputError, MissingExtra, SpanwiseError
    from spanwise.evaluation import compare, evaluate
    from spanwise.explanation import explain
    from spanwise.formats import read
    from spanwise.formats.writing import write
    from spanwise.leakage import leaks
    from spanwise.metric import Metric
    from spanwise.placement import place
    from spanwise.planning import plan
    from spanwise.relations import tuples
    from spanwise.reports.paper import paper
    from spanwise.sampling import sample
    from spanwise.slices import find_slices
    from spanwise.splitting import split
    from spanwise.studies import study
    from spanwise.studies.verbs import study_of
    from spanwise.suspicion import suspects


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'spanwise' has no attribute {name!r}")
    room, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(f"spanwise.{room}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
