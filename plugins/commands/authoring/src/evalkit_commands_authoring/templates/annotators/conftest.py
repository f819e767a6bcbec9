"""What `pytest --evalkit-conformance` checks the laws with."""

from __future__ import annotations

from typing import Any


def pytest_evalkit_options(kind: str, name: str) -> dict[str, Any] | None:
    """Give examples: prediction, answer, and for the metric what it reads."""
    if kind == "annotators":
        return {"examples": [("Thanks!", ""), ("No.", "")]}
    thanks, no = ({"my-thing": said} for said in (True, False))
    return {"examples": [("Thanks!", "", thanks), ("No.", "", no)], "perfect": None}
