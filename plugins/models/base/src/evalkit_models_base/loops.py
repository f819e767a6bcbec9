"""Runs coroutines, whether a loop runs already or not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")


_Start = Callable[[Coroutine[Any, Any, Any]], Any]


def run(function: Callable[[], Any], start: _Start = asyncio.run) -> None:
    """Run a coroutine function, also where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        start(function())
        return
    failures: list[BaseException] = []
    tasks: list[asyncio.Future[Any]] = []

    async def whole() -> None:
        tasks.append(asyncio.ensure_future(function()))
        await tasks[0]

    def work() -> None:
        try:
            start(whole())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:  # the user interrupts, and nothing more is to be asked
        for task in tasks:
            with suppress(RuntimeError):  # the loop has ended
                task.get_loop().call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    if failures:
        raise failures[0]


def end(runner: asyncio.Runner) -> None:
    """Close a runner, also where another loop runs, as in a notebook."""
    thread = threading.Thread(target=runner.close, daemon=True)
    thread.start()
    thread.join()


def begin_in_thread(function: Callable[[], _T]) -> asyncio.Future[_T]:
    """Run a function in a thread, which holds up no end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()
    done.add_done_callback(_hear)

    def tell(settle: Callable[[Any], None], outcome: Any) -> None:
        if not done.done():  # else nobody waits any more
            settle(outcome)

    def work() -> None:
        settle: Callable[[Any], None]
        outcome: Any
        try:
            settle, outcome = done.set_result, function()
        except StopIteration as error:  # which no future takes
            settle, outcome = done.set_exception, RuntimeError(repr(error))
        except BaseException as error:
            settle, outcome = done.set_exception, error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, settle, outcome)

    threading.Thread(target=work, name="evalkit-ask", daemon=True).start()
    return done


def _hear(future: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody may wait for any more."""
    if not future.cancelled():
        future.exception()
