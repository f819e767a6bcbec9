"""Runs the migrations on the connection that `migrate` gives."""

from alembic import context

from evalkit_services_server.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=METADATA,
    render_as_batch=connection.dialect.name == "sqlite",
)
context.run_migrations()
