"""What continuous integration reads: a Markdown summary, and thresholds as JUnit XML."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from spanwise.errors import ChoiceError
from spanwise.reports import _wording as say
from spanwise.reports.outlets._flat import flat
from spanwise.reports.tables import tables


@dataclass(frozen=True)
class Gate:
    """A scalar of `flat` that must reach a threshold, both as fractions.

    Whether it did is asked of the score before rounding, and an undefined score never does.
    """

    name: str
    value: float
    threshold: float

    @property
    def passed(self) -> bool:
        """Whether the score is at least the threshold."""
        return self.value >= self.threshold

    @property
    def words(self) -> str:
        """What was found and what was asked, in points."""
        found, asked = say.points(self.value), f"{100 * self.threshold:g}"
        return f"{say.visible(self.name)} is {found}, {'at least' if self.passed else 'below'} {asked}"


def gates_of(document: Mapping[str, Any], asked: Iterable[str]) -> list[Gate]:
    """Gates from texts such as `90`, `f1=90` or `label/PER/f1=85`, thresholds in points.

    A name holds for every system that has it; with several systems `crf/f1=90` means one of them.

    Examples:
        >>> scores = {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
        >>> one = {"systems": {"crf": {"exact": {"overall": scores, "labels": {}}}}}
        >>> [gate.passed for gate in gates_of(one, ["60", "recall=60"])]
        [True, False]
    """
    values = flat(document)
    gates = []
    for text in asked:
        name, _, points = text.rpartition("=")
        name = name or "f1"
        try:
            threshold = float(points) / 100
        except ValueError:
            threshold = math.nan
        if not 0 <= threshold <= 1:
            raise ChoiceError(
                f"{text!r} is no threshold.\nWrite points between 0 and 100, as 90, f1=90 or label/PER/f1=85."
            )
        systems: Mapping[str, Any] = document.get("systems") or {}
        names = (
            [name] if name in values else [f"{one}/{name}" for one in systems if f"{one}/{name}" in values]
        )
        if not names:
            near = difflib.get_close_matches(name, values, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ChoiceError(
                f"no score is called {name!r}.{hint}\nspanwise export RESULT.json flat lists all names."
            )
        gates += [Gate(found, values[found], threshold) for found in names]
    return gates


def failed(gates: Iterable[Gate]) -> list[Gate]:
    """The gates that were missed."""
    return [gate for gate in gates if not gate.passed]


def junit(document: Mapping[str, Any], *, gates: Sequence[str | Gate] = ()) -> str:
    """One test case a gate, in the XML that CI servers read; no times, so equal results are equal bytes."""
    texts = [gate for gate in gates if isinstance(gate, str)]
    made = [*gates_of(document, texts), *(gate for gate in gates if isinstance(gate, Gate))]
    missed = failed(made)
    dataset = say.visible((document.get("dataset") or {}).get("name") or "spanwise")
    suites = ElementTree.Element("testsuites")
    sizes = {"tests": str(len(made)), "failures": str(len(missed)), "errors": "0", "time": "0"}
    suite = ElementTree.SubElement(suites, "testsuite", {"name": f"spanwise {dataset}", **sizes})
    for gate in made:
        title = f"{say.visible(gate.name)} at least {100 * gate.threshold:g}"
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": f"spanwise.{dataset}", "name": title, "time": "0"}
        )
        if not gate.passed:
            failure = ElementTree.SubElement(case, "failure", {"message": gate.words, "type": "threshold"})
            failure.text = f"{gate.words}\n{say.visible(document.get('signature') or '')}"
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def step_summary(document: Mapping[str, Any], *, gates: Sequence[str] = ()) -> str:
    """Markdown for `$GITHUB_STEP_SUMMARY`: gates, scores, findings, errors, and the rest folded away."""
    made = tables(document)
    dataset = (document.get("dataset") or {}).get("name")
    parts = ["## spanwise" + (f": {_escaped(dataset)}" if dataset else "")]
    checked = gates_of(document, gates)
    if checked:
        parts.append(
            "\n".join(f"- {'✅' if gate.passed else '❌'} {_escaped(gate.words)}" for gate in checked)
        )
    if "holistic" in made:
        parts.append(made["holistic"].to_markdown())
    found = document.get("findings") or []
    if found:
        parts.append("\n".join(f"- {_escaped(say.finding(row))}" for row in found))
    if "errors" in made:
        parts.append("### Errors\n\n" + made["errors"].to_markdown())
    for name in ("labels", "tough", "model_wise", "rank_flips"):
        if name in made:
            title = name.replace("_", " ")
            parts.append(f"<details><summary>{title}</summary>\n\n{made[name].to_markdown()}\n</details>")
    if document.get("signature"):
        parts.append(f"<sub>{_escaped(document['signature'])}</sub>")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _escaped(text: object) -> str:
    from spanwise.reports.tables import markdown

    return markdown(str(text))
