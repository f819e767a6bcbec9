"""Opens benchmark files as datasets: the reader of the suffixes `.yaml` and `.yml`."""

from __future__ import annotations

from pathlib import Path

from evalkit.catalog import ReadPlugin
from evalkit_benchmarks_declared.datasets import dataset_class
from evalkit_benchmarks_declared.reading import read_benchmark


def read(text: str) -> ReadPlugin:
    """Read a benchmark file: its name, its dataset, and the file itself."""
    path = Path(text)
    benchmark = read_benchmark(path)
    return ReadPlugin(benchmark.name, dataset_class(benchmark, path), (path,))
