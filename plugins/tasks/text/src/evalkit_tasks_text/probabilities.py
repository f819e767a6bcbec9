"""Checks a probability for every label."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from evalkit import Violation

SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities may sum, for values that were rounded."""

_BOUND_TOLERANCE = 1e-9


def probability_violations(
    probabilities: object, labels: Sequence[str] | None
) -> Iterator[Violation]:
    """Find what is wrong with a response's `prob`.

    Checked are the keys (exactly the labels), the bounds (0 to 1) and the sum (1,
    within `SUM_TOLERANCE`). The label need not be the most probable one: a system may
    decide by a threshold of its own.

    Args:
        probabilities: The response's value; anything but a mapping is left to the
            check of its shape.
        labels: The labels; None where they are not known.

    Yields:
        Every violation.
    """
    if not isinstance(probabilities, Mapping):
        return
    if labels is not None:
        yield from _key_violations(probabilities, labels)
    numbers = [p for p in probabilities.values() if _is_number(p)]
    for label, probability in probabilities.items():
        if not _is_number(probability):
            yield Violation(f"prob.{label}", "must be a number", probability)
        elif not -_BOUND_TOLERANCE <= probability <= 1 + _BOUND_TOLERANCE:
            yield Violation(f"prob.{label}", "must be between 0 and 1", probability)
    if len(numbers) != len(probabilities):
        return
    try:
        total = math.fsum(numbers)
    except (OverflowError, ValueError):
        # infinities, or more than a float holds: then the bounds are broken too
        return
    if not abs(total - 1) <= SUM_TOLERANCE:
        yield Violation("prob", f"must sum to 1 (within {SUM_TOLERANCE})", total)


def probabilities_pass(dtype: pl.DataType, labels: Sequence[str] | None) -> pl.Expr:
    """Return the expression that tells where `prob` breaks no rule for sure.

    Args:
        dtype: Type of the column `prob`.
        labels: The labels; None where they are not known.

    Returns:
        A boolean expression; it is stricter than `probability_violations` by no more
        than what rounding may do.
    """
    column = pl.col("prob")
    if not isinstance(dtype, pl.Struct):
        return column.is_null()
    names = [field.name for field in dtype.fields]
    if labels is not None and {*names} != {*labels}:
        return column.is_null()
    values = [column.struct.field(name) for name in names]
    within = pl.all_horizontal([value.is_between(0, 1) for value in values])
    total = pl.sum_horizontal(values)
    return column.is_null() | (
        within & ((total - 1).abs() <= SUM_TOLERANCE - _BOUND_TOLERANCE)
    )


def _key_violations(
    probabilities: Mapping[object, object], labels: Sequence[str]
) -> Iterator[Violation]:
    for label in labels:
        if label not in probabilities:
            yield Violation(f"prob.{label}", "is required", None)
    rule = f"must be one of {', '.join(labels)}"
    for given in probabilities:
        if given not in labels:
            yield Violation(f"prob.{given}", rule, given)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
