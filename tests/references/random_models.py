"""Models and values drawn at random, of all that a schema can say."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
)
from uuid import UUID

from hypothesis import strategies as st
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NaiveDatetime,
    create_model,
)

from evalkit_schemas_standard import (
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Semantics,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Unit,
)

Held = TypeVar("Held")


class Box(BaseModel, Generic[Held]):
    held: Held


INTEGERS = (int, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)
FLOATS = (float, FiniteFloat, Float16, Float32, Float64)
TIMES = (date, datetime, AwareDatetime, NaiveDatetime, time, timedelta)
LETTERS = st.text(alphabet="abcé_ \u2028🙂", max_size=3)
NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "c", "text", "class", "model_x", "json", "copy", "_a", "a b"]
    ),
    st.sampled_from(["example.org/x", "schema", "é", "items", "keys", "A", "1"]),
)


@st.composite
def constrained(draw: st.DrawFn) -> Any:
    """Draw a type of single values, with rules beside it."""
    kind = draw(
        st.sampled_from(["text", "integer", "float", "time", "other", "choice"])
    )
    if kind == "text":
        rules = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "min_length": st.integers(0, 2),
                    "max_length": st.integers(2, 4),
                    "pattern": st.sampled_from(["a", "^[ab]+$", "é|🙂"]),
                    "strict": st.booleans(),
                },
            )
        )
        return Annotated[str, Field(**rules)] if rules else str
    if kind in ("integer", "float"):
        return draw(_number(kind))
    if kind == "time":
        return draw(st.sampled_from(TIMES))
    if kind == "choice":
        return draw(_choice())
    digits = Annotated[Decimal, Field(max_digits=5, decimal_places=2)]
    most = Annotated[
        Decimal, Field(max_digits=40, decimal_places=20, le=Decimal("1.5"))
    ]
    later = Annotated[date, Field(gt=date(2020, 2, 29))]
    return draw(st.sampled_from([bool, bytes, UUID, digits, most, later]))


@st.composite
def _number(draw: st.DrawFn, kind: str) -> Any:
    base = draw(st.sampled_from(INTEGERS if kind == "integer" else FLOATS))
    bounds = st.integers(0, 3) if kind == "integer" else st.sampled_from([-1.5, 0, 0.5])
    rules = draw(
        st.fixed_dictionaries(
            {},
            optional={
                draw(st.sampled_from(["ge", "gt"])): bounds,
                draw(st.sampled_from(["le", "lt"])): bounds,
                "strict": st.booleans(),
            },
        )
    )
    return Annotated[base, Field(**rules)] if rules else base


@st.composite
def _choice(draw: st.DrawFn) -> Any:
    values = draw(
        st.one_of(
            st.lists(LETTERS, min_size=1, max_size=3, unique=True),
            st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True),
            st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
        )
    )
    if draw(st.booleans()):
        return Literal[tuple(values)]
    return Enum("Chosen", {f"member{n}": value for n, value in enumerate(values)})


def annotations(depth: int = 2) -> st.SearchStrategy[Any]:
    """Draw the annotation of a field."""
    single = constrained()
    if depth == 0:
        return single
    inner = annotations(depth - 1)
    nullable = st.builds(
        lambda kind, yes: kind | None if yes else kind, inner, st.booleans()
    )
    wrapped: list[Callable[[Any], Any]] = [
        lambda kind: list[kind],
        lambda kind: Annotated[list[kind], Field(min_length=1)],
        lambda kind: Annotated[list[kind], Field(min_length=2, max_length=2)],
        lambda kind: tuple[kind, ...],
        lambda kind: tuple[kind, kind],
        lambda kind: dict[str, kind],
        lambda kind: dict[Annotated[str, Field(min_length=1)], kind],
        lambda kind: Box[kind],
    ]
    several = st.builds(
        lambda wrap, kind: wrap(kind), st.sampled_from(wrapped), nullable
    )
    sets = st.sampled_from([set[int], set[str], frozenset[Int8]])
    return st.one_of(single, several, sets, models(depth - 1))


@st.composite
def models(draw: st.DrawFn, depth: int = 2) -> type[BaseModel]:
    """Draw a model."""
    fields: dict[str, Any] = {}
    for number, name in enumerate(
        draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    ):
        annotation = draw(annotations(depth))
        notes = draw(st.sampled_from([(), (Unit("ms"),), (Semantics("x"), Unit("s"))]))
        if notes:
            annotation = Annotated[(annotation, *notes)]
        settings: dict[str, Any] = {
            "alias": name,
            "description": draw(st.sampled_from([None, "Some words", "é\n"])),
        }
        if draw(st.booleans()):
            annotation, settings["default"] = annotation | None, None
        fields[f"field{number}"] = (annotation, Field(**settings))
    config = ConfigDict(
        extra=draw(st.sampled_from(["ignore", "forbid"])), strict=draw(st.booleans())
    )
    title = draw(st.sampled_from(["Row", "Inner", "R2"]))
    return create_model(
        title,
        __config__=config,
        __doc__=draw(st.sampled_from([None, "Doc."])),
        **fields,
    )


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 5),
        st.sampled_from([127, 128, 255, 256, 32768, -129, 2**32, 2**63 - 1]),
        st.sampled_from([0.5, 1.5, -1.5, 65505.0, 1e39, float("nan"), float("inf")]),
        LETTERS,
        st.sampled_from(
            ["1", "1.25", "2020-02-29", "2021-01-01T00:00:00Z", "10:00:00"]
        ),
        st.sampled_from(
            ["P1D", "2021-01-01T00:00:00", "0.001", "true", str(UUID(int=7))]
        ),
        st.sampled_from([datetime(2021, 1, 1, tzinfo=UTC), datetime(2021, 1, 1)]),
        st.sampled_from(
            [date(2021, 1, 1), time(1), timedelta(1), Decimal("1.25"), b"a"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["held", "a", "b", ""]), inner, max_size=2),
    ),
    max_leaves=4,
)
"""Values that fit some fields, and others that do not."""


def values_for(annotation: Any) -> st.SearchStrategy[Any]:
    """Draw a value of an annotation most of the time, and any other."""
    fitting = _fitting(annotation)
    return st.one_of(fitting, fitting, fitting, VALUES)


def _fitting(annotation: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _fitting(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*map(_fitting, arguments))
    if origin is dict:
        return st.dictionaries(
            st.sampled_from(["a", "b", ""]), values_for(arguments[1]), max_size=3
        )
    if origin is tuple and Ellipsis not in arguments:
        return st.tuples(*map(values_for, arguments)).map(list)
    if origin is not None:
        return st.lists(values_for(arguments[0]), max_size=3)
    if annotation is None or annotation is type(None):
        return st.none()
    if issubclass(annotation, BaseModel):
        return rows_of(annotation)
    if issubclass(annotation, Enum):
        return st.sampled_from([member.value for member in annotation])
    return _OF_TYPE.get(annotation, VALUES)


_NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([127, 128, 255, 256, 2**31, 2**63 - 1, -129, 70000]),
)
_OF_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.one_of(LETTERS, st.sampled_from(["a", "ab", "abab", "é"])),
    int: _NUMBERS,
    float: st.one_of(
        _NUMBERS,
        st.sampled_from([0.5, -1.5, 65505.0, 1e39, float("nan"), float("inf")]),
    ),
    bool: st.booleans(),
    Decimal: st.sampled_from(["1.25", "0.5", 1, 2.5, "123456", "0.001", "NaN"]),
    date: st.sampled_from(["2020-02-29", "2021-01-01", date(2021, 1, 1)]),
    bytes: st.sampled_from(["a", b"a\xff"]),
    UUID: st.sampled_from([str(UUID(int=7)), UUID(int=8), "7"]),
}


@st.composite
def rows_of(draw: st.DrawFn, model: type[BaseModel]) -> dict[str, Any]:
    """Draw a row for a model: right, or wrong in some fields."""
    row: dict[str, Any] = {}
    for field in model.model_fields.values():
        if draw(st.integers(0, 9)):
            name = str(field.alias or "held")
            row[name] = draw(values_for(field.annotation))
    if draw(st.integers(0, 9)) == 0:
        row["other"] = 1
    return row
