"""Every error of a result document with its sentence, as text, JSON lines or CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Literal, TypeAlias

import numpy as np
from msgspec import UNSET, Struct, to_builtins
from msgspec.structs import replace

from spanwise import spreadsheet
from spanwise.bitmaps import LABEL, Bitmaps, column_of, unpacked_bits, with_labels
from spanwise.buckets import Bucket
from spanwise.columns import Bools, ints, offsets
from spanwise.conditions import OUTCOME, TOUGHNESS, Condition, Criterion, WordSearch, parse
from spanwise.conditions import words_of as finding
from spanwise.corpus import line_of
from spanwise.document import Document, DocumentLike, given
from spanwise.document.evaluation import Evaluation, GoldMention, PredictedMention, Sentence
from spanwise.document.loading import as_document
from spanwise.document.scores import BucketEdges, SystemScores, code_of
from spanwise.document.study import Study
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.mentions import MentionTable
from spanwise.reports.error_patterns import pattern_of_each
from spanwise.tasks import pattern_name
from spanwise.views import wording
from spanwise.views.shown import ShownDataset, run_name, shown_datasets

ShownMention: TypeAlias = GoldMention | PredictedMention

KINDS = ("LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
_GROUPS = {"BE": ("BEs", "BEl", "BEo")}
Over = Literal["error", "gold", "predicted"]
OVERS: tuple[Over, ...] = ("error", "gold", "predicted")
Agreeing = Literal["all", "some"]
AGREEING: tuple[Agreeing, ...] = ("all", "some")


class ListedError(Struct, frozen=True):
    """One error: its kind, the mentions involved and their sentence.

    `turn` is 2 if the predicted mention also belongs to an earlier error, 3 if the gold mention also
    belongs to another match, 0 for FN and FP, and 1 otherwise. `runs` are the runs of the system that
    make the error, `total_runs` is how many runs it has; `dataset` is set if the document has several.
    """

    system: str
    outcome: str
    turn: int
    gold: GoldMention | None
    predicted: PredictedMention | None
    sentence: Sentence
    dataset: str = ""
    runs: tuple[str, ...] = ()
    total_runs: int = 1

    @property
    def agreement(self) -> str:
        """How many runs make the error, in words; empty if the system has a single run."""
        if self.total_runs < 2:
            return ""
        named = ", ".join(map(wording.visible, self.runs))
        return (
            f"all {self.total_runs} runs"
            if len(self.runs) == self.total_runs
            else f"{len(self.runs)} of {self.total_runs} runs: {named}"
        )

    @property
    def consumed(self) -> ShownMention:
        """The mention whose bucket the error is in: the gold one, unless it was counted already."""
        chosen = self.predicted if self.turn == 3 or self.gold is None else self.gold
        assert chosen is not None
        return chosen

    @property
    def subsets(self) -> Sequence[str]:
        """The tough subsets of the `consumed` mention; predicted mentions are in none."""
        mention = self.consumed
        return (mention.tough or ()) if isinstance(mention, GoldMention) else ()


def listing(
    document: DocumentLike,
    *,
    outcome: str | Sequence[str] | None = None,
    gold: str | None = None,
    predicted: str | None = None,
    system: str | None = None,
    bucket: tuple[str, str] | None = None,
    tough: str | None = None,
    where: str | None = None,
    over: Over = "error",
    dataset: str | None = None,
    runs: Agreeing | None = None,
    pattern: str | None = None,
) -> list[ListedError]:
    """The errors of a document, in the order of its sentences; as many as its tables count.

    For several runs of a system, the errors that any run makes; an error that several make is listed once.

    Args:
        outcome: kinds of error, as codes (LE, BE, BEs, BEl, BEo, LBE, FN, FP) or in words ("wrong label",
            "wrong boundary", "too short", "too long", "crossing", "wrong label and boundary", "missed",
            "spurious").
        gold: only errors about a gold mention with this label.
        predicted: only errors about a predicted mention with this label.
        system: only errors of this system; by default of all systems.
        bucket: (attribute, bucket name or contents); the bucket of the gold mention if the error
            counts it, else that of the predicted mention.
        tough: only errors about gold mentions in this tough subset.
        where: a condition such as `label=MISC & entity_length>=3`, on the same mention as `bucket`.
        over: "error" gives one entry per error; "gold" one per gold mention that was not found
            exactly, and "predicted" one per predicted mention that is wrong, which are the outcomes
            that buckets count.
        dataset: only errors on this dataset of a study; by default on all datasets.
        runs: only errors that "all" runs of a system make, or that only "some" of them make.
        pattern: only errors that count in this pattern of their system, such as "stops before of".

    Raises:
        ChoiceError: the kind, label, system, bucket, subset or dataset is unknown.
        InputError: the document contains no sentences.
    """
    document = as_document(document)
    if over not in OVERS:
        raise unknown("way to count errors", over, OVERS)
    if runs is not None and runs not in AGREEING:
        raise unknown("choice of runs", runs, AGREEING)
    kinds = _kinds(outcome)
    tough = None if tough is None else code_of(tough)
    errors = []
    parts = _checked(document, gold, predicted, system, dataset)
    if runs is not None and not any(part.several(name) for part in parts for name in _systems(part, system)):
        whose = "every system" if system is None else f"the system {system!r}"
        raise ChoiceError(
            f"runs is {runs!r}, but {whose} has a single run here, whose errors no other run shares.\n"
            "Leave it out."
        )
    clauses = [] if where is None else [*parse(where).clauses]
    clauses += [] if bucket is None else [(Criterion(bucket[0], "=", (bucket[1],)),)]
    clauses += [] if tough is None else [(Criterion(TOUGHNESS, "=", (tough,)),)]
    scored = [scores for part in parts for scores in _scored(part)]
    subsets = dict.fromkeys(name for scores in scored for name in scores.tough)
    named = len(parts) > 1
    for part in parts:
        chosen = _chosen(part, kinds, gold, predicted, system, over, runs)
        if clauses:
            # Names that only other datasets know are known here, too.
            cuts = _cuts([*_scored(part), *scored])
            chosen = [*compress(chosen, _meeting(chosen, cuts, subsets, Condition.of(clauses)))]
        chosen = chosen if pattern is None else _with_pattern(part, chosen, pattern, system)
        errors += [replace(error, dataset=part.name) for error in chosen] if named else chosen
    return errors


def _systems(part: ShownDataset, system: str | None) -> list[str]:
    """The requested systems of a dataset."""
    return [name for name in part.runs if system is None or name == system]


def _chosen(
    shown: ShownDataset,
    kinds: set[str],
    gold: str | None,
    predicted: str | None,
    system: str | None,
    over: Over,
    runs: Agreeing | None,
) -> list[ListedError]:
    """The errors of one dataset."""
    errors = []
    for error in _all(shown, system, over):
        if error.outcome not in kinds:
            continue
        if runs is not None and (len(error.runs) == error.total_runs) != (runs == "all"):
            continue
        if gold is not None and (error.gold is None or error.gold.label != gold):
            continue
        if predicted is not None and (error.predicted is None or error.predicted.label != predicted):
            continue
        errors.append(error)
    return errors


def _with_pattern(
    shown: ShownDataset, errors: Sequence[ListedError], pattern: str, system: str | None
) -> list[ListedError]:
    """The errors that count in a pattern of their system; with several runs, of the first run with it."""
    listed = {
        (name, run): scores.patterns.listed if scores.patterns else ()
        for name in _systems(shown, system)
        for run, scores in shown.runs[name].items()
    }
    names = {pattern_name(row) for rows in listed.values() for row in rows}
    if pattern not in names:
        raise unknown("pattern of errors", pattern, names)
    chosen = []
    for (name, run), rows in listed.items():
        if all(pattern_name(row) != pattern for row in rows):
            continue
        own = [row for row in errors if row.system == name and run in row.runs]
        found = pattern_of_each([(row.sentence, row.outcome, row.gold, row.predicted) for row in own], rows)
        chosen += [
            row
            for row, one in zip(own, found, strict=True)
            if one is not None and pattern_name(one) == pattern and row not in chosen
        ]
    return chosen


def places_of_patterns(shown: ShownDataset, name: str, run: str) -> dict[str, list[str]]:
    """Where the errors of each pattern of a run are, for the script of the page.

    A place is the number of the sentence, `g` or `p` for gold or predicted, and the number of the mention in
    the sentence.
    """
    patterns = shown.runs[name][run].patterns
    if not patterns or not patterns.listed:
        return {}
    shown_as = run_name(name, run, shown.runs[name])
    rows = [
        (number, error)
        for number, sentence in enumerate(shown.sentences)
        for error in _of_run(name, shown_as, sentence, "error")
    ]
    found = pattern_of_each(
        [(error.sentence, error.outcome, error.gold, error.predicted) for _, error in rows], patterns.listed
    )
    places: dict[str, list[str]] = {}
    for (number, error), pattern in zip(rows, found, strict=True):
        if pattern is None:
            continue
        mention, sentence = error.consumed, error.sentence
        side = "g" if isinstance(mention, GoldMention) else "p"
        mentions = sentence.gold if side == "g" else sentence.systems[shown_as]
        at = next(index for index, own in enumerate(mentions) if own is mention)
        places.setdefault(pattern_name(pattern), []).append(f"{number}{side}{at}")
    return places


def _kinds(outcome: str | Sequence[str] | None) -> set[str]:
    if outcome is None:
        return set(KINDS)
    texts = [outcome] if isinstance(outcome, str) else list(outcome)
    given_names = [name.strip() for text in texts for name in text.split(",")]
    names = [code_of(name) for name in given_names]
    for name, given_name in zip(names, given_names, strict=True):
        if name not in KINDS and name not in _GROUPS:
            words = {wording.OUTCOMES[code] for code in (*KINDS, *_GROUPS)}
            raise unknown("kind of error", given_name, {*KINDS, *_GROUPS, *words})
    return {kind for name in names for kind in _GROUPS.get(name, (name,))}


def _checked(
    document: Document,
    gold: str | None,
    predicted: str | None,
    system: str | None,
    dataset: str | None,
) -> list[ShownDataset]:
    """The requested datasets, after checking that the document has sentences and the requested names."""
    shown = shown_datasets(document)
    if not shown and document.kind not in ("evaluation", "comparison", "study"):
        instead = "Its page shows what it has: write it with spanwise report."
        if document.kind == "tuples":
            instead = "Show its units by what is wrong in them: spanwise tuples GOLD PRED --kind missed."
        raise InputError(
            "errors are listed of evaluations and studies, and this document is of the kind "
            f"{document.kind}.\n{instead}"
        )
    if dataset is not None and dataset not in {part.name for part in shown}:
        raise unknown("dataset", dataset, [part.name for part in shown])
    shown = [part for part in shown if dataset is None or part.name == dataset]
    systems = list(dict.fromkeys(name for part in shown for name in part.runs))
    if system is not None and system not in systems:
        raise unknown("system", system, systems)
    scored = [scores for part in shown for scores in _scored(part)]
    labels = {label for scores in scored for label in scores.confusion.labels}
    for label in (gold, predicted):
        if label is not None and label not in labels:
            raise unknown("label", label, labels)
    if not holds_sentences(document):
        raise InputError(
            'the document holds no sentences.\nMake it again with examples="errors", or give the files.'
        )
    return shown


def holds_sentences(document: Document) -> bool:
    """Whether the document was made with its sentences, so that errors can be listed."""
    match document:
        case Evaluation():
            return not document.examples or document.examples.policy != "none"
        case Study():
            return any(part.sentences is not UNSET for part in document.datasets.values())
    return False


def _scored(shown: ShownDataset) -> list[SystemScores]:
    return [scores for runs in shown.runs.values() for scores in runs.values()]


def incomplete(document: DocumentLike) -> str | None:
    """A note to the reader if the document lacks some of the sentences with errors, else None."""
    about = [shown.examples for shown in shown_datasets(as_document(document))]
    shown, of = sum(part.shown for part in about), sum(part.of for part in about)
    if shown < of:
        return (
            f"the document holds {shown} of {of} sentences "
            f"(examples: {about[0].policy}, at most {about[0].cap}), so the list is not complete.\n"
            "Make it again with --examples errors and a higher --examples-cap, or give the files."
        )
    return None


def _all(shown: ShownDataset, system: str | None, over: Over) -> Iterator[ListedError]:
    """The errors of all systems or of one; an error that several runs make is given once."""
    for name, runs in shown.runs.items():
        if system is not None and system != name:
            continue
        for sentence in shown.sentences:
            by_key: dict[_ErrorKey, list[tuple[str, ListedError]]] = {}
            for run in runs:
                for error in _of_run(name, run_name(name, run, runs), sentence, over):
                    by_key.setdefault(_key(error), []).append((run, error))
            for errors in by_key.values():
                _, first = errors[0]
                yield replace(first, runs=tuple(run for run, _ in errors), total_runs=len(runs))


def _of_run(system: str, run: str, sentence: Sentence, over: Over) -> Iterator[ListedError]:
    predicted = sentence.systems.get(run, ())
    if over != "predicted":
        yield from _of_gold(system, run, sentence, predicted)
    if over != "gold":
        yield from _of_predicted(system, run, sentence, predicted, alone=over == "error")


_MentionKey: TypeAlias = tuple[int, int, str, tuple[tuple[int, int], ...], str]
_ErrorKey: TypeAlias = tuple[str, int, _MentionKey | None, _MentionKey | None]


def _key(error: ListedError) -> _ErrorKey:
    """What identifies the same error in several runs."""
    return error.outcome, error.turn, mention_key(error.gold), mention_key(error.predicted)


def mention_key(mention: ShownMention | None) -> _MentionKey | None:
    """What identifies a mention within its sentence."""
    if mention is None:
        return None
    answer = mention.answer if isinstance(mention, PredictedMention) else ""
    return mention.start, mention.end, mention.label, tuple(mention.parts or ()), answer or ""


def _of_gold(
    system: str, run: str, sentence: Sentence, predicted: Sequence[PredictedMention]
) -> Iterator[ListedError]:
    for number, mention in enumerate(sentence.gold):
        outcome = mention.outcome.get(run)
        if outcome is None or outcome == "TP":
            continue
        partner = mention.partner.get(run)
        if partner is None:
            yield ListedError(system, outcome, 0, mention, None, sentence)
        else:
            turn = 1 if predicted[partner].partner == number else 2
            yield ListedError(system, outcome, turn, mention, predicted[partner], sentence)


def _of_predicted(
    system: str, run: str, sentence: Sentence, predicted: Sequence[PredictedMention], *, alone: bool
) -> Iterator[ListedError]:
    """Errors of predicted mentions; `alone` leaves out those already listed with a gold mention."""
    for number, mention in enumerate(predicted):
        if mention.outcome == "TP":
            continue
        if mention.partner is None:
            yield ListedError(system, mention.outcome, 0, None, mention, sentence)
            continue
        gold = sentence.gold[mention.partner]
        mutual = gold.partner.get(run) == number
        if not (mutual and alone):
            # When counting predicted mentions, a mutual pair is in the bucket of the predicted one.
            turn = 3 if not mutual or not alone else 1
            yield ListedError(system, mention.outcome, turn, gold, mention, sentence)


# JSON lines

_UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def to_jsonl(errors: Iterable[ListedError]) -> str:
    """One JSON object per line; characters that could reverse or break a line are escaped."""
    lines = [json.dumps(_row(error), ensure_ascii=False, separators=(",", ":")) for error in errors]
    return "".join(_UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n" for line in lines)


def _row(error: ListedError) -> dict[str, object]:
    sentence = error.sentence
    about: dict[str, object] = {
        "id": sentence.id, "source": location_of(error), "document": given(sentence.document),
    }  # fmt: skip
    if sentence.tokens is not UNSET:
        about["tokens"] = list(sentence.tokens)
    if sentence.text is not UNSET:
        about["text"] = sentence.text
    return {
        **({"dataset": error.dataset} if error.dataset else {}),
        "system": error.system,
        **({"runs": list(error.runs), "of_runs": error.total_runs} if error.total_runs > 1 else {}),
        "outcome": error.outcome,
        "turn": error.turn,
        "gold": None if error.gold is None else _side(sentence, error.gold),
        "predicted": None if error.predicted is None else _side(sentence, error.predicted),
        "sentence": about,
    }


def _side(sentence: Sentence, mention: ShownMention) -> dict[str, object]:
    row: dict[str, object] = {"start": mention.start, "end": mention.end, "label": mention.label}
    if mention.parts:
        row["parts"] = to_builtins(mention.parts)
    if isinstance(mention, GoldMention) and mention.tough is not UNSET:
        row["tough"] = list(mention.tough)
    if mention.buckets is not UNSET:
        row["buckets"] = dict(mention.buckets)
    return {**row, "text": words_of(sentence, mention)}


def _pieces(mention: ShownMention) -> Sequence[tuple[int, int]]:
    return mention.parts or ((mention.start, mention.end),)


def words_of(sentence: Sentence, mention: ShownMention) -> str | None:
    """The words of a mention, or its answer if it could not be placed; None if there is no text."""
    if mention.start < 0:
        return given(mention.answer) if isinstance(mention, PredictedMention) else None
    if sentence.tokens is not UNSET:
        return " … ".join(" ".join(sentence.tokens[start:end]) for start, end in _pieces(mention))
    if sentence.text is not UNSET:
        return " … ".join(sentence.text[start:end] for start, end in _pieces(mention))
    return None


# CSV

COLUMNS = (
    "system", "outcome", "turn",
    "gold_label", "gold_start", "gold_end", "gold_text",
    "predicted_label", "predicted_start", "predicted_end", "predicted_text",
    "sentence", "source", "document", "text",
)  # fmt: skip


def to_csv(errors: Iterable[ListedError]) -> str:
    """One row per error under a header; no cell can be taken for a formula by a spreadsheet.

    For a study, the first columns are the dataset and the runs, if there are several.
    """
    listed = list(errors)
    datasets, runs = any(error.dataset for error in listed), any(error.total_runs > 1 for error in listed)
    header = [*(["dataset"] if datasets else []), *(["runs", "of_runs"] if runs else []), *COLUMNS]
    rows = [
        [
            *([error.dataset] if datasets else []),
            *([" ".join(error.runs), error.total_runs] if runs else []),
            *cells_of(error),
        ]
        for error in listed
    ]
    return spreadsheet.to_csv([header, *rows])


def cells_of(error: ListedError) -> list[object]:
    """The cells of an error's row, under `COLUMNS`."""
    cells: list[object] = [error.system, error.outcome, error.turn]
    for mention in (error.gold, error.predicted):
        if mention is None:
            cells += [None] * 4
        else:
            borders = [mention.start, mention.end] if mention.start >= 0 else [None, None]
            cells += [mention.label, *borders, words_of(error.sentence, mention)]
    sentence = error.sentence
    text = given(sentence.text) if sentence.tokens is UNSET else " ".join(sentence.tokens)
    return [*cells, sentence.id, location_of(error), given(sentence.document), text]


