"""A corpus of our own and three simulated systems, to try everything on and to time it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from spanwise.demo import _files, _inventory, _text
from spanwise.demo._systems import SYSTEMS, SimulatedSystem, facts_of, labels_of, predict
from spanwise.demo._verdicts import Verdict, verdicts
from spanwise.errors import ChoiceError
from spanwise.formats import make_folder, write_atomically

__all__ = ["SYSTEMS", "Demo", "SimulatedSystem", "Verdict", "generate", "verdicts"]

_MOST_TRAINING = 100_000  # sentences: more would only repeat the same names


class Demo(Struct, frozen=True):
    """Where the files of a generated corpus lie: gold and training file, and one file a system."""

    gold: Path
    train: Path
    systems: dict[str, Path]


def generate(folder: str | Path, *, sentences: int = 1000, nested: bool = False, seed: int = 0) -> Demo:
    """Write a corpus with a training part and the outputs of the three simulated systems to `folder`.

    The names are invented. Documents have a topic; cities are teams in sport, so that the same string is
    LOC or ORG; institutions and titles are long; many test mentions do not stand in the training file, which
    has twice as many sentences, at most 100,000. Equal arguments give equal bytes.

    With `nested` the places and persons inside institutions and titles are mentions too, and the files
    are JSONL (tokens and spans) instead of CoNLL columns with IOB2 tags.
    """
    if sentences < 1:
        raise ChoiceError(
            f"sentences={sentences!r} is not a size.\nGive the number of test sentences, from 1."
        )
    if seed < 0:
        raise ChoiceError(f"seed={seed!r} is not a seed.\nGive a whole number from 0.")
    stock = _inventory.inventory()
    render, suffix = (_files.jsonl, "jsonl") if nested else (_files.conll, "conll")
    train = _text.draw(stock, "train", sentences=min(2 * sentences, _MOST_TRAINING), seed=seed)
    test = _text.draw(stock, "test", sentences=sentences, seed=seed)
    facts = facts_of(stock, _text.seen(stock, train, labels_of(stock)))
    where = make_folder(folder)
    demo = Demo(
        gold=where / f"gold.{suffix}",
        train=where / f"train.{suffix}",
        systems={system.name: where / f"{system.name}.{suffix}" for system in SYSTEMS},
    )
    write_atomically(demo.train, render(stock, train))
    write_atomically(demo.gold, render(stock, test))
    for system in SYSTEMS:
        made = predict(system, test, facts, seed=seed)
        write_atomically(demo.systems[system.name], render(stock, test, made))
    return demo
