"""Named schemas of texts."""

from pydantic import Field

from evalkit_schemas_standard.models import SchemaModel
from evalkit_schemas_standard.scalars import Int64


class Text(SchemaModel):
    """A text."""

    text: str = Field(description="Text data")


class Tokens(SchemaModel):
    """A text in parts."""

    tokens: list[str] = Field(default=[], description="A list of text tokens")


class TaggedSpan(SchemaModel):
    """A part of a text, with a tag."""

    start: Int64 = Field(ge=0, description="The index of the first character")
    end: Int64 = Field(ge=0, description="The index one past the final character")
    tag: str = Field(description="The tag of the span")


class TaggedSpans(SchemaModel):
    """Parts of a text, each with a tag."""

    spans: list[TaggedSpan] = Field(description="A list of tagged spans")
