import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalkit.scoring.statistics_rows import DrawnCounts
from evalkit.statistics.label_pairs import (
    Pair,
    absent_labels,
    count_pairs,
    draw_pairs,
    smoothed_counts,
)

KEYS = ["gold", "predicted"]


def table_of(
    smoothed: dict[Pair, float], replicates: int, random: np.random.Generator
) -> pl.DataFrame:
    counts = draw_pairs(smoothed, replicates, random)
    schema = dict.fromkeys(KEYS, pl.String)
    cells = pl.DataFrame(list(smoothed), schema, orient="row")
    return DrawnCounts(cells, "count", counts).table()


def draw(
    cells: dict[tuple[str | None, str | None], float],
    labels: list[str],
    replicates: int,
    seed: int = 0,
) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    smoothed = smoothed_counts(count_pairs(cells.items(), labels))
    return table_of(smoothed, replicates, random)


def test_replicates_are_drawn_from_counts_with_1_spread_over_all_pairs() -> None:
    cells = {("a", "a"): 6.0, ("a", "b"): 3.0, ("b", "b"): 1.0}
    labels = ["a", "b", "c"]
    replicates = 20_000
    drawn = draw(cells, labels, replicates)
    assert drawn["replicate"].unique().sort().to_list() == list(range(replicates))
    assert drawn["count"].min() == 1
    totals = drawn.group_by("replicate").agg(pl.col("count").sum())
    assert (totals["count"] == 10).all()
    # the gold label c does not occur and stays away
    weights = {
        (gold, predicted): cells.get((gold, predicted), 0.0) + 1 / 9
        for gold in "ab"
        for predicted in labels
    }
    whole = sum(weights.values())
    mean = drawn.group_by(KEYS).agg(pl.col("count").sum() / replicates)
    found = {(gold, predicted): value for gold, predicted, value in mean.rows()}
    assert set(found) == set(weights)
    for key, weight in weights.items():
        share = weight / whole
        error = (10 * share * (1 - share) / replicates) ** 0.5
        assert found[key] == pytest.approx(10 * share, abs=4.5 * error)


def test_counts_of_a_cell_are_binomial() -> None:
    drawn = draw({("a", "a"): 4.0, ("a", "b"): 2.0}, ["a", "b"], 20_000)
    hits = drawn.filter(pl.col("predicted") == "a")["count"].to_numpy()
    share = (4 + 1 / 4) / (6 + 2 / 4)
    # a replicate without the cell has no row of it
    seen = np.bincount(hits.astype(int), minlength=7)
    seen[0] = 20_000 - len(hits)
    expected = stats.binom(6, share).pmf(np.arange(7)) * 20_000
    assert seen[0] == pytest.approx(expected[0], abs=5 * expected[0] ** 0.5 + 1)
    tested = stats.chisquare(
        seen[1:], expected[1:] * seen[1:].sum() / expected[1:].sum()
    )
    assert tested.pvalue > 1e-4


def test_the_rarest_event_is_a_hit_a_miss_or_a_false_alarm() -> None:
    cells = {("a", "a"): 6.0, ("a", "b"): 3.0, ("b", "a"): 4.0, ("b", "b"): 9.0}
    assert count_pairs(cells.items(), []).rarest == 3.0
    assert count_pairs(cells.items(), ["c"]).rarest == 0.0
    missing = {**cells, ("b", None): 1.0}
    assert count_pairs(missing.items(), []).rarest == 3.0
    assert count_pairs({**cells, ("a", "b"): 20.0}.items(), []).rarest == 4.0


def test_labels_that_no_example_has_are_flagged_unless_there_is_one_label() -> None:
    cells = {("a", "a"): 6.0, ("b", "b"): 1.0}
    assert absent_labels(count_pairs(cells.items(), ["a", "b"])) == ()
    [flag] = absent_labels(count_pairs(cells.items(), ["a", "b", "c", "d"]))
    assert flag == "labels without an example: c, d"
    alone = count_pairs({("a", "a"): 6.0}.items(), ["a", "b"])
    assert absent_labels(alone) == ()
