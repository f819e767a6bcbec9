"""Uploads a file, in parts where it is large; boto3's own way knows no conditions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalkit.storage import in_threads

PART_BYTES = 16 << 20
"""Size of a part, and of the largest file that is sent in one piece."""

_MOST_PARTS = 10_000
_THREADS = 8

_PATIENCE = 3.0
"""Seconds that parts under way are waited for when an upload is given up."""


def upload(
    client: Any,
    path: Path,
    place: tuple[str, str],
    terms: Mapping[str, str],
    metadata: Mapping[str, str],
) -> str:
    """Upload a file.

    Args:
        client: boto3's client of S3.
        path: The file.
        place: Bucket and key.
        terms: The conditions of the write, as the client takes them.
        metadata: What is kept with the object.

    Returns:
        The ETag of the object.

    Raises:
        ClientError: The server refuses it; of a file in parts nothing is left there.
        OSError: The file cannot be read.
    """
    bucket, key = place
    target = {"Bucket": bucket, "Key": key}
    size = path.stat().st_size
    if size <= PART_BYTES:
        with path.open("rb") as stream:
            answer = client.put_object(
                **target, Body=stream, Metadata=dict(metadata), **terms
            )
        return str(answer["ETag"])
    begun = client.create_multipart_upload(**target, Metadata=dict(metadata))
    target["UploadId"] = begun["UploadId"]
    try:
        parts = _send_parts(client, path, size, target)
        answer = client.complete_multipart_upload(
            **target, MultipartUpload={"Parts": parts}, **terms
        )
    except BaseException:
        # also where the user stopped it: parts that are left cost money
        with suppress(Exception):
            client.abort_multipart_upload(**target)
        raise
    return str(answer["ETag"])


def _send_parts(
    client: Any, path: Path, size: int, target: Mapping[str, str]
) -> list[dict[str, Any]]:
    length = max(PART_BYTES, -(-size // _MOST_PARTS))

    def send(number: int) -> dict[str, Any]:
        start = (number - 1) * length
        with path.open("rb") as stream:
            stream.seek(start)
            body = stream.read(min(length, size - start))
        sent = client.upload_part(**target, PartNumber=number, Body=body)
        return {"PartNumber": number, "ETag": sent["ETag"]}

    numbers = range(1, -(-size // length) + 1)
    # a part that comes after its upload was aborted might stay
    return in_threads(send, numbers, _THREADS, patience=_PATIENCE)