# Text

_STYLES = {"head": "\x1b[1m", "gold": "\x1b[32m", "predicted": "\x1b[31m", "faint": "\x1b[2m"}
_MARKS = {"gold": "^", "predicted": "~"}


def to_text(errors: Sequence[ListedError], *, width: int = 100, color: bool = False) -> str:
    """The errors grouped by kind and labels, the largest group first, with spans drawn under the tokens.

    Gold spans are drawn with `^`, predicted ones with `~`. Characters that would move the
    cursor or reverse the text are shown by their names.
    """
    groups: dict[tuple[str, str], list[ListedError]] = {}
    several = len({error.system for error in errors}) > 1
    for error in errors:
        named = [error.dataset, *([error.system] if several else [])]
        about = "".join(f"{wording.visible(name)}: " for name in named if name)
        groups.setdefault((about, heading_of(error)), []).append(error)
    pen = _Pen(max(width, 40), color)
    order = {kind: index for index, kind in enumerate(KINDS)}
    ranked = sorted(
        groups.items(),
        key=lambda group: (group[0][0], order[group[1][0].outcome], -len(group[1]), group[0][1]),
    )
    for (about, heading), members in ranked:
        pen.line(("head", f"{about}{heading} ({wording.plural(len(members), 'error')})"))
        pen.line()
        for error in members:
            _draw(pen, error)
    return pen.text()


