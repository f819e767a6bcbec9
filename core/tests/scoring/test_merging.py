from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import Metric, MetricError
from evalkit.plugins.bound import Bound
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.calls import merge_by_group
from evalkit.scoring.merging import merge_sums

KEYS = ("group", "cell")
VALUES = ("added", "least", "most", "spread", "kept", "kept_too")

numbers = st.one_of(
    st.just(0.0),
    st.floats(1e-6, 1e6),
    st.floats(-1e6, -1e-6),
)
Row = tuple[int, int, str | None, float]
"""Part, group, cell and number."""
rows = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 2),
        st.sampled_from(["x", "y", None]),
        numbers,
    ),
    min_size=1,
    max_size=30,
)


class Everything(Metric):
    """Has a statistic of each kind."""

    keys = ("cell",)
    merges = {
        "least": "min",
        "most": "max",
        "spread": "moments",
        "kept": "values",
        "kept_too": "values",
    }

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        raise NotImplementedError

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        raise NotImplementedError


@pytest.fixture(scope="module")
def metric() -> Bound:
    return Resolver(Registry()).bind("metrics", Everything)


def sums_of(metric: Bound, given_rows: list[Row]) -> pl.DataFrame:
    """Merge as the engine does, of examples with one row each."""
    position = pl.Series("position", range(len(given_rows)), dtype=pl.UInt32)
    _, groups, cells, values = (
        zip(*given_rows, strict=True) if given_rows else ((), (), (), ())
    )
    columns = {name: pl.Series(values, dtype=pl.Float64) for name in VALUES}
    columns["kept_too"] = -columns["kept"]
    statistics = pl.DataFrame(
        {"position": position, "cell": pl.Series(cells, dtype=pl.String), **columns}
    )
    members = pl.DataFrame(
        {"position": position, "group": pl.Series(groups, dtype=pl.UInt32)}
    )
    return merge_by_group(metric, statistics, members)


def split(given_rows: list[Row]) -> list[list[Row]]:
    return [[row for row in given_rows if row[0] == part] for part in range(4)]


@given(given_rows=rows)
def test_sums_of_parts_are_those_of_the_whole(
    metric: Bound, given_rows: list[Row]
) -> None:
    whole = sums_of(metric, given_rows)
    merged = merge_sums(metric, [sums_of(metric, p) for p in split(given_rows)], KEYS)
    assert merged.schema == whole.schema
    assert merged.select(KEYS).rows() == whole.select(KEYS).rows()
    for row in merged.iter_rows(named=True):
        cell = [v for _, g, c, v in given_rows if (g, c) == (row["group"], row["cell"])]
        scale = max(1.0, math.fsum(map(abs, cell)))
        close = pytest.approx(math.fsum(cell), abs=1e-12 * scale)
        assert row["added"] == close
        assert (row["least"], row["most"]) == (min(cell), max(cell))
        assert row["spread_count"] == len(cell)
        assert row["spread_mean"] == pytest.approx(np.mean(cell), abs=1e-12 * scale)
        squares = max(1.0, math.fsum(value**2 for value in cell))
        expected = np.var(cell) * len(cell)
        assert row["spread_m2"] == pytest.approx(expected, abs=1e-11 * squares)
        assert sorted(row["kept"]) == sorted(cell)
        assert row["kept_too"] == [-value for value in row["kept"]]


@given(given_rows=rows, order=st.permutations(range(4)))
def test_the_order_of_parts_changes_nothing_but_that_of_the_lists(
    metric: Bound, given_rows: list[Row], order: list[int]
) -> None:
    parts = [sums_of(metric, part) for part in split(given_rows)]
    lists = ("kept", "kept_too")
    first = merge_sums(metric, parts, KEYS).drop(lists)
    second = merge_sums(metric, [parts[number] for number in order], KEYS).drop(lists)
    assert first.equals(second)


