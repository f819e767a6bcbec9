"""What runs on a worker: tasks, after the check that it is like the driver."""

from __future__ import annotations

import hashlib
import pickle
import sys
import traceback
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from evalkit.catalog import described, find_components
from evalkit.errors import EvalkitError
from evalkit_engines_dask.store import load

_ONE_TASK = Lock()
"""Held by the task that runs; plugins may not be safe in threads."""


def run(request: bytes, store: str, name: str, token: str) -> bytes:
    """Call a pickled function; return what it returned and what it raised, pickled."""
    try:
        with _ONE_TASK:
            if refusal := check(store, name, token):
                from distributed import get_worker

                worker = get_worker()
                text = f"worker {worker.name} at {worker.address}: {refusal}"
                return pickle.dumps((None, EvalkitError(text)))
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


@lru_cache(maxsize=8)
def check(store: str, name: str, token: str) -> str:
    """Return what differs from the driver, whose facts and token are in the store."""
    try:
        found, expected = load(store, name)
    except (EvalkitError, OSError) as error:
        return f"it cannot read the store: {described(error)}"
    if found != token:
        return "its store is not that of the driver"
    facts = describe()
    return "; ".join(
        f"{each}: {facts.get(each, 'none')}, expected {expected.get(each, 'none')}"
        for each in {**expected, **facts}
        if facts.get(each) != expected.get(each)
    )


def describe() -> dict[str, str]:
    """Return what must be equal on the driver and on all workers, by name."""
    catalog = find_components()
    facts = {"Python": ".".join(map(str, sys.version_info[:2]))}
    facts["polars"] = version("polars")
    for component in (*catalog.components, *catalog.extensions):
        package = component.value.partition(":")[0].partition(".")[0].strip()
        spec = None if component.is_local or package in facts else find_spec(package)
        if spec is not None and spec.origin is not None:
            facts[package] = f"code {_digest(Path(spec.origin))[:16]}"
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
