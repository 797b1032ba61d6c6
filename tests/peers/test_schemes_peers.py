"""Mentions and scores equal those of seqeval and seqscore, on the schemes that each reads correctly."""

from __future__ import annotations

import random
import warnings

import pytest

from spanwise.schemes import Tags, decode, impossible

get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
seqeval_scheme = pytest.importorskip("seqeval.scheme")
seqeval_metrics = pytest.importorskip("seqeval.metrics")
seqscore_encoding = pytest.importorskip("seqscore.encoding")

Spans = set[tuple[int, int, str]]
STRICT = {"IOB1": "IOB1", "IOB2": "IOB2", "IOE2": "IOE2", "BIOES": "IOBES", "BILOU": "BILOU"}
SEQSCORE = {
    "IO": "IO",
    "IOB1": "IOB",
    "IOB2": "BIO",
    "BIOES": "BIOES",
    "BILOU": "BILOU",
    "BMES": "BMES",
    "BMEWO": "BMEOW",
}
LETTERS = {
    "IO": "I", "IOB1": "BI", "IOB2": "BI", "IOE1": "IE", "IOE2": "IE", "BIOES": "BIES", "BILOU": "BILU",
    "BMES": "BMES", "BMEWO": "BMEW",
}  # fmt: skip


def cases(name: str, number: int) -> list[list[str]]:
    generator = random.Random(name)
    choices = ["O", "O", *(f"{letter}-{label}" for letter in LETTERS[name] for label in ("PER", "LOC-geo"))]
    return [[generator.choice(choices) for _ in range(generator.randrange(1, 9))] for _ in range(number)]


def ours(tags: list[str], scheme: str, repair: str) -> Spans:
    return {row[1:] for row in decode(Tags.of([tags]), scheme, repair=repair).mentions.rows()}  # type: ignore[arg-type]


def seqeval_default(tags: list[str]) -> Spans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {(start, end + 1, label) for label, start, end in get_entities(tags)}


def seqeval_strict(tags: list[str], name: str) -> Spans:
    entities = seqeval_scheme.Entities([tags], getattr(seqeval_scheme, STRICT.get(name, name)))
    return {(entity.start, entity.end, entity.tag) for entity in entities.entities[0]}


@pytest.mark.parametrize("name", ["IO", "IOB1", "IOB2", "IOE1", "IOE2", "BIOES"])
def test_mentions_equal_those_of_seqeval_by_default(name: str) -> None:
    for tags in cases(name, 500):
        assert ours(tags, name, "conlleval") == seqeval_default(tags), tags


def test_seqeval_by_default_does_not_support_the_letters_l_u_m_and_w() -> None:
    # It treats any other letter as a continuation, so that BILOU, BMES and BMEWO neighbours are merged.
    assert seqeval_default(["U-PER", "U-PER"]) == {(0, 2, "PER")}
    assert ours(["U-PER", "U-PER"], "BILOU", "conlleval") == {(0, 1, "PER"), (1, 2, "PER")}
    assert seqeval_default(["W-PER", "W-PER"]) == {(0, 2, "PER")}
    assert seqeval_default(["E-PER", "M-PER"]) != ours(["E-PER", "M-PER"], "BMES", "conlleval")


@pytest.mark.parametrize("name", ["IOB2", "IOE2", "BIOES", "BILOU"])
def test_mentions_equal_those_of_seqeval_strict_when_impossible_tags_are_discarded(name: str) -> None:
    for tags in cases(name, 400):
        assert ours(tags, name, "discard") == seqeval_strict(tags, name), tags


def test_mentions_of_valid_iob1_equal_those_of_seqeval_strict() -> None:
    possible = [tags for tags in cases("IOB1", 900) if not impossible(Tags.of([tags]), "IOB1")]
    assert len(possible) > 200
    for tags in possible:
        assert ours(tags, "IOB1", "discard") == seqeval_strict(tags, "IOB1"), tags


def test_seqeval_strict_drops_an_iob1_mention_before_an_impossible_tag() -> None:
    # The second B-PER is valid after a PER; the B-LOC after it is not, and seqeval drops both.
    tags = ["I-PER", "B-PER", "B-LOC"]
    assert ours(tags, "IOB1", "discard") == {(0, 1, "PER"), (1, 2, "PER")}
    assert seqeval_strict(tags, "IOB1") == {(0, 1, "PER")}


def test_seqeval_strict_misreads_ioe1() -> None:
    # E- ends a mention directly before another one with the same label: seqeval drops that mention.
    assert ours(["E-PER", "I-PER"], "IOE1", "conlleval") == {(0, 1, "PER"), (1, 2, "PER")}
    assert seqeval_strict(["E-PER", "I-PER"], "IOE1") == {(1, 2, "PER")}


@pytest.mark.parametrize("name", list(SEQSCORE))
def test_mentions_equal_those_of_seqscore_with_its_repairs(name: str) -> None:
    validate_labels = pytest.importorskip("seqscore.validation").validate_labels
    encoding = seqscore_encoding.get_encoding(SEQSCORE[name])
    repairs = encoding.supported_repair_methods()
    compared = 0
    for tags in cases(name, 500):
        valid = validate_labels(tags, encoding).is_valid()
        assert valid == (not impossible(Tags.of([tags]), name)), tags
        for repair in ("conlleval", "discard"):
            if not valid and repair not in repairs:
                continue  # seqscore repairs BIO in both ways, IOB only like conlleval, and nothing else
            labels = tags if valid else encoding.repair_labels(tags, repair)
            theirs = {(m.span.start, m.span.end, m.type) for m in encoding.decode_labels(labels)}
            assert ours(tags, name, repair) == theirs, tags
            compared += 1
    assert compared > 40


def _f1(gold: list[Spans], predicted: list[Spans], label: str | None = None) -> tuple[float, ...] | None:
    """Precision, recall and F1 by definition; None if one of them is undefined."""

    def only(spans: list[Spans]) -> set[tuple[int, int, int, str]]:
        return {(i, *span) for i, row in enumerate(spans) for span in row if label in (None, span[2])}

    right, predicted_number, gold_number = (
        len(only(gold) & only(predicted)),
        len(only(predicted)),
        len(only(gold)),
    )
    return (
        (right / predicted_number, right / gold_number, 2 * right / (predicted_number + gold_number))
        if predicted_number and gold_number
        else None
    )


def test_micro_and_per_label_scores_equal_those_of_seqeval() -> None:
    generator = random.Random(11)
    undefined = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(60):
            sample = cases("IOB2", 500)
            gold = generator.sample(sample, 5)
            predicted = [[generator.choice(tags) for _ in tags] for tags in gold]
            for mode, repair in ((None, "conlleval"), ("strict", "discard")):
                scheme = seqeval_scheme.IOB2 if mode else None
                report = seqeval_metrics.classification_report(
                    gold, predicted, output_dict=True, mode=mode, scheme=scheme, zero_division=0
                )
                sides = [[ours(tags, "IOB2", repair) for tags in side] for side in (gold, predicted)]
                for name in (None, "PER", "LOC-geo"):
                    scores = _f1(sides[0], sides[1], name)
                    theirs = report.get("micro avg" if name is None else name)
                    if scores is None or theirs is None:
                        undefined += 1  # seqeval prints 0, ours is n/a
                        continue
                    assert scores == pytest.approx(
                        (theirs["precision"], theirs["recall"], theirs["f1-score"])
                    )
    assert undefined < 100
