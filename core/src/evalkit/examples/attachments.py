"""Files that examples name: images, recordings and the like, in the data's folder."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, get_args, get_origin

import polars as pl
from pydantic import BaseModel

from evalkit.base.terms import NamesFile
from evalkit.base.violations import few, shorten
from evalkit.errors import DataError, PluginContractError, SchemaError
from evalkit.examples.rows import ExampleRows
from evalkit.places.names import FetchedPath, is_remote, uri_of
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.sources import sha256_of


def file_fields(model: type[BaseModel], *outer: type[BaseModel]) -> list[str]:
    """Return the names of the fields of a model that are annotated `FilePath`."""
    return [
        name
        for name, field in model.model_fields.items()
        if any(map(_is_mark, field.metadata))
        or _names_file(field.annotation, (model, *outer))
    ]


def _is_mark(rule: Any) -> bool:
    return isinstance(rule, NamesFile)


def _names_file(annotation: Any, outer: tuple[type[BaseModel], ...]) -> bool:
    """Look for the mark also in `FilePath | None` and in models."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation not in outer and bool(file_fields(annotation, *outer))
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated and any(map(_is_mark, parts[1:])):
        return True
    return any(_names_file(part, outer) for part in parts)


def with_attached(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> ExampleRows:
    """Find the files that examples name."""
    fields = [name for name in file_fields(task.Input) if name in loaded.frame.columns]
    if not fields:
        return loaded
    named = [*_named_files(task, loaded, fields)]
    folder = _of_this_machine(_folder(dataset, loaded), {each[2] for each in named})
    paths: dict[str, Path] = {}
    problems = []
    for name, position, value in named:
        if value in paths:
            continue
        problem = _problem(folder, value)
        if problem:
            problems.append(loaded.problem(position, name, problem))
        else:
            paths[value] = folder / value
    if problems:
        raise SchemaError(f"{loaded.source(dataset)}: {few(problems)}")
    absolute = {value: os.fspath(path) for value, path in paths.items()}
    columns = {name: loaded.frame[name] for name in fields}
    return loaded._replace(
        attached={name: _replaced(columns[name], absolute) for name in fields},
        attached_sha256=_hash(sorted(paths.items())),
    )


def _named_files(
    task: BoundTask, loaded: ExampleRows, fields: Iterable[str]
) -> Iterator[tuple[str, int, str]]:
    """Return the names of files in columns, each with its column and row."""
    for field in fields:
        column = loaded.frame[field]
        is_nested = field in loaded.nested
        if is_nested or column.dtype not in (pl.String, pl.List(pl.String)):
            raise PluginContractError(
                f"{task.component.origin}: the field {field!r} of its Input: FilePath "
                "stands alone, beside None, or in a list"
            )
        for position, value in enumerate(column.to_list()):
            for name in value if isinstance(value, list) else [value]:
                if name is not None:
                    yield field, position, name


def _replaced(column: pl.Series, texts: Mapping[str, str]) -> pl.Series:
    """Replace the texts of a column, also those in lists."""
    if column.dtype == pl.String:
        return column.replace_strict(texts, return_dtype=pl.String)
    return column.list.eval(pl.element().replace_strict(texts, return_dtype=pl.String))


def _folder(dataset: BoundDataset, loaded: ExampleRows) -> str | Path:
    if dataset.files_folder is not None:
        return Path(dataset.files_folder)
    if isinstance(loaded.path, FetchedPath) and is_remote(loaded.path.uri):
        return (loaded.path.permanent or loaded.path.uri).rpartition("/")[0]
    if loaded.path is not None:
        return loaded.path.parent
    module = sys.modules.get(type(dataset.plugin).__module__)
    return Path(getattr(module, "__file__", None) or ".").parent


def _of_this_machine(place: str | Path, names: Iterable[str]) -> Path:
    """Return the folder of files; of a place in a store a copy with these files."""
    if not is_remote(str(place)):
        return Path(place).resolve()
    from evalkit.places.access import local_folder, nothing_at

    wanted = {PurePosixPath(name).as_posix() for name in names}
    folder = local_folder(place, wanted.__contains__) or nothing_at(uri_of(place))
    return FetchedPath(folder.local.resolve(), folder.uri)


def _problem(folder: Path, name: str) -> str | None:
    """Say why a name is not that of a file of the folder."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        return f"must name a file inside of {folder}, found {shorten(name)}"
    try:
        whole = (folder / path).resolve()
        is_file = whole.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # a circle of links, a NUL
        return f"cannot be looked for ({error}), found {shorten(name)}"
    if not whole.is_relative_to(folder):
        return f"leads out of {folder} by a link, found {shorten(name)}"
    if not is_file:
        return f"there is no file {shorten(name)} in {folder}"
    return None


def _hash(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        try:
            line = f"{sha256_of(path)} {name}\n"
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or error}") from error
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
