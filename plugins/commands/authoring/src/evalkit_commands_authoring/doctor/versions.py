"""Whether versions fit each other, and whether evalkit is this evalkit."""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalkit_commands_authoring.doctor.findings import (
    ERROR,
    NOTE,
    WARNING,
    Finding,
    enumerated,
    pip,
    reinstall,
    remove_folder,
)
from evalkit_commands_authoring.doctor.installed import (
    GROUP,
    Environment,
    Installed,
    normalised,
)

CORE = "evalkit-core"
_NEVER_KNOWN = frozenset({CORE, "evalkit-cli", "evalkit-suite", "evalkit-testing"})


def check_core(environment: Environment) -> Iterator[Finding]:
    """Find out whether `evalkit` is there, and is that of evalkit-core."""
    core = environment.named(CORE)
    if core is None:
        yield Finding(
            ERROR,
            "core",
            CORE,
            "is not installed",
            "nothing of evalkit works without it",
            pip("install", CORE),
        )
        return
    try:
        import evalkit.catalog

        evalkit.catalog.find_components  # noqa: B018 - it is imported when it is asked for
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        yield Finding(
            ERROR,
            "core",
            core.origin,
            f"importing it failed with {type(error).__name__}: {error}",
            "no command of evalkit can run",
            reinstall(CORE),
        )
    yield from _other_origin(core)


def _other_origin(core: Installed) -> Iterator[Finding]:
    """Find another `evalkit` that comes first on the path."""
    spec = importlib.util.find_spec("evalkit")
    if spec is None or not spec.origin:
        return
    origin = Path(spec.origin).resolve()
    homes = [core.folder.parent / "evalkit", *filter(None, (core.source_folder,))]
    if not any(origin.is_relative_to(home.resolve()) for home in homes):
        yield Finding(
            ERROR,
            "core",
            "evalkit",
            f"is imported from {origin}, which is not of {core.origin}",
            "another module of this name comes first on the path, and is used instead",
            f"take {origin.parent.parent} off PYTHONPATH, or rename what lies there",
        )


def check_foreign(environment: Environment) -> Iterator[Finding]:
    """Find a distribution called `evalkit`, which is another project."""
    found = environment.named("evalkit")
    if found is None:
        return
    mixed = [name for name in found.file_names if name.startswith("evalkit/")]
    meaning = "it is another project, which has nothing to do with this one"
    mend = pip("uninstall", "--yes", "evalkit")
    if mixed:
        meaning += f"; it wrote over files of {CORE}: {enumerated(sorted(mixed), 3)}"
        mend += f" && {reinstall(CORE)}"
    yield Finding(
        ERROR if mixed else WARNING,
        "foreign",
        found.origin,
        f"is installed (this evalkit is {CORE})",
        meaning,
        mend,
    )


def check_python(environment: Environment) -> Iterator[Finding]:
    """Find distributions that are not for this Python."""
    try:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet
    except ImportError:
        return  # which is found as a requirement

    running = platform.python_version()
    for each in environment.of_evalkit:
        try:
            fits = SpecifierSet(each.requires_python).contains(running, True)
        except InvalidSpecifier:
            continue  # whoever installs it is told
        if not fits:
            yield Finding(
                ERROR,
                "python",
                each.origin,
                f"is for Python {each.requires_python}, and this is {running}",
                "it may fail anywhere",
                f"make an environment with Python {each.requires_python}",
            )


def check_requirements(environment: Environment) -> Iterator[Finding]:
    """Find what distributions of evalkit require and what is not there."""
    unmet: dict[str, list[tuple[str, str]]] = {}
    for each in environment.of_evalkit:
        for text in each.requires:
            found = _unmet(text, environment)
            if found is not None:
                unmet.setdefault(found[0], []).append((each.name, found[1]))
    for name, wishes in sorted(unmet.items()):
        there = environment.named(name)
        wanted = sorted({wish for _, wish in wishes if wish})
        what = f"is there in {there.version}" if there else "is not installed"
        others = enumerated([f"{owner} {wish}".strip() for owner, wish in wishes])
        yield Finding(
            ERROR,
            "requirements",
            name,
            f"{what}, and required by {others}",
            "what needs it may fail, or give other numbers",
            pip("install", name + ",".join(wanted)),
        )


def _unmet(text: str, environment: Environment) -> tuple[str, str] | None:
    """Return name and versions of a requirement that is not met; None if it is."""
    try:
        from packaging.requirements import InvalidRequirement, Requirement
    except ImportError:  # then only what is missing can be told
        name = normalised(re.split(r"[^\w.-]", text.strip(), maxsplit=1)[0])
        is_there = "extra" in text or environment.named(name)
        return None if is_there else (name, "")
    try:
        required = Requirement(text)
    except InvalidRequirement:
        return None  # evalkit itself says so
    name = normalised(required.name)
    is_extra = required.marker and not required.marker.evaluate({"extra": ""})
    if is_extra or name in (CORE, "evalkit"):  # evalkit itself looks at these
        return None
    found = environment.named(name)
    versions = required.specifier
    if found is None:
        return name, str(versions)
    is_known = found.version != "unknown"
    fits = not is_known or versions.contains(found.version, prereleases=True)
    return None if fits else (name, str(versions))


def check_in_step(environment: Environment) -> Iterator[Finding]:
    """Find parts of evalkit that are of another release than evalkit-core."""
    core = environment.named(CORE)
    if core is None:
        return
    known = {name for names in environment.catalog.known.values() for name in names}
    parts = [
        each
        for each in environment.of_evalkit
        if normalised(each.name) in known | _NEVER_KNOWN
    ]
    others = [each for each in parts if each.version != core.version]
    if others:
        names = [f"{each.name}=={core.version}" for each in others]
        yield Finding(
            WARNING,
            "in step",
            enumerated([each.origin for each in others]),
            f"of another release than {core.origin}",
            "parts of evalkit are released together, and tried with each other only",
            pip("install", "--upgrade", *names),
        )


def check_script(environment: Environment) -> Iterator[Finding]:
    """Find an `evalkit` on the shell's path that is of another environment."""
    found = shutil.which("evalkit", path=environment.variables.get("PATH"))
    if found is None:
        return
    schemes = ("scripts",)
    homes = {Path(sysconfig.get_path(name)).resolve() for name in schemes}
    homes.add(Path(sys.executable).parent.resolve())
    own = [home / "evalkit" for home in homes if (home / "evalkit").exists()]
    if own and Path(found).parent.resolve() not in homes:
        yield Finding(
            WARNING,
            "script",
            found,
            f"is what the shell runs as `evalkit`, and not {own[0]}",
            "it may be of another environment, with other plugins and versions",
            f'export PATH="{own[0].parent}:$PATH"',
        )


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
