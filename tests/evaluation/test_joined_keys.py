"""Equal keys of two columns are paired, whether the columns ascend or not, and keys are dense or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.evaluation._measures import _joined

columns = st.lists(st.integers(-1, 60), unique=True, max_size=20)


@settings(deadline=None, derandomize=True)
@given(columns, columns, st.booleans(), st.sampled_from([1, 1000]))
def test_equal_keys_are_paired_once(mine: list[int], theirs: list[int], ascend: bool, far: int) -> None:
    one, other = (np.array(sorted(keys) if ascend else keys, dtype=np.int64) * far for keys in (mine, theirs))
    first, second = _joined(one, other)
    assert np.array_equal(one[first], other[second])
    assert len(set(first.tolist())) == len(first) == len(set(mine) & set(theirs))
