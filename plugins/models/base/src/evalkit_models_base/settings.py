"""How models are asked: limits, patience, and what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import EvalkitError


@dataclass(frozen=True)
class Asked:
    """Limits of asking, none of which changes a reply.

    Raises:
        EvalkitError: A number is out of its range.
    """

    concurrency: int | None = None
    """The most requests at once; None for what the model takes."""
    retries: int = 5
    """How often a request is asked again that may be answered later."""
    seconds: float = 600.0
    """How long a reply is waited for; a batch as long for each of its replies."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Counted when a reply has come, from what it took."""
    max_errors: float = 0.05
    """Share of the requests that may fail before asking ends, but one of several at
    least; a whole number of 1 or more is how many."""
    least_errors: int = 0
    """How many may fail, where the share is less."""
    token_limit: int | None = None
    """Tokens after which nothing more is asked; what is under way is waited for."""
    cost_limit: float | None = None
    """The same for what they cost, in the currency of `price`."""
    price: str | Path | Mapping[str, Any] | None = None
    """What a million tokens cost: `input=0.15,output=0.6`, where `cached` (those of the
    input that the model had read before) and `currency` (USD) may be added; the same as
    an object; or a file or object of these by the name of the model."""
    is_cached: bool = True
    """Whether replies are taken from the cache, and kept there."""

    def __post_init__(self) -> None:
        least = {
            "concurrency": 1,
            "retries": 0,
            "seconds": 0.001,
            "requests_per_minute": 0.001,
            "tokens_per_minute": 0.001,
            "max_errors": 0,
            "token_limit": 1,
            "cost_limit": 1e-9,
        }
        for name, limit in least.items():
            value = getattr(self, name)
            if value is not None and not value >= limit:
                raise EvalkitError(f"{name} must be {limit} or more, is {value}")

    def errors_allowed(self, requests: int) -> int:
        """Return how many of so many requests may fail."""
        if self.max_errors >= 1:
            return int(self.max_errors)
        least = max(self.least_errors, int(requests > 1 and self.max_errors > 0))
        return max(least, int(self.max_errors * requests))