def heading_of(error: ListedError) -> str:
    """The kind of an error, in the words that `--kind` takes, and its labels."""
    kind = wording.OUTCOMES[error.outcome]
    if error.gold is None or error.predicted is None:
        mention = error.gold or error.predicted
        assert mention is not None
        side = "gold" if error.gold else "predicted"
        return f"{kind}  {side} {wording.visible(mention.label)}"
    gold, predicted = wording.visible(error.gold.label), wording.visible(error.predicted.label)
    return f"{kind}  gold {gold}, predicted {predicted}"


class _Pen:
    """Collects lines, styled or plain."""

    def __init__(self, width: int, color: bool) -> None:
        self.width = width
        self._color = color
        self._lines: list[str] = []

    def line(self, *parts: tuple[str, str]) -> None:
        """Add one line of (style, text) parts."""
        self._lines.append("".join(self._styled(*part) for part in parts).rstrip())

    def _styled(self, style: str, text: str) -> str:
        return f"{_STYLES[style]}{text}\x1b[0m" if self._color and style in _STYLES and text else text

    def text(self) -> str:
        """All lines as one text."""
        return "".join(f"{line}\n" for line in self._lines)


_TURNS = {
    2: "the predicted mention belongs to another error, too",
    3: "the gold mention belongs to another error, too",
}


