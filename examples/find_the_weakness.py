"""Find the weakness of each of three systems that have the same F1."""

from __future__ import annotations

import tempfile

import spanwise
from spanwise.demo import generate

with tempfile.TemporaryDirectory() as folder:
    demo = generate(folder)
    result = spanwise.evaluate(demo.gold, dict(demo.systems), train=demo.train, resamples=200)

for name, system in result.systems.items():
    gains = {kind: row.gain for kind, row in system.gains.items()}
    kind = max(gains, key=lambda key: gains[key])
    costliest = system.slices[0]
    print(f"{name}: F1 {100 * system.exact.overall.f1:.1f}")
    print(f"  fixing {kind} would add {100 * gains[kind]:.1f}")
    print(f"  the costliest slice is {costliest['title']}: {100 * costliest['value']:.1f}")
