"""What `pytest --evalkit-conformance` checks the laws with."""

from __future__ import annotations

from typing import Any


def pytest_evalkit_options(kind: str, name: str) -> dict[str, Any] | None:
    """Give rows that it adapts, and some that it refuses."""
    rows = [{"id": "1", "label": "Positive"}, {"id": "2", "label": "NEGATIVE"}]
    return {"rows": rows, "broken": [{"id": "3", "label": 3}]}
