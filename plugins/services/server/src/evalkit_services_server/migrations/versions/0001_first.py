"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

MOMENT = sa.DateTime(timezone=True)


def part_of(table: str, **options: Any) -> sa.Column[Any]:
    """Return the key of the row that a row belongs to, and is deleted with."""
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table}_id", sa.Integer, key, **{"nullable": False, **options})


def needed(kind: Any, *names: str) -> list[sa.Column[Any]]:
    """Return columns that hold a value in each row."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def optional(kind: Any, *names: str) -> list[sa.Column[Any]]:
    """Return columns that may hold no value."""
    return [sa.Column(name, kind) for name in names]


def upgrade() -> None:
    """Make all tables."""
    make_accounts()
    make_tasks()
    make_datasets()
    make_models()
    make_results()


def make_accounts() -> None:
    """Make the tables of accounts."""
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        *optional(sa.Text, "password"),
        *needed(sa.String(16), "role"),
        *needed(sa.Boolean, "is_active"),
        *needed(MOMENT, "created"),
        sa.CheckConstraint("role IN ('administrator', 'submitter')", name="role"),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("account", index=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        *needed(sa.String(64), "label"),
        *needed(sa.JSON, "scopes"),
        *needed(MOMENT, "created"),
        *optional(MOMENT, "expires"),
    )
    op.create_table(
        "quota",
        sa.Column(
            "account_id", sa.Integer, sa.ForeignKey("account.id"), primary_key=True
        ),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("subject", sa.String(64), primary_key=True),
        *needed(sa.BigInteger, "used"),
    )


def make_tasks() -> None:
    """Make the tables of tasks."""
    op.create_table(
        "task",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("code", sa.String(64), nullable=False, unique=True),
        *needed(sa.Text, "component", "perf_metric", "description"),
        *needed(sa.JSON, "input_keys", "eval_metrics", "delta_metrics", "weights"),
        *optional(sa.JSON, "example"),
        *optional(sa.Text, "prompt"),
        *needed(MOMENT, "changed"),
    )
    op.create_table(
        "round",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("task", index=True),
        *needed(sa.Integer, "number"),
        *needed(sa.String(8), "state"),
        sa.CheckConstraint("number > 0", name="number"),
        sa.CheckConstraint("state IN ('open', 'closed', 'frozen')", name="state"),
        sa.UniqueConstraint("task_id", "number"),
    )
    op.create_table(
        "metric",
        sa.Column("name", sa.String(256), primary_key=True),
        *needed(sa.String(32), "unit"),
        *needed(sa.Float, "scale"),
        *optional(sa.Boolean, "higher_is_better"),
    )


def make_datasets() -> None:
    """Make the tables of datasets."""
    op.create_table(
        "dataset",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("task", index=True),
        part_of("round", nullable=True, index=True),
        sa.Column("parent_id", sa.Integer, sa.ForeignKey("dataset.id"), index=True),
        *needed(sa.Text, "name", "fingerprint", "uri", "description"),
        *needed(sa.String(64), "version"),
        *optional(sa.Text, "perturbation", "source_url", "warning"),
        *needed(sa.String(16), "access"),
        *needed(sa.String(8), "board"),
        *needed(sa.JSON, "languages"),
        *needed(MOMENT, "added"),
        sa.CheckConstraint(
            "access IN ('open', 'labels-private', 'inputs-private')", name="access"
        ),
        sa.CheckConstraint("board IN ('scoring', 'standard', 'hidden')", name="board"),
        sa.UniqueConstraint("name", "version"),
    )
    op.create_table(
        "scan",
        sa.Column("id", sa.Integer, primary_key=True),
        *needed(sa.Text, "name"),
        *needed(sa.String(16), "outcome"),
        *optional(sa.Text, "reason"),
        *needed(MOMENT, "at"),
    )


def make_models() -> None:
    """Make the tables of models."""
    op.create_table(
        "model",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("task", index=True),
        part_of("account", index=True),
        *needed(sa.String(64), "name"),
        *needed(sa.String(8), "kind"),
        *optional(sa.JSON, "endpoint"),
        *needed(sa.Boolean, "is_trusted"),
        *needed(MOMENT, "added"),
        sa.CheckConstraint("kind IN ('uploaded', 'asked')", name="kind"),
        sa.UniqueConstraint("task_id", "name"),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("model", index=True),
        part_of("dataset", index=True),
        *needed(sa.Text, "uri"),
        *needed(sa.String(64), "sha256"),
        *needed(sa.BigInteger, "size"),
        *needed(MOMENT, "received"),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        part_of("model", index=True),
        part_of("dataset", index=True),
        part_of("submission", nullable=True, index=True),
        *needed(sa.JSON, "metrics"),
        *needed(sa.String(8), "state"),
        *needed(sa.Integer, "attempt", "losses"),
        *optional(sa.String(128), "worker"),
        *optional(sa.Text, "progress", "reason"),
        *optional(sa.Float, "share"),
        *needed(MOMENT, "requested"),
        *optional(MOMENT, "started", "leased_until", "ended"),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done', 'refused', 'failed')", name="state"
        ),
    )
    op.create_index("ix_job_state_id", "job", ["state", "id"])


def make_results() -> None:
    """Make the tables of results."""
    op.create_table(
        "run",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "job_id", sa.Integer, sa.ForeignKey("job.id"), nullable=False, unique=True
        ),
        part_of("model", index=True),
        part_of("dataset", index=True),
        sa.Column("run_id", sa.String(16), nullable=False, index=True),
        *needed(sa.Integer, "attempt"),
        *needed(sa.Text, "folder", "comparison_key"),
        *needed(sa.JSON, "counts"),
        *needed(sa.Boolean, "is_refused"),
        *needed(MOMENT, "ended"),
    )
    op.create_table(
        "score",
        part_of("run", primary_key=True),
        sa.Column("metric", sa.String(256), primary_key=True),
        sa.Column("tag", sa.String(256), primary_key=True),
        *needed(sa.Integer, "n"),
        *optional(sa.Float, "value", "se", "ci_low", "ci_high"),
        *optional(sa.Text, "reason"),
    )
    op.create_table(
        "board",
        part_of("task", primary_key=True),
        sa.Column("metric", sa.String(256), primary_key=True),
        part_of("model", primary_key=True),
        part_of("dataset", primary_key=True),
        part_of("run"),
    )
