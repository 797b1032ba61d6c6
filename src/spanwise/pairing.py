"""Pair the sentences of predictions with those of gold: by their ids, by their documents, or in order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import ints
from spanwise.corpus import Annotation, Corpus
from spanwise.errors import InputError, at

PairedBy = Literal["by id", "by document", "by text", "in order"]


class Paired(Struct, frozen=True, eq=False):
    """Predictions whose sentences are in the order of gold, and how the two were paired.

    If their ids differ from those of gold, only equal texts can show that they belong together:
    `unlike` is the error message if the texts differ.
    """

    predicted: Annotation
    how: PairedBy
    unlike: str | None = None


def pair(gold: Corpus, predicted: Annotation, *, align: str, parts: bool = False) -> Paired:
    """Bring the sentences of predictions into the order of gold, if both sides name them.

    Sentences are named by their ids or, if these repeat in gold, by document and id. If one side has no
    ids, documents are paired by their names, and the sentences of a document in order. Without text, the
    sides are also named by another field with a different value in each record, if most of the values are the
    same on both sides. If both sides only
    count their sentences, one from 0 and the other from 1, the order decides; so it does for counts from
    any other start if texts show that the sentences belong together. Otherwise a name that has no
    partner, or that occurs twice, is refused.

    Args:
        align: how the texts are aligned afterwards: "characters" and "diff" find their own pairs.
        parts: whether these are parts of longer files, which were cut at the same sentences.
    """
    texts = not gold.without_text and not predicted.corpus.without_text and align != "position"
    if not texts:
        gold, predicted = _named_by_key(gold, predicted, parts=parts)
    names = _names(gold, predicted.corpus)
    if names is None:
        unlike = _unlike_ids(gold, predicted.corpus)
        if unlike is not None and not texts:
            raise InputError(unlike)
        return Paired(predicted, "in order", unlike)
    by_text = align in ("characters", "diff")
    if names.gold == names.predicted:
        if names.how == "by document" or len({*names.gold}) == len(names.gold):
            return Paired(predicted, names.how)
        if not texts:
            raise InputError(_repeated(predicted.corpus, names))
        # Names that repeat do not tell these sentences apart; their texts are compared afterwards.
        return Paired(predicted, "by text" if by_text else "in order")
    if names.running and not parts and (texts or names.from_0_and_1):
        return Paired(predicted, "in order")
    if len(gold) != len(predicted.corpus):
        # Sentence boundaries differ, or sentences are missing: aligning the texts finds out.
        return Paired(predicted, "by text" if by_text else "in order")
    sides = (gold, predicted.corpus)
    if names.how == "by document":
        _refuse_scattered(sides, names)
        names = names.numbered()
    where = {name: sentence for sentence, name in enumerate(names.predicted)}
    known = {*names.gold}
    if known == where.keys() and len(where) == len(names.predicted):  # none of them twice
        return Paired(predicted.take(ints([where[name] for name in names.gold])), names.how)
    unlike = _unlike(sides, names, known, parts=parts)
    if texts and known.isdisjoint(where) and not (parts and align == "diff"):
        return Paired(predicted, "by text", unlike)  # other names for what may be the same texts
    raise InputError(unlike)


def _named_by_key(gold: Corpus, predicted: Annotation, *, parts: bool) -> tuple[Corpus, Annotation]:
    """Both sides with the values of a shared field as ids, if one of them has no ids and such a field exists.

    Most of its values are on both sides; of parts of files in other orders, which are refused, some texts.

    Raises:
        InputError: Two fields put the sentences in different orders.
    """
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    other = predicted.corpus
    own, theirs = _given(gold.ids), _given(other.ids)
    if own and theirs:
        return gold, predicted
    mine = dict.fromkeys(other.keys, own) if own else gold.keys
    its = dict.fromkeys(gold.keys, theirs) if theirs else other.keys
    for key in [key for key in mine if key in its]:
        pair = tuple(mine[key] or ()), tuple(its[key] or ())
        both = {*pair[0]} & {*pair[1]}
        enough = 2 * len(both) > max(map(len, pair)) or (parts and not all(map(str.isdecimal, both)))
        if enough and not all(map(_counts, pair)):
            found[key] = pair
    if not found:
        return gold, predicted
    key, (names, others) = next(iter(found.items()))
    order = {name: at for at, name in enumerate(names)}
    for another, (more, yet_others) in found.items():
        where = {name: at for at, name in enumerate(more)}
        for sentence, (one, two) in enumerate(zip(others, yet_others, strict=True)):
            if order.get(one) != where.get(two):
                raise InputError(
                    at(_place(other, sentence), None, f"{key!r} and {another!r} name different sentences of "
                       f"the gold file ({gold.source.path}).\nGive each sentence an 'id' in both files.")
                )  # fmt: skip
    note = f"sentences are paired by {key!r}, which names them in both files"
    reading = replace(predicted.reading, notes=(*predicted.reading.notes, note))
    return replace(gold, ids=names), replace(predicted, corpus=replace(other, ids=others), reading=reading)


def missing_names(gold: Corpus, predicted: Corpus) -> str | None:
    """A sentence about the documents or ids that one side lacks, if both sides name them."""
    named = {
        "document": (_given(gold.document_ids), _given(predicted.document_ids)),
        "id": (_given(gold.ids), _given(predicted.ids)),
    }
    for what, (theirs, own) in named.items():
        if theirs is None or own is None:
            continue
        for names, rest, where in (
            (theirs, {*own}, "missing here"),
            (own, {*theirs}, "not in the gold file"),
        ):
            lacking = [name for name in names if name not in rest]
            if lacking:
                more = f", and so are {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
                return f"The {what} {lacking[0]!r} is {where}{more}."
    return None


def sentence_names(corpus: Corpus) -> list[tuple[str, ...]] | None:
    """The id of each sentence, after the name of its document if there is one; None if an id is missing."""
    ids, documents = _given(corpus.ids), _documents(corpus)
    if ids is None or (corpus.documents is not None and documents is None):
        return None
    return [(name,) for name in ids] if documents is None else list(zip(documents, ids, strict=True))


class _Names(Struct, frozen=True, eq=False):
    """The name of each sentence on both sides, and what they are the names of."""

    gold: Sequence[Hashable]
    predicted: Sequence[Hashable]
    how: PairedBy
    running: bool  # whether both sides only count their sentences

    @property
    def from_0_and_1(self) -> bool:
        """Whether one side counts its sentences from 0 and the other from 1."""
        return {self.gold[0], self.predicted[0]} == {"0", "1"}

    def numbered(self) -> _Names:
        """The same with the number of each sentence in its document."""
        return replace(self, gold=_numbered(self.gold), predicted=_numbered(self.predicted))


def _names(gold: Corpus, predicted: Corpus) -> _Names | None:
    """The names of sentences, by their ids if both sides have them, else by their documents."""
    ids = [_given(corpus.ids) for corpus in (gold, predicted)]
    documents = [_documents(corpus) for corpus in (gold, predicted)]
    how: PairedBy = "by id" if all(ids) else "by document"
    mine, other = ids if all(ids) else documents
    if mine is None or other is None:
        return None
    running = _counts(mine) and _counts(other)
    if all(ids) and all(documents) and len({*mine}) < len(mine):
        # The ids number the sentences of each document.
        pairs = [
            tuple(zip(names or (), own or (), strict=True)) for names, own in zip(documents, ids, strict=True)
        ]
        return _Names(pairs[0], pairs[1], how, running=False)
    return _Names(mine, other, how, running)


def _unlike_ids(gold: Corpus, predicted: Corpus) -> str | None:
    """The error message for an id at two places, in files where only some sentences have ids."""
    mine, other = gold.ids, predicted.ids
    if not isinstance(mine, tuple) or not isinstance(other, tuple) or len(mine) != len(other):
        return None
    where = {name: sentence for sentence, name in enumerate(mine)}
    differs = (
        at for at, (a, b) in enumerate(zip(mine, other, strict=True)) if b and a != b and (a or b in where)
    )
    sentence = next(differs, None)
    if sentence is None:
        return None
    if mine[sentence]:
        theirs = f"but {mine[sentence]!r} in the gold file"
    else:
        theirs = f"which is that of sentence {where[other[sentence]] + 1} in the gold file"
    return at(
        _place(predicted, sentence),
        None,
        f"the id is {other[sentence]!r}, {theirs} ({gold.source.path}), "
        "and some sentences have no id.\nGive each sentence an id, or leave all of them out.",
    )


def _given(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names, if the data give all of them; parts of files number what has no name."""
    return names if isinstance(names, tuple) and names and all(names) else None


