from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from engine_runs import install, predictions, scores_of

import evalkit
from evalkit import Metric, Result
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.records import ScoringSettings

from ..engine_tables import Mean, Share, bound, main_score, make_groups, make_table


def measured_of(
    values: list[Any], counted: list[bool], targets: list[Any] | None = None
) -> Measured:
    table = make_table(values, targets)
    return Measured(table, pl.Series(counted), make_groups(len(values)))


def silent(_text: str, _share: float) -> None:
    pass


def test_bounds_are_given_only_where_examples_were_left_out() -> None:
    class Right(Share):
        bounds = (0.0, 1.0)
        accepts_no_prediction = True

        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            right = (batch["prediction"] == batch["target"]).fill_null(False)
            total = right.cast(pl.Float64)
            return pl.DataFrame({"row": range(batch.height), "total": total, "n": 1.0})

    answers = ["a", "b", "a", "b"]
    some = measured_of(["a", "a", None, None], [True, True, False, False], answers)
    [found] = measure([bound(Right)], some, ScoringSettings(), silent)
    assert main_score(found).value == 0.5
    assert main_score(found).bounds == (0.25, 0.75)
    whole = measured_of(["a", "a", "b", "b"], [True] * 4, answers)
    [found] = measure([bound(Right)], whole, ScoringSettings(), silent)
    assert main_score(found).bounds is None


def test_progress_says_what_and_how_far() -> None:
    told: list[tuple[str, float]] = []
    given = measured_of([1.0, 2.0], [True] * 2)
    metrics = [bound(Mean), bound(Share)]
    measure(
        metrics,
        given,
        ScoringSettings(),
        lambda text, share: told.append((text, share)),
    )
    computing = [one for one in told if one[0].startswith("computing")]
    assert computing == [("computing mean", 0.0), ("computing share", 0.5)]
    assert [share for _, share in told] == sorted(share for _, share in told)


# metrics that fail ---------------------------------------------------------------


@pytest.fixture
def run(fake_distribution: Callable[..., Any]) -> Callable[..., Result]:
    install(fake_distribution, version="2.5")

    def evaluate(*metrics: str, **options: Any) -> Result:
        return evalkit.evaluate(
            "posts", predictions(), metrics=list(metrics), **options
        )

    return evaluate


def test_a_declared_column_that_is_not_there_is_named(
    run: Callable[..., Result],
) -> None:
    result = run("accuracy", "absent")
    assert result["absent"].value is None
    reason = str(result["absent"].reason)
    assert "metrics/absent" in reason
    assert ": it needs the field 'colour', which was not given; data and" in reason
    assert result.status == "partial"
    assert list(result.errors) == [result["absent"].reason]
    assert scores_of(result, "accuracy") == list(run("accuracy").scores)


def test_a_failure_in_one_group_only_fails_the_metric_alone(
    run: Callable[..., Result],
) -> None:
    class NotAlone(Metric):
        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            return pl.DataFrame({"row": range(batch.height), "n": 1.0})

        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            return sums.select("group", value=1 / (pl.col("n") - 24))

    result = evalkit.evaluate("posts", predictions(), metrics=["accuracy", NotAlone])
    tags = {s.tag: s for s in scores_of(result, "not-alone") if s.aggregate is None}
    of_24 = tags["functionality:a"]
    assert (of_24.n, of_24.value, of_24.reason) == (
        *(24, None),
        "metrics/not-alone (given as an object): it returned inf",
    )
    assert tags[None].value == 1 / 96
