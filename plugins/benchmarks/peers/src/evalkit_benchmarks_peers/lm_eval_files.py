"""Task files of lm-evaluation-harness: YAML with `include` and `!function`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import yaml

from evalkit.errors import DataError
from evalkit_benchmarks_declared.reading import lines_of, located

_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Function:
    """A Python function that a file in a folder names with `!function`."""

    name: str
    folder: Path

    @property
    def path(self) -> Path:
        """The Python file."""
        module = self.name.rpartition(".")[0].replace(".", "/")
        return (self.folder / f"{module}.py").resolve()

    def __str__(self) -> str:
        return f"!function {self.name}"


@dataclass(frozen=True)
class TaskFile:
    """A file with everything that it includes; `files` are these, and itself last."""

    path: Path
    values: Mapping[str, Any]
    files: tuple[Path, ...]

    def refuse(self, problem: str, *keys: str | int) -> NoReturn:
        """Refuse the file for a key, naming the line that sets it."""
        name = ".".join(map(str, keys))
        for path in reversed(self.files):
            lines = lines_of(path)
            if keys[:1] in lines:
                raise DataError(f"{located(str(path), lines, keys)}: {name}: {problem}")
        raise DataError(f"{self.path}: {name}: {problem}")


def read_task_file(path: Path) -> TaskFile:
    """Read a file with everything that it includes."""
    return TaskFile(path, *_read(path.resolve(), ()))


def _read(
    path: Path, within: tuple[Path, ...]
) -> tuple[Mapping[str, Any], tuple[Path, ...]]:
    if path in within:
        raise DataError(f"{path}: include: the file includes itself")
    own = dict(parse_file(path))
    included = own.pop("include", None) or []
    merged: dict[str, Any] = {}
    files: list[Path] = []
    for name in included if isinstance(included, list) else [included]:
        values, inner = _read((path.parent / name).resolve(), (*within, path))
        merged |= values
        files += inner
    return {**merged, **own}, (*files, path)


@lru_cache(maxsize=4_096)
def parse_file(path: Path) -> Mapping[str, Any]:
    """Read one file."""

    class Loader(_SafeLoader):  # type: ignore[misc]
        """Knows the folder that functions are named from."""

    Loader.add_constructor(
        "!function",
        lambda loader, node: Function(loader.construct_scalar(node), path.parent),
    )
    try:
        values = yaml.load(path.read_bytes(), Loader=Loader)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise DataError(f"{path}: invalid YAML: {error}") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: must be a mapping of keys to values")
    return values


def task_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder, in the harness's order."""
    paths = sorted(folder.glob("**/*.yaml"), key=lambda path: path.as_posix())
    return [path for path in paths if "__pycache__" not in path.parts]


def find_task(folder: Path, name: str) -> TaskFile:
    """Find a task in a folder; refuse a group or a tag, naming its tasks."""
    paths = task_files(folder)
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])".encode())
    for task in _tasks(path for path in paths if word.search(path.read_bytes())):
        refuse_group(task, name)
        if task.values.get("task") == name and "group" not in task.values:
            return task
    values = [task.values for task in _tasks(paths)]
    if tagged := [each for each in values if name in listed(each.get("tag"))]:
        raise _several(f"{folder}: {name} is a tag", tagged)
    raise DataError(f"{folder}: no task, group or tag is named {name!r}")


def _tasks(paths: Iterable[Path]) -> Iterable[TaskFile]:
    """Read files, without those that are no tasks."""
    for path in paths:
        try:
            yield read_task_file(path)
        except DataError:
            continue


def refuse_group(file: TaskFile, name: str | None = None) -> None:
    """Refuse the file of a group, of this name if one is given."""
    group = file.values.get("group")
    if group is not None and name in (None, group) and "class" not in file.values:
        tasks = listed(file.values.get("task"))
        raise _several(f"{file.path}: {group} is a group", tasks)


def _several(what: str, tasks: list[Any]) -> DataError:
    names = [
        str(task.get("task", task.get("group")) if isinstance(task, dict) else task)
        for task in tasks
    ]
    return DataError(f"{what} of {', '.join(names)}. Name one of them")


def listed(value: Any) -> list[Any]:
    """Return a list: of one value, and none of nothing."""
    return value if isinstance(value, list) else [] if value is None else [value]
