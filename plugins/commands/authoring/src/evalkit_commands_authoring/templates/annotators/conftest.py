"""What `pytest --evalkit-conformance` checks the laws with."""

from __future__ import annotations

from typing import Any


def pytest_evalkit_options(kind: str, name: str) -> dict[str, Any] | None:
    """Return arguments of the check, such as `check_annotator`."""
    if kind == "annotators":
        return {"examples": [("Thanks!", ""), ("No.", "")]}
    told = [
        ("Thanks!", "", {"my-thing": True}),
        ("No.", "", {"my-thing": False}),
    ]
    return {"examples": told, "perfect": None}
