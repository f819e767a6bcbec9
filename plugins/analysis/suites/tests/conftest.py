"""Runs of known scores for the tests of suites."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_analysis_suites import Board, make_board
from evalkit_analysis_suites.schema import Suite


class Runs:
    """A folder of runs, and the datasets that they are of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        dataset: str,
        right: str,
        model: str = "m",
        tags: Mapping[str, str] | None = None,
        **options: Any,
    ) -> evalkit.Result:
        """Evaluate a model; `right` has a 1 for each right answer, - for none."""
        rows, labels = [], ("positive", "negative")
        statement = options.pop("statement", dataset)
        for number, _ in enumerate(right):
            row: dict[str, Any] = {"uid": str(number), "statement": statement}
            row["label"] = labels[number % 2]
            row["tags"] = [f"{k}:{v[number]}" for k, v in (tags or {}).items()]
            rows.append(row)
        path = self.folder / f"{dataset}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        answers = [
            {"id": str(n), "label": labels[(n + (mark == "0")) % 2]}
            for n, mark in enumerate(right)
            if mark != "-"
        ]
        options = {"task": "sentiment", "metrics": ["accuracy"], **options}
        return evalkit.evaluate(
            path, answers, model=model, out=self.folder / "runs", **options
        )

    def share(self, dataset: str, percent: float, n: int = 10, **more: Any) -> None:
        """Evaluate a model with this accuracy."""
        right = round(n * percent / 100)
        self.add(dataset, "1" * right + "0" * (n - right), **more)

    def board(self, suite: Any = None, **options: Any) -> Board:
        """Make the leaderboard of a suite, given as its file's values."""
        if suite is not None:
            suite = Suite.model_validate({"suite": "s", **suite})
        return make_board(suite, [self.folder / "runs"], **{"ranks": False, **options})


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """An empty folder of runs."""
    (tmp_path / "runs").mkdir()
    return Runs(tmp_path)
