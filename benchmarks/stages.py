"""The stages of spanwise as pieces of work, using its public functions."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

Prepared = Callable[[], Any]
ROOT = Path(__file__).resolve().parents[1]


def reading(path: str) -> Prepared:
    """Read a CoNLL file into integer codes of words and tags, and decode the mentions."""
    from spanwise import read

    return lambda: {"tokens": len(read(path).corpus.tokens)}


def coding(path: str) -> Prepared:
    """Read a CoNLL file only into integer codes of words and tags."""
    from spanwise.formats._columns import whole
    from spanwise.formats._format import Options
    from spanwise.formats._opening import File

    return lambda: {"tokens": len(whole(File(path), Options(), (-1,)).rows.columns[0])}


def metric_updates(gold: str, predicted: str, size: str) -> Prepared:
    """Give a metric all sentences, in batches of the same size."""
    from benchmarks.peers import read_tags
    from spanwise import Metric

    sides, step = (read_tags(gold), read_tags(predicted)), int(size)
    batches = [tuple(side[at : at + step] for side in sides) for at in range(0, len(sides[0]), step)]

    def work() -> dict[str, int]:
        metric = Metric()
        for batch in batches:
            metric.update(*batch)
        return {"calls": len(batches)}

    return work


def counting_samples(gold: str) -> Prepared:
    """Place and count an answer that names every other mention of its sentence, for every sentence."""
    from spanwise import read
    from spanwise.scorers import count_sample

    annotation = read(gold)
    texts = [" ".join(annotation.corpus.words(sentence)) for sentence in range(len(annotation.corpus))]
    mentions: list[list[dict[str, str]]] = [[] for _ in texts]
    for sentence, start, end, label in annotation.mentions.rows():
        words = annotation.corpus.words(sentence)[start:end]
        mentions[sentence].append({"text": " ".join(words), "label": label})
    answers = [json.dumps(named[::2]) for named in mentions]

    def work() -> dict[str, int]:
        for sample in zip(texts, mentions, answers, strict=True):
            count_sample(*sample)
        return {"calls": len(texts)}

    return work


def matching(gold: str, predicted: str) -> Prepared:
    """Match all mentions of a system fairly."""
    from spanwise.matching import match

    sides = mentions_of(gold, predicted)
    return lambda: {"mentions": sum(map(len, sides)), "events": len(match(*sides).events())}


def plain_matching(gold: str, predicted: str) -> Prepared:
    """Match by the plain transcription of the algorithm that the tests compare the fast one with."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from matching_oracle import events_of

    sides = mentions_of(gold, predicted)
    sentences = max(int(side.sentence[-1]) for side in sides) + 1
    rows: list[list[list[Any]]] = [[[] for _ in range(sentences)] for _ in sides]
    for side, grouped in zip(sides, rows, strict=True):
        for sentence, *span in side.rows():
            grouped[sentence].append(tuple(span))

    def work() -> dict[str, int]:
        events = sum(len(events_of(*pair)) for pair in zip(*rows, strict=True))
        return {"mentions": sum(map(len, sides)), "events": events}

    return work


def mentions_of(gold: str, predicted: str) -> Any:
    """The mentions of two files with a common list of labels."""
    from spanwise import read
    from spanwise.corpus import with_one_labelling

    return with_one_labelling([read(gold).mentions, read(predicted).mentions])


