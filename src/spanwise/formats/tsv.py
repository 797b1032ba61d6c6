"""Column formats other than CoNLL: the TSV of the HIPE shared tasks, CoNLL-U and CoNLL-U Plus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from spanwise.columns import Codes, Ints, codes, distinct, ints, offsets
from spanwise.corpus import Annotation, Corpus, Reading, Source
from spanwise.errors import InputError, at, many
from spanwise.formats._columns import Layout, Rows, check_utf8, line_positions, lines_with, parse_fast
from spanwise.formats._format import Format, Options, annotated, no_token, numbered_column
from spanwise.formats._interning import Interner
from spanwise.formats._opening import File
from spanwise.formats._sentences import Record, sentences_of, tokens_for, with_documents
from spanwise.formats._surveying import Batch, Before, after_blank_line, survey_lines, whole_pieces
from spanwise.schemes import Tags


class TaggedRows(Struct, frozen=True, eq=False):
    """The tokens and tags of some lines as codes, with their sentences and documents."""

    tokens: Codes
    tags: Codes
    lines: Ints  # of each token
    begins: Ints  # the first token of each sentence
    ends: Ints  # the line after each sentence
    ids: Sequence[str]  # of sentences
    documents: Sequence[str | None]  # of sentences
    marks: Sequence[int]  # the lines at which documents begin
    after: Before

    @classmethod
    def of(
        cls,
        sentences: Sequence[Record],
        ends: Sequence[int],
        interners: Interners,
        marks: Sequence[int],
        after: Before,
    ) -> TaggedRows:
        """Build rows from sentences that were read line by line."""
        return cls(
            interners.words.codes_of([token.encode() for sentence in sentences for token in sentence.body]),
            interners.tags.codes_of([tag.encode() for sentence in sentences for tag in sentence.tags or ()]),
            ints([line for sentence in sentences for line in sentence.lines]),
            offsets([len(sentence.body) for sentence in sentences])[:-1],
            ints(ends),
            [sentence.id for sentence in sentences],
            [sentence.document for sentence in sentences],
            marks,
            after,
        )

    @classmethod
    def joined(cls, parts: Sequence[TaggedRows]) -> TaggedRows:
        """Concatenate the rows of consecutive parts."""
        before = offsets([len(part.tokens) for part in parts])
        return cls(
            np.concatenate([part.tokens for part in parts]),
            np.concatenate([part.tags for part in parts]),
            ints(np.concatenate([part.lines for part in parts])),
            ints(np.concatenate([part.begins + at for part, at in zip(parts, before[:-1], strict=True)])),
            ints(np.concatenate([part.ends for part in parts])),
            [name for part in parts for name in part.ids],
            [name for part in parts for name in part.documents],
            [line for part in parts for line in part.marks],
            parts[-1].after,
        )

    def corpus(self, interners: Interners, path: str, options: Options) -> tuple[Corpus, Tags]:
        """The corpus and its tags."""
        sentences = ints(np.append(self.begins, len(self.tokens)))
        corpus = Corpus(
            tokens=self.tokens,
            vocabulary=tuple(interners.words.strings),
            sentences=sentences,
            ids=tuple(self.ids) if any(self.ids) else None,
            source=Source(path, token_lines=self.lines),
        )
        tags = Tags(codes(self.tags), tuple(interners.tags.strings), sentences)
        return with_documents(corpus, self.documents, options), tags


class Interners(Struct, frozen=True, eq=False):
    """Interners with the words and tags seen so far."""

    words: Interner
    tags: Interner


class TaggedReader(Struct, frozen=True):
    """Reads tagged lines of columns: all at once if they are regular, else line by line."""

    columns: tuple[str, ...]
    column: int  # of the tags

    @property
    def evidence(self) -> str:
        """A description of where the tags are."""
        return f"the column {self.columns[self.column]}"

    def border(self, data: bytes) -> int:
        """The number of leading bytes that are complete sentences."""
        raise NotImplementedError

    def read(self, file: File, options: Options, before: Before) -> Batch:
        """The sentences of a part, for surveys: each begins where the previous one ends."""
        interners = Interners(Interner(), Interner())
        rows = self.rows(file, interners, before)
        corpus, tags = rows.corpus(interners, file.path, options)
        borders = [file.first_line, *rows.ends.tolist()]
        marks = ints(rows.marks)
        return Batch(corpus, ints(borders[:-1]), borders[-1], {"only": tags}, marks=marks, after=rows.after)

    def rows(self, file: File, interners: Interners, before: Before) -> TaggedRows:
        """The sentences of a part; `before` names the document that it continues."""
        rows = self._regular_rows(file, interners, before)
        return rows if rows is not None else self._rows(file, interners, before)

    def _regular_rows(self, file: File, interners: Interners, before: Before) -> TaggedRows | None:
        raise NotImplementedError

    def _rows(self, file: File, interners: Interners, before: Before) -> TaggedRows:
        raise NotImplementedError


def read_tagged(
    name: str, reader: TaggedReader, file: File, options: Options, words: Interner | None
) -> Annotation:
    """Read a whole file, some lines at a time."""
    interners, before, line = Interners(words or Interner(), Interner()), Before(), 1
    parts: list[TaggedRows] = []
    for chunk in whole_pieces(file, reader.border):
        check_utf8(file, chunk, line)
        rows = reader.rows(File.of_bytes(file.path, chunk, first_line=line), interners, before)
        parts.append(rows)
        before = rows.after
        line += chunk.count(b"\n")
    if not any(len(part.lines) for part in parts):
        raise no_token(file.path)
    corpus, tags = TaggedRows.joined(parts).corpus(interners, file.path, options)
    reading = Reading(file.path, file.sha256, name, evidence=reader.evidence)
    return annotated(corpus, tags, options, reading)


def _numbered_lines(file: File) -> Iterator[tuple[int, str]]:
    """The lines of a part of a file, with their line numbers in the whole file."""
    for number, line in enumerate(file.text.split("\n"), start=file.first_line):
        yield number, line.rstrip("\r")


class _CommentLines(Struct, frozen=True, eq=False):
    """The comment lines of a part, which begin with `#`, and its blank lines."""

    numbers: Ints  # of the comment lines, from 0
    texts: Sequence[bytes]
    blank: Ints  # the numbers of blank lines

    @classmethod
    def of(cls, data: bytes, *, tabs: bool) -> _CommentLines:
        """Find the comments and blank lines; without `tabs`, a line with a tab is a token, not a comment."""
        begins, ends = line_positions(data)
        numbers = lines_with(data, b"#")
        borders = zip(begins[numbers].tolist(), ends[numbers].tolist(), strict=True)
        texts = [data[begin:end] for begin, end in borders]
        if not tabs:
            chosen = [index for index, text in enumerate(texts) if b"\t" not in text]
            numbers, texts = numbers[chosen], [texts[index] for index in chosen]
        short = np.flatnonzero(ends - begins <= 2).tolist()
        return cls(
            ints(numbers),
            texts,
            ints([line for line in short if not data[begins[line] : ends[line]].strip()]),
        )


def _regular(
    file: File, width: int, wanted: tuple[int, ...], comments: _CommentLines, words: Interner
) -> tuple[Rows, Ints, tuple[Interner, ...]] | None:
    """The rows of the wanted columns, of which tokens are the second, their line numbers, and the interners.

    None if the lines are not regular and must be read one by one.
    """
    if b"-DOCSTART-" in file.data:  # a document mark in CoNLL files, but a word in these
        return None
    layout = Layout(file.path, "tab", width, file.first_line, wanted, comments=_NEVER)
    strings = (Interner(), words, *(Interner() for _ in wanted[2:]))
    rows = parse_fast(file.data, layout, strings, open=False, line=file.first_line, left_out=comments.numbers)
    return None if rows is None or rows.token_lines is None else (rows, rows.token_lines, strings)


_NEVER = b"\0"  # a comment mark with which no line begins


def _coded(strings: Sequence[str], column: Codes, tag: Callable[[str], str], interner: Interner) -> Codes:
    """The codes of the tags in a column, each converted from its field by `tag`."""
    used, which = np.unique(column, return_inverse=True)
    return codes(interner.codes_of([tag(strings[code]).encode() for code in used.tolist()])[which])


def _per_sentence(events: Sequence[tuple[int, str]], number: int, before: str | None) -> list[str | None]:
    """The document of each sentence, given the sentences at which documents begin and their names."""
    names: list[str | None] = []
    for first, name in events:
        names += [before] * (min(first, number) - len(names))
        before = name
    return names + [before] * (number - len(names))


HIPE_COLUMNS = ("TOKEN", "NE-COARSE-LIT", "NE-COARSE-METO", "NE-FINE-LIT", "NE-FINE-METO", "NE-FINE-COMP",
           "NE-NESTED", "NEL-LIT", "NEL-METO", "MISC")  # fmt: skip


def read_hipe(file: File, options: Options, words: Interner | None = None) -> Annotation:
    """Read the tags of NE-COARSE-LIT, or of the column given as `tag_column`.

    `# … document_id = …` begins a document. A sentence ends where MISC contains EndOfSentence; a document
    without such marks is one sentence, as in the scorer of the shared task.
    """
    return read_tagged("hipe", hipe_reader(file, options), file, options, words)


class HipeReader(TaggedReader, frozen=True):
    """Reads the lines below the header, which names the columns."""

    def border(self, data: bytes) -> int:
        """The end of the last sentence with an EndOfSentence mark, or else the start of the last document."""
        end = len(data)
        while (end := data.rfind(b"EndOfSentence", 0, end)) >= 0:
            line = data.find(b"\n", end) + 1
            if line and b"\t" not in data[end:line]:  # the mark is in the last column
                return line
        marked = list(_DOCUMENT.finditer(data))
        return marked[-1].start() if marked else 0

    def _regular_rows(self, file: File, interners: Interners, before: Before) -> TaggedRows | None:
        comments = _CommentLines.of(file.data, tabs=False)
        wanted = (len(self.columns) - 1, 0, self.column)
        regular = _regular(file, len(self.columns), wanted, comments, interners.words)
        if regular is None or len(regular[0].columns[0]) < 2:
            return None
        rows, lines, (misc, _, tags) = regular
        header = int(file.first_line == 1)  # which was parsed as a row
        misc_codes, tokens, tag_codes = (column[header:] for column in rows.columns)
        lines = lines[header:]
        parsed = [_document(text.decode("utf-8")) for text in comments.texts]
        names = [name for name in parsed if name is not None]
        marks = ints(file.first_line + comments.numbers[[name is not None for name in parsed]])
        first = np.searchsorted(lines, marks)  # the token after each mark
        ending = np.array(["EndOfSentence" in string for string in misc.strings])[misc_codes]
        begins = np.union1d(np.flatnonzero(ending) + 1, first)
        begins = ints(np.concatenate([[0], begins[(begins > 0) & (begins < len(lines))]]))
        events = list(zip(np.searchsorted(begins, first).tolist(), names, strict=True))
        return TaggedRows(
            tokens=codes(tokens),
            tags=_coded(tags.strings, tag_codes, _tag_of, interners.tags),
            lines=ints(lines),
            begins=begins,
            ends=ints(lines[np.append(begins[1:], len(lines)) - 1] + 1),
            ids=[""] * len(begins),
            documents=_per_sentence(events, len(begins), before.document),
            marks=marks.tolist(),
            after=Before(names[-1] if names else before.document),
        )

    def _rows(self, file: File, interners: Interners, before: Before) -> TaggedRows:
        sentences: list[Record] = []
        rows: list[tuple[str, str, int]] = []
        document = before.document

        def close() -> None:
            if rows:
                tokens, tags, numbers = zip(*rows, strict=True)
                sentences.append(Record(tokens, document=document, tags=tags, lines=numbers))
            rows.clear()

        for number, line in _numbered_lines(file):
            if not line or number == 1:
                continue
            if line.startswith("#") and "\t" not in line:
                name = _document(line)
                if name is not None:
                    close()
                    document = name
                continue
            fields = line.split("\t")
            if len(fields) != len(self.columns):
                raise InputError(
                    at(file.path, number, f"the line has {many(len(fields), 'column')}, but the header has "
                       f"{len(self.columns)}.\nEvery token needs all columns of the header, separated by "
                       "tabs.")
                )  # fmt: skip
            rows.append((fields[0], _tag_of(fields[self.column]), number))
            if "EndOfSentence" in fields[-1]:
                close()
        close()
        ends = [sentence.lines[-1] + 1 for sentence in sentences]
        return TaggedRows.of(sentences, ends, interners, (), Before(document))


_DOCUMENT = re.compile(rb"^#(?:[^\t\n=]*:| *)document_id *=[^\t\n]*\n", re.MULTILINE)


def _document(line: str) -> str | None:
    """The name of the document that begins at a comment line, if any."""
    key, _, value = line[1:].partition("=")
    return value.strip() if key.strip().rpartition(":")[2] == "document_id" else None


def _tag_of(field: str) -> str:
    return "O" if field in ("_", "-", "") else field


def hipe_reader(file: File, options: Options) -> HipeReader:
    """The reader for the columns named in the header."""
    columns = file.first_lines(1)[0].lstrip("\ufeff").split("\t")
    return HipeReader(tuple(columns), _column(file.path, columns, options))


def _column(path: str, columns: list[str], options: Options) -> int:
    wanted = "NE-COARSE-LIT" if options.tag_column is None else options.tag_column
    if isinstance(wanted, int):
        return numbered_column(wanted, len(columns), path)
    if wanted not in columns:
        raise InputError(at(path, 1, f"the header has no column {wanted!r}.\nIt has: {', '.join(columns)}."))
    return columns.index(wanted)


def write_hipe(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a HIPE file with the tags in NE-COARSE-LIT, O in the other tag columns, and no links."""
    annotation = tokens_for(annotation, "hipe", tokens="\t\n\r", labels="\t\n\r", empty=False)
    out = ["\t".join(HIPE_COLUMNS) + "\n"]
    document: str | None = None
    for sentence in sentences_of(annotation, scheme):
        if sentence.document is not None and sentence.document != document:
            document = sentence.document
            out.append(f"# document_id = {document}\n")
        last = len(sentence.body) - 1
        for index, (token, tag) in enumerate(zip(sentence.body, sentence.tags or (), strict=True)):
            misc = "EndOfSentence" if index == last else "_"
            out.append("\t".join([token, tag, *"OOOOO", "_", "_", misc]) + "\n")
    return "".join(out).encode("utf-8")


