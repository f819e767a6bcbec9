from __future__ import annotations

import json
import math
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
    ValidationError,
    computed_field,
    create_model,
    field_serializer,
    field_validator,
    model_validator,
)

from evalkit.reading import json_lines
from evalkit.reading.json_lines import read_json_blocks
from evalkit.reading.schemas import ColumnPlan, plan_of, text_fields

LABELS = ("a", "b")
TEXTS = ["", "x", "xy", "xyz", "\U0001f600", "\u2028\x85", "a\u0301", "\0"]
FLOATS = [0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-300, 1e308, 0, 1, 2, 2**53 + 1]
INTS = [0, 1, -1, 5, 2**63 - 1, -(2**63)]
ODD: list[Any] = [None, True, "x", "1", 1, 1.5, [], ["x"], [None], {}, {"a": 1}, 2**70]
ODD += [{"a": 1, "b": 0.5}, {"a": 1, "b": None}, {"a": 1, "b": 1, "c": 1}, [["x"]]]

BOUNDED: list[tuple[Any, list[Any]]] = [
    (Annotated[float, Field(ge=0, le=1)], [0, 0.5, 1, -0.0]),
    (Annotated[float, Field(gt=0, lt=1)], [0.5, 1e-300]),
    (Annotated[float, Field(gt=-1.5)], [0, 1e308, 2**53 + 1]),
    (Annotated[int, Field(ge=0, lt=6)], [0, 1, 5]),
    (Annotated[int, Field(le=10**30)], INTS),
    (Annotated[float, Field(allow_inf_nan=False)], FLOATS),
    (
        Annotated[str, Field(min_length=1, max_length=2)],
        ["x", "xy", "\U0001f600", "\0"],
    ),
    (Annotated[str, Field(max_length=2)], ["", "xy", "a\u0301"]),
    (Annotated[str, Field(min_length=3)], ["xyz"]),
]


class Inner(BaseModel):
    a: Annotated[int, Field(ge=0)]
    b: float | None = None


RULED: list[tuple[Any, list[Any]]] = [
    (Annotated[str, Field(strict=True)], TEXTS),
    (Annotated[list[str], Field(min_length=1, max_length=2)], [["x"], ["", "y"]]),
    (Literal[1, 5], [1, 5]),
]
KINDS: list[tuple[Any, list[Any]]] = [
    (str, TEXTS),
    (float, FLOATS),
    (int, INTS),
    (bool, [True, False]),
    (Literal["x", "xy"], ["x", "xy"]),
    (list[str], [[], ["x"], ["", "\u2028"]]),
    (dict[str, float], [{"a": 1, "b": 0.5}, {"b": 0, "a": 1e308}]),
    (dict[str, Any], [{"a": 0.5, "b": -1}]),
    *BOUNDED,
    *RULED,
]


