"""The option that names files of Python whose plugins a command knows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.printing.streams import echo, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit import Component


def plugin_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--plugin` to a command, which need not take it."""
    return click.option(
        "--plugin",
        metavar="FILE.py",
        multiple=True,
        expose_value=False,
        is_eager=True,  # what other options name may be in it
        callback=_know,
        help="Know all plugins in this file of Python by their names; repeat it for "
        "several files.",
    )(function)


def _know(
    context: click.Context, parameter: click.Parameter, files: tuple[str, ...]
) -> None:
    """Run the files, and let their plugins be known while the command runs."""
    if not files or context.resilient_parsing:
        return
    from evalkit.catalog import local_plugins_known

    with plugin_output_to_stderr():
        found = components_in_files(files)
    context.with_resource(local_plugins_known(found))
    context.meta[__name__] = files


def plugin_words() -> list[str]:
    """Return the options `--plugin` that the command was given, for another one."""
    context = click.get_current_context(silent=True)
    files = () if context is None else context.meta.get(__name__, ())
    return [word for file in files for word in ("--plugin", file)]


def of_given_files(components: Sequence[Component]) -> list[Component]:
    """Return those in the files that `--plugin` names; all where it names none."""
    files = {Path(file).resolve() for file in plugin_words()[1::2]}
    return [
        each
        for each in components
        if not files
        or (each.is_local and Path(each.value.rpartition(":")[0]).resolve() in files)
    ]


def components_in_files(files: tuple[str, ...]) -> list[Component]:
    """Run files, and return the components that all plugins in them stand for.

    A plugin is a class or function that a file defines, or an object of such a class,
    whose name does not begin with an underscore.
    """
    from evalkit import PluginLoadError, find_components
    from evalkit.catalog import component_of_file, run_file

    catalog = find_components()
    found: list[Component] = []
    for file in dict.fromkeys(map(str, map(Path, files))):
        plugins = [*_plugins_of(run_file(Path(file)))]
        if not plugins:
            raise PluginLoadError(
                f"{file}: no plugin is in it: no class of a kind of plugins, and no "
                "function get_NAME or one with @evalkit.metric"
            )
        for kind, attribute in plugins:
            known = catalog._replace(components=(*catalog.components, *found))
            found.append(component_of_file(kind, f"{file}:{attribute}", known))
    return found


def _plugins_of(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Find what in a module is a plugin; yield kinds and names in the module."""
    seen: set[int] = set()
    for name, value in vars(module).items():
        written: Any = value
        if not inspect.isclass(value) and not inspect.isfunction(value):
            written = type(value)
        is_own = written.__module__ == module.__name__ and id(value) not in seen
        kind = _kind_of(value) if is_own and not name.startswith("_") else None
        if kind is not None:
            seen.add(id(value))
            yield kind, name


def _kind_of(what: object) -> str | None:
    """Tell which kind of plugin an object is; None for what is none.

    It is of the kind whose base class it has, or else of the first of which it has the
    hooks, and the attributes that have no defaults.
    """
    from evalkit.catalog import all_kinds

    if inspect.isfunction(what):
        is_metric = hasattr(what, "__evalkit_metric__")
        return "metrics" if is_metric or what.__name__.startswith("get_") else None
    written = what if inspect.isclass(what) else type(what)
    by_base = (each.name for each in all_kinds() if issubclass(written, each.base))
    kind = next(by_base, None)
    if kind is None:
        lacking = {kind: _lacking(kind, written) for kind in _kinds_by_hooks(written)}
        kind = next((each for each, names in lacking.items() if not names), None)
        if lacking and kind is None:
            _tell_of_nearly(written, lacking)
    return kind


def _kinds_by_hooks(written: type) -> Iterator[str]:
    """Find the kinds that a class has enough hooks for."""
    from evalkit.catalog import all_kinds

    for kind in all_kinds():
        if kind.load is not None:
            continue
        hooks = {*kind.implemented(written)}
        if any(map(hooks.issuperset, kind.ways or [(name,) for name in hooks])):
            yield kind.name


def _lacking(kind: str, written: type) -> list[str]:
    """Return the attributes of a kind that a class lacks and that have no default."""
    from evalkit.catalog import kind_named

    contract = kind_named(kind)
    return [
        name
        for name in inspect.get_annotations(contract.attributes)
        if not hasattr(contract.base, name) and not hasattr(written, name)
    ]


def _tell_of_nearly(written: type, lacking: Mapping[str, Sequence[str]]) -> None:
    """Say of a class that has the hooks of a plugin why it is none."""
    reasons = " or ".join(
        f"{', '.join(names)} of {kind}" for kind, names in lacking.items()
    )
    echo(
        f"evalkit: notice: {written.__name__} has hooks, but lacks {reasons}: it is "
        "not known as a plugin",
        err=True,
    )