def location_of(error: ListedError) -> str | None:
    """Where the error is; if the document is one text, with the line on which its first mention begins."""
    sentence = error.sentence
    text = given(sentence.text)
    starts = [side.start for side in (error.gold, error.predicted) if side is not None and side.start >= 0]
    if not text or not starts:
        return sentence.source
    return line_of(sentence.source, given(sentence.document), text, min(starts))


def _draw(pen: _Pen, error: ListedError) -> None:
    sentence = error.sentence
    source = wording.visible(location_of(error) or sentence.id or "")
    notes = [note for note in (error.agreement, _TURNS.get(error.turn, "")) if note]
    pen.line(("faint", f"  {source}" + (f"  ({'; '.join(notes)})" if notes else "")))
    units = sentence.tokens or list(sentence.text or "")
    sides: list[tuple[str, ShownMention | None]] = [("gold", error.gold), ("predicted", error.predicted)]
    drawn = [(side, mention) for side, mention in sides if mention is not None and mention.start >= 0]
    if units and drawn:
        joint = "" if sentence.tokens is UNSET else " "
        for first, last in _rows(units, drawn, joint, pen.width - 4):
            _draw_row(pen, units, drawn, joint, first, last)
    else:
        for side, mention in drawn:
            pen.line(("", "    "), (side, f"{side} {_named(mention)}"))
    for side, lost in sides:
        if lost is not None and lost.start < 0:
            label = wording.visible(lost.label)
            answer = lost.answer if isinstance(lost, PredictedMention) else ""
            quoted = f" “{wording.visible(answer)}”" if answer else ""
            pen.line(("", "    "), (side, f"{side} {label}{quoted}, which has no place in the gold text"))
    pen.line()


