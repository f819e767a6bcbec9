"""Tails of sums whose signs are tossed, without tossing them.

Power is computed from many drawn samples, each with a test by sign flips. Their
p-values need no flips: the cumulants of a sum of random signs are known, and the
saddle-point formula of Lugannani and Rice (1980; for such tests Robinson 1982) is right
to some 10 % also far out and for a few unequal values.
"""

from __future__ import annotations

import math

import numpy as np

from evalkit.inference.intervals import Floats

_NEWTON_STEPS = 12
"""Steps after which the saddle point is known."""

_NEAR = 0.05
"""Standard errors from the middle within which the formula is 0 / 0."""


def flip_p_values(values: Floats, unit: float = 0.0) -> Floats:
    """Return p-values of the test that flips signs, two-sided.

    Args:
        values: The differences of units, of shape (sets, units).
        unit: What all values are whole multiples of; 0 for real numbers. Sums of whole
            multiples lie two units apart, and half of that is let in.

    Returns:
        The probabilities that a sum with random signs is at least as great as the one
        without, of shape (sets,); exact where all values have one sign.
    """
    sizes = np.abs(values)
    root = np.sqrt((sizes**2).sum(axis=1))
    root[root == 0] = 1.0
    sizes /= root[:, None]
    most, observed = sizes.sum(axis=1), np.abs(values.sum(axis=1)) / root
    reached = np.maximum(0.0, np.minimum(observed - unit / root, most * (1 - 1e-9)))
    tilt = reached.copy()
    for _ in range(_NEWTON_STEPS):
        bent = np.tanh(tilt[:, None] * sizes)
        slope = (sizes**2 * (1 - bent**2)).sum(axis=1)
        excess = (sizes * bent).sum(axis=1) - reached
        # far out the slope is almost 0
        moved = excess / np.maximum(slope, 1e-300)
        tilt = np.maximum(0.0, tilt - np.clip(moved, -1 - tilt / 2, 1 + tilt / 2))
    tilted = tilt[:, None] * sizes
    cumulant = (np.logaddexp(tilted, -tilted) - math.log(2)).sum(axis=1)
    slope = (sizes**2 * (1 - np.tanh(tilted) ** 2)).sum(axis=1)
    far = np.sqrt(np.maximum(2 * (tilt * reached - cumulant), 0.0))
    is_near = far < _NEAR
    far[is_near] = 1.0
    spread = np.where(is_near, 1.0, np.maximum(tilt * np.sqrt(slope), 1e-300))
    density = np.exp(-(far**2) / 2) / math.sqrt(2 * math.pi)
    found = 2 * (_normal_tail(far) + density * (1 / spread - 1 / far))
    found[is_near] = 2 * _normal_tail(reached[is_near])
    least = 2.0 ** (1.0 - (values != 0).sum(axis=1))
    is_most = observed >= most * (1 - 1e-9)
    p_values: Floats = np.where(is_most, least, np.clip(found, least, 1.0))
    return np.minimum(p_values, 1.0)


def _normal_tail(z: Floats) -> Floats:
    return np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z.tolist()])
