"""Compiled files that Python takes for a module and cannot read."""

from __future__ import annotations

import importlib.util
import marshal
import shlex
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from evalkit_commands_authoring.doctor.environment import Environment
from evalkit_commands_authoring.doctor.findings import ERROR, Finding, enumerated

_HEADER = 16
_HASH_BASED = 1


def check_byte_code(environment: Environment) -> Iterator[Finding]:
    """Find byte code in the packages of evalkit and its plugins that is broken."""
    for each in environment.of_evalkit:
        modules = [*each.modules, *_own_packages(each.name)]
        tops = dict.fromkeys(module.partition(".")[0] for module in modules)
        broken = [file for top in tops for file in _files(top) if is_broken(file)]
        if broken:
            cached = [importlib.util.cache_from_source(str(file)) for file in broken]
            yield Finding(
                ERROR,
                "byte code",
                each.origin,
                f"cannot be read: {enumerated(cached)}",
                "importing these modules fails, though their source may be right",
                f"rm {' '.join(map(shlex.quote, cached))}",
            )


def _own_packages(name: str) -> list[str]:
    return {"evalkit-core": ["evalkit"], "evalkit-cli": ["evalkit_cli"]}.get(name, [])


def _files(module: str) -> list[Path]:
    """Return the source files of a package or module, which is not imported."""
    spec = PathFinder.find_spec(module)
    if spec is None or not spec.origin:
        return []
    origin = Path(spec.origin)
    if origin.name != "__init__.py":
        return [origin] if origin.suffix == ".py" else []
    return sorted(origin.parent.rglob("*.py"))


def is_broken(source: Path) -> bool:
    """Tell whether Python would take byte code for a source, and fail to read it.

    Args:
        source: The source.
    """
    try:
        cached = Path(importlib.util.cache_from_source(str(source)))
        content = cached.read_bytes()
        state = source.stat()
    except OSError:  # there is none, and the source is compiled
        return False
    # with another magic number Python compiles anew
    if content[:4] != importlib.util.MAGIC_NUMBER:
        return False
    if len(content) < _HEADER:
        return False  # compiled anew, too
    flags = int.from_bytes(content[4:8], "little")
    named = (int(state.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little")
    named += (state.st_size & 0xFFFFFFFF).to_bytes(4, "little")
    if not flags & _HASH_BASED and content[8:_HEADER] != named:
        return False
    try:
        marshal.loads(content[_HEADER:])
    except (EOFError, ValueError, TypeError):
        return True
    return False
