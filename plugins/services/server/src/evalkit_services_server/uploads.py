"""Predictions that are uploaded: received, unpacked and checked line by line.

A thread pulls the bytes as it needs them, so that what arrives faster waits in the
network, and a file never is in memory.
"""

from __future__ import annotations

import codecs
import hashlib
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from gzip import GzipFile
from io import BufferedReader, RawIOBase
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any

import anyio
import pyarrow
from anyio import from_thread, to_thread
from fastapi import Depends
from pydantic import ValidationError
from pydantic_core import from_json
from sqlalchemy import Connection, Engine, select
from starlette.requests import Request
from starlette.types import Message

from evalkit import Violation
from evalkit.catalog import Bound, BoundTask, Registry, Resolver
from evalkit.errors import EvalkitError
from evalkit.places import join, put
from evalkit.reporting import count_of, from_pydantic
from evalkit_services_server import access, requests
from evalkit_services_server.access import Principal, RequestError, spend
from evalkit_services_server.database import now, writing
from evalkit_services_server.datasets import stored_dataset
from evalkit_services_server.listings import one, visible_datasets
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import DATASET, MODEL, SUBMISSION

LARGEST_UPLOAD = 1 << 30
"""Bytes of a file of predictions, unpacked."""

LARGEST_FORM = LARGEST_UPLOAD + (1 << 16)
"""Bytes of a request with a file."""

LONGEST_LINE = 4 << 20
"""Bytes of a line of predictions."""

MOST_PROBLEMS = 100
"""Problems after which the rest of a file is not read."""

MOST_BLANK = 100_000
"""Blank lines that are skipped."""

MOST_UPLOADS, MOST_OF_ACCOUNT = 32, 4
"""Uploads at once, of which further ones wait, and those of one account."""

SILENCE, LONGEST_TIME = 60.0, 3600.0
"""Seconds that an upload may say nothing, and that it may take."""

in_thread = partial(to_thread.run_sync, limiter=anyio.CapacityLimiter(MOST_UPLOADS))
"""Runs `submit` beside the requests of others."""

_OF_ACCOUNTS = Counter[int]()
_PART = 1 << 20
_LONGEST_VALUE = 200
_ID_KEYS = ("id", "uid", "_index_")
_BESIDE = ("uid", "_index_", "_replication_", "finish_reason", "thinking")
"""Fields beside the id that a task need not declare."""

_OTHER_SHAPES = ("error", "responses")
"""Fields of rows that an evaluation reads otherwise than as one `Output`."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

CheckRow = Callable[[dict[str, Any]], Sequence[Violation]]
"""Gives what a row breaks."""


async def upload(
    request: Request, asking: Annotated[Principal, Depends(access.principal)]
) -> AsyncIterator[Request]:
    """Give a request whose body must arrive in time; a dependency of routes."""
    access.require(asking, "submit")
    account, end = asking.account_id, anyio.current_time() + LONGEST_TIME
    if _OF_ACCOUNTS[account] >= MOST_OF_ACCOUNT:
        reason = f"{MOST_OF_ACCOUNT} uploads of {asking.name} are under way"
        raise RequestError(reason, 429)

    async def receive() -> Message:
        try:
            with anyio.fail_after(min(SILENCE, end - anyio.current_time())):
                message = await request.receive()
        except TimeoutError:
            raise RequestError("the upload was too slow, or silent", 408) from None
        if message["type"] == "http.disconnect":
            raise RequestError("the upload ended early", 400)
        return message

    _OF_ACCOUNTS[account] += 1
    try:
        yield Request(request.scope, receive)
    finally:
        _OF_ACCOUNTS[account] -= 1


class Body(RawIOBase):
    """The body of a request as a file that another thread reads."""

    def __init__(self, request: Request) -> None:
        self._parts, self._rest = request.stream(), b""

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has arrived, or wait for more."""
        part = self._rest or from_thread.run(anext, self._parts, b"")
        view = memoryview(buffer)
        size = min(len(part), len(view))
        view[:size] = part[:size]
        self._rest = part[size:]
        return size


def submit(
    engine: Engine,
    settings: Settings,
    asking: Principal,
    model_id: int,
    dataset_id: int,
    file: Any,
) -> int:
    """Receive predictions, request their evaluation, and return the submission."""
    with writing(engine) as connection:
        dataset = _accept(connection, settings, asking, model_id, dataset_id)
        # refused before it arrives; the quota is spent when it has
        connection.rollback()
    check = _row_check(settings, dataset)
    with NamedTemporaryFile(prefix="evalkit-upload-", suffix=".jsonl") as kept:
        sha256, size = receive(file, Path(kept.name), check)
        uri = join(settings.store, f"predictions/{sha256}.jsonl")
        put(Path(kept.name), uri)
    with writing(engine) as connection:
        _accept(connection, settings, asking, model_id, dataset_id)
        row = {"model_id": model_id, "dataset_id": dataset_id, "uri": uri}
        row |= {"sha256": sha256, "size": size, "received": now(connection)}
        made = SUBMISSION.insert().values(row).returning(SUBMISSION.c.id)
        key: int = connection.execute(made).scalar_one()
        requests.request(connection, model_id, dataset_id, key)
    return key


