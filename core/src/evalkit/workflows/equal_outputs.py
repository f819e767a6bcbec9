"""Tells whether two runs have the same outputs, so that no test can tell them apart."""

from __future__ import annotations

import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.runs.results import Result


def have_same_outputs(first: Result, second: Result) -> bool:
    """Tell whether two runs have the same outputs for all examples that both have.

    The standard error of their difference is that of its smoothing alone.

    Args:
        first: A run.
        second: Another.

    Returns:
        Whether they are the same; False where a run does not hold its outputs.
    """
    one, other = first.examples, second.examples
    if one is None or other is None:
        return False
    values = ["pred", "status"]
    if any(name not in frame.columns for frame in (one, other) for name in values):
        return False
    if one["pred"].dtype != other["pred"].dtype:
        return False
    keys = ["id", "replication"]
    columns, other_columns = all_named([*keys, *values]), [f"{n} other" for n in values]
    pairs = one.select(columns).join(
        other.select(columns), on=all_named(keys), nulls_equal=True, suffix=" other"
    )
    both = zip(values, other_columns, strict=True)
    same = [named(name).eq_missing(named(other_name)) for name, other_name in both]
    return bool(pairs.select(pl.all_horizontal(same).all()).item())
