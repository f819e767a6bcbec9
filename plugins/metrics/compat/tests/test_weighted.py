"""Weighted means against their formulas."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import evalkit
from evalkit import MetricError, PluginContractError


def score(name: str, said: list[Any], weights: list[Any], **options: Any) -> Any:
    right = ["a b"] * len(said)
    [found] = evalkit.score(name, said, right, fields={"w": weights}, **options).scores
    return found


rows = st.lists(
    st.tuples(st.sampled_from(["a b", "a", "c"]), st.floats(0.01, 100)), min_size=2
)


@pytest.mark.parametrize("inner", ["accuracy", "token-f1"])
@given(rows=rows, factor=st.floats(0.1, 10))
def test_it_is_the_weighted_mean_with_its_interval(
    inner: str, rows: list[tuple[str, float]], factor: float
) -> None:
    said, weights = (list(column) for column in zip(*rows, strict=True))
    worth = {"a b": 1.0, "a": 2 / 3 if inner == "token-f1" else 0.0, "c": 0.0}
    values, n = np.array([worth[text] for text in said]), len(said)
    w = np.array(weights) / sum(weights)
    mean = float(np.average(values, weights=weights))
    name = f"weighted:by=w,metric={inner}"
    found = score(name, said, [factor * weight for weight in weights])
    assert found.value == pytest.approx(mean, abs=1e-9)
    assert found.n == n
    if np.ptp(values) == 0:
        assert found.ci is None
        return
    error = np.sqrt(n / (n - 1) * np.sum((w * (values - mean)) ** 2))
    quantile = stats.t.isf(0.025, n - 1)
    bounds = mean - quantile * error, mean + quantile * error
    if inner == "accuracy":
        effective = min(mean * (1 - mean) / error**2, 1 / np.sum(w**2))
        # the shares p with (mean - p)² = quantile² p (1 - p) / effective
        extra = quantile**2 / effective
        bounds = sorted(np.roots([1 + extra, -2 * mean - extra, mean**2]))
    assert found.se == pytest.approx(error, rel=1e-4)
    assert found.ci == pytest.approx(bounds, rel=1e-3, abs=1e-6)
    assert ("effective n" in (found.flag or "")) == (1 / np.sum(w**2) < n / 2)


@pytest.mark.parametrize("weight", [0, -1, 1e300, None, "heavy", np.inf, np.nan])
def test_other_weights_fail_the_metric(weight: Any) -> None:
    with pytest.raises(
        MetricError, match="w: expected a weight from 1e-100 to 1e100, got"
    ):
        score("weighted:by=w", ["a b", "c"], [weight, weight])


@pytest.mark.parametrize("inner", ["wer", "macro-f1", "bleu", "weighted:by=w"])
def test_what_is_no_mean_of_examples_is_refused(inner: str) -> None:
    with pytest.raises(PluginContractError, match="metrics/weighted: parameter metric"):
        score(f"weighted:by=w,metric={inner}", ["a b"], [1])


def test_weights_stand_in_a_column_of_the_data(tmp_path: Path) -> None:
    data = [
        {"uid": str(n), "statement": "x", "label": "yes", "w": n + 1, "person": n // 2}
        for n in range(8)
    ]
    pl.DataFrame(data).write_csv(tmp_path / "data.csv")
    said = [{"id": str(n), "label": "no" if n % 3 else "yes"} for n in range(7)]
    found = evalkit.evaluate(
        tmp_path / "data.csv",
        said,
        task="text-classification",
        metrics=["weighted:by=w"],
        cluster="person",
        on_missing="wrong",
    )["weighted:by=w"]
    assert (found.value, found.n) == (pytest.approx(12 / 36), 8)
    assert found.ci_method == "wilson-clustered"
