"""The columns that make rows perturbed copies: whose, by what, and what it does."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.copies import (
    AS_STORED,
    COPY_COLUMNS,
    FAMILIES,
    FAMILY,
    INPUT_ID,
    LABEL_EFFECT,
    LABEL_EFFECTS,
    PERTURBATION,
    TAGS,
    LabelEffect,
)
from evalkit.base.violations import few, shorten
from evalkit.errors import SchemaError
from evalkit.examples.table import Examples

PROBLEM = "input/problem"
"""The column of a run with why its rows are no sound copies."""


class Statement(NamedTuple):
    """What the rows of a file say of one perturbation."""

    perturbation: str
    """Its identity."""
    label_effect: LabelEffect
    families: tuple[str, ...]
    """Sorted, each once."""
    source: str
    """How messages call the file."""
    uid: str
    """The first row that says so."""


class CopyColumns(NamedTuple):
    """What makes the rows of a file copies."""

    input_ids: pl.Series
    """Id of each copy's original."""
    perturbations: pl.Series
    """Identity of the perturbation that made each copy."""
    statements: tuple[Statement, ...]
    """What the rows say of the perturbations; none where they have no such columns."""


def read_columns(source: str, examples: Examples) -> CopyColumns:
    """Read the columns that copies have beside the fields of their originals.

    Args:
        source: How messages call the file.
        examples: Its rows.

    Returns:
        The columns.

    Raises:
        SchemaError: A column that copies need is missing or holds something else, or
            two rows by one perturbation do not say the same of it.
    """
    perturbations = _texts(source, examples, PERTURBATION)
    named = [*perturbations.filter(perturbations.str.starts_with(FAMILY)).head(1)]
    if named:
        raise SchemaError(
            f"{source}: the perturbation {named[0]!r} is called like a family of them; "
            f"no name begins with {FAMILY!r}"
        )
    return CopyColumns(
        _texts(source, examples, INPUT_ID),
        perturbations,
        _statements(source, examples, perturbations),
    )


def join_statements(statements: Collection[Statement]) -> dict[str, Statement]:
    """Return the one statement about each perturbation.

    Args:
        statements: Those of all files.

    Returns:
        By the perturbation's identity.

    Raises:
        SchemaError: Two do not say the same.
    """
    found: dict[str, Statement] = {}
    for second in statements:
        first = found.setdefault(second.perturbation, second)
        if first[:3] != second[:3]:
            raise SchemaError(_contradiction(first, second))
    return found


def kept_columns(
    examples: Examples, taken: Collection[str], include_examples: bool
) -> list[pl.Series]:
    """Return those columns of copies that a run keeps beside their ids.

    Args:
        examples: The examples that are evaluated, copies or not.
        taken: Names that fields of responses have.
        include_examples: Whether values of the data may be kept; a run without answers
            cannot stand in for its copies and needs no more than their ids.

    Returns:
        `input_id` and `perturbation`, null where the examples are no copies; and
        where they are, `label_effect` and `families` if they say so, and the tags
        that the rows store as `input/tags`. Where they have the columns of copies, but
        not as copies must, `input/problem` says what a file of them would be refused
        for.
    """
    inputs = examples.inputs
    nothing = pl.repeat(None, inputs.height, dtype=pl.String, eager=True)
    if INPUT_ID not in inputs.columns or PERTURBATION not in inputs.columns:
        return [nothing.alias(INPUT_ID), nothing.alias(PERTURBATION)]
    try:
        read = read_columns("", examples)
    except SchemaError as error:
        why = pl.repeat(str(error).removeprefix(": "), inputs.height, eager=True)
        columns = [nothing.alias(INPUT_ID), nothing.alias(PERTURBATION)]
        return columns + ([why.alias(PROBLEM)] if include_examples else [])
    columns = [read.input_ids, read.perturbations]
    if read.statements:
        for column in (_effects("", examples), _families("", examples)):
            prefix = AS_STORED if column.name in taken else ""
            columns.append(column.alias(prefix + column.name))
    if include_examples:
        stored = inputs[TAGS] if TAGS in inputs.columns else nothing
        if stored.null_count() == len(stored):
            stored = nothing.cast(pl.List(pl.String))
        columns.append(with_texts(stored).alias(AS_STORED + TAGS))
    return columns


