"""Identifies a plugin's source code, and the libraries that it imports or requires."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from evalkit.base.names import normalise_distribution
from evalkit.plugins.file_states import FileState, state_of
from evalkit.plugins.loaded_modules import loaded_modules
from evalkit.plugins.metadata import CORE, installed_header, required_distribution

RAN = "__evalkit_ran__"
"""Name in a module of a file that no package holds: the bytes that ran."""

_EXTRAS = re.compile(r"[^;\[]*\[([^\]]*)\]")
_LATE_IMPORT = re.compile(r"^[ \t]+(from|import)[ \t]+([\w.][^#\n]*)", re.MULTILINE)
"""A line that imports within a function, or one of a text that looks like it."""
_EXTRA_IN_MARKER = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def libraries_of(requires: Sequence[str]) -> dict[str, str]:
    """Return the installed distributions that requirements name, and what they require.

    What evalkit-core requires is left out, as a run records it for itself. An extra of
    the first distribution counts, whether it was asked for or not, where what it names
    is installed; an extra of a further one only where a requirement names the extra.

    Args:
        requires: The `Requires-Dist` of a distribution.

    Returns:
        Their versions by normalised name, sorted by name.
    """
    versions: dict[str, str] = {}
    seen = {CORE}
    waiting = [(text, _named_extras(text)) for text in requires]
    while waiting:
        text, extras = waiting.pop()
        name = required_distribution(text)
        key = f"{name}[{','.join(sorted(extras))}]" if extras else name
        if not name or name == CORE or key in seen:
            continue
        seen.add(key)
        found = _installed(name)
        if found is not None:
            versions[name], further = found
            waiting += [
                (each, _named_extras(each)) for each in _asked_for(further, extras)
            ]
    return dict(sorted(versions.items()))


def without_libraries(component: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run recorded of a component, but for what makes no other run."""
    left_out = ("libraries", "installation")
    return {key: value for key, value in component.items() if key not in left_out}


def _installed(name: str) -> tuple[str, Sequence[str]] | None:
    try:
        header = installed_header(name)
    except Exception:  # not installed, or with metadata that nobody can read
        return None
    return header.version, header.requires


def _named_extras(requirement: str) -> frozenset[str]:
    named = _EXTRAS.match(requirement)
    names = named[1].split(",") if named else []
    return frozenset(name.strip() for name in names if name.strip())


def _asked_for(requires: Iterable[str], extras: frozenset[str]) -> Iterator[str]:
    """Return the requirements that hold without an extra, or with one of some."""
    for text in requires:
        needed = _EXTRA_IN_MARKER.findall(text.partition(";")[2])
        if not needed or extras.intersection(needed):
            yield text


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
    ran = getattr(sys.modules.get(module), RAN, None)
    if isinstance(ran, bytes):
        (name,) = files
        return hashlib.sha256(name.encode() + b"\0" + ran + b"\0").hexdigest()
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
    is_package = path.name == "__init__.py"
    names = _python_files(path.parent) if is_package else [path.name]
    return {name: path.parent / name for name in names}


def _python_files(folder: Path) -> list[str]:
    """Return the names of the Python files in a folder, folder by folder."""
    found = []
    # as texts: to make and sort a Path for each takes longer than reading the files
    for root, _, names in os.walk(folder):
        within = Path(root).relative_to(folder).as_posix()
        prefix = "" if within == "." else f"{within}/"
        found += [f"{prefix}{name}" for name in names if name.endswith(".py")]
    return sorted(found, key=lambda name: name.split("/"))


def hash_files(files: Mapping[str, Path]) -> str:
    """Return the SHA-256 over the names and contents of files."""
    paths = {name: str(file) for name, file in files.items()}
    return _hash_files(
        tuple((name, path, state_of(path)) for name, path in paths.items())
    )


@lru_cache(maxsize=128)
def _hash_files(files: tuple[tuple[str, str, FileState], ...]) -> str:
    """Read files once while they stay as they are, not for each evaluation."""
    digest = hashlib.sha256()
    for name, path, _ in files:
        digest.update(name.encode() + b"\0")
        digest.update(Path(path).read_bytes() + b"\0")
    return digest.hexdigest()


def imported_libraries(module: str) -> dict[str, str]:
    """Return the versions of the libraries that a package uses.

    They are the packages whose modules, classes or functions are global names of its
    modules, and the installed ones that its functions import.

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
        for _, found in loaded_modules(package)
        for name in _used_modules(found)
    }
    ours = {package, _OWN, "__main__"} | sys.stdlib_module_names
    late = map(_installed_package, sorted(_late_imports(module) - used - ours))
    others = map(_identify, sorted(used - ours))
    return dict(filter(None, (*late, *others)))


def _late_imports(module: str) -> set[str]:
    """Name the packages that the functions of a package import."""
    paths = map(str, source_files(module).values())
    return {name for path in paths for name in _imported_late(path, state_of(path))}


@lru_cache(maxsize=4096)
def _imported_late(path: str, _: FileState) -> frozenset[str]:
    found: set[str] = set()
    for how, what in _LATE_IMPORT.findall(Path(path).read_text("utf-8", "replace")):
        named = what.split(",") if how == "import" else [what]
        found |= {each.split()[0].partition(".")[0] for each in named if each.strip()}
    return frozenset(found)


def _installed_package(package: str) -> tuple[str, str] | None:
    """Identify a package that need not be imported, by its distribution."""
    found = _installed(package)
    if found is None and find_spec(package):  # its distribution has another name
        package = next(iter(_distributions().get(package, ())), package)
        found = _installed(package)
    return None if found is None else (normalise_distribution(package), found[0])


@cache
def _distributions() -> Mapping[str, Sequence[str]]:
    return importlib.metadata.packages_distributions()


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
        return name, installed_header(package).version
    except Exception:  # its distribution has another name, or broken metadata
        version = vars(sys.modules.get(package, object)).get("__version__")
    if isinstance(version, str):
        return package, version
    digest = source_hash(package)
    return None if digest is None else (package, f"source {digest[:16]}")
