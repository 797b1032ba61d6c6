"""Twenty ways to misuse an evaluation: each is refused, paired rightly, or warned of under the score."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.errors import LONGEST, ChoiceError, InputError, SpanwiseError, shortened
from spanwise.reports.terminal import render
from spanwise.views.verdict import verdict

LABELS = ("PER", "LOC", "ORG")


def _sentence(number: int) -> tuple[list[str], list[tuple[int, int, str]]]:
    """A sentence of seven to nine words with two mentions, unlike every other."""
    words = ["The", f"Smith{number}", "Jones", "met", f"w{number % 7}", f"City{number}", "again"]
    words += ["and"] * (number % 3)
    return words, [(1, 3, LABELS[number % 3]), (5, 6, LABELS[(number + 1) % 3])]


SENTENCES = [_sentence(number) for number in range(30)]
Rows = list[tuple[list[str], list[tuple[int, int, str]]]]
Record = dict[str, Any]


def _conll(rows: Rows) -> str:
    blocks = []
    for words, mentions in rows:
        tags = ["O"] * len(words)
        for start, end, label in mentions:
            tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
        blocks.append("".join(f"{word} {tag}\n" for word, tag in zip(words, tags, strict=True)))
    return "\n".join(blocks)


def _texts(rows: Rows) -> list[Record]:
    records = []
    for words, mentions in rows:
        begins = [sum(len(word) + 1 for word in words[:at]) for at in range(len(words))]
        marks = [[begins[a], begins[b - 1] + len(words[b - 1]), label] for a, b, label in mentions]
        records.append({"text": " ".join(words), "entities": marks})
    return records


def _tokens(rows: Rows, *, text: bool = True, ids: bool = False) -> list[Record]:
    return [
        ({"id": f"s{at}"} if ids else {})
        | ({"tokens": words} if text else {})
        | {"spans": [list(mention) for mention in mentions]}
        for at, (words, mentions) in enumerate(rows)
    ]


def _moved(rows: Rows, first: int, last: int) -> Rows:
    return [(words, [(a + first, b + last, label) for a, b, label in mentions]) for words, mentions in rows]


def _relabeled(rows: Rows, rename: Callable[[str], str]) -> Rows:
    return [(words, [(a, b, rename(label)) for a, b, label in mentions]) for words, mentions in rows]


def _file(folder: Path, name: str, content: str | list[Record]) -> str:
    text = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


class Misuse:
    """Gold and predictions of one misuse; a hint or an error is expected to contain `says`."""

    def __init__(
        self, gold: str | list[Record], predicted: str | list[Record], says: str, **options: Any
    ) -> None:
        self.gold, self.predicted, self.says, self.options = gold, predicted, says, options

    def files(self, folder: Path, names: tuple[str, str] = ("g", "p")) -> tuple[str, str]:
        suffixes = [".conll" if isinstance(side, str) else ".jsonl" for side in (self.gold, self.predicted)]
        return (
            _file(folder, names[0] + suffixes[0], self.gold),
            _file(folder, names[1] + suffixes[1], self.predicted),
        )


GOLD = _conll(SENTENCES)
ACCENTS = [([f"Zo\u00eb{number}", *words[1:]], marks) for number, (words, marks) in enumerate(SENTENCES)]
OTHER = [_sentence(number + 500) for number in range(30)]
TURNED = {"PER": "LOC", "LOC": "ORG", "ORG": "PER"}
ACCENTED = _relabeled(SENTENCES, lambda label: label + "\u00c9")

WARNED = {
    "ends are inclusive, in characters": Misuse(
        _texts(SENTENCES),
        [{**row, "entities": [[a, b - 1, c] for a, b, c in row["entities"]]} for row in _texts(SENTENCES)],
        "would fit if they ended one position later",
    ),
    "ends are inclusive, in tokens": Misuse(
        _tokens(SENTENCES),
        _tokens([(words, [(a, b - 1, c) for a, b, c in marks if b - 1 > a]) for words, marks in SENTENCES]),
        "would fit if they ended one position later",
    ),
    "positions count from 1": Misuse(
        _tokens(SENTENCES), _tokens(_moved(SENTENCES, 1, 1)), "they began and ended one position earlier"
    ),
    "tokens are shifted by one": Misuse(
        _tokens(SENTENCES), _tokens(_moved(SENTENCES, -1, -1)), "they began and ended one position later"
    ),
    "token numbers are given for characters": Misuse(
        _texts(SENTENCES),
        [{"text": row["text"], "entities": [list(m) for m in marks]}
         for row, (_, marks) in zip(_texts(SENTENCES), SENTENCES, strict=True)],
        "would fit if their positions numbered tokens",
    ),
    "positions fall inside words": Misuse(
        _texts(SENTENCES),
        [{**row, "entities": [[a + 2, b - 1, c] for a, b, c in row["entities"]]}
         for row in _texts(SENTENCES)],
        "begin or end inside a word",
    ),
    "positions count bytes": Misuse(
        _texts(SENTENCES[:15] + ACCENTS[15:]),
        [{**row, "entities": [[len(str(row["text"])[:at].encode()) for at in mark[:2]] + mark[2:]
                              for mark in row["entities"]]} for row in _texts(SENTENCES[:15] + ACCENTS[15:])],
        "begin or end inside a word",
    ),
    "predictions belong to the sentence before": Misuse(
        _tokens([SENTENCES[0], *([_sentence(n)[0], [(n % 4, n % 4 + 2, "PER")]] for n in range(29))]),  # type: ignore[list-item]
        _tokens([*([_sentence(n)[0], [(n % 4, n % 4 + 2, "PER")]] for n in range(29)), ([], [])], text=False),  # type: ignore[list-item]
        "would fit if each were given for the sentence after its own",
    ),
    "labels differ in case": Misuse(
        GOLD, _conll(_relabeled(SENTENCES, str.lower)), "only in case: 'loc' here, 'LOC' in gold"
    ),
    "labels differ in Unicode form": Misuse(
        _conll(ACCENTED),
        _conll(_relabeled(ACCENTED, lambda label: unicodedata.normalize("NFD", label))),
        "labels differ only in Unicode form",
    ),
    "labels are of another scheme": Misuse(
        GOLD,
        _conll(_relabeled(SENTENCES, {"PER": "person", "LOC": "place", "ORG": "group"}.__getitem__)),
        "no predicted label occurs in gold",
    ),
    "labels are mixed up": Misuse(
        GOLD, _conll(_relabeled(SENTENCES, TURNED.__getitem__)), "the labels may be mixed up"
    ),
    "the tags are of another scheme than the one named": Misuse(
        GOLD, GOLD.replace("B-ORG", "O"), "does it follow BIOES", scheme="BIOES"
    ),
    "the predictions are gold": Misuse(GOLD, GOLD, "identical to gold"),
    "gold and predictions are swapped, of which one has scores": Misuse(
        [{**row, "spans": [[*span, 0.9] for span in row["spans"]]} for row in _tokens(SENTENCES)],
        _tokens(SENTENCES[:25] + _moved(SENTENCES[25:], 1, 1)),
        "60 of 60 gold mentions have a score, and no predicted mention has one: are gold and predictions sw",
    ),
    "gold and predictions are swapped, of which one has impossible tags": Misuse(
        GOLD.replace("B-LOC", "I-LOC", 6), GOLD, "6 tags of gold are impossible, and 0 of the predictions"
    ),
    "another test set of equal length, without text or ids": Misuse(
        _tokens(SENTENCES), _tokens([([], [(3, 5, "PER")])] * 30, text=False), "neither text nor ids"
    ),
}  # fmt: skip

REFUSED = {
    "another test set of equal length": Misuse(GOLD, _conll(OTHER), "in the gold file"),
    "tokens in other case": Misuse(GOLD, GOLD.replace("Jones", "JONES"), "differ only in case"),
    "predictions pasted twice": Misuse(GOLD, GOLD + "\n" + GOLD, "there are 60 sentences, but 30"),
    "predictions of a part": Misuse(GOLD, _conll(SENTENCES[:20]), "there are 20 sentences, but 30"),
    "ids of another test set": Misuse(
        _tokens(SENTENCES, ids=True),
        [{**row, "id": f"x{at}"} for at, row in enumerate(_tokens(SENTENCES, text=False))],
        "the id 'x0' has no partner",
    ),
    "an id twice": Misuse(
        _tokens(SENTENCES, ids=True),
        [{**row, "id": f"s{min(at, 28)}"} for at, row in enumerate(_tokens(SENTENCES, text=False))],
        "the id 's28' occurs twice",
    ),
    "two annotations in one record": Misuse(
        _tokens(SENTENCES),
        [{**row, "entities": [[0, 1, "X"]]} for row in _tokens(SENTENCES)],
        "different mentions",
    ),
    "columns are swapped": Misuse(
        GOLD, "\n".join(" ".join(reversed(line.split(" "))) for line in GOLD.split("\n")), "swap the columns"
    ),
    "a CSV file": Misuse(GOLD, GOLD.replace(" ", ","), "If this is a CSV file"),
    "a mention twice": Misuse(
        _tokens(SENTENCES),
        [{**row, "spans": row["spans"] * 2} for row in _tokens(SENTENCES)],
        "occurs twice in one sentence",
    ),
}

PARTS = [{}, {"memory": "64MB"}]


def _evaluated(misuse: Misuse, folder: Path, options: dict[str, Any]) -> spanwise.Result:
    gold, predicted = misuse.files(folder)
    return spanwise.evaluate(gold, {"a": predicted}, resamples=0, **misuse.options, **options)


@pytest.mark.parametrize("options", PARTS, ids=["whole", "parts"])
@pytest.mark.parametrize("misuse", WARNED.values(), ids=WARNED.keys())
def test_a_misuse_is_warned_of_under_the_score_before_the_findings(
    misuse: Misuse, options: dict[str, Any], tmp_path: Path
) -> None:
    result = _evaluated(misuse, tmp_path, options)
    hints = list(result.hints or ())
    assert any(misuse.says.lower() in hint.lower() for hint in hints), hints
    shown = " ".join(render(result, width=100).split())
    at = shown.index(" ".join(f"! {hints[0]}".split())[:50])
    assert shown.index(" F1") < at < shown.index("precision") < shown.index("Errors what fixing")
    if "•" in shown:
        assert at < shown.index("•")


@pytest.mark.parametrize("options", PARTS, ids=["whole", "parts"])
@pytest.mark.parametrize("misuse", REFUSED.values(), ids=REFUSED.keys())
def test_a_misuse_is_refused_in_a_few_words(misuse: Misuse, options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _evaluated(misuse, tmp_path, options)
    assert misuse.says in str(caught.value)


@pytest.mark.parametrize("name", ["predictions", "crf", "golden-tagger"])
def test_files_given_in_the_wrong_order_are_noticed_by_their_names(name: str, tmp_path: Path) -> None:
    misuse = Misuse(GOLD, GOLD.replace("B-PER", "B-ORG").replace("I-PER", "I-ORG"), "")
    predicted, gold = misuse.files(tmp_path, (name, "gold"))
    result = spanwise.evaluate(predicted, {"a": gold}, resamples=0)
    assert "gold and predictions are swapped" in " ".join(result.hints or ())
    assert not spanwise.evaluate(gold, {"a": predicted}, resamples=0).hints


@pytest.mark.parametrize("name", [name for name in WARNED if "are swapped" in name])
def test_predictions_that_look_like_those_of_a_model_are_no_misuse(name: str, tmp_path: Path) -> None:
    misuse = Misuse(WARNED[name].predicted, WARNED[name].gold, "")
    hints = _evaluated(misuse, tmp_path, {}).hints or ()
    assert not any("swapped" in hint for hint in hints)


def test_labels_in_another_case_come_with_their_map(tmp_path: Path) -> None:
    misuse = Misuse(GOLD, _conll(_relabeled(SENTENCES, str.lower)), "")
    gold, predicted = misuse.files(tmp_path)
    hints = " ".join(spanwise.evaluate(gold, {"a": predicted}, resamples=0).hints or ())
    assert "or map them: --map loc=LOC,org=ORG,per=PER." in hints
    assert spanwise.evaluate(gold, {"a": predicted}, map="loc=LOC,org=ORG,per=PER")["a"].exact.overall.f1 == 1


def test_another_number_of_sentences_without_text_is_not_compared_by_words() -> None:
    gold, predicted = _tokens(SENTENCES), _tokens(SENTENCES, text=False)
    with pytest.raises(InputError) as caught:
        spanwise.evaluate(gold, {"a": predicted * 2})
    assert "Without text or ids on both sides, sentences can only be paired in order." in str(caught.value)


def test_predictions_on_gold_tokens_are_not_taken_for_gold(tmp_path: Path) -> None:
    misuse = Misuse(GOLD, GOLD.replace("B-PER", "B-ORG").replace("I-PER", "I-ORG"), "")
    gold, predicted = misuse.files(tmp_path, ("test", "pred.gold-tokens"))
    assert not spanwise.evaluate(gold, {"a": predicted}, resamples=0).hints


def test_labels_that_seem_to_mean_others_are_named_before_the_findings(tmp_path: Path) -> None:
    misuse = Misuse(GOLD, GOLD.replace("-PER", "-PERSON"), "")
    gold, predicted = misuse.files(tmp_path)
    screen = spanwise.evaluate(gold, {"a": predicted}, resamples=0).to_text(width=200, detail="brief")
    warning = screen.index("have labels that gold lacks: PERSON (mostly PER).")
    assert warning < screen.index("What to do")


def test_a_perfect_prediction_in_another_order_is_paired_rightly(tmp_path: Path) -> None:
    rows = _tokens(SENTENCES, text=False, ids=True)
    misuse = Misuse(_tokens(SENTENCES, ids=True), rows[::-1], "")
    assert _evaluated(misuse, tmp_path, {})["a"].exact.overall.f1 == 1


@pytest.mark.parametrize("options", PARTS[:1], ids=["whole"])
def test_documents_in_another_order_are_paired_by_their_names(
    options: dict[str, Any], tmp_path: Path
) -> None:
    documents = [{**row, "document": f"d{at}"} for at, row in enumerate(_tokens(SENTENCES, text=False))]
    gold = [{**row, "document": f"d{at}"} for at, row in enumerate(_tokens(SENTENCES))]
    assert _evaluated(Misuse(gold, documents[::-1], ""), tmp_path, options)["a"].exact.overall.f1 == 1
    twice = [*documents[:-1], documents[0]]
    with pytest.raises(InputError, match="the document 'd0' occurs twice"):
        _evaluated(Misuse(gold, twice, ""), tmp_path, options)


@pytest.mark.parametrize("options", PARTS, ids=["whole", "parts"])
def test_columns_may_be_separated_by_tabs_in_one_file_and_by_blanks_in_the_other(
    options: dict[str, Any], tmp_path: Path
) -> None:
    predicted = GOLD.replace("B-PER", "B-ORG").replace("I-PER", "I-ORG")
    scores = [
        _evaluated(Misuse(GOLD, text, ""), tmp_path, options)["a"].exact.overall.f1
        for text in (predicted, predicted.replace(" ", "\t"))
    ]
    assert scores[0] == scores[1] == pytest.approx(2 / 3)


def test_answers_that_cannot_be_read_are_counted_under_the_score(tmp_path: Path) -> None:
    answers = [{"id": f"s{at}", "response": "I cannot help with that"} for at in range(len(SENTENCES))]
    misuse = Misuse(_tokens(SENTENCES, ids=True), answers, "", answers="ordered")
    result = _evaluated(misuse, tmp_path, {})
    hint = next(text for text in result.hints or () if "could not be read" in text)
    assert hint.startswith("30 of 30 responses could not be read")
    shown = " ".join(render(result, width=100).split())
    assert (
        shown.index(" F1")
        < shown.index(hint[:40])
        < shown.index("precision")
        < shown.index("Errors what fixing")
    )


def test_the_file_of_one_system_under_two_names_is_called_the_same(tmp_path: Path) -> None:
    gold, predicted = Misuse(GOLD, GOLD.replace("B-PER", "B-ORG"), "").files(tmp_path)
    result = spanwise.compare(gold, {"a": predicted, "b": predicted}, resamples=50)
    assert result.comparisons[0].identical
    assert "give the same predictions" in str(result.table("statements"))


def test_copies_of_runs_and_systems_are_named_under_the_answer(tmp_path: Path) -> None:
    """One run pasted over another, and one file under the names of two of three systems."""
    gold = _file(tmp_path, "g.conll", GOLD)
    for name, label in (("1", "ORG"), ("2", "LOC"), ("3", "ORG")):
        _file(tmp_path, f"a.{name}.conll", GOLD.replace("B-PER", f"B-{label}"))
    study = spanwise.study(
        {"predictions": str(tmp_path / "{system}.{run}.conll"), "resamples": 0, "systems": {"a": {}},
         "datasets": {"d": {"test": gold}}},
        cache=False,
    )  # fmt: skip
    checks = verdict(study).checks
    assert "The predictions of run 3 of a are those of run 1; copies count once." in checks
    systems = {name: str(tmp_path / f"a.{at}.conll") for name, at in (("x", 1), ("y", 2), ("z", 3))}
    assert (
        "x and z give the same predictions." in verdict(spanwise.compare(gold, systems, resamples=50)).checks
    )
    study = spanwise.study({"resamples": 0, "systems": {name: {"predictions": file} for name, file in
                            systems.items()}, "datasets": {"d": {"test": gold}}}, cache=False)  # fmt: skip
    assert "x (run 1) and z (run 1) have the same predictions." in verdict(study).checks


def test_an_ordinary_system_gets_no_hint(tmp_path: Path) -> None:
    some = [(words, mentions[: number % 3]) for number, (words, mentions) in enumerate(SENTENCES)]
    for predicted in (_conll(some), _conll(_moved(SENTENCES[:9], 1, 1) + SENTENCES[9:])):
        misuse = Misuse(GOLD, predicted, "")
        for options in PARTS:
            assert not _evaluated(misuse, tmp_path, options).hints


def test_a_study_passes_hints_on(tmp_path: Path) -> None:
    gold, predicted = WARNED["labels differ in case"].files(tmp_path, ("g", "m.1"))
    manifest = f'[datasets.d]\ntest = "{gold}"\n[systems.m]\npredictions = "{predicted}"\n'
    result = spanwise.study(_file(tmp_path, "study.toml", manifest))
    assert any("labels differ only in case" in hint.lower() for hint in result.hints or ())
    shown = render(result, width=200)
    assert (
        shown.index(" F1") < shown.lower().index("! m: labels differ only in case") < shown.index("precision")
    )


def test_no_line_of_an_error_is_longer_than_500_characters(tmp_path: Path) -> None:
    long = "x" * 3000
    gold = _file(tmp_path, "g.conll", f"{long} B-{long}\n")
    for content in (f"y{long} O\n", f"{long} O\n{long} O\n", f"{long} {long}\n", f"{long}\n", f"{long},O\n"):
        with pytest.raises(SpanwiseError) as caught:
            spanwise.evaluate(gold, {"a": _file(tmp_path, "p.conll", content)})
        assert max(map(len, str(caught.value).split("\n"))) <= LONGEST
    with pytest.raises(ChoiceError) as refused:
        spanwise.evaluate(gold, {"a": gold}, attributes=long)
    assert max(map(len, str(refused.value).split("\n"))) <= LONGEST
    assert shortened("word\n" + "y" * LONGEST) == "word\n" + "y" * LONGEST
    assert len(shortened("y" * (LONGEST + 1))) == LONGEST


def test_a_system_that_predicts_nothing_is_pointed_out() -> None:
    gold = [["B-PER", "O"], ["O", "B-LOC"]]
    nothing = [["O", "O"], ["O", "O"]]
    result = spanwise.evaluate(gold, {"a": gold, "b": nothing}, resamples=0)
    assert "b: no mention is predicted, so that F1 is 0 and precision undefined." in (result.hints or ())


# ---- verbs other than evaluate -----------------------------------------------------------------------------

VERBS: dict[str, Callable[..., Any]] = {
    "leaks": spanwise.leaks, "slices": spanwise.find_slices, "confidence": spanwise.confidence,
}  # fmt: skip
OF_POSITIONS = [
    "ends are inclusive, in tokens",
    "positions count from 1",
    "tokens are shifted by one",
    "positions fall inside words",
    "the predictions are gold",
]
OF_LABELS = ["labels differ in case", "labels are of another scheme", "labels are mixed up"]


def _records(text: str) -> list[Record]:
    """The sentences of a file of columns as records."""
    rows = []
    for block in text.strip("\n").split("\n\n"):
        words, tags = zip(*(line.split(" ") for line in block.split("\n")), strict=True)
        begins = [at for at, tag in enumerate(tags) if tag.startswith("B-")]
        ends = [next((n for n in range(at + 1, len(tags)) if not tags[n].startswith("I-")), len(tags))
                for at in begins]  # fmt: skip
        spans = [[at, end, tags[at][2:]] for at, end in zip(begins, ends, strict=True)]
        rows.append({"tokens": list(words), "spans": spans})
    return rows


def _scored(side: str | list[Record]) -> list[Record]:
    """A side as records whose spans have scores."""
    rows = _records(side) if isinstance(side, str) else side
    return [
        {key: value for key, value in row.items() if key not in ("spans", "entities")}
        | {"spans": [{"start": a, "end": b, "label": label, "score": 0.1 + 0.05 * (at % 9)}
                     for at, (a, b, label) in enumerate(row["spans"] if "spans" in row else row["entities"])]}
        for row in rows
    ]  # fmt: skip


@pytest.mark.parametrize("options", PARTS, ids=["whole", "parts"])
@pytest.mark.parametrize("name", OF_POSITIONS + OF_LABELS)
@pytest.mark.parametrize("verb", VERBS)
def test_other_verbs_warn_of_the_same_misuse_before_their_findings(
    verb: str, name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    misuse = WARNED[name]
    if verb == "confidence":
        misuse = Misuse(misuse.gold, _scored(misuse.predicted), misuse.says)
    gold, predicted = misuse.files(tmp_path)
    more = {"attributes": "label"} if verb == "slices" else {}
    document = VERBS[verb](gold, {"a": predicted}, **more, **options)
    said = [note for note in document.notes if misuse.says.lower() in note.lower()]
    if verb == "leaks" and name in OF_LABELS:
        assert not said, "any label masks"
        same = VERBS[verb](gold, {"a": predicted}, same_label=True, **options)
        assert misuse.says.lower() in same.notes[0].lower()
        return
    assert said == [document.notes[0]]
    shown = " ".join(render(document, width=100).split())
    assert " ".join(f"! {said[0]}".split())[:50] in shown


@pytest.mark.parametrize("verb", VERBS)
def test_other_verbs_say_that_the_order_alone_pairs_sentences(verb: str, tmp_path: Path) -> None:
    gold = _file(tmp_path, "g.jsonl", _tokens(SENTENCES))
    predicted = _file(tmp_path, "p.jsonl", _scored(_tokens(_moved(SENTENCES, 0, 0), text=False)))
    more = {"attributes": "label"} if verb == "slices" else {}
    shown = " ".join(render(VERBS[verb](gold, {"a": predicted}, **more), width=100).split())
    assert "The sentences of a were paired with gold in order; neither text nor ids confirm it." in shown


@pytest.mark.parametrize("verb", VERBS)
def test_other_verbs_say_nothing_about_the_order_where_the_text_confirms_it(
    verb: str, tmp_path: Path
) -> None:
    gold = _file(tmp_path, "g.jsonl", _tokens(SENTENCES))
    predicted = _file(tmp_path, "p.jsonl", _scored(_tokens(_moved(SENTENCES, 0, 0))))
    more = {"attributes": "label"} if verb == "slices" else {}
    document = VERBS[verb](gold, {"a": predicted}, **more)
    shown = " ".join(render(document, width=100).split())
    assert "paired with gold in order" not in shown
    assert all(row.tokens and row.sentences and row.mentions for row in document.inputs)


def test_nothing_predicted_masks_nothing() -> None:
    gold, nothing = [["B-PER", "O"], ["O", "B-LOC"]], [["O", "O"], ["O", "O"]]
    assert spanwise.leaks(gold, {"a": nothing}).notes[0] == (
        "No mention is predicted, so that nothing is masked."
    )


def _with_scores(rate: Callable[[bool], float]) -> list[Record]:
    wrong = {0, 3, 5, 8, 11, 13, 17, 20, 22, 25, 27, 29}
    return [
        {"tokens": words, "spans": [{"start": a, "end": b, "label": "X" if at in wrong else label,
                                     "score": rate(at not in wrong)} for a, b, label in marks]}
        for at, (words, marks) in enumerate(SENTENCES)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (lambda right: 0.2 if right else 0.9, "does a high score mean doubt?"),
        (lambda right: 0.5, "predictions have the same score, so it cannot order them."),
        (lambda right: 0.9 if right else 0.2, ""),
    ],
)
def test_scores_that_do_not_mean_confidence_are_pointed_out(
    score: Callable[[bool], float], says: str, tmp_path: Path
) -> None:
    gold = _file(tmp_path, "g.jsonl", _tokens(SENTENCES))
    predicted = _file(tmp_path, "p.jsonl", _with_scores(score))
    notes = spanwise.confidence(gold, {"a": predicted}, resamples=0).notes
    assert [note for note in notes if note.endswith(says)] if says else not [n for n in notes if "score" in n]


def test_a_threshold_chosen_on_the_test_set_is_pointed_out(tmp_path: Path) -> None:
    gold = _file(tmp_path, "g.jsonl", _tokens(SENTENCES))
    predicted = _file(tmp_path, "p.jsonl", _with_scores(lambda right: 0.9 if right else 0.2))
    document = spanwise.confidence(gold, {"a": predicted}, dev=(gold, {"a": predicted}), resamples=0)
    assert document.notes[0].startswith("The dev set is the test set")
