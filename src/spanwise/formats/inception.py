"""What INCEpTION exports: WebAnno TSV 3, UIMA CAS in XMI, whole projects; and GATE's XML."""

from __future__ import annotations

import io
import re
import zipfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

from msgspec.structs import replace

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at, many
from spanwise.formats._format import Format, Options
from spanwise.formats._interning import Interner
from spanwise.formats._opening import UTF8, File
from spanwise.formats._sentences import Origin, Standoff, annotation, by_sentence, tokens_for
from spanwise.formats._surveying import survey_lines
from spanwise.formats._webanno import annotation_of, sentences_of, webanno_reader

_NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"


def read_webanno(file: File, options: Options, words: Interner | None = None) -> Annotation:
    """The mentions of the layer NamedEntity (or the first span layer) by its feature `value` (or its first).

    `tag_column="Layer"` or `"Layer.feature"` names others. Mentions on parts of a token are on the token.
    """
    reader, words = webanno_reader(file, options), words or Interner()
    rows = reader.whole(file, words)
    return annotation_of(rows, words, Origin(file.path, "webanno", reader.evidence, file.sha256), options)


def _escaped(text: str) -> str:
    return re.sub(r"([\\\[\]|_;*\t\n]|->)", r"\\\1", text)


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """TSV 3.3 with the layer NamedEntity; mentions of several tokens are numbered, discontinuous ones too."""
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
        out.append(f"\n#Text={' '.join(words)}\n")
        for index, (word, here) in enumerate(zip(words, labels, strict=True), start=1):
            value = "|".join(here) or "_"
            empty = "|".join(re.sub(r"^.*?(\[\d+\])?$", r"*\1", mark) for mark in here) or "_"
            out.append(
                f"{number + 1}-{index}\t{position}-{position + len(word)}\t"
                f"{_escaped(word)}\t{empty}\t{value}\t\n"
            )
            position += len(word) + 1
    return "".join(out).encode("utf-8")


def recognise_webanno(file: File) -> str | None:
    """`#FORMAT=WebAnno TSV 3` in the first line."""
    return "'#FORMAT=WebAnno TSV 3'" if file.head.startswith(b"#FORMAT=WebAnno TSV 3") else None


WEBANNO = Format(
    name="webanno",
    summary="WebAnno and INCEpTION TSV 3",
    read=read_webanno,
    write=write,
    recognise=recognise_webanno,
    survey=partial(survey_lines, "webanno", webanno_reader),
    interning=True,
    source="https://webanno.github.io/webanno/releases/3.6.7/docs/user-guide.html#sect_webannotsv",
)


# Annotations of the machinery and of syntax, which are mentions of nothing.
_NO_MENTIONS = frozenset(
    (
        *("Sofa", "View", "DocumentAnnotation", "DocumentMetaData", "TagsetDescription", "TagDescription"),
        *("Sentence", "Token", "SpaceToken", "Lemma", "Stem", "POS", "Dependency", "ROOT", "Split"),
        *("Lookup", "paragraph", "Paragraph"),
    )
)
_FEATURES = ("value", "label", "kind", "category", "identifier", "type")


@dataclass
class _ParsedXml:
    """What the parser has met: texts, annotations as (type, attributes, line), and GATE's nodes."""

    texts: dict[str, str] = field(default_factory=dict)
    annotations: list[tuple[str, dict[str, str], int]] = field(default_factory=list)
    nodes: dict[str, int] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    units: int = 0  # of UTF-16 in the text so far
    gate: bool = False


def read_xmi(file: File, options: Options) -> Annotation:
    """The mentions of one document, in characters of its text.

    Of a CAS: annotations of the type NamedEntity by their feature `value`, of GATE: the types of annotations
    as labels. `tag_column="Type"` or `"Type.feature"` names others. Offsets are UTF-16 in both and converted.
    """
    unit, evidence = _text_of(file, options)
    return annotation([unit], Origin(file.path, "xmi", evidence, file.sha256), options)


def _text_of(file: File, options: Options) -> tuple[Standoff, str]:
    """The text of a document with its mentions, and what kind of document it is."""
    xml = _parsed(file)
    text = "".join(xml.text) if xml.gate else next(iter(xml.texts.values()), None)
    if text is None:
        raise InputError(
            at(file.path, None, "the file has no text: neither a Sofa with a sofaString nor TextWithNodes.\n"
               "Export the document with its text.")
        )  # fmt: skip
    place = _from_utf16(text)
    mentions: list[tuple[Pieces, str]] = []
    for label, attributes, line in _chosen(xml, options, file.path):
        try:
            start, end = _offsets(attributes, xml)
            mentions.append((((place(start), place(end)),), label))
        except (KeyError, ValueError):
            raise InputError(
                at(file.path, line, f"the annotation of {label} has no valid offsets: {attributes!r}.\n"
                   "Expected begin and end, or StartNode and EndNode.")
            ) from None  # fmt: skip
    evidence = "a GATE document" if xml.gate else "a UIMA CAS in XMI"
    return Standoff(text, mentions, file.name.rpartition(".")[0]), evidence


