from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalkit import bootstrap
from evalkit.bootstrap import replicate_sums

REPLICATES = 4_000


def draw(
    statistics: pl.DataFrame, keys: list[str], columns: list[str], seed: int = 1
) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    drawn = replicate_sums(statistics, keys, columns, REPLICATES, random)
    assert drawn is not None
    return drawn


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
def test_sums_are_distributed_as_by_direct_resampling(
    rows_per_unit: int, column: str
) -> None:
    statistics = example_statistics(rows_per_unit)
    drawn = draw(statistics, [], ["x", "y"])[column].to_numpy()
    expected = np.array(direct(statistics, column))
    assert len(drawn) == REPLICATES
    # the standard error of a standard deviation is about 1 / sqrt(2 * replicates)
    assert drawn.std() == pytest.approx(expected.std(), rel=0.05)
    assert drawn.mean() == pytest.approx(
        expected.mean(), abs=4 * expected.std() / REPLICATES**0.5
    )
    assert stats.ks_2samp(drawn, expected).pvalue > 0.01
    for tail in (0.025, 0.975):
        rank = (drawn <= np.quantile(expected, tail)).mean()
        assert rank == pytest.approx(tail, abs=0.015)


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
def test_order_of_rows_and_names_of_units_do_not_matter(rows_per_unit: int) -> None:
    statistics = example_statistics(rows_per_unit)
    shuffled = statistics.sample(fraction=1, shuffle=True, seed=5)
    renamed = shuffled.with_columns(unit=500 - 3 * pl.col("unit"))
    assert draw(renamed, [], ["x", "y"]).equals(draw(statistics, [], ["x", "y"]))


def test_draws_do_not_depend_on_how_many_are_made_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statistics = example_statistics(1)
    at_once = draw(statistics, [], ["y"])
    monkeypatch.setattr(bootstrap, "MOST_DRAWS", 7 * 60)
    assert draw(statistics, [], ["y"]).equals(at_once)


@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_a_group_that_is_too_large_is_not_drawn(
    rows_per_unit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "MOST_CELLS", 30)
    random = np.random.default_rng(0)
    statistics = example_statistics(rows_per_unit)
    assert replicate_sums(statistics, [], ["x"], 10, random) is None
