"""Decoding tags gives the same mentions as a plain loop over tokens, for every scheme and repair."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.columns import ints
from spanwise.corpus import Mentions, Parts
from spanwise.errors import ChoiceError, InputError
from spanwise.schemes import SCHEMES, Tags, checked, decode, encode, impossible, malformed, recognise

NAMES = ["IO", "IOB1", "IOB2", "IOE1", "IOE2", "BIOES", "BILOU", "BMES", "BMEWO"]
ALL_LETTERS = "BIMELSUW"
KIND = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "W": "S"}

Span = tuple[int, int, str]


def cut(tag: str) -> tuple[str, str]:
    """Kind (B, I, E, S or O) and label of a tag."""
    if tag == "O":
        return "O", ""
    letter, label = tag.split("-", 1)
    return KIND[letter], label


def by_conlleval(tags: list[str]) -> list[Span]:
    """Decode by conlleval's rules: does a chunk end before this token, and does one start at it?"""
    spans, begun = [], 0
    before_kind, before_label = "O", ""
    for i, tag in enumerate([*tags, "O"]):
        kind, label = cut(tag)
        inside = before_kind != "O"
        ends = inside and (before_kind in "ES" or kind in "BSO" or before_label != label)
        starts = kind != "O" and (kind in "BS" or before_kind in "ESO" or before_label != label)
        if ends:
            spans.append((begun, i, before_label))
        if starts:
            begun = i
        before_kind, before_label = kind, label
    return spans


def wrong_tags(tags: list[str], name: str) -> list[int]:
    """The tokens whose tag is impossible in the scheme, given their neighbours."""
    scheme = SCHEMES.find(name)
    wrong = []
    for i, tag in enumerate(tags):
        kind, label = cut(tag)
        if kind == "O":
            continue
        if tag[0] not in scheme.letters:
            wrong.append(i)
            continue
        before = cut(tags[i - 1]) if i else ("O", "")
        after = cut(tags[i + 1]) if i + 1 < len(tags) else ("O", "")
        continues = before[0] in "BI" and before[1] == label
        continued = after[0] in "IE" and after[1] == label
        if name == "IOB1":
            bad = kind == "B" and not (before[0] != "O" and before[1] == label)
        elif name == "IOE1":
            bad = kind == "E" and not (after[0] != "O" and after[1] == label)
        elif name == "IOB2":
            bad = kind == "I" and not continues
        elif name == "IOE2":
            bad = kind == "I" and not continued
        elif name == "IO":
            bad = False
        else:
            bad = (kind in "IE" and not continues) or (kind in "BI" and not continued)
        if bad:
            wrong.append(i)
    return wrong


def by_discarding(tags: list[str], name: str) -> list[Span]:
    """The mentions left when impossible tags become O and mentions without an end are dropped."""
    scheme = SCHEMES.find(name)
    kept = [tag if tag == "O" or tag[0] in scheme.letters else "O" for tag in tags]
    if name in ("IOB1", "IOE1"):
        bad = wrong_tags(kept, name)
        return by_conlleval(["O" if i in bad else tag for i, tag in enumerate(kept)])
    if name == "IO":
        return by_conlleval(kept)
    spans, i = [], 0
    while i < len(kept):
        kind, label = cut(kept[i])
        j = i + 1
        if name == "IOB2":
            if kind == "B":
                while j < len(kept) and cut(kept[j]) == ("I", label):
                    j += 1
                spans.append((i, j, label))
        elif kind == "S" or (name == "IOE2" and kind == "E"):
            spans.append((i, j, label))
        elif kind == ("I" if name == "IOE2" else "B"):
            while j < len(kept) and cut(kept[j]) == ("I", label):
                j += 1
            if j < len(kept) and cut(kept[j]) == ("E", label):
                j += 1
                spans.append((i, j, label))
        i = j
    return spans


def random_tags(generator: random.Random, letters: str) -> list[str]:
    choices = ["O", *(f"{letter}-{label}" for letter in letters for label in ("X", "LOC-geo"))]
    return [generator.choice(choices) for _ in range(generator.randrange(0, 9))]


