from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from evalkit.errors import SchemaError
from evalkit_schemas_standard import product


class Judged(BaseModel):
    label: str = Field(description="What a person said")
    sure: bool = True

    @field_validator("label")
    @classmethod
    def is_lower_case(cls, value: str) -> str:
        assert value.islower(), "must be in lower case"
        return value


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    count: int


class Renamed(BaseModel):
    other: str = Field(alias="text")


def columns(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def test_fields_stand_in_the_order_of_the_components() -> None:
    assert columns(product(["classification.Label", "text.Text"])) == ["label", "text"]
    assert columns(product(["text.Text", "classification.Label"])) == ["text", "label"]
    many = ["binary.Media", "text.Tokens", Judged, "Item"]
    expected = ["data", "mediaType", "tokens", "label", "sure", "_index_"]
    assert columns(product(many)) == expected


def test_validators_of_a_part_run_and_undeclared_fields_are_refused() -> None:
    both = product([Judged, "text.Text"], name="Both")
    assert both.__name__ == "Both"
    assert both.model_validate({"label": "a", "text": "b"}).model_dump() == {
        "label": "a",
        "sure": True,
        "text": "b",
    }
    with pytest.raises(ValidationError, match="lower case"):
        both.model_validate({"label": "A", "text": "b"})
    with pytest.raises(ValidationError, match="Extra inputs"):
        both.model_validate({"label": "a", "text": "b", "other": 1})


def test_a_field_declared_alike_is_one_field() -> None:
    assert columns(product(["Item", "ReplicatedItem"])) == ["_index_", "_replication_"]
    assert columns(product(["ReplicatedItem", "Item", "text.Text"])) == [
        "_index_",
        "_replication_",
        "text",
    ]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            ["classification.Label", Judged],
            r"the field 'label' is str \(The discrete label of the item\) in "
            r"classification\.Label and str \(What a person said\) in Judged",
        ),
        (["text.Text", Renamed], "the field 'text' is str .* in text.Text and str in"),
        (["text.Text", "text.Text"], r"the schema text\.Text is given twice"),
        (
            ["text.Text", Strict],
            "'strict' of text.Text is False and that of Strict is T",
        ),
        ([], "at least one schema"),
        ("text.Text", "a list of at least one schema"),
        (["text.Text", 7], "7 is neither the name of a schema nor a pydantic model"),
    ],
)
def test_parts_that_contradict_each_other_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        product(parts)


class Counted(BaseModel):
    count: int

    @field_validator("count")
    @classmethod
    def check(cls, value: int) -> int:
        assert value >= 0, "must not be negative"
        return value


class Measured(BaseModel):
    size: int

    @field_validator("size")
    @classmethod
    def check(cls, value: int) -> int:
        assert value >= 0, "must not be negative"
        return value


class Recounted(Counted):
    unit: str


class CountedAgain(Counted):
    round: int


def test_validators_of_one_name_are_refused_as_one_would_not_run() -> None:
    for parts in ([Counted, Measured], [Recounted, Measured]):
        with pytest.raises(SchemaError, match="Measured each have a 'check' of their"):
            product(parts)


def test_a_validator_that_parts_inherit_runs() -> None:
    both = product([Recounted, CountedAgain])
    with pytest.raises(ValidationError, match="must not be negative"):
        both.model_validate({"count": -1, "unit": "m", "round": 1})
