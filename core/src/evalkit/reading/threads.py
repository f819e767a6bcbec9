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

    A few parts and results are held at a time. What the function raises is raised where
    its result would come, and what iterating over the parts raises after the results of
    those before.

    Args:
        function: What is done with a part; it must not depend on the others.
        parts: The parts; iterated over by the caller's thread.

    Yields:
        The results, in the order of the parts.
    """
    threads = thread_count()
    begun: deque[Future[Done]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="evalkit-read") as pool:
        try:
            for future in _begin(pool, function, parts):
                begun.append(future)
                if len(begun) > threads:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()


def in_background(function: Callable[[Part], Done], argument: Part) -> Future[Done]:
    """Call a function in a thread of its own.

    Args:
        function: The function; nobody waits for it when the program ends.
        argument: Its argument.

    Returns:
        What gives its result, or raises what it raised.
    """
    future: Future[Done] = Future()

    def work() -> None:
        try:
            future.set_result(function(argument))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="evalkit-later", daemon=True).start()
    return future


def _begin(
    pool: ThreadPoolExecutor, function: Callable[[Part], Done], parts: Iterable[Part]
) -> Iterator[Future[Done]]:
    try:
        for part in parts:
            yield pool.submit(function, part)
    except Exception as error:
        failed: Future[Done] = Future()
        failed.set_exception(error)
        yield failed
