"""Tables of the database. The migrations make them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    case,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

ROUND_STATES = ("open", "closed", "frozen")
ACCESS = ("open", "labels-private", "inputs-private")
BOARDS = ("scoring", "standard", "hidden")
JOB_STATES = ("waiting", "running", "done", "refused", "failed")
"""Refused predictions are a result; a failed job could not be evaluated."""


def _key() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _of(table: str, *, optional: bool = False) -> Column[int]:
    key = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(f"{table}_id", Integer, key, nullable=optional, index=True)


def _at(name: str, *, optional: bool = False) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=optional)


def _one_of(name: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{name} IN ({listed})", name=name)


ACCOUNT = Table(
    "account",
    METADATA,
    _key(),
    Column("name", String(64), nullable=False, unique=True),
    Column("password", Text),
    Column("role", String(16), nullable=False),
)

TOKEN = Table(
    "token",
    METADATA,
    _key(),
    _of("account"),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", JSON, nullable=False),
    _at("expires", optional=True),
)
"""Those that end are sessions of browsers."""

TASK = Table(
    "task",
    METADATA,
    _key(),
    Column("code", String(64), nullable=False, unique=True),
    Column("component", Text, nullable=False),
    Column("input_keys", JSON, nullable=False),
    Column("perf_metric", Text, nullable=False),
    Column("eval_metrics", JSON, nullable=False),
    Column("delta_metrics", JSON, nullable=False),
    Column("weights", JSON, nullable=False),
)

ROUND = Table(
    "round",
    METADATA,
    _key(),
    _of("task"),
    Column("number", Integer, nullable=False),
    Column("state", String(8), nullable=False),
    UniqueConstraint("task_id", "number"),
    CheckConstraint("number > 0", name="number"),
    _one_of("state", ROUND_STATES),
)

DATASET = Table(
    "dataset",
    METADATA,
    _key(),
    _of("task"),
    _of("round", optional=True),
    Column("parent_id", Integer, ForeignKey("dataset.id"), index=True),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("uri", Text, nullable=False),
    Column("perturbation", Text),
    Column("access", String(16), nullable=False),
    Column("board", String(8), nullable=False),
    Column("languages", JSON, nullable=False, default=list),
    Column("description", Text, nullable=False, default=""),
    Column("source_url", Text),
    Column("warning", Text),
    _at("added"),
    UniqueConstraint("name", "version"),
    _one_of("access", ACCESS),
    _one_of("board", BOARDS),
)

SCAN = Table(
    "scan",
    METADATA,
    _key(),
    Column("name", Text, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("reason", Text),
    _at("at"),
)

MODEL = Table(
    "model",
    METADATA,
    _key(),
    _of("task"),
    _of("account"),
    Column("name", String(64), nullable=False),
    Column("endpoint", JSON(none_as_null=True)),
    Column("is_trusted", Boolean, nullable=False, default=False),
    _at("added"),
    UniqueConstraint("task_id", "name"),
)

MODEL_KIND = case((MODEL.c.endpoint.is_(None), "uploaded"), else_="asked").label("kind")

SUBMISSION = Table(
    "submission",
    METADATA,
    _key(),
    _of("model"),
    _of("dataset"),
    Column("uri", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    _at("received"),
    Index("ix_submission_pair", "model_id", "dataset_id"),
)

JOB = Table(
    "job",
    METADATA,
    _key(),
    Column("key", String(64), nullable=False, unique=True),
    _of("model"),
    _of("dataset"),
    _of("submission", optional=True),
    Column("metrics", JSON, nullable=False),
    Column("state", String(8), nullable=False),
    Column("attempt", Integer, nullable=False, default=0),
    Column("failures", Integer, nullable=False, default=0),
    Column("worker", String(128)),
    Column("progress", Text),
    Column("share", Float),
    Column("reason", Text),
    _at("requested"),
    _at("started", optional=True),
    _at("leased_until", optional=True),
    _at("ended", optional=True),
    _one_of("state", JOB_STATES),
    Index("ix_job_state_id", "state", "id"),
    Index("ix_job_pair", "model_id", "dataset_id"),
)

RUN = Table(
    "run",
    METADATA,
    _key(),
    Column("job_id", Integer, ForeignKey("job.id"), nullable=False, unique=True),
    Column("folder", Text, nullable=False),
    Column("comparison_key", Text, nullable=False),
    Column("counts", JSON, nullable=False),
)

SCORE = Table(
    "score",
    METADATA,
    Column("run_id", ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("tag", Text, primary_key=True),
    Column("n", Integer, nullable=False),
    Column("value", Float),
    Column("ci_low", Float),
    Column("ci_high", Float),
    Column("reason", Text),
)
"""Of all examples, where `tag` is empty, and of each tag."""

METRIC = Table(
    "metric",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("unit", String(32), nullable=False),
    Column("scale", Float, nullable=False),
    Column("higher_is_better", Boolean),
)
"""How scores of a metric are read, as the runs record it."""

BOARD = Table(
    "board",
    METADATA,
    Column("task_id", ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("model_id", ForeignKey("model.id", ondelete="CASCADE"), primary_key=True),
    Column(
        "dataset_id", ForeignKey("dataset.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("run_id", ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
)
"""The current run of a model on a dataset, for each metric of the task."""

QUOTA = Table(
    "quota",
    METADATA,
    Column("account_id", ForeignKey("account.id"), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("subject", String(64), primary_key=True),
    Column("used", BigInteger, nullable=False),
)
"""What an account used on a day: submissions in all, and to each private dataset."""
