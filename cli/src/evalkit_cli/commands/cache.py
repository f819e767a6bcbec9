"""`evalkit cache`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from evalkit_cli.options.runs import json_option
from evalkit_cli.printing.streams import echo, echo_json
from evalkit_cli.printing.tables import draw

if TYPE_CHECKING:
    from evalkit.storage import CacheEntry

_GIB = 1 << 30
_MIB = 1 << 20


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove all that was fetched.")
@json_option
def cache_command(clear: bool, as_json: bool) -> None:
    """List what was fetched from stores such as S3, or remove it.

    \b
    Examples:
      evalkit cache
      evalkit cache --clear

    What was used longest ago is removed where all of it takes more than
    EVALKIT_CACHE_SIZE GiB (20), but for what was used within the last hour. The folder
    is that of EVALKIT_CACHE_DIR. Files that data sets fetch from their publishers, and
    what annotators said, are in the same folder, and stay; so do files that could not
    be sent to a store, which are listed too.
    """  # noqa: D301 - click reads the backspace
    from evalkit.storage import ObjectCache, size_limit, unique_size

    cache = ObjectCache()
    unsent = cache.unsent()
    if clear:
        freed = cache.clear()
        if as_json:
            echo_json({"folder": str(cache.root), "freed": freed})
        else:
            echo(f"{freed / _MIB:,.1f} MiB removed from {cache.root}")
            _show_unsent(unsent)
        return
    entries = cache.entries()
    total, limit = unique_size(entries), size_limit()
    if as_json:
        found = {"folder": str(cache.root), "size": total, "limit": int(limit)}
        echo_json({**found, "entries": _plain(entries), "unsent": _plain(unsent)})
        return
    if entries:
        rows = [
            [_moment(entry.used), _mib(entry), f"{entry.files:,}", entry.uri]
            for entry in entries
        ]
        draw([["used (UTC)", "MiB", "files", "of"], *rows], "table", (0, 3))
    _show_unsent(unsent)
    echo(
        f"{total / _GIB:.2f} GiB of at most {limit / _GIB:g} in {cache.root}",
        err=True,
    )


def _show_unsent(unsent: Sequence[CacheEntry]) -> None:
    for entry in unsent:
        echo(
            f"not sent: {_mib(entry)} MiB for {entry.uri}, last written "
            f"{_moment(entry.used)} UTC, in {entry.path}"
        )


def _plain(entries: Sequence[CacheEntry]) -> list[dict[str, object]]:
    return [{**entry._asdict(), "path": str(entry.path)} for entry in entries]


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _mib(entry: CacheEntry) -> str:
    return f"{entry.size / _MIB:,.1f}"
