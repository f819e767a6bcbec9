"""Kills the evaluation server and its workers at random, and looks what is lost.

```
python benchmarks/server.py [--database sqlite|postgresql] [--kills 50]
    [--server-kills 20] [--workers 2] [--seed 0]
```

A client submits predictions by the API until all kills are done. Then every submission
must have been evaluated once, and no run may lie in the store that no job has. All
jobs are then replayed on an empty database without kills: the board must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
from sqlalchemy import func, select

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "references"))

from postgresql import running_cluster

from evalkit_services_server import accounts, requests
from evalkit_services_server.database import connect, insert, migrate, writing
from evalkit_services_server.evaluation import sweep
from evalkit_services_server.scan import scan
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import (
    BOARD,
    DATASET,
    JOB,
    MODEL,
    RUN,
    SCORE,
    SUBMISSION,
)
from evalkit_services_server.tasks import add_task

DATASETS = ("sample-sentiment",)
LABELS = ("positive", "negative", "neutral")
EXAMPLES = 135
LEASE = 5.0


class Site:
    """A server and its workers, over one database and one store."""

    def __init__(self, folder: Path, database: str, workers: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.settings = Settings(
            database=database,
            store=str(folder / "store"),
            port=self.port,
            lease=LEASE,
            submissions_a_day=100_000,
            requests_a_minute=100_000,
        )
        given = self.settings.model_dump(mode="json", exclude={"secret"})
        given = {key: value for key, value in given.items() if value}
        self._environment = {
            **os.environ,
            **{
                f"EVALKIT_SERVER_{key.upper()}": str(each)
                for key, each in given.items()
            },
        }
        self.received: set[int] = set()
        self._workers = str(workers)
        self._log = (folder / "log").open("ab")
        self._folder = folder
        self.engine = connect(self.settings)
        migrate(self.engine)
        with writing(self.engine) as connection:
            add_task(connection, "sentiment")
            owner = accounts.save_account(connection, "owner")
            self.token = accounts.create_token(connection, owner, ("read", "submit"))
        scan(self.engine, self.settings)

    def start_workers(self) -> subprocess.Popen[bytes]:
        """Start the parent of the workers."""
        return self.start("work", "--jobs", self._workers)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command of evalkit, in a session of its own."""
        program = Path(sys.executable).with_name("evalkit")
        return subprocess.Popen(
            [program, *command],
            cwd=self._folder,
            env=self._environment,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Ask the API, again and again while the server is away."""
        headers = {"authorization": f"Bearer {self.token}"}
        if path == "/models":
            headers["content-type"] = "application/json"
        url = f"http://127.0.0.1:{self.port}/api/v1{path}"
        while True:
            asked = urllib.request.Request(url, body, headers, method=method)
            try:
                with urllib.request.urlopen(asked, timeout=30) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    raise RuntimeError(f"{path}: {error.read()!r}") from error
            except (OSError, ValueError):
                pass
            time.sleep(0.1)

    def count(self, *states: str) -> int:
        """Count the jobs in some states."""
        query = select(func.count()).where(JOB.c.state.in_(states))
        with self.engine.connect() as connection:
            return connection.scalar(query) or 0

    def wait(self, seconds: float = 600.0) -> None:
        """Wait until every job ended."""
        until = time.monotonic() + seconds
        while self.count("waiting", "running"):
            assert time.monotonic() < until, "jobs are left"
            time.sleep(0.2)

    def board(self) -> list[tuple[Any, ...]]:
        """Return all that the board shows, by names."""
        columns = [
            *(MODEL.c.name, DATASET.c.name, BOARD.c.metric, SUBMISSION.c.sha256),
            *(SCORE.c.tag, SCORE.c.n, SCORE.c.value, SCORE.c.ci_low, SCORE.c.ci_high),
        ]
        joined = BOARD.join(RUN, RUN.c.id == BOARD.c.run_id)
        joined = joined.join(JOB, JOB.c.id == RUN.c.job_id)
        joined = joined.join(SUBMISSION, SUBMISSION.c.id == JOB.c.submission_id)
        joined = joined.join(MODEL, MODEL.c.id == BOARD.c.model_id)
        joined = joined.join(DATASET, DATASET.c.id == BOARD.c.dataset_id)
        is_score = (SCORE.c.run_id == RUN.c.id) & (SCORE.c.metric == BOARD.c.metric)
        query = select(*columns).select_from(joined.join(SCORE, is_score))
        with self.engine.connect() as connection:
            return sorted(tuple(row) for row in connection.execute(query))


def add_model(site: Site, name: str) -> int:
    """Add a model, unless it was added before the server was killed."""
    body = json.dumps({"task": "sentiment", "name": name}).encode()
    with suppress(RuntimeError):
        return site.ask("POST", "/models", body)["id"]
    return site.ask("GET", f"/models?name={name}")[0]["id"]


def submit_until(site: Site, done: Event, chance: random.Random) -> None:
    """Submit predictions, twice of every third model."""
    number = 0
    while not done.is_set():
        model = add_model(site, f"model-{number}")
        for _ in range(2 if number % 3 == 0 else 1):
            rows = [
                {"id": f"sent-{key:03}", "label": chance.choice(LABELS)}
                for key in range(1, EXAMPLES + 1)
            ]
            body = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
            path = f"/models/{model}/submissions?dataset=1"
            site.received.add(site.ask("POST", path, body)["id"])
        number += 1
        while not done.is_set() and site.count("waiting") > 6:
            time.sleep(0.05)


def kill(pid: int) -> bool:
    """Kill a process with no chance to do anything."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def find_children(pid: int) -> list[int]:
    """Return the processes that evaluate, of a parent."""
    found = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.Error):
            found += [child.pid] if "spawn_main" in str(child.cmdline()) else []
    return found


