"""Further fields of requests, as a user gives them."""

from __future__ import annotations

import json
from typing import Any

from evalkit.errors import AdapterError
from evalkit_adapters_rows import read_stages


def read_extra_body(given: Any) -> Any:
    """Return what JSON, or a file of JSON or YAML, says."""
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        given = "/".join(given)
    if not isinstance(given, str):
        return given
    try:
        is_json = given.lstrip().startswith("{")
        return json.loads(given) if is_json else read_stages(given)
    except ValueError as error:
        raise ValueError(f"is no JSON ({error})") from error
    except AdapterError as error:
        raise ValueError(f"is no file that can be read ({error})") from error
