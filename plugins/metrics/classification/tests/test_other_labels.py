"""Predictions that are none of the declared labels, which are one class together."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
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
from evalkit.runs import count_confusion
from evalkit.scoring import finalize
from evalkit_metrics_classification.macro import MacroF1

DECLARED = ("a", "b", "c")
CONTEXT = evalkit.MetricContext(DECLARED, "one")

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


def test_declared_labels_make_scikit_learn_leave_other_predictions_out() -> None:
    gold, said = ["a", "a", "b", "c", "c"], ["a", "x", "b", "y", "c"]
    choice = list(DECLARED)
    assert scored("cohen-kappa", said, gold) == pytest.approx(
        cohen_kappa_score(gold, said)
    )
    assert cohen_kappa_score(gold, said, labels=choice) == 1
    assert scored("micro-f1", said, gold) == pytest.approx(3 / 5)
    assert scored("micro-f1:labels=declared", said, gold) == pytest.approx(
        f1_score(gold, said, labels=choice, average="micro")
    )


def test_a_thousand_texts_are_one_class() -> None:
    n = 1000
    gold = pl.Series("target", list(DECLARED) * n)[:n]
    said = pl.Series("prediction", [f"text {number}" for number in range(n)])
    rows = MacroF1().statistics(pl.DataFrame([said, gold]), CONTEXT)
    assert rows["predicted"].unique().to_list() == ["(other)"]
    assert rows.select("gold", "predicted").n_unique() == len(DECLARED)
    apart = MacroF1().statistics(
        pl.DataFrame([said, gold]), evalkit.MetricContext(None, "one")
    )
    assert apart["predicted"].n_unique() == n


def test_missing_predictions_are_not_among_them() -> None:
    said, gold = ["a", None, "x", "y"], ["a", "a", "b", "c"]
    joined = ["a", "none", "other", "other"]
    expected = matthews_corrcoef(gold, joined)
    assert scored("mcc", said, gold) == pytest.approx(expected, abs=1e-12)


def test_a_label_of_that_name_is_another_class() -> None:
    labels = ["(other)", "a"]
    said, gold = ["(other)", "x", "a"], ["(other)", "a", "a"]
    found = evalkit.score("recall", said, gold, labels=labels)
    values = {name: found[name].value for name in found}
    assert values == {"recall#(other)": 1.0, "recall#a": 0.5, "recall#((other))": None}
    context = evalkit.MetricContext(("(other)", "((other))"), "one")
    assert context.other_label == "(((other)))"
    assert evalkit.MetricContext(None, "one").other_label is None


def test_numbers_are_no_labels_of_texts() -> None:
    # labels are texts, and say nothing of answers that are numbers
    found = evalkit.score("macro-f1", [1, 2, 3], [1, 2, 2], labels=["1", "2"])
    assert found["macro-f1"].value == pytest.approx((1 + 2 / 3) / 2)


class Letter(BaseModel):
    """A letter that is shown."""

    uid: str


class Answer(BaseModel):
    """What is said of it."""

    id: str
    letter: str


class Reading(evalkit.TaskIO):
    """Which letter is it? Any answer is taken."""

    Input, Output, answer_field = Letter, Answer, "letter"
    perf_metric = "macro-f1"
    example: ClassVar[dict[str, Any]] = {"uid": "1"}


class Letters(evalkit.Dataset):
    """Letters."""

    name, task, labels = "letters", Reading, DECLARED

    def load(self, split: str) -> list[dict[str, Any]]:
        """Return six of them."""
        return [{"uid": str(n), "letter": DECLARED[n % 3]} for n in range(6)]


def answers(*said: str | None) -> list[dict[str, Any]]:
    """Return the responses."""
    return [{"id": str(n), "letter": each} for n, each in enumerate(said)]


def test_a_run_names_them_together(tmp_path: Path) -> None:
    said = answers("a", "x", "c", "y", "(other)", "a")
    metrics = ["macro-f1", "f1", "mcc"]
    result = evalkit.evaluate(Letters, said, metrics=metrics, out=tmp_path)
    found = count_confusion(result)
    assert found.predicted == (*DECLARED, "(other)")
    assert found.counts == ((1, 0, 0, 1), (0, 0, 0, 2), (1, 0, 1, 0))
    assert result["f1#(other)"].value == 0
    assert "f1#x" not in result
    [file] = tmp_path.rglob("*macro-f1*.parquet")
    assert pl.read_parquet(file)["predicted"].unique().sort().to_list() == [
        "(other)",
        "a",
        "c",
    ]
    # what the model said is kept
    assert result.examples is not None
    assert result.examples["pred"].to_list()[1] == "x"


def test_a_gold_label_that_is_not_declared_is_an_error() -> None:
    with pytest.raises(DataError, match=r"targets.1. is 'z', which is none of the lab"):
        evalkit.score("accuracy", ["a", "a"], ["a", "z"], labels=DECLARED)
    with pytest.raises(DataError, match=r"targets.0. holds 'z', which is none of the"):
        evalkit.score("accuracy", ["a"], [["a", "z"]], labels=DECLARED)
