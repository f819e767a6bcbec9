"""Keeps stdout for data: what commands print, and nothing that plugins print."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import click

_STDOUT, _STDERR = 1, 2


def echo_json(value: Any) -> None:
    """Print a value as JSON, in ASCII where stdout cannot carry all of Unicode.

    Args:
        value: JSON values; anything else in it is printed as its text.
    """
    encoding = codecs.lookup(sys.stdout.encoding or "utf-8").name
    is_unicode = encoding.startswith("utf")
    click.echo(json.dumps(value, indent=2, ensure_ascii=not is_unicode, default=str))


@contextlib.contextmanager
def plugin_output_to_stderr() -> Iterator[None]:
    """Send what is printed meanwhile to stderr, also by compiled code."""
    with contextlib.redirect_stdout(sys.stderr), _descriptor_to_stderr():
        yield


@contextlib.contextmanager
def stdout_copy() -> Iterator[TextIO]:
    """Give a stream to stdout that `plugin_output_to_stderr` does not turn away."""
    _flush_stdout()
    descriptor = os.dup(_STDOUT)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as out:
        yield out


@contextlib.contextmanager
def _descriptor_to_stderr() -> Iterator[None]:
    _flush_stdout()
    saved = os.dup(_STDOUT)
    try:
        os.dup2(_STDERR, _STDOUT)
        yield
    finally:
        _flush_stdout()
        os.dup2(saved, _STDOUT)
        os.close(saved)


def _flush_stdout() -> None:
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()
