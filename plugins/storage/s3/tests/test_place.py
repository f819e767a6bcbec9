"""The place of `s3://`, against a server over HTTP."""

import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from s3_servers import SECRET_KEY

from evalkit.errors import ObjectExistsError, StorageError, TransferError
from evalkit.places import local_file, names_below, place_of, put
from evalkit_storage_s3.place import S3
from evalkit_testing import check_storage

SLOW = [pytest.mark.slow, pytest.mark.xdist_group("seaweedfs")]


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(
    params=[
        pytest.param("moto", marks=pytest.mark.slow),
        pytest.param("seaweedfs", marks=SLOW),
    ]
)
def endpoint(request: pytest.FixtureRequest) -> str:
    """Two servers: the other tests of this folder need one."""
    if request.param == "moto":
        return str(request.getfixturevalue("moto"))
    return str(request.getfixturevalue("seaweed").endpoint)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


def fetched(uri: str) -> bytes | None:
    path = local_file(uri)
    return None if path is None else path.read_bytes()


def test_it_is_found_by_its_scheme(configured: None) -> None:
    assert isinstance(place_of("s3://b/k"), S3)
    assert place_of("s3://b/k") is place_of("S3://other/k")


def test_what_was_written_is_read(store: S3, bucket: str, file: Path) -> None:
    uri = f"s3://{bucket}/a folder/ä?#%20.json"
    assert fetched(uri) is None
    assert [*store.list(uri)] == []
    store.put(file, uri, overwrite=False)
    assert fetched(uri) == b"content"
    assert [entry.uri for entry in store.list(uri)] == [uri]


@pytest.mark.parametrize("size", [7, 17 << 20], ids=["small", "in parts"])
def test_an_object_is_not_replaced_unasked(
    store: S3, bucket: str, client: Any, file: Path, size: int
) -> None:
    content = os.urandom(size)
    file.write_bytes(content)
    uri = f"s3://{bucket}/k"
    store.put(file, uri, overwrite=False)
    assert ("-" in client.head_object(Bucket=bucket, Key="k")["ETag"]) == (size > 7)
    with pytest.raises(ObjectExistsError, match=f"{uri}: an object is there already"):
        store.put(file, uri, overwrite=False)
    put(file, uri)  # the same content
    other = b"other" + content
    file.write_bytes(other)
    with pytest.raises(ObjectExistsError, match=f"{uri}: another file is there"):
        put(file, uri)
    assert fetched(uri) == content
    store.put(file, uri, overwrite=True)
    assert fetched(uri) == other
    assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)


@pytest.mark.slow
def test_a_folder_is_listed_whole(store: S3, bucket: str, client: Any) -> None:
    for name in ("f/b", "f/a", "f/x/c", "g/d", "fa", *(f"m/{n}" for n in range(1001))):
        client.put_object(Bucket=bucket, Key=name, Body=b"1")
    assert names_below(f"s3://{bucket}/f") == ["a", "b", "x/c"]
    assert len(names_below(f"s3://{bucket}/m")) == 1001
    assert [*store.list(f"s3://{bucket}/f")] == []
    (entry,) = store.list(f"s3://{bucket}/fa")
    assert entry.uri == f"s3://{bucket}/fa"


def test_a_bucket_that_is_not_there_is_said(store: S3, file: Path) -> None:
    uri = "s3://no-such-bucket-here/k"
    said = "there is no such bucket"
    with pytest.raises(StorageError, match=f"{uri}: cannot be written: {said}"):
        store.put(file, uri, overwrite=True)
    with pytest.raises(StorageError, match=f"cannot be listed: {said}"):
        [*store.list("s3://no-such-bucket-here/f/")]
    with pytest.raises(StorageError, match=f"{uri}: cannot be read: {said}"):
        store.local(uri)


def test_who_may_not_ask_for_a_bucket_is_told_of_its_objects(
    store: S3, bucket: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def head_bucket(**_: Any) -> None:
        raise _answer("403", 403)

    monkeypatch.setattr(client, "head_bucket", head_bucket)
    assert store.local(f"s3://{bucket}/k") is None


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("AWS_SESSION_TOKEN", "a-hidden-token\n", "a line break is in the credentials"),
        ("AWS_ACCESS_KEY_ID", "a-hidden-key\r", "a line break is in the credentials"),
        ("AWS_SECRET_ACCESS_KEY", "hidden\udcff", "a letter that cannot be sent"),
        ("AWS_ENDPOINT_URL_S3", "u:hidden@host:1", "is not a URL such as"),
        ("AWS_ENDPOINT_URL_S3", "http://u:hidden@127.0.0.1:1", "connection was lost"),
    ],
)
def test_broken_credentials_are_explained_and_not_shown(
    configured: None,
    monkeypatch: pytest.MonkeyPatch,
    file: Path,
    variable: str,
    value: str,
    message: str,
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv(variable, value)
    place = S3()
    for call in (
        lambda: place.local("s3://b/k"),
        lambda: [*place.list("s3://b/k/")],
        lambda: place.put(file, "s3://b/k", overwrite=False),
    ):
        with pytest.raises(StorageError, match=message) as caught:
            call()
        assert "hidden" not in "".join(traceback.format_exception(caught.value))


def _answer(code: str, status: int = 400) -> Any:
    from botocore.exceptions import ClientError

    response: Any = {
        "Error": {"Code": code, "Message": "AKIA-secret-in-the-answer"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "PutObject")


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("AccessDenied", StorageError, "access is denied"),
        ("403", StorageError, "access is denied"),
        ("InvalidAccessKeyId", StorageError, "does not know the access key"),
        ("SignatureDoesNotMatch", StorageError, "secret key is not that"),
        ("ExpiredToken", StorageError, "have expired: log in again"),
        ("RequestTimeTooSkewed", StorageError, "the clock of this machine"),
        ("PermanentRedirect", StorageError, "another region: set AWS_REGION"),
        ("InvalidObjectState", StorageError, "archived: restore it"),
        ("InsufficientStorage", StorageError, "no room left"),
        ("SlowDown", TransferError, r"is busy or failing \(SlowDown\)"),
        ("503", TransferError, "is busy or failing"),
        ("Strange", StorageError, "the server answered Strange"),
        ("", StorageError, "the server answered an error"),
    ],
)
def test_answers_of_servers_are_explained(
    store: S3,
    client: Any,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    kind: type[StorageError],
    message: str,
) -> None:
    def put_object(**_: Any) -> None:
        raise _answer(code)

    monkeypatch.setattr(client, "put_object", put_object)
    with pytest.raises(
        kind, match=f"s3://b/k: cannot be written: .*{message}"
    ) as caught:
        store.put(file, "s3://b/k", overwrite=True)
    assert "secret" not in str(caught.value).replace("secret key is not", "")
    assert caught.value.__cause__ is None


@pytest.mark.slow
def test_it_keeps_the_laws_of_places(store: S3, bucket: str) -> None:
    check_storage(f"s3://{bucket}/laws/", store=store, secrets=[SECRET_KEY])
