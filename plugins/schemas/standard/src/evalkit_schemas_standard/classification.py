"""Named schemas of classes."""

from pydantic import Field

from evalkit_schemas_standard.models import SchemaModel


class Label(SchemaModel):
    """A label."""

    label: str = Field(description="The discrete label of the item")
