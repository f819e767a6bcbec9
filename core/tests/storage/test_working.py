"""Work in threads is given up at once."""

from __future__ import annotations

import time
from threading import Event

import pytest

from evalkit.storage import in_threads


def test_results_come_in_the_order_of_the_items() -> None:
    def work(item: int) -> int:
        time.sleep(0.001 * (5 - item))
        return item * 2

    assert in_threads(work, range(5), 3) == [0, 2, 4, 6, 8]
    assert in_threads(work, [], 3) == []


def test_a_failure_is_raised_while_others_are_at_work() -> None:
    silent, begun = Event(), []

    def work(item: int) -> None:
        begun.append(item)
        if item == 1:
            raise ValueError("no")
        silent.wait(20)

    started = time.monotonic()
    with pytest.raises(ValueError, match="no"):
        in_threads(work, range(50), 2)
    assert time.monotonic() - started < 10
    silent.set()
    assert len(begun) <= 3


def test_what_has_begun_is_waited_for_a_while() -> None:
    ended = []

    def work(item: int) -> None:
        if item == 1:
            raise ValueError("no")
        time.sleep(0.3)
        ended.append(item)

    with pytest.raises(ValueError, match="no"):
        in_threads(work, range(2), 2, patience=20)
    assert ended == [0]
