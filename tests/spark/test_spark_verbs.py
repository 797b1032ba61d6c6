"""Other functions on Spark give the same documents as on one machine, from files, folders and frames."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from annotators import by_annotator, campaign
from parts import small_parts
from sparking import Outliving, Table, frame, session, small_splits, split, starts, table

import spanwise
from spanwise.attributes import LexiconQueries
from spanwise.attributes.forms import Forms
from spanwise.cli.arguments import engine_of
from spanwise.cli.main import main
from spanwise.columns import ints
from spanwise.composition import SentenceHashes
from spanwise.corpus import Corpus
from spanwise.demo import Demo, generate
from spanwise.document.dataset import Description
from spanwise.document.evaluation import Evaluation
from spanwise.engines import spark
from spanwise.engines.spark import SparkEngine
from spanwise.errors import ChoiceError
from spanwise.evaluation import blocks
from spanwise.evaluation.blocks import TrainingQueries
from spanwise.reports.error_frames import error_table
from spanwise.reports.errors import cells_of, listing
from spanwise.slices import Over


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return generate(tmp_path_factory.mktemp("demo"), sentences=150)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use blocks of a few sentences."""
    small_parts(monkeypatch, tokens=300, training=500, sentences=25)
    monkeypatch.setattr(spark, "ROWS", 20)


def folders(demo: Demo, folder: Path) -> tuple[str, dict[str, str], str]:
    """Gold, systems and training data of the demo, each in several files."""
    borders = starts(demo.gold)
    gold = split(demo.gold, folder / "gold", [borders[2], borders[5]])
    systems = {
        name: split(path, folder / name, [7 * number + 3, 60])
        for number, (name, path) in enumerate(demo.systems.items())
    }
    return gold, systems, split(demo.train, folder / "train", [40, 90])


chosen_rows = partial(error_table, outcome="LE,BE", tough="UNSEEN-ANY")


def chosen(result: Evaluation) -> list[str]:
    """The requested errors, as strings."""
    return sorted(map(text_of, map(cells_of, listing(result, outcome="LE,BE", tough="UNSEEN-ANY"))))


def test_errors_are_rows_written_by_executors(demo: Demo, tmp_path: Path) -> None:
    gold, systems, train = folders(demo, tmp_path)
    result = spanwise.evaluate(demo.gold, demo.systems, train=demo.train, resamples=0, examples_cap=10**6)
    expected = chosen(result)
    call = ["errors", gold, *(f"{name}={path}" for name, path in systems.items()), "--train", train]
    options = [
        "--outcome",
        "LE,BE",
        "--tough",
        "UNSEEN-ANY",
        "--as",
        "parquet",
        "-o",
        str(tmp_path / "errors"),
    ]
    kept = Outliving(session())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.engines.spark.spark_session", lambda *_: kept)
        assert main([*call, *options, "--engine", "spark", "--partitions", "3"]) == 0
    rows = session().read.parquet(str(tmp_path / "errors")).collect()
    assert sorted(map(text_of, rows)) == expected
    plain = chosen_rows(demo.gold, demo.systems, train=demo.train, engine=session())
    assert sorted(map(text_of, plain.frame.collect())) == expected


def text_of(row: Sequence[object]) -> str:
    """A row without the position of its sentence, which differs between one file and several."""
    return repr([*row[:11], row[14]])


def test_a_large_lexicon_is_sent_in_parts_and_changes_no_byte(demo: Demo, tmp_path: Path) -> None:
    evaluate = partial(spanwise.evaluate, attributes="all", lowercase=True, resamples=20)
    bounded = SparkEngine(session(), 3, lexicon=30_000)
    expected = evaluate(demo.gold, demo.systems, train=demo.train)
    result = evaluate(demo.gold, demo.systems, train=demo.train, engine=bounded)
    assert result.to_json() == expected.to_json()
    gold, systems, train = folders(demo, tmp_path)
    parts = evaluate(gold, systems, train=train, engine=bounded)
    assert parts.systems == expected.systems and parts.comparisons == expected.comparisons
    assert parts.dataset == expected.dataset
    whole = spanwise.evaluate(demo.gold, demo.systems, train=demo.train, resamples=0, examples_cap=10**6)
    rows = chosen_rows(gold, systems, train=train, engine=bounded).frame.collect()
    assert sorted(map(text_of, rows)) == chosen(whole)


