"""What a run folder is and holds, and how its files are read and written.

`run.json` holds size and SHA-256 of every other file, so that damage and careless edits
are noticed. Each metric has a Parquet file of its statistics: `position` (the row in
`examples.parquet`), its keys and its number columns. They are kept by example and not
as sums: intervals need clusters, which merged parts of a set may share. Tables by
example may lie in parts, `parts/00000/examples.parquet` and so on; only files that
`run.json` lists are read.

What looks like a run is a whole one. On this machine a run is written to a hidden
folder beside its place and moved there in one step: a process that dies leaves at most
a hidden folder, which nothing reads. At a place such as a bucket `run.json` is written
last: a folder without it is not a run.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.base.files import make_folder, regular_file, sync_folder, write_synced
from evalkit.base.json_text import dumps
from evalkit.base.violations import Violation, json_value, shorten
from evalkit.base.wording import first_of
from evalkit.errors import ObjectExistsError, StorageError
from evalkit.places.access import (
    exists,
    local,
    local_folder,
    nothing_at,
    put,
    refuse_offline,
    refuse_present,
)
from evalkit.places.names import FetchedPath, is_remote, join, uri_of
from evalkit.predictions.problems import FAILED, NOT_SCORED, STATUSES, Problem, Problems
from evalkit.runs.record import FORMAT_VERSION, RunRecord
from evalkit.runs.recorded import FileDigest
from evalkit.runs.score_columns import Score

if TYPE_CHECKING:
    import polars as pl


RUN_FILE = "run.json"
EXAMPLES_FILE = "examples.parquet"
SCORES_FILE = "scores.parquet"
PROBLEMS_FILE = "problems.jsonl"
RESPONSES_FILE = "responses.parquet"
STATISTICS_FOLDER = "statistics"
COLUMNS_FOLDER = "columns"

_REQUIRED = ("format", "fingerprint", "status", "dataset", "counts")
"""Keys that every run.json has."""

EXAMPLE_COLUMNS = ("id", "tags", "status")
"""Columns that every examples.parquet has."""

_SHOWN = 5
_LONGEST_NAME = 120
_LONGEST_MODEL = 60

_UNSAFE = re.compile(r"[^\w.=,+ -]+", re.ASCII)
"""Characters that not every file system takes in a name."""


def run_folders(root: Path) -> Iterator[Path]:
    """Yield `<root>/<run>` and `<root>/<dataset>/<run>` by name, also broken runs."""
    for child in _folders(root):
        if is_run(child):
            yield child
        else:
            yield from _folders(child)


def _folders(root: Path) -> list[Path]:
    try:
        children = sorted(root.iterdir(), key=lambda path: path.name)
    except OSError:  # it is not there, is no folder, or may not be read
        return []
    # a hidden folder is one that is still being written, or was left so
    return [path for path in children if path.is_dir() and path.name[0] != "."]


def is_run(folder: Path) -> bool:
    """Tell whether a folder is a run: one that is not whole has no `run.json`."""
    return (folder / RUN_FILE).is_file()


def explain_no_run(path: Path) -> str:
    """Say why a path is no run folder, and which runs it holds."""
    if not path.exists():
        return f"there is no run folder {path}"
    held = [run for run in run_folders(path) if is_run(run)]
    hint = f"; it holds the runs {name_runs(held)}: name one of them" if held else ""
    what = f"holds no {RUN_FILE}" if path.is_dir() else "is a file"
    return f"{path} is no run folder: it {what}{hint}"


def name_runs(runs: Sequence[Path]) -> str:
    """Name the first runs by folder and dataset, and count the rest."""
    return first_of([f"{run.name} ({run.parent.name})" for run in runs], _SHOWN)


def folder_name(name: str) -> str:
    """Return a name of a dataset or metric in a form that every file system takes.

    It is the name itself where that is safe; else its safe characters and a digest.
    """
    safe = _UNSAFE.sub("_", name)
    if safe[:1] in (".", ""):
        safe = f"_{safe[1:]}"
    # some file systems ignore case, or dots and blanks at the end
    is_safe = safe == name == name.lower() == name.rstrip(". ") and "_" not in name
    if is_safe and len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{safe[:_LONGEST_NAME]}-{digest}"


def run_folder_name(record: RunRecord, started: datetime) -> str:
    """Return the name of a run's folder: `<UTC time>-<model>-<8 hex>`."""
    moment = started.astimezone(UTC)
    time = f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03}Z"
    model = str(record.model)[:_LONGEST_MODEL]
    return _UNSAFE.sub("_", f"{time}-{model}-{record.run_id}")


