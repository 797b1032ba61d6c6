"""Split a corpus into training and test data with given shares of tough mentions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.attributes import SUBSETS, Context, Lexicon, toughness
from spanwise.columns import Bools, Ints, distinct, ints, offsets, plain
from spanwise.composition import content_of, dataset_document, input_entry
from spanwise.corpus import Annotation, joined_corpora, joined_mentions
from spanwise.document.dataset import DatasetFacts, Split, SplitPart, SplitRun, SplitSettings, SplitShare
from spanwise.document.scores import Subset
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.formats import (
    FORMATS,
    Reader,
    listed_sources,
    make_folder,
    rules_of,
    says_label_rules,
    write_atomically,
)
from spanwise.formats.editing import excerpt
from spanwise.formats.writing import lost_note, write_results
from spanwise.uncertainty import draw_numbers

__all__ = ["split"]

RANDOM = 20  # number of random splits, as a baseline
FAR = 0.01  # report a share that misses its target by more than this

Name = Literal["train", "dev", "test"]
PARTS: tuple[Name, ...] = ("train", "dev", "test")


@says_label_rules
def split(
    sources: object,
    *,
    shares: Mapping[str, float] | None = None,
    test: float = 0.2,
    dev: float = 0.0,
    seed: int = 0,
    output: str | Path | None = None,
    to: str | None = None,
    **reading: Any,
) -> Split:
    """Split a corpus so that the test mentions have the given shares of tough subsets.

    Documents are kept whole if the data mark at least two; otherwise sentences are divided. The development
    part is drawn at random first. For the rest, a search that starts from random splits exchanges units
    between test and training data as long as this brings the shares (of test mentions) and the size (in
    sentences) closer to their targets. The result is the closest split that was found.

    Args:
        sources: the annotated file, or several to pool.
        shares: target shares by tough subset, such as `{"UNSEEN-ANY": 0.6}`; if None, the split is random.
        test, dev: the shares of all sentences.
        seed: the seed of all random choices.
        output: a folder for `train`, `test` and `dev`, in the format of the sources.
        to: another format to write.
        reading: keywords of `spanwise.read`.

    Returns:
        The document; `parts[name].sentences` tells which sentences of which file each part holds.

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
    targets = {} if shares is None else dict(shares)
    _check(targets, test, dev)
    reader = Reader(**reading, further=True)
    annotations = [reader.read(source) for source in listed_sources(sources)]
    rules_of(reading).check(name for annotation in annotations for name in annotation.labels_as_read)
    if not annotations:
        raise ChoiceError("there is nothing to divide.\nName a file.")
    whole = pooled(annotations)
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
    part_of, chance = _planned(whole, unit_of, Target(test / (1 - dev), targets), dev, seed)
    rows = {name: ints(np.flatnonzero(part_of == at)) for at, name in enumerate(PARTS)}
    parts = {name: whole.take(sentences) for name, sentences in rows.items() if len(sentences)}
    paths, lost = (
        ({}, ()) if output is None else _written(annotations, parts, rows, Path(output), to, reading)
    )
    facts = {name: _facts(name, part, parts["train"]) for name, part in parts.items()}
    reached = {subset: _reached(facts["test"], subset) for subset in targets}
    return Split(
        spanwise=__version__,
        signature=_signature(targets, test, dev, seed, by_documents),
        inputs=tuple(input_entry("gold", annotation) for annotation in annotations),
        settings=SplitSettings(
            test=test, dev=dev, seed=seed, unit="document" if by_documents else "sentence"
        ),
        shares={
            cast("Subset", subset): SplitShare(
                asked=share, reached=reached[subset], random=_around(chance[subset])
            )
            for subset, share in targets.items()
        },
        size=SplitShare(asked=test, reached=len(rows["test"]) / len(whole.corpus), random=_around([test])),
        parts={
            name: SplitPart(
                facts=facts[name],
                units=len(distinct(unit_of[rows[name]])),
                sentences=_runs(annotations, rows[name]),
                path=paths.get(name),
            )
            for name in parts
        },
        notes=(*_notes(targets, reached, by_documents), *lost),
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
    """The unit of each sentence: its document if at least two are marked, otherwise the sentence itself."""
    documents = whole.corpus.document_of_sentence
    if documents is None or len(documents) == 0 or documents[-1] == documents[0]:
        return ints(np.arange(len(whole.corpus))), False
    return documents, True


def _planned(
    whole: Annotation, unit_of: Ints, target: Target, dev: float, seed: int
) -> tuple[Ints, Mapping[str, Sequence[float]]]:
    """Draw the development part, then search for the test part among the rest.

    Returns:
        The part of each sentence, and the shares of tough subsets in random splits.
    """
    units = int(unit_of[-1]) + 1
    sizes = np.bincount(unit_of, minlength=units)
    orders = np.argsort(draw_numbers(seed, "orders of units", RANDOM + 1, units), axis=1, kind="stable")
    kept_out = np.zeros(units, dtype=bool)
    if dev:
        # Leave at least one unit each for training and test.
        before = np.cumsum(sizes[orders[-1]]) - sizes[orders[-1]] / 2
        number = int(np.clip(np.searchsorted(before, dev * len(unit_of)), 1, units - 2))
        kept_out[orders[-1][:number]] = True
    left = np.flatnonzero(~kept_out)
    new = np.full(units, -1, dtype=np.int64)
    new[left] = np.arange(len(left))
    mentions = whole.mentions
    of_mention = new[unit_of[mentions.sentence]]
    remaining = of_mention >= 0
    side = Context(whole.corpus, mentions, None).side(mentions)
    pool = Pool.of(
        ints(sizes[left]),
        of_mention[remaining],
        side.form[remaining],
        ints(mentions.label[remaining]),
        len(mentions.labels),
    )
    inner = [ints(new[order[~kept_out[order]]]) for order in orders[:RANDOM]]
    by_chance = [random_division(pool, order, target.size) for order in inner]
    steps = draw_numbers(seed, "exchanges of units", STARTS * steps_of(pool), 4)
    chosen = divided(pool, target, steps.tolist(), inner[:STARTS])
    part = np.where(kept_out, PARTS.index("dev"), PARTS.index("train"))
    part[left[chosen]] = PARTS.index("test")
    chance = {subset: [division.share(subset) for division in by_chance] for subset in target.shares}
    return ints(part[unit_of]), chance


def _facts(name: str, part: Annotation, train: Annotation) -> DatasetFacts:
    """The description of one part; the training part is described without training data."""
    others = [] if name == "train" else [train]
    tough = toughness(part.corpus, part.mentions, Lexicon.of(others)) if others else None
    return convert(dataset_document(name, part, others, toughness=tough, zeta={}, absent={}), DatasetFacts)


def _reached(facts: DatasetFacts, subset: str) -> float | None:
    return (facts.tough or {})[cast("Subset", subset)].overall.share


def _around(shares: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The mean, minimum and maximum of the defined shares."""
    defined = [share for share in shares if share == share]
    if not defined:
        return None, None, None
    return plain(np.mean(defined)), min(defined), max(defined)


def _notes(
    targets: Mapping[str, float], reached: Mapping[str, float | None], by_documents: bool
) -> Iterator[str]:
    for subset, share in targets.items():
        share_reached = reached[subset]
        if share_reached is None or abs(share_reached - share) > FAR:
            shown = "n/a" if share_reached is None else f"{100 * share_reached:.1f}%"
            yield (
                f"{subset} should be {100 * share:.1f}% of the test mentions and is {shown}: "
                "the closest split found. Another size, seed or share may come closer."
            )
    if not by_documents:
        yield (
            "documents are not marked, so sentences were divided: sentences of one text can be on both "
            "sides, so more mentions are seen than in new texts."
        )


def _runs(annotations: Sequence[Annotation], sentences: Ints) -> tuple[SplitRun, ...]:
    """The sentences of a part as runs of consecutive sentences, file by file."""
    begins = offsets([len(annotation.corpus) for annotation in annotations])
    runs = []
    for at in range(len(annotations)):
        inside = sentences[(sentences >= begins[at]) & (sentences < begins[at + 1])] - begins[at]
        breaks = np.flatnonzero(np.diff(inside) != 1) + 1
        for run in np.split(inside, breaks):
            if len(run):
                runs.append(SplitRun(file=at, first=int(run[0]), last=int(run[-1]) + 1))
    return tuple(runs)


def _written(
    annotations: Sequence[Annotation],
    parts: Mapping[Name, Annotation],
    rows: Mapping[Name, Ints],
    folder: Path,
    to: str | None,
    reading: Mapping[str, object],
) -> tuple[dict[Name, str], tuple[str, ...]]:
    """Write every part; lines of CoNLL files are copied unchanged, with all their columns.

    Returns:
        The path of each part, and notes on what its file has no place for.
    """
    output_format = FORMATS.find(to or annotations[0].reading.format)
    if output_format.write is None or output_format.write_folder is not None:
        output_format = FORMATS.find("conll")
    begins = offsets([len(annotation.corpus) for annotation in annotations])
    target = make_folder(folder)
    paths: dict[Name, str] = {}
    lost: list[str] = []
    for name, part in parts.items():
        path = target / f"{name}{output_format.suffixes[0]}"
        pieces = [
            (
                annotation,
                ints(
                    rows[name][(rows[name] >= begin) & (rows[name] < begin + len(annotation.corpus))] - begin
                ),
            )
            for annotation, begin in zip(annotations, begins.tolist(), strict=False)
        ]
        as_written = to is None and not rules_of(reading)  # else the labels are written as they were mapped
        copied = excerpt([piece for piece in pieces if len(piece[1])], **reading) if as_written else None
        if copied is not None and content_of([copied[1]]) == content_of([part]):
            write_atomically(path, copied[0])
        else:
            lost += lost_note(path, write_results(part, path, format=output_format))
        paths[name] = str(path)
    return paths, tuple(lost)


def _signature(targets: Mapping[str, float], test: float, dev: float, seed: int, by_documents: bool) -> str:
    shares = ",".join(f"{subset}={share:g}" for subset, share in targets.items()) or "random"
    unit = "document" if by_documents else "sentence"
    return f"spanwise|v:{__version__}|split:{shares}|test:{test:g}|dev:{dev:g}|unit:{unit}|seed:{seed}"


# ---- the search for a test part with the target shares of tough mentions ----

STARTS = 3  # number of random splits to search from; the best result is used
STEPS = (4_000, 16_000)  # minimum and maximum number of exchanges to try from each start
PATIENCE = 1_500  # stop a search after this many exchanges without improvement
NEAR = 0.0005  # stop when a split is this close to the target

Members: TypeAlias = list[tuple[int, int]]  # label code, number of mentions


class Pool(Struct, frozen=True, eq=False):
    """The units to divide: their numbers of sentences, and their mentions by form and label."""

    sentences: Ints  # of each unit
    mentions: Sequence[Mapping[int, Members]]  # of each unit, by form
    holders: Mapping[int, Sequence[int]]  # the units that contain a form
    labels: int

    @classmethod
    def of(cls, sentences: Ints, unit: Ints, form: Ints, label: Ints, labels: int) -> Pool:
        """Build the pool from the unit, form and label of each mention."""
        rows, counts = np.unique(np.stack([unit, form, label], axis=1), axis=0, return_counts=True)
        mentions: list[dict[int, Members]] = [{} for _ in range(len(sentences))]
        holders: dict[int, list[int]] = {}
        for (owner, own_form, code), number in zip(rows.tolist(), counts.tolist(), strict=True):
            inside = mentions[owner].setdefault(own_form, [])
            if not inside:
                holders.setdefault(own_form, []).append(owner)
            inside.append((code, number))
        return cls(sentences, mentions, holders, labels)


def members(test: Sequence[int], train: Sequence[int]) -> list[int]:
    """The number of test mentions of one form in each tough subset, given its counts by label.

    Examples:
        >>> dict(zip(SUBSETS, members([1, 2], [0, 3])))["UNSEEN-TYPE"]
        1
    """
    whole = sum(test)
    form_seen = any(train)
    seen = sum(number for number, before in zip(test, train, strict=True) if before)
    confused = whole if sum(map(bool, test)) > 1 else 0
    return [
        seen,
        whole - seen if form_seen else 0,
        0 if form_seen else whole,
        whole - seen,
        confused,
        confused if form_seen else 0,
        0 if form_seen else confused,
    ]


class Division:
    """A pool divided in two; moving a unit updates only the counts of its own forms."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.in_test = [False] * len(pool.sentences)
        self.sentences = 0  # of the test part
        self.mentions = 0
        self.subsets = [0] * len(SUBSETS)
        self._test: dict[int, list[int]] = {form: [0] * pool.labels for form in pool.holders}
        self._train: dict[int, list[int]] = {form: [0] * pool.labels for form in pool.holders}
        for unit in pool.mentions:
            for form, inside in unit.items():
                for label, number in inside:
                    self._train[form][label] += number

    def move(self, unit: int) -> None:
        """Move a unit to the other part."""
        sign = -1 if self.in_test[unit] else 1
        self.in_test[unit] = sign > 0
        self.sentences += sign * int(self._pool.sentences[unit])
        for form, inside in self._pool.mentions[unit].items():
            test, train = self._test[form], self._train[form]
            before = members(test, train)
            for label, number in inside:
                test[label] += sign * number
                train[label] -= sign * number
                self.mentions += sign * number
            after = members(test, train)
            self.subsets = [
                whole + new - old for whole, new, old in zip(self.subsets, after, before, strict=True)
            ]

    def share(self, subset: str) -> float:
        """The share of the test mentions in a subset; NaN if there are no test mentions."""
        number = self.subsets[SUBSETS.index(subset)]
        return number / self.mentions if self.mentions else float("nan")


class Target(Struct, frozen=True):
    """The target share of sentences in the test part, and the target shares of tough mentions in it."""

    size: float
    shares: Mapping[str, float]

    def distance(self, division: Division, sentences: int) -> float:
        """The distance of a division from the target: the sum of all absolute differences of shares."""
        if not division.mentions:
            return float("inf")
        distance = abs(division.sentences / max(sentences, 1) - self.size)
        return distance + sum(abs(division.share(subset) - target) for subset, target in self.shares.items())


def random_division(pool: Pool, order: Ints, size: float) -> Division:
    """Take the first units of an order as the test part, until it has the given share of sentences."""
    division = Division(pool)
    wanted = size * float(pool.sentences.sum())
    for unit in order.tolist():
        if division.sentences and division.sentences + pool.sentences[unit] / 2 > wanted:
            break
        division.move(unit)
    return division


def steps_of(pool: Pool) -> int:
    """The number of exchanges to try from each start."""
    fewest, most = STEPS
    return int(np.clip(12 * len(pool.sentences), fewest, most))


class _Sides:
    """The units of both parts as lists, with the index of each unit."""

    def __init__(self, division: Division) -> None:
        self.test = [unit for unit, inside in enumerate(division.in_test) if inside]
        self.train = [unit for unit, inside in enumerate(division.in_test) if not inside]
        self._place = {unit: at for side in (self.test, self.train) for at, unit in enumerate(side)}

    def rebook(self, unit: int, *, to_test: bool) -> None:
        """Update the lists after a unit was moved."""
        source, destination = (self.train, self.test) if to_test else (self.test, self.train)
        last = source.pop()
        if last != unit:
            source[self._place[unit]] = last
            self._place[last] = self._place[unit]
        self._place[unit] = len(destination)
        destination.append(unit)


def improved(pool: Pool, division: Division, target: Target, numbers: Sequence[Sequence[float]]) -> float:
    """Exchange units while that brings the division closer to the target; return the final distance.

    Each row of `numbers` decides one exchange. About half of them move a unit into the test part that shares
    a form with it; otherwise all units with a form would hardly ever end up there together.
    """
    sentences = int(pool.sentences.sum())
    best = target.distance(division, sentences)
    sides = _Sides(division)
    idle = 0
    for kind, first, second, third in numbers:
        if best < NEAR or idle == PATIENCE or not sides.test or not sides.train:
            break
        out = sides.test[int(first * len(sides.test))]
        into = _related(pool, division, sides.test, second, third) if kind < 0.5 else None
        if into is None:
            into = sides.train[int(third * len(sides.train))]
        # Most moves exchange two units; some add or remove one, to adjust the size.
        moved = [into, out] if kind < 0.8 else [into] if kind < 0.9 else [out]
        for unit in moved:
            division.move(unit)
        distance = target.distance(division, sentences)
        for unit in moved:
            if distance <= best:
                sides.rebook(unit, to_test=division.in_test[unit])
            else:
                division.move(unit)
        idle = 0 if distance < best else idle + 1
        best = min(best, distance)
    return best


def _related(pool: Pool, division: Division, test: Sequence[int], first: float, second: float) -> int | None:
    """A unit of the training part that shares a form with a randomly chosen unit of the test part."""
    position = first * len(test)
    forms = list(pool.mentions[test[int(position)]])
    if not forms:
        return None
    holders = pool.holders[forms[int((position % 1) * len(forms))]]
    begin = int(second * len(holders))
    # Frequent forms have many holders, so look at only a few of them.
    near = [*holders[begin : begin + 8], *holders[: max(0, begin + 8 - len(holders))]]
    return next((unit for unit in near if not division.in_test[unit]), None)


def divided(pool: Pool, target: Target, numbers: Sequence[Sequence[float]], orders: Sequence[Ints]) -> Bools:
    """Choose the units of the test part: the best of several searches, each from a random split.

    Each search uses its own rows of `numbers`.
    """
    steps = steps_of(pool)
    best, chosen = float("inf"), np.zeros(len(pool.sentences), dtype=bool)
    for start, order in enumerate(orders):
        division = random_division(pool, order, target.size)
        distance = improved(pool, division, target, numbers[start * steps : (start + 1) * steps])
        if distance < best:
            best, chosen = distance, np.array(division.in_test)
        if best < NEAR:
            break
    return chosen


# ---- pooling annotations ----


def pooled(annotations: Sequence[Annotation]) -> Annotation:
    """Concatenate annotations; documents are kept if all of them mark some."""
    corpora = [annotation.corpus for annotation in annotations]
    first = corpora[0]
    if any((corpus.unit, corpus.without_text) != (first.unit, first.without_text) for corpus in corpora):
        raise InputError(
            "some files hold tokens and others text or positions, and cannot be divided together.\n"
            "Convert them to one format first."
        )
    corpus = joined_corpora(corpora)
    sizes = [np.diff(corpus.documents) for corpus in corpora if corpus.documents is not None]
    if len(sizes) == len(corpora):
        named = [corpus.document_ids for corpus in corpora if corpus.document_ids is not None]
        names = tuple(chain.from_iterable(named)) if len(named) == len(corpora) else None
        corpus = replace(corpus, documents=offsets(np.concatenate(sizes)), document_ids=names)
    begins = offsets([len(corpus) for corpus in corpora])[:-1]
    mentions = joined_mentions([annotation.mentions for annotation in annotations], begins)
    return Annotation(corpus, mentions, annotations[0].reading)
