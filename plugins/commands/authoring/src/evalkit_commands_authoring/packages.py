"""Writes the files of a new package."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evalkit import StorageError
from evalkit_commands_authoring.names import Names
from evalkit_commands_authoring.sources import Source
from evalkit_commands_authoring.templates import (
    UNLISTED,
    Template,
    common_text,
    module_text,
    tests_text,
)

_KIT = {
    "metrics": "check_metric",
    "perturbations": "check_perturbation",
}
"""What checks the laws of a kind, without data that only its author has."""


_TESTING = ("pytest", "evalkit-testing")
"""Requirements of all tests; the others are those of the template's own."""


_WRITTEN = ("author", "summary")
"""What users wrote, in which a name of the template is no name."""


@dataclass(frozen=True)
class Author:
    """Who publishes a package, and how.

    Attributes:
        name: A person or group.
        license: The name of a `LICENSE.*` among the templates.
        year: The year of the copyright.
    """

    name: str
    license: str
    year: int


def package_files(
    names: Names, template: Template, author: Author, source: Source | None
) -> dict[str, str]:
    """Return the texts of all files of a package, by their paths in it.

    Args:
        names: The names in it.
        template: What it is about.
        author: Who publishes it.
        source: The file that becomes its module; the template's by default.
    """
    own = module_text(names.kind) if source is None else source.text
    tests = tests_text(names.kind) if source is None else _tests_of(names)
    values = _values(names, template, author, source)
    package = f"src/{names.package}"
    return {
        "pyproject.toml": _filled("package.toml", values),
        "README.md": _filled("README.md", values),
        "LICENSE": _filled(f"LICENSE.{author.license}", values),
        "Makefile": _filled("Makefile", values),
        ".gitignore": common_text("gitignore"),
        ".github/workflows/test.yml": common_text("test.yml"),
        f"{package}/__init__.py": _docstring(values["summary"]),
        f"{package}/py.typed": "",
        f"{package}/{names.module}.py": own if source else names.put_into(own),
        f"tests/test_{names.module}.py": names.put_into(tests),
    }


def _docstring(summary: str) -> str:
    """Return a docstring that may hold anything."""
    if "\\" in summary or '"' in summary:
        return f"{summary + '.'!r}\n"
    return f'"""{summary}."""\n'


def write_package(folder: Path, texts: Mapping[str, str]) -> None:
    """Write a package, whole or not at all.

    Args:
        folder: Where; it must not be there.
        texts: The texts of its files, by their paths.

    Raises:
        StorageError: It is there, or cannot be written.
    """
    if folder.exists():
        raise StorageError(f"{folder}: is there already, and nothing was written")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            for name, text in texts.items():
                path = made / PurePosixPath(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            made.chmod(0o755)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{folder}: cannot be written: {reason}") from None


def _values(
    names: Names, template: Template, author: Author, source: Source | None
) -> dict[str, str]:
    target = template.target if source is None else source.target
    points = {f"evalkit.{names.kind}": {template.name: f"my_package.my_thing:{target}"}}
    uses = template.use
    about = template.about.strip()
    requires, test_requires = template.requires, template.test_requires
    if source is None:
        points |= template.further
    else:
        requires = ["evalkit-core>=0.1,<0.2", *source.requires]
        test_requires = [each for each in test_requires if each.startswith(_TESTING)]
        about = f"It is in `src/{names.package}/{names.module}.py`."
        uses = [f"evalkit show {names.kind}/my-thing"]
    check = f'\t$(PYTHON) -m evalkit list {names.kind} --check --search "my-thing"\n'
    filled = {
        "author": " ".join(author.name.split()),
        "license": author.license,
        "year": str(author.year),
        "kind": names.kind,
        "singular": names.singular,
        "article": "an" if names.singular[0] in "aeiou" else "a",
        "component": template.name,
        "distribution": names.distribution,
        "package": names.package,
        "summary": template.summary,
        "requires": _listed(requires),
        "test_requires": _listed(test_requires),
        "entry_points": _entry_points(points),
        "use": "\n".join(f"$ {line}" for line in uses),
        "about": about,
        "check": "" if names.kind in UNLISTED else check,
    }
    return {
        name: text if name in _WRITTEN else names.put_into(text)
        for name, text in filled.items()
    }


def _filled(name: str, values: Mapping[str, str]) -> str:
    text = common_text(name)

    def fill(found: re.Match[str]) -> str:
        value = values[found[1]]
        if name == "package.toml" and found[1] in _WRITTEN:
            return json.dumps(value, ensure_ascii=False)[1:-1]
        return value

    return re.sub(r"\{\{(\w+)\}\}", fill, text)


def _listed(requirements: Iterable[str]) -> str:
    lines = "".join(f"    {json.dumps(each)},\n" for each in requirements)
    return f"[\n{lines}]"


def _entry_points(points: Mapping[str, Mapping[str, str]]) -> str:
    tables = []
    for group, values in points.items():
        lines = [f'[project.entry-points."{group}"]']
        lines += [f'"{name}" = "{value}"' for name, value in values.items()]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _tests_of(names: Names) -> str:
    """Return tests of what someone wrote: it loads, and keeps the laws of its kind."""
    check = _KIT.get(names.kind)
    text = common_text("test_loaded.py").replace("{{kind}}", names.kind)
    return text + common_text(f"test_{check}.py") if check else text
