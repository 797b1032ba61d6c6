"""One look at a whole span file: where to cut it, and how to read one of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Source
from spanwise.errors import InputError
from spanwise.formats import spans
from spanwise.formats._format import Options
from spanwise.formats._opening import BOM, File
from spanwise.formats._surveying import Cut, RecordSurvey, has_mark, spaced

CHUNK = 1 << 22  # bytes of a span file that are looked at together


def survey_spans(
    file: File, options: Options, *, tokens: int = 0, sentences: Sequence[int] | None = None
) -> RecordSurvey | None:
    """Look at a whole span file; None where something is wrong in it, which reading all of it says."""
    lines: list[Ints] = []
    places: list[Ints] = []
    labels: set[str] = set()
    byte, line = len(BOM) if has_mark(file) else 0, 1
    try:
        for chunk in _whole_sentences(file):
            if chunk.strip():
                part = options.limits.check(spans.read(File.of_bytes(file.path, chunk), options))
                labels |= {*part.mentions.labels}
                own = part.corpus.source.lines
                assert own is not None
                ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
                begins = np.concatenate([[0], ends + 1])
                lines.append(ints(own + line - 1))
                places.append(ints(begins[own - 1] + byte))
            line += chunk.count(b"\n")
            byte += len(chunk)
    except InputError:
        return None
    if not lines or len(labels) > options.limits.labels:
        return None
    first, place = np.concatenate(lines), np.concatenate(places)
    if sentences is None:  # no lengths are told: every sentence counts as one token
        numbers = ints(np.arange(len(first)))
        sentences = spaced(numbers, numbers, 0, tokens).tolist() if tokens else []
    inner = [number for number in sentences if 0 < number < len(first)]
    cuts = [Cut(number, 0, int(first[number]), int(place[number])) for number in (0, *inner)]
    return RecordSurvey(
        path=file.path,
        sha256=file.sha256,
        format="spans",
        options=options,
        kind=spans.EVIDENCE,
        recognised=None,
        has_ids=False,
        cuts=(*cuts, Cut(len(first), 0, line, byte)),
        documents=None,
    )


def _whole_sentences(file: File) -> Iterator[bytes]:
    """The bytes of a span file in pieces that end with a blank line."""
    held = b""
    for chunk in file.chunks(CHUNK):
        held += chunk
        end = max(held.rfind(b"\n\n") + 2, held.rfind(b"\n\r\n") + 3)
        if end > 2:
            yield held[:end]
            held = held[end:]
    if held:
        yield held


def span_part(one: RecordSurvey, data: bytes, begin: Cut) -> Annotation:
    """The sentences in some bytes of a span file, with the lines that they have in all of it."""
    part = one.options.limits.check(spans.read(File.of_bytes(one.path, data), one.options))
    lines = part.corpus.source.lines
    assert lines is not None
    source = Source(one.path, ints(lines + begin.line - 1))
    return replace(part, corpus=replace(part.corpus, source=source))
