"""The queue: each request is evaluated once, whatever ends its workers."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection, Engine, Table, select

from evalkit import Registry, read_run
from evalkit_services_server import jobs
from evalkit_services_server.database import connect, insert, migrate, now, writing
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.scan import add_dataset
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import (
    ACCOUNT,
    BOARD,
    DATASET,
    JOB,
    MODEL,
    RUN,
    SCORE,
    SUBMISSION,
)
from evalkit_services_server.tasks import add_task


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        database=f"sqlite:///{tmp_path}/server.db", store=f"{tmp_path}/store", lease=2
    )


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    engine = connect(settings)
    migrate(engine)
    yield engine
    engine.dispose()


def add(connection: Connection, table: Table, **values: object) -> int:
    made = insert(connection, table).values(values).returning(table.c.id)
    key: int = connection.execute(made).scalar_one()
    return key


@pytest.fixture
def dataset(settings: Settings, engine: Engine) -> int:
    with writing(engine) as connection:
        add_task(connection, "sentiment")
    name = "sample-sentiment"
    assert add_dataset(engine, settings, name, name).outcome == "added"
    with writing(engine) as connection:
        found: int = connection.execute(select(DATASET.c.id)).scalar_one()
    return found


def add_model(connection: Connection, name: str) -> int:
    moment = now(connection)
    account = dict(name=f"owner of {name}", role="submitter", created=moment)
    model = dict(task_id=1, name=name, kind="uploaded", added=moment)
    return add(
        connection, MODEL, account_id=add(connection, ACCOUNT, **account), **model
    )


def submit(connection: Connection, model: int, dataset: int, path: Path) -> int:
    return add(
        connection,
        SUBMISSION,
        model_id=model,
        dataset_id=dataset,
        uri=str(path),
        sha256=path.stem,
        size=1,
        received=now(connection),
    )


def predictions(name: str) -> Path:
    dataset = Registry().load("datasets", "sample-sentiment")
    found: Path = dataset.attributes["example_predictions"][name]
    return found


def test_uploaded_predictions_are_evaluated_once(
    settings: Settings, engine: Engine, dataset: int
) -> None:
    with writing(engine) as connection:
        model = add_model(connection, "vader")
        assert jobs.request(connection, model, dataset) is None
        submit(connection, model, dataset, predictions("vader"))
        job = jobs.request(connection, model, dataset)
        assert job is not None
        assert jobs.request(connection, model, dataset) is None
    claim = jobs.claim(engine, "one", settings.lease)
    assert claim is not None
    assert jobs.claim(engine, "two", settings.lease) is None
    assert evaluate_job(claim, settings, engine, Event()) == "done"
    with engine.connect() as connection:
        job_row = connection.execute(select(JOB)).mappings().one()
        assert (job_row["state"], job_row["attempt"]) == ("done", 1)
        run = connection.execute(select(RUN)).mappings().one()
        assert read_run(run["folder"]).run_id == run["run_id"]
        query = select(BOARD.c.metric, SCORE.c.value).order_by(BOARD.c.metric)
        query = query.where(
            SCORE.c.run_id == BOARD.c.run_id,
            SCORE.c.metric == BOARD.c.metric,
            SCORE.c.tag == "",
        )
        scores = {metric: value for metric, value in connection.execute(query)}
    stored = read_run(run["folder"])
    assert scores == {name: stored[name].value for name in ("accuracy", "macro-f1")}
