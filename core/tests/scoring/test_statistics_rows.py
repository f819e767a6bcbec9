from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.scoring import merge_statistics
from evalkit.scoring.statistics_rows import weighted_sums

from ..engine_tables import Mean, bound, make_groups, make_table

MERGES: dict[str, Any] = {
    "least": "min",
    "most": "max",
    "spread": "moments",
    "kept": "values",
}
COLUMNS = ("count", "kept", "least", "most", "spread", "total")

texts = st.sampled_from(["a", "b", "é", "", "a\x00b", "日本", "𝒳", None])
whole = st.sampled_from([0.0, -0.0, 1.0, 3.0, -2.0])
real = st.one_of(
    st.sampled_from([0.1, 1 / 3, -1e6, 1e-6]),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 6)),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, list[list[str]], list[str]]:
    """Statistics of up to 8 positions, the tags of these, and names of keys."""
    count = draw(st.integers(1, 8))
    tag = st.sampled_from(["x", "y", "facet:z"])
    tags = draw(st.lists(st.lists(tag, unique=True), min_size=count, max_size=count))
    height = draw(st.integers(0, 20))
    positions = st.integers(0, count - 1)
    values = draw(st.sampled_from([whole, real]))

    def column(items: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(items, min_size=height, max_size=height))

    frame = pl.DataFrame(
        {
            "position": column(positions),
            "text": column(texts),
            "number": column(st.sampled_from([1, 2, None])),
            "flag": column(st.sampled_from([True, False])),
            **{name: column(values) for name in COLUMNS},
        },
        schema={
            "position": pl.UInt32,
            "text": pl.String,
            "number": pl.Int64,
            "flag": pl.Boolean,
            **dict.fromkeys(COLUMNS, pl.Float64),
        },
    )
    keys = draw(st.sampled_from([[], ["text"], ["flag"], ["text", "number", "flag"]]))
    return frame.select("position", *keys, *COLUMNS), tags, keys


def merged(
    frame: pl.DataFrame,
    tags: list[list[str]],
    keys: list[str],
    merges: dict[str, Any] = MERGES,
) -> pl.DataFrame:
    class Counts(Mean):
        per_example = interval = None

    Counts.keys, Counts.merges = tuple(keys), merges
    table = make_table([0.0] * len(tags))
    return merge_statistics(bound(Counts), frame, table, make_groups(tags))


