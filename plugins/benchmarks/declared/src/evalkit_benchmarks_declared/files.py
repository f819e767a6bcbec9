"""Opens benchmark files as datasets: the reader of the suffixes `.yaml` and `.yml`."""

from __future__ import annotations

from pathlib import Path

from evalkit.catalog import ReadPlugin
from evalkit_benchmarks_declared.datasets import dataset_class
from evalkit_benchmarks_declared.reading import read_benchmark
from evalkit_benchmarks_declared.sources import local_files


def read(text: str) -> ReadPlugin:
    """Read a benchmark file.

    Args:
        text: Path of the file.

    Returns:
        Its name, its dataset, and the files that it is made of.

    Raises:
        SchemaError: The file cannot be read or breaks the schema.
    """
    path = Path(text)
    benchmark = read_benchmark(path)
    data = local_files(benchmark.data, path.parent)
    made = dataset_class(benchmark, path)
    return ReadPlugin(benchmark.name, made, (path, *data))
