"""What runs on a worker: the check that it is like the driver, and the tasks."""

from __future__ import annotations

import hashlib
import pickle
import sys
import traceback
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalkit.catalog import described, find_components
from evalkit.errors import EvalkitError


def run(request: bytes) -> bytes:
    """Call a function, and return what it returned or raised.

    Args:
        request: A pickled function and its arguments.

    Returns:
        The pickled reply, for `value_of`.
    """
    try:
        function, arguments = pickle.loads(request)
        return pickle.dumps((function(*arguments), None))
    except Exception as error:
        trace = "".join(traceback.format_exception(error)).rstrip()
        error.add_note(f"In a worker process:\n{trace}")
        with suppress(Exception):  # an exception may hold anything
            reply = pickle.dumps((None, error))
            pickle.loads(reply)
            return reply
        return pickle.dumps((None, RuntimeError(described(error))))


def value_of(reply: bytes, name: str) -> Any:
    """Return what a task returned, or raise what it raised.

    Args:
        reply: What `run` returned.
        name: Name of the task.

    Raises:
        EvalkitError: The error of the task.
    """
    value, error = pickle.loads(reply)
    if error is None:
        return value
    if isinstance(error, EvalkitError):
        raise error
    raise EvalkitError(f"{name}: {described(error)}") from error


def describe() -> dict[str, str]:
    """Return what must be equal on the driver and on all workers, by name."""
    catalog = find_components()
    packages = {
        component.value.partition(":")[0].partition(".")[0].strip()
        for component in (*catalog.components, *catalog.extensions)
        if not component.is_local
    }
    facts = {
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "polars": version("polars"),
    }
    for package in sorted({"evalkit", *packages}):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            facts[package] = _digest(Path(spec.origin))
    return facts


def _digest(module: Path) -> str:
    """Return the digest of a module, or of all files of a package."""
    folder, digest = module.parent, hashlib.sha256()
    files = folder.rglob("*") if module.name == "__init__.py" else [module]
    for path in sorted(files):
        if path.is_file() and path.suffix != ".pyc":
            content = hashlib.sha256(path.read_bytes()).digest()
            digest.update(path.relative_to(folder).as_posix().encode() + content)
    return digest.hexdigest()


def check(token: str) -> tuple[dict[str, str], str]:
    """Describe this worker, and read the driver's token in the store.

    Args:
        token: Path or URI of the token.

    Returns:
        The description, and the token or why it cannot be read.
    """
    from evalkit.places import local

    try:
        return describe(), local(token).read_text()
    except (EvalkitError, OSError) as error:
        return describe(), described(error)


def differences(driver: dict[str, str], worker: dict[str, str]) -> list[str]:
    """Return what differs between the driver and a worker, a clause each."""
    clauses = []
    for name in sorted({*driver, *worker}, key=lambda name: (name[0] > "Z", name)):
        ours, theirs = driver.get(name), worker.get(name)
        if ours == theirs:
            continue
        if theirs is None:
            clauses.append(f"{name} is not installed")
        elif ours is None:
            clauses.append(f"{name} is installed there only")
        elif name in ("Python", "polars"):
            clauses.append(f"{name} is {theirs}, expected {ours}")
        else:
            clauses.append(f"the code of {name} differs")
    return clauses
