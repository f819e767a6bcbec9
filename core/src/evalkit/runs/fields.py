"""What the parts of a run's record are made of: kinds of fields, and their base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    InstanceOf,
    WithJsonSchema,
)

T = TypeVar("T")


class _Always:
    """Marks what every run records today: the schema does not let it be null."""

    def __get_pydantic_json_schema__(
        self, schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found: dict[str, Any] = handler(schema)["anyOf"][0]
        return found


Recorded = Annotated[T | None, _Always()]
"""A field that is None only where nobody recorded it: an older run, or two lists."""

Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Positive = Annotated[Whole, Field(ge=1)]
Count = Annotated[Whole, WithJsonSchema({"type": "integer", "minimum": 0})]
Text = InstanceOf[str]
"""Any text, of a name of a file that is not UTF-8 too, which `str` would not take."""

Texts = tuple[Text, ...]


def text(pattern: str, **rules: int) -> WithJsonSchema:
    """Describe a text by its pattern and further rules of JSON Schema."""
    return WithJsonSchema({"type": "string", "pattern": pattern, **rules})


Name = Annotated[str, text("^[a-z0-9]+(-[a-z0-9]+)*$", maxLength=62)]
Fingerprint = Annotated[str, text("^[0-9a-f]{16}$")]
SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
Sha256 = Annotated[str, WithJsonSchema(SHA256)]
Status = Literal["complete", "partial", "refused"]


class Part(BaseModel):
    """A part of a record, which cannot be changed."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def to_dict(self) -> dict[str, Any]:
        """Return what is recorded, as JSON values."""
        found: dict[str, Any] = _plain(self.model_dump(exclude_unset=True))
        return found


def _plain(value: Any) -> Any:
    """Return a copy with lists in the place of tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [*map(_plain, value)] if isinstance(value, list | tuple) else value


class FileDigest(Part):
    """What a file of the run folder was when it was written."""

    size: Whole
    """Bytes."""
    sha256: Sha256