def _named(mention: ShownMention) -> str:
    borders = ", ".join(f"[{start}, {end})" for start, end in _pieces(mention))
    return f"{wording.visible(mention.label)} {borders}"


def _rows(
    units: Sequence[str], drawn: Sequence[tuple[str, ShownMention]], joint: str, width: int
) -> list[tuple[int, int]]:
    """The ranges of tokens to show, one per line: the spans with as much context as fits."""
    from spanwise.reports.widths import cell_len

    sizes = [cell_len(wording.visible(unit)) + len(joint) for unit in units]
    first = max(min(mention.start for _, mention in drawn), 0)
    last = min(max(mention.end for _, mention in drawn), len(units))
    # The label comes right after the marks and needs room there, but not after the sentence.
    label = max(cell_len(f"{side} {wording.visible(mention.label)}") for side, mention in drawn)
    if sum(sizes) <= width and sum(sizes[:last]) + label <= width:
        return [(0, len(units))]
    room = width - 4  # for dots that show where the sentence is cut
    used = marked = sum(sizes[first:last])
    if marked + label > room:
        return _broken(sizes, first, last, max(room - label, 20))
    growing = True
    while growing:
        growing = False
        if last < len(units) and used + sizes[last] <= room:
            used, last, growing = used + sizes[last], last + 1, True
        before = sizes[first - 1] if first else room
        if used + before <= room and marked + before + label <= room:
            used, marked, first, growing = used + before, marked + before, first - 1, True
    return [(first, last)]


