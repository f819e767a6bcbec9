"""Transfers through a proxy that cuts, stalls and throttles."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import NONE, Fault, FaultProxy
from s3_servers import Server

import evalkit
from evalkit.errors import StorageError
from evalkit.places import forget_places, local_file, put
from evalkit.runs import list_runs
from evalkit_storage_s3.place import S3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("seaweedfs"),
    # a connection that was cut is closed when it is collected
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LARGE = 20 << 20
"""Bytes of a file that goes in parts."""


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
def _quick(configured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "3")


def some(method: str, fault: Fault, times: int, part: str = "") -> Callable[..., Fault]:
    """Plan a fault for the first requests of a method."""
    left = [times]

    def plan(asked: str, path: str) -> Fault:
        if asked != method or part not in path or left[0] == 0:
            return NONE
        left[0] -= 1
        return fault

    return plan


@pytest.fixture
def large(bucket: str, direct: Any) -> tuple[str, bytes]:
    content = os.urandom(LARGE)
    direct.put_object(Bucket=bucket, Key="large.bin", Body=content)
    return f"s3://{bucket}/large.bin", content


@pytest.mark.parametrize(
    "fault",
    [
        Fault(cut_answer=2_000_000),
        Fault(stall=0.1),
        Fault(answer=(503, "SlowDown")),
        Fault(answer=(500, "InternalError")),
    ],
)
def test_reads_get_over_faults_that_pass(
    large: tuple[str, bytes], proxy: FaultProxy, fault: Fault
) -> None:
    uri, content = large
    proxy.plan = some("GET", fault, 2)
    path = local_file(uri)
    assert path is not None
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(cut_answer=0), "connection was lost or never made"),
        (Fault(cut_answer=100), "connection was lost or never made"),  # in the head
        (Fault(answer=(503, "SlowDown")), r"busy or failing \(SlowDown\)"),
        (Fault(answer=(403, "AccessDenied")), "access is denied"),
        (Fault(answer=(400, "ExpiredToken")), "have expired: log in again"),
    ],
)
def test_half_of_a_read_is_no_file(
    large: tuple[str, bytes],
    proxy: FaultProxy,
    tmp_path: Path,
    fault: Fault,
    message: str,
) -> None:
    uri, content = large
    parts = []

    def plan(method: str, path: str) -> Fault:
        parts.append(method)
        # the first range comes
        return fault if method == "GET" and parts.count("GET") > 1 else NONE

    proxy.plan = plan
    with pytest.raises(StorageError, match=f"{uri}: cannot be read: .*{message}"):
        local_file(uri)
    left = (tmp_path / "cache").rglob("*")
    assert not [path for path in left if path.is_file()]
    proxy.plan = lambda method, path: NONE
    path = local_file(uri)
    assert path is not None
    assert path.read_bytes() == content


def uploads_of(direct: Any, bucket: str) -> Any:
    return direct.list_multipart_uploads(Bucket=bucket).get("Uploads", [])


@pytest.fixture(params=[1000, LARGE], ids=["small", "in parts"])
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
    ],
)
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_writes_get_over_faults_that_pass(
    bucket: str, proxy: FaultProxy, direct: Any, file: Path, fault: Fault, method: str
) -> None:
    uri = f"s3://{bucket}/k"
    for overwrite in (False, True):
        proxy.plan = some(method, fault, 2)
        put(file, uri, overwrite=overwrite)
        there = direct.get_object(Bucket=bucket, Key="k")["Body"].read()
        assert there == file.read_bytes()
        file.write_bytes(file.read_bytes()[::-1])
    proxy.plan = lambda method, path: NONE
    with pytest.raises(StorageError, match="another file is there"):
        put(file, uri)


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
    store: S3,
    bucket: str,
    proxy: FaultProxy,
    direct: Any,
    tmp_path: Path,
    fault: Fault,
    message: str,
    part: str,
) -> None:
    file, uri = tmp_path / "file", f"s3://{bucket}/k"
    file.write_bytes(os.urandom(LARGE if part != "k" else 1000))

    def plan(method: str, path: str) -> Fault:
        completes = part == "uploadId" and method == "POST"
        sends = part != "uploadId" and method == "PUT"
        return fault if (completes or sends) and part in path else NONE

    proxy.plan = plan
    with pytest.raises(StorageError, match=f"{uri}: cannot be written: .*{message}"):
        store.put(file, uri, overwrite=True)
    assert not direct.list_objects_v2(Bucket=bucket).get("Contents")
    assert not uploads_of(direct, bucket)


def test_runs_are_whole_whatever_request_fails(
    bucket: str, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    forget_places()
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
            evalkit.read_run(f"s3://{bucket}/runs/{run.record.dataset}/{run.path.name}")
        number += 1
    assert number > 5
    proxy.plan = lambda method, path: NONE
    assert evalkit.read_run(str(result.path)).scores == result.scores