def spans_of(mentions: Mentions, sentence: int) -> list[Span]:
    return [row[1:] for row in mentions.rows() if row[0] == sentence]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("foreign", [False, True])
def test_mentions_equal_those_of_a_plain_loop(name: str, foreign: bool) -> None:
    generator = random.Random(f"{name}{foreign}")
    letters = ALL_LETTERS if foreign else "".join(sorted(SCHEMES.find(name).letters))
    sentences = [random_tags(generator, letters) for _ in range(600)]
    tags = Tags.of(sentences)
    conlleval = decode(tags, name)
    discard = decode(tags, name, repair="discard")
    wrong = [wrong_tags(sentence, name) for sentence in sentences]
    assert conlleval.repairs == discard.repairs == sum(map(len, wrong))
    rows = [(i, *span) for i, sentence in enumerate(sentences) for span in by_conlleval(sentence)]
    assert conlleval.mentions.rows() == rows
    rows = [(i, *span) for i, sentence in enumerate(sentences) for span in by_discarding(sentence, name)]
    assert discard.mentions.rows() == rows
    listed = [(sentence, token) for sentence, token, _, _ in impossible(tags, name)]
    assert listed == [(i, token) for i, tokens in enumerate(wrong) for token in tokens]


@st.composite
def flat_mentions(draw: st.DrawFn) -> tuple[Mentions, list[int]]:
    """Mentions that do not overlap, and the lengths of their sentences."""
    lengths = draw(st.lists(st.integers(0, 8), min_size=1, max_size=4))
    rows = []
    for sentence, length in enumerate(lengths):
        at = 0
        while at < length:
            size = draw(st.integers(1, 3))
            if draw(st.booleans()) and at + size <= length:
                rows.append((sentence, at, at + size, draw(st.sampled_from(["PER", "LOC-geo", "B", "O"]))))
            at += size
    return Mentions.of(rows), lengths


@settings(deadline=None, derandomize=True, max_examples=150)
@given(flat_mentions())
def test_mentions_written_as_tags_are_read_back(drawn: tuple[Mentions, list[int]]) -> None:
    mentions, lengths = drawn
    for name in NAMES:
        if name == "IO":
            continue  # IO merges neighbours with the same label; see below
        tags = encode(mentions, ints(lengths), name)
        assert impossible(tags, name) == []
        for repair in ("conlleval", "discard", "none"):
            read = decode(tags, name, repair=repair)
            assert read.mentions.rows() == mentions.rows()
            assert read.repairs == 0


@settings(deadline=None, derandomize=True, max_examples=100)
@given(flat_mentions())
def test_io_reads_back_what_it_can_write_and_refuses_the_rest(drawn: tuple[Mentions, list[int]]) -> None:
    mentions, lengths = drawn
    rows = mentions.rows()
    touching = any(a[0] == b[0] and a[2] == b[1] and a[3] == b[3] for a, b in pairwise(rows))
    if touching:
        with pytest.raises(InputError, match="touches one of the same label, which IO cannot tell apart"):
            encode(mentions, ints(lengths), "IO")
    else:
        assert decode(encode(mentions, ints(lengths), "IO"), "IO").mentions.rows() == rows


def test_inputs_are_left_as_they_were() -> None:
    tags = Tags.of([["I-X", "B-X", "E-Y", "O"]])
    before = tags.codes.copy()
    for name in NAMES:
        for repair in ("conlleval", "discard"):
            decode(tags, name, repair=repair)
    assert tags.codes.tolist() == before.tolist()
    assert tags.lists() == [["I-X", "B-X", "E-Y", "O"]]


def test_the_label_is_what_follows_the_first_hyphen() -> None:
    assert decode(Tags.of([["B-LOC-geo", "I-LOC-geo"]]), "IOB2").mentions.rows() == [(0, 0, 2, "LOC-geo")]