def stored_columns(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the columns of copies that a run kept, as the data had them.

    Args:
        frame: The examples of a run.

    Returns:
        Those of `COPY_COLUMNS` that it holds. Runs of earlier versions hold no tags as
        they were stored, and give those that were scored, if there are any.
    """
    columns = []
    for name in COPY_COLUMNS:
        if AS_STORED + name in frame.columns:
            columns.append(frame[AS_STORED + name].alias(name))
        elif name in frame.columns and name != TAGS:
            columns.append(frame[name])
        elif name == TAGS and (frame[TAGS].list.len() > 0).any():
            columns.append(frame[TAGS])
    return columns


def with_texts(column: pl.Series) -> pl.Series:
    """Say that the items of lists that are all empty, or null, are texts.

    Args:
        column: A column of the data.

    Returns:
        The column; one of another type as it is.
    """
    is_bare = column.dtype in (pl.Null, pl.List(pl.Null))
    return column.cast(pl.List(pl.String)) if is_bare else column


def _texts(source: str, examples: Examples, name: str) -> pl.Series:
    """Return a column of texts that no row may lack; integers as their decimal text."""
    if name not in examples.inputs.columns:
        raise SchemaError(
            f"{source}: has no column {name!r}, so its rows are no perturbed copies; "
            "`evalkit perturb` writes them, and an adapter can make it of rows of "
            "another program (--adapter perturbed=NAME; see `evalkit list adapters`)"
        )
    column = examples.inputs[name]
    is_plain = column.dtype.is_integer() or column.dtype == pl.String
    if is_plain and name not in examples.nested:
        column = column.cast(pl.String)
        if not column.null_count() and (column.str.len_bytes() > 0).all():
            return column
    values = _values(examples, name)
    _refuse(source, examples, name, map(_broken_text, values))
    return pl.Series(name, list(map(str, values)), dtype=pl.String)


def _values(examples: Examples, name: str) -> list[Any]:
    if name in examples.nested:
        return list(examples.nested[name])
    return examples.inputs[name].to_list()


def _refuse(
    source: str, examples: Examples, name: str, rules: Iterable[str | None]
) -> None:
    """Refuse rows that break a rule; None where a row keeps it."""
    uids = examples.frame["id"]
    problems = [
        f"uid {uid!r}: {name}: {rule}"
        for uid, rule in zip(uids, rules, strict=True)
        if rule
    ]
    if problems:
        raise SchemaError(f"{source}: {few(problems)}")


def _broken_text(value: Any) -> str | None:
    if value is None:
        return "is required"
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return f"must be a text that is not empty, found {shorten(value)}"
    return None


def _broken_effect(value: Any) -> str | None:
    if value is None:
        return "is required"
    if value not in LABEL_EFFECTS:
        known = ", ".join(LABEL_EFFECTS)
        return f"must be one of {known}, found {shorten(value)}"
    return None


def _broken_families(value: Any) -> str | None:
    if value is None:
        return "is required"
    if not isinstance(value, list | tuple) or not all(
        isinstance(item, str) and item for item in value
    ):
        return f"must be a list of texts that are not empty, found {shorten(value)}"
    return None


def _statements(
    source: str, examples: Examples, perturbations: pl.Series
) -> tuple[Statement, ...]:
    present = [n for n in (LABEL_EFFECT, FAMILIES) if n in examples.inputs.columns]
    if not present:
        return ()
    if len(present) == 1:
        [lacking] = {LABEL_EFFECT, FAMILIES} - {*present}
        raise SchemaError(
            f"{source}: has a column {present[0]!r} and none {lacking!r}; `evalkit "
            "perturb` writes both, rows written by hand may have neither"
        )
    said = pl.DataFrame(
        [
            perturbations.alias(PERTURBATION),
            _effects(source, examples),
            _families(source, examples),
            examples.frame["id"],
        ]
    )
    statement = all_named(said.columns[:3])
    distinct = said.unique(statement, keep="first", maintain_order=True)
    statements = [
        Statement(name, effect, tuple(sorted({*families})), source, uid)
        for name, effect, families, uid in distinct.iter_rows()
    ]
    return tuple(join_statements(statements).values())


def _effects(source: str, examples: Examples) -> pl.Series:
    column = examples.inputs[LABEL_EFFECT]
    is_plain = column.dtype == pl.String and LABEL_EFFECT not in examples.nested
    if is_plain and column.is_in(list(LABEL_EFFECTS)).fill_null(False).all():
        return column
    values = _values(examples, LABEL_EFFECT)
    _refuse(source, examples, LABEL_EFFECT, map(_broken_effect, values))
    return pl.Series(LABEL_EFFECT, values, dtype=pl.String)


def _families(source: str, examples: Examples) -> pl.Series:
    column = with_texts(examples.inputs[FAMILIES])
    is_plain = FAMILIES not in examples.nested
    if is_plain and column.dtype == pl.List(pl.String) and not column.null_count():
        items = column.explode(empty_as_null=False, keep_nulls=False)
        if not items.null_count() and (items.str.len_bytes() > 0).all():
            return column
    values = _values(examples, FAMILIES)
    _refuse(source, examples, FAMILIES, map(_broken_families, values))
    return pl.Series(FAMILIES, values, dtype=pl.List(pl.String))


def _contradiction(first: Statement, second: Statement) -> str:
    name = LABEL_EFFECT if first.label_effect != second.label_effect else FAMILIES
    one, other = (
        each.label_effect if name == LABEL_EFFECT else f"[{', '.join(each.families)}]"
        for each in (first, second)
    )
    where = "" if first.source == second.source else f" of {second.source}"
    return (
        f"{first.source}: {name} of {first.perturbation} is {one} in the row "
        f"{first.uid!r} and {other} in the row {second.uid!r}{where}; all copies by "
        "one perturbation must say the same: perturb again, or mend the rows"
    )


def selected_columns(columns: CopyColumns, selected: pl.Series) -> CopyColumns:
    """Return the columns of some of the copies.

    Args:
        columns: Those of all.
        selected: Booleans, one for each copy.

    Returns:
        The columns; the statements are still those of all rows.
    """
    return columns._replace(
        input_ids=columns.input_ids.filter(selected),
        perturbations=columns.perturbations.filter(selected),
    )
