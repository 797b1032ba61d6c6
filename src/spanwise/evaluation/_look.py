"""The first look of an evaluation in parts, at gold alone: distinct values, and labels of token sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import Attribute, Carried, Confusable, Labeled, Values, values
from spanwise.columns import Floats, Ints, floats, ints
from spanwise.engines import local_engine
from spanwise.evaluation._files import Shared
from spanwise.formats.parts import Piece


class Look(Struct, frozen=True, eq=False):
    """What the gold mentions of one part say of the whole."""

    numbers: Mapping[str, tuple[Floats, Ints]]
    names: Mapping[str, Mapping[str, int]]
    labeled: Labeled | None


class First(Struct, frozen=True, eq=False):
    """The values of all gold units, and the token sequences that carry two labels or more."""

    attributes: Mapping[str, Attribute]
    values: Mapping[str, Values]
    confusable: Confusable | None


def look(shared: Shared, workers: int) -> First:
    """Look at the gold mentions of all parts."""
    looks: list[Look] = []
    carried = None if shared.lexicon is None else Carried(len(shared.files.vocabulary))
    for one in local_engine(workers).map(_look_at, shared.files.gold_parts(), shared):
        if carried is not None and one.labeled is not None:
            carried.add(one.labeled)
        looks.append(replace(one, labeled=None))
    mixed = [
        name
        for name in shared.attributes
        if any(name in one.names for one in looks) and any(name in one.numbers for one in looks)
    ]
    if mixed:
        # Numbers in one part and names in another: the whole is of categories, as it would be in memory.
        fixed = {name: replace(shared.attributes[name], kind="category") for name in mixed}
        return look(replace(shared, attributes={**shared.attributes, **fixed}), workers)
    attributes = {name: _of_kind(one, name, looks) for name, one in shared.attributes.items()}
    return First(
        attributes,
        {name: _values(one, name, looks) for name, one in attributes.items()},
        None if carried is None else carried.confusable(),
    )


def _of_kind(attribute: Attribute, name: str, looks: Sequence[Look]) -> Attribute:
    """The attribute with the kind that its gold values have in all parts."""
    category = any(name in one.names for one in looks)
    return replace(attribute, kind="category" if category else "numeric")


def _look_at(part: Mapping[str, Piece], shared: Shared) -> Look:
    gold = shared.files.read_gold(part)
    context = shared.context(gold)
    numbers: dict[str, tuple[Floats, Ints]] = {}
    names: dict[str, dict[str, int]] = {}
    for name, attribute in shared.attributes.items():
        found = values(attribute, context, gold.mentions)
        if found.names is None:
            numbers[name] = found.distinct()
        else:
            names[name] = found.named()
    labeled = None
    if shared.lexicon is not None:
        # Tough mentions compare strings as they are written.
        labeled = Labeled.of(replace(context, lowercase=False) if context.lowercase else context)
    context.release()
    return Look(numbers, names, labeled)


def _values(attribute: Attribute, name: str, looks: Sequence[Look]) -> Values:
    """The values of all gold units, each once: buckets and ζ depend on nothing else."""
    if attribute.kind == "category":
        counts: dict[str, int] = {}
        for one in looks:
            for key, number in one.names.get(name, {}).items():
                counts[key] = counts.get(key, 0) + number
        keys = tuple(sorted(counts))
        code, times = np.arange(len(keys)), ints([counts[key] for key in keys])
        return Values(code, np.ones(len(code), dtype=bool), attribute.name, keys, times=times)
    parts = [one.numbers[name] for one in looks]
    value = floats(np.concatenate([part[0] for part in parts]))
    return Values(
        value,
        np.ones(len(value), dtype=bool),
        attribute.name,
        bounds=attribute.bounds,
        whole=attribute.whole,
        times=ints(np.concatenate([part[1] for part in parts])),
    )
