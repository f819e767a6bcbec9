"""Adds up what replies took."""

from __future__ import annotations

import math
from typing import Any

from evalkit_commands_predict.asking import Answer

_TOKENS = ("input_tokens", "output_tokens")


class Usage:
    """What all replies took together, as far as each of them says it.

    Several requests may be asked about one example.

    Attributes:
        answers: How many answers were added.
        from_cache: How many of them were in the cache.
    """

    def __init__(self) -> None:
        self.answers = 0
        self.from_cache = 0
        self._seconds: list[float] = []
        self._tokens = dict.fromkeys(_TOKENS, 0)
        self._unknown: set[str] = set()

    def add(self, answer: Answer) -> None:
        """Add an answer.

        Args:
            answer: The answer.
        """
        self.answers += 1
        self.from_cache += answer.is_cached
        if answer.reply.seconds is None:
            self._unknown.add("seconds")
        else:
            self._seconds.append(answer.reply.seconds)
        for name in _TOKENS:
            count = getattr(answer.reply.usage, name)
            if count is None:
                self._unknown.add(name)
            else:
                self._tokens[name] += count

    @property
    def figures(self) -> dict[str, Any]:
        """The sums; None where an answer did not say its part, or there is none."""
        sums = {"seconds": math.fsum(self._seconds), **self._tokens}
        return {
            name: None if name in self._unknown or not self.answers else total
            for name, total in sums.items()
        }
