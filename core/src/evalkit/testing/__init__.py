"""Checks that metrics and perturbations keep the laws that scores rest on.

For the tests of a plugin's own package:

```python
from evalkit.testing import check_metric, check_perturbation

def test_laws():
    check_metric("my-metric")
    check_perturbation("my-perturbation")
```

It needs hypothesis, which the extra `testing` of evalkit-core installs.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis
except ImportError as error:
    raise ImportError(
        "evalkit.testing needs hypothesis; install evalkit-core with its extra "
        "'testing', in a checkout: pip install './core[testing]'"
    ) from error

from evalkit.testing.checking import MetricLawError, check_metric
from evalkit.testing.laws import LAWS
from evalkit.testing.perturbation_checking import (
    PerturbationLawError,
    check_perturbation,
)
from evalkit.testing.perturbation_laws import PERTURBATION_LAWS

del _hypothesis

__all__ = [
    "LAWS",
    "PERTURBATION_LAWS",
    "MetricLawError",
    "PerturbationLawError",
    "check_metric",
    "check_perturbation",
]
