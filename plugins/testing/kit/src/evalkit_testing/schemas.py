"""Checks that a schema says the same as a model, in Arrow and as JSON Schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from evalkit import EvalkitError, Registry
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    check_laws,
    chosen_laws,
    told_alone,
)
from evalkit_testing.model_rows import damaged_rows, names_field


class SchemaLawError(LawError):
    """A schema breaks a law; `law` is its name, one of `SCHEMA_LAWS`."""


@dataclass
class _Trial:
    model: type[BaseModel]
    rows: Sequence[Mapping[str, Any]]


@told_alone
def check_schema(
    schema: str | type[BaseModel],
    rows: Sequence[Mapping[str, Any]],
    *,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a schema keeps the laws of `evalkit_testing.SCHEMA_LAWS`.

    It needs the distribution `evalkit-schemas-standard`.

    Args:
        schema: Name of an installed schema (`text.Text`), or a pydantic model.
        rows: Rows that it takes, by the names that the fields have in the data.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        SchemaLawError: It breaks a law; the message has the law and the row. It is an
            AssertionError.
        EvalkitError: There are no rows, or there is no such law.
        PluginError: The schema is unknown or broken.
    """
    chosen = chosen_laws(SCHEMA_LAWS, laws)
    if not rows:
        raise EvalkitError("rows must be a list that is not empty")
    name, model = _model(schema, registry or Registry())
    check_laws(chosen, _Trial(model, rows), f"the schema {name}", SchemaLawError)


def _model(
    schema: str | type[BaseModel], registry: Registry
) -> tuple[str, type[BaseModel]]:
    if not isinstance(schema, str):
        return schema.__name__, schema
    bound = registry.load("schemas", schema)
    return bound.component.origin, cast("type[BaseModel]", bound.plugin)


def _check_documented(trial: _Trial) -> None:
    if not (trial.model.__dict__.get("__doc__") or "").strip():
        raise LawBroken("its class has no docstring")


def _check_arrow(trial: _Trial) -> None:
    from evalkit_schemas_standard import arrow_schema, model_from_arrow

    try:
        first = arrow_schema(trial.model)
        second = arrow_schema(model_from_arrow(first))
    except EvalkitError as error:
        raise LawBroken(str(error)) from error
    if not first.equals(second):
        raise LawBroken(
            f"its Arrow schema is {first}, and read and made again {second}"
        )


def _check_json(trial: _Trial) -> None:
    from evalkit_schemas_standard import json_schema, model_from_json_schema

    try:
        model_from_json_schema(json_schema(trial.model))
    except EvalkitError as error:
        raise LawBroken(str(error)) from error


def _check_rows(trial: _Trial) -> None:
    for row in trial.rows:
        try:
            made = trial.model.model_validate(row)
            if not isinstance(made, trial.model):
                raise LawBroken(
                    f"the row {dict(row)!r} becomes {made!r}, which is no "
                    f"{trial.model.__name__}: a validator of the whole must return self"
                )
            again = trial.model.model_validate(made.model_dump(by_alias=True))
        except ValidationError as error:
            raise LawBroken(f"the row {dict(row)!r} is refused: {error}") from error
        if made != again:
            raise LawBroken(f"{made!r}, and written and read again {again!r}")


def _check_table(trial: _Trial) -> None:
    from evalkit_schemas_standard import arrow_table, rows_of_table

    try:
        given = [trial.model.model_validate(row) for row in trial.rows]
        read = [*rows_of_table(trial.model, arrow_table(trial.model, trial.rows))]
    except (EvalkitError, ValidationError) as error:
        raise LawBroken(str(error)) from error
    for first, second in zip(given, read, strict=True):
        if first != second:
            raise LawBroken(f"{first!r}, and through a table {second!r}")


def _check_damaged(trial: _Trial) -> None:
    for name, row in damaged_rows(trial.model, trial.rows[0], key=None):
        try:
            trial.model.model_validate(row)
        except ValidationError as error:
            if not names_field(str(error), name):
                raise LawBroken(
                    f"what is said of {row!r} does not name {name!r}: {error}"
                ) from error
        except Exception as error:
            raise LawBroken(
                f"{row!r} fails with {type(error).__name__}: {error}; a validator "
                "raises a ValueError"
            ) from error
        else:
            raise LawBroken(f"it takes the row {row!r}")


SCHEMA_LAWS: tuple[Law[_Trial], ...] = (
    Law(
        "documented",
        "it says what it is.",
        _check_documented,
        mend="give the model a docstring.",
    ),
    Law(
        "arrow",
        "it has an Arrow schema, which says the same.",
        _check_arrow,
        mend="give the field a type that has a column: evalkit_schemas_standard lists "
        "them.",
    ),
    Law("json", "it has a JSON Schema.", _check_json),
    Law(
        "rows",
        "the rows that are given are its own.",
        _check_rows,
        mend="correct the row, or the model.",
    ),
    Law("table", "rows come out of a table as they went in.", _check_table),
    Law(
        "damaged",
        "a row that lacks a required field, or holds an object in its place, is "
        "refused, and the field is named.",
        _check_damaged,
    ),
)
"""What holds of every schema."""
