"""The command `evalkit my-thing`."""

from __future__ import annotations

from pathlib import Path

import click
from evalkit_cli.commanding import draw, echo_json, folder_option, json_option


@click.command("my-thing")
@folder_option
@json_option
def my_thing_command(folder: Path, as_json: bool) -> None:
    """Count the runs of each model."""
    from collections import Counter

    from evalkit.runs import list_runs

    counts = Counter(run.record.model for run in list_runs(folder))
    if as_json:
        echo_json(dict(counts))
        return
    rows = [[str(model), str(count)] for model, count in counts.most_common()]
    draw([["model", "runs"], *rows], "table", texts=(0,))
