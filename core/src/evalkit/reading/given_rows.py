"""What a caller gives in Python: a path of this machine, a table, or rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.failures import hook_failures
from evalkit.base.violations import shorten
from evalkit.errors import DataError, EvalkitError

# a path makes one slash of two
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

_NO_ROWS = (bytes, bytearray, memoryview, Mapping)
"""What can be iterated over, but not for rows."""


def is_remote(name: str) -> bool:
    """Tell whether a name is that of a remote place, such as `s3://bucket/file`."""
    return _REMOTE.match(name) is not None


def local_path(name: str | Path) -> Path:
    """Return the path of what a user names as a file or folder.

    Args:
        name: The path.

    Returns:
        The same as a path.

    Raises:
        DataError: It is not on this machine, such as `s3://bucket/file`.
    """
    if is_remote(str(name)):
        raise DataError(
            f"{name}: remote places are not supported yet; only files of this machine "
            "are read and written"
        )
    return Path(name)


def rows_of(
    predictions: Any, what: str = "predictions"
) -> str | Path | pl.DataFrame | Sequence[Mapping[str, Any]]:
    """Return predictions in a form that can be read more than once.

    Args:
        predictions: A path, a polars, pandas or Arrow table, or dicts.
        what: How messages call them.

    Returns:
        The path, a polars data frame, or a list.

    Raises:
        DataError: The path is not of this machine, or the table cannot be read.
        EvalkitError: It is something else.
    """
    if isinstance(predictions, str | Path):
        return local_path(predictions)
    if isinstance(predictions, pl.LazyFrame) or hasattr(
        predictions, "__arrow_c_stream__"
    ):
        try:
            if isinstance(predictions, pl.LazyFrame):
                return predictions.collect()
            return pl.DataFrame(_with_index(predictions))
        except hook_failures() as error:
            raise DataError(
                f"the table of {what} cannot be read: {type(error).__name__}: {error}"
            ) from error
    if isinstance(predictions, _NO_ROWS) or not isinstance(predictions, Iterable):
        raise EvalkitError(
            f"{what} must be a path, a polars, pandas or Arrow table, or an iterable "
            f"of dicts, are {shorten(predictions)}"
        )
    return list(predictions)


def _with_index(table: Any) -> Any:
    """Make columns of what pandas keeps under names beside the columns, as its index.

    Args:
        table: A table of any kind.

    Returns:
        The same; of pandas with those parts of the index that have a name which no
        column has.
    """
    names = getattr(getattr(table, "index", None), "names", None)
    if names is None or not hasattr(table, "reset_index"):
        return table
    others = [name for name in names if name is not None and name not in table.columns]
    return table.reset_index(level=others) if others else table
