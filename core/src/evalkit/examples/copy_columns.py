"""The columns that make rows perturbed copies: whose, by what, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
from evalkit.base.violations import REQUIRED, few, shorten
from evalkit.errors import SchemaError
from evalkit.examples.table import Examples
from evalkit.reading.typed_values import fits

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

    def where(self, selected: pl.Series) -> CopyColumns:
        """Return those of some copies; the statements are still those of all rows."""
        ids, names = (column.filter(selected) for column in self[:2])
        return self._replace(input_ids=ids, perturbations=names)


def read_columns(source: str, examples: Examples) -> CopyColumns:
    """Read the columns that copies have beside the fields of their originals."""
    perturbations = _checked(source, examples, PERTURBATION)
    named = [*perturbations.filter(perturbations.str.starts_with(FAMILY)).head(1)]
    if named:
        raise SchemaError(
            f"{source}: the perturbation {named[0]!r} is called like a family of them; "
            f"no name begins with {FAMILY!r}"
        )
    return CopyColumns(
        _checked(source, examples, INPUT_ID),
        perturbations,
        _statements(source, examples, perturbations),
    )


def join_statements(statements: Collection[Statement]) -> dict[str, Statement]:
    """Return the one statement about each perturbation."""
    found: dict[str, Statement] = {}
    for second in statements:
        first = found.setdefault(second.perturbation, second)
        if first[:3] != second[:3]:
            raise SchemaError(_contradiction(first, second))
    return found


def kept_columns(
    examples: Examples, taken: Collection[str], include_examples: bool
) -> list[pl.Series]:
    """Return those columns of copies that a run keeps beside their ids."""
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
        for column in (_checked("", examples, n) for n in (LABEL_EFFECT, FAMILIES)):
            prefix = AS_STORED if column.name in taken else ""
            columns.append(column.alias(prefix + column.name))
    if include_examples:
        stored = inputs[TAGS] if TAGS in inputs.columns else nothing
        if stored.null_count() == len(stored):
            stored = nothing.cast(pl.List(pl.String))
        columns.append(with_texts(stored).alias(AS_STORED + TAGS))
    return columns


def stored_columns(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the columns of copies that a run kept, as the data had them."""
    kept = {name: AS_STORED + name for name in COPY_COLUMNS}
    kept = {n: k if k in frame.columns or n == TAGS else n for n, k in kept.items()}
    return [frame[k].alias(n) for n, k in kept.items() if k in frame.columns]


def with_texts(column: pl.Series) -> pl.Series:
    """Say that the items of lists that are all empty, or null, are texts."""
    is_bare = column.dtype in (pl.Null, pl.List(pl.Null))
    return column.cast(pl.List(pl.String)) if is_bare else column


def _checked(source: str, examples: Examples, name: str) -> pl.Series:
    """Return a column that no row may lack; integers as their decimal text."""
    dtype, what, is_sound = _RULES[name]
    if name not in examples.inputs.columns:
        raise SchemaError(
            f"{source}: has no column {name!r}, so its rows are no perturbed copies; "
            "`evalkit perturb` writes them, and an adapter can make it of rows of "
            "another program (--adapter perturbed=NAME; see `evalkit list adapters`)"
        )
    column, given = examples.inputs[name], examples.nested.get(name)
    if given is None and column.dtype.is_integer() and dtype == pl.String:
        column = column.cast(pl.String)
    elif given is None and column.dtype in (pl.Null, pl.List(pl.Null)):
        column = column.cast(dtype)
    elif given is not None or column.dtype != dtype:
        given = column.to_list() if given is None else given
        values = [str(v) if type(v) is int and dtype == pl.String else v for v in given]
        column = pl.Series(name, [v if fits(v, dtype) else None for v in values], dtype)
    broken = is_sound(column).fill_null(False).not_().arg_true()
    if len(broken):
        given = column.to_list() if given is None else given
        uids = examples.frame["id"].gather(broken)
        rules = (
            f"must be {what}, found {shorten(given[place])}"
            if given[place] is not None
            else REQUIRED
            for place in broken
        )
        pairs = zip(uids, rules, strict=True)
        raise SchemaError(
            f"{source}: {few(f'uid {u!r}: {name}: {r}' for u, r in pairs)}"
        )
    return column


def _are_filled(lists: pl.Series) -> pl.Series:
    """Tell which lists hold no empty text and no null."""
    kept = pl.element().str.len_bytes().fill_null(0) > 0
    return lists.is_not_null() & lists.list.eval(kept).list.all()


_TEXT: Any = (pl.String(), "a text that is not empty", lambda c: c.str.len_bytes() > 0)
_RULES: Mapping[str, tuple[Any, str, Callable[[pl.Series], pl.Series]]] = {
    INPUT_ID: _TEXT,
    PERTURBATION: _TEXT,
    LABEL_EFFECT: (
        pl.String(),
        f"one of {', '.join(LABEL_EFFECTS)}",
        lambda column: column.is_in(list(LABEL_EFFECTS)),
    ),
    FAMILIES: (pl.List(pl.String), "a list of texts that are not empty", _are_filled),
}
"""The type of each column, what its values must be, and the check of them."""


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
            _checked(source, examples, LABEL_EFFECT),
            _checked(source, examples, FAMILIES),
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


def _contradiction(first: Statement, second: Statement) -> str:
    one, other = (
        f"{each.label_effect} [{', '.join(each.families)}] in the row {each.uid!r} of "
        f"{each.source}"
        for each in (first, second)
    )
    return (
        f"label effect and families of {first.perturbation} are {one}, and {other}; "
        "all copies by one perturbation must say the same: perturb again, or mend the "
        "rows"
    )
