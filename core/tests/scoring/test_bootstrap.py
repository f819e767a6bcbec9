from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalkit.scoring import bootstrap
from evalkit.scoring.bootstrap import UnitDraws, replicate_cells, replicate_sums
from evalkit.scoring.statistics_rows import Memberships, StatisticsRows
from evalkit.statistics.resampling import unit_keys, unit_weights

REPLICATES = 4_000


def numbered(
    frame: pl.DataFrame, keys: list[str]
) -> tuple[StatisticsRows, Memberships]:
    """Number the distinct rows of statistics, one row an example."""
    columns = [name for name in frame.columns if name not in keys]
    distinct = frame.unique().sort(frame.columns).with_row_index("code")
    codes = frame.join(
        distinct, on=frame.columns, nulls_equal=True, maintain_order="left"
    )["code"]
    rows = StatisticsRows(keys, columns, distinct.drop("code"), True)
    members = np.arange(frame.height), codes.to_numpy().astype(np.int64)
    return rows, Memberships(*members)


def draw(
    statistics: pl.DataFrame, keys: list[str], columns: list[str], seed: int = 1
) -> pl.DataFrame:
    units = statistics["unit"].to_numpy().astype(np.int64)
    parts = numbered(statistics.select(*keys, *columns), keys)
    return replicate_sums(draws_of(*parts, units, seed, REPLICATES))


def draws_of(
    rows: StatisticsRows,
    members: Memberships,
    units: np.ndarray[tuple[int], np.dtype[np.int64]],
    seed: int,
    replicates: int,
) -> UnitDraws:
    keys = unit_keys(map(str, range(int(units.max()) + 1)), seed)

    def draw(units: Any, first: int, count: int) -> Any:
        return unit_weights(keys[units], first, count)

    return UnitDraws(rows, members, units, draw, replicates)


def test_an_array_of_replicates_holds_the_same_sums(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bootstrap, "MOST_DRAWS", 2_000)
    n, random = 30, np.random.default_rng(4)
    labels = {name: random.choice(list("abc"), n) for name in ("gold", "said")}
    keys = ["gold", "said"]
    rows, members = numbered(pl.DataFrame({**labels, "count": 1.0}), keys)
    units = np.arange(n) // 2
    draws = draws_of(rows, members, units, 3, 300)
    table, drawn = replicate_sums(draws), replicate_cells(draws)
    assert drawn.table().equals(table.cast({"replicate": pl.Int64}))


def direct(statistics: pl.DataFrame, column: str, seed: int = 2) -> list[float]:
    """Resample whole units by hand, one replicate at a time."""
    random = np.random.default_rng(seed)
    units = [
        sum(rows[column])
        for rows in statistics.partition_by("unit", maintain_order=True)
    ]
    return [
        sum(units[drawn] for drawn in random.integers(0, len(units), len(units)))
        for _ in range(REPLICATES)
    ]


def example_statistics(rows_per_unit: int) -> pl.DataFrame:
    random = np.random.default_rng(0)
    n = 60 * rows_per_unit
    return pl.DataFrame(
        {
            "unit": random.permutation(np.arange(n) % 60),
            "x": random.exponential(size=n).round(1),
            "y": random.integers(0, 2, n).astype(float),
        }
    )


@pytest.mark.parametrize("rows_per_unit", [1, 3])
@pytest.mark.parametrize("column", ["x", "y"])
def test_means_are_distributed_as_by_direct_resampling(
    rows_per_unit: int, column: str
) -> None:
    statistics = example_statistics(rows_per_unit).with_columns(n=pl.lit(1.0))
    drawn = draw(statistics, [], ["x", "y", "n"])
    means = (drawn[column] / drawn["n"]).to_numpy()
    expected = np.array(direct(statistics, column)) / statistics.height
    assert len(means) == REPLICATES
    # the standard error of a standard deviation is about 1 / sqrt(2 * replicates)
    assert means.std() == pytest.approx(expected.std(), rel=0.05)
    assert means.mean() == pytest.approx(
        expected.mean(), abs=4 * expected.std() / REPLICATES**0.5
    )
    for tail in (0.025, 0.975):
        rank = (means <= np.quantile(expected, tail)).mean()
        assert rank == pytest.approx(tail, abs=0.015)


def test_sums_are_those_of_a_poisson_number_of_units() -> None:
    statistics = example_statistics(1).with_columns(n=pl.lit(1.0))
    totals = draw(statistics, [], ["n"])["n"].to_numpy()
    assert totals.mean() == pytest.approx(60, abs=4 * 60**0.5 / REPLICATES**0.5)
    assert totals.var() == pytest.approx(60, rel=0.1)


