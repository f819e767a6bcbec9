"""What the schema `my_thing.MyThing` takes."""

import pytest
from evalkit_schemas_standard import arrow_schema, product
from evalkit_testing import check_schema
from pydantic import ValidationError

from my_package.my_thing import MyThing


def test_its_columns() -> None:
    assert arrow_schema(MyThing).names == ["celsius", "station"]


def test_it_is_found_by_its_name() -> None:
    both = product(["my_thing.MyThing", "text.Text"])
    assert arrow_schema(both).names == ["celsius", "station", "text"]


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValidationError):
        MyThing.model_validate({"celsius": 20.5, "station": "Oslo", "wind": 3})


def test_the_laws_of_schemas() -> None:
    check_schema("my_thing.MyThing", [{"celsius": 20.5, "station": "Oslo"}])
