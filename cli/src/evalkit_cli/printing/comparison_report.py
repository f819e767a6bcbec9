"""Prints comparisons: a table, what may be concluded, then the tags."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit.reporting import count_of
from evalkit_cli.printing.closing_lines import notice_lines
from evalkit_cli.printing.digits import (
    USUAL,
    bound_decimals,
    decimals,
    half_width,
    show_bounds,
)
from evalkit_cli.printing.streams import echo, echo_csv, echo_wrapped
from evalkit_cli.printing.tables import NO_VALUE, Rows, draw, without_empty_columns
from evalkit_cli.printing.tag_tables import MOST_TAGS

if TYPE_CHECKING:
    from evalkit_analysis_compare import ComparedScore, Comparison


def print_comparison(
    comparison: Comparison, table_format: str, *, verbose: bool, quiet: bool
) -> None:
    """Print a comparison."""
    if table_format == "csv":
        rows = comparison.rows
        echo_csv([rows[0]._fields, *rows])
    else:
        _print_tables(comparison, table_format, verbose=verbose, quiet=quiet)
    talk_to_stderr = table_format != "table"
    for line in [] if quiet else notice_lines(comparison.notices, verbose=verbose):
        echo_wrapped(line, err=talk_to_stderr)


def _print_tables(
    comparison: Comparison, table_format: str, *, verbose: bool, quiet: bool
) -> None:
    pairs = dict.fromkeys((row.model_a, row.model_b) for row in comparison.rows)
    for place, pair in enumerate(pairs):
        rows = [row for row in comparison.rows if (row.model_a, row.model_b) == pair]
        if place:
            echo()
        print_tags = not quiet
        _print_pair(comparison, rows, table_format, verbose=verbose, tags=print_tags)
    talk_to_stderr = table_format != "table"
    if comparison.best:
        echo(err=talk_to_stderr)
    for metric, names in comparison.best.items():
        models = ", ".join(name for name in names)
        line = f"{metric}: not distinguishable from the best, by all pairs: {models}"
        echo_wrapped(line, err=talk_to_stderr)


def _print_pair(
    comparison: Comparison,
    rows: Sequence[ComparedScore],
    table_format: str,
    *,
    verbose: bool,
    tags: bool,
) -> None:
    whole = [row for row in rows if row.tag is None]
    talk = table_format == "table"
    if talk:
        echo(f"{_names(whole[0])[0]} against {_names(whole[0])[1]}")
        echo()
    draw(_table(whole, comparison, "metric"), table_format, (0,))
    echo(err=not talk)
    for row in whole:
        echo_wrapped(f"{row.metric}: {row.conclusion}", err=not talk)
    for metric in (whole if verbose else whole[:1]) if tags else ():
        of_tags = [
            row for row in rows if row.tag is not None and row.metric == metric.metric
        ]
        if of_tags:
            _print_tags(comparison, of_tags, table_format, verbose=verbose)


def _print_tags(
    comparison: Comparison,
    tags: Sequence[ComparedScore],
    table_format: str,
    *,
    verbose: bool,
) -> None:
    talk = table_format == "table"
    shown = tags[:MOST_TAGS] if talk and not verbose else tags
    echo()
    if talk:
        echo(f"{tags[0].metric} by tag, worst for {tags[0].model_a} first:")
        echo()
    draw(_table(shown, comparison, "tag"), table_format, (0,))
    more = len(tags) - len(shown)
    if more:
        echo_wrapped(
            f"not shown: {count_of(more, 'more tag')} (-v); --format csv shows all"
        )
    echo(err=not talk)
    for line in _tags_in_words(tags, comparison.confidence, verbose=verbose):
        echo_wrapped(line, err=not talk)


def _names(row: ComparedScore) -> tuple[str, str]:
    return row.model_a, row.model_b


def _table(rows: Sequence[ComparedScore], comparison: Comparison, first: str) -> Rows:
    interval = f"{100 * comparison.confidence:g} % CI"
    adjusted = any(row.p_adjusted is not None for row in rows)
    header = [first, "n", *_names(rows[0]), "difference"]
    header += [f"adjusted {interval}" if adjusted else interval]
    header += ["wins", "losses", "ties", "left out", "as wrong", "p"]
    header += ["adjusted p" if adjusted else "", "detectable"]
    widest = comparison.widest
    table = [header, *(_cells(row, first, widest.get(row.metric)) for row in rows)]
    return without_empty_columns(table)


def _cells(row: ComparedScore, first: str, widest: float | None) -> list[str]:
    from evalkit.reporting import show_p

    name = row.metric if first == "metric" else row.tag or ""
    counts = [row.wins, row.losses, row.ties, row.left_out or None]
    as_wrong = [row.as_wrong_a, row.as_wrong_b]
    p_values = [row.p_value, row.p_adjusted]
    detectable = row.smallest_detectable
    if widest is not None and detectable is not None and detectable > widest:
        detectable = None
    return [
        name,
        _n(row),
        show_compared(row.value_a, row),
        show_compared(row.value_b, row),
        show_compared(row.difference, row, sign="+"),
        show_compared_interval(row, widest),
        *("" if count is None else str(count) for count in counts),
        " / ".join(map(str, as_wrong)) if any(as_wrong) else "",
        *(show_p(p_value, at_most=bool(row.p_at_most)) for p_value in p_values),
        _show(detectable, row, decimals(_half(row), row.scale)),
    ]


def _n(row: ComparedScore) -> str:
    if row.n_clusters is None:
        return str(row.n)
    clusters = "cluster" if row.n_clusters == 1 else "clusters"
    return f"{row.n} ({row.n_clusters} {clusters})"


def show_compared(value: float | None, row: ComparedScore, sign: str = "") -> str:
    """Return a value in the unit of a comparison, with the digits of its interval.

    Args:
        value: The value, as stored; a dash where there is none.
        row: The comparison.
        sign: `+` to print the sign of a positive value too.
    """
    return _show(value, row, _places(row), sign)


def _show(value: float | None, row: ComparedScore, places: int, sign: str = "") -> str:
    if value is None:
        return NO_VALUE
    return f"{value * row.scale:{sign}z.{places}f}"


def _places(row: ComparedScore) -> int:
    """Return the decimals with which two values and their difference agree.

    Rounded apart, 79.4 and 74.6 would be 79 and 75, and their difference 5.
    """
    places = decimals(_half(row), row.scale)
    values = (row.value_a, row.value_b, row.difference)
    if any(value is None for value in values):
        return places
    while places < USUAL:
        first, second, difference = (
            round((value or 0.0) * row.scale, places) for value in values
        )
        if math.isclose(first - second, difference, abs_tol=10.0**-places / 2):
            break
        places += 1
    return places


def _half(row: ComparedScore) -> float | None:
    return half_width(*_ends(row), row.n, row.scale)


def show_compared_interval(row: ComparedScore, widest: float | None = None) -> str:
    """Return the interval that agrees with the p-value it stands beside.

    Args:
        row: The difference.
        widest: The greatest difference that there can be, up to which it is shown.
    """
    low, high = _ends(row)
    half = _half(row)
    if low is None or high is None or half is None:
        return NO_VALUE
    value = None
    if row.difference is not None:
        value = round(row.difference * row.scale, _places(row))
    if widest is not None:
        low, high = max(low, -widest), min(high, widest)
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


def _tags_in_words(
    tags: Sequence[ComparedScore], confidence: float, *, verbose: bool
) -> list[str]:
    """Say on which tags one model is better, after adjustment."""
    found = [row for row in tags if row.different]
    if not found:
        level = f"{1 - confidence:.10g}"
        size = tags[0].family_size
        noun = "comparison" if size == 1 else "comparisons"
        return [
            f"On no tag was a difference shown at {level}, adjusted for {size} {noun}."
        ]
    shown = found if verbose else found[:MOST_TAGS]
    lines = [f"{row.tag or ''}: {row.conclusion}" for row in shown]
    more = len(found) - len(shown)
    if more:
        lines.append(f"a difference was shown on {count_of(more, 'more tag')} (-v)")
    return lines
