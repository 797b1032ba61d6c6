"""Equal keys of two columns are paired, whether or not the columns are sorted and the keys are dense."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.evaluation._measures import _joined

columns = st.lists(st.integers(-1, 60), unique=True, max_size=20)


@settings(deadline=None, derandomize=True)
@given(columns, columns, st.booleans(), st.sampled_from([1, 1000]))
def test_equal_keys_are_paired_once(mine: list[int], theirs: list[int], ascend: bool, far: int) -> None:
    left, right = (
        np.array(sorted(keys) if ascend else keys, dtype=np.int64) * far for keys in (mine, theirs)
    )
    first, second = _joined(left, right)
    assert np.array_equal(left[first], right[second])
    assert len(set(first.tolist())) == len(first) == len(set(mine) & set(theirs))
