"""Predictions that are uploaded: received, unpacked and checked line by line.

A thread pulls the bytes as it needs them, so that what arrives faster waits in the
network, and a file never is in memory.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from gzip import GzipFile
from io import BufferedReader, RawIOBase
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import time
from typing import Any, NamedTuple

import anyio
import pyarrow
from anyio import from_thread, to_thread
from pydantic import ValidationError
from pydantic_core import from_json
from sqlalchemy import Connection, Engine, RowMapping, select
from starlette.requests import ClientDisconnect

from evalkit.catalog import Bound, BoundTask, Registry, Resolver
from evalkit.errors import EvalkitError
from evalkit.places import join, put
from evalkit.reporting import count_of
from evalkit_services_server import requests
from evalkit_services_server.access import (
    NotFoundError,
    Principal,
    RequestError,
    UnusableError,
    require,
)
from evalkit_services_server.database import now, writing
from evalkit_services_server.datasets import stored_dataset
from evalkit_services_server.limits import spend
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import DATASET, MODEL, ROUND, SUBMISSION, TASK

UNLIMITED = 1 << 40
"""Size of a request by HTTP; the file in it has a limit of its own."""

MOST_PROBLEMS = 100
"""Problems after which the rest of a file is not read."""

MOST_BLANK = 100_000
"""Blank lines that are skipped."""

MOST_UPLOADS = 32
"""Uploads at once; further ones wait."""

SILENCE = 60.0
"""Seconds that an upload may say nothing."""

INCOMING = "incoming"
_UPLOADS = anyio.CapacityLimiter(MOST_UPLOADS)
_PART = 1 << 20
_ID_KEYS = ("id", "uid", "_index_")
_BESIDE = (*_ID_KEYS, "_replication_", "finish_reason", "thinking")
"""Fields that a task need not declare."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_OTHER_SHAPES = ("error", "responses")
"""Fields of rows that an evaluation reads otherwise than as one `Output`."""

CheckRow = Callable[[dict[str, Any]], Iterator[tuple[str, str, Any]]]
"""Gives the field, rule and value of what a row breaks."""


class TooLargeError(RequestError):
    """What is uploaded exceeds a limit of size."""

    status = 413


class Received(NamedTuple):
    """What is known of a file of predictions that was received."""

    sha256: str
    size: int


async def submit(
    engine: Engine,
    settings: Settings,
    principal: Principal,
    model_id: int,
    dataset_id: int,
    parts: AsyncIterator[bytes],
) -> int:
    """Receive the predictions of a model for a dataset, and request their evaluation.

    Args:
        engine: The database.
        settings: Limits, and the store.
        principal: Who submits; they need the scope `submit`.
        model_id: An uploaded model of theirs.
        dataset_id: A dataset of its task.
        parts: The file, as JSON lines: plain, gzip or Zstandard.

    Returns:
        Id of the submission.

    Raises:
        RequestError: It is refused; problems are named by their lines.
    """
    require(principal, "submit")

    def prepare() -> CheckRow:
        with writing(engine) as connection:
            dataset = _find(connection, principal, model_id, dataset_id)
            # refused before it arrives; the quota is spent when it has
            _spend(connection, settings, principal.own_id, dataset)
            connection.rollback()
        return _row_check(settings, dataset)

    def receive_and_record() -> int:
        with NamedTemporaryFile(dir=folder, suffix=".jsonl") as file:
            path = Path(file.name)
            found = receive(stream, path, check, settings)
            uri = join(settings.store, f"predictions/{found.sha256}.jsonl")
            put(path, uri)
        with writing(engine) as connection:
            dataset = _find(connection, principal, model_id, dataset_id)
            _spend(connection, settings, principal.own_id, dataset)
            row = {"model_id": model_id, "dataset_id": dataset_id, "uri": uri}
            row |= {**found._asdict(), "received": now(connection)}
            made = SUBMISSION.insert().values(row).returning(SUBMISSION.c.id)
            key: int = connection.execute(made).scalar_one()
            requests.request(connection, model_id, dataset_id, key)
        return key

    async def next_part() -> bytes:
        try:
            with anyio.fail_after(SILENCE):
                return await anext(parts, b"")
        except TimeoutError:
            raise RequestError(f"nothing arrived for {SILENCE:g} s", 408) from None
        except ClientDisconnect:
            raise RequestError("the upload ended early") from None

    folder = settings.working_folder / INCOMING
    folder.mkdir(parents=True, exist_ok=True)
    check = await to_thread.run_sync(prepare)
    stream = _Parts(lambda: from_thread.run(next_part), settings.largest_upload)
    return await to_thread.run_sync(receive_and_record, limiter=_UPLOADS)


