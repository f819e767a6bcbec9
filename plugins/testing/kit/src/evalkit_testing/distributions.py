"""Checks."""

from typing import Any

DISTRIBUTION_LAWS: Any = ()


class DistributionLawError(Exception): ...


def check_distribution() -> None: ...
