"""Prints comparisons: a table, what may be concluded, then the tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.digits import (
    USUAL,
    bound_decimals,
    decimals,
    half_width,
    show_bounds,
)
from evalkit_cli.printing.streams import echo, echo_csv
from evalkit_cli.printing.tables import (
    NO_VALUE,
    Rows,
    draw,
    without_empty_columns,
)

if TYPE_CHECKING:
    from evalkit import ComparedScore, Comparison


def print_comparison(
    comparison: Comparison, table_format: str, *, verbose: bool, quiet: bool
) -> None:
    """Print a comparison.

    Args:
        comparison: What is printed.
        table_format: `table`, `md`, `csv` or `latex`.
        verbose: Give every metric for every tag; else the first one.
        quiet: Leave out everything but tables and conclusions.
    """
    if table_format == "csv":
        rows = comparison.rows
        echo_csv([rows[0]._fields, *rows])
    else:
        _print_tables(comparison, table_format, verbose)
    talk_to_stderr = table_format != "table"
    for notice in comparison.notices if not quiet else ():
        echo(f"notice: {notice}", err=talk_to_stderr)


def _print_tables(comparison: Comparison, table_format: str, verbose: bool) -> None:
    pairs = dict.fromkeys((row.model_a, row.model_b) for row in comparison.rows)
    for place, pair in enumerate(pairs):
        rows = [row for row in comparison.rows if (row.model_a, row.model_b) == pair]
        if place:
            echo()
        _print_pair(rows, comparison.confidence, table_format, verbose)
    talk_to_stderr = table_format != "table"
    if comparison.best:
        echo(err=talk_to_stderr)
    for metric, names in comparison.best.items():
        models = ", ".join(name for name in names)
        line = f"{metric}: not distinguishable from the best, by all pairs: {models}"
        echo(line, err=talk_to_stderr)


def _print_pair(
    rows: Sequence[ComparedScore], confidence: float, table_format: str, verbose: bool
) -> None:
    whole = [row for row in rows if row.tag is None]
    talk = table_format == "table"
    if talk:
        echo(f"{_names(whole[0])[0]} against {_names(whole[0])[1]}")
        echo()
    draw(_table(whole, confidence, "metric"), table_format, (0,))
    echo(err=not talk)
    for row in whole:
        echo(f"{row.metric}: {row.conclusion}", err=not talk)
    for metric in whole if verbose else whole[:1]:
        tags = [
            row for row in rows if row.tag is not None and row.metric == metric.metric
        ]
        if not tags:
            continue
        echo()
        if talk:
            echo(f"{metric.metric} by tag, worst for {_names(metric)[0]} first:")
            echo()
        draw(_table(tags, confidence, "tag"), table_format, (0,))
        echo(err=not talk)
        for line in _tags_in_words(tags, confidence):
            echo(line, err=not talk)


def _names(row: ComparedScore) -> tuple[str, str]:
    return row.model_a, row.model_b


def _table(rows: Sequence[ComparedScore], confidence: float, first: str) -> Rows:
    interval = f"{100 * confidence:g} % CI"
    adjusted = any(row.p_adjusted is not None for row in rows)
    header = [first, "n", *_names(rows[0]), "difference"]
    header += [f"adjusted {interval}" if adjusted else interval]
    header += ["wins", "losses", "ties", "left out", "as wrong", "p"]
    header += ["adjusted p" if adjusted else "", "detectable"]
    table = [header, *(_cells(row, first) for row in rows)]
    return without_empty_columns(table)


def _cells(row: ComparedScore, first: str) -> list[str]:
    from evalkit.reporting import show_p

    name = row.metric if first == "metric" else row.tag or ""
    counts = [row.wins, row.losses, row.ties, row.left_out or None]
    as_wrong = [row.as_wrong_a, row.as_wrong_b]
    p_values = [row.p_value, row.p_adjusted]
    return [
        name,
        _n(row),
        _shown(row.value_a, row),
        _shown(row.value_b, row),
        _shown(row.difference, row, sign="+"),
        _interval(row),
        *("" if count is None else str(count) for count in counts),
        " / ".join(map(str, as_wrong)) if any(as_wrong) else "",
        *(show_p(p_value, at_most=bool(row.p_at_most)) for p_value in p_values),
        _shown(row.smallest_detectable, row),
    ]


def _n(row: ComparedScore) -> str:
    if row.n_clusters is None:
        return str(row.n)
    clusters = "cluster" if row.n_clusters == 1 else "clusters"
    return f"{row.n} ({row.n_clusters} {clusters})"


def _shown(value: float | None, row: ComparedScore, sign: str = "") -> str:
    if value is None:
        return NO_VALUE
    places = decimals(_half(row), row.scale)
    return f"{value * row.scale:{sign}z.{places}f}"


def _half(row: ComparedScore) -> float | None:
    return half_width(*_ends(row), row.n, row.scale)


def _interval(row: ComparedScore) -> str:
    """Return the interval that agrees with the p-value it stands beside."""
    low, high = _ends(row)
    half = _half(row)
    if low is None or high is None or half is None:
        return NO_VALUE
    value = None
    if row.difference is not None:
        value = round(row.difference * row.scale, decimals(half, row.scale))
    places = bound_decimals(half, row.scale, row.ci_method)
    bounds = low * row.scale, high * row.scale
    # a bound that is not zero must not seem to be
    while places < USUAL and any(each and not round(each, places) for each in bounds):
        places += 1
    return show_bounds(*bounds, value, places, "+")


def _ends(row: ComparedScore) -> tuple[float | None, float | None]:
    if row.p_adjusted is not None:
        return row.ci_low_adjusted, row.ci_high_adjusted
    return row.ci_low, row.ci_high


def _tags_in_words(tags: Sequence[ComparedScore], confidence: float) -> list[str]:
    """Say on which tags one model is better, after adjustment."""
    found = [row for row in tags if row.different]
    if not found:
        level = f"{1 - confidence:.10g}"
        size = tags[0].family_size
        noun = "comparison" if size == 1 else "comparisons"
        return [
            f"On no tag was a difference shown at {level}, adjusted for {size} {noun}."
        ]
    return [f"{row.tag or ''}: {row.conclusion}" for row in found]
