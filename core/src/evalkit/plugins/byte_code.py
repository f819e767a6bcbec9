"""Finds modules that ran from byte code which is not that of their source.

Python takes the byte code in `__pycache__` where the time and size of the source are
the ones that it names. Both may be right where the code is another one: the source was
changed within the same second, its time was set back, or somebody edited the byte
code.
"""

from __future__ import annotations

import marshal
import warnings
from functools import lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType, ModuleType

from evalkit.plugins.file_states import FileState, state_of
from evalkit.plugins.loaded_modules import loaded_modules

_HEADER = 16
_HASH_BASED = 1


def modules_of_other_code(module: str) -> list[str]:
    """Name the imported modules of a package whose byte code is not of their source.

    Args:
        module: Full name of a module of the package, which was imported.

    Returns:
        Their names, sorted. Without byte code a module ran from its source.
    """
    loaded = loaded_modules(module.partition(".")[0])
    return sorted(name for name, each in loaded if _is_of_other_code(each))


def _is_of_other_code(module: ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)  # a plugin may put anything there
    if not isinstance(spec, ModuleSpec) or not spec.cached:
        return False
    if type(spec.loader) is not SourceFileLoader:
        return False
    source, cached = str(spec.origin), spec.cached
    try:
        return _is_other(source, cached, state_of(source), state_of(cached))
    except OSError:  # no byte code, or a source that was removed since
        return False


@lru_cache(maxsize=4096)
def _is_other(source: str, cached: str, state: FileState, _cached: FileState) -> bool:
    """Compare once while the files stay as they are: plugins share packages."""
    content, text = Path(cached).read_bytes(), Path(source).read_bytes()
    time, _, size = state
    if not _is_taken(content, time // 1_000_000_000, size):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = compile(text, source, "exec", dont_inherit=True)
        return not _are_same(own, marshal.loads(content[_HEADER:]))
    except (SyntaxError, ValueError, EOFError, TypeError):
        return True


def _is_taken(content: bytes, time: int, size: int) -> bool:
    """Tell whether Python takes byte code for a source of that time and size."""
    magic, flags = content[:4], int.from_bytes(content[4:8], "little")
    if magic != MAGIC_NUMBER:
        return False
    named = (time & 0xFFFFFFFF).to_bytes(4, "little")
    named += (size & 0xFFFFFFFF).to_bytes(4, "little")
    return bool(flags & _HASH_BASED) or content[8:_HEADER] == named


def _are_same(one: object, other: object) -> bool:
    """Tell whether code is the same, wherever its file lies."""
    if not isinstance(one, CodeType) or not isinstance(other, CodeType):
        return one == other
    # comparing code leaves the table of its `try` statements out
    return (
        one == other
        and one.co_exceptiontable == other.co_exceptiontable
        and all(map(_are_same, one.co_consts, other.co_consts))
    )
