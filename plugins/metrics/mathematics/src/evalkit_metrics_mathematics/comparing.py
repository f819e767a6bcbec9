"""Comparison of expressions in another process, which has a time limit."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, cast

from evalkit.errors import MetricError

TIME_LIMIT = 5.0
"""Seconds of processor time for one example, which a busy machine does not change."""
_WAIT_LIMIT = 120.0
"""Seconds until a reply, which end what waits or where processor time has no limit."""
_START_LIMIT = 120.0


class TimeLimitError(Exception):
    """An expression that took too long or ended the process."""


class Comparer:
    """A process that compares expressions, started when it is first needed.

    Signals, by which math-verify limits time, work in the main thread only and end no
    computation of one great number.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._replies: SimpleQueue[str] = SimpleQueue()

    def compare(self, request: Mapping[str, Any]) -> bool | None:
        """Tell whether a prediction equals an answer.

        Args:
            request: `prediction`, `answers` and `ignore_units`.

        Returns:
            None if no answer can be read.

        Raises:
            TimeLimitError: The comparison takes longer than `TIME_LIMIT`.
            MetricError: math-verify cannot be run.
        """
        with self._lock:
            if self._process is None or self._owner != os.getpid():
                self._start()
            timed = {**request, "seconds": TIME_LIMIT}
            reply = self._ask(json.dumps(timed), _WAIT_LIMIT)
            if not reply:
                self.stop()
                raise TimeLimitError
            return cast("bool | None", json.loads(reply))

    def stop(self) -> None:
        """End the process."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):  # what it did not read is lost
                    self._process.stdin.close()
        self._process = None

    def _start(self) -> None:
        program = Path(__file__).with_name("worker.py")
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )
        self._owner, self._replies = os.getpid(), SimpleQueue()
        reader = threading.Thread(
            target=_read, args=(self._process.stdout, self._replies), daemon=True
        )
        reader.start()
        if not self._next_reply(_START_LIMIT):
            self.stop()
            raise MetricError("math-match: math-verify cannot be started")

    def _ask(self, request: str, limit: float) -> str:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        except OSError:
            return ""
        return self._next_reply(limit)

    def _next_reply(self, limit: float) -> str:
        try:
            return self._replies.get(timeout=limit)
        except Empty:
            return ""


def _read(stream: IO[str], replies: SimpleQueue[str]) -> None:
    with stream:
        for line in stream:
            replies.put(line)
    replies.put("")


COMPARER = Comparer()
"""The one of this process."""

atexit.register(COMPARER.stop)
