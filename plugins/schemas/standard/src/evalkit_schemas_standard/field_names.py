"""Which names fields may have, and under which keys rows have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import AliasChoices, AliasPath, BaseModel

from evalkit.errors import SchemaError
from evalkit_schemas_standard.scalars import Member, Shape

_WITHIN = re.compile(r"_.+_", re.DOTALL)
_OWNED = re.compile(r"([^/]*)/.+", re.DOTALL)
_DOMAIN = re.compile(r"(?i)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")
_DYFF = "dyff.io"

_INDEX = Shape(kind="int64", ge=0)
DEFINED = {
    "_index_": _INDEX,
    "_replication_": Shape(kind="string"),
    "_response_index_": _INDEX,
}
"""The reserved names that have a meaning, and their shapes."""


def check_members(model: str, members: Sequence[Member]) -> None:
    """Check the names of a struct's fields."""
    seen = set()
    for member in members:
        problem = _problem_of(member)
        if member.name in seen:
            problem = "is the name of two fields"
        if problem:
            raise SchemaError(f"{model}: the field name {member.name!r} {problem}")
        seen.add(member.name)


def _problem_of(member: Member) -> str:
    name = member.name
    if not name:
        return "is empty"
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        return "holds half a surrogate pair"
    if _WITHIN.fullmatch(name):
        return _problem_of_reserved(member)
    owned = _OWNED.fullmatch(name)
    if owned is None:
        return ""
    owner = owned[1].lower()
    if owner == _DYFF or owner.endswith("." + _DYFF):
        return f"is reserved: names that begin with {owner}/ are Dyff's"
    if not _DOMAIN.fullmatch(owner):
        return "has a / without a domain before it, as in example.org/name"
    return ""


def _problem_of_reserved(member: Member) -> str:
    defined = DEFINED.get(member.name)
    if defined is None:
        return "is reserved: names between underscores are evalkit's"
    if member.shape != defined or not member.required:
        least = "" if defined.ge is None else f", {defined.ge} or more"
        return f"is reserved for a required {defined.kind}{least}"
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
