"""Loads the components of a distribution, and writes down what that did.

Run in a process of its own:
`python -m evalkit_testing.import_survey DISTRIBUTION FILE`.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NETWORK = (
    *("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"),
    *("socket.sendto", "socket.bind"),
)
_PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
_FILES = (
    *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link"),
    *("os.truncate", "shutil.rmtree", "shutil.move"),
)
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


def state() -> dict[str, str]:
    """Return what all code of a process shares, as texts that can be compared."""
    root = logging.getLogger()
    return {
        "the current folder": str(Path.cwd()),
        "the environment": repr(sorted(os.environ.items())),
        "the generator of `random`": repr(hash(random.getstate())),
        "sys.path": repr(sys.path),
        "the handler of SIGINT": repr(signal.getsignal(signal.SIGINT)),
        "sys.excepthook": repr(sys.excepthook),
        "the handlers of the root logger": repr((root.handlers, root.level)),
        "the threads": repr(threading.active_count()),
    }


def survey(distribution: str) -> dict[str, Any]:
    """Load each component of a distribution.

    Args:
        distribution: Its name.

    Returns:
        `usual`, what importing evalkit itself takes in seconds of this process, and
        `components`, what loading each of the others did, by id.
    """
    began = time.process_time()
    import polars  # noqa: F401
    import pydantic  # noqa: F401

    from evalkit.catalog import find_components, load_component  # noqa: F401

    usual = time.process_time() - began
    watch = Watch()
    sys.addaudithook(watch)
    found = {}
    catalog = find_components()
    for component in catalog.components:
        if component.distribution == distribution:
            found[component.id] = _loaded(component, watch)
    return {"usual": usual, "components": found}


def _loaded(component: Any, watch: Watch) -> Mapping[str, Any]:
    from evalkit.catalog import import_component
    from evalkit.errors import PluginError, RequiredParameterError

    printed, error, loaded = io.StringIO(), "", None
    before, began = state(), time.process_time()
    watch.events, watch.is_on = [], True
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            loaded = import_component(component)
            loaded = _built(component, loaded)
    except RequiredParameterError:
        pass
    except PluginError as problem:
        error = str(problem)
    finally:
        watch.is_on = False
    seconds, after = time.process_time() - began, state()
    return {
        "error": error,
        "events": watch.events,
        "seconds": seconds,
        "printed": printed.getvalue(),
        "changed": [name for name in before if before[name] != after[name]],
        "documented": _is_documented(loaded),
        "misspelt": _misspelt(component.kind, loaded),
    }


def _built(component: Any, loaded: Any) -> Any:
    from evalkit.catalog import (
        COMMANDS,
        CONTRACTS,
        SCHEMAS,
        import_schema,
        load_component,
    )
    from evalkit.errors import PluginContractError

    if component.kind in CONTRACTS:
        load_component(component)
    elif component.kind == SCHEMAS:
        import_schema(component)
    elif component.kind == COMMANDS and not hasattr(loaded, "params"):
        raise PluginContractError(f"{component.origin} is no click command")
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
    from evalkit.catalog import CONTRACTS

    contract = CONTRACTS.get(kind)
    if contract is None or not isinstance(loaded, type):
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

    Args:
        one: A name.
        other: Another one.
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


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(survey(sys.argv[1])), encoding="utf-8")
