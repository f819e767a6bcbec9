"""Predictions that are none of the declared labels, which are one class together."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    cohen_kappa_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

import evalkit
from evalkit.catalog import BoundMetric, Registry, Resolver
from evalkit.errors import DataError
from evalkit.scoring import finalize

DECLARED = ("a", "b", "c")

pairs = st.lists(
    st.tuples(
        st.sampled_from(DECLARED),
        st.sampled_from([*DECLARED, "x", "y", "z", "(other)", ""]),
    ),
    min_size=1,
    max_size=25,
)


def scores(
    name: str, said: Sequence[Any], gold: Sequence[str], labels: Any = DECLARED
) -> dict[str, float | None]:
    """Return the scores of a metric, without intervals."""
    metric = BoundMetric.of(Resolver(Registry()).bind("metrics", name))
    context = evalkit.MetricContext(labels, "one")
    texts = pl.DataFrame({"prediction": said, "target": gold})
    plugin: Any = metric.plugin
    rows = plugin.statistics(texts.cast(pl.String), context)
    sums = rows.group_by("gold", "predicted").agg(pl.col("count").sum())
    sums = sums.sort("gold", "predicted").with_columns(group=pl.lit(0))
    found = finalize(metric, sums, context)
    names = found["score"] if "score" in found.columns else [""]
    return dict(zip(names, found["value"], strict=True))


def scored(
    name: str, said: Sequence[Any], gold: Sequence[str], labels: Any = DECLARED
) -> float | None:
    """Return the main score of a metric."""
    return scores(name, said, gold, labels)[""]


@given(pairs)
@settings(max_examples=25, deadline=None)
@pytest.mark.slow
def test_scores_are_those_of_scikit_learn(rows: list[tuple[str, str]]) -> None:
    gold, said = map(list, zip(*rows, strict=True))
    joined = [label if label in DECLARED else "?" for label in said]
    choice: dict[str, Any] = {"labels": list(DECLARED), "zero_division": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = f1_score(gold, joined, average="macro", zero_division=0)
        expected = {
            "macro-f1:labels=declared": f1_score(gold, said, average="macro", **choice),
            "macro-f1:labels=seen": seen,
            "micro-f1:labels=seen": f1_score(gold, said, average="micro"),
            "micro-f1:labels=declared": f1_score(gold, said, average="micro", **choice),
            "weighted-f1": f1_score(gold, said, average="weighted", **choice),
            "macro-recall:labels=declared": recall_score(
                gold, said, average="macro", **choice
            ),
            "mcc": matthews_corrcoef(gold, joined),
            "cohen-kappa": cohen_kappa_score(gold, said),
        }
        by_class = precision_score(gold, said, average=None, **choice)
    for name, value in expected.items():
        found = scored(name, said, gold)
        if found is None:  # 0 / 0, which scikit-learn calls 0 or nan
            assert np.nan_to_num(value) == 0 or name.startswith("micro")
            continue
        assert found == pytest.approx(value, abs=1e-12), name
    classes = scores("precision", said, gold)
    for label, value in zip(DECLARED, by_class, strict=True):
        assert (classes[label] or 0) == pytest.approx(value, abs=1e-12)
    others = ["(other)"] if joined != said else []
    assert [label for label in classes if label not in DECLARED] == others


@given(pairs)
@settings(max_examples=25, deadline=None)
@pytest.mark.slow
def test_only_mcc_and_the_mean_over_seen_classes_depend_on_them(
    rows: list[tuple[str, str]],
) -> None:
    gold, said = map(list, zip(*rows, strict=True))
    names = ["macro-f1", "micro-f1", "weighted-f1", "balanced-accuracy", "cohen-kappa"]
    for name in names:
        apart = scored(name, said, gold, labels=None)
        assert scored(name, said, gold) == pytest.approx(apart, abs=1e-12)


def test_missing_predictions_are_not_among_them() -> None:
    said, gold = ["a", None, "x", "y"], ["a", "a", "b", "c"]
    joined = ["a", "none", "other", "other"]
    expected = matthews_corrcoef(gold, joined)
    assert scored("mcc", said, gold) == pytest.approx(expected, abs=1e-12)


def test_a_gold_label_that_is_not_declared_is_an_error() -> None:
    with pytest.raises(DataError, match=r"targets.1. is 'z', which is none of the lab"):
        evalkit.score("accuracy", ["a", "a"], ["a", "z"], labels=DECLARED)
    with pytest.raises(DataError, match=r"targets.0. holds 'z', which is none of the"):
        evalkit.score("accuracy", ["a"], [["a", "z"]], labels=DECLARED)
