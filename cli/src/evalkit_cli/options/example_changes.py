"""Options that change examples before all else: `--map` and `--adapter data=…`."""

from __future__ import annotations

from typing import Any

import click

from evalkit_cli.options.choices import (
    apply,
    map_option,
    read_adapters,
    read_map,
    row_source,
)

_data_adapter_option = click.option(
    "--adapter",
    "adapters",
    multiple=True,
    metavar="data=FILE|NAME",
    help="Adapters, as a list in YAML or JSON or by name, that the examples go through "
    "first.",
)


example_options = apply(map_option, _data_adapter_option)
"""`--map` and `--adapter data=…`, which change examples before all else.

`read_example_options` reads them."""


def read_example_options(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `example_options` out of all that were given.

    Args:
        given: Options by name; these are removed.

    Returns:
        The argument `rows` of `load_inputs`.

    Raises:
        UsageError: One is not of its form.
    """
    adapters = read_adapters(given.pop("adapters"), ("data",))
    return {"rows": row_source(adapters, read_map(given.pop("mapped"), "--map"))}
