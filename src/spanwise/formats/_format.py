"""The `Format` type, the registry of formats, the options for reading, and annotations from tag columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from spanwise.columns import distinct, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Reading
from spanwise.errors import ChoiceError, InputError, at, many, unknown
from spanwise.formats._opening import File
from spanwise.labels import LabelRules
from spanwise.registry import Registry, resolve
from spanwise.schemes import (
    SCHEMES,
    SPELLINGS,
    Repair,
    Tags,
    checked,
    decode,
    encode,
    impossible,
    malformed,
    recognise,
    spelled,
)

if TYPE_CHECKING:
    from spanwise.formats._columns import KeptRows, Layout
    from spanwise.formats._sentences import Part, Record
    from spanwise.formats._surveying import Batch

Column = int | str
NO_TOKENS = "the file has no tokens.\nGive a file with a token and a tag in each line."
NO_SCORE = "_"  # in a column of scores, for tokens outside mentions

JsonRecord: TypeAlias = Mapping[str, Any]  # a parsed JSON object; values are checked where they are used
TableColumns: TypeAlias = Mapping[str, Sequence[Any]]  # by name; cells are checked where they are used
ReadKeywords: TypeAlias = Mapping[str, Any]  # the keywords of `read`, as passed by the caller


class Limits(Struct, frozen=True):
    """Limits on input files that ordinary files never reach and that the caller can raise."""

    labels: int = 1_000  # distinct labels; results hold a table of all pairs of labels
    nested: int = 3_000  # mentions that cover one position; all overlapping pairs are compared
    unpacked: int = 1 << 26  # unpacked bytes of a file compressed more than a hundredfold
    values: int = 20_000_000  # in a Parquet or Arrow file; fifty per byte of the file if that is more

    @classmethod
    def of(cls, limits: Mapping[str, int]) -> Limits:
        """The default limits, overridden by the given ones."""
        for name, value in limits.items():
            if name not in cls.__struct_fields__:
                raise unknown("limit", name, cls.__struct_fields__)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ChoiceError(
                    f"the limit {name!r} is {value!r}, but must be a whole number of 1 or more."
                )
        return cls(**limits)

    def check(self, annotation: Annotation) -> Annotation:
        """Return the annotation unchanged; raise if it exceeds a limit or contains invalid text."""
        path, mentions = annotation.reading.path, annotation.mentions
        if len(mentions.labels) > self.labels:
            raise InputError(self.passed(path, f"there are {len(mentions.labels):,} labels", "labels"))
        if (deepest := _deepest(mentions, self.nested)) > self.nested:
            raise InputError(self.passed(path, f"{deepest:,} mentions cover one position", "nested"))
        if (half := _half_character(annotation)) is not None:
            raise InputError(
                at(path, None, f"{half!r} holds half of a surrogate pair, which is not a character.\n"
                   "Write the whole character, or leave it out.")
            )  # fmt: skip
        return annotation

    def passed(self, path: str, what: str, name: str) -> str:
        """The error message for a file that exceeds a limit."""
        bound = getattr(self, name)
        return at(
            path,
            None,
            f"{what}, more than the {bound:,} that are accepted.\n"
            f"If this is intended, raise the limit with limits={{{name!r}: …}}.",
        )


def _deepest(mentions: Mentions, enough: int) -> int:
    """The largest number of mentions over one position; 0 if no sentence has more than `enough` mentions."""
    sentence = mentions.sentence
    if len(sentence) <= enough or int(np.bincount(sentence).max(initial=0)) <= enough:
        return 0
    position = np.concatenate([mentions.start, mentions.end])
    change = np.repeat([1, -1], len(sentence))
    order = np.lexsort((change, position, np.concatenate([sentence, sentence])))  # ends sort before starts
    return int(np.cumsum(change[order]).max(initial=0))


def _half_character(annotation: Annotation) -> str | None:
    """The first string with a lone surrogate, which JSON can express; None if all strings are valid."""
    corpus = annotation.corpus
    for strings in (annotation.mentions.labels, corpus.ids, corpus.document_ids, corpus.texts):
        for string in strings or ():
            if not string.isascii() and not _is_text(string):
                return string
    if annotation.reading.format in ("conll", "spans") or _is_text("".join(corpus.vocabulary)):
        return None
    return next(string for string in corpus.vocabulary if not _is_text(string))


def _is_text(string: str) -> bool:
    try:
        string.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


UNBOUNDED = Limits(*[2**62] * len(Limits.__struct_fields__))  # for files that we have just written


class Options(Struct, frozen=True):
    """The options of `read` as passed to every format; each format uses those that apply to it.

    Examples:
        >>> Options(scheme="bio", tag_column=2).scheme
        'IOB2'
    """

    token_column: Column | None = None
    tag_column: Column | None = None
    separator: Literal["tab", "blank"] | None = None
    scheme: str | None = None
    prefer: str | None = None
    repair: Repair = "conlleval"
    comments: str | None = None
    duplicates: Literal["error", "drop"] = "error"
    labels: Sequence[str] | None = None
    documents: str | None = None
    annotator: str | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    limits: Limits = Limits()
    further: bool = False  # whether to keep fields that were not asked for, so that they can be written
    rules: LabelRules = LabelRules()  # which labels are mapped or left out
    predicted: bool = False  # whether predictions are read, which may have a map of their own

    def __post_init__(self) -> None:
        # Reports show the scheme's canonical name, not an alias or a lower-case spelling.
        if self.scheme is not None and self.scheme not in SPELLINGS:
            force_setattr(self, "scheme", SCHEMES.find(self.scheme).name)

    @property
    def spelling(self) -> str | None:
        """How the tags are spelled if they are not written in a scheme, else None."""
        return self.scheme if self.scheme in SPELLINGS else None

    @property
    def declared(self) -> str | None:
        """The scheme to use if the caller named one: BIOES for "token", none for "bare"."""
        return {"bare": None, "token": "BIOES"}.get(self.scheme or "", self.scheme)

    def check_used(self, reading: Reading, format: str) -> None:
        """Refuse tags that were read in another scheme, or repaired in another way, than the caller asked.

        Formats that yield records cannot get this wrong; one with a `read` of its own can.
        """
        if reading.scheme is None:
            return
        asked = {"scheme": self.declared or reading.scheme, "repair": self.repair}
        used = {"scheme": reading.scheme, "repair": reading.repair}
        for name, value in asked.items():
            if used[name] != value:
                raise InputError(
                    at(reading.path, None, f"the format {format!r} ignores {name}={value!r} and reads tags "
                       f"with {name}={used[name]!r}.\nLeave {name} out, or convert the file to CoNLL first.")
                )  # fmt: skip

    def finished(self, annotation: Annotation, layer: str = "only") -> Annotation:
        """What a reader hands over: the annotation with its labels mapped, and checked against the limits."""
        return self.limits.check(self.relabeled(annotation, layer))

    def relabeled(self, annotation: Annotation, layer: str = "only") -> Annotation:
        """The annotation with its labels mapped, unless these rules have been applied to it before."""
        if not self.rules:
            return annotation
        predicted = self.predicted or layer == "predicted"
        key = self.rules.key(predicted=predicted)
        reading = annotation.reading
        if reading.relabeled_by == key:
            return annotation
        new = self.rules.apply(annotation.mentions, predicted=predicted)
        return replace(
            annotation,
            mentions=new.mentions,
            reading=replace(
                reading,
                labels=new.labels,
                merged=reading.merged + new.merged,
                dropped=reading.dropped + new.dropped,
                relabeled_by=key,
            ),
        )

    def spelled(self, tags: Tags) -> Tags:
        """The tags in the spelling that schemes use."""
        if self.spelling is None:
            return tags
        return Tags(tags.codes, tuple(spelled(name, self.spelling) for name in tags.names), tags.sentences)


class Problem(Struct, frozen=True):
    """A problem on a line of a file: what is wrong, what to do, and whether reading can repair it.

    Examples:
        >>> Problem(3, "'0 PER' is not a mention.\\nExpected 'start end label'.").line
        3
    """

    line: int | None
    text: str
    repairable: bool = False


def whole(value: object) -> int:
    """The value as an int; raises ValueError if it is not a whole number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{brief(value)} is not a whole number")
    return int(value)


