"""Adds up what replies took."""

from __future__ import annotations

import time
from typing import Any

from evalkit_models_base.limits import Price
from evalkit_models_base.questions import Answer

_TOKENS = ("input_tokens", "output_tokens")


class Usage:
    """What all replies took together, as far as each of them says it.

    Several requests may be asked about one example, and one that several examples have
    in common counts once, and among the `shared` ones.
    """

    def __init__(self, price: Price | None = None) -> None:
        self._price, self._costs = price, 0.0
        self.answers = 0
        self.from_cache = self.shared = 0
        self._started = time.monotonic()
        self._counted: dict[bytes, bool] = {}
        self._tokens = dict.fromkeys(_TOKENS, 0)
        self._unknown: set[str] = set()

    def add(self, answer: Answer) -> None:
        """Add an answer."""
        self.answers += 1
        if answer.key is not None:
            is_kept = self._counted.get(answer.key, answer.is_cached)
            self.from_cache += is_kept
            self.shared += answer.is_cached and not is_kept
            if answer.key in self._counted:
                return
            self._counted[answer.key] = is_kept
        for name in _TOKENS:
            count = getattr(answer.reply.usage, name)
            if count is None:
                self._unknown.add(name)
            else:
                self._tokens[name] += count
        if self._price is not None:
            self._costs += self._price.of(answer.reply.usage) or 0.0

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of it."""
        if not self.shared:
            return ()
        is_one = self.shared == 1
        what = "1 request is" if is_one else f"{self.shared:,} requests are"
        return (f"{what} the same as others in this command, and not asked again",)

    @property
    def figures(self) -> dict[str, Any]:
        """The seconds since it began, tokens, and what these cost.

        None where an answer did not say its part, or there is none; and for seconds
        where something was in the cache, or is shared, as asking for all of it takes
        longer.
        """
        tokens = {
            name: None if name in self._unknown or not self.answers else total
            for name, total in self._tokens.items()
        }
        cost = None
        if self._price is not None and None not in tokens.values():
            cost = self._costs
        is_part = self.from_cache or self.shared
        seconds = None if is_part else time.monotonic() - self._started
        figures: dict[str, Any] = {"seconds": seconds, **tokens, "cost": cost}
        if cost is not None and self._price is not None:
            figures["currency"] = self._price.currency
        return figures
