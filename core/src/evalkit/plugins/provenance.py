"""Identifies a run by what went into it.

A plugin is its distribution, its version and the SHA-256 of the files of its package.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from evalkit.base.failures import hook_failures
from evalkit.base.json_text import dumps
from evalkit.base.violations import shorten
from evalkit.errors import PluginError
from evalkit.plugins.bound import Bound, BoundMetric
from evalkit.plugins.classes import FunctionMetric
from evalkit.plugins.components import AS_PYTHON, AS_READ, GIVEN
from evalkit.plugins.discovery import installed_version
from evalkit.plugins.local_plugins import RAN
from evalkit.plugins.sources import sha256_of

_ADDRESS = re.compile(" at 0x[0-9a-f]+")


def run_id_of(inputs: Mapping[str, Any]) -> str:
    """Return the first 16 hex digits of the SHA-256 of the canonical JSON of inputs."""
    text = dumps(inputs, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def describe_component(bound: Bound) -> dict[str, Any]:
    """Describe a component for `run.json`.

    Args:
        bound: The component.

    Returns:
        Its id, distribution, version, parameters and the hash of its package; further
        resources that it depends on; and whether it is deterministic.

    Raises:
        PluginError: A metric cannot say what it depends on.
    """
    component, plugin = bound.component, bound.plugin
    written = plugin.function if isinstance(plugin, FunctionMetric) else type(plugin)
    return {
        "id": f"{component.kind}/{component.name}",
        "distribution": component.distribution,
        "version": component.version,
        "parameters": dict(bound.changed_parameters),
        "source_sha256": source_hash(str(written.__module__)),
        "resources": metric_resources(bound)
        if isinstance(bound, BoundMetric)
        else parameter_files(bound) | made_values(bound) | dict(bound.files),
        "deterministic": not isinstance(bound, BoundMetric) or bound.deterministic,
        **({"read_from": component.value} if component.distribution == AS_READ else {}),
    }


def describe_core() -> dict[str, Any]:
    """Return the version of evalkit-core and the hash of its files."""
    return {
        "version": installed_version("evalkit-core"),
        "source_sha256": source_hash("evalkit"),
    }


def source_hash(module: str) -> str | None:
    """Hash the files of the outermost package of a module, without byte code.

    None if there are none, as for code typed into an interpreter.
    """
    parts = module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    origins = (getattr(sys.modules.get(name), "__file__", None) for name in names)
    origin = next(filter(None, origins), None)  # a namespace package has none
    if origin is None or not Path(origin).is_file():  # as for `<stdin>`
        return None
    path = Path(origin)
    ran = getattr(sys.modules.get(module), RAN, None)
    if isinstance(ran, bytes):
        return hashlib.sha256(path.name.encode() + b"\0" + ran + b"\0").hexdigest()
    if path.name == "__init__.py":
        return hash_folder(path.parent)
    return _hash_files((_listed(path.name, path),))


def hash_folder(folder: Path) -> str:
    """Return the SHA-256 over names and contents of files, without byte code."""
    found = []
    # as texts: to make and sort a Path for each takes longer than reading the files
    for root, _, names in os.walk(folder):
        within = os.path.relpath(root, folder)
        prefix = "" if within == "." else f"{within}/".replace(os.sep, "/")
        found += [f"{prefix}{name}" for name in names if not name.endswith(".pyc")]
    found.sort(key=lambda name: name.split("/"))
    return _hash_files(tuple(_listed(name, folder / name) for name in found))


def _listed(name: str, path: Path) -> tuple[str, str, int, int, int]:
    """Return a file with what differs after it was changed: two times and its size."""
    state = path.stat()
    return name, str(path), state.st_mtime_ns, state.st_ctime_ns, state.st_size


@lru_cache(maxsize=128)
def _hash_files(files: tuple[tuple[str, str, int, int, int], ...]) -> str:
    """Read files once while they stay as they are, not for each evaluation."""
    digest = hashlib.sha256()
    for name, path, *_ in files:
        digest.update(name.encode() + b"\0" + Path(path).read_bytes() + b"\0")
    return digest.hexdigest()


def metric_resources(metric: BoundMetric) -> dict[str, str]:
    """Identify the files, models and services that a metric depends on.

    They are looked at once for a loaded metric.
    """
    known: dict[str, str] | None = metric.computed.get("resources")
    if known is not None:
        return known
    where = f"{metric.component.origin}: resources"
    named = metric.name_resources()
    if not isinstance(named, Mapping):
        raise PluginError(f"{where} must return a dict, returned {shorten(named)}")
    resources = parameter_files(metric) | made_values(metric)
    for name, value in named.items():
        try:
            resources[str(name)] = _identify(value)
        except OSError as error:
            why = error.strerror or str(error)
            raise PluginError(
                f"{where}: {name!r} cannot be read: {value}: {why}"
            ) from error
        except TypeError as error:
            raise PluginError(f"{where}: {name!r} is {error}") from error
    known = metric.computed["resources"] = dict(sorted(resources.items()))
    return known


def _identify(value: Any) -> str:
    """Hash a file, folder or module; a text stands for itself."""
    if isinstance(value, Path) and value.is_dir():
        return hash_folder(value)
    if isinstance(value, Path):
        if value.exists() and not value.is_file():
            raise TypeError(f"{value}, which is neither a file nor a folder")
        return sha256_of(value)
    if isinstance(value, ModuleType):
        digest = source_hash(value.__name__)
        if digest is None:
            raise TypeError(f"{value.__name__!r}, a module without files")
        return digest
    if isinstance(value, str):
        return value
    kinds = "pathlib.Path, a module or a text"
    raise TypeError(f"{shorten(value)}, which is no {kinds}")


def parameter_files(bound: Bound) -> dict[str, str]:
    """Hash the files that a component's parameters name."""
    return {
        place: sha256_of(Path(text))
        for name, value in bound.changed_parameters.items()
        for place, text in texts_in(f"parameter {name}", value)
        if names_file(text)
    }


