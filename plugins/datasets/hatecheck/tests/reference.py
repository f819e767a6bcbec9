"""Scores HateCheck with pandas and scikit-learn alone, as a second opinion.

Run as `python reference.py CSV`, with predictions as JSON lines on the standard
input; prints JSON.
"""

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

FACETS = {
    "functionality": "functionality",
    "target": "target_ident",
    "direction": "direction",
}


def main(csv: str) -> dict[str, Any]:
    data = pd.read_csv(csv, dtype=str, keep_default_na=False)
    given = pd.read_json(sys.stdin, lines=True, dtype={"id": str, "label": str})
    data = data.merge(given, left_on="case_id", right_on="id", validate="1:1")
    data["gold"] = data["label_gold"].replace({"non-hateful": "not-hateful"})
    groups = {"": data}
    for facet, column in FACETS.items():
        for value, part in data[data[column] != ""].groupby(column):
            groups[f"{facet}:{value}"] = part
    return {
        "scores": {tag: scores(part) for tag, part in groups.items()},
        "interval": clustered_interval(data),
        "evalkit": sorted(name for name in sys.modules if name.startswith("evalkit")),
    }


def scores(part: pd.DataFrame) -> dict[str, float]:
    gold, label = part["gold"], part["label"]
    classes = sorted(gold.unique())
    macro = f1_score(gold, label, labels=classes, average="macro", zero_division=0)
    return {
        "n": len(part),
        "accuracy": float(accuracy_score(gold, label)),
        "macro-f1": float(macro),
    }


def satterthwaite(sizes: np.ndarray, correlation: float) -> float:
    """Compute degrees of freedom from the covariance of the adjusted residuals."""
    share = sizes / sizes.sum()
    covariance = np.diag((1 - correlation) * sizes + correlation * sizes**2)
    residual = np.eye(len(sizes)) - share[:, None]
    adjusted = residual / np.sqrt(1 - share)[:, None]
    found = adjusted @ covariance @ adjusted.T
    return float(np.trace(found) ** 2 / (found**2).sum())


def clustered_interval(data: pd.DataFrame) -> list[float]:
    """Compute Wilson's interval for a sample of clusters (Korn and Graubard 1998)."""
    right = (data["gold"] == data["label"]).astype(float)
    share, n = right.mean(), len(right)
    residuals = (right - share).groupby(data["templ_id"]).sum()
    count = len(residuals)
    sizes = right.groupby(data["templ_id"]).size()
    # the adjustment of Bell and McCaffrey (2002)
    variance = (residuals**2 / (1 - sizes / n)).sum() / n**2
    effect = variance / (share * (1 - share) / n)
    # averaged with the mean size of a cluster, which weighs as much as one of the
    # clusters that hold the rarer outcome, times the share of clusters of one outcome
    rarer = data.loc[right == (0.0 if share > 0.5 else 1.0), "templ_id"].nunique()
    alike = (right.groupby(data["templ_id"]).nunique() == 1).mean()
    weight = alike / (rarer + 1)
    effect = (1 - weight) * max(1.0, effect) + weight * max(n / count, effect)
    effective = n / effect
    means = right.groupby(data["templ_id"]).transform("mean")
    within = ((right - means) ** 2).sum() / (n - count)
    between = ((means - share) ** 2).sum() / (count - 1)
    typical = (n - (sizes**2).sum() / n) / (count - 1)
    shared = max(0.0, (between - within) / typical)
    degrees = [
        satterthwaite(sizes.to_numpy(float), correlation)
        for correlation in (0.0, shared / (shared + within))
    ]
    z = stats.t.ppf(0.975, stats.hmean(degrees))
    # the two solutions p of (share - p)^2 = z^2 p (1 - p) / effective
    roots = np.roots(
        [1 + z**2 / effective, -2 * share - z**2 / effective, share**2]
    ).real
    return sorted(float(root) for root in roots)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