def joined(
    frame: pl.DataFrame, tags: list[list[str]], keys: list[str]
) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Give the rows of every group and key by a join, as one would by hand."""
    groups = make_groups(tags)
    rows = groups.members.cast({"group": pl.Int64}).join(frame, on="position")
    parts = rows.partition_by("group", *keys, as_dict=True)
    return sorted(
        parts.items(),
        key=lambda item: [(value is not None, value) for value in item[0]],
    )


def exact(values: list[float]) -> float:
    return float(sum(map(Fraction, values), Fraction(0)))


def assert_equals_a_plain_group_by(
    frame: pl.DataFrame, tags: list[list[str]], keys: list[str]
) -> None:
    found = merged(frame, tags, keys)
    expected = joined(frame, tags, keys)
    group_keys = [row[: 1 + len(keys)] for row in found.rows()]
    assert group_keys == [key for key, _ in expected]
    names = ["spread_count", "spread_mean", "spread_m2"]
    others = [name for name in COLUMNS if name != "spread"]
    assert set(found.columns) == {"group", *keys, *others, *names}
    for row, (_, part) in zip(found.iter_rows(named=True), expected, strict=True):
        for name in ("count", "total"):
            assert row[name] == exact(part[name].to_list())
        assert row["least"] == part["least"].min()
        assert row["most"] == part["most"].max()
        assert sorted(row["kept"]) == sorted(part["kept"])
        values = part["spread"].to_numpy()
        assert row["spread_count"] == len(values)
        scale = max(1.0, np.abs(values).max())
        assert row["spread_mean"] == pytest.approx(values.mean(), abs=1e-12 * scale)
        assert row["spread_m2"] == pytest.approx(
            ((values - values.mean()) ** 2).sum(), abs=1e-9 * scale**2
        )


@given(given_table=tables())
def test_merges_equal_those_of_a_plain_group_by(
    given_table: tuple[pl.DataFrame, list[list[str]], list[str]],
) -> None:
    assert_equals_a_plain_group_by(*given_table)


@settings(max_examples=25)
@given(given_table=tables(), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(
    given_table: tuple[pl.DataFrame, list[list[str]], list[str]], order: Any
) -> None:
    frame, tags, keys = given_table
    rows = list(range(frame.height))
    order.shuffle(rows)
    assert merged(frame[rows], tags, keys).equals(merged(frame, tags, keys))


@pytest.mark.parametrize("keys", [[], ["key"]])
def test_no_rows_merge_to_none(keys: list[str]) -> None:
    schema = {"position": pl.UInt32, "key": pl.String}
    numbers = dict.fromkeys(COLUMNS, pl.Float64)
    frame = pl.DataFrame(schema={**schema, **numbers}).select(
        "position", *keys, *COLUMNS
    )
    found = merged(frame, [["a"], []], keys)
    assert found.height == 0
    assert set(keys) < set(found.columns)
    assert {"spread_m2", "total", "least", "kept"} < set(found.columns)


# sums ----------------------------------------------------------------------------


def sums(values: list[float], counts: list[int], starts: list[int]) -> list[float]:
    found = weighted_sums(np.array(values), np.array(counts), np.array(starts))
    return list(found.tolist())


@given(
    cells=st.lists(
        st.tuples(
            st.floats(-1e15, 1e15, allow_subnormal=True), st.integers(1, 2**26 - 1)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_a_sum_is_the_exact_one_rounded_once(cells: list[tuple[float, int]]) -> None:
    exact_sum = sum((Fraction(x) * times for x, times in cells), Fraction(0))
    values, counts = [x for x, _ in cells], [times for _, times in cells]
    assert sums(values, counts, [0]) == [float(exact_sum)]


@pytest.mark.parametrize(
    ("values", "counts", "expected"),
    [
        ([1e308, 1e308], [1, 1], math.inf),
        ([1e308], [3], math.inf),
        ([-1e308, 0.5], [3, 1], -math.inf),
        ([math.inf, 0.5], [2, 1], math.inf),
        ([math.inf, 0.5], [1, 1], math.inf),
        ([-math.inf, 1.0], [2, 1], -math.inf),
        ([math.inf, -math.inf], [2, 1], math.nan),
        ([math.inf, -math.inf], [1, 1], math.nan),
        ([2.0**53, 1.0, -(2.0**53)], [1, 1, 1], 1.0),
        ([2.0**40, 1.0, -(2.0**40)], [2**20, 1, 2**20], 1.0),
        ([5e-324, 5e-324], [3, 1], 2e-323),
        ([1.5, 2.5], [2**26, 1], 1.5 * 2**26 + 2.5),
    ],
)
def test_sums_at_the_ends_of_what_floats_hold(
    values: list[float], counts: list[int], expected: float
) -> None:
    assert sums(values, counts, [0]) == pytest.approx([expected], rel=0, nan_ok=True)


def test_every_part_has_its_sum() -> None:
    assert sums([1.0, 2.0, 3.0], [1, 2, 1], [0, 1]) == [1.0, 7.0]
    assert sums([0.1, 0.2, 0.3], [1, 2, 1], [0, 1, 2]) == [0.1, 0.4, 0.3]
    assert sums([], [], []) == []


def test_infinite_values_have_infinite_or_undefined_moments_in_silence() -> None:
    frame = pl.DataFrame({"position": range(4), "x": [math.inf, 1.0, 1e300, -1e300]})
    tags = [["a"], ["a"], ["b"], ["b"]]
    found = merged(frame, tags, [], {"x": "moments"})
    assert found["x_count"].to_list() == [4.0, 2.0, 2.0]
    assert found["x_mean"].to_list() == [math.inf, math.inf, 0.0]
    assert found["x_m2"][2] == math.inf
    assert math.isnan(found["x_m2"][1])


def test_zeros_of_both_signs_are_one_value() -> None:
    frame = pl.DataFrame({"position": range(3), "x": [-0.0, 0.0, -0.0]})
    found = merged(frame, [[]] * 3, [], {})
    assert found["x"].to_list() == [0.0]


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([0, 1, 1, None] * 3, dtype=pl.Int64),
        pl.Series([0.5, None, math.nan, 0.5] * 3, dtype=pl.Float64),
        pl.Series([0.5, math.nan, -0.0, 0.5] * 3, dtype=pl.Float64),
        pl.Series([None] * 12, dtype=pl.String),
        pl.Series([True, None, False, True] * 3, dtype=pl.Boolean),
        pl.Series(["x"] * 12, dtype=pl.String),
    ],
)
def test_equal_keys_of_every_type_are_one(values: pl.Series) -> None:
    frame = pl.DataFrame(
        {"position": range(12), "key": values, "x": [float(i % 2) for i in range(12)]}
    )
    found = merged(frame, [[]] * 12, ["key"], {})
    expected = frame.group_by("key").agg(pl.col("x").sum()).sort("key")
    assert found.select("key", "x").equals(expected)
