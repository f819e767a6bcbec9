"""Buckets: examples and responses apart by a hash of their ids.

The hash is XXH64 with the seed 42 of the id as UTF-8, as a signed number: the same that
`xxhash64` of Spark returns. An id is in the bucket `pmod(hash, buckets)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import polars_hash
from numpy.typing import NDArray

from evalkit_engines_dask.store import attempt, save

HASH = "xxh64-42"
"""Name of the hash, for keys of caches."""

Rows = NDArray[np.int64]


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


def write_buckets(
    store: str, name: str, bucket: Rows, piece: Callable[[Rows], Any]
) -> dict[int, str]:
    """Write what falls into each bucket to a file.

    Args:
        store: The store.
        name: Name of what is written; files are called after it.
        bucket: Bucket of each row.
        piece: Returns what is written of some rows.

    Returns:
        The files by bucket, without buckets that have no row.
    """
    folder = attempt(name)
    order = np.argsort(bucket, kind="stable")
    numbers, starts = np.unique(bucket[order], return_index=True)
    return {
        number: save(store, f"{folder}/{number}", piece(rows))
        for number, rows in zip(
            numbers.tolist(), np.split(order, starts[1:]), strict=len(bucket) > 0
        )
    }
