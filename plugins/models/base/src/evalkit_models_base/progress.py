"""Tells how far asking is."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from evalkit_models_base.spending import Budget

Progress = Callable[[str, float], None]
"""Told what is being done, and which share is behind, 0 to 1."""

_PAUSE = 0.05
"""Seconds between two words, which nobody could read if they came faster."""


class Told:
    """Tells of the progress, with the rate, what it took, and the time that is left."""

    def __init__(self, progress: Progress | None, model: str, total: int) -> None:
        self._progress, self._model, self._total = progress, model, total
        self._started = time.monotonic()
        self._last = 0.0

    def count(self, done: int, budget: Budget) -> None:
        """Tell how many are answered."""
        now = time.monotonic()
        is_late = now - self._last >= _PAUSE or done == self._total
        if self._progress is None or not is_late:
            return
        self._last = now
        seconds = max(now - self._started, 1e-9)
        left = (self._total - done) * seconds / done
        text = (
            f"asking {self._model}: {done:,} of {self._total:,}, {done / seconds:,.1f} "
            f"a second, {timedelta(seconds=round(left))} left{budget.said}"
        )
        self._progress(text, done / self._total)
