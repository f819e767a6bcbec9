"""All violations."""

from __future__ import annotations

from benchmarks.violations import (
    adapters,
    asked,
    datasets,
    kept,
    metrics,
    perturbations,
    tasks,
)
from benchmarks.violations.entry import Violation

EVERY: tuple[Violation, ...] = (
    *metrics.VIOLATIONS,
    *tasks.VIOLATIONS,
    *datasets.VIOLATIONS,
    *perturbations.VIOLATIONS,
    *asked.ANNOTATORS,
    *adapters.VIOLATIONS,
    *kept.STORAGE,
    *asked.MODELS,
    *kept.SCHEMAS,
    *kept.COMMANDS,
    *asked.OBSERVERS,
)
