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
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import click

from evalkit_cli.printing.escapes import for_csv, for_json, for_terminal

_STDOUT, _STDERR = 1, 2

_NARROWEST = 20
"""Columns below which text is not wrapped further."""


MOST_LINES, MOST_CHARACTERS = 20, 2000
"""How long a message may be, so that it fits on a screen."""


def buffer_stdout() -> None:
    """Have stdout write all that it is given, or fail.

    With `PYTHONUNBUFFERED` Python writes once and drops what the disk did not take.
    """
    out = sys.__stdout__
    if sys.stdout is not out or not isinstance(out, io.TextIOWrapper):
        return  # a program that runs this one has its own
    raw: object = out.buffer
    if isinstance(raw, io.RawIOBase):
        encoding, errors = out.encoding, out.errors
        out.detach()
        buffer = io.BufferedWriter(raw)
        whole = io.TextIOWrapper(buffer, encoding, errors, line_buffering=True)
        for name in ("stdout", "__stdout__"):
            setattr(sys, name, whole)


def echo(line: str = "", *, err: bool = False) -> None:
    """Print one line; a line feed in it is escaped, as all that steers a terminal.

    Args:
        line: The line, without its end.
        err: Print it on stderr, as a message that fits on a screen.
    """
    click.echo(for_terminal(fitting(line) if err else line), err=err)


def terminal_width() -> int | None:
    """Return how many columns stdout has, or `COLUMNS` says; None for no limit."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def echo_wrapped(line: str = "", *, err: bool = False) -> None:
    """Print one line of text; on a narrow terminal in several, broken at blanks."""
    width = None if err else terminal_width()
    shown = for_terminal(line)
    if width is None or len(shown) <= width:
        echo(line, err=err)
        return
    lines = textwrap.wrap(
        shown,
        max(width, _NARROWEST),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for part in lines:
        click.echo(part)


def echo_lines(text: str, *, err: bool = False, whole: bool = False) -> None:
    """Print a text of one or several lines.

    Args:
        text: The lines.
        err: Print them on stderr, as a message that fits on a screen.
        whole: Print them on stderr however many they are.
    """
    shown = fitting(text) if err and not whole else text
    click.echo(for_terminal(shown, several_lines=True), err=err)


def fitting(text: str) -> str:
    """Return a message that fits on a screen, and says how much of it was cut."""
    if len(text) > MOST_CHARACTERS:
        start, end = text[: MOST_CHARACTERS - 500], text[-400:]
        left_out = len(text) - len(start) - len(end)
        text = f"{start} … ({left_out} characters left out) … {end}"
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        first, last = lines[: MOST_LINES - 6], lines[-5:]
        left_out = len(lines) - len(first) - len(last)
        text = "\n".join([*first, f"… ({left_out} lines left out)", *last])
    return text


def echo_drawn(line: str) -> None:
    """Print a line as it is: of a table that was drawn of escaped cells."""
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


def as_text(value: Any) -> str | None:
    """Return a text as it is, nothing for None, and anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


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
