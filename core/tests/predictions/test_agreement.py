"""What is drawn to compare a task's two checks: each kind of column, near its edges."""

from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit import Violation
from evalkit.errors import PluginContractError
from evalkit.plugins.bound import BoundTask
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.predictions.agreement import check_agreement

LABELS = ("yes", "no")


class Rich(BaseModel):
    id: str
    label: str
    words: list[str] = []
    count: int = 0
    sure: bool = False
    share: float | None = None
    prob: dict[str, float] | None = None


def compare(columns: Any, is_good: Any, output: type[BaseModel] = Rich) -> None:
    members = {
        "Input": type("Input", (BaseModel,), {"__annotations__": {"uid": str}}),
        "Output": output,
        "labels": LABELS,
        "answer_field": "label",
        "perf_metric": "accuracy",
        "example": {"uid": "1"},
        "verify_columns": lambda self, responses: responses.select(x=columns)["x"],
        "verify_response": lambda self, response: (
            [] if is_good(response) else [Violation("label", "no")]
        ),
    }

    task = bind(
        Component("tasks", "rich", "m:T", "d", "1"),
        type("Task", (evalkit.TaskIO,), members),
    )
    check_agreement(BoundTask.of(task))


RULES: dict[str, tuple[pl.Expr, Any, Any]] = {
    "text": (
        pl.col("label").is_in(LABELS),
        lambda row: row["label"] in LABELS,
        lambda row: row["label"] == "yes",
    ),
    "list": (
        pl.col("words").list.len() < 3,
        lambda row: len(row["words"]) < 3,
        lambda row: not row["words"],
    ),
    "integer": (
        pl.col("count") >= 0,
        lambda row: row["count"] >= 0,
        lambda row: row["count"] > 0,
    ),
    "boolean": (~pl.col("sure"), lambda row: not row["sure"], lambda row: row["sure"]),
    "float": (
        (pl.col("share") <= 1).fill_null(True),
        lambda row: row.get("share", 0) <= 1,
        lambda row: row.get("share", 0) < 1,
    ),
    "null": (
        pl.col("share").is_not_null(),
        lambda row: "share" in row,
        lambda row: "share" not in row,
    ),
    "labels": (
        (pl.col("prob").struct.field("yes") <= 1).fill_null(True),
        lambda row: (row.get("prob") or {}).get("yes", 0) <= 1,
        lambda row: (row.get("prob") or {}).get("yes", 0) < 0.1,
    ),
}


@pytest.mark.parametrize("kind", RULES)
def test_columns_that_accept_more_than_rows_are_found(kind: str) -> None:
    columns, same, narrower = RULES[kind]
    compare(columns, same)
    with pytest.raises(PluginContractError, match="verify_columns accepts"):
        compare(columns, narrower)


def test_columns_may_accept_less_than_rows() -> None:
    compare(pl.lit(False).repeat_by(0).list.len() > 0, lambda row: True)
    compare(pl.col("label") == "yes", lambda row: True)


def test_responses_that_are_never_columns_are_not_compared() -> None:
    class Open(BaseModel):
        model_config = {"extra": "allow"}
        id: str
        label: Any

    compare(pl.lit(True), lambda row: False, Open)
