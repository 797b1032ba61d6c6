"""Column formats other than CoNLL: the TSV of the HIPE shared tasks, CoNLL-U and CoNLL-U Plus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Codes, Ints, codes, distinct, ints, offsets
from spanwise.corpus import Annotation, Corpus, Source
from spanwise.errors import InputError, at, many
from spanwise.formats._columns import Layout, Rows, line_positions, lines_with, parse_fast
from spanwise.formats._format import Before, Format, Options, Problem, numbered_column
from spanwise.formats._interning import Interner
from spanwise.formats._opening import File
from spanwise.formats._sentences import Part, Record, sentences_of, tokens_for, with_documents
from spanwise.formats._surveying import Batch
from spanwise.schemes import Tags


class Columns(Struct, frozen=True):
    """The columns of a file, and which of them holds the tags."""

    names: tuple[str, ...]
    tags: int

    @property
    def evidence(self) -> str:
        """A description of where the tags are."""
        return f"the column {self.names[self.tags]}"


def _tagged(
    part: Part,
    options: Options,
    tokens: Codes,
    tags: Tags,
    lines: Ints,  # of each token
    documents: Sequence[str | None],  # of sentences
    *,
    ids: Sequence[str] = (),
    ends: Sequence[int] | Ints,  # the line after each sentence
    marks: Sequence[int] = (),
    after: Before,
) -> Batch:
    """The sentences of a part as columns; each begins where the previous one ends."""
    assert part.words is not None
    corpus = Corpus(
        tokens,
        part.words.strings,
        tags.sentences,
        ids=tuple(ids) if any(ids) else None,
        source=Source(part.path, token_lines=lines),
    )
    borders = ints([part.first, *ends])
    return Batch(
        with_documents(corpus, documents, options),
        borders[:-1],
        int(borders[-1]),
        {"gold": tags},
        marks=ints(marks),
        after=after,
    )


def _tagged_of(
    sentences: Sequence[Record],
    part: Part,
    options: Options,
    ends: Sequence[int],
    after: Before,
    marks: Sequence[int] = (),
) -> Batch:
    """The same from sentences that were read line by line."""
    assert part.words is not None
    return _tagged(
        part,
        options,
        part.words.codes_of([token.encode() for sentence in sentences for token in sentence.body]),
        Tags.of([sentence.tags or () for sentence in sentences]),
        ints([line for sentence in sentences for line in sentence.lines]),
        [sentence.document for sentence in sentences],
        ids=[sentence.id for sentence in sentences],
        ends=ends,
        marks=marks,
        after=after,
    )


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
    part: Part, width: int, wanted: tuple[int, ...], comments: _CommentLines
) -> tuple[Rows, Ints, tuple[Interner, ...]] | None:
    """The rows of the wanted columns, of which tokens are the second, their line numbers, and the interners.

    None if the lines are not regular and must be read one by one.
    """
    if b"-DOCSTART-" in part.data or part.words is None:  # a document mark in CoNLL files, but a word here
        return None
    layout = Layout(part.path, "tab", width, part.first, wanted, comments=_NEVER)
    strings = (Interner(), part.words, *(Interner() for _ in wanted[2:]))
    rows = parse_fast(part.data, layout, strings, open=False, line=part.first, left_out=comments.numbers)
    return None if rows is None or rows.token_lines is None else (rows, rows.token_lines, strings)


_NEVER = b"\0"  # a comment mark with which no line begins


def _renamed(strings: Sequence[str], column: Codes, tag: Callable[[str], str], sentences: Ints) -> Tags:
    """The tags in a column, each converted from its field by `tag`."""
    used, which = np.unique(column, return_inverse=True)
    names = [tag(strings[code]) for code in used.tolist()]
    number = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return Tags(codes(ints([number[name] for name in names])[which]), tuple(number), sentences)


def _per_sentence(events: Sequence[tuple[int, str]], number: int, before: str | None) -> list[str | None]:
    """The document of each sentence, given the sentences at which documents begin and their names."""
    names: list[str | None] = []
    for first, name in events:
        names += [before] * (min(first, number) - len(names))
        before = name
    return names + [before] * (number - len(names))


HIPE_COLUMNS = ("TOKEN", "NE-COARSE-LIT", "NE-COARSE-METO", "NE-FINE-LIT", "NE-FINE-METO", "NE-FINE-COMP",
           "NE-NESTED", "NEL-LIT", "NEL-METO", "MISC")  # fmt: skip


def read_hipe(part: Part, options: Options) -> Iterator[Batch | Problem]:
    """The tags of NE-COARSE-LIT, or of the column given as `tag_column`.

    `# … document_id = …` begins a document. A sentence ends where MISC contains EndOfSentence; a document
    without such marks is one sentence, as in the scorer of the shared task.
    """
    regular = _hipe_columns(part, options)
    yield from _hipe_lines(part, options) if regular is None else [regular]


def hipe_border(data: bytes) -> int:
    """The end of the last sentence with an EndOfSentence mark, or else the start of the last document."""
    end = len(data)
    while (end := data.rfind(b"EndOfSentence", 0, end)) >= 0:
        line = data.find(b"\n", end) + 1
        if line and b"\t" not in data[end:line]:  # the mark is in the last column
            return line
    marked = list(_DOCUMENT.finditer(data))
    return marked[-1].start() if marked else 0


def _hipe_columns(part: Part, options: Options) -> Batch | None:
    head: Columns = part.head
    comments = _CommentLines.of(part.data, tabs=False)
    regular = _regular(part, len(head.names), (len(head.names) - 1, 0, head.tags), comments)
    if regular is None or len(regular[0].columns[0]) < 2:
        return None
    rows, lines, (misc, _, tags) = regular
    header = int(part.first == 1)  # which was parsed as a row
    misc_codes, tokens, tag_codes = (column[header:] for column in rows.columns)
    lines = lines[header:]
    parsed = [document_named(text.decode("utf-8")) for text in comments.texts]
    names = [name for name in parsed if name is not None]
    marks = ints(part.first + comments.numbers[[name is not None for name in parsed]])
    first = np.searchsorted(lines, marks)  # the token after each mark
    ending = np.array(["EndOfSentence" in string for string in misc.strings])[misc_codes]
    begins = np.union1d(np.flatnonzero(ending) + 1, first)
    begins = ints(np.concatenate([[0], begins[(begins > 0) & (begins < len(lines))]]))
    events = list(zip(np.searchsorted(begins, first).tolist(), names, strict=True))
    return _tagged(
        part,
        options,
        codes(tokens),
        _renamed(tags.strings, tag_codes, _tag_of, ints(np.append(begins, len(tokens)))),
        ints(lines),
        _per_sentence(events, len(begins), part.before.document),
        ends=lines[np.append(begins[1:], len(lines)) - 1] + 1,
        marks=marks.tolist(),
        after=Before(names[-1] if names else part.before.document),
    )


def _hipe_lines(part: Part, options: Options) -> Iterator[Batch | Problem]:
    sentences: list[Record] = []
    rows: list[tuple[str, str, int]] = []
    head, document = part.head, part.before.document

    def close() -> None:
        if rows:
            tokens, tags, numbers = zip(*rows, strict=True)
            sentences.append(Record(tokens, document=document, tags=tags, lines=numbers))
        rows.clear()

    for number, line in part.lines():
        if not line or number == 1:
            continue
        if line.startswith("#") and "\t" not in line:
            name = document_named(line)
            if name is not None:
                close()
                document = name
            continue
        fields = line.split("\t")
        if len(fields) != len(head.names):
            yield Problem(
                number,
                f"the line has {many(len(fields), 'column')}, but the header has {len(head.names)}.\n"
                "Every token needs all columns of the header, separated by tabs.",
            )
            continue
        rows.append((fields[0], _tag_of(fields[head.tags]), number))
        if "EndOfSentence" in fields[-1]:
            close()
    close()
    ends = [sentence.lines[-1] + 1 for sentence in sentences]
    yield _tagged_of(sentences, part, options, ends, Before(document))


_DOCUMENT = re.compile(rb"^#(?:[^\t\n=]*:| *)document_id *=[^\t\n]*\n", re.MULTILINE)


def document_named(line: str) -> str | None:
    """The name of the document that begins at a comment line, if any."""
    key, _, value = line[1:].partition("=")
    return value.strip() if key.strip().rpartition(":")[2] == "document_id" else None


def _tag_of(field: str) -> str:
    return "O" if field in ("_", "-", "") else field


def hipe_header(file: File, options: Options) -> Columns:
    """The columns named in the header."""
    columns = file.first_lines(1)[0].lstrip("\ufeff").split("\t")
    return Columns(tuple(columns), _column(file.path, columns, options))


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
    recognise=recognise_hipe,
    records=read_hipe,
    border=hipe_border,
    opened=hipe_header,
    write=write_hipe,
    source="https://github.com/hipe-eval",
    holds=frozenset(("words", "tokens", "sentences", "documents", "document names")),
)


# ---- CoNLL-U and CoNLL-U Plus: tags under a key of the column MISC, or in a column of their own ----


CONLLU_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
# Keys of MISC and names of columns that may hold entity tags, in order of preference.
NAMES = ("NER", "NE", "Ner", "ner", "Entity", "NamedEntity", "BIO", "IOB")


class ConlluColumns(Columns, frozen=True):
    """The columns of a CoNLL-U file, whose tags may be under a key of MISC."""

    form: int
    key: str | None

    @property
    def evidence(self) -> str:
        """A description of where the tags are."""
        return f"the key of MISC {self.key}" if self.key else super().evidence

    def tag(self, field: str) -> str:
        """The tag in a field; a token without the key is O."""
        value = misc_keys(field).get(self.key, "O") if self.key else field
        return "O" if value in ("_", "*", "") else value


def read_conllu(part: Part, options: Options) -> Iterator[Batch | Problem]:
    """The entity tags of a file; multiword ranges and empty nodes do not count as tokens.

    `tag_column` names the column or the key of MISC; by default, the first of NER, NE, Entity …
    that occurs.
    """
    regular = _conllu_columns(part, options)
    yield from _conllu_lines(part, options) if regular is None else [regular]


def _conllu_columns(part: Part, options: Options) -> Batch | None:
    head: ConlluColumns = part.head
    comments = _CommentLines.of(part.data, tabs=True)
    regular = _regular(part, len(head.names), (0, head.form, head.tags), comments)
    if regular is None:
        return None
    rows, lines, (numbers, _, tags) = regular
    chosen = np.ones(len(rows.columns[0]), dtype=bool)
    if "ID" in head.names:
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
    begun = part.before.begun
    blank = comments.blank + part.first
    comment_lines = comments.numbers + part.first
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
    closing = ints(np.append(np.union1d(blank, marks), part.first + part.data.count(b"\n")))
    last = lines[np.append(begins[1:], len(lines)) - 1]
    sentences = ints(np.append(begins, len(lines)))
    return _tagged(
        part,
        options,
        codes(rows.columns[1][chosen]),
        _renamed(tags.strings, rows.columns[2][chosen], head.tag, sentences),
        lines,
        _per_sentence(events, len(begins), part.before.document),
        ids=[names.get(block, "") for block in of_sentence],
        ends=closing[np.searchsorted(closing[:-1], last)],
        marks=marks,
        after=Before(events[-1][1] if events else part.before.document, begun),
    )


def _conllu_lines(part: Part, options: Options) -> Iterator[Batch | Problem]:
    sentences: list[Record] = []
    rows: list[tuple[str, str, int]] = []
    marks: list[int] = []
    ends: list[int] = []
    head: ConlluColumns = part.head
    name, document, begun = "", part.before.document, part.before.begun

    def close(end: int) -> None:
        nonlocal name
        if rows:
            tokens, tags, numbers = zip(*rows, strict=True)
            sentences.append(Record(tokens, id=name, document=document, tags=tags, lines=numbers))
            ends.append(end)
            name = ""
        rows.clear()

    for number, line in part.lines():
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
            if len(fields) != len(head.names):
                yield Problem(
                    number,
                    f"the line has {many(len(fields), 'column')}, but {len(head.names)} are expected.\n"
                    "CoNLL-U has ten columns separated by tabs; CoNLL-U Plus names its own in "
                    "'# global.columns ='.",
                )
            elif fields[0].isdigit() or "ID" not in head.names:
                rows.append((fields[head.form], head.tag(fields[head.tags]), number))
    close(part.first + part.data.count(b"\n"))
    yield _tagged_of(sentences, part, options, ends, Before(document, begun), marks)


def conllu_header(file: File, options: Options) -> ConlluColumns:
    """A file's columns, and the first column or key of MISC that holds tags."""
    columns = conllu_columns(file)
    form = columns.index("FORM") if "FORM" in columns else 1
    if form >= len(columns):
        raise InputError(
            at(file.path, None, "'# global.columns =' names no column FORM, which holds the tokens.\n"
               "Name the columns of the file, such as '# global.columns = ID FORM NER'.")
        )  # fmt: skip
    column, key = _where(file, columns, options)
    return ConlluColumns(columns, column, form, key)


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


_FIRST_ROW = re.compile(rb"^(?!#)[^\n]*[^\s][^\n]*", re.MULTILINE)  # neither blank nor a comment


def recognise_conllu(file: File) -> str | None:
    """Recognise the suffix, `# global.columns`, or ten columns of which the first counts from 1."""
    if file.suffix in (".conllu", ".conllup"):
        return f"the suffix {file.suffix}"
    lines = file.head.split(b"\n", 5)[:5]
    if any(line.replace(b" ", b"").startswith(b"#global.columns=") for line in lines):
        return "'# global.columns ='"
    first = _FIRST_ROW.search(file.head)
    fields = first[0].split(b"\t") if first is not None else []
    return "ten columns, the first one numbers" if len(fields) == 10 and fields[0] in (b"1", b"1-2") else None


CONLLU = Format(
    name="conllu",
    summary="CoNLL-U and CoNLL-U Plus, entities in MISC or a column",
    recognise=recognise_conllu,
    records=read_conllu,
    opened=conllu_header,
    write=write_conllu,
    suffixes=(".conllu", ".conllup"),
    holds=frozenset(("words", "tokens", "sentences", "sentence ids", "documents", "document names")),
    source="https://universaldependencies.org/format.html",
)
