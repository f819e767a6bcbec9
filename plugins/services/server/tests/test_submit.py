"""`evalkit submit`: predictions go to a server, and their scores come back."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalkit.errors import EvalkitError
from evalkit_commands_submit.command import TOKEN_VARIABLE, submit_command
from evalkit_services_server import jobs

from .world import NAME, PREDICTIONS, World, settings_in

Served = tuple[str, dict[str, str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The address of a server with a worker, and tokens."""
    world = World(settings_in(tmp_path_factory.mktemp("server")))
    stopping = threading.Event()
    worker = threading.Thread(target=work, args=(world, stopping))
    with world.served() as address:
        worker.start()
        yield address, world.tokens
        stopping.set()
        worker.join()
    world.close()


def work(world: World, stopping: threading.Event) -> None:
    while not stopping.wait(0.05):
        claim = jobs.claim(world.engine, "worker", 60)
        if claim is not None:
            world.evaluate(claim)


def submit(served: Served, path: Path, *options: str, who: str = "ada") -> Any:
    url, tokens = served
    given = [NAME, "--predictions", str(path), "--server", url, *options]
    return CliRunner().invoke(submit_command, given, env={TOKEN_VARIABLE: tokens[who]})


def test_scores_come_back(served: Served) -> None:
    path = PREDICTIONS
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
    rows = PREDICTIONS.read_bytes()
    path = tmp_path / "mine.jsonl"
    cases = [
        (rows + b"not json\n", (), "ada", "invalid JSON"),
        (rows.partition(b"\n")[0], (), "ada", "refused: "),
        (rows, ("--model", "bob"), "bob", None),
        (rows, ("--model", "bob"), "ada", "belongs to bob"),
    ]
    for content, options, who, reason in cases:
        path.write_bytes(content)
        result = submit(served, path, *options, who=who)
        if reason is None:
            assert result.exit_code == 0
        else:
            assert isinstance(result.exception, EvalkitError)
            assert reason in str(result.exception)