def brief(value: object) -> str:
    """The repr of a value for a message, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def problem_at(path: str, line: int | None, text: str) -> Problem:
    """The problem described by an error message, as a single line without the file and line number."""
    return Problem(line, text.removeprefix(at(path, line, "")).replace("\n", " "))


class Cut(Struct, frozen=True):
    """A position between two sentences: the index of the next sentence, its first token, line and byte."""

    sentence: int
    token: int
    line: int
    byte: int


class Before(Struct, frozen=True):
    """The state left by the records before a part: the current document, and how many have begun."""

    document: str | None = None
    begun: int = 0


class CutSource:
    """The sizes that every source cut into parts has in common."""

    __slots__ = ()
    cuts: tuple[Cut, ...]  # the beginning, every cut and the end

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.cuts[-1].sentence

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return self.cuts[-1].token

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.cuts) - 1


class Cutting(Struct, frozen=True, eq=False):
    """How to cut a file: into parts of at least `tokens` tokens, or before the given `sentences`.

    A `merged` file holds gold and predictions. Parsed rows are added to `keep` while there is room.
    """

    tokens: int = 0
    sentences: Sequence[int] | None = None
    merged: bool = False
    keep: KeptRows | None = None


def _unread(source: object, options: Options) -> Annotation:
    raise ChoiceError("the format can be written, not read.\nRead another one.")


class Format(Struct, frozen=True):
    """A file format for annotations.

    `recognise(file)` inspects the file's `head` and `suffix` and returns the evidence in words, or None.
    `records(part, options)` yields a `Record` for each sentence or text in some lines of a file, and a
    `Problem` for each line that cannot be read; whole files, parts and lists of problems derive from it.
    `border(data)` is the number of leading bytes that are complete records, by default up to the last blank
    line. If files are JSON lists, `no_list` is what to say of others, and the part holds items of the list.
    `opened(file, options)` returns what there is to know of a file as a whole. Of it are used, if they exist:
    `units` (the documents of a file that consists of several; the part holds some of them), `layer` (the one
    that is read if only one of the `layers` is wanted), `evidence`, `notes`, `left_out`, `sha256`, `check()`
    and `reopened()`. `layers` says which kinds of annotation a file holds beside each other.
    `evidence` says what is read, if `recognise` does not, and `empty` what to say of a file without records.
    A format that does better without records has instead a function `read(source, options)`, which takes
    a `File`, or an object for which `accepts` returned true.
    `write(annotation, scheme)` returns the bytes of a file. If that has no place for the scores of mentions,
    `write_scored` returns those of a file with a `score_column`. `write_folder(annotation, folder)` writes a
    format that consists of several files.
    `problems(file, options)` lists all errors, where `read` would stop at the first.
    `layered(object)` tells whether an object holds gold and predictions, for `read_layers`, and
    `read_annotators(file, options)` returns the annotation of each annotator in a file, or None if it
    distinguishes none.
    `survey(file, options, cutting)` scans a file once and decides where to cut it into parts, so that
    it never has to fit in memory; it returns None if the file must be read whole. `keeps_rows` means that
    the survey keeps the parsed rows while there is room, and that `read` and `read_layers` take a third
    argument, as those that derive from records do: the interner with the words of earlier files, to which the
    words of this file are added.
    `holds` names what a written file can hold beside flat mentions, in the words of `ASPECTS`; None if the
    format does not declare it, so that only reading a file back shows what it lost.

    Examples:
        >>> def records(part, options):
        ...     for number, line in part.lines():
        ...         yield Record(line.split(), line=number)
        >>> Format("words", "one sentence per line", lambda file: None, records).suffixes
        ()
    """

    name: str
    summary: str
    recognise: Callable[[File], str | None]
    records: Callable[[Part, Options], Iterator[Record | Problem | Batch]] | None = None
    border: Callable[[bytes], int] | None = None
    no_list: str = ""
    evidence: str = ""
    empty: str = ""
    opened: Callable[[File, Options], Any] | None = None
    layers: Mapping[str, str] = field(default_factory=dict)
    read: Callable[..., Annotation] = _unread
    write: Callable[[Annotation, str | None], bytes] | None = None
    write_scored: Callable[[Annotation, str | None], bytes] | None = None
    score_column: int | None = None
    suffixes: tuple[str, ...] = ()
    source: str = ""
    accepts: Callable[[object], bool] | None = None
    read_layers: Callable[..., dict[str, Annotation]] | None = None
    problems: Callable[[File, Options], list[Problem]] | None = None
    write_folder: Callable[[Annotation, str | os.PathLike[str]], object] | None = None
    layered: Callable[[object], bool] | None = None
    read_annotators: Callable[[File, Options], dict[str, Annotation] | None] | None = None
    survey: Callable[[File, Options, Cutting], CutSource | None] | None = None
    keeps_rows: bool = False
    holds: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.records is not None:
            for step in ("read", "survey", "problems", *(["read_layers"] if self.layers else [])):
                if getattr(self, step) in (None, _unread):
                    force_setattr(self, step, self._derived(step))

    @property
    def interning(self) -> bool:
        """Whether `read` and `read_layers` take the words of earlier files."""
        return self.records is not None or self.keeps_rows

    @property
    def keeps_scores(self) -> bool:
        """Whether the scores of mentions can be written."""
        return self.write_scored is not None or "scores" in (self.holds or ())

    def _derived(self, step: str) -> Callable[..., Any]:
        return lambda file, *given: resolve(f"formats._records:{step}")(self, file, *given)


def numbered_column(number: int, width: int, path: str, line: int | None = None) -> int:
    """The index of a column, from 0; negative numbers count from the end."""
    if not -width <= number < width:
        raise InputError(
            at(path, line, f"there is no column {number}: the columns are 0 to {width - 1} "
               f"(or -{width} to -1).\nName another column.")
        )  # fmt: skip
    return number % width


def is_plainly_tagged(file: File) -> bool:
    """Whether a file's suffix and first lines show that it contains only tokens and tags.

    Such a file need not be offered to every format, which saves importing their modules.
    """
    if file.suffix not in ("", ".conll", ".bio", ".iob", ".iob2", ".txt") or file.is_folder:
        return False
    lines = [line.split() for line in file.head[:2000].split(b"\n")[:-1]]
    rows = [fields for fields in lines if fields and fields[0] != b"-DOCSTART-"]
    last = [fields[-1].decode("utf-8", "replace") for fields in rows if len(fields) > 1]
    return len(last) == len(rows) > 0 and not any(map(malformed, last))


def annotated(corpus: Corpus, tags: Tags, options: Options, reading: Reading) -> Annotation:
    """The annotation of a corpus from its tags, decoded in the declared or the recognised scheme."""
    locate = partial(_place, corpus)
    tags = options.spelled(tags)
    try:
        checked(tags, locate=locate)
    except InputError as error:
        words = [corpus.vocabulary[code] for code in distinct(corpus.tokens).tolist()]
        raise InputError(f"{error}{swapped_columns(words)}") from None
    recognised = recognise(tags, prefer=options.prefer)
    if options.declared is not None:
        scheme, evidence = options.declared, f"{options.scheme}, as declared"
    else:
        scheme, evidence = recognised.scheme, recognised.evidence
    decoded = decode(tags, scheme, repair=options.repair, locate=locate)
    return Annotation(
        corpus,
        decoded.mentions,
        replace(
            reading,
            scheme=scheme,
            evidence="; ".join(part for part in (reading.evidence, evidence) if part),
            repair=options.repair,
            repairs=decoded.repairs,
            tags_fit=recognised.fitting,
            notes=(*reading.notes, *label_notes(decoded.mentions)),
        ),
    )


def swapped_columns(words: Sequence[str]) -> str:
    """What to add to an error about tags if the words are tags instead."""
    if not words or any(map(malformed, words)):
        return ""
    return "\nThe tokens are tags: swap the columns, for example with token_column=1 and tag_column=0."


def no_token(path: str) -> InputError:
    """The error for a file without tokens."""
    return InputError(at(path, None, NO_TOKENS))


def _place(corpus: Corpus, sentence: int, token: int) -> str:
    """`file:line` of a token; without lines, as in lists, the numbers of its sentence and token."""
    where = corpus.place(sentence, token)
    return where if where != corpus.source.path else f"{where}: sentence {sentence + 1}, token {token + 1}"


def wrong_width(layout: Layout, line: int, columns: int) -> str:
    """The error message for a line with the wrong number of columns."""
    seen = f"{columns} column" + ("s" if columns != 1 else "")
    return at(
        layout.path,
        line,
        f"the line has {seen}, but there are {layout.width} from line {layout.first_line} on "
        f"(columns are separated by {layout.between}).\n"
        "Fix the line; if it is a comment, name the comment mark; if blanks and tabs are mixed, "
        "name the separator.",
    )


def left_out_notes(comments: int, labeled_marks: int) -> list[str]:
    """Notes on lines whose content was left out."""
    were = "was" if comments == 1 else "were"
    notes = [f"{many(comments, 'comment line')} {were} left out"] if comments else []
    if labeled_marks:
        notes.append(f"tags of {many(labeled_marks, '-DOCSTART- line')} left out")
    return notes


def label_notes(mentions: Mentions) -> list[str]:
    """A note for each label that contains white space, naming its twin without it, if there is one."""
    notes = []
    plain: dict[str, str] = {}
    for label in sorted(mentions.labels, key=lambda name: (len(name), name)):
        bare = "".join(label.split())
        if bare != label:
            twin = plain.get(bare)
            beside = f"; without it there is {twin!r}" if twin else ""
            kind = "a no-break space" if "\xa0" in label else "white space"
            notes.append(f"the label {label!r} holds {kind}{beside}")
        plain.setdefault(bare, label)
    return notes


def impossible_tags(tags: Tags, options: Options, line: Callable[[int, int], int | None]) -> list[Problem]:
    """A problem for each impossible tag, with the tag that conlleval's interpretation implies."""
    tags = options.spelled(tags)
    scheme = options.declared or recognise(tags, prefer=options.prefer).scheme
    listed = impossible(tags, scheme)
    if not listed:
        return []
    lengths = ints(np.diff(tags.sentences))
    fixed: Tags | None = None
    if scheme != "IO":  # IO cannot express everything that conlleval accepts
        fixed = encode(decode(tags, scheme).mentions, lengths, scheme)
    problems = []
    for sentence, token, tag, reason in listed:
        advice = ""
        if fixed is not None:
            better = fixed.names[fixed.codes[tags.sentences[sentence] + token]]
            advice = f" Write {better!r}." if better != tag else " Rewrite the tag before it."
        problems.append(
            Problem(
                line(sentence, token), f"the tag {tag!r} is impossible in {scheme}: {reason}.{advice}", True
            )
        )
    return problems


