"""The tables: the migrations make those that the code names."""

from sqlalchemy import Engine

from evalkit_services_server.database import migrate, reading
from evalkit_services_server.tables import METADATA


def test_migrations_make_the_tables(engine: Engine) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    migrate(engine)  # a second time
    with reading(engine) as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, METADATA) == []
