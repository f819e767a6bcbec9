"""The random numbers that all code of a process shares."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def global_seed(seed: int) -> Iterator[Callable[[], str]]:
    """Seed what all code of a process shares, and put it back afterwards."""
    numpy: Any = sys.modules.get("numpy")
    earlier = random.getstate()
    earlier_numpy = None if numpy is None else numpy.random.get_state()
    random.seed(seed)
    fresh = random.getstate()
    if numpy is not None:
        numpy.random.seed(seed)
        fresh_numpy = _comparable(numpy.random.get_state())

    def was_used() -> str:
        if random.getstate() != fresh:
            return "the module random"
        if numpy is not None and _comparable(numpy.random.get_state()) != fresh_numpy:
            return "numpy.random"
        return ""

    try:
        yield was_used
    finally:
        random.setstate(earlier)
        if numpy is not None:
            numpy.random.set_state(earlier_numpy)


def _comparable(state: Any) -> tuple[Any, ...]:
    return tuple(part.tobytes() if hasattr(part, "tobytes") else part for part in state)
