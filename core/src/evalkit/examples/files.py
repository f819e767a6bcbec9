"""Scores a file of examples without a data set plugin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from evalkit.errors import DataError, EvalkitError
from evalkit.examples.adapted import adapted_by
from evalkit.plugins.bound import BoundDataset
from evalkit.plugins.classes import Dataset
from evalkit.plugins.components import NO_VERSION, Component
from evalkit.plugins.registry import bind
from evalkit.plugins.resolver import Resolver, name_of
from evalkit.reading.formats import model_name

AS_FILE = "given as a file"
"""Stands for the distribution of a data set that is only a file."""

# a path makes one slash of two
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class FileDataset(Dataset):
    """The examples of one file; labels and converters are the task's.

    Args:
        path: The file.
        task: The task, by name or as a class or instance.
    """

    splits: ClassVar[Sequence[str]] = ("all",)
    default_split = "all"

    def __init__(self, path: Path, task: Any) -> None:
        super().__init__()
        self._path = path
        self.task = task
        self.files_folder = path.parent

    def load(self, split: str) -> Path:
        """Return the file."""
        return self._path


def is_file_name(dataset: Any) -> bool:
    """Tell whether what names a data set is a file: it holds `.`, `/` or `://`."""
    if isinstance(dataset, Path):
        return True
    if not isinstance(dataset, str):
        return False
    name = dataset.partition("@")[0].partition(":")[0]
    return "." in name or "/" in name or _REMOTE.match(dataset) is not None


def local_path(name: str | Path) -> Path:
    """Return the path of what a user names as a file or folder.

    Args:
        name: The path.

    Returns:
        The same as a path.

    Raises:
        DataError: It is not on this machine, such as `s3://bucket/file`.
    """
    if _REMOTE.match(str(name)):
        raise DataError(
            f"{name}: remote places are not supported yet; only files of this machine "
            "are read and written"
        )
    return Path(name)


def bind_file(path: Path, task: Any) -> BoundDataset:
    """Make a data set of a file.

    Args:
        path: The file, in any format that examples are read from.
        task: The task, by name or as a class or instance.

    Returns:
        The bound data set, named after the file.
    """
    name = re.sub(r"[^a-z0-9]+", "-", model_name(path).lower()).strip("-")[:62]
    component = Component(
        "datasets",
        name.strip("-") or "file",
        f"{__name__}:FileDataset",
        AS_FILE,
        NO_VERSION,
    )
    return BoundDataset.of(bind(component, FileDataset(path, task)))


def bind_dataset(
    resolver: Resolver, dataset: Any, task: Any, adapters: Any = None
) -> BoundDataset:
    """Bind what a caller names as the data set.

    Args:
        resolver: Binds plugins.
        dataset: Name of an installed data set, a `Dataset` class or instance, or a
            file of examples.
        task: The task, by name or as an object; only for a file, which needs one.
        adapters: What its rows go through after the adapters that it declares: a
            pipeline, a list of adapters, or the path of a file.

    Returns:
        The bound data set.

    Raises:
        AdapterError: The adapters cannot be read, or are written wrongly.
        DataError: The file is not of this machine.
        EvalkitError: A file comes without a task, or a data set with one.
        PluginError: It is unknown or broken.
    """
    if is_file_name(dataset):
        if task is None:
            raise EvalkitError(
                f"{dataset}: a file of examples needs its task (--task NAME, task=)"
            )
        bound = bind_file(local_path(dataset), task)
        return adapted_by(bound, adapters, resolver.registry)
    bound = resolver.dataset(dataset)
    if task is not None and task != bound.task:
        own = bound.task if isinstance(bound.task, str) else name_of(bound.task)
        raise EvalkitError(
            f"{bound.component.origin} is of the task {own!r}; a "
            "task is given only for a file of examples"
        )
    return adapted_by(bound, adapters, resolver.registry)
