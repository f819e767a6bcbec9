"""The adapter that builds each row by a template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ConfigDict, RootModel, ValidationError

from evalkit.errors import AdapterError
from evalkit_adapters_rows.computing import FUNCTIONS, Function
from evalkit_adapters_rows.paths import Path, PathError, read_path

COMPUTE = "$compute"


class TransformJSON:
    r"""Build each row by a template.

    The configuration looks like the new row. A text that begins with `$` is a path,
    which must select exactly one value; other values stand for themselves. `$$x` is the
    text or key `$x`. `{"$compute": [...]}` computes a value in steps: the first sees
    the row, each further one what the step before gave.

    | step | gives |
    |---|---|
    | `{"$scalar": PATH}` | the one value that a path selects |
    | `{"$scalar": PATH, "$default": VALUE}` | VALUE where it selects none |
    | `{"$list": PATH}` | a list of all values that it selects |
    | `{"$list": [STEP, ...]}` | a list of what `$scalar`, `$list` and `$literal` give |
    | `{"$literal": VALUE}` | the value |
    | `{"$func": NAME, ...}` | a function of the value, with its arguments |

    Example:
        ```yaml
        - kind: TransformJSON
          configuration:
            id: $.example.id
            temperature: 0.7
            answer:
              $compute:
                - {$scalar: $.text}
                - {$func: search, pattern: '\(([A-D])\)', group: 1}
        ```
    """

    version = "1"

    class Parameters(RootModel[Any]):
        """The template."""

        model_config = ConfigDict(frozen=True)

    def __init__(self, parameters: Parameters) -> None:
        self.template = read_template(parameters.root, "$")

    def adapt_row(self, row: Any) -> Iterator[Any]:
        """Yield what the template makes of the row."""
        try:
            yield self.template.of_row(row)
        except PathError as error:
            raise AdapterError(str(error)) from error

    def adapt_rows(self, rows: Sequence[Any]) -> list[list[Any]]:
        """Return what the template makes of several rows."""
        try:
            return [[made] for made in self.template.of_rows(rows)]
        except PathError as error:
            raise AdapterError(str(error)) from error


class Node:
    """A part of a template."""

    def of_row(self, row: Any) -> Any:
        """Return what it makes of a row."""
        raise NotImplementedError

    def of_rows(self, rows: Sequence[Any]) -> list[Any]:
        """Return what it makes of several rows."""
        return [self.of_row(row) for row in rows]


@dataclass(frozen=True)
class Literal(Node):
    """A value that stands for itself."""

    value: Any

    def of_row(self, row: Any) -> Any:
        """Return the value; a list or an object anew, as each row may be changed."""
        return deepcopy(self.value)


@dataclass(frozen=True)
class Selected(Node):
    """The one value that a path selects."""

    path: Path
    default: Literal | None = None

    def of_row(self, row: Any) -> Any:
        """Return the value."""
        found = self.path.matches(row)
        if len(found) == 1:
            return found[0]
        if not found and self.default is not None:
            return self.default.of_row(row)
        what = "nothing" if not found else f"{len(found):,} values"
        raise AdapterError(
            f"the path {self.path.text!r} selects {what}; it must select one value"
            + ("" if not found else ", or write {'$compute': {'$list': …}}"),
            field=self.path.text,
        )


@dataclass(frozen=True)
class SelectedList(Node):
    """All values that a path selects."""

    path: Path

    def of_row(self, row: Any) -> list[Any]:
        """Return the values."""
        return self.path.matches(row)


@dataclass(frozen=True)
class Items(Node):
    """A list of templates."""

    items: tuple[Template, ...]

    def of_row(self, row: Any) -> list[Any]:
        """Return a list of what each makes of the row."""
        return [each.of_row(row) for each in self.items]


@dataclass(frozen=True)
class Object(Node):
    """Templates by name."""

    fields: dict[str, Template]

    def of_row(self, row: Any) -> dict[str, Any]:
        """Return an object of what each makes of the row."""
        return {name: each.of_row(row) for name, each in self.fields.items()}

    def of_rows(self, rows: Sequence[Any]) -> list[Any]:
        """Return an object of what each makes of several rows."""
        columns = [each.of_rows(rows) for each in self.fields.values()]
        if not columns:
            return [{} for _ in rows]
        found = zip(*columns, strict=True)
        return [dict(zip(self.fields, values, strict=True)) for values in found]


@dataclass(frozen=True)
class Computed(Node):
    """A value that is computed in steps."""

    steps: tuple[Template | Function, ...]

    def of_row(self, row: Any) -> Any:
        """Return what the last step gives."""
        return self.of_rows([row])[0]

    def of_rows(self, rows: Sequence[Any]) -> list[Any]:
        """Return what the last step gives for several rows."""
        values = list(rows)
        for step in self.steps:
            if isinstance(step, Function):
                values = step.of_values(values)
            else:
                values = step.of_rows(values)
        return values


Template: TypeAlias = Literal | Selected | SelectedList | Items | Object | Computed


def read_template(written: Any, place: str) -> Template:
    """Read a template, or a part of it at a place."""
    if isinstance(written, str):
        return _read_text(written, place)
    if isinstance(written, list):
        items = [
            read_template(each, f"{place}[{number}]")
            for number, each in enumerate(written)
        ]
        values = [each.value for each in items if isinstance(each, Literal)]
        return Literal(values) if len(values) == len(items) else Items(tuple(items))
    if isinstance(written, dict):
        if COMPUTE in written:
            return _read_computed(written, place)
        return Object(
            {
                _read_key(key, place): read_template(each, f"{place}.{key}")
                for key, each in written.items()
            }
        )
    return Literal(written)


def _read_text(text: str, place: str) -> Literal | Selected:
    if text.startswith("$$"):
        return Literal(text[1:])
    return Selected(_path(text, place)) if text.startswith("$") else Literal(text)


def _read_key(key: str, place: str) -> str:
    if key.startswith("$$"):
        return key[1:]
    if key.startswith("$"):
        raise _wrong(f"the key {key!r} begins with '$'; write '$${key[1:]}'", place)
    return key


def _path(text: Any, place: str) -> Path:
    if not isinstance(text, str):
        raise _wrong(f"a path must be a text, is {text!r}", place)
    try:
        return read_path(text)
    except PathError as error:
        raise _wrong(str(error), place) from error


def _wrong(problem: str, place: str) -> AdapterError:
    return AdapterError(f"at {place}: {problem}", field=place)


def _read_computed(written: dict[str, Any], place: str) -> Template:
    if len(written) > 1:
        raise _wrong(f"{COMPUTE!r} must be the only key", place)
    steps = written[COMPUTE]
    steps = [steps] if isinstance(steps, dict) else steps
    if not isinstance(steps, list) or not steps:
        raise _wrong(f"{COMPUTE!r} must be a step or a list of steps", place)
    return Computed(tuple(_read_step(step, place) for step in steps))


def _read_step(step: Any, place: str) -> Template | Function:
    if isinstance(step, dict) and "$func" in step:
        return _read_function(step, place)
    return _read_value(step, place)


def _read_value(step: Any, place: str) -> Template:
    match step:
        case {"$literal": value, **others} if not others:
            return Literal(value)
        case {"$scalar": str(text), **others} if not others:
            return (
                _read_text(text, place) if text[:1] == "$" else _not_path(text, place)
            )
        case {"$scalar": path, "$default": value, **others} if not others:
            return Selected(_path(path, place), Literal(value))
        case {"$list": list(items), **others} if not others:
            return Items(tuple(_read_value(each, place) for each in items))
        case {"$list": path, **others} if not others:
            return SelectedList(_path(path, place))
    raise _wrong(
        f"a step has one of the keys $scalar, $list, $literal and $func, is {step!r}",
        place,
    )


def _not_path(text: str, place: str) -> Template:
    raise _wrong(f"the path {text!r} does not begin with '$'", place)


def _read_function(step: dict[str, Any], place: str) -> Function:
    name = step["$func"]
    if not isinstance(name, str) or name not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        raise _wrong(f"there is no function {name!r}; there are: {known}", place)
    arguments = {key: value for key, value in step.items() if key != "$func"}
    try:
        return FUNCTIONS[name](**arguments)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        where = ".".join(map(str, detail["loc"]))
        raise _wrong(f"{name}: {where}: {detail['msg']}", place) from error
    except AdapterError as error:
        raise _wrong(f"{name}: {error.problem}", place) from error
