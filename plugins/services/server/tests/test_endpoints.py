"""Models that the server asks: where they may be, and what they first answer."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import EvalkitError
from evalkit_services_server import access
from evalkit_services_server.api_types import Endpoint
from evalkit_services_server.database import connect, migrate, reading, writing
from evalkit_services_server.endpoints import guarded, register
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import TASK
from evalkit_services_server.tasks import add_task

PUBLIC, PRIVATE = "93.184.215.14", "10.0.0.1"
ANSWERS = {
    "/good": (200, {"label": "positive"}),
    "/other": (200, {"label": "good"}),
    "/empty": (200, {}),
    "/text": (200, "positive"),
    "/lost": (404, {}),
    "/moved": (307, {}),
}


class Model(BaseHTTPRequestHandler):
    asked: list[Any] = []

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        self.asked.append((self.path, json.loads(self.rfile.read(size))))
        status, answer = ANSWERS[self.path]
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("location", "/good")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("server")
    engine = connect(Settings(database=f"sqlite:///{folder}/server.db"))
    migrate(engine)
    with writing(engine) as connection:
        add_task(connection, "sentiment")
    with reading(engine) as connection:
        row = connection.execute(TASK.select()).mappings().one()
    engine.dispose()
    return dict(row)


def test_a_model_is_first_asked_the_example(model: str, task: dict[str, Any]) -> None:
    settings = Settings(endpoints=(model,))
    given = Endpoint(url=f"{model}/good")
    kept = register(given, task, settings, is_administrator=False)
    assert kept == {"model": "http", "parameters": {"url": f"{model}/good"}}
    path, sent = Model.asked[-1]
    assert (path, sent["statement"]) == ("/good", "It is a good day.")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/other", "label"),
        ("/empty", "label"),
        ("/text", "neither an object"),
        ("/lost", "404"),
        ("/moved", "307"),
    ],
)
def test_its_answer_is_checked(
    model: str, task: dict[str, Any], path: str, reason: str
) -> None:
    settings = Settings(endpoints=(model,))
    with pytest.raises(access.RequestError, match=reason):
        register(Endpoint(url=f"{model}{path}"), task, settings, is_administrator=False)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://example.org/", "https"),
        ("file:///etc/passwd", "expected scheme, host"),
        ("https://", "expected scheme, host"),
        ("https://ex\xe4mple.org/", "expected scheme, host"),
        ("https://%31%32%37.0.0.1/", "expected scheme, host"),
        ("https://user@example.org/", "without user"),
        ("https://example.org/?key=1", "without user"),
        ("https://example.org:0x50/", "not an address"),
        ("https://127.0.0.1/", "not a public"),
        ("https://127.1/", "not a public"),
        ("https://2130706433/", "not a public"),
        ("https://localhost/", "not a public"),
        ("https://169.254.169.254/latest/meta-data", "not a public"),
        ("https://[::1]/", "not a public"),
        ("https://[::ffff:10.0.0.1]/", "not a public"),
        ("https://[64:ff9b::a00:1]/", "not a public"),
        ("https://[fd00::1]/", "not a public"),
        ("https://[fec0::1]/", "not a public"),
        ("https://[2002:a00:1::]/", "not a public"),
        ("https://100.64.0.1/", "not a public"),
        ("https://224.0.0.1/", "not a public"),
        ("https://0.0.0.0/", "not a public"),
    ],
)
def test_even_administrators_ask_public_addresses_only(
    task: dict[str, Any], url: str, reason: str
) -> None:
    with pytest.raises(access.RequestError, match=reason):
        register(Endpoint(url=url), task, Settings(), is_administrator=True)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://models.example:8443/",
        "http://models.example/",
        "https://models.example.evil.example/",
    ],
)
def test_others_ask_hosts_that_are_listed_only(task: dict[str, Any], url: str) -> None:
    settings = Settings(endpoints=("models.example",))
    with pytest.raises(access.RequestError, match=r"not allowed|https"):
        register(Endpoint(url=url), task, settings, is_administrator=False)
    given = Endpoint(url=url, key_variable="EVALKIT_KEY_MINE")
    with pytest.raises(access.RequestError, match="only administrators"):
        register(given, task, settings, is_administrator=False)


def test_what_a_name_means_is_checked_for_each_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    meant = PUBLIC

    def resolve(host: str, port: Any, *_: Any, **__: Any) -> list[Any]:
        address = meant if host == "models.example" else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    url = "https://models.example/"
    endpoint = {"model": "http", "parameters": {"url": url}}
    with guarded(endpoint, Settings()):
        assert socket.getaddrinfo("models.example", 443)
        meant = PRIVATE  # as the owner of a name can have it
        with pytest.raises(OSError, match="not a public address"):
            socket.create_connection(("models.example", 443))
        assert socket.getaddrinfo("store.internal", 443)
        with pytest.raises(EvalkitError, match="not a public"):
            guarded(endpoint, Settings()).__enter__()
    assert socket.getaddrinfo is resolve