def test_the_bound_of_a_lexicon_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def stop(self) -> None: ...

    monkeypatch.setattr("spanwise.engines.spark.spark_session", lambda *_: Session())
    args = Namespace(engine="spark", master=None, partitions=None, conf=["spark.spanwise.lexicon=2MB"])
    with engine_of(args) as engine:
        assert engine is not None and engine.lexicon == 2 << 20
    args.conf = ["spark.spanwise.lexicon=much"]
    with (
        pytest.raises(ChoiceError, match=r"^--conf spark\.spanwise\.lexicon is 'much', but"),
        engine_of(args),
    ):
        pass


def test_joint_queries_of_blocks_stay_within_the_bound() -> None:
    queries = [
        TrainingQueries(
            LexiconQueries.of(words, Forms(ints([]), ints([]), 0)), SentenceHashes.of([Corpus.of([words])])
        )
        for words in (["a", "b"], ["a", "b"], ["c", "d"], ["e"], ["a"])
    ]
    bound = 3 * blocks.WORD + 2 * 16
    parts = list(blocks._together(queries, bound))
    assert [size for size, _ in parts] == [2, 2, 1]
    assert all(query.size <= bound for _, query in parts)
    assert [size for size, _ in blocks._together(queries, None)] == [5]


find_slices = partial(spanwise.find_slices, least=5, flips=99, level=0.5, confirm=True)


@pytest.mark.parametrize("over", ["recall", "f1"])
def test_slices_of_files_equal_those_of_one_machine(demo: Demo, over: Over) -> None:
    of_demo = partial(find_slices, demo.gold, demo.systems, train=demo.train, over=over)
    expected, result = of_demo(), of_demo(engine=SparkEngine(session(), 3))
    assert expected.comparison and expected.tested > 100
    assert result.to_json() == expected.to_json()


def test_slices_of_folders_and_frames_equal_those_of_one_file(demo: Demo, tmp_path: Path) -> None:
    expected = find_slices(demo.gold, demo.systems, train=demo.train)
    gold, systems, train = folders(demo, tmp_path)
    lake = find_slices(gold, systems, train=train, engine=session())
    rows = frame(tmp_path / "gold.parquet", columns_of(demo))
    training = frame(tmp_path / "train.parquet", table(demo.train))
    framed = find_slices(
        rows, {name: name for name in demo.systems}, gold="tags", document="doc_id", sentence="place",
        train=training,
    )  # fmt: skip
    for result in (lake, framed):
        assert result.systems == expected.systems and result.comparison == expected.comparison
        assert result.settings == expected.settings


@pytest.mark.parametrize(("partitions", "documents"), [(1, None), (3, "none"), (7, None), (32, None)])
def test_agreement_of_files_equals_that_of_one_machine(
    demo: Demo, tmp_path: Path, partitions: int, documents: str | None
) -> None:
    majority, worksheet = tmp_path / "majority.jsonl", tmp_path / "open.csv"
    results, written = [], []
    for engine in (None, SparkEngine(session(), partitions)):
        agreement = spanwise.agree(
            demo.systems, systems={"gold": demo.gold}, tokens="iob2" if documents else "label",
            majority=majority, worksheet=worksheet, engine=engine, documents=documents,
        )  # fmt: skip
        results.append(agreement.to_json())
        written.append([path.read_bytes() for path in (majority, worksheet)])
    assert results[0] == results[1]
    assert written[0] == written[1]


