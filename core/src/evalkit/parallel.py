"""Computes batches of a metric, or perturbs examples, in processes of their own.

A worker is spawned, not forked, because a fork after polars hangs, and it does not run
the caller's main module again, so that a script needs no `if __name__ == "__main__"`.
It gets what a plugin's distribution declares and the plugin's parameters, and imports
and binds the plugin itself, once. It ends with its parent, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from evalkit.errors import EvalkitError, MetricError

if TYPE_CHECKING:
    from collections.abc import Generator

Part = TypeVar("Part")

Packed: TypeAlias = tuple[bytes | None, str]
"""An exception, pickled where it can be, and its traceback."""

Reply: TypeAlias = tuple[Any, Packed | None, Packed | None]
"""A result, or an error and its cause."""

GRACE = 5.0
"""Seconds that a worker gets to end by itself."""

_LOOK_UP = 0.1
"""Seconds after which a wait for workers notices an interrupt."""

_loaded: dict[bytes, Any] = {}
"""What this process, a worker, works with."""


class NotPortable(Exception):
    """A metric or its data cannot go to another process; this one has to do it."""


class Workers:
    """Processes that compute batches; started when there is first work for them.

    Use it in a `with` statement, from one thread; leaving it ends the processes. With
    one job nothing is ever started, and an engine, which was entered, has its own.
    """

    def __init__(self, jobs: int, engine: Any = None) -> None:
        if jobs < 1:
            raise EvalkitError(f"jobs must be 1 or more, is {jobs}")
        self.jobs, self.engine = jobs, engine
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(0.0 if error else GRACE)

    def map(
        self,
        load: Callable[..., Any],
        arguments: tuple[Any, ...],
        function: Callable[[Any, Any], Any],
        parts: Iterable[Part],
        died: Callable[[Part, Part], EvalkitError],
        name: Callable[[Part], str] = lambda _: "a batch",
    ) -> Generator[Any, None, None]:
        """Apply a function to parts, several at a time.

        `died` makes the error of a process that ended, from the first and the last part
        that processes had by then. `name` is how an engine calls a part.
        """
        if self.jobs == 1 and self.engine is None:
            raise NotPortable
        most = self.jobs + 1 if self.engine is None else 2 * self.engine.workers
        reference = _pickled((load, arguments))
        waiting: deque[tuple[Part, Any]] = deque()
        try:
            for part in parts:
                request = pickled_request(reference, function, part)
                if self.engine is None:
                    task = self._submit(request)
                else:
                    resources = self.engine.resources
                    task = self.engine.submit(answer, (request,), name(part), resources)
                waiting.append((part, task))
                while len(waiting) > most:
                    yield self._next_result(waiting, died)
            while waiting:
                yield self._next_result(waiting, died)
        except BaseException:
            self._end(0.0)
            if self.engine is not None:
                self.engine.cancel([task for _, task in waiting])
            raise

    def _next_result(
        self,
        waiting: deque[tuple[Part, Any]],
        died: Callable[[Part, Part], EvalkitError],
    ) -> Any:
        first, future = waiting[0]
        if self.engine is not None:
            (reply,) = self.engine.gather([future], lambda *_: None)
            waiting.popleft()
            return result_of(pickle.loads(reply))
        # polars has waiting resumed after an interrupt; only a wait that ends notices
        while not wait([future], _LOOK_UP).done:
            pass
        try:
            reply = pickle.loads(future.result())
        except BrokenProcessPool as error:
            raise died(first, waiting[-1][0]) from error
        waiting.popleft()
        return result_of(reply)

    def _submit(self, request: bytes) -> Future[bytes]:
        main = sys.modules["__main__"]
        # a process runs again what its parent has as the main module when it starts it
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(
                    self.jobs, context, _begin, (str(Path.cwd()),)
                )
            return self._pool.submit(answer, request)
        except BrokenProcessPool as error:
            failed: Future[bytes] = Future()
            failed.set_exception(error)
            return failed
        except (OSError, NotImplementedError) as error:
            raise NotPortable from error
        finally:
            sys.modules["__main__"] = main

    def _end(self, grace: float) -> None:
        """Give the workers some seconds to end, then end them."""
        pool, self._pool = self._pool, None
        if pool is not None:
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.join(grace)
                process.kill()
            pool.shutdown()


def _pickled(what: object) -> bytes:
    try:
        return pickle.dumps(what)
    except Exception as error:  # an object in it may raise anything
        raise NotPortable from error


def pickled_request(
    reference: bytes, function: Callable[[Any, Any], Any], part: Any
) -> bytes:
    """Return what `answer` takes, or raise `NotPortable`."""
    try:
        part = part.with_own_ids() if hasattr(part, "with_own_ids") else part
    except Exception as error:  # polars refuses to write columns of Python objects
        raise NotPortable from error
    return _pickled((reference, function, part))


def result_of(reply: Reply | None) -> Any:
    """Return the result in a worker's reply, or raise its error.

    It is `NotPortable` if the worker could not load what it was to work with.
    """
    if reply is None:
        raise NotPortable
    result, error, cause = reply
    if error is not None:
        raise unpacked(*error) from (unpacked(*cause) if cause else None)
    return result


def packed(error: BaseException) -> Packed:
    """Return an exception so that it can go to another process."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    with suppress(Exception):  # an exception may hold anything
        return pickle.dumps(error), trace
    return None, trace


def unpacked(pickled: bytes | None, trace: str) -> BaseException:
    """Return an exception of another process."""
    error: object = None
    if pickled is not None:
        with suppress(Exception):  # its constructor may want other arguments
            error = pickle.loads(pickled)
    if not isinstance(error, BaseException):
        error = MetricError(trace)
    error.add_note(f"In a worker process:\n{trace}")
    return error


def _begin(folder: str) -> None:
    """Set up this process as a worker: no plugin reaches the parent's I/O."""
    # an interrupt reaches the whole process group; the parent ends its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def answer(request: bytes) -> bytes:
    """Do in a worker what a request asks for."""
    try:
        reference, function, part = pickle.loads(request)
        if reference not in _loaded:
            load, arguments = pickle.loads(reference)
            _loaded[reference] = load(*arguments)
    except Exception:  # the parent could load it, and will have to do the work
        return pickle.dumps(None)
    reply: Reply
    try:
        reply = function(_loaded[reference], part), None, None
    except BaseException as error:
        cause = error.__cause__
        reply = None, packed(error), packed(cause) if cause else None
    try:
        return pickle.dumps(reply)
    except Exception:  # keys of Python objects
        return pickle.dumps(None)
