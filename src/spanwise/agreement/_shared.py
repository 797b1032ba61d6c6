"""The text that annotators share, whole or in blocks, and counts that add up over blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Column, Floats, Ints, ints, offsets, run_positions
from spanwise.corpus import (
    Annotation,
    Corpus,
    Mentions,
    Source,
    Unit,
    joined_corpora,
    with_one_labelling,
    with_one_vocabulary,
)
from spanwise.errors import ChoiceError, InputError, many
from spanwise.evaluation.blocks import Reference
from spanwise.matching import DistinctMentions, distinct_mentions
from spanwise.pairing import sentence_names

BLOCK_TOKENS = 1 << 20  # target size of a block; in sentences if there is no text


class Presence(Struct, frozen=True, eq=False):
    """Which annotators and systems have which documents.

    `present[i, d]` tells whether annotator `i` has document `d`; `system_present` is the same for systems.
    """

    annotators: tuple[str, ...]
    systems: tuple[str, ...]
    documents: tuple[str, ...]
    present: Bools
    system_present: Bools
    marked: bool  # whether the data mark documents
    unit: Unit

    @property
    def shared(self) -> Bools:
        """The documents that two or more annotators have."""
        return np.asarray(self.present.sum(axis=0) >= 2)

    @property
    def by_document(self) -> bool:
        """Whether intervals are over documents: if the data mark at least two that are shared."""
        return self.marked and int(self.shared.sum()) >= 2

    def redacted(self) -> Presence:
        """A copy with numbers instead of the names of documents."""
        names = tuple(f"document {number}" for number in range(1, len(self.documents) + 1))
        return replace(self, documents=names)


class Shared(Struct, frozen=True, eq=False):
    """The mentions of all annotators and systems on the documents of a block.

    All label codes refer to one list. The columns of `present` are the documents of the block; `numbers` are
    their indices among all documents. `sentence` is the index of the first sentence of the block, and
    `position` the number of tokens or characters before it.
    """

    corpus: Corpus
    document: Ints  # of each sentence
    annotators: tuple[str, ...]
    present: Bools
    mentions: tuple[Mentions, ...]
    systems: tuple[str, ...]
    system_present: Bools
    system_mentions: tuple[Mentions, ...]
    distinct: DistinctMentions
    numbers: Ints
    sentence: int
    position: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the label codes."""
        return tuple(self.mentions[0].labels)


class SharedSource(Protocol):
    """Documents in blocks; a source and its references can be pickled."""

    @property
    def presence(self) -> Presence: ...
    @property
    def sentences(self) -> int: ...
    @property
    def cut_document(self) -> bool: ...
    def references(self) -> Iterator[Reference]: ...
    def open(self, reference: Reference) -> Shared: ...


Key = tuple[object, int]


class DocumentPlacement(Struct, frozen=True, eq=False):
    """How the documents of each party (annotator or system) map to the list of all documents."""

    holder: tuple[tuple[int, int], ...]  # of each document: the first party that has it, its index there
    documents: tuple[Ints, ...]  # by party: the number of each of its documents, -1 if no annotator has it
    presence: Presence


def placed(
    annotators: Sequence[str],
    systems: Sequence[str],
    keys: Sequence[Sequence[Key]],
    names: Sequence[Sequence[str]],
    *,
    marked: bool,
    unit: Unit,
) -> DocumentPlacement:
    """Match the documents of all parties by their keys.

    Raises:
        InputError: no two annotators share a document.
    """
    numbers: dict[Key, int] = {}
    holder: list[tuple[int, int]] = []
    for party in range(len(annotators)):
        for index, key in enumerate(keys[party]):
            if key not in numbers:
                numbers[key] = len(numbers)
                holder.append((party, index))
    documents = tuple(ints([numbers.get(key, -1) for key in own]) for own in keys)
    present = np.zeros((len(keys), len(numbers)), dtype=bool)
    for party, own in enumerate(documents):
        present[party, own[own >= 0]] = True
    n = len(annotators)
    if not (present[:n].sum(axis=0) >= 2).any():
        raise InputError(
            f"no two of the {many(n, 'annotator')} have a document in common.\n"
            "Give files over the same texts; documents are matched by name, or else by text."
        )
    called = _distinguished([names[party][index] for party, index in holder])
    presence = Presence(
        tuple(annotators), tuple(systems), called, present[:n], present[n:], marked=marked, unit=unit
    )
    return DocumentPlacement(tuple(holder), documents, presence)


