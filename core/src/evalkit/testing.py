"""The conformance kit: another name for the package `evalkit_testing`.

The distribution `evalkit-testing` has it, which is part of `evalkit-suite`; core does
not require it. It is imported when one of its names is first used:

```python
from evalkit.testing import check_metric, check_perturbation

def test_laws():
    check_metric("my-metric")
    check_perturbation("my-perturbation")
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import names_of_distribution

if TYPE_CHECKING:
    from evalkit_testing import ANNOTATOR_LAWS as ANNOTATOR_LAWS
    from evalkit_testing import DATASET_LAWS as DATASET_LAWS
    from evalkit_testing import LAWS as LAWS
    from evalkit_testing import PERTURBATION_LAWS as PERTURBATION_LAWS
    from evalkit_testing import TASK_LAWS as TASK_LAWS
    from evalkit_testing import AnnotatorLawError as AnnotatorLawError
    from evalkit_testing import DatasetLawError as DatasetLawError
    from evalkit_testing import MetricLawError as MetricLawError
    from evalkit_testing import PerturbationLawError as PerturbationLawError
    from evalkit_testing import TaskLawError as TaskLawError
    from evalkit_testing import check_annotator as check_annotator
    from evalkit_testing import check_dataset as check_dataset
    from evalkit_testing import check_metric as check_metric
    from evalkit_testing import check_perturbation as check_perturbation
    from evalkit_testing import check_task as check_task
    from evalkit_testing import dataset_sha256 as dataset_sha256
else:
    __getattr__, __dir__, __all__ = names_of_distribution(
        __name__,
        "evalkit-testing",
        "plugins/testing/kit",
        "ANNOTATOR_LAWS AnnotatorLawError DATASET_LAWS DatasetLawError LAWS "
        "MetricLawError PERTURBATION_LAWS PerturbationLawError TASK_LAWS TaskLawError "
        "check_annotator check_dataset check_metric check_perturbation check_task "
        "dataset_sha256",
    )
