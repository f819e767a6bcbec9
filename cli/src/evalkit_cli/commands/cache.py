"""`evalkit cache`."""

from __future__ import annotations

import click

from evalkit_cli.options.cached import CACHE_KINDS, clear_kind, kept_by_kind
from evalkit_cli.options.runs import json_option
from evalkit_cli.printing.streams import echo, echo_json

_MIB = 1 << 20


@click.command("cache")
@click.option(
    "--clear",
    type=click.Choice((*CACHE_KINDS, "all")),
    is_flag=False,
    flag_value="stores",
    help="Remove files fetched from URIs, or the kind that is named.",
)
@json_option
def cache_command(clear: str | None, as_json: bool) -> None:
    """List what the folder of EVALKIT_CACHE_DIR contains, or remove it.

    \b
    Examples:
      evalkit cache
      evalkit cache --clear
      evalkit cache --clear replies

    It contains files fetched from URIs such as s3://, files that datasets fetch from
    their publishers, and replies of models behind an address. Nothing is removed by
    itself. Files of hf:// are in the cache of the hub's client.
    """  # noqa: D301 - click reads the backspace
    from evalkit.places import cache_folder
    from evalkit.reporting import count_of

    folder = str(cache_folder())
    if clear is not None:
        kinds = CACHE_KINDS if clear == "all" else [clear]
        freed = sum(map(clear_kind, kinds))
        if as_json:
            echo_json({"folder": folder, "freed": freed})
        else:
            echo(f"{freed / _MIB:,.1f} MiB removed from {folder}")
        return
    kept = kept_by_kind()
    if as_json:
        echo_json({"folder": folder, "kinds": [each._asdict() for each in kept]})
        return
    for each in kept:
        if each.files:
            files = count_of(each.files, "file")
            echo(f"{each.kind}: {each.size / _MIB:,.1f} MiB, {files}")
    echo(f"{sum(each.size for each in kept) / _MIB:,.1f} MiB in {folder}", err=True)
