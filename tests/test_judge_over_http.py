"""A judge as an annotator, over HTTP: its server fails, stalls and throttles."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import evalkit

JUDGE = '''
"""A judge that is asked over HTTP, and a metric that reads what it says."""

import json
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import evalkit


class Judge(evalkit.Annotator):
    version = "1"
    reads = ("statement",)
    columns = ("score", "verdict")
    pause = 0.01
    retries = 1

    class Parameters(evalkit.Parameters):
        url: str
        seconds: float = 0.5

    def annotate_example(self, prediction, fields):
        asked = json.dumps({"text": fields["statement"], "answer": prediction})
        url = urlsplit(self.parameters.url)
        server = HTTPConnection(url.hostname, url.port, timeout=self.parameters.seconds)
        with closing(server):
            server.request("POST", "/", asked)
            reply = server.getresponse()
            body = reply.read()
            if reply.status == 429:
                raise evalkit.TryAgain("throttled", after=0.01)
            if reply.status != 200:
                return evalkit.NotScored(f"HTTP {reply.status}")
            said = json.loads(body)
        value = {"score": said["score"], "verdict": said["verdict"]}
        return evalkit.Annotation(value, text=said["why"], cost=0.5)


class Judged(evalkit.Metric):
    bounds = (0, 1)
    higher_is_better = True

    class Parameters(evalkit.Parameters):
        url: str

    @property
    def columns(self):
        return (f"judge.score:url={self.parameters.url}",)

    def score_example(self, fields):
        (score,) = fields.values()
        return score
'''

ROWS = 200
REFUSED = {f"text {number}" for number in range(0, ROWS, 20)}  # 5 %
STALLED = {"text 3"}  # the first time
DEAD = "text 7"  # each time
THROTTLED = {f"text {number}" for number in range(1, ROWS, 10)}  # the first time


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.released = threading.Event()

    def handle_error(self, *_: Any) -> None:
        """Say nothing of those who hung up."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        text = json.loads(self.rfile.read(length))["text"]
        with self.server.lock:
            self.server.asked[text] += 1
            is_first = self.server.asked[text] == 1
        if text == DEAD or (text in STALLED and is_first):
            self.server.released.wait(20)
        status = 500 if text in REFUSED else 200
        if text in THROTTLED and is_first:
            status = 429
        number = int(text.split()[1])
        said = {"score": number % 2, "verdict": "odd", "why": f"because of {text}"}
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def judged(
    server: Server,
    fake_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., evalkit.Result]:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    points = {
        "evalkit.annotators": {"judge": "Judge"},
        "evalkit.metrics": {"judged": "Judged"},
    }
    fake_distribution(JUDGE, points, name="judges", version="2.0")

    class Texts(evalkit.Dataset):
        task = "sentiment"

        def load(self, split: str) -> list[dict[str, str]]:
            return [
                {"uid": str(n), "statement": f"text {n}", "label": "positive"}
                for n in range(ROWS)
            ]

    said = [{"id": str(n), "label": "positive"} for n in range(ROWS)]
    metric = f"judged:url=http://127.0.0.1:{server.server_address[1]}"

    def evaluate(**options: Any) -> evalkit.Result:
        return evalkit.evaluate(
            Texts, said, metrics=["accuracy", metric], out=tmp_path / "runs", **options
        )

    return evaluate


@pytest.mark.slow
def test_scores_failures_and_a_second_run(
    judged: Callable[..., evalkit.Result], server: Server
) -> None:
    result = judged()
    name = result.record.metric_names[1]
    refused = {text.split()[1] for text in REFUSED}
    without = {*refused, "7"}
    scored = [n % 2 for n in range(ROWS) if str(n) not in without]
    assert result["accuracy"].n == ROWS
    assert result[name].n == len(scored) == 189
    assert result[name].value == pytest.approx(sum(scored) / len(scored))
    assert result.status == "partial"
    assert result.record.not_scored == {name: 11}
    column = name.replace("judged:", "judge.score:")
    reasons = {problem.id: problem.reason for problem in result.problems}
    timeout = f"{column}: TimeoutError: timed out (asked 2 times)"
    assert reasons == {**dict.fromkeys(refused, f"{column}: HTTP 500"), "7": timeout}
    once = ROWS - 1 - len(STALLED) - len(THROTTLED)
    assert server.asked.total() == once + 2 * (len(STALLED) + len(THROTTLED)) + 2
    (told,) = result.record.columns
    assert (told.rows, told.details["asked"], told.details["cost"]) == (
        ROWS,
        ROWS,
        0.5 * 189,
    )
    assert dict(told.without_value) == {
        "HTTP 500": 10,
        "TimeoutError: timed out (asked 2 times)": 1,
    }

    asked = dict(server.asked)
    server.asked.clear()
    again = judged()
    assert dict(server.asked) == asked  # code keeps no answers
    assert again.fingerprint == result.fingerprint
    assert again[name].value == result[name].value

    server.released.set()
    server.asked.clear()
    third = judged()
    assert third[name].n == 190
    assert third.fingerprint == result.fingerprint
