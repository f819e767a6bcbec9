"""Files `config.yaml` of SEA-HELM: tasks whose interpolations are resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import yaml

from evalkit import DataError
from evalkit_benchmarks_declared.reading import lines_of
from evalkit_benchmarks_peers.peer_files import PeerFile


@dataclass(frozen=True)
class SeahelmTask:
    """A task of a file; paths in it are relative to `root`."""

    file: PeerFile
    name: str
    root: Path

    @property
    def config(self) -> Mapping[str, Any]:
        """The task as it is configured."""
        config: Mapping[str, Any] = self.file.values[self.name]
        return config

    def refuse(self, problem: str, *keys: str) -> NoReturn:
        """Refuse the task for a key."""
        raise self.file.error(problem, self.name, *keys)

    def refuse_unknown(self, given: Any, known: Iterable[str], *above: str) -> None:
        """Refuse a part that is no map, or has a key that nobody reads."""
        if not isinstance(given, Mapping):
            self.refuse(f"expected a map, got {given!r}", *above)
        for key in given.keys() - {*known}:
            hint = _meant(str(key), known, "Keys")
            self.refuse(f"unknown key. {hint}", *above, str(key))


def find_task(path: Path, name: str | None) -> SeahelmTask:
    """Find a task, or the only one, of a folder, its `config.yaml` or a repository."""
    files = {name: file for file in config_files(path) for name in _names(file)}
    if name is None and len(files) == 1:
        [name] = files
    if name is None or name not in files:
        problem = (
            f"{len(files)} tasks, expected one. Name a task behind the path: #TASK"
        )
        problem = f"{name!r}: task not found" if name else problem
        raise DataError(f"{path}: {problem}. {_meant(name or '', files, 'Tasks')}")
    folders = [*files[name].resolve().parents]
    roots = (folder for folder in folders if (folder / "seahelm_tasks").is_dir())
    return SeahelmTask(read_config(files[name]), name, next(roots, folders[0]))


def config_files(path: Path) -> list[Path]:
    """Return the files of tasks below a path."""
    folder = path / "seahelm_tasks" if (path / "seahelm_tasks").is_dir() else path
    files = sorted(folder.rglob("config.yaml")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise DataError(f"{path}: no config.yaml found")
    return files


def read_config(path: Path) -> PeerFile:
    """Read a file and resolve its interpolations.

    Only keys of the file are interpolated (`${task.key}`). Resolvers, which read
    variables of the environment or call functions, are refused.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    # a version such as 1.10 is a text
    text = re.sub(r"(?m)^( *version: *)([\d.]+) *$", r"\1'\2'", _text(path))
    file = PeerFile(path, {})
    try:
        _refuse_resolvers(file, text)
        config = OmegaConf.create(text)
        tasks: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or error
        raise DataError(f"{path}{line}: invalid YAML: {problem}") from error
    except OmegaConfBaseException as error:
        key = str(getattr(error, "full_key", "") or "")
        raise file.error(str(error).partition("\n")[0], *key.split(".")) from error
    if not isinstance(tasks, dict):
        raise DataError(f"{path}: expected a map of tasks by name")
    return PeerFile(path, tasks)


def _refuse_resolvers(file: PeerFile, text: str) -> None:
    """Refuse interpolations that have more in them than keys."""
    length, rest = -1, text
    while length != len(rest):
        length, rest = len(rest), re.sub(r"\$\{[^${}:\n]+\}", "", rest)
    if (place := rest.find("${")) >= 0:
        line = rest.count("\n", 0, place) + 1
        lines = [(n, len(key), key) for key, n in lines_of(file.path).items()]
        key = max(lines, key=lambda each: (each[0] <= line, each[:2]))[2]
        problem = "resolvers such as oc.env are not called. Interpolate a key"
        raise file.error(f"{problem} of this file: ${{task.key}}", *key)


def _meant(name: str, known: Iterable[str], what: str) -> str:
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    more = f", … ({len(names)})" if len(names) > 20 else ""
    shown = f"{what}: {', '.join(names[:20])}{more}"
    return f"Did you mean {near[0]!r}?" if near else shown


def _names(file: Path) -> list[str]:
    """Return the names of the tasks of a file, which is not parsed for it."""
    return re.findall(r"""^["']?([^\s#"':][^"':]*)["']?[ ]*:""", _text(file), re.M)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error
