"""The first tables. The first release freezes them here."""

from alembic import op

from evalkit_services_server.tables import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    METADATA.create_all(op.get_bind())
