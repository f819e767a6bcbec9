"""`evalkit submit`: predictions go to a server, and their scores come back."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from click.testing import CliRunner
from sqlalchemy import Engine

from evalkit.errors import EvalkitError
from evalkit_commands_submit.command import TOKEN_VARIABLE, submit_command
from evalkit_services_server import jobs
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.settings import Settings

from .api_server import NAME, Server, example_predictions, settings_in

Served = tuple[str, dict[str, str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The address of a server with a worker, and tokens."""
    own = Server(settings_in(tmp_path_factory.mktemp("server")))
    server = uvicorn.Server(uvicorn.Config(own.app, port=0, log_level="warning"))
    stopping = threading.Event()
    threads = [
        threading.Thread(target=server.run),
        threading.Thread(target=work, args=(own.engine, own.settings, stopping)),
    ]
    for thread in threads:
        thread.start()
    while not server.started:
        stopping.wait(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", own.tokens
    stopping.set()
    server.should_exit = True
    for thread in threads:
        thread.join()
    own.close()


def work(engine: Engine, settings: Settings, stopping: threading.Event) -> None:
    while not stopping.wait(0.05):
        claim = jobs.claim(engine, "worker", 60)
        if claim is not None:
            evaluate_job(claim, settings, engine, stopping)


def submit(served: Served, path: Path, *options: str, who: str = "ada") -> Any:
    url, tokens = served
    given = [NAME, "--predictions", str(path), "--server", url, *options]
    return CliRunner().invoke(submit_command, given, env={TOKEN_VARIABLE: tokens[who]})


def test_scores_come_back(served: Served) -> None:
    path = example_predictions()
    shown = submit(served, path, "--model", "mine")
    assert shown.exit_code == 0, shown.output
    assert "accuracy" in shown.stdout
    found = json.loads(submit(served, path, "--model", "mine", "--json").stdout)
    assert found["job_id"] == 2
    assert found["perf"] == next(
        score["value"]
        for score in found["scores"]
        if (score["metric"], score["tag"]) == ("macro-f1", "")
    )


def test_refusals_say_why(served: Served, tmp_path: Path) -> None:
    rows = example_predictions().read_bytes()
    path = tmp_path / "mine.jsonl"
    cases = [
        (rows + b"not json\n", (), "ada", "invalid JSON"),
        (rows.partition(b"\n")[0], (), "ada", "refused: "),
        (rows, ("--model", "bob"), "bob", None),
        (rows, ("--model", "bob"), "ada", "is of bob"),
    ]
    for content, options, who, reason in cases:
        path.write_bytes(content)
        result = submit(served, path, *options, who=who)
        if reason is None:
            assert result.exit_code == 0
        else:
            assert isinstance(result.exception, EvalkitError)
            assert reason in str(result.exception)
