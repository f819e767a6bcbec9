"""Identifies a run by what went into it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from evalkit.base.failures import hook_failures
from evalkit.base.json_text import dumps
from evalkit.base.violations import shorten
from evalkit.errors import PluginError
from evalkit.plugins.bound import Bound, BoundMetric
from evalkit.plugins.components import NO_VERSION
from evalkit.plugins.functions import FunctionMetric
from evalkit.plugins.metadata import installed_header, required_distribution
from evalkit.plugins.source_files import hash_files, source_files, source_hash
from evalkit.plugins.sources import sha256_of

NO_SCORES = (
    *("__init__.py", "catalog.py", "reporting.py"),
    "plugins/displays.py",
    *("runs/finding.py", "runs/listing.py", "runs/moments.py"),
    *("runs/summaries.py", "runs/tag_scores.py", "runs/views.py"),
    "workflows/validation.py",
)
"""Rooms and modules of core that compute nothing that a run holds."""


def run_id_of(inputs: Mapping[str, Any]) -> str:
    """Hash the inputs of a run.

    Args:
        inputs: JSON values.

    Returns:
        The first 16 hex digits of SHA-256 over their canonical JSON.
    """
    text = dumps(inputs, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def describe_component(bound: Bound) -> dict[str, Any]:
    """Describe a component for `run.json`.

    Args:
        bound: The component.

    Returns:
        Its id, distribution, version, parameters, a hash of its package's source, what
        else it depends on, and whether it is deterministic.

    Raises:
        PluginError: A metric cannot say what it depends on.
    """
    component = bound.component
    further: dict[str, Any] = {"resources": bound.resources, "deterministic": True}
    if isinstance(bound, BoundMetric):
        further["resources"] = metric_resources(bound)
        further["deterministic"] = bound.deterministic
    return {
        "id": component.id,
        "distribution": component.distribution,
        "version": component.version,
        "parameters": dict(bound.changed_parameters),
        "source_sha256": source_hash(_module_of(bound)),
        **further,
    }


def metric_resources(metric: BoundMetric) -> dict[str, str]:
    """Identify the files, models and services that a metric depends on.

    They are looked at once for a loaded metric.

    Args:
        metric: The metric.

    Returns:
        By name, a SHA-256 of each file or folder that it names, of the data files in
        its package and of files that parameters name; or the text that it gives.

    Raises:
        PluginError: What it names is no resource, or cannot be read.
    """
    known: dict[str, str] | None = metric.computed.get("resources")
    if known is not None:
        return known
    found = data_files(metric)
    where = f"{metric.component.origin}: resources"
    named = metric.name_resources()
    if not isinstance(named, Mapping):
        raise PluginError(f"{where} must return a dict, returned {shorten(named)}")
    for name, value in named.items():
        if str(name) in found:
            raise PluginError(
                f"{where}: {str(name)!r} is the name of another one, such as a file of "
                "the package, which is known anyway"
            )
        try:
            found[str(name)] = _identified(value)
        except OSError as error:
            why = error.strerror or str(error)
            raise PluginError(
                f"{where}: {name!r} cannot be read: {value}: {why}"
            ) from error
        except TypeError as error:
            raise PluginError(f"{where}: {name!r} is {error}") from error
    known = metric.computed["resources"] = dict(sorted(found.items()))
    return known


def _identified(value: Any) -> str:
    """Identify a resource.

    Raises:
        OSError: It cannot be read.
        TypeError: It is none.
    """
    if isinstance(value, Path) and value.is_dir():
        files = sorted(file for file in value.rglob("*") if file.is_file())
        return hash_files({file.relative_to(value).as_posix(): file for file in files})
    if isinstance(value, Path):
        if value.exists() and not value.is_file():
            raise TypeError(f"{value}, which is neither a file nor a folder")
        return sha256_of(value)
    if isinstance(value, ModuleType):
        found = source_hash(value.__name__)
        if found is None:
            raise TypeError(f"{value.__name__!r}, a module without files")
        return found
    if isinstance(value, str):
        return value
    kinds = "pathlib.Path, a module or a text"
    raise TypeError(f"{shorten(value)}, which is no {kinds}")


def describe_core() -> dict[str, Any]:
    """Describe what computes the numbers of all metrics.

    Returns:
        The version, and a hash of the source of each room. What only asks for scores,
        compares or shows them is left out, so that a change there gives no run another
        id.
    """
    rooms: dict[str, dict[str, Path]] = {}
    left_out = tuple(f"{each}/" for each in NO_SCORES)
    for name, file in source_files("evalkit").items():
        if not f"{name}/".startswith(left_out):
            room = name.partition("/")[0].removesuffix(".py")
            rooms.setdefault(room, {})[name] = file
    return {
        "version": installed_header("evalkit-core").version,
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
            found[name] = installed_header(name).version
        except importlib.metadata.PackageNotFoundError:
            found[name] = None  # an extra that is not installed
    return {**found, **data_files(bound)}


def data_files(bound: Bound) -> dict[str, str]:
    """Hash the data files in a component's package, and those that parameters name."""
    found: dict[str, str] = {}
    package = _module_of(bound).partition(".")[0]
    origin = getattr(sys.modules.get(package), "__file__", None)
    is_installed = bound.component.version != NO_VERSION
    if is_installed and origin is not None and Path(origin).name == "__init__.py":
        folder = Path(origin).parent
        for file in sorted(folder.rglob("*")):
            is_code = file.suffix in (".py", ".pyc") or file.name == "py.typed"
            if file.is_file() and not is_code:
                found[file.relative_to(folder).as_posix()] = sha256_of(file)
    return found | parameter_files(bound)


def parameter_files(bound: Bound) -> dict[str, str]:
    """Hash the files that a component's parameters name.

    Args:
        bound: The component.

    Returns:
        SHA-256 by where the parameter names the file.
    """
    found: dict[str, str] = {}
    for name, value in bound.changed_parameters.items():
        for place, text in texts_in(f"parameter {name}", value):
            if names_file(text):
                found[place] = sha256_of(Path(text))
    return found


def texts_in(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in a JSON value, each with its place.

    Args:
        place: Where the value is.
        value: The value.
    """
    if isinstance(value, str):
        yield place, value
    items = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else items:
        yield from texts_in(f"{place}.{key}", each)


def names_file(text: str) -> bool:
    """Tell whether a text is the path of a file that is there."""
    try:
        return Path(text).is_file()
    except OSError:  # longer than names of files are, such as a prompt
        return False


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
            text = dumps(row, sort_keys=True, ensure_ascii=False, default=_as_text)
        except hook_failures():
            text = shorten(row, 1000)  # an unreadable row
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except hook_failures():
        return shorten(value)


_RECORDED = ("evalkit-core", "numpy", "polars", "pyarrow", "pydantic", "pluggy")
"""Distributions whose versions a run records."""


def environment() -> dict[str, str]:
    """Return the versions of what computes the numbers."""
    return {
        "python": platform.python_version(),
        **{name: installed_header(name).version for name in _RECORDED},
    }
