"""The queue: each request is evaluated once, whatever ends its workers."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from model_servers import Answer, Got, serving
from postgresql import Cluster, has_postgresql
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from evalkit import read_run
from evalkit_services_server import evaluation, jobs, requests
from evalkit_services_server.database import now, writing
from evalkit_services_server.evaluation import sweep
from evalkit_services_server.tables import BOARD, DATASET, JOB, RUN, SCORE

METRICS = """
import os, sys, time

def fine(predictions, targets):
    return 0.5

def raises(predictions, targets):
    raise ValueError("no number at all")

def leaves(predictions, targets):
    sys.exit(3)

def exits(predictions, targets):
    os._exit(3)

def hangs(predictions, targets):
    while True:
        time.sleep(0.01)

def eats(predictions, targets):
    eaten = []
    while True:
        eaten.append(bytearray(os.urandom(1 << 20) * 20))
"""


def board(world: Any) -> dict[str, tuple[int, float]]:
    """Return the current run and its score by metric."""
    query = select(BOARD.c.metric, BOARD.c.run_id, SCORE.c.value).where(
        SCORE.c.run_id == BOARD.c.run_id,
        SCORE.c.metric == BOARD.c.metric,
        SCORE.c.tag == "",
    )
    with world.engine.connect() as connection:
        return {name: (run, value) for name, run, value in connection.execute(query)}


def change(world: Any, job: int | None, **values: Any) -> None:
    """Change the row of a job."""
    with writing(world.engine) as connection:
        connection.execute(update(JOB).where(JOB.c.id == job).values(values))


def expire(world: Any, job: int | None) -> None:
    """Let the lease of a job end now."""
    with writing(world.engine) as connection:
        past = now(connection) - timedelta(seconds=1)
    change(world, job, leased_until=past)


def test_what_is_requested_twice_is_evaluated_once(world: Any) -> None:
    model = world.add_model("vader")
    with writing(world.engine) as connection:
        assert requests.request(connection, model, world.dataset) is None
    job = world.submit(model, world.predictions["vader"])
    assert job is not None
    with writing(world.engine) as connection:
        assert requests.request(connection, model, world.dataset) is None
    claim = world.claim()
    assert jobs.claim(world.engine, "two", 2) is None
    assert world.evaluate(claim) == "done"
    (row,) = world.rows(JOB)
    assert (row["state"], row["attempt"], row["reason"]) == ("done", 1, None)
    (run,) = world.rows(RUN)
    stored = read_run(run["folder"])
    expected = {name: (1, stored[name].value) for name in ("accuracy", "macro-f1")}
    assert board(world) == expected


def test_the_board_shows_the_latest_request(world: Any) -> None:
    model = world.add_model("vader")
    for name in ("vader", "afinn", "vader"):
        world.submit(model, world.predictions[name])
    first, second = world.claim(), world.claim("two")
    assert world.evaluate() == "done"
    latest = board(world)
    for former in (second, first):
        assert world.evaluate(former) == "done"
    assert board(world) == latest
    with writing(world.engine) as connection:
        assert requests.request(connection, model, world.dataset, again=True)
        assert requests.request(connection, model, world.dataset, again=True) is None


def test_refused_predictions_are_a_result(world: Any, tmp_path: Path) -> None:
    lines = world.predictions["vader"].read_text().splitlines()
    path = tmp_path / "short.jsonl"
    path.write_text("\n".join(lines[1:]))
    world.submit(world.add_model("short"), path)
    assert world.evaluate() == "refused"
    (job,), (run,) = world.rows(JOB), world.rows(RUN)
    assert "1 example without a prediction" in job["reason"]
    assert run["counts"]["missing"] == 1
    assert board(world) == {}


def test_a_lease_that_is_lost_while_writing_changes_nothing(world: Any) -> None:
    job = world.submit(world.add_model("vader"), world.predictions["vader"])
    first = world.claim()
    expire(world, job)
    second = world.claim("two")
    assert second.attempt == 2
    assert world.evaluate(first) == "waiting"
    assert not jobs.beat(world.engine, first, 2, "writing", None)
    assert world.rows(RUN) == []
    assert world.evaluate(second) == "done"
    assert len(world.rows(RUN)) == 1
    runs = Path(world.settings.store, "runs")
    assert [path.name for path in runs.iterdir()] == [f"{job}-2"]
    (runs / f"{job}-1").mkdir()
    assert sweep(world.engine, world.settings) == [f"{job}-1"]
    assert [path.name for path in runs.iterdir()] == [f"{job}-2"]


def test_a_job_that_ends_its_workers_fails(world: Any) -> None:
    job = world.submit(world.add_model("vader"), world.predictions["vader"])
    for _ in range(jobs.MOST_FAILURES):
        world.claim()
        expire(world, job)
    assert jobs.claim(world.engine, "last", 2) is None
    (row,) = world.rows(JOB)
    assert row["state"] == "failed"
    assert row["reason"] == (
        "5 attempts failed. The last: the evaluation ended its worker without a word"
    )


def test_a_store_that_cannot_be_written_is_tried_again(world: Any) -> None:
    job = world.submit(world.add_model("vader"), world.predictions["vader"])
    runs = Path(world.settings.store, "runs")
    runs.write_text("in the way")
    assert world.evaluate() == "waiting"
    (row,) = world.rows(JOB)
    assert "tried again" in row["reason"]
    assert jobs.claim(world.engine, "two", 2) is None, "it waits for a while"
    runs.unlink()
    expire(world, job)
    assert world.evaluate() == "done"


def test_models_are_asked(world: Any) -> None:
    def answer(got: Got) -> Answer:
        if is_away.is_set():
            return Answer(status=404)
        return Answer({"id": got.body["uid"], "label": "neutral"})

    is_away = Event()
    with serving(answer) as server:
        address = server.url.removeprefix("http://").partition("/")[0]
        world.settings.endpoints = (f"http://{address}",)
        endpoint = {"model": "http", "parameters": {"url": server.url}}
        model = world.add_model("constant", endpoint=endpoint)
        with writing(world.engine) as connection:
            job = requests.request(connection, model, world.dataset)
        is_away.set()
        assert world.evaluate() == "waiting", world.rows(JOB)[0]["reason"]
        assert "models/http" in world.rows(JOB)[0]["reason"]
        is_away.clear()
        expire(world, job)
        assert world.evaluate() == "done"
        with writing(world.engine) as connection:
            connection.execute(update(DATASET).values(access="inputs-private"))
            requests.request(connection, model, world.dataset, again=True)
        assert world.evaluate() == "failed"
        assert "only models that the host trusts" in world.rows(JOB)[-1]["reason"]
    assert board(world)["accuracy"][0] == 1


def test_what_a_lost_connection_may_have_recorded_is_kept(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def losing(engine: Any) -> Iterator[Any]:
        with writing(engine) as connection:
            yield connection
        monkeypatch.undo()
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    world.submit(world.add_model("vader"), world.predictions["vader"])
    monkeypatch.setattr(evaluation, "writing", losing)
    world.evaluate()
    [run] = world.rows(RUN)
    assert world.rows(JOB)[0]["state"] == "done"
    assert read_run(run["folder"]).scores


def run_workers(world: Any, count: int) -> subprocess.Popen[bytes]:
    """Start workers over a world's database, in a process of their own."""
    given = world.settings.model_dump_json(exclude={"secret"})
    program = (
        "from evalkit_services_server.settings import Settings\n"
        "from evalkit_services_server.workers import work\n"
        f"if __name__ == '__main__': work(Settings.model_validate_json({given!r}), "
        f"{count})\n"
    )
    script = Path(world.settings.store, "work.py")
    script.write_text(program)
    return subprocess.Popen([sys.executable, str(script)])


