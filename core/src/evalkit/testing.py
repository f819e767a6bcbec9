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

if TYPE_CHECKING:
    from evalkit_testing import (
        ANNOTATOR_LAWS,
        LAWS,
        PERTURBATION_LAWS,
        AnnotatorLawError,
        MetricLawError,
        PerturbationLawError,
        check_annotator,
        check_metric,
        check_perturbation,
    )

_KIT = "evalkit_testing"

__all__ = [
    "ANNOTATOR_LAWS",
    "LAWS",
    "PERTURBATION_LAWS",
    "AnnotatorLawError",
    "MetricLawError",
    "PerturbationLawError",
    "check_annotator",
    "check_metric",
    "check_perturbation",
]


if not TYPE_CHECKING:  # so that a wrong name is an error for type checkers, too

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        try:
            kit = import_module(_KIT)
        except ModuleNotFoundError as error:
            if error.name != _KIT:
                raise
            raise ImportError(
                "evalkit.testing needs the distribution evalkit-testing; install it, "
                "in a checkout: pip install ./core ./plugins/testing/kit"
            ) from error
        return getattr(kit, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
