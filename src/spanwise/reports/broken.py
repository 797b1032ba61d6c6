"""The mentions that a system broke since an earlier result, and annotations of them for GitHub."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from spanwise.document import DocumentLike
from spanwise.document.loading import as_document
from spanwise.reports.errors import (
    ListedError,
    heading_of,
    holds_sentences,
    incomplete,
    listing,
    location_of,
    mention_key,
    words_of,
)
from spanwise.reports.outlets import Checked
from spanwise.views import wording

MOST = 10  # GitHub shows at most ten annotations of a kind per step


class Broken(Struct, frozen=True):
    """Errors to look at first, and a sentence that says which errors they are."""

    errors: Sequence[ListedError]
    title: str


def broken(document: DocumentLike, earlier: DocumentLike | None = None) -> Broken:
    """The errors that the earlier result does not have, in the order of their sentences.

    An error is new if its gold mention was found before, or, without a gold mention, if the earlier system
    did not predict it. Systems are paired by name, or as the only ones. All errors are returned if there
    is no earlier result, or if it lacks sentences with errors, because then nobody knows which are new.

    Examples:
        >>> import spanwise
        >>> gold = [["B-PER", "O", "B-LOC"]]
        >>> before = spanwise.evaluate(gold, {"mine": [["B-PER", "O", "O"]]}, resamples=0)
        >>> after = spanwise.evaluate(gold, {"mine": [["O", "O", "O"]]}, resamples=0)
        >>> found = broken(after, before)
        >>> found.title, [error.gold.label for error in found.errors]
        ('1 mention that was not wrong in the earlier result', ['PER'])
        >>> len(broken(after).errors)
        2
    """
    document = as_document(document)
    if not holds_sentences(document):
        return Broken((), "the result holds no sentences, so that its errors cannot be shown")
    errors = listing(document)
    if earlier is None:
        return Broken(errors, wording.plural(len(errors), "error"))
    earlier = as_document(earlier)
    if not holds_sentences(earlier) or incomplete(earlier):
        title = f"{wording.plural(len(errors), 'error')}, old or new: the earlier result lacks sentences"
        return Broken(errors, title)
    old = listing(earlier)
    names = {error.system for error in old}
    only = names.pop() if len(names) == len({error.system for error in errors}) == 1 else None
    before = {_place(error) for error in old}
    new = [error for error in errors if _place(error, only) not in before]
    were = "was" if len(new) == 1 else "were"
    return Broken(new, f"{wording.plural(len(new), 'mention')} that {were} not wrong in the earlier result")


def _place(error: ListedError, system: str | None = None) -> tuple[object, ...]:
    """What identifies the mention that is wrong, whatever the error: the gold one, if there is one."""
    side = "predicted" if error.gold is None else "gold"
    name = system or error.system
    return error.dataset, name, error.sentence.id, side, mention_key(error.gold or error.predicted)


def github_annotations(
    document: DocumentLike, *, checks: Sequence[Checked] = (), earlier: DocumentLike | None = None
) -> str:
    """Workflow commands for GitHub: missed thresholds as errors, broken mentions as warnings.

    At most ten warnings are written, since GitHub shows no more of one step.
    """
    lines = [
        f"::error title=spanwise::{_escaped(wording.visible(check.message))}"
        for check in checks
        if not check.passed
    ]
    found = broken(document, earlier)
    for error in found.errors[:MOST]:
        place, _, line = (location_of(error) or "").rpartition(":")
        where = f"file={_escaped(place, ':,')},line={line}," if place and line.isdecimal() else ""
        sides = [
            f"{side} {wording.visible(mention.label)} "
            f"“{wording.visible(words_of(error.sentence, mention) or '…')}”"
            for side, mention in (("gold", error.gold), ("predicted", error.predicted))
            if mention is not None
        ]
        text = _escaped(f"{wording.visible(error.system)}: {', '.join(sides)}")
        lines.append(f"::warning {where}title={_escaped(heading_of(error), ':,')}::{text}")
    if len(found.errors) > MOST:
        lines.append(f"::notice title=spanwise::{_escaped(f'the first {MOST} of {found.title} are shown.')}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str, more: str = "") -> str:
    """The text with the characters that would end a workflow command, or one of its properties, encoded."""
    return re.sub(f"[%\r\n{more}]", lambda match: f"%{ord(match[0]):02X}", text)
