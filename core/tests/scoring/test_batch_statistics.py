import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import Metric
from evalkit.base.terms import MetricContext
from evalkit.errors import MetricError
from evalkit.plugins.bound import Bound
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.rows import batch_statistics
from evalkit.scoring.table import Batch, ScoringTable

WHERE = "metrics/probe (given as an object): statistics"


def total(self: Metric, sums: pl.DataFrame) -> pl.DataFrame:
    return sums.select("group", value="x")


def bind(statistics: Callable[[pl.DataFrame], Any], **attributes: Any) -> Bound:
    def hook(self: Metric, batch: pl.DataFrame) -> Any:
        return statistics(batch)

    members = {"statistics": hook, "finalize": total, **attributes}
    return Resolver(Registry()).bind("metrics", type("Probe", (Metric,), members))


def by_row(function: Callable[[str], Any], name: str = "x") -> Callable[..., Any]:
    """Make statistics of a function of one prediction."""

    def statistics(batch: pl.DataFrame) -> pl.DataFrame:
        values = [function(text) for text in batch["prediction"]]
        schema = {"row": pl.UInt32, name: pl.Float64}
        return pl.DataFrame({"row": range(len(values)), name: values}, schema=schema)

    return statistics


def table_of(predictions: list[str], **columns: Any) -> ScoringTable:
    n = len(predictions)
    frame = pl.DataFrame(
        {
            "position": pl.Series(range(1, n + 1), dtype=pl.UInt32),
            "prediction": pl.Series(predictions, dtype=pl.String),
            "target": ["t"] * n,
            **columns,
        }
    )
    ids = [f"id-{number}" for number in range(n + 1)]
    return ScoringTable(frame, ids, None, MetricContext(None, "one"))


def batch_of(predictions: list[str]) -> Batch:
    table = table_of(predictions)
    return Batch(table.frame, table.ids, table.context, tuple(table.frame.columns))


def error_of(metric: Bound, table: ScoringTable) -> str:
    with pytest.raises(MetricError) as caught:
        metric_outcomes(metric, table)
    return str(caught.value)


def length(text: str) -> float:
    if text.startswith("bad"):
        raise ValueError(f"cannot read {text}")
    return float(len(text))


@given(st.lists(st.booleans(), min_size=1, max_size=40).filter(any))
def test_the_first_example_that_fails_by_itself_is_named(is_bad: list[bool]) -> None:
    called = 0

    def statistics(batch: pl.DataFrame) -> pl.DataFrame:
        nonlocal called
        called += 1
        found: pl.DataFrame = by_row(length)(batch)
        return found

    texts = [f"bad {row}" if bad else "good" for row, bad in enumerate(is_bad)]
    steps = 3 + 2 * math.ceil(math.log2(len(texts)))
    if sum(is_bad) <= max(1, len(texts) / 10):
        found = batch_statistics(bind(statistics), batch_of(texts))
        good = [row + 1 for row, bad in enumerate(is_bad) if not bad]
        assert found.filter(pl.col("x").is_not_null())["position"].to_list() == good
        assert called <= 1 + steps * sum(is_bad)
        return
    with pytest.raises(MetricError) as caught:
        batch_statistics(bind(statistics), batch_of(texts))
    first = is_bad.index(True)
    assert str(caught.value) == (
        f"{WHERE} failed for the example 'id-{first + 1}' with ValueError: cannot read "
        f"bad {first}"
    )
    assert isinstance(caught.value.__cause__, ValueError)
    assert called <= steps * (1 + max(1, len(texts) / 10))


def test_examples_that_cannot_be_scored_are_left_out() -> None:
    def statistics(batch: pl.DataFrame) -> pl.DataFrame:
        texts = batch["prediction"]
        odd = texts.is_in(["odd"])
        rows = [(at, 1.0) for at in range(batch.height) if not odd[at]]
        if "bad" in texts:
            raise ValueError("no")
        return pl.DataFrame(
            {
                "row": [*(at for at, _ in rows), *odd.arg_true()],
                "x": [*(1.0 for _ in rows), *[None] * odd.sum()],
                "not_scored": [*[None] * len(rows), *["unknown"] * odd.sum()],
            },
            schema={"row": pl.UInt32, "x": pl.Float64, "not_scored": pl.String},
        )

    texts = ["good"] * 30
    texts[7], texts[9], texts[11] = "odd", "bad", "odd"
    found = metric_outcomes(bind(statistics, per_example="x"), table_of(texts))
    scored = [at + 1 for at in range(30) if at not in (7, 9, 11)]
    assert found.statistics["position"].to_list() == scored
    assert found.statistics.columns == ["position", "x"]
    assert found.unscored.rows() == [
        (8, "unknown", False),
        (10, f"{WHERE} failed for the example 'id-10' with ValueError: no", True),
        (12, "unknown", False),
    ]


def test_reasons_must_be_texts() -> None:
    def statistics(batch: pl.DataFrame) -> pl.DataFrame:
        return pl.DataFrame({"row": [0], "x": [1.0], "not_scored": [1]})

    message = error_of(bind(statistics), table_of(["a"]))
    assert message.startswith(f"{WHERE}: the column 'not_scored' must hold texts")


@pytest.mark.parametrize(
    ("value", "attributes", "rule"),
    [
        (math.nan, {}, "the column 'x' must not hold NaN"),
        (None, {}, "the column 'x' must not hold nulls"),
        (math.nan, {"per_example": "x"}, "the score 'x' of an example is not finite"),
        (math.inf, {"per_example": "x"}, "the score 'x' of an example is not finite"),
    ],
)
def test_a_value_that_does_not_add_up_names_its_example(
    value: Any, attributes: dict[str, Any], rule: str
) -> None:
    metric = bind(by_row(lambda text: value if text == "odd" else 1.0), **attributes)
    table = table_of(["good", "good", "odd", "good", "odd"])
    assert error_of(metric, table) == f"{WHERE}: {rule} (the example 'id-3')"


@pytest.mark.parametrize(
    "ask",
    [
        lambda batch: batch["sure"],
        lambda batch: batch.select("sure"),
        lambda batch: batch.with_columns(pl.col("sure") + 1),
        lambda batch: batch.lazy().select(pl.col("sure")).collect(),
        lambda batch: batch.drop("sure"),
        lambda batch: [row["sure"] for row in batch.to_dicts()],
    ],
)
def test_a_column_that_was_not_declared_is_named(
    ask: Callable[[pl.DataFrame], Any],
) -> None:
    table = table_of(["a", "b"], sure=[0.1, 0.2])
    message = error_of(bind(ask), table)
    assert message.startswith(
        f"{WHERE} asks for the column 'sure', which its batch does not have: name it "
        "in the metric's `columns` ("
    )
    assert "\n" not in message
