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

from evalkit.catalog import described, find_components
from evalkit.errors import EvalkitError
from evalkit_engines_dask.store import load


def run(request: bytes) -> bytes:
    """Call a function.

    Args:
        request: The function and its arguments, pickled.

    Returns:
        What it returned, and what it raised or None, pickled.
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


def describe() -> dict[str, str]:
    """Return what must be equal on the driver and on all workers, by name."""
    catalog = find_components()
    facts = {"Python": ".".join(map(str, sys.version_info[:2]))}
    facts["polars"] = version("polars")
    for component in (*catalog.components, *catalog.extensions):
        package = component.value.partition(":")[0].partition(".")[0].strip()
        if component.is_local or package in facts:
            continue
        spec = find_spec(package)
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


def check(store: str, name: str) -> tuple[dict[str, str], str]:
    """Return what this worker is, and the driver's token or why it cannot be read."""
    try:
        return describe(), str(load(store, name))
    except (EvalkitError, OSError) as error:
        return describe(), described(error)
