"""Reads what made predictions, and how it was asked, from the file beside them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from evalkit.errors import DataError
from evalkit.plugins.sources import sha256_of
from evalkit.predictions.changed import file_of, read_beside
from evalkit.reading.formats import model_name
from evalkit.reading.given_rows import file_at, path_beside

SUFFIX = ".system.json"

_DEEPEST = 100
"""Values are within no more others, as a run holds them deeper still."""


class System(BaseModel):
    """What made predictions, and how it was asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="system")

    model: Mapping[str, Any] = Field(
        description="The model: its id, parameters and version, and what it says of "
        "itself."
    )
    prompt: Mapping[str, Any] | None = Field(
        None, description="How it was asked; null where it answers inputs as they are."
    )
    extract: str | list[Any] | None = Field(
        None, description="What takes the answer out of a reply, unless a user says it."
    )

    predictions_sha256: str | None = Field(
        None, description="Of the file of predictions that it tells of."
    )

    @field_validator("extract")
    @classmethod
    def _holds_stages(cls, extract: Any) -> Any:
        is_said = not isinstance(extract, str) or re.search("[|]|:(?!//)", extract)
        if not is_said and extract.endswith((".yaml", ".yml", ".json")):
            raise ValueError("must be extractors, and not a file of them")
        return extract

    @model_validator(mode="before")
    @classmethod
    def _is_shallow(cls, values: Any) -> Any:
        _refuse_deep(values)
        return values

    @property
    def recorded(self) -> dict[str, Any]:
        """What a run records of it; of the predictions it has another digest.

        What a prompt and the file of its shots are called is no part of the digest.
        """
        said = self.model_dump(mode="json", exclude={"predictions_sha256"})
        told = {k: each for k, each in (said["prompt"] or {}).items() if k != "name"}
        if "shown" in told and isinstance(told.get("shots"), dict):
            told["shots"] = {k: v for k, v in told["shots"].items() if k != "source"}
        identity = {**said, "prompt": None if said["prompt"] is None else told}
        text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return {"sha256": sha256, **said}


def read_system(predictions: Any) -> System | None:
    """Read the file beside a file of predictions.

    Args:
        predictions: The file, or what was given in its place.

    Returns:
        What it says; None where there is no such file.
    """
    file = file_of(predictions)
    path = None if file is None else system_file(file)
    found = None if path is None else read_beside(path, System)
    if file is None or found is None:
        return None
    given, system = file_at(file), found[0]
    if system.predictions_sha256 not in (None, sha256_of(given)):
        raise DataError(f"{path}: tells of other predictions than {given} holds now")
    return system


def system_file(predictions: str | Path) -> Path | None:
    """Return the file that tells of a file of predictions, which need not be there."""
    given = file_at(predictions)
    return path_beside(given, model_name(given) + SUFFIX) if given.name else None


def _refuse_deep(value: Any, left: int = _DEEPEST) -> None:
    """Refuse values within too many others."""
    if not isinstance(value, Mapping | list):
        return
    if not left:
        raise ValueError(f"is nested more than {_DEEPEST} deep")
    for each in value.values() if isinstance(value, Mapping) else value:
        _refuse_deep(each, left - 1)