def in_tokens(annotation: Annotation) -> Annotation:
    """The annotation with mention positions converted from characters to tokens.

    A mention that does not begin and end at token boundaries is an error, as tokens cannot express it.
    """
    corpus, mentions = annotation.corpus, annotation.mentions
    if corpus.unit == "token":
        return annotation
    if corpus.token_start is None or corpus.token_end is None or mentions.parts is not None:
        raise InputError(
            f"{annotation.reading.path}: some mentions are discontinuous, which cannot be written by "
            "tokens.\n"
            "Write jsonl instead."
        )
    # Shift each sentence by a stride longer than any text, so that one search covers all sentences.
    stride = 1 + int(max(mentions.end.max(initial=0), corpus.token_end.max(initial=0)))
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    starts, ends = owner + corpus.token_start, owner + corpus.token_end
    first = np.searchsorted(starts, mentions.sentence * stride + mentions.start)
    last = np.searchsorted(ends, mentions.sentence * stride + mentions.end)
    fits = np.zeros(len(mentions), dtype=bool)
    inside = (first < len(starts)) & (last < len(ends))
    fits[inside] = (starts[first[inside]] == (mentions.sentence * stride + mentions.start)[inside]) & (
        ends[last[inside]] == (mentions.sentence * stride + mentions.end)[inside]
    )
    if not fits.all():
        sentence, start, end, label = mentions.rows()[int((~fits).argmax())]
        text = (corpus.texts or ())[sentence][max(start, 0) : end]
        raise InputError(
            f"{corpus.place(sentence)}: the mention {label} [{start}, {end}), {text!r}, begins or ends "
            "inside a token.\nWrite jsonl, which keeps characters."
        )
    base = corpus.sentences[mentions.sentence]
    moved = replace(mentions, start=ints(first - base), end=ints(last + 1 - base))
    return replace(annotation, corpus=replace(corpus, unit="token", texts=None), mentions=moved)


