"""Prints results: the main score first, then tags, then what was not scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.closing_lines import account, closing_lines, failed_lines
from evalkit_cli.printing.facet_lines import facet_lines
from evalkit_cli.printing.perturbation_tables import perturbation_tables
from evalkit_cli.printing.printed_results import PrintedResult
from evalkit_cli.printing.score_cells import (
    COVERAGE,
    score_label,
    show_coverage,
    show_interval,
    show_n,
    show_number,
    show_value,
)
from evalkit_cli.printing.streams import echo, echo_csv, echo_lines, echo_wrapped
from evalkit_cli.printing.tables import (
    Rows,
    draw,
    draw_with_notes,
    without_empty_columns,
)
from evalkit_cli.printing.tag_tables import Columns, TagTable, tag_tables

if TYPE_CHECKING:
    from evalkit import Result, Score

_AS_WRONG = "as wrong"
"""Header of how many examples without a valid prediction are part of n."""


def print_report(
    results: Sequence[Result], table_format: str, *, quiet: bool, verbose: bool
) -> None:
    """Print the results of one or several models on one data set."""
    printed = [PrintedResult(result) for result in results]
    talk = table_format == "table" and not quiet
    if table_format == "csv":
        echo_csv(_all_scores(results))
        tables = []
    else:
        tables = [] if quiet else _tag_tables(printed, verbose, talk)
        if talk:
            echo(_title(printed))
            echo()
        draw(_summary(printed), table_format)
        if not quiet:
            _print_tables(printed, tables, table_format, verbose=verbose, talk=talk)
    if quiet:
        for result in results:
            perturbed = [
                error for run in result.perturbed or () for error in run.errors
            ]
            for error in (*result.errors, *perturbed):
                echo_lines(f"evalkit: error: {error}", err=True)
        _warn(results)
        return
    notes = [] if talk else _notes(printed, tables, table_format, verbose)
    for line in [*notes, *_below(printed, verbose)]:
        echo_wrapped(line, err=not talk)


def _warn(results: Sequence[Result]) -> None:
    """Say what went wrong without changing a score where nothing else is said."""
    for result in results:
        for warning in result.warnings:
            echo_lines(f"evalkit: warning: {warning}", err=True)


def _notes(
    results: Sequence[PrintedResult],
    tables: Sequence[TagTable],
    table_format: str,
    verbose: bool,
) -> list[str]:
    """Return what stands below each table where tables stand alone."""
    notes = [note for table in tables for note in table.notes]
    if table_format != "csv":
        for result in results:
            for under in perturbation_tables(result, verbose, False):
                notes += under.notes
    return notes


def _below(results: Sequence[PrintedResult], verbose: bool) -> list[str]:
    """Return what is said below the tables."""
    headline = results[0].headline
    facets = []
    if headline is not None:
        facets = facet_lines(results, headline.metric, verbose=verbose)
    return [*facets, *([""] if facets else []), *closing_lines(results, verbose)]


def print_overview(
    results: Sequence[Result], table_format: str, *, quiet: bool
) -> None:
    """Print the main score of results on several data sets."""
    printed = [PrintedResult(result) for result in results]
    interval = f"{printed[0].confidence} CI"
    header = ["dataset", "model", "metric", "score", interval, "n"]
    rows = [[*header, _AS_WRONG, *COVERAGE]]
    for each in printed:
        headline = each.headline
        if headline is None:
            continue
        rows.append(
            [
                str(each.result.dataset),
                str(each.result.model),
                score_label(headline),
                show_value(headline),
                show_interval(headline, each.bounds),
                show_n(headline),
                each.counted_as_wrong,
                *show_coverage(headline),
            ]
        )
    draw(without_empty_columns(rows), table_format)
    talk = table_format == "table" and not quiet
    for each in printed if not quiet else ():
        for line in [*failed_lines([each]), *account([each], verbose=False)]:
            echo_wrapped(f"{each.result.dataset}: {line}", err=not talk)
    if quiet:
        _warn(results)


def _tag_tables(
    results: Sequence[PrintedResult], verbose: bool, talk: bool
) -> list[TagTable]:
    headline = results[0].headline
    if headline is None or headline.value is None:
        return []
    columns = Columns(results, headline, verbose, with_unit=verbose or not talk)
    return tag_tables(columns, cut=talk and not verbose)


def _print_tables(
    results: Sequence[PrintedResult],
    tables: Sequence[TagTable],
    table_format: str,
    *,
    verbose: bool,
    talk: bool,
) -> None:
    for table in tables:
        echo()
        if talk and table.rows:
            echo(f"{_heading(table, results[0].headline, verbose)}")
            echo()
        _draw_with_notes(table, table_format, talk)
    for result in results:
        for under in perturbation_tables(result, verbose, talk):
            echo()
            if talk:
                echo(f"{under.heading}")
                echo()
            notes = under.notes if talk else ()
            draw_with_notes(under.rows, table_format, notes, (0,))
    if talk:
        echo()


def _draw_with_notes(table: TagTable, table_format: str, talk: bool) -> None:
    notes = table.notes if talk else ()
    if table.rows:
        draw_with_notes(table.rows, table_format, notes)
        return
    for note in notes:
        echo_wrapped(f"By {table.by}: {note}")


def _title(results: Sequence[PrintedResult]) -> str:
    record = results[0].record
    models = ", ".join(str(each.result.model) for each in results)
    return f"{record.dataset} ({record.task}, split {record.split}): {models}"


def _heading(table: TagTable, headline: Score | None, verbose: bool) -> str:
    assert headline is not None
    unit = f", in {headline.unit}" if headline.unit and not verbose else ""
    order = f" ({table.order})" if table.order else ""
    return f"By {table.by}, worst {headline.metric} first{order}{unit}:"


def _summary(results: Sequence[PrintedResult]) -> Rows:
    """Return the scores of the whole set, with the models where there are several."""
    header = [
        "metric",
        "score",
        f"{results[0].confidence} CI",
        "n",
        _AS_WRONG,
        "majority",
        "chance",
        *COVERAGE,
    ]
    names = len(results) > 1
    if names:
        header.insert(0, "model")
    rows = [header]
    for each in results:
        for score in each.summary:
            row = _summary_row(each, score)
            rows.append([str(each.result.model), *row] if names else row)
    return without_empty_columns(rows)


def _summary_row(result: PrintedResult, score: Score) -> list[str]:
    baselines = result.record.baselines
    headline = result.headline
    # they are about the whole set, and not about a mean over tags
    is_main = (
        headline is not None and score.is_whole and score.metric == headline.metric
    )
    majority = baselines.majority if baselines and is_main else None
    chance = baselines.chance if baselines and is_main else None
    return [
        score_label(score),
        show_value(score),
        show_interval(score, result.bounds),
        show_n(score),
        result.counted_as_wrong,
        show_number(score, majority),
        show_number(score, chance),
        *show_coverage(score),
    ]


def _all_scores(results: Sequence[Result]) -> Iterator[Sequence[object]]:
    """Return every score as stored, in full precision."""
    from evalkit import Score

    several = len({result.dataset for result in results}) > 1
    yield [*(["dataset"] if several else []), "model", *Score._fields]
    for result in results:
        names = [result.dataset, result.model] if several else [result.model]
        for score in (*result.scores, *PrintedResult(result).effects.scores):
            yield [*names, *score]
