"""The current folder, which plugins may change for all."""

from __future__ import annotations

import os

from evalkit.errors import EvalkitError


class WorkingFolder:
    """The folder that is the current one now, from which relative paths lead."""

    def __init__(self) -> None:
        try:
            self._path: str | None = os.getcwd()  # noqa: PTH109 - called often
        except OSError:  # it was removed: only absolute paths lead anywhere
            self._path = None

    def restore(self) -> str | None:
        """Go back to the folder; return a warning if a plugin changed it."""
        if self._path is None:
            return None
        try:
            now = os.getcwd()  # noqa: PTH109
        except OSError:
            now = "one that was removed"
        if now == self._path:
            return None
        try:
            os.chdir(self._path)
        except OSError as error:
            raise EvalkitError(
                f"the current folder {self._path} cannot be gone back to: "
                f"{error.strerror}; a plugin changed it to {now}"
            ) from error
        return f"a plugin changed the current folder to {now}; it was changed back"
