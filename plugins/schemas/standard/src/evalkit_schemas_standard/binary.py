"""Named schemas of data without structure."""

from pydantic import Field

from evalkit_schemas_standard.models import SchemaModel


class Media(SchemaModel):
    """An image, a sound or other data."""

    data: bytes = Field(description="The binary data")
    media_type: str = Field(
        alias="mediaType", description="The IETF Media Type (MIME type) of the data"
    )
