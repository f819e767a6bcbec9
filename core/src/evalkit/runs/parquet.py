"""Writes Parquet files so that a full disk is reported as one."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a table.

    Args:
        frame: The table.
        path: Where to.

    Raises:
        OSError: It cannot be written, with the system's reason, which polars loses
            where it writes the file itself.
    """
    packed = io.BytesIO()
    # nobody filters these files by statistics, and level 1 packs as well as 3
    frame.write_parquet(packed, compression_level=1, statistics=False)
    path.write_bytes(packed.getbuffer())
