"""Agreement computed by hand: pairs, documents, chance-corrected measures, majority, ceiling."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from annotators import Case, Span, annotation, by_annotator, campaign
from msgspec.structs import replace
from typed import Plain, plain, present

import spanwise
from spanwise.corpus import Annotation
from spanwise.document.agreement import Agreement
from spanwise.document.evaluation import SystemResult
from spanwise.formats import read

SEEDS = range(12)
WORDS = [["Ada", "met", "Bo", "in", "Rome", "today"]]


def marked(*spans: Span) -> Annotation:
    return read([list(spans)], tokens=WORDS)


def test_pairwise_f1_counts_equal_mentions() -> None:
    first = marked((0, 1, "PER"), (2, 3, "PER"), (4, 5, "LOC"))
    second = marked((0, 1, "PER"), (4, 5, "ORG"))
    pair = spanwise.agree({"a": first, "b": second}).pairs[0]
    assert (pair.overall.both, pair.overall.first, pair.overall.second) == (1, 3, 2)
    assert pair.overall.f1 == pytest.approx(0.4)
    assert pair.spans.f1 == pytest.approx(0.8)
    assert (pair.on_equal_spans.spans, pair.on_equal_spans.equal) == (2, 1)
    assert pair.labels["PER"].f1 == pytest.approx(2 / 3)
    assert pair.labels["ORG"].f1 == 0


def test_two_annotators_who_marked_nothing_have_no_f1() -> None:
    result = spanwise.agree({"a": marked(), "b": marked()})
    assert result.pairs[0].overall.f1 is None
    assert result.mean.overall.f1 is None
    assert result.alpha_u.all is None
    assert result.tokens.alpha is None
    assert result.ceiling.mean is None


def test_mean_and_population_deviation_are_over_pairs() -> None:
    first, second = marked((0, 1, "PER")), marked((4, 5, "LOC"))
    result = spanwise.agree({"a": first, "b": first, "c": second})
    assert result.mean.overall.f1 == pytest.approx(1 / 3)
    assert result.mean.overall.std == pytest.approx((2 / 9) ** 0.5)


def test_krippendorffs_example_of_unitizing() -> None:
    # Krippendorff (1995): a continuum from 150 to 450; observer j's units of c start at 220, 355 and 400.
    tokens = [["x"] * 300]
    i = read([[(75, 145, "c"), (220, 250, "c")]], tokens=tokens)
    j = read([[(70, 150, "c"), (205, 225, "c"), (250, 270, "c")]], tokens=tokens)
    alpha = spanwise.agree({"i": i, "j": j}).alpha_u
    assert alpha.observed == pytest.approx(0.0144, abs=5e-5)
    assert alpha.expected == pytest.approx(0.0532, abs=5e-5)
    assert alpha.all == pytest.approx(0.7286, abs=5e-5)
    # His category k, on which both agree.
    k = read([[(30, 90, "k"), (150, 200, "k")]], tokens=tokens)
    alpha = spanwise.agree({"i": k, "j": k}).alpha_u
    assert alpha.expected == pytest.approx(0.0490, abs=5e-5)
    assert alpha.all == 1.0


def unitizing_by_hand(units: list[list[tuple[int, int]]], length: int) -> tuple[float, float]:
    """D_o and D_e of one label, computed section by section as in the paper."""
    sections: list[list[tuple[int, int, bool]]] = []
    for own in units:
        listed: list[tuple[int, int, bool]] = []
        at = 0
        for begin, end in sorted(own):
            if begin > at:
                listed.append((at, begin - at, False))
            listed.append((begin, end - begin, True))
            at = end
        if at < length:
            listed.append((at, length - at, False))
        sections.append(listed)
    m = len(units)
    observed = 0.0
    for i in range(m):
        for j in range(m):
            if i == j:
                continue
            for b, size, v in sections[i]:
                for c, other, w in sections[j]:
                    if v and w and -size < b - c < other:
                        observed += (b - c) ** 2 + (b + size - c - other) ** 2
                    elif v and not w and other - size >= b - c >= 0:
                        observed += size**2
                    elif w and not v and other - size <= b - c <= 0:
                        observed += other**2
    observed /= m * (m - 1) * length**2
    sizes = [size for own in sections for _, size, v in own if v]
    gaps = [size for own in sections for _, size, v in own if not v]
    above = sum(
        (len(sizes) - 1) / 3 * (2 * size**3 - 3 * size**2 + size)
        + size**2 * sum(gap - size + 1 for gap in gaps if gap >= size)
        for size in sizes
    )
    below = m * length * (m * length - 1) - sum(size * (size - 1) for size in sizes)
    return observed, 2 / length * above / below if sizes else 0.0


def alpha_u_by_hand(case: Case, documents: list[int], names: list[str]) -> float | None:
    """α_u of the concatenation of some documents."""
    text, work = case
    labels = {span[2] for own in work.values() for spans in own if spans for row in spans for span in row}
    sums = [0.0, 0.0]
    for label in labels:
        units: list[list[tuple[int, int]]] = [[] for _ in names]
        at = 0
        for document in documents:
            for number, sentence in enumerate(text[document]):
                for who, name in enumerate(names):
                    spans = work[name][document]
                    assert spans is not None
                    units[who] += [(at + a, at + b) for a, b, own in spans[number] if own == label]
                at += len(sentence)
        for index, value in enumerate(unitizing_by_hand(units, at)):
            sums[index] += value
    return 1 - sums[0] / sums[1] if sums[1] else None


@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_u_follows_the_formulas_section_by_section(seed: int) -> None:
    case = campaign(seed, missing=0.25 if seed % 2 else 0.0)
    annotations = by_annotator(case)
    names, work = list(annotations), case[1]
    if len(names) < 2:
        return
    alpha = spanwise.agree(annotations).alpha_u
    has = [[work[name][number] is not None for name in names] for number in range(len(case[0]))]
    common = [number for number, row in enumerate(has) if all(row)]
    if common:
        assert alpha.all == pytest.approx(alpha_u_by_hand(case, common, names), abs=1e-12)
    values = []
    for number, row in enumerate(has):
        own = [name for name, has_document in zip(names, row, strict=True) if has_document]
        if len(own) > 1:
            values.append(alpha_u_by_hand(case, [number], own))
    defined = [
        sorted(value for value in some if value is not None) for some in (alpha.documents.values(), values)
    ]
    assert defined[0] == pytest.approx(defined[1], abs=1e-12)
    assert len(alpha.documents) == len(values)


def test_overlapping_mentions_of_one_label_have_no_alpha_u_and_no_token_measures() -> None:
    nested = marked((0, 2, "PER"), (0, 1, "PER"))
    result = spanwise.agree({"a": nested, "b": marked((0, 1, "PER"))})
    assert result.alpha_u.all is None
    assert result.alpha_u.why == "mentions of one label overlap or are discontinuous"
    assert result.tokens.alpha is None
    assert result.tokens.why == "mentions of a overlap"
    assert result.pairs[0].overall.f1 == pytest.approx(2 / 3)


def evaluated(gold: Annotation, predicted: Annotation) -> SystemResult:
    return spanwise.evaluate(gold, {"one": predicted}, resamples=0)["one"]


@pytest.mark.parametrize("seed", SEEDS)
def test_pairwise_f1_equals_the_exact_f1_of_evaluate_in_both_directions(seed: int) -> None:
    annotations = by_annotator(campaign(seed))
    agreement = spanwise.agree(annotations)
    for pair in agreement.pairs:
        first, second = (annotations[name] for name in pair.annotators)
        for gold, predicted in ((first, second), (second, first)):
            overall = evaluated(gold, predicted).exact.overall
            assert pair.overall.f1 == pytest.approx(overall.f1, abs=1e-12)
        directions = [
            present(evaluated(*sides).fair.overall.f1) for sides in ((first, second), (second, first))
        ]
        assert pair.fair == pytest.approx(sum(directions) / 2, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_kinds_of_disagreement_are_fair_outcomes_over_ordered_pairs(seed: int) -> None:
    annotations = by_annotator(campaign(seed))
    counts = spanwise.agree(annotations).disagreement
    pooled = dict.fromkeys(counts, 0)
    for first, second in combinations(annotations.values(), 2):
        for gold, predicted in ((first, second), (second, first)):
            scores = evaluated(gold, predicted)
            for name in ("LE", "BEs", "BEl", "BEo", "LBE", "BE"):
                pooled[name] += scores.fair.overall[name]
            pooled["TP"] += scores.exact.overall.correct
    assert {name: counts[name] for name in pooled if name not in ("FN", "FP")} == {
        name: value for name, value in pooled.items() if name not in ("FN", "FP")
    }


def numbers(document: Agreement) -> Plain:
    content = plain(document)
    return {key: content[key] for key in ("mean", "disagreement", "majority", "levels")} | {
        "alpha": document.tokens.alpha,
        "fleiss": document.tokens.fleiss,
        "alpha_u": document.alpha_u.all,
        "ceiling": document.ceiling.mean,
    }


def close(first: object, second: object) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(close(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(close, first, second))
    if isinstance(first, float) or isinstance(second, float):
        return first == pytest.approx(second, abs=1e-12)
    return first == second


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_annotators_changes_no_number(seed: int) -> None:
    annotations = by_annotator(campaign(seed, missing=0.2))
    if len(annotations) < 2:
        return
    turned = dict(reversed(annotations.items()))
    forwards, backwards = spanwise.agree(annotations), spanwise.agree(turned)
    # Documents without names are numbered in input order.
    first, second = numbers(forwards), numbers(backwards)
    first["mean"].pop("documents"), second["mean"].pop("documents")
    assert close(first, second)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_documents_changes_no_pair(seed: int) -> None:
    text, work = campaign(seed)
    turned: Case = (text[::-1], {name: own[::-1] for name, own in work.items()})
    forwards, backwards = spanwise.agree(by_annotator((text, work))), spanwise.agree(by_annotator(turned))
    assert [pair.overall for pair in forwards.pairs] == [pair.overall for pair in backwards.pairs]
    assert forwards.tokens.alpha == pytest.approx(backwards.tokens.alpha, abs=1e-12)
    # Only α_u of the concatenation may depend on the order, because its gaps may span two documents.
    values = [sorted(map(str, agreement.alpha_u.documents.values())) for agreement in (forwards, backwards)]
    assert values[0] == values[1]
    assert forwards.ceiling.mean == pytest.approx(backwards.ceiling.mean, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tokens", [1, 15])
def test_no_byte_depends_on_how_documents_are_cut_into_blocks(
    seed: int, tokens: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotations = by_annotator(campaign(seed, missing=0.2 if seed % 2 else 0.0))
    if len(annotations) < 3:
        return
    *names, last = annotations
    documents, written = [], []
    majority, worksheet = tmp_path / "majority.jsonl", tmp_path / "open.csv"
    own = {name: annotations[name] for name in names}
    for size in (None, tokens):
        if size is not None:
            monkeypatch.setattr("spanwise.agreement._shared.BLOCK_TOKENS", size)
        agreement = spanwise.agree(
            own, systems={"system": annotations[last]}, tokens="iob2", majority=majority, worksheet=worksheet
        )
        unmarked = {
            name: replace(own[name], corpus=replace(own[name].corpus, documents=None)) for name in names
        }
        documents.append((agreement.to_json(), spanwise.agree(unmarked).to_json()))
        written.append([path.read_bytes() for path in (majority, worksheet)])
    assert documents[0] == documents[1]
    assert written[0] == written[1]


def test_an_identical_annotator_agrees_with_the_first_as_itself() -> None:
    annotations = by_annotator(campaign(3))
    first = next(iter(annotations))
    agreement = spanwise.agree({**annotations, "twin": annotations[first]})
    by_pair = {pair.annotators: pair for pair in agreement.pairs}
    assert by_pair[first, "twin"].overall.f1 == 1.0
    for name in list(annotations)[1:]:
        assert by_pair[first, name].overall.f1 == by_pair[name, "twin"].overall.f1


def test_a_document_counts_for_a_pair_only_if_both_have_it() -> None:
    text = [[["one", "two"]], [["three", "four"]]]
    both = annotation(text, [[[(0, 1, "PER")]], [[(0, 1, "LOC")]]])
    some = annotation(text[:1], [[[(0, 1, "PER")]]])
    agreement = spanwise.agree({"a": both, "b": some, "c": both})
    by_pair = {pair.annotators: pair for pair in agreement.pairs}
    assert (by_pair["a", "b"].overall.first, by_pair["a", "b"].overall.f1) == (1, 1.0)
    assert by_pair["a", "c"].overall.both == 2
    assert agreement.ranking[-1].missing == () or any(row.missing == ("2",) for row in agreement.ranking)
    assert "b did not annotate 2" in agreement.notes


def test_ties_in_the_majority_are_left_to_people(tmp_path: Path) -> None:
    four = {
        "a": marked((0, 1, "PER"), (4, 5, "LOC")),
        "b": marked((0, 1, "PER"), (4, 5, "LOC")),
        "c": marked((0, 1, "PER"), (4, 5, "ORG")),
        "d": marked((4, 5, "ORG")),
    }
    gold, sheet = tmp_path / "gold.conll", tmp_path / "todo.csv"
    majority = spanwise.agree(four, majority=gold, worksheet=sheet).majority
    assert (majority.accepted, majority.tied, majority.rejected) == (1, 2, 0)
    assert read(gold).mentions.rows() == [(0, 0, 1, "PER")]
    rows = sheet.read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[4:10] for row in rows[1:3]] == [
        ["LOC", "Rome", "2", "4", "a b", "tie"],
        ["ORG", "Rome", "2", "4", "c d", "tie"],
    ]
    decided = [rows[0], rows[1].replace(",tie,,", ",tie,yes,"), *rows[2:]]
    sheet.write_text("\n".join(decided) + "\n", encoding="utf-8")
    spanwise.agree(four, majority=gold, decisions=sheet)
    assert read(gold).mentions.rows() == [(0, 0, 1, "PER"), (0, 4, 5, "LOC")]


@pytest.mark.parametrize("label", ["'LOC", "'-LOC", "=LOC"])
def test_a_decision_reaches_a_label_that_begins_with_an_apostrophe_or_as_a_formula(
    label: str, tmp_path: Path
) -> None:
    two = {"a": marked((4, 5, label)), "b": marked()}
    gold, sheet = tmp_path / "gold.conll", tmp_path / "todo.csv"
    spanwise.agree(two, worksheet=sheet)
    open_rows = sheet.read_text(encoding="utf-8")
    assert open_rows.count(",tie,,") == 1
    sheet.write_text(open_rows.replace(",tie,,", ",tie,yes,"), encoding="utf-8")
    spanwise.agree(two, majority=gold, decisions=sheet)
    assert read(gold).mentions.rows() == [(0, 4, 5, label)]


def test_the_majority_may_need_k_of_n_votes() -> None:
    three = {"a": marked((0, 1, "PER")), "b": marked((4, 5, "LOC")), "c": marked((0, 1, "PER"))}
    assert spanwise.agree(three, votes=1).majority.accepted == 2
    assert spanwise.agree(three, votes=3).majority.accepted == 0


def test_the_ceiling_is_f1_against_the_majority_of_the_others() -> None:
    three = {
        "a": marked((0, 1, "PER"), (2, 3, "PER")),
        "b": marked((0, 1, "PER"), (4, 5, "LOC")),
        "c": marked((0, 1, "PER"), (2, 3, "PER"), (4, 5, "LOC")),
    }
    agreement = spanwise.agree(three, systems={"s": three["c"]})
    # Against a: b and c share PER and LOC; against b: PER and PER; against c: only PER.
    assert agreement.ceiling.annotators == {
        "a": pytest.approx(2 * 1 / 4),
        "b": pytest.approx(2 * 1 / 4),
        "c": pytest.approx(2 * 1 / 4),
    }
    assert agreement.ceiling.mean == pytest.approx(0.5)
    system = agreement.systems["s"]
    assert system.annotators == {
        "a": pytest.approx(4 / 5),
        "b": pytest.approx(4 / 5),
        "c": pytest.approx(2 / 4),
    }
    assert system.majority.f1 == 1.0


def test_the_interval_of_the_ceiling_contains_it() -> None:
    ceiling = spanwise.agree(by_annotator(campaign(1, documents=8))).ceiling
    interval = ceiling.interval["mean"]
    assert interval is not None and ceiling.mean is not None
    assert interval[0] is not None and interval[1] is not None
    assert interval[0] < ceiling.mean < interval[1]


def test_files_that_share_no_document_are_refused() -> None:
    other = read([[(0, 1, "PER")]], tokens=[["another", "text"]])
    with pytest.raises(spanwise.InputError, match="no two of the 2 annotators"):
        spanwise.agree({"a": marked((0, 1, "PER")), "b": other})


def test_one_annotator_is_refused() -> None:
    with pytest.raises(spanwise.ChoiceError, match="at least two annotators"):
        spanwise.agree({"a": marked()})


def test_the_same_input_gives_the_same_bytes() -> None:
    given = by_annotator(campaign(2))
    assert spanwise.agree(given).to_json() == spanwise.agree(given).to_json()


def test_the_screen_calls_no_annotator_gold_or_wrong() -> None:
    text = spanwise.agree(by_annotator(campaign(4))).to_text(width=100)
    assert "gold" not in text
    assert "wrong" not in text
    assert "error" not in text
