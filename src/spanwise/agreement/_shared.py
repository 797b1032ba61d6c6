"""What annotators give, and the documents that they share."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Ints, codes, ints, offsets, run_positions
from spanwise.corpus import (
    Annotation,
    Corpus,
    Mentions,
    Parts,
    with_one_labelling,
    with_one_vocabulary,
)
from spanwise.errors import ChoiceError, InputError, many
from spanwise.formats import PACKED, is_source, read, read_annotators, stem_of
from spanwise.formats._format import ReadKeywords
from spanwise.matching import DistinctMentions, distinct_mentions


class Shared(Struct, frozen=True, eq=False):
    """Everybody's mentions on one corpus, which holds every document that an annotator has.

    `present[i, d]` says whether annotator `i` has document `d`; `systems` are kept apart, with
    `system_present`. All mentions have their label codes from one list.
    """

    corpus: Corpus
    documents: tuple[str, ...]
    document: Ints  # of each sentence
    annotators: tuple[str, ...]
    present: Bools
    mentions: tuple[Mentions, ...]
    systems: tuple[str, ...]
    system_present: Bools
    system_mentions: tuple[Mentions, ...]
    marked: bool  # whether the data mark documents
    distinct: DistinctMentions

    @property
    def labels(self) -> tuple[str, ...]:
        """The names behind label codes."""
        return tuple(self.mentions[0].labels)


def redacted(ground: Shared) -> Shared:
    """The same ground with numbers for the names of documents."""
    names = tuple(f"document {number}" for number in range(1, len(ground.documents) + 1))
    return replace(ground, documents=names)


Key = tuple[object, int]


def shared(annotators: Mapping[str, Annotation], systems: Mapping[str, Annotation]) -> Shared:
    """Put all annotations on one ground.

    Documents go by their names where all files name them, else by their text. Without marks of documents a
    file is one document where all files hold the same sentences; otherwise each sentence is one, known by
    its id or its text.

    Raises:
        ChoiceError: there are fewer than two annotators.
        InputError: no two annotators share a document, or a shared document has different texts.
    """
    if len(annotators) < 2:
        raise ChoiceError("agreement needs two annotators or more.\nGive a file for each of them.")
    parties = {**annotators, **systems}
    units = {one.corpus.unit for one in parties.values()}
    if len(units) > 1:
        tokens = next(one for one in parties.values() if one.corpus.unit == "token")
        texts = next(one for one in parties.values() if one.corpus.unit == "character")
        raise InputError(
            f"{texts.reading.path}: the mentions count characters, but tokens in {tokens.reading.path}.\n"
            "Convert one of them with 'spanwise convert'."
        )
    corpora = with_one_vocabulary([one.corpus for one in parties.values()])
    keys, names, marked = _keys(corpora)
    known: dict[Key, int] = {}
    holder: list[tuple[int, int]] = []  # party and place among its documents
    for party in range(len(annotators)):
        for place, key in enumerate(keys[party]):
            if key not in known:
                known[key] = len(known)
                holder.append((party, place))
    starts = [_starts(corpus, len(own)) for corpus, own in zip(corpora, keys, strict=True)]
    corpus = _ground(corpora, starts, holder)
    document_names = tuple(names[party][place] for party, place in holder)
    sizes = [int(starts[party][place + 1] - starts[party][place]) for party, place in holder]
    first = offsets(sizes)
    present = np.zeros((len(parties), len(known)), dtype=bool)
    placed = []
    for party, (one, own) in enumerate(zip(parties.values(), keys, strict=True)):
        documents = ints([known.get(key, -1) for key in own])
        present[party, documents[documents >= 0]] = True
        mentions = _placed(one, corpora[party], starts[party], documents, first, corpus)
        placed.append(mentions)
    n = len(annotators)
    if not (present[:n].sum(axis=0) >= 2).any():
        raise InputError(
            f"no two of the {many(n, 'annotator')} have a document in common.\n"
            "Give files over the same texts; documents go by their names, or else by their text."
        )
    placed = with_one_labelling(placed)
    return Shared(
        corpus=corpus,
        documents=_told_apart(document_names),
        document=ints(np.repeat(np.arange(len(sizes)), sizes)),
        annotators=tuple(annotators),
        present=present[:n],
        mentions=tuple(placed[:n]),
        systems=tuple(systems),
        system_present=present[n:],
        system_mentions=tuple(placed[n:]),
        marked=marked,
        distinct=distinct_mentions(placed),
    )


def _keys(corpora: Sequence[Corpus]) -> tuple[list[list[Key]], list[list[str]], bool]:
    """By party: what its documents are known by, and what they are called; and whether data mark them."""
    if all(corpus.document_ids and all(corpus.document_ids) for corpus in corpora):
        ids = [list(map(str, corpus.document_ids or ())) for corpus in corpora]
        return [_counted(own) for own in ids], ids, True
    if all(corpus.documents is not None for corpus in corpora):
        contents = [_contents(corpus, _starts(corpus, None)) for corpus in corpora]
        numbers = [[str(number) for number in range(1, len(own) + 1)] for own in contents]
        return contents, numbers, True
    if all(corpus.unit == "character" and corpus.ids is not None for corpus in corpora):
        ids = [list(map(str, corpus.ids or ())) for corpus in corpora]
        return [_counted(own) for own in ids], ids, True
    if all(_same_text(corpora[0], corpus) for corpus in corpora):
        return [[("whole", 0)] for _ in corpora], [["1"] for _ in corpora], False
    if all(corpus.without_text for corpus in corpora):
        raise InputError(
            f"{corpora[-1].source.path}: the files hold no text, and different numbers of sentences.\n"
            "Give files with text, or with the same sentences."
        )
    if all(corpus.ids is not None for corpus in corpora):
        ids = [list(map(str, corpus.ids or ())) for corpus in corpora]
        return [_counted(own) for own in ids], ids, False
    contents = [_contents(corpus, np.arange(len(corpus) + 1)) for corpus in corpora]
    numbers = [[str(number) for number in range(1, len(own) + 1)] for own in contents]
    return contents, numbers, False


def _counted(values: Sequence[object]) -> list[Key]:
    """Each value with how often it stood before, so that repeated texts stay apart."""
    seen: Counter[object] = Counter()
    result = []
    for value in values:
        result.append((value, seen[value]))
        seen[value] += 1
    return result


def _starts(corpus: Corpus, documents: int | None) -> Ints:
    """The first sentence of each document, and the end; where nothing marks them, as many as were found."""
    if corpus.documents is not None and documents in (None, len(corpus.documents) - 1):
        return corpus.documents
    return ints([0, len(corpus)]) if documents == 1 else ints(np.arange(len(corpus) + 1))


def _contents(corpus: Corpus, starts: Ints) -> list[Key]:
    """The text of each document as bytes of codes of the common vocabulary, sentences kept apart."""
    texts: list[object] = []
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if corpus.texts is not None:
            texts.append(tuple(corpus.texts[begin:end]))
        else:
            tokens = corpus.tokens[corpus.sentences[begin] : corpus.sentences[end]]
            texts.append((tokens.tobytes(), corpus.lengths[begin:end].tobytes()))
    return _counted(texts)


def _same_text(one: Corpus, other: Corpus) -> bool:
    if one.texts is not None and other.texts is not None:
        return tuple(one.texts) == tuple(other.texts)
    return np.array_equal(one.sentences, other.sentences) and np.array_equal(one.tokens, other.tokens)


def _ground(corpora: Sequence[Corpus], starts: Sequence[Ints], holder: Sequence[tuple[int, int]]) -> Corpus:
    """One corpus with every document of `holder`, (party, place) each."""
    parties = {party for party, _ in holder}
    whole = corpora[0]
    sizes = [starts[party][place + 1] - starts[party][place] for party, place in holder]
    if parties == {0} and len(holder) == len(starts[0]) - 1:
        return replace(whole, documents=starts[0] if len(holder) > 1 else whole.documents)
    # Pieces of several files: what one file alone can say (lines, columns) is left behind.
    sentences = [range(int(starts[party][place]), int(starts[party][place + 1])) for party, place in holder]
    pairs = [(party, sentence) for (party, _), own in zip(holder, sentences, strict=True) for sentence in own]
    spans = [
        slice(int(corpora[party].sentences[sentence]), int(corpora[party].sentences[sentence + 1]))
        for party, sentence in pairs
    ]
    chosen = [(corpora[party], span) for (party, _), span in zip(pairs, spans, strict=True)]
    by_characters = whole.unit == "character"
    return Corpus(
        tokens=np.concatenate([corpus.tokens[span] for corpus, span in chosen] or [whole.tokens[:0]]),
        vocabulary=whole.vocabulary,
        sentences=offsets([span.stop - span.start for span in spans]),
        documents=offsets(sizes),
        unit=whole.unit,
        without_text=whole.without_text,
        texts=tuple((corpora[party].texts or ())[sentence] for party, sentence in pairs)
        if by_characters
        else None,
        token_start=_joined(
            [corpus.token_start[span] for corpus, span in chosen if corpus.token_start is not None]
        )
        if by_characters
        else None,
        token_end=_joined([corpus.token_end[span] for corpus, span in chosen if corpus.token_end is not None])
        if by_characters
        else None,
    )


def _joined(columns: Sequence[Ints]) -> Ints:
    return ints(np.concatenate(columns)) if columns else ints([])


def _placed(
    one: Annotation, own: Corpus, starts: Ints, documents: Ints, first: Ints, corpus: Corpus
) -> Mentions:
    """The mentions of one party on the ground, after its text was compared with it."""
    sizes = np.diff(starts)
    kept = documents >= 0
    there = np.full(len(own), -1, dtype=np.int64)
    mine = run_positions(starts[:-1][kept], sizes[kept])
    wanted = np.diff(first)[documents[kept]]
    differs = sizes[kept] != wanted
    if differs.any():
        raise InputError(_differs(own, int(starts[:-1][kept][differs.argmax()]), corpus, None))
    there[mine] = run_positions(first[:-1][documents[kept]], sizes[kept])
    _check_text(own, mine, corpus, there[mine])
    sentence = there[one.mentions.sentence]
    chosen = np.flatnonzero(sentence >= 0)
    chosen = chosen[np.argsort(sentence[chosen], kind="stable")]
    taken = _taken(one.mentions, chosen)
    return replace(taken, sentence=sentence[chosen])


def _taken(mentions: Mentions, rows: Ints) -> Mentions:
    return mentions if np.array_equal(rows, np.arange(len(mentions))) else mentions.take(rows)


def _check_text(own: Corpus, mine: Ints, corpus: Corpus, there: Ints) -> None:
    if own.texts is not None and corpus.texts is not None:
        for here, other in zip(mine.tolist(), there.tolist(), strict=True):
            if own.texts[here] != corpus.texts[other]:
                raise InputError(_differs(own, here, corpus, other))
        return
    unequal = own.lengths[mine] != corpus.lengths[there]
    if not unequal.any():
        sizes = own.lengths[mine]
        tokens = own.tokens[run_positions(own.sentences[:-1][mine], sizes)]
        others = corpus.tokens[run_positions(corpus.sentences[:-1][there], sizes)]
        wrong = tokens != others
        if not wrong.any():
            return
        at = int(np.searchsorted(offsets(sizes), wrong.argmax(), "right")) - 1
    else:
        at = int(unequal.argmax())
    raise InputError(_differs(own, int(mine[at]), corpus, int(there[at])))


def _differs(own: Corpus, here: int, corpus: Corpus, there: int | None) -> str:
    beside = "" if there is None else f" ({corpus.place(there)})"
    return (
        f"{own.place(here)}: the text of this document differs from that of another annotator{beside}.\n"
        "Agreement needs the same text, tokenised in the same way."
    )


def _told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Names of documents, numbered where two of different texts are called the same."""
    return tuple(
        str(name) if again == 0 else f"{name} ({again + 1})" for name, again in _counted(list(names))
    )


