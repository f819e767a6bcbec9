from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import Metric, MetricError, Score, score
from evalkit.scoring import passes

PREDICTIONS = ["a", "b", "c", "d", "e"]
TARGETS = ["a", "b", "x", "d", "y"]
TAGS = [["u"], ["u"], ["v"], ["u", "v"], []]

Statistics = Callable[[pl.DataFrame], Any]
Finalize = Callable[[pl.DataFrame], Any]


def ones(batch: pl.DataFrame) -> pl.DataFrame:
    rows = range(batch.height)
    return pl.DataFrame({"row": rows, "x": [1.0] * batch.height})


def sum_of_x(sums: pl.DataFrame) -> pl.DataFrame:
    return sums.select("group", value="x")


def metric(
    statistics: Statistics = ones, finalize: Finalize = sum_of_x, **attributes: Any
) -> type[Metric]:
    def call_statistics(self: Metric, batch: pl.DataFrame) -> Any:
        return statistics(batch)

    def call_finalize(self: Metric, sums: pl.DataFrame) -> Any:
        return finalize(sums)

    hooks = {"statistics": call_statistics, "finalize": call_finalize}
    return type("Probe", (Metric,), {**hooks, **attributes})


def scored(probe: Any) -> list[Score]:
    return list(score(probe, PREDICTIONS, TARGETS, tags=TAGS).scores)


def error_of(probe: Any) -> str:
    with pytest.raises(MetricError) as caught:
        scored(probe)
    return str(caught.value)


def rows(**columns: Any) -> Statistics:
    return lambda _: pl.DataFrame({"row": range(5), **columns})


@pytest.mark.parametrize(
    ("statistics", "attributes", "rule"),
    [
        (lambda _: None, {}, "must return a polars DataFrame, returned NoneType"),
        (lambda _: {"x": 1}, {}, "must return a polars DataFrame, returned dict"),
        (lambda _: pl.DataFrame({"x": [1.0]}), {}, "the column 'row' is missing"),
        (ones, {"keys": ("gold",)}, "the column 'gold' is missing"),
        (ones, {"per_example": "hit"}, "the column 'hit' is missing"),
        (rows(row=[0.0] * 5, x=[1.0] * 5), {}, "'row' must hold integers"),
        (rows(row=[0, 1, 2, 3, 5], x=[1.0] * 5), {}, "a position in the batch"),
        (rows(row=[0, -1, 2, 3, 4], x=[1.0] * 5), {}, "a position in the batch"),
        (rows(row=[0, None, 2, 3, 4], x=[1.0] * 5), {}, "a position in the batch"),
        (rows(x=["1"] * 5), {}, "the column 'x' must hold numbers"),
        (rows(x=[[1.0]] * 5), {}, "the column 'x' must hold numbers"),
        (rows(x=[1.0, None, None, 1, 1]), {}, "the column 'x' must not hold nulls"),
        (rows(), {}, "there is no column of numbers"),
        (rows(k=["a"] * 5), {"keys": ("k",)}, "there is no column of numbers"),
        *[
            (
                rows(x=[1.0] * 5, **{name: [1.0] * 5}),
                {},
                f"the name {name!r} is reserved",
            )
            for name in ("position", "group", "unit", "cell", "replicate")
        ],
        (
            rows(row=[0, 0, 1, 1, 2], x=[1.0] * 5),
            {"per_example": "x"},
            "an example has several rows, but one score ('x')",
        ),
    ],
)
def test_wrong_statistics_are_refused(
    statistics: Statistics, attributes: dict[str, Any], rule: str
) -> None:
    message = error_of(metric(statistics, **attributes))
    assert message.startswith("metrics/probe (given as an object): statistics")
    assert rule in message