def made_values(bound: Bound) -> dict[str, str]:
    """Hash the values that tell objects apart which one piece of code makes."""
    component, plugin = bound.component, bound.plugin
    if component.distribution not in (GIVEN, AS_PYTHON) or component.kind == "datasets":
        return {}  # data is known by its rows
    made: list[Any] = []
    code: Any = type(plugin)
    if isinstance(plugin, FunctionMetric):
        code = plugin.function
    elif own := {k: v for k, v in vars(plugin).items() if k != "parameters"}:
        made.append(own)
    if "<locals>" in getattr(code, "__qualname__", "<locals>"):
        made.append(code)
    values = _values_of(made, str(code.__module__), frozenset())
    return {"values": run_id_of({"values": values})} if made else {}


def _values_of(value: Any, module: str, holders: frozenset[int]) -> Any:
    """Return the plain values that an object, a class or a function holds."""
    if value is None or isinstance(value, str | bytes | int | float | Path):
        return repr(value)
    if id(value) in holders:  # it holds itself
        return None
    holders |= {id(value)}
    parts: Mapping[Any, Any] = {}
    if isinstance(value, Mapping):
        parts = value
    elif isinstance(value, list | tuple):
        parts = dict(enumerate(value))
    elif isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    elif isinstance(value, partial):
        parts = {"of": value.func, "with": [value.args, value.keywords]}
    elif isinstance(value, type) and value.__module__ == module:
        annotations = _ADDRESS.sub("", repr(vars(value).get("__annotations__")))
        own = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        parts = {**own, "(annotations)": annotations}
    elif code := getattr(value, "__code__", None):
        cells = [each.cell_contents for each in value.__closure__ or ()]
        parts = dict(zip(code.co_freevars, cells, strict=True))
        parts["(defaults)"] = [value.__defaults__, value.__kwdefaults__]
    named = getattr(value, "__qualname__", type(value).__qualname__)
    held = {str(key): _values_of(each, module, holders) for key, each in parts.items()}
    return [named, held] if held else named


def texts_in(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in a JSON value, each with its place."""
    if isinstance(value, str):
        yield place, value
    items = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else items:
        yield from texts_in(f"{place}.{key}", each)


def names_file(text: str) -> bool:
    """Tell whether a text is the path of an existing file."""
    try:
        return Path(text).is_file()
    except OSError:  # longer than names of files are, such as a prompt
        return False


def rows_hash(rows: Iterable[Mapping[str, Any]]) -> str:
    """Hash rows that did not come from a file, as canonical JSON lines."""
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
        **{name: installed_version(name) for name in _RECORDED},
    }
