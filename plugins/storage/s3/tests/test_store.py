"""The store of `s3://`, against a server over HTTP."""

from __future__ import annotations

import hashlib
import os
import traceback
from pathlib import Path
from typing import Any

import pytest
from s3_servers import SECRET_KEY

import evalkit
from evalkit.errors import StorageError
from evalkit.storage import (
    ALWAYS,
    IF_ABSENT,
    ObjectChangedError,
    ObjectExistsError,
    Store,
    StoredObject,
    TransferError,
    fetch_file,
    if_match,
    store_of,
)
from evalkit_storage_s3 import uploads
from evalkit_storage_s3.store import S3Store, digest_of
from evalkit_testing import check_storage


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


def test_it_is_found_by_its_scheme(configured: None, endpoint: str) -> None:
    found: Store = store_of("s3://b/k")
    assert isinstance(getattr(found, "guarded", None), S3Store)
    assert found is store_of("S3://other/k")
    assert found.identity("s3://b/k") == endpoint


def test_what_was_written_is_read(store: S3Store, bucket: str, file: Path) -> None:
    uri = f"s3://{bucket}/a folder/ä?#%20.json"
    assert store.stat(uri) is None
    put = store.put(file, uri, IF_ABSENT, sha256="f" * 64)
    found = store.stat(uri)
    assert found is not None
    assert (found.uri, found.size, found.etag) == (uri, 7, put.etag)
    assert found.digest == put.digest == f"sha256:{'f' * 64}"
    assert b"".join(store.read(found, 0, 7)) == b"content"
    assert b"".join(store.read(found, 2, 5)) == b"nte"
    assert abs(found.modified - put.modified) < 100


def test_the_etag_of_others_is_a_digest(
    store: S3Store, bucket: str, client: Any
) -> None:
    client.put_object(Bucket=bucket, Key="k", Body=b"content")
    found = store.stat(f"s3://{bucket}/k")
    assert found is not None
    name, _, value = str(found.digest).partition(":")
    assert name in ("md5", "maybe-md5")
    assert value == hashlib.md5(b"content").hexdigest()
    client.put_object(
        Bucket=bucket, Key="k", Body=b"content", ChecksumAlgorithm="SHA256"
    )
    found = store.stat(f"s3://{bucket}/k")
    assert found is not None
    # not every server keeps it
    sha256 = f"sha256:{hashlib.sha256(b'content').hexdigest()}"
    assert found.digest in (sha256, f"{name}:{value}")


AWS, OTHER = "https://s3.eu-west-1.amazonaws.com", "http://amazonaws.com.example:1"
MD5 = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("endpoint", "head", "expected"),
    [
        (AWS, {}, f"md5:{MD5}"),
        (OTHER, {}, f"maybe-md5:{MD5}"),
        (OTHER, {"ServerSideEncryption": "AES256"}, f"md5:{MD5}"),
        (AWS, {"ServerSideEncryption": "AES256"}, f"md5:{MD5}"),
        (AWS, {"ServerSideEncryption": "aws:kms"}, None),
        (AWS, {"ServerSideEncryption": "aws:kms:dsse"}, None),
        (AWS, {"SSECustomerAlgorithm": "AES256"}, None),
        (AWS, {"ETag": f'"{MD5}-2"'}, None),
        (OTHER, {"Metadata": {"evalkit-sha256": "f" * 64}}, f"sha256:{'f' * 64}"),
        (OTHER, {"ChecksumSHA256": "A" * 43 + "="}, f"sha256:{'0' * 64}"),
        (OTHER, {"ChecksumSHA256": "A" * 43 + "=-2"}, f"maybe-md5:{MD5}"),
        (
            AWS,
            {"ChecksumSHA256": "A" * 43 + "=", "ChecksumType": "COMPOSITE"},
            f"md5:{MD5}",
        ),
    ],
)
def test_what_the_server_says_tells_what_an_etag_is(
    endpoint: str, head: dict[str, Any], expected: str | None
) -> None:
    assert digest_of({"ETag": f'"{MD5}"', **head}, endpoint, "bucket") == expected
    if expected == f"md5:{MD5}":
        # of directory buckets it is none
        found = digest_of({"ETag": f'"{MD5}"', **head}, endpoint, "b--use1-az4--x-s3")
        assert found is None


