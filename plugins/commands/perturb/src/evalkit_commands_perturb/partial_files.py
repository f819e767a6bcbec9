"""A file that grows over several runs of a program, and appears only when it is whole.

Beside the file that is asked for, `.NAME.partial` holds what was written so far, and
`.NAME.partial.json` how far that is; a process that dies leaves both. What is taken up
has the SHA-256 that was recorded: after a loss of power, bytes may be others that were
not synced. So the record names two places, the last one and the last synced one.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO

from evalkit.base.regular_files import refuse_irregular, regular_file
from evalkit.base.synced_files import make_folder, sync_folder, write_synced
from evalkit.base.working_folder import WorkingFolder
from evalkit.errors import StorageError

_SYNC_SECONDS = 1.0
"""Steps that take less are synced together, as that may take longer than they do."""

_BLOCK = 1 << 20


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

    Warns:
        UserWarning: What an earlier run left is damaged, and is made anew.
    """

    def __init__(self, path: Path, key: str, *, overwrite: bool = False) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.partial")
        self._record = path.with_name(f".{path.name}.partial.json")
        self._key = key
        self._overwrite = overwrite
        self._folder = WorkingFolder()
        self._digest = hashlib.sha256()
        self._synced: Mapping[str, Any] | None = None
        self._sync_time = monotonic()
        self.state: Mapping[str, Any] = {}
        try:
            make_folder(path.parent)
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
            stream = os.fdopen(self._open_part(), "a+b")
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

    def _open_part(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        try:
            descriptor = os.open(self._part, flags, 0o666)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise StorageError(
                f"{self._path} cannot be written: {self._part} is a symlink, and is "
                "not written through; remove it"
            ) from error
        try:
            refuse_irregular(self._part, descriptor)
        except OSError as error:
            os.close(descriptor)
            raise StorageError(
                f"{self._path} cannot be written: {self._part} {error.strerror}; "
                "remove it"
            ) from error
        return descriptor

    def _resume(self) -> int:
        """Read how far an earlier run came; 0 where there is none of this key."""
        try:
            with regular_file(self._record) as stream:
                record = json.load(stream)
            if record["key"] != self._key:
                return 0
            places = [
                (int(each["size"]), str(each["sha256"]), dict(each["state"]))
                for each in record["places"]
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        for size, sha256, state in places:
            if self._holds(size, sha256):
                self.state = state
                return size
        if places:
            warnings.warn(
                f"{self._part}: is damaged or was changed, so that all is made anew",
                stacklevel=3,
            )
        return 0

    def _holds(self, size: int, sha256: str) -> bool:
        """Tell whether the part begins with these bytes; then it is gone on from."""
        self._digest = hashlib.sha256()
        left = size
        self._stream.seek(0)
        while left and (block := self._stream.read(min(left, _BLOCK))):
            self._digest.update(block)
            left -= len(block)
        if not left and self._digest.hexdigest() == sha256:
            return True
        self._digest = hashlib.sha256()
        return False

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
            content = text.encode("utf-8", "backslashreplace")
            self._stream.write(content)
            self._stream.flush()
            self._digest.update(content)
            self._note(state)
            self.state = state
        except OSError as error:
            raise self._error(error) from error

    def _note(self, state: Mapping[str, Any]) -> None:
        """Record that a step was done; its bytes are synced before, at times."""
        self._go_back()
        place = {
            "size": self._stream.tell(),
            "sha256": self._digest.hexdigest(),
            "state": state,
        }
        is_due = monotonic() - self._sync_time >= _SYNC_SECONDS
        if is_due:
            os.fsync(self._stream.fileno())
            self._sync_time, self._synced = monotonic(), place
        places = [place] if is_due or self._synced is None else [place, self._synced]
        content = json.dumps({"key": self._key, "places": places}).encode()
        fresh = self._record.with_name(f"{self._record.name}.new")
        fresh.unlink(missing_ok=True)
        if is_due:
            write_synced(fresh, [content])
        else:
            with fresh.open("xb") as stream:
                stream.write(content)
        fresh.replace(self._record)

    def finish(self) -> None:
        """Make the file appear.

        Raises:
            StorageError: It cannot be written, or one of its name appeared meanwhile.
        """
        try:
            self._go_back()
            self._stream.flush()
            os.fsync(self._stream.fileno())
            if self._overwrite:
                self._part.replace(self._path)
            else:
                os.link(self._part, self._path)
                self._part.unlink()
            sync_folder(self._path.parent)
            self._record.unlink(missing_ok=True)
            self._stream.close()
        except FileExistsError as error:
            raise StorageError(
                f"{self._path} appeared while it was being made; the same command with "
                "another name (--out), or with --overwrite, goes on from there"
            ) from error
        except OSError as error:
            raise self._error(error) from error

    def _go_back(self) -> None:
        if moved := self._folder.restore():
            warnings.warn(moved, stacklevel=4)

    def _error(self, error: OSError) -> StorageError:
        kept = "; the same command goes on from there" if self.state else ""
        return StorageError(
            f"{self._path} cannot be written: {error.strerror or error}{kept}"
        )
