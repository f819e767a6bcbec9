"""The kind `benchmarks`: data sets that a file declares, with prompts and metrics."""

from __future__ import annotations

from dataclasses import replace

from evalkit.plugins.bound import DATASETS

BENCHMARKS = replace(DATASETS, name="benchmarks", word="benchmark")
"""A benchmark is a data set: it implements the same hooks."""
