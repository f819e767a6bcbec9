"""Round trips of random models: the same schema, and the same verdicts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from random_models import models, rows_of

from evalkit_schemas_standard import (
    arrow_schema,
    json_schema,
    model_from_arrow,
    model_from_json_schema,
    schema_identity,
)
from evalkit_schemas_standard.documents import canonical


def by_arrow(model: type[BaseModel]) -> type[BaseModel]:
    return model_from_arrow(arrow_schema(model))


def by_json(model: type[BaseModel]) -> type[BaseModel]:
    return model_from_json_schema(json.loads(json.dumps(json_schema(model))))


def takes(model: type[BaseModel], row: Any) -> bool:
    """Tell whether a model takes a row, as JSON."""
    try:
        model.model_validate_json(json.dumps(row, default=str))
    except ValidationError:
        return False
    return True


def takes_objects(model: type[BaseModel], row: Any) -> bool:
    try:
        model.model_validate(row)
    except ValidationError:
        return False
    return True


def check(draw: st.DataObject, there_and_back: Callable[..., type[BaseModel]]) -> None:
    model = draw.draw(models())
    made = there_and_back(model)
    shape = canonical(json_schema(model))
    assert schema_identity(made) == schema_identity(model), shape
    assert arrow_schema(made).equals(arrow_schema(model), check_metadata=True), shape
    assert json_schema(made) == json_schema(model)
    for _ in range(3):
        row = draw.draw(rows_of(model))
        is_taken = takes(model, row)
        event(f"taken: {is_taken}")
        assert takes(made, row) == is_taken, shape
        if "strict" not in shape:  # which tells a list from a tuple, an Enum from texts
            assert takes_objects(made, row) == takes_objects(model, row), shape


WAYS = {"arrow": by_arrow, "json": by_json}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_round_trips(way: str, data: st.DataObject) -> None:
    check(data, WAYS[way])
