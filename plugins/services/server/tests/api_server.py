"""A server with accounts, datasets and a client, to be asked by its API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
from fastapi.testclient import TestClient

from evalkit import Registry
from evalkit_services_server import accounts
from evalkit_services_server.app import API, make_app
from evalkit_services_server.database import connect, insert, migrate, now, writing
from evalkit_services_server.scan import add_dataset
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import DATASET
from evalkit_services_server.tasks import add_task

GOOD = b'{"id": "1", "label": "positive"}\n{"id": 2, "label": "negative"}\n'
NAME = "sample-sentiment"


def example_predictions() -> Path:
    attributes = Registry().load("datasets", NAME).attributes
    path: Path = next(iter(attributes["example_predictions"].values()))
    return path


def settings_in(folder: Path, **changed: Any) -> Settings:
    return Settings(
        database=f"sqlite:///{folder}/server.db", store=f"{folder}/store", **changed
    )


class Server:
    """A server with an open, a private and a hidden dataset, and three accounts."""

    open, private, hidden = 1, 2, 3

    def __init__(self, settings: Settings) -> None:
        self.settings, self.engine = settings, connect(settings)
        migrate(self.engine)
        self.tokens: dict[str, str] = {}
        with writing(self.engine) as connection:
            self.task = add_task(connection, "sentiment")
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
        kept = {"task_id": self.task, "version": "1", "fingerprint": "f", "uri": "u"}
        with writing(self.engine) as connection:
            for name, access, board in (
                ("private", "inputs-private", "scoring"),
                ("hidden", "open", "hidden"),
            ):
                row = {**kept, "name": name, "access": access, "board": board}
                row |= {"languages": ["en"], "added": now(connection)}
                connection.execute(insert(connection, DATASET).values(row))
        self.app = make_app(settings)
        self.client = TestClient(self.app, base_url="http://testserver")

    def ask(
        self, who: str | None, method: str, path: str, **options: Any
    ) -> httpx2.Response:
        """Ask below `/api/v1`, or at the `whole` path; `who` may name a scope."""
        headers = {} if who is None else {"authorization": self.tokens[who]}
        headers = {name: f"Bearer {token}" for name, token in headers.items()}
        headers |= options.pop("headers", {})
        place = path if options.pop("whole", False) else f"{API}{path}"
        return self.client.request(method, place, headers=headers, **options)

    def add_model(self, name: str = "m") -> int:
        """Return the model of ada's of this name, which is added once."""
        given = {"task": "sentiment", "name": name}
        self.ask("ada", "POST", "/models", json=given)
        key: int = self.ask("ada", "GET", "/models", params=given).json()[0]["id"]
        return key

    def upload(self, content: Any, dataset: int = open) -> httpx2.Response:
        """Upload predictions of ada's model."""
        path = f"/models/{self.add_model()}/submissions"
        return self.ask(
            "ada", "POST", path, params={"dataset": dataset}, content=content
        )

    def close(self) -> None:
        self.client.close()
        self.app.state.engine.dispose()
        self.engine.dispose()
