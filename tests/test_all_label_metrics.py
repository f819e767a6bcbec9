"""All label metrics over HateCheck in one evaluation, each by its own reference."""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

import evalkit

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

LABELS = ["hateful", "not-hateful"]


def gaps(confidence: Any, right: Any, bins: int = 15) -> list[tuple[int, float]]:
    """Return size and distance of each bin of equal width."""
    found = []
    for place in range(bins):
        is_last = place == bins - 1
        inside = (confidence >= place / bins) & (
            (confidence < (place + 1) / bins) | is_last
        )
        if inside.any():
            gap = abs(confidence[inside].mean() - right[inside].mean())
            found.append((int(inside.sum()), float(gap)))
    return found


def of_equal_mass(confidence: Any, right: Any, bins: int = 15) -> float:
    parts = np.array_split(np.sort(confidence), bins)
    edges = np.unique([(a[-1] + b[0]) / 2 for a, b in pairwise(parts)])
    place = np.searchsorted(edges, confidence, side="left")
    found = [(place == each) for each in np.unique(place)]
    return sum(abs((confidence - right)[each].sum()) for each in found) / len(right)


def surest(confidence: Any, right: Any) -> tuple[float, float]:
    """Return the accuracy of the surer half, and the area, over all orders of ties."""
    order = np.argsort(-confidence, kind="stable")
    sorted_confidence, sorted_right = confidence[order], right[order].astype(float)
    # an example that is tied is as right as all of its confidence are on average
    for each in np.unique(sorted_confidence):
        tied = sorted_confidence == each
        sorted_right[tied] = sorted_right[tied].mean()
    running = np.cumsum(sorted_right) / np.arange(1, len(right) + 1)
    return float(running[(len(right) + 1) // 2 - 1]), float(running.mean())


def references(gold: Any, said: Any, shares: Any) -> dict[str, float]:
    """Return what scikit-learn, or the definition, gives each metric."""
    confidence = np.where(said == LABELS[0], shares[:, 0], shares[:, 1])
    right = said == gold
    half, area = surest(confidence, right)
    bins = gaps(confidence, right)
    is_not = gold == LABELS[1]
    one_hot = np.column_stack([~is_not, is_not])
    found: dict[str, float] = {
        "accuracy": sk.accuracy_score(gold, said),
        "balanced-accuracy": sk.balanced_accuracy_score(gold, said),
        "macro-f1": sk.f1_score(gold, said, average="macro"),
        "macro-recall": sk.recall_score(gold, said, average="macro"),
        "micro-f1": sk.f1_score(gold, said, average="micro"),
        "weighted-f1": sk.f1_score(gold, said, average="weighted"),
        "mcc": sk.matthews_corrcoef(gold, said),
        "cohen-kappa": sk.cohen_kappa_score(gold, said),
        "cohen-kappa:weights=quadratic": sk.cohen_kappa_score(
            gold, said, weights="quadratic"
        ),
        "auroc": sk.roc_auc_score(is_not, shares[:, 1]),
        "average-precision": sk.average_precision_score(one_hot, shares),
        "log-loss": sk.log_loss(gold, shares, labels=LABELS),
        "brier": 2 * sk.brier_score_loss(is_not, shares[:, 1]),
        "ece": sum(n * gap for n, gap in bins) / len(gold),
        "ece:binning=mass": of_equal_mass(confidence, right),
        "mce": max(gap for _, gap in bins),
        "selective-accuracy": half,
        "coverage-accuracy-area": area,
    }
    for name, score in {
        "f1": sk.f1_score,
        "precision": sk.precision_score,
        "recall": sk.recall_score,
    }.items():
        values = score(gold, said, labels=LABELS, average=None)
        pairs = zip(LABELS, values, strict=True)
        found |= {f"{name}#{label}": float(value) for label, value in pairs}
    return found


@pytest.mark.slow
def test_all_label_metrics_at_once_equal_their_references(
    external_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from label_metrics import METRICS, seeded_responses

    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    responses = seeded_responses(external_data / "hatecheck" / "test_suite_cases.csv")
    result = evalkit.evaluate("hatecheck", responses, metrics=METRICS)
    assert (result.status, result.counts["scored"]) == ("complete", 3728)
    said = {row["id"]: row for row in responses}
    examples = result.examples
    assert examples is not None
    gold = np.array(examples["answer"].to_list())
    rows = [said[uid] for uid in examples["id"]]
    shares = np.array([[row["prob"][label] for label in LABELS] for row in rows])
    labels = np.array([row["label"] for row in rows])
    is_men = np.array(["target:women" in tags for tags in examples["tags"]])
    for tag, chosen in ((None, np.ones(3728, dtype=bool)), ("target:women", is_men)):
        expected = references(gold[chosen], labels[chosen], shares[chosen])
        found = {
            score.metric: score.value
            for score in result.scores
            if score.tag == tag and score.aggregate is None
        }
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-9), (tag, name)
        unchecked = set(found) - set(expected)
        assert unchecked == {"ece#debiased", "ece:binning=mass#debiased"}
