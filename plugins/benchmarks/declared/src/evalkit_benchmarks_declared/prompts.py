"""Compiles the prompt of a benchmark file to prompts of the engine."""

from __future__ import annotations

from typing import Any, NamedTuple

from evalkit_benchmarks_declared.schema import Benchmark


class CompiledPrompts(NamedTuple):
    """Prompts of the engine, and fields that they need."""

    prompts: dict[str, dict[str, Any]]
    computed: dict[str, str]


def compile_prompts(benchmark: Benchmark) -> CompiledPrompts:
    """Make the engine's prompts."""
    if benchmark.prompt is None:
        return CompiledPrompts({}, {})
    values = benchmark.prompt.model_dump(exclude_unset=True)
    values.pop("by_kind", None)
    return CompiledPrompts({"default": values}, {})
