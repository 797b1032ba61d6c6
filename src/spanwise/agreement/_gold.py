"""Majority gold and the adjudication worksheet: written, filled in by people, and applied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from spanwise.agreement._majority import Votes
from spanwise.agreement._shared import Shared
from spanwise.columns import Bools, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Reading
from spanwise.errors import InputError
from spanwise.formats import read_sheet
from spanwise.spreadsheet import to_csv

COLUMNS = (
    "document", "sentence", "start", "end", "label", "text", "votes", "annotators", "marked_by", "majority",
    "decision", "context",
)  # fmt: skip
DECISIONS = {"yes": True, "y": True, "accept": True, "no": False, "n": False, "reject": False}

Row = tuple[int, int, int, str]  # sentence, start, end, label


def worksheet(ground: Shared, votes: Votes, *, redact: bool = False) -> str:
    """One row per mention that some annotators of its document marked and others did not.

    The column `decision` is left empty for `yes` or `no`. Ties come first, since votes cannot settle them.
    With `redact` the columns of text are empty.
    """
    n, distinct = len(ground.annotators), ground.distinct
    disputed = (votes.voters >= 2) & (votes.votes > 0) & (votes.votes < votes.voters)
    rows = np.flatnonzero(disputed)
    rows = rows[np.argsort(~votes.tied[rows], kind="stable")]
    lines: list[tuple[object, ...]] = [COLUMNS]
    for row in rows.tolist():
        sentence, start, end = (
            int(column[row]) for column in (distinct.sentence, distinct.start, distinct.end)
        )
        document = int(ground.document[sentence])
        lines.append(
            (
                ground.documents[document],
                sentence + 1,
                start,
                end,
                ground.labels[int(distinct.label[row])],
                "" if redact else text_of(ground, sentence, start, end),
                int(votes.votes[row]),
                int(votes.voters[row]),
                " ".join(name for i, name in enumerate(ground.annotators[:n]) if distinct.by[i, row]),
                "tie" if votes.tied[row] else "yes" if votes.accepted[row] else "no",
                "",
                "" if redact else text_of(ground, sentence, 0, None),
            )
        )
    return to_csv(lines)


def text_of(ground: Shared, sentence: int, start: int, end: int | None) -> str:
    """The words or characters of a stretch of a sentence."""
    corpus = ground.corpus
    if corpus.without_text:
        return ""
    if corpus.texts is not None:
        return corpus.texts[sentence][start:end]
    return " ".join(corpus.words(sentence)[start:end])


def read_decisions(path: str | Path, ground: Shared) -> dict[Row, bool]:
    """The decided rows of a worksheet that was filled in; rows without a decision are left out.

    A row that people added needs sentence, start, end, label and decision.
    """
    decided: dict[Row, bool] = {}
    advice = "Give a worksheet that --worksheet wrote, with the column 'decision' filled in."
    for where, line in read_sheet(path, ("decision", "end", "label", "sentence", "start"), advice):
        answer = line["decision"].strip().lower()
        if not answer:
            continue
        if answer not in DECISIONS:
            raise InputError(f"{where}: the decision {line['decision']!r} is unknown.\nWrite yes or no.")
        decided[_row(line, where, ground)] = DECISIONS[answer]
    return decided


def _row(line: Mapping[str, str], where: str, ground: Shared) -> Row:
    try:
        sentence, start, end = int(line["sentence"]) - 1, int(line["start"]), int(line["end"])
    except (TypeError, ValueError):
        raise InputError(f"{where}: sentence, start and end must be whole numbers.") from None
    if not 0 <= sentence < len(ground.corpus):
        raise InputError(
            f"{where}: there is no sentence {sentence + 1}; the files have {len(ground.corpus):,}.\n"
            "Give the files that the worksheet was made of."
        )
    size = int(ground.corpus.lengths[sentence])
    if ground.corpus.texts is not None:
        size = len(ground.corpus.texts[sentence])
    if not 0 <= start < end or (end > size and not ground.corpus.without_text):
        raise InputError(
            f"{where}: the mention [{start}, {end}) is not inside sentence {sentence + 1}.\n"
            "Positions are half-open and count from 0."
        )
    label = line["label"].removeprefix("'") if line["label"].startswith("'") else line["label"]
    if not label:
        raise InputError(f"{where}: the label is empty.\nWrite the label of the mention.")
    return sentence, start, end, label


def majority(ground: Shared, votes: Votes, decisions: Mapping[Row, bool]) -> Annotation:
    """The accepted mentions of the documents that two annotators or more have, decisions applied."""
    distinct = ground.distinct
    accepted = votes.accepted.copy()
    added: list[Row] = []
    known = _by_row(ground) if decisions else {}
    for row, answer in decisions.items():
        if row in known:
            accepted[known[row]] = answer
        elif answer:
            added.append(row)
    kept = ground.present.sum(axis=0) >= 2
    sentence_kept = kept[ground.document]
    rows = np.flatnonzero(accepted & sentence_kept[distinct.sentence])
    names = tuple(sorted({*ground.labels, *(row[3] for row in added)}))
    listed = [
        (int(distinct.sentence[row]), int(distinct.start[row]), int(distinct.end[row]),
         ground.labels[int(distinct.label[row])], int(distinct.shape[row]))
        for row in rows.tolist()
    ] + [(*row, 0) for row in added if sentence_kept[row[0]]]  # fmt: skip
    listed.sort()
    place = np.cumsum(sentence_kept) - 1
    mentions = Mentions.of([(int(place[row[0]]), *row[1:4]) for row in listed], labels=names)
    if any(row[4] for row in listed):
        pieces = [distinct.pieces[row[4] - 1] if row[4] else ((row[1], row[2]),) for row in listed]
        mentions = replace(mentions, parts=Parts.of(pieces))
    return Annotation(_kept(ground, kept, sentence_kept), mentions, Reading(path="<majority>"))


def _by_row(ground: Shared) -> dict[Row, int]:
    distinct = ground.distinct
    names = [ground.labels[code] for code in distinct.label.tolist()]
    columns = (distinct.sentence.tolist(), distinct.start.tolist(), distinct.end.tolist(), names)
    return {row: number for number, row in enumerate(zip(*columns, strict=True))}


def _kept(ground: Shared, documents: Bools, sentences: Bools) -> Corpus:
    """The corpus without the documents that one annotator alone has."""
    corpus = ground.corpus
    if sentences.all():
        return corpus
    tokens = np.repeat(sentences, corpus.lengths)
    sizes = np.bincount(ground.document, minlength=len(ground.documents))[documents]
    return replace(
        corpus,
        tokens=corpus.tokens[tokens],
        sentences=offsets(corpus.lengths[sentences]),
        documents=offsets(sizes),
        texts=None
        if corpus.texts is None
        else tuple(text for text, keep in zip(corpus.texts, sentences, strict=True) if keep),
        token_start=None if corpus.token_start is None else ints(corpus.token_start[tokens]),
        token_end=None if corpus.token_end is None else ints(corpus.token_end[tokens]),
        ids=None,
        document_ids=None,
        columns={},
        fields={},
    )