def check_parties(annotators: Sequence[str], units: Sequence[Unit], paths: Sequence[str]) -> None:
    """Refuse fewer than two annotators, and a mix of token and character positions."""
    if len(annotators) < 2:
        raise ChoiceError("agreement needs at least two annotators.\nGive a file for each of them.")
    if len(set(units)) > 1:
        tokens = paths[units.index("token")]
        texts = paths[units.index("character")]
        raise InputError(
            f"{texts}: the mentions count characters, but tokens in {tokens}.\n"
            "Convert one of them with 'spanwise convert'."
        )


def combine_annotations(
    annotators: Mapping[str, Annotation], systems: Mapping[str, Annotation]
) -> InMemoryDocuments:
    """Combine all annotations on one shared text.

    Documents are matched by name if all files name them, otherwise by text. If no documents are marked, each
    file is one document if all files hold the same sentences; otherwise each sentence is a document of its
    own, matched by its id or its text. Files that name the same sentences by their ids may have them in
    different orders; files that hold no text and name different sentences are refused.

    Raises:
        ChoiceError: there are fewer than two annotators.
        InputError: no two annotators share a document, or a shared document has different texts.
    """
    leader = next(iter(annotators.values()), None)
    parties = {
        name: party if leader is None or party is leader else _ordered(party, leader.corpus)
        for name, party in {**annotators, **systems}.items()
    }
    check_parties(
        list(annotators),
        [party.corpus.unit for party in parties.values()],
        [party.reading.path for party in parties.values()],
    )
    corpora = with_one_vocabulary([party.corpus for party in parties.values()])
    keys, names, marked = _keys(corpora)
    placement = placed(list(annotators), list(systems), keys, names, marked=marked, unit=corpora[0].unit)
    starts = [_starts(corpus, len(own)) for corpus, own in zip(corpora, keys, strict=True)]
    corpus, first, mentions = on_one_text(
        list(parties.values()), corpora, starts, placement.documents, placement.holder
    )
    return InMemoryDocuments.of(corpus, first, mentions, placement.presence)


def _ordered(party: Annotation, first: Corpus) -> Annotation:
    """The annotation with its sentences in the order of the first one, if the ids of both name the same."""
    own = party.corpus
    names, others = sentence_names(own), sentence_names(first)
    if names is None or others is None or names == others or len({*others}) < len(others):
        return party
    if sorted(names) == sorted(others):
        where = {name: sentence for sentence, name in enumerate(names)}
        moved = party.take(ints([where[name] for name in others]))
        documents = replace(moved.corpus, documents=first.documents, document_ids=first.document_ids)
        return replace(moved, corpus=documents)
    counted = {names[0], others[0]} == {("0",), ("1",)}
    if own.without_text and own.documents is None and len(names) == len(others) and not counted:
        _refuse_unlike(own, names, first, others)
    return party


def _refuse_unlike(
    own: Corpus, names: Sequence[tuple[str, ...]], first: Corpus, others: Sequence[tuple[str, ...]]
) -> None:
    """Refuse the first id that the other file has not, or that occurs again."""
    left = {*others}
    for sentence, name in enumerate(names):
        if name not in left:
            wrong = "occurs twice" if name in others else f"is not in {first.source.path}"
            raise InputError(
                f"{own.place(sentence)}: the id {name[-1]!r} {wrong}, and without text only ids can match "
                "sentences.\nGive all annotators the same ids, or leave them out."
            )
        left.remove(name)


def on_one_text(
    annotations: Sequence[Annotation],
    corpora: Sequence[Corpus],
    starts: Sequence[Ints],
    documents: Sequence[Ints],
    holder: Sequence[tuple[int, int]],
) -> tuple[Corpus, Ints, tuple[Mentions, ...]]:
    """Build one corpus of all documents; return it, their first sentences, and all parties' mentions on it.

    All corpora must share one vocabulary. The text of every party is checked against the corpus.
    """
    corpus = _shared_text(corpora, starts, holder)
    sizes = [int(starts[party][index + 1] - starts[party][index]) for party, index in holder]
    first = offsets(sizes)
    on_text = [
        _on_shared_text(annotation, own, begins, numbers, first, corpus)
        for annotation, own, begins, numbers in zip(annotations, corpora, starts, documents, strict=True)
    ]
    return corpus, first, tuple(with_one_labelling(on_text))


