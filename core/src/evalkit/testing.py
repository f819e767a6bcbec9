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
    from evalkit_testing import ADAPTER_LAWS as ADAPTER_LAWS
    from evalkit_testing import ANNOTATOR_LAWS as ANNOTATOR_LAWS
    from evalkit_testing import COMMAND_LAWS as COMMAND_LAWS
    from evalkit_testing import DATASET_LAWS as DATASET_LAWS
    from evalkit_testing import DISTRIBUTION_LAWS as DISTRIBUTION_LAWS
    from evalkit_testing import LAWS as LAWS
    from evalkit_testing import MODEL_LAWS as MODEL_LAWS
    from evalkit_testing import OBSERVER_LAWS as OBSERVER_LAWS
    from evalkit_testing import PERTURBATION_LAWS as PERTURBATION_LAWS
    from evalkit_testing import RECOGNISER_LAWS as RECOGNISER_LAWS
    from evalkit_testing import SCHEMA_LAWS as SCHEMA_LAWS
    from evalkit_testing import STORAGE_LAWS as STORAGE_LAWS
    from evalkit_testing import TASK_LAWS as TASK_LAWS
    from evalkit_testing import AdapterLawError as AdapterLawError
    from evalkit_testing import AnnotatorLawError as AnnotatorLawError
    from evalkit_testing import CommandLawError as CommandLawError
    from evalkit_testing import DatasetLawError as DatasetLawError
    from evalkit_testing import DistributionLawError as DistributionLawError
    from evalkit_testing import MetricLawError as MetricLawError
    from evalkit_testing import ModelLawError as ModelLawError
    from evalkit_testing import ObserverLawError as ObserverLawError
    from evalkit_testing import PerturbationLawError as PerturbationLawError
    from evalkit_testing import RecogniserLawError as RecogniserLawError
    from evalkit_testing import SchemaLawError as SchemaLawError
    from evalkit_testing import StorageLawError as StorageLawError
    from evalkit_testing import TaskLawError as TaskLawError
    from evalkit_testing import check_adapter as check_adapter
    from evalkit_testing import check_annotator as check_annotator
    from evalkit_testing import check_command as check_command
    from evalkit_testing import check_dataset as check_dataset
    from evalkit_testing import check_distribution as check_distribution
    from evalkit_testing import check_metric as check_metric
    from evalkit_testing import check_model as check_model
    from evalkit_testing import check_observer as check_observer
    from evalkit_testing import check_perturbation as check_perturbation
    from evalkit_testing import check_recogniser as check_recogniser
    from evalkit_testing import check_schema as check_schema
    from evalkit_testing import check_storage as check_storage
    from evalkit_testing import check_task as check_task
    from evalkit_testing import dataset_sha256 as dataset_sha256
else:
    __getattr__, __dir__, __all__ = names_of_distribution(
        __name__,
        "evalkit-testing",
        "plugins/testing/kit",
        "ADAPTER_LAWS ANNOTATOR_LAWS COMMAND_LAWS DATASET_LAWS DISTRIBUTION_LAWS LAWS "
        "MODEL_LAWS OBSERVER_LAWS PERTURBATION_LAWS RECOGNISER_LAWS SCHEMA_LAWS "
        "STORAGE_LAWS TASK_LAWS AdapterLawError AnnotatorLawError CommandLawError "
        "DatasetLawError DistributionLawError MetricLawError ModelLawError "
        "ObserverLawError PerturbationLawError RecogniserLawError SchemaLawError "
        "StorageLawError TaskLawError check_adapter check_annotator check_command "
        "check_dataset check_distribution check_metric check_model check_observer "
        "check_perturbation check_recogniser check_schema check_storage check_task "
        "dataset_sha256",
    )
