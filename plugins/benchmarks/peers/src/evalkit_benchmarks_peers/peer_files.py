"""Files of other programs, of which each key is read or refused by name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from evalkit.errors import DataError
from evalkit_benchmarks_declared.reading import lines_of, located

Model = TypeVar("Model", bound=BaseModel)


class PeerFile(NamedTuple):
    """A file of another program.

    Attributes:
        path: The file.
        values: What it says.
    """

    path: Path
    values: Any

    def error(self, problem: str, *keys: str | int) -> DataError:
        """Return the error that names file, line and key.

        Args:
            problem: What is wrong, and what to do.
            keys: The key, from the outermost.
        """
        place = located(str(self.path), lines_of(self.path), keys)
        key = ".".join(map(str, keys))
        return DataError(f"{place}: {key}: {problem}" if key else f"{place}: {problem}")

    def checked(self, model: type[Model], given: Any, *keys: str | int) -> Model:
        """Return a part of the file as a model, of which no other key is known.

        Args:
            model: The model.
            given: The part.
            keys: Where it is.

        Raises:
            DataError: It breaks the model; the message names the first key that does.
        """
        try:
            return model.model_validate(given)
        except ValidationError as error:
            problem = error.errors()[0]
        place: tuple[str | int, ...] = (*keys, *problem["loc"])
        if problem["type"] != "extra_forbidden":
            text = problem["msg"].removeprefix("Value error, ")
            raise self.error(f"{text}, got {problem['input']!r:.60}", *place)
        names = _names(model, problem["loc"][:-1])
        near = get_close_matches(str(place[-1]), names, n=1)
        meant = f"Did you mean {near[0]!r}?" if near else f"Keys: {', '.join(names)}"
        raise self.error(f"evalkit does not know this key. {meant}", *place)


def read_peer_file(path: Path) -> PeerFile:
    """Read a file in JSON or YAML.

    Args:
        path: The file.

    Raises:
        DataError: It cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    try:
        is_json = path.suffix == ".json"
        return PeerFile(path, json.loads(text) if is_json else yaml.safe_load(text))
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def component_name(name: str) -> str:
    """Return a name in lower case and hyphens, of at most 62 characters."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "task"
    if len(plain) <= 62:
        return plain
    return f"{plain[:53].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def escaped(text: str) -> str:
    """Return a text as a template in braces that stands for it."""
    return text.replace("{", "{{").replace("}", "}}")


def _names(model: Any, place: Sequence[str | int]) -> list[str]:
    """Return the keys that a part of a model has."""
    for key in place:
        if isinstance(key, str) and key in getattr(model, "model_fields", ()):
            kinds = [model.model_fields[key].annotation]
            for kind in kinds:
                kinds += get_args(kind)
            model = next(
                (each for each in kinds if hasattr(each, "model_fields")), None
            )
    return [*getattr(model, "model_fields", ())]
