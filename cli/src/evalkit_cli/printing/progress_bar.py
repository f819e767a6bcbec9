"""Shows what is being done, once it takes a while."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

from evalkit_cli.printing.escapes import for_terminal

_PATIENCE = 1.0
"""Seconds before the progress bar is shown."""


@contextlib.contextmanager
def watched(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar once the work takes a while, on a terminal only.

    Args:
        quiet: Show nothing.

    Yields:
        A function to be told what is being done and which share is behind, 0 to 1.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _text, _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    text_column = TextColumn("{task.description}", markup=False)
    columns = (text_column, BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    work = bar.add_task("", total=1.0)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda text, share: bar.update(
            work, description=for_terminal(text), completed=share
        )
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()
