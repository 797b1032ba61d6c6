"""The export formats of INCEpTION: WebAnno TSV 3, UIMA CAS XMI and whole projects; also GATE's XML."""

from __future__ import annotations

import io
import re
import zipfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO
from xml.parsers import expat

import numpy as np
from msgspec.structs import replace

from spanwise.columns import ints
from spanwise.corpus import Annotation, Corpus, Mentions, Pieces, Source
from spanwise.errors import InputError, at, many
from spanwise.formats import webanno
from spanwise.formats._format import Format, Options
from spanwise.formats._interning import Interner
from spanwise.formats._opening import UTF8, File
from spanwise.formats._records import RecordReader, read_documents
from spanwise.formats._sentences import (
    Origin,
    Part,
    Record,
    annotation,
    by_sentence,
    tokens_for,
    with_documents,
)
from spanwise.formats._surveying import Batch, joined
from spanwise.hashing import sha256_in

_NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"


def _escaped(text: str) -> str:
    return re.sub(r"([\\\[\]|_;*\t\n]|->)", r"\\\1", text)


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a TSV 3.3 file with the layer NamedEntity, in which multi-token mentions are numbered."""
    annotation = tokens_for(annotation, "webanno", tokens="\t\n\r", labels="\t\n\r", empty=False)
    out = ["#FORMAT=WebAnno TSV 3.3\n", f"#T_SP={_NAMED_ENTITY}|identifier|value\n", "\n"]
    position, identity = 0, 0
    for number, mentions in enumerate(by_sentence(annotation)):
        words = annotation.corpus.words(number)
        labels: list[list[str]] = [[] for _ in words]
        for pieces, label in mentions:
            tokens = [token for start, end in pieces for token in range(start, end)]
            mark = _escaped(label)
            if len(tokens) > 1 or any(labels[token] for token in tokens):
                identity += 1
                mark += f"[{identity}]"
            for token in tokens:
                labels[token].append(mark)
        ids = annotation.corpus.ids
        name = f"{webanno.SENTENCE_ID}{_escaped(ids[number])}\n" if ids and ids[number] else ""
        out.append(f"\n{name}#Text={' '.join(words)}\n")
        for index, (word, marks) in enumerate(zip(words, labels, strict=True), start=1):
            value = "|".join(marks) or "_"
            empty = "|".join(re.sub(r"^.*?(\[\d+\])?$", r"*\1", mark) for mark in marks) or "_"
            out.append(
                f"{number + 1}-{index}\t{position}-{position + len(word)}\t"
                f"{_escaped(word)}\t{empty}\t{value}\t\n"
            )
            position += len(word) + 1
    return "".join(out).encode("utf-8")


def recognise_webanno(file: File) -> str | None:
    """Recognise `#FORMAT=WebAnno TSV 3` in the first line."""
    return "'#FORMAT=WebAnno TSV 3'" if file.head.startswith(b"#FORMAT=WebAnno TSV 3") else None


WEBANNO = Format(
    name="webanno",
    summary="WebAnno and INCEpTION TSV 3",
    recognise=recognise_webanno,
    records=webanno.records,
    opened=webanno.webanno_layer,
    write=write,
    holds=frozenset(("words", "tokens", "sentences", "sentence ids", "nested", "discontinuous")),
    source="https://webanno.github.io/webanno/releases/3.6.7/docs/user-guide.html#sect_webannotsv",
)


# Types of technical and syntactic annotations, which are not mentions.
_TECHNICAL = frozenset(
    ("Sofa", "View", "DocumentAnnotation", "DocumentMetaData", "TagsetDescription", "TagDescription")
)
_NO_MENTIONS = _TECHNICAL | frozenset(
    (
        *("Sentence", "Token", "SpaceToken", "Lemma", "Stem", "POS", "Dependency", "ROOT", "Split"),
        *("Lookup", "paragraph", "Paragraph"),
    )
)
_POSITIONS = frozenset(("begin", "end", "id", "sofa", "Id", "Type", "StartNode", "EndNode"))
_FEATURES = ("value", "label", "kind", "category", "identifier", "type")


def read_xmi(file: File, options: Options) -> Annotation:
    """Read the mentions of one document, in characters of its text.

    In a CAS, mentions are the annotations of the type NamedEntity, labeled by their feature `value`; in a
    GATE document, all annotations, labeled by their types. `tag_column="Type"` or `"Type.feature"` selects
    others. The UTF-16 offsets of both formats are converted to characters.
    """
    unit, evidence = _text_of(file, options)
    return annotation([unit], Origin(file.path, "xmi", evidence, file.sha256), options)


def _text_of(file: File, options: Options) -> tuple[Record, str]:
    """The text of a document with its mentions, and a description of the kind of document."""
    xml = _ParsedXml(file)
    text = "".join(xml.text) if xml.gate else next(iter(xml.texts.values()), None)
    if text is None:
        raise InputError(
            at(file.path, None, "the file has no text: neither a Sofa with a sofaString nor TextWithNodes.\n"
               "Export the document with its text.")
        )  # fmt: skip
    position = _from_utf16(text)
    mentions: list[tuple[Pieces, str]] = []
    for label, attributes, line in _chosen(xml, options, file.path):
        try:
            start, end = _offsets(attributes, xml)
            mentions.append((((position(start), position(end)),), label))
        except (KeyError, ValueError):
            raise InputError(
                at(file.path, line, f"the annotation of {label} has no valid offsets: {attributes!r}.\n"
                   "Expected begin and end, or StartNode and EndNode.")
            ) from None  # fmt: skip
    evidence = "a GATE document" if xml.gate else "a UIMA CAS in XMI"
    return Record(text, mentions, file.name.rpartition(".")[0]), evidence


def unread_of_xml(file: File, options: Options) -> tuple[Counter[str], set[str]]:
    """The number of annotations by type that are not mentions, and the unread features of mentions."""
    xml = _ParsedXml(file)
    chosen = _chosen(xml, options, file.path)
    mentions = {id(attributes) for _, attributes, _ in chosen}
    kinds = Counter(
        kind
        for kind, attributes, _ in xml.annotations
        if kind not in _TECHNICAL and id(attributes) not in mentions
    )
    features: set[str] = set()
    for label, attributes, _ in chosen:
        names = {name.rpartition(" ")[2]: value for name, value in attributes.items() if value}
        read = next((name for name, value in names.items() if value == label), "")
        features |= names.keys() - _POSITIONS - {read}
    return kinds, features


def _offsets(attributes: Mapping[str, str], xml: _ParsedXml) -> tuple[int, int]:
    if xml.gate:
        return xml.nodes[attributes["StartNode"]], xml.nodes[attributes["EndNode"]]
    return _position(attributes["begin"]), _position(attributes["end"])


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ValueError(text)
    return int(text)


def _chosen(xml: _ParsedXml, options: Options, path: str) -> list[tuple[str, dict[str, str], int]]:
    """The annotations that are mentions, as (label, attributes, line)."""
    kinds = Counter(kind for kind, _, _ in xml.annotations if kind not in _NO_MENTIONS)
    wanted, _, feature = str(options.tag_column or "").partition(".")
    if not wanted and not xml.gate:
        wanted = "NamedEntity" if "NamedEntity" in kinds or len(kinds) != 1 else next(iter(kinds))
    if wanted and wanted not in kinds:
        available = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(kinds.items())) or "none"
        raise InputError(
            at(
                path,
                None,
                f"no annotation has the type {wanted!r}.\nName one with tag_column; there are: {available}.",
            )
        )
    result = []
    for kind, attributes, line in xml.annotations:
        if kind == wanted or (not wanted and kind not in _NO_MENTIONS):
            names = (feature,) if feature else () if xml.gate else _FEATURES
            label = next((attributes[name] for name in names if attributes.get(name)), kind)
            result.append((label, attributes, line))
    return result


def _from_utf16(text: str) -> Callable[[int], int]:
    """A function that converts offsets in UTF-16 code units, as Java counts, to characters."""
    wide = [i for i, character in enumerate(text) if character > "\uffff"]
    units = [i + before for before, i in enumerate(wide)]
    return lambda offset: offset - bisect_left(units, offset)


class _ParsedXml:
    """The content of an XML file: texts, annotations as (type, attributes, line), and GATE's nodes."""

    def __init__(self, file: File) -> None:
        self.texts: dict[str, str] = {}
        self.annotations: list[tuple[str, dict[str, str], int]] = []
        self.nodes: dict[str, int] = {}
        self.text: list[str] = []  # of GATE
        self.gate = False
        self._units = 0  # UTF-16 code units in the text so far
        self._in_nodes, self._part, self._feature = False, "", ""
        self._path = file.path
        self._parser = expat.ParserCreate(None if file.encoding in UTF8 else "UTF-8", " ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parse(file.data)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)
        except (LookupError, ValueError) as error:
            raise InputError(
                at(
                    self._path, 1, f"the encoding that the file declares is not known ({error}).\n"
                    "Declare UTF-8."
                )
            ) from None  # fmt: skip
        except expat.ExpatError as error:
            message = f"this is not XML ({expat.ErrorString(error.code)}).\nIs the file complete?"
            raise InputError(at(self._path, error.lineno, message)) from None

    def _refuse(self, *_: object) -> None:
        raise InputError(
            at(self._path, self._parser.CurrentLineNumber, "the file declares a document type or entities, "
               "which are not expanded.\nRemove the declaration.")
        )  # fmt: skip

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        line = self._parser.CurrentLineNumber
        if kind == "TextWithNodes":
            self.gate = self._in_nodes = True
        elif kind == "Node" and self._in_nodes:
            self.nodes[attributes.get("id", "")] = self._units
        elif kind == "Annotation" and "StartNode" in attributes:
            self.annotations.append((attributes.get("Type", ""), dict(attributes), line))
        elif kind == "Sofa":
            if "sofaString" in attributes:
                self.texts[attributes.get("sofaNum", "1")] = attributes["sofaString"]
        elif "begin" in attributes and "end" in attributes:
            self.annotations.append((kind, dict(attributes), line))
        elif kind in ("Name", "Value"):
            self._part = kind

    def _end(self, name: str) -> None:
        if name.rpartition(" ")[2] == "TextWithNodes":
            self._in_nodes = False
        self._part = ""

    def _characters(self, data: str) -> None:
        if self._in_nodes:
            self.text.append(data)
            self._units += len(data.encode("utf-16-le")) // 2
        elif self._part == "Name":
            self._feature = data
        elif self._part == "Value" and self.annotations:
            # GATE writes the features of an annotation as child elements.
            self.annotations[-1][1].setdefault(self._feature, data)


def recognise_xmi(file: File) -> str | None:
    """Recognise XML that begins with an XMI or a GateDocument element."""
    if not file.head.lstrip().startswith(b"<"):
        return None
    if b":XMI" in file.head[:4096]:
        return "XML of a UIMA CAS (XMI)"
    return "XML of a GateDocument" if b"<GateDocument" in file.head[:4096] else None


XMI = Format(
    name="xmi",
    summary="UIMA CAS XMI (WebAnno, INCEpTION, DKPro) and GATE XML",
    read=read_xmi,
    recognise=recognise_xmi,
    suffixes=(".xmi",),
    source="https://uima.apache.org, https://gate.ac.uk/userguide/sec:corpora:xml",
)


# ---- projects: a folder or an archive with one file per document and annotator ----

_LAYERS = ("annotation", "curation")  # the folders of a project, with a subfolder for each document
_CURATOR = "CURATION_USER"
_NOBODY = "INITIAL_CAS"  # the document before anyone annotated it
_SUFFIXES = (".tsv", ".xmi", ".zip")

Work = dict[str, dict[str, str]]  # file names by annotator and document


def records(part: Part, options: Options) -> Iterator[Record | Batch]:
    """The documents of a project, each as one person annotated it."""
    for document, name in part.items:
        yield part.head.read(document, name, part.words or Interner())


def by_annotator(file: File, options: Options) -> dict[str, Annotation]:
    """The annotation of each annotator of a project, excluding the curator, who adjudicates between them."""
    work = Project(file, options).work()
    people = {who: own for who, own in sorted(work.items()) if who != _CURATOR}
    return {who: read_documents(PROJECT, Project(file, options, own), file) for who, own in people.items()}


def opened(file: File, options: Options) -> Project:
    """A project with the documents of one person or of the curator.

    If several people annotated a document, `options.annotator` chooses one of them.
    """
    from spanwise.formats.annotators import check_annotator, refuse_shared

    project = Project(file, options)
    work = project.work()
    if options.annotator is None:
        refuse_shared(project.path, {who: [*own] for who, own in work.items()})
        chosen = {document: name for own in work.values() for document, name in own.items()}
    else:
        check_annotator(options.annotator, work)
        chosen = work[options.annotator]
    absent = {document for own in work.values() for document in own} - set(chosen)
    notes = [f"{many(len(absent), 'document')} without a file of {options.annotator}"] if absent else []
    return Project(file, options, chosen, notes)


class Project:
    """A project folder or archive with the file of each chosen document; files are opened one at a time."""

    def __init__(
        self, file: File, options: Options, chosen: Mapping[str, str] = {}, notes: Sequence[str] = ()
    ) -> None:
        self._file, self.path, self.options, self.notes = file, file.path, options, notes
        self._archive = None if file.is_folder else _archive(file.seekable(), file.path)
        self.units = sorted(chosen.items())
        self._kinds: set[str] = set()
        self._types: set[str] = set()

    def reopened(self) -> Project:
        """The same project with an archive of its own."""
        return Project(File(self.path), self.options, dict(self.units))

    @property
    def evidence(self) -> str:
        """A description of the documents that have been read."""
        return f"{many(len(self.units), 'document')} of a project; {', '.join(sorted(self._kinds))}"

    def check(self) -> None:
        """Refuse documents of both kinds, of which only one has tokens."""
        if len(self._types) > 1:
            raise InputError(
                at(self.path, None, "some documents are TSV and some are XMI.\nExport all in one format.")
            )

    @property
    def sha256(self) -> str | None:
        """The hash of an archive; None for a folder."""
        return None if self._archive is None else self._file.sha256 or sha256_in(self._file.seekable())

    def work(self) -> Work:
        """The files of annotated documents, by annotator and document."""
        work: Work = {}
        for name in self._names():
            *_, layer, document, person = PurePosixPath(name).parts
            who = person.rpartition(".")[0]
            if who != _NOBODY and (layer == "curation") == (who == _CURATOR):
                work.setdefault(who, {})[document] = name
        if not work:
            raise InputError(
                at(self.path, None, "the project has no annotated document in TSV or XMI.\n"
                   "Export it in the format WebAnno TSV 3 or UIMA CAS XMI.")
            )  # fmt: skip
        return work

    def _names(self) -> list[str]:
        """The paths of document files within the project, sorted."""
        if self._archive is not None:
            return sorted(filter(_is_work, self._archive.namelist()))
        paths = [path for path in Path(self.path).rglob("*") if path.is_file()]
        return sorted(filter(_is_work, (path.relative_to(self._top).as_posix() for path in paths)))

    @property
    def _top(self) -> Path:
        root = Path(self.path)
        return root.parent if root.name in _LAYERS else root

    def files(self) -> Iterator[File]:
        """The files of the chosen documents."""
        for _, name in self.units:
            yield self._opened(name)

    def read(self, document: str, name: str, words: Interner) -> Record | Batch:
        """The sentences or the text of a document."""
        part = self._opened(name)
        self._types.add(part.suffix)
        if part.suffix == ".xmi":
            text, kind = _text_of(part, self.options)
            self._kinds.add(kind)
            return replace(text, id=document, document=document)
        reader = RecordReader.of(WEBANNO, part, self.options)
        self._kinds.add(reader.kinds["only"])
        batches = reader.read(part, words)
        if not batches:
            return Batch(Corpus.of([]), mentions={"gold": Mentions.of([])})
        batch = joined(batches)
        # Line numbers are ambiguous across files, so messages name the document and the sentence.
        size = len(batch.corpus)
        corpus = replace(batch.corpus, source=Source(self.path))
        corpus = with_documents(corpus, [document] * size, self.options)
        return Batch(corpus, ints(np.zeros(size)), mentions={"gold": batch.mentions["only"]})

    def _opened(self, name: str) -> File:
        """A file of the project; if it is a nested archive, as for XMI, the document inside it."""
        path = f"{self.path}/{name}"
        if self._archive is None:
            options = self.options
            part = File(self._top / name, encoding=options.encoding, unpacked=options.limits.unpacked)
        else:
            entry = self._archive.getinfo(name)
            part = File.of_bytes(path, _unpacked(self._archive, entry, self.path, self.options))
        if part.suffix != ".zip":
            return part
        with _archive(io.BytesIO(part.stored), path) as archive:
            for entry in archive.infolist():
                if entry.filename.lower().endswith((".tsv", ".xmi")):
                    data = _unpacked(archive, entry, path, self.options)
                    return File.of_bytes(f"{path}/{entry.filename}", data)
        raise InputError(
            at(path, None, "the archive holds neither TSV nor XMI.\nExport in one of these formats.")
        )


def _is_work(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return len(parts) >= 3 and parts[-3] in _LAYERS and parts[-1].lower().endswith(_SUFFIXES)


def _archive(data: IO[bytes], path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(data)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise InputError(at(path, None, f"the archive cannot be read ({error}).\nIs it complete?")) from None


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str, options: Options) -> bytes:
    if entry.file_size > options.limits.unpacked and entry.file_size > 100 * entry.compress_size:
        raise InputError(
            at(path, None, f"{entry.filename} unpacks to more than {options.limits.unpacked:,} bytes, over a "
               "hundred times its own size.\n"
               "If this is intended, raise the limit with limits={'unpacked': …}.")
        )  # fmt: skip
    try:
        return archive.read(entry)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise InputError(
            at(path, None, f"{entry.filename} cannot be unpacked ({error}).\nIs the archive complete?")
        ) from None


def recognise_project(file: File) -> str | None:
    """Recognise a folder or an archive with document files in `annotation` or `curation`."""
    if file.is_folder:
        names = (
            f"{layer.name}/{path.relative_to(layer).as_posix()}"
            for layer in _folders(Path(file.path))
            for path in layer.glob("*/*")
        )
        return "a folder of an exported project" if any(map(_is_work, names)) else None
    if file.suffix != ".zip":
        return None
    try:
        with file.seekable() as stored, zipfile.ZipFile(stored) as archive:
            is_project = any(map(_is_work, archive.namelist()))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return None
    return "an archive of an exported project" if is_project else None


def _folders(root: Path) -> list[Path]:
    return [root] if root.name in _LAYERS else [root / layer for layer in _LAYERS]


PROJECT = Format(
    name="inception",
    summary="projects exported by INCEpTION or WebAnno (TSV 3 or XMI), as a folder or zip archive",
    recognise=recognise_project,
    records=records,
    opened=opened,
    read_annotators=by_annotator,
    source="https://inception-project.github.io/releases/latest/docs/user-guide.html#sect_projects_export",
)
