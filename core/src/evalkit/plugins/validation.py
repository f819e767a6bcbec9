"""Validates rows that may have come as Python values or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

_NOT_OF_JSON = frozenset(
    {
        *("bytes_type", "date_type", "datetime_type", "time_type", "time_delta_type"),
        *("tuple_type", "set_type", "frozen_set_type", "is_instance_of"),
    }
)
"""What pydantic calls values that a strict model takes from JSON only as something
else, such as a date as a text."""


def validated(
    model: type[BaseModel], row: Mapping[str, Any], labels: Sequence[str] | None = None
) -> BaseModel:
    """Validate a row.

    A strict model takes a date as a text from JSON, and from Python only as a date; a
    row is valid where it is so in one of the two ways.
    """
    config, context = model.model_config, {"labels": labels}
    if config.get("val_json_bytes", "utf8") != "utf8" and (text := _as_json(row)):
        return model.model_validate_json(text, context=context)
    try:
        return model.model_validate(row, context=context)
    except ValidationError as error:
        found = [each for each in error.errors() if each["type"] in _NOT_OF_JSON]
        if not found:
            raise
        if text := _as_json(row):
            return model.model_validate_json(text, context=context)
        # a table may hold bytes, which JSON lacks, beside texts for other types
        if len(found) < error.error_count() or not all(map(_is_plain, found)):
            raise
    return model.model_validate(row, strict=False, context=context)


def _as_json(row: Mapping[str, Any]) -> str | None:
    """Write a row as JSON; None where it did not come as that."""
    try:
        return json.dumps(dict(row))
    except (TypeError, ValueError, RecursionError):
        return None


def _is_plain(error: Any) -> bool:
    return isinstance(error["input"], str | list)
