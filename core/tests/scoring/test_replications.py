import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evalkit import Metric, evaluate

from ..engine_tables import (
    BootstrapMean,
    Mean,
    Ratio,
    main_score,
    make_groups,
    make_table,
    scored,
)

NAMES = ("1", "2", "3")
# three answers to each of five examples; the fourth has only two that count
VALUES = np.array(
    [
        [1.0, 2.0, 6.0],
        [0.0, 0.0, 0.0],
        [5.0, 5.5, 4.5],
        [2.0, 8.0, 99.0],
        [3.0, 1.0, 2.0],
    ]
)
SKIPPED = 11
TAGS = [["t"], ["t"], [], ["t"], []]


def table_of(values: Any = VALUES, targets: Any = None, **options: Any) -> Any:
    flat = np.asarray(values).ravel().tolist()
    answers = None if targets is None else np.asarray(targets).ravel().tolist()
    return make_table(flat, answers, replications=NAMES, **options)


def repeated_groups(tags: list[list[str]]) -> Any:
    return make_groups([one for one in tags for _ in NAMES])


def present() -> list[int]:
    return [i for i in range(15) if i != SKIPPED]


def test_the_score_is_the_mean_of_the_examples_means() -> None:
    found = scored(Mean, table_of(present=present()), repeated_groups(TAGS))
    means = np.array([3.0, 0.0, 5.0, 5.0, 2.0])
    for group, part in ((0, [0, 1, 2, 3, 4]), (1, [0, 1, 3]), (2, [2, 4])):
        one = main_score(found, group)
        inside = means[part]
        assert one.value == pytest.approx(inside.mean(), rel=1e-12)
        assert (one.n, one.n_clusters, one.replications) == (len(part), None, 3)
        expected = stats.t.interval(
            0.95, len(part) - 1, loc=inside.mean(), scale=stats.sem(inside)
        )
        assert (one.interval.low, one.interval.high) == pytest.approx(expected)
        assert one.interval.method == "t"
        assert one.spread is not None
        assert one.spread == pytest.approx(
            (inside.mean(), inside.std(), inside.min(), inside.max())
        )


def test_the_spread_within_and_between_replications_by_hand() -> None:
    found = scored(Mean, table_of(present=present()), repeated_groups(TAGS))
    within = [np.var([1, 2, 6], ddof=1), 0.0, 0.25, np.var([2, 8], ddof=1), 1.0]
    for group, part in ((0, [0, 1, 2, 3, 4]), (1, [0, 1, 3]), (2, [2, 4])):
        one = main_score(found, group)
        expected = math.sqrt(np.mean([within[i] for i in part]))
        assert one.stddev_within == pytest.approx(expected)
        columns = [
            np.mean([VALUES[i, r] for i in part if (i, r) != (3, 2)]) for r in range(3)
        ]
        assert one.stddev_replications == pytest.approx(np.std(columns, ddof=1))
        answers = sum((i, r) != (3, 2) for i in part for r in range(3))
        assert one.coverage == pytest.approx(answers / (3 * len(part)))


def test_an_example_without_any_answer_is_left_out() -> None:
    kept = [i for i in range(15) if i not in (3, 4, 5)]
    found = scored(Mean, table_of(present=kept), repeated_groups(TAGS))
    assert [main_score(found, group).n for group in range(3)] == [4, 2, 2]
    assert main_score(found, 1).coverage == pytest.approx(6 / 9)
    only_others = [i for i in range(15) if i in (6, 7, 8)]
    none = main_score(
        scored(Mean, table_of(present=only_others), repeated_groups(TAGS)), 1
    )
    assert (none.value, none.n, none.reason) == (None, 0, "no example was scored")
    assert (none.coverage, none.replications) == (0.0, 3)
    assert (none.stddev_within, none.stddev_replications) == (None, None)


def test_examples_are_resampled_with_all_their_replications() -> None:
    random = np.random.default_rng(0)
    n = 80
    values = random.normal(size=(n, 1)) + 0.5 * random.normal(size=(n, 3))
    weights = random.uniform(0.5, 2, size=(n, 1)) * np.ones((1, 3))
    found = main_score(scored(BootstrapMean, table_of(values)))
    assert found.value == pytest.approx(values.mean())
    assert found.n == n
    drawn = random.multinomial(n, [1 / n] * n, size=4_000)
    means = drawn @ values.mean(axis=1) / n
    assert found.interval.method == "bootstrap"
    assert found.interval.standard_error == pytest.approx(means.std(), rel=0.1)
    # rows of their own would give a much smaller one
    assert found.interval.standard_error > 1.4 * values.std() / (3 * n) ** 0.5
    ratio = main_score(scored(Ratio, table_of(values * weights, weights)))
    of_each = (values * weights).sum(axis=0) / weights.sum(axis=0)
    assert ratio.value == pytest.approx(of_each.mean())
    assert ratio.stddev_replications == pytest.approx(np.std(of_each, ddof=1))
    ratios = [
        ((d @ (values * weights)) / (d @ weights)).mean()
        for d in drawn[:, :].astype(float)
    ]
    assert ratio.interval.standard_error == pytest.approx(np.std(ratios), rel=0.1)


def test_clusters_of_examples_are_resampled_whole() -> None:
    random = np.random.default_rng(1)
    clusters = np.repeat(np.arange(20), 3)
    values = random.normal(size=20)[clusters][:, None] + 0.3 * random.normal(
        size=(60, 3)
    )
    found = main_score(scored(Mean, table_of(values, clusters=np.repeat(clusters, 3))))
    means = values.mean(axis=1)
    totals = np.bincount(clusters, weights=means - means.mean())
    expected = math.sqrt(20 / 19 * (totals**2).sum()) / 60
    assert found.interval.standard_error == pytest.approx(expected, rel=1e-9)
    assert (found.n, found.n_clusters) == (60, 20)
    assert found.interval.method == "t-clustered"