def test_an_etag_that_looks_like_md5_and_is_none_can_be_read(
    store: S3Store, bucket: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put_object(Bucket=bucket, Key="k", Body=b"content")
    real = S3Store.stat

    def stat(self: S3Store, uri: str) -> StoredObject | None:
        found = real(self, uri)
        return found and found._replace(digest=f"maybe-md5:{MD5}")

    monkeypatch.setattr(S3Store, "stat", stat)
    found = fetch_file(f"s3://{bucket}/k")
    assert found is not None
    assert found.local.read_bytes() == b"content"


def test_conditions_hold(store: S3Store, bucket: str, file: Path) -> None:
    uri = f"s3://{bucket}/k"
    first = store.put(file, uri, IF_ABSENT)
    with pytest.raises(ObjectExistsError, match=f"{uri}: is there already"):
        store.put(file, uri, IF_ABSENT)
    file.write_bytes(b"other")
    second = store.put(file, uri, if_match(first))
    with pytest.raises(ObjectExistsError, match=f"{uri}: was changed meanwhile"):
        store.put(file, uri, if_match(first))
    store.put(file, uri, ALWAYS)
    with pytest.raises(ObjectChangedError, match=f"{uri}: was changed meanwhile"):
        [*store.read(first, 0, 7)]
    assert b"".join(store.read(second, 0, 5)) == b"other"


def test_it_finds_out_whether_conditions_hold(
    store: S3Store, bucket: str, client: Any
) -> None:
    assert store.honours_conditions(f"s3://{bucket}/runs")
    assert store.honours_conditions(f"s3://{bucket}/others")
    assert "Contents" not in client.list_objects_v2(Bucket=bucket)


def test_a_folder_is_listed_whole(
    store: S3Store, bucket: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("f/b", "f/a", "f/x/c", "g/d", "fa"):
        client.put_object(Bucket=bucket, Key=name, Body=b"1")
    paginate = client.get_paginator("list_objects_v2").paginate

    class Pages:
        def paginate(self, **given: Any) -> Any:
            return paginate(**given, PaginationConfig={"PageSize": 1})

    monkeypatch.setattr(client, "get_paginator", lambda name: Pages())
    found = [each.uri for each in store.list_objects(f"s3://{bucket}/f/")]
    assert found == [f"s3://{bucket}/f/{name}" for name in ("a", "b", "x/c")]
    assert len([*store.list_objects(f"s3://{bucket}/")]) == 5


def test_deleting_is_done_once(store: S3Store, bucket: str, file: Path) -> None:
    uri = f"s3://{bucket}/k"
    store.put(file, uri, ALWAYS)
    store.delete(uri)
    store.delete(uri)
    assert store.stat(uri) is None


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> int:
    size = 5 << 20  # the least that S3 takes
    monkeypatch.setattr(uploads, "PART_BYTES", size)
    return size


def test_large_files_go_in_parts(
    store: S3Store, bucket: str, file: Path, small_parts: int
) -> None:
    content = os.urandom(2 * small_parts + 1)
    file.write_bytes(content)
    uri = f"s3://{bucket}/large"
    sha256 = hashlib.sha256(content).hexdigest()
    store.put(file, uri, IF_ABSENT, sha256=sha256)
    found = store.stat(uri)
    assert found is not None
    assert found.etag.strip('"').endswith("-3")
    assert found.digest == f"sha256:{sha256}"
    assert b"".join(store.read(found, 0, found.size)) == content
    with pytest.raises(ObjectExistsError, match="is there already"):
        store.put(file, uri, IF_ABSENT)


@pytest.mark.parametrize("failure", [RuntimeError("no"), KeyboardInterrupt()])
def test_parts_are_removed_where_one_fails(
    store: S3Store,
    bucket: str,
    client: Any,
    file: Path,
    small_parts: int,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
) -> None:
    real = client.upload_part

    def upload_part(**given: Any) -> Any:
        if given["PartNumber"] == 2:
            raise failure
        return real(**given)

    monkeypatch.setattr(client, "upload_part", upload_part)
    file.write_bytes(b"0" * (3 * small_parts))
    with pytest.raises(type(failure)):
        store.put(file, f"s3://{bucket}/large", ALWAYS)
    assert store.stat(f"s3://{bucket}/large") is None
    assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)


def test_a_bucket_that_is_not_there_is_said(store: S3Store, file: Path) -> None:
    uri = "s3://no-such-bucket-here/k"
    with pytest.raises(
        StorageError, match=rf"{uri}: cannot be written: there is no su"
    ):
        store.put(file, uri, ALWAYS)
    with pytest.raises(
        StorageError, match=r"cannot be listed: there is no such bucket"
    ):
        [*store.list_objects("s3://no-such-bucket-here/f/")]
    with pytest.raises(StorageError, match=r"cannot be read: there is no such bucket"):
        store.stat(uri)


def test_who_may_not_ask_for_a_bucket_is_told_of_its_objects(
    store: S3Store, bucket: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def head_bucket(**_: Any) -> None:
        raise _answer("403", 403)

    monkeypatch.setattr(client, "head_bucket", head_bucket)
    assert store.stat(f"s3://{bucket}/k") is None


def test_an_object_that_was_removed_meanwhile_has_changed(
    store: S3Store, bucket: str, file: Path
) -> None:
    uri = f"s3://{bucket}/k"
    store.put(file, uri, ALWAYS)
    found = store.stat(uri)
    assert found is not None
    store.delete(uri)
    with pytest.raises(ObjectChangedError, match=f"{uri}: was removed meanwhile"):
        [*store.read(found, 0, 7)]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("AWS_SESSION_TOKEN", "a-hidden-token\n", "a line break is in the credentials"),
        ("AWS_ACCESS_KEY_ID", "a-hidden-key\r", "a line break is in the credentials"),
        ("AWS_SECRET_ACCESS_KEY", "hidden\udcff", "a letter that cannot be sent"),
        ("AWS_ENDPOINT_URL_S3", "u:hidden@host:1", "is no URL such as"),
        ("AWS_ENDPOINT_URL_S3", "http://u:hidden@127.0.0.1:1", "connection was lost"),
    ],
)
def test_broken_credentials_are_explained_and_not_shown(
    configured: None,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    message: str,
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv(variable, value)
    with pytest.raises(StorageError, match=message) as caught:
        S3Store().stat("s3://b/k")
    shown = "".join(traceback.format_exception(caught.value))
    assert "hidden" not in shown


def test_a_name_that_cannot_be_sent_is_refused(store: S3Store, bucket: str) -> None:
    with pytest.raises(StorageError, match="a letter that cannot be sent"):
        store.stat(f"s3://{bucket}/\udcff")


def _answer(code: str, status: int = 400) -> Any:
    from botocore.exceptions import ClientError

    response = {
        "Error": {"Code": code, "Message": "AKIA-secret-in-the-answer"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "PutObject")  # type: ignore[arg-type]


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
    store: S3Store,
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
        store.put(file, "s3://b/k", IF_ABSENT)
    assert "secret" not in str(caught.value).replace("secret key is not", "")
    assert caught.value.__cause__ is None


def test_no_credentials_are_said(
    configured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StorageError, match="there are no credentials; log in"):
        S3Store().stat("s3://b/k")


def test_a_broken_configuration_is_said(
    configured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(
        StorageError, match=r"boto3's configuration is broken: .*nobody"
    ):
        S3Store().stat("s3://b/k")


def test_a_server_that_is_not_there_is_said(
    configured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(TransferError, match=r"connection was lost or never made"):
        S3Store().stat("s3://b/k")


def test_the_users_own_retries_are_kept(
    configured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert S3Store()._clients.s3.meta.config.retries["total_max_attempts"] == 6
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    assert S3Store()._clients.s3.meta.config.retries["total_max_attempts"] == 2
    monkeypatch.setenv("AWS_RETRY_MODE", "adaptive")
    found = S3Store()._clients.s3.meta.config.retries
    assert (found["mode"], found["total_max_attempts"]) == ("adaptive", 2)
    monkeypatch.delenv("AWS_MAX_ATTEMPTS")
    found = S3Store()._clients.s3.meta.config.retries
    assert (found["mode"], found["total_max_attempts"]) == ("adaptive", 6)


def test_shards_in_a_bucket_are_scored_as_one(
    store: S3Store, bucket: str, client: Any
) -> None:
    for index, label in enumerate(("positive", "negative")):
        row = b'{"uid": "%d", "statement": "x", "label": "%s"}\n'
        content = row % (index, label.encode())
        client.put_object(Bucket=bucket, Key=f"set/{index}.jsonl", Body=content)
    client.put_object(Bucket=bucket, Key="set/more/2.jsonl", Body=b"{}")
    said = [{"id": str(index), "label": "positive"} for index in range(2)]
    place = f"s3://{bucket}/set/*.jsonl"
    result = evalkit.evaluate(data=place, task="sentiment", predictions=said)
    assert result["accuracy"].value == 0.5
    assert [file.name for file in result.record.data.files] == ["0.jsonl", "1.jsonl"]


@pytest.mark.slow
def test_it_keeps_the_laws_of_stores(store: S3Store, bucket: str) -> None:
    check_storage(f"s3://{bucket}/laws/", store=store, secrets=[SECRET_KEY])
