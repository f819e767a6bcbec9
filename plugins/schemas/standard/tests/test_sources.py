"""Source code of a schema defines the same schema."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model
from random_models import models

from evalkit_schemas_standard import named_schema, schema_identity, schema_names
from evalkit_schemas_standard.sources import model_source


def defined(source: str) -> type[BaseModel]:
    """Run source code; return the class that it defines last."""
    found: dict[str, Any] = {"__name__": "copied"}
    exec(compile(source, "copied", "exec", dont_inherit=True), found)
    name = source.rpartition("\nclass ")[2].partition("(")[0]
    model: type[BaseModel] = found[name]
    return model


@pytest.mark.parametrize("name", sorted({*schema_names()} - {"run.Problem"}))
def test_a_named_schema_can_be_copied(name: str) -> None:
    model = named_schema(name)
    assert schema_identity(defined(model_source(model))) == schema_identity(model)


def test_a_field_does_not_hide_the_class_of_another() -> None:
    inner = type("A", (BaseModel,), {"__annotations__": {"word": str}})
    fields = {"A": (inner, ...), "b": (inner | None, None)}
    row: type[BaseModel] = create_model("Row", **fields)  # type: ignore[call-overload]
    assert schema_identity(defined(model_source(row))) == schema_identity(row)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_any_schema_can_be_copied(data: st.DataObject) -> None:
    model = data.draw(models())
    source = model_source(model)
    assert schema_identity(defined(source)) == schema_identity(model), source
