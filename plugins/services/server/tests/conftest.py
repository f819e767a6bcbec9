"""A database of each kind, and what a queue needs to be tried."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from postgresql import Cluster, has_postgresql, running_cluster
from sqlalchemy import Connection, Engine, RowMapping, Table, select

from evalkit import Registry
from evalkit_services_server import accounts, jobs, requests
from evalkit_services_server.database import connect, insert, migrate, now, writing
from evalkit_services_server.jobs import Claim
from evalkit_services_server.scan import add_dataset
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import MODEL, SUBMISSION
from evalkit_services_server.tasks import add_task


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if not has_postgresql():
        pytest.skip("PostgreSQL (initdb, pg_ctl) is not on the path")
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    database = f"sqlite:///{tmp_path}/server.db"
    if request.param == "postgresql":
        database = request.getfixturevalue("cluster").add_database()
    return Settings(database=database, store=f"{tmp_path}/store", lease=2)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    engine = connect(settings)
    migrate(engine)
    yield engine
    engine.dispose()


class World:
    """The task of the sample, its dataset, and models."""

    dataset = 1

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self.settings, self.engine = settings, engine
        with writing(engine) as connection:
            add_task(connection, "sentiment")
            self._owner = accounts.save_account(connection, "ada")
        name = "sample-sentiment"
        assert add_dataset(engine, settings, name, name).outcome == "added"
        of_dataset = Registry().load("datasets", name)
        self.predictions: Mapping[str, Path] = of_dataset.attributes[
            "example_predictions"
        ]

    def add_model(self, name: str, **values: Any) -> int:
        """Add a model; one that uploads predictions unless `values` say another."""
        with writing(self.engine) as connection:
            row = dict(task_id=1, account_id=self._owner, name=name)
            return self._add(connection, MODEL, "added", {**row, **values})

    def submit(self, model: int, path: Path) -> int | None:
        """Submit predictions, and request their evaluation."""
        with writing(self.engine) as connection:
            row = dict(model_id=model, dataset_id=self.dataset, uri=str(path))
            row |= dict(sha256=path.stem, size=path.stat().st_size)
            self._add(connection, SUBMISSION, "received", row)
            return requests.request(connection, model, self.dataset)

    def claim(self, worker: str = "one") -> Claim:
        """Claim the next job."""
        claim = jobs.claim(self.engine, worker, self.settings.lease)
        assert claim is not None
        return claim

    def rows(self, table: Table) -> Sequence[RowMapping]:
        """Return the rows of a table, in their order."""
        with self.engine.connect() as connection:
            return connection.execute(select(table).order_by("id")).mappings().all()

    @staticmethod
    def _add(
        connection: Connection, table: Table, moment: str, row: dict[str, Any]
    ) -> int:
        row[moment] = now(connection)
        made = insert(connection, table).values(row).returning(table.c.id)
        key: int = connection.execute(made).scalar_one()
        return key


@pytest.fixture
def world(settings: Settings, engine: Engine) -> World:
    return World(settings, engine)
