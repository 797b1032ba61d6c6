"""The seqeval layer gives seqeval's numbers, reports, errors and warnings for the same input."""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spanwise.compat.seqeval as ours
from spanwise.compat._tags import TagSequences

theirs = pytest.importorskip("seqeval", reason="the peer seqeval is not installed")
for _name in ("metrics", "metrics.v1", "scheme", "reporters"):
    importlib.import_module(f"seqeval.{_name}")

SCHEMES = ("IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU")
LETTERS = {"IOB1": "IOB", "IOB2": "IOB", "IOE1": "IOE", "IOE2": "IOE", "IOBES": "IOBES", "BILOU": "BILOU"}
AVERAGES = (None, "micro", "macro", "weighted")
DIVISIONS: tuple[Any, ...] = ("warn", 0, 1)


def random_tags(draw: random.Random, sizes: list[int], letters: str, *, suffix: bool, odd: float) -> Any:
    """Sentences of random tags; a share `odd` of them is bare, hyphenated, unknown or without a hyphen."""
    labels = ["PER", "LOC", "A-B", "_"][: draw.randint(1, 4)]
    strange = ["X-PER", "B", "I", "E", "PER", "O-LOC", ".", "B--PER", "-", "U-PER", "S"]

    def tag() -> str:
        if draw.random() < odd:
            return draw.choice(strange)
        letter = draw.choice(letters)
        if letter == "O":
            return "O"
        label = draw.choice(labels)
        return f"{label}-{letter}" if suffix else f"{letter}-{label}"

    return [[tag() for _ in range(size)] for size in sizes]


