"""What `pytest --evalkit-conformance` checks the laws with."""

from __future__ import annotations

from typing import Any


def pytest_evalkit_options(kind: str, name: str) -> dict[str, Any] | None:
    """Return arguments of the check, such as `check_metric`."""
    # this one looks at no answer, so that a right prediction need not score best
    return {"perfect": None}