def recognise_hipe(file: File) -> str | None:
    """Recognise a header that begins with TOKEN and NE-COARSE-LIT."""
    return "the header TOKEN, NE-COARSE-LIT" if file.head.startswith(b"TOKEN\tNE-COARSE") else None


HIPE = Format(
    name="hipe",
    summary="the TSV of the HIPE shared tasks",
    read=read_hipe,
    write=write_hipe,
    recognise=recognise_hipe,
    survey=partial(survey_lines, "hipe", hipe_reader),
    source="https://github.com/hipe-eval",
    holds=frozenset(("words", "tokens", "sentences", "documents", "document names")),
    interning=True,
)


# ---- CoNLL-U and CoNLL-U Plus: tags under a key of the column MISC, or in a column of their own ----


CONLLU_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
# Keys of MISC and names of columns that may hold entity tags, in order of preference.
NAMES = ("NER", "NE", "Ner", "ner", "Entity", "NamedEntity", "BIO", "IOB")


def read_conllu(file: File, options: Options, words: Interner | None = None) -> Annotation:
    """Read the entity tags of a file; multiword ranges and empty nodes do not count as tokens.

    `tag_column` names the column or the key of MISC; by default, the first of NER, NE, Entity …
    that occurs. A token without the key is O.
    """
    return read_tagged("conllu", conllu_reader(file, options), file, options, words)