def block_of(
    corpus: Corpus,
    document: Ints,
    mentions: Sequence[Mentions],
    presence: Presence,
    numbers: Ints,
    *,
    sentence: int,
    position: int,
) -> Shared:
    """Build a block from some documents, with its own list of labels for all mentions."""
    own = with_one_labelling(mentions)
    n = len(presence.annotators)
    return Shared(
        corpus=corpus,
        document=document,
        annotators=presence.annotators,
        present=presence.present[:, numbers],
        mentions=tuple(own[:n]),
        systems=presence.systems,
        system_present=presence.system_present[:, numbers],
        system_mentions=tuple(own[n:]),
        distinct=distinct_mentions(own),
        numbers=numbers,
        sentence=sentence,
        position=position,
    )


class InMemoryDocuments(Struct, frozen=True, eq=False):
    """The shared documents in memory, divided into blocks between documents, or within a single document."""

    corpus: Corpus
    first: Ints  # the first sentence of each document, and the end
    mentions: tuple[Mentions, ...]
    presence: Presence
    cuts: tuple[int, ...]  # the first sentence of each block, and the end

    @classmethod
    def of(
        cls, corpus: Corpus, first: Ints, mentions: tuple[Mentions, ...], presence: Presence
    ) -> InMemoryDocuments:
        """Divide the documents into blocks of about `BLOCK_TOKENS` tokens."""
        return cls(corpus, first, mentions, presence, tuple(_cuts(corpus, first)))

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.corpus)

    @property
    def cut_document(self) -> bool:
        """Whether the only document is split between several blocks."""
        return len(self.first) == 2 and len(self.cuts) > 2

    def whole(self) -> InMemoryDocuments:
        """A copy with everything in one block."""
        return replace(self, cuts=(0, len(self.corpus)))

    def references(self) -> Iterator[int]:
        """The numbers of the blocks."""
        return iter(range(len(self.cuts) - 1))

    def open(self, reference: int) -> Shared:
        """Open a block."""
        begin, end = self.cuts[reference], self.cuts[reference + 1]
        if self.cut_document:
            numbers, document = ints([0]), ints(np.zeros(end - begin))
        else:
            low, high = np.searchsorted(self.first[:-1], [begin, end])
            # Empty documents at the end belong to the last block.
            low, high = (int(low), int(high) if end < len(self.corpus) else len(self.first) - 1)
            numbers = ints(np.arange(low, high))
            sizes = np.diff(self.first)[low:high]
            document = ints(np.repeat(np.arange(high - low), sizes))
        corpus, position = self.corpus, 0
        mentions: Sequence[Mentions] = self.mentions
        if len(self.cuts) > 2:
            position = _size_before(corpus, begin)
            mentions = [own.within(slice(begin, end), len(corpus)) for own in mentions]
            corpus = corpus.take(slice(begin, end))
        return block_of(corpus, document, mentions, self.presence, numbers, sentence=begin, position=position)


def _cuts(corpus: Corpus, first: Ints) -> list[int]:
    """The first sentence of each block, and the end; a marked document is never split."""
    inside = corpus.documents[:-1] if corpus.documents is not None else np.arange(len(corpus))
    allowed = inside if len(first) == 2 else first[:-1]
    sizes = corpus.sentences if corpus.sentences[-1] else np.arange(len(corpus) + 1)
    cuts = [0]
    while True:
        at = int(np.searchsorted(sizes[allowed], sizes[cuts[-1]] + BLOCK_TOKENS))
        if at == len(allowed) or allowed[at] == len(corpus):
            break
        cuts.append(int(allowed[at]))
    return [*cuts, len(corpus)]


def _size_before(corpus: Corpus, sentence: int) -> int:
    """The number of tokens or characters before a sentence."""
    if corpus.texts is not None:
        return sum(map(len, corpus.texts[:sentence]))
    return int(corpus.sentences[sentence])


