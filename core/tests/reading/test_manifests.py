import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from evalkit.errors import DataError
from evalkit.reading.formats import MANIFEST_FILE, Format, detect_format
from evalkit.reading.manifests import check_files, data_sha256, read_manifest
from evalkit.reading.tables import read_frames

SCHEMA = pa.schema([("code", pa.string()), ("n", pa.int64())])


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Any]:
    """Write one file of two rows, and return a manifest of it."""
    part = tmp_path / "code=01" / "part-0.parquet"
    part.parent.mkdir()
    parquet.write_table(pa.table({"n": [1, 2]}), part)
    return {
        "format": "parquet",
        "rows": 2,
        "fields": [
            {"name": "code", "type": "string", "nullable": True},
            {"name": "n", "type": "int64", "nullable": True},
        ],
        "partition_fields": ["code"],
        "arrow_schema": base64.b64encode(SCHEMA.serialize()).decode(),
        "files": [
            {
                "path": "code=01/part-0.parquet",
                "rows": 2,
                "bytes": part.stat().st_size,
                "sha256": hashlib.sha256(part.read_bytes()).hexdigest(),
                "partition": {"code": "01"},
            }
        ],
    }


def write(folder: Path, data: dict[str, Any]) -> None:
    (folder / MANIFEST_FILE).write_text(json.dumps(data))


def test_a_folder_with_a_manifest_is_read_with_its_types(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    write(tmp_path, data)

    assert detect_format(tmp_path) is Format.DATA_SET
    assert pl.concat(read_frames(tmp_path, Format.DATA_SET)).to_dict(
        as_series=False
    ) == {"code": ["01", "01"], "n": [1, 2]}
    manifest = (tmp_path / MANIFEST_FILE).read_bytes()
    assert data_sha256(tmp_path) == hashlib.sha256(manifest).hexdigest()


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("path", "../part-0.parquet", "must be the path of a file in this folder"),
        ("path", "/etc/passwd", "must be the path of a file in this folder"),
        ("path", "a\0b", "must be the path of a file in this folder"),
        ("path", "gone.parquet", r"gone\.parquet: there is no such file"),
        ("bytes", 3, r"part-0\.parquet: was changed"),
        ("partition", {}, "its fields are not those of the manifest"),
    ],
)
def test_a_manifest_that_is_wrong_about_a_file_is_refused(
    tmp_path: Path, data: dict[str, Any], place: str, value: Any, message: str
) -> None:
    data["files"][0][place] = value
    write(tmp_path, data)

    with pytest.raises(DataError, match=message):
        list(read_frames(tmp_path, Format.DATA_SET))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("rows", 3, "the rows of its files are not 3"),
        ("edition", 2, "is no manifest of a data set: edition"),
        ("arrow_schema", "AAAA", "arrow_schema"),
        ("more", 1, "more"),
    ],
)
def test_a_manifest_that_cannot_be_understood_is_refused(
    tmp_path: Path, data: dict[str, Any], place: str, value: Any, message: str
) -> None:
    write(tmp_path, {**data, place: value})

    with pytest.raises(DataError, match=message):
        assert read_manifest(tmp_path).schema_of_rows


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused_and_not_waited_for(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    write(tmp_path, data)
    name = "code=01/part-0.parquet"
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match=f"{name}: is a pipe"):
        check_files(tmp_path, read_manifest(tmp_path))


def test_the_sha256_of_changed_contents_is_told(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    data["files"][0]["sha256"] = "0" * 64
    write(tmp_path, data)

    with pytest.raises(DataError, match=r"part-0\.parquet: was changed.*its SHA-256"):
        data_sha256(tmp_path)


def test_other_fields_or_rows_than_the_manifest_says_are_an_error(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    part = tmp_path / "code=01" / "part-0.parquet"
    parquet.write_table(pa.table({"n": ["1", "2"]}), part)
    data["files"][0]["bytes"] = part.stat().st_size
    write(tmp_path, data)
    with pytest.raises(DataError, match="its fields are not those of the manifest"):
        list(read_frames(tmp_path, Format.DATA_SET))

    parquet.write_table(pa.table({"n": [1, 2, 3]}), part)
    data["files"][0]["bytes"] = part.stat().st_size
    write(tmp_path, data)
    with pytest.raises(DataError, match="holds 3 rows, not 2"):
        list(read_frames(tmp_path, Format.DATA_SET))


@pytest.mark.parametrize("value", [1, True])
def test_the_value_of_a_partition_has_the_type_of_its_field(
    tmp_path: Path, data: dict[str, Any], value: object
) -> None:
    data["files"][0]["partition"] = {"code": value}
    write(tmp_path, data)
    with pytest.raises(DataError, match=rf"code = {value}, which is no String"):
        list(read_frames(tmp_path, Format.DATA_SET))


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (', "files": [], "rows": 0}', "the key 'rows' is given twice"),
        (', "id_fields": ' + "[" * 9999, "is no manifest of a data set"),
    ],
)
def test_a_manifest_that_names_a_key_twice_is_refused(
    tmp_path: Path, data: dict[str, Any], end: str, message: str
) -> None:
    (tmp_path / MANIFEST_FILE).write_text(json.dumps(data)[:-1] + end)
    with pytest.raises(DataError, match=message):
        read_manifest(tmp_path)