class ConlluReader(TaggedReader, frozen=True):
    """Reads CoNLL-U lines, with tags in a column or under a key of MISC."""

    form: int
    key: str | None

    @property
    def evidence(self) -> str:
        """A description of where the tags are."""
        return f"the key of MISC {self.key}" if self.key else super().evidence

    def border(self, data: bytes) -> int:
        """The end of the last complete sentence."""
        return after_blank_line(data)

    def _regular_rows(self, file: File, interners: Interners, before: Before) -> TaggedRows | None:
        comments = _CommentLines.of(file.data, tabs=True)
        regular = _regular(file, len(self.columns), (0, self.form, self.column), comments, interners.words)
        if regular is None:
            return None
        rows, lines, (numbers, _, tags) = regular
        chosen = np.ones(len(rows.columns[0]), dtype=bool)
        if "ID" in self.columns:
            chosen = np.array([string.isdigit() for string in numbers.strings], dtype=bool)[rows.columns[0]]
        before_each = offsets(chosen)
        begins = distinct(before_each[rows.begins])
        begins = ints(begins[begins < before_each[-1]])
        if not len(begins):
            return None
        lines = ints(lines[chosen])
        events: list[tuple[int, str]] = []
        marks: list[int] = []
        names: dict[int, str] = {}
        begun = before.begun
        blank = comments.blank + file.first_line
        comment_lines = comments.numbers + file.first_line
        next_token = np.searchsorted(lines, comment_lines)  # the token after each comment
        sentence = np.searchsorted(begins, next_token)
        blocks = np.searchsorted(blank, comment_lines)
        inside = (next_token > 0) & (np.searchsorted(blank, lines[next_token - 1]) == blocks)
        columns = (comment_lines, blocks, sentence, inside)
        for text, line, block, begun_at, is_inside in zip(
            comments.texts, *(column.tolist() for column in columns), strict=True
        ):
            if b"sent_id" not in text and b"newdoc" not in text:
                continue
            key, _, value = text[1:].decode("utf-8").partition("=")
            if key.strip() == "sent_id":
                names[block] = value.strip()
            elif key.split()[:1] == ["newdoc"]:
                if is_inside:  # a mark in the middle of a block ends a sentence
                    return None
                begun += 1
                marks.append(line)
                events.append((begun_at, value.strip() or f"document {begun}"))
        of_sentence = np.searchsorted(blank, lines[begins]).tolist()
        closing = ints(np.append(np.union1d(blank, marks), file.first_line + file.data.count(b"\n")))
        last = lines[np.append(begins[1:], len(lines)) - 1]
        return TaggedRows(
            tokens=codes(rows.columns[1][chosen]),
            tags=_coded(tags.strings, rows.columns[2][chosen], self._tag, interners.tags),
            lines=lines,
            begins=begins,
            ends=ints(closing[np.searchsorted(closing[:-1], last)]),
            ids=[names.get(block, "") for block in of_sentence],
            documents=_per_sentence(events, len(begins), before.document),
            marks=marks,
            after=Before(events[-1][1] if events else before.document, begun),
        )

    def _rows(self, file: File, interners: Interners, before: Before) -> TaggedRows:
        sentences: list[Record] = []
        rows: list[tuple[str, str, int]] = []
        marks: list[int] = []
        ends: list[int] = []
        name, document, begun = "", before.document, before.begun

        def close(end: int) -> None:
            nonlocal name
            if rows:
                tokens, tags, numbers = zip(*rows, strict=True)
                sentences.append(Record(tokens, id=name, document=document, tags=tags, lines=numbers))
                ends.append(end)
                name = ""
            rows.clear()

        for number, line in _numbered_lines(file):
            if not line.strip():
                close(number)
                name = ""
            elif line.startswith("#"):
                key, _, value = line[1:].partition("=")
                if key.strip() == "sent_id":
                    name = value.strip()
                elif key.split()[:1] == ["newdoc"]:
                    close(number)
                    begun += 1
                    marks.append(number)
                    document = value.strip() or f"document {begun}"
            else:
                fields = line.split("\t")
                if len(fields) != len(self.columns):
                    raise InputError(
                        at(file.path, number, f"the line has {many(len(fields), 'column')}, but "
                           f"{len(self.columns)} are expected.\nCoNLL-U has ten columns separated by tabs; "
                           "CoNLL-U Plus names its own in '# global.columns ='.")
                    )  # fmt: skip
                if fields[0].isdigit() or "ID" not in self.columns:
                    rows.append((fields[self.form], self._tag(fields[self.column]), number))
        close(file.first_line + file.data.count(b"\n"))
        return TaggedRows.of(sentences, ends, interners, marks, Before(document, begun))

    def _tag(self, field: str) -> str:
        value = misc_keys(field).get(self.key, "O") if self.key else field
        return "O" if value in ("_", "*", "") else value


