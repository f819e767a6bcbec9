"""Prints what `evalkit perturb` did, and what can be done next."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalkit.reporting import count_of
from evalkit_cli.printing.edit_marks import marked
from evalkit_cli.printing.streams import echo, echo_json, echo_wrapped
from evalkit_cli.printing.tables import draw

if TYPE_CHECKING:
    from evalkit_commands_perturb import PerturbationSummary

_PROTECTED = (
    "Code, digits, mark-up, placeholders and urls are protected; --unprotected KIND "
    "lets them change."
)


def print_summary(
    summary: PerturbationSummary,
    *,
    source: str,
    hosted: Sequence[str],
    task: str | None,
    selection: Sequence[str],
    again: bool,
    pairs: int,
    show_text: bool,
    as_json: bool,
    quiet: bool,
    to_stderr: bool,
) -> None:
    """Print how many examples each perturbation changed, and some of them."""
    if as_json:
        echo_json(_as_json(summary, show_text))
        return

    # where stdout holds the rows, the talk goes elsewhere
    target = sys.stderr if to_stderr else sys.stdout
    with contextlib.redirect_stdout(target):
        _print_counts(summary)
        if not quiet:
            _print_pairs(summary, pairs, masked=summary.sensitive and not show_text)
            _print_next(summary, source, hosted, task, selection, again=again)


def _as_json(summary: PerturbationSummary, show_text: bool) -> dict[str, Any]:
    values = summary.to_dict()
    if summary.sensitive and not show_text:
        for count in values["perturbations"]:
            for sample in count["samples"]:
                sample["changes"] = {}
    return values


def _print_counts(summary: PerturbationSummary) -> None:
    for notice in summary.notices:
        echo(f"notice: {notice}")
    rows = [["perturbation", "changed", "of", "share", "rows", "label effect"]]
    total = summary.examples
    for count in summary.perturbations:
        share = f"{count.changed / total:.1%}"
        numbers = str(count.changed), str(total), share, str(count.copies)
        rows.append([count.perturbation, *numbers, count.label_effect])
    draw(rows, "table", texts=(0, 5))
    idle = [each.perturbation for each in summary.perturbations if not each.copies]
    if idle:
        echo_wrapped(f"{', '.join(idle)} changed nothing. {_PROTECTED}")


def _print_pairs(summary: PerturbationSummary, pairs: int, masked: bool) -> None:
    is_any_shown = False
    for count in summary.perturbations:
        lines = [
            f"  {sample.uid} {field}: {marked(change.before, change.edits, masked)}"
            for sample in count.samples[:pairs]
            for field, change in sample.changes.items()
        ]
        if lines:
            is_any_shown = True
            echo()
            echo(count.perturbation)
            for line in lines:
                echo(line)
    if masked and is_any_shown:
        echo()
        echo("masked, as the texts may be hurtful; --show-text shows them")


def _print_next(
    summary: PerturbationSummary,
    source: str,
    hosted: Sequence[str],
    task: str | None,
    selection: Sequence[str],
    *,
    again: bool,
) -> None:
    echo()
    copies = sum(count.copies for count in summary.perturbations)
    rows = count_of(copies, "row")
    if summary.out is None:
        echo(f"{rows} written")
        return
    out = shlex.quote(str(summary.out))
    if not copies:
        echo(f"nothing was changed: {out} is empty")
        return
    data = shlex.quote(source)
    named = f"--data {data} --task {task}" if task else data
    named = " ".join((named, *map(shlex.quote, selection)))
    if again:
        named = "ORIGINALS"  # what these are copies of is somewhere else
    echo(f"{rows} written to {out}: look at them before you trust scores")
    if hosted:
        echo("next, send it to the server, and request evaluations of all models:")
        echo(f"  evalkit host dataset {out} {shlex.join(hosted)}")
        return
    echo(f"next, let your model predict {out}, then:")
    echo(f"  evalkit eval {named} --predictions MODEL.jsonl \\")
    echo(f"    --perturbed {out} --perturbed-predictions PREDICTED.jsonl")