@given(given_rows=rows)
def test_merging_in_two_steps_is_merging_at_once(
    metric: Bound, given_rows: list[Row]
) -> None:
    parts = [sums_of(metric, part) for part in split(given_rows)]
    at_once = merge_sums(metric, parts, KEYS)
    halves = [merge_sums(metric, half, KEYS) for half in (parts[:2], parts[2:])]
    in_steps = merge_sums(metric, halves, KEYS)
    scale = max(1.0, math.fsum(abs(row[3]) for row in given_rows))
    for one, other in zip(
        at_once.iter_rows(named=True), in_steps.iter_rows(named=True), strict=True
    ):
        assert [one[key] for key in KEYS] == [other[key] for key in KEYS]
        for name in ("added", "spread_mean"):
            assert other[name] == pytest.approx(one[name], abs=1e-12 * scale)
        assert other["spread_m2"] == pytest.approx(
            one["spread_m2"], abs=1e-12 * scale**2
        )
        assert other["kept"] == one["kept"]


def test_a_great_offset_costs_the_variance_no_precision(metric: Bound) -> None:
    values = [1e9 + step for step in (4.0, 7.0, 13.0, 16.0)]
    part_rows: list[Row] = [(n % 2, 0, "x", value) for n, value in enumerate(values)]
    parts = [sums_of(metric, part) for part in split(part_rows)]
    merged = merge_sums(metric, parts, KEYS)
    assert merged["spread_mean"].item() == 1e9 + 10
    assert merged["spread_m2"].item() == 90


def part(metric: Bound, **changes: Any) -> pl.DataFrame:
    one = sums_of(metric, [(0, 0, "x", 2.0)])
    return one.with_columns(**{name: pl.lit(value) for name, value in changes.items()})


@pytest.mark.parametrize(
    "empty",
    [
        lambda one: one.clear(),
        lambda one: pl.DataFrame(),
        lambda one: pl.DataFrame(schema=dict.fromkeys(one.columns, pl.Null)),
        lambda one: one.clear().select(reversed(one.columns)),
    ],
    ids=["no rows", "no columns", "no types", "other order of columns"],
)
def test_a_part_without_rows_changes_nothing(
    metric: Bound, empty: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    one = part(metric)
    assert merge_sums(metric, [one, empty(one)], KEYS).equals(one)
    merged = merge_sums(metric, [empty(one), one], KEYS)
    assert merged.select(one.columns).equals(one)


def test_only_parts_without_rows_give_no_row(metric: Bound) -> None:
    empty = part(metric).clear()
    merged = merge_sums(metric, [empty, empty], KEYS)
    assert (merged.height, merged.schema) == (0, empty.schema)


def test_moments_of_nothing_count_for_nothing(metric: Bound) -> None:
    nothing = part(metric, spread_count=0.0, spread_mean=math.nan, spread_m2=math.nan)
    merged = merge_sums(metric, [part(metric), nothing], KEYS)
    assert merged["spread_count"].item() == 1
    assert (merged["spread_mean"].item(), merged["spread_m2"].item()) == (2, 0)
    alone = merge_sums(metric, [nothing], KEYS)
    assert (alone["spread_count"].item(), alone["spread_mean"].item()) == (0, None)


def test_lists_are_joined_in_the_order_of_the_parts(metric: Bound) -> None:
    first = sums_of(metric, [(0, 0, "x", 3.0), (0, 0, "x", 1.0)])
    second = sums_of(metric, [(0, 0, "x", 2.0)])
    empty = pl.Series([[]], dtype=pl.List(pl.Float64))
    third = second.with_columns(empty.alias("kept"), empty.alias("kept_too"))
    merged = merge_sums(metric, [first, third, second], KEYS)
    assert merged["kept"].to_list() == [[3.0, 1.0, 2.0]]
    assert merged["kept_too"].to_list() == [[-3.0, -1.0, -2.0]]
    assert merge_sums(metric, [third], KEYS)["kept"].to_list() == [[]]


def test_parts_with_other_columns_are_refused(metric: Bound) -> None:
    other = part(metric).drop("least").with_columns(extra=pl.lit(1.0))
    with pytest.raises(MetricError, match=r"everything.*not all have extra, least;"):
        merge_sums(metric, [part(metric), other], KEYS)


@pytest.mark.parametrize("parts", [[], [pl.DataFrame()]])
def test_no_part_is_refused(metric: Bound, parts: list[pl.DataFrame]) -> None:
    with pytest.raises(MetricError, match="no statistics to merge"):
        merge_sums(metric, parts, KEYS)
