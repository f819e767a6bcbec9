"""Checks that metrics, perturbations, annotators and data sets keep their laws.

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

__all__ = [
    "ANNOTATOR_LAWS",
    "DATASET_LAWS",
    "LAWS",
    "PERTURBATION_LAWS",
    "AnnotatorLawError",
    "DatasetLawError",
    "MetricLawError",
    "PerturbationLawError",
    "check_annotator",
    "check_dataset",
    "check_metric",
    "check_perturbation",
    "dataset_sha256",
]
