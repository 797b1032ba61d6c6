"""Divide a corpus into training and test data by how tough the test is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from msgspec import Struct, convert

from spanwise import __version__
from spanwise.attributes import SUBSETS, Context, Lexicon, toughness
from spanwise.columns import Ints, ints, offsets, plain
from spanwise.corpus import Annotation
from spanwise.description import content_of, dataset_document, input_entry
from spanwise.document import Input
from spanwise.document.dataset import DatasetFacts, Split, SplitPart, SplitRun, SplitSettings, SplitShare
from spanwise.document.scores import Subset
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.formats import FORMATS, listed_sources, make_folder, read, write, write_atomically
from spanwise.formats.editing import excerpt
from spanwise.splitting._pooling import pooled, taken
from spanwise.splitting._search import STARTS, Pool, Target, divided, random_division, steps_of
from spanwise.uncertainty import drawn_numbers

__all__ = ["split"]

RANDOM = 20  # random splits that say what chance would give
FAR = 0.01  # a share that misses what was asked by more than this is told

Name = Literal["train", "dev", "test"]
PARTS: tuple[Name, ...] = ("train", "dev", "test")


def split(
    sources: Any,
    *,
    shares: Mapping[str, float] | None = None,
    test: float = 0.2,
    dev: float = 0.0,
    seed: int = 0,
    output: str | Path | None = None,
    to: str | None = None,
    **reading: Any,
) -> Split:
    """Divide a corpus so that the test mentions have the shares of tough subsets asked for.

    Documents stay whole where the data mark at least two; otherwise sentences are divided. The development
    part is drawn at random first. Of the rest, a search from random splits exchanges units between test
    and training data while that brings the shares (of test mentions) and the size (in sentences) nearer to
    what was asked. It ends at what it can reach, which the document tells.

    Args:
        sources: the annotated file, or several that are pooled.
        shares: by tough subset, such as `{"UNSEEN-ANY": 0.6}`; without any the split is random.
        test, dev: the shares of all sentences.
        seed: of every random choice.
        output: a folder for `train`, `test` and `dev`, in the format of the sources.
        to: another format to write.
        reading: how to read the files, as `spanwise.read` takes it.

    Returns:
        The document; `parts[name].sentences` says which sentences of which file each part holds.

    Examples:
        >>> import spanwise
        >>> sentences = [["Rome"], ["Rome"], ["Oslo"], ["Oslo"], ["Bern"], ["Kyiv"]]
        >>> cities = spanwise.read([["B-LOC"]] * 6, tokens=sentences)
        >>> divided = split(cities, shares={"UNSEEN-ANY": 1.0}, test=1 / 3)
        >>> divided.shares["UNSEEN-ANY"].reached
        1.0

    References:
        Tu and Lignos (2021), section 5.
    """
    asked = {} if shares is None else dict(shares)
    _check(asked, test, dev)
    given = [read(source, **reading) for source in listed_sources(sources)]
    if not given:
        raise ChoiceError("there is nothing to divide.\nName a file.")
    whole = pooled(given)
    if whole.corpus.without_text:
        raise InputError(
            f"{whole.reading.path}: the file has positions but no text, "
            "so seen and unseen mentions cannot be told apart.\nGive a file with text."
        )
    unit_of, by_documents = _units(whole)
    number = int(unit_of[-1]) + 1 if len(unit_of) else 0
    if number < 2 + (dev > 0):
        raise InputError(
            f"{whole.reading.path}: {number} {'document' if by_documents else 'sentence'} cannot be divided "
            f"into {2 + (dev > 0)} parts.\nGive more data."
        )
    plan = _planned(whole, unit_of, Target(test / (1 - dev), asked), dev, seed)
    rows = {name: ints(np.flatnonzero(plan.part == at)) for at, name in enumerate(PARTS)}
    parts = {name: taken(whole, sentences) for name, sentences in rows.items() if len(sentences)}
    paths = {} if output is None else _written(given, parts, rows, Path(output), to, reading)
    facts = {name: _facts(name, part, parts["train"]) for name, part in parts.items()}
    reached = {subset: _reached(facts["test"], subset) for subset in asked}
    return Split(
        spanwise=__version__,
        signature=_signature(asked, test, dev, seed, by_documents),
        inputs=convert([input_entry("gold", one) for one in given], tuple[Input, ...]),
        settings=SplitSettings(
            test=test, dev=dev, seed=seed, unit="document" if by_documents else "sentence"
        ),
        shares={
            cast("Subset", subset): SplitShare(
                asked=share, reached=reached[subset], random=_around(plan.chance[subset])
            )
            for subset, share in asked.items()
        },
        size=SplitShare(asked=test, reached=len(rows["test"]) / len(whole.corpus), random=_around([test])),
        parts={
            name: SplitPart(
                facts=facts[name],
                units=len(np.unique(unit_of[rows[name]])),
                sentences=_runs(given, rows[name]),
                path=paths.get(name),
            )
            for name in parts
        },
        notes=tuple(_notes(asked, reached, by_documents)),
    )


def _check(shares: Mapping[str, float], test: float, dev: float) -> None:
    for subset, share in shares.items():
        if subset not in SUBSETS:
            raise unknown("tough subset", subset, SUBSETS)
        if not 0 <= share <= 1:
            raise ChoiceError(f"the share of {subset} is {share:.0%}, but must be between 0% and 100%.")
    if not 0 < test < 1 or not 0 <= dev < 1 or test + dev >= 1:
        raise ChoiceError(
            f"{test:.0%} for testing and {dev:.0%} for development leave nothing for training, or nothing to "
            "test on.\nGive shares of all sentences, such as 20% and 10%."
        )


def _units(whole: Annotation) -> tuple[Ints, bool]:
    """The unit of each sentence: its document where at least two are marked, else itself."""
    documents = whole.corpus.document_of_sentence
    if documents is None or len(documents) == 0 or documents[-1] == documents[0]:
        return ints(np.arange(len(whole.corpus))), False
    return documents, True


class _Plan(Struct, frozen=True, eq=False):
    """The part of each sentence, and the shares of tough subsets in random splits."""

    part: Ints
    chance: Mapping[str, Sequence[float]]


def _planned(whole: Annotation, unit_of: Ints, target: Target, dev: float, seed: int) -> _Plan:
    """Draw the development part, then search for the test part among the rest."""
    units = int(unit_of[-1]) + 1
    sizes = np.bincount(unit_of, minlength=units)
    orders = np.argsort(drawn_numbers(seed, "orders of units", RANDOM + 1, units), axis=1, kind="stable")
    kept_out = np.zeros(units, dtype=bool)
    if dev:
        # At least one unit each stays for training and test.
        before = np.cumsum(sizes[orders[-1]]) - sizes[orders[-1]] / 2
        number = int(np.clip(np.searchsorted(before, dev * len(unit_of)), 1, units - 2))
        kept_out[orders[-1][:number]] = True
    left = np.flatnonzero(~kept_out)
    new = np.full(units, -1, dtype=np.int64)
    new[left] = np.arange(len(left))
    mentions = whole.mentions
    of_mention = new[unit_of[mentions.sentence]]
    there = of_mention >= 0
    side = Context(whole.corpus, mentions, None).side(mentions)
    pool = Pool.of(
        ints(sizes[left]),
        of_mention[there],
        side.form[there],
        ints(mentions.label[there]),
        len(mentions.labels),
    )
    inner = [ints(new[order[~kept_out[order]]]) for order in orders[:RANDOM]]
    by_chance = [random_division(pool, order, target.size) for order in inner]
    steps = drawn_numbers(seed, "exchanges of units", STARTS * steps_of(pool), 4)
    chosen = divided(pool, target, steps.tolist(), inner[:STARTS])
    part = np.where(kept_out, PARTS.index("dev"), PARTS.index("train"))
    part[left[chosen]] = PARTS.index("test")
    chance = {subset: [one.share(subset) for one in by_chance] for subset in target.shares}
    return _Plan(ints(part[unit_of]), chance)


def _facts(name: str, part: Annotation, train: Annotation) -> DatasetFacts:
    """What the document says of one part; that for training is described without training data."""
    others = [] if name == "train" else [train]
    tough = toughness(part.corpus, part.mentions, Lexicon.of(others)) if others else None
    return convert(dataset_document(name, part, others, toughness=tough, zeta={}, absent={}), DatasetFacts)


def _reached(facts: DatasetFacts, subset: str) -> float | None:
    return (facts.tough or {})[cast("Subset", subset)].overall.share


def _around(shares: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Mean, lowest and highest of the defined shares."""
    defined = [share for share in shares if share == share]
    if not defined:
        return None, None, None
    return plain(np.mean(defined)), min(defined), max(defined)


