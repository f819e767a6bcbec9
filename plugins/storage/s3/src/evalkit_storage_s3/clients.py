"""Makes boto3's client of S3, from its usual configuration alone.

Credentials, profile, region and endpoint come from where boto3 looks for them:
environment variables such as `AWS_PROFILE` and `AWS_ENDPOINT_URL_S3`, its files, and
the machine's role. evalkit reads none of them.
"""

from __future__ import annotations

from datetime import datetime
from threading import Lock
from typing import Any

from evalkit.errors import StorageError

_CONNECTIONS = 32
"""More than threads that use a client at once."""

_SILENCE_SECONDS = 60
"""How long a server is waited for that says nothing."""

_ATTEMPTS = 6
"""How often a request is tried that the server throttles or fails."""


class Clients:
    """Makes one client, when it is first asked for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._client: Any = None

    @property
    def s3(self) -> Any:
        """The client.

        Raises:
            StorageError: boto3's configuration is broken.
        """
        with self._lock:
            if self._client is None:
                self._client = _made()
            return self._client


def _made() -> Any:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    given = Config(max_pool_connections=_CONNECTIONS, read_timeout=_SILENCE_SECONDS)
    try:
        session = boto3.session.Session()
        _read_times_fast(session)
        if session._session.get_config_variable("max_attempts") is None:
            given = given.merge(Config(retries={"total_max_attempts": _ATTEMPTS}))
        return session.client("s3", config=given)
    except (BotoCoreError, ValueError) as error:
        reason = str(error)
        if "Invalid endpoint" in reason:  # which may hold a password
            reason = "the endpoint is no URL such as http://HOST:PORT"
        raise StorageError(
            f"s3://: boto3's configuration is broken: {reason}"
        ) from None


def _read_times_fast(session: Any) -> None:
    """Read times of ISO 8601 without dateutil: it takes half the time of a listing."""
    from botocore.utils import parse_timestamp

    def read(text: Any) -> datetime:
        try:
            found = datetime.fromisoformat(text)
        except (TypeError, ValueError):  # of a header, or seconds
            found = None
        if found is None or found.tzinfo is None:
            return parse_timestamp(text)
        return found

    factory = session._session.get_component("response_parser_factory")
    factory.set_parser_defaults(timestamp_parser=read)
