"""Measures what validation adds to reading: as columns, and row by row by pydantic.

Run it as

    python benchmarks/validation.py [--rows 1000000]

The rows are examples of the task `nli`, checked by its `Input`, and predictions for
them with probabilities, checked by its `Output`. Each way is measured in a process of
its own, in CPU and wall seconds, with its peak of memory:

- read: the reader gives its columns (or rows, where a form has no columns);
- columns: the same, and they are judged;
- rows: each row is given to pydantic;
- bad: as columns, but every prediction breaks a rule and is kept as a problem.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

import evalkit
from evalkit.examples.checking import checked_inputs
from evalkit.examples.loading import load_rows
from evalkit.examples.table import load_examples
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.judging import JudgedRows
from evalkit.predictions.preparation import read_responses
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.typed_values import row_of_table
from evalkit_tasks_text.nli import Nli

FORMS = ("jsonl", "parquet", "csv")


def _texts(rows: int, words: str) -> pl.Expr:
    return pl.lit(words) + pl.int_range(0, rows, dtype=pl.Int64).cast(pl.String)


def _examples(rows: int) -> pl.DataFrame:
    number = pl.int_range(0, rows, dtype=pl.Int64)
    labels = pl.lit(pl.Series(Nli.labels))
    return pl.select(
        uid=number.cast(pl.String),
        context=_texts(
            rows, "Old Trafford is the largest club stadium in England, no. "
        ),
        hypothesis=_texts(rows, "No club stadium in England is larger than number "),
        label=labels.gather(number % 3),
    )


def _predictions(rows: int, is_bad: bool) -> pl.DataFrame:
    number = pl.int_range(0, rows, dtype=pl.Int64)
    labels = pl.lit(pl.Series([*Nli.labels] if not is_bad else ["a", "b", "c"]))
    first = (number % 100) / 200
    shares = (first, 0.5 - first, pl.repeat(0.5, rows))
    named = [each.alias(label) for each, label in zip(shares, Nli.labels, strict=True)]
    return pl.select(
        id=number.cast(pl.String),
        label=labels.gather(number % 3),
        prob=pl.struct(named),
    )


def _write(frame: pl.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        texts = [
            pl.col(name).struct.json_encode()
            for name, kind in frame.schema.items()
            if isinstance(kind, pl.Struct)
        ]
        frame.with_columns(texts).write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_ndjson(path)


class _Data(evalkit.Dataset):
    name = "validated"
    task = "nli"
    labels = Nli.labels
    path = Path()

    def load(self, split: str) -> Any:
        if self.path.suffix == ".dicts":
            return pl.read_parquet(self.path.with_suffix(".parquet")).to_dicts()
        return self.path


def _inputs(path: Path, way: str) -> Callable[[], Any]:
    _Data.path = path
    resolver = Resolver(Registry())
    dataset = resolver.dataset(_Data)
    task = resolver.task(dataset)

    def read() -> Any:
        loaded = load_rows(dataset, task, "test")
        if way == "columns":
            return checked_inputs(dataset, task, loaded)
        if way == "rows":
            for row in loaded.named():
                task.validate_input(row_of_table(task.Input, row)).model_dump()
        return loaded

    return read


def _outputs(path: Path, way: str) -> Callable[[], Any]:
    _Data.path = path.with_name("examples.parquet")
    resolver = Resolver(Registry())
    dataset = resolver.dataset(_Data)
    task = resolver.task(dataset)
    examples = load_examples(dataset, task, "test")
    ids = examples.frame["id"]

    def read() -> Any:
        reader = ResponseReader(task, dataset, examples)
        judged = JudgedRows(ids, reader)
        if way == "rows":
            reader.plan = None
        for block in read_responses(path, reader, ids):
            if way == "bad":
                judged.add(block)
                continue
            if way == "columns" and block.frame.height:
                assert reader.accept(block.frame).all()
            _use(block.rows, reader if way != "read" else None)
        assert way != "bad" or len(judged.problems) == len(ids)

    return read


def _use(rows: Iterable[Any], reader: ResponseReader | None) -> None:
    for row in rows:
        if reader is not None:
            assert not reader.read(row.values, row.values["id"], 0)[2]


def _measure(path: Path, way: str) -> dict[str, float]:
    make = _inputs if path.name.startswith("examples") else _outputs
    work = make(path, way)
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - started,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _in_process(path: Path, way: str, times: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", str(path), way]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(times)
    ]
    return min(found, key=lambda each: each["cpu"])


def _report(name: str, path: Path, times: int) -> None:
    found = {way: _in_process(path, way, times) for way in ("read", "columns", "rows")}
    base = found["read"]
    for way, each in found.items():
        added = f"{each['cpu'] / base['cpu'] - 1:+.0%} CPU, "
        added += f"{each['wall'] / base['wall'] - 1:+.0%} wall"
        print(
            f"{name:22} {way:8} {_shown(each)}  {added if way != 'read' else ''}",
            flush=True,
        )


def _shown(found: dict[str, float]) -> str:
    return "{cpu:7.2f} s CPU {wall:7.2f} s wall {peak:7.0f} MiB".format_map(found)


def main() -> None:
    """Measure all forms and print what validation adds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", help="such as 'predictions, jsonl'")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        path, way = given.measure
        print(json.dumps(_measure(Path(path), way)))
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _write(_examples(given.rows), place / "examples.parquet")
        for form in FORMS:
            _write(_examples(given.rows), place / f"examples.{form}")
            _write(_predictions(given.rows, False), place / f"predictions.{form}")
            _write(_predictions(given.rows, True), place / f"bad.{form}")
        for form in (*FORMS, "dicts"):
            if given.only in (None, f"examples, {form}"):
                _report(f"examples, {form}", place / f"examples.{form}", given.times)
        for form in FORMS:
            name = f"predictions, {form}"
            if given.only in (None, name):
                _report(name, place / f"predictions.{form}", given.times)
                bad = _in_process(place / f"bad.{form}", "bad", 1)
                print(f"{name:22} bad      {_shown(bad)}", flush=True)


if __name__ == "__main__":
    main()
