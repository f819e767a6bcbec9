"""What a data set that is a folder says about its files: its manifest."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from evalkit.base.violations import describe, from_pydantic
from evalkit.errors import DataError
from evalkit.plugins.sources import sha256_of
from evalkit.reading.digests import file_digest
from evalkit.reading.file_parts import FilePart
from evalkit.reading.formats import MANIFEST_FILE, is_data_set
from evalkit.reading.rows import decode_json
from evalkit.reading.streams import refuse_other_than_file

_DIGEST = r"^[0-9a-f]{64}$"


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    is_outside = not parts or path.startswith("/") or ".." in parts
    if is_outside or "\\" in path or "\0" in path:
        raise ValueError("must be the path of a file in this folder")
    return path


def _decoded(text: str) -> str:
    b64decode(text, validate=True)
    return text


PartitionValue: TypeAlias = str | int | bool | None
"""The value of a field that all rows of a file share; a date as in ISO 8601."""


class DataFile(BaseModel):
    """One file of a data set."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    path: Annotated[str, AfterValidator(_inside)]
    """Where it is, from the folder of the manifest, with slashes."""
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=_DIGEST)
    partition: dict[str, PartitionValue] = {}
    """The values of the fields that the data set is partitioned by."""


class ManifestField(BaseModel):
    """One field of the rows, for people; `arrow_schema` has all details."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str
    type: str
    nullable: bool


class Manifest(BaseModel):
    """What a folder of rows holds: their schema, and every file with its SHA-256."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    edition: Literal[1] = 1
    format: Literal["parquet", "arrow"]
    rows: int = Field(ge=0)
    schema_name: str | None = None
    """Name of the schema, where it has one."""
    schema_identity: str | None = Field(None, pattern=_DIGEST)
    """SHA-256 of the schema's canonical form, where it was given as a model."""
    fields: list[ManifestField]
    id_fields: list[str] = []
    """Fields whose values together no two rows share."""
    partition_fields: list[str] = []
    """Fields whose values are in the names of folders, and not in the files."""
    arrow_schema: Annotated[str, AfterValidator(_decoded)]
    """The schema of the rows as Arrow's message, in base64."""
    files: list[DataFile]
    """All files, in the order of their rows."""

    @property
    def schema_of_rows(self) -> Any:
        """The `pyarrow.Schema` of whole rows, with the fields of partitions.

        Raises:
            DataError: It is none of Arrow's.
        """
        import pyarrow as pa

        try:
            return pa.ipc.read_schema(pa.py_buffer(b64decode(self.arrow_schema)))
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{MANIFEST_FILE}: arrow_schema: {error}") from error


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a data set in a folder.

    Raises:
        DataError: There is none, it cannot be read, or it contradicts itself.
    """
    path = folder / MANIFEST_FILE
    try:
        text = path.read_bytes()
        decode_json(text.decode("utf-8"))  # pydantic takes the last of equal keys
        found = Manifest.model_validate_json(text)
    except (FileNotFoundError, NotADirectoryError) as error:
        what = f"has no {MANIFEST_FILE}" if folder.is_dir() else "is no folder"
        message = f"{folder}: {what}, so it is no data set that evalkit wrote"
        raise DataError(message) from error
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path}: cannot be read: {reason}") from error
    except ValidationError as error:
        problems = describe(from_pydantic(error))
        raise DataError(f"{path}: is no manifest of a data set: {problems}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is no manifest of a data set: {error}") from error
    if found.rows != sum(file.rows for file in found.files):
        raise DataError(f"{path}: the rows of its files are not {found.rows:,}")
    return found


def check_files(folder: Path, manifest: Manifest, *, contents: bool = False) -> None:
    """Compare the files of a data set with its manifest.

    Args:
        folder: The folder.
        manifest: Its manifest.
        contents: Whether to compare their SHA-256 beside their sizes.

    Raises:
        DataError: A file is missing, or another one than was written.
    """
    for file in manifest.files:
        path = folder / file.path
        refuse_other_than_file(path)
        try:
            size = path.stat().st_size
            found = sha256_of(path) if contents and size == file.bytes else file.sha256
        except OSError as error:
            reason = error.strerror or error
            raise DataError(f"{path}: cannot be read: {reason}") from error
        changed = f"{path}: was changed after {folder / MANIFEST_FILE} was written"
        if size != file.bytes:
            raise DataError(f"{changed}: {size:,} bytes, not {file.bytes:,}")
        if found != file.sha256:
            raise DataError(f"{changed}: its SHA-256 is {found}, not {file.sha256}")


def data_sha256(path: Path) -> str:
    """Return the digest of a file, or of a data set that is a folder.

    Args:
        path: The file or the folder.

    Returns:
        That of the file by blocks; that of the manifest, once the SHA-256 of every
        file is as it says; of a folder without a manifest, that of the names and
        digests of all its files.

    Raises:
        DataError: A file of the folder is missing or was changed.
        OSError: The file cannot be read.
    """
    if isinstance(path, FilePart) and path.sha256:
        return path.sha256
    if not is_data_set(path):
        return folder_sha256(path) if path.is_dir() else file_digest(path)
    check_files(path, read_manifest(path), contents=True)
    return sha256_of(path / MANIFEST_FILE)


def folder_sha256(folder: Path) -> str:
    """Return the SHA-256 of the names and digests of all files in and below it."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if not path.is_dir():
            refuse_other_than_file(path)
            name = path.relative_to(folder).as_posix()
            digest.update(f"{file_digest(path)} {name}\n".encode())
    return digest.hexdigest()
