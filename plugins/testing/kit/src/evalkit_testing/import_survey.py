"""Loads the components of a distribution, and writes down what that did.

Run in a process of its own, whose standard output and error are files:
`python -m evalkit_testing.import_survey DISTRIBUTION FILE ID…`. Each line of the file
is JSON, so that what ends the process is known as well.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from evalkit_testing.shared_state import State, is_of_evalkit

_NETWORK = (
    *("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"),
    *("socket.sendto", "socket.bind"),
)
_PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
_FILES = (
    *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link"),
    *("os.truncate", "shutil.rmtree", "shutil.move"),
)
_MOST_PRINTED = 1000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """Keeps what this process does that others would notice."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.is_on = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an event of `sys.audit`."""
        if not self.is_on:
            return
        if event in _NETWORK:
            self._note("network", event, arguments[-1:])
        elif event in _PROCESSES:
            self._note("processes", event, arguments[:1])
        elif event in _FILES:
            self._note("writes", event, arguments[:1])
        elif event == "open":
            path, _, flags = arguments
            is_written = isinstance(path, str | bytes) and (flags or 0) & _WRITES
            if is_written and os.fsdecode(path) != os.devnull:
                self._note("writes", event, (path,))

    def _note(self, kind: str, event: str, what: tuple[Any, ...]) -> None:
        if "__pycache__" not in repr(what):
            self.events.append((kind, f"{event} {', '.join(map(repr, what))}"))


def survey(
    distribution: str,
    wanted: Collection[str],
    write: Callable[[Mapping[str, Any]], None],
) -> None:
    """Load components of a distribution, up to the first that changes what is shared.

    What is changed by one could be blamed on the next, which needs a new process.
    """
    began = time.process_time()
    import polars  # noqa: F401
    import pydantic  # noqa: F401

    from evalkit.catalog import find_components, load_component  # noqa: F401

    write({"usual": time.process_time() - began})
    watch = Watch()
    sys.addaudithook(watch)
    for component in find_components().components:
        if component.distribution != distribution or component.id not in wanted:
            continue
        write({"begun": component.id})
        found = _loaded(component, watch, write)
        write({"done": component.id, **found})
        if found["changed"]:
            return


def _loaded(
    component: Any, watch: Watch, write: Callable[[Mapping[str, Any]], None]
) -> Mapping[str, Any]:
    from evalkit.catalog import import_component
    from evalkit.errors import PluginError, RequiredParameterError

    printed, error, unsafe, loaded = io.StringIO(), "", "", None
    written = _written()
    before, began = State(), time.process_time()
    watch.events, watch.is_on = [], True
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            loaded = import_component(component)
            write({"imported": component.id})
            loaded = _built(component, loaded)
    except RequiredParameterError:
        pass
    except PluginError as problem:
        error = str(problem)
    except BaseException as problem:  # this process has nobody who interrupts it
        unsafe = f"raises {type(problem).__name__}"
        error = f"{component.origin}: loading it {unsafe}: {problem}"
    finally:
        watch.is_on = False
    seconds, changed = time.process_time() - began, before.changed()
    spoilt = [name for name in changed if is_of_evalkit(name)]
    return {
        "error": error,
        "unsafe": unsafe or (f"changes {spoilt[0]}" if spoilt else ""),
        "events": watch.events,
        "seconds": seconds,
        "printed": printed.getvalue()[:_MOST_PRINTED] or _written_since(written),
        "changed": changed,
        "documented": _is_documented(loaded),
        "misspelt": _misspelt(component.kind, loaded),
    }


def _written() -> list[int]:
    """Return how much is in the files that are the standard output and error."""
    return [os.fstat(number).st_size for number in (1, 2)]


def _written_since(before: list[int]) -> str:
    """Return what was written there past Python, as a program that is started does."""
    for number, size, now in zip((1, 2), before, _written(), strict=True):
        if now > size and hasattr(os, "pread"):
            return os.pread(number, _MOST_PRINTED, size).decode("utf-8", "replace")
    return ""


def _built(component: Any, loaded: Any) -> Any:
    from evalkit.catalog import load_component

    load_component(component)
    return loaded


def _is_documented(loaded: Any) -> bool:
    text = getattr(loaded, "help", None) or _own_docstring(loaded)
    return bool(text and text.strip())


def _own_docstring(loaded: Any) -> str | None:
    is_instance = not isinstance(loaded, type) and not callable(loaded)
    owner = type(loaded) if is_instance else loaded
    text: str | None = getattr(owner, "__doc__", None)
    inherited = {base.__doc__ for base in getattr(owner, "__mro__", ())[1:]}
    return None if text in inherited else text


def _misspelt(kind: str, loaded: Any) -> list[tuple[str, str]]:
    """Return public attributes of a class that are nearly those of the contract."""
    from evalkit.catalog import kind_named

    contract = kind_named(kind)
    if contract.load is not None or not isinstance(loaded, type):
        return []
    known = {*_public(contract.attributes), *_public(contract.spec)}
    known |= {*_public(contract.base), "Parameters", "name"}
    own = [
        name
        for owner in loaded.__mro__
        if not owner.__module__.startswith(("evalkit.", "builtins", "typing"))
        for name, value in vars(owner).items()
        if not name.startswith("_") and not callable(value)
        if not hasattr(type(value), "__get__")
    ]
    return [
        (name, meant)
        for name in own
        if name not in known
        for meant in sorted(known)
        if is_near(name, meant)
    ]


def _public(owner: type) -> list[str]:
    names = [name for each in owner.__mro__ for name in vars(each)]
    names += [
        name for each in owner.__mro__ for name in vars(each).get("__annotations__", ())
    ]
    return [name for name in names if not name.startswith("_")]


def is_near(one: str, other: str) -> bool:
    """Tell whether one name becomes another by one letter more, less or other.

    Two letters that changed places count as one.
    """
    if one == other or min(len(one), len(other)) < 4:
        return one != other and one.casefold() == other.casefold()
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    if len(short) < len(long):
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    different = [at for at in range(len(one)) if one[at] != other[at]]
    if len(different) == 1:
        return True
    first, *rest = different
    is_swap = rest == [first + 1]
    return is_swap and one[first : first + 2] == other[first : first + 2][::-1]


def _main(distribution: str, file: str, *wanted: str) -> None:
    target = os.open(file, os.O_WRONLY | os.O_APPEND)
    dump, put, leave = json.dumps, os.write, os._exit  # before any plugin is there

    def write(found: Mapping[str, Any]) -> None:
        put(target, dump(found).encode() + b"\n")

    survey(distribution, wanted, write)
    leave(0)  # whatever threads are left


if __name__ == "__main__":
    _main(*sys.argv[1:])