def sweep(settings: Settings) -> None:
    """Remove what was being received when the server ended."""
    for path in settings.working_folder.glob(f"{INCOMING}/*"):
        if time() - path.stat().st_mtime > 2 * SILENCE:
            path.unlink(missing_ok=True)


def _find(
    connection: Connection, principal: Principal, model_id: int, dataset_id: int
) -> RowMapping:
    """Return the dataset that predictions are for; refuse what takes none."""
    query = select(MODEL).where(MODEL.c.id == model_id)
    model = connection.execute(query).first()
    if model is None or not principal.owns(model.account_id):
        raise NotFoundError(f"model {model_id}: not found")
    joined = DATASET.join(TASK).outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
    query = select(DATASET, TASK.c.component, ROUND.c.state).select_from(joined)
    found = connection.execute(query.where(DATASET.c.id == dataset_id)).mappings()
    dataset = found.first()
    is_hidden = dataset is not None and dataset["board"] == "hidden"
    if dataset is None or (is_hidden and not principal.is_administrator):
        raise NotFoundError(f"dataset {dataset_id}: not found")
    reasons = {
        "the model is of another task": dataset["task_id"] != model.task_id,
        "the server asks this model itself": model.endpoint is not None,
        "its inputs are private, so only models that the host trusts are asked": (
            dataset["access"] == "inputs-private"
        ),
        f"its round is {dataset['state']}": dataset["state"] not in (None, "open"),
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        where = f"{dataset['name']}: no predictions of {model.name} are taken"
        raise RequestError(f"{where}: {reason}", 409)
    return dataset


def _spend(
    connection: Connection, settings: Settings, account: int, dataset: RowMapping
) -> None:
    spend(connection, account, "submissions", settings.submissions_a_day)
    if dataset["access"] != "open":
        subject = f"submissions to dataset {dataset['id']}"
        spend(connection, account, subject, settings.private_submissions_a_day)


def _row_check(settings: Settings, dataset: RowMapping) -> CheckRow:
    """Return the check of a row against the task's `Output`, where rows come as such.

    Where a plugin adapts responses first, or cannot be loaded here, the evaluation
    alone checks them.
    """
    resolver = Resolver(Registry())
    try:
        task = BoundTask.of(resolver.bind("tasks", dataset["component"]))
        own: list[Bound] = [task]
        if dataset["perturbation"] is None:
            name, uri = dataset["name"], dataset["uri"]
            own.append(resolver.dataset(stored_dataset(settings, name, uri, name)))
    except EvalkitError:
        return _no_problem
    if any(each.has("adapt_response") or _extracts(each) for each in own):
        return _no_problem
    has_own_labels = any(getattr(each, "labels", None) for each in own[1:])
    labels = None if has_own_labels else task.labels
    fields = task.Output.model_fields
    declared = {*fields, *(each.validation_alias for each in fields.values())}

    def check(row: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
        if any(name in row for name in _OTHER_SHAPES):
            return
        undeclared = {name for name in _BESIDE[1:] if name not in declared}
        row = {name: row[name] for name in row if name not in undeclared}
        try:
            task.validate_output(row, labels)
        except ValidationError as error:
            if (count := error.error_count()) > MOST_PROBLEMS:
                yield "(row)", f"has {count:,} problems", None
                return
            for found in error.errors(include_url=False, include_context=False):
                field = ".".join(map(str, found["loc"])) or "(row)"
                is_missing = found["type"] == "missing"
                rule = "is required" if is_missing else found["msg"]
                yield field, rule, None if is_missing else found["input"]

    return check


def _extracts(bound: Bound) -> bool:
    return bound.attributes.get("extract") is not None


def _no_problem(_row: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    return iter(())


def receive(
    stream: RawIOBase, path: Path, check: CheckRow, settings: Settings
) -> Received:
    """Unpack, check and write a file of predictions.

    Args:
        stream: The file as it arrives.
        path: Where it is written, unpacked.
        check: Gives what a row breaks, beyond what any row must hold.
        settings: Limits of sizes.

    Raises:
        UnusableError: Some lines break rules; it names the first hundred.
        RequestError: The file is too large, or the disk is full.
    """
    lines, problems, digest = _Lines(settings), [], hashlib.sha256()
    try:
        with path.open("wb") as file:
            for line in lines.split(_unpacked(stream)):
                digest.update(line)
                file.write(line)
                if lines.number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                for field, rule, value in _problems(line, check):
                    problem = {"line": lines.number, "field": field, "rule": rule}
                    problems.append({**problem, "value": _shown(value)})
                if len(problems) >= MOST_PROBLEMS:
                    break
    except (EOFError, zlib.error, OSError) as error:
        number = getattr(error, "errno", None)
        if number in (errno.ENOSPC, errno.EDQUOT):
            raise RequestError("the server has no space left", 507) from None
        if number is not None:
            raise
        raise UnusableError(f"compressed data is corrupt: {error}") from None
    if lines.number == lines.blank:
        raise UnusableError("file is empty, expected a prediction on each line")
    if problems:
        is_cut = len(problems) >= MOST_PROBLEMS
        count = count_of(len(problems), "problem")
        have = "have at least" if is_cut else "have"
        message = f"predictions {have} {count}"
        raise UnusableError(message, problems=problems[:MOST_PROBLEMS])
    return Received(digest.hexdigest(), lines.size)


class _Parts(RawIOBase):
    """The parts of a file as a stream that is read."""

    def __init__(self, next_part: Callable[[], bytes], largest: int) -> None:
        self._next, self._rest = next_part, b""
        self._left = largest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._rest
        if not part:
            part = self._next()
            self._left -= len(part)
            if self._left < 0:
                raise TooLargeError("file is too large")
        view = memoryview(buffer)
        size = min(len(part), len(view))
        view[:size] = part[:size]
        self._rest = part[size:]
        return size


def _unpacked(raw: RawIOBase) -> Iterator[bytes]:
    stream: Any = BufferedReader(raw, _PART)
    magic = stream.peek(4)[:4]
    if magic.startswith(_GZIP):
        stream = GzipFile(fileobj=stream)
    elif magic == _ZSTD:
        stream = pyarrow.CompressedInputStream(stream, "zstd")
    while part := stream.read(_PART):
        yield part


class _Lines:
    """Splits bytes into lines of limited length and number of bytes."""

    def __init__(self, settings: Settings) -> None:
        self._largest, self._longest = settings.largest_upload, settings.longest_line
        self.size = self.number = self.blank = 0

    def split(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        rest = b""
        for part in parts:
            self.size += len(part)
            if self.size > self._largest:
                raise TooLargeError(f"file exceeds {self._largest:,} bytes, unpacked")
            *lines, rest = (rest + part).split(b"\n")
            yield from (self._counted(line) + b"\n" for line in lines)
            if len(rest) > self._longest:
                self._counted(rest)
        if rest:
            yield self._counted(rest)

    def _counted(self, line: bytes) -> bytes:
        self.number += 1
        if len(line) > self._longest:
            raise TooLargeError(f"line {self.number}: exceeds {self._longest:,} bytes")
        if not line.strip():
            self.blank += 1
            if self.blank > MOST_BLANK:
                raise UnusableError(f"more than {MOST_BLANK:,} blank lines")
        return line


def _problems(line: bytes, check: CheckRow) -> Iterator[tuple[str, str, Any]]:
    if not line.strip():
        return
    try:
        row = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        yield "(row)", f"invalid JSON: {error}", None
        return
    if not isinstance(row, dict):
        yield "(row)", "must be a JSON object", row
        return
    key = next((key for key in _ID_KEYS if key in row), None)
    uid = row.get(key) if key else None
    if key is None:
        yield "id", "is required", None
    elif uid == "" or isinstance(uid, bool) or not isinstance(uid, str | int):
        yield key, "must be a non-empty text or an integer", uid
    else:
        yield from check({**row, "id": str(uid)})


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:100]} … {text[-100:]}"
