"""The formats that are known, and the one that recognises a file."""

from __future__ import annotations

from importlib import import_module

from spanwise.errors import InputError
from spanwise.formats._format import Format, is_plainly_tagged
from spanwise.formats._opening import File
from spanwise.registry import Registry

# One module a format, in the order in which a file is shown to them; the last one takes what is left.
_MODULES = (
    "arrow", "spacy_docs", "brat", "webanno", "hipe", "conllu", "pubtator", "label_studio", "w2ner", "xmi",
    "flair", "frames", "jsonl", "spans", "conll",
)  # fmt: skip


class _Formats(Registry[Format]):
    """The formats, imported when they are first asked for."""

    _complete = False

    def _load(self) -> None:
        if not self._complete:
            # All are imported before any is added, so that one that fails leaves nothing half-known.
            ours = [import_module(f"spanwise.formats.{module}").FORMAT for module in _MODULES]
            self._complete = True
            for known in ours:
                self.add(known)
        super()._load()

    def find(self, name: str | Format) -> Format:
        """The format called `name`; the common ones are imported alone."""
        if name in ("conll", "jsonl", "spans") and not self._complete:
            found: Format = import_module(f"spanwise.formats.{name}").FORMAT
            return found
        return super().find(name)


FORMATS: Registry[Format] = _Formats("format", group="spanwise.formats")


def format_of(file: File, format: str | Format | None) -> Format:
    """The format named, or the one that recognises the file."""
    if format is not None:
        return FORMATS.find(format)
    if file.recognised is None:
        file.recognised = _recognised(file)
    found: Format = file.recognised
    return found


def _recognised(file: File) -> Format:
    # What is plain from suffix and content need not be shown to every format: to import them takes time.
    if is_plainly_tagged(file):
        return FORMATS.find("conll")
    spans = FORMATS.find("spans")
    if file.suffix in spans.suffixes and spans.recognise(file) is not None:
        return spans
    # Columns are what is left when nobody else, other packages included, knows the file.
    for known in sorted(FORMATS, key=lambda known: known.name == "conll"):
        if known.recognise(file) is not None:
            return known
    raise InputError(file.no_file())  # only a folder is no file of columns either
