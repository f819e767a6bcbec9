"""Recomputes numbers from the formulas of docs/statistics.md, with code of its own."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ..engine_tables import Share, main_score, make_table, scored

Floats = NDArray[np.float64]


def satterthwaite(sizes: Floats, rho: float) -> float:
    p = sizes / sizes.sum()
    v = (1 - rho) * p / sizes.sum() + rho * p**2
    matrix = np.diag(v) - np.outer(v, p) - np.outer(p, v) + np.outer(p, p) * v.sum()
    matrix /= np.sqrt(np.outer(1 - p, 1 - p))
    found = np.trace(matrix) ** 2 / (matrix**2).sum()
    return float(np.clip(found, 1, len(sizes) - 1))


def correlation(scores: Floats, cluster: NDArray[np.int64]) -> float:
    parts = [scores[cluster == c] for c in np.unique(cluster)]
    sizes = np.array([len(part) for part in parts], dtype=float)
    means = np.array([part.mean() for part in parts])
    n, count = sizes.sum(), len(parts)
    squares = sum(((part - part.mean()) ** 2).sum() for part in parts)
    if squares < 1e-12:
        return 1.0
    within = squares / (n - count)
    spread = (sizes * (means - scores.mean()) ** 2).sum() / (count - 1)
    between = (spread - within) * (count - 1) / (n - (sizes**2).sum() / n)
    between = max(0.0, between)
    return float(between / (between + within))


class DocumentedShare:
    """What the page says of a share in clusters."""

    def __init__(self, right: Floats, cluster: NDArray[np.int64]) -> None:
        parts = [right[cluster == c] for c in np.unique(cluster)]
        sizes = np.array([len(part) for part in parts], dtype=float)
        n, count = sizes.sum(), len(parts)
        p = float(right.mean())
        sums = np.array([(part - p).sum() / n for part in parts])
        robust = float(np.sqrt((sums**2 / (1 - sizes / n)).sum()))
        plain = float(np.sqrt(p * (1 - p) / n))
        rarer = 0.0 if p > 0.5 else 1.0
        seen = sum(bool((part == rarer).any()) for part in parts)
        alike = np.mean([len(np.unique(part)) == 1 for part in parts])
        effect = n / count
        if seen:
            estimate = (robust / plain) ** 2
            w = alike / (seen + 1)
            effect = (1 - w) * max(1, estimate) + w * max(n / count, estimate)
        self.p, self.error, self.effective = p, max(robust, plain), n / effect
        first = satterthwaite(sizes, 0.0)
        second = satterthwaite(sizes, correlation(right, cluster))
        self.degrees = 2 / (1 / first + 1 / second)

    def bounds(self) -> list[float]:
        z, n = float(stats.t.ppf(0.975, self.degrees)), self.effective
        half = z * np.sqrt(self.p * (1 - self.p) / n + z**2 / 4 / n**2)
        centre = self.p + z**2 / 2 / n
        return [(centre + side * half) / (1 + z**2 / n) for side in (-1, 1)]


SIZES = {
    "equal": np.full(12, 6.0),
    "one large": np.array([90.0] + [3.0] * 15),
    "two large": np.array([60.0, 60.0] + [1.0] * 9),
    "two": np.array([40.0, 2.0]),
    "by Zipf": np.round(120 / np.arange(1, 25)),
    "of one": np.ones(30),
}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_clustered_share_is_what_the_page_says(sizes: str, share: float) -> None:
    counts = SIZES[sizes]
    random = np.random.default_rng([int(counts.sum()), int(100 * share)])
    cluster = np.repeat(np.arange(len(counts)), counts.astype(int))
    rates = random.beta(share * 2, (1 - share) * 2, len(counts))
    right = (random.random(len(cluster)) < rates[cluster]).astype(float)
    table = make_table(right.tolist(), clusters=cluster.tolist())
    found = main_score(scored(Share, table)).interval
    expected = DocumentedShare(right, cluster)
    assert found.method == "wilson-clustered"
    assert found.standard_error == pytest.approx(expected.error, rel=1e-9)
    assert [found.low, found.high] == pytest.approx(expected.bounds(), abs=1e-9)
