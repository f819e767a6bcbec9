"""Prints results: the main score first, then tags, then what was not scored."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from evalkit_cli.tables import NO_VALUE, Rows, draw

if TYPE_CHECKING:
    from evalkit.results import Result, Score

_MOST_DIGITS = 8


def print_report(
    results: Sequence[Result], table_format: str, *, quiet: bool, verbose: bool
) -> None:
    """Print the results of one or several models on one data set.

    Args:
        results: Results that were not refused.
        table_format: `table`, `md`, `csv` or `latex`.
        quiet: Leave out everything but the scores.
        verbose: Give every metric for every tag.
    """
    if table_format == "csv":
        click.echo(_all_scores(results), nl=False)
    else:
        _print_tables(results, table_format, quiet=quiet, verbose=verbose)
    if table_format != "table" and not quiet:
        for line in _closing(results, verbose):
            click.echo(line, err=True)
    elif quiet:
        for result in results:
            for error in result.to_dict()["errors"]:
                click.echo(f"evalkit: error: {error}", err=True)


def print_overview(
    results: Sequence[Result], table_format: str, *, quiet: bool
) -> None:
    """Print the main score of results on several data sets.

    Args:
        results: Results that were not refused.
        table_format: `table`, `md` or `latex`.
        quiet: Leave out everything but the scores.
    """
    header = ["dataset", "model", "metric", "score", f"{_confidence(results)} CI", "n"]
    rows = [[*header, _AS_WRONG, *_COVERAGE]]
    for result in results:
        headline = result.headline
        if headline is None:
            continue
        rows.append(
            [
                str(result.dataset),
                str(result.model),
                headline.metric,
                show_value(headline),
                show_interval(headline),
                _n(headline),
                _counted_as_wrong(result),
                *_show_coverage(headline),
            ]
        )
    draw(_without_empty_columns(rows), table_format)
    talk = table_format == "table" and not quiet
    for result in results if not quiet else ():
        reasons = [
            f"{score.metric}: {score.reason}"
            for score in _whole(result)
            if score.value is None and score.reason
        ]
        for line in [*reasons, *_account(result)]:
            click.echo(f"{result.dataset}: {line}", err=not talk)


def _print_tables(
    results: Sequence[Result], table_format: str, *, quiet: bool, verbose: bool
) -> None:
    first = results[0].to_dict()
    talk = table_format == "table" and not quiet
    if talk:
        click.echo(_title(results, first))
        click.echo()
    draw(_summary(results), table_format)
    headline = results[0].headline
    tags = _tag_table(results, headline, verbose, talk) if headline else []
    if headline and headline.value is not None and len(tags) > 1:
        click.echo()
        if talk:
            unit = f", in {headline.unit}" if headline.unit and not verbose else ""
            click.echo(f"By tag, worst {headline.metric} first{unit}:\n")
        draw(tags, table_format)
    if talk:
        click.echo()
        for line in _closing(results, verbose):
            click.echo(line)


def _title(results: Sequence[Result], record: dict[str, object]) -> str:
    models = ", ".join(str(result.model) for result in results)
    return f"{record['dataset']} ({record['task']}, split {record['split']}): {models}"


def _summary(results: Sequence[Result]) -> Rows:
    header = [
        "metric",
        "score",
        f"{_confidence(results)} CI",
        "n",
        _AS_WRONG,
        "majority",
        "chance",
        *_COVERAGE,
    ]
    if len(results) > 1:
        header.insert(0, "model")
    rows = [header]
    for result in results:
        baselines = result.to_dict()["baselines"] or {}
        for score in _whole(result):
            main = score == result.headline
            row = [
                score.metric,
                show_value(score),
                show_interval(score),
                _n(score),
                _counted_as_wrong(result),
                _shown(score, baselines.get("majority")) if main else "",
                _shown(score, baselines.get("chance")) if main else "",
                *_show_coverage(score),
            ]
            rows.append([str(result.model), *row] if len(results) > 1 else row)
    return _without_empty_columns(rows)


def _whole(result: Result) -> list[Score]:
    return [score for score in result.scores if score.tag is None]


def _confidence(results: Sequence[Result]) -> str:
    return f"{100 * float(results[0].to_dict()['confidence']):g} %"


def _without_empty_columns(rows: Rows) -> Rows:
    kept = [
        column
        for column in range(len(rows[0]))
        if any(row[column] for row in rows[1:]) or len(rows) == 1
    ]
    return [[row[column] for column in kept] for row in rows]


def _tag_table(
    results: Sequence[Result], headline: Score, verbose: bool, talk: bool
) -> Rows:
    """Give one row for each tag, worst headline of the first model first.

    Where the line above the table says metric and unit, the table does not.
    """
    told = talk and not verbose
    columns = [
        (result, metric)
        for result in results
        for metric in (result.metrics if verbose else [headline.metric])
    ]
    found = {
        (id(result), score.metric, score.tag): score
        for result in results
        for score in result.scores
    }
    header = ["tag", "n"]
    for result, metric in columns:
        both = f"{result.model}: {metric}"
        named = metric if len(results) == 1 else str(result.model) if told else both
        whose = f"{result.model}: " if len(results) > 1 else ""
        coverage = [f"{whose}{name}" for name in _COVERAGE]
        header += [named, f"{_confidence(results)} CI", *coverage]
    order = results[0].by_tag.filter(metric=headline.metric)["tag"].to_list()
    rows = [header]
    for tag in order:
        scores = [found.get((id(result), metric, tag)) for result, metric in columns]
        cells = [_printable(tag), " / ".join(dict.fromkeys(_n(s) for s in scores if s))]
        for score in scores:
            if score is None:
                cells += ["", "", "", ""]
                continue
            value = show_value(score, with_unit=not told)
            cells += [value, show_interval(score), *_show_coverage(score)]
        rows.append(cells)
    return _without_empty_columns(rows)


def _printable(text: str) -> str:
    """Escape characters that would break a table or speak to the terminal."""
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode()
        for mark in text
    )


def _n(score: Score) -> str:
    if score.n_clusters is not None:
        clusters = "cluster" if score.n_clusters == 1 else "clusters"
        return f"{score.n} ({score.n_clusters} {clusters})"
    return str(score.n)


def show_value(score: Score, *, with_unit: bool = True) -> str:
    """Give a score as a person reads it; `*` marks a flag.

    Args:
        score: The score.
        with_unit: Whether its unit is given too.

    Returns:
        For example `72.32 %`; a dash where there is no value.
    """
    if score.value is None:
        return NO_VALUE
    shown = _shown(score if with_unit else score._replace(unit=""), score.value)
    return shown + ("*" if score.flag else "")


def _shown(score: Score, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value * score.scale:z.2f} {score.unit}".rstrip()


def show_interval(score: Score) -> str:
    """Give an interval as a person reads it; a dash where there is none."""
    if score.ci is None:
        return NO_VALUE
    return f"[{score.ci.low * score.scale:z.2f}, {score.ci.high * score.scale:z.2f}]"


_COVERAGE = ("coverage", "if wrong to right")
"""Headers of the columns that are empty where nothing was left out."""


_AS_WRONG = "as wrong"
"""Header of how many examples without a valid prediction are part of n."""


def _counted_as_wrong(result: Result) -> str:
    policies = result.to_dict()["policies"]
    counted = sum(
        result.counts[status]
        for status in ("missing", "invalid")
        if policies[f"on_{status}"] == "wrong"
    )
    return str(counted) if counted else ""


def _show_coverage(score: Score) -> tuple[str, str]:
    """Give the share that was scored, and what the rest could make of the value."""
    if score.coverage in (None, 1.0):
        return "", ""
    if score.bound_low is None or score.bound_high is None:
        return show_share(score.coverage), NO_VALUE
    low, high = score.bound_low * score.scale, score.bound_high * score.scale
    return show_share(score.coverage), f"{low:z.2f} to {high:z.2f}"


def show_share(share: float | None) -> str:
    """Give a share in percent, with as many digits as tell it from the whole."""
    if share is None:
        return NO_VALUE
    digits = 1
    while (
        share < 1
        and digits < _MOST_DIGITS
        and f"{share:.{digits}%}" == (f"{1:.{digits}%}")
    ):
        digits += 1
    return f"{share:.{digits}%}"


def _closing(results: Sequence[Result], verbose: bool) -> list[str]:
    lines = []
    headline = results[0].headline
    shown_scores = [
        score
        for result in results
        for score in result.scores
        if verbose
        or score.tag is None
        or (headline is not None and score.metric == headline.metric)
    ]
    flags = {s.flag for s in shown_scores if s.flag and s.value is not None}
    if flags:
        lines.append(f"* {'; '.join(sorted(flags))}")
    missing = {
        f"{score.metric}: {score.reason}"
        for score in shown_scores
        if score.tag is None and score.value is None and score.reason
    }
    lines += sorted(missing)
    for result in results:
        label = f"{result.model}: " if len(results) > 1 else ""
        lines += [f"{label}{line}" for line in _account(result)]
    return lines


def _account(result: Result) -> list[str]:
    counts = result.counts
    left = {
        status: counts[status]
        for status in ("invalid", "missing", "duplicate", "unknown", "unreadable")
        if counts[status]
    }
    lines = [f"notice: {notice}" for notice in result.notices]
    lines += [f"warning: {warning}" for warning in result.warnings]
    scored = f"{counts['scored']} of {counts['examples']} examples scored"
    if left:
        kinds = ", ".join(f"{count} {status}" for status, count in left.items())
        where = f"; see {result.path / 'problems.jsonl'}" if result.path else ""
        lines.append(f"{scored}; not scored: {kinds}{where}")
    else:
        lines.append(f"{scored}, every row accounted for")
    if result.path is not None:
        lines.append(f"run folder: {result.path}")
    return lines


def _all_scores(results: Sequence[Result]) -> str:
    """Give every score as stored, in full precision."""
    from evalkit.results import Score

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    several = len({result.dataset for result in results}) > 1
    writer.writerow([*(["dataset"] if several else []), "model", *Score._fields])
    for result in results:
        names = [result.dataset, result.model] if several else [result.model]
        writer.writerows([*names, *score] for score in result.scores)
    return stream.getvalue()
