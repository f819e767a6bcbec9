from __future__ import annotations

from typing import Any

import pytest

from evalkit import Metric, evaluate
from evalkit_metrics_classification.macro_f1 import MacroF1


class OfWhole(MacroF1):
    """Macro-F1 of the whole set alone."""

    whole_only = True


@pytest.mark.parametrize("metrics", [(OfWhole, MacroF1), (MacroF1, OfWhole)])
def test_a_metric_of_the_whole_set_shares_nothing_with_one_of_tags(
    metrics: tuple[type[Metric], ...],
) -> None:
    rows = [
        {"uid": str(n), "statement": "x", "label": "ab"[n % 2], "tags": [f"t:{n % 3}"]}
        for n in range(12)
    ]
    predictions = [{"id": str(n), "label": "ab"[n % 3 == 0]} for n in range(12)]
    result = evaluate(
        rows, predictions, task="text-classification", metrics=[*metrics], model="m"
    )
    tags = {score.metric: set() for score in result.scores}
    for score in result.scores:
        tags[score.metric].add(score.tag)
    assert sorted(len(each) for each in tags.values()) == [1, 4]


@pytest.mark.parametrize("cluster", [(), "pair"])
def test_scores_of_few_examples_have_flags(cluster: Any) -> None:
    rows = [
        {"uid": str(n), "statement": "x", "label": "ab"[n % 9 == 0], "pair": n // 2}
        for n in range(72)
    ]
    right = [{"id": row["uid"], "label": row["label"]} for row in rows]
    right[1]["label"] = "b"
    for n, answer in enumerate(right):
        answer["prob"] = {"a": (n * 37 % 72) / 72, "b": 1 - (n * 37 % 72) / 72}

    def flags(count: int, metric: str) -> str:
        found = evaluate(
            rows[:count],
            right[:count],
            task="text-classification",
            metrics=[metric],
            cluster=cluster,
            model="m",
        )
        return str(found.scores[0].flag)

    assert "fewer than 20 examples of a class" in flags(72, "auroc")
    assert "fewer than 10 " in flags(8, "macro-f1")


@pytest.mark.parametrize("size", [1e154, 1e300])
def test_huge_scores_have_a_spread(size: float) -> None:
    rows = [{"uid": str(n), "value": (n % 3 - 1) * size} for n in range(15)]
    predictions = [{"id": row["uid"], "value": 0.0} for row in rows]
    found = evaluate(rows, predictions, task="regression", metrics=["mae"], model="m")
    assert found["mae"].value == pytest.approx(size * 2 / 3)
    assert found["mae"].stddev == pytest.approx(size * (2 / 9) ** 0.5)
