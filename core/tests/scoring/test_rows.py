import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import Metric, NotScored
from evalkit.base.terms import MetricContext
from evalkit.errors import MetricError
from evalkit.plugins.bound import Bound
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.finalization import EXAMPLES
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.table import ScoringTable

ORIGIN = "metrics/probe (given as an object)"


def bind(function: Callable[..., Any], **attributes: Any) -> Bound:
    members = {"score_example": staticmethod(function), **attributes}
    return Resolver(Registry()).bind("metrics", type("Probe", (Metric,), members))


def table_of(predictions: list[Any], targets: list[Any], **columns: Any) -> Any:
    # not the identity, so that rows and positions cannot be mixed up
    positions = [3 * row + 1 for row in range(len(predictions))]
    columns = {"prediction": predictions, "target": targets, **columns}
    frame = pl.DataFrame(columns, strict=False).with_columns(
        position=pl.Series(positions, dtype=pl.UInt32)
    )
    ids = [f"id-{position}" for position in range(3 * len(predictions) + 1)]
    return ScoringTable(frame, ids, None, MetricContext(None, "one"))


def scores_of(metric: Bound, table: ScoringTable) -> list[tuple[int, float]]:
    found = metric_outcomes(metric, table).statistics.drop(EXAMPLES)
    assert found.schema == {"position": pl.UInt32, "score": pl.Float64}
    return list(found.iter_rows())


def error_of(metric: Bound, table: ScoringTable) -> str:
    with pytest.raises(MetricError) as caught:
        metric_outcomes(metric, table)
    return str(caught.value)


returned = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1, 1).map(np.float64),
    st.floats(-1, 1, width=32).map(np.float32),
    st.integers(0, 9).map(np.int8),
    st.booleans().map(np.bool_),
    st.decimals(-5, 5, places=3),
    st.fractions(-5, 5, max_denominator=9),
    st.sampled_from([math.nan, math.inf, "0.5", b"1", 1j, [1.0], 10**400]),
)


@given(
    st.lists(st.tuples(returned, st.booleans()), max_size=40),
    st.sampled_from([None, 0.0, 1]),
    st.booleans(),
    st.sampled_from([None, (0.0, 1.0), (None, 2.0), (-1.0, None)]),
)
def test_scores_are_those_of_a_plain_loop(
    rows: list[tuple[Any, bool]], worst: Any, accepts: bool, bounds: Any
) -> None:
    outcomes = [value for value, _ in rows]
    said = [str(row) if has else None for row, (_, has) in enumerate(rows)]
    metric = bind(
        lambda target: outcomes[target],
        worst_value=worst,
        accepts_no_prediction=accepts,
        bounds=bounds,
    )
    table = table_of(said, list(range(len(rows))))
    low, high = bounds or (None, None)

    expected: list[tuple[int, float]] = []
    failed: list[int] = []
    for row, (value, has) in enumerate(rows):
        value = value if has or accepts else worst
        if value is None:
            continue
        try:
            number = math.nan if isinstance(value, str | bytes) else float(value)
        except (TypeError, OverflowError):
            number = math.nan
        if (
            not math.isfinite(number)
            or (low is not None and number < low - 1e-9)
            or (high is not None and number > high + 1e-9)
        ):
            failed.append(3 * row + 1)
            continue
        expected.append((3 * row + 1, number))
    if len(failed) > max(1, 0.1 * len(rows)) or (failed and not expected):
        where = f"the example 'id-{failed[0]}'"
        assert error_of(metric, table).startswith(
            f"{ORIGIN}: score_example for {where}"
        )
        return
    found = metric_outcomes(metric, table)
    assert found.statistics.drop(EXAMPLES, strict=False).rows() == expected
    assert found.unscored["position"].to_list() == failed
    assert found.unscored["failed"].all()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: 1, [1, 1]),
        (lambda prediction: len(prediction), [1, 2]),
        (lambda target: len(target), [3, 4]),
        (lambda target, prediction: len(target) - len(prediction), [2, 2]),
        (lambda fields: fields["sure"], [0.5, 0.25]),
        (lambda fields, prediction: len(fields) + len(prediction), [3, 4]),
        (lambda prediction, target="x": len(target), [3, 4]),
    ],
)
def test_a_function_gets_the_arguments_that_it_names(
    function: Callable[..., Any], expected: list[float]
) -> None:
    metric = bind(function, columns=("sure", "other"))
    table = table_of(["a", "bb"], ["ccc", "dddd"], sure=[0.5, 0.25], other=[1, 2])
    assert [score for _, score in scores_of(metric, table)] == expected


