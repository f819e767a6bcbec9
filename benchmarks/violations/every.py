"""All violations."""

from __future__ import annotations

from benchmarks.violations import asked, inputs, kept, metrics
from benchmarks.violations.entry import Violation

EVERY: tuple[Violation, ...] = (
    *metrics.VIOLATIONS,
    *inputs.TASKS,
    *inputs.DATASETS,
    *inputs.PERTURBATIONS,
    *asked.ANNOTATORS,
    *inputs.ADAPTERS,
    *kept.STORAGE,
    *asked.MODELS,
    *asked.RECOGNISERS,
    *kept.SCHEMAS,
    *kept.COMMANDS,
    *asked.OBSERVERS,
)