def _on_one_core() -> None:
    """Use one core, because threads that wait for each other would cost CPU time."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def all_stages(gold: str, first: str, second: str, train: str) -> Prepared:
    """An evaluation of two systems with all attributes, stage by stage.

    Resampling is the time that intervals (including those of the parts of a lead) and tests with 1000
    resamples take inside `evaluate`; counting is the rest of its time for annotations in memory, without
    matching and attributes. Attributes are those of gold and both systems, including the tough subsets.
    """
    from spanwise import evaluate, read
    from spanwise.attributes import PRESETS, Context, Lexicon, toughness, values_of
    from spanwise.corpus import with_one_labelling
    from spanwise.evaluation import result, scoring
    from spanwise.matching import match
    from spanwise.schemes import decode, encode, recognise

    plain_tested, plain_leads = scoring.score_and_test, scoring.with_lead_intervals
    paths = {"gold": gold, "first": first, "second": second, "train": train}
    _on_one_core()

    def work() -> dict[str, Any]:
        seconds: dict[str, float] = {}
        read_in = clocked(seconds, "read", lambda: {key: read(path) for key, path in paths.items()})
        tags = [
            encode(annotation.mentions, annotation.corpus.lengths, "IOB2") for annotation in read_in.values()
        ]
        clocked(seconds, "decode", lambda: [decode(side, recognise(side).scheme) for side in tags])
        target, *systems = (read_in[key] for key in ("gold", "first", "second"))
        named = {"first": systems[0], "second": systems[1]}
        options: dict[str, Any] = {"train": read_in["train"], "unit": "sentence", "examples": "none"}

        def tested(*given: Any, **more: Any) -> Any:
            return clocked(seconds, "tests", lambda: plain_tested(*given, **more))

        def with_leads(*given: Any, **more: Any) -> Any:
            return clocked(seconds, "leads", lambda: plain_leads(*given, **more))

        with (
            patch.object(result, "score_and_test", tested),
            patch.object(result, "with_lead_intervals", with_leads),
        ):
            counted = clocked(seconds, "evaluate", lambda: evaluate(target, named, **options))
        seconds["resample"] = seconds.pop("tests") + seconds.pop("leads")
        sides = [with_one_labelling([target.mentions, system.mentions]) for system in systems]
        clocked(seconds, "match", lambda: [match(*side).events() for side in sides])

        def attributes() -> None:
            lexicon = Lexicon.of([read_in["train"]])
            seen = tuple(system.mentions for system in systems)
            context = Context(target.corpus, target.mentions, lexicon)
            sides = context.sides([target.mentions, *seen])
            for side in sides:
                for name in PRESETS["fu20"]:
                    values_of(name, side)
            toughness(target.corpus, target.mentions, lexicon, side=sides[0])

        clocked(seconds, "attributes", attributes)
        seconds["count"] = seconds.pop("evaluate") - sum(
            seconds[stage] for stage in ("resample", "match", "attributes")
        )
        return {"seconds": seconds, "f1": counted["first"].exact.overall.f1}

    return work


def clocked(seconds: dict[str, float], name: str, work: Callable[[], Any]) -> Any:
    """Run the work, record its CPU seconds under `name`, and return its result."""
    began = time.process_time()
    result = work()
    seconds[name] = time.process_time() - began
    return result


def resampling(gold: str, predicted: str, train: str) -> Prepared:
    """Evaluate one system in memory, alternately without and with 1000 resamples of all its cells."""
    from spanwise import evaluate, read

    target, system = read(gold), read(predicted)
    options: dict[str, Any] = {"train": read(train), "unit": "sentence", "examples": "none"}

    def work() -> dict[str, Any]:
        best: dict[str, float] = {}
        for _ in range(3):
            for name, number in (("without", 0), ("with", 1000)):
                seconds: dict[str, float] = {}
                call = partial(evaluate, target, {"it": system}, **options, resamples=number)
                clocked(seconds, name, call)
                best[name] = min(best.get(name, seconds[name]), seconds[name])
        return {"sentences": len(target.corpus), "seconds": best}

    return work


def weak_slices(gold: str, first: str, second: str, train: str, resamples: str) -> Prepared:
    """The time of the test of weak slices in an evaluation of two systems in memory."""
    from spanwise import evaluate, read
    from spanwise.evaluation import scoring

    target, systems = read(gold), {"a": read(first), "b": read(second)}
    training = read(train)
    plain = scoring.weak_slices
    _on_one_core()

    def work() -> dict[str, Any]:
        total = 0.0

        def timed(*given: Any, **more: Any) -> Any:
            nonlocal total
            seconds: dict[str, float] = {}
            result = clocked(seconds, "once", lambda: plain(*given, **more))
            total += seconds["once"]
            return result

        with patch.object(scoring, "weak_slices", timed):
            evaluate(target, systems, train=training, examples="none", resamples=int(resamples))
        return {"seconds": {"weak slices": total}}

    return work


WORK: dict[str, Callable[..., Prepared]] = {
    "read": reading,
    "codes": coding,
    "match": matching,
    "plain match": plain_matching,
    "stages": all_stages,
    "resample": resampling,
    "weak slices": weak_slices,
    "metric update": metric_updates,
    "count sample": counting_samples,
}