WHO = "{annotator}"


def annotations_of(given: Any, reading: ReadKeywords, what: str = "annotator") -> dict[str, Annotation]:
    """What was given, read, by the names of the annotators.

    One path alone may hold several: a pattern with {annotator}, a folder with a folder for each of them, or a
    file in which records or columns belong to different annotators.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(name): read(source, **reading) for name, source in given.items()}
    listed = [given] if is_source(given) else list(given)
    alone = listed[0] if len(listed) == 1 and isinstance(listed[0], str | os.PathLike) else None
    if alone is not None and what == "annotator":
        several = _several(os.fspath(alone), reading)
        if several is not None:
            return several
    return {name: read(source, **reading) for name, source in _named(listed, what).items()}


def _several(path: str, reading: ReadKeywords) -> dict[str, Annotation] | None:
    if WHO in path:
        return _by_pattern(path, reading)
    if Path(path).is_dir():
        project = read_annotators(path, **reading)
        if project is not None:
            return project
        folders = [one for one in Path(path).iterdir() if one.is_dir()]
        return _by_pattern(str(Path(path) / WHO), reading) if folders else None
    return read_annotators(path, **reading) if Path(path).is_file() else None


def _by_pattern(pattern: str, reading: Mapping[str, object]) -> dict[str, Annotation]:
    """The files that fit a pattern, by annotator; `*` stands for the document, or for part of its name."""
    shape = re.compile(
        "".join(
            "(?P<who>[^/]+)" if part == WHO else "([^/]*)" if part == "*" else re.escape(part)
            for part in re.split(r"(\{annotator\}|\*)", _once(pattern))
        )
    )
    glob = Path("*".join(escape(part).replace("[*]", "*") for part in pattern.split(WHO)))
    found = sorted(Path(glob.anchor or ".").glob(str(glob.relative_to(glob.anchor))))
    files: dict[str, list[tuple[str, Path]]] = {}
    for path in found:
        match = shape.fullmatch(path.as_posix())
        if match is None or path.name.startswith("."):
            continue
        rest = [text for place, text in enumerate(match.groups()) if place != shape.groupindex["who"] - 1]
        files.setdefault(match["who"], []).append(("/".join(rest), path))
    if not files:
        raise InputError(
            f"no file fits {pattern!r}.\n{{annotator}} and * each stand for part of a file or folder name."
        )
    return {who: _of_files(own, reading) for who, own in files.items()}


def _once(pattern: str) -> str:
    if pattern.count(WHO) > 1:
        raise ChoiceError(f"{pattern!r} names {{annotator}} twice.\nName it once.")
    return Path(pattern).as_posix()


def _of_files(files: Sequence[tuple[str, Path]], reading: ReadKeywords) -> Annotation:
    """The files of one annotator, each a document; brat's folders and single files are read as they are."""
    name, path = files[0]
    if len(files) == 1 and path.is_dir() and not any(path.rglob("*.ann")):
        inside = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
        if not inside:
            raise InputError(
                f"{path}: there is no file in the folder.\nGive each annotator's files a folder."
            )
        files = [(_stem(one), one) for one in inside]
    elif not name:
        return read(path, **reading)
    return concatenated([read(one, **reading) for _, one in files], [own for own, _ in files])


