"""Checks the wheels of a release, and installs them without an index.

    python release_check.py FOLDER

A dry run: nothing leaves this machine. It ends with 1 and a line for each thing that an
index would refuse, or that would break what is installed from it.
"""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).parent
PREFIX = "evalkit-"
FOREIGN = "evalkit"
"""The name on the public index that is another project's."""

_NEEDED = ("Summary", "Requires-Python", "License-Expression", "License-File")
_LINK = re.compile(r"\]\((?!https?://|#)([^)]+)\)")

# what is installed, as evalkit itself finds it: that needs no other library
_LIST = """
import json, evalkit
found = evalkit.find_components()
print(json.dumps({
    "components": sorted([c.id, c.distribution] for c in found.components),
    "problems": [problem.text for problem in found.problems],
    "kinds": [kind.name for kind in found.kinds],
}))
"""


class Wheel(NamedTuple):
    """What a wheel says of itself."""

    path: Path
    metadata: Message
    names: frozenset[str]
    """The files in it."""
    entry_points: dict[str, dict[str, str]]

    @property
    def name(self) -> str:
        """The distribution's name."""
        return str(self.metadata["Name"])

    @property
    def version(self) -> str:
        """Its version."""
        return str(self.metadata["Version"])

    @property
    def requires(self) -> list[Requirement]:
        """What it requires."""
        return [
            Requirement(text) for text in self.metadata.get_all("Requires-Dist", [])
        ]


def read_wheel(path: Path) -> Wheel:
    """Read a wheel.

    Args:
        path: The file.
    """
    with zipfile.ZipFile(path) as archive:
        names = frozenset(archive.namelist())
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(info))
        parser = configparser.ConfigParser(delimiters="=", interpolation=None)
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        points = info.removesuffix("METADATA") + "entry_points.txt"
        if points in names:
            parser.read_string(archive.read(points).decode())
    groups = {group: dict(parser[group]) for group in parser.sections()}
    return Wheel(path, metadata, names, groups)


def problems(wheels: list[Wheel]) -> Iterator[str]:
    """Find what is wrong with the wheels of a release.

    Args:
        wheels: All of them.

    Yields:
        A sentence for each problem.
    """
    versions = {wheel.version for wheel in wheels}
    if len(versions) != 1:
        yield f"the versions are not in step: {', '.join(sorted(versions)) or 'none'}"
    built: dict[str, Wheel] = {canonicalize_name(wheel.name): wheel for wheel in wheels}
    for wheel in wheels:
        yield from (f"{wheel.name}: {text}" for text in _of_one(wheel))
        for requirement in wheel.requires:
            text = _of_requirement(requirement, built)
            if text:
                yield f"{wheel.name}: requires {requirement}, {text}"


def _of_one(wheel: Wheel) -> Iterator[str]:
    name, version = parse_wheel_filename(wheel.path.name)[:2]
    if (name, str(version)) != (canonicalize_name(wheel.name), wheel.version):
        yield f"its file is called {wheel.path.name}"
    if not wheel.name.startswith(PREFIX):
        yield f"its name does not begin with {PREFIX}"
    for field in _NEEDED:
        if not wheel.metadata[field]:
            yield f"its metadata have no {field}"
    if wheel.metadata["Description-Content-Type"] != "text/markdown":
        yield "its description is no Markdown, or missing"
    for group, points in wheel.entry_points.items():
        for point, value in points.items():
            module, _, file = value.partition(":")
            module = module.strip().replace(".", "/")
            holds = f"{module}/{file.strip()}" in wheel.names or _holds(wheel, module)
            if group != "evalkit.known" and not holds:
                yield f"{group} has {point} = {value}, which the wheel does not hold"


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]+`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def _holds(wheel: Wheel, module: str) -> bool:
    return bool({f"{module}.py", f"{module}/__init__.py"} & wheel.names)


def _of_requirement(requirement: Requirement, built: dict[str, Wheel]) -> str:
    name = canonicalize_name(requirement.name)
    if requirement.url is not None:
        return "which is an address"
    if name == FOREIGN:
        return "which is another project"
    if not name.startswith(PREFIX):
        return ""
    if name not in built:
        return "which is not built"
    if built[name].version not in requirement.specifier:
        return f"and {built[name].version} is built"
    return ""


def installed(wheels: list[Wheel]) -> Iterator[str]:
    """Install wheels into a fresh environment, by `--no-index --no-deps`.

    Args:
        wheels: All of them.

    Yields:
        What evalkit finds there and the wheels do not declare, or the other way round.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        _run(sys.executable, "-m", "venv", "--without-pip", str(environment))
        python = str(environment / "bin" / "python")
        uv = str(Path(sys.executable).with_name("uv"))
        paths = [str(wheel.path.resolve()) for wheel in wheels]
        _run(uv, "pip", "install", "--quiet", "--no-index", "--no-deps",
             "--python", python, *paths)  # fmt: skip
        found = json.loads(_run(python, "-I", "-c", _LIST))
    declared = sorted(
        [f"{kind}/{name}", wheel.name]
        for wheel in wheels
        for kind in found["kinds"]
        for name in wheel.entry_points.get(f"evalkit.{kind}", {})
    )
    yield from (f"installed: {text}" for text in found["problems"])
    for component, owner in found["components"]:
        if [component, owner] not in declared:
            yield f"installed: {component} of {owner} is in no wheel"
    for component, owner in declared:
        if [component, owner] not in found["components"]:
            yield f"{owner}: {component} is not found once it is installed"


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} failed:\n{done.stderr}")
    return done.stdout


def reminders(wheels: list[Wheel]) -> Iterator[str]:
    """Say what a person has still to do before the release.

    Args:
        wheels: All of them.
    """
    version = wheels[0].version
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"## {version} (not released)" in changes:
        yield f"CHANGELOG.md says that {version} is not released: write the date"
    elif f"## {version}" not in changes:
        yield f"CHANGELOG.md has no section {version}"
    dirty = _run("git", "-C", str(ROOT), "status", "--porcelain").splitlines()
    if dirty:
        yield f"commit what is changed: {len(dirty)} files, such as {dirty[0][3:]}"
    if not any("Project-URL" in wheel.metadata for wheel in wheels):
        yield "no project names its address: add [project.urls]"
    linking = {
        wheel.name: _LINK.findall(_without_code(str(wheel.metadata.get_payload())))
        for wheel in wheels
    }
    names = [name for name, links in linking.items() if links]
    if names:
        count = sum(map(len, linking.values()))
        yield (
            f"{count} links in the descriptions of {len(names)} distributions lead to "
            f"files that an index does not have, such as {linking[names[0]][0]} of "
            f"{names[0]}: give them the project's address"
        )


def main() -> int:
    """Check all wheels of a folder, and return the exit code."""
    wheels = [read_wheel(path) for path in sorted(Path(sys.argv[1]).glob("*.whl"))]
    wrong = [*problems(wheels), *installed(wheels)]
    for text in wrong:
        print(f"wrong: {text}")
    for text in reminders(wheels) if wheels else ():
        print(f"to do: {text}")
    print(f"{len(wheels)} wheels, {len(wrong)} problems")
    return int(bool(wrong) or not wheels)


if __name__ == "__main__":
    sys.exit(main())
