import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.predictions import matching
from evalkit.predictions.matching import NOWHERE, IdIndex


@given(st.permutations([f"id {n}" for n in range(12)]), st.integers(1, 4))
def test_ids_are_told_apart_where_their_hashes_are_equal(
    wanted: list[str], kinds: int
) -> None:
    ids = pl.Series([f"id {n}" for n in range(8)])

    def few_hashes(texts: pl.Series) -> np.ndarray:
        return texts.str.slice(3).cast(pl.UInt64).to_numpy() % kinds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_hashes", few_hashes)
        found = IdIndex(ids).find(pl.Series(wanted))
    expected = [int(text[3:]) if int(text[3:]) < 8 else NOWHERE for text in wanted]
    assert found.tolist() == expected


@given(st.integers(0, 9), st.integers(0, 12), st.none() | st.integers(0, 11))
def test_ids_that_follow_each_other_are_found(
    start: int, number: int, other: int | None
) -> None:
    ids = [f"id {n}" for n in (3, 1, 4, 15, 9, 2, 6, 5, 35, 8)]
    wanted = ids[start : start + number]
    if other is not None and other < len(wanted):
        wanted[other] = "id 0"
    found = IdIndex(pl.Series(ids)).find(pl.Series(wanted, dtype=pl.String))
    assert found.tolist() == [ids.index(e) if e in ids else NOWHERE for e in wanted]
