"""A proxy on loopback between a client and a server of HTTP, that makes faults."""

import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

_PIECE = 1 << 16
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.I | re.M)


class Fault(NamedTuple):
    """What happens to one request; to all that is None, nothing."""

    cut_answer: int | None = None
    """Bytes of the answer after which the connection is reset."""
    cut_request: int | None = None
    """Bytes of the request after which it is reset."""
    stall: float = 0.0
    """Seconds for which the answer stops after its first 1,000 bytes."""
    answer: tuple[int, str] | None = None
    """Status and code of S3 that are answered in place of the server."""


NONE = Fault()

Plan = Callable[[str, str], Fault]
"""Gives the fault of a request by its method and its path with the query."""


class FaultProxy:
    """Hands requests on to a server, one by connection, and makes faults.

    Args:
        port: Of the server, at loopback.

    Attributes:
        plan: Called with each request.
        requests: Methods and paths that came.
    """

    def __init__(self, port: int) -> None:
        self.plan: Plan = lambda method, path: NONE
        self.requests: list[tuple[str, str]] = []
        self._port = port
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def endpoint(self) -> str:
        """The URL to ask in place of the server's."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def count(self, method: str, part: str = "") -> int:
        """Count the requests of a method whose path holds a text."""
        return sum(m == method and part in p for m, p in self.requests)

    def close(self) -> None:
        """Listen no more."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            head, rest = _head_of(client)
            if not head:
                return
            method, path, _ = head.partition(b"\r\n")[0].decode().split(" ", 2)
            self.requests.append((method, path))
            fault = self.plan(method, path)
            if fault.answer is not None:
                _answer(client, head, rest, *fault.answer)
                return
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                server.sendall(head + b"\r\nConnection: close\r\n\r\n")
                threading.Thread(
                    target=_send_on, args=[client, server, rest, fault], daemon=True
                ).start()
                _send_back(server, client, fault)


def _head_of(client: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of a request, and what has come of its body."""
    come = b""
    while b"\r\n\r\n" not in come:
        piece = client.recv(_PIECE)
        if not piece:
            return b"", b""
        come += piece
    head, _, rest = come.partition(b"\r\n\r\n")
    return head, rest


def _answer(
    client: socket.socket, head: bytes, rest: bytes, status: int, code: str
) -> None:
    length = _LENGTH.search(head)
    waits = b"100-continue" in head.lower()
    left = int(length[1]) - len(rest) if length and not waits else 0
    while left > 0:
        left -= len(client.recv(_PIECE)) or left
    body = f"<Error><Code>{code}</Code><Message>of the proxy</Message></Error>"
    if head.startswith(b"HEAD"):
        body = ""
    client.sendall(
        f"HTTP/1.1 {status} Fault\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: application/xml\r\nConnection: close\r\n\r\n{body}".encode()
    )


def _send_on(
    client: socket.socket, server: socket.socket, rest: bytes, fault: Fault
) -> None:
    sent = 0
    with suppress(OSError):
        piece = rest or client.recv(_PIECE)
        while piece:
            if fault.cut_request is not None and sent + len(piece) > fault.cut_request:
                server.sendall(piece[: fault.cut_request - sent])
                _reset(client)
                _reset(server)
                return
            server.sendall(piece)
            sent += len(piece)
            piece = client.recv(_PIECE)


def _send_back(server: socket.socket, client: socket.socket, fault: Fault) -> None:
    sent = 0
    while piece := server.recv(_PIECE):
        if fault.cut_answer is not None and sent + len(piece) > fault.cut_answer:
            client.sendall(piece[: fault.cut_answer - sent])
            _reset(client)
            return
        if fault.stall and sent <= 1000 < sent + len(piece):
            client.sendall(piece[: 1000 - sent])
            time.sleep(fault.stall)
            piece = piece[1000 - sent :]
            sent = 1000
        client.sendall(piece)
        sent += len(piece)
    with suppress(OSError):
        client.shutdown(socket.SHUT_WR)


def _reset(connection: socket.socket) -> None:
    """Close a connection so that the other side sees a reset, not an end."""
    with suppress(OSError):
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
