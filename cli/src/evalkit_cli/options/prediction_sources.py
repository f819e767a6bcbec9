"""Finds the predictions that a user means: files, a folder, or the standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit import Registry

STANDARD_INPUT = "-"
_STDIN_NAME = "stdin"
_MANIFEST = ".manifest"
"""What `evalkit publish` adds to the name of a file that it describes."""


class Copies(NamedTuple):
    """Perturbed examples, and the same model's predictions for them."""

    perturbed: Sequence[Any] = ()
    """Files, and the paths of runs."""
    predictions: Sequence[str] = ()
    """A file for each of the files."""


class Job(NamedTuple):
    """One model's predictions on one data set."""

    dataset: str
    model: str | None
    """None for the file's stem."""
    path: str
    copies: Copies = Copies()


def single_model(models: Sequence[str]) -> str | None:
    """Return the name that `--model` gives the model of a file; None for none."""
    if len(models) > 1:
        raise click.UsageError(
            "--model names a single model; give several as -p MODEL=FILE."
        )
    return models[0] if models else None


def jobs_of_files(
    dataset: str,
    files: tuple[str, ...],
    model: str | None,
    folder: Path,
    runs: Path | None = None,
) -> list[Job]:
    """Make a job of each file that was named."""
    from evalkit.catalog import model_name

    named = [_split_model(given) for given in files]
    if model is not None:
        single_model(files)
        named = [(model, named[0][1])]
    if runs is not None:
        named = [(name, _run_or_file(path, runs)) for name, path in named]
    paths = [path for _, path in named]
    if paths.count(STANDARD_INPUT) > 1:
        raise click.UsageError("the standard input (-) can be read only once.")
    stems = [name or model_name(Path(path)) for name, path in named]
    twice = next((name for name in stems if stems.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(
            f"two models are called {twice!r}; name them with -p MODEL=FILE."
        )
    if STANDARD_INPUT in paths:
        spooled = str(_spool_standard_input(folder))
        named = [
            (name, spooled if path == STANDARD_INPUT else path) for name, path in named
        ]
    return [Job(dataset, name, path) for name, path in named]


def _run_or_file(given: str, runs: Path) -> str:
    """Return the path of the run that a name means, where there is no such file."""
    from evalkit.errors import StorageError
    from evalkit.places import is_remote
    from evalkit.runs import find_run

    is_place = is_remote(given) or "*" in given or Path(given).exists()
    if given == STANDARD_INPUT or is_place:
        return given
    try:
        return str(find_run(given, runs))
    except StorageError as error:
        if "/" in given or Path(given).suffix[1:].isalpha():
            return given  # the error says that there is no such file
        raise StorageError(f"{given}: file not found. As a run: {error}") from error


def _split_model(given: str) -> tuple[str | None, str]:
    from evalkit.places import is_remote

    name, equals, path = given.partition("=")
    if equals and is_remote(given):  # a key such as year=2026/file.jsonl
        return None, given
    if equals and name and path and not Path(given).exists():
        return name, path
    return None, given


def _spool_standard_input(folder: Path) -> Path:
    """Keep the standard input in a file, as it is read more than once."""
    from evalkit.errors import DataError

    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("-p - needs predictions on the standard input.")
    path = folder / _STDIN_NAME
    try:
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
    except OSError as error:
        raise DataError(
            f"the standard input cannot be kept in {tempfile.gettempdir()}: "
            f"{error.strerror or error}"
        ) from error
    return path


@contextmanager
def spool_folder() -> Iterator[Path]:
    """Return a folder to keep the standard input in, and call it so in errors."""
    from evalkit.errors import EvalkitError

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            yield folder
        except EvalkitError as error:
            message = name_standard_input(str(error), folder)
            error.args = (message, *error.args[1:])
            raise


def name_standard_input(message: str, folder: Path) -> str:
    """Say `standard input` where a message names the file that it is kept in."""
    return message.replace(str(folder / _STDIN_NAME), "standard input")


def jobs_that_ship(
    registry: Registry, dataset: str, quiet: bool, is_member: bool = False
) -> list[Job]:
    """Make a job of each file of predictions that ships with a data set."""
    from evalkit.catalog import is_file_name

    shipped = {}
    if not is_file_name(dataset):
        bound = registry.load("datasets", dataset)
        shipped = bound.attributes["example_predictions"]
    none = f"{dataset} ships no predictions; give some with --predictions FILE."
    if not shipped and not is_member:
        raise click.UsageError(none)
    if not shipped:
        echo(f"evalkit: error: {none}", err=True)
    elif not quiet:
        names = ", ".join(shipped)
        echo(
            f"no --predictions given: scoring those that ship with {dataset} ({names})",
            err=True,
        )
    return [Job(dataset, name, str(path)) for name, path in shipped.items()]


def jobs_of_folder(
    registry: Registry,
    given: str,
    task: str | None,
    model: str | None,
    quiet: bool,
    datasets: Sequence[str],
) -> list[Job]:
    """Make a job of each file in a folder that is named after a data set (of these)."""
    from evalkit.catalog import MANIFEST_FILE, local_path, model_name
    from evalkit.errors import DataError

    folder = local_path(given)
    try:
        files = sorted(
            path
            for path in folder.iterdir()
            if path.is_file() or (path / MANIFEST_FILE).is_file()
        )
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be read: {error.strerror or error}"
        ) from error
    known = {*datasets} or {x.name for x in registry.catalog.of_kind("datasets")}
    if task is not None:
        registry.select("tasks", task)
    chosen: dict[str, Path] = {}
    others = []
    for path in files:
        name = model_name(path)
        if name not in known or not _is_of_task(registry, name, task):
            if not name.endswith(_MANIFEST):
                others.append(path.name)
        elif name in chosen:
            raise DataError(
                f"{folder}: {chosen[name].name} and {path.name} are both predictions "
                f"for {name}"
            )
        else:
            chosen[name] = path
    wanted = f"data set of the task {task}" if task else "data set that is installed"
    wanted = "data set of the suite" if datasets else wanted
    shown = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
    if not chosen:
        inner = [f"{path.name}/" for path in sorted(folder.iterdir()) if path.is_dir()]
        none = f"no file, but {', '.join(inner[:5])}" if inner else "no file"
        raise DataError(
            f"{folder}: no file is named after a {wanted}; it has "
            f"{shown or none}. A data set of your own is evaluated by --data FILE "
            "-p FILE"
        )
    for name in datasets:  # the evaluation says that the file is missing
        chosen.setdefault(name, folder / f"{name}.jsonl")
    if others and not quiet:
        echo(f"left out, as named after no {wanted}: {shown}", err=True)
    model = model or folder.resolve().name
    return [Job(name, model, str(path)) for name, path in sorted(chosen.items())]


def _is_of_task(registry: Registry, dataset: str, task: str | None) -> bool:
    from evalkit.errors import PluginError

    if task is None:
        return True
    try:
        return bool(registry.load("datasets", dataset).attributes["task"] == task)
    except PluginError:
        return True  # nobody knows; the error comes up again when it is evaluated
