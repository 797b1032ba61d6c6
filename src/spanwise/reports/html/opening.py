"""The cards with which a page opens: what to fix, telling sentences, and what to check in the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Document
from spanwise.document.evaluation import Evaluation, GoldMention, PredictedMention, Sentence
from spanwise.document.study import Study
from spanwise.reports._document import examples
from spanwise.reports.errors import ListedError, holds_sentences, listing, location_of
from spanwise.reports.html.standings import ranked_systems
from spanwise.tasks import MOST_LISTED
from spanwise.views import wording as words
from spanwise.views.commands import quoted
from spanwise.views.shown import ShownDataset, evaluation_shown, middle_run, run_name, study_shown
from spanwise.views.tasks import TaskWords, shown_tasks

MOST_SENTENCES = 3
CONTEXT = 9  # words on both sides of the mention that a sentence is shown for


class TaskItem(Struct, frozen=True):
    """A task, and the link to its sentences."""

    words: TaskWords
    link: str
    href: str


class Piece(Struct, frozen=True):
    """A stretch of words; those of the mention are marked."""

    text: str
    marked: bool = False


class TellingSentence(Struct, frozen=True):
    """A sentence with one error: what went wrong, the words around it, and what each side says."""

    said: str
    pieces: Sequence[Piece]
    readings: Sequence[tuple[str, str, str]]  # who, what, and the class of its box
    source: str
    dataset: str = ""  # of a study with several


class ToldSentences(Struct, frozen=True):
    """The sentences that a page opens with, their title, and the link to all of that kind."""

    shown: Sequence[TellingSentence]
    title: str
    more: str
    number: int
    of: str = ""  # the dataset that the link is about, if there are several


class Opening(Struct, frozen=True):
    """What the opening cards show about one system."""

    name: str
    tasks: Sequence[TaskItem]
    checks: Sequence[TaskItem]
    sentences: ToldSentences


def opening(document: Evaluation, name: str, others: Sequence[str]) -> Opening:
    """The opening cards about one system; of two systems, the sentences show where the other one is wrong."""
    bases = _bases(document)
    rows = [_item(_with_bases(task, bases)) for task in shown_tasks(document, name)]
    other = others[0] if len(others) == 1 else None
    return Opening(
        name=name,
        tasks=[row for row in rows if not row.words.check or row.words.filter][:MOST_LISTED],
        checks=[row for row in rows if row.words.check and not row.words.filter],
        sentences=_sentences(document, [evaluation_shown(document)], name, other),
    )


def study_sentences(study: Study) -> ToldSentences | None:
    """Sentences that the best system gets right in all its runs and the next best wrong; None without text.

    They come from as many datasets as there are; the link leads to those of the first one.
    """
    order = ranked_systems(study)
    if not order or not holds_sentences(study):
        return None
    return _sentences(study, study_shown(study), order[0], order[1] if len(order) > 1 else None)


def _sentences(
    document: Document, parts: Sequence[ShownDataset], name: str, other: str | None
) -> ToldSentences:
    """Errors of a system; of two systems, where one is right and the other one wrong."""
    listed = listing(document, system=other or name) if holds_sentences(document) else []
    several = len(parts) > 1
    told: list[list[TellingSentence]] = []
    number, more = 0, ""
    for part in parts:
        errors = [error for error in listed if not several or error.dataset == part.name]
        runs = {
            system: [run_name(system, run, part.runs[system]) for run in part.runs[system]]
            for system in (name, other)
            if system is not None and system in part.runs
        }
        if other is not None:
            errors = [error for error in errors if _right(error, runs.get(name, ()))]
        told.append([_told(error, runs, part.name if several else "") for error in _telling(errors)])
        if part is parts[0]:
            number, more = _all_of(part, errors, name, other)
    right, wrong = words.visible(name), words.visible(other or "")
    return ToldSentences(
        shown=_in_turn(told),
        title=f"{right} right, {wrong} wrong" if other else f"errors of {right}",
        more=more,
        number=number,
        of=parts[0].name if several else "",
    )


def _right(error: ListedError, runs: Sequence[str]) -> bool:
    """Whether all these runs of a system get the gold mention of an error right."""
    return error.gold is not None and all(error.gold.outcome.get(run) == "TP" for run in runs)


def _all_of(
    part: ShownDataset, errors: Sequence[ListedError], name: str, other: str | None
) -> tuple[int, str]:
    """How many mentions or errors are of the kind shown, in the runs that the page lists, and their link."""
    if name not in part.runs:
        return 0, ""
    run = part.middle(name)
    if other is None or other not in part.runs:
        number = sum(middle_run(part.runs[name]) in error.runs for error in errors)
        return number, examples(number, unit="error", system=run)
    wrong = part.middle(other)
    number = sum(
        mention.outcome.get(run) == "TP" != mention.outcome.get(wrong)
        for sentence in part.sentences
        for mention in sentence.gold
    )
    return number, examples(number, unit="gold", system=run, outcome="TP", over=wrong)


def _in_turn(told: Sequence[Sequence[TellingSentence]]) -> list[TellingSentence]:
    """The first sentences of every dataset in turn, of as many kinds as possible."""
    left = [list(rows) for rows in told if rows]
    chosen: list[TellingSentence] = []
    while any(left) and len(chosen) < MOST_SENTENCES:
        for rows in left:
            if rows and len(chosen) < MOST_SENTENCES:
                seen = {one.said for one in chosen}
                rows.sort(key=lambda one: one.said in seen)  # stable
                chosen.append(rows.pop(0))
    return chosen


def _bases(document: Evaluation) -> dict[str, str]:
    """The base names of the files of a document, as commands quote them, unless two files share one."""
    paths = list(dict.fromkeys(row.path for row in document.inputs if row.path))
    shared = Counter(map(words.base_name, paths))
    return {
        quoted(path): quoted(base if shared[base := words.base_name(path)] == 1 else path) for path in paths
    }


def _with_bases(task: TaskWords, bases: Mapping[str, str]) -> TaskWords:
    """A task whose command names files without the folders of the machine that made the page."""
    shown = [
        bases.get(word) or (words.base_name(word) if word.startswith("/") else word)
        for word in task.command.split(" ")
    ]
    return replace(task, command=" ".join(shown))


def _item(task: TaskWords) -> TaskItem:
    if not task.number:
        return TaskItem(task, "", "")
    unit = "gold" if set(task.filter) == {"system", "gold"} else "error"
    chosen: dict[str, str] = dict(task.filter)
    if unit == "gold":
        chosen["outcome"] = "wrong"
    link = words.plural(task.number, "mention" if unit == "gold" else "error")
    return TaskItem(task, link, examples(task.number, unit=unit, **chosen))


def _telling(errors: Sequence[ListedError]) -> Iterator[ListedError]:
    """The first error of each kind, in whole sentences of readable length if there are any."""
    seen: set[str] = set()
    for error in sorted(errors, key=lambda error: not 5 <= _size(error.sentence) <= 30):
        kind = words.OUTCOMES.get(error.outcome, error.outcome)
        if kind not in seen and error.consumed.start >= 0 and _words(error.sentence):
            seen.add(kind)
            yield error
        if len(seen) == MOST_SENTENCES:
            return


def _size(sentence: Sentence) -> int:
    return len(sentence.tokens or (sentence.text or "").split())


def _words(sentence: Sentence) -> Sequence[str]:
    """The tokens of a sentence, or the characters of a text; empty if the text was left out."""
    return sentence.tokens or sentence.text or ""


def _told(error: ListedError, runs: Mapping[str, Sequence[str]], dataset: str) -> TellingSentence:
    """An error with the words around it, and what gold and the systems with these runs say there."""
    sentence, mention = error.sentence, error.consumed
    context, join = (CONTEXT, " ") if sentence.tokens else (12 * CONTEXT, "")
    shown = _words(sentence)
    start, end = max(0, mention.start - context), min(len(shown), mention.end + context)
    parts = [
        Piece(("… " if start else "") + join.join(shown[start : mention.start])),
        Piece(join.join(shown[mention.start : mention.end]), marked=True),
        Piece(join.join(shown[mention.end : end]) + (" …" if end < len(shown) else "")),
    ]
    readings = [("gold", _label(error.gold), "gold")]
    for name in runs:
        if _right(error, runs[name]):
            readings.append((name, f"✓ {_label(error.gold)}", "right"))
        elif error.system == name:
            kind = "missed" if error.predicted is None else "wrong"
            readings.append((name, _said(error, join), kind))
    outcome = words.capital(words.OUTCOMES.get(error.outcome, error.outcome))
    shown_parts = [part for part in parts if part.text]
    return TellingSentence(outcome, shown_parts, readings, location_of(error) or "", dataset)


def _label(mention: GoldMention | PredictedMention | None) -> str:
    return "nothing" if mention is None else words.visible(mention.label)


def _said(error: ListedError, join: str) -> str:
    """What a system says instead: its label, and its words if they are others than those of gold."""
    predicted, gold = error.predicted, error.gold
    if predicted is None:
        return "✗ missed"
    same = gold is not None and (gold.start, gold.end) == (predicted.start, predicted.end)
    own = "" if same or gold is None else join.join(_words(error.sentence)[predicted.start : predicted.end])
    return f"✗ {words.visible(predicted.label)}" + (f": {words.visible(own)}" if own else "")
