"""Named schemas of what marks a row: its index, its replication, its rank."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, create_model

from evalkit_schemas_standard.models import SchemaModel
from evalkit_schemas_standard.scalars import Int64


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
