"""Requests that are answered in batches, by a scripted server."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai  # noqa: F401 - so that no request waits for it
import pytest

import evalkit
from evalkit.errors import EvalkitError, StorageError
from evalkit_models_base import Asked, BoundModel, Message, Reply, Request, predict
from evalkit_models_base.cache import ReplyCache

KEY = "sk-BaTcHkEy-0123456789"
Lines = list[dict[str, Any]]


def answered(line: dict[str, Any], text: str = "positive") -> dict[str, Any]:
    """Return the line with which a request is answered."""
    message = {"role": "assistant", "content": text}
    body = {
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"custom_id": line["custom_id"], "response": response, "error": None}


def refused(line: dict[str, Any], status: int, message: str) -> dict[str, Any]:
    """Return the line of an error."""
    response = {"status_code": status, "body": {"error": {"message": message}}}
    return {"custom_id": line["custom_id"], "response": response, "error": None}


def statement(line: dict[str, Any]) -> str:
    """Return what a request is about."""
    return str(line["body"]["messages"][-1]["content"])


class BatchServer:
    """Takes files and batches, and answers them when it is told to.

    Attributes:
        answers: Makes the lines of the output and of the errors of those that came.
        statuses: What a batch is said to be, each time that it is looked at; the last
            one stays.
        files: The files that came.
        asked: What the server was asked, by method and path.
    """

    def __init__(self, answers: Callable[[Lines], tuple[Lines, Lines]]) -> None:
        self.answers = answers
        self.statuses = ["validating", "in_progress", "finalizing", "completed"]
        self.files: list[Lines] = []
        self.batches: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.errors: Any = None
        self.refuses: dict[str, int] = {}
        self._looked: dict[str, int] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, content: bytes) -> tuple[int, bytes]:
        """Answer one request."""
        self.asked.append(f"{method} {path}")
        where = f"{method} {path.split('/')[1]}"
        if self.refuses.get(where):
            self.refuses[where] -= 1
            return 503, b'{"error": {"message": "busy"}}'
        if where == "POST files":
            part = rb'requests\.jsonl".*?\r\n\r\n(.*?)\r\n--'
            (inner,) = re.findall(part, content, re.DOTALL)
            assert b'name="purpose"\r\n\r\nbatch' in content
            self.files.append([json.loads(line) for line in inner.splitlines()])
            name = f"file-{len(self.files) - 1}"
            return 200, json.dumps({"id": name, "object": "file"}).encode()
        if where == "POST batches":
            asked = json.loads(content)
            self.batches.append(asked)
            return 200, self._batch(f"batch-{len(self.batches) - 1}", "validating")
        if where == "GET batches":
            name = path.split("/")[2]
            if int(name.rpartition("-")[2]) >= len(self.batches):
                return 404, b'{"error": {"message": "No such batch"}}'
            number = self._looked[name] = self._looked.get(name, -1) + 1
            status = self.statuses[min(number, len(self.statuses) - 1)]
            return 200, self._batch(name, status)
        _, _, name, _ = path.split("/")
        kind, _, number = name.partition("-")
        lines = self.answers(self.files[int(number)])[kind == "errors"]
        return 200, b"".join(
            line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            for line in lines
        )

    def _batch(self, name: str, status: str) -> bytes:
        number = name.rpartition("-")[2]
        told = {
            "id": name,
            "object": "batch",
            "status": status,
            "endpoint": self.batches[int(number)]["endpoint"],
            "completion_window": "24h",
            "input_file_id": f"file-{number}",
            "created_at": 1,
            "errors": self.errors,
        }
        if status in ("completed", "expired"):
            told |= {"output_file_id": f"out-{number}"}
            told |= {"error_file_id": f"errors-{number}"}
        return json.dumps(told).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                assert self.headers["authorization"] == f"Bearer {KEY}"
                size = int(self.headers.get("content-length", 0))
                content = self.rfile.read(size)
                path = self.path.removeprefix("/v1")
                status, body = server.answer(self.command, path, content)
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@pytest.fixture
def server() -> Iterator[BatchServer]:
    running = BatchServer(lambda lines: ([answered(line) for line in lines], []))
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("BATCH_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def reference(server: BatchServer, **parameters: Any) -> str:
    given = {
        "model": "m",
        "base_url": server.url,
        "api_key_variable": "BATCH_KEY",
        "poll_seconds": 0.01,
        **parameters,
    }
    return "openai-batch:" + ",".join(f"{name}={v}" for name, v in given.items())


def ask_about(server: BatchServer, statements: list[str], **more: Any) -> Any:
    """Ask about statements."""
    return predict(
        data=[
            {"uid": f"s{n}", "statement": text, "label": "positive"}
            for n, text in enumerate(statements)
        ],
        task="sentiment",
        model=reference(server, **more.pop("parameters", {})),
        prompt={"query": "{statement}"},
        asked=Asked(**{"retries": 1, "max_errors": 100, **more.pop("asked", {})}),
        **more,
    )


def unfinished(tmp_path: Path) -> list[Path]:
    return [*(tmp_path / "cache" / "openai-batches").glob("*")]


def test_answers_are_joined_by_their_ids(server: BatchServer, tmp_path: Path) -> None:
    server.answers = lambda lines: (
        [answered(line, statement(line).upper()) for line in reversed(lines)],
        [],
    )
    found = ask_about(server, ["a", "b", "c"], generate={"max_tokens": 4})
    assert [row["label"] for row in found.rows] == ["A", "B", "C"]
    (lines,) = server.files
    assert [statement(line) for line in lines] == ["a", "b", "c"]
    assert len({line["custom_id"] for line in lines}) == 3
    assert lines[0] == {
        "custom_id": lines[0]["custom_id"],
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "m",
            "messages": [{"role": "user", "content": "a"}],
            "max_tokens": 4,
            "temperature": 0.0,
        },
    }
    assert server.batches == [
        {
            "input_file_id": "file-0",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
        }
    ]
    assert found.usage["input_tokens"] == 9
    assert not unfinished(tmp_path)
    server.asked.clear()
    assert ask_about(server, ["a", "b", "c"], generate={"max_tokens": 4}).rows
    assert not server.asked


@pytest.mark.slow
def test_what_is_not_answered_is_an_error_of_its_row(
    server: BatchServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)

    def answers(lines: Lines) -> tuple[Lines, Lines]:
        by = {statement(line): line for line in lines}
        twice = answered(by["twice"])
        outputs: list[Any] = [answered(by["good"]), twice, twice, b'{"custom_id": "\n']
        expired = {"code": "batch_expired", "message": "It took too long"}
        errors = [
            refused(by["refused"], 400, f"not with {KEY}"),
            refused(by["broken"], 500, "broken"),
            {"custom_id": by["late"]["custom_id"], "response": None, "error": expired},
        ]
        return outputs, errors

    server.answers = answers
    server.statuses = ["in_progress", "expired"]
    texts = ["refused", "missing", "good", "twice", "broken", "late"]
    found = ask_about(server, texts)
    said = {text: row for text, row in zip(texts, found.rows, strict=True)}
    assert said["good"]["label"] == "positive"
    assert {text: row.get("error") for text, row in said.items()} == {
        "good": None,
        "refused": "the server refuses the request: not with *** (status 400)",
        "broken": "the server says: broken (status 500)",
        "missing": "the batch batch-0 (expired) has no answer to this request, and "
        "1 line of its output cannot be read, where it may stand",
        "twice": "the batch batch-0 (expired) has 2 answers to this request",
        "late": "the batch batch-0 (expired) did not ask this: It took too long",
    }
    assert KEY not in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    # and they alone are asked again by the same command
    server.answers = lambda lines: ([answered(line) for line in lines], [])
    assert not ask_about(server, texts).failed
    assert [statement(line) for line in server.files[1]] == [
        text for text in texts if text != "good"
    ]


@pytest.mark.slow
def test_replies_that_could_not_be_kept_are_not_paid_for_again(
    server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(ReplyCache, "keep", full)
        for _ in range(2):
            with pytest.raises(StorageError, match="the disk is full"):
                ask_about(server, ["a", "b"])
    assert len(unfinished(tmp_path)) == 1
    assert not ask_about(server, ["a", "b"]).failed
    assert len(server.batches) == 1
    assert not unfinished(tmp_path)


def test_a_batch_whose_files_are_gone_is_begun_anew(
    server: BatchServer, tmp_path: Path
) -> None:
    server.statuses = ["in_progress"]
    with pytest.raises(EvalkitError):
        ask_about(server, ["a"], parameters={"hours": 0.00002})
    server.statuses = ["completed"]
    answer = server.answer

    def without_file(method: str, path: str, content: bytes) -> tuple[int, bytes]:
        if path == "/files/out-0/content":
            return 404, b'{"error": {"message": "No such file"}}'
        return answer(method, path, content)

    vars(server)["answer"] = without_file
    assert not ask_about(server, ["a"]).failed
    assert len(server.batches) == 2


def test_batches_of_long_ago_are_forgotten(server: BatchServer, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "openai-batches"
    folder.mkdir(parents=True)
    for name, days in (("old", 50), ("new", 20)):
        path = folder / f"{name}.json"
        path.write_text("{}")
        then = time.time() - days * 86_400
        os.utime(path, (then, then))
    assert not ask_about(server, ["a"]).failed
    assert [path.stem for path in unfinished(tmp_path)] == ["new"]


@pytest.mark.slow
def test_an_answer_to_what_was_not_asked_is_refused(server: BatchServer) -> None:
    """As of the file of another batch, whose places are the same."""
    server.answers = lambda lines: (
        [answered({"custom_id": f"{n}-0123456789abcdef"}) for n in range(len(lines))],
        [],
    )
    with pytest.raises(EvalkitError, match="answers '0-0123456789abcdef', which was"):
        ask_about(server, ["a", "b"])
    server.answers = lambda lines: ([answered(line) for line in lines], [])
    assert not ask_about(server, ["a", "b"]).failed  # and not refused for ever
    assert len(server.batches) == 2


def test_an_answer_that_is_no_success_is_an_error(server: BatchServer) -> None:
    def answers(lines: Lines) -> tuple[Lines, Lines]:
        found = [answered(line) for line in lines]
        found[0]["response"]["status_code"] = True
        found[1]["response"]["status_code"] = 100
        found[2]["error"] = {"message": "half of it"}
        return found, []

    server.answers = answers
    rows = ask_about(server, ["a", "b", "c", "d"]).rows
    assert ["error" in row for row in rows] == [True, True, True, False]
    assert "half of it" in rows[2]["error"]


@pytest.mark.parametrize("page", [b"<html>", b"{}", b'"text"'])
def test_a_page_of_a_proxy_is_no_end_of_a_batch(
    server: BatchServer, page: bytes
) -> None:
    answer, left = server.answer, [page, page]

    def through_a_proxy(method: str, path: str, content: bytes) -> tuple[int, bytes]:
        is_poll = method == "GET" and path.startswith("/batches")
        return (200, left.pop()) if is_poll and left else answer(method, path, content)

    vars(server)["answer"] = through_a_proxy
    assert not ask_about(server, ["a"]).failed
    assert len(server.batches) == 1


def test_a_batch_that_fails_ends_the_work(server: BatchServer, tmp_path: Path) -> None:
    server.statuses = ["failed"]
    server.errors = {"data": [{"line": 1, "message": f"no model m for {KEY}"}]}
    with pytest.raises(
        EvalkitError, match=r"has failed: line 1: no model m for \*\*\*"
    ):
        ask_about(server, ["a"])
    assert not unfinished(tmp_path)
    assert len(server.files) == 1


@pytest.mark.slow
def test_what_the_network_interrupts_goes_on(server: BatchServer) -> None:
    server.refuses = {"GET batches": 3, "POST files": 1}
    assert not ask_about(server, ["a"]).failed
    assert len(server.batches) == 1


def test_a_server_without_batches_is_refused(server: BatchServer) -> None:
    nothing = (404, b'{"error": {"message": "Not found"}}')
    vars(server)["answer"] = lambda *_: nothing
    with pytest.raises(EvalkitError, match="or no such service"):
        ask_about(server, ["a"])


@pytest.mark.slow
def test_many_requests_go_in_several_batches(server: BatchServer) -> None:
    texts = [f"text {n}" for n in range(7)]
    assert not ask_about(server, texts, parameters={"batch_requests": 3}).failed
    assert [len(lines) for lines in server.files] == [3, 3, 1]


@pytest.mark.slow
def test_repetitions_are_asked_anew(server: BatchServer) -> None:
    assert len(ask_about(server, ["a", "b"], replications=2).rows) == 4
    asked = [statement(line) for lines in server.files for line in lines]
    assert sorted(asked) == ["a", "a", "b", "b"]
    files = ask_about(
        server,
        ["a"],
        replications=3,
        parameters={"batch_requests": 1},
        asked={"is_cached": False},
    )
    assert not files.failed
    assert len(server.files) == 1 + 3


@pytest.mark.slow
def test_who_asks_again_while_a_batch_is_under_way_begins_no_second_one(
    server: BatchServer,
) -> None:
    server.statuses = ["in_progress"]
    model = BoundModel.of(evalkit.Registry().load("models", reference(server)))
    message = Message(role="user", content="a")
    requests = [Request(messages=(message,))]
    found: list[list[Reply]] = []
    threads = [
        threading.Thread(target=lambda: found.append(model.generate(requests)))
        for _ in range(2)
    ]
    for thread in threads:
        looked = len(server.asked)
        thread.start()
        while len(server.asked) < looked + 20:
            time.sleep(0.01)
    server.statuses = ["completed"]
    for thread in threads:
        thread.join()
    model.row_function("close")()
    first, second = found
    assert first == second
    assert first[0].completions[0].text == "positive"
    assert len(server.batches) == 1


def test_a_batch_that_the_server_forgot_is_begun_anew(
    server: BatchServer, tmp_path: Path
) -> None:
    server.statuses = ["in_progress"]
    with pytest.raises(EvalkitError):
        ask_about(server, ["a"], parameters={"hours": 0.00002})
    (kept,) = unfinished(tmp_path)
    kept.write_text('{"batch": "batch-9"}')
    server.statuses = ["completed"]
    assert not ask_about(server, ["a"]).failed
    assert len(server.batches) == 2


@pytest.mark.slow
def test_a_process_that_was_killed_goes_on_with_its_batch(
    server: BatchServer, tmp_path: Path
) -> None:
    data = tmp_path / "data.jsonl"
    row = {"uid": "1", "statement": "a", "label": "positive"}
    data.write_text(json.dumps(row) + "\n")
    command = [
        *(str(Path(sys.executable).with_name("evalkit")), "predict"),
        *("--data", str(data), "--task", "sentiment", "--model", reference(server)),
        *("-o", str(tmp_path / "out.jsonl")),
    ]
    server.statuses = ["in_progress"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as killed:
        while server.asked.count("GET /batches/batch-0") < 3:
            assert killed.poll() is None, killed.communicate()
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert len(unfinished(tmp_path)) == 1
    assert KEY.encode() not in unfinished(tmp_path)[0].read_bytes()
    server.statuses = ["completed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.jsonl").read_text())["label"] == "positive"
    assert len(server.files) == len(server.batches) == 1
    assert not unfinished(tmp_path)
