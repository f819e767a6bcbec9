"""Throw-away copies of plugins, with a change or without."""

from __future__ import annotations

import shutil
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.violations.entry import Violation

ROOT = Path(__file__).parents[2]
_TEMPLATES = "plugins/commands/authoring/src/evalkit_commands_authoring/templates"


class Source(NamedTuple):
    """Where a plugin is."""

    folder: Path
    """Of the package, or of a template."""
    module: str
    name: str
    """Of the object in the module."""
    is_template: bool = False


def source_of(plugin: str) -> Source:
    """Find a plugin.

    Args:
        plugin: As in `Violation.plugin`.
    """
    of, _, name = plugin.rpartition(" ")
    kind, _, short = name.partition("/")
    if of == "template":
        folder = ROOT / _TEMPLATES / kind
        found = "my_thing_command" if kind == "commands" else "MyThing"
        return Source(folder, "my_thing", found, is_template=True)
    folder, target = _declared()[kind, short]
    module, _, found = target.partition(":")
    return Source(folder / "src" / module.partition(".")[0], module, found)


@cache
def _declared() -> dict[tuple[str, str], tuple[Path, str]]:
    """Return the folder of the distribution and the object of each plugin."""
    return {
        (group.removeprefix("evalkit."), name): (project.parent, target)
        for project in sorted((ROOT / "plugins").glob("**/pyproject.toml"))
        for group, plugins in tomllib.loads(project.read_text("utf-8"))["project"]
        .get("entry-points", {})
        .items()
        for name, target in plugins.items()
    }


def _declare(folder: Path, kind: str, name: str, target: str) -> None:
    """Make a template's module a distribution that is installed in the folder."""
    info = folder / f"evalkit_{kind}_my_thing-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: evalkit-{kind}-my-thing\nVersion: 0.1.0\n"
        "Summary: A throw-away copy.\nLicense-Expression: MIT\n"
        "Requires-Dist: evalkit-core>=0.1,<0.2\n\nIt is thrown away.\n",
        "utf-8",
    )
    (info / "entry_points.txt").write_text(
        f"[evalkit.{kind}]\n{name} = {target}\n", "utf-8"
    )


def copy_to(folder: Path, plugin: str, violation: Violation | None) -> Source:
    """Copy the package of a plugin, and change the copy.

    Args:
        folder: Where to; it is to come first on the path.
        plugin: As in `Violation.plugin`.
        violation: What is changed; None for nothing.

    Raises:
        ValueError: A text that is to be changed is not there once.
    """
    source = source_of(plugin)
    if source.is_template:
        inner = folder
        shutil.copyfile(source.folder / "my_thing.py", folder / "my_thing.py")
        kind, _, name = plugin.rpartition(" ")[2].partition("/")
        _declare(folder, kind, name, f"{source.module}:{source.name}")
    else:
        inner = folder / source.folder.name
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source.folder, inner, ignore=skipped)
    for each in violation.changes if violation else ():
        file = inner / each.file
        text = file.read_text("utf-8")
        if text.count(each.old) != 1:
            raise ValueError(
                f"{file.name}: {each.old!r} is there {text.count(each.old)} times"
            )
        file.write_text(text.replace(each.old, each.new), "utf-8")
    return source
