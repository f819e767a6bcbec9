"""Named schemas of items, texts, labels, images and embeddings."""

from __future__ import annotations

import builtins
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from evalkit.errors import SchemaError
from evalkit_schemas_standard.scalars import Int64


class SchemaModel(BaseModel):
    """A model of rows that have the declared fields and no others."""

    model_config = ConfigDict(extra="forbid")
    version: ClassVar[str | None] = "1"
    """Rises with each change of the fields."""


class Label(SchemaModel):
    """A label."""

    label: str = Field(description="The discrete label of the item")


class Media(SchemaModel):
    """An image, a sound or other data."""

    data: bytes = Field(description="The binary data")
    media_type: str = Field(
        alias="mediaType", description="The IETF Media Type (MIME type) of the data"
    )


class Image(SchemaModel):
    """An image; `binary.Media` holds any kind of data."""

    bytes: builtins.bytes = Field(description="The image data")
    format: str = Field(description="The data MIME type")


class Text(SchemaModel):
    """A text."""

    text: str = Field(description="Text data")


class Tokens(SchemaModel):
    """A text in parts."""

    tokens: list[str] = Field(default_factory=list, description="A list of text tokens")


class TaggedSpan(SchemaModel):
    """A part of a text, with a tag."""

    start: Int64 = Field(ge=0, description="The index of the first character")
    end: Int64 = Field(ge=0, description="The index one past the final character")
    tag: str = Field(description="The tag of the span")


class TaggedSpans(SchemaModel):
    """Parts of a text, each with a tag."""

    spans: list[TaggedSpan] = Field(description="A list of tagged spans")


def embedding(element: Any, size: int) -> type[SchemaModel]:
    """Make the schema of a vector.

    Args:
        element: The type of a number, such as `Float32`.
        size: How many there are, at least 1.

    Returns:
        A model with the field `embedding`.

    Raises:
        SchemaError: The size is less than 1.
    """
    if size < 1:
        raise SchemaError(f"an embedding has at least one number, not {size}")
    return create_model(
        "Embedding",
        __base__=SchemaModel,
        __module__=__name__,
        embedding=(
            Annotated[list[element], Field(min_length=size, max_length=size)],
            Field(description="An embedding vector"),
        ),
    )


class Item(SchemaModel):
    """A row of a data set."""

    # the underscore leaves the name `index` to fields of the data
    index_: Int64 = Field(
        alias="_index_", ge=0, description="The index of the item in the dataset"
    )


class ReplicatedItem(Item):
    """A row that belongs to one of several passes over a data set."""

    replication_: str = Field(
        alias="_replication_", description="ID of the replication the item belongs to."
    )


class ResponseItem(SchemaModel):
    """One of several responses to a row; parts of one answer share an index."""

    response_index_: Int64 = Field(
        alias="_response_index_",
        ge=0,
        description=(
            "The index of the response among responses to the corresponding _index_"
        ),
    )


def with_responses(response: type[BaseModel]) -> type[BaseModel]:
    """Return the schema of what a model answered to one row."""
    kind: Any = list
    described = Field(description="Inference responses")
    return create_model(
        "Response", __base__=ReplicatedItem, responses=(kind[response], described)
    )