def _documents(corpus: Corpus) -> tuple[str, ...] | None:
    """The name of the document of each sentence, if the data name all documents."""
    names, owner = _given(corpus.document_ids), corpus.document_of_sentence
    return None if names is None or owner is None else tuple(names[number] for number in owner.tolist())


def _counts(names: Sequence[str]) -> bool:
    """Whether names are consecutive whole numbers, each the next of the one before."""
    first, last = names[0], names[-1]
    if len(names) < 2 or not (first.isdecimal() and first.isascii() and last.isdecimal() and last.isascii()):
        return False
    if len(last) > 18 or int(last) - int(first) != len(names) - 1:
        return False
    return all(name == str(number) for number, name in enumerate(names, start=int(first)))


def _numbered(names: Sequence[Hashable]) -> list[Hashable]:
    """Each name with the number of its earlier occurrences."""
    seen: dict[Hashable, int] = {}
    numbered: list[Hashable] = []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        numbered.append((name, seen[name]))
    return numbered


def _refuse_scattered(sides: tuple[Corpus, Corpus], names: _Names) -> None:
    """Refuse a document whose sentences are in several places, as their order is then unknown."""
    for corpus, listed in zip(sides, (names.gold, names.predicted), strict=True):
        begins = [0, *(at for at, (a, b) in enumerate(pairwise(listed), start=1) if a != b)]
        seen: dict[Hashable, int] = {}
        for sentence in begins:
            if (first := seen.setdefault(listed[sentence], sentence)) != sentence:
                raise InputError(_twice(corpus, "document", listed[sentence], first, sentence))


