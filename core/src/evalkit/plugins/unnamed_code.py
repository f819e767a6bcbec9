"""Refuses files that name code which the command does not name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalkit.base.names import is_python_file
from evalkit.errors import PluginLoadError
from evalkit.plugins.discovery import find_components
from evalkit.plugins.local_plugins import given_files, is_declared, local_plugins
from evalkit.plugins.provenance import texts_in

_KEYS = {"kind": "adapters", "annotator": "annotators", "model": "models"}
"""Keys of declarations that name a plugin, and its kind."""


def code_behind(text: str, kinds: tuple[str, ...]) -> Path | None:
    """Return the file of Python that a text in a file names and no `--plugin` does.

    Args:
        text: `FILE.py:OBJECT`, or the name of a plugin that a project declares.
        kinds: Kinds of plugins that the text may name.

    Returns:
        The file; None for other texts and for code that may run.
    """
    place = text
    if not is_python_file(text):
        name = text.partition(":")[0]
        local = [each for each in local_plugins(kinds)[0] if each.name == name]
        declared = [each for each in local if is_declared(each)]
        known = find_components().components if declared else ()
        # one that is called like an installed plugin is never used
        place = next((each.value for each in declared if each in known), "")
    file, colon, _ = place.partition(".py:")
    path = Path(f"{file}.py")
    is_code = bool(colon) and path.is_file()
    return path if is_code and path.resolve() not in given_files() else None


def refuse_unnamed_code(path: Path, declaration: Any) -> None:
    """Refuse a declaration that would run code which the command does not name.

    Args:
        path: The file of the declaration.
        declaration: What it holds.

    Raises:
        PluginLoadError: It names such code.
    """
    for place, text in texts_in("", declaration):
        key = place.rpartition(".")[2]
        kinds = (_KEYS[key],) if key in _KEYS else ()
        code = code_behind(text, kinds) if kinds or is_python_file(text) else None
        if code is not None:
            raise PluginLoadError(
                f"{path}: {place.removeprefix('.')}: names the code {text!r}. Allow it "
                f"with --plugin {code}"
            )
