"""Which F1 is this? Score the same predictions under every common convention, and explain the differences."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, SupportsFloat

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise import __version__
from spanwise.alignment import How
from spanwise.alignment import align as align_to
from spanwise.columns import Floats, Ints, plain, ratio
from spanwise.composition import input_entry
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_labelling
from spanwise.credits import credit_of
from spanwise.document.analyses import Convention, Explanation, PlacementDocument
from spanwise.errors import InputError
from spanwise.formats import Reader, read_layers, refuse_merged, rules_of, says_label_rules, with_rules
from spanwise.matching import OUTCOMES, match, relaxed
from spanwise.placement import PRESETS, PromptUnit, has_answers, place, place_systems, without_offsets
from spanwise.schemes import encode
from spanwise.scores import averages, credited, exact

_NAMES = ("precision", "recall", "f1")
_APART = "; it compares other texts, so the range of policies leaves it out"


class _Pair(Struct, frozen=True, eq=False):
    """Gold and predicted mentions on the gold text."""

    corpus: Corpus
    gold: Mentions
    predicted: Mentions

    def counts(self, gold: Ints, predicted: Ints, cells: int) -> Floats:
        """Gold, predicted and correct mentions in cells, given the cell of each mention."""
        true = OUTCOMES.index("TP")
        right = match(self.gold, self.predicted, matcher="exact").gold_outcome == true
        return np.stack(
            [
                np.bincount(gold, minlength=cells),
                np.bincount(predicted, minlength=cells),
                np.bincount(gold[right], minlength=cells),
            ],
            axis=-1,
        ).astype(np.float64)


@says_label_rules
def explain(
    gold: object,
    predicted: object = None,
    *,
    align: How = "strict",
    answers: str | Mapping[str, object] | None = None,
    **reading: object,
) -> Explanation:
    """Score the same predictions under every common convention.

    Args:
        gold, predicted: files, annotations, or lists of tags or spans; a single file must hold both.
        align: how predictions are aligned with the gold text.
        answers: how answers without offsets are placed, as in `spanwise.evaluate`.
        reading: keywords of `spanwise.read`; `repair` is ignored, since every way is tried.

    Examples:
        >>> rows = explain([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "I-LOC"]])
        >>> rows["exact, micro"].f1, rows["impossible tags dropped"].f1, rows["type, any overlap"].f1
        (0.5, 0.0, 1.0)
    """
    options = with_rules({key: value for key, value in reading.items() if key != "repair"})
    if predicted is not None:
        refuse_merged(gold, **options)
    placement: PlacementDocument | None = None
    if answers is not None or has_answers(predicted):
        answering = place_systems(gold, {"predicted": predicted}, answers or "ordered", options)
        gold, predicted = answering.gold, answering.systems["predicted"]
        placement = answering.documents.get("predicted")
    sides = _read(gold, predicted, options, "conlleval")
    rules_of(options).check(*(side.labels_as_read for side in sides))
    pair = _pair(sides, align)
    placement = placement or _without_offsets(pair, sides[0])
    rows = [
        *_exact_rows(pair, sides),
        *_repair_rows(gold, predicted, options, align, sides),
        *_token_rows(pair, sides),
        *_overlap_rows(pair),
        *_other_units(pair),
        *(_policy_rows(placement) if placement is not None else []),
    ]
    first = rows[0].f1
    inputs = (input_entry(role, side) for role, side in zip(("gold", "predicted"), sides, strict=True))
    return Explanation(
        spanwise=__version__,
        signature=f"spanwise|v:{__version__}|explain|align:{align}",
        inputs=tuple(inputs),
        gold=sides[0].reading.path,
        predicted=sides[1].reading.path,
        scheme=sides[0].reading.scheme,
        rows=tuple(
            replace(row, difference=None if row.f1 is None or first is None else row.f1 - first)
            for row in rows
        ),
        spread=None if placement is None else placement.spread,
        prompt_unit=None if placement is None else placement.settings.prompt_unit,
    )


def _without_offsets(pair: _Pair, gold: Annotation) -> PlacementDocument | None:
    """Place the predictions as if they were strings without offsets; None if there is no text."""
    if pair.corpus.without_text or not bool(pair.predicted.placed.all()):
        return None
    unit: PromptUnit = "sentence" if pair.corpus.documents is None else "document"
    predicted = Annotation(pair.corpus, pair.predicted, gold.reading)
    return place(
        Annotation(pair.corpus, pair.gold, gold.reading), without_offsets(predicted, unit), prompt_unit=unit
    )


def _policy_rows(placement: PlacementDocument) -> list[Convention]:
    """The scores of the answers placed by every policy, and compared as strings."""
    why = f"strings without positions, one list per {placement.settings.prompt_unit}; each "
    rows = [
        (f"answers placed by {name}", getattr(placement.policies, name), tools, f"{why}takes {what}")
        for name, tools, what in (
            ("first", "spanwise", "its first occurrence"),
            ("all", "spaCy-LLM (exact case)", "every occurrence"),
            ("next", "UIE", "the next free occurrence"),
            ("ordered", "spanwise", "the occurrence that keeps the order of the answers"),
        )
    ]
    rows += [
        ("answers, worst placement", placement.policies.worst, "spanwise", "a bound that uses gold"),
        ("answers, best placement", placement.policies.best, "spanwise", "a bound that uses gold"),
        ("sets of strings", placement.strings.set, "spanwise", "no positions: any occurrence is right"),
        ("as uniner scores", placement.presets["uniner"], "UniNER", f"{PRESETS['uniner'].summary}{_APART}"),
        ("as gollie scores", placement.presets["gollie"], "GoLLIE", PRESETS["gollie"].summary),
    ]
    return [
        Convention(
            name=name, tools=tools, why=why, precision=score.precision, recall=score.recall, f1=score.f1
        )
        for name, score, tools, why in rows
    ]


def _read(
    gold: Any, predicted: object, options: Mapping[str, object], repair: str
) -> tuple[Annotation, Annotation]:
    choices: dict[str, Any] = {**options, "repair": repair}
    if predicted is None:
        layers = read_layers(gold, **choices)
        return layers["gold"], layers["predicted"]
    first = Reader(**choices).read(gold)
    if "scheme" not in choices:
        choices["prefer"] = first.reading.scheme
    return first, Reader(**choices).read_predictions(predicted)


def _pair(sides: tuple[Annotation, Annotation], align: How) -> _Pair:
    placed = align_to(*sides, how=align).mentions
    return _Pair(sides[0].corpus, *with_one_labelling([sides[0].mentions, placed]))


def _row(name: str, scores: Mapping[str, SupportsFloat], tools: str, why: str) -> Convention:
    return Convention(name=name, tools=tools, why=why, **{key: plain(scores[key]) for key in _NAMES})


def _exact_rows(pair: _Pair, sides: tuple[Annotation, Annotation]) -> list[Convention]:
    """Exact scores over all mentions, and averaged over labels."""
    cells = len(pair.gold.labels)
    totals = pair.counts(pair.gold.label.astype(np.int64), pair.predicted.label.astype(np.int64), cells)
    repairs = sides[0].reading.repairs + sides[1].reading.repairs
    fixed = f"{repairs:,} impossible tags were repaired as conlleval does"
    labels, support = exact(totals), totals[:, 0]
    macro = {name: values[0] for name, values in averages(totals).items()}
    undefined = sum(int(np.isnan(labels[name]).sum()) for name in ("precision", "recall"))
    filled = {name: np.nan_to_num(values) for name, values in labels.items()}
    zeros = {name: ratio(values.sum(), cells) for name, values in filled.items()}
    weighted = {name: ratio((values * support).sum(), support.sum()) for name, values in filled.items()}
    return [
        _row("exact, micro", exact(totals.sum(axis=0)), "spanwise, conlleval, seqeval, evaluate, spaCy",
             "span and label must be equal; every mention counts equally; "
             f"{fixed if repairs else 'no tag was impossible'}"),
        _row("exact, macro", macro, "spanwise",
             f"the mean over {cells} labels: a rare label counts as much as a frequent one"),
        _row("exact, macro, undefined as 0", zeros, "seqeval, scikit-learn",
             f"as above, but {undefined} undefined precisions and recalls count as 0"
             if undefined else "as above; no score is undefined here"),
        _row("exact, weighted", weighted, "seqeval, scikit-learn",
             "labels are weighted by their gold mentions; undefined scores count as 0"),
    ]  # fmt: skip


def _repair_rows(
    gold: object,
    predicted: object,
    options: Mapping[str, object],
    align: How,
    sides: tuple[Annotation, Annotation],
) -> list[Convention]:
    """The scores under other ways to read impossible tags."""
    if sides[0].reading.scheme is None and sides[1].reading.scheme is None:
        return []
    tools = "seqeval mode='strict' with a scheme, seqscore --repair discard"
    dropped = _pair(_read(gold, predicted, options, "discard"), align)
    repairs = sides[0].reading.repairs + sides[1].reading.repairs
    why = (
        f"the tokens of {repairs:,} impossible tags are not mentions, where conlleval begins one"
        if repairs
        else "no tag is impossible, so every reading of them is the same"
    )
    zero = np.zeros(len(dropped.gold), np.int64), np.zeros(len(dropped.predicted), np.int64)
    rows = [_row("impossible tags dropped", exact(dropped.counts(*zero, 1)[0]), tools, why)]
    try:
        _read(gold, predicted, options, "none")
    except InputError as error:
        rows.append(
            Convention(
                name="impossible tags refused",
                tools="seqscore --repair none",
                why=f"no score: {_first(error)}",
            )
        )
    return rows


def _first(error: InputError) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")


def _units(mentions: Mentions, *, first: bool) -> set[tuple[int, int, str, bool]]:
    """The tokens of mentions as (sentence, position, label, begins); without `first`, no token begins one."""
    units: set[tuple[int, int, str, bool]] = set()
    rows = zip(mentions.rows(), mentions.pieces(), strict=True)
    for number, ((sentence, start, _, label), pieces) in enumerate(rows):
        for begin, stop in pieces:
            positions = range(begin, stop) if begin >= 0 else range(-1 - number, -number)
            units.update((sentence, position, label, first and position == start) for position in positions)
    return units


def _of_sets(gold: Set[object], predicted: Set[object]) -> dict[str, Floats]:
    return exact(np.array([len(gold), len(predicted), len(gold & predicted)], dtype=np.float64))


def _token_rows(pair: _Pair, sides: tuple[Annotation, Annotation]) -> list[Convention]:
    """Scores over tokens instead of mentions."""
    unit = "characters" if pair.corpus.unit == "character" else "tokens"
    plain = _of_sets(*(_units(side, first=False) for side in (pair.gold, pair.predicted)))
    with_begins = _of_sets(*(_units(side, first=True) for side in (pair.gold, pair.predicted)))
    rows = [
        _row(f"{unit} with a label", plain, "scikit-learn over IO tags without O",
             f"{unit} count, not mentions: a long mention counts more, and half of one is half right"),
        _row(f"{unit} with a tag", with_begins, "scikit-learn over B- and I- tags without O",
             "as above, and B- and I- must be equal too"),
    ]  # fmt: skip
    return [*rows, _accuracy(pair, sides)] if unit == "tokens" and not _positions_only(pair.corpus) else rows


def _positions_only(corpus: Corpus) -> bool:
    return corpus.without_text and not int(corpus.sentences[-1])


def _accuracy(pair: _Pair, sides: tuple[Annotation, Annotation]) -> Convention:
    tools = "evaluate (overall_accuracy), scikit-learn over all tags"
    try:
        gold, predicted = (
            [tag for tags in encode(side, pair.corpus.lengths, "IOB2").lists() for tag in tags]
            for side in (pair.gold, pair.predicted.take(pair.predicted.placed))
        )
    except InputError as error:
        return Convention(name="token accuracy", tools=tools, why=f"no score: {_first(error)}")
    equal = sum(a == b for a, b in zip(gold, predicted, strict=True))
    value = ratio(equal, len(gold))
    outside = sum(tag == "O" for tag in gold)
    why = f"tokens outside mentions count too: {outside:,} of {len(gold):,} are O"
    if sides[0].reading.repairs or sides[1].reading.repairs:
        why += "; the tools compare tags as written, here they are compared as read"
    return _row("token accuracy", dict.fromkeys(_NAMES, value), tools, why)


def _overlap_rows(pair: _Pair) -> list[Convention]:
    """Scores that give credit for overlaps."""
    schemes = relaxed(pair.gold, pair.predicted)
    events = match(pair.gold, pair.predicted).events()
    outcomes = np.bincount(events.outcome, minlength=len(OUTCOMES)).astype(np.float64)
    named = dict(zip(OUTCOMES, outcomes.astype(int).tolist(), strict=True))
    borders = named["BEs"] + named["BEl"] + named["BEo"]
    return [
        _row("boundaries, any label", schemes["exact"], "nervaluate exact, SemEval-2013 exact",
             f"labels do not matter: {named['LE']:,} mentions have the right span and another label"),
        _row("boundaries, half for an overlap", schemes["partial"],
             "nervaluate partial, SemEval-2013 partial, MUC",
             "labels do not matter, and an overlapping span is worth one half"),
        _row("type, any overlap", schemes["type"], "nervaluate ent_type, SemEval-2013 type",
             "the label must be right, the span need only overlap"),
        _row("fair", credited(outcomes, credit_of("fair")), "spanwise, FairEval",
             f"{named['LE']:,} label, {borders:,} boundary and {named['LBE']:,} label-and-boundary errors "
             "count once, not as a miss and a false alarm"),
    ]  # fmt: skip


def _other_units(pair: _Pair) -> list[Convention]:
    """Averages over sentences and documents, and scores over sets of strings."""
    gold, predicted = pair.gold.sentence, pair.predicted.sentence
    sentences = pair.counts(gold, predicted, len(pair.corpus))
    rows = [
        _mean("mean over sentences", sentences, "scikit-learn samples, many LLM evaluations",
              "the mean over {used:,} sentences with a score: short ones count as much as long ones")
    ]  # fmt: skip
    owner = pair.corpus.document_of_sentence
    if owner is None:
        rows.append(
            Convention(
                name="mean over documents",
                tools="HIPE (doc-macro)",
                why="no score: the data mark no documents",
            )
        )
    else:
        number = int(owner[-1]) + 1 if len(owner) else 0
        documents = pair.counts(owner[gold], owner[predicted], number)
        rows.append(
            _mean("mean over documents", documents, "HIPE (doc-macro)",
                  "the mean over {used:,} documents with a score: a short one counts as much as a long one")
        )  # fmt: skip
    return [*rows, _surface(pair)]


def _mean(name: str, totals: Floats, tools: str, why: str) -> Convention:
    scores = exact(totals)
    means = {
        key: ratio(np.nansum(values), np.count_nonzero(~np.isnan(values))) for key, values in scores.items()
    }
    used = int(np.count_nonzero(~np.isnan(scores["f1"])))
    return _row(name, means, tools, why.format(used=used))


def _surface(pair: _Pair) -> Convention:
    tools = "WNUT-2017 (surface forms), LLM evaluations by string"
    if pair.corpus.without_text:
        return Convention(name="distinct strings", tools=tools, why="no score: the data have no text")
    sets = [_strings(pair.corpus, side) for side in (pair.gold, pair.predicted)]
    why = (
        f"every pair of string and label counts once, wherever it occurs: "
        f"{len(sets[0]):,} of {len(pair.gold):,} gold mentions"
    )
    return _row("distinct strings", _of_sets(*sets), tools, why)


def _strings(corpus: Corpus, mentions: Mentions) -> set[object]:
    result: set[object] = set()
    for number, (sentence, start, end, label) in enumerate(mentions.rows()):
        if corpus.texts is None:
            form = " ".join(corpus.words(sentence)[start:end])
        else:
            form = corpus.texts[sentence][start:end]
        # A mention that could not be aligned with the gold text matches no string of the gold file.
        result.add((form, label) if start >= 0 else (number, label))
    return result
