from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from evalkit_cli.printing.parameter_lines import describe_parameters, parameter_lines


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Base(BaseModel):
    first: int
    """Of the base,
    in two lines."""
    twice: int = 1
    """Of the base."""


class Given(Base):
    twice: int = 2
    """Of the class."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    place: Annotated[int, Field(ge=0, lt=9)] = 3
    name: str | None = None
    empty: str = ""
    is_on: bool = False
    kind: Literal["a", "b"] = "a"
    only: Literal["x"] = "x"
    colour: Colour = Colour.RED
    labels: list[str] | int = Field(default=[], description="From the field.")
    """Not this."""
    more: dict[str, Any] = {}
    names: dict[str, str] = {}


def test_each_parameter_says_what_it_takes() -> None:
    assert parameter_lines(describe_parameters(Given)) == [
        "  first   integer, required",
        "          Of the base, in two lines.",
        "  twice   integer, default 2",
        "          Of the class.",
        "  share   number above 0 to 1, default 0.5",
        "  place   integer from 0 below 9, default 3",
        "  name    text",
        '  empty   text, default ""',
        "  is_on   true or false, default false",
        "  kind    a or b, default a",
        "  only    x, default x",
        "  colour  red or blue, default red",
        "  labels  list of text or integer, default []",
        "          From the field.",
        "  more    object, default {}",
        "  names   object of text, default {}",
    ]
