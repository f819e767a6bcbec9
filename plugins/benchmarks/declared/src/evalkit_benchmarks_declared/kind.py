"""The kind `benchmarks`: datasets that a file declares."""

from __future__ import annotations

from evalkit.catalog import Kind


class BenchmarkSpec:
    """A dataset that a file declares; `docs/benchmarks.md` has the keys of the file."""


BENCHMARKS = Kind("benchmarks", BenchmarkSpec)
