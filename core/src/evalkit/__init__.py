"""evalkit scores what models said.

Tasks, data sets, metrics and perturbations are plugins: small packages that are found
by their metadata and imported when they are named. Importing this package imports
nothing else; each public name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalkit.base.lazy import lazy_attributes

if TYPE_CHECKING:
    from evalkit.base.terms import Entity, MetricContext, Source
    from evalkit.base.violations import Violation
    from evalkit.comparing.comparison import compare
    from evalkit.comparing.records import ComparedScore, Comparison
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
    from evalkit.hookspecs import hookimpl
    from evalkit.perturbing.files import perturb_dataset
    from evalkit.perturbing.rows import perturb
    from evalkit.plugins.classes import Parameters
    from evalkit.plugins.components import Component
    from evalkit.plugins.dataset import Dataset
    from evalkit.plugins.discovery import find_components
    from evalkit.plugins.dynabench import BaseTaskIO
    from evalkit.plugins.metric import Metric, metric
    from evalkit.plugins.perturbation import Perturbation
    from evalkit.plugins.registry import Registry
    from evalkit.plugins.task import TaskIO
    from evalkit.runs.listing import find_run
    from evalkit.runs.results import Result
    from evalkit.runs.score_columns import Score
    from evalkit.runs.stored import read_run
    from evalkit.workflows.evaluation import evaluate, evaluate_with
    from evalkit.workflows.lists import score
    from evalkit.workflows.merging import merge
    from evalkit.workflows.options import EvaluationOptions
    from evalkit.workflows.planning import Plan, plan
    from evalkit.workflows.rescoring import rescore
    from evalkit.workflows.validation import Validation, validate, validate_with
    from evalkit.workflows.verification import Verification, verify

_HOMES = {
    "AlignmentError": "errors",
    "BaseTaskIO": "plugins.dynabench",
    "ComparedScore": "comparing.records",
    "Comparison": "comparing.records",
    "Component": "plugins.components",
    "DataError": "errors",
    "Dataset": "plugins.dataset",
    "Edit": "edits",
    "Entity": "base.terms",
    "EvalkitError": "errors",
    "EvaluationOptions": "workflows.options",
    "Metric": "plugins.metric",
    "MetricContext": "base.terms",
    "MetricError": "errors",
    "Parameters": "plugins.classes",
    "Perturbation": "plugins.perturbation",
    "Plan": "workflows.planning",
    "PluginContractError": "errors",
    "PluginError": "errors",
    "PluginLoadError": "errors",
    "RequiredParameterError": "errors",
    "Registry": "plugins.registry",
    "Result": "runs.results",
    "SchemaError": "errors",
    "Score": "runs.score_columns",
    "Source": "base.terms",
    "StorageError": "errors",
    "TaskIO": "plugins.task",
    "UnknownPluginError": "errors",
    "Validation": "workflows.validation",
    "Violation": "base.violations",
    "Verification": "workflows.verification",
    "compare": "comparing.comparison",
    "evaluate": "workflows.evaluation",
    "evaluate_with": "workflows.evaluation",
    "find_components": "plugins.discovery",
    "find_run": "runs.listing",
    "hookimpl": "hookspecs",
    "metric": "plugins.metric",
    "merge": "workflows.merging",
    "perturb": "perturbing.rows",
    "perturb_dataset": "perturbing.files",
    "plan": "workflows.planning",
    "read_run": "runs.stored",
    "rescore": "workflows.rescoring",
    "verify": "workflows.verification",
    "score": "workflows.lists",
    "validate": "workflows.validation",
    "validate_with": "workflows.validation",
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
    "EvaluationOptions",
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
    "evaluate_with",
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
    "validate_with",
    "verify",
]


_get, __dir__ = lazy_attributes(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("evalkit-core")
    return _get(name)