def _unlike(sides: tuple[Corpus, Corpus], names: _Names, known: set[Hashable], *, parts: bool) -> str:
    """The error message for the first name that occurs twice or has no partner."""
    what = "document" if names.how == "by document" else "id"
    for corpus, listed in zip(reversed(sides), (names.predicted, names.gold), strict=True):
        if len({*listed}) < len(listed):
            return _repeated(corpus, replace(names, predicted=listed))
    gold, predicted = sides
    sentence = next(number for number, name in enumerate(names.predicted) if name not in known)
    if parts:
        advice = (
            "Files that are read in parts are paired in order: sort this one like the gold file, "
            "or leave memory out."
        )
    else:
        advice = f"Give predictions under the {what}s of gold; without any, they are paired in order."
    return at(
        _place(predicted, sentence),
        None,
        f"the {what} {_shown(names.predicted[sentence], names)} has no partner in the gold file "
        f"({gold.source.path}).\n{advice}",
    )


def _shown(name: Hashable, names: _Names) -> str:
    """A name in a message: that of a document without the number of the sentence, of an id as it is."""
    if not isinstance(name, tuple):
        return repr(name)
    return repr(name[0]) if names.how == "by document" else f"{name[1]!r} of document {name[0]!r}"


def _repeated(corpus: Corpus, names: _Names) -> str:
    """The error message for the first of the predicted names that occurs twice."""
    seen: dict[Hashable, int] = {}
    for sentence, name in enumerate(names.predicted):
        if (first := seen.setdefault(name, sentence)) != sentence:
            break
    return _twice(corpus, "document" if names.how == "by document" else "id", name, first, sentence)


def _twice(corpus: Corpus, what: str, name: Hashable, first: int, second: int) -> str:
    shown = f"{name[1]!r} of document {name[0]!r}" if isinstance(name, tuple) else repr(name)
    advice = "Give each sentence its own" if what == "id" else "Put the sentences of each document together"
    return at(
        _place(corpus, second),
        None,
        f"the {what} {shown} occurs twice, first for sentence {first + 1}, then for sentence "
        f"{second + 1}.\n{advice}, so that predictions can be paired with gold.",
    )


def _place(corpus: Corpus, sentence: int) -> str:
    """The file and line of a sentence, if the lines are known."""
    line = corpus.source.line(sentence, first_token=int(corpus.sentences[sentence]))
    return corpus.source.path if line is None else f"{corpus.source.path}:{line}"
