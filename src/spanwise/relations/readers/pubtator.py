"""Relations in PubTator files, which hold between concepts: any mention of a concept is right."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from spanwise.errors import InputError, at
from spanwise.formats import File, is_position
from spanwise.formats.standoff import PASSAGE, article_text, recognise_pubtator
from spanwise.relations.readers._records import (
    Options,
    entity,
    mention,
    relation,
)
from spanwise.relations.records import FillerRecord, MentionRecord, TupleFormat, UnitRecord


class _Article(Struct):
    """An article while its lines are read."""

    name: str
    path: str
    line: int = 0
    passages: list[str] = field(default_factory=list)
    mentions: list[MentionRecord] = field(default_factory=list)
    concepts: dict[str, list[str]] = field(default_factory=dict)  # the mentions of each concept
    relations: list[tuple[int, str, str, str]] = field(default_factory=list)  # line, type and two concepts

    def record(self) -> UnitRecord:
        """The record of the article; relations are resolved once all mentions are known."""
        reach = max((given.end for given in self.mentions), default=0)
        tuples = [
            relation(type, self.filler(line, head), self.filler(line, tail))
            for line, type, head, tail in self.relations
        ]
        text = article_text(self.passages, reach)
        return UnitRecord(id=self.name, text=text, mentions=self.mentions, tuples=tuples, line=self.line)

    def filler(self, line: int, concept: str) -> str | FillerRecord:
        """The mentions of a concept, which may be written with its kind, as in Gene|8622."""
        for name in (concept, concept.partition("|")[2], concept.partition("@")[2]):
            if name in self.concepts:
                return entity(self.concepts[name])
        raise InputError(
            at(self.path, line, f"no mention of this article has the identifier {concept!r}.\n"
               "A relation names identifiers in the last column of mentions.")
        )  # fmt: skip


def read(file: File, options: Options) -> Iterator[UnitRecord]:
    """The articles of a PubTator file."""
    article = _Article("", file.path)
    for number, line in enumerate(file.text.split("\n"), start=1):
        line = line.rstrip("\r")
        passage = PASSAGE.match(line)
        if article.passages and (not line or (passage and passage[1] != article.name)):
            yield article.record()
            article = _Article("", file.path)
        if passage:
            if not article.passages:
                article = _Article(passage[1], file.path, number)
            article.passages.append(passage[3])
        elif line:
            _add(article, line, file.path, number)
    if article.passages:
        yield article.record()


def _add(article: _Article, line: str, path: str, number: int) -> None:
    """Add a row of a mention or of a relation to its article."""
    fields = line.split("\t")
    same = article.passages and fields[0] == article.name
    if same and len(fields) >= 5 and is_position(fields[1]) and is_position(fields[2]):
        name = f"m{len(article.mentions) + 1}"
        article.mentions.append(mention(name, ((int(fields[1]), int(fields[2])),), fields[4]))
        for concept in dict.fromkeys([fields[5], *fields[5].split("|")] if len(fields) > 5 else ()):
            article.concepts.setdefault(concept, []).append(name)
    elif same and len(fields) in (4, 5) and not is_position(fields[1]):
        article.relations.append((number, fields[1], fields[2], fields[3]))
    else:
        raise InputError(
            at(path, number, f"{line[:60]!r} is neither a mention nor a relation of the article above.\n"
               "Expected 'ID<tab>start<tab>end<tab>text<tab>label<tab>identifier' or "
               "'ID<tab>type<tab>identifier<tab>identifier'.")
        )  # fmt: skip


FORMAT = TupleFormat(
    name="pubtator",
    summary="PubTator: relations between the concepts of an article",
    read=read,
    recognise=recognise_pubtator,
    source="https://www.ncbi.nlm.nih.gov/research/pubtator3/",
)
