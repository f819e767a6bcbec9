"""Reads what made predictions, and how it was asked, from the file beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.base.violations import from_pydantic, shorten
from evalkit.errors import DataError
from evalkit.plugins.sources import sha256_of
from evalkit.predictions.adapted import AdaptedPredictions
from evalkit.reading.formats import model_name
from evalkit.reading.given_rows import file_at, path_beside
from evalkit.reading.rows import decode_json

SUFFIX = ".system.json"


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

    @property
    def recorded(self) -> dict[str, Any]:
        """What a run records of it; of the predictions it has another digest."""
        said = self.model_dump(mode="json", exclude={"predictions_sha256"})
        text = json.dumps(said, sort_keys=True, ensure_ascii=False)
        sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return {"sha256": sha256, **said}


def read_system(predictions: Any) -> System | None:
    """Read the file beside a file of predictions.

    Args:
        predictions: The file, or what was given in its place.

    Returns:
        What it says; None where there is no such file.

    Raises:
        DataError: It cannot be read, or breaks the schema of such files.
    """
    if isinstance(predictions, AdaptedPredictions):
        predictions = predictions.given
    if not isinstance(predictions, str | Path):
        return None
    given = file_at(predictions)
    if not given.name:
        return None
    path = path_beside(given, model_name(given) + SUFFIX)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        said = decode_json(text)
        if not isinstance(said, Mapping):
            raise DataError(f"must be an object, found {shorten(said)}")
        found = System.model_validate(dict(said))
        if found.predictions_sha256 not in (None, sha256_of(given)):
            raise DataError(f"tells of other predictions than {given} holds now")
        return found
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise _refusal(path, "; ".join(map(str, from_pydantic(error)))) from error
    except (DataError, ValueError, RecursionError) as error:
        raise _refusal(path, str(error)) from error


def _refusal(path: Path, why: str) -> DataError:
    return DataError(
        f"{path}: {why}. It is read as what made the predictions beside it; mend it, "
        "or call it otherwise"
    )
