"""Computes batches of a metric, or perturbs examples, in processes of their own.

A worker is a fresh interpreter that runs `evalkit.parallel.process`: it is not forked,
because a fork after polars hangs, and it does not run the caller's main module again,
so that a script needs no `if __name__ == "__main__"`. It gets what a plugin's
distribution declares and the plugin's parameters, and imports and binds the plugin
itself, once. It ends when its pipe closes, also when the parent is killed.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, TypeVar

from evalkit.errors import EvalkitError, MetricError, PluginError
from evalkit.parallel.service import GRACE, Reply

if TYPE_CHECKING:
    from collections.abc import Generator


Part = TypeVar("Part")

_PROGRAM = Path(__file__).with_name("process.py")

_LOOK_UP = 0.1
"""Seconds after which a wait for workers notices an interrupt."""


class NotPortable(Exception):
    """A metric or its data cannot go to another process; this one has to do it."""


class Workers:
    """Processes that compute batches; started when there is first work for them.

    Use it in a `with` statement, from one thread; leaving it ends the processes.

    Args:
        jobs: How many processes there are at most.

    Attributes:
        jobs: The same; with 1 nothing is ever started.

    Raises:
        EvalkitError: `jobs` is less than 1.
    """

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise EvalkitError(f"jobs must be 1 or more, is {jobs}")
        self.jobs = jobs
        self._processes = _Processes()

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._processes.close()
        else:
            self._processes.kill()
        self._processes.reap()

    def map(
        self,
        load: Callable[..., Any],
        arguments: tuple[Any, ...],
        function: Callable[[Any, Any], Any],
        parts: Iterable[Part],
        died: Callable[[Part, str], EvalkitError],
    ) -> Generator[Any, None, None]:
        """Apply a function to parts, several at a time."""
        if self.jobs == 1:
            raise NotPortable
        reference = _pickled((load, arguments))
        waiting: deque[tuple[Part, Future[Reply]]] = deque()
        threads = ThreadPoolExecutor(self.jobs, "evalkit-worker")
        is_done = False
        try:
            for part in parts:
                request = _pickled_request(reference, function, part)
                waiting.append((part, threads.submit(self._processes.ask, request)))
                while len(waiting) > self.jobs + 1:
                    yield _next_result(waiting, died)
            while waiting:
                yield _next_result(waiting, died)
            is_done = True
        finally:
            if not is_done:
                threads.shutdown(wait=False, cancel_futures=True)
                self._processes.kill()
            threads.shutdown()
            if not is_done:
                self._processes.reap()


def _pickled(what: object) -> bytes:
    try:
        return pickle.dumps(what)
    except Exception as error:  # an object in it may raise anything
        raise NotPortable from error


def _pickled_request(
    reference: bytes, function: Callable[[Any, Any], Any], part: Any
) -> bytes:
    try:
        part = part.with_own_ids() if hasattr(part, "with_own_ids") else part
    except Exception as error:  # polars refuses to write columns of Python objects
        raise NotPortable from error
    return _pickled((reference, function, part))


def _next_result(
    waiting: deque[tuple[Part, Future[Reply]]],
    died: Callable[[Part, str], EvalkitError],
) -> Any:
    part, future = waiting.popleft()
    # polars has waiting resumed after an interrupt; only a wait that ends notices one
    while not wait([future], _LOOK_UP).done:
        pass
    try:
        reply = future.result()
    except _Died as error:
        raise died(part, str(error)) from error
    except OSError as error:
        raise NotPortable from error
    if reply.kind == "result":
        return reply.result
    if reply.kind == "not portable":
        raise NotPortable
    cause = _cause_of(reply)
    if reply.kind == "raised" and cause is not None:
        raise cause
    raise _failure_of(reply) from cause


def _failure_of(reply: Reply) -> EvalkitError:
    """Make the error of the class that was raised in the worker."""
    known = (MetricError, PluginError)
    found = next((each for each in known if each.__name__ == reply.error), MetricError)
    return found(reply.message)


def _cause_of(reply: Reply) -> BaseException | None:
    return unpacked(reply.cause, reply.trace) if reply.trace else None


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


class _Died(Exception):
    """A worker process ended before it answered."""


class _Process:
    """One worker, which answers one request at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *_interpreter_options(), str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: IO[bytes] = self._process.stdin
        self._replies: IO[bytes] = self._process.stdout
        self._greeting = pickle.dumps(list(sys.path))

    def ask(self, request: bytes) -> Reply:
        """Send a request and wait for the reply."""
        try:
            self._requests.write(self._greeting)
            self._greeting = b""
            pickle.dump(request, self._requests)
            self._requests.flush()
            reply: Reply = pickle.loads(pickle.load(self._replies))
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise _Died(_ending(self.reap(GRACE))) from error
        return reply

    def close(self) -> None:
        """Tell the process that no request will follow."""
        with suppress(OSError):  # what was not written yet cannot be, if it died
            self._requests.close()

    def kill(self) -> None:
        """End the process."""
        self._process.kill()

    def reap(self, seconds: float) -> int:
        """Return the process some time to end, then end it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, seconds))
        self.kill()
        code = self._process.wait()
        self.close()
        self._replies.close()
        return code


class _Processes:
    """The workers that run, and those of them that have nothing to do."""

    def __init__(self) -> None:
        self._running: list[_Process] = []
        self._idle: SimpleQueue[_Process] = SimpleQueue()
        self._lock = threading.Lock()
        self._killed = False
        # one thread starts all: on Linux they end with it
        self._starter = ThreadPoolExecutor(1, "evalkit-starter")

    def ask(self, request: bytes) -> Reply:
        """Let a worker answer a request; a new one if none is idle."""
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = self._start()
        reply = process.ask(request)
        self._idle.put(process)
        return reply

    def _start(self) -> _Process:
        with self._lock:
            if self._killed:
                raise _Died("was ended")
            process = self._starter.submit(_Process).result()
            self._running.append(process)
            return process

    def close(self) -> None:
        """Tell all workers that there is no more work."""
        for process in self._running:
            process.close()

    def kill(self) -> None:
        """End all workers, and start no other."""
        with self._lock:
            self._killed = True
            for process in self._running:
                process.kill()

    def reap(self) -> None:
        """Wait until all workers have ended; new ones may be started then."""
        deadline = time.monotonic() + GRACE
        for process in self._running:
            process.reap(deadline - time.monotonic())
        self._running.clear()
        self._starter.shutdown()
        self._starter = ThreadPoolExecutor(1, "evalkit-starter")
        self._idle = SimpleQueue()
        self._killed = False


def _interpreter_options() -> list[str]:
    """Return the options of this interpreter that change what code does."""
    flags = {
        "-E": sys.flags.ignore_environment,
        "-s": sys.flags.no_user_site,
        "-B": sys.dont_write_bytecode,
    }
    return [
        "-P",  # the program's folder holds modules that are no top-level ones
        *(option for option, is_set in flags.items() if is_set),
        *["-O"] * sys.flags.optimize,
        *(f"-W{text}" for text in sys.warnoptions),
        *("-X", f"utf8={sys.flags.utf8_mode}"),
    ]


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was ended by {names.get(-code, f'signal {-code}')}"
