"""CoNLL columns: one token per line, with its tag in a column, and a blank line after each sentence."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan

from msgspec.structs import replace

from spanwise.columns import codes
from spanwise.corpus import Annotation, Reading
from spanwise.errors import InputError, at
from spanwise.formats._columns import (
    DOCSTART,
    Layout,
    corpus_of,
    filled_lines,
    layout_of,
    split,
    tag_columns,
    whole,
)
from spanwise.formats._format import (
    NO_SCORE,
    CutSource,
    Cutting,
    Format,
    Options,
    Problem,
    annotated,
    impossible_tags,
    in_tokens,
    left_out_notes,
    problem_at,
    wrong_width,
)
from spanwise.formats._interning import Interner
from spanwise.formats._opening import File
from spanwise.schemes import Tags, encode, malformed, spelled


def read(file: File, options: Options, words: Interner | None = None) -> Annotation:
    """Read a file with one column of tags."""
    return _layers(file, options, tag_columns(options, merged=False), words)["only"]


def read_layers(file: File, options: Options, words: Interner | None = None) -> dict[str, Annotation]:
    """Read the gold and predicted annotation of a file whose last two columns hold their tags.

    With `tag_column`, the gold tags are in that column and the predicted tags in the next.
    """
    return _layers(file, options, tag_columns(options, merged=True), words)


def read_annotators(file: File, options: Options) -> dict[str, Annotation] | None:
    """Read each of the last columns that hold tags, as an annotator named after its number.

    None if there is only one, or if `tag_column` names the one that is meant.
    """
    columns = _last_columns(file, options) if options.tag_column is None else []
    if len(columns) < 2:
        return None
    return {f"column {column}": read(file.again(), replace(options, tag_column=column)) for column in columns}


def _last_columns(file: File, options: Options) -> list[int]:
    """The numbers of the last columns, as far as they hold tags, in order."""
    rows = [line.split() for line in file.head.split(b"\n")[:-1]]
    mark = None if options.comments is None else options.comments.encode()
    rows = [row for row in rows if row and row[0] != DOCSTART and not (mark and row[0].startswith(mark))]
    columns: list[int] = []
    for column in range(min(map(len, rows), default=0) - 1, 0, -1):
        values = {row[column].decode("utf-8", "replace") for row in rows}
        if any(malformed(value) for value in values) or "O" not in values:
            break
        columns.append(column)
    return columns[::-1]


def looks_merged(file: File) -> bool:
    """Whether the last two columns of a file's first lines look like gold and predicted tags.

    They do if both hold tags, mostly with the same labels, and at least a quarter of the tokens that are
    labeled in either column have the same tag in both: part-of-speech and chunk tags have other labels,
    and layers of nested mentions differ almost everywhere.
    """
    lines = file.head.split(b"\n")[:-1]
    if max((len(line.split()) for line in lines[:100]), default=0) < 3:  # a merged file has more
        return False
    rows = [line.split() for line in lines]
    pairs = {tuple(row[-2:]): 0 for row in rows if len(row) > 2 and row[0] != DOCSTART}
    for row in rows:
        if (pair := tuple(row[-2:])) in pairs:
            pairs[pair] += 1
    decoded = {tuple(tag.decode("utf-8", "replace") for tag in pair): n for pair, n in pairs.items()}
    if any(malformed(tag) for pair in decoded for tag in pair):
        return False
    types = [{pair[side][2:] for pair in decoded if pair[side] != "O"} for side in (0, 1)]
    typed = sum(number for pair, number in decoded.items() if set(pair) != {"O"})
    same = sum(number for pair, number in decoded.items() if pair[0] == pair[1] != "O")
    return 2 * len(types[0] & types[1]) >= len(types[0] | types[1]) > 0 and 4 * same >= typed


def _layers(
    file: File, options: Options, where: Mapping[str, int | str], words: Interner | None
) -> dict[str, Annotation]:
    """One annotation for each tag column, all of the same corpus."""
    columns = whole(file, options, tuple(where.values()), words)
    corpus = corpus_of(columns, options, file)
    comments, labeled_marks = columns.rows.comments, columns.rows.labeled_marks
    reading = Reading(
        path=file.path,
        sha256=file.sha256,
        format="conll",
        evidence=f"{columns.layout.width} columns separated by {columns.layout.between}",
        notes=tuple(left_out_notes(comments, labeled_marks)),
        left_out=tuple(left_out_notes(0, labeled_marks)),  # comments are skipped only on request
    )
    sentences = columns.offsets()
    result: dict[str, Annotation] = {}
    for index, name in enumerate(where, start=1):
        tags = Tags(codes(columns.rows.columns[index]), columns.strings[index], sentences)
        if result and options.prefer is None:
            options = replace(options, prefer=next(iter(result.values())).reading.scheme)
        result[name] = annotated(corpus, tags, options, reading)
    return result


def problems(file: File, options: Options) -> list[Problem]:
    """List every malformed line and every impossible tag, in order of lines."""
    where = tuple(tag_columns(options, merged=False).values())
    data = file.data
    layout, skipped = layout_of(file.path, data, options, where, 1)
    if layout is None:
        return [Problem(None, "the file has no tokens. Give a file with a token and a tag in each line.")]
    problems: list[Problem] = []
    tags: list[list[str]] = [[]]
    lines: list[list[int]] = [[]]
    last = skipped
    for line, text in filled_lines(data, 1):
        if line <= skipped:
            continue
        after_empty, last = line > last + 1, line
        is_comment = layout.comments is not None and text.startswith(layout.comments)
        fields = [] if is_comment else split(text, layout)
        if tags[-1] and (after_empty or not (is_comment or fields) or fields[:1] == [DOCSTART]):
            tags.append([])
            lines.append([])
        if not fields or fields[0] == DOCSTART:
            continue
        tag, problem = _checked_line(file, line, text, fields, layout, options.spelling)
        if problem is not None:
            problems.append(problem)
        tags[-1].append(tag)
        lines[-1].append(line)
    problems += impossible_tags(Tags.of(tags), options, lambda sentence, token: lines[sentence][token])
    return sorted(problems, key=lambda problem: problem.line or 0)


def _checked_line(
    file: File, line: int, text: bytes, fields: list[bytes], layout: Layout, spelling: str | None
) -> tuple[str, Problem | None]:
    """The tag of a line, or O if the line is malformed, and the problem with the line, if any."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return "O", problem_at(file.path, line, file.not_utf8(text, error, line))
    if len(fields) != layout.width:
        return "O", problem_at(file.path, line, wrong_width(layout, line, len(fields)))
    tag = fields[layout.tags[0]].strip(b" ").decode("utf-8")
    problem = malformed(spelled(tag, spelling))
    return ("O", Problem(line, problem)) if problem else (tag, None)