def _notes(
    asked: Mapping[str, float], reached: Mapping[str, float | None], by_documents: bool
) -> Iterator[str]:
    for subset, share in asked.items():
        got = reached[subset]
        if got is None or abs(got - share) > FAR:
            found = "n/a" if got is None else f"{100 * got:.1f}%"
            yield (
                f"{subset} should be {100 * share:.1f}% of the test mentions and is {found}: "
                "the closest split found. Another size, seed or share may come closer."
            )
    if not by_documents:
        yield (
            "documents are not marked, so sentences were divided: neighbours in one text stand on both "
            "sides, and more is seen than in new texts."
        )


def _runs(given: Sequence[Annotation], sentences: Ints) -> tuple[SplitRun, ...]:
    """The sentences of a part as runs, file by file."""
    begins = offsets([len(one.corpus) for one in given])
    runs = []
    for at in range(len(given)):
        inside = sentences[(sentences >= begins[at]) & (sentences < begins[at + 1])] - begins[at]
        breaks = np.flatnonzero(np.diff(inside) != 1) + 1
        for run in np.split(inside, breaks):
            if len(run):
                runs.append(SplitRun(file=at, first=int(run[0]), last=int(run[-1]) + 1))
    return tuple(runs)


def _written(
    given: Sequence[Annotation],
    parts: Mapping[Name, Annotation],
    rows: Mapping[Name, Ints],
    folder: Path,
    to: str | None,
    reading: Mapping[str, Any],
) -> dict[Name, str]:
    """Write every part; lines of CoNLL files are copied as they are, with all their columns."""
    known = FORMATS.find(to or given[0].reading.format)
    if known.write is None or known.write_folder is not None:
        known = FORMATS.find("conll")
    begins = offsets([len(one.corpus) for one in given])
    target = make_folder(folder)
    paths: dict[Name, str] = {}
    for name, part in parts.items():
        path = target / f"{name}{known.suffixes[0]}"
        pieces = [
            (one, ints(rows[name][(rows[name] >= begin) & (rows[name] < begin + len(one.corpus))] - begin))
            for one, begin in zip(given, begins.tolist(), strict=False)
        ]
        copied = excerpt([piece for piece in pieces if len(piece[1])], **reading) if to is None else None
        if copied is not None and content_of(copied[1]) == content_of(part):
            write_atomically(path, copied[0])
        else:
            write(part, path, format=known)
        paths[name] = str(path)
    return paths


def _signature(asked: Mapping[str, float], test: float, dev: float, seed: int, by_documents: bool) -> str:
    shares = ",".join(f"{subset}={share:g}" for subset, share in asked.items()) or "random"
    unit = "document" if by_documents else "sentence"
    return f"spanwise|v:{__version__}|split:{shares}|test:{test:g}|dev:{dev:g}|unit:{unit}|seed:{seed}"
