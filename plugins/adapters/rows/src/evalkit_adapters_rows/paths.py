"""Paths into a row, in the dialect of JSONPath that `jsonpath-ng` reads.

| step | selects |
|---|---|
| `$` | the row |
| `.name`, `['name']`, `.'name'`, `['a','b']` | fields of an object |
| `[0]`, `[-1]`, `[0,2]` | elements of a list |
| `[1:3]`, `[::2]` | elements of a list |
| `.*`, `[*]` | every field of an object, or every element of a list |
| `..` before a step | the same at any depth, outer values first |

Filters, unions, `where` and `parent` are refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

MOST_CHARACTERS = 1_000
"""How long a path may be."""

MOST_VALUES = 1_000_000
"""How many values of one row a path may look at, so that `$..*..*` ends."""


class PathError(ValueError):
    """A path is not of this dialect, or looks at too many values of a row."""


@dataclass
class Visits:
    """How many values a path has looked at in a row."""

    path: str
    count: int = 0

    def add(self, count: int = 1) -> None:
        """Count further values."""
        self.count += count
        if self.count > MOST_VALUES:
            raise PathError(
                f"the path {self.path!r} looks at more than {MOST_VALUES:,} values"
            )


@dataclass(frozen=True)
class Fields:
    """Fields of an object, by name."""

    names: tuple[str, ...]

    def select(self, value: Any, visits: Visits) -> Iterator[Any]:
        """Yield those that an object has."""
        if isinstance(value, dict):
            for name in self.names:
                if name in value:
                    # a name may be there twice in each of several steps
                    visits.add(len(self.names) - 1)
                    yield value[name]


@dataclass(frozen=True)
class Elements:
    """Elements of a list, by position; negative ones count from the end."""

    positions: tuple[int, ...]

    def select(self, value: Any, visits: Visits) -> Iterator[Any]:
        """Yield those that a list has."""
        if isinstance(value, list):
            for position in self.positions:
                if -len(value) <= position < len(value):
                    visits.add(len(self.positions) - 1)
                    yield value[position]


@dataclass(frozen=True)
class Slice:
    """Elements of a list from one position to another."""

    start: int | None
    stop: int | None
    step: int | None

    def select(self, value: Any, visits: Visits) -> Iterator[Any]:
        """Yield those that a list has."""
        if isinstance(value, list):
            yield from value[self.start : self.stop : self.step]


@dataclass(frozen=True)
class Every:
    """Every field of an object, or every element of a list."""

    def select(self, value: Any, visits: Visits) -> Iterator[Any]:
        """Yield them in their order."""
        held = value.values() if isinstance(value, dict) else value
        if isinstance(value, list | dict):
            for each in held:
                visits.add()
                yield each


@dataclass(frozen=True)
class Below:
    """What steps select in a value, and in all that it holds at any depth."""

    steps: tuple[Step, ...]

    def select(self, value: Any, visits: Visits) -> Iterator[Any]:
        """Yield what the steps select, outer values first."""
        waiting = [value]
        while waiting:
            visits.add()
            current = waiting.pop()
            yield from _select(current, self.steps, visits)
            if isinstance(current, list):
                waiting.extend(reversed(current))
            elif isinstance(current, dict):
                waiting.extend(reversed(current.values()))


Step: TypeAlias = Fields | Elements | Slice | Every | Below


@dataclass(frozen=True)
class Path:
    """A path that was read.

    Attributes:
        text: As it was written.
        steps: From the row on.
    """

    text: str
    steps: tuple[Step, ...]

    def matches(self, value: Any) -> list[Any]:
        """Return all values that the path selects."""
        return list(_select(value, self.steps, Visits(self.text)))


def _select(value: Any, steps: Sequence[Step], visits: Visits) -> Iterator[Any]:
    if not steps:
        yield value
        return
    for found in steps[0].select(value, visits):
        yield from _select(found, steps[1:], visits)


def read_path(text: str) -> Path:
    """Read a path."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.parser import parse

    if len(text) > MOST_CHARACTERS:
        raise PathError(f"a path may have {MOST_CHARACTERS:,} characters")
    if not text.startswith("$"):
        raise PathError(f"the path {text!r} does not begin with '$'")
    try:
        with warnings.catch_warnings():
            # it warns of what is refused here
            warnings.simplefilter("ignore", DeprecationWarning)
            tree = parse(text)
    # it lets errors of its tokens through as they are
    except (JSONPathError, ValueError, RecursionError) as error:
        raise PathError(f"the path {text!r} cannot be read: {error}") from error
    return Path(text, _steps(tree, text, is_first=True))


def _steps(tree: Any, text: str, is_first: bool = False) -> tuple[Step, ...]:
    import jsonpath_ng as parsed

    match tree:
        case parsed.Root() if is_first:
            return ()
        case parsed.Child():
            return (*_steps(tree.left, text, is_first), *_steps(tree.right, text))
        case parsed.Descendants():
            below = Below(_steps(tree.right, text))
            return (*_steps(tree.left, text, is_first), below)
        case parsed.Fields():
            return (Fields(tuple(tree.fields)),)
        case parsed.Index():
            return (Elements(tuple(tree.indices)),)
        case parsed.Slice():
            return (_slice(tree, text),)
        case parsed.Wildcard():
            return (Every(),)
    word = type(tree).__name__.strip("_").lower()
    raise PathError(f"the path {text!r}: {word} is not possible there")


def _slice(tree: Any, text: str) -> Slice:
    if tree.step == 0:
        raise PathError(f"the path {text!r} has a step of 0")
    return Slice(tree.start, tree.end, tree.step)