def _offsets(attributes: Mapping[str, str], xml: _ParsedXml) -> tuple[int, int]:
    if xml.gate:
        return xml.nodes[attributes["StartNode"]], xml.nodes[attributes["EndNode"]]
    return _position(attributes["begin"]), _position(attributes["end"])


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ValueError(text)
    return int(text)


def _chosen(xml: _ParsedXml, options: Options, path: str) -> list[tuple[str, dict[str, str], int]]:
    """The annotations that are mentions, with their label in place of the type."""
    kinds = Counter(kind for kind, _, _ in xml.annotations if kind not in _NO_MENTIONS)
    wanted, _, feature = str(options.tag_column or "").partition(".")
    if not wanted and not xml.gate:
        wanted = "NamedEntity" if "NamedEntity" in kinds or len(kinds) != 1 else next(iter(kinds))
    if wanted and wanted not in kinds:
        known = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(kinds.items())) or "none"
        raise InputError(
            at(
                path,
                None,
                f"no annotation has the type {wanted!r}.\nName one with tag_column; there are: {known}.",
            )
        )
    result = []
    for kind, attributes, line in xml.annotations:
        if kind == wanted or (not wanted and kind not in _NO_MENTIONS):
            names = (feature,) if feature else () if xml.gate else _FEATURES
            label = next((attributes[name] for name in names if attributes.get(name)), kind)
            result.append((label, attributes, line))
    return result


def _from_utf16(text: str) -> Any:
    """From an offset in UTF-16 units, as Java counts, to one in characters."""
    wide = [i for i, character in enumerate(text) if character > "\uffff"]
    units = [i + before for before, i in enumerate(wide)]
    return lambda offset: offset - bisect_left(units, offset)


