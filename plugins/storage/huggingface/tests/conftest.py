"""A hub on loopback, with what its client asks of one, and a cache for each test."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

TOKEN = "hf_a_secret_that_nobody_may_see"
LARGE = 100
"""Bytes from which a file is kept apart."""


class Hub:
    """Data sets in commits.

    Attributes:
        commits: Files by path, by data set and commit.
        names: Commits by data set and branch or tag.
        guarded: Data sets that need the token.
        gated: Data sets whose terms have to be accepted.
        requests: Method and path of each request.
        status: What is answered to everything, where it is set.
        cuts: How many answers with content end after half of it.
    """

    def __init__(self) -> None:
        self.commits: dict[tuple[str, str], dict[str, bytes]] = {}
        self.names: dict[tuple[str, str], str] = {}
        self.guarded: set[str] = set()
        self.gated: set[str] = set()
        self.requests: list[str] = []
        self.status: int | None = None
        self.cuts = 0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            def do_HEAD(self) -> None:
                hub.answer(self)

            def do_POST(self) -> None:
                hub.answer(self)

            def log_message(self, format: str, *arguments: object) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def commit(self, repository: str, files: dict[str, bytes], name: str) -> str:
        """Write a commit, and let a branch or tag name it."""
        content = repr((repository, sorted(files.items()))).encode()
        commit = hashlib.sha1(content).hexdigest()
        self.commits[repository, commit] = files
        self.names[repository, name] = commit
        return commit

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        self.requests.append(f"{request.command} {unquote(url.path)}")
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        if self.status is not None:
            return self.fail(request, self.status, "")
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        is_api = parts[0] == "api"
        if parts[is_api] != "datasets" or len(parts) < 3 + is_api:
            return self.fail(request, 404, "EntryNotFound")
        repository = "/".join(parts[1 + is_api : 3 + is_api])
        if refusal := self.refusal(repository, request.headers.get("Authorization")):
            return self.fail(request, *refusal)
        what, revision, *path = parts[3 + is_api :] or ["revision", "main"]
        commit = self.names.get((repository, revision), revision)
        files = self.commits.get((repository, commit))
        if files is None:
            return self.fail(request, 404, "RevisionNotFound")
        if what == "resolve":
            return self.send_file(request, files.get("/".join(path)), commit)
        if what == "paths-info":
            wanted = parse_qs(body.decode())["paths"]
            found = [describe(files, each) for each in wanted]
            return self.send(request, [each for each in found if each])
        if what == "tree":
            return self.send_tree(request, files, "/".join([*path, ""]).lstrip("/"))
        date = "2024-01-02T03:04:05.000Z"
        about = {"id": repository, "sha": commit, "lastModified": date, "tags": []}
        return self.send(request, about)

    def refusal(self, repository: str, authorization: Any) -> tuple[int, str] | None:
        """Say with which status and code a data set is refused, where it is."""
        if not any(known == repository for known, _ in self.commits):
            return 404, "RepoNotFound"
        if repository in self.gated:
            return 403, "GatedRepo"
        if repository in self.guarded and authorization != f"Bearer {TOKEN}":
            return 401, "RepoNotFound"
        return None

    def send_tree(
        self, request: BaseHTTPRequestHandler, files: dict[str, bytes], folder: str
    ) -> None:
        below = [path for path in files if path.startswith(folder)]
        if not below:
            return self.fail(request, 404, "EntryNotFound")
        # a hub sorts otherwise than evalkit does
        return self.send(request, [describe(files, path) for path in reversed(below)])

    def send(self, request: BaseHTTPRequestHandler, answer: Any) -> None:
        content = json.dumps(answer).encode()
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def send_file(
        self, request: BaseHTTPRequestHandler, content: bytes | None, commit: str = ""
    ) -> None:
        if content is None:
            return self.fail(request, 404, "EntryNotFound", commit)
        etag = hashlib.sha256(content).hexdigest()
        wanted = request.headers.get("Range", "")
        if wanted:
            start, _, last = wanted.removeprefix("bytes=").partition("-")
            content = content[int(start) : int(last) + 1 if last else None]
        request.send_response(206 if wanted else 200)
        request.send_header("Content-Length", str(len(content)))
        request.send_header("X-Repo-Commit", commit)
        request.send_header("ETag", f'"{etag}"')
        request.end_headers()
        if request.command == "HEAD":
            return None
        is_cut, self.cuts = self.cuts > 0, max(0, self.cuts - 1)
        request.wfile.write(content[: len(content) // 2] if is_cut else content)
        request.close_connection = True
        return None

    def fail(
        self, request: BaseHTTPRequestHandler, status: int, code: str, commit: str = ""
    ) -> None:
        request.send_response(status)
        if commit:
            request.send_header("X-Repo-Commit", commit)
        if code:
            request.send_header("X-Error-Code", code)
        request.send_header("Content-Length", "0")
        request.end_headers()


def describe(files: dict[str, bytes], path: str) -> dict[str, Any] | None:
    """Describe a file or folder as a hub does."""
    content = files.get(path)
    if content is None:
        is_folder = any(each.startswith(f"{path}/") for each in files)
        return {"type": "directory", "oid": "0", "path": path} if is_folder else None
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    found = {"type": "file", "path": path, "size": len(content), "oid": blob}
    if len(content) >= LARGE:
        oid = hashlib.sha256(content).hexdigest()
        found["lfs"] = {"oid": oid, "size": len(content), "pointerSize": 130}
    return found


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Start a hub, which the client of this process and of others takes for its own."""
    from huggingface_hub import constants

    made = Hub()
    monkeypatch.setattr(constants, "ENDPOINT", made.endpoint)
    template = made.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "EVALKIT_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    made.thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    made.thread.join()
