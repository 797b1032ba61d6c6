"""The preset `interpreteval`: bucket figures of a released program in place of the definitions' own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET
from msgspec.structs import fields, replace

from spanwise.buckets import range_text
from spanwise.corpus import Annotation
from spanwise.diagnosis import slices
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import AttributeScores, BucketScores
from spanwise.errors import ChoiceError, unknown
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._inputs import Inputs
from spanwise.evaluation._system import SMALL
from spanwise.formats import read
from spanwise.interpreteval import Departures, Figures, Tagged, Training
from spanwise.interpreteval import compare as compare_figures
from spanwise.interpreteval import evaluate as figures_of

PRESETS = ("interpreteval",)


def check_preset(preset: str | None, switched_off: Sequence[str], train: Any) -> Departures | None:
    """The departures of the preset that hold, or None without a preset."""
    if preset is None:
        if switched_off:
            raise ChoiceError("only a preset has switches.\nAdd preset='interpreteval'.")
        return None
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    if train is None:
        raise ChoiceError("the preset 'interpreteval' needs training data.\nPass train=.")
    known = [switch.name for switch in fields(Departures)]
    for name in switched_off:
        if name not in known:
            raise unknown("switch of the preset", name, known)
    return replace(Departures(), **dict.fromkeys(switched_off, False))


def with_preset(summary: Evaluation, inputs: Inputs, choices: Choices, departures: Departures) -> Evaluation:
    """The document with the program's buckets in the place of the attributes, and its diagnoses."""
    training = Training(_training(inputs, choices), departures)
    gold, *predicted = _sides(inputs, choices)
    figures: dict[str, Figures] = {}
    systems = dict(summary.systems)
    for name, tagged in zip(inputs.systems, predicted, strict=True):
        figures[name] = figures_of(gold[name], tagged, training, vocabulary=choices.vocabulary)
        attributes = {key: _attribute(one) for key, one in figures[name].attributes.items()}
        scores = replace(systems[name], attributes=attributes)
        systems[name] = replace(scores, slices=slices(scores, summary.dataset.mentions))
    comparisons = tuple(
        replace(one, interpreteval=compare_figures(*(figures[name] for name in one.systems)))
        for one in summary.comparisons
    )
    off = tuple(switch.name for switch in fields(Departures) if not getattr(departures, switch.name))
    return replace(
        summary,
        systems=systems,
        comparisons=comparisons,
        settings=replace(summary.settings, preset="interpreteval", switched_off=off),
        signature=summary.signature + "|preset:interpreteval" + "".join(f"-{name}" for name in off),
    )


def _attribute(table: AttributeScores) -> AttributeScores:
    kind = "category" if any(bucket.is_category for bucket in table.buckets) else "numeric"
    buckets = tuple(replace(_labelled(bucket), small=bucket.gold < SMALL) for bucket in table.buckets)
    return replace(table, kind=kind, strategy="interpreteval", zeta=None, buckets=buckets)


def _labelled(bucket: BucketScores) -> BucketScores:
    """The bucket with the text that it is shown by."""
    if bucket.is_category:
        return replace(bucket, label=str(bucket.value), special=False)
    low, high = (None if end is UNSET else end for end in (bucket.low, bucket.high))
    return replace(bucket, label=range_text(low, high, bool(bucket.special) or low == high, ()))


def _training(inputs: Inputs, choices: Choices) -> Tagged:
    sides = [_tagged(one, choices, -1) for one in inputs.train]
    return Tagged(
        [row for side in sides for row in side.tokens], [row for side in sides for row in side.tags]
    )


def _sides(inputs: Inputs, choices: Choices) -> list[Any]:
    """Gold tags for every system, then the systems' own."""
    if inputs.merged:
        gold = {name: _tagged(one, choices, -2) for name, one in inputs.predicted.items()}
        return [gold, *(_tagged(one, choices, -1) for one in inputs.predicted.values())]
    tagged = _tagged(inputs.gold, choices, -1)
    predicted = [_tagged(one, choices, -1) for one in inputs.predicted.values()]
    # The program compares positions in the file; the gold tokens are those of all sides.
    return [
        dict.fromkeys(inputs.predicted, tagged),
        *(Tagged(tagged.tokens, one.tags) for one in predicted),
    ]


def _tagged(annotation: Annotation, choices: Choices, column: int) -> Tagged:
    """The tags as they stand in a CoNLL file, since the program reads mentions across sentences."""
    path = annotation.reading.path
    if annotation.reading.format != "conll" or not Path(path).is_file():
        return Tagged.of(annotation)
    options = {key: value for key, value in choices.reading.items() if key != "columns"}
    if column == -1 and options.get("tag_column") is not None:
        column = options["tag_column"]
    return Tagged.of(read(path, **options, columns={"tag": column}), column="tag")