class Drawn:
    """A model, and the values that each of its fields takes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.good: dict[str, list[Any]] = {}
        fields: dict[str, Any] = {"id": (str, ...)}
        strict = draw(st.booleans())
        for number in range(draw(st.integers(1, 5))):
            kind, good = draw(st.sampled_from(KINDS))
            name = f"f{number}"
            if draw(st.booleans()):
                fields[name] = (kind | None, None)
                good = [*good, None]
            else:
                fields[name] = (kind, ...)
            self.good[name] = good
        config = ConfigDict(
            strict=strict, extra=draw(st.sampled_from(["ignore", "forbid"]))
        )
        self.model: type[BaseModel] = create_model("Drawn", __config__=config, **fields)
        plan = plan_of(self.model, LABELS)
        assert plan is not None
        self.plan: ColumnPlan = plan

    def __repr__(self) -> str:
        return f"{self.model.model_fields} {self.model.model_config}"


DRAWN = st.composite(Drawn)()


def _same(given_value: Any, found: Any) -> bool:
    if isinstance(given_value, dict) and isinstance(found, dict):
        return given_value.keys() == found.keys() and all(
            _same(given_value[key], found[key]) for key in given_value
        )
    if isinstance(given_value, float) and isinstance(found, float | int):
        return math.copysign(1, given_value) == math.copysign(1, found) and (
            given_value == float(found)
        )
    return type(given_value) is type(found) and given_value == found


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@given(data=st.data(), drawn=DRAWN)
@pytest.mark.slow
def test_a_row_that_passes_is_one_that_pydantic_accepts_with_the_same_values(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, drawn: Drawn
) -> None:
    rows = []
    for number in range(data.draw(st.integers(1, 10))):
        row: dict[str, Any] = {"id": str(number)}
        for name, good in drawn.good.items():
            if data.draw(st.integers(0, 5)):
                odd = data.draw(st.integers(0, 4)) == 0
                row[name] = data.draw(st.sampled_from(ODD if odd else good))
        rows.append(row)
    path = _write(tmp_path_factory.getbasetemp() / "plan.jsonl", rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "FEW_LINES", 1)
        for block in read_json_blocks(path, drawn.plan):
            if not block.frame.height:
                continue
            passes = drawn.plan.passes(block.frame)
            assert len(passes) == block.frame.height
            for index in passes.arg_true():
                stored = {name: block.frame[name][index] for name in drawn.plan.columns}
                row = rows[int(block.lines[index]) - 1]
                accepted = drawn.model.model_validate(row).model_dump()
                for name, value in stored.items():
                    if isinstance(value, pl.Series):
                        value = value.to_list()
                    assert _same(value, accepted[name]), (name, value, accepted)


@given(data=st.data(), drawn=DRAWN)
@pytest.mark.slow
def test_rows_of_valid_values_pass(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, drawn: Drawn
) -> None:
    rows = [
        {
            "id": str(number),
            **{
                name: data.draw(st.sampled_from(good))
                for name, good in drawn.good.items()
            },
        }
        for number in range(data.draw(st.integers(1, 6)))
    ]
    path = _write(tmp_path_factory.getbasetemp() / "valid.jsonl", rows)
    (block,) = read_json_blocks(path, drawn.plan)
    assert list(block.rows) == []
    assert drawn.plan.passes(block.frame).all()


class Plain(BaseModel):
    id: str
    label: str


class Probable(BaseModel):
    id: str
    prob: dict[str, float] | None = None


class Reference(BaseModel):
    pass


def validated() -> type[BaseModel]:
    class Model(Plain):
        @field_validator("label")
        @classmethod
        def check(cls, value: str) -> str:
            return value

    return Model


def model_validated() -> type[BaseModel]:
    class Model(Plain):
        @model_validator(mode="after")
        def check(self) -> Model:
            return self

    return Model


def inherited() -> type[BaseModel]:
    class Model(validated()):  # type: ignore[misc]
        more: str | None = None

    return Model


def serialized() -> type[BaseModel]:
    class Model(Plain):
        @field_serializer("label")
        def show(self, value: str) -> str:
            return value.upper()

    return Model


def computed() -> type[BaseModel]:
    class Model(Plain):
        @computed_field  # type: ignore[prop-decorator]
        @property
        def twice(self) -> str:
            return self.label * 2

    return Model


def with_post_init() -> type[BaseModel]:
    class Model(Plain):
        def model_post_init(self, context: Any) -> None:
            self.label += "!"

    return Model


def with_dump() -> type[BaseModel]:
    class Model(Plain):
        def model_dump(self, **options: Any) -> dict[str, Any]:
            return {}

    return Model


def with_config(**settings_: Any) -> type[BaseModel]:
    class Model(Plain):
        model_config = ConfigDict(**settings_)

    return Model


class Choice(Enum):
    X = "x"
    Y = "y"


def with_field(annotation: Any, default: Any = ...) -> type[BaseModel]:
    made: type[BaseModel] = create_model(
        "Made", __base__=Plain, more=(annotation, default)
    )
    return made


UNPLANNED: dict[str, type[BaseModel]] = {
    "a validator": validated(),
    "a validator of the model": model_validated(),
    "an inherited validator": inherited(),
    "a serializer": serialized(),
    "a computed field": computed(),
    "a post-init": with_post_init(),
    "an own dump": with_dump(),
    "extra=allow": with_config(extra="allow"),
    "str_strip_whitespace": with_config(str_strip_whitespace=True),
    "str_to_lower": with_config(str_to_lower=True),
    "str_max_length": with_config(str_max_length=2),
    "allow_inf_nan": with_config(allow_inf_nan=False),
    "a pattern": with_field(Annotated[str, Field(pattern="^x")]),
    "a multiple": with_field(Annotated[int, Field(multiple_of=5)]),
    "a list of numbers": with_field(list[int]),
    "a list that may hold null": with_field(list[str | None]),
    "a list with rules of items": with_field(list[Annotated[str, Field(min_length=1)]]),
    "a map": with_field(dict[str, int]),
    "a choice of an Enum": with_field(Choice),
    "a nested model": with_field(Inner),
    "a time": with_field(datetime),
    "bytes": with_field(bytes),
    "a multiple of a fraction": with_field(Annotated[float, Field(multiple_of=0.5)]),
    "a limit that no float is": with_field(Annotated[float, Field(ge=2**53 + 1)]),
    "a limit that no column compares": with_field(Annotated[int, Field(lt=10**45)]),
    "a length of a set": with_field(Annotated[set[str], Field(max_length=2)]),
    "a stripped text": with_field(
        Annotated[str, StringConstraints(strip_whitespace=True)]
    ),
    "a validator of items": with_field(list[Annotated[int, AfterValidator(abs)]]),
    "a strict choice": with_field(Annotated[Choice, Field(strict=True)]),
    "a strict model": with_field(Annotated[Inner, Field(strict=True)]),
    "a name for writing": with_field(str, Field(serialization_alias="other")),
    "an alias": with_field(str, Field(alias="other")),
    "an excluded field": with_field(str, Field(exclude=True)),
    "a union": with_field(str | int),
    "literals of two types": with_field(Literal["x", 1]),
    "a nested model without fields": with_field(Reference),
    "a nested model with a validator": with_field(validated()),
    "anything": with_field(Any),
    "an id with rules": create_model(
        "M", id=(Annotated[str, Field(min_length=2)], ...)
    ),
    "an id of another type": create_model("M", id=(int, ...)),
    "an id with an alias": create_model("M", id=(str, Field(alias="uid"))),
    "a root": RootModel[dict[str, str]],
}


@pytest.mark.parametrize("model", UNPLANNED.values(), ids=UNPLANNED.keys())
def test_a_model_whose_rules_columns_do_not_show_has_no_plan(
    model: type[BaseModel],
) -> None:
    assert plan_of(model, LABELS) is None


@pytest.mark.parametrize("label", ["*", "**", "a*", "^x$", "^"])
def test_labels_that_polars_takes_for_patterns_have_no_plan(label: str) -> None:
    assert plan_of(Probable, ["a", label]) is None
    assert plan_of(Probable, ["a", f"b{label.replace('*', '')}"]) is not None


@pytest.mark.parametrize("key", ["*", "^x$", "^.*$"])
def test_a_key_like_a_pattern_never_passes(key: str) -> None:
    plan = plan_of(Probable, ["a", "b"])
    assert plan is not None
    values = [{"a": 0.5, "b": 0.5, key: 0.0}, None]
    dtype = pl.Struct(dict.fromkeys(("a", "b", key), pl.Float64))
    frame = pl.DataFrame({"prob": pl.Series(values, dtype=dtype)})
    assert plan.passes(frame).to_list() == [False, True]


@pytest.mark.parametrize("values", [Any, float])
def test_probabilities_without_labels_have_no_plan(values: Any) -> None:
    numbers = with_field(dict[str, values])
    assert plan_of(numbers) is None
    assert plan_of(numbers, LABELS) is not None


@pytest.mark.parametrize(
    ("annotation", "default", "valid"),
    [
        (float | None, None, True),
        (float | None, 0.5, False),
        (float | None, Field(default_factory=lambda: 0.5), False),
        (float | None, Field(default_factory=lambda: None), False),
        (float | None, ..., False),
        (float, 0.5, False),
    ],
)
def test_a_field_that_is_not_there_passes_only_where_null_is_its_default(
    annotation: Any, default: Any, valid: bool
) -> None:
    plan = plan_of(with_field(annotation, default))
    assert plan is not None
    columns = {"label": ["x"], "more": pl.Series([None], dtype=pl.Float64)}
    assert plan.passes(pl.DataFrame(columns)).to_list() == [valid]


def test_values_that_are_not_finite_never_pass() -> None:
    model = with_field(float)
    plan = plan_of(model)
    assert plan is not None
    more = [math.inf, -math.inf, math.nan, 1.0]
    frame = pl.DataFrame({"label": ["x"] * 4, "more": more})
    assert plan.passes(frame).to_list() == [False, False, False, True]


def test_lengths_are_those_of_characters() -> None:
    model = with_field(Annotated[str, Field(max_length=1)])
    plan = plan_of(model)
    assert plan is not None
    texts = ["", "x", "\U0001f600", "a\u0301", "ab"]
    frame = pl.DataFrame({"label": ["x"] * 5, "more": texts})
    expected = []
    for text in texts:
        try:
            model.model_validate({"id": "1", "label": "x", "more": text})
            expected.append(True)
        except ValidationError:
            expected.append(False)
    assert plan.passes(frame).to_list() == expected == [True, True, True, False, False]


def test_a_column_of_another_type_never_passes() -> None:
    plan = plan_of(with_field(str | None, None))
    assert plan is not None
    frame = pl.DataFrame({"label": ["x", "x"], "more": [1, None]})
    assert plan.passes(frame).to_list() == [False, True]


def test_the_fields_that_may_hold_a_text_are_known() -> None:
    class Model(Plain):
        short: Annotated[str, Field(max_length=3)] | None = None
        choice: Literal["x", "y"] | None = None
        either: str | float = 0.0
        number: float | None = None
        words: list[str] = []
        anything: Any = None

    assert text_fields(Model) == {"id", "label", "short", "choice", "either"}
