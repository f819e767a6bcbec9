"""The options that choose metrics, with their parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.choices import Decorator, InputFile, apply, setting
from evalkit_cli.options.completion import complete_names

if TYPE_CHECKING:
    from evalkit import Registry
    from evalkit.catalog import Bound

params_option = setting(
    "--params", type=InputFile(), help="JSON file of parameters by name of the metric."
)


def metric_with(help_text: str) -> Decorator:
    """Return the option `--metric` of a command, with what it does with them."""
    return click.option(
        "-m",
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME[:KEY=VALUE,…]",
        shell_complete=complete_names("metrics"),
        help=help_text,
    )


metric_options = apply(
    metric_with("Compute this metric instead of the task's; repeatable."), params_option
)


def chosen_metrics(
    registry: Registry, metrics: tuple[str, ...], params: Path | None
) -> list[Bound] | None:
    """Load the metrics that were named, with their parameters."""
    if not metrics:
        if params is not None:
            raise click.UsageError("--params needs the metrics named with --metric.")
        return None
    from evalkit.catalog import parse_reference

    by_name = _read_params(params) if params is not None else {}
    names = [parse_reference(metric).name for metric in metrics]
    for name in by_name:
        if name not in names:
            raise click.UsageError(
                f"{params} has parameters of {name!r}, which --metric does not name."
            )
    return [
        registry.load("metrics", metric, by_name.get(name))
        for metric, name in zip(metrics, names, strict=True)
    ]


def _read_params(path: Path) -> dict[str, Any]:
    from evalkit.catalog import local_file
    from evalkit.errors import DataError

    path = local_file(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: is not JSON: {error}") from error
    if not isinstance(values, dict) or not all(
        isinstance(item, dict) for item in values.values()
    ):
        raise DataError(
            f"{path}: must hold an object of objects, such as "
            '{"macro-f1": {"labels": "declared"}}'
        )
    return values
