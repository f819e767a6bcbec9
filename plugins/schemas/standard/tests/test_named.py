import pytest

from evalkit.errors import UnknownPluginError
from evalkit.schema import named_schema, schema_names


def test_a_name_stands_for_a_model() -> None:
    assert "text.Text" in schema_names()
    assert named_schema("text.Text").model_validate({"text": "a"}).model_dump() == {
        "text": "a"
    }


def test_an_unknown_name_is_an_error_with_the_names_there_are() -> None:
    with pytest.raises(
        UnknownPluginError, match=r"no schema is called 'text\.Txt'.*text\.Text"
    ):
        named_schema("text.Txt")
