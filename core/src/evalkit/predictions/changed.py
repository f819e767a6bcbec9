"""Predictions whose rows a stage changes as they are read, and files beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl
from pydantic import BaseModel, ValidationError

from evalkit.base.violations import from_pydantic, shorten
from evalkit.errors import DataError
from evalkit.examples.row_stages import RowStage
from evalkit.reading.rows import decode_json

_Model = TypeVar("_Model", bound=BaseModel)


class ChangedPredictions(NamedTuple):
    """Predictions, and what changes their rows."""

    given: str | Path | pl.DataFrame | Sequence[Mapping[str, Any]]
    """A file or rows, as the model wrote them."""
    stage: RowStage
    """What changes the rows."""


def file_of(predictions: Any) -> str | Path | None:
    """Return the file of predictions; None where they are of none."""
    if isinstance(predictions, ChangedPredictions):
        predictions = predictions.given
    return predictions if isinstance(predictions, str | Path) else None


def read_beside(path: Path, model: type[_Model]) -> tuple[_Model, bytes] | None:
    """Read a JSON file beside predictions.

    Returns:
        What it says, and its bytes; None where it is not there.
    """
    if not (path.exists() or path.is_symlink()):
        return None
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise DataError("is no file that can be read again")
        content = path.read_bytes()
        return checked_figures(model, _decode(model, content)), content
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except DataError as error:
        raise DataError(
            f"{path}: {error}. It is read with the predictions beside it: fix or "
            "rename it"
        ) from error


def _decode(model: type[BaseModel], content: bytes) -> Any:
    text = ""
    try:
        text = content.decode("utf-8-sig")
        return decode_json(text)
    except (ValueError, RecursionError) as error:
        # NaN is no JSON, but what is to be mended is the field that holds it
        with suppress(ValueError, RecursionError):
            checked_figures(model, json.loads(text))
        raise DataError(f"no JSON: {error}") from error


def checked_figures(model: type[_Model], values: Any) -> _Model:
    """Return values as a model."""
    if not isinstance(values, Mapping):
        raise DataError(f"must be an object, found {shorten(values)}")
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        # what is wrong with several keys at once names them
        raise DataError(
            "; ".join(
                each.rule if each.field == "(row)" else str(each)
                for each in from_pydantic(error)
            )
        ) from error
