"""Named schemas of images."""

import builtins

from pydantic import Field

from evalkit_schemas_standard.models import SchemaModel


class Image(SchemaModel):
    """An image; `binary.Media` holds any kind of data."""

    bytes: builtins.bytes = Field(description="The image data")
    format: str = Field(description="The data MIME type")
