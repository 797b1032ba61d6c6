"""A small document of every kind; the examples of the reference read them. Files are written here."""

import json
import random
import shutil
from pathlib import Path

import spanwise
from spanwise.demo import generate
from spanwise.demo.tuples import generate_tuples

PLACES = {"north": slice(0, 40), "south": slice(40, 80), "west": slice(80, 120)}
SHARES = {"small": 0.3, "large": 0.15, "latest": 0.14}
demo = generate(".", sentences=120)


def records(name, share=0.0, run=0):
    """The sentences of the demo, with a share of gold's mentions missing, too short or labeled PER."""
    draw = random.Random(f"{name} {run}")
    annotation = spanwise.read(demo.gold)
    words = [annotation.corpus.words(number) for number in range(len(annotation.corpus))]
    rows = [
        {"id": str(n), "document": f"d{n // 10}", "tokens": tokens, "spans": []}
        for n, tokens in enumerate(words)
    ]
    for sentence, start, end, label in annotation.mentions.rows():
        how = draw.choice(["missing", "short", "label"]) if draw.random() < share else "right"
        score = round(draw.uniform(0.6, 1) if how == "right" else draw.uniform(0.3, 0.8), 2)
        span = [start, end - (how == "short" and end > start + 1), "PER" if how == "label" else label, score]
        rows[sentence]["spans"] += [span] if how != "missing" else []
    return rows


def written(path, rows):
    """The path of a file with these records."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


gold = written("gold.jsonl", records("gold"))
systems = {name: written(f"{name}.jsonl", records(name, share)) for name, share in SHARES.items()}
for place, part in PLACES.items():
    written(f"{place}/gold.jsonl", records("gold")[part])
    for name, share in SHARES.items():
        for run in (1, 2, 3):
            written(f"{place}/{name}.{run}.jsonl", records(name, share, run)[part])
shutil.copy("west/large.3.jsonl", "west/latest.3.jsonl")
manifest = {
    "predictions": "{dataset}/{system}.{run}.jsonl",
    "datasets": {place: {"test": f"{place}/gold.jsonl", "train": "train.conll"} for place in PLACES},
    "systems": {name: {"factors": {"layers": number}} for number, name in enumerate(SHARES, start=6)},
    "resamples": 100,
}

result = spanwise.evaluate(
    gold, systems, train=demo.train, name="demo", cross=[("label", "entity_length")], weights="ortmann-eq6",
    examples="all", resamples=100, hierarchy_separator="-",
).with_analyses()  # fmt: skip
small, annotation = result["small"], spanwise.read(gold)
few = spanwise.evaluate(
    gold, {name: systems[name] for name in ("large", "latest")}, silver=systems["small"], random_sample=True,
    unit="sentence",
    resamples=50,
)  # fmt: skip
short = [row if n % 10 < 5 else {**row, "spans": []} for n, row in enumerate(records("gold"))]
truncated = spanwise.evaluate(gold, {"short": short}, resamples=50)
study = spanwise.study(manifest, cache=False)
slices = spanwise.find_slices(gold, systems, train=demo.train, confirm=True)
confidence = spanwise.confidence(
    gold, systems, dev=(gold, systems), train=demo.train, attributes="all", recall=0.8, resamples=50
)
suspects = spanwise.suspects(gold, systems, train=demo.train, dev=gold)
twice = [*records("gold"), *records("gold", share=1)[:20]]
description = spanwise.describe(twice, train=demo.train, duplicates="keep")
agreement = spanwise.agree(systems, systems={"gold": gold})
explanation = spanwise.explain(gold, systems["small"])
split = spanwise.split(gold, shares={"UNSEEN-ANY": 0.5})
plan = spanwise.plan(result)
results = {
    size: spanwise.evaluate(gold, {"mine": records("mine", share)}, resamples=50)
    for size, share in {100: 0.4, 200: 0.3, 400: 0.2, 800: 0.15}.items()
}
curve = spanwise.curve(results, at=[1600])
changes = spanwise.changes(results[100], results[800])
leaks = spanwise.leaks(gold, systems, train=demo.train, attributes="all", resamples=50)
leak_study = spanwise.study_of("leaks", manifest)


def response(row):
    """A line of a log: what a model answered about a sentence, and what that took."""
    found = [
        {"text": " ".join(row["tokens"][start:end]), "label": label} for start, end, label, _ in row["spans"]
    ]
    content = json.dumps([*found, {"text": "Nobody", "label": "PER"}])
    body = {
        "choices": [{"message": {"content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20},
    }
    return {"custom_id": row["id"], "response": {"status_code": 200, "body": body}}


log = written("log.jsonl", map(response, records("model", 0.2)))
placement = spanwise.place(gold, log, answers_format="openai-batch")
twice_asked = {"model": {"predictions": "log.{run}.jsonl", "answers": {"policy": "ordered"}}}
for run in (1, 2):
    written(f"log.{run}.jsonl", map(response, records("model", 0.2, run)))
asked = spanwise.study({"datasets": {"demo": {"test": gold}}, "systems": twice_asked}, cache=False)

facts = generate_tuples("facts", documents=80)
tuples = spanwise.tuples(facts.gold, dict(facts.systems), train=facts.train, resamples=50)
facts_described = spanwise.describe(facts.gold)
written("again/mine.1.jsonl", map(json.loads, facts.systems["backwards"].open()))
written("again/mine.2.jsonl", map(json.loads, facts.systems["nearsighted"].open()))
several = spanwise.tuples(facts.gold, {"mine": "again/mine.{run}.jsonl"}, resamples=50)
known = {
    "id": "a",
    "tokens": ["Ida", "left"],
    "mentions": [{"id": "m", "start": 0, "end": 1, "label": "PER"}],
}
known["tuples"] = [{"type": "link", "roles": {"mention": "m", "link": {"link": ["Q7"]}}}]
linked = spanwise.tuples([known], {"mine": [known]}, resamples=0)
tuple_study = spanwise.study_of(
    "tuples",
    {
        "predictions": "facts/{system}.jsonl",
        "datasets": {"facts": {"test": "facts/gold.jsonl"}},
        "systems": {"backwards": {}, "nearsighted": {}},
        "resamples": 50,
    },
)
