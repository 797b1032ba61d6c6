"""Models that are run on gold's texts: spaCy pipelines and Transformers token classifiers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import read
from spanwise.models import with_models

spacy = pytest.importorskip("spacy")

WORDS = [["Ada", "Lovelace", "met", "Bo", "in", "Rome", "."], ["Rome", "is", "old"]]
GOLD = [[(0, 2, "PER"), (3, 4, "PER"), (5, 6, "LOC")], [(0, 1, "LOC")]]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline of rules that knows Rome and Ada."""
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "LOC", "pattern": "Rome"}, {"label": "PER", "pattern": "Ada"}])
    folder = tmp_path_factory.mktemp("models") / "rules"
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.spacy"
    docs = []
    vocab = spacy.blank("en").vocab
    for words, spans in zip(WORDS, GOLD, strict=True):
        doc = spacy.tokens.Doc(vocab, words=words)
        doc.set_ents([spacy.tokens.Span(doc, *span) for span in spans])
        docs.append(doc)
    spacy.tokens.DocBin(docs=docs).to_disk(path)
    return path


def test_a_pipeline_is_run_on_gold_and_scored(gold: Path, pipeline: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    result = spanwise.evaluate(gold, spacy=pipeline, resamples=0, progress=lambda *step: steps.append(step))
    overall = result["rules"].exact.overall
    # Rome twice and Ada, whose boundary is wrong.
    assert (overall.gold, overall.predicted, overall.correct) == (4, 3, 2)
    assert result["rules"].fair.overall.BEs == 1
    assert ("tag", 2, 2) in steps


def test_a_model_stands_beside_other_systems_and_has_a_name_of_its_own(gold: Path, pipeline: Path) -> None:
    result = spanwise.evaluate(gold, {"gold": gold}, spacy={"mine": pipeline}, resamples=0)
    assert list(result.systems) == ["gold", "mine"]
    with pytest.raises(ChoiceError, match="two systems are called 'rules'"):
        spanwise.evaluate(gold, {"rules": gold}, spacy=pipeline, resamples=0)


def test_a_pipeline_reads_texts_without_tokens(pipeline: Path, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    text = "Ada Lovelace met Bo in Rome."
    path.write_text(json.dumps({"text": text, "spans": [{"start": 23, "end": 27, "label": "LOC"}]}) + "\n")
    result = spanwise.evaluate(path, spacy=pipeline, resamples=0)
    assert result["rules"].exact.overall.correct == 1


def test_scores_of_a_span_categoriser_are_kept() -> None:
    gold = read(GOLD, tokens=WORDS)

    class Pipeline:
        def pipe(self, docs: Any) -> Any:
            for doc in docs:
                doc.spans["sc"] = [spacy.tokens.Span(doc, 0, 1, label="LOC")]
                doc.spans["sc"].attrs["scores"] = [0.25]
                yield doc

        vocab = spacy.blank("en").vocab

    from spanwise.models import _mentions, _Spacy

    model: Any = object.__new__(_Spacy)
    model._nlp = Pipeline()
    mentions = _mentions(list(model.rows(gold.corpus, lambda *step: None)))
    assert mentions.rows() == [(0, 0, 1, "LOC"), (1, 0, 1, "LOC")]
    assert mentions.score is not None and mentions.score.tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda text: text.replace('factory = "entity_ruler"', 'factory = "my_ruler"'), "my_ruler"),
        (lambda text: text.replace("spacy.Tokenizer.v1", "mine.Tokenizer.v1"), "mine.Tokenizer.v1"),
        (None, "steps.py"),
    ],
)
def test_code_of_a_pipeline_is_not_run_without_trust(
    gold: Path, pipeline: Path, tmp_path: Path, change: Any, named: str
) -> None:
    import shutil

    folder = tmp_path / "own"
    shutil.copytree(pipeline, folder)
    if change is None:
        (folder / "steps.py").write_text("raise SystemExit")
    else:
        config = folder / "config.cfg"
        changed = change(config.read_text())
        assert changed != config.read_text()
        config.write_text(changed)
    with pytest.raises(ChoiceError, match=f"code of its own: {named}"):
        spanwise.evaluate(gold, spacy=folder, resamples=0)
    if change is None:  # spaCy itself does not run it
        assert (
            spanwise.evaluate(gold, spacy=folder, trust=True, resamples=0)["own"].exact.overall.correct == 2
        )


def test_a_folder_alone_is_never_run(gold: Path, pipeline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(gold), str(pipeline), "--resamples", "0"]) == 3
    said = capsys.readouterr().err
    assert "which is a program" in said and "--spacy" in said


def test_the_command_runs_a_pipeline(gold: Path, pipeline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(gold), "--spacy", f"mine={pipeline}", "--resamples", "0"]) == 0
    assert "mine" in capsys.readouterr().out
    assert main(["evaluate", str(gold), "--spacy", str(gold.parent), "--resamples", "0"]) == 3
    assert "not the folder of a spaCy pipeline" in capsys.readouterr().err


def test_weights_that_can_hold_code_and_code_of_models_are_refused(gold: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not the folder of a Transformers model"):
        spanwise.evaluate(gold, hf=tmp_path, resamples=0)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InputError, match="no weights in safetensors"):
        spanwise.evaluate(gold, hf=tmp_path, resamples=0)
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "config.json").write_text('{"auto_map": {"AutoModel": "code.Model"}}')
    with pytest.raises(InputError, match="code of its own"):
        spanwise.evaluate(gold, hf=tmp_path, resamples=0)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with random weights."""
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    words = sorted({word.lower() for words in WORDS for word in words})
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=5 + len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=8, num_labels=3,
        id2label={0: "O", 1: "B-PER", 2: "I-PER"},
    )  # fmt: skip
    BertForTokenClassification(config).save_pretrained(folder)
    return folder


def test_a_token_classifier_is_run_with_its_scores(classifier: Path) -> None:
    gold = read(GOLD, tokens=WORDS)
    _, systems = with_models(gold, None, None, classifier, {}, progress=lambda *step: None)
    predicted: Any = systems["tiny"]
    assert predicted.corpus is gold.corpus
    assert len(predicted.mentions) and predicted.mentions.score is not None
    assert ((predicted.mentions.score > 1 / 3 - 1e-6) & (predicted.mentions.score <= 1)).all()
    result = spanwise.evaluate(gold, hf=classifier, resamples=0)
    assert result["tiny"].exact.overall.predicted == len(predicted.mentions)


def test_every_word_of_a_long_sentence_is_tagged(classifier: Path) -> None:
    from spanwise.models import _Transformers

    model = _Transformers(str(classifier))
    words = ["Rome"] * 20
    ((tags, scores),) = model._tagged([words])
    assert len(tags) == 20 and all(score > 0 for score in scores)
