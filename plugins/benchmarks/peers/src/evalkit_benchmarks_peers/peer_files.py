"""Files of other programs, of which each key is read or refused by name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from evalkit.errors import DataError
from evalkit_benchmarks_declared.reading import lines_of, located


class Spec(BaseModel):
    """Base of the parts of such files: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


Model = TypeVar("Model", bound=Spec)


class PeerFile(NamedTuple):
    """A file of another program: its path, and what it says."""

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

    def checked(self, model: type[Model]) -> Model:
        """Return what the file says as a model.

        Raises:
            DataError: It breaks the model; the message names the first key that does.
        """
        try:
            return model.model_validate(self.values)
        except ValidationError as error:
            problem = error.errors()[0]
        keys, value = problem["loc"], problem["input"]
        text = f"{problem['msg'].removeprefix('Value error, ')}, got {value!r:.60}"
        if problem["type"] == "none_required":
            text = "evalkit does not have this. Leave it out"
        elif problem["type"] == "extra_forbidden":
            known = {*_keys(model)} - {str(keys[-1])}
            near = get_close_matches(str(keys[-1]), known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "Leave it out"
            text = f"evalkit does not know this key. {hint}"
        raise self.error(text, *keys)


def read_peer_file(path: Path) -> PeerFile:
    """Read a file in JSON or YAML.

    Raises:
        DataError: It cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        is_json = path.suffix == ".json"
        return PeerFile(path, json.loads(text) if is_json else yaml.safe_load(text))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def component_name(*parts: str | None) -> str:
    """Return a name in lower case and hyphens, of at most 62 characters."""
    name = "-".join(filter(None, parts))
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if len(plain) <= 62:
        return plain
    return f"{plain[:53].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def escaped(text: str) -> str:
    """Return a text as a template in braces that stands for it."""
    return text.replace("{", "{{").replace("}", "}}")


def regexes(*patterns: str) -> list[Any]:
    """Return extractor stages for regular expressions, one after the other."""
    return [{"kind": "regex", "configuration": {"pattern": each}} for each in patterns]


def _keys(kind: Any) -> Iterator[str]:
    """Yield the keys of a model and of its parts."""
    for field in getattr(kind, "model_fields", {}).items():
        yield field[0]
        yield from _keys(field[1].annotation)
    for part in get_args(kind):
        yield from _keys(part)
