"""The store of the scheme `s3`."""

from __future__ import annotations

import re
import uuid
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from evalkit.errors import ObjectExistsError, StorageError, TransferError
from evalkit.storage import Condition, StoredObject, join
from evalkit_storage_s3.clients import Clients
from evalkit_storage_s3.failures import DENIED, MISSING, REFUSED, code_of, failures
from evalkit_storage_s3.uploads import upload

_SHA256 = "evalkit-sha256"
_WRITE = "evalkit-write"
_DONE_UPLOAD = "NoSuchUpload"
"""What is answered when an upload in parts is completed again."""

_MD5 = re.compile(r"[0-9a-f]{32}")
_SHA256_BASE64 = re.compile(r"[A-Za-z0-9+/]{43}=")
_AWS = (".amazonaws.com", ".amazonaws.com.cn")
_PIECE = 1 << 20
_PROBE = ".evalkit-probe"


class S3Store:
    """Objects in buckets of S3, or of a server that speaks its language."""

    def __init__(self) -> None:
        self._clients = Clients()
        self._honours: dict[str, bool] = {}
        self._lock = Lock()

    def identity(self, uri: str) -> str:
        """Return the endpoint: buckets of two servers may have one name."""
        return str(self._clients.s3.meta.endpoint_url)

    def stat(self, uri: str) -> StoredObject | None:
        """Look at an object; None where there is none."""
        from botocore.exceptions import ClientError

        bucket, key = _parts(uri)
        with failures(uri, "read"):
            try:
                head = self._clients.s3.head_object(
                    Bucket=bucket, Key=key, ChecksumMode="ENABLED"
                )
            except ClientError as error:
                if code_of(error) not in MISSING:
                    raise
                self._refuse_no_bucket(bucket)
                return None
        return StoredObject(
            uri,
            int(head["ContentLength"]),
            str(head["ETag"]),
            head["LastModified"].timestamp(),
            digest_of(head, self.identity(uri), bucket),
        )

    def _refuse_no_bucket(self, bucket: str) -> None:
        """See to it that a key is missing, and not its bucket: HEAD tells neither."""
        from botocore.exceptions import ClientError

        try:
            self._clients.s3.head_bucket(Bucket=bucket)
        except ClientError as error:
            # who may list a part of a bucket alone is not told of it, but it is there
            if code_of(error) not in DENIED:
                raise

    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        """Read a range of an object, as long as it is the one that was looked at."""
        bucket, key = _parts(found.uri)
        try:
            with failures(found.uri, "read"):
                answer = self._clients.s3.get_object(
                    Bucket=bucket,
                    Key=key,
                    IfMatch=found.etag,
                    Range=f"bytes={start}-{stop - 1}",
                )
        except TransferError as error:  # boto3 has tried it often enough
            raise StorageError(
                f"{error}. What has come is kept: start again to go on from there"
            ) from None
        # entered itself, the body would give what is below it, with its errors
        with failures(found.uri, "read"), closing(answer["Body"]) as body:
            while piece := body.read(_PIECE):
                yield piece

    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        """Write a file as an object, in parts where it is large."""
        from botocore.exceptions import ClientError

        bucket, key = _parts(uri)
        terms = {
            "always": {},
            "absent": {"IfNoneMatch": "*"},
            "match": {"IfMatch": condition.etag},
        }[condition.kind]
        metadata = {_WRITE: uuid.uuid4().hex}
        if sha256 is not None:
            metadata[_SHA256] = sha256
        with failures(uri, "written"):
            try:
                etag = upload(self._clients.s3, path, (bucket, key), terms, metadata)
            except ClientError as error:
                is_refused = terms and code_of(error) in REFUSED
                if not is_refused and code_of(error) != _DONE_UPLOAD:
                    raise
                own = self._etag_of(bucket, key, metadata[_WRITE])
                if own is None and not is_refused:
                    raise
                if own is None:
                    is_there = condition.kind == "absent"
                    why = "is there already" if is_there else "was changed meanwhile"
                    raise ObjectExistsError(f"{uri}: {why}") from None
                etag = own
        size, modified = path.stat().st_size, path.stat().st_mtime
        digest = None if sha256 is None else f"sha256:{sha256}"
        return StoredObject(uri, size, etag, modified, digest)

    def _etag_of(self, bucket: str, key: str, write: str) -> str | None:
        """Return the ETag of what a write left there; None where it is another's.

        boto3 writes again when the answer is lost, and is refused for its own object.
        """
        from botocore.exceptions import ClientError

        try:
            head = self._clients.s3.head_object(Bucket=bucket, Key=key)
        except ClientError:
            return None
        return str(head["ETag"]) if head["Metadata"].get(_WRITE) == write else None

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        """List the objects below a folder."""
        bucket, key = _parts(prefix)
        with failures(prefix, "listed"):
            pages = self._clients.s3.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=bucket, Prefix=key):
                for row in page.get("Contents", ()):
                    yield StoredObject(
                        f"s3://{bucket}/{row['Key']}",
                        int(row["Size"]),
                        str(row["ETag"]),
                        row["LastModified"].timestamp(),
                    )

    def delete(self, uri: str) -> None:
        """Delete an object."""
        bucket, key = _parts(uri)
        with failures(uri, "deleted"):
            self._clients.s3.delete_object(Bucket=bucket, Key=key)

    def honours_conditions(self, uri: str) -> bool:
        """Tell whether a server refuses to write over what is there, by trying it once.

        An object is written to the folder, written again on the condition that it is
        not there, and deleted.
        """
        bucket, _ = _parts(uri)
        with self._lock:
            if bucket not in self._honours:
                self._honours[bucket] = self._probe(uri)
            return self._honours[bucket]

    def _probe(self, uri: str) -> bool:
        from botocore.exceptions import ClientError

        place = join(uri, f"{_PROBE}-{uuid.uuid4().hex}")
        bucket, key = _parts(place)
        client = self._clients.s3
        with failures(uri, "written"):
            client.put_object(Bucket=bucket, Key=key, Body=b"", IfNoneMatch="*")
            try:
                client.put_object(Bucket=bucket, Key=key, Body=b"", IfNoneMatch="*")
            except ClientError as error:
                if code_of(error) not in REFUSED:
                    raise
                return True
            finally:
                client.delete_object(Bucket=bucket, Key=key)
        return False


