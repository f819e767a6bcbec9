"""What a worker process does: it answers requests until there are no more.

See `evalkit.parallel.workers`, which sends them.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import traceback
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, Literal, NamedTuple

from evalkit.base.failures import text_of
from evalkit.errors import MetricError, PluginError

GRACE = 5.0
"""Seconds that a worker gets to end by itself."""


class Reply(NamedTuple):
    """What a worker answers."""

    kind: Literal["result", "failed", "raised", "not portable"]
    """`failed` with a `MetricError` or `PluginError`, `raised` anything else."""
    result: Any = None
    message: str = ""
    error: str = ""
    """Name of the error's class, where it failed."""
    cause: bytes | None = None
    """The exception, pickled; None where it cannot be pickled."""
    trace: str = ""


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests, one at a time, until there are no more."""
    inbox: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, inbox), daemon=True).start()
    loaded: dict[bytes, Any] = {}
    while (request := inbox.get()) is not None:
        reply = answer(request, loaded)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # a plugin may have closed or replaced it
                stream.flush()
        with suppress(OSError):  # the parent is gone, and the pipe says so too
            pickle.dump(reply, replies)
            replies.flush()


def _receive(requests: IO[bytes], inbox: SimpleQueue[bytes | None]) -> None:
    """Pass requests on; end this process, even a busy one, when the parent is gone."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            inbox.put(pickle.load(requests))
    inbox.put(None)
    time.sleep(GRACE)
    os._exit(1)


def answer(request: bytes, loaded: dict[bytes, Any]) -> bytes:
    """Do what a request asks for."""
    try:
        reference, function, part = pickle.loads(request)
        if reference not in loaded:
            load, arguments = pickle.loads(reference)
            loaded[reference] = load(*arguments)
    except Exception:  # the parent could load it, and will have to do the work
        return pickle.dumps(Reply("not portable"))
    try:
        reply = Reply("result", function(loaded[reference], part))
    except (MetricError, PluginError) as error:
        reply = _error_reply("failed", error, error.__cause__)
    except BaseException as error:
        reply = _error_reply("raised", error, error)
    try:
        return pickle.dumps(reply)
    except Exception:  # keys of Python objects
        return pickle.dumps(Reply("not portable"))


def _error_reply(
    kind: Literal["failed", "raised"],
    error: BaseException,
    cause: BaseException | None,
) -> Reply:
    name = type(error).__name__
    if cause is None:
        return Reply(kind, None, text_of(error), name)
    return Reply(kind, None, text_of(error), name, *packed(cause))


def packed(error: BaseException) -> tuple[bytes | None, str]:
    """Return an exception so that it can go to another process."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    with suppress(Exception):  # an exception may hold anything
        return pickle.dumps(error), trace
    return None, trace
