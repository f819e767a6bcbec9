"""What runs on a worker: tasks, after the check that it is like the driver."""

from __future__ import annotations

import pickle
import sys
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from evalkit.catalog import described, find_components
from evalkit.errors import EvalkitError
from evalkit.plugins.provenance import hash_folder
from evalkit.plugins.sources import sha256_of
from evalkit_engines_dask.store import load

_ONE_TASK = Lock()  # plugins may not be safe in threads


def run(request: bytes, store: str, facts: str) -> bytes:
    """Call a pickled function, and pickle its value."""
    with _ONE_TASK:
        if refusal := check(store, facts):
            from distributed import get_worker

            worker = get_worker()
            raise EvalkitError(f"worker {worker.name} at {worker.address}: {refusal}")
        function, arguments = pickle.loads(request)
        return pickle.dumps(function(*arguments))


@lru_cache(maxsize=8)
def check(store: str, facts: str) -> str:
    """Return what differs from the driver, whose facts are in a file of the store.

    The file has a name that nobody can guess: who reads it has the driver's store.
    """
    try:
        expected = load(store, facts)
    except (EvalkitError, OSError) as error:
        return f"it cannot read the store: {described(error)}"
    found = describe()
    return "; ".join(
        f"{name}: {found.get(name, 'none')}, expected {expected.get(name, 'none')}"
        for name in {**expected, **found}
        if found.get(name) != expected.get(name)
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
            path = Path(spec.origin)
            is_folder = path.name == "__init__.py"
            digest = hash_folder(path.parent) if is_folder else sha256_of(path)
            facts[package] = f"code {digest[:16]}"
    return facts
