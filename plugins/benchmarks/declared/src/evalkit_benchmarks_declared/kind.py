"""The kind `benchmarks`: datasets that a file declares."""

from __future__ import annotations

from evalkit.catalog import Kind


class BenchmarkSpec:
    """A benchmark is a dataset, which a file declares without code.

    `evalkit show --contract datasets` has the hooks, and `docs/benchmarks.md` the keys
    of the file.
    """


BENCHMARKS = Kind("benchmarks", BenchmarkSpec)
