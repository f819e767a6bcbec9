"""Folders that `datasets` of Hugging Face wrote, and its files of Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_rows import AdapterSettings, file_frames
from evalkit_adapters_rows.row_values import object_row

_DICT, _STATE, _INFO = "dataset_dict.json", "state.json", "dataset_info.json"


class HfDataset:
    """Read what Hugging Face's `datasets` wrote: a folder, or files of Parquet.

    A folder is one of `save_to_disk`. Files of Parquet, also the shards of a split on
    the Hub, say in their metadata which columns are labels. Numbers of a `ClassLabel`
    become its names, and -1, which stands for none, no value. The library is not
    needed.

    Example:
        ```yaml
        - kind: hf-dataset
          configuration: {split: test, number: uid}
        ```
    """

    version = "2"

    class Parameters(AdapterSettings):
        """Which part is read, and what is added."""

        split: str | None = Field(
            default=None, description="Split to read, of a folder with several"
        )
        labels: bool = Field(
            default=True, description="Give the names of labels in place of numbers"
        )
        number: str | None = Field(
            default=None,
            description="New field for the position of a row, from 0; for sets "
            "without ids",
        )

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def read_file(self, path: Path) -> pl.DataFrame | None:
        """Read the rows of a folder, or of Parquet; other files are left to evalkit."""
        if not path.is_dir():
            return self._read_parquet(path)
        folder = self._split_folder(path)
        frame = _read_table(folder)
        if not self.settings.labels:
            return frame
        features = _document(folder / _INFO).get("features") or {}
        return _with_names(frame, features, _INFO)

    def _read_parquet(self, path: Path) -> pl.DataFrame | None:
        """Read Parquet whose metadata says which columns are labels; else nothing."""
        shards = [*getattr(path, "shards", [path])]
        if not (path.is_file() or len(shards) > 1):
            return None  # evalkit says what is wrong
        if self.settings.split is not None:
            raise AdapterError("is a file, and `split` is for folders with several")
        features = _features(shards[0]) if self.settings.labels else {}
        if not any(map(_label_names, features.values())):
            return None
        for shard in shards[1:]:
            other = _features(shard)
            for name, feature in features.items():
                if _label_names(other.get(name)) != _label_names(feature):
                    raise AdapterError(
                        f"{shard.name}: the labels of {name!r} have other names than "
                        f"in {shards[0].name}"
                    )
        frames = [*(file_frames(path) or ())]
        if not frames:
            return None
        return _with_names(pl.concat(frames), features, "the file's metadata")

    def _split_folder(self, path: Path) -> Path:
        wanted = self.settings.split
        if not (path / _DICT).is_file():
            if wanted is not None:
                raise AdapterError(f"has no splits ({_DICT}); `split` is for those")
            return path
        splits = _document(path / _DICT).get("splits")
        names = [str(each) for each in splits] if isinstance(splits, list) else []
        if wanted is None and len(names) == 1:
            wanted = names[0]
        if wanted not in names:
            raise AdapterError(
                f"has the splits {', '.join(names)}; say which with `split`"
            )
        return path / wanted

    def adapt_row(self, row: Any, number: int) -> Iterator[dict[str, Any]]:
        """Yield the row, with its position where that is asked for."""
        row, field = object_row(row), self.settings.number
        if field in row:
            raise AdapterError(f"the row has a field {field!r} already", field=field)
        yield row if field is None else {**row, field: number - 1}

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None
    ) -> pl.DataFrame | None:
        """Return the table, with the positions of its rows where they are known."""
        field = self.settings.number
        if field is None:
            return frame
        if numbers is None or field in frame.columns:
            return None
        return frame.with_columns((numbers - 1).alias(field))


def _features(path: Path) -> Mapping[str, Any]:
    """Return what Hugging Face's metadata say of the columns of a file of Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    with path.open("rb") as stream:
        if stream.read(4) != b"PAR1":
            return {}
    try:
        metadata = parquet.read_schema(path).metadata or {}
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
        return {}  # evalkit says what is wrong with the file
    return features if isinstance(features, Mapping) else {}


def _document(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise AdapterError(
            f"has no {path.name}; `save_to_disk` of Hugging Face's datasets writes one"
        )
    found = read_document(path)
    if not isinstance(found, dict):
        raise AdapterError(f"{path.name} must hold an object")
    return found


def _read_table(folder: Path) -> pl.DataFrame:
    """Read the rows of a folder without splits."""
    import pyarrow as pa

    state = _document(folder / _STATE)
    if state.get("_indices_files"):
        raise AdapterError(
            f"{_STATE} names files of indices, as old versions wrote them; "
            "`flatten_indices()` before `save_to_disk` makes rows of them"
        )
    files = state.get("_data_files")
    names = [each.get("filename") for each in files] if isinstance(files, list) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise AdapterError(f"{_STATE} names no files of data")
    tables = []
    for name in names:
        if Path(name).name != name:
            raise AdapterError(f"{_STATE} names {name!r}, which is in another folder")
        try:
            with pa.memory_map(str(folder / name)) as source:
                tables.append(pa.ipc.open_stream(source).read_all())
        except (pa.ArrowException, OSError) as error:
            raise AdapterError(f"{name}: cannot be read: {error}") from error
    return pl.DataFrame(pa.concat_tables(tables))


def _with_names(
    frame: pl.DataFrame, features: Mapping[str, Any], place: str
) -> pl.DataFrame:
    """Give the names of labels in place of their numbers."""
    return frame.with_columns(
        _named(frame[name], feature, place)
        for name, feature in features.items()
        if name in frame.columns
    )


def _named(column: pl.Series, feature: Any, place: str) -> pl.Series:
    """Return a column with the names of labels, also within lists."""
    names = _label_names(feature)
    if names is None:
        return column
    known = dict(enumerate(names))
    if isinstance(column.dtype, pl.List):
        items = column.explode()
        named = pl.element().replace_strict(known, default=None, return_dtype=pl.String)
        found = column.list.eval(named)
    else:
        items = column
        found = column.replace_strict(known, default=None, return_dtype=pl.String)
    strange = items.drop_nulls().filter(~items.drop_nulls().is_in([-1, *known]))
    if len(strange):
        raise AdapterError(
            f"{column.name}: the label {strange[0]} is none of the {len(names)} that "
            f"{place} names"
        )
    return found


def _label_names(feature: Any) -> list[str] | None:
    """Return the names of a `ClassLabel`, or of a list of such; None for others."""
    if isinstance(feature, list):
        return _label_names(feature[0]) if feature else None
    kind = feature.get("_type") if isinstance(feature, Mapping) else None
    if kind in ("Sequence", "List"):
        return _label_names(feature.get("feature"))
    names = feature.get("names") if kind == "ClassLabel" else None
    return list(map(str, names)) if isinstance(names, list) else None
