"""Shows the tracebacks of failures that end nothing, which core logs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from evalkit_cli.printing.defects import TRACEBACK_VARIABLE, show_traceback


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            show_traceback(record.exc_info[1])


@contextmanager
def tracebacks_shown() -> Iterator[None]:
    """Show tracebacks of failures meanwhile, as `EVALKIT_TRACEBACK=1` asks for."""
    before = os.environ.get(TRACEBACK_VARIABLE)
    os.environ[TRACEBACK_VARIABLE] = "1"
    logger, handler = logging.getLogger("evalkit"), _Handler()
    level = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        if before is None:
            del os.environ[TRACEBACK_VARIABLE]
