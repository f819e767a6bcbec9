"""A file with a plugin that someone wrote already."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalkit import DataError, PluginError
from evalkit_commands_authoring.defined_plugins import (
    Defined,
    DefinedPlugin,
    defined_in,
    plugins_in,
)
from evalkit_commands_authoring.names import Names
from evalkit_commands_authoring.templates import article, singular


@dataclass(frozen=True)
class Source:
    """A file that becomes the module of a package.

    Attributes:
        text: What it holds.
        target: The class or function that is the plugin.
        is_class: Whether it is a class.
        summary: What its docstring says first; "" without one.
        requires: What it imports beside evalkit, as requirements.
        is_typed: Whether all its functions say the types of what they take and give.
        unknown: Modules that it imports and that no installed distribution has.
        further: The other plugins in it.
    """

    text: str
    target: str
    is_class: bool
    summary: str
    requires: tuple[str, ...]
    is_typed: bool
    unknown: tuple[str, ...]
    further: tuple[DefinedPlugin, ...] = ()


def read_source(reference: str, kind: str) -> Source:
    """Read a file, and find the plugin in it.

    Nothing of it is run.
    """
    file, colon, name = reference.rpartition(":")
    path = Path(file if colon and file.endswith(".py") else reference)
    name = name if path != Path(reference) else ""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = f"{path}:{line}" if line else f"{path}"
        raise DataError(f"{place}: is no Python: {error}") from None
    modules = [*dict.fromkeys(_imported(tree, path))]
    requires, unknown = _requirements(modules)
    plugins = [*plugins_in(tree)]
    found = _target(tree, name, path, kind, plugins)
    said = (ast.get_docstring(found) or "").partition("\n")[0].strip().rstrip(".")
    is_class = isinstance(found, ast.ClassDef)
    further = tuple(each for each in plugins if each.target != found.name)
    typed = _is_typed(tree)
    return Source(text, found.name, is_class, said, requires, typed, unknown, further)


def _target(
    tree: ast.Module, name: str, path: Path, kind: str, plugins: list[DefinedPlugin]
) -> Defined:
    found = defined_in(tree)
    others = {each.target: each.kind for each in plugins if each.kind != kind}
    of_kind = [each.target for each in plugins if each.kind == kind]
    public = of_kind or [each for each in found if not each.startswith("_")]
    if name:
        if name not in found:
            raise PluginError(
                f"{path}: has no class or function {name!r} at its top; it has "
                f"{', '.join(found) or 'none'}"
            )
        public = [name]
    if len(public) == 1 and public[0] in others:
        other, wanted = singular(others[public[0]]), singular(kind)
        raise PluginError(
            f"{path}: {public[0]} is {article(other)} {other}, and "
            f"{article(wanted)} {wanted} is wanted"
        )
    if len(public) != 1:
        raise PluginError(
            f"{path}: which of its classes and functions is the plugin? It has "
            f"{', '.join(public) or 'none'}: name one as {path}:NAME"
        )
    return found[public[0]]


def _imported(tree: ast.Module, path: Path) -> Iterator[str]:
    """Yield the top-level modules that are imported anywhere in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for module in (name.partition(".")[0] for name in names):
            if getattr(node, "level", 0) or _is_beside(path, module):
                raise PluginError(
                    f"{path}:{node.lineno}: imports a file beside it, and only this "
                    "one becomes a package: move what it needs into it"
                )
            yield module


def _is_typed(tree: ast.Module) -> bool:
    """Tell whether a type checker may be told to read the annotations."""
    functions = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return all(
        each.returns is not None
        and all(
            taken.annotation is not None or taken.arg in ("self", "cls")
            for taken in (*each.args.args, *each.args.kwonlyargs)
        )
        for each in functions
    )


def _is_beside(path: Path, module: str) -> bool:
    beside = (path.with_name(f"{module}.py"), path.parent / module)
    return bool(module) and any(each.exists() for each in beside)


def refuse_function(names: Names, source: Source) -> None:
    """Refuse a function where a plugin must be a class."""
    if source.is_class or names.kind in ("metrics", "commands"):
        return
    raise PluginError(
        f"{source.target} is a function, and a {names.singular} in a package is a "
        f"class: `evalkit new {names.kind} {names.component}` shows one"
    )


def _requirements(modules: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from importlib.metadata import packages_distributions, version

    from packaging.version import Version

    owners = packages_distributions()
    requires, unknown = [], []
    for module in modules:
        if module in sys.stdlib_module_names or module == "evalkit":
            continue
        if module not in owners:
            unknown.append(module)
            continue
        name = owners[module][0]
        requires.append(f"{name}>={Version(version(name)).public}")
    return tuple(sorted(requires)), tuple(unknown)
