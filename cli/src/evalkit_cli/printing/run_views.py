"""Prints a stored run: its report, its wrong answers, its confusion table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.printing.escapes import for_terminal
from evalkit_cli.printing.joined_texts import Join, Texts
from evalkit_cli.printing.reports import print_report
from evalkit_cli.printing.streams import as_text, echo, echo_csv, echo_json
from evalkit_cli.printing.tables import NO_VALUE, draw, without_empty_columns

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit.runs import Confusion, WrongAnswers

_LONGEST = 60
"""Characters of an answer that a table shows; CSV and JSON give all."""

_MOST_OTHERS = 10
"""Predictions beside the labels that have a column of their own in a table."""

_WRONG_COLUMNS = ("id", "answer", "prediction", "score", "tags", "note")


def print_run(
    result: Result, table_format: str, *, as_json: bool, quiet: bool, verbose: bool
) -> None:
    """Print the report of a run as `evalkit eval` did."""
    if as_json:
        echo_json(result.to_dict())
    elif result.status == "refused":
        echo(refusal_of(result), err=table_format != "table")
    else:
        print_report([result], table_format, quiet=quiet, verbose=verbose)


def print_new_run(result: Result, *, quiet: bool, **how: Any) -> None:
    """Print the report of a new run, and which runs it was made of."""
    print_run(result, quiet=quiet, **how)
    if not quiet and not how["as_json"]:
        echo(_origin(result), err=how["table_format"] != "table")
    if result.is_failed:
        raise click.exceptions.Exit(1)


def _origin(result: Result) -> str:
    record = result.record
    if record.parent is not None:
        return f"new run {result.run_id}, parent {record.parent[:8]}"
    parts = ", ".join(fingerprint[:8] for fingerprint in record.merged)
    return f"new run {result.run_id}, merged from {parts}"


def refusal_of(result: Result) -> str:
    """Say why a refused run has no scores."""
    problems = ("invalid", "missing", "duplicate", "unknown", "unreadable")
    counts = ", ".join(f"{result.counts.get(name, 0)} {name}" for name in problems)
    return (
        f"{result.dataset}: {result.model}: the predictions were refused, so there are "
        f"no scores: {counts}. See {result.path}/problems.jsonl"
    )


def print_wrong(
    result: Result,
    metric: str | None,
    tag: str | None,
    limit: int,
    table_format: str,
    *,
    as_json: bool,
    join: Join | None = None,
    show_text: bool = False,
) -> None:
    """Print the examples that were answered wrongly, the worst first."""
    from evalkit.runs import find_wrong

    found = find_wrong(result, metric, tag)
    rows = list(found.rows.head(limit).iter_rows(named=True))
    texts = Texts(join, [row["id"] for row in rows], show_text=show_text)
    if as_json:
        rows = [row | texts.as_json(row["id"]) for row in rows]
        echo_json(_wrong_json(result, found, tag, rows))
        texts.print_notices(err=True)
        return
    if table_format == "csv":
        cells = ([*_wrong_cells(row), *texts.of(row["id"])] for row in rows)
        echo_csv([[*_WRONG_COLUMNS, *texts.keys], *cells])
    is_table = table_format == "table"
    talk_to_stderr = not is_table
    echo(_wrong_title(found, tag, len(rows)), err=talk_to_stderr)
    if rows and table_format != "csv":
        if is_table:
            echo()
        _draw_wrong(found, rows, texts, table_format)
    texts.print_notices(err=talk_to_stderr)


def _wrong_json(
    result: Result, found: WrongAnswers, tag: str | None, rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "run_id": result.run_id,
        "metric": found.metric,
        "best": found.best,
        "tag": tag,
        "n": found.n,
        "wrong": found.rows.height,
        "examples": rows,
    }


def _wrong_cells(row: dict[str, Any]) -> list[object]:
    answer, prediction = as_text(row["answer"]), as_text(row["pred"])
    tags = as_text(row["tags"] or None)
    return [row["id"], answer, prediction, row["score"], tags, row["note"]]


def _wrong_title(found: WrongAnswers, tag: str | None, shown: int) -> str:
    where = f" with the tag {tag}" if tag is not None else ""
    wrong = found.rows.height
    how = f"{'has' if wrong == 1 else 'have'} a prediction other than the answer"
    if found.metric is not None and _is_right_or_wrong(found):
        how = f"{'is' if wrong == 1 else 'are'} wrong by {found.metric}"
    elif found.metric is not None:
        verb = "does" if wrong == 1 else "do"
        how = f"{verb} not reach the best possible {found.metric}, {found.best:g}"
    is_ranked = found.metric is not None and wrong and not _is_right_or_wrong(found)
    order = "the worst first" if is_ranked else ""
    if shown < wrong:
        order = f"the {'worst' if is_ranked else 'first'} {shown}"
    few = f"; {order}" if order else ""
    return f"{wrong} of {found.n} examples{where} {how}{few}"


def _is_right_or_wrong(found: WrongAnswers) -> bool:
    """Tell whether no example that is listed got a part of the best score."""
    return found.best == 1 and set(found.rows["score"]) <= {0.0}


def _draw_wrong(
    found: WrongAnswers, rows: Sequence[dict[str, Any]], texts: Texts, table_format: str
) -> None:
    header = [*_WRONG_COLUMNS, *texts.keys]
    if found.metric is not None:
        header[header.index("score")] = found.metric
    table = [header]
    for row in rows:
        uid, answer, prediction, score, _, note = _wrong_cells(row)
        table.append(
            [
                str(uid),
                shortened(answer),
                shortened(prediction),
                "" if score is None else f"{score:g}",
                ", ".join(row["tags"] or ()),
                str(note or ""),
                *map(shortened, texts.of(row["id"])),
            ]
        )
    kept = without_empty_columns(table)
    number = kept[0].index(found.metric) if found.metric in kept[0] else None
    left = [place for place in range(len(kept[0])) if place != number]
    draw(kept, table_format, left)


def shortened(value: object) -> str:
    """Return an answer as a cell of a table shows it."""
    if value is None:
        return NO_VALUE
    text = for_terminal(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def print_confusion(
    result: Result, tag: str | None, table_format: str, *, as_json: bool
) -> None:
    """Print how often each answer got each prediction."""
    from evalkit.runs import count_confusion

    found = count_confusion(result, tag)
    if as_json:
        echo_json({"run_id": result.run_id, "tag": tag, **found._asdict()})
    elif table_format == "csv":
        echo_csv(_confusion_table(found))
    else:
        where = f", examples with the tag {tag}" if tag is not None else ""
        title = f"{result.dataset}, {result.model}: answers by predictions{where}"
        is_table = table_format == "table"
        echo(title, err=not is_table)
        if is_table:
            echo()
        rows = _without_unused(_confusion_table(_with_few_others(found)))
        cells = [[str(cell) for cell in row] for row in rows]
        draw(cells, table_format, texts=(0,))


def _with_few_others(found: Confusion) -> Confusion:
    """Join predictions that are no labels into one column where they are many."""
    known = len(found.labels)
    others = len(found.predicted) - known
    if others <= _MOST_OTHERS:
        return found
    return found._replace(
        predicted=(*found.labels, f"{others} others"),
        counts=tuple((*row[:known], sum(row[known:])) for row in found.counts),
    )


def _confusion_table(found: Confusion) -> list[list[Any]]:
    rows: list[list[Any]] = [["answer", *found.predicted, "no answer", "total"]]
    sums = [sum(column) for column in zip(*found.counts, strict=True)]
    named = [*zip(found.labels, found.counts, found.no_answer, strict=True)]
    for label, counts, none in [*named, ("total", sums, sum(found.no_answer))]:
        rows.append([label, *counts, none, sum(counts) + none])
    return rows


def _without_unused(rows: list[list[Any]]) -> list[list[Any]]:
    """Leave out the column of examples without an answer where there is none."""
    if rows[-1][-2]:
        return rows
    return [[*row[:-2], row[-1]] for row in rows]
