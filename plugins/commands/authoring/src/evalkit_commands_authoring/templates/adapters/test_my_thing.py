"""What `my-thing` does to rows."""

import evalkit
import pytest
from evalkit_adapters_rows import pipeline
from evalkit_testing import check_adapter

STAGE = {"kind": "MyThing", "configuration": {"fields": ["label"]}}


def test_a_row_is_changed_and_the_given_one_is_not() -> None:
    given = {"id": "1", "label": "Positive"}
    assert [*pipeline([STAGE])([given])] == [{"id": "1", "label": "positive"}]
    assert given == {"id": "1", "label": "Positive"}


def test_what_is_no_text_is_refused_with_its_field() -> None:
    with pytest.raises(evalkit.AdapterError, match="'label' must be a text"):
        [*pipeline([STAGE])([{"id": "1", "label": 3}])]


def test_the_laws_of_adapters() -> None:
    rows = [{"id": "1", "label": "Positive"}, {"id": "2", "label": "NEGATIVE"}]
    check_adapter("my-thing", rows=rows, broken=[{"id": "3", "label": 3}])
