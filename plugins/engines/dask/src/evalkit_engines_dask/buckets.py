"""Buckets: examples and responses apart by a hash of their ids.

The hash is XXH64 with the seed 42 of the id as UTF-8, as a signed number: the same that
`xxhash64` of Spark returns. An id is in the bucket `pmod(hash, buckets)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import polars_hash
from numpy.typing import NDArray

HASH = "xxh64-42"
"""Name of the hash, for keys of caches."""

Rows = NDArray[np.int64]

Pieces = Sequence[tuple[int, Mapping[int, str | Path]]]
"""Of each part, the number of rows or lines before it, and its files by bucket."""


def bucket_of(ids: pl.Series, buckets: int) -> Rows:
    """Return the bucket of each id.

    Args:
        ids: Texts; a null is in bucket 0.
        buckets: Number of buckets.

    Returns:
        Numbers from 0 to `buckets - 1`.
    """
    hashed = polars_hash.col("id").nchash.xxhash64(seed=42)
    hashes = ids.alias("id").to_frame().select(hashed).to_series()
    signed = hashes.fill_null(0).to_numpy().view(np.int64)
    return np.asarray(signed % buckets, dtype=np.int64)


def rows_by_bucket(ids: pl.Series, buckets: int) -> dict[int, Rows]:
    """Return the rows of each bucket that has some, by the ids of all rows."""
    bucket = bucket_of(ids, buckets)
    order = np.argsort(bucket, kind="stable")
    numbers, starts = np.unique(bucket[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=False))


def files_of(pieces: Pieces, bucket: int) -> list[tuple[int, str | Path]]:
    """Return the files of a bucket, with the number of rows or lines before each."""
    return [(start, files[bucket]) for start, files in pieces if bucket in files]
