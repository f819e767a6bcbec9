"""Files `config.yaml` of SEA-HELM: tasks, interpolated, with the line of each key.

Only plain interpolation (`${task.key}`) is resolved; resolvers, which read variables of
the environment or call functions, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import yaml

from evalkit import DataError
from evalkit_benchmarks_declared.reading import lines_of, located

Place = tuple[str, ...]


@dataclass(frozen=True)
class ConfigFile:
    """A file of tasks.

    Attributes:
        path: The file.
        tasks: The tasks by name, interpolated.
        written: All values as they are written, before interpolation.
        lines: Line of each key.
    """

    path: Path
    tasks: Mapping[str, Any]
    written: Any
    lines: Mapping[tuple[str | int, ...], int]

    def source(self, place: Place, hops: int = 16) -> tuple[Place, Any]:
        """Return where a value is written, and how."""
        value = self.written
        for end, key in enumerate(place):
            link = re.fullmatch(r"\s*\$\{([^${}:]+)\}\s*", str(value))
            if link and hops:
                target = (*link.group(1).split("."), *place[end:])
                return self.source(target, hops - 1)
            value = value.get(key) if isinstance(value, Mapping) else None
        return place, value

    def at(self, place: Place) -> str:
        """Write where a key is: file, line and key."""
        where = located(str(self.path), self.lines, self.source(place)[0])
        return f"{where}: {'.'.join(place)}"


@dataclass(frozen=True)
class SeahelmTask:
    """A task of a file.

    Attributes:
        file: The file.
        name: Name of the task.
        root: Folder that paths in the file are relative to.
    """

    file: ConfigFile
    name: str
    root: Path

    @property
    def config(self) -> Mapping[str, Any]:
        """The task as it is configured."""
        found: Mapping[str, Any] = self.file.tasks[self.name]
        return found

    def text(self, *keys: str) -> str | None:
        """Return a value as the file writes it; None where it is no scalar."""
        value = self.file.source((self.name, *keys))[1]
        return value if isinstance(value, str) else None

    def refuse(self, problem: str, *keys: str) -> NoReturn:
        """Refuse the task for a key."""
        raise DataError(f"{self.file.at((self.name, *keys))}: {problem}")

    def refuse_unknown(self, given: Any, known: Iterable[str], *above: str) -> None:
        """Refuse a part that is no map, or has a key that nobody reads."""
        names = list(known)
        if not isinstance(given, Mapping):
            self.refuse(f"expected a map, got {given!r}", *above)
        for key in given:
            if key not in names:
                mend = _meant(str(key), names, "Keys")
                self.refuse(f"unknown key. {mend}", *above, str(key))


def find_task(path: Path, name: str | None) -> SeahelmTask:
    """Find a task in a task folder, its `config.yaml`, or a whole repository.

    Args:
        path: The file or folder.
        name: Name of the task; None for the only one.

    Raises:
        DataError: There is none, or several.
    """
    names = {each: file for file in config_files(path) for each in _names(file)}
    if name is None and len(names) == 1:
        [name] = names
    if name is None:
        raise DataError(
            f"{path}: {len(names)} tasks, expected one. Name a task behind the path: "
            f"#{next(iter(names), 'TASK')}. {_meant('', list(names), 'Tasks')}"
        )
    if name not in names:
        group = tasks_of_group(path, name)
        problem = "task not found"
        if group:
            problem = "it is an aggregation group. Name one of its tasks"
        mend = _meant(name, group or list(names), "Tasks")
        raise DataError(f"{path}: {name!r}: {problem}. {mend}")
    file = read_config(names[name])
    return SeahelmTask(file, name, _root(names[name], file.tasks.get(name)))


def tasks_of_group(path: Path, group: str) -> list[str]:
    """Return the tasks of an aggregation group, in alphabetical order."""
    return sorted(
        name
        for file in config_files(path)
        if group in _text(file)
        for name, config in read_config(file).tasks.items()
        if isinstance(config, Mapping) and config.get("aggregation_group") == group
    )


def config_files(path: Path) -> list[Path]:
    """Return the files of tasks below a path.

    Raises:
        DataError: There is none.
    """
    folder = path / "seahelm_tasks" if (path / "seahelm_tasks").is_dir() else path
    files = sorted(folder.rglob("config.yaml")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise DataError(f"{path}: no config.yaml found")
    return files


def _meant(name: str, known: list[str], what: str) -> str:
    near = get_close_matches(name, known, n=1)
    shown = ", ".join(sorted(known)[:20])
    more = f", … ({len(known)})" if len(known) > 20 else ""
    return f"Did you mean {near[0]!r}?" if near else f"{what}: {shown}{more}"


def _names(file: Path) -> list[str]:
    """Return the names of the tasks of a file, which is not parsed for it."""
    return re.findall(r"""^["']?([^\s#"':][^"':]*)["']?[ ]*:""", _text(file), re.M)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error


def _root(file: Path, config: Any) -> Path:
    """Return the folder that paths in a file are relative to.

    It is that of the repository, or the nearest folder above with a file that the task
    names.
    """
    folders = [*file.resolve().parents]
    languages = config.get("languages") if isinstance(config, Mapping) else None
    blocks = list(languages.values()) if isinstance(languages, Mapping) else []
    paths = [str(each.get("filepath")) for each in blocks if isinstance(each, Mapping)]
    is_root = [folder for folder in folders if (folder / "seahelm_tasks").is_dir()]
    hits = [f for f in folders if any((f / path).is_file() for path in paths)]
    return next(iter([*is_root, *hits, *folders]))


def read_config(file: Path) -> ConfigFile:
    """Read a file and resolve its interpolations.

    Raises:
        DataError: It is no YAML, or interpolates more than other keys of the file.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    text = _text(file)
    found = ConfigFile(file, {}, {}, {})
    try:
        written = yaml.load(text, Loader=yaml.BaseLoader)  # only texts
        found = ConfigFile(file, {}, written, lines_of(file))
        if not isinstance(written, dict):
            raise DataError(f"{file}: expected a map of tasks by name")
        for place, value in _texts(written, ()):
            if _calls_resolver(value):
                raise DataError(
                    f"{found.at(place)}: resolvers such as oc.env are not called, got "
                    f"{value.strip()!r}. Interpolate a key of this file: ${{task.key}}"
                )
        read = OmegaConf.create(text)
        tasks: Any = OmegaConf.to_container(read, resolve=True, throw_on_missing=True)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or error
        raise DataError(f"{file}{line}: invalid YAML: {problem}") from error
    except OmegaConfBaseException as error:
        key = str(getattr(error, "full_key", "") or "")
        problem = str(error).partition("\n")[0]
        raise DataError(f"{found.at(tuple(key.split('.')))}: {problem}") from error
    return ConfigFile(file, tasks, found.written, found.lines)


def _texts(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*place, str(key)))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, place)
    else:
        yield place, str(value)


def _calls_resolver(text: str) -> bool:
    """Tell whether an interpolation in a text has more in it than keys."""
    for match in re.finditer(r"(\\*)\$\{", text):
        if len(match.group(1)) % 2:  # it stands for itself
            continue
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if ":" in text[match.end() : end]:
            return True
    return False
