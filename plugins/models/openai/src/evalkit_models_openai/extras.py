"""Further fields of requests, as a user gives them."""

from __future__ import annotations

import json
from typing import Any

from evalkit.adapters import read_stages


def read_extra_body(given: Any) -> Any:
    """Return what JSON, or a file of JSON or YAML, says.

    Args:
        given: A text, parts of one that was split at `/`, or an object.

    Raises:
        ValueError: It is no JSON.
        AdapterError: The file cannot be read.
    """
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        given = "/".join(given)
    if not isinstance(given, str):
        return given
    return json.loads(given) if given.lstrip().startswith("{") else read_stages(given)