def conllu_reader(file: File, options: Options) -> ConlluReader:
    """The reader for a file's columns and for the first column or key of MISC that holds tags."""
    columns = conllu_columns(file)
    form = columns.index("FORM") if "FORM" in columns else 1
    if form >= len(columns):
        raise InputError(
            at(file.path, None, "'# global.columns =' names no column FORM, which holds the tokens.\n"
               "Name the columns of the file, such as '# global.columns = ID FORM NER'.")
        )  # fmt: skip
    column, key = _where(file, columns, options)
    return ConlluReader(columns, column, form, key)


def conllu_columns(file: File) -> tuple[str, ...]:
    """The names of the columns, as its first lines give them or as usual."""
    for line in file.first_lines(5):
        key, _, value = line.partition("=")
        if key.replace(" ", "") == "#global.columns":
            return tuple(value.split())
    return CONLLU_COLUMNS


def _where(file: File, columns: Sequence[str], options: Options) -> tuple[int, str | None]:
    """The column that holds the tags and, if it is MISC, their key."""
    wanted = options.tag_column
    if isinstance(wanted, int):
        return numbered_column(wanted, len(columns), file.path), None
    names = NAMES if wanted is None else (wanted,)
    for name in names:
        for column, full in enumerate(columns):
            if full != "MISC" and name.lower() in (full.lower(), full.rpartition(":")[2].lower()):
                return column, None
        if "MISC" in columns:
            misc, short = columns.index("MISC"), name.rpartition(":")[2]
            if _occurs(short, file, misc, len(columns)):
                return misc, short
    looked = ", ".join(names)
    raise InputError(
        at(file.path, None, f"no column and no key of MISC holds entities; looked for {looked}.\n"
           "Name it, such as tag_column='NER'.")
    )  # fmt: skip


