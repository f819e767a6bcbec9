"""A server on loopback that answers as it is told, or fails as servers do."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evalkit import Registry
from evalkit_models_base import BoundModel, Model, Reply, Request


class Cached(Model):
    """A model that says what it sends, so that its replies are cached."""

    uses_network = True

    def describe_request(self, request: Any) -> Any:
        """Return the request, or the row of a model with `predict`."""
        is_row = isinstance(request, Mapping)
        return dict(request) if is_row else request.model_dump(mode="json")


@dataclass(frozen=True)
class Answer:
    """What the server does with a request.

    Attributes:
        body: JSON, or bytes as they are.
        status: The status.
        headers: Further headers.
        is_cut: Whether the connection ends in the middle of the body.
        is_endless: Whether the body is sent again and again.
        after: Seconds before it answers; None for never.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False
    is_endless: bool = False
    after: float | None = 0.0

    def content(self) -> bytes:
        """Return the body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


@dataclass(frozen=True)
class Got:
    """A request that came."""

    path: str
    body: Any
    headers: dict[str, str]
    attempt: int
    """How often this body had come, from 1."""


class ModelServer:
    """A server that is running.

    Attributes:
        url: Its address.
        got: The requests that came.
        answers: Says what is done with each.
        most_at_once: How many were under way together.
    """

    def __init__(self, answers: Callable[[Got], Answer]) -> None:
        self.answers = answers
        self.got: list[Got] = []
        self.most_at_once = self._under_way = 0
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        self._server = _Quiet(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def take(self, path: str, content: bytes, headers: dict[str, str]) -> Got:
        """Write a request down."""
        with self._lock:
            self._seen[content.decode()] += 1
            got = Got(path, json.loads(content), headers, self._seen[content.decode()])
            self.got.append(got)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        return got

    def done(self) -> None:
        """Count a request out."""
        with self._lock:
            self._under_way -= 1

    def stop(self) -> None:
        """Stop it, and what it holds back."""
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of 5 the system refuses who connects at once, for 1 s

    def handle_error(self, *_: Any) -> None:
        """Say nothing of those who do not wait for an answer."""


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): text for name, text in self.headers.items()}
            got = server.take(self.path, content, headers)
            try:
                answer = server.answers(got)
                server.stopped.wait(answer.after)
                if answer.after is not None:
                    self._send(answer)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                server.done()

        def _send(self, answer: Answer) -> None:
            content = answer.content()
            self.send_response(answer.status)
            for name, text in answer.headers.items():
                self.send_header(name, text)
            self.send_header("content-type", "application/json")
            if answer.is_endless:
                self.close_connection = True
            else:
                self.send_header("content-length", str(len(content)))
            self.end_headers()
            while answer.is_endless and not server.stopped.is_set():
                self.wfile.write(content)
            if answer.is_cut:
                content, self.close_connection = content[: len(content) // 2], True
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def serving(answers: Callable[[Got], Answer]) -> Iterator[ModelServer]:
    """Run a server while the context lasts."""
    server = ModelServer(answers)
    try:
        yield server
    finally:
        server.stop()


def http_date(seconds: float) -> str:
    """Return the date so many seconds from now as headers have it."""
    from email.utils import formatdate

    return formatdate(time.time() + seconds, usegmt=True)


def ask_openai(
    request: Request, body: Any, **parameters: Any
) -> tuple[Reply, dict[str, Any]]:
    """Ask a server of the OpenAI protocol once.

    Args:
        request: What is asked.
        body: What the server answers.
        **parameters: Further parameters of the model.

    Returns:
        The reply, and what the server got.
    """
    with serving(lambda got: Answer(body)) as server:
        given = {"model": "org/m", "base_url": f"{server.url}/v1", **parameters}
        model = BoundModel.of(Registry().load("models", "openai", given))

        async def asking() -> Reply:
            try:
                return model.checked(await model.ask(request), request)
            finally:
                await model.row_function("close")()

        reply = asyncio.run(asking())
    assert len(server.got) <= 1
    return reply, dict(server.got[0].body) if server.got else {}
