"""Seeds that depend on content only, so that two machines draw the same numbers."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, *parts: str) -> np.random.Generator:
    """Make a random generator from a seed and what it is used for.

    Args:
        seed: The user's seed.
        *parts: What the numbers are for, such as the metric and the tag.

    Returns:
        A generator; the same seed and parts give the same numbers anywhere.
    """
    digest = hashlib.sha256("\x1f".join((str(seed), *parts)).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
