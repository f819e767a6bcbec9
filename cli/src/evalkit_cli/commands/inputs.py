"""`evalkit inputs`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.choices import chosen_dataset, data_options, read_filters
from evalkit_cli.options.example_changes import example_options, read_example_options
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.runs import quiet_with
from evalkit_cli.printing.streams import echo, plugin_output_to_stderr, stdout_copy

if TYPE_CHECKING:
    from evalkit_models_base import ModelInputs

_STANDARD_OUTPUT = "-"


@click.command("inputs")
@data_options
@click.option(
    "-o",
    "--out",
    default=_STANDARD_OUTPUT,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="File to write: .jsonl, .csv, .tsv, .parquet or .arrow; by default JSON lines "
    "go to the standard output.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@example_options
@quiet_with("Print no notices and no summary.")
@plugin_option
def inputs_command(
    dataset: str | None,
    data: str | None,
    task: str | None,
    split: str | None,
    limit: int | None,
    filters: tuple[str, ...],
    out: str,
    overwrite: bool,
    quiet: bool,
    **changes: Any,
) -> None:
    """Write what a model is sent of a data set or file, without the answers.

    \b
    Examples:
      evalkit inputs hatecheck > inputs.jsonl
      evalkit inputs sample-nli --limit 100 -o inputs.parquet
      evalkit inputs --data my-set.csv --task sentiment --map statement=text
      evalkit inputs sample-qa | my-model | evalkit eval sample-qa -p my-model=-

    Each row has the example's id, `uid`, and the fields that the task sends to a model.
    A file need not hold answers. A response names the id as `id` or `uid`.
    """  # noqa: D301 - click reads the backspace
    from evalkit_models_base import load_inputs

    name = chosen_dataset(dataset, data, task)
    with contextlib.ExitStack() as stack:
        # before stdout is kept from plugins
        is_stdout = out == _STANDARD_OUTPUT
        stream = stack.enter_context(stdout_copy()) if is_stdout else None
        stack.enter_context(plugin_output_to_stderr())
        found = load_inputs(
            name,
            task=task,
            split=split,
            limit=limit,
            filters=read_filters(filters),
            **read_example_options(changes),
        )
        if stream is None:
            found.save(Path(out), overwrite=overwrite)
        else:
            for line in found.json_lines():
                stream.write(line)
    if not quiet:
        _report(found, out)


def _report(found: ModelInputs, out: str) -> None:
    from evalkit.reporting import count_of

    for notice in found.notices:
        echo(f"evalkit: notice: {notice}", err=True)
    if out != _STANDARD_OUTPUT:
        keys = ", ".join(("uid", *found.keys))
        part = "" if len(found) == found.examples else f" of {found.examples:,}"
        count = count_of(len(found), "example") + part
        echo(f"{count} written to {out}: {keys}", err=True)
