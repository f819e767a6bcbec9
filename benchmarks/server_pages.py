"""Measures the board of 1 000 models on 50 datasets, for one reader and for many.

`python benchmarks/server_pages.py [DATABASE]` fills a new database, by default SQLite
in a temporary folder, serves it, and prints the times as a reader sees them.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import psutil
from sqlalchemy import Connection, Engine, Table, insert

from evalkit_services_server.accounts import create_token, save_account
from evalkit_services_server.database import connect, migrate, now, writing
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import (
    BOARD,
    DATASET,
    JOB,
    METRIC,
    MODEL,
    RUN,
    SCORE,
    TASK,
)

MODELS, DATASETS, TAGS = 1000, 50, 13
READERS, UPLOADS, ROWS, PORT = 100, 10, 10_000, 8731


def fill(engine: Engine, models: int, datasets: int, tags: int) -> list[str]:
    """Add a task with scores of models on datasets and tags; return ten tokens."""
    draw = random.Random(0)
    with writing(engine) as connection:
        moment = now(connection)
        accounts = [save_account(connection, f"ada-{n}") for n in range(UPLOADS)]
        task = {
            **dict(code="nli", component="nli", input_keys=["uid", "context"]),
            **dict(perf_metric="accuracy", eval_metrics=["macro-f1"], weights={}),
            **dict(delta_metrics=[]),
        }
        [task_id] = _add(connection, TASK, [task])
        way = {
            "name": "accuracy",
            "unit": "%",
            "scale": 100.0,
            "higher_is_better": True,
        }
        connection.execute(insert(METRIC), way)
        data = _add(
            connection,
            DATASET,
            [
                {
                    **dict(
                        task_id=task_id, name=f"set-{n}", version="1", fingerprint="x"
                    ),
                    **dict(uri="/nothing.jsonl", access="open", board="scoring"),
                    **dict(added=moment, languages=["en" if n % 2 else "th"]),
                }
                for n in range(datasets)
            ],
        )
        rows = [
            {
                **dict(task_id=task_id, name=f"model-{n}"),
                **dict(account_id=accounts[n % UPLOADS]),
                **dict(added=moment),
            }
            for n in range(models)
        ]
        for model_id in _add(connection, MODEL, rows):
            skill = draw.uniform(0.4, 0.95)
            _add_runs(connection, task_id, model_id, data, skill, tags, draw)
        scopes = ["read", "submit"]
        return [create_token(connection, account, scopes) for account in accounts]


def _add(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> list[int]:
    made = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return list(connection.execute(made, rows).scalars())


def _add_runs(
    connection: Connection,
    task_id: int,
    model_id: int,
    datasets: list[int],
    skill: float,
    tags: int,
    draw: random.Random,
) -> None:
    moment, pairs = now(connection), [(model_id, dataset) for dataset in datasets]
    ended = dict(metrics=["accuracy"], state="done", requested=moment, ended=moment)
    rows: list[dict[str, Any]] = [
        {"key": f"{model}-{dataset}", "model_id": model, "dataset_id": dataset, **ended}
        for model, dataset in pairs
    ]
    jobs = _add(connection, JOB, rows)
    rows = [
        dict(job_id=job, folder="/x", comparison_key=f"{dataset}", counts={})
        for job, dataset in zip(jobs, datasets, strict=True)
    ]
    runs = _add(connection, RUN, rows)
    scores, board = [], []
    for run, dataset in zip(runs, datasets, strict=True):
        for tag in ("", *(f"topic:{n}" for n in range(tags))):
            value = min(1.0, max(0.0, draw.gauss(skill, 0.05)))
            half = 0.03 if tag else 0.01
            ends = {"ci_low": value - half, "ci_high": value + half}
            about = {"run_id": run, "metric": "accuracy", "tag": tag}
            scores.append({**about, **ends, "value": value, "n": 100 if tag else 1000})
        about = {"task_id": task_id, "metric": "accuracy", "model_id": model_id}
        board.append({**about, "dataset_id": dataset, "run_id": run})
    connection.execute(insert(SCORE), scores)
    connection.execute(insert(BOARD), board)


@contextmanager
def serving(settings: Settings) -> Iterator[tuple[str, psutil.Process]]:
    """Serve a database in a process of its own; yield its address and the process."""
    names = ("database", "store", "port", "requests_a_minute", "submissions_a_day")
    own = {f"EVALKIT_SERVER_{n.upper()}": str(getattr(settings, n)) for n in names}
    code = (
        "import uvicorn; from evalkit_services_server.app import make_app; "
        "from evalkit_services_server.settings import Settings; s = Settings(); "
        "uvicorn.run(make_app(s), host=s.host, port=s.port, log_level='warning')"
    )
    server = subprocess.Popen([sys.executable, "-c", code], env=os.environ | own)
    address = f"http://127.0.0.1:{settings.port}"
    try:
        for _ in range(200):
            try:
                httpx2.get(f"{address}/health")
                break
            except httpx2.TransportError:
                time.sleep(0.1)
        yield address, psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def _timed(client: httpx2.Client, address: str) -> float:
    start = time.perf_counter()
    client.get(address).raise_for_status()
    return time.perf_counter() - start


def _upload(client: httpx2.Client, address: str, token: str, model: int) -> float:
    start = time.perf_counter()
    rows = "".join(f'{{"id": "{n}", "label": "neutral"}}\n' for n in range(ROWS))
    client.post(
        f"{address}/api/v1/models/{model}/submissions?dataset=1",
        content=rows.encode(),
        headers={"authorization": f"Bearer {token}"},
    ).raise_for_status()
    return time.perf_counter() - start


def _query(reader: int) -> str:
    """Return what a reader asks for: another page, order, weight or filter."""
    return (
        f"page={reader % 10 + 1}",
        f"sort=set-{reader % DATASETS}",
        f"model={reader % 10}",
        f"w.set-1={reader}&reverse=1",
        f"language={'en' if reader % 2 else 'th'}",
    )[reader % 5]


def main() -> None:
    """Fill a database, and measure."""
    with TemporaryDirectory() as folder:
        named = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/server.db"
        settings = Settings(
            database=named,
            store=str(Path(folder, "store")),
            port=PORT,
            requests_a_minute=10**6,
            submissions_a_day=10**6,
        )
        engine = connect(settings)
        migrate(engine)
        start = time.perf_counter()
        tokens = fill(engine, MODELS, DATASETS, TAGS)
        print(f"filled in {time.perf_counter() - start:.0f} s")
        with serving(settings) as (address, server):
            board = f"{address}/tasks/nli"
            # one client, as each takes .06 CPU s to begin
            client = httpx2.Client(timeout=60, limits=httpx2.Limits())
            print(f"first reader: {_timed(client, board):.3f} s")
            alone = [_timed(client, board) for _ in range(20)]
            print(f"one warm reader: median {statistics.median(alone):.3f} s of 20")
            before = sum(server.cpu_times()[:2])
            with ThreadPoolExecutor(READERS + UPLOADS) as pool:
                uploads = [
                    pool.submit(_upload, client, address, tokens[n], n + 1)
                    for n in range(UPLOADS)
                ]
                readers = [
                    pool.submit(_timed, client, f"{board}?{_query(n)}")
                    for n in range(READERS)
                ]
                times = sorted(each.result() for each in readers)
                sent = [each.result() for each in uploads]
            used = sum(server.cpu_times()[:2]) - before
            slow = times[int(0.95 * READERS) - 1]
            print(f"{READERS} readers and {UPLOADS} uploads at once, without an error:")
            print(f"readers p95 {slow:.2f} s, uploads at most {max(sent):.2f} s")
            print(f"the server used {used:.2f} CPU s for them")


if __name__ == "__main__":
    main()