def test_one_example_that_fails_does_not_take_the_score_of_the_others() -> None:
    def score_example(target: int) -> Any:
        if target == 3:
            raise ValueError("bad")
        if target == 4:
            raise NotScored("late")
        return {5: NotScored("empty"), 6: None}.get(target, 1.0)

    found = metric_outcomes(bind(score_example), table_of([""] * 20, list(range(20))))
    scored = [row for row in range(20) if row not in (3, 4, 5, 6)]
    assert found.statistics["position"].to_list() == [3 * row + 1 for row in scored]
    assert found.unscored.rows() == [
        (
            10,
            f"{ORIGIN}: score_example failed for the example 'id-10' with "
            "ValueError: bad",
            True,
        ),
        (13, "late", False),
        (16, "empty", False),
    ]


@pytest.mark.parametrize(("failing", "share"), [(1, 0.0), (10, 0.1), (50, 0.5)])
def test_a_declared_share_of_failures_ends_a_metric(failing: int, share: float) -> None:
    def score_example(target: int) -> float:
        return 1.0 / (target >= failing)

    table = table_of([""] * 100, list(range(100)))
    metric = bind(score_example, most_not_scored=share)
    assert metric_outcomes(metric, table).unscored.height == failing
    failing += 1
    assert "id-1' with ZeroDivisionError" in error_of(metric, table)


def test_a_batch_is_scored_at_once() -> None:
    seen: list[list[int]] = []

    def score_batch(targets: list[int], predictions: list[str]) -> Any:
        seen.append(targets)
        return np.array(targets) / 2

    metric = bind_batch(score_batch, batch_rows=4)
    found = metric_outcomes(metric, table_of([""] * 10, list(range(10))))
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert found.statistics["score"].to_list() == [row / 2 for row in range(10)]


def test_a_batch_that_fails_is_scored_one_by_one() -> None:
    def score_batch(targets: list[int], fields: dict[str, list[float]]) -> Any:
        if 5 in targets:
            raise TimeoutError("slow")
        if 7 in targets:
            raise NotScored("empty")
        return [*fields["sure"][:-1], NotScored("odd") if 9 in targets else 1]

    metric = bind_batch(score_batch, batch_rows=3, columns=("sure",))
    table = table_of([""] * 10, list(range(10)), sure=[0.5] * 10)
    found = metric_outcomes(metric, table)
    scores = dict(found.statistics.drop(EXAMPLES).iter_rows())
    assert scores == dict(zip([1, 4, 7, 10, 13], [0.5, 0.5, 1, 1, 1], strict=True))
    assert found.unscored["reason"].to_list() == [
        f"{ORIGIN}: score_batch failed for the example 'id-16' with TimeoutError: slow",
        *["empty"] * 3,
        "odd",
    ]


@pytest.mark.parametrize("wrong", [[1.0], 1.0, "ab", {"a": 1, "b": 2}, None])
def test_a_batch_needs_an_entry_for_each_example(wrong: Any) -> None:
    metric = bind_batch(lambda predictions: wrong)
    message = error_of(metric, table_of(["", ""], ["", ""]))
    assert message.startswith(
        f"{ORIGIN}: score_batch must return a list of 2 entries, one for each example"
    )
    is_list = isinstance(wrong, list)
    assert message.endswith("returned 1: [1.0]" if is_list else f"returned {wrong!r}")


def bind_batch(function: Callable[..., Any], **attributes: Any) -> Any:
    members = {"score_batch": staticmethod(function), **attributes}
    return Resolver(Registry()).metric(type("Probe", (Metric,), members))