def test_agreement_of_annotators_with_different_documents_equals_that_of_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, sentences=4)
    for seed in (1, 3):
        annotations = by_annotator(campaign(seed, annotators=3, documents=6, missing=0.25))
        files = {name: tmp_path / f"{seed}-{name}.conll" for name in annotations}
        for name, path in files.items():
            spanwise.write(annotations[name], path)
        expected = spanwise.agree(files)
        agreement = spanwise.agree(files, engine=SparkEngine(session(), 2))
        assert agreement.to_json() == expected.to_json()


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "both"])
def test_agreement_of_tables_whose_documents_continue_in_the_next_rows(
    demo: Demo, tmp_path: Path, kind: str
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    files = {}
    for number, (name, path) in enumerate(demo.systems.items()):
        columns = table(path)
        rows = {key: columns[column] for key, column in ROLES.items()}
        if kind == "parquet" or (kind == "both" and number == 0):
            files[name] = tmp_path / f"{name}.parquet"
            parquet.write_table(pyarrow.table(rows), files[name], row_group_size=20)
        elif kind == "jsonl":
            files[name] = tmp_path / f"{name}.jsonl"
            records = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
            files[name].write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        else:
            files[name] = path  # documents without names are identified by their text
    majority, worksheet = tmp_path / "majority.conll", tmp_path / "open.csv"
    agree = partial(spanwise.agree, files, majority=majority, worksheet=worksheet)
    outcomes = []
    for engine in (None, SparkEngine(session(), 3)):
        with small_splits():
            document = json.loads(agree(engine=engine).to_json())
        for entry in document["inputs"]:
            if entry["format"] == "parquet" or entry["path"].endswith(".parquet"):
                del entry["sha256"], entry["format"]  # these differ between rows and their file
        outcomes.append([document, majority.read_bytes(), worksheet.read_bytes()])
    assert outcomes[0] == outcomes[1]


ROLES = {"tokens": "tokens", "ner_tags": "tags", "document": "doc_id"}


@pytest.mark.parametrize("documents", ["auto", "none"])
def test_gamma_equals_that_of_one_machine_if_blocks_cut_the_only_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: str
) -> None:
    pytest.importorskip("pygamma_agreement", reason="the extra 'agreement' is not installed")
    small_parts(monkeypatch, sentences=2)
    annotations = by_annotator(campaign(2, annotators=2, documents=3))
    files = {name: tmp_path / f"{name}.conll" for name in annotations}
    for name, path in files.items():
        spanwise.write(annotations[name], path)
    expected = spanwise.agree(files, gamma=True, documents=documents)
    agreement = spanwise.agree(files, gamma=True, documents=documents, engine=SparkEngine(session(), 3))
    assert expected.gamma is not None and len(expected.gamma) == (1 if documents == "none" else 3)
    assert agreement.to_json() == expected.to_json()
    if documents == "none":
        folders = {name: split(path, tmp_path / name, [2, 5]) for name, path in files.items()}
        parts = spanwise.agree(folders, gamma=True, documents="none", engine=session())
        assert parts.gamma == expected.gamma and parts.alpha_u == expected.alpha_u
        assert {sentence.source for sentence in parts.sentences} == {folders["a0"]}


@pytest.mark.parametrize(
    ("partitions", "describe"),
    [
        (1, spanwise.describe),
        (3, partial(spanwise.describe, examples=3, lowercase=True)),
        (7, partial(spanwise.describe, redact=True)),
        (32, spanwise.describe),
    ],
)
def test_the_description_of_files_equals_that_of_one_machine(
    demo: Demo, tmp_path: Path, partitions: int, describe: Callable[..., Description]
) -> None:
    sentences = demo.gold.read_text("utf-8").split("\n\n")
    gold, also = tmp_path / "gold.conll", tmp_path / "train.conll"
    again = [sentence.replace("-PER", "-ORG") for sentence in sentences[10:40:3]]
    gold.write_text("\n\n".join([*sentences[:-1], *again, *again[:2], *sentences[60:64], ""]), "utf-8")
    also.write_text(demo.train.read_text("utf-8") + "\n\n".join([*sentences[30:60:2], *again, ""]), "utf-8")
    train = None if partitions == 32 else also
    expected = describe(gold, train=train)
    description = describe(gold, train=train, engine=SparkEngine(session(), partitions))
    assert expected.dataset.conflicts is not None and expected.dataset.conflicts.variation is not None
    assert expected.dataset.conflicts.sentences.groups and expected.dataset.conflicts.variation.places
    assert description.to_json() == expected.to_json()


def columns_of(demo: Demo) -> Table:
    """Gold and systems of the demo, as columns of one table."""
    columns = table(demo.gold)
    for name, path in demo.systems.items():
        columns[name] = table(path, name)[name]
    return columns


def without_places(text: str) -> object:
    """A document without the parts that differ between files and frames."""
    document = json.loads(text)
    del document["inputs"]
    for sentence in document["sentences"]:
        sentence["source"] = sentence["source"].rpartition(">")[2].rpartition(".arrow")[2]
    return document


