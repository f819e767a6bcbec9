"""The API: accounts, tokens, models and submissions."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Table

from evalkit_services_server import accounts
from evalkit_services_server.app import make_app
from evalkit_services_server.database import connect, migrate, now, writing
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import DATASET, TASK


def add(connection: Connection, table: Table, **values: object) -> int:
    made = table.insert().values(values).returning(table.c.id)
    key: int = connection.execute(made).scalar_one()
    return key


class Server:
    """A server with a task, two datasets and accounts."""

    def __init__(self, folder: Path, **changed: Any) -> None:
        self.settings = Settings(
            database=f"sqlite:///{folder}/server.db",
            store=f"{folder}/store",
            **changed,
        )
        self.engine = connect(self.settings)
        migrate(self.engine)
        self.tokens: dict[str, str] = {}
        with writing(self.engine) as connection:
            self._fill(connection)
        self.client = TestClient(make_app(self.settings), base_url="http://testserver")

    def _fill(self, connection: Connection) -> None:
        moment = now(connection)
        self.task = add(
            connection,
            TASK,
            code="sentiment",
            component="sentiment",
            input_keys=["uid", "statement"],
            perf_metric="accuracy",
            eval_metrics=["macro-f1"],
            delta_metrics=[],
            weights={},
            changed=moment,
        )
        dataset = {
            "task_id": self.task,
            "version": "1",
            "fingerprint": "f",
            "uri": "s",
            "languages": ["en"],
            "added": moment,
        }
        self.dataset, self.private, self.hidden = (
            add(connection, DATASET, name=name, access=access, board=board, **dataset)
            for name, access, board in (
                ("sample-sentiment", "open", "scoring"),
                ("private-sentiment", "inputs-private", "scoring"),
                ("hidden-sentiment", "open", "hidden"),
            )
        )
        for name, role in (
            ("ada", "submitter"),
            ("bob", "submitter"),
            ("host", "administrator"),
        ):
            key = accounts.create_account(connection, name, "correct horse", role)
            for scope in accounts.SCOPES[role]:
                scopes = accounts.SCOPES[role][: accounts.SCOPES[role].index(scope) + 1]
                token = accounts.create_token(connection, key, scope, scopes)
                self.tokens[f"{name} {scope}"] = token

    def ask(
        self, who: str | None, method: str, path: str, **options: Any
    ) -> httpx2.Response:
        headers = {}
        if who is not None:
            scope = "administer" if who == "host" else "submit"
            token = self.tokens.get(who) or self.tokens[f"{who} {scope}"]
            headers["authorization"] = f"Bearer {token}"
        headers |= options.pop("headers", {})
        return self.client.request(method, f"/api/v1{path}", headers=headers, **options)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.client.close()
    server.engine.dispose()


def add_model(server: Server, name: str = "m", who: str = "ada") -> int:
    given = {"task": "sentiment", "name": name}
    answer = server.ask(who, "POST", "/models", json=given)
    assert answer.status_code == 201, answer.text
    key: int = answer.json()["id"]
    return key


GOOD = b'{"id": "1", "label": "positive"}\n{"id": 2, "label": "negative"}\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_predictions_are_stored_and_evaluated(server: Server, pack: Any) -> None:
    model = add_model(server)
    path = f"/models/{model}/submissions?dataset={server.dataset}"
    answer = server.ask("ada", "POST", path, content=pack(GOOD))
    assert answer.status_code == 201, answer.text
    found = answer.json()
    stored = Path(server.settings.store, "predictions", f"{found['sha256']}.jsonl")
    assert stored.read_bytes() == GOOD
    job = server.ask("ada", "GET", f"/jobs?submission={found['id']}").json()[0]
    assert (job["state"], job["submission_id"]) == ("waiting", found["id"])
    assert not [*server.settings.working_folder.joinpath("incoming").iterdir()]
