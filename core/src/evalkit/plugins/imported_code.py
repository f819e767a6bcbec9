"""Identifies the source code of a plugin, and the libraries that it imports."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from evalkit.base.names import normalise_distribution

_OWN = "evalkit"


def source_hash(module: str) -> str | None:
    """Hash the Python files of the outermost package that a module belongs to.

    Args:
        module: Full name of the module.

    Returns:
        SHA-256 over the names and contents of its files; None where there are none
        to be found, as for code typed into an interpreter.
    """
    files = source_files(module)
    return hash_files(files) if files else None


def source_files(module: str) -> dict[str, Path]:
    """Find the Python files of the outermost package that a module belongs to.

    Args:
        module: Full name of the module.

    Returns:
        The files by their names in the package, sorted; empty where there are none to
        be found.
    """
    parts = module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    origins = (getattr(sys.modules.get(name), "__file__", None) for name in names)
    origin = next(filter(None, origins), None)  # a namespace package has none
    if origin is None:
        return {}
    path = Path(origin)
    files = sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]
    return {file.relative_to(path.parent).as_posix(): file for file in files}


def hash_files(files: Mapping[str, Path]) -> str:
    """Return the SHA-256 over the names and contents of files."""
    digest = hashlib.sha256()
    for name, file in files.items():
        digest.update(name.encode() + b"\0")
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def imported_libraries(module: str) -> dict[str, str]:
    """Give the versions of the libraries that a package uses.

    They are the packages whose modules, classes or functions are global names of its
    modules. What is imported inside a function is not seen.

    Args:
        module: Full name of a module of the package, which was imported.

    Returns:
        By name of the distribution, its version; by name of the package, the version
        that it gives itself, or else `source` and the start of a hash of its files.
    """
    package = module.partition(".")[0]
    if package == _OWN:
        return {}
    used = {
        name.partition(".")[0]
        for path, found in list(sys.modules.items())
        if path.partition(".")[0] == package and isinstance(found, ModuleType)
        for name in _used_modules(found)
    }
    others = used - {package, _OWN, "__main__"} - sys.stdlib_module_names
    return dict(filter(None, map(_identify, sorted(others))))


def _used_modules(module: ModuleType) -> Iterator[str]:
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, type) or callable(value):
            # a plugin's object may answer anything
            name = getattr(value, "__module__", None)
            if isinstance(name, str):
                yield name


def _identify(package: str) -> tuple[str, str] | None:
    name = normalise_distribution(package)
    try:
        return name, importlib.metadata.version(package)
    except Exception:  # its distribution has another name, or broken metadata
        version = vars(sys.modules.get(package, object)).get("__version__")
    if isinstance(version, str):
        return package, version
    digest = source_hash(package)
    return None if digest is None else (package, f"source {digest[:16]}")
