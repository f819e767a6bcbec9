import pytest

from evalkit import Metric, evaluate
from evalkit_metrics_classification.macro import MacroF1


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


@pytest.mark.parametrize("size", [1e154, 1e300])
def test_huge_scores_have_a_spread(size: float) -> None:
    rows = [{"uid": str(n), "value": (n % 3 - 1) * size} for n in range(15)]
    predictions = [{"id": row["uid"], "value": 0.0} for row in rows]
    found = evaluate(rows, predictions, task="regression", metrics=["mae"], model="m")
    assert found["mae"].value == pytest.approx(size * 2 / 3)
    assert found["mae"].stddev == pytest.approx(size * (2 / 9) ** 0.5)
