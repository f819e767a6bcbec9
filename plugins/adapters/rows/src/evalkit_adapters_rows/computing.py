"""Functions of `$compute`, of a value and of a column of values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.patterns import Pattern
from evalkit_adapters_rows.row_values import word_for

if TYPE_CHECKING:
    import polars as pl


class Function(AdapterSettings, ABC):
    """A function of one value; its fields are its arguments."""

    @abstractmethod
    def of_value(self, value: Any) -> Any:
        """Return the function of a value of JSON."""

    def of_values(self, values: Sequence[Any]) -> list[Any]:
        """Return the function of several values of JSON."""
        return [self.of_value(value) for value in values]


class _OfTexts(Function, ABC):
    """A function of a text by a pattern."""

    name: ClassVar[str]
    pattern: str = Field(description="A regular expression")
    flags: int = Field(default=0, description="A sum of flags of Python's `re`")

    def model_post_init(self, context: Any) -> None:
        """Check the arguments, once."""
        self._compiled = Pattern(self.pattern, self.flags)

    _compiled: Pattern

    def of_value(self, value: Any) -> Any:
        """Return it for a value."""
        return self.of_values([value])[0]

    def of_values(self, values: Sequence[Any]) -> list[Any]:
        """Return it for several values."""
        import polars as pl

        for value in values:
            self._check(value)
        return self.of_texts(pl.Series(values, dtype=pl.String))

    def _check(self, value: Any) -> None:
        if not isinstance(value, str):
            raise AdapterError(f"{self.name} takes a text, is given {word_for(value)}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise AdapterError(
                f"{self.name} takes no text with half of a surrogate pair"
            ) from error

    @abstractmethod
    def of_texts(self, column: pl.Series) -> list[Any]:
        """Return the function of each text of a column."""


class FindAll(_OfTexts):
    """All matches of a pattern; of its groups where it has some."""

    name = "findall"

    def of_texts(self, column: pl.Series) -> list[Any]:
        """Return it for several texts."""
        return self._compiled.find_all(column).to_list()


class Search(_OfTexts):
    """The first match of a pattern, or one of its groups, or a default."""

    name = "search"
    group: int | str = Field(default=0, description="Number or name of a group")
    default: Any = Field(default=None, description="The value without a match")

    def model_post_init(self, context: Any) -> None:
        """Check the arguments, once."""
        super().model_post_init(context)
        self._number = self._compiled.group_number(self.group)

    _number: int

    def of_texts(self, column: pl.Series) -> list[Any]:
        """Return it for several texts."""
        found = self._compiled.search(column, self._number, None).to_list()
        matched = column.str.contains(self._compiled.text)
        return [
            value if is_match else deepcopy(self.default)
            for value, is_match in zip(found, matched, strict=True)
        ]


class Split(_OfTexts):
    """The parts of a text between the matches of a pattern."""

    name = "split"
    maxsplit: int = Field(default=0, ge=0, description="0 for at every match")

    def model_post_init(self, context: Any) -> None:
        """Check the arguments, once."""
        super().model_post_init(context)
        if self._compiled.groups:
            raise AdapterError(
                "split takes no pattern with groups; write (?:…)", field="pattern"
            )

    def of_texts(self, column: pl.Series) -> list[Any]:
        """Return it for several texts."""
        return self._compiled.split(column, self.maxsplit)


class Substitute(_OfTexts):
    """A text with the matches of a pattern replaced."""

    name = "sub"
    repl: str = Field(description="The replacement, with groups as in Python's `re`")
    count: int = Field(default=0, ge=0, description="How many matches; 0 for all")

    def model_post_init(self, context: Any) -> None:
        """Check the arguments, once."""
        super().model_post_init(context)
        self._replacement = self._compiled.replacement(self.repl)

    _replacement: str

    def of_texts(self, column: pl.Series) -> list[Any]:
        """Return it for several texts."""
        return self._compiled.substitute(column, self._replacement, self.count)


class Join(Function):
    """The texts of a list as one text."""

    separator: str = ""

    def of_value(self, value: Any) -> str:
        """Return it for a value."""
        if not isinstance(value, list) or any(
            not isinstance(each, str) for each in value
        ):
            raise AdapterError("join takes a list of texts")
        return self.separator.join(value)


class AsList(Function):
    """The characters of a text, the names of an object's fields, or a list itself."""

    def of_value(self, value: Any) -> list[Any]:
        """Return it for a value."""
        if not isinstance(value, str | dict | list):
            raise AdapterError(
                f"list takes a text, an object or a list, is given {word_for(value)}"
            )
        return list(value)


class Reduce(Function):
    """The sum of numbers, or texts or lists put together."""

    def of_value(self, value: Any) -> Any:
        """Return it for a value."""
        if not isinstance(value, list) or not value:
            raise AdapterError("reduce takes a list that is not empty")
        for kind in ((int, float), str, list):
            if all(isinstance(each, kind) for each in value):
                return (
                    [each for inner in value for each in inner]
                    if kind is list
                    else ("".join(value) if kind is str else reduce(add, value))
                )
        raise AdapterError("reduce takes a list of numbers, of texts or of lists")


FUNCTIONS: dict[str, type[Function]] = {
    "findall": FindAll,
    "search": Search,
    "split": Split,
    "sub": Substitute,
    "join": Join,
    "list": AsList,
    "reduce": Reduce,
}
"""The functions, by the name that `$func` gives them."""
