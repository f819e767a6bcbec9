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
from evalkit_testing.perturbations.checking import (
    PerturbationLawError,
    check_perturbation,
)
from evalkit_testing.perturbations.laws import PERTURBATION_LAWS
from evalkit_testing.tasks import TASK_LAWS, TaskLawError, check_task

__all__ = [
    "ANNOTATOR_LAWS",
    "DATASET_LAWS",
    "LAWS",
    "PERTURBATION_LAWS",
    "TASK_LAWS",
    "AnnotatorLawError",
    "DatasetLawError",
    "MetricLawError",
    "PerturbationLawError",
    "TaskLawError",
    "check_annotator",
    "check_dataset",
    "check_metric",
    "check_perturbation",
    "check_task",
    "dataset_sha256",
]
