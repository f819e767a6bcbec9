"""Does work in several threads that nobody has to wait for when it is given up."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

Given = TypeVar("Given")
Done = TypeVar("Done")

_LOOK_SECONDS = 0.1


def in_threads(
    work: Callable[[Given], Done],
    items: Iterable[Given],
    count: int,
    patience: float = 0.0,
) -> list[Done]:
    """Do the same with each item, several at a time.

    A failure and Ctrl-C are raised at once, and no further item is begun: threads may
    wait for a server that answers no more, and must keep neither the caller nor the end
    of the process waiting. So work must do no harm when it goes on after that.

    Args:
        work: What to do with an item.
        items: The items.
        count: How many threads there are at most.
        patience: Seconds for which, after a failure, work that has begun is waited for.

    Returns:
        What the work returned, in the order of the items.
    """
    given = [*items]
    waiting = deque(enumerate(given))
    found: dict[int, Done] = {}
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def run() -> None:
        try:
            while waiting:
                try:
                    number, item = waiting.popleft()
                except IndexError:  # another thread took the last one
                    break
                found[number] = work(item)
            ended.put(None)
        except BaseException as error:
            waiting.clear()
            ended.put(error)

    threads = [
        Thread(target=run, name="evalkit-transfer", daemon=True)
        for _ in range(min(count, len(given)))
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            _wait_for_one(ended)
    except BaseException:
        waiting.clear()
        _wait_until(time.monotonic() + patience, threads)
        raise
    return [found[number] for number in range(len(given))]


def _wait_for_one(ended: SimpleQueue[BaseException | None]) -> None:
    """Wait until a thread has ended, and raise what it raised."""
    while True:
        try:
            # not without end: polars has signals go on with what they interrupt
            error = ended.get(timeout=_LOOK_SECONDS)
        except Empty:
            continue
        if error is not None:
            raise error
        return


def _wait_until(end: float, threads: list[Thread]) -> None:
    for thread in threads:
        if thread.ident is not None:  # it was started
            thread.join(max(0.0, end - time.monotonic()))
