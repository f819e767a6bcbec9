"""The first tables."""

from functools import partial

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

MOMENT = sa.DateTime(timezone=True)
needed = partial(sa.Column, nullable=False)


def part_of(table: str) -> sa.Column[int]:
    """Return the key of the row that a row belongs to, and goes with."""
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return needed(f"{table}_id", sa.Integer, key, index=True)


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
        needed("name", sa.String(64), unique=True),
        sa.Column("password", sa.Text),
        needed("role", sa.String(16)),
        needed("is_active", sa.Boolean),
        needed("created", MOMENT),
        sa.CheckConstraint("role IN ('administrator', 'submitter')", name="role"),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("account"),
        needed("label", sa.String(64)),
        needed("digest", sa.String(64), unique=True),
        needed("scopes", sa.JSON),
        needed("created", MOMENT),
        sa.Column("expires", MOMENT),
    )
    op.create_table(
        "quota",
        sa.Column(
            "account_id", sa.Integer, sa.ForeignKey("account.id"), primary_key=True
        ),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("subject", sa.String(64), primary_key=True),
        needed("used", sa.BigInteger),
    )


def make_tasks() -> None:
    """Make the tables of tasks."""
    op.create_table(
        "task",
        sa.Column("id", sa.Integer, primary_key=True),
        needed("code", sa.String(64), unique=True),
        needed("component", sa.Text),
        needed("input_keys", sa.JSON),
        needed("perf_metric", sa.Text),
        needed("eval_metrics", sa.JSON),
        needed("delta_metrics", sa.JSON),
        needed("weights", sa.JSON),
        sa.Column("example", sa.JSON),
        sa.Column("prompt", sa.Text),
        needed("description", sa.Text),
        needed("changed", MOMENT),
    )
    op.create_table(
        "round",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("task"),
        needed("number", sa.Integer),
        needed("state", sa.String(8)),
        sa.CheckConstraint("number > 0", name="number"),
        sa.CheckConstraint("state IN ('open', 'closed', 'frozen')", name="state"),
        sa.UniqueConstraint("task_id", "number"),
    )
    op.create_table(
        "metric",
        sa.Column("name", sa.String(256), primary_key=True),
        needed("unit", sa.String(32)),
        needed("scale", sa.Float),
        sa.Column("higher_is_better", sa.Boolean),
    )


def make_datasets() -> None:
    """Make the tables of datasets."""
    op.create_table(
        "dataset",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("task"),
        sa.Column(
            "round_id",
            sa.Integer,
            sa.ForeignKey("round.id", ondelete="CASCADE"),
            index=True,
        ),
        sa.Column("parent_id", sa.Integer, sa.ForeignKey("dataset.id"), index=True),
        needed("name", sa.Text),
        needed("version", sa.String(64)),
        needed("fingerprint", sa.Text),
        needed("uri", sa.Text),
        sa.Column("perturbation", sa.Text),
        needed("access", sa.String(16)),
        needed("board", sa.String(8)),
        needed("languages", sa.JSON),
        needed("description", sa.Text),
        sa.Column("source_url", sa.Text),
        sa.Column("warning", sa.Text),
        needed("added", MOMENT),
        sa.CheckConstraint(
            "access IN ('open', 'labels-private', 'inputs-private')", name="access"
        ),
        sa.CheckConstraint("board IN ('scoring', 'standard', 'hidden')", name="board"),
        sa.UniqueConstraint("name", "version"),
    )
    op.create_table(
        "scan",
        sa.Column("id", sa.Integer, primary_key=True),
        needed("name", sa.Text),
        needed("outcome", sa.String(16)),
        sa.Column("reason", sa.Text),
        needed("at", MOMENT),
    )


def make_models() -> None:
    """Make the tables of models."""
    op.create_table(
        "model",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("task"),
        part_of("account"),
        needed("name", sa.String(64)),
        needed("kind", sa.String(8)),
        sa.Column("endpoint", sa.JSON),
        needed("is_trusted", sa.Boolean),
        needed("added", MOMENT),
        sa.CheckConstraint("kind IN ('uploaded', 'asked')", name="kind"),
        sa.UniqueConstraint("task_id", "name"),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.Integer, primary_key=True),
        part_of("model"),
        part_of("dataset"),
        needed("uri", sa.Text),
        needed("sha256", sa.String(64)),
        needed("size", sa.BigInteger),
        needed("received", MOMENT),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer, primary_key=True),
        needed("key", sa.String(64), unique=True),
        part_of("model"),
        part_of("dataset"),
        sa.Column(
            "submission_id",
            sa.Integer,
            sa.ForeignKey("submission.id", ondelete="CASCADE"),
            index=True,
        ),
        needed("metrics", sa.JSON),
        needed("state", sa.String(8)),
        needed("attempt", sa.Integer),
        needed("losses", sa.Integer),
        sa.Column("worker", sa.String(128)),
        sa.Column("progress", sa.Text),
        sa.Column("share", sa.Float),
        sa.Column("reason", sa.Text),
        needed("requested", MOMENT),
        sa.Column("started", MOMENT),
        sa.Column("leased_until", MOMENT),
        sa.Column("ended", MOMENT),
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
        needed("job_id", sa.Integer, sa.ForeignKey("job.id"), unique=True),
        needed("attempt", sa.Integer),
        part_of("model"),
        part_of("dataset"),
        needed("folder", sa.Text),
        needed("run_id", sa.String(16), index=True),
        needed("comparison_key", sa.Text),
        needed("counts", sa.JSON),
        needed("is_refused", sa.Boolean),
        needed("ended", MOMENT),
    )
    op.create_table(
        "score",
        sa.Column(
            "run_id",
            sa.Integer,
            sa.ForeignKey("run.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("metric", sa.String(256), primary_key=True),
        sa.Column("tag", sa.String(256), primary_key=True),
        needed("n", sa.Integer),
        sa.Column("value", sa.Float),
        sa.Column("se", sa.Float),
        sa.Column("ci_low", sa.Float),
        sa.Column("ci_high", sa.Float),
        sa.Column("reason", sa.Text),
    )
    op.create_table(
        "board",
        sa.Column(
            "task_id",
            sa.Integer,
            sa.ForeignKey("task.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("metric", sa.String(256), primary_key=True),
        sa.Column(
            "model_id",
            sa.Integer,
            sa.ForeignKey("model.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column(
            "dataset_id",
            sa.Integer,
            sa.ForeignKey("dataset.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        needed("run_id", sa.Integer, sa.ForeignKey("run.id", ondelete="CASCADE")),
    )