def test_few_units_are_drawn_n_out_of_n() -> None:
    statistics = pl.DataFrame({"unit": range(19), "n": [1.0] * 19})
    assert draw(statistics, [], ["n"])["n"].to_list() == [19.0] * REPLICATES


def test_a_tag_and_the_whole_draw_a_unit_equally_often() -> None:
    whole = pl.DataFrame({"unit": range(60), "n": [1.0] * 60})
    counted = whole.with_columns(n=(pl.col("unit") < 30).cast(pl.Float64))
    part = whole.filter(pl.col("unit") < 30)
    assert draw(counted, [], ["n"])["n"].equals(draw(part, [], ["n"])["n"])


def test_several_columns_are_drawn_together() -> None:
    statistics = example_statistics(2).with_columns(z=3 * pl.col("x") - pl.col("y"))
    drawn = draw(statistics, [], ["x", "y", "z"])
    assert drawn["z"].to_list() == pytest.approx(
        (3 * drawn["x"] - drawn["y"]).to_list(), abs=1e-9
    )


def test_rows_of_a_unit_are_never_drawn_apart() -> None:
    statistics = pl.DataFrame(
        {"unit": [0, 0, 1, 1, 2, 2], "x": [1.0, -1.0, 5.0, -5.0, 3.0, -3.0]}
    )
    assert draw(statistics, [], ["x"])["x"].to_list() == [0.0] * REPLICATES


def test_cells_are_drawn_together_with_their_unit() -> None:
    statistics = pl.DataFrame(
        {
            "unit": [0, 0, 1, 2, 2, 2],
            "label": ["a", "b", "a", "a", "b", None],
            "count": [1.0] * 6,
        }
    )
    drawn = draw(statistics, ["label"], ["count"]).pivot(
        "label", index="replicate", values="count"
    )
    of_a, of_b, of_null = (drawn[name].fill_null(0.0) for name in ("a", "b", "null"))
    # three units; each has one `a`, those with a null have a `b` too
    assert of_a.to_list() == [3.0] * REPLICATES
    assert (of_b >= of_null).all()
    expected = stats.binom.pmf(range(4), 3, 1 / 3)
    found = np.bincount(of_null.cast(pl.Int64).to_numpy(), minlength=4) / REPLICATES
    assert found == pytest.approx(expected, abs=0.03)


def test_a_sum_of_zero_is_a_replicate_like_any_other() -> None:
    statistics = pl.DataFrame({"unit": [0, 1], "x": [0.0, 1.0]})
    counts = draw(statistics, [], ["x"])["x"].value_counts(sort=True)
    shares = {x: n / REPLICATES for x, n in counts.iter_rows()}
    assert shares == pytest.approx({0.0: 0.25, 1.0: 0.5, 2.0: 0.25}, abs=0.03)


def test_a_cell_is_absent_only_where_nothing_of_it_was_drawn() -> None:
    statistics = pl.DataFrame(
        {"unit": [0, 1], "label": ["zero", "one"], "x": [0.0, 1.0]}
    )
    drawn = draw(statistics, ["label"], ["x"])
    present = drawn["label"].value_counts()
    shares = {label: n / REPLICATES for label, n in present.iter_rows()}
    assert shares == pytest.approx({"zero": 0.75, "one": 0.75}, abs=0.03)
    assert drawn.filter(label="zero")["x"].unique().to_list() == [0.0]


@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_order_of_rows_does_not_matter(rows_per_unit: int) -> None:
    statistics = example_statistics(rows_per_unit)
    shuffled = statistics.sample(fraction=1, shuffle=True, seed=5)
    drawn, again = (draw(rows, [], ["x", "y"]) for rows in (statistics, shuffled))
    assert drawn["y"].equals(again["y"])
    assert drawn["x"].to_list() == pytest.approx(again["x"].to_list(), abs=1e-10)


@pytest.mark.parametrize("units", [12, 60])
def test_draws_do_not_depend_on_how_many_are_made_at_a_time(
    units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    statistics = example_statistics(1).filter(pl.col("unit") < units)
    at_once = draw(statistics, [], ["y"])
    monkeypatch.setattr(bootstrap, "MOST_DRAWS", 7 * 60)
    assert draw(statistics, [], ["y"]).equals(at_once)
