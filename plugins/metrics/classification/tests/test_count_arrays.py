import numpy as np
import polars as pl
import pytest

from evalkit import MetricContext, MetricError
from evalkit.catalog import BoundMetric, Registry, Resolver
from evalkit.scoring import finalize, finalize_counts

METRICS = [
    *("macro-f1", "macro-recall", "macro-f1:labels=seen", "macro-f1:labels=declared"),
    *("macro-f1:labels=c/a", "f1", "precision", "recall", "f1:label=b"),
    *("precision:label=d", "balanced-accuracy", "micro-f1", "micro-f1:labels=gold"),
    *("micro-f1:labels=declared", "micro-f1:labels=c/a", "weighted-f1"),
    *("weighted-f1:labels=c/a", "mcc", "cohen-kappa"),
]
CELLS = [
    ("a", "a"),
    ("b", "a"),
    ("b", "b"),
    ("b", None),
    ("ü", "b"),
    ("ü", "d"),
    ('"', "a"),
]


def bound(name: str) -> BoundMetric:
    return BoundMetric.of(Resolver(Registry()).bind("metrics", name))


def tables(counts: np.ndarray, cells: pl.DataFrame) -> pl.DataFrame:
    group, place = np.nonzero(counts)
    numbers = pl.Series("count", counts[group, place])
    return pl.DataFrame({"group": group}).hstack(cells[place]).with_columns(numbers)


@pytest.mark.parametrize("declared", [None, ("a", "b", "c", "d", "ü")])
@pytest.mark.parametrize("name", METRICS)
def test_an_array_of_counts_scores_as_a_table_does(
    name: str, declared: tuple[str, ...] | None
) -> None:
    context = MetricContext(declared, "one")
    cells = pl.DataFrame(CELLS, ["gold", "predicted"], orient="row")
    counts = np.random.default_rng(0).binomial(3, 0.3, (200, len(cells))) / 2
    counts[0] = [0, 0, 0, 0, 0, 0, 1]  # an answer that is never predicted
    metric = bound(name)
    table = finalize(metric, tables(counts, cells), context)
    expected = {
        (group, score): value
        for group, score, value, *_ in table.rows()
        if value is not None
    }
    arrays = finalize_counts(metric, counts, cells, context)
    found = {
        (int(group), score): values[group]
        for score, values in arrays.items()
        for group in np.flatnonzero(np.isfinite(values))
    }
    assert found == pytest.approx(expected, abs=1e-15)
    assert found or (name, declared) in {
        ("macro-f1:labels=declared", None),
        ("micro-f1:labels=declared", None),
    }


@pytest.mark.parametrize("name", ["macro-f1:labels=zz/a", "f1:label=zz"])
def test_an_undeclared_label_is_refused(name: str) -> None:
    cells = pl.DataFrame({"gold": ["a"], "predicted": ["a"]})
    with pytest.raises(MetricError, match="'zz' is none of the declared labels"):
        finalize_counts(
            bound(name), np.ones((1, 1)), cells, MetricContext(("a",), "one")
        )
