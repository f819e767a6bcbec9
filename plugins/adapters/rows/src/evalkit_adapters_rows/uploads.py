"""The adapter that makes an upload of a file of each row."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.paths import PathError
from evalkit_adapters_rows.row_values import word_for
from evalkit_adapters_rows.transform import Template, read_template

UPLOAD = "$fileUpload"
"""The one field of an upload."""


class FileUpload:
    """Make an upload of a file of each row: what a form of a web page sends.

    The row becomes `{"$fileUpload": {name, filename, contentType, content,
    formFields}}`, of which `content` is bytes. It is the last adapter of a pipeline.
    Values may be paths into the row, as in `TransformJSON`.

    Example:
        ```yaml
        - kind: FileUpload
          configuration: {field: $.image.data, contentType: $.image.mediaType}
        ```
    """

    version = "1"
    is_last = True

    class Parameters(AdapterSettings):
        """What is uploaded."""

        field: str = Field(description="Path of the content")
        encoding: Literal["base64", "binary", "utf-8", "json"] = Field(
            default="base64", description="How the content stands in the row"
        )
        name: str = Field(default="file", description="Name of the form's field")
        filename: Any = Field(default="file", description="Name of the file")
        contentType: Any = Field(  # noqa: N815 - as in Dyff
            default="application/octet-stream", description="Media type of the content"
        )
        formFields: dict[str, Any] = Field(  # noqa: N815 - as in Dyff
            default={}, description="Further fields of the form"
        )

    def __init__(self, parameters: Parameters) -> None:
        self._name, self._encoding = parameters.name, parameters.encoding
        self._content = read_template(parameters.field, "field")
        self._filename = read_template(parameters.filename, "filename")
        self._type = read_template(parameters.contentType, "contentType")
        self._fields = {
            name: read_template(value, f"formFields.{name}")
            for name, value in parameters.formFields.items()
        }

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the upload."""
        try:
            yield {
                UPLOAD: {
                    "name": self._name,
                    "filename": _text("filename", self._filename, row),
                    "contentType": _text("contentType", self._type, row),
                    "content": self._bytes(self._content.of_row(row)),
                    "formFields": {
                        name: _text(f"formFields.{name}", value, row)
                        for name, value in self._fields.items()
                    },
                }
            }
        except PathError as error:
            raise AdapterError(str(error)) from error

    def _bytes(self, value: Any) -> bytes:
        if isinstance(value, bytes) and self._encoding in ("base64", "binary"):
            return value
        decode = _DECODE.get(self._encoding)
        if decode is None or not (isinstance(value, str) or self._encoding == "json"):
            problem = f"the content is {word_for(value)}, not {self._encoding}"
            raise AdapterError(problem, field="field")
        try:
            return decode(value)
        except (binascii.Error, ValueError, TypeError) as error:
            problem = f"the content is not {self._encoding}: {error}"
            raise AdapterError(problem, field="field") from error


_DECODE: Mapping[str, Callable[[Any], bytes]] = {
    "base64": lambda text: base64.b64decode(text, validate=True),
    "utf-8": lambda text: bytes(text, "utf-8"),
    "json": lambda value: json.dumps(value).encode(),
}


def _text(place: str, template: Template, row: Any) -> str:
    value = template.of_row(row)
    if not isinstance(value, str | int | float):
        problem = f"{place} must be a text or a number, is {word_for(value)}"
        raise AdapterError(problem, field=place)
    return str(value)