def is_position(text: str) -> bool:
    """Whether the text is a non-negative whole number that fits in 64 bits."""
    return text.isascii() and text.isdecimal() and len(text) < 19


# Where each format is defined, in the order in which they are tried; the last one accepts any file.
_HOMES = (
    "tables:ARROW", "spacy_docs:FORMAT", "inception:PROJECT", "standoff:BRAT", "inception:WEBANNO",
    "tsv:HIPE", "tsv:CONLLU", "standoff:PUBTATOR", "label_studio:FORMAT", "w2ner:FORMAT", "inception:XMI",
    "flair:FORMAT", "tables:FRAMES", "jsonl:FORMAT", "spans:FORMAT", "conll:FORMAT",
)  # fmt: skip


class _Formats(Registry[Format]):
    """The registry of formats, which imports them on first use."""

    _complete = False

    def _load(self) -> None:
        if not self._complete:
            # Import all before adding any, so that a failed import leaves the registry empty.
            formats: list[Format] = [resolve(f"formats.{home}") for home in _HOMES]
            self._complete = True
            for form in formats:
                self.add(form)
        super()._load()

    def find(self, name: str | Format) -> Format:
        """The format called `name`; a common format is imported without the others."""
        if name in ("conll", "jsonl", "spans") and not self._complete:
            form: Format = resolve(f"formats.{name}:FORMAT")
            return form
        return super().find(name)


FORMATS: Registry[Format] = _Formats("format", group="spanwise.formats")


def layers_of(source: object, options: Options) -> dict[str, Annotation] | None:
    """Gold and predictions of an object that holds both, such as spaCy Examples; None for other objects."""
    for form in FORMATS:
        if form.layered is not None and form.read_layers is not None and form.layered(source):
            return form.read_layers(source, options)
    return None


def format_of(file: File, format: str | Format | None) -> Format:
    """The given format, or the first one that recognises the file."""
    if format is not None:
        return FORMATS.find(format)
    if file.recognised is None:
        file.recognised = _recognised(file)
    return file.recognised


def _recognised(file: File) -> Format:
    # If suffix and content make the format obvious, skip the import of all the others.
    if is_plainly_tagged(file):
        return FORMATS.find("conll")
    spans = FORMATS.find("spans")
    if file.suffix in spans.suffixes and spans.recognise(file) is not None:
        return spans
    # CoNLL columns come last: any text file passes, so plugin formats must be tried first.
    for form in sorted(FORMATS, key=lambda form: form.name == "conll"):
        if form.recognise(file) is not None:
            return form
    raise InputError(file.no_file())  # only folders are left: every file is accepted as columns
