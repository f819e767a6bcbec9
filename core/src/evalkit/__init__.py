"""evalkit scores what models said.

Tasks, data sets, metrics and perturbations are plugins: small packages that are found
by their metadata and imported when they are named. Importing this package imports
nothing else; each public name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.compared_scores import ComparedScore, Comparison
    from evalkit.comparison import compare
    from evalkit.components import Component
    from evalkit.datasets import Dataset
    from evalkit.discovery import find_components
    from evalkit.dynabench import BaseTaskIO
    from evalkit.edits import Edit
    from evalkit.errors import (
        AlignmentError,
        DataError,
        EvalkitError,
        MetricError,
        PluginContractError,
        PluginError,
        PluginLoadError,
        RequiredParameterError,
        SchemaError,
        StorageError,
        UnknownPluginError,
    )
    from evalkit.evaluation import evaluate
    from evalkit.hookspecs import hookimpl
    from evalkit.merged_runs import merge
    from evalkit.metrics import Metric, metric
    from evalkit.pairs import score
    from evalkit.perturbations import Perturbation
    from evalkit.perturbed_files import perturb_dataset
    from evalkit.perturbed_rows import perturb
    from evalkit.planning import Plan, plan
    from evalkit.plugins import Parameters
    from evalkit.registry import Registry
    from evalkit.rescoring import rescore
    from evalkit.results import Result, Score
    from evalkit.run_listing import find_run
    from evalkit.stored_runs import read_run
    from evalkit.tasks import TaskIO
    from evalkit.terms import Entity, MetricContext, Source
    from evalkit.validation import Validation, validate
    from evalkit.verification import Verification, verify
    from evalkit.violations import Violation

_HOMES = {
    "AlignmentError": "errors",
    "BaseTaskIO": "dynabench",
    "ComparedScore": "compared_scores",
    "Comparison": "compared_scores",
    "Component": "components",
    "DataError": "errors",
    "Dataset": "datasets",
    "Edit": "edits",
    "Entity": "terms",
    "EvalkitError": "errors",
    "Metric": "metrics",
    "MetricContext": "terms",
    "MetricError": "errors",
    "Parameters": "plugins",
    "Perturbation": "perturbations",
    "Plan": "planning",
    "PluginContractError": "errors",
    "PluginError": "errors",
    "PluginLoadError": "errors",
    "RequiredParameterError": "errors",
    "Registry": "registry",
    "Result": "results",
    "SchemaError": "errors",
    "Score": "results",
    "Source": "terms",
    "StorageError": "errors",
    "TaskIO": "tasks",
    "UnknownPluginError": "errors",
    "Validation": "validation",
    "Violation": "violations",
    "Verification": "verification",
    "compare": "comparison",
    "evaluate": "evaluation",
    "find_components": "discovery",
    "find_run": "run_listing",
    "hookimpl": "hookspecs",
    "metric": "metrics",
    "merge": "merged_runs",
    "perturb": "perturbed_rows",
    "perturb_dataset": "perturbed_files",
    "plan": "planning",
    "read_run": "stored_runs",
    "rescore": "rescoring",
    "verify": "verification",
    "score": "pairs",
    "validate": "validation",
}

__all__ = [
    "AlignmentError",
    "BaseTaskIO",
    "ComparedScore",
    "Comparison",
    "Component",
    "DataError",
    "Dataset",
    "Edit",
    "Entity",
    "EvalkitError",
    "Metric",
    "MetricContext",
    "MetricError",
    "Parameters",
    "Perturbation",
    "Plan",
    "PluginContractError",
    "PluginError",
    "PluginLoadError",
    "Registry",
    "RequiredParameterError",
    "Result",
    "SchemaError",
    "Score",
    "Source",
    "StorageError",
    "TaskIO",
    "UnknownPluginError",
    "Validation",
    "Verification",
    "Violation",
    "compare",
    "evaluate",
    "find_components",
    "find_run",
    "hookimpl",
    "merge",
    "metric",
    "perturb",
    "perturb_dataset",
    "plan",
    "read_run",
    "rescore",
    "score",
    "validate",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("evalkit-core")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"evalkit.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