def arrow(path: Path, columns: Table, tags: str) -> Path:
    """Write an Arrow file with one of the columns of tags."""
    pyarrow = pytest.importorskip("pyarrow")
    rows = {"tokens": columns["tokens"], "ner_tags": columns[tags], "document": columns["doc_id"]}
    with (
        pyarrow.OSFile(str(path), "wb") as sink,
        pyarrow.ipc.new_file(sink, (whole := pyarrow.table(rows)).schema) as writer,
    ):
        writer.write_table(whole)
    return path


@pytest.mark.parametrize("partitions", [1, 3])
def test_agreement_of_columns_of_a_frame_equals_that_of_files(
    demo: Demo, tmp_path: Path, partitions: int
) -> None:
    columns, names = columns_of(demo), list(demo.systems)
    rows = frame(tmp_path / "rows.parquet", columns)
    files = {name: arrow(tmp_path / f"{name}.arrow", columns, name) for name in names}
    gold = arrow(tmp_path / "gold.arrow", columns, "tags")
    of_files, of_frame = (
        partial(spanwise.agree, majority=tmp_path / f"{kind}.conll", worksheet=tmp_path / f"{kind}.csv")
        for kind in ("files", "frame")
    )
    for documents, document in ((None, "doc_id"), ("none", None)):
        expected = of_files(files, systems={"gold": gold}, tokens="iob2", documents=documents)
        agreement = of_frame(
            rows, annotators={name: name for name in names}, systems={"gold": "tags"}, document=document,
            units="iob2", tokens="tokens", sentence="place", engine=SparkEngine(session(), partitions),
        )  # fmt: skip
        assert without_places(agreement.to_json()) == without_places(expected.to_json())
        assert (tmp_path / "frame.conll").read_bytes() == (tmp_path / "files.conll").read_bytes()
        first = str(files[names[0]])  # where the worksheets say that mentions are
        written = (tmp_path / "files.csv").read_text().replace(first, "<Spark frame>")
        assert (tmp_path / "frame.csv").read_text() == written
    entry = agreement.inputs[0]
    assert (entry.role, entry.path, entry.system) == ("annotator", f"<Spark frame> {names[0]}", names[0])


def test_agreement_of_annotators_in_separate_frames_equals_that_of_columns(
    demo: Demo, tmp_path: Path
) -> None:
    columns, (first, second, *_) = columns_of(demo), list(demo.systems)
    rows = frame(tmp_path / "rows.parquet", columns)
    other = frame(tmp_path / "other.parquet", {"place": columns["place"][::-1], first: columns[second][::-1]})
    agreed = partial(spanwise.agree, tokens="tokens", document="doc_id", sentence="place", units="iob2")
    expected = agreed(rows, annotators={"ann": first, "bo": second}, systems={"gold": "tags"})
    agreement = agreed(rows, annotators={"ann": first, "bo": other}, systems={"gold": "tags"})
    assert without_places(agreement.to_json()) == without_places(expected.to_json())
    with pytest.raises(ChoiceError, match=r"^the first annotator, 'bo', is not a column"):
        agreed(rows, annotators={"bo": other, "ann": first})
    with pytest.raises(ChoiceError, match=r"^the annotator 'ann' is a Spark frame, but"):
        spanwise.agree({"ann": rows, "bo": other}, engine=session())


def test_gamma_of_a_frame_without_documents_equals_that_of_one_file(tmp_path: Path) -> None:
    pytest.importorskip("pygamma_agreement", reason="the extra 'agreement' is not installed")
    annotations = by_annotator(campaign(2, annotators=2, documents=3))
    files = {name: tmp_path / f"{name}.conll" for name in annotations}
    columns: Table = {}
    for name, path in files.items():
        spanwise.write(annotations[name], path)
        columns = {**table(path, name), **columns}
    rows = frame(tmp_path / "rows.parquet", columns)
    agreement = spanwise.agree(rows, annotators={name: name for name in files}, gamma=True, sentence="place")
    assert agreement.gamma == spanwise.agree(files, gamma=True, documents="none").gamma


