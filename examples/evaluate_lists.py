"""Evaluate predictions in memory: lists of tags or of spans."""

from __future__ import annotations

import spanwise

gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O", "B-LOC", "I-LOC"]]
mine = [["B-PER", "O", "O", "B-LOC"], ["B-LOC", "O", "B-LOC", "I-LOC"]]

result = spanwise.evaluate(gold, {"mine": mine}, resamples=200)
overall = result["mine"].exact.overall
print(f"exact F1 {100 * overall.f1:.1f}, fair F1 {100 * result['mine'].fair.overall.f1:.1f}")
for event in result["mine"].events():
    print(event["outcome"], event["gold"], event["predicted"])

nested = [[(0, 6, "ORG"), (5, 6, "LOC")]]
flat = [[(0, 6, "ORG")]]
scores = spanwise.evaluate(nested, {"flat": flat}, resamples=0)["flat"]
print(f"nested: recall {100 * scores.exact.overall.recall:.0f}")
