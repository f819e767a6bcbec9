"""Evaluates Parquet shards in parts: `spark_and_ray.py spark|ray DATA RESPONSES TASK`.

A bucket holds the examples and the responses whose ids have the same hash. Driver and
workers read both folders, and have the same versions of evalkit and its plugins.
"""

import pickle
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

import evalkit

BUCKETS = 64  # about 100 000 examples in each
OPTIONS = evalkit.EvaluationOptions(on_missing="wrong", on_invalid="wrong")


def tally(plan: Any, examples: pa.Table, responses: pa.Table) -> pa.Table:
    """Score a bucket."""
    if not examples.num_rows:
        raise ValueError(f"no example has the id {responses['id'][0]}")
    tallies = evalkit.partition_tallies(plan, examples, responses)
    return pa.table({"tallies": [pickle.dumps(tallies)]})


def on_spark(plan: Any, data: str, responses: str) -> Any:
    """Return the tallies of all buckets, by Spark 4."""
    from pyspark.sql import SparkSession, functions

    spark = SparkSession.builder.getOrCreate()

    def grouped(folder: str, key: str) -> Any:
        code = functions.xxhash64(functions.col(key).cast("string"))
        bucket = functions.pmod(code, functions.lit(BUCKETS))
        return spark.read.parquet(folder).groupBy(bucket)

    sides = grouped(data, "uid").cogroup(grouped(responses, "id"))
    rows = sides.applyInArrow(lambda a, b: tally(plan, a, b), "tallies binary")
    return rows.toLocalIterator()


def on_ray(plan: Any, data: str, responses: str) -> Any:
    """Return the tallies of all buckets, by Ray."""
    from ray.data import read_parquet

    def bucketed(folder: str, key: str) -> Any:
        def pack(rows: pa.Table) -> pa.Table:
            ids = rows[key].cast(pa.string()).to_pylist()
            buckets = [crc32(text.encode()) % BUCKETS for text in ids]
            return pa.table({"bucket": buckets, key: rows.to_struct_array()})

        return read_parquet(folder).map_batches(pack, batch_format="pyarrow")

    def split(rows: pa.Table) -> pa.Table:
        both = (rows[key].filter(pc.is_valid(rows[key])) for key in ("uid", "id"))
        return tally(plan, *map(pa.Table.from_struct_array, both))

    sides = bucketed(data, "uid").union(bucketed(responses, "id"))
    groups = sides.groupby("bucket", num_partitions=BUCKETS)
    return groups.map_groups(split, batch_format="pyarrow").iter_rows()


def evaluate(engine: str, data: str, responses: str, task: str) -> Any:
    """Score all buckets, and add up their tallies."""
    shard = min(Path(data).glob("*.parquet"))
    plan = evalkit.plan_partitions(data=shard, task=task, options=OPTIONS)
    rows = {"spark": on_spark, "ray": on_ray}[engine](plan, data, responses)
    parts = [pickle.loads(row["tallies"]) for row in rows]
    return evalkit.finalize(plan, evalkit.merge_tallies(parts))


if __name__ == "__main__":
    print(evaluate(*sys.argv[1:]).overall)
