"""Ends the command by a signal after what it had begun is cleaned up."""

from __future__ import annotations

import os
import select
import signal
import sys
from types import FrameType
from typing import NoReturn

_UNWOUND = ("SIGTERM", "SIGHUP")
"""Signals after which temporary files are removed, as after an interrupt."""

READER_GONE = 128 + 13
"""The exit code of a command whose output nobody reads any more, as shells give it to
what SIGPIPE ended."""


class Ended(KeyboardInterrupt):
    """Somebody ends the process by a signal; nothing that a plugin does stops it.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def unwind_when_ended() -> None:
    """Raise `Ended` at signals that would leave temporary files behind.

    A second one of the same kind ends the process at once. What is ignored, as with
    `nohup`, stays ignored.
    """
    numbers = [getattr(signal, name) for name in _UNWOUND if hasattr(signal, name)]
    watched = [each for each in numbers if signal.getsignal(each) == signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> NoReturn:
        for each in watched:
            signal.signal(each, signal.SIG_DFL if each == number else signal.SIG_IGN)
        raise Ended(number)

    for each in watched:
        signal.signal(each, end)


def die_by(number: int) -> None:
    """End this process by a signal, for whoever waits for it."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def drop_output_without_reader() -> bool:
    """Drop the rest of the output where its reader is gone, such as `head`."""
    descriptor = sys.__stdout__.fileno() if sys.__stdout__ is not None else -1
    watched = select.poll()
    watched.register(descriptor, 0)
    if not any(events & select.POLLERR for _, events in watched.poll(0)):
        return False
    _drop(descriptor)
    return True


def drop_output_without_room() -> None:
    """Drop what is left to print where stdout does not take it, as a full disk does."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop(sys.stdout.fileno())


def _drop(descriptor: int) -> None:
    """Have what is flushed once more, at Python's end, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
