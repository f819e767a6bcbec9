"""Buckets: rows of data and predictions apart by a hash of their ids.

The hash is XXH64 with the seed 42 of the id as UTF-8, as a signed number: the same that
`xxhash64` of Spark returns. A row is in the bucket `pmod(hash, buckets)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import polars_hash
from numpy.typing import NDArray

from evalkit_engines_dask.store import attempt, read_frame, write_frame

HASH = "xxh64-42"
"""Name of the hash, for keys of caches."""

_SEED = 42


def bucket_of(ids: pl.Series, buckets: int) -> NDArray[np.int64]:
    """Return the bucket of each id.

    Args:
        ids: Texts; a null is in bucket 0.
        buckets: Number of buckets.

    Returns:
        Numbers from 0 to `buckets - 1`.
    """
    hashed = polars_hash.col("id").nchash.xxhash64(seed=_SEED)
    hashes = ids.alias("id").to_frame().select(hashed).to_series()
    signed = hashes.fill_null(0).to_numpy().view(np.int64)
    return np.asarray(signed % buckets, dtype=np.int64)


def write_buckets(
    store: str, name: str, frame: pl.DataFrame, bucket: NDArray[np.int64]
) -> dict[int, str]:
    """Write the rows of each bucket to a file.

    Args:
        store: The store.
        name: Name of what is written; files are called after it.
        frame: The rows.
        bucket: Bucket of each row.

    Returns:
        The files by bucket, without buckets that have no row.
    """
    folder = attempt(name)
    order = np.argsort(bucket, kind="stable")
    numbers, starts = np.unique(bucket[order], return_index=True)
    lengths = np.diff(starts, append=len(order))
    frame = frame[order]
    files = {}
    for number, start, length in zip(
        numbers.tolist(), starts.tolist(), lengths.tolist(), strict=True
    ):
        files[number] = f"{folder}/{number}.arrow"
        write_frame(store, files[number], frame.slice(start, length))
    return files


def read_bucket(
    store: str, files: Sequence[tuple[int, str]], part: str
) -> list[pl.DataFrame]:
    """Read what parts wrote of a bucket.

    Args:
        store: The store.
        files: Number of each part, and its file.
        part: Name of a column for the number of the part.

    Returns:
        A table for each part.
    """
    return [
        read_frame(store, name).with_columns(pl.lit(number, pl.Int32).alias(part))
        for number, name in files
    ]


def files_of(parts: Sequence[Mapping[int, str]], bucket: int) -> list[tuple[int, str]]:
    """Return the files of a bucket, with the number of the part that wrote each."""
    return [(n, files[bucket]) for n, files in enumerate(parts) if bucket in files]
