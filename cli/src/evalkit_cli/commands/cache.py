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
@click.option(
    "--clear",
    type=click.Choice(("stores", "datasets", "annotations", "replies", "all")),
    is_flag=False,
    flag_value="stores",
    help="Remove what was fetched from stores, or what else is named.",
)
@json_option
def cache_command(clear: str | None, as_json: bool) -> None:
    """List what is kept in the folder of EVALKIT_CACHE_DIR, or remove it.

    \b
    Examples:
      evalkit cache
      evalkit cache --clear
      evalkit cache --clear replies

    It holds what was fetched from stores such as S3, files that data sets fetch from
    their publishers, what annotators said, and what models replied. Of what came from
    stores, what was used longest ago is removed where all of it takes more than
    EVALKIT_CACHE_SIZE GiB (20), but for what was used within the last hour; of replies,
    where they take more than EVALKIT_REPLIES_SIZE GiB (10). Files that could not be
    sent to a store are listed, and stay.
    """  # noqa: D301 - click reads the backspace
    from evalkit.reporting import count_of
    from evalkit.storage import ObjectCache, kept_by_kind, size_limit, unique_size

    cache = ObjectCache()
    unsent = cache.unsent()
    if clear is not None:
        freed = _cleared(clear)
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
        kinds = [
            {**kept._asdict(), "limit": _limit(kept.kind)} for kept in kept_by_kind()
        ]
        lists = {"entries": _plain(entries), "unsent": _plain(unsent)}
        echo_json({**found, "kinds": kinds, **lists})
        return
    if entries:
        rows = [
            [_moment(entry.used), _mib(entry), f"{entry.files:,}", entry.uri]
            for entry in entries
        ]
        draw([["used (UTC)", "MiB", "files", "of"], *rows], "table", (0, 3))
    _show_unsent(unsent)
    for kept in kept_by_kind():
        if kept.files and kept.kind != "stores":
            files = count_of(kept.files, "file")
            most = _limit(kept.kind)
            of = "" if most is None else f" of at most {most / _MIB:,.0f}"
            echo(f"{kept.kind}: {kept.size / _MIB:,.1f} MiB{of}, {files}")
    echo(
        f"{total / _GIB:.2f} GiB from stores, of at most {limit / _GIB:g}, in "
        f"{cache.root}",
        err=True,
    )


def _limit(kind: str) -> int | None:
    """Return the bytes that may be kept of a kind; None for any number."""
    from evalkit.storage import size_limit

    return int(size_limit(kind)) if kind in ("stores", "replies") else None


def _cleared(kind: str) -> int:
    """Remove a kind, or all of them; return the bytes that freed."""
    from evalkit.storage import CACHE_KINDS, clear_kind

    return sum(map(clear_kind, CACHE_KINDS if kind == "all" else [kind]))


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
