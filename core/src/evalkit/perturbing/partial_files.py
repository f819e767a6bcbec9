"""A file that grows over several runs of a program, and appears only when it is whole.

Beside the file that is asked for, `.NAME.partial` holds what was written so far, and
`.NAME.partial.json` how far that is; a process that dies leaves both.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from evalkit.errors import StorageError


class PartialFile:
    """Writes a file step by step, going on where an earlier run stopped.

    Use it in a `with` statement: `finish` makes the file appear; without it what was
    written stays for a later run.

    Args:
        path: The file.
        key: What the content depends on: of another key, what is there is thrown away.
        overwrite: Whether a file of this name may be replaced.

    Attributes:
        state: What the last step recorded; empty before the first one.

    Raises:
        StorageError: It cannot be written, or another process is writing it.
    """

    def __init__(self, path: Path, key: str, *, overwrite: bool = False) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.partial")
        self._record = path.with_name(f".{path.name}.partial.json")
        self._key = key
        self._overwrite = overwrite
        self.state: Mapping[str, Any] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream: BinaryIO = self._open_alone()
            size = self._resume()
            if not size:
                # a record of other bytes must not survive the first of the new ones
                self._record.unlink(missing_ok=True)
            self._stream.truncate(size)
        except OSError as error:
            raise self._error(error) from error

    def _open_alone(self) -> BinaryIO:
        """Open the part that is there, as the only one who writes to it."""
        while True:
            stream = self._part.open("a+b")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                stream.close()
                raise StorageError(
                    f"{self._path} is being written by another command; wait for it, "
                    "or choose another name"
                ) from error
            # the one who had it may have finished it meanwhile
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(stream.fileno()), self._part.stat()):
                    return stream
            stream.close()

    def _resume(self) -> int:
        """Read how far an earlier run came; 0 where there is none of this key."""
        try:
            record = json.loads(self._record.read_bytes())
            size = int(record["size"])
            if record["key"] != self._key or self._part.stat().st_size < size:
                return 0
            self.state = record["state"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return size

    def __enter__(self) -> PartialFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # a full disk was reported by the step that met it
            self._stream.close()

    def append(self, text: str, state: Mapping[str, Any]) -> None:
        """Write a step and record that it was done.

        Args:
            text: What is added; half of a surrogate pair is written as it is escaped.
            state: JSON values from which a later run goes on.

        Raises:
            StorageError: It cannot be written; the steps before are kept.
        """
        try:
            self._stream.write(text.encode("utf-8", "backslashreplace"))
            self._stream.flush()
            record = {"key": self._key, "size": self._stream.tell(), "state": state}
            fresh = self._record.with_name(f"{self._record.name}.new")
            fresh.write_text(json.dumps(record), encoding="utf-8")
            fresh.replace(self._record)
            self.state = state
        except OSError as error:
            raise self._error(error) from error

    def finish(self) -> None:
        """Make the file appear.

        Raises:
            StorageError: It cannot be written, or one of its name appeared meanwhile.
        """
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            if self._overwrite:
                self._part.replace(self._path)
            else:
                os.link(self._part, self._path)
                self._part.unlink()
            self._record.unlink(missing_ok=True)
            self._stream.close()
        except FileExistsError as error:
            raise StorageError(
                f"{self._path} appeared while it was being made; the same command with "
                "another name (--out), or with --overwrite, goes on from there"
            ) from error
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> StorageError:
        kept = "; the same command goes on from there" if self.state else ""
        return StorageError(
            f"{self._path} cannot be written: {error.strerror or error}{kept}"
        )