def test_the_description_of_a_frame_equals_that_of_files(demo: Demo, tmp_path: Path) -> None:
    test, train = table(demo.gold), table(demo.train)
    for number in range(10, 40, 3):  # add sentences that are annotated in two ways
        again = [tag.replace("-PER", "-ORG") for tag in test["tags"][number]]
        for columns in (test, train):
            for key, value in (("tokens", test["tokens"][number]), ("tags", again)):
                columns[key].append(value)
            columns["doc_id"].append(columns["doc_id"][-1])
            columns["place"].append(len(columns["place"]))
    files = [
        arrow(tmp_path / f"{name}.arrow", columns, "tags")
        for name, columns in (("test", test), ("train", train))
    ]
    rows, training = frame(tmp_path / "a.parquet", test), frame(tmp_path / "b.parquet", train)
    describe = partial(
        spanwise.describe, rows, gold="tags", tokens="tokens", document="doc_id", sentence="place",
        name="demo",
    )  # fmt: skip
    expected = spanwise.describe(files[0], train=files[1], name="demo")
    assert expected.dataset.conflicts is not None and expected.dataset.conflicts.sentences.groups
    for engine in (session(), SparkEngine(session(), 3), None):
        description = describe(train=training, engine=engine)
        assert placeless(description.to_json()) == placeless(expected.to_json())
    assert [entry.path for entry in description.inputs] == ["<Spark frame> tags"] * 2
    alone = describe(train=str(files[1]))
    assert placeless(alone.to_json()) == placeless(expected.to_json())


def placeless(text: str) -> object:
    """A description without the parts that differ between files and frames."""
    document = json.loads(text)
    del document["inputs"]
    conflicts = document["dataset"]["conflicts"]
    for example in [
        *conflicts["variation"]["examples"],
        *(x for own in conflicts["sentences"]["examples"] for x in own),
    ]:
        example["place"] = example["place"].rpartition(": ")[2]
    return document


def test_the_command_line_describes_and_compares_folders(demo: Demo, tmp_path: Path) -> None:
    gold, systems, train = folders(demo, tmp_path)
    first, second = list(systems)[:2]
    first_folder, second_folder = (  # cut between documents, because the end of a file ends its last document
        split(demo.systems[name], tmp_path / "apart" / name, [starts(demo.systems[name])[at]])
        for name, at in ((first, 3), (second, 6))
    )
    kept, out = Outliving(session()), tmp_path / "out.json"
    where = ["--engine", "spark", "--quiet", "--json", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.engines.spark.spark_session", lambda *_: kept)
        assert main(["describe", gold, "--train", train, "--name", "gold", *where]) == 0
        described = json.loads(out.read_text("utf-8"))["dataset"]
        assert main(["agree", f"{first}={first_folder}", f"{second}={second_folder}", *where]) == 0
        agreed = json.loads(out.read_text("utf-8"))
    expected = json.loads(spanwise.describe(demo.gold, train=demo.train, name="gold").to_json())["dataset"]
    for facts in (described, expected):  # training data cut in three has other documents and positions
        for key in ("sentences", "variation"):
            del facts["conflicts"][key]["examples"]
        for key in ("left_out", "unknown_tokens", "tough"):
            del facts["drift"][key]
    assert described == expected
    together = json.loads(spanwise.agree({name: demo.systems[name] for name in (first, second)}).to_json())
    for key in ("pairs", "mean", "tokens", "alpha_u", "ceiling", "majority", "ranking", "disagreement"):
        assert agreed[key] == together[key]


@pytest.mark.parametrize("read_by_spark", [False, True])
def test_leaks_are_the_same_on_spark(demo: Demo, tmp_path: Path, read_by_spark: bool) -> None:
    gold, systems, train = folders(demo, tmp_path) if read_by_spark else (demo.gold, demo.systems, demo.train)
    engine = SparkEngine(session(), partitions=3)
    here = spanwise.leaks(demo.gold, demo.systems, train=demo.train, resamples=50, same_label=True)
    there = spanwise.leaks(gold, systems, train=train, resamples=50, same_label=True, engine=engine)
    assert there.comparisons == here.comparisons
    for name, system in here.systems.items():
        assert there.systems[name].overall == system.overall
        assert there.systems[name].labels == system.labels
        assert there.systems[name].tough == system.tough
