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
    Template,
    article,
    common_text,
    conftest_text,
    module_texts,
    tests_text,
)

_KIT = {
    "metrics": "check_metric",
    "observers": "check_observer",
    "perturbations": "check_perturbation",
}
"""What checks the laws of a kind, without data that only its author has."""

_USES = {
    "metrics": ["evalkit eval DATASET --predictions FILE -m my-thing"],
    "perturbations": ["evalkit perturb DATASET --perturbation my-thing -o FILE"],
    "tasks": ["evalkit eval --task my-thing --data FILE --predictions FILE"],
    "benchmarks": ["evalkit eval my-thing --model NAME"],
    "datasets": ["evalkit eval my-thing --predictions FILE"],
    "annotators": ["evalkit eval DATASET --predictions FILE --annotate my-thing"],
    "models": ["evalkit eval DATASET --model my-thing"],
    "observers": ["evalkit eval DATASET --predictions FILE --observer my-thing"],
    "storage": ["evalkit list storage"],
}
"""How what someone wrote is used, whatever it is."""

_TESTING = ("pytest", "evalkit-testing")
"""Requirements of all tests; the others are those of the template's own."""


_LACKING = """
Where it says that it needs what only you have, such as texts or rows, a `conftest.py`
gives that (`docs/testing.md` of evalkit)."""

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
    """Return the texts of all files of a package, by their paths in it."""
    own = (
        {f"{names.module}.py": source.text}
        if source is not None
        else {
            names.put_into(name): names.put_into(text)
            for name, text in module_texts(names.kind).items()
        }
    )
    tests = tests_text(names.kind) if source is None else _tests_of(names)
    values = _values(names, template, author, source)
    package = f"src/{names.package}"
    given = conftest_text(names.kind) if source is None else None
    more = {"conftest.py": names.put_into(given)} if given else {}
    if source is None or source.is_typed:
        more[f"{package}/py.typed"] = ""
    return {
        "pyproject.toml": _filled("package.toml", values),
        "README.md": _filled("README.md", values),
        "LICENSE": _filled(f"LICENSE.{author.license}", values),
        "Makefile": _filled("Makefile", values),
        ".gitignore": common_text("gitignore"),
        ".github/workflows/test.yml": common_text("test.yml"),
        **more,
        f"{package}/__init__.py": _docstring(values["summary"]),
        **{f"{package}/{name}": text for name, text in own.items()},
        f"tests/test_{names.module}.py": names.put_into(tests),
    }


def entry_points(
    names: Names, template: Template, source: Source | None
) -> dict[str, dict[str, str]]:
    """Return the entry points of a package by group, the plugin's own first."""
    module = f"{names.package}.{names.module}"
    if source is None:
        target, further = template.target, template.further
    else:
        target, further = source.target, {}
    is_file = "." in target
    own = f"{names.package if is_file else module}:{names.put_into(target)}"
    points = {f"evalkit.{names.kind}": {names.put_into(template.name): own}}
    for group, values in further.items():
        put = {names.put_into(name): names.put_into(to) for name, to in values.items()}
        points.setdefault(group, {}).update(put)
    for each in source.further if source else ():
        of_kind = points.setdefault(f"evalkit.{each.kind}", {})
        of_kind.setdefault(each.name, f"{module}:{each.target}")
    return points


def _docstring(summary: str) -> str:
    """Return a docstring that may hold anything."""
    if "\\" in summary or '"' in summary:
        return f"{summary + '.'!r}\n"
    return f'"""{summary}."""\n'


def write_package(folder: Path, texts: Mapping[str, str]) -> None:
    """Write a package, whole or not at all."""
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
    points = entry_points(names, template, source)
    uses = template.use
    about = template.about.strip()
    requires, test_requires = template.requires, template.test_requires
    if source is not None:
        requires = ["evalkit-core>=0.1,<0.2", *source.requires]
        test_requires = [each for each in test_requires if each.startswith(_TESTING)]
        is_one = not source.further
        path = f"src/{names.package}/{names.module}.py"
        about = f"{'It is' if is_one else 'They are'} in `{path}`."
        shown = [f"evalkit show {each}" for each in _listed_plugins(points)]
        uses = [*shown, *_USES.get(names.kind, ())]
    typed = ["Typing :: Typed"] if source is None or source.is_typed else []
    filled = {
        "author": " ".join(author.name.split()),
        "license": author.license,
        "year": str(author.year),
        "kind": names.kind,
        "singular": names.singular,
        "article": article(names.singular),
        "component": template.name,
        "distribution": names.distribution,
        "package": names.package,
        "summary": template.summary,
        "requires": _listed(requires),
        "test_requires": _listed(test_requires),
        "entry_points": _entry_points(points),
        "use": "\n".join(f"$ {line}" for line in uses),
        "about": about,
        "check": "".join(map(_check, _listed_plugins(points))),
        "classifiers": _listed(typed),
        "given": "" if source is None else _LACKING,
    }
    return {
        name: text if name in _WRITTEN else names.put_into(text)
        for name, text in filled.items()
    }


def _listed_plugins(points: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the plugins of entry points, as KIND/NAME."""
    kinds = {group.removeprefix("evalkit."): values for group, values in points.items()}
    return [f"{kind}/{name}" for kind, values in kinds.items() for name in values]


def _check(plugin: str) -> str:
    kind, _, name = plugin.partition("/")
    return f'\t$(PYTHON) -m evalkit list {kind} --check --search "{name}"\n'


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
    return f"{text}\n\n{common_text(f'test_{check}.py')}" if check else text
