"""What the page of a described test set shows: typed facts, and remarks on what to check."""

from __future__ import annotations

from spanwise.document.dataset import DatasetFacts, DescribedBucket, Description
from spanwise.reports import _wording as words

Remark = tuple[str, str, str, str]  # the sign, what stands out, the rest, and where it leads


def parts(document: Description) -> dict[str, object]:
    """Everything that the template of a description asks for."""
    return {
        "template": "description.html.jinja",
        "data": None,
        "title": words.visible(document.dataset.name),
        "facts": document.dataset,
        "remarks": remarks(document.dataset),
        "held": held,
    }


def remarks(facts: DatasetFacts) -> list[Remark]:
    """What a reader of the data should know before a system is run."""
    found: list[Remark] = []
    unseen = None if not facts.tough else facts.tough.get("UNSEEN-ANY")
    if unseen is not None:
        share = words.percent(unseen.overall.share)
        rest = "training did not show them with their label."
        found.append(("dot", f"{share} of the mentions are new:", rest, "#tough"))
    if facts.duplicates_with_train:
        number = words.plural(facts.duplicates_with_train, "test sentence")
        verb = "is" if facts.duplicates_with_train == 1 else "are"
        found.append(("check", f"{number} {verb} also in training:", "scores there say little.", "#method"))
    if facts.conflicts is not None and facts.conflicts.sentences.groups:
        number = words.plural(facts.conflicts.sentences.groups, "group")
        found.append(
            ("check", f"{number} of equal sentences:", "they are annotated differently.", "#conflicts")
        )
    if facts.conflicts is not None and facts.conflicts.labels.sequences:
        number = words.plural(facts.conflicts.labels.sequences, "token sequence")
        found.append(("dot", f"{number} with several labels:", "some may be mistakes.", "#conflicts"))
    return found


def held(bucket: DescribedBucket) -> str:
    """What a bucket holds, in words, where that is more than its name."""
    text = words.bucket(bucket)
    return "" if text == bucket.name else text
