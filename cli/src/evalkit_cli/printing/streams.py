"""Writes what commands print, escaped, and keeps stdout from what plugins print.

Nothing else in the command line writes to a stream, so no text gets past the escapes.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import click

from evalkit_cli.printing.escapes import for_csv, for_json, for_terminal

_STDOUT, _STDERR = 1, 2


def echo(line: str = "", *, err: bool = False) -> None:
    """Print one line; a line feed in it is escaped, as all that steers a terminal.

    Args:
        line: The line, without its end.
        err: Print it on stderr.
    """
    click.echo(for_terminal(line), err=err)


def echo_lines(text: str, *, err: bool = False) -> None:
    """Print a text of one or several lines.

    Args:
        text: The lines.
        err: Print them on stderr.
    """
    click.echo(for_terminal(text, several_lines=True), err=err)


def echo_drawn(line: str) -> None:
    """Print a line as it is: of a table that was drawn of escaped cells.

    Args:
        line: The line, which may hold control sequences of evalkit's own.
    """
    click.echo(line)


def echo_csv(rows: Iterable[Sequence[object]]) -> None:
    """Print rows as CSV, with numbers in full precision and nothing for None.

    Args:
        rows: Values; their texts are escaped.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([for_csv(value) for value in row] for row in rows)
    click.echo(stream.getvalue(), nl=False)


def echo_json(value: Any) -> None:
    """Print a value as JSON, in ASCII where stdout cannot carry all of Unicode.

    Args:
        value: JSON values; anything else in it is printed as its text.
    """
    encoding = codecs.lookup(sys.stdout.encoding or "utf-8").name
    is_unicode = encoding.startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=not is_unicode, default=str)
    click.echo(for_json(text))


@contextlib.contextmanager
def plugin_output_to_stderr() -> Iterator[None]:
    """Send what is printed meanwhile to stderr, also by compiled code."""
    with contextlib.redirect_stdout(sys.stderr), _descriptor_to_stderr():
        yield


@contextlib.contextmanager
def stdout_copy() -> Iterator[TextIO]:
    """Return a stream of JSON to stdout; `plugin_output_to_stderr` leaves it alone."""
    _flush_stdout()
    binary = os.fdopen(os.dup(_STDOUT), "wb")
    with _JsonStream(binary, encoding="utf-8", errors="backslashreplace") as out:
        yield out


class _JsonStream(io.TextIOWrapper):
    def write(self, text: str, /) -> int:
        super().write(for_json(text))
        return len(text)


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
