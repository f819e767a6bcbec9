"""Identifies a run by what went into it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evalkit.base.violations import shorten
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import NO_VERSION
from evalkit.plugins.functions import FunctionMetric
from evalkit.plugins.libraries import (
    hash_files,
    imported_libraries,
    libraries_of,
    source_files,
    source_hash,
    version_of,
)
from evalkit.plugins.metadata import required_distribution
from evalkit.plugins.sources import sha256_of

_NO_SCORES = (
    *("__init__.py", "catalog.py", "reporting.py", "testing.py", "comparing"),
    *("runs/citations.py", "runs/listing.py", "runs/views.py"),
    *("workflows/changed_code.py", "workflows/needs.py"),
    *("workflows/planning.py", "workflows/validation.py", "workflows/verification.py"),
)
"""Rooms and modules of core that compute nothing that a run holds."""


def run_id_of(inputs: Mapping[str, Any]) -> str:
    """Hash the inputs of a run.

    Args:
        inputs: JSON values.

    Returns:
        The first 16 hex digits of SHA-256 over their canonical JSON.
    """
    text = json.dumps(inputs, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def describe_component(bound: Bound) -> dict[str, Any]:
    """Describe a component for `run.json`.

    Args:
        bound: The component.

    Returns:
        Its id, distribution, version, parameters, a hash of its package's source, and
        the versions of the libraries that its distribution requires or its modules
        import.
    """
    component = bound.component
    return {
        "id": component.id,
        "distribution": component.distribution,
        "version": component.version,
        "parameters": dict(bound.changed_parameters),
        "source_sha256": source_hash(_module_of(bound)),
        "libraries": _libraries_of(bound),
    }


def _libraries_of(bound: Bound) -> dict[str, str]:
    component = bound.component
    if component.version == NO_VERSION:  # a user's script, and all that it plots with
        return {}
    imported = imported_libraries(_module_of(bound))
    return dict(sorted((imported | libraries_of(component.requires)).items()))


def describe_core() -> dict[str, Any]:
    """Describe what computes the numbers of all metrics.

    Returns:
        The version, and a hash of the source of each room. What only asks for scores,
        compares or shows them is left out, so that a change there gives no run another
        id.
    """
    rooms: dict[str, dict[str, Path]] = {}
    for name, file in source_files("evalkit").items():
        room = name.partition("/")[0]
        if room not in _NO_SCORES and name not in _NO_SCORES:
            rooms.setdefault(room.removesuffix(".py"), {})[name] = file
    return {
        "version": version_of("evalkit-core"),
        "source_sha256": {room: hash_files(rooms[room]) for room in sorted(rooms)},
    }


def _module_of(bound: Bound) -> str:
    plugin = bound.plugin
    written = plugin.function if isinstance(plugin, FunctionMetric) else type(plugin)
    return str(written.__module__)


def resources_of(bound: Bound) -> dict[str, str | None]:
    """Identify what a component depends on beside its own code.

    Args:
        bound: The component.

    Returns:
        The version of each distribution that its own requires, a hash of the data
        files in its package, and one of each file that a parameter names.
    """
    found: dict[str, str | None] = {}
    for text in bound.component.requires:
        name = required_distribution(text)
        try:
            found[name] = version_of(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None  # an extra that is not installed
    package = _module_of(bound).partition(".")[0]
    origin = getattr(sys.modules.get(package), "__file__", None)
    if origin is not None and Path(origin).name == "__init__.py":
        folder = Path(origin).parent
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix not in (".py", ".pyc"):
                found[file.relative_to(folder).as_posix()] = sha256_of(file)
    for name, value in bound.changed_parameters.items():
        if isinstance(value, str) and Path(value).is_file():
            found[f"parameter {name}"] = sha256_of(Path(value))
    return found


def rows_hash(rows: Iterable[Mapping[str, Any]]) -> str:
    """Hash rows that did not come from a file.

    Args:
        rows: JSON values.

    Returns:
        SHA-256 over their canonical JSON, a line each.
    """
    digest = hashlib.sha256()
    for row in rows:
        try:
            text = json.dumps(row, sort_keys=True, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):
            text = shorten(row, 1000)  # an unreadable row
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


_RECORDED = ("evalkit-core", "numpy", "polars", "pyarrow", "pydantic", "pluggy")
"""Distributions whose versions a run records."""


def environment() -> dict[str, str]:
    """Return the versions of what computes the numbers."""
    return {
        "python": platform.python_version(),
        **{name: version_of(name) for name in _RECORDED},
    }
