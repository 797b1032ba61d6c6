"""Scores by a user-defined attribute: is the mention at the start of its sentence?"""

from __future__ import annotations

import tempfile

import spanwise
from spanwise.attributes import Mention, own
from spanwise.demo import generate


def opens(mention: Mention) -> str:
    """Whether the mention opens its sentence"""
    return "first" if mention.start == 0 else "later"


with tempfile.TemporaryDirectory() as folder:
    demo = generate(folder)
    result = spanwise.evaluate(demo.gold, dict(demo.systems), attributes=[own(opens)], resamples=0)

for name, system in result.systems.items():
    for bucket in system.attributes["opens"].buckets:
        print(f"{name}: {bucket.name} {100 * bucket.f1:.1f} ({bucket.gold} mentions)")
