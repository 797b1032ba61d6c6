"""What continuous integration reads: a Markdown summary, and thresholds as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from xml.etree import ElementTree

from spanwise.document.dataset import Description
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import DocumentLike
from spanwise.document.loading import as_document
from spanwise.reports import _wording as say
from spanwise.reports._tables import markdown, tables


class Checked(Protocol):
    """A threshold that was looked at, as `spanwise.gates` gives it."""

    @property
    def name(self) -> str: ...
    @property
    def passed(self) -> bool: ...
    @property
    def message(self) -> str: ...


def to_junit(checks: Sequence[Checked], *, suite: str = "spanwise", details: str = "") -> str:
    """One test case per threshold, in the XML that CI servers read.

    It holds no times and no host, so that equal results are equal bytes.
    """
    missed = sum(not check.passed for check in checks)
    sizes = {"tests": str(len(checks)), "failures": str(missed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", sizes)
    cases = ElementTree.SubElement(root, "testsuite", {"name": say.visible(suite), **sizes})
    for check in checks:
        named = {"classname": say.visible(suite), "name": say.visible(check.name)}
        case = ElementTree.SubElement(cases, "testcase", named)
        if check.passed:
            ElementTree.SubElement(case, "system-out").text = say.visible(check.message)
        else:
            about = {"message": say.visible(check.message), "type": "threshold"}
            failure = ElementTree.SubElement(case, "failure", about)
            failure.text = "\n".join(filter(None, (say.visible(check.message), say.visible(details))))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def junit(
    document: DocumentLike,
    *,
    fail_under: float | None = None,
    floors: Sequence[str] = (),
    checks: Sequence[Checked] | None = None,
) -> str:
    """The thresholds of `spanwise.gates.gate`, in points, or their outcome, as JUnit XML."""
    from spanwise.gates import gate

    document = as_document(document)
    if checks is None:
        checks = gate(document, fail_under=fail_under, floors=floors).checks
    name = document.dataset.name if isinstance(document, Evaluation) else ""
    return to_junit(checks, suite=f"spanwise {name}" if name else "spanwise", details=document.signature)


class ChangedScore(Protocol):
    """What became of a system since an earlier result, as `spanwise.gates` gives it."""

    @property
    def system(self) -> str: ...
    @property
    def before(self) -> float | None: ...
    @property
    def after(self) -> float | None: ...
    @property
    def difference(self) -> float | None: ...
    @property
    def interval(self) -> tuple[float | None, float | None] | None: ...
    @property
    def p(self) -> float | None: ...
    @property
    def new(self) -> bool: ...


def _changes(changes: Sequence[ChangedScore], confidence: float) -> str:
    """A row for each system: F1 before and now, the difference with its interval, and p."""
    rows = [
        f"| system | F1 before | F1 now | difference | {100 * confidence:g} % interval | p |",
        "|---|---:|---:|---:|---|---:|",
    ]
    for change in changes:
        cells = [markdown(say.visible(change.system)), _f1(change.before), _f1(change.after)]
        if change.new:
            cells += ["new, untested", "", ""]
        else:
            low, high = change.interval or (None, None)
            bounds = "" if low is None or high is None else f"{100 * low:+.2f} to {100 * high:+.2f}"
            apart = "n/a" if change.difference is None else f"{100 * change.difference:+.2f}"
            real = low is not None and high is not None and (low > 0 or high < 0)
            cells += [
                f"**{apart}**" if real else apart,
                bounds,
                "not tested" if change.p is None else say.p_value(change.p),
            ]
        rows.append("| " + " | ".join(cells) + " |")
    return "### Since the earlier result\n\n" + "\n".join(rows)


def _f1(value: float | None) -> str:
    """Two decimals, as gates give them: what a pull request changes may be small."""
    return "n/a" if value is None else f"{100 * value:.2f}"


def step_summary(
    document: DocumentLike,
    *,
    checks: Sequence[Checked] = (),
    changes: Sequence[ChangedScore] = (),
    notes: Sequence[str] = (),
) -> str:
    """Markdown for `$GITHUB_STEP_SUMMARY`: thresholds, scores, findings, errors, the rest folded away.

    With the `changes` since an earlier result a table shows what became of every system; a difference
    whose interval excludes 0 is bold.
    """
    document = as_document(document)
    made = tables(document)
    dataset = document.dataset.name if isinstance(document, Evaluation | Description) else ""
    parts = ["## spanwise" + (f": {markdown(dataset)}" if dataset else "")]
    if checks:
        signs = {True: "✅", False: "❌"}
        parts.append("\n".join(f"- {signs[check.passed]} {markdown(check.message)}" for check in checks))
    if changes:
        confidence = document.settings.confidence if isinstance(document, Evaluation) else 0.95
        parts.append(_changes(changes, confidence))
    if notes:
        parts.append("\n".join(f"- {markdown(note)}" for note in notes))
    if "holistic" in made:
        parts.append(made["holistic"].to_markdown())
    findings = document.findings if isinstance(document, Evaluation) else ()
    if findings:
        parts.append("\n".join(f"- {markdown(say.finding(row))}" for row in findings))
    if "errors" in made:
        parts.append("### Errors\n\n" + made["errors"].to_markdown())
    for name in ("labels", "tough", "model_wise", "rank_flips"):
        if name in made:
            title = name.replace("_", " ")
            parts.append(f"<details><summary>{title}</summary>\n\n{made[name].to_markdown()}\n</details>")
    if document.signature:
        parts.append(f"<sub>{markdown(document.signature)}</sub>")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