def _parsed(file: File) -> _ParsedXml:
    xml = _ParsedXml()
    parser = expat.ParserCreate(None if file.encoding in UTF8 else "UTF-8", " ")
    state = {"nodes": False, "feature": "", "part": ""}

    def refuse(*_: object) -> None:
        raise InputError(
            at(file.path, parser.CurrentLineNumber, "the file declares a document type or entities, which "
               "are not expanded.\nRemove the declaration.")
        )  # fmt: skip

    def start(name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        line = parser.CurrentLineNumber
        if kind == "TextWithNodes":
            xml.gate, state["nodes"] = True, True
        elif kind == "Node" and state["nodes"]:
            xml.nodes[attributes.get("id", "")] = xml.units
        elif kind == "Annotation" and "StartNode" in attributes:
            xml.annotations.append((attributes.get("Type", ""), dict(attributes), line))
        elif kind == "Sofa":
            if "sofaString" in attributes:
                xml.texts[attributes.get("sofaNum", "1")] = attributes["sofaString"]
        elif "begin" in attributes and "end" in attributes:
            xml.annotations.append((kind, dict(attributes), line))
        elif kind in ("Name", "Value"):
            state["part"] = kind

    def end(name: str) -> None:
        if name.rpartition(" ")[2] == "TextWithNodes":
            state["nodes"] = False
        state["part"] = ""

    def characters(data: str) -> None:
        if state["nodes"]:
            xml.text.append(data)
            xml.units += len(data.encode("utf-16-le")) // 2
        elif state["part"] == "Name":
            state["feature"] = data
        elif state["part"] == "Value" and xml.annotations:
            # GATE keeps the features of an annotation as elements after it.
            xml.annotations[-1][1].setdefault(str(state["feature"]), data)

    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    try:
        parser.Parse(file.data, True)
    except (LookupError, ValueError) as error:
        raise InputError(
            at(file.path, 1, f"the encoding that the file declares is not known ({error}).\nDeclare UTF-8.")
        ) from None
    except expat.ExpatError as error:
        raise InputError(
            at(
                file.path,
                error.lineno,
                f"this is not XML ({expat.ErrorString(error.code)}).\nIs the file complete?",
            )
        ) from None
    return xml


def recognise_xmi(file: File) -> str | None:
    """XML that begins with an XMI or a GateDocument element."""
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


# ---- projects: a folder or an archive with a file per document and person ----

_LAYERS = ("annotation", "curation")  # the folders of a project that hold a folder for each document
_CURATOR = "CURATION_USER"
_NOBODY = "INITIAL_CAS"  # the document before anybody worked on it
_SUFFIXES = (".tsv", ".xmi", ".zip")

Work = dict[str, dict[str, File]]  # by person and document


def read_project(file: File, options: Options) -> Annotation:
    """The documents of a project as one person, or the curator, left them.

    Where several people worked on a document, `options.annotator` says whose work is meant.
    """
    from spanwise.formats.annotators import check_annotator, refuse_shared

    work = _work(file, options)
    if options.annotator is None:
        refuse_shared(file.path, {who: [*own] for who, own in work.items()})
        chosen = {name: part for own in work.values() for name, part in own.items()}
    else:
        check_annotator(options.annotator, work)
        chosen = work[options.annotator]
    absent = {name for own in work.values() for name in own} - set(chosen)
    notes = [f"{many(len(absent), 'document')} without a file of {options.annotator}"] if absent else []
    return _whole(file, chosen, options, notes)


def by_annotator(file: File, options: Options) -> dict[str, Annotation]:
    """The work of every annotator of a project; the curator, who decided between them, is not one of them."""
    work = _work(file, options)
    people = {who: own for who, own in sorted(work.items()) if who != _CURATOR}
    return {who: _whole(file, own, options) for who, own in people.items()}


def _whole(file: File, chosen: Mapping[str, File], options: Options, notes: Sequence[str] = ()) -> Annotation:
    units: list[Standoff] = []
    kinds: set[str] = set()
    for name, part in sorted(chosen.items()):
        if part.suffix == ".xmi":
            text, evidence = _text_of(part, options)
            units.append(replace(text, id=name, document=name))
        else:
            reader = webanno_reader(part, options)
            evidence = reader.evidence
            # Lines of many files would name no place: document and sentence do.
            units += [
                replace(sentence, document=name, line=None) for sentence in sentences_of(part, reader.layer)
            ]
        kinds.add(evidence)
    if len({isinstance(unit.body, str) for unit in units}) > 1:
        raise InputError(
            at(file.path, None, "some documents are TSV and some are XMI.\nExport all in one format.")
        )
    evidence = f"{many(len(chosen), 'document')} of a project; {', '.join(sorted(kinds))}"
    return annotation(units, Origin(file.path, "inception", evidence, file.sha256, notes), options)


def _work(file: File, options: Options) -> Work:
    work: Work = {}
    for name, part in _files(file, options):
        *_, layer, document, person = PurePosixPath(name).parts
        who = person.rpartition(".")[0]
        if who == _NOBODY or (layer == "curation") != (who == _CURATOR):
            continue
        if part.suffix == ".zip":
            part = _packed(part, f"{file.path}/{name}", options)
        work.setdefault(who, {})[document] = part
    if not work:
        raise InputError(
            at(file.path, None, "the project has no annotated document in TSV or XMI.\n"
               "Export it in the format WebAnno TSV 3 or UIMA CAS XMI.")
        )  # fmt: skip
    return work


def _files(file: File, options: Options) -> Iterator[tuple[str, File]]:
    """The files of documents, by their path in the project."""
    if file.is_folder:
        root = Path(file.path)
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root.parent).as_posix() if root.name in _LAYERS else ""
            name = name or path.relative_to(root).as_posix()
            if _is_work(name) and path.is_file():
                yield name, File(path, encoding=options.encoding, unpacked=options.limits.unpacked)
        return
    with _archive(file.stored, file.path) as archive:
        for entry in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if _is_work(entry.filename):
                data = _unpacked(archive, entry, file.path, options)
                yield entry.filename, File.of_bytes(f"{file.path}/{entry.filename}", data)


def _is_work(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return len(parts) >= 3 and parts[-3] in _LAYERS and parts[-1].lower().endswith(_SUFFIXES)


def _packed(part: File, path: str, options: Options) -> File:
    """The document in an archive of its own, in which XMI comes with its type system."""
    with _archive(part.stored, path) as archive:
        for entry in archive.infolist():
            if entry.filename.lower().endswith((".tsv", ".xmi")):
                return File.of_bytes(f"{path}/{entry.filename}", _unpacked(archive, entry, path, options))
    raise InputError(
        at(path, None, "the archive holds neither TSV nor XMI.\nExport in one of these formats.")
    )


def _archive(data: bytes, path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
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
    """A folder or an archive with files of documents in `annotation` or `curation`."""
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
        with zipfile.ZipFile(io.BytesIO(file.stored)) as archive:
            known = any(map(_is_work, archive.namelist()))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return None
    return "an archive of an exported project" if known else None


def _folders(root: Path) -> list[Path]:
    return [root] if root.name in _LAYERS else [root / layer for layer in _LAYERS]


PROJECT = Format(
    name="inception",
    summary="projects exported by INCEpTION or WebAnno (TSV 3 or XMI), as a folder or zip archive",
    read=read_project,
    recognise=recognise_project,
    read_annotators=by_annotator,
    source="https://inception-project.github.io/releases/latest/docs/user-guide.html#sect_projects_export",
)