def _broken(sizes: Sequence[int], first: int, last: int, room: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    begin, used = first, 0
    for index in range(first, last):
        if used + sizes[index] > room and index > begin:
            rows.append((begin, index))
            begin, used = index, 0
        used += sizes[index]
    return [*rows, (begin, last)]


def _draw_row(
    pen: _Pen,
    units: Sequence[str],
    drawn: Sequence[tuple[str, ShownMention]],
    joint: str,
    first: int,
    last: int,
) -> None:
    from spanwise.reports.widths import cell_len

    shown = [wording.visible(unit) for unit in units[first:last]]
    lead = "… " if first > 0 else ""
    pen.line(("", "    " + lead + joint.join(shown) + (" …" if last < len(units) else "")))
    for side, mention in drawn:
        marks = [False] * len(shown)
        for start, end in _pieces(mention):
            for index in range(max(start, first), min(end, last)):
                marks[index - first] = True
        if not any(marks):
            continue
        line = " " * len(lead)
        for index, unit in enumerate(shown):
            line += (_MARKS[side] if marks[index] else " ") * cell_len(unit)
            going_on = marks[index] and index + 1 < len(shown) and marks[index + 1]
            line += (_MARKS[side] if going_on else " ") * len(joint)
        pen.line(("", "    "), (side, f"{line.rstrip()} {side} {wording.visible(mention.label)}"))


# ---- the errors that a condition chooses -----------------------------------------------------------


def _cuts(systems: Iterable[SystemScores]) -> dict[str, Sequence[Bucket]]:
    """The labels, outcomes and buckets that mentions may have; of buckets with one name, the first."""
    labels: dict[str, None] = {}
    cuts: dict[str, dict[str, Bucket]] = {OUTCOME: {kind: Bucket(kind, value=kind) for kind in KINDS}}
    for scores in systems:
        labels |= dict.fromkeys(scores.confusion.labels)
        for name, table in scores.attributes.items():
            if table.unit == "mention":
                own = {edges.name: _bucket_of(edges) for edges in table.buckets}
                cuts[name] = {**own, **cuts.get(name, {})}
    return with_labels(tuple(labels), {name: tuple(cut.values()) for name, cut in cuts.items()})


def _bucket_of(edges: BucketEdges) -> Bucket:
    value = given(edges.value)
    return Bucket(
        name=edges.name,
        low=given(edges.low),
        high=given(edges.high),
        value=None if value is None else str(value),
        special=bool(edges.special),
        label=edges.label or "",
        rest=edges.rest,
    )


def _meeting(
    errors: Sequence[ListedError],
    cuts: Mapping[str, Sequence[Bucket]],
    subsets: Iterable[str],
    asked: Condition,
) -> Bools:
    """Which errors are about a mention that meets a condition."""
    clauses = [
        [
            Criterion(OUTCOME, one.operator, tuple(_kinds(one.values))) if one.attribute == OUTCOME else one
            for one in clause
        ]
        for clause in asked.clauses
    ]
    sentences = [*{id(error.sentence): error.sentence for error in errors}.values()]
    table = _table(errors, sentences, cuts, subsets)
    bitmaps = Bitmaps(table, cuts, words=finding(_search(sentences), table.__getitem__))
    return unpacked_bits(bitmaps.mask(Condition.of(clauses)), len(errors))


def _table(
    errors: Sequence[ListedError],
    sentences: Sequence[Sentence],
    cuts: Mapping[str, Sequence[Bucket]],
    subsets: Iterable[str],
) -> MentionTable:
    """The mentions that errors are about, whose tough subsets are those of gold mentions."""
    mentions = [error.consumed for error in errors]
    number = {id(sentence): at for at, sentence in enumerate(sentences)}
    values: dict[str, list[str | None]] = {
        name: [(mention.buckets or {}).get(name) for mention in mentions] for name in cuts
    }
    values[LABEL] = [mention.label for mention in mentions]
    values[OUTCOME] = [error.outcome for error in errors]
    columns: dict[str, object] = {}
    for name, cut in cuts.items():
        code = {bucket.name: at for at, bucket in enumerate(cut)}
        columns[column_of(name)] = ints([code.get(value or "", len(cut)) for value in values[name]])
    for name in subsets:
        columns[f"tough.{name}"] = np.array([name in error.subsets for error in errors], dtype=bool)
    columns["of_gold"] = np.array([isinstance(mention, GoldMention) for mention in mentions], dtype=bool)
    return MentionTable.of(
        labels=(), units=1, unit=ints(np.zeros(len(errors))),
        sentence=ints([number[id(error.sentence)] for error in errors]),
        start=ints([mention.start for mention in mentions]),
        end=ints([mention.end for mention in mentions]),
        **columns,
    )  # fmt: skip


def _search(sentences: Sequence[Sentence]) -> WordSearch | None:
    """Search in the words of sentences; None if some are without text."""
    if all(sentence.tokens is not UNSET for sentence in sentences):
        words = [sentence.tokens or () for sentence in sentences]
        code: dict[str, int] = {}
        tokens = ints([code.setdefault(word, len(code)) for own in words for word in own])
        return WordSearch.of_tokens(tokens, [*code], offsets([len(own) for own in words]))
    if all(sentence.text is not UNSET for sentence in sentences):
        return WordSearch.of_texts([sentence.text or "" for sentence in sentences])
    return None
