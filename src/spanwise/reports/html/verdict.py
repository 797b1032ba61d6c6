"""The first words of the page: who scores what, whether the lead is real, and at most four findings."""

from __future__ import annotations

from msgspec import UNSET, Struct

from spanwise.diagnosis import F1
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import given
from spanwise.document.scores import Finding
from spanwise.reports import _wording as words
from spanwise.reports._document import compared, ranked
from spanwise.reports._links import examples


class VerdictItem(Struct, frozen=True):
    """One sentence of the verdict: its sign, what stands out, the rest, and where it leads."""

    sign: str
    strong: str
    rest: str
    link: str | None = None
    href: str | None = None
    even: bool = False  # two systems that differ in parts of the data but not overall: it is told first


def verdict(document: Evaluation) -> list[tuple[str, str]]:
    """The headline as pieces of text, each with the name of the system it is about, or nothing."""
    order = ranked(document)
    first = order[0]
    overall = document.systems[first].exact.overall
    pieces = [(words.visible(first), first), (f" scores {words.points(overall.f1)} F1", "")]
    if len(order) == 1:
        pair = words.interval(overall.ends("f1"))
        return [*pieces, (f", between {pair.replace('–', ' and ')}." if pair else ".", "")]
    second = order[1]
    test = compared(document, first, second, F1)
    if test is None or not words.defined(test.difference):
        score = words.points(document.systems[second].exact.overall.f1)
        return [*pieces, (", ", ""), (words.visible(second), second), (f" {score}.", "")]
    rank = "" if len(order) == 2 else f", the next of {len(order)} systems"
    lead = words.signed(test.difference).lstrip("+")
    if lead == "0.0":
        return [*pieces, (", the same as ", ""), (words.visible(second), second), (".", "")]
    end = f"{rank}. The lead holds when the data are resampled."
    if not test.significant:
        p = words.p_value(test.p_corrected)
        end = f"{rank}. A lead this small can be chance (p {p if p.startswith('<') else '= ' + p})."
    return [*pieces, (f", {lead} above ", ""), (words.visible(second), second), (end, "")]


def findings(document: Evaluation) -> list[VerdictItem]:
    """The findings of the document, worded, each with a link to its mentions."""
    return [worded(document, finding) for finding in document.findings]


def worded(document: Evaluation, finding: Finding) -> VerdictItem:
    """One finding in words."""
    match finding.kind:
        case "gain":
            return _gain(document, finding)
        case "tough" | "slice":
            return _weak(document, finding)
        case "lead":
            return _lead(document, finding)
        case "data":
            return _data(finding)


def _named(document: Evaluation, finding: Finding) -> str:
    """The system that a finding is about, where there is more than one."""
    return words.visible(finding.system) if len(document.systems) > 1 else ""


def _gain(document: Evaluation, finding: Finding) -> VerdictItem:
    kind, name = finding.path[1], _named(document, finding)
    title = {
        "LE": "Wrong labels", "BE": "Wrong boundaries", "LBE": "Wrong label and boundary",
        "FN": "Missed mentions", "FP": "Spurious mentions",
    }[kind]  # fmt: skip
    title += f" cost {name} the most" if name else " cost the most"
    title += f", or {words.costly(finding.tied)}:" if finding.tied else ":"
    rest = f"fixing them would add {words.points(finding.value)} F1."
    number = finding.count or 0
    href = examples(number, unit="error", system=finding.system, outcome=kind)
    return VerdictItem("−", title, rest, words.plural(number, "error"), href)


def _weak(document: Evaluation, finding: Finding) -> VerdictItem:
    score = words.SCORES.get(finding.score or "", finding.score)
    against, name = given(finding.against), _named(document, finding)
    if finding.kind == "tough":
        strong = f"New names are hard for {name}:" if name else "New names are hard:"
        rest = f"{score} {words.points(finding.value)} on mentions unseen with their label"
        rest += f", against {words.points(against)} on seen ones." if words.defined(against) else "."
    else:
        title = words.slice_title(_kind(finding), finding.path[-2], finding.title or None)
        strong = f"{name} is weakest where {title}:" if name else f"Weakest where {title}:"
        rest = f"{score} {words.points(finding.value)}"
        rest += f", against {words.points(against)} overall." if words.defined(against) else "."
    return VerdictItem("−", strong, rest, *_mentions(document, finding))


def _kind(finding: Finding) -> str:
    return {"exact": "label", "tough": "tough"}.get(finding.path[0], "bucket")


def _lead(document: Evaluation, finding: Finding) -> VerdictItem:
    other = words.visible(finding.other or "the next system")
    if finding.even:
        gain, loss = (words.path_title(path).rsplit(", ", 1) for path in (finding.path, finding.loses))
        strong = f"{words.visible(finding.system)} gains on some mentions what it loses to {other} on others:"
        rest = f"{words.signed(finding.value)} {gain[1]} on {gain[0]}, "
        rest += f"{words.signed(given(finding.loss))} {loss[1]} on {loss[0]}."
        return VerdictItem("+", strong, rest, *_mentions(document, finding), even=True)
    if finding.path == F1:
        strong, rest = f"Ahead of {other} overall:", f"{words.signed(finding.value)} F1."
    else:
        part = words.path_title(finding.path).rsplit(", ", 1)[0]
        score = words.SCORES.get(finding.score or "", finding.score)
        strong = f"The lead over {other} comes most from {part}:"
        rest = f"{words.signed(finding.value)} {score} there."
    if finding.loses:
        part = words.path_title(finding.loses).rsplit(", ", 1)[0]
        rest += f" It trails in {part}."
    return VerdictItem("+", strong, rest, *_mentions(document, finding))


def _mentions(document: Evaluation, finding: Finding) -> tuple[str | None, str | None]:
    """The count of a finding with its link; tokens are counted but lead nowhere."""
    chosen: dict[str, str | None] = dict(finding.filter)
    number = finding.count
    if number is None:
        return None, None
    system = document.systems.get(chosen.pop("system", None) or finding.system or "")
    table = None if system is None else system.attributes.get(chosen.get("attribute") or "")
    if table is not None and table.unit != "mention":
        return words.plural(number, table.unit), None
    if finding.mentions is not UNSET and finding.mentions != number:
        # Fewer than the slice holds: the finding counts what is wrong in it.
        chosen.update(system=finding.system, outcome="wrong")
        return f"{words.count(number)} wrong", examples(number, unit="gold", **chosen)
    return words.plural(number, "mention"), examples(number, unit="gold", **chosen)


def _data(finding: Finding) -> VerdictItem:
    names = {
        "repairs": "tag repaired", "duplicates_with_train": "test sentence also in training",
        "changed_tokens": "token changed", "unplaced": "mention without a place",
        "notes": "note on the files",
    }  # fmt: skip
    parts = []
    for key, number in (finding.of or {}).items():
        text = names.get(key, key)
        if number != 1:
            head, _, tail = text.partition(" ")
            many = {"tag": "tags", "test": "test", "token": "tokens", "mention": "mentions", "note": "notes"}
            text = f"{many.get(head, head)} {tail}".replace("test sentence ", "test sentences ")
        parts.append(f"{words.count(number)} {text}")
    if finding.few_units:
        parts.append(f"only {words.count(finding.few_units)} units: intervals rest on little")
    rest = (", ".join(parts) or "see the method") + "."
    return VerdictItem("!", "Check the data:", rest, "method", "#method")
