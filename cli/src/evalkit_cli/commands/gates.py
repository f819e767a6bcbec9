"""Ends a comparison with an exit code where the first run is worse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evalkit_cli.commands.thresholds import NOT_MET, say_not_met
from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit_analysis_compare import ComparedScore, Comparison


def exit_if_worse(comparison: Comparison) -> None:
    """Exit with 3 where the first run was shown to be worse than another."""
    from evalkit.errors import EvalkitError

    worse, unjudged = comparison.worse, comparison.unjudged
    for row in unjudged:
        echo(f"evalkit: warning: --fail-if-worse: {_why_not_judged(row)}", err=True)
    if not comparison.judged:
        raise EvalkitError(
            "--fail-if-worse: no score could be judged, so that it is not known "
            "whether the first run is worse"
        )
    by = (
        ""
        if comparison.margin is None
        else (f"; more than the margin of {comparison.margin:g}")
    )
    for row in worse:
        say_not_met(f"{row.metric}: {row.conclusion}{by}")
    if worse:
        raise click.exceptions.Exit(NOT_MET)


def _why_not_judged(row: ComparedScore) -> str:
    why = row.reason or "there is no test"
    if row.higher_is_better is None:
        why = "it is not known whether higher is better"
    return f"{row.metric} of {row.model_a} and {row.model_b} is not judged: {why}"
