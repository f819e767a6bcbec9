"""Schemas of the rows of data sets and of what models answered."""

from __future__ import annotations

from uuid import UUID, uuid5

from pydantic import BaseModel

from evalkit.errors import SchemaError
from evalkit_schemas_standard.models import Item, ResponseItem, with_responses
from evalkit_schemas_standard.products import product


def input_model(model: type[BaseModel]) -> type[BaseModel]:
    """Return the schema of a data set's rows: an index, and the fields of a model.

    Args:
        model: What a row holds.

    Returns:
        A model with the field `_index_` in front.

    Raises:
        SchemaError: The model has a field of that name that means something else.
    """
    return product([Item, model], f"{model.__name__}Item")


def output_model(model: type[BaseModel]) -> type[BaseModel]:
    """Return the schema of what a model under test answered.

    Args:
        model: What one response holds.

    Returns:
        A model with `_index_`, `_replication_` and `responses`, each of which has a
        `_response_index_` in front. Several responses may share one, as the spans of
        one answer do; the order of the responses is that of preference.

    Raises:
        SchemaError: The model has a field of that name that means something else.
    """
    item = product([ResponseItem, model], f"{model.__name__}ResponseItem")
    return with_responses(item)


def replication_id(evaluation: str | UUID, number: int) -> str:
    """Return the id of one of several passes over a data set.

    It is the UUID of version 5 (RFC 9562) of the decimal number in the namespace of the
    evaluation, as Dyff's ids are.

    Args:
        evaluation: Id of the evaluation, a UUID.
        number: Number of the pass, from 0.

    Returns:
        32 hexadecimal digits.

    Raises:
        SchemaError: The id is no UUID, or the number no integer that is at least 0.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise SchemaError(f"a replication has a number from 0, not {number!r}")
    try:
        namespace = evaluation if isinstance(evaluation, UUID) else UUID(hex=evaluation)
    except (ValueError, AttributeError, TypeError) as error:
        raise SchemaError(
            f"the id of an evaluation must be a UUID, found {evaluation!r}"
        ) from error
    return uuid5(namespace, str(number)).hex