def labels_of(seed: int, n: int = 90) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    gold = np.repeat(random.choice(["a", "b"], n, p=[0.7, 0.3])[:, None], 3, axis=1)
    noise = random.choice(["a", "b"], (n, 3))
    return np.where(random.random((n, 3)) < 0.6, gold, noise), gold


def macro_f1(gold: Any, predicted: Any) -> float:
    scores = []
    for label in "ab":
        is_gold, is_predicted = gold == label, predicted == label
        scores.append(
            2 * (is_gold & is_predicted).sum() / (is_gold.sum() + is_predicted.sum())
        )
    return float(np.mean(scores))


def test_a_set_level_metric_is_the_mean_over_replications() -> None:
    predicted, gold = labels_of(2)
    tags = [["t"] if i % 3 else [] for i in range(90)]
    found = scored("macro-f1", table_of(predicted, gold), repeated_groups(tags))
    for group, rows in ((0, range(90)), (1, [i for i in range(90) if i % 3])):
        part = list(rows)
        values = [macro_f1(gold[part, r], predicted[part, r]) for r in range(3)]
        one = main_score(found, group)
        assert one.value == pytest.approx(np.mean(values))
        assert one.stddev_replications == pytest.approx(np.std(values, ddof=1))
        assert (one.n, one.replications, one.coverage) == (len(part), 3, 1.0)
        assert one.stddev_within is None


def test_its_interval_agrees_with_a_bootstrap_of_examples() -> None:
    predicted, gold = labels_of(3)
    found = main_score(scored("macro-f1", table_of(predicted, gold)))
    random = np.random.default_rng(4)
    draws = []
    for _ in range(1_500):
        rows = random.integers(0, 90, 90)
        draws.append(
            np.mean([macro_f1(gold[rows, r], predicted[rows, r]) for r in range(3)])
        )
    assert found.interval.method == "bootstrap"
    assert found.interval.standard_error == pytest.approx(np.std(draws), rel=0.12)
    assert found.interval.low == pytest.approx(np.quantile(draws, 0.025), abs=0.02)
    assert found.interval.high == pytest.approx(np.quantile(draws, 0.975), abs=0.02)


class ListMean(Metric):
    """A function of lists."""

    def compute(self, predictions: list[float], targets: list[float]) -> float:
        return math.fsum(predictions) / len(predictions)


def test_functions_of_lists_are_called_for_each_replication() -> None:
    calls: list[int] = []

    class Counted(ListMean):
        def compute(self, predictions: list[float], targets: list[float]) -> float:
            calls.append(len(predictions))
            return super().compute(predictions, targets)

    values = np.random.default_rng(7).normal(size=(40, 3))
    found = main_score(scored(Counted, table_of(values)))
    assert calls[:3] == [40, 40, 40]
    assert found.value == pytest.approx(values.mean())
    assert found.stddev_replications == pytest.approx(
        np.std(values.mean(axis=0), ddof=1)
    )
    assert (found.n, found.replications, found.coverage) == (40, 3, 1.0)
    error = values.mean(axis=1).std(ddof=1) / 40**0.5
    assert found.interval.standard_error == pytest.approx(error, rel=0.25)
    assert found.interval.method == "bootstrap"


def test_functions_of_lists_need_every_replication() -> None:
    found = scored(ListMean, table_of(present=[0, 3, 4, 6]), repeated_groups(TAGS))
    one = main_score(found)
    assert (one.value, one.n, one.reason) == (None, 3, "no example was scored")
    assert one.coverage == pytest.approx(4 / 15)
    some = main_score(scored(ListMean, table_of(present=present())))
    columns = [
        np.mean(VALUES[:, 0]),
        np.mean(VALUES[:, 1]),
        np.mean(VALUES[[0, 1, 2, 4], 2]),
    ]
    assert some.value == pytest.approx(np.mean(columns))


def test_a_file_with_replications_gives_the_same(mini: Any) -> None:
    labels = {"1": "yyn", "2": "nnn", "3": "nyn"}
    words = {"y": "yes", "n": "no"}
    rows = [
        {"id": uid, "label": words[letter], "_replication_": number}
        for uid, letters in labels.items()
        for number, letter in enumerate(letters)
    ]
    result = evaluate("mini", rows, metrics=["hits", "macro-f1"])
    means = [2 / 3, 1.0, 1 / 3]
    hits = result["hits"]
    assert hits.value == pytest.approx(np.mean(means))
    assert (hits.n, hits.replications) == (3, 3)
    by_replication = [2 / 3, 1.0, 1 / 3]
    assert hits.stddev_replications == pytest.approx(np.std(by_replication, ddof=1))
    variances = [np.var([1, 1, 0], ddof=1), 0, np.var([0, 1, 0], ddof=1)]
    assert hits.stddev_within == pytest.approx(math.sqrt(np.mean(variances)))
    gold = ["yes", "no", "yes"]
    columns = [[words[letters[r]] for letters in labels.values()] for r in range(3)]
    values = []
    for predicted in columns:
        scores = []
        for label in ("yes", "no"):
            both = gold.count(label) + predicted.count(label)
            hit = sum(g == p == label for g, p in zip(gold, predicted, strict=True))
            scores.append(2 * hit / both)
        values.append(np.mean(scores))
    assert result["macro-f1"].value == pytest.approx(np.mean(values))
    assert result["macro-f1"].stddev_replications == pytest.approx(
        np.std(values, ddof=1)
    )