def _keys(corpora: Sequence[Corpus]) -> tuple[list[list[Key]], list[list[str]], bool]:
    """The keys and the names of each party's documents, and whether the data mark documents."""
    if all(corpus.document_ids and all(corpus.document_ids) for corpus in corpora):
        ids = [list(map(str, corpus.document_ids or ())) for corpus in corpora]
        return [counted_keys(own) for own in ids], ids, True
    if all(corpus.documents is not None for corpus in corpora):
        contents = [_contents(corpus, _starts(corpus, None)) for corpus in corpora]
        numbers = [[str(number) for number in range(1, len(own) + 1)] for own in contents]
        return contents, numbers, True
    if all(corpus.unit == "character" and corpus.ids is not None for corpus in corpora):
        ids = [list(map(str, corpus.ids or ())) for corpus in corpora]
        return [counted_keys(own) for own in ids], ids, True
    if all(_same_text(corpora[0], corpus) for corpus in corpora):
        return [[("whole", 0)] for _ in corpora], [["1"] for _ in corpora], False
    if all(corpus.without_text for corpus in corpora):
        raise InputError(
            f"{corpora[-1].source.path}: the files hold no text and have different numbers of sentences.\n"
            "Give files with text, or with the same sentences."
        )
    if all(corpus.ids is not None for corpus in corpora):
        ids = [list(map(str, corpus.ids or ())) for corpus in corpora]
        return [counted_keys(own) for own in ids], ids, False
    contents = [_contents(corpus, np.arange(len(corpus) + 1)) for corpus in corpora]
    numbers = [[str(number) for number in range(1, len(own) + 1)] for own in contents]
    return contents, numbers, False


def counted_keys(values: Sequence[object]) -> list[Key]:
    """Pair each value with the number of its previous occurrences, so that repeated texts stay distinct."""
    seen: Counter[object] = Counter()
    result = []
    for value in values:
        result.append((value, seen[value]))
        seen[value] += 1
    return result


def _starts(corpus: Corpus, documents: int | None) -> Ints:
    """The first sentence of each document, and the end; without marks, of the whole or of each sentence."""
    if corpus.documents is not None and documents in (None, len(corpus.documents) - 1):
        return corpus.documents
    return ints([0, len(corpus)]) if documents == 1 else ints(np.arange(len(corpus) + 1))


def _contents(corpus: Corpus, starts: Ints) -> list[Key]:
    """The keys of documents by their text: token codes and sentence lengths as bytes, or the texts."""
    texts: list[object] = []
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if corpus.texts is not None:
            texts.append(tuple(corpus.texts[begin:end]))
        else:
            tokens = corpus.tokens[corpus.sentences[begin] : corpus.sentences[end]]
            texts.append((tokens.tobytes(), corpus.lengths[begin:end].tobytes()))
    return counted_keys(texts)


def _same_text(first: Corpus, second: Corpus) -> bool:
    if first.texts is not None and second.texts is not None:
        return tuple(first.texts) == tuple(second.texts)
    return np.array_equal(first.sentences, second.sentences) and np.array_equal(first.tokens, second.tokens)


def _shared_text(
    corpora: Sequence[Corpus], starts: Sequence[Ints], holder: Sequence[tuple[int, int]]
) -> Corpus:
    """One corpus of the documents in `holder`, each a pair of party and index."""
    parties = {party for party, _ in holder}
    whole = corpora[0]
    sizes = [starts[party][index + 1] - starts[party][index] for party, index in holder]
    if parties == {0} and len(holder) == len(starts[0]) - 1:
        return replace(whole, documents=starts[0] if len(holder) > 1 else whole.documents)
    # With pieces of several files, drop what is specific to one file (lines, columns).
    begins = offsets([len(corpus) for corpus in corpora])
    sentences = [
        begins[party] + np.arange(starts[party][index], starts[party][index + 1]) for party, index in holder
    ]
    corpus = joined_corpora(corpora).take(ints(np.concatenate(sentences)))
    return replace(corpus, documents=offsets(sizes), document_ids=None, ids=None, source=Source())


