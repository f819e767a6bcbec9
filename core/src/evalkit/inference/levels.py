"""Which probabilities of intervals can be computed."""

from __future__ import annotations

from evalkit.errors import EvalkitError

CLOSEST = 1e-9
"""How near to 0 or 1 a confidence may be: adjusted levels are nearer still."""


def check_confidence(confidence: float) -> None:
    """Check the probability of intervals.

    Args:
        confidence: The probability.

    Raises:
        EvalkitError: It is not between 0 and 1, or too near to one of them.
    """
    if not 0 < confidence < 1:
        raise EvalkitError(f"confidence must be between 0 and 1, is {confidence}")
    if not CLOSEST <= confidence <= 1 - CLOSEST:
        raise EvalkitError(
            f"confidence must be {CLOSEST:g} or more away from 0 and 1, is {confidence}"
        )
