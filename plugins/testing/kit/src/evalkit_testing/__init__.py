"""Checks that plugins keep the laws of their kinds.

For the tests of a plugin's own package:

```python
from evalkit_testing import check_metric, check_perturbation

def test_laws():
    check_metric("my-metric")
    check_perturbation("my-perturbation")
```

`evalkit.testing` is another name for this package.
"""

from evalkit_testing.adapters import ADAPTER_LAWS, AdapterLawError, check_adapter
from evalkit_testing.annotators import (
    ANNOTATOR_LAWS,
    AnnotatorLawError,
    check_annotator,
)
from evalkit_testing.datasets import (
    DATASET_LAWS,
    DatasetLawError,
    check_dataset,
    dataset_sha256,
)
from evalkit_testing.metrics.checking import MetricLawError, check_metric
from evalkit_testing.metrics.laws import LAWS
from evalkit_testing.models import MODEL_LAWS, ModelLawError, check_model
from evalkit_testing.perturbations.checking import (
    PerturbationLawError,
    check_perturbation,
)
from evalkit_testing.perturbations.laws import PERTURBATION_LAWS
from evalkit_testing.tasks import TASK_LAWS, TaskLawError, check_task

__all__ = [
    "ADAPTER_LAWS",
    "ANNOTATOR_LAWS",
    "DATASET_LAWS",
    "LAWS",
    "MODEL_LAWS",
    "PERTURBATION_LAWS",
    "TASK_LAWS",
    "AdapterLawError",
    "AnnotatorLawError",
    "DatasetLawError",
    "MetricLawError",
    "ModelLawError",
    "PerturbationLawError",
    "TaskLawError",
    "check_adapter",
    "check_annotator",
    "check_dataset",
    "check_metric",
    "check_model",
    "check_perturbation",
    "check_task",
    "dataset_sha256",
]