def test_mentions_do_not_cross_sentences() -> None:
    tags = Tags.of([["B-X"], ["I-X"], []])
    assert decode(tags, "IOB2").mentions.rows() == [(0, 0, 1, "X"), (1, 0, 1, "X")]


def test_without_tags_there_are_no_mentions() -> None:
    for tags in (Tags.of([]), Tags.of([[]]), Tags.of([["O", "O"]])):
        assert decode(tags, "BIOES", repair="discard").mentions.rows() == []


def test_overlapping_pieces_and_unplaced_mentions_cannot_be_written() -> None:
    def refused(mentions: Mentions, text: str) -> None:
        with pytest.raises(InputError, match=text):
            encode(mentions, ints([4]), "IOB2")

    refused(Mentions.of([(0, 0, 2, "X"), (0, 1, 3, "Y")]), r"overlaps the one before it.*\n.*jsonl")
    refused(Mentions.of([(0, -1, -1, "X")]), r"sentence 1: the mention X \[-1, -1\) has no position")
    refused(Mentions.of([(0, 3, 5, "X")]), "has no position in the text of its sentence")
    refused(Mentions.of([(0, 2, 2, "X")]), "is empty")
    whole = Mentions.of([(0, 0, 3, "X")])
    parts = Parts(ints([0, 2]), ints([0, 2]), ints([1, 3]))
    pieces = Mentions(whole.sentence, whole.start, whole.end, whole.label, whole.labels, parts)
    refused(pieces, "is discontinuous, which tags cannot express")


def test_without_repair_the_error_names_the_position_and_the_number_of_others() -> None:
    tags = Tags.of([["O", "I-PER"], ["I-PER", "I-LOC"]])
    with pytest.raises(InputError) as caught:
        decode(tags, "IOB2", repair="none", locate=lambda sentence, token: f"f:{10 * sentence + token}")
    assert str(caught.value).startswith(
        "f:1: the tag 'I-PER' is impossible in IOB2: no mention of its label is open before it. "
        "2 more tags like it."
    )
    assert 'repair with "conlleval" or "discard"' in str(caught.value)
    with pytest.raises(InputError, match="sentence 1, token 2: the tag 'I-PER'"):
        decode(tags, "IOB2", repair="none")
    assert decode(tags, "IOB1", repair="none").repairs == 0


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("o", "outside mentions the tag is 'O', with a capital letter"),
        ("0", "the digit"),
        ("", "the tag is empty"),
        ("B-", "has no label after the hyphen"),
        ("B", "'B' has no label"),
        ("PER", "Is this the tag column?"),
        ("b-PER", "write 'B-PER'"),
        ("X-PER", "which no scheme uses"),
        ("O\xa0", "write 'O'"),
        ("O-PER", "begins with 'O', which no scheme uses"),
    ],
)
def test_an_invalid_tag_is_reported_with_its_position(tag: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        decode(Tags.of([["O"], ["O", tag, tag]]), "IOB2")
    text = str(caught.value)
    assert text.startswith("sentence 2, token 2: ")
    assert message in text
    assert "1 more token with such tags" in text


def test_the_name_of_an_unused_tag_does_no_harm() -> None:
    tags = Tags(Tags.of([["O"]]).codes, ("O", "o"), ints([0, 1]))
    assert checked(tags) is tags
    assert decode(tags, "IOB2").mentions.rows() == []


def test_every_letter_and_label_is_well_formed() -> None:
    assert all(malformed(f"{letter}-x") is None for letter in ALL_LETTERS)


def test_unknown_names_are_refused_with_a_hint() -> None:
    with pytest.raises(ChoiceError, match=r"no scheme is called 'BIOS'. Did you mean 'BIOES'?"):
        decode(Tags.of([["O"]]), "BIOS")
    with pytest.raises(ChoiceError, match=r"no repair is called 'conleval'. Did you mean 'conlleval'?"):
        decode(Tags.of([["O"]]), "IOB2", repair="conleval")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("alias", "name"), [("BIO", "IOB2"), ("bioes", "BIOES"), ("IOB", "IOB1"), ("io", "IO")]
)
def test_other_names_find_the_scheme(alias: str, name: str) -> None:
    assert SCHEMES.find(alias).name == name


