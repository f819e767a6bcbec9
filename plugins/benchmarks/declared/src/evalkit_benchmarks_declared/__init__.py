"""Benchmarks that a YAML file declares.

`read_benchmark` reads and checks a file, `dataset_class` makes a dataset of it, which
`evalkit.evaluate` takes. `expand` finds the variants, and `check` checks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_benchmarks_declared.datasets import dataset_class as dataset_class
    from evalkit_benchmarks_declared.expansion import Expansion as Expansion
    from evalkit_benchmarks_declared.expansion import Mean as Mean
    from evalkit_benchmarks_declared.expansion import expand as expand
    from evalkit_benchmarks_declared.reading import check_benchmark as check_benchmark
    from evalkit_benchmarks_declared.reading import read_benchmark as read_benchmark
    from evalkit_benchmarks_declared.schema import Benchmark as Benchmark
    from evalkit_benchmarks_declared.validation import check as check
    from evalkit_benchmarks_declared.validation import find_refused as find_refused
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
