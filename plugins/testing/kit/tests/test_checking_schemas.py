import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from evalkit import EvalkitError, UnknownPluginError
from evalkit_schemas_standard import Float32, Unit
from evalkit_testing import SCHEMA_LAWS, SchemaLawError, check_schema

ROWS = [{"celsius": 20.5, "weather.example/station": "Oslo"}]


class Report(BaseModel):
    """What the weather was."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True)

    celsius: Annotated[Float32, Unit("°C")] = Field(description="The temperature")
    station: str = Field(alias="weather.example/station", description="Where it was")


class Undocumented(Report):
    pass


class Reserved(Report):
    """A report with a field whose name is reserved."""

    mine: str = Field("", alias="_mine_", description="What is reserved")


class Narrow(Report):
    """A report that takes no other stations."""

    @field_validator("station")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value != "Bergen":
            raise ValueError("is unknown")
        return value


class Numbered(Report):
    """A report that is another one each time."""

    number: int = Field(
        default_factory=itertools.count().__next__,
        description="Which one it is",
        exclude=True,
    )


class Anything(Report):
    """A report from anywhere."""

    station: Any = Field(alias="weather.example/station", description="Where it was")


class Careless(Report):
    """A report that is looked at before it is checked."""

    @field_validator("station", mode="before")
    @classmethod
    def _is_large(cls, value: Any) -> Any:
        return value.title()


BROKEN: Mapping[str, Sequence[type[BaseModel]]] = {
    "documented": [Undocumented],
    "arrow": [Reserved, Anything],
    "json": [Reserved],
    "rows": [Narrow, Numbered],
    "table": [Numbered],
    "damaged": [Anything, Careless],
}


def test_each_law_is_broken_by_a_schema_below() -> None:
    assert [*BROKEN] == [law.name for law in SCHEMA_LAWS]


@pytest.mark.parametrize(
    ("law", "schema"),
    [(law, schema) for law, schemas in BROKEN.items() for schema in schemas],
)
def test_a_schema_that_breaks_a_law_is_told_which(law: str, schema: Any) -> None:
    with pytest.raises(SchemaLawError) as caught:
        check_schema(schema, ROWS, laws=[law])
    assert caught.value.law == law


def test_a_schema_that_keeps_the_laws_passes() -> None:
    check_schema(Report, ROWS)
    check_schema("text.Text", [{"text": "x"}])


def test_rows_and_a_name_that_is_known_are_needed() -> None:
    with pytest.raises(EvalkitError, match="rows must be a list that is not empty"):
        check_schema(Report, [])
    with pytest.raises(UnknownPluginError, match=r"there is no schema 'no\.Such'"):
        check_schema("no.Such", ROWS)
