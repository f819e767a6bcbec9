"""Turns rows of Python's values into columns, where those hold just the same values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.columns import frame_of
from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS
from evalkit.reading.blocks import ROW_KEYS, Block
from evalkit.reading.rows import Row
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.streams import BLOCK_BYTES
from evalkit.reading.typed_values import MisfitError, are_exact, typed_series

BLOCK_ROWS = 10_000

_SIZED = (str, list, dict)
_ID_TYPES = (str, int)
_RESERVED_KEYS = {*RESPONSE_ID_KEYS, REPLICATION_KEY}


def row_blocks(rows: Iterable[Row], plan: ColumnPlan | None) -> Iterator[Block]:
    """Return rows as blocks of columns.

    Args:
        rows: The rows.
        plan: The columns that are wanted; None for rows only.

    Yields:
        The blocks; rows with values of other types than planned are apart.
    """
    if plan is None:
        yield Block(rows=rows)
        return
    for batch in _batches(rows):
        yield _block(batch, plan)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Return rows in parts that take little memory, however long their texts are."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        values = (row.values or {}).values()
        size += sum(len(each) for each in values if isinstance(each, _SIZED))
        if len(batch) == BLOCK_ROWS or size > BLOCK_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _block(batch: Sequence[Row], plan: ColumnPlan) -> Block:
    kept = [row for row in batch if _has_plain_keys(row.values, plan)]
    exact = pl.repeat(True, len(kept), eager=True)
    for name, column in plan.columns.items():
        values = [(row.values or {}).get(name) for row in kept]
        exact &= are_exact(values, column.dtype)
    if not exact.all():
        kept = [row for row, is_exact in zip(kept, exact, strict=True) if is_exact]
    found = [row.values or {} for row in kept]
    try:
        columns = _columns(found, plan)
    except MisfitError:
        return Block(rows=batch)
    lines = np.array([row.line for row in kept], dtype=np.int64)
    others = {*map(id, kept)}
    apart = [row for row in batch if id(row) not in others]
    return Block(
        frame_of(columns), lines, kept.__getitem__, apart, _undeclared(found, plan)
    )


def _has_plain_keys(values: Mapping[str, Any] | None, plan: ColumnPlan) -> bool:
    """Tell whether a row has one id, and no key that only the whole row can judge."""
    if values is None:
        return False
    keys = [key for key in RESPONSE_ID_KEYS if key in values]
    if len(keys) != 1 or type(values[keys[0]]) not in _ID_TYPES:
        return False
    if type(values.get(REPLICATION_KEY)) not in (*_ID_TYPES, type(None)):
        return False
    if plan.forbids_undeclared and not values.keys() <= (
        plan.columns.keys() | _RESERVED_KEYS
    ):
        return False
    return all(values.get(key) is None for key in ROW_KEYS)


def _columns(rows: Sequence[Mapping[str, Any]], plan: ColumnPlan) -> list[pl.Series]:
    ids = [next(row[key] for key in RESPONSE_ID_KEYS if key in row) for row in rows]
    columns = [pl.Series("id", [*map(str, ids)], dtype=pl.String)]
    if any(REPLICATION_KEY in row for row in rows):
        given = [row.get(REPLICATION_KEY) for row in rows]
        texts = [None if each is None else str(each) for each in given]
        columns.append(pl.Series(REPLICATION_KEY, texts, dtype=pl.String))
    for name, column in plan.columns.items():
        values = [row.get(name) for row in rows]
        if column.dtype in (pl.String, pl.Boolean):
            columns.append(pl.Series(name, values, dtype=column.dtype))
        else:
            columns.append(typed_series(name, values, column.dtype))
    return columns


def _undeclared(rows: Sequence[Mapping[str, Any]], plan: ColumnPlan) -> Counter[str]:
    declared = plan.columns.keys() | _RESERVED_KEYS | {"error"}
    counts: Counter[str] = Counter()
    for row in rows:
        if not row.keys() <= declared:
            others = row.keys() - declared
            counts.update(name for name in others if row[name] is not None)
    return counts