def recognise(file: File) -> str | None:
    """Accept any file: CoNLL columns are the fallback if no other format was recognised."""
    return None if file.is_folder else "lines of columns"


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a file with the columns token and tag, separated by a blank, or by a tab if necessary."""
    return _columns(annotation, scheme, scored=False)


def write_scored(annotation: Annotation, scheme: str | None) -> bytes:
    """Like `write`, with a third column: the score of the mention that contains the token, else `_`."""
    return _columns(annotation, scheme, scored=True)


def _columns(annotation: Annotation, scheme: str | None, *, scored: bool) -> bytes:
    annotation = in_tokens(annotation)
    corpus = annotation.corpus
    if corpus.without_text:
        raise InputError(
            at(
                annotation.reading.path,
                None,
                "the annotation has no tokens to write in lines.\nWrite jsonl instead.",
            )
        )
    tags = encode(annotation.mentions, corpus.lengths, scheme or annotation.reading.scheme or "IOB2")
    strings = (*corpus.vocabulary, *annotation.mentions.labels)
    separator = "\t" if any(" " in string or not string for string in strings) else " "
    _check_writable(annotation)
    begins = set() if corpus.documents is None else set(corpus.documents[:-1].tolist())
    columns: list[list[list[str]]] = [tags.lists()]
    if scored:
        columns.append(_token_scores(annotation))
    mark = separator.join((DOCSTART.decode(), "O", *([NO_SCORE] if scored else [])))
    lines: list[str] = []
    for number in range(len(corpus)):
        if number in begins:
            lines += [mark, ""]
        fields = (corpus.words(number), *(column[number] for column in columns))
        lines += [separator.join(row) for row in zip(*fields, strict=True)]
        lines.append("")
    return "\n".join(lines).encode("utf-8") + b"\n"


def _token_scores(annotation: Annotation) -> list[list[str]]:
    """For each sentence, the score of each token's mention, written so that it parses to the same number."""
    listed = [[NO_SCORE] * length for length in annotation.corpus.lengths.tolist()]
    mentions = annotation.mentions
    scores = [nan] * len(mentions) if mentions.score is None else mentions.score.tolist()
    for (sentence, start, end, _), score in zip(mentions.rows(), scores, strict=True):
        if not isnan(score):
            listed[sentence][start:end] = [repr(score)] * (end - start)
    return listed


def _check_writable(annotation: Annotation) -> None:
    """Raise InputError if the tokens or labels would not survive being written to columns and read back."""
    corpus, path = annotation.corpus, annotation.reading.path
    for word in corpus.vocabulary:
        if "\n" in word or "\t" in word or word.encode("utf-8", "replace") == DOCSTART:
            raise InputError(
                f"{path}: the token {word!r} would break a line of columns.\nWrite jsonl instead."
            )
    for label in annotation.mentions.labels:
        if "\n" in label or "\t" in label or label != label.strip(" \r"):
            raise InputError(
                f"{path}: the label {label!r} would break a line of columns.\nWrite jsonl instead."
            )
    if not corpus.lengths.all():
        empty = int((corpus.lengths == 0).argmax())
        raise InputError(
            f"{corpus.place(empty)}: sentence {empty + 1} has no tokens, which blank lines cannot "
            "represent.\n"
            "Write jsonl instead, or leave the sentence out."
        )


def survey(file: File, options: Options, cutting: Cutting) -> CutSource:
    """Scan a file of columns and decide where to cut it."""
    from spanwise.formats._surveying import survey as survey_columns

    columns = tag_columns(options, merged=cutting.merged)
    sentences = cutting.sentences or ()
    return survey_columns(
        file, options, columns, tokens=cutting.tokens, sentences=sentences, keep=cutting.keep
    )


FORMAT = Format(
    name="conll",
    summary="columns separated by blanks or tabs, one token per line, a blank line after each sentence",
    read=read,
    read_layers=read_layers,
    read_annotators=read_annotators,
    write=write,
    write_scored=write_scored,
    score_column=2,
    recognise=recognise,
    problems=problems,
    suffixes=(".conll", ".bio", ".iob", ".iob2", ".txt", ".tsv"),
    source="Tjong Kim Sang and De Meulder (2003)",
    survey=survey,
    keeps_rows=True,
    holds=frozenset(("words", "tokens", "sentences", "documents")),
)
