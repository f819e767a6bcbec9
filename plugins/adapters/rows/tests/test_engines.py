"""A table is adapted at once to what its rows become one by one."""

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import AdapterError
from evalkit_adapters_rows import pipeline

TEXTS = st.text(alphabet="ab1 é-\n$", max_size=5)
FRAMES = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.integers(-(2**63), 2**63 - 1) | st.none(),
            "t": TEXTS,
            "l": st.lists(TEXTS, max_size=3),
            "m": st.lists(TEXTS, max_size=3),
            "n": st.lists(st.integers(-5, 5) | st.none(), max_size=3) | st.none(),
            "s": st.fixed_dictionaries(
                {"x": TEXTS, "y": st.fixed_dictionaries({"z": st.booleans()})}
            )
            | st.none(),
            "r": st.lists(
                st.fixed_dictionaries({"v": TEXTS | st.none(), "w": st.floats(0, 1)}),
                max_size=3,
            ),
        }
    ),
    min_size=1,
    max_size=6,
)
SCHEMA = {
    "a": pl.Int64,
    "t": pl.String,
    "l": pl.List(pl.String),
    "m": pl.List(pl.String),
    "n": pl.List(pl.Int64),
    "s": pl.Struct({"x": pl.String, "y": pl.Struct({"z": pl.Boolean})}),
    "r": pl.List(pl.Struct({"v": pl.String, "w": pl.Float64})),
}


def compute(*steps: Any) -> dict[str, Any]:
    """Return a template with one computed field."""
    return {"kind": "TransformJSON", "configuration": {"x": {"$compute": [*steps]}}}