def _on_shared_text(
    annotation: Annotation, own: Corpus, starts: Ints, documents: Ints, first: Ints, corpus: Corpus
) -> Mentions:
    """The mentions of one party on the shared text, after checking that its own text is the same."""
    sizes = np.diff(starts)
    kept = documents >= 0
    shared_sentence = np.full(len(own), -1, dtype=np.int64)
    own_sentence = run_positions(starts[:-1][kept], sizes[kept])
    expected = np.diff(first)[documents[kept]]
    differs = sizes[kept] != expected
    if differs.any():
        raise InputError(_differs(own, int(starts[:-1][kept][differs.argmax()]), corpus, None))
    shared_sentence[own_sentence] = run_positions(first[:-1][documents[kept]], sizes[kept])
    _check_text(own, own_sentence, corpus, shared_sentence[own_sentence])
    sentence = shared_sentence[annotation.mentions.sentence]
    chosen = np.flatnonzero(sentence >= 0)
    chosen = chosen[np.argsort(sentence[chosen], kind="stable")]
    taken = _taken(annotation.mentions, chosen)
    return replace(taken, sentence=sentence[chosen])


def _taken(mentions: Mentions, rows: Ints) -> Mentions:
    return mentions if np.array_equal(rows, np.arange(len(mentions))) else mentions.take(rows)


def _check_text(own: Corpus, own_sentence: Ints, corpus: Corpus, on_text: Ints) -> None:
    if own.texts is not None and corpus.texts is not None:
        for sentence, shared_sentence in zip(own_sentence.tolist(), on_text.tolist(), strict=True):
            if own.texts[sentence] != corpus.texts[shared_sentence]:
                raise InputError(_differs(own, sentence, corpus, shared_sentence))
        return
    unequal = own.lengths[own_sentence] != corpus.lengths[on_text]
    if not unequal.any():
        sizes = own.lengths[own_sentence]
        tokens = own.tokens[run_positions(own.sentences[:-1][own_sentence], sizes)]
        others = corpus.tokens[run_positions(corpus.sentences[:-1][on_text], sizes)]
        wrong = tokens != others
        if not wrong.any():
            return
        at = int(np.searchsorted(offsets(sizes), wrong.argmax(), "right")) - 1
    else:
        at = int(unequal.argmax())
    raise InputError(_differs(own, int(own_sentence[at]), corpus, int(on_text[at])))


def _differs(own: Corpus, sentence: int, corpus: Corpus, on_text: int | None) -> str:
    other_place = "" if on_text is None else f" ({corpus.place(on_text)})"
    return (
        f"{own.place(sentence)}: the text of this document differs from that of another annotator"
        f"{other_place}.\n"
        "Agreement needs the same text, tokenised in the same way."
    )


def _distinguished(names: Sequence[str]) -> tuple[str, ...]:
    """The names of documents, numbered where different documents have the same name."""
    return tuple(
        str(name) if again == 0 else f"{name} ({again + 1})" for name, again in counted_keys(list(names))
    )


class Cells(Struct, frozen=True, eq=False):
    """The counts of distinct rows of integers."""

    rows: Ints  # distinct and sorted
    count: Ints

    @classmethod
    def of(cls, *columns: Column, count: Column | None = None) -> Cells:
        """Count equal rows, each with weight 1 or as given by `count`.

        Examples:
            >>> cells = Cells.of(ints([1, 0, 1]), ints([2, 2, 2]))
            >>> cells.rows.tolist(), cells.count.tolist()
            ([[0, 2], [1, 2]], [1, 2])
        """
        rows = np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1)
        times = np.ones(len(rows), dtype=np.int64) if count is None else np.asarray(count, dtype=np.int64)
        order = np.lexsort(rows.T[::-1])
        rows, times = rows[order], times[order]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        total = np.add.reduceat(times, first) if len(first) else times
        return cls(ints(rows[new]), ints(total))

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Cells:
        """Add up the cells of several blocks."""
        rows = np.concatenate([part.rows for part in parts])
        return cls.of(*rows.T, count=np.concatenate([part.count for part in parts]))

    def renamed(self, columns: Sequence[int], name: Callable[[Ints], Ints]) -> Cells:
        """Replace the numbers in some columns."""
        rows = self.rows.copy()
        for column in columns:
            rows[:, column] = name(self.rows[:, column])
        return Cells.of(*rows.T, count=self.count)

    def where(self, first: int) -> Cells:
        """The remaining columns of the rows that begin with `first`."""
        low, high = np.searchsorted(self.rows[:, 0], [first, first + 1])
        return Cells(ints(self.rows[low:high, 1:]), ints(self.count[low:high]))

    def square(self, size: int) -> Floats:
        """The counts of rows of two numbers, as a square table."""
        table = np.zeros((size, size))
        table[self.rows[:, 0], self.rows[:, 1]] = self.count
        return table
