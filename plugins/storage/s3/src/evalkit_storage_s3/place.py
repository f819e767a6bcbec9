"""The place of the scheme `s3`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from evalkit.errors import ObjectExistsError
from evalkit.places import Entry, Place, is_offline, kept, last_kept
from evalkit_storage_s3.clients import make_client
from evalkit_storage_s3.failures import DENIED, MISSING, REFUSED, code_of, failures


class S3(Place):
    """Objects in buckets of S3, or of a server with the same interface.

    Transfers are boto3's managed ones: retries, ranges and parallel parts are theirs.
    """

    def __init__(self) -> None:
        make_client.cache_clear()  # made anew when the configuration changed

    def local(self, uri: str) -> Path | None:
        """Fetch an object into the cache, unless this version is there."""
        from botocore.exceptions import ClientError

        if is_offline():
            return last_kept(uri)
        bucket, key = _parts(uri)
        with failures(uri, "read"):
            client = make_client()
            try:
                head = client.head_object(Bucket=bucket, Key=key)
            except ClientError as error:
                if code_of(error) not in MISSING:
                    raise
                _refuse_no_bucket(client, bucket)
                return None
            download = partial(client.download_file, bucket, key)
            return kept(uri, _version(client, head), lambda path: download(str(path)))

    def list(self, uri: str) -> Iterator[Entry]:
        """List the objects below a folder, or one object."""
        bucket, key = _parts(uri)
        is_folder = uri.endswith("/")
        with failures(uri, "listed"):
            client = make_client()
            pages = client.get_paginator("list_objects_v2").paginate(
                Bucket=bucket,
                Prefix=key,
                PaginationConfig={} if is_folder else {"MaxItems": 1},
            )
            for page in pages:
                for row in page.get("Contents", ()):
                    if is_folder or row["Key"] == key:
                        name = f"s3://{bucket}/{row['Key']}"
                        yield Entry(name, _version(client, row))

    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        """Write a file as an object."""
        from botocore.exceptions import ClientError

        bucket, key = _parts(uri)
        with failures(uri, "written"), path.open("rb") as stream:
            client = make_client() if overwrite else make_client(only_if_absent=True)
            try:
                client.upload_fileobj(stream, bucket, key)
            except ClientError as error:
                if code_of(error) not in REFUSED:
                    raise
                raise ObjectExistsError(f"{uri}: an object is there already") from None


def _parts(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.partition("://")[2].partition("/")
    return bucket, key


def _version(client: Any, row: Any) -> str:
    """Return what differs between two contents, and between two servers."""
    return f"{client.meta.endpoint_url} {row['ETag']}"


def _refuse_no_bucket(client: Any, bucket: str) -> None:
    """Raise where a bucket is missing, and not its key: HEAD does not tell which."""
    from botocore.exceptions import ClientError

    try:
        client.head_bucket(Bucket=bucket)
    except ClientError as error:
        # who may list a part of a bucket alone is not told of it, but it is there
        if code_of(error) not in DENIED:
            raise