def _accept(
    connection: Connection,
    settings: Settings,
    asking: Principal,
    model_id: int,
    dataset_id: int,
) -> dict[str, Any]:
    """Return the dataset that predictions are for, and count them; or refuse them."""
    what = f"model {model_id}"
    model = one(connection, select(MODEL).where(MODEL.c.id == model_id), what)
    if not asking.owns(model["account_id"]):
        raise RequestError(f"{what}: not found", 404)
    query = visible_datasets(asking).where(DATASET.c.id == dataset_id)
    dataset = one(connection, query, f"dataset {dataset_id}")
    state, access = dataset["round_state"], dataset["access"]
    reasons = {
        "the model is of another task": dataset["task_id"] != model["task_id"],
        "the server asks this model itself": model["endpoint"] is not None,
        "its inputs are private, so only models that the host trusts are asked": (
            access == "inputs-private"
        ),
        f"its round is {state}": state not in (None, "open"),
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        where = f"{dataset['name']}: no predictions of {model['name']} are taken"
        raise RequestError(f"{where}: {reason}", 409)
    account, most = asking.account_id, settings.private_submissions_a_day
    spend(connection, account, "submissions", settings.submissions_a_day)
    if access != "open":
        spend(connection, account, f"submissions to dataset {dataset_id}", most)
    return dataset


def _row_check(settings: Settings, dataset: Mapping[str, Any]) -> CheckRow:
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
        return lambda _row: []
    if any(x.has("adapt_response") or x.attributes.get("extract") for x in own):
        return lambda _row: []
    has_own_labels = any(getattr(each, "labels", None) for each in own[1:])
    labels = None if has_own_labels else task.labels
    fields = task.Output.model_fields
    declared = {*fields, *(each.validation_alias for each in fields.values())}
    undeclared = {name for name in _BESIDE if name not in declared}

    def check(row: dict[str, Any]) -> Sequence[Violation]:
        if any(name in row for name in _OTHER_SHAPES):
            return ()
        output = {name: row[name] for name in row if name not in undeclared}
        try:
            task.validate_output(output, labels)
        except ValidationError as error:
            if (count := error.error_count()) > MOST_PROBLEMS:
                return [Violation("(row)", f"has {count:,} problems")]
            return from_pydantic(error)
        return ()

    return check


def receive(file: Any, path: Path, check: CheckRow) -> tuple[str, int]:
    """Unpack, check and write predictions; return their SHA-256 and size."""
    problems, digest, size, rows = list[dict[str, Any]](), hashlib.sha256(), 0, 0
    try:
        with path.open("wb") as kept:
            for number, line in _lines(file):
                digest.update(line)
                kept.write(line)
                size += len(line)
                rows += not line.isspace()
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                for field, rule, value in _problems(line, check):
                    text = None if value is None else repr(value)[:_LONGEST_VALUE]
                    problem = {"line": number, "field": field, "rule": rule}
                    problems.append({**problem, "value": text})
                if len(problems) >= MOST_PROBLEMS:
                    break
    except (EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise RequestError(f"compressed data is corrupt: {error}") from None
    if not rows:
        raise RequestError("file is empty, expected a prediction on each line")
    if problems:
        have = "have at least" if len(problems) >= MOST_PROBLEMS else "have"
        message = f"predictions {have} {count_of(len(problems), 'problem')}"
        raise RequestError(message, problems=problems[:MOST_PROBLEMS])
    return digest.hexdigest(), size


def _lines(file: Any) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; refuse what is too large."""
    stream, size, blank = _unpacked(file), 0, 0
    lines = iter(lambda: stream.readline(LONGEST_LINE + 1), b"")
    for number, line in enumerate(lines, 1):
        size += len(line)
        blank += line.isspace()
        if size > LARGEST_UPLOAD:
            raise RequestError(f"file exceeds {LARGEST_UPLOAD:,} bytes, unpacked", 413)
        if len(line) > LONGEST_LINE:
            raise RequestError(f"line {number}: exceeds {LONGEST_LINE:,} bytes", 413)
        if blank > MOST_BLANK:
            raise RequestError(f"more than {MOST_BLANK:,} blank lines")
        yield number, line


def _unpacked(file: Any) -> Any:
    stream: Any = BufferedReader(file, _PART)
    magic = stream.peek(4)[:4]
    if magic.startswith(_GZIP):
        return GzipFile(fileobj=stream)
    if magic == _ZSTD:
        return BufferedReader(pyarrow.CompressedInputStream(stream, "zstd"), _PART)
    return stream


def _problems(line: bytes, check: CheckRow) -> Sequence[Violation]:
    if line.isspace():
        return ()
    try:
        row = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        where = str(error).replace("at line 1 column", "at column")
        return [Violation("(row)", f"invalid JSON: {where}")]
    if not isinstance(row, dict):
        return [Violation("(row)", "must be a JSON object", row)]
    key = next((key for key in _ID_KEYS if key in row), None)
    if key is None:
        return [Violation("id", "is required")]
    uid = row[key]
    if uid == "" or isinstance(uid, bool) or not isinstance(uid, str | int):
        return [Violation(key, "must be a non-empty text or an integer", uid)]
    return check({**row, "id": str(uid)})
