from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evalkit.scoring.bootstrap import segment_sums


@given(
    st.lists(st.integers(1, 70), min_size=1, max_size=12),
    st.integers(1, 5),
    st.sampled_from([np.uint8, np.int32]),
)
def test_segments_are_added_up(lengths: list[int], columns: int, kind: type) -> None:
    numbers = np.random.default_rng(sum(lengths)).integers(
        0, 256, (sum(lengths), columns)
    )
    starts = np.cumsum([0, *lengths[:-1]])
    found = segment_sums(numbers.astype(kind), starts)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.add.reduceat(numbers, starts, axis=0))