def id_of(folder: Path) -> str:
    """Return the id of a run, with which the name of its folder ends."""
    return folder.name.rpartition("-")[2]


def statistics_file(metric: str) -> str:
    """Name the file of the statistics of a metric, or of what computes columns."""
    return f"{folder_name(metric)}.parquet"


def read_record(folder: Path) -> RunRecord:
    """Read the `run.json` of a run folder."""
    from pydantic import ValidationError

    path = folder / RUN_FILE
    found = _read_object(path)
    try:
        return RunRecord.model_validate(found)
    except ValidationError as error:
        key = str(error.errors(include_url=False)[0]["loc"][0])
        raise _foreign(path, f"{key!r} is {shorten(found.get(key))}") from error


def _read_object(path: Path) -> dict[str, Any]:
    """Read an object of the current format with the keys that every record has."""
    try:
        found = json.loads(read_file(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path}: is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _foreign(path, "it holds no object")
    version = found.get("format")
    if isinstance(version, int) and version != FORMAT_VERSION:
        age = "an older" if version < FORMAT_VERSION else "a newer"
        raise StorageError(
            f"{path}: run of {age} evalkit, expected format {FORMAT_VERSION}, got "
            f"{version}. Evaluate the predictions again"
        )
    for key in _REQUIRED:
        if found.get(key) is None:
            raise _foreign(path, f"{key!r} is None")
    if found.get("components") == []:
        raise _foreign(path, "'components' is []")
    if not found.get("files"):
        raise _foreign(path, "it holds no digests of the files of the run")
    return found


def _foreign(path: Path, why: str) -> StorageError:
    return StorageError(f"{path}: is no record of a run: {why}")


def read_file(path: Path, expected: FileDigest | None = None) -> bytes:
    """Return the bytes of a regular file, which are those that were compared."""
    if expected is not None and not path.exists():
        raise StorageError(f"{path}: is missing; the run had it when it was written")
    try:
        with regular_file(path) as stream:
            content = stream.read()
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error
    if expected is None:
        return content
    why, found = "", FileDigest.of(content)
    if found.size != expected.size:
        why = f"it has {found.size} bytes, and had {expected.size} when it was written"
    elif found.sha256 != expected.sha256:
        why = f"its SHA-256 is not the one that {RUN_FILE} holds"
    if why:
        raise StorageError(f"{path}: is damaged or was changed: {why}")
    return content


def read_table(
    path: Path,
    columns: Sequence[str] | Mapping[str, str],
    expected: FileDigest | None = None,
) -> pl.DataFrame:
    """Read a table of a run folder."""
    import polars as pl

    content = read_file(path, expected)
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise StorageError(f"{path}: is no Parquet file: {reason}") from error
    why = [f"it has no column {name!r}" for name in columns if name not in frame]
    for name, kind in columns.items() if isinstance(columns, Mapping) else ():
        if name in frame and str(found := frame[name].dtype) != kind:
            why.append(f"its column {name!r} is of the type {found}, not {kind}")
    if why:
        raise StorageError(f"{path}: is not what evalkit writes: {why[0]}")
    return frame


def read_problems(folder: Path, expected: FileDigest | None = None) -> Problems:
    """Read the `problems.jsonl` of a run folder; many problems stay on disk."""
    return Problems(_iterate_problems(folder / PROBLEMS_FILE, expected))


def _iterate_problems(path: Path, expected: FileDigest | None) -> Iterator[Problem]:
    number = 0
    try:
        for line in io.BytesIO(read_file(path, expected)):
            number += 1
            yield _problem(json.loads(line))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StorageError(
            f"{path}, line {number}: is no record of a problem: {error!r}"
        ) from error


def _problem(row: Any) -> Problem:
    if row["status"] not in (*STATUSES, NOT_SCORED, FAILED):
        raise ValueError(f"unknown status {row['status']!r}")
    if not isinstance(row["line"], int | None):
        raise TypeError(f"the line is {row['line']!r}")
    violations = tuple(
        Violation(found["field"], found["rule"], found["value"])
        for found in row["violations"]
    )
    newer = {name: row[name] for name in Problem._field_defaults if name in row}
    return Problem(row["status"], row["line"], row["id"], violations, **newer)


def find_damage(folder: Path) -> list[str]:
    """Check every file of a run folder against what was written.

    Args:
        folder: The run folder.

    Returns:
        What is wrong, a sentence for each file; empty where all is as it was written.
    """
    folder, found = whole_run(folder), list[str]()
    try:
        record = read_record(folder)
    except StorageError as error:
        return [str(error)]
    for name, expected in record.files.items():
        try:
            if name.startswith("/") or ".." in name.split("/"):
                raise StorageError(
                    f"{folder / RUN_FILE}: names a file elsewhere: {shorten(name)}"
                )
            read_file(folder / name, expected)
        except StorageError as error:
            found.append(str(error))
    return found


class RunContents(NamedTuple):
    """What a run folder holds."""

    record: RunRecord
    headline: Score | None
    problems: Iterable[Problem]
    tables: Mapping[str, pl.DataFrame]
    """All tables, by their path in the folder."""
    files: Mapping[str, str | Path] = {}
    """Paths and URIs of files that were written before, by their path in the folder."""


def publish(run: RunContents, root: str | Path) -> tuple[Path, RunRecord]:
    """Write a run into a folder of its own, below a folder or the URI of one.

    Returns:
        The run folder, and the record as it was written.

    Raises:
        StorageError: It cannot be written; nothing that passes for a run is left.
    """
    dataset = folder_name(str(run.record.dataset))
    names = _names(run.record)
    if is_remote(str(root)):
        return _publish_there(run, join(uri_of(root), dataset), names)
    parent = Path(root) / dataset
    final = parent / next(names)
    with _storage_errors(f"the run {final} cannot be written"), _staging(final) as here:
        record = _write(run, here)
        while not _renamed(here, final):
            final = parent / next(names)
    return final, record


def _publish_there(
    run: RunContents, parent: str, names: Iterator[str]
) -> tuple[Path, RunRecord]:
    with TemporaryDirectory(prefix="evalkit-run-") as name:
        with _storage_errors(f"{name}: the run cannot be put together"):
            record = _write(run, Path(name))
        place = join(parent, next(names))
        while not _sent(Path(name), place, record):
            place = join(parent, next(names))
    return runs_root(place), record


def _names(record: RunRecord) -> Iterator[str]:
    """Yield names for a run's folder, each a millisecond later than the one before."""
    timings = record.timings
    now = datetime.now(UTC)
    started = now if timings is None else datetime.fromisoformat(timings.started)
    while True:
        yield run_folder_name(record, started)
        started += timedelta(milliseconds=1)


@contextmanager
def _storage_errors(what: str) -> Iterator[None]:
    from polars.exceptions import PolarsError

    try:
        yield
    except (OSError, PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{what}: {reason}") from error


@contextmanager
def _staging(final: Path) -> Iterator[Path]:
    staging = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.partial")
    try:
        make_folder(staging)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _renamed(folder: Path, final: Path) -> bool:
    """Rename a folder, unless something is there already."""
    try:
        folder.rename(final)
        sync_folder(final.parent)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def _sent(folder: Path, place: str, record: RunRecord) -> bool:
    """Send a run folder to a place, unless a run is there already."""
    try:
        if not exists(join(place, RUN_FILE)):
            send_files(folder, place, record)
            return True
    except ObjectExistsError:  # another process wrote a run of this name meanwhile
        pass
    return False


def send_files(folder: Path, place: str, record: RunRecord) -> None:
    """Write the files of a run folder to a place, `run.json` last."""
    for name in (*record.files, RUN_FILE):
        put(folder / name, join(place, name))


def _write(run: RunContents, folder: Path) -> RunRecord:
    """Write the files of a run into an empty folder, `run.json` last."""
    for name in (*run.tables, *run.files):
        make_folder((folder / name).parent)
    with ThreadPoolExecutor(2, "evalkit-writer") as threads:
        waiting = {
            name: threads.submit(write_parquet, frame, folder / name)
            for name, frame in run.tables.items()
        }
        for name, file in run.files.items():
            waiting[name] = threads.submit(_copy_file, file, folder / name)
        lines = map(problem_line, run.problems)
        problems = write_file(folder / PROBLEMS_FILE, map(_encoded, lines))
        files = {name: future.result() for name, future in waiting.items()}
    files[PROBLEMS_FILE] = problems
    record = run.record.changed(
        files=dict(sorted(files.items())), headline_score=run.headline
    )
    write_file(folder / RUN_FILE, [_encoded(_json(record.to_dict(), indent=2) + "\n")])
    for parent in dict.fromkeys((folder / name).parent for name in (*files, RUN_FILE)):
        sync_folder(parent)
    return record


def _encoded(text: str) -> bytes:
    """Encode JSON; half a surrogate pair, as in a file name, is escaped."""
    return text.encode("utf-8", "backslashreplace")


def _json(value: Any, indent: int | None = None) -> str:
    return dumps(value, ensure_ascii=False, indent=indent, allow_nan=False, default=str)


def write_file(path: Path, chunks: Iterable[bytes | memoryview]) -> FileDigest:
    """Write a new file, through no symlink, that is there after a loss of power."""
    size, sha256 = write_synced(path, chunks)
    return FileDigest(size=size, sha256=sha256)


def _copy_file(source: str | Path, path: Path) -> FileDigest:
    with (
        _storage_errors(f"{source}: cannot be copied into the run"),
        regular_file(local(source)) as stream,
    ):
        return write_file(path, iter(partial(stream.read, 1 << 22), b""))


def write_parquet(frame: pl.DataFrame, path: Path) -> FileDigest:
    """Write a table; raise OSError with the system's reason, which polars loses."""
    packed = io.BytesIO()
    # nobody filters these files by statistics, and level 1 packs as well as 3
    frame.write_parquet(packed, compression_level=1, statistics=False)
    return write_file(path, [packed.getbuffer()])


def problem_line(problem: Problem) -> str:
    """Return the line of `problems.jsonl` that a problem is written as."""
    row = problem._asdict()
    for name in ("replication", "metric", "reason"):
        if row[name] is None:
            del row[name]
    row["violations"] = [
        {**found._asdict(), "value": json_value(found.value)}
        for found in problem.violations
    ]
    return _json(row) + "\n"


_SCHEME_ALONE = re.compile(r"[a-z][a-z0-9+.-]*:")


def send_run(folder: Path, root: str, *, dry_run: bool = False) -> tuple[str, bool]:
    """Copy a run folder to a place, or to another folder of runs.

    Args:
        folder: The run folder.
        root: Path or URI of the folder that is to hold runs.
        dry_run: Look only, and write nothing.

    Returns:
        Where the run is, and whether it was written now; else it was there already.

    Raises:
        StorageError: It is no run, is damaged, cannot be written, or another
            evaluation of it is there.
    """
    folder = whole_run(runs_root(folder))
    record = read_record(folder)
    refuse_offline(root)
    damage = find_damage(folder)
    if damage:
        raise StorageError(f"{folder}: is damaged: {damage[0]}")
    place = join(root, folder_name(str(record.dataset)), folder.name)
    if not exists(join(place, RUN_FILE)):
        if not dry_run:
            check_place(root)
            send_files(folder, place, record)
        return place, True
    there = whole_run(runs_root(place))
    if (there / RUN_FILE).read_bytes() != (folder / RUN_FILE).read_bytes():
        raise StorageError(f"{place}: holds another run, which is kept")
    return place, False


def check_place(out: str | Path | None) -> None:
    """Refuse a place for runs that no plugin writes to, before anything is computed."""
    if out is None:
        return
    if _SCHEME_ALONE.fullmatch(str(out)):  # `s3://` as a path
        raise StorageError(f"{out}//: names no bucket: write {out}//BUCKET/FOLDER")
    if is_remote(str(out)):
        uri = uri_of(out).rstrip("/")
        refuse_offline(uri)
        try:
            refuse_present(uri, overwrite=False)
        except ObjectExistsError as error:
            raise StorageError(
                f"{uri}: is a file; runs are written to a folder"
            ) from error


def runs_root(folder: str | Path) -> Path:
    """Return a folder of runs; of a URI, the records are fetched."""
    if isinstance(folder, Path) and _SCHEME_ALONE.fullmatch(str(folder)):
        raise StorageError(f"{folder}//: names no bucket: write {folder}//BUCKET")
    if isinstance(folder, FetchedPath) or not is_remote(str(folder)):
        return folder if isinstance(folder, Path) else Path(folder)
    uri = uri_of(folder).rstrip("/").removesuffix(f"/{RUN_FILE}")
    found = local_folder(uri, lambda name: name.rpartition("/")[2] == RUN_FILE)
    return found or nothing_at(uri)


def whole_run(folder: Path) -> Path:
    """Return a run folder that holds all files, also where it is in a store."""
    if not isinstance(folder, FetchedPath):
        return folder
    return local_folder(folder.uri) or folder
