"""The manifest of a study: how it is read, and which errors are reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from study_files import MANIFEST

from spanwise.errors import InputError
from spanwise.studies import Manifest, read_manifest
from spanwise.studies.run import check_settings


def read(tmp_path: Path, text: str) -> Manifest:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_manifest(path)


def refuse(tmp_path: Path, text: str, *expected: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    for part in expected:
        assert part in str(error.value)


def pairs(manifest: Manifest) -> list[tuple[str, str, str | None]]:
    return [(pair.first, pair.second, pair.factor) for pair in manifest.pairs]


def test_datasets_and_systems_are_sorted(tmp_path: Path) -> None:
    manifest = read(tmp_path, MANIFEST)
    assert [dataset.name for dataset in manifest.datasets] == ["north", "south"]
    assert [system.name for system in manifest.systems] == ["large", "rules", "small"]
    assert manifest.root == tmp_path
    assert manifest.settings == {"attributes": "fu20", "resamples": 50}


def test_pairs_that_differ_in_only_one_factor_are_compared_larger_first(tmp_path: Path) -> None:
    assert pairs(read(tmp_path, MANIFEST)) == [
        ("large", "rules", "size"),
        ("large", "small", "size"),
        ("rules", "small", "size"),
    ]
    text = MANIFEST.replace("{size = 300}", '{size = 300, decoder = "crf"}')
    assert pairs(read(tmp_path, text)) == [("rules", "small", "size")]


def test_explicit_pairs_keep_their_direction_and_join_those_of_factors(tmp_path: Path) -> None:
    text = MANIFEST + '[[compare]]\nsystems = ["small", "large"]\n'
    assert ("small", "large", "size") in pairs(read(tmp_path, text))
    assert ("large", "small", "size") not in pairs(read(tmp_path, text))


def test_without_factors_and_comparisons_all_pairs_are_compared(tmp_path: Path) -> None:
    text = re.sub(r"factors = .*\n", "", MANIFEST)
    assert len(pairs(read(tmp_path, text))) == 3
    explicit = text + '[[compare]]\nsystems = ["small", "large"]\n'
    assert pairs(read(tmp_path, explicit)) == [("small", "large", None)]


def test_a_comparison_of_three_systems_is_three_pairs(tmp_path: Path) -> None:
    text = re.sub(r"factors = .*\n", "", MANIFEST) + '[[compare]]\nsystems = ["small", "large", "rules"]\n'
    assert len(pairs(read(tmp_path, text))) == 3


def test_columns_become_keywords_for_reading(tmp_path: Path) -> None:
    text = MANIFEST.replace('test = "north/test.txt"', 'test = "t"\ncolumns = {token = 0, tag = 3, pos = 1}')
    north = read(tmp_path, text).datasets[0]
    assert north.reading == {"token_column": 0, "tag_column": 3, "columns": {"pos": 1}}


def test_top_level_reading_options_apply_to_datasets_that_do_not_override_them(tmp_path: Path) -> None:
    text = 'scheme = "IOB1"\n' + MANIFEST.replace('test = "north/test.txt"', 'test = "t"\nscheme = "BIOES"')
    assert [dataset.reading["scheme"] for dataset in read(tmp_path, text).datasets] == ["BIOES", "IOB1"]


def test_broken_toml_is_reported_with_its_line(tmp_path: Path) -> None:
    refuse(tmp_path, "a = 1\nb = = 2\n", "study.toml:2: this is not TOML")


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b'name = "\xff"\n')
    with pytest.raises(InputError, match="the byte 0xff is not UTF-8"):
        read_manifest(path)


def test_an_unknown_key_is_reported_with_its_line_and_the_closest_known_one(tmp_path: Path) -> None:
    refuse(
        tmp_path,
        MANIFEST.replace("resamples = 50", "resample = 50"),
        "study.toml:3: the key 'resample' is not known here. Did you mean 'resamples'?",
        "There are: ",
    )
    wrong = MANIFEST.replace('train = "south/train.txt"', 'training = "south/train.txt"')
    refuse(tmp_path, wrong, "study.toml:10: the key 'training' is not known here. Did you mean 'train'?")


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("resamples = 50", 'resamples = "50"', "study.toml:3: 'resamples' must be a whole number, not '50'."),
        ("resamples = 50", "resamples = true", "'resamples' must be a whole number, not True."),
        ("resamples = 50", "buckets = {entity_length = 3}", "'buckets' of 'entity_length' must be text"),
        ('test = "north/test.txt"', "", "study.toml:5: the dataset 'north' has no gold file."),
        ("{run}", "{seed}", "the pattern '{dataset}/predictions/{system}.{seed}.txt' holds {seed}."),
        ("{dataset}/", "", "names the same files for all 2 datasets.\nPut {dataset} into it."),
        ("{system}.", "", "names the same files for all 3 systems.\nPut {system} into it."),
        ("{size = 300}", "{size = [1]}", "the factor 'size' must be text or a number, not [1]."),
        ("[datasets.north]", "[datasets.mean]", "'mean' cannot be a name."),
        ("[systems.rules]", '[systems."a/b"]', "'a/b' cannot be a name."),
        ("attributes", "columns = {token = 1.5}\nattributes", "the column 'token' must be a number"),
        ("resamples = 50", "labels = [1]", "study.toml:3: 'labels' must be a list of texts, not [1]."),
        ("resamples = 50", "runs = [1.5]", "study.toml:3: 'runs' must be a list of numbers or texts"),
        ("resamples = 50", "fields = {a = [1]}", "study.toml:3: 'fields' must be a table of texts"),
        ("resamples = 50", "buckets = {a = 1}", "study.toml:3: 'buckets' of 'a' must be text"),
        ("resamples = 50", 'scheme = "x"', "study.toml:3: no scheme is called 'x'."),
        ("resamples = 50", 'format = "x"', "study.toml:3: no format is called 'x'."),
        ("resamples = 50", 'repair = "x"', "study.toml:3: no repair is called 'x'."),
        ("resamples = 50", 'separator = "x"', "study.toml:3: no separator is called 'x'."),
        ("resamples = 50", 'duplicates = "x"', "study.toml:3: no way to treat duplicates is called 'x'."),
        ("resamples = 50", 'align = "x"', "study.toml:3: no way to align is called 'x'."),
        ('test = "north/test.txt"', 'test = "t"\nscheme = "x"', "study.toml:8: no scheme is called 'x'."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_with_its_position(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in MANIFEST
    refuse(tmp_path, MANIFEST.replace(old, new), "study.toml", expected)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cross = [1]", "cross holds 1, but must be a list of pairs of attributes."),
        ('cross = ["nope,label"]', "no attribute is called 'nope'."),
        ("weights = [1]", "no credit is called '1'."),
        ('weights = "LABEL=a"', "the credit 'LABEL=a' begins with 'LABEL', which is not an outcome."),
        ('unit = "x"', "unit is 'x', but must be 'sentence', 'document' or 'block:N'."),
        ('buckets = {entity_length = "x"}', "no bucketing is called 'x'."),
        ('score = "x"', "no score of a study is called 'x'."),
    ],
)
def test_a_setting_that_names_nothing_is_reported_with_its_position(
    tmp_path: Path, line: str, expected: str
) -> None:
    manifest = read(tmp_path, MANIFEST.replace("resamples = 50", line))
    with pytest.raises(InputError) as caught:
        check_settings(manifest)
    assert str(caught.value).startswith(f"{manifest.path}:3: {expected}")


def test_an_error_about_a_system_without_predictions_says_what_to_add(tmp_path: Path) -> None:
    text = "\n".join(MANIFEST.splitlines()[1:])
    refuse(tmp_path, text, "where to find the predictions of 'large'.", "Add, above all tables")


def test_a_value_in_place_of_a_table_is_refused(tmp_path: Path) -> None:
    refuse(
        tmp_path,
        "predictions = 'p'\n[datasets]\nnorth = 3\n[systems.a]\n",
        "datasets.north must be a table, not 3.",
    )


def test_datasets_and_systems_are_required(tmp_path: Path) -> None:
    refuse(tmp_path, "seed = 1\n", "the manifest names no datasets.\nAdd a table such as [datasets.NAME].")
    refuse(tmp_path, '[datasets.a]\ntest = "t"\n', "the manifest names no systems.")


@pytest.mark.parametrize(
    "comparison, expected",
    [
        ('systems = ["large", "smal"]', "no system is called 'smal'. Did you mean 'small'?"),
        ('systems = ["large"]', "comparison 1 needs two different systems, not ['large']."),
        ('system = ["large"]', "the key 'system' is not known here."),
    ],
)
def test_a_wrong_comparison_is_reported_with_its_position(
    tmp_path: Path, comparison: str, expected: str
) -> None:
    refuse(tmp_path, f"{MANIFEST}[[compare]]\n{comparison}\n", "study.toml:", expected)


def test_a_comparison_that_is_not_a_table_is_refused(tmp_path: Path) -> None:
    refuse(tmp_path, 'compare = ["large", "small"]\n' + MANIFEST, "'compare' must be written as [[compare]]")


def test_numbers_in_names_are_sorted_as_numbers(tmp_path: Path) -> None:
    systems = "".join(f"[systems.K{number}]\n" for number in (10, 2, 1))
    text = 'predictions = "{system}.conll"\n[datasets.d10]\ntest = "a"\n[datasets.d9]\ntest = "b"\n' + systems
    manifest = read(tmp_path, text.replace("{system}", "{dataset}/{system}"))
    assert [dataset.name for dataset in manifest.datasets] == ["d9", "d10"]
    assert [system.name for system in manifest.systems] == ["K1", "K2", "K10"]
    assert pairs(manifest) == [("K1", "K2", None), ("K1", "K10", None), ("K2", "K10", None)]


def test_a_system_without_a_factor_is_not_paired_with_those_that_have_it(tmp_path: Path) -> None:
    names = {"CnoneWrandLstmCrf": "", "K1": "1", "K3": "3", "K6": "6"}
    systems = "".join(
        f"[systems.{name}]\n" + (f"factors = {{K = {value}}}\n" if value else "")
        for name, value in names.items()
    )
    text = MANIFEST.partition("[systems.")[0] + systems
    assert pairs(read(tmp_path, text)) == [("K3", "K1", "K"), ("K6", "K1", "K"), ("K6", "K3", "K")]
