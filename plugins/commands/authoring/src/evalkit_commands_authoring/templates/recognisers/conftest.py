"""What `pytest --evalkit-conformance` checks the laws with."""

from __future__ import annotations

from typing import Any


def pytest_evalkit_options(kind: str, name: str) -> dict[str, Any] | None:
    """Give texts in each of which something is found."""
    return {"texts": ["I saw Dr. Okafor.", "Mr. Li met Mrs. Ng."]}
