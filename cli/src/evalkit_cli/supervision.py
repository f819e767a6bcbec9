"""Runs the command line in a process of its own, so that its end tells the truth.

A plugin, or a library that it calls, may end the process with the exit code 0 before
there is a result. On Linux the command line forks before it imports anything large: the
child does the work and says when it is done, and the parent turns an end without that
word into an error. Elsewhere, and under a debugger or a profiler, there is one process.
"""

from __future__ import annotations

import faulthandler
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from evalkit_cli.endings import die_by
from evalkit_cli.forks import end_forks

_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_BY_A_PROCESS = 0
"""The code of a signal that a process sent, and no terminal."""
_DIE_WITH_PARENT = 1
"""The option of `prctl` that has the kernel kill a child with its parent."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    supervised(_run)


def _run() -> NoReturn:
    from evalkit_cli.main import main

    main()


_NO_PLUGIN = ("--help", "-h", "--version")
"""Options with which no plugin is loaded."""


def _loads_plugins(arguments: Sequence[str]) -> bool:
    """Tell whether a plugin may run: a process of its own takes 20 ms."""
    if not arguments or {*arguments} & {*_NO_PLUGIN}:
        return False
    return arguments[0] != "list" or any(each[:2] == "--" for each in arguments)


def supervised(command: Callable[[], NoReturn]) -> NoReturn:
    """Run a command, and exit with 0 only if it ended itself.

    Args:
        command: What to run; it ends with `SystemExit`.

    Raises:
        SystemExit: Always; with 1 in place of 0 if the process ended before the command
            did. A signal that kills the child kills this process too.
    """
    is_watched = sys.gettrace() is not None or sys.getprofile() is not None
    if sys.platform != "linux" or is_watched or not _loads_plugins(sys.argv[1:]):
        command()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    waited = {signal.Signals[name] for name in (*_PASSED_ON, "SIGCHLD")}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if not child:
        os.close(reader)
        _end_with(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _work(command, writer)
    os.close(writer)
    status, is_cut_off = _wait(child, waited, reader)
    said = _read(reader)
    code = os.waitstatus_to_exitcode(status)
    done = _DONE.match(said)
    if is_cut_off:
        code = 0
    if is_cut_off and not done:
        _tell_of_closed_files(said)
    elif not done:
        _tell(code, said)
    if code < 0:
        import resource

        # the child has written its core
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        die_by(-code)
    os._exit(code or (int(done[1]) if done else 1))


_DONE = re.compile(r"done (-?\d{1,9})(?!\d)", re.ASCII)
_LOOK_SECONDS = 0.25
_LOOKS = 4
"""How often a child is found cut off before it is killed: it may just be ending."""


def _work(command: Callable[[], NoReturn], writer: int) -> NoReturn:
    """Run the command in the child, and say how it ended, or where it was left."""
    own, leave, is_done = os.getpid(), os._exit, False
    way = os.fstat(writer)

    def say(text: str) -> None:
        with suppress(OSError):  # a plugin closed it, and it may be another file now
            if os.path.samestat(way, os.fstat(writer)):
                os.write(writer, text.encode(errors="backslashreplace"))

    def note(caller: FrameType | None) -> None:
        if caller is not None and os.getpid() == own and not is_done:
            say(f"{caller.f_code.co_filename}:{caller.f_lineno}")

    def leave_at(status: int) -> NoReturn:
        note(sys._getframe().f_back)
        leave(status)

    os._exit = leave_at
    _note_closing(writer, note)
    end_forks()
    if not faulthandler.is_enabled():
        faulthandler.enable(writer, all_threads=False)
    try:
        command()
    except SystemExit as ended:
        given = ended.code
        code = given if isinstance(given, int) else int(given is not None)
        is_done = True
        if os.getpid() == own:  # a process that a plugin forked has no say
            say(f"done {code}")
        raise
    leave(1)  # a plugin replaced what should have ended it


def _note_closing(writer: int, note: Callable[[FrameType | None], None]) -> None:
    """Have `os.close` and `os.closerange` note who closes the way to the parent."""
    close, close_range = os.close, os.closerange

    def close_one(fd: int) -> None:
        if fd == writer:
            note(sys._getframe().f_back)
        close(fd)

    def close_several(fd_low: int, fd_high: int, /) -> None:
        if fd_low <= writer < fd_high:
            note(sys._getframe().f_back)
        close_range(fd_low, fd_high)

    os.close, os.closerange = close_one, close_several


def _end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends."""
    import ctypes

    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os._exit(1)


def _wait(child: int, waited: set[signal.Signals], reader: int) -> tuple[int, bool]:
    """Wait for the child, pass signals on to it, and return how it ended.

    A child that closed all of its files cannot say any more that it is done, and may
    wait without end, as threads of libraries do for theirs: it is killed.

    Returns:
        Its status, and whether it was killed for that.
    """
    cut_off = select.poll()
    cut_off.register(reader, 0)  # only that nobody holds the other end
    times = 0
    while True:
        found = signal.sigtimedwait(waited, _LOOK_SECONDS)
        if found is None:
            times = times + 1 if cut_off.poll(0) else 0
            if times == _LOOKS:
                os.kill(child, signal.SIGKILL)
                return os.waitpid(child, 0)[1], True
        elif found.si_signo == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return status, False
        elif found.si_code <= _BY_A_PROCESS:  # a terminal tells the child by itself
            os.kill(child, found.si_signo)


def _read(reader: int) -> str:
    os.set_blocking(reader, False)  # a process that is left may hold the other end
    try:
        return os.read(reader, 10_000).decode()
    except BlockingIOError:
        return ""


_FRAME = re.compile(r'^  File "(.+)", line (\d+) in ', re.MULTILINE)


def _place(said: str) -> str:
    """Return file and line of the last call outside of Python's own library."""
    frames = [(found[1], found[2]) for found in _FRAME.finditer(said)]
    if not frames:
        return said
    own = f"{os.path.dirname(os.__file__)}/"  # noqa: PTH120 - pathlib takes 10 ms
    others = [
        frame
        for frame in frames  # most recent call first
        if not frame[0].startswith(own) or "site-packages" in frame[0]
    ]
    return ":".join((others or frames)[0])


def _tell_of_closed_files(place: str) -> None:
    """Say that the child could not go on."""
    from evalkit_cli.printing.streams import echo_lines

    where = f" at {place}" if place else ""
    echo_lines(
        f"evalkit: error: all files of its process were closed{where}, so that it "
        "could not go on, and was ended; a plugin or a library did that",
        err=True,
    )


def _tell(code: int, place: str) -> None:
    """Say that the child ended before the command did."""
    from evalkit_cli.printing.streams import echo_lines

    names = {each.value: each.name for each in signal.Signals}
    killer = names.get(-code, f"signal {-code}")
    if killer in _PASSED_ON:
        return
    ended = f"was killed by {killer}" if code < 0 else f"ended with exit code {code}"
    place = _place(place)
    where = f" at {place}" if place else ""
    echo_lines(
        f"evalkit: error: its process {ended}{where} before the command was done; a "
        "plugin or a library did that",
        err=True,
    )
