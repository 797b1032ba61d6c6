"""UIMA CAS in XMI, as INCEpTION and DKPro export it, and GATE's XML documents; entities are not expanded."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at
from spanwise.formats._format import Format, Options
from spanwise.formats._opening import UTF8, File
from spanwise.formats._standoff import Origin, Standoff, annotation

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
class _Found:
    """What the parser has met: texts, annotations as (type, attributes, line), and GATE's nodes."""

    texts: dict[str, str] = field(default_factory=dict)
    annotations: list[tuple[str, dict[str, str], int]] = field(default_factory=list)
    nodes: dict[str, int] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    units: int = 0  # of UTF-16 in the text so far
    gate: bool = False


def read(file: File, options: Options) -> Annotation:
    """The mentions of one document, in characters of its text.

    Of a CAS: annotations of the type NamedEntity by their feature `value`, of GATE: the types of annotations
    as labels. `tag_column="Type"` or `"Type.feature"` names others. Offsets are UTF-16 in both and converted.
    """
    found = _parsed(file)
    text = "".join(found.text) if found.gate else next(iter(found.texts.values()), None)
    if text is None:
        raise InputError(
            at(file.path, None, "the file has no text: neither a Sofa with a sofaString nor TextWithNodes.\n"
               "Export the document with its text.")
        )  # fmt: skip
    place = _from_utf16(text)
    mentions: list[tuple[Pieces, str]] = []
    for label, attributes, line in _chosen(found, options, file.path):
        try:
            start, end = _offsets(attributes, found)
            mentions.append((((place(start), place(end)),), label))
        except (KeyError, ValueError):
            raise InputError(
                at(file.path, line, f"the annotation of {label} has no valid offsets: {attributes!r}.\n"
                   "Expected begin and end, or StartNode and EndNode.")
            ) from None  # fmt: skip
    evidence = "a GATE document" if found.gate else "a UIMA CAS in XMI"
    unit = Standoff(text, mentions, file.name.rpartition(".")[0])
    return annotation([unit], Origin(file.path, "xmi", evidence, file.sha256), options)


def _offsets(attributes: Mapping[str, str], found: _Found) -> tuple[int, int]:
    if found.gate:
        return found.nodes[attributes["StartNode"]], found.nodes[attributes["EndNode"]]
    return _position(attributes["begin"]), _position(attributes["end"])


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ValueError(text)
    return int(text)


def _chosen(found: _Found, options: Options, path: str) -> list[tuple[str, dict[str, str], int]]:
    """The annotations that are mentions, with their label in place of the type."""
    kinds = Counter(kind for kind, _, _ in found.annotations if kind not in _NO_MENTIONS)
    wanted, _, feature = str(options.tag_column or "").partition(".")
    if not wanted and not found.gate:
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
    for kind, attributes, line in found.annotations:
        if kind == wanted or (not wanted and kind not in _NO_MENTIONS):
            names = (feature,) if feature else () if found.gate else _FEATURES
            label = next((attributes[name] for name in names if attributes.get(name)), kind)
            result.append((label, attributes, line))
    return result


def _from_utf16(text: str) -> Any:
    """From an offset in UTF-16 units, as Java counts, to one in characters."""
    wide = [i for i, character in enumerate(text) if character > "\uffff"]
    units = [i + before for before, i in enumerate(wide)]
    return lambda offset: offset - bisect_left(units, offset)


def _parsed(file: File) -> _Found:
    found = _Found()
    parser = expat.ParserCreate(None if file.encoding in UTF8 else "UTF-8", " ")
    state = {"nodes": False, "feature": "", "part": ""}

    def refuse(*_: Any) -> None:
        raise InputError(
            at(file.path, parser.CurrentLineNumber, "the file declares a document type or entities, which "
               "are not expanded.\nRemove the declaration.")
        )  # fmt: skip

    def start(name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        line = parser.CurrentLineNumber
        if kind == "TextWithNodes":
            found.gate, state["nodes"] = True, True
        elif kind == "Node" and state["nodes"]:
            found.nodes[attributes.get("id", "")] = found.units
        elif kind == "Annotation" and "StartNode" in attributes:
            found.annotations.append((attributes.get("Type", ""), dict(attributes), line))
        elif kind == "Sofa":
            if "sofaString" in attributes:
                found.texts[attributes.get("sofaNum", "1")] = attributes["sofaString"]
        elif "begin" in attributes and "end" in attributes:
            found.annotations.append((kind, dict(attributes), line))
        elif kind in ("Name", "Value"):
            state["part"] = kind

    def end(name: str) -> None:
        if name.rpartition(" ")[2] == "TextWithNodes":
            state["nodes"] = False
        state["part"] = ""

    def characters(data: str) -> None:
        if state["nodes"]:
            found.text.append(data)
            found.units += len(data.encode("utf-16-le")) // 2
        elif state["part"] == "Name":
            state["feature"] = data
        elif state["part"] == "Value" and found.annotations:
            # GATE keeps the features of an annotation as elements behind it.
            found.annotations[-1][1].setdefault(str(state["feature"]), data)

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
    return found


def recognise(file: Any) -> str | None:
    """XML that begins with an XMI or a GateDocument element."""
    if not file.head.lstrip().startswith(b"<"):
        return None
    if b":XMI" in file.head[:4096]:
        return "XML of a UIMA CAS (XMI)"
    return "XML of a GateDocument" if b"<GateDocument" in file.head[:4096] else None


FORMAT = Format(
    name="xmi",
    summary="UIMA CAS XMI (WebAnno, INCEpTION, DKPro) and GATE XML",
    read=read,
    recognise=recognise,
    suffixes=(".xmi",),
    source="https://uima.apache.org, https://gate.ac.uk/userguide/sec:corpora:xml",
)
