"""Checks that plugins keep the laws of their kinds.

For the tests of a plugin's own package:

```python
from evalkit_testing import check_metric, check_perturbation

def test_laws():
    check_metric("my-metric")
    check_perturbation("my-perturbation")
```

Each name is imported when it is first used, so that pytest may look for the option of
`evalkit_testing.pytest_plugin` without importing what it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit_testing.adapters import ADAPTER_LAWS as ADAPTER_LAWS
    from evalkit_testing.adapters import AdapterLawError as AdapterLawError
    from evalkit_testing.adapters import check_adapter as check_adapter
    from evalkit_testing.annotators import ANNOTATOR_LAWS as ANNOTATOR_LAWS
    from evalkit_testing.annotators import AnnotatorLawError as AnnotatorLawError
    from evalkit_testing.annotators import check_annotator as check_annotator
    from evalkit_testing.commands import COMMAND_LAWS as COMMAND_LAWS
    from evalkit_testing.commands import CommandLawError as CommandLawError
    from evalkit_testing.commands import check_command as check_command
    from evalkit_testing.datasets import DATASET_LAWS as DATASET_LAWS
    from evalkit_testing.datasets import DatasetLawError as DatasetLawError
    from evalkit_testing.datasets import check_dataset as check_dataset
    from evalkit_testing.datasets import dataset_sha256 as dataset_sha256
    from evalkit_testing.distributions import DISTRIBUTION_LAWS as DISTRIBUTION_LAWS
    from evalkit_testing.distributions import (
        DistributionLawError as DistributionLawError,
    )
    from evalkit_testing.distributions import check_distribution as check_distribution
    from evalkit_testing.metrics.checking import MetricLawError as MetricLawError
    from evalkit_testing.metrics.checking import check_metric as check_metric
    from evalkit_testing.metrics.laws import LAWS as LAWS
    from evalkit_testing.models import MODEL_LAWS as MODEL_LAWS
    from evalkit_testing.models import ModelLawError as ModelLawError
    from evalkit_testing.models import check_model as check_model
    from evalkit_testing.observers import OBSERVER_LAWS as OBSERVER_LAWS
    from evalkit_testing.observers import ObserverLawError as ObserverLawError
    from evalkit_testing.observers import check_observer as check_observer
    from evalkit_testing.perturbations.checking import (
        PerturbationLawError as PerturbationLawError,
    )
    from evalkit_testing.perturbations.checking import (
        check_perturbation as check_perturbation,
    )
    from evalkit_testing.perturbations.laws import (
        PERTURBATION_LAWS as PERTURBATION_LAWS,
    )
    from evalkit_testing.schemas import SCHEMA_LAWS as SCHEMA_LAWS
    from evalkit_testing.schemas import SchemaLawError as SchemaLawError
    from evalkit_testing.schemas import check_schema as check_schema
    from evalkit_testing.storage import STORAGE_LAWS as STORAGE_LAWS
    from evalkit_testing.storage import StorageLawError as StorageLawError
    from evalkit_testing.storage import check_storage as check_storage
    from evalkit_testing.tasks import TASK_LAWS as TASK_LAWS
    from evalkit_testing.tasks import TaskLawError as TaskLawError
    from evalkit_testing.tasks import check_task as check_task

_HOMES = {
    "adapters": "ADAPTER_LAWS AdapterLawError check_adapter",
    "annotators": "ANNOTATOR_LAWS AnnotatorLawError check_annotator",
    "commands": "COMMAND_LAWS CommandLawError check_command",
    "datasets": "DATASET_LAWS DatasetLawError check_dataset dataset_sha256",
    "distributions": "DISTRIBUTION_LAWS DistributionLawError check_distribution",
    "metrics.checking": "MetricLawError check_metric",
    "metrics.laws": "LAWS",
    "models": "MODEL_LAWS ModelLawError check_model",
    "observers": "OBSERVER_LAWS ObserverLawError check_observer",
    "perturbations.checking": "PerturbationLawError check_perturbation",
    "perturbations.laws": "PERTURBATION_LAWS",
    "schemas": "SCHEMA_LAWS SchemaLawError check_schema",
    "storage": "STORAGE_LAWS StorageLawError check_storage",
    "tasks": "TASK_LAWS TaskLawError check_task",
}

__all__ = sorted(name for names in _HOMES.values() for name in names.split())


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
