"""Results whose tables by example are files of parts, as an engine writes them."""

import random
from pathlib import Path

import polars as pl

from evalkit.runs import Result


def in_parts(result: Result, folder: Path, count: int = 3) -> Result:
    """Write the tables of a result in parts, each example in one that is drawn."""
    folder.mkdir(exist_ok=True)
    examples = result.examples
    assert examples is not None
    ids = examples["id"].unique(maintain_order=True).to_list()
    random.Random(1).shuffle(ids)
    made = Result(result.record, result.scores, result.problems, None)
    position = pl.int_range(pl.len(), dtype=pl.UInt32)
    keys = ["id", "replication"]
    for number in range(count):
        own = pl.DataFrame({"id": ids[number::count]}).join(
            examples.with_columns(old=position), on="id", maintain_order="left_right"
        )
        rows = own.select("old", new=position)
        tables = {"examples": own.select(examples.columns)}
        for name, frame in result.statistics.items():
            moved = frame.join(rows, left_on="position", right_on="old").sort("new")
            columns = moved.with_columns(position="new").select(frame.columns)
            tables[f"statistics/{name}"] = columns
        for name, frame in result.column_details.items():
            kept = frame.join(own, on=keys, how="semi", nulls_equal=True)
            tables[f"columns/{name}"] = kept
        if result.responses is not None:  # of the shards of a file
            size = -(-result.responses.height // count)
            tables["responses"] = result.responses[number * size :][:size]
        for name, frame in tables.items():
            path = folder / f"{number}-{name.replace('/', '-')}"
            frame.write_parquet(path)
            made.part_files[f"parts/{number:05}/{name}.parquet"] = path
    return made
