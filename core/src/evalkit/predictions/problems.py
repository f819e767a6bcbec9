"""Rows that were not scored, and why: kept on disk once they are many."""

from __future__ import annotations

import io
import json
import tempfile
import threading
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from evalkit.base.violations import Violation, json_value
from evalkit.errors import StorageError

STATUSES = ("unreadable", "unknown", "duplicate", "invalid", "missing")
"""What a row or example is that was not scored."""

NOT_SCORED, FAILED = "not scored", "failed"
"""What a metric made of an answer: it said that it cannot score it, or it failed."""

_ALL_STATUSES = (*STATUSES, NOT_SCORED, FAILED)

_HELD_BYTES = 4 << 20
_LAST = np.iinfo(np.int64).max


class Problem(NamedTuple):
    """A row or example that was not scored, and why."""

    status: str
    line: int | None
    id: str | None
    violations: tuple[Violation, ...]
    replication: str | None = None
    """The replication of the row or the missing response, where there are several."""
    metric: str | None = None
    """The metric that did not score the answer; None for what no metric scored."""
    reason: str | None = None
    """Why it did not."""


class _Spool:
    """Lines in memory, moved to a temporary file once they are many.

    Several threads may use one spool: a place in the file and what is read or written
    there belong together.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_HELD_BYTES)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()

    def write(self, line: bytes) -> int:
        """Add a line and give its offset."""
        with self._locked():
            offset = self._file.seek(0, io.SEEK_END)
            self._file.write(line)
        return offset

    def read_line(self, offset: int) -> bytes:
        """Return the line at an offset."""
        with self._locked():
            self._file.seek(offset)  # writes what is buffered
            return self._file.readline()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except OSError as error:
                with suppress(OSError):
                    self._file.close()
                place = tempfile.tempdir or "a temporary file"
                raise StorageError(
                    f"the rows that were not scored cannot be kept in {place}: "
                    f"{error.strerror or error}"
                ) from error


class Problems(Sequence[Problem]):
    """Problems in the order of the file; those without a line come last.

    They are written to a temporary file, so that memory does not grow with what the
    rows hold. Values that JSON cannot hold become the text that shows them.
    """

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._spool = _Spool()
        self._offsets = array("q")
        self._lines = array("q")
        self._statuses = array("b")
        self._order: NDArray[np.int64] | None = None
        self._change: Callable[[Problem], Problem] = lambda problem: problem
        for problem in problems:
            self.add(problem)

    def add(self, problem: Problem) -> None:
        """Add a problem."""
        row = [
            problem.id,
            problem.replication,
            problem.metric,
            problem.reason,
            *((v.field, v.rule, json_value(v.value)) for v in problem.violations),
        ]
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace")
        self._offsets.append(self._spool.write(line + b"\n"))
        self._lines.append(_LAST if problem.line is None else problem.line)
        self._statuses.append(_ALL_STATUSES.index(problem.status))
        self._order = None

    def only_lines(self, status: str, lines: NDArray[np.int64]) -> Problems:
        """Leave out problems of one status, but for those of some lines."""
        other = np.array(self._statuses, np.int8) != _ALL_STATUSES.index(status)
        kept = np.isin(np.array(self._lines, np.int64), lines)
        return self.at(np.flatnonzero(other | kept))

    def changed(self, change: Callable[[Problem], Problem]) -> Problems:
        """Return the problems as they look after a change, made when they are read."""
        copy = self.at(np.arange(len(self)))
        copy._change = change
        return copy

    def first(self, status: str, count: int) -> list[Problem]:
        """Return the first few problems of one status, in the order of the file."""
        order = self._sorted()
        found = np.array(self._statuses, np.int8)[order] == _ALL_STATUSES.index(status)
        return [self._read(int(index)) for index in order[found][:count]]

    def at(self, indices: NDArray[np.int64]) -> Problems:
        """Return the problems that were added at some places, in their order."""
        copy = Problems()
        copy._spool = self._spool
        copy._change = self._change
        for name in ("_offsets", "_lines", "_statuses"):
            values = getattr(self, name)
            kept = np.array(values, values.typecode)[indices]
            setattr(copy, name, array(values.typecode, kept.tobytes()))
        return copy

    def _sorted(self) -> NDArray[np.int64]:
        if self._order is None:
            lines = np.array(self._lines, dtype=np.int64)
            self._order = np.argsort(lines, kind="stable")
        return self._order

    def _read(self, index: int) -> Problem:
        uid, replication, metric, reason, *violations = json.loads(
            self._spool.read_line(self._offsets[index])
        )
        line = self._lines[index]
        return self._change(
            Problem(
                _ALL_STATUSES[self._statuses[index]],
                None if line == _LAST else line,
                uid,
                tuple(Violation(*violation) for violation in violations),
                replication,
                metric,
                reason,
            )
        )

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[Problem]:
        for index in self._sorted():
            yield self._read(int(index))

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> list[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | list[Problem]:
        chosen = self._sorted()[index]
        if isinstance(index, slice):
            return [self._read(int(each)) for each in chosen]
        return self._read(int(chosen))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return list(self) == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        return f"<{len(self)} problems>"
