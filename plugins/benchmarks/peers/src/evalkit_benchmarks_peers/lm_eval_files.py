"""Task files of lm-evaluation-harness: YAML with `include` and `!function`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import yaml

from evalkit.errors import DataError
from evalkit_benchmarks_declared.reading import lines_of
from evalkit_benchmarks_peers.peer_files import PeerFile

_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Function(NamedTuple):
    """A function of a Python file that `!function` names."""

    path: Path
    attribute: str

    def __str__(self) -> str:
        return f"!function {self.path.stem}.{self.attribute}"


class TaskFile(NamedTuple):
    """A file with everything that it includes; `files` are these, and itself last."""

    path: Path
    values: Mapping[str, Any]
    files: tuple[Path, ...]

    def refuse(self, problem: str, *keys: str | int) -> NoReturn:
        """Refuse the file for a key, naming the line that sets it."""
        setting = (path for path in self.files[::-1] if keys[:1] in lines_of(path))
        raise PeerFile(next(setting, self.path), None).error(problem, *keys)


def read_task_file(path: Path, within: tuple[Path, ...] = ()) -> TaskFile:
    """Read a file with everything that it includes."""
    real = path.resolve()
    if real in within:
        raise DataError(f"{path}: include: the file includes itself")
    own, files = dict(parse_file(real)), [real]
    values: Mapping[str, Any] = {}
    for name in listed(own.pop("include", None))[::-1]:
        included = read_task_file(real.parent / name, (*within, real))
        values = {**included.values, **values}
        files = [*included.files, *files]
    return TaskFile(path, {**values, **own}, tuple(files))


@lru_cache(maxsize=4_096)
def parse_file(path: Path) -> Mapping[str, Any]:
    """Read one file."""

    class Loader(_SafeLoader):  # type: ignore[misc]
        """Knows the folder that functions are named from."""

    def function(loader: Any, node: Any) -> Function:
        module, _, name = loader.construct_scalar(node).rpartition(".")
        return Function(
            (path.parent / f"{module.replace('.', '/')}.py").resolve(), name
        )

    Loader.add_constructor("!function", function)
    try:
        values = yaml.load(path.read_bytes(), Loader=Loader)
    except (OSError, yaml.YAMLError) as error:
        raise DataError(f"{path}: cannot be read as YAML: {error}") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: must be a mapping of keys to values")
    return values


def task_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder, in the harness's order."""
    paths = sorted(folder.glob("**/*.yaml"), key=lambda path: path.as_posix())
    return [path for path in paths if "__pycache__" not in path.parts]


def find_task(folder: Path, name: str) -> TaskFile:
    """Find a task in a folder; refuse a group or a tag, naming its tasks."""
    tagged = []
    for path in task_files(folder):
        if name.encode() not in path.read_bytes():
            continue
        try:
            task = read_task_file(path)
        except DataError:  # it is no task
            continue
        refuse_group(task, name)
        if task.values.get("task") == name and "group" not in task.values:
            return task
        tagged += [task.values] if name in listed(task.values.get("tag")) else []
    if tagged:
        raise _several(f"{folder}: {name} is a tag", tagged)
    raise DataError(f"{folder}: no task, group or tag is named {name!r}")


def refuse_group(file: TaskFile, name: str | None = None) -> None:
    """Refuse the file of a group, of this name if one is given."""
    group = file.values.get("group")
    if group is not None and name in (None, group) and "class" not in file.values:
        tasks = listed(file.values.get("task"))
        raise _several(f"{file.path}: {group} is a group", tasks)


def _several(what: str, tasks: list[Any]) -> DataError:
    each = [task if isinstance(task, Mapping) else {"task": task} for task in tasks]
    names = ", ".join(str(task.get("task", task.get("group"))) for task in each)
    return DataError(f"{what} of {names}. Name one of them")


def listed(value: Any) -> list[Any]:
    """Return a list: of one value, and none of nothing."""
    return value if isinstance(value, list) else [] if value is None else [value]
