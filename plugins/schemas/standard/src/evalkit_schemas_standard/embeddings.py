"""Schemas of embeddings."""

from typing import Annotated, Any

from pydantic import Field, create_model

from evalkit.errors import SchemaError
from evalkit_schemas_standard.models import SchemaModel


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
