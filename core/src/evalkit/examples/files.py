"""Scores a file of examples, or rows in Python, without a data set plugin."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any, ClassVar

from evalkit.base.names import is_python_file
from evalkit.errors import EvalkitError
from evalkit.examples.datasets import Dataset
from evalkit.examples.row_stages import DataSource, with_data
from evalkit.places.names import is_remote
from evalkit.plugins.bound import BoundDataset
from evalkit.plugins.components import AS_FILE, AS_ROWS, NO_VERSION, Component
from evalkit.plugins.discovery import components_on
from evalkit.plugins.local_plugins import name_of
from evalkit.plugins.registry import bind
from evalkit.plugins.resolver import Resolver
from evalkit.reading.data_places import data_path
from evalkit.reading.formats import SUFFIXES, model_name
from evalkit.reading.given_rows import rows_of


class GivenDataset(Dataset):
    """The examples of one file, or rows; labels and converters are the task's."""

    splits: ClassVar[Sequence[str]] = ("all",)
    default_split = "all"

    def __init__(self, data: Any, task: Any) -> None:
        super().__init__()
        self._data = data
        self.task = task
        if isinstance(data, Path) and not is_remote(str(data)):
            self.files_folder = data.parent

    def load(self, split: str) -> Any:
        """Return the file, or the rows."""
        return self._data


def are_rows(dataset: Any) -> bool:
    """Tell whether what names a data set are rows: a list, or a table."""
    if isinstance(dataset, str | Path) or inspect.isclass(dataset):
        return False
    is_table = hasattr(dataset, "__arrow_c_stream__") or hasattr(dataset, "collect")
    return is_table or (isinstance(dataset, Iterable) and not hasattr(dataset, "load"))


def chosen_data(dataset: Any, data: Any) -> Any:
    """Return the data set, or the data that were given in place of one."""
    if (dataset is None) == (data is None):
        raise EvalkitError(
            "name a data set, or give data= (a file, a list of dicts, or a polars, "
            "pandas or Arrow table), and not both"
        )
    if dataset is not None:
        return dataset
    return Path(data) if isinstance(data, str) else data


def is_file_name(dataset: Any) -> bool:
    """Tell whether what names a data set is a file of examples.

    It is where it holds `.`, `/` or `://`, but for what an installed reader reads.
    """
    if not isinstance(dataset, str | Path) or is_python_file(str(dataset)):
        return isinstance(dataset, Path)
    text = str(dataset)
    name = text.partition("@")[0].partition(":")[0]
    if isinstance(dataset, str) and not ("." in name or "/" in name or is_remote(text)):
        return False
    if PurePath(name).suffix.lower() in SUFFIXES:
        return True
    return components_on((*sys.path,)).reader_of(text) is None


def bind_file(path: Path, task: Any) -> BoundDataset:
    """Make a data set of a file."""
    name = re.sub(r"[\W_]+", "-", model_name(path).lower()).strip("-")[:62]
    return _bound(name.strip("-") or "file", AS_FILE, path, task)


def bind_rows(rows: Any, task: Any) -> BoundDataset:
    """Make a data set of rows."""
    return _bound("data", AS_ROWS, rows_of(rows, "data"), task)


def _bound(name: str, how: str, data: Any, task: Any) -> BoundDataset:
    location = f"{__name__}:{GivenDataset.__name__}"
    component = Component("datasets", name, location, how, NO_VERSION)
    return BoundDataset.of(bind(component, GivenDataset(data, task)))


def bind_dataset(
    resolver: Resolver, dataset: Any, task: Any, source: DataSource | None = None
) -> BoundDataset:
    """Bind what a caller names as the data set.

    Args:
        resolver: Binds plugins.
        dataset: Name of an installed data set, a `Dataset` class or instance, a file of
            examples, or rows of them.
        task: The task, by name or as an object; only for a file or rows, which need
            one.
        source: What changes its rows, after what it declares itself.

    Returns:
        The bound data set.

    Raises:
        DataError: The file is not of this machine.
        EvalkitError: A file comes without a task, or a data set with one.
        PluginError: It is unknown or broken.
    """
    is_file = is_file_name(dataset)
    if is_file or are_rows(dataset):
        if task is None:
            raise EvalkitError(
                f"{dataset}: a file of examples needs its task (--task NAME, task=)"
                if is_file
                else "rows of examples need their task (task=)"
            )
        of_file = is_file and bind_file(data_path(dataset), task)
        bound = of_file or bind_rows(dataset, task)
    else:
        bound = resolver.dataset(str(dataset) if isinstance(dataset, Path) else dataset)
        if task is not None and task != bound.task:
            own = bound.task if isinstance(bound.task, str) else name_of(bound.task)
            raise EvalkitError(
                f"{bound.component.origin} is of the task {own!r}; a "
                "task is given only for a file of examples"
            )
    return with_data(bound, source, resolver.registry)
