"""boto3's client of S3, from its usual configuration alone.

Credentials, profile, region and endpoint come from where boto3 looks for them. evalkit
reads none of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from evalkit.errors import StorageError

_ATTEMPTS = 6
"""Maximum attempts of a request, unless boto3's configuration says otherwise."""

_WRITES = ("PutObject", "CompleteMultipartUpload")


@cache
def make_client(*, only_if_absent: bool = False) -> Any:
    """Return a client; `only_if_absent` has it write only where nothing is."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(max_pool_connections=32)
    try:
        session = boto3.session.Session()
        if session._session.get_config_variable("max_attempts") is None:
            config = config.merge(Config(retries={"total_max_attempts": _ATTEMPTS}))
        client = session.client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        reason = str(error)
        if "Invalid endpoint" in reason:  # which may hold a password
            reason = "the endpoint is not a URL such as http://HOST:PORT"
        raise StorageError(
            f"s3://: boto3's configuration is broken: {reason}"
        ) from None
    if only_if_absent:  # managed uploads have no argument for it
        for name in _WRITES:
            event = f"provide-client-params.s3.{name}"
            client.meta.events.register(event, _require_absence)
    return client


def _require_absence(params: dict[str, Any], **_more: Any) -> dict[str, Any]:
    return {**params, "IfNoneMatch": "*"}
