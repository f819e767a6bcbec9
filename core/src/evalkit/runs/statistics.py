"""The statistics that a run folder keeps, so that runs can be merged later.

One Parquet file for each metric: `position` (the row in `examples.parquet`), the
metric's keys and its number columns. They are kept by example and not as sums, because
intervals need what clusters and resampled examples have, and parts of a set that are
merged may share clusters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from evalkit.errors import StorageError
from evalkit.runs.parquet import write_parquet

if TYPE_CHECKING:
    import polars as pl

STATISTICS_FOLDER = "statistics"

_LONGEST_NAME = 120


def statistics_file(metric: str) -> str:
    """Name the file of a metric's statistics.

    Args:
        metric: Name of the metric with its parameters.

    Returns:
        A name that any file system takes.
    """
    # %2F would be read as a slash again by some tools; file names may hold = and ,
    name = quote(metric, safe="=,+ ").replace("%", "_")
    if len(name) > _LONGEST_NAME or "_" in name:
        digest = hashlib.sha256(metric.encode()).hexdigest()[:16]
        name = f"{name[:_LONGEST_NAME]}-{digest}"
    return f"{name}.parquet"


def write_statistics(statistics: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write the statistics of every metric.

    Args:
        statistics: Statistics by name of the metric.
        folder: Where to; made if there are any.

    Raises:
        OSError: They cannot be written.
    """
    if statistics:
        folder.mkdir()
    for metric, frame in statistics.items():
        write_parquet(frame, folder / statistics_file(metric))


def read_statistics(folder: Path, metric: str) -> pl.DataFrame | None:
    """Read the statistics of a metric.

    Args:
        folder: The run folder.
        metric: Name of the metric with its parameters.

    Returns:
        Its statistics; None where the run holds none of it.

    Raises:
        StorageError: The file cannot be read.
    """
    import polars as pl

    path = folder / STATISTICS_FOLDER / statistics_file(metric)
    if not path.exists():
        return None
    try:
        frame = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise StorageError(f"{path}: cannot be read: {reason}") from error
    if "position" not in frame.columns:
        raise StorageError(f"{path}: is not what evalkit writes: it has no `position`")
    return frame
