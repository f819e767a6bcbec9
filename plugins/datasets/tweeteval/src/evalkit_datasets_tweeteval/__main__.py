"""Prints the overall number: `python -m evalkit_datasets_tweeteval RUN…`."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence

from evalkit import EvalkitError
from evalkit_datasets_tweeteval.choosing import choose_runs
from evalkit_datasets_tweeteval.overall import OverallScore, TaskScore, overall_score


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the seven scores and their mean.

    Args:
        arguments: Those of the command line by default.

    Returns:
        The exit code: 0, or 1 after an error of evalkit.
    """
    parser = argparse.ArgumentParser(
        prog="python -m evalkit_datasets_tweeteval",
        description="Print TweetEval's seven scores of one model, and their mean.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folder; each of the eleven data sets needs a complete one",
    )
    parser.add_argument(
        "--model", metavar="NAME", help="use the runs of this model only"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a model may be named in letters that the terminal does not know
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        choice = choose_runs(options.runs, model=options.model)
        for notice in choice.notices:
            print(f"notice: {notice}", file=sys.stderr)
        found = overall_score(choice.runs)
    except EvalkitError as error:
        print(f"evalkit: error: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        print("\n".join(_lines(found)))
    return 0


def _lines(found: OverallScore) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("task", "metric", "score", "95 % CI", "n", "coverage")
    ]
    rows += [_row(task.task, task.metric, task) for task in found.tasks]
    rows += [_row("overall", "mean of the seven", found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [
        "  ".join(
            cell.ljust(width) if number < 2 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    notices = [f"notice: {notice}" for notice in found.notices]
    return [
        f"TweetEval: {found.model}",
        "",
        *table,
        *([""] if notices else []),
        *notices,
    ]


def _row(name: str, metric: str, score: TaskScore | OverallScore) -> tuple[str, ...]:
    interval = "–"
    if score.ci_low is not None and score.ci_high is not None:
        interval = f"[{100 * score.ci_low:.2f}, {100 * score.ci_high:.2f}]"
    value = f"{100 * score.value:.2f} %"
    return name, metric, value, interval, str(score.n), f"{score.coverage:.1%}"


if __name__ == "__main__":
    sys.exit(main())