def _occurs(key: str, file: File, column: int, width: int) -> bool:
    """Whether the key occurs in a column of any line with `width` columns."""
    wanted = key.encode("utf-8")
    for chunk in file.line_chunks():
        for line in chunk.split(b"\n") if wanted in chunk else ():
            fields = line.rstrip(b"\r").split(b"\t") if wanted in line else ()
            if len(fields) == width and key in misc_keys(fields[column].decode("utf-8", "replace")):
                return True
    return False


def misc_keys(misc: str) -> dict[str, str]:
    """The keys of a field of MISC with their values."""
    pairs = (part.partition("=") for part in misc.split("|"))
    return {key: value for key, _, value in pairs}


def write_conllu(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a CoNLL-U file with `NER=` in MISC and no other annotation."""
    annotation = tokens_for(annotation, "conllu", tokens="\t\n\r", labels="\t\n\r|", empty=False)
    out: list[str] = []
    document: str | None = None
    for number, sentence in enumerate(sentences_of(annotation, scheme), start=1):
        if sentence.document is not None and sentence.document != document:
            document = sentence.document
            out.append(f"# newdoc id = {document}\n")
        out.append(f"# sent_id = {sentence.id or number}\n")
        for index, (token, tag) in enumerate(zip(sentence.body, sentence.tags or (), strict=True), start=1):
            out.append("\t".join([str(index), token, *"_______", f"NER={tag}"]) + "\n")
        out.append("\n")
    return "".join(out).encode("utf-8")


def recognise_conllu(file: File) -> str | None:
    """Recognise the suffix, `# global.columns`, or ten columns of which the first counts from 1."""
    if file.suffix in (".conllu", ".conllup"):
        return f"the suffix {file.suffix}"
    lines = file.head.split(b"\n")
    if any(line.replace(b" ", b"").startswith(b"#global.columns=") for line in lines[:5]):
        return "'# global.columns ='"
    first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    fields = first.split(b"\t")
    return "ten columns, the first one numbers" if len(fields) == 10 and fields[0] in (b"1", b"1-2") else None


CONLLU = Format(
    name="conllu",
    summary="CoNLL-U and CoNLL-U Plus, entities in MISC or a column",
    read=read_conllu,
    write=write_conllu,
    recognise=recognise_conllu,
    survey=partial(survey_lines, "conllu", conllu_reader),
    suffixes=(".conllu", ".conllup"),
    holds=frozenset(("words", "tokens", "sentences", "sentence ids", "documents", "document names")),
    source="https://universaldependencies.org/format.html",
    interning=True,
)
