"""Scores of groups drawn towards their mean: empirical Bayes (Efron and Morris 1975).

The group that looks worst is often a small one whose examples were unlucky. How much
the groups vary in truth follows from how much more their scores vary than chance alone
would make them (Paule and Mandel 1982); each score is then drawn towards the mean of
all by the share that is chance.
"""

from __future__ import annotations

import numpy as np

from evalkit.inference.intervals import SMALLEST, Floats
from evalkit.inference.roots import find_root

FEWEST_GROUPS = 3
"""Groups below which nothing can be said of how they vary."""


def shrink(values: Floats, variances: Floats) -> Floats:
    """Draw scores towards their mean.

    Args:
        values: Scores of the groups, of shape (groups,).
        variances: Their squared standard errors; nan where there is none.

    Returns:
        The shrunken scores, of shape (groups,); nan for groups without a variance, and
        for all where fewer than three have one.
    """
    shrunken = np.full(len(values), np.nan)
    known = np.isfinite(variances) & (variances > SMALLEST**2)
    if np.count_nonzero(known) < FEWEST_GROUPS:
        return shrunken
    scores, noise = values[known], variances[known]
    between = variance_between(scores, noise)
    weights = 1 / (noise + between)
    centre = float((weights * scores).sum() / weights.sum())
    shrunken[known] = centre + between * weights * (scores - centre)
    return shrunken


def variance_between(values: Floats, variances: Floats) -> float:
    """Estimate how much groups vary in truth (Paule and Mandel 1982).

    Args:
        values: Scores of the groups, of shape (groups,).
        variances: Their squared standard errors, above 0.

    Returns:
        The variance between groups at which their weighted squared deviations are as
        large as their degrees of freedom; 0 where they vary less than by chance.
    """
    expected = len(values) - 1
    if _deviations(values, variances, 0.0) <= expected:
        return 0.0
    most = float(values.var() * len(values))
    return find_root(
        lambda between: _deviations(values, variances, between) - expected, 0.0, most
    )


def _deviations(values: Floats, variances: Floats, between: float) -> float:
    weights = 1 / (variances + between)
    centre = (weights * values).sum() / weights.sum()
    return float((weights * (values - centre) ** 2).sum())
