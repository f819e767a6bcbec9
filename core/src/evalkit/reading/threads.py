"""Does work in threads: on the parts of a file, or on what is needed later."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")

_MOST_THREADS = 4
"""More threads would hold more parts at once, and reading is faster than that."""


def thread_count() -> int:
    """Return how many threads work at once: one for each core that may be used."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


def in_order(function: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
    """Apply a function to parts in threads, ahead of whoever takes the results.

    A few parts and results are held at a time. The caller's thread iterates over the
    parts; what that or the function raises is raised after the results of the parts
    before.
    """
    threads = thread_count()
    begun: deque[Future[Done]] = deque()
    waiting = iter(parts)
    failure: Exception | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="evalkit-read") as pool:
        try:
            while failure is None:
                try:
                    begun.append(pool.submit(function, next(waiting)))
                except StopIteration:
                    break
                except Exception as error:
                    failure = error
                if len(begun) > threads:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
            if failure is not None:
                raise failure
        finally:
            for future in begun:
                future.cancel()


def in_background(function: Callable[[Part], Done], argument: Part) -> Future[Done]:
    """Call a function in a thread that nobody waits for when the program ends."""
    future: Future[Done] = Future()

    def work() -> None:
        try:
            future.set_result(function(argument))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="evalkit-later", daemon=True).start()
    return future
