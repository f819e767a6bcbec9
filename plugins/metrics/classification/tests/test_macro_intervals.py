import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import f1_score, recall_score

import evalkit
from evalkit import MetricContext, Score
from evalkit.catalog import Registry, Resolver
from evalkit.scoring import (
    ScoringSettings,
    ScoringTable,
    group_by_tag,
    make_table,
    score_metric,
)

pytestmark = pytest.mark.slow

SKLEARN = {"macro-f1": f1_score, "macro-recall": recall_score}
GOLD = ["a", "b", "ü"]


def by_scikit_learn(name: str, pairs: list[tuple[str, str]]) -> float:
    predictions, targets = zip(*pairs, strict=True)
    classes = sorted(set(targets))
    return float(
        SKLEARN[name](
            targets, predictions, labels=classes, average="macro", zero_division=0
        )
    )


def by_weights(name: str, pairs: list[tuple[str, str]], weights: np.ndarray) -> float:
    targets, predictions = zip(*pairs, strict=True)
    average = {"average": "macro", "zero_division": 0}
    return float(SKLEARN[name](targets, predictions, sample_weight=weights, **average))


def one(name: str, predictions: list[str], targets: list[str]) -> Score:
    return evalkit.score(name, predictions, targets)[name]


def table_of(
    predictions: list[str], targets: list[str], clusters: list[int]
) -> ScoringTable:
    context = MetricContext(None, "one")
    ids = [str(i) for i in range(len(targets))]
    return make_table(predictions, targets, context, ids=ids, clusters=clusters)


def sample(n: int, seed: int) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(seed)
    targets = random.choice(GOLD, n, p=[0.5, 0.3, 0.2])
    noise = random.choice(GOLD, n)
    predictions = np.where(random.random(n) < 0.7, targets, noise)
    return predictions.tolist(), targets.tolist()


@pytest.mark.parametrize("name", SKLEARN)
def test_the_interval_in_clusters_equals_direct_resampling(name: str) -> None:
    # rows of a cluster are alike, as those of a template are
    size = 6
    predictions, targets = (
        np.repeat(part, size).tolist() for part in sample(240 // size, 0)
    )
    clusters = [i // size for i in range(240)]
    table = table_of(predictions, targets, clusters)
    groups = group_by_tag(pl.Series([[]] * 240, dtype=pl.List(pl.String)))
    metric = Resolver(Registry()).bind("metrics", name)
    interval = score_metric(metric, table, groups, ScoringSettings()).scores[0].interval

    by_cluster: dict[int, list[tuple[str, str]]] = {}
    for cluster, pair in zip(
        clusters, zip(predictions, targets, strict=True), strict=True
    ):
        by_cluster.setdefault(cluster, []).append(pair)
    units = list(by_cluster.values())
    random = np.random.default_rng(5)
    expected = np.array(
        [
            by_scikit_learn(
                name,
                [
                    pair
                    for i in random.integers(0, len(units), len(units))
                    for pair in units[i]
                ],
            )
            for _ in range(600)
        ]
    )
    assert interval.method == "bootstrap-clustered"
    assert interval.standard_error == pytest.approx(expected.std(), rel=0.12)
    # Monte-Carlo error of a rank of 0.025 in 1 000 and 600 replicates: 0.008
    assert (expected <= interval.low).mean() == pytest.approx(0.025, abs=0.02)
    assert (expected <= interval.high).mean() == pytest.approx(0.975, abs=0.02)


@pytest.mark.parametrize("name", SKLEARN)
def test_the_interval_equals_counts_drawn_after_smoothing(name: str) -> None:
    """Percentiles and bias-corrected ones (Efron 1981), whichever lies further out."""
    predictions, targets = sample(240, 0)
    found = one(name, predictions, targets)
    pairs = [(gold, given) for gold in GOLD for given in GOLD]
    rows = list(zip(targets, predictions, strict=True))
    smoothed = np.array([rows.count(pair) + 1 / len(GOLD) ** 2 for pair in pairs])
    drawn = np.random.default_rng(5).multinomial(
        240, smoothed / smoothed.sum(), size=1_500
    )
    values = np.array([by_weights(name, pairs, counts) for counts in drawn])
    below = stats.norm.ppf((values < by_weights(name, pairs, smoothed)).mean())
    ends = np.array([-1.96, 1.96])
    plain = np.quantile(values, stats.norm.cdf(ends))
    corrected = np.quantile(values, stats.norm.cdf(2 * below + ends))
    assert found.ci_method == "multinomial"
    assert found.se == pytest.approx(values.std(), rel=0.1)
    # the standard error of the .025 quantile of 1 000 replicates is .08 of theirs
    tolerance = 0.3 * values.std()
    assert found.ci_low == pytest.approx(min(plain[0], corrected[0]), abs=tolerance)
    assert found.ci_high == pytest.approx(max(plain[1], corrected[1]), abs=tolerance)
