"""Servers of S3 on loopback, each in a process that ends with the test's."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ACCESS_KEY = "AKIDRECOGNISABLE"
SECRET_KEY = "a-ReCoGnIsAbLe-secret/key"

_PATIENCE = 60.0


class Server(NamedTuple):
    """A server that answers."""

    endpoint: str
    port: int
    access_key: str = ACCESS_KEY
    secret_key: str = SECRET_KEY

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables by which boto3 finds it."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL_S3": self.endpoint,
        }

    def client(self, **configuration: Any) -> Any:
        """Make a client of its own, which no test disturbs."""
        import boto3
        from botocore.config import Config

        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
            config=Config(**configuration),
        )


@contextmanager
def seaweedfs(folder: Path) -> Iterator[Server]:
    """Run SeaweedFS, which honours conditions and checks signatures.

    Args:
        folder: An empty folder for its data and logs.

    Yields:
        The server.
    """
    s3, *others = free_ports(11)
    data, names = folder / "data", folder / "identities.json"
    data.mkdir(parents=True)
    identity = {
        "name": "test",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    names.write_text(json.dumps({"identities": [identity]}))
    kinds = ["s3.port.grpc", "master.port", "master.port.grpc", "filer.port"]
    kinds += ["filer.port.grpc", "volume.port", "volume.port.grpc", "admin.port"]
    kinds += ["admin.port.grpc"]
    sockets = [f"-{name}.localSocket={folder / name}.sock" for name in ("filer", "s3")]
    command = [
        *(_program("weed"), "-logtostderr=false", f"-logdir={data}", "mini"),
        *(f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.port={s3}"),
        *("-master.telemetry=false", "-admin.ui=false", "-webdav=false"),
        *("-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={names}", *sockets),
        "-s3.autoCreateBucket=false",
        "-volume.max=1000",  # each bucket takes one; else a small disk gives few
        *(f"-{kind}={port}" for kind, port in zip(kinds, others, strict=False)),
    ]
    try:
        with _running(command, folder):
            yield _answering(Server(f"http://127.0.0.1:{s3}", s3))
    finally:
        for port in others:  # it cannot be told where to put these
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)


@contextmanager
def rclone(folder: Path) -> Iterator[Server]:
    """Run `rclone serve s3`, which ignores the conditions of writes.

    Args:
        folder: An empty folder, in which a folder is a bucket.

    Yields:
        The server.
    """
    (port,) = free_ports(1)
    (folder / "data").mkdir(parents=True)
    command = [
        *(_program("rclone"), "serve", "s3", f"--addr=127.0.0.1:{port}"),
        *(f"--auth-key={ACCESS_KEY},{SECRET_KEY}", f"--config={folder / 'none'}"),
        str(folder / "data"),
    ]
    with _running(command, folder):
        yield _answering(Server(f"http://127.0.0.1:{port}", port))


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody listens at now.

    Args:
        count: How many.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


@contextmanager
def _running(command: Sequence[str], folder: Path) -> Iterator[None]:
    # where the test's process is killed, its servers are to end too
    with_parent = shutil.which("setpriv")
    before = [with_parent, "--pdeathsig", "KILL"] if with_parent else []
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [*before, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
        finally:
            process.kill()  # it does not heed SIGTERM for a while
            process.wait()


def _answering(server: Server) -> Server:
    from botocore.exceptions import BotoCoreError, ClientError

    client = server.client(retries={"total_max_attempts": 1})
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            client.list_buckets()
            return server
        except (BotoCoreError, ClientError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