def outcome(call: Callable[[], Any]) -> tuple[Any, list[tuple[str, str]]]:
    """What a call returns or raises, and its distinct warnings in the order of first occurrence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result: Any = call()
        except Exception as error:
            result = (type(error).__name__, str(error))
    seen = [(warning.category.__name__, str(warning.message)) for warning in caught]
    return plain(result), list(dict.fromkeys(seen))


def plain(value: Any) -> Any:
    """The value as lists, dicts and strings, so that NaN equals NaN and arrays can be compared."""
    if isinstance(value, np.ndarray):
        return [plain(part) for part in value.tolist()]
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return repr(float(value)) if isinstance(value, float | int | np.number) else value


def same(call: Callable[[Any], Any]) -> None:
    """Check that both packages answer the call identically."""
    assert outcome(lambda: call(ours)) == outcome(lambda: call(theirs))


def sized(draw: random.Random) -> list[int]:
    return [draw.choice([0, 1, 2, 3, 5, 8]) for _ in range(draw.randint(1, 4))]


@pytest.mark.parametrize("function", ["f1_score", "precision_score", "recall_score"])
@pytest.mark.parametrize("suffix", [False, True])
def test_scores_equal_those_of_seqeval_on_random_tags(function: str, suffix: bool) -> None:
    """Compare 900 inputs for each function and suffix, over every scheme, mode, average and zero_division."""
    draw = random.Random(f"{function}{suffix}")
    for number in range(900):
        scheme = SCHEMES[number % 6]
        sizes = sized(draw)
        odd = draw.choice([0, 0, 0, 0.1])
        y_true, y_pred = (random_tags(draw, sizes, LETTERS[scheme], suffix=suffix, odd=odd) for _ in range(2))
        options = {
            "average": draw.choice(AVERAGES),
            "zero_division": draw.choice(DIVISIONS),
            "suffix": suffix,
            "mode": draw.choice([None, "strict", "strict"]),
            "sample_weight": draw.choice([None, [2] * len(sizes)]),
        }
        given = draw.random() < 0.8

        def call(
            package: Any,
            options: Any = options,
            scheme: str = scheme,
            given: bool = given,
            y_true: Any = y_true,
            y_pred: Any = y_pred,
        ) -> Any:
            chosen = getattr(package.scheme, scheme) if given else None
            return getattr(package.metrics, function)(y_true, y_pred, scheme=chosen, **options)

        same(call)


@pytest.mark.parametrize("suffix", [False, True])
@pytest.mark.parametrize("strict", [False, True])
def test_reports_equal_those_of_seqeval_on_random_tags(suffix: bool, strict: bool) -> None:
    draw = random.Random(f"{suffix}{strict}")
    for number in range(250):
        scheme = SCHEMES[number % 6]
        sizes = sized(draw)
        odd = draw.choice([0, 0, 0, 0.1])
        y_true, y_pred = (random_tags(draw, sizes, LETTERS[scheme], suffix=suffix, odd=odd) for _ in range(2))
        options = {
            "digits": draw.randint(0, 14),
            "output_dict": draw.random() < 0.5,
            "zero_division": draw.choice(DIVISIONS),
            "suffix": suffix,
            "mode": "strict" if strict else None,
        }
        given = draw.random() < 0.5

        def call(
            package: Any,
            options: Any = options,
            scheme: str = scheme,
            given: bool = given,
            y_true: Any = y_true,
            y_pred: Any = y_pred,
        ) -> Any:
            chosen = getattr(package.scheme, scheme) if given else None
            return package.metrics.classification_report(y_true, y_pred, scheme=chosen, **options)

        same(call)


@pytest.mark.parametrize("average", AVERAGES)
def test_precision_recall_fscore_support_equals_that_of_seqeval(average: str | None) -> None:
    draw = random.Random(str(average))
    for number in range(120):
        scheme = SCHEMES[number % 6]
        sizes = sized(draw)
        y_true, y_pred = (random_tags(draw, sizes, LETTERS[scheme], suffix=False, odd=0) for _ in range(2))
        options = {
            "average": average,
            "beta": draw.choice([0, 0.5, 1.0, 2.0, float("inf"), -1]),
            "zero_division": draw.choice(DIVISIONS),
            "warn_for": draw.choice([("precision", "recall", "f-score"), ("recall",), ("f-score",), ()]),
        }

        def strict(
            package: Any, options: Any = options, scheme: str = scheme, y: Any = (y_true, y_pred)
        ) -> Any:
            return package.metrics.v1.precision_recall_fscore_support(
                *y, scheme=getattr(package.scheme, scheme), **options
            )

        def lenient(package: Any, options: Any = options, y: Any = (y_true, y_pred)) -> Any:
            return package.metrics.sequence_labeling.precision_recall_fscore_support(*y, **options)

        same(strict)
        same(lenient)


def test_entities_equal_those_of_seqeval_on_random_tags() -> None:
    draw = random.Random(3)
    for number in range(1200):
        scheme, suffix = SCHEMES[number % 6], bool(number % 2)
        odd = draw.choice([0, 0, 0.2])
        tags = random_tags(draw, sized(draw), LETTERS[scheme], suffix=suffix, odd=odd)
        same(lambda package: package.metrics.sequence_labeling.get_entities(tags, suffix))  # noqa: B023
        same(lambda package: package.metrics.sequence_labeling.get_entities(tags[0], suffix))  # noqa: B023
        same(lambda package: package.scheme.auto_detect(tags, suffix).__name__)  # noqa: B023

        def entities(package: Any, tags: Any = tags, scheme: str = scheme, suffix: bool = suffix) -> Any:
            parsed = package.scheme.Entities(tags, getattr(package.scheme, scheme), suffix)
            return [[repr(entity) for entity in sentence] for sentence in parsed.entities], sorted(
                parsed.unique_tags
            )

        same(entities)


def test_tag_level_measures_equal_those_of_seqeval() -> None:
    draw = random.Random(4)
    for _ in range(300):
        sizes = sized(draw)
        y_true, y_pred = (random_tags(draw, sizes, "IOB", suffix=False, odd=0.1) for _ in range(2))
        same(lambda package: package.metrics.accuracy_score(y_true, y_pred))  # noqa: B023
        same(lambda package: package.metrics.performance_measure(y_true, y_pred))  # noqa: B023
        same(lambda package: package.metrics.accuracy_score(y_true[0], y_pred[0]))  # noqa: B023


def test_single_tags_and_chunk_boundaries_equal_those_of_seqeval() -> None:
    letters = "OBIES.X"
    for before in letters:
        for now in letters:
            for types in (("a", "a"), ("a", "b"), ("", "_")):
                for name in ("start_of_chunk", "end_of_chunk"):
                    same(
                        lambda package: getattr(package.metrics.sequence_labeling, name)(  # noqa: B023
                            before,  # noqa: B023
                            now,  # noqa: B023
                            *types,  # noqa: B023
                        )
                    )
    for tag in ("B-PER", "PER-B", "O", "B", "-B-", "X-PER", ""):
        for suffix in (False, True):

            def parts(package: Any, tag: str = tag, suffix: bool = suffix) -> Any:
                token = package.scheme.IOB2(tag, suffix=suffix)
                return token.token, token.prefix.name, token.tag, repr(token), token.is_valid()

            same(parts)


@pytest.mark.parametrize(
    ("y_true", "y_pred"),
    [
        ([], []),
        ([[]], [[]]),
        ([["O"]], [[]]),
        ([["O"]], [["O"], ["O"]]),
        ([("B-PER",)], [("B-PER",)]),
        (["B-PER"], ["B-PER"]),
        ([["B-PER", ""]], [["B-PER", "O"]]),
        ([["S-PER", "O"]], [["S-PER", "O"]]),
        ([["U-PER"]], [["U-PER"]]),
        ([["L-PER", "Z-LOC"]], [["O", "O"]]),
    ],
)
def test_unusual_inputs_are_answered_as_by_seqeval(y_true: Any, y_pred: Any) -> None:
    for average in (*AVERAGES, "samples"):
        same(lambda package: package.metrics.f1_score(y_true, y_pred, average=average))  # noqa: B023
    for mode in (None, "strict"):
        for output_dict in (False, True):
            same(
                lambda package: package.metrics.classification_report(
                    y_true,
                    y_pred,
                    mode=mode,  # noqa: B023
                    output_dict=output_dict,  # noqa: B023
                )
            )


def test_unique_labels_and_lengths_are_checked_as_by_seqeval() -> None:
    y_true, y_pred = [["B-PER", "O"], ["B-LOC"]], [["O", "B-ORG"], ["B-LOC"]]
    same(lambda package: package.metrics.v1.unique_labels(y_true, y_pred, package.scheme.IOB2))
    same(lambda package: package.metrics.v1.check_consistent_length(y_true, y_pred[:1]))
    same(lambda package: package.metrics.v1.precision_recall_fscore_support(y_true, y_pred))


def test_a_user_defined_scheme_is_used() -> None:
    """Only B begins a mention, and I continues it whatever its label."""

    def found(package: Any) -> Any:
        scheme = package.scheme
        own = type(
            "Own",
            (scheme.Token,),
            {
                "allowed_prefix": scheme.Prefix.B | scheme.Prefix.I | scheme.Prefix.O,
                "start_patterns": {(scheme.Prefix.ANY, scheme.Prefix.B, scheme.Tag.ANY)},
                "inside_patterns": {(scheme.Prefix.ANY, scheme.Prefix.I, scheme.Tag.ANY)},
                "end_patterns": {(scheme.Prefix.ANY, scheme.Prefix.ANY, scheme.Tag.ANY)},
            },
        )
        tags = [["I-A", "B-A", "I-B", "O", "I-A", "B-C"], ["B-A", "B-A", "I-A"]]
        return [[repr(entity) for entity in row] for row in scheme.Entities(tags, own).entities]

    assert found(ours) == [["(0, A, 1, 3)", "(0, C, 5, 6)"], ["(1, A, 0, 1)", "(1, A, 1, 3)"]]
    same(found)


def test_install_lets_import_seqeval_find_the_layer() -> None:
    code = (
        "import sys; import spanwise.compat.seqeval as layer; layer.install(); import seqeval;"
        "from seqeval.metrics import f1_score; from seqeval.metrics.sequence_labeling import get_entities;"
        "from seqeval.metrics.v1 import classification_report; from seqeval.scheme import IOB2;"
        "from seqeval.reporters import DictReporter;"
        "assert seqeval is layer and f1_score is layer.metrics.f1_score and IOB2 is layer.scheme.IOB2;"
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_warnings_are_caught_by_our_class_and_by_the_one_of_scikit_learn() -> None:
    from spanwise.compat.seqeval.metrics.v1 import UndefinedMetricWarning

    exceptions = pytest.importorskip("sklearn.exceptions", reason="scikit-learn is not installed")
    for category in (UndefinedMetricWarning, exceptions.UndefinedMetricWarning):
        with pytest.warns(category, match="no true nor predicted samples"):
            ours.metrics.f1_score([["O"]], [["O"]])


def test_seqevals_own_tests_pass_with_the_layer_installed() -> None:
    """The one test that starts Perl 20,000 times is left out."""
    folder = os.environ.get("SPANWISE_SEQEVAL_TESTS")
    if not folder:
        pytest.skip("set SPANWISE_SEQEVAL_TESTS to the folder `tests` of seqeval's source distribution")
    code = (
        "import sys, pytest; import spanwise.compat.seqeval as layer; layer.install();"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-k', 'not statistical', '.']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_lists_are_encoded_once_for_several_calls_and_again_once_they_change() -> None:
    scores = (ours.metrics.precision_score, ours.metrics.recall_score, ours.metrics.f1_score)
    gold, predicted = [["B-PER", "I-PER", "O"]] * 3, [["B-PER", "O", "O"], ["B-PER", "I-PER", "O"], ["O"] * 3]
    first = TagSequences.of(gold)
    assert TagSequences.of(gold) is first and TagSequences.of([list(part) for part in gold]) is first
    before = [score(gold, predicted) for score in scores]
    assert TagSequences.of(gold) is first
    predicted[2][:2] = ["B-PER", "I-PER"]
    after = [score(gold, predicted) for score in scores]
    assert before == pytest.approx([1 / 2, 1 / 3, 2 / 5]) and after == pytest.approx([2 / 3] * 3)
