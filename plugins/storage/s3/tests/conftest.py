"""Servers of S3 on loopback, a bucket and a cache of its own for each test."""

import functools
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3.session
import botocore.session
import pytest
from fault_proxy import FaultProxy
from s3_servers import ACCESS_KEY, SECRET_KEY, Server, seaweedfs

from evalkit.places import forget_places
from evalkit_storage_s3.clients import make_client
from evalkit_storage_s3.place import S3

SLOW = [pytest.mark.slow, pytest.mark.xdist_group("seaweedfs")]


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as server:
        yield server


@pytest.fixture(scope="session", params=[pytest.param("seaweedfs", marks=SLOW)])
def endpoint(seaweed: Server) -> str:
    return seaweed.endpoint


@pytest.fixture(autouse=True, scope="session")
def _services_described_once() -> Iterator[None]:
    """Read what botocore ships of every service once, not anew for each client."""
    with pytest.MonkeyPatch.context() as patch:
        made = functools.cache(botocore.session.create_loader)
        patch.setattr(botocore.session, "create_loader", made)
        yield


@pytest.fixture
def configured(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "EVALKIT_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    made = []
    make = boto3.session.Session.client

    def make_and_remember(*given: Any, **options: Any) -> Any:
        made.append(make(*given, **options))
        return made[-1]

    monkeypatch.setattr(boto3.session.Session, "client", make_and_remember)
    forget_places()
    make_client.cache_clear()
    yield
    forget_places()
    make_client.cache_clear()
    for each in made:  # else their sockets would be found open, some tests later
        each.close()


@pytest.fixture
def proxy(seaweed: Server, endpoint: str) -> Iterator[FaultProxy]:
    made = FaultProxy(seaweed.port)
    yield made
    made.close()


@pytest.fixture
def store(configured: None) -> S3:
    return S3()


@pytest.fixture
def client(store: S3) -> Any:
    return make_client()


@pytest.fixture
def bucket(client: Any) -> str:
    name = f"b-{uuid.uuid4().hex}"
    client.create_bucket(Bucket=name)
    return name
