from __future__ import annotations

import numpy as np
import pytest
from row_intervals import mean_interval, proportion_interval

pytestmark = pytest.mark.slow

RUNS = 4_000
# the standard error of a share of 0.95 in 4 000 runs is 0.0034
LEAST, MOST = 0.935, 0.97


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_wilson_covers_the_true_share(share: float) -> None:
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(RUNS):
        scores = (random.random(200) < share).astype(float)
        found = proportion_interval(scores, None, 0.95)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= share <= found.high
    assert LEAST <= covered / RUNS <= MOST, covered / RUNS


def beta_clusters(
    random: np.random.Generator, share: float, correlation: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw 40 clusters of 1 to 9 rows that share a probability of their own."""
    clusters = np.repeat(np.arange(40), random.integers(1, 10, 40))
    spread = 1 / correlation - 1
    own = random.beta(share * spread, (1 - share) * spread, 40)
    return (random.random(len(clusters)) < own[clusters]).astype(float), clusters


@pytest.mark.parametrize(
    ("share", "correlation"), [(0.5, 0.3), (0.8, 0.3), (0.8, 0.01)]
)
def test_clustered_wilson_covers_where_plain_wilson_does_not(
    share: float, correlation: float
) -> None:
    random = np.random.default_rng(2)
    covered = plainly_covered = 0
    for _ in range(RUNS):
        scores, clusters = beta_clusters(random, share, correlation)
        found = proportion_interval(scores, clusters, 0.95)
        plain = proportion_interval(scores, None, 0.95)
        assert found.low is not None
        assert found.high is not None
        assert plain.low is not None
        assert plain.high is not None
        covered += found.low <= share <= found.high
        plainly_covered += plain.low <= share <= plain.high
    # never narrower than without clusters, so it may cover a little more
    assert 0.93 <= covered / RUNS <= 0.98, covered / RUNS
    if correlation > 0.1:
        assert plainly_covered / RUNS < 0.88, plainly_covered / RUNS


@pytest.mark.parametrize("is_clustered", [False, True])
def test_the_t_interval_covers_the_true_mean(is_clustered: bool) -> None:
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(RUNS):
        sizes = random.integers(1, 10, 40)
        clusters = np.repeat(np.arange(40), sizes)
        effects = random.normal(size=40) if is_clustered else np.zeros(40)
        scores = 5 + effects[clusters] + random.normal(size=len(clusters))
        found = mean_interval(scores, clusters if is_clustered else None, 0.95)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 5 <= found.high
    assert 0.93 <= covered / RUNS <= MOST, covered / RUNS
