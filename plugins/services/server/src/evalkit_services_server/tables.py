"""Tables of the database. The migrations make them."""

from __future__ import annotations

from typing import Any

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
MOMENT = DateTime(timezone=True)

ACCESS = ("open", "labels-private", "inputs-private")
BOARDS = ("scoring", "standard", "hidden")
JOB_STATES = ("waiting", "running", "done", "refused", "failed")
"""Refused predictions are a result; a failed job could not be evaluated."""


def _key() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _of(table: str, **options: Any) -> Column[int]:
    key = ForeignKey(f"{table}.id", ondelete="CASCADE")
    options = {"nullable": False, "index": True, **options}
    return Column(f"{table}_id", Integer, key, **options)


def _needed(kind: Any, *names: str, **options: Any) -> list[Column[Any]]:
    return [Column(name, kind, nullable=False, **options) for name in names]


def _optional(kind: Any, *names: str) -> list[Column[Any]]:
    return [Column(name, kind) for name in names]


def _one_of(name: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{name} IN ({listed})", name=name)


ACCOUNT = Table(
    "account",
    METADATA,
    _key(),
    *_needed(Text, "name", unique=True),
    *_needed(Text, "role"),
    *_optional(Text, "password"),
)

TOKEN = Table(
    "token",
    METADATA,
    _key(),
    _of("account"),
    *_needed(Text, "digest", unique=True),
    *_needed(JSON, "scopes"),
    *_optional(MOMENT, "expires"),
)
"""Those that end are sessions of browsers."""

TASK = Table(
    "task",
    METADATA,
    _key(),
    *_needed(Text, "code", unique=True),
    *_needed(Text, "component", "perf_metric"),
    *_needed(JSON, "input_keys", "eval_metrics", "delta_metrics", "weights"),
)

ROUND = Table(
    "round",
    METADATA,
    _key(),
    _of("task"),
    *_needed(Integer, "number"),
    *_needed(Text, "state"),
    UniqueConstraint("task_id", "number"),
    CheckConstraint("number > 0", name="number"),
    _one_of("state", ("open", "closed", "frozen")),
)

DATASET = Table(
    "dataset",
    METADATA,
    _key(),
    _of("task"),
    _of("round", nullable=True),
    Column("parent_id", Integer, ForeignKey("dataset.id"), index=True),
    *_needed(Text, "name", "version", "fingerprint", "uri", "access", "board"),
    *_needed(JSON, "languages", default=list),
    *_needed(Text, "description", default=""),
    *_optional(Text, "perturbation", "source_url", "warning"),
    *_needed(MOMENT, "added"),
    UniqueConstraint("name", "version"),
    _one_of("access", ACCESS),
    _one_of("board", BOARDS),
)

SCAN = Table(
    "scan",
    METADATA,
    _key(),
    *_needed(Text, "name", "outcome"),
    *_optional(Text, "reason"),
    *_needed(MOMENT, "at"),
)

MODEL = Table(
    "model",
    METADATA,
    _key(),
    _of("task"),
    _of("account"),
    *_needed(Text, "name"),
    *_optional(JSON(none_as_null=True), "endpoint"),
    *_needed(Boolean, "is_trusted", default=False),
    *_needed(MOMENT, "added"),
    UniqueConstraint("task_id", "name"),
)

MODEL_KIND = case((MODEL.c.endpoint.is_(None), "uploaded"), else_="asked").label("kind")

SUBMISSION = Table(
    "submission",
    METADATA,
    _key(),
    _of("model", index=False),
    _of("dataset"),
    *_needed(Text, "uri", "sha256"),
    *_needed(BigInteger, "size"),
    *_needed(MOMENT, "received"),
    Index("ix_submission_pair", "model_id", "dataset_id"),
)

JOB = Table(
    "job",
    METADATA,
    _key(),
    *_needed(Text, "key", unique=True),
    _of("model", index=False),
    _of("dataset"),
    _of("submission", nullable=True),
    *_needed(JSON, "metrics"),
    *_needed(Text, "state"),
    *_needed(Integer, "attempt", "failures", default=0),
    *_optional(Text, "worker", "progress", "reason"),
    *_optional(Float, "share"),
    *_needed(MOMENT, "requested"),
    *_optional(MOMENT, "started", "leased_until", "ended"),
    _one_of("state", JOB_STATES),
    Index("ix_job_state_id", "state", "id"),
    Index("ix_job_pair", "model_id", "dataset_id"),
)

RUN = Table(
    "run",
    METADATA,
    _key(),
    Column("job_id", Integer, ForeignKey("job.id"), nullable=False, unique=True),
    *_needed(Text, "folder", "comparison_key"),
    *_needed(JSON, "counts"),
)

SCORE = Table(
    "score",
    METADATA,
    _of("run", primary_key=True, index=False),
    *_needed(Text, "metric", "tag", primary_key=True),
    *_needed(Integer, "n"),
    *_optional(Float, "value", "ci_low", "ci_high"),
    *_optional(Text, "reason"),
)
"""Of all examples, where `tag` is empty, and of each tag."""

METRIC = Table(
    "metric",
    METADATA,
    *_needed(Text, "name", primary_key=True),
    *_needed(Text, "unit"),
    *_needed(Float, "scale"),
    *_optional(Boolean, "higher_is_better"),
)
"""How scores of a metric are read, as the runs record it."""

BOARD = Table(
    "board",
    METADATA,
    _of("task", primary_key=True, index=False),
    *_needed(Text, "metric", primary_key=True),
    _of("model", primary_key=True, index=False),
    _of("dataset", primary_key=True, index=False),
    _of("run", index=False),
)
"""The current run of a model on a dataset, for each metric of the task."""

QUOTA = Table(
    "quota",
    METADATA,
    _of("account", primary_key=True, index=False),
    *_needed(Text, "day", "subject", primary_key=True),
    *_needed(BigInteger, "used"),
)
"""What an account used on a day: submissions in all, and to each private dataset."""