@pytest.mark.parametrize(
    ("finalize", "rule"),
    [
        (lambda _: None, "must return a polars DataFrame, returned NoneType"),
        (lambda _: 0.5, "must return a polars DataFrame, returned float"),
        (lambda sums: sums.select("group"), "the column 'value' is missing"),
        (lambda sums: sums.select(value="x"), "the column 'group' is missing"),
        (
            lambda sums: sums.select("group", value=pl.lit("1")),
            "'value' must hold numbers",
        ),
        (
            lambda sums: sums.select("group", value=pl.lit([1.0])),
            "'value' must hold numbers",
        ),
        (
            lambda sums: sums.select(pl.lit("all").alias("group"), value="x"),
            "'group' must hold integers",
        ),
        (
            lambda sums: sums.select(pl.lit(None, pl.Int64).alias("group"), value="x"),
            "'group' must hold integers",
        ),
        (
            lambda sums: sums.select(pl.col("group") + 1, value="x"),
            "'group' must be one of the groups it was given",
        ),
        (
            lambda sums: pl.concat([sums, sums]).select("group", value="x"),
            "it gives a score of a group more than once",
        ),
        *[
            (
                lambda sums, name=name: sums.select(
                    "group", pl.lit(1).alias(name), value="x"
                ),
                f"the column {name!r} must hold texts",
            )
            for name in ("score", "reason", "flag")
        ],
    ],
)
def test_wrong_scores_of_finalize_are_refused(finalize: Finalize, rule: str) -> None:
    message = error_of(metric(finalize=finalize))
    assert message.startswith("metrics/probe (given as an object): finalize")
    assert rule in message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"x": [1.0, 1.0]}, {"y": [1.0, 1.0]}),
        ({"x": [1.0, 1.0]}, {"x": [1.0, 1.0], "y": [1.0, 1.0]}),
        ({"x": [1.0, 1.0], "k": ["a", "b"]}, {"x": [1.0, 1.0], "k": [1, 2]}),
    ],
)
def test_batches_whose_columns_differ_are_refused(
    first: dict[str, Any], second: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "BATCH_ROWS", 2)
    given: Iterator[dict[str, Any]] = iter([first, second, second])

    def statistics(batch: pl.DataFrame) -> pl.DataFrame:
        return pl.DataFrame({"row": [0, 1], **next(given)}).head(batch.height)

    probe = metric(statistics, keys=("k",) if "k" in first else ())
    assert "joining the batches of statistics failed with" in error_of(probe)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.5", "its value must be a number, is '0.5'"),
        (b"1", "its value must be a number, is b'1'"),
        ([0.5], "its value must be a number, is [0.5]"),
        (1j, "its value must be a number, is 1j"),
        (10**400, "its value must be a number, is 1000"),
        (-0.1, "its value -0.1 is outside of its bounds 0.0 to 1.0"),
        (1.1, "its value 1.1 is outside of its bounds 0.0 to 1.0"),
    ],
)
def test_a_value_that_is_no_number_or_out_of_bounds_is_refused(
    value: Any, text: str
) -> None:
    class Probe(Metric):
        bounds = (0.0, 1.0)

        def compute(self) -> Any:
            return value

    message = error_of(Probe)
    assert message.startswith(f"metrics/probe (given as an object): {text}")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "it is not defined for these examples"),
        (float("nan"), "it returned nan"),
        (float("-inf"), "it returned -inf"),
    ],
)
def test_a_value_that_is_not_finite_is_null_with_the_reason(
    value: float | None, reason: str
) -> None:
    def finalize(sums: pl.DataFrame) -> pl.DataFrame:
        undefined = pl.lit(value, dtype=pl.Float64)
        return sums.select(
            "group", value=pl.when(pl.col("group") == 0).then(undefined).otherwise("x")
        )

    whole, *tags = scored(metric(finalize=finalize))
    assert (whole.value, whole.ci) == (None, None)
    assert whole.reason == f"metrics/probe (given as an object): {reason}"
    assert [tag.value for tag in tags] == [3.0, 2.0, 1.0]


def test_a_metric_s_own_reason_and_flag_are_kept() -> None:
    def finalize(sums: pl.DataFrame) -> pl.DataFrame:
        is_whole = pl.col("group") == 0
        return sums.select(
            "group",
            value=pl.when(is_whole).then(None).otherwise("x"),
            reason=pl.lit("too hard"),
            flag=pl.when(is_whole).then(pl.lit("look here")),
        )

    whole, tag, *_ = scored(metric(finalize=finalize))
    assert (whole.reason, whole.flag) == ("too hard", "look here")
    # a reason explains a null, it does not stand beside a value
    assert (tag.value, tag.reason, tag.flag) == (
        3.0,
        "all bootstrap replicates are equal",
        None,
    )


def test_a_group_without_a_value_says_so() -> None:
    found = scored(metric(finalize=lambda sums: sum_of_x(sums).head(1)))
    sizes = [(5.0, 5), (None, 3), (None, 2), (None, 1)]
    assert [(s.value, s.n) for s in found] == sizes
    reason = "metrics/probe (given as an object): finalize gave no value"
    assert [s.reason for s in found[1:]] == [reason] * 3


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


@given(st.lists(numbers, min_size=1, max_size=30), st.integers(1, 30))
def test_merges_equal_plain_python(values: list[float], first: int) -> None:
    seen: list[dict[str, Any]] = []

    def statistics(batch: pl.DataFrame) -> pl.DataFrame:
        x = pl.Series(values)
        names = ("total", "least", "most", "spread", "all")
        columns = [x.alias(name) for name in names]
        return pl.DataFrame({"row": range(len(values))}).with_columns(columns)

    def finalize(sums: pl.DataFrame) -> pl.DataFrame:
        seen.extend(sums.to_dicts())
        return sums.select("group", value=pl.lit(1))

    merges = {"least": "min", "most": "max", "spread": "moments", "all": "values"}
    tags = [["first"] if i < first else [] for i in range(len(values))]
    texts = ["" for _ in values]
    probe = metric(statistics, finalize, merges=merges, interval="none")
    score(probe, texts, texts, tags=tags)

    parts = [part for part in (values, values[:first], values[first:]) if part]
    for sums, members in zip(seen, parts, strict=True):
        scale = max(1.0, sum(map(abs, members)))
        mean = np.mean(members)
        assert sums["total"] == pytest.approx(np.sum(members), abs=1e-12 * scale)
        assert (sums["least"], sums["most"]) == (min(members), max(members))
        # in the order of their size, not of the examples
        assert sums["all"] == sorted(members)
        assert sums["spread_count"] == len(members)
        assert sums["spread_mean"] == pytest.approx(mean, abs=1e-12 * scale)
        squares = np.sum((np.array(members) - mean) ** 2)
        assert sums["spread_m2"] == pytest.approx(squares, rel=1e-9, abs=1e-9)
        assert set(sums) == {
            *("group", "total", "least", "most", "all"),
            *("spread_count", "spread_mean", "spread_m2"),
        }