def wait(world: Any, seconds: float) -> None:
    until = time.monotonic() + seconds
    while any(row["ended"] is None for row in world.rows(JOB)):
        assert time.monotonic() < until, [dict(row) for row in world.rows(JOB)]
        time.sleep(0.1)


@pytest.mark.slow
def test_plugins_that_fail_end_only_their_jobs(world: Any, tmp_path: Path) -> None:
    file = tmp_path / "metrics.py"
    file.write_text(METRICS)
    world.settings.job_seconds = 10
    world.settings.job_bytes = 600 << 20
    reasons = {
        "raises": "done.*no number at all",
        "leaves": "done.*SystemExit",
        "exits": "failed the evaluation ended its process with the exit code 3",
        "hangs": "failed the evaluation took longer than 10 s",
        "eats": "failed the evaluation used more than 600 MiB",
        "fine": "done None",
    }
    for name in reasons:
        job = world.submit(world.add_model(name), world.predictions["vader"])
        change(world, job, metrics=["accuracy", f"{file}:{name}"])
    parent = run_workers(world, 2)
    try:
        wait(world, 120)
        stopped = world.submit(world.add_model("stopped"), world.predictions["afinn"])
        change(world, stopped, metrics=[f"{file}:hangs"])
        while world.rows(JOB)[-1]["state"] == "waiting":
            time.sleep(0.1)
    finally:
        parent.terminate()
        assert parent.wait(60) == 0
    *ended, left = world.rows(JOB)
    assert (left["state"], left["failures"]) == ("waiting", 0), "it is given back"
    for job, (name, pattern) in zip(ended, reasons.items(), strict=True):
        assert re.match(pattern, f"{job['state']} {job['reason']}"), name


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
def test_a_database_that_restarts_loses_no_job(cluster: Cluster, world: Any) -> None:
    for number in range(12):
        world.submit(world.add_model(f"m{number}"), world.predictions["vader"])
    parent = run_workers(world, 2)
    try:
        while not world.rows(RUN):
            time.sleep(0.1)
        cluster.stop()
        time.sleep(4)
        cluster.start()
        wait(world, 200)
    finally:
        parent.terminate()
        assert parent.wait(60) == 0
    assert [row["state"] for row in world.rows(JOB)] == 12 * ["done"]
    assert len(world.rows(RUN)) == 12


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_processes_that_are_killed_lose_and_double_no_job(database: str) -> None:
    if database == "postgresql" and not has_postgresql():
        pytest.skip("PostgreSQL (initdb, pg_ctl) is not on the path")
    program = Path(__file__).parents[4] / "benchmarks" / "server.py"
    given = "--database", database, "--kills", "2", "--server-kills", "1"
    subprocess.run([sys.executable, program, *given], check=True)
