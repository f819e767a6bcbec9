"""`MapFields`: fields from columns of other names, row by row and as tables."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import AdapterError, DataError
from evalkit_adapters_rows import pipeline
from evalkit_adapters_rows.files import with_map


def mapped(fields: dict[str, str], *rows: dict[str, Any]) -> list[Any]:
    return list(pipeline([{"kind": "MapFields", "configuration": fields}])(rows))


def test_columns_become_fields_and_others_stay() -> None:
    row = {"key": 7, "text": "a", "n": 1}
    fields = {"id": "key", "statement": "text"}
    assert mapped(fields, row) == [{"n": 1, "id": 7, "statement": "a"}]
    assert row == {"key": 7, "text": "a", "n": 1}


def test_a_field_takes_the_place_of_a_column_of_its_name() -> None:
    found = mapped({"label": "gold"}, {"label": "old", "gold": "new"})
    assert found == [{"label": "new"}]
    fields = {"label": "gold", "prob.no": "p"}
    own = {"label": "old", "prob": {"no": 0.5}}
    assert mapped(fields, own) == [{"prob": {"no": None}}]
    assert mapped({"id": "key"}, {"uid": 1, "key": 2, "_index_": 3}) == [{"id": 2}]


def test_paths_lead_into_objects_and_lists() -> None:
    row = {"meta": {"gold": "x"}, "choices": [{"text": "b"}]}
    for path in ("choices.0.text", "choices[0].text"):
        found = mapped({"label": "meta.gold", "text": path}, row)
        assert found == [{**row, "label": "x", "text": "b"}]
    assert mapped({"label": "a.b"}, {"a.b": 1, "a": {"b": 2}}) == [
        {"a": {"b": 2}, "label": 1}
    ]


def test_a_nested_field_is_put_into_its_object() -> None:
    given = {"prob": {"no": 0.5}, "p_yes": 0.5}
    assert mapped({"prob.yes": "p_yes"}, given) == [{"prob": {"no": 0.5, "yes": 0.5}}]
    assert given["prob"] == {"no": 0.5}
    with pytest.raises(AdapterError, match="cannot be put into 'prob', which is 3"):
        mapped({"prob.yes": "p"}, {"prob": 3, "p": 1})


def test_rows_are_numbered_from_1_or_0() -> None:
    rows = [{"a": 1}, {"a": 2}]
    assert [row["id"] for row in mapped({"id": "#row"}, *rows)] == [1, 2]
    assert [row["id"] for row in mapped({"id": "#row0"}, *rows)] == [0, 1]


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        (" web ", ["origin:web"]),
        (3, ["origin:3"]),
        (True, ["origin:true"]),
        (0.5, ["origin:0.5"]),
        (["a", None, "b"], ["origin:a", "origin:b"]),
    ],
)
def test_values_become_tags_and_the_column_stays(value: Any, tags: list[str]) -> None:
    [row] = mapped({"facet:origin": "source"}, {"source": value, "tags": ["x"]})
    assert row == {"source": value, "tags": ["x", *tags]}


def test_what_cannot_be_a_tag_is_refused() -> None:
    with pytest.raises(AdapterError, match="must hold texts, numbers, true or false"):
        mapped({"facet:origin": "source"}, {"source": {"a": 1}})
    with pytest.raises(AdapterError, match="'tags' must be a list"):
        mapped({"facet:origin": "source"}, {"source": "a", "tags": "b"})
    with pytest.raises(AdapterError, match="the row must be an object"):
        mapped({"a": "b"}, [1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"facet:My Origin": "s"}, "no legal name of a facet"),
        ({"id": "#rows"}, "'#rows' is no column; the numbers of the rows are #row"),
        ({"id": ""}, "must have names"),
        ({"": "a"}, "must have names"),
        ({"id": 3}, "the configuration is wrong"),
    ],
)
def test_a_wrong_mapping_is_refused(fields: Any, problem: str) -> None:
    with pytest.raises(AdapterError, match=problem):
        mapped(fields)


def test_a_map_that_is_none_is_refused_and_an_empty_one_is_nothing() -> None:
    assert with_map(None, {}) is None
    with pytest.raises(AdapterError, match="a map must have columns by field"):
        with_map(None, ["label=gold"])  # type: ignore[arg-type]


def test_a_column_that_no_row_has_is_named_with_the_nearest() -> None:
    found = with_map(None, {"label": "glod", "id": "key"})
    assert found is not None
    list(found([{"key": 1, "x": 2, "gold": "a"}, {"key": 2}]))
    with pytest.raises(DataError) as caught:
        found.refuse_absent("set.csv", "data")
    assert str(caught.value) == (
        "set.csv: no row has 'glod' (--map label=glod); there are the columns 'gold', "
        "'key', 'x'; if they are meant: --map label=gold (map={'label': 'gold'} in "
        "Python)"
    )
    assert caught.value.mapping == {"label": "gold"}


@pytest.mark.parametrize("place", ["data", "predictions"])
def test_a_field_that_is_there_already_is_not_mapped_to_itself(place: str) -> None:
    found = with_map(None, {"label": "prediction", "id": "keys"})
    assert found is not None
    list(found([{"key": 1, "label": "a"}]))
    option = "--map" if place == "data" else "--map-predictions"
    with pytest.raises(DataError) as caught:
        found.refuse_absent("said.csv", place)
    assert f"'label' is there already, and {option} label=prediction is not needed" in (
        str(caught.value)
    )
    assert ("a command of their own" in str(caught.value)) == (place == "predictions")
    assert f"if they are meant: {option} id=key (" in str(caught.value)
    assert caught.value.mapping == {"id": "key"}


COLUMNS = st.fixed_dictionaries(
    {name: st.sampled_from([None, "x", "y"]) for name in ("a", "b", "c")}
)
FIELDS = st.dictionaries(
    st.sampled_from(["a", "b", "d", "facet:f", "e.f"]),
    st.sampled_from(["a", "b", "c", "#row", "a.b"]),
    min_size=1,
)


@given(st.lists(COLUMNS, min_size=1, max_size=4), FIELDS)
def test_tables_become_what_rows_become(
    rows: list[dict[str, Any]], fields: dict[str, str]
) -> None:
    fix = pipeline([{"kind": "MapFields", "configuration": fields}])
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.String))
    numbers = pl.int_range(1, frame.height + 1, eager=True)
    try:
        expected = list(fix(rows))
    except AdapterError:
        return
    adapted = fix.adapt_frame(frame, numbers)
    assert adapted is None or adapted.to_dicts() == expected
