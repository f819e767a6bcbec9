"""Log-probabilities of a text's tokens, of which sum and count are made."""

from __future__ import annotations

import polars as pl

from evalkit import MetricError

TOKENS = "token_logprobs"
"""Field of a response: the natural logarithm of the probability of each token."""

_MOST_ROUNDING = 1e-3
"""How far, by its size, a sum may be from that of the list, of rounded numbers."""


def token_sums(given: pl.Series) -> pl.DataFrame:
    """Add up the lists of responses.

    The first token of a text has nothing before it, so that services give null for it:
    it is left out of both numbers.

    Args:
        given: Lists of numbers; null for a response without one.

    Returns:
        `sum` and `tokens`, both null for a response without a list, and `is_wrong`:
        whether it holds another null, or a value that is not a number of at most 0.

    Raises:
        MetricError: The column holds something else than lists of numbers.
    """
    if not _has_items(given):
        # whatever the type is of a column that holds nothing
        is_absent = given.is_null().to_list()
        empty: list[list[float] | None] = [None if each else [] for each in is_absent]
        given = pl.Series(TOKENS, empty, dtype=pl.List(pl.Float64))
    inner = given.dtype.inner if isinstance(given.dtype, pl.List) else pl.String
    if not (inner.is_numeric() or inner == pl.Null):
        raise MetricError(
            f"the field {TOKENS!r} of each response must be one list of numbers; in "
            "some it is a list of lists, or something else"
        )
    tokens = pl.col(TOKENS)
    has_null = tokens.list.first().is_null() & (tokens.list.len() > 0)
    rest = pl.when(has_null).then(tokens.list.slice(1)).otherwise(tokens)
    frame = pl.DataFrame({TOKENS: given.cast(pl.List(pl.Float64))}).select(rest)
    total, count = tokens.list.sum(), tokens.list.len()
    is_known = total.is_finite() & (tokens.list.max() <= 0).fill_null(True)
    is_whole = tokens.list.drop_nulls().list.len() == count
    return frame.select(
        sum=total,
        tokens=count.cast(pl.Float64),
        is_wrong=(~(is_known & is_whole)).fill_null(False),
    )


def _has_items(given: pl.Series) -> bool:
    """Tell whether some list holds more than a null."""
    values = given.drop_nulls()
    if isinstance(given.dtype, pl.List):
        several = values.list.len() > 1
        return bool((several | (values.list.drop_nulls().list.len() > 0)).any())
    if given.dtype == pl.String:
        # as which lists that hold nothing else are kept
        return not {*values.unique()} <= {"[null]", "[]"}
    return len(values) > 0


def refuse_other(
    name: str, given: pl.Series, tokens: pl.Series, *, rounded: bool = False
) -> None:
    """Refuse numbers that contradict the lists beside them.

    Args:
        name: Field of the responses that holds the numbers.
        given: They; null where there is none.
        tokens: What the lists make of it; null where there is none.
        rounded: Whether they may be rounded.

    Raises:
        MetricError: One is another than its list's.
    """
    most = tokens.abs().clip(1.0) * _MOST_ROUNDING if rounded else 0.0
    differs = ((given - tokens).abs() > most).fill_null(False)
    if differs.any():
        place = int(differs.arg_max() or 0)
        raise MetricError(
            f"a response has {name!r} {given[place]:g} beside {TOKENS!r}, which makes "
            f"it {tokens[place]:g} (without a null as the first token); leave one out"
        )