def _stem(path: Path) -> str:
    return stem_of(path) if path.suffix in PACKED else path.stem


def concatenated(parts: Sequence[Annotation], names: Sequence[str]) -> Annotation:
    """Several annotations behind each other, each of them a document, or with documents of its own."""
    corpora = with_one_vocabulary([part.corpus for part in parts])
    mentions = with_one_labelling([part.mentions for part in parts])
    first = offsets([len(corpus) for corpus in corpora])
    sizes: list[int] = []
    ids: list[str] = []
    for name, corpus in zip(names, corpora, strict=True):
        inner = corpus.documents if corpus.documents is not None and len(corpus.documents) > 2 else None
        own = [len(corpus)] if inner is None else np.diff(inner).tolist()
        sizes += own
        known = corpus.document_ids or [str(number) for number in range(1, len(own) + 1)]
        ids += [name] if inner is None else [f"{name}/{one}" for one in known]
    texts = [corpus.texts for corpus in corpora]
    begins, ends = ([getattr(corpus, side) for corpus in corpora] for side in ("token_start", "token_end"))
    corpus = Corpus(
        tokens=np.concatenate([corpus.tokens for corpus in corpora]),
        vocabulary=corpora[0].vocabulary,
        sentences=offsets(np.concatenate([corpus.lengths for corpus in corpora])),
        documents=offsets(sizes),
        unit=corpora[0].unit,
        without_text=corpora[0].without_text,
        texts=None
        if any(own is None for own in texts)
        else tuple(text for own in texts for text in own or ()),
        token_start=None if any(own is None for own in begins) else ints(np.concatenate(begins)),
        token_end=None if any(own is None for own in ends) else ints(np.concatenate(ends)),
        document_ids=tuple(ids),
    )
    whole = Mentions(
        sentence=np.concatenate([own.sentence + at for own, at in zip(mentions, first[:-1], strict=True)]),
        start=np.concatenate([own.start for own in mentions]),
        end=np.concatenate([own.end for own in mentions]),
        label=codes(np.concatenate([own.label for own in mentions])),
        labels=mentions[0].labels,
    )
    if any(own.parts is not None for own in mentions):
        whole = replace(whole, parts=Parts.of([pieces for own in mentions for pieces in own.pieces()]))
    return Annotation(corpus, whole, replace(parts[0].reading, sha256=None))


def _named(sources: Sequence[Any], what: str) -> dict[str, Any]:
    """`NAME=FILE`, or a file called by its stem, or by its folder where stems are the same."""
    pairs: list[tuple[str | None, Any]] = []
    for number, source in enumerate(sources, start=1):
        if not isinstance(source, str | os.PathLike):
            pairs.append((f"{what} {number}", source))
            continue
        name, equals, path = os.fspath(source).partition("=")
        given = bool(equals and name) and not Path(source).exists()
        pairs.append((name, path) if given else (None, os.fspath(source)))
    stems = [stem_of(path) for name, path in pairs if name is None]
    result: dict[str, object] = {}
    for name, path in pairs:
        own = name
        if own is None:
            own = stem_of(path)
            if stems.count(own) > 1:
                own = Path(path).parent.name or own
        if own in result:
            raise ChoiceError(
                f"two {what}s are called {own!r}.\nName them, as in first={result[own]} second={path}."
            )
        result[own] = path
    return result
