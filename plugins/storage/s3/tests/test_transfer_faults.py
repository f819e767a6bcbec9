"""Transfers through a proxy that cuts, stalls and throttles."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import NONE, Fault, FaultProxy
from s3_servers import Server

import evalkit
from evalkit.errors import StorageError, TransferError
from evalkit.runs import list_runs
from evalkit.storage import (
    ALWAYS,
    IF_ABSENT,
    fetch_file,
    forget_stores,
    if_match,
    send_file,
)
from evalkit_storage_s3 import clients, uploads
from evalkit_storage_s3.store import S3Store

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("seaweedfs")]

PART = 5 << 20


@pytest.fixture(scope="session")
def direct(seaweed: Server) -> Any:
    """Give a client that goes past the proxy."""
    return seaweed.client()


@pytest.fixture
def proxy(seaweed: Server) -> Any:
    made = FaultProxy(seaweed.port)
    yield made
    made.close()


@pytest.fixture
def endpoint(proxy: FaultProxy) -> str:
    return proxy.endpoint


@pytest.fixture(autouse=True)
def _quick(
    request: pytest.FixtureRequest, configured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = getattr(request.node, "callspec", None)
    fault = given.params.get("fault", NONE) if given else NONE
    monkeypatch.setattr("evalkit.storage.transfers._FIRST_WAIT", 0.001)
    monkeypatch.setattr(uploads, "PART_BYTES", PART)
    monkeypatch.setattr("evalkit.storage.transfers.PART_BYTES", PART)
    silence = 0.5 if fault.stall > 1 else 20.0  # a busy machine is silent for seconds
    monkeypatch.setattr(clients, "_SILENCE_SECONDS", silence)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "3")


@pytest.fixture
def large(bucket: str, direct: Any) -> tuple[str, bytes]:
    content = os.urandom(3 * PART + 7)
    direct.put_object(Bucket=bucket, Key="large.bin", Body=content)
    return f"s3://{bucket}/large.bin", content


def fetched(uri: str) -> bytes:
    found = fetch_file(uri)
    assert found is not None
    return found.read_bytes()


def some(method: str, fault: Fault, times: int, part: str = "") -> Callable[..., Fault]:
    """Plan a fault for the first requests of a method."""
    left = [times]

    def plan(asked: str, path: str) -> Fault:
        if asked != method or part not in path or left[0] == 0:
            return NONE
        left[0] -= 1
        return fault

    return plan


@pytest.mark.parametrize(
    ("fault", "times", "requests"),
    [
        (Fault(cut_answer=2_000_000), 6, 8),
        (Fault(cut_answer=100), 2, 6),  # within the head of the answer
        (Fault(stall=1.5), 2, 6),
        (Fault(stall=0.1), 4, 4),
        (Fault(answer=(503, "SlowDown")), 2, 6),
        (Fault(answer=(500, "InternalError")), 2, 6),
    ],
)
def test_reads_get_over_faults_that_pass(
    large: tuple[str, bytes],
    proxy: FaultProxy,
    fault: Fault,
    times: int,
    requests: int,
) -> None:
    uri, content = large
    proxy.plan = some("GET", fault, times)
    assert fetched(uri) == content
    assert proxy.count("GET") >= requests


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(stall=1.5), r"connection was lost.*tried 6 times\. What has come"),
        (Fault(cut_answer=0), r"connection was lost or never made.*What has come is"),
        (Fault(answer=(503, "SlowDown")), r"busy or failing \(SlowDown\).*What has c"),
        (Fault(answer=(403, "AccessDenied")), "access is denied"),
        (Fault(answer=(400, "ExpiredToken")), "have expired: log in again"),
    ],
)
def test_reads_end_when_faults_do_not(
    large: tuple[str, bytes], proxy: FaultProxy, fault: Fault, message: str
) -> None:
    uri, content = large
    parts = []

    def plan(method: str, path: str) -> Fault:
        parts.append(method)
        # the first range comes
        return fault if method == "GET" and parts.count("GET") > 1 else NONE

    proxy.plan = plan
    with pytest.raises(StorageError, match=f"{uri}: cannot be read: .*{message}"):
        fetch_file(uri)
    assert proxy.count("GET") <= 1 + 3 * 6
    proxy.plan = lambda method, path: NONE
    before = proxy.count("GET")
    assert fetched(uri) == content
    assert proxy.count("GET") - before <= 8


def uploads_of(direct: Any, bucket: str) -> Any:
    return direct.list_multipart_uploads(Bucket=bucket).get("Uploads", [])


@pytest.fixture(params=[1000, 2 * PART + 1], ids=["small", "in parts"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(request.param))
    return path


@pytest.mark.parametrize(
    "fault",
    [
        Fault(cut_request=500),
        Fault(cut_answer=0),  # it is written, and nobody knows
        Fault(answer=(503, "SlowDown")),
        Fault(stall=1.5, cut_answer=0),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_writes_get_over_faults_that_pass(
    store: S3Store,
    bucket: str,
    proxy: FaultProxy,
    direct: Any,
    file: Path,
    fault: Fault,
    method: str,
) -> None:
    uri = f"s3://{bucket}/k"
    proxy.plan = some(method, fault, 2)
    first = store.put(file, uri, IF_ABSENT, sha256="0" * 64)
    assert direct.get_object(Bucket=bucket, Key="k")["Body"].read() == file.read_bytes()
    found = store.stat(uri)
    assert found is not None
    assert found.etag == first.etag
    proxy.plan = some(method, fault, 2)
    file.write_bytes(file.read_bytes()[::-1])
    store.put(file, uri, if_match(first))
    assert direct.get_object(Bucket=bucket, Key="k")["Body"].read() == file.read_bytes()
    proxy.plan = lambda method, path: NONE
    with pytest.raises(StorageError, match="is there already"):
        store.put(file, uri, IF_ABSENT)
    # an upload that was begun twice, as the answer was lost, cannot be known of
    lost = 0 if fault.cut_answer is None or method == "PUT" else 2
    assert len(uploads_of(direct, bucket)) <= 2 * lost


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(cut_request=300), "connection was lost or never made"),
        (Fault(answer=(503, "SlowDown")), r"is busy or failing \(SlowDown\)"),
        (Fault(answer=(403, "AccessDenied")), "access is denied"),
        (Fault(answer=(507, "InsufficientStorage")), "no room left"),
    ],
)
@pytest.mark.parametrize("part", ["k", "partNumber=2", "uploadId"])
def test_nothing_is_left_of_writes_that_fail(
    store: S3Store,
    bucket: str,
    proxy: FaultProxy,
    direct: Any,
    tmp_path: Path,
    fault: Fault,
    message: str,
    part: str,
) -> None:
    file, uri = tmp_path / "file", f"s3://{bucket}/k"
    file.write_bytes(os.urandom(2 * PART + 1 if part != "k" else 1000))

    def plan(method: str, path: str) -> Fault:
        completes = part == "uploadId" and method == "POST"
        sends = part != "uploadId" and method == "PUT"
        return fault if (completes or sends) and part in path else NONE

    proxy.plan = plan
    with pytest.raises(StorageError, match=f"{uri}: cannot be written: .*{message}"):
        store.put(file, uri, ALWAYS)
    assert not direct.list_objects_v2(Bucket=bucket).get("Contents")
    assert not uploads_of(direct, bucket)


def test_a_file_that_could_not_be_sent_is_sent_next_time(
    bucket: str, proxy: FaultProxy, direct: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"content")
    proxy.plan = some("PUT", Fault(cut_request=3), 3)
    with pytest.raises(TransferError, match="connection was lost"):
        send_file(tmp_path / "file", f"s3://{bucket}/k", overwrite=False)
    send_file(tmp_path / "file", f"s3://{bucket}/k", overwrite=False)
    assert direct.get_object(Bucket=bucket, Key="k")["Body"].read() == b"content"


def test_runs_are_whole_whatever_request_fails(
    bucket: str,
    proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    forget_stores()
    rows = [{"uid": str(n), "statement": "t", "label": "neutral"} for n in range(5)]
    answers = [{"id": str(n), "label": "neutral"} for n in range(5)]

    def evaluate() -> evalkit.Result:
        return evalkit.evaluate(
            rows, answers, task="sentiment", model="m", out=f"s3://{bucket}/runs"
        )

    number = 0
    while True:
        proxy.requests.clear()

        def plan(method: str, path: str, number: int = number) -> Fault:
            is_hit = len(proxy.requests) > number
            return Fault(answer=(503, "SlowDown")) if is_hit else NONE

        proxy.plan = plan
        try:
            result = evaluate()
            break
        except StorageError as error:
            assert "is busy or failing" in str(error)  # noqa: PT017
        proxy.plan = lambda method, path: NONE
        for run in list_runs(f"s3://{bucket}/runs"):
            evalkit.read_run(f"s3://{bucket}/runs/{run.dataset}/{run.path.name}")
        number += 1
    assert number > 5
    proxy.plan = lambda method, path: NONE
    assert evalkit.read_run(str(result.path)).scores == result.scores
