"""Opens benchmark files as datasets: the reader of the suffixes `.yaml` and `.yml`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalkit_benchmarks_declared.datasets import DeclaredDataset, dataset_class
from evalkit_benchmarks_declared.reading import read_benchmark
from evalkit_benchmarks_declared.sources import local_files


class ReadPlugin(NamedTuple):
    """A plugin that was read from a file."""

    name: str
    plugin: type[DeclaredDataset]
    files: tuple[Path, ...]


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
