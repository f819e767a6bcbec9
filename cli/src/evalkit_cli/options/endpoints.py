"""The option that names a server of S3."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

VARIABLE = "AWS_ENDPOINT_URL_S3"
"""Environment variable by which boto3, polars and others find a server of S3."""

_ADDRESS = re.compile(r"https?://[^/?#\s]+/?", re.IGNORECASE)


def _legal(
    context: click.Context, parameter: click.Parameter, given: str | None
) -> str | None:
    if given is None:
        return None
    if "@" in given:  # which is not to be seen on a screen again
        raise click.BadParameter(
            "holds credentials; they come from boto3's configuration alone"
        )
    if not _ADDRESS.fullmatch(given):
        raise click.BadParameter(f"{given!r} is no address such as http://HOST:PORT")
    return given


def endpoint_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--endpoint-url` to a command."""
    return click.option(
        "--endpoint-url",
        metavar="URL",
        callback=_legal,
        help=f"Server of s3:// places; before the command. {VARIABLE}=URL does the "
        "same.",
    )(function)


@contextmanager
def endpoint(url: str) -> Iterator[None]:
    """Let all stores, also those of other processes, ask a server."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = url
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
