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

from evalkit import Registry
from evalkit.errors import EvalkitError
from evalkit_services_server import accounts, jobs
from evalkit_services_server.app import make_app
from evalkit_services_server.database import connect, migrate, writing
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.scan import add_dataset
from evalkit_services_server.settings import Settings
from evalkit_services_server.submitting import TOKEN_VARIABLE, submit_command
from evalkit_services_server.tasks import add_task

DATASET = "sample-sentiment"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server with a worker: its address, and a token."""
    folder = tmp_path_factory.mktemp("server")
    settings = Settings(
        database=f"sqlite:///{folder}/server.db", store=f"{folder}/store"
    )
    engine = connect(settings)
    migrate(engine)
    with writing(engine) as connection:
        add_task(connection, "sentiment")
        ada = accounts.create_account(connection, "ada")
        bob = accounts.create_account(connection, "bob")
        token = accounts.create_token(connection, ada, "t", ("read", "submit"))
        other = accounts.create_token(connection, bob, "t", ("read", "submit"))
    add_dataset(engine, settings, DATASET, DATASET)
    server = uvicorn.Server(
        uvicorn.Config(make_app(settings), port=0, log_level="warning")
    )
    stopping = threading.Event()
    threads = [
        threading.Thread(target=server.run),
        threading.Thread(target=work, args=(engine, settings, stopping)),
    ]
    for thread in threads:
        thread.start()
    while not server.started:
        stopping.wait(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", f"{token} {other}"
    stopping.set()
    server.should_exit = True
    for thread in threads:
        thread.join()
    engine.dispose()


def work(engine: Engine, settings: Settings, stopping: threading.Event) -> None:
    while not stopping.wait(0.05):
        claim = jobs.claim(engine, "worker", 60)
        if claim is not None:
            evaluate_job(claim, settings, engine, stopping)


def submit(served: tuple[str, str], path: Path, *options: str, who: int = 0) -> Any:
    url, tokens = served
    environment = {TOKEN_VARIABLE: tokens.split()[who]}
    given = [DATASET, "--predictions", str(path), "--server", url, *options]
    return CliRunner().invoke(submit_command, given, env=environment)


def example_predictions() -> Path:
    attributes = Registry().load("datasets", DATASET).attributes
    path: Path = next(iter(attributes["example_predictions"].values()))
    return path


def test_scores_come_back(served: tuple[str, str]) -> None:
    path = example_predictions()
    shown = submit(served, path, "--model", "mine")
    assert shown.exit_code == 0, shown.output
    assert "accuracy" in shown.stdout
    # the same again is evaluated no second time
    found = json.loads(submit(served, path, "--model", "mine", "--json").stdout)
    assert found["job_id"] == 1
    assert found["perf"] == next(
        score["value"]
        for score in found["scores"]
        if (score["metric"], score["tag"]) == ("macro-f1", "")
    )


def test_refusals_say_why(served: tuple[str, str], tmp_path: Path) -> None:
    rows = example_predictions().read_bytes()
    path = tmp_path / "mine.jsonl"
    cases = [
        (rows + b"not json\n", (), 0, "invalid JSON"),
        (rows.partition(b"\n")[0], (), 0, "refused: "),
        (rows, ("--model", "bob"), 1, None),
        (rows, ("--model", "bob"), 0, "is of bob"),
    ]
    for content, options, who, reason in cases:
        path.write_bytes(content)
        result = submit(served, path, *options, who=who)
        if reason is None:
            assert result.exit_code == 0
        else:
            assert isinstance(result.exception, EvalkitError)
            assert reason in str(result.exception)


@pytest.mark.parametrize(
    ("url", "token", "reason"),
    [
        ("http://example.org", "t", "expected https"),
        ("http://127.0.0.1:9", "", "is not set"),
        ("http://127.0.0.1:9", "t", "cannot be reached"),
    ],
)
def test_a_token_is_sent_nowhere_else(
    tmp_path: Path, url: str, token: str, reason: str
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b"")
    result = submit((url, token or " "), path) if token else None
    if result is None:
        given = [DATASET, "--predictions", str(path), "--server", url]
        result = CliRunner().invoke(submit_command, given, env={TOKEN_VARIABLE: ""})
    assert isinstance(result.exception, EvalkitError)
    assert reason in str(result.exception)