def function(path: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Return a template with a function of one value."""
    key = "$list" if "[*]" in path else "$scalar"
    return compute({key: path}, {"$func": name, **arguments})


STAGES = [
    {"kind": "Rename", "configuration": {"a": "b", "t": "a"}},
    {"kind": "Rename", "configuration": {"a": "t", "t": "a"}},
    {"kind": "Rename", "configuration": {"a": "t"}},
    {"kind": "Rename", "configuration": {"nope": "t"}},
    {"kind": "Drop", "configuration": {"fields": ["a", "nope"]}},
    {"kind": "Drop", "configuration": {"fields": list(SCHEMA)}},
    {"kind": "Select", "configuration": {"fields": ["t", "s"]}},
    {"kind": "Select", "configuration": {"fields": []}},
    {"kind": "Select", "configuration": {"fields": ["nope"]}},
    {"kind": "ExplodeCollections", "configuration": {"collections": ["l"]}},
    {
        "kind": "ExplodeCollections",
        "configuration": {
            "collections": ["l"],
            "onEmpty": "drop",
            "index": {"i": None},
        },
    },
    {
        "kind": "ExplodeCollections",
        "configuration": {"collections": ["l", "m"], "index": {"i": "$.r[*].v"}},
    },
    {
        "kind": "ExplodeCollections",
        "configuration": {
            "collections": ["n"],
            "onEmpty": "null",
            "index": {"a": None},
        },
    },
    {
        "kind": "ExplodeCollections",
        "configuration": {"collections": ["r"], "index": {"i": None, "w": "$.r[*].w"}},
    },
    {"kind": "FlattenHierarchy"},
    {"kind": "FlattenHierarchy", "configuration": {"depth": 1}},
    {"kind": "FlattenHierarchy", "configuration": {"fields": ["s", "a"]}},
    {"kind": "FlattenHierarchy", "configuration": {"addPrefix": False}},
    {
        "kind": "TransformJSON",
        "configuration": {
            "id": "$.a",
            "deep": {"z": "$.s.y.z", "fixed": [1, "b", None]},
            "n": 3,
            "f": 0.5,
            "null": None,
            "big": 2**70,
        },
    },
    {
        "kind": "TransformJSON",
        "configuration": {"id": "$.a", "s": {"z": "$.s.y.z"}, "n": 3, "e": ["x"]},
    },
    {"kind": "TransformJSON", "configuration": {"first": "$.l[0]", "last": "$.l[-1]"}},
    {"kind": "TransformJSON", "configuration": {"all": "$", "x": "$.t"}},
    {"kind": "TransformJSON", "configuration": {"x": "$.r[*].v"}},
    compute({"$list": "$.r[*].v"}),
    compute({"$list": "$.l[*]"}, {"$scalar": "$[0]"}),
    compute({"$scalar": "$.s"}, {"$scalar": "$.x"}),
    compute({"$scalar": "$.nope", "$default": "d"}),
    compute({"$list": [{"$scalar": "$.t"}, {"$literal": None}]}),
    function("$.t", "sub", pattern="[0-9]+|b", repl=r"<\g<0>>$"),
    function("$.t", "sub", pattern="a*", repl="-", count=1),
    function("$.t", "findall", pattern="[a-z]"),
    function("$.t", "findall", pattern="(a)|(b)"),
    function("$.t", "findall", pattern="([a-z])1?"),
    function("$.t", "search", pattern="(a)|(b)", group=2, default="none"),
    function("$.t", "search", pattern="a+", default=0),
    function("$.t", "split", pattern=" |-"),
    function("$.t", "split", pattern="a", maxsplit=1),
    function("$.t", "list"),
    function("$.l[*]", "join", separator="+"),
    function("$.r[*].v", "join", separator="+"),
    function("$.l[*]", "reduce"),
    function("$.n[*]", "reduce"),
    {
        "kind": "Map",
        "configuration": {
            "collections": ["r"],
            "adapter": {"kind": "Select", "configuration": {"fields": ["v"]}},
        },
    },
    {"kind": "NumberRows", "configuration": {"field": "number", "first": -3}},
    {"kind": "NumberRows", "configuration": {"field": "a"}},
    {
        "kind": "Pipeline",
        "configuration": [
            {"kind": "Drop", "configuration": {"fields": ["a"]}},
            {"kind": "Rename", "configuration": {"t": "a"}},
        ],
    },
]


@pytest.mark.parametrize("stage", STAGES, ids=[json.dumps(each) for each in STAGES])
@settings(max_examples=20)
@given(rows=FRAMES)
@pytest.mark.slow
def test_both_engines_agree(stage: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    adapt = pipeline([stage])
    frame = pl.DataFrame(rows, schema=SCHEMA)
    found = adapt.adapt_frame(frame, pl.int_range(1, frame.height + 1, eager=True))
    if found is not None:
        by_rows = list(adapt(frame.to_dicts()))
        assert json.dumps(found.to_dicts()) == json.dumps(by_rows)


def test_a_table_is_adapted_at_once_where_it_can() -> None:
    """Guards the test above from passing because no stage is ever tried."""
    rows = [
        {
            "a": 1,
            "t": "ab1",
            "l": ["x", "y"],
            "m": ["z", "w"],
            "n": [1, 2],
            "s": {"x": "q", "y": {"z": True}},
            "r": [{"v": "1", "w": 0.5}, {"v": "2", "w": 0.25}],
        }
    ]
    frame = pl.DataFrame(rows, schema=SCHEMA)
    at_once = [
        stage for stage in STAGES if pipeline([stage]).adapt_frame(frame) is not None
    ]
    assert len(at_once) >= 5


def test_an_error_names_stage_row_and_field() -> None:
    adapt = pipeline(
        [
            {"kind": "Drop", "configuration": {"fields": ["x"]}},
            {"kind": "Rename", "configuration": {"text": "statement"}},
        ]
    )
    with pytest.raises(AdapterError) as caught:
        list(adapt([{"text": "a"}, {"label": "b"}]))
    error = caught.value
    assert (error.stage, error.kind, error.row, error.field) == (2, "Rename", 2, "text")
    assert str(error) == (
        "stage 2 (Rename), row 2: there is no field 'text'; the row has 'label'"
    )


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ({}, "a pipeline must be a list of adapters, is {}"),
        (["Rename"], "stage 1 must be an object with 'kind' and 'configuration'"),
        ([{"kind": "Drop", "config": {}}], "stage 1 has the key 'config'"),
        ([{"kind": 5}], "the kind of stage 1 must be the name of an adapter, is 5"),
        ([{"kind": "Rename"}], "stage 1 (Rename): it needs a configuration"),
        (
            [{"kind": "Drop", "configuration": {"fields": [], "zzz": 1}}],
            "stage 1 (Drop): the configuration has no key 'zzz'; it takes: fields",
        ),
        (
            [{"kind": "Drop", "configuration": {"fields": "ab"}}],
            "stage 1 (Drop): the configuration is wrong: fields: must be a valid list",
        ),
        (
            [
                compute(
                    {"$scalar": "$.t"}, {"$func": "sub", "pattern": "(?=a)", "repl": ""}
                )
            ],
            "look-around",
        ),
        (
            [compute({"$scalar": "$.t"}, {"$func": "nope"})],
            "there is no function 'nope'; there are: findall, search, split, sub",
        ),
        (
            [{"kind": "TransformJSON", "configuration": {"x": {"y": "$.a["}}}],
            "stage 1 (TransformJSON): at $.x.y: the path '$.a[' cannot be read",
        ),
        (
            [{"kind": "TransformJSON", "configuration": {"x": float("nan")}}],
            "stage 1 (TransformJSON): the configuration is no JSON",
        ),
        (
            [{"kind": "Rename", "configuration": {"a": "x", "b": "x"}}],
            "stage 1 (Rename): two fields become 'x'",
        ),
    ],
)
def test_wrong_configurations(stages: Any, message: str) -> None:
    with pytest.raises(AdapterError) as caught:
        pipeline(stages)
    assert message in str(caught.value)


def test_rows_share_no_part_of_the_configuration() -> None:
    search = {"$func": "search", "pattern": "x", "default": []}
    template = {
        "tags": [],
        "missing": {"$compute": {"$scalar": "$.missing", "$default": []}},
        "given": {"$compute": [{"$literal": {"tags": []}}, {"$scalar": "$.tags"}]},
        "found": {"$compute": [{"$scalar": "$.a"}, search]},
    }
    adapt = pipeline([{"kind": "TransformJSON", "configuration": template}])
    first, second = adapt([{"a": ""}, {"a": ""}])
    for held in first.values():
        held.append("changed")
    assert second == next(adapt([{"a": ""}])) == {key: [] for key in template}


@pytest.mark.slow
def test_five_hundred_stages() -> None:
    stage = {"kind": "Drop", "configuration": {"fields": ["x"]}}
    assert list(pipeline([stage] * 500)([{"x": 1, "y": 2}])) == [{"y": 2}]


@pytest.mark.parametrize("name", ["", "^a$", "^.*$", "*", "a.b"])
@pytest.mark.parametrize(
    ("kind", "configuration"),
    [
        ("Rename", {"k": "n"}),
        ("Drop", {"fields": ["k"]}),
        ("Select", {"fields": ["NAME", "k"]}),
    ],
)
def test_names_that_polars_takes_for_none_or_for_a_pattern(
    name: str, kind: str, configuration: Any
) -> None:
    text = json.dumps({"kind": kind, "configuration": configuration})
    adapt = pipeline([json.loads(text.replace("NAME", name))])
    rows = [{name: [1, 2], "k": 1, "l": ["x", "y"]}, {name: [3], "k": 2, "l": ["z"]}]
    found = adapt.adapt_frame(pl.DataFrame(rows))
    assert found is not None
    assert found.to_dicts() == list(adapt(rows))
