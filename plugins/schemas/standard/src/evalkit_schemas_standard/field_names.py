"""Which names fields may have, and under which keys rows have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import AliasChoices, AliasPath, BaseModel

from evalkit.errors import SchemaError

_WITHIN = re.compile(r"_.+_", re.DOTALL)
_OWNED = re.compile(r"([^/]*)/.+", re.DOTALL)
_DOMAIN = re.compile(r"(?i)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")
_DYFF = "dyff.io"

_INDEX = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
DEFINED: Mapping[str, Mapping[str, Any]] = {
    "_index_": _INDEX,
    "_replication_": {"type": "string"},
    "_response_index_": _INDEX,
}
"""The reserved names that have a meaning, and what their values are."""


def check_names(
    model: str, properties: Mapping[str, Mapping[str, Any]], required: Sequence[str]
) -> None:
    """Check the names of a struct's fields."""
    for name, part in properties.items():
        problem = _problem_of(name)
        if not problem and _WITHIN.fullmatch(name):
            problem = _problem_of_reserved(name, part, name in required)
        if problem:
            raise SchemaError(f"{model}: the field name {name!r} {problem}")


def _problem_of(name: str) -> str:
    if not name:
        return "is empty"
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        return "holds half a surrogate pair"
    owned = None if _WITHIN.fullmatch(name) else _OWNED.fullmatch(name)
    if owned is None:
        return ""
    owner = owned[1].lower()
    if owner == _DYFF or owner.endswith("." + _DYFF):
        return f"is reserved: names that begin with {owner}/ are Dyff's"
    if not _DOMAIN.fullmatch(owner):
        return "has a / without a domain before it, as in example.org/name"
    return ""


def _problem_of_reserved(name: str, part: Mapping[str, Any], required: bool) -> str:
    defined = DEFINED.get(name)
    if defined is None:
        return "is reserved: names between underscores are evalkit's"
    rules = {key: part[key] for key in part if key != "description"}
    if rules != defined or not required:
        least = ", 0 or more" if "minimum" in defined else ""
        kind = "int64" if least else "string"
        return f"is reserved for a required {kind}{least}"
    return ""


def declared_keys(model: type[BaseModel]) -> Iterator[str | int]:
    """Yield the keys of a row from which a model reads its fields."""
    config = model.model_config
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        if alias is None or by_name:
            yield name
        if alias is None or config.get("validate_by_alias") is False:
            continue
        for each in alias.choices if isinstance(alias, AliasChoices) else [alias]:
            yield each.path[0] if isinstance(each, AliasPath) else each
