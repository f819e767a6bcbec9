"""Columns that a metric can do without, and replications that it joins."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import Metric
from evalkit.errors import MetricError
from evalkit.scoring.table import joined_replications
from evalkit_analysis_compare import compare

from ..engine_tables import make_table

DATA = [
    {"uid": str(n), "statement": "Good.", "label": "positive", "tags": ["t"] * (n % 2)}
    for n in range(4)
]
SAID = [{"id": str(n), "label": "positive"} for n in range(4)]


class Sure(Metric):
    """How sure the model is, 1 where it does not say."""

    columns = ("sureness",)
    optional_columns = columns

    def score_example(self, prediction: str, fields: Any) -> float:
        return 1.0 if fields["sureness"] is None else fields["sureness"]


def evaluate(responses: Any, *metrics: Any, **options: Any) -> evalkit.Result:
    return evalkit.evaluate(
        data=DATA, predictions=responses, task="sentiment", metrics=metrics, **options
    )


def test_a_column_that_is_lacking_is_null() -> None:
    assert evaluate(SAID, Sure)["sure"].value == 1.0
    assert evalkit.score(Sure, ["a"], ["a"])["sure"].value == 1.0


def test_a_column_that_is_there_is_read() -> None:
    said = [row | {"sureness": 0.5} for row in SAID]
    assert evaluate(said, Sure)["sure"].value == 0.5
    fields = {"sureness": [0.25, 0.75]}
    assert evalkit.score(Sure, "ab", "ab", fields=fields)["sure"].value == 0.5


def test_a_function_of_lists_gets_nulls() -> None:
    class Lists(Metric):
        columns = ("sureness",)
        optional_columns = columns

        def compute(self, predictions: list[str], fields: Any) -> float:
            return float(fields["sureness"].count(None))

    assert evalkit.score(Lists, "ab", "ab")["lists"].value == 2.0


def test_a_column_that_is_needed_is_still_asked_for() -> None:
    class Needs(Sure):
        optional_columns = ()

    with pytest.raises(MetricError, match="sureness"):
        evalkit.score(Needs, ["a"], ["a"])


def test_a_run_without_a_column_of_the_data_is_not_scored_without_it(
    tmp_path: Path,
) -> None:
    run = evaluate(SAID, "accuracy", out=tmp_path)
    again = evalkit.rescore(run, [OfResponses])
    assert again["of-responses"].value == 1.0
    with pytest.raises(evalkit.EvalkitError, match="does not hold the field 'grades'"):
        evalkit.rescore(run, [OfData])


class OfResponses(Sure):
    columns = ("responses",)
    optional_columns = columns

    def score_example(self, prediction: str, fields: Any) -> float:
        return float(fields["responses"] is None)


class OfData(Sure):
    columns = ("grades",)
    optional_columns = columns


class Unanimous(Metric):
    """Share of examples whose answers are all equal."""

    bounds = (0, 1)
    columns = ("responses",)
    optional_columns = columns
    joins_replications = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        lists = batch["responses"]
        one = (lists.list.n_unique() == 1).cast(pl.Float64)
        return pl.DataFrame({"one": one, "n": 1.0}).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("one") / pl.col("n"))


def repeated(skip: tuple[str, int] | None = None) -> list[dict[str, Any]]:
    return [
        row
        | {
            "_replication_": r,
            "label": "neutral" if (row["id"], r) == ("3", 2) else "positive",
        }
        for row in SAID
        for r in (1, 2)
        if (row["id"], r) != skip
    ]


def test_replications_of_an_example_are_one_row() -> None:
    found = evaluate(repeated(), Unanimous, "accuracy")
    score = found["unanimous"]
    assert (score.value, score.n, score.coverage) == (0.75, 4, 1.0)
    assert score.ci_method == "bootstrap"
    tagged = next(s for s in found.scores if (s.metric, s.tag) == ("unanimous", "t"))
    assert (tagged.value, tagged.n) == (0.5, 2)
    assert found["accuracy"].value == 7 / 8


def test_a_replication_that_is_lacking_has_no_rating() -> None:
    found = evaluate(repeated(("0", 1)), Unanimous, on_missing="skip")["unanimous"]
    assert (found.value, found.n) == (0.75, 4)
    found = evaluate(repeated(("0", 1)), Unanimous, on_missing="wrong")["unanimous"]
    assert found.value is None
    assert "without a prediction" in str(found.reason)


def test_tables_are_joined_in_the_order_of_replications() -> None:
    table = make_table(["a", "b", None, "c"], list("xxyy"), replications=("1", "2"))
    frame = joined_replications(table).frame
    assert frame["position"].to_list() == [0, 2]
    assert frame["responses"].to_list() == [["a", "b"], [None, "c"]]
    assert frame["prediction"].to_list() == ["a", None]
    alone = make_table(["a"], ["x"])
    assert joined_replications(alone) is alone


def test_runs_whose_replications_are_joined_are_compared(tmp_path: Path) -> None:
    first = evaluate(repeated(), Unanimous, out=tmp_path)
    others = [row | {"label": "positive"} for row in repeated()]
    second = evaluate(others, Unanimous, model="other", out=tmp_path)
    found = compare(first, second, metrics=[Unanimous])
    whole = next(row for row in found.rows if row.tag is None)
    assert abs(whole.difference or 0.0) == 0.25