def kill_workers(
    site: Site, count: int, chance: random.Random, finish: Callable[[], None]
) -> None:
    """Kill children, and now and then their parent, which is started again."""
    parent = site.start_workers()
    try:
        for _ in range(count):
            ended = site.count("done")
            until = time.monotonic() + 60
            while site.count("done") == ended and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(chance.random() * 0.5)
            children = find_children(parent.pid)
            if children and chance.random() < 0.8:
                kill(chance.choice(children))
            else:
                kill(parent.pid)
                parent.wait()
                parent = site.start_workers()
        finish()
        site.wait()
    finally:
        parent.terminate()
        parent.wait()


def kill_servers(site: Site, count: int, chance: random.Random, done: Event) -> None:
    """Kill the server, which is started again, and let it run until the end."""
    server = site.start("serve")
    try:
        for _ in range(count):
            answers = f"http://127.0.0.1:{site.port}/health"
            while not done.is_set():
                with suppress(OSError), urllib.request.urlopen(answers, timeout=5):
                    break
                time.sleep(0.05)
            time.sleep(chance.random() * 4)
            kill(server.pid)
            server.wait()
            server = site.start("serve")
        done.wait()
    finally:
        server.terminate()
        server.wait()


def disturb(site: Site, kills: int, server_kills: int, seed: int) -> None:
    """Submit, evaluate and kill, until all that was submitted is evaluated."""
    chance, all_killed, all_ended = random.Random(seed), Event(), Event()
    threads = [
        Thread(target=submit_until, args=(site, all_killed, random.Random(seed))),
        Thread(
            target=kill_servers,
            args=(site, server_kills, random.Random(seed), all_ended),
        ),
    ]
    for thread in threads:
        thread.start()
    try:
        kill_workers(site, kills, chance, lambda: finish(threads[0], all_killed))
    finally:
        all_killed.set()
        all_ended.set()
        for thread in threads:
            thread.join()


def finish(submitting: Thread, all_killed: Event) -> None:
    """Let the last submission arrive."""
    all_killed.set()
    submitting.join()


def replay(site: Site, former: Site) -> None:
    """Request all jobs of another site in their order, and evaluate them."""
    with former.engine.connect() as connection:
        models = connection.execute(select(MODEL).order_by(MODEL.c.id)).mappings()
        rows = connection.execute(select(SUBMISSION).order_by(SUBMISSION.c.id))
        models, submissions = models.all(), rows.mappings().all()
    with writing(site.engine) as connection:
        for model in models:
            connection.execute(insert(connection, MODEL).values(dict(model)))
        for submission in submissions:
            connection.execute(insert(connection, SUBMISSION).values(dict(submission)))
            key = submission["id"]
            pair = submission["model_id"], submission["dataset_id"]
            requests.request(connection, *pair, submission=key)
    worker = site.start_workers()
    try:
        site.wait()
    finally:
        worker.terminate()
        worker.wait()


def check(site: Site) -> dict[str, int]:
    """Return what was counted; each submission must have one run."""
    sweep(site.engine, site.settings)
    with site.engine.connect() as connection:
        query = select(JOB.c.submission_id, RUN.c.folder)
        query = query.join_from(RUN, JOB, RUN.c.job_id == JOB.c.id)
        runs = connection.execute(query).all()
        figures = {
            "submissions": connection.scalar(select(func.count(SUBMISSION.c.id))) or 0,
            "jobs": connection.scalar(select(func.count(JOB.c.id))) or 0,
            "further attempts": connection.scalar(select(func.sum(JOB.c.attempt - 1)))
            or 0,
        }
    evaluated = [run.submission_id for run in runs]
    folder = Path(site.settings.store, "runs")
    written = [str(path) for path in folder.glob("*/*/*")]
    return {
        **figures,
        "lost": len(site.received - {*evaluated}) + site.count("failed", "refused"),
        "counted twice": len(evaluated) - len({*evaluated}),
        "runs without a job": len({*written} - {run.folder for run in runs}),
        "jobs without a run": len({run.folder for run in runs} - {*written}),
    }


@contextmanager
def databases(kind: str, folders: list[Path]) -> Iterator[list[str]]:
    """Yield the addresses of empty databases."""
    if kind == "sqlite":
        yield [f"sqlite:///{folder}/server.db" for folder in folders]
        return
    with running_cluster() as cluster:
        yield [cluster.add_database() for _ in folders]


def main() -> None:
    """Kill, look, replay and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--server-kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for kind in [given.database] if given.database else ["sqlite", "postgresql"]:
        with tempfile.TemporaryDirectory(prefix="evalkit-server-") as name:
            folders = [Path(name, "killed"), Path(name, "replayed")]
            for folder in folders:
                folder.mkdir()
            with databases(kind, folders) as urls:
                began = time.monotonic()
                sites = [
                    Site(*place, given.workers)
                    for place in zip(folders, urls, strict=True)
                ]
                disturb(sites[0], given.kills, given.server_kills, given.seed)
                found: dict[str, Any] = check(sites[0])
                replay(sites[1], sites[0])
                boards = [site.board() for site in sites]
                found["rows of the board"] = len(boards[0])
                found["same board"] = boards[0] == boards[1] and bool(boards[0])
                found["seconds"] = round(time.monotonic() - began)
                print(json.dumps({"database": kind, **found}), flush=True)
                for site in sites:
                    site.engine.dispose()
        wrong = ("lost", "counted twice", "runs without a job", "jobs without a run")
        if any(found[key] for key in wrong) or not found["same board"]:
            sys.exit(1)


if __name__ == "__main__":
    main()
