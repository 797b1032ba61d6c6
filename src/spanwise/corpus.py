"""Corpora and mentions stored as columns: interned tokens, sentence and document offsets, labeled spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, count, pairwise
from typing import Literal

import numpy as np
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import force_setattr, replace

from spanwise.columns import (
    Bools,
    Codes,
    Column,
    Floats,
    Ints,
    codes,
    floats,
    frozen,
    ints,
    offsets,
    run_positions,
)
from spanwise.errors import InputError

Unit = Literal["token", "character"]
Pieces = tuple[tuple[int, int], ...]  # the pieces of one mention, each a half-open (start, end)


class Source(Struct, frozen=True, eq=False):
    """Where a corpus came from, so that messages can point to any sentence or token."""

    path: str = "<memory>"
    lines: Ints | None = None  # the line of each sentence's first token, from 1
    token_lines: Ints | None = None  # the line of each token; only set where tokens skip lines
    before: int = 0  # for a part of a file: sentences of its first document that come before the part

    def line(self, sentence: int, token: int = 0, *, first_token: int = 0) -> int | None:
        """The line of a token, or None if unknown; `first_token` is where its sentence begins."""
        if self.token_lines is not None and first_token + token < len(self.token_lines):
            return int(self.token_lines[first_token + token])
        return None if self.lines is None else int(self.lines[sentence]) + token


def in_text(place: str | None, document: str | None) -> bool:
    """Whether `Corpus.place` gave the first line of a document, whose other lines count from there."""
    return place is not None and document is not None and place.endswith(f": {document}:1")


def line_of(place: str | None, document: str | None, text: str, position: int) -> str | None:
    """The location of a character of a text: its own line if `place` is the first line of a document.

    Examples:
        >>> line_of("gold: doc2:1", "doc2", "Acme Ltd.\\nMaria Rossi signed.", 10)
        'gold: doc2:2'
        >>> line_of("gold.jsonl:7", "doc2", "Acme Ltd.\\nMaria Rossi signed.", 10)
        'gold.jsonl:7'
    """
    if place is None or not in_text(place, document):
        return place
    return f"{place[:-1]}{1 + text.count(chr(10), 0, position)}"


class Corpus(Struct, frozen=True, eq=False, dict=True):
    """Sentences of interned tokens, optionally grouped into documents.

    `tokens[sentences[i]:sentences[i + 1]]` are the codes of sentence `i`, and
    `vocabulary[code]` is the string of a code. `documents`, if the data mark them,
    are offsets into the sentences in the same way. Some span files hold only
    positions: their corpus is `without_text` and has no tokens.
    With unit "character", each sentence is a text, the positions of mentions count
    its characters, and its tokens lie at `token_start` to `token_end`.

    Examples:
        >>> corpus = Corpus.of([["Ann", "sings"], ["Ann", "left"]])
        >>> corpus.vocabulary, corpus.tokens.tolist(), corpus.sentences.tolist()
        (('Ann', 'sings', 'left'), [0, 1, 0, 2], [0, 2, 4])
    """

    tokens: Codes
    vocabulary: Sequence[str]
    sentences: Ints
    documents: Ints | None = None
    unit: Unit = "token"
    without_text: bool = False
    texts: Sequence[str] | None = None
    token_start: Ints | None = None
    token_end: Ints | None = None
    ids: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)  # one value per token
    fields: Mapping[str, Column] = field(default_factory=dict)  # one value per sentence
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)  # fields that may name sentences
    source: Source = Source()

    def __post_init__(self) -> None:
        force_setattr(self, "tokens", codes(self.tokens))
        force_setattr(self, "sentences", ints(self.sentences))
        if self.documents is not None:
            force_setattr(self, "documents", ints(self.documents))

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sequence[str]],
        *,
        documents: Sequence[int] | None = None,
        source: Source = Source(),
    ) -> Corpus:
        """Build a corpus from lists of tokens; `documents` is the number of sentences in each document.

        Examples:
            >>> corpus = Corpus.of([["New", "York"], ["York"]])
            >>> corpus.tokens.tolist(), corpus.words(0)
            ([0, 1, 1], ['New', 'York'])
        """
        interned: dict[str, int] = {}
        coded: list[int] = []
        sizes: list[int] = []
        for sentence in sentences:
            sizes.append(len(sentence))
            coded.extend(interned.setdefault(token, len(interned)) for token in sentence)
        return cls(
            tokens=codes(coded),
            vocabulary=tuple(interned),
            sentences=offsets(sizes),
            documents=None if documents is None else offsets(documents),
            source=source,
        )

    def __len__(self) -> int:
        return len(self.sentences) - 1

    @cached_property
    def lengths(self) -> Ints:
        """The number of tokens in each sentence."""
        return ints(np.diff(self.sentences))

    @cached_property
    def document_of_sentence(self) -> Ints | None:
        """The number of the document that each sentence belongs to, or None without documents."""
        if self.documents is None:
            return None
        return ints(np.repeat(np.arange(len(self.documents) - 1), np.diff(self.documents)))

    def words(self, sentence: int) -> list[str]:
        """The tokens of one sentence as strings."""
        begin, end = self.sentences[sentence], self.sentences[sentence + 1]
        return [self.vocabulary[code] for code in self.tokens[begin:end].tolist()]

    def place(self, sentence: int, token: int = 0) -> str:
        """The location of a token: `file:line`, else `file: document:N`, else the file alone.

        N is the line within the text if the corpus has texts, otherwise the number of the
        sentence within its document.
        """
        first = int(self.sentences[sentence])
        line = self.source.line(sentence, token, first_token=first)
        if line is not None:
            return f"{self.source.path}:{line}"
        if self.documents is None or not isinstance(self.document_ids, tuple):
            return self.source.path  # the data do not name documents, though a part may number them
        document = int(np.searchsorted(self.documents, sentence, side="right")) - 1
        inside = sentence - int(self.documents[document]) + 1 + (self.source.before if document == 0 else 0)
        if self.texts is not None and self.token_start is not None and first + token < len(self.tokens):
            inside = 1 + self.texts[sentence].count("\n", 0, int(self.token_start[first + token]))
        return f"{self.source.path}: {self.document_ids[document]}:{inside}"

    def place_of(self, sentence: int, position: int) -> str:
        """The location of a mention that begins at this position: a token, or a character of the text."""
        if self.unit == "token":
            return self.place(sentence, position)
        if self.token_start is None or self.source.line(sentence) is not None:
            return self.place(sentence)
        begin, end = self.sentences[sentence], self.sentences[sentence + 1]
        before = int(np.searchsorted(self.token_start[begin:end], position, side="right"))
        return self.place(sentence, max(before - 1, 0))

    def take(self, which: Ints | slice) -> Corpus:
        """Some sentences in the given order; those of one document that stay together remain a document."""
        if isinstance(which, slice):
            begin, end, _ = which.indices(len(self))
            tokens: Ints | slice = slice(int(self.sentences[begin]), int(self.sentences[end]))
            bounds, first = self.sentences[begin : end + 1] - self.sentences[begin], begin
        else:
            tokens = run_positions(self.sentences[:-1][which], self.lengths[which])
            bounds, first = offsets(self.lengths[which]), int(which[0]) if len(which) else 0
        documents, names, before = self._documents_of(which, first)
        lines, token_lines = self.source.lines, self.source.token_lines
        return Corpus(
            tokens=self.tokens[tokens],
            vocabulary=self.vocabulary,
            sentences=bounds,
            documents=documents,
            unit=self.unit,
            without_text=self.without_text,
            texts=_some(self.texts, which),
            token_start=None if self.token_start is None else ints(self.token_start[tokens]),
            token_end=None if self.token_end is None else ints(self.token_end[tokens]),
            ids=_some(self.ids, which),
            document_ids=names,
            columns={name: frozen(column[tokens]) for name, column in self.columns.items()},
            fields={name: frozen(column[which]) for name, column in self.fields.items()},
            keys={name: _some(values, which) or () for name, values in self.keys.items()},
            source=Source(
                self.source.path,
                None if lines is None else ints(lines[which]),
                None if token_lines is None else ints(token_lines[tokens]),
                before,
            ),
        )

    def _documents_of(self, which: Ints | slice, first: int) -> tuple[Ints | None, Sequence[str] | None, int]:
        """The documents of some sentences, their names, and how many sentences of the first come before."""
        owner, starts = self.document_of_sentence, self.documents
        if owner is None or starts is None or not len(owner):
            return starts, self.document_ids, 0
        before = first - int(starts[owner[first]]) if first < len(owner) else 0
        if isinstance(which, slice):  # documents without a sentence are kept
            begin, end, _ = which.indices(len(self))
            inside = starts[(starts > begin) & (starts < end)]
            low = int(np.searchsorted(starts, begin, side="right")) - 1
            names = self.document_ids
            some = None if names is None else names[low : low + len(inside) + 1]
            return ints([0, *(inside - begin).tolist(), end - begin]), some, before
        own = owner[which]
        begins = np.flatnonzero(np.diff(own, prepend=-1))
        return ints([*begins.tolist(), len(own)]), _some(self.document_ids, ints(own[begins])), before

    def recoded(self, table: Codes | None, strings: Sequence[str]) -> Corpus:
        """A copy with another vocabulary: each code becomes `table[code]`, or stays if there is no table."""
        return replace(self, tokens=self.tokens if table is None else table[self.tokens], vocabulary=strings)


def _some(strings: Sequence[str] | None, which: Ints | slice) -> Sequence[str] | None:
    """The strings of some sentences or documents."""
    if strings is None:
        return None
    return strings[which] if isinstance(which, slice) else tuple(strings[at] for at in which.tolist())


def with_one_vocabulary(corpora: Sequence[Corpus]) -> list[Corpus]:
    """Copies of the corpora that share one vocabulary, so that equal strings have equal codes.

    The first corpus keeps its codes, as does any other whose vocabulary is a prefix of the shared one.
    """
    if all(corpus.vocabulary is corpora[0].vocabulary for corpus in corpora):
        return list(corpora)
    lists = [tuple(corpus.vocabulary) for corpus in corpora]
    longest = max(lists, key=len)
    if all(longest[: len(words)] == words for words in lists):
        return [corpus.recoded(None, longest) for corpus in corpora]
    merged = dict(zip(dict.fromkeys(chain.from_iterable(lists)), count(), strict=False))
    strings = tuple(merged)
    result = []
    for corpus, words in zip(corpora, lists, strict=True):
        same = strings[: len(words)] == words
        table = None if same else np.fromiter(map(merged.__getitem__, words), np.int32, len(words))
        result.append(corpus.recoded(table, strings))
    return result


def joined_corpora(corpora: Sequence[Corpus]) -> Corpus:
    """The sentences of consecutive corpora, with what all of them have; documents are left to the caller.

    Lines are kept if all corpora come from one file, and fields if any corpus has them.
    """
    shared = with_one_vocabulary([corpus for corpus in corpora if len(corpus)] or corpora[:1])
    first, sources = shared[0], [corpus.source for corpus in shared]
    one_file = len({source.path for source in sources}) == 1
    fields = dict.fromkeys(name for corpus in shared for name in corpus.fields)
    return Corpus(
        tokens=np.concatenate([corpus.tokens for corpus in shared]),
        vocabulary=first.vocabulary,
        sentences=offsets(np.concatenate([corpus.lengths for corpus in shared])),
        unit=first.unit,
        without_text=first.without_text,
        texts=_chained([corpus.texts for corpus in shared]),
        token_start=_concatenated([corpus.token_start for corpus in shared]),
        token_end=_concatenated([corpus.token_end for corpus in shared]),
        ids=_chained([corpus.ids for corpus in shared]),
        fields={
            name: frozen(
                np.concatenate(
                    [corpus.fields.get(name, np.full(len(corpus), None, dtype=object)) for corpus in shared]
                )
            )
            for name in fields
        },
        source=Source(
            sources[0].path,
            _concatenated([source.lines for source in sources]) if one_file else None,
            _concatenated([source.token_lines for source in sources]) if one_file else None,
        ),
    )


def _chained(parts: Sequence[Sequence[str] | None]) -> tuple[str, ...] | None:
    """All strings of consecutive parts; None if a part has none."""
    given = [part for part in parts if part is not None]
    return tuple(chain.from_iterable(given)) if len(given) == len(parts) else None


def _concatenated(parts: Sequence[Ints | None]) -> Ints | None:
    """The columns of consecutive parts as one; None if a part has none."""
    given = [part for part in parts if part is not None]
    return ints(np.concatenate(given)) if len(given) == len(parts) else None


class Parts(Struct, frozen=True, eq=False):
    """The pieces of discontinuous mentions: mention `i` has pieces `at[i]:at[i + 1]`, in ascending order."""

    at: Ints
    start: Ints
    end: Ints

    @classmethod
    def of(cls, mentions: Sequence[Sequence[tuple[int, int]]]) -> Parts:
        """Build the pieces from one list of (start, end) per mention."""
        flat = [piece for pieces in mentions for piece in pieces]
        return cls(
            offsets([len(pieces) for pieces in mentions]),
            ints([start for start, _ in flat]),
            ints([end for _, end in flat]),
        )


def joined_pieces(pieces: Iterable[tuple[int, int]]) -> Pieces:
    """Sort the pieces and merge those that touch or overlap, so that the same tokens give the same pieces.

    Examples:
        >>> joined_pieces([(4, 6), (0, 2), (2, 3)])
        ((0, 3), (4, 6))
    """
    result: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)


class Mentions(Struct, frozen=True, eq=False, dict=True):
    """Labeled spans, half-open within their sentence, in input order within each sentence.

    Rows are sorted by sentence. Mentions may nest and cross. A mention
    that could not be placed on the gold text has start and end -1.
    `parts` is set only if some mention is discontinuous; every mention then
    has at least one piece, and start and end are its outer borders.
    `score` is set only if the data contain confidence scores; NaN marks a missing score.

    Examples:
        >>> mentions = Mentions.of([(0, 0, 2, "PER"), (1, 3, 4, "LOC")])  # sentence, start, end, label
        >>> mentions.start.tolist(), mentions.end.tolist()
        ([0, 3], [2, 4])
    """

    sentence: Ints
    start: Ints
    end: Ints
    label: Codes
    labels: Sequence[str]
    parts: Parts | None = None
    fields: Mapping[str, Column] = field(default_factory=dict)  # one value per mention
    score: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("sentence", "start", "end"):
            force_setattr(self, name, ints(getattr(self, name)))
        force_setattr(self, "label", codes(self.label))
        force_setattr(self, "labels", tuple(self.labels))
        sizes = {len(self.sentence), len(self.start), len(self.end), len(self.label)}
        if self.score is not None:
            force_setattr(self, "score", floats(self.score))
            sizes.add(len(self.score))
        if len(sizes) != 1:
            raise ValueError("the columns of mentions have different lengths")

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[int, int, int, str]],
        *,
        labels: Sequence[str] | None = None,
        score: Sequence[float] | None = None,
    ) -> Mentions:
        """Build mentions from (sentence, start, end, label) rows, with sentences in any order.

        Examples:
            >>> Mentions.of([(0, 1, 3, "PER"), (1, 0, 1, "LOC")]).labels
            ('LOC', 'PER')
        """
        listed = list(rows)
        names = tuple(sorted({row[3] for row in listed})) if labels is None else tuple(labels)
        code = {name: number for number, name in enumerate(names)}
        columns = [[row[i] for row in listed] for i in range(3)]
        mentions = cls(
            sentence=ints(columns[0]),
            start=ints(columns[1]),
            end=ints(columns[2]),
            label=codes([code[row[3]] for row in listed]),
            labels=names,
            score=None if score is None else floats(score),
        )
        order = np.argsort(mentions.sentence, kind="stable")
        return mentions.take(order)

    def __len__(self) -> int:
        return len(self.sentence)

    @property
    def length(self) -> Ints:
        """`end - start` of each mention."""
        return ints(self.end - self.start)

    @property
    def placed(self) -> Bools:
        """Which mentions could be placed on the gold text."""
        return np.asarray(self.start >= 0)

    def names(self) -> list[str]:
        """The label of each mention as a string."""
        return [self.labels[code] for code in self.label.tolist()]

    def rows(self) -> list[tuple[int, int, int, str]]:
        """The mentions as (sentence, start, end, label)."""
        return list(
            zip(
                self.sentence.tolist(),
                self.start.tolist(),
                self.end.tolist(),
                self.names(),
                strict=True,
            )
        )

    def pieces(self) -> list[Pieces]:
        """The pieces of each mention; a mention without gaps has one."""
        if self.parts is None:
            borders = zip(self.start.tolist(), self.end.tolist(), strict=True)
            return [((start, end),) for start, end in borders]
        spans = list(zip(self.parts.start.tolist(), self.parts.end.tolist(), strict=True))
        return [tuple(spans[first:last]) for first, last in pairwise(self.parts.at.tolist())]

    def take(self, which: Column | Sequence[int] | slice) -> Mentions:
        """The mentions selected by a mask or by row numbers, which must keep sentences in order."""
        rows = np.arange(len(self))[which]
        parts = self.parts
        if parts is not None:
            sizes = np.diff(parts.at)[rows]
            source = run_positions(parts.at[:-1][rows], sizes)
            parts = Parts(offsets(sizes), ints(parts.start[source]), ints(parts.end[source]))
        return Mentions(
            sentence=self.sentence[rows],
            start=self.start[rows],
            end=self.end[rows],
            label=self.label[rows],
            labels=self.labels,
            parts=parts,
            fields={name: frozen(column[rows]) for name, column in self.fields.items()},
            score=None if self.score is None else floats(self.score[rows]),
        )

    def within(self, which: Ints | slice, sentences: int) -> Mentions:
        """The mentions of some of the `sentences`, which are numbered from 0 in the given order."""
        if isinstance(which, slice):
            begin, end, _ = which.indices(sentences)
            taken = self.take(slice(*np.searchsorted(self.sentence, [begin, end]).tolist()))
            return replace(taken, sentence=ints(taken.sentence - begin))
        new = np.full(sentences, -1, dtype=np.int64)
        new[which] = np.arange(len(which))
        inside = np.flatnonzero(new[self.sentence] >= 0)
        taken = self.take(inside[np.argsort(new[self.sentence[inside]], kind="stable")])
        return replace(taken, sentence=ints(new[taken.sentence]))

    def relabeled(self, labels: Sequence[str]) -> Mentions:
        """A copy with codes from another list of labels, which must contain every label in use."""
        if tuple(labels) == tuple(self.labels):
            return self
        code = {name: number for number, name in enumerate(labels)}
        used = np.bincount(self.label, minlength=len(self.labels)) > 0
        table = np.array(
            [code[name] if use else -1 for name, use in zip(self.labels, used, strict=True)], np.int32
        )
        return replace(self, label=table[self.label], labels=tuple(labels))

    @cached_property
    def repeated(self) -> Bools:
        """Which mentions repeat an earlier one: same sentence, span (and pieces) and label."""
        columns = [self.sentence, self.start, self.end, self.label.astype(np.int64)]
        repeated = np.zeros(len(self), dtype=bool)
        if _all_differ(columns):
            return repeated
        if self.parts is not None:
            shapes: dict[Pieces, int] = {}
            columns.append(ints([shapes.setdefault(pieces, len(shapes)) for pieces in self.pieces()]))
        order = np.lexsort((np.arange(len(self)), *reversed(columns)))
        same = np.ones(max(len(self) - 1, 0), dtype=bool)
        for column in columns:
            same &= column[order][1:] == column[order][:-1]
        repeated[order[1:]] = same & (self.start[order][1:] >= 0)
        return repeated

    def sole(
        self, *, duplicates: Literal["error", "drop"], place: Callable[[int], str] | None = None
    ) -> Mentions:
        """The mentions without duplicates; with "error", raise for the first one, located by `place(row)`."""
        if not self.repeated.any():
            return self
        if duplicates == "drop":
            return self.take(~self.repeated)
        row = int(self.repeated.argmax())
        sentence, start, end, label = self.rows()[row]
        where = f"sentence {sentence + 1}" if place is None else place(row)
        raise InputError(
            f"{where}: the mention {label} [{start}, {end}) occurs twice in one sentence.\n"
            'Remove one of them, or pass duplicates="drop".'
        )


def _all_differ(columns: Sequence[Ints]) -> bool:
    """Whether a fast check shows that no two rows are equal.

    The check packs each row into one integer; it gives up, with False, if that would overflow.
    """
    key, combinations = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        combinations *= width
        if combinations >= 2**62:
            return False
        key = key * width + (column - low)
    if (key[1:] > key[:-1]).all():  # already sorted, as in most files
        return True
    key = np.sort(key, kind="stable")  # fast on nearly sorted keys, as in most files
    return bool((key[1:] != key[:-1]).all())


def with_one_labelling(mentions: Sequence[Mentions]) -> list[Mentions]:
    """Copies of the mentions that share one sorted list of all labels in use."""
    used: set[str] = set()
    for side in mentions:
        present = np.flatnonzero(np.bincount(side.label, minlength=len(side.labels)))
        used.update(side.labels[code] for code in present.tolist())
    names = tuple(sorted(used))
    return [side.relabeled(names) for side in mentions]


def joined_mentions(some: Sequence[Mentions], sentences: Sequence[int] | Ints) -> Mentions:
    """Join the mentions of consecutive parts; `sentences` is the number of each part's first sentence.

    Examples:
        >>> parts = [Mentions.of([(0, 1, 3, "PER")]), Mentions.of([(0, 0, 1, "LOC")])]
        >>> joined_mentions(parts, [0, 4]).rows()
        [(0, 1, 3, 'PER'), (4, 0, 1, 'LOC')]
    """
    some = with_one_labelling(some)
    parts = None
    if any(part.parts is not None for part in some):
        pieces = [part.parts or Parts(ints(np.arange(len(part) + 1)), part.start, part.end) for part in some]
        parts = Parts(
            offsets(np.concatenate([np.diff(part.at) for part in pieces])),
            ints(np.concatenate([part.start for part in pieces])),
            ints(np.concatenate([part.end for part in pieces])),
        )
    shifted = [part.sentence + first for part, first in zip(some, sentences, strict=True)]
    return Mentions(
        sentence=ints(np.concatenate(shifted)),
        start=ints(np.concatenate([part.start for part in some])),
        end=ints(np.concatenate([part.end for part in some])),
        label=np.concatenate([part.label for part in some]),
        labels=some[0].labels,
        parts=parts,
        score=_joined_scores(some),
    )


def _joined_scores(some: Sequence[Mentions]) -> Floats | None:
    """The scores of consecutive mentions, NaN where a part has none; None if no part has any."""
    if all(part.score is None for part in some):
        return None
    return floats(np.concatenate([np.full(len(p), np.nan) if p.score is None else p.score for p in some]))


class Reading(Struct, frozen=True, eq=False):
    """What was recognised in a file, and what was repaired while reading it."""

    path: str = "<memory>"
    sha256: str | None = None
    format: str = "memory"
    scheme: str | None = None
    evidence: str = ""  # why this format and scheme were recognised, in words
    repair: str | None = None
    repairs: int = 0
    notes: tuple[str, ...] = ()  # for the user, such as about labels that differ by a no-break space
    left_out: tuple[str, ...] = ()  # those of the notes that name what the source holds and was not read
    tags_fit: tuple[str, ...] = ()  # the schemes in which no tag is impossible
    paired: str | None = None  # of predictions: how their sentences were paired with those of gold
    labels: tuple[str, ...] | None = None  # as read, if labels were mapped or left out
    merged: int = 0  # mentions that became equal when labels were mapped
    dropped: int = 0  # mentions whose labels were left out
    relabeled_by: str | None = None  # identifies the rules that mapped the labels

    def counted(self, number: int) -> int | UnsetType:
        """The number of merged or dropped mentions for a document; none if there were no rules on labels."""
        return UNSET if self.labels is None else number

    def joined(self, others: Iterable[Reading]) -> Reading:
        """How a source was read of which this is the first part, with counts added up over the others."""
        parts = (self, *others)
        read = {name for part in parts for name in part.labels or ()}
        return replace(
            self,
            repairs=sum(part.repairs for part in parts),
            merged=sum(part.merged for part in parts),
            dropped=sum(part.dropped for part in parts),
            labels=None if self.labels is None else tuple(sorted(read)),
        )

    def without_counts(self) -> Reading:
        """How a later part of a source was read; only the first part carries the counts of the whole."""
        return replace(self, repairs=0, merged=0, dropped=0)


class Annotation(Struct, frozen=True, eq=False):
    """One annotation of one text: the corpus, its mentions and how both were read.

    Examples:
        >>> import spanwise
        >>> annotation = spanwise.read([["B-PER", "I-PER", "O"]], tokens=[["Ann", "Lee", "sings"]])
        >>> annotation.corpus.vocabulary, len(annotation.mentions.start)
        (('Ann', 'Lee', 'sings'), 1)
    """

    corpus: Corpus
    mentions: Mentions
    reading: Reading = Reading()

    @property
    def labels_as_read(self) -> Sequence[str]:
        """The labels of the source, before any were mapped or left out."""
        return self.mentions.labels if self.reading.labels is None else self.reading.labels

    def take(self, which: Ints | slice) -> Annotation:
        """Some sentences in the given order, with their mentions.

        Examples:
            >>> mentions = Mentions.of([(0, 0, 1, "X"), (1, 1, 2, "Y")])
            >>> one = Annotation(Corpus.of([["a"], ["b", "c"]]), mentions)
            >>> two = one.take(ints([1, 0]))
            >>> two.corpus.words(0), two.mentions.rows()
            (['b', 'c'], [(0, 1, 2, 'Y'), (1, 0, 1, 'X')])
        """
        return replace(
            self, corpus=self.corpus.take(which), mentions=self.mentions.within(which, len(self.corpus))
        )

    def __repr__(self) -> str:
        # Printing the columns would flood a notebook; the sizes are what people look for.
        return (
            f"<spanwise.Annotation {self.reading.path}: {len(self.corpus):,} sentences, "
            f"{len(self.mentions):,} mentions>"
        )