def test_the_scheme_with_the_fewest_impossible_tags_is_recognised() -> None:
    generator = random.Random(3)
    order = SCHEMES.names()
    assert order[:6] == ["IOB2", "BIOES", "BILOU", "BMES", "IOB1", "IO"]
    for _ in range(300):
        tags = [random_tags(generator, generator.choice(["BI", "BIES", "IE", "I", "BMES", "BMEW", "BILU"]))]
        recognised = recognise(Tags.of(tags))
        counts = {name: len(wrong_tags(tags[0], name)) for name in order}
        assert recognised.impossible == counts
        assert recognised.scheme == min(order, key=lambda name: (counts[name], order.index(name)))
        assert recognised.fitting == tuple(name for name in order if counts[name] == 0)


@pytest.mark.parametrize(
    ("tags", "evidence"),
    [
        (["B-X", "I-X"], "IOB2, because 1 mention starts with B-"),
        (["I-X", "O", "I-X", "B-X"], "IOB1, because 2 mentions start with I-"),
        (["B-X", "E-X", "S-X"], "BIOES, because 2 mentions end with E- or S-"),
        (["B-X", "L-X", "U-X"], "BILOU, because 2 mentions end with L- or U-"),
        (["B-X", "M-X", "E-X", "S-Y"], "BMES, because 2 mentions end with E- or S-"),
        (["I-X", "E-X", "E-X"], "IOE2, because 2 mentions end with E-"),
        (["W-X", "B-X", "E-X"], "BMEWO, because 2 mentions end with E- or W-"),
        (["I-X", "E-X", "I-X"], "IOE1, because 2 mentions start with I-"),
        (["O"], "IOB2, because there are no mentions to go by"),
        (
            ["B-X", "O", "B-X", "O", "I-X"],
            "IOB2, because 2 mentions start with B-; 1 tag impossible in it, "
            "no more than in any other scheme",
        ),
    ],
)
def test_the_evidence_is_given_in_words(tags: list[str], evidence: str) -> None:
    assert recognise(Tags.of([tags])).evidence == evidence


def test_predictions_use_the_scheme_of_gold_unless_only_another_one_fits() -> None:
    fits_both = Tags.of([["B-X", "O"]])
    assert recognise(fits_both, prefer="BIO").scheme == "IOB2"
    stray = Tags.of([["B-X", "O", "B-X", "I-Y"]])  # impossible in every scheme
    assert recognise(stray, prefer="BIOES").scheme == "BIOES"
    assert recognise(stray, prefer="BIOES").evidence == "BIOES, the scheme of the gold file"
    other = Tags.of([["B-X", "E-X"]])
    assert recognise(other, prefer="IOB2").scheme == "BIOES"
    assert recognise(Tags.of([["I-X"]]), prefer="IO").scheme == "IO"


def test_a_million_tags_are_decoded_without_a_loop_over_them() -> None:
    size = 1_000_000
    codes = (np.arange(size) % 3).astype(np.int32)
    tags = Tags(codes, ("O", "B-X", "I-X"), ints([0, size]))
    assert len(decode(tags, "IOB2").mentions) == size // 3


def test_numbers_are_not_tags() -> None:
    with pytest.raises(InputError, match=r"the tag 3 is not a string.\nGive tags such as 'B-PER'"):
        Tags.of([["O", 3]])  # type: ignore[list-item]


@pytest.mark.parametrize("different", [1, 256, 257, 1000])
def test_tags_keep_their_names_however_many_different_ones_there_are(different: int) -> None:
    names = [f"B-{number}" for number in range(different)]
    sentences = [names, [], names[::-1], names[:3] * 2]
    tags = Tags.of(sentences)
    assert tags.names == tuple(names) and tags.lists() == sentences
