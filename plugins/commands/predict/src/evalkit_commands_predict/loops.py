"""Runs coroutines, whether a loop runs already or not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def run(function: Callable[[], Any]) -> None:
    """Run a coroutine function, also where a loop runs already, as in a notebook.

    Args:
        function: The function.

    Raises:
        BaseException: Whatever it raised; it is cancelled by an interrupt.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(function())
        return
    failures: list[BaseException] = []
    tasks: list[asyncio.Future[Any]] = []

    async def whole() -> None:
        tasks.append(asyncio.ensure_future(function()))
        await tasks[0]

    def work() -> None:
        try:
            asyncio.run(whole())
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
