"""A server with a task, its dataset, accounts, a worker and a client."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx2
import uvicorn
from fastapi.testclient import TestClient
from sqlalchemy import RowMapping, Table, select

from evalkit import Registry
from evalkit_services_server import accounts, jobs, requests
from evalkit_services_server.app import API, make_app
from evalkit_services_server.database import connect, insert, migrate, now, writing
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.jobs import Claim
from evalkit_services_server.scan import add_dataset
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import DATASET, MODEL, SUBMISSION
from evalkit_services_server.tasks import add_task

GOOD = b'{"id": "1", "label": "positive"}\n{"id": 2, "label": "negative"}\n'
NAME = "sample-sentiment"
EXAMPLES: Mapping[str, Path] = (
    Registry().load("datasets", NAME).attributes["example_predictions"]
)
PREDICTIONS = EXAMPLES["vader"]
ADA, BOB, HOST = 1, 2, 3


def settings_in(folder: Path, **changed: Any) -> Settings:
    return Settings(
        database=f"sqlite:///{folder}/server.db", store=f"{folder}/store", **changed
    )


class World:
    """The task of the sample and its dataset, and three accounts with tokens."""

    dataset = 1

    def __init__(self, settings: Settings) -> None:
        self.settings, self.engine = settings, connect(settings)
        self.tokens: dict[str, str] = {}
        migrate(self.engine)
        with writing(self.engine) as connection:
            add_task(connection, "sentiment")
            for name, role in (
                *(("ada", "submitter"), ("bob", "submitter")),
                ("host", "administrator"),
            ):
                key = accounts.save_account(connection, name, role=role)
                scopes = accounts.SCOPES[role]
                for n, scope in enumerate(scopes, 1):
                    token = accounts.create_token(connection, key, scopes[:n])
                    self.tokens[f"{name} {scope}"] = token
                self.tokens[name] = token
        assert add_dataset(self.engine, settings, NAME, NAME).outcome == "added"
        self.predictions = EXAMPLES

    def add(self, table: Table, moment: str, **values: Any) -> int:
        """Add a row, with the present time in one of its columns."""
        with writing(self.engine) as connection:
            values[moment] = now(connection)
            made = insert(connection, table).values(values).returning(table.c.id)
            key: int = connection.execute(made).scalar_one()
        return key

    def add_dataset(self, name: str, **values: Any) -> int:
        """Add a dataset that nothing can be evaluated on."""
        row = dict(task_id=1, name=name, version="1", fingerprint="f", uri="u")
        row |= dict(access="open", board="scoring", languages=["en"])
        return self.add(DATASET, "added", **{**row, **values})

    def add_model(self, name: str = "m", **values: Any) -> int:
        """Add a model of ada's; it uploads predictions unless `values` say another."""
        row = dict(task_id=1, account_id=ADA, name=name)
        return self.add(MODEL, "added", **{**row, **values})

    def submit(self, model: int, path: Path) -> int | None:
        """Submit predictions, and request their evaluation."""
        row = dict(model_id=model, dataset_id=self.dataset, uri=str(path))
        row |= dict(sha256=path.stem, size=path.stat().st_size)
        self.add(SUBMISSION, "received", **row)
        with writing(self.engine) as connection:
            return requests.request(connection, model, self.dataset)

    def claim(self, worker: str = "one") -> Claim:
        """Claim the next job."""
        claim = jobs.claim(self.engine, worker, self.settings.lease)
        assert claim is not None
        return claim

    def evaluate(self, claim: Claim | None = None) -> str:
        """Evaluate the next job, or one that was claimed."""
        claim = claim or self.claim()
        return evaluate_job(claim, self.settings, self.engine, Event())

    def rows(self, table: Table) -> Sequence[RowMapping]:
        """Return the rows of a table, in their order."""
        with self.engine.connect() as connection:
            return connection.execute(select(table).order_by("id")).mappings().all()

    @cached_property
    def app(self) -> Any:
        return make_app(self.settings)

    @cached_property
    def client(self) -> TestClient:
        return TestClient(self.app, base_url="http://testserver")

    def ask(
        self, who: str | None, method: str, path: str, **options: Any
    ) -> httpx2.Response:
        """Ask below `/api/v1`, or at the `whole` path; `who` may name a scope."""
        headers = {} if who is None else {"authorization": self.tokens[who]}
        headers = {name: f"Bearer {token}" for name, token in headers.items()}
        headers |= options.pop("headers", {})
        place = path if options.pop("whole", False) else f"{API}{path}"
        return self.client.request(method, place, headers=headers, **options)

    def upload(self, content: Any, dataset: int = dataset) -> httpx2.Response:
        """Upload predictions of ada's model `m`, which is added once."""
        names = {model["name"]: model["id"] for model in self.rows(MODEL)}
        path = f"/models/{names.get('m') or self.add_model()}/submissions"
        given = {"dataset": dataset}
        return self.ask("ada", "POST", path, params=given, content=content)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve the application on a free port of this machine."""
        server = uvicorn.Server(uvicorn.Config(self.app, port=0, log_level="error"))
        thread = Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            thread.join(0.05)
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        try:
            yield f"http://{host}:{port}"
        finally:
            server.should_exit = True
            thread.join()

    def close(self) -> None:
        self.client.close()
        self.app.state.engine.dispose()
        self.engine.dispose()
