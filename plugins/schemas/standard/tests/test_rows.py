from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ValidationError

from evalkit.errors import SchemaError
from evalkit_schemas_standard import input_model, output_model, product, replication_id

ROW = {
    "_index_": 1,
    "_replication_": "6af613b6569c5c229c372ed93f31d3af",
    "responses": [
        {"_response_index_": 0, "start": 0, "end": 2, "tag": "PER"},
        {"_response_index_": 0, "start": 4, "end": 6, "tag": "LOC"},
        {"_response_index_": 1, "start": 0, "end": 6, "tag": "LOC"},
    ],
}


class Numbered(BaseModel):
    """A model whose fields have the names that other systems lose."""

    index: str
    replication: str
    response_index: str


def test_an_input_has_an_index_in_front() -> None:
    both = input_model(product(["classification.Label", "text.Text"]))
    row = {"_index_": 0, "label": "a", "text": "b"}
    assert both.model_validate(row).model_dump(by_alias=True) == row
    assert [*both.model_validate(row).model_dump(by_alias=True)] == [*row]
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        both.model_validate({**row, "_index_": -1})


def test_no_field_of_rows_is_lost() -> None:
    row = {"index": "a", "replication": "b", "response_index": "c"}
    assert input_model(Numbered).model_validate({"_index_": 0, **row})
    answer = {**ROW, "responses": [{"_response_index_": 0, **row}]}
    assert output_model(Numbered).model_validate(answer).model_dump(by_alias=True) == (
        answer
    )


@pytest.mark.known_result
@pytest.mark.parametrize(
    ("evaluation", "number", "expected"),
    [
        ("00000000000000000000000000000000", 0, "b6c5448938a05f50a60afd8d76219cae"),
        ("00000000000000000000000000000000", 1, "11116e731c035de691305f9925ae8ab4"),
        ("6ba7b8109dad11d180b400c04fd430c8", 0, "6af613b6569c5c229c372ed93f31d3af"),
        ("6ba7b8109dad11d180b400c04fd430c8", 10, "0159d6c7973f5e7aa9a0d195d0ea6fe2"),
        ("0123456789abcdef0123456789abcdef", 0, "0fef303490445e41b339353547304342"),
        ("deadbeefdeadbeefdeadbeefdeadbeef", 3, "e5334a0b18fa5cae8d788df2e8befa9a"),
    ],
)
def test_replications_have_the_ids_that_dyff_gave(
    evaluation: str, number: int, expected: str
) -> None:
    assert replication_id(evaluation, number) == expected
    assert replication_id(UUID(evaluation), number) == expected
    assert replication_id(str(UUID(evaluation)), number) == expected


def test_a_run_has_replications_by_its_fingerprint() -> None:
    ids = {replication_id(run, n) for run in ("0" * 16, "f" * 16) for n in range(2)}
    assert len(ids) == 4
    assert all(UUID(each).version == 5 for each in ids)


@pytest.mark.parametrize(
    ("evaluation", "number"),
    [
        ("no uuid", 0),
        (None, 0),
        (UUID(int=0), -1),
        (UUID(int=0), 0.0),
        ("0" * 32, True),
    ],
)
def test_other_ids_and_numbers_are_refused(evaluation: Any, number: Any) -> None:
    with pytest.raises(SchemaError):
        replication_id(evaluation, number)
