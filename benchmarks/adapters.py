"""Measures adapters over a table at once against the same adapters row by row.

Run it as

    python benchmarks/adapters.py [--rows 1000000]

Times are CPU seconds of one process; the rows are already in memory, as a table for one
engine and as dicts for the other. Both results are compared on the first rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import polars as pl

from evalkit_adapters_rows import pipeline

PIPELINES: dict[str, list[dict[str, Any]]] = {
    "rename and drop": [
        {"kind": "Rename", "configuration": {"text": "statement"}},
        {"kind": "Drop", "configuration": {"fields": ["ranks"]}},
    ],
    "select": [{"kind": "Select", "configuration": {"fields": ["id", "text"]}}],
    "flatten": [{"kind": "FlattenHierarchy", "configuration": {"fields": ["output"]}}],
    "explode": [
        {
            "kind": "ExplodeCollections",
            "configuration": {"collections": ["ranks"], "index": {"i": None}},
        }
    ],
    "template of paths": [
        {
            "kind": "TransformJSON",
            "configuration": {"id": "$.id", "label": "$.output.label", "n": 1},
        }
    ],
    "template with a pattern": [
        {
            "kind": "TransformJSON",
            "configuration": {
                "id": "$.id",
                "label": {
                    "$compute": [
                        {"$scalar": "$.text"},
                        {"$func": "search", "pattern": r"\(([A-D])\)", "group": 1},
                    ]
                },
            },
        }
    ],
    "template of a list": [
        {
            "kind": "TransformJSON",
            "configuration": {
                "id": "$.id",
                "sum": {"$compute": [{"$list": "$.ranks[*]"}, {"$func": "reduce"}]},
            },
        }
    ],
}


def make_table(rows: int) -> pl.DataFrame:
    """Return a table of so many rows with texts, lists and structs."""
    number = pl.int_range(0, rows, dtype=pl.Int64)
    letters = pl.Series(["A", "B", "C", "D"])
    frame = pl.select(
        id=number.cast(pl.String),
        text=pl.lit("I think that the answer is (")
        + pl.lit(letters).gather(number % 4)
        + pl.lit("), as the first sentence says."),
        ranks=pl.concat_list(number % 3, number % 5, number % 7),
        label=pl.lit(letters).gather(number % 4),
        score=number / rows,
    )
    return frame.select(
        "id", "text", "ranks", pl.struct("label", "score").alias("output")
    )


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds that a call takes, and what it returns."""
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def main() -> None:
    """Measure every pipeline and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    frame = make_table(rows)
    dicts = frame.to_dicts()
    print(f"{rows:,} rows; CPU seconds")
    print(f"{'pipeline':26} {'row by row':>11} {'at once':>9} {'ratio':>7}")
    for name, stages in PIPELINES.items():
        adapt = pipeline(stages)
        slow, count = cpu_seconds(lambda adapt=adapt: sum(1 for _ in adapt(dicts)))
        fast, found = cpu_seconds(lambda adapt=adapt: adapt.adapt_frame(frame))
        assert found is not None, f"{name} is not adapted at once"
        assert found.height == count
        first = list(adapt(dicts[:100]))
        assert found.head(len(first)).to_dicts() == first
        print(f"{name:26} {slow:11.2f} {fast:9.3f} {slow / fast:7.0f}")


if __name__ == "__main__":
    main()
