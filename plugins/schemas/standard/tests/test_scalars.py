import pytest
from pydantic import BaseModel, Field, ValidationError

from evalkit_schemas_standard import (
    Int64,
    UInt8,
    arrow_schema,
    json_schema,
    model_from_arrow,
)


class Bounded(BaseModel):
    index: Int64 = Field(ge=0)
    share: UInt8 = Field(default=0, le=100)


@pytest.mark.parametrize(
    "row", [{"index": -1}, {"index": 2**63}, {"index": 0, "share": 101}]
)
def test_bounds_of_a_field_hold_beside_those_of_its_type(row: dict[str, int]) -> None:
    for model in (Bounded, model_from_arrow(arrow_schema(Bounded))):
        with pytest.raises(ValidationError, match="than or equal to"):
            model.model_validate(row)
    assert json_schema(Bounded)["properties"]["index"]["minimum"] == 0