def _parts(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.partition("://")[2].partition("/")
    return bucket, key


def digest_of(head: Mapping[str, Any], endpoint: str, bucket: str) -> str | None:
    """Return the digest that the writer or the server recorded, or that the ETag is.

    The ETag of an object in one part is its MD5 on AWS, unless it was encrypted with
    another key than the service's own, or is in a directory bucket. Of other servers
    that is known of those that say how they encrypted it; others may mean anything.

    Args:
        head: What the server answers to HEAD.
        endpoint: The server's address.
        bucket: The bucket.
    """
    recorded = head.get("Metadata", {}).get(_SHA256)
    if recorded:
        return f"sha256:{recorded}"
    whole = str(head.get("ChecksumSHA256"))  # of parts it ends with their number
    if _SHA256_BASE64.fullmatch(whole) and head.get("ChecksumType") != "COMPOSITE":
        return f"sha256:{b64decode(whole).hex()}"
    etag = str(head["ETag"]).strip('"')
    encryption = head.get("ServerSideEncryption")
    is_other = encryption not in (None, "AES256") or head.get("SSECustomerAlgorithm")
    if is_other or bucket.endswith("--x-s3") or not _MD5.fullmatch(etag):
        return None
    host = urlsplit(endpoint).hostname or ""
    is_known = encryption is not None or host.endswith(_AWS)
    return f"md5:{etag}" if is_known else f"maybe-md5:{etag}"
