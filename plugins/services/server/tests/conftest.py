"""A database of each kind, and a server over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgresql import Cluster, has_postgresql, running_cluster
from sqlalchemy import Engine

from evalkit_services_server.database import connect, migrate
from evalkit_services_server.settings import Settings

from .world import World


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


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    world = World(settings)
    yield world
    world.close()
