"""Editable installations that are stale, and what installers left over."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalkit_commands_authoring.doctor.environment import Environment
from evalkit_commands_authoring.doctor.findings import (
    ERROR,
    NOTE,
    WARNING,
    Finding,
    enumerated,
    pip,
    remove_folder,
)
from evalkit_commands_authoring.doctor.installed import GROUP, Installed


def check_editable(environment: Environment) -> Iterator[Finding]:
    """Find editable installations that are not as their source folder is now."""
    for each in environment.of_evalkit:
        folder = each.source_folder
        if folder is not None and not folder.is_dir():
            yield _gone(each, folder)
        elif folder is not None:
            yield from _changed(each, folder)
            yield from _paths_gone(each)


def _gone(each: Installed, folder: Path) -> Finding:
    return Finding(
        ERROR,
        "editable",
        each.origin,
        f"its source folder {folder} is gone",
        "none of its plugins can be imported",
        f"install it from where it is now, or: {pip('uninstall', '--yes', each.name)}",
    )


def _paths_gone(each: Installed) -> Iterator[Finding]:
    """Find folders that an editable installation puts on the path and are gone."""
    for name in each.file_names:
        if not name.endswith(".pth") or "/" in name:
            continue
        try:
            lines = each.file(name).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            if Path(line).is_absolute() and not Path(line).exists():
                yield _gone(each, Path(line))


def _changed(each: Installed, folder: Path) -> Iterator[Finding]:
    """Compare what was installed with what the source folder says now."""
    mend = pip("install", "--no-deps", "--editable", str(folder))
    try:
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        project: Any = tomllib.loads(text).get("project", {})
    except (OSError, ValueError) as error:
        yield Finding(
            WARNING,
            "editable",
            each.origin,
            f"its {folder / 'pyproject.toml'} cannot be read: {error}",
            "nobody can tell whether what is installed is still right",
            f"correct it, and then: {mend}",
        )
        return
    if not isinstance(project, dict):
        return
    version = project.get("version")
    if isinstance(version, str) and version != each.version:
        yield Finding(
            WARNING,
            "editable",
            each.origin,
            f"is the version {version} in {folder} by now",
            "runs record the version that was installed",
            mend,
        )
    if "entry-points" in project.get("dynamic", ()):
        return
    differing = [*_differing(each.entry_points, project.get("entry-points", {}))]
    if differing:
        yield Finding(
            WARNING,
            "editable",
            each.origin,
            f"its entry points changed since it was installed: {enumerated(differing)}",
            "evalkit knows those that were there when it was installed",
            mend,
        )


def _differing(installed: dict[str, dict[str, str]], now: Any) -> Iterator[str]:
    groups = now if isinstance(now, dict) else {}
    for group in sorted({*installed, *groups}):
        if not group.startswith(GROUP):
            continue
        old, new = installed.get(group, {}), groups.get(group, {})
        for name in sorted({*old, *new}):
            what = f"{group.removeprefix(GROUP)}/{name}"
            if name not in old:
                yield f"{what} is new"
            elif name not in new:
                yield f"{what} is gone"
            elif "".join(old[name].split()) != "".join(str(new[name]).split()):
                yield f"{what} is {new[name]} now"


def check_left_over(environment: Environment) -> Iterator[Finding]:
    """Find what an installer left when it was interrupted."""
    del environment
    for folder in filter(None, dict.fromkeys(sys.path)):
        try:
            left = sorted(Path(folder).glob("~*valkit*"))
        except OSError:
            continue
        for path in left:
            yield Finding(
                NOTE,
                "files",
                str(path),
                "was left by an installation that was interrupted",
                "it does nothing but to have pip warn of it",
                remove_folder(str(path)),
            )
