"""Reads the runs of the eleven sets, and refuses those that do not belong together."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from evalkit import DataError, Result, StorageError
from evalkit_datasets_tweeteval.datasets import DATASETS

SPLIT = "test"
"""The split that the benchmark is scored on."""

_COLUMNS = ("status", "answer", "pred")
_NAMES = tuple(str(dataset.name) for dataset in DATASETS)


class Run(NamedTuple):
    """One model's answers on one set."""

    where: str
    """What it is called in messages."""
    record: Mapping[str, Any]
    """What `run.json` holds."""
    examples: pl.DataFrame | None
    """What `examples.parquet` holds."""

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return str(self.record.get("dataset"))

    @property
    def counted(self) -> pl.DataFrame:
        """The examples that scores are made of.

        Those that a policy counts as wrong have no prediction, which every official
        metric takes for a miss.
        """
        return self._examples_with("scored", *self._statuses_under("wrong"))

    def count_under(self, policy: str) -> int:
        """Count the examples without a valid prediction that a policy was applied to.

        Args:
            policy: `wrong` or `skip`.

        Returns:
            How many there are.
        """
        return self._examples_with(*self._statuses_under(policy)).height

    @property
    def size(self) -> int:
        """Number of examples in the data."""
        return self._examples_with("scored", "missing", "invalid").height

    def _examples_with(self, *statuses: str) -> pl.DataFrame:
        assert self.examples is not None  # collect_runs refuses a run without
        return self.examples.filter(pl.col("status").is_in(statuses))

    def _statuses_under(self, policy: str) -> list[str]:
        policies = self.record["policies"]
        return [s for s in ("missing", "invalid") if policies[f"on_{s}"] == policy]


def collect_runs(results: Iterable[Result | str | Path]) -> dict[str, Run]:
    """Read results or run folders, one of each of the eleven sets.

    Args:
        results: In any order.

    Returns:
        The runs by name of the data set.

    Raises:
        DataError: One is missing, there twice, refused, partial, of another split or
            another model, or does not hold answers and predictions.
        StorageError: A run folder cannot be read.
    """
    found = defaultdict(list)
    for result in results:
        run = _of_result(result) if isinstance(result, Result) else _of_folder(result)
        if run.dataset not in _NAMES:
            raise DataError(f"{run.where} is of {run.dataset}, no set of TweetEval")
        found[run.dataset].append(run)
    for name, runs in found.items():
        if len(runs) > 1:
            places = " and ".join(run.where for run in runs)
            raise DataError(f"{name} is there {len(runs)} times ({places}); give one")
    missing = [name for name in _NAMES if name not in found]
    if missing:
        raise DataError(
            f"there is no run of {', '.join(missing)}; the benchmark's number is made "
            f"of all {len(_NAMES)} sets"
        )
    runs_by_name = {name: found[name][0] for name in _NAMES}
    for run in runs_by_name.values():
        _check(run)
    _check_models(runs_by_name.values())
    return runs_by_name


def _of_result(result: Result) -> Run:
    where = str(result.path) if result.path else f"the result of {result.dataset}"
    return Run(where, result.to_dict(), result.examples)


def _of_folder(folder: str | Path) -> Run:
    path = Path(folder)
    try:
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StorageError(f"{path} is no run: it has no file run.json") from error
    except (OSError, ValueError) as error:
        raise StorageError(f"{path / 'run.json'} cannot be read: {error}") from error
    if not isinstance(record, dict):
        raise StorageError(f"{path / 'run.json'} cannot be read: it is no JSON object")
    file = path / "examples.parquet"
    try:
        examples = pl.read_parquet(file) if file.exists() else None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StorageError(f"{file} cannot be read: {error}") from error
    return Run(str(path), record, examples)


def _check(run: Run) -> None:
    record = run.record
    status, split = record["status"], record["split"]
    if status != "complete":
        errors = "; ".join(record.get("errors") or ())
        raise DataError(
            f"{run.where}: the run of {run.dataset} is {status}, which is no result on "
            f"the whole set{errors and f': {errors}'}"
        )
    if split != SPLIT:
        raise DataError(
            f"{run.where}: the run of {run.dataset} is of the split {split}; the "
            f"benchmark is scored on {SPLIT}"
        )
    columns: Sequence[str] = () if run.examples is None else run.examples.columns
    absent = [column for column in _COLUMNS if column not in columns]
    if run.examples is None or absent:
        raise DataError(
            f"{run.where}: the run of {run.dataset} does not hold answers and "
            "predictions, which the stance targets are pooled from; make it without "
            "--no-examples"
        )
    for column in ("perturbation", "replication"):
        if column in columns and run.examples[column].null_count() < run.size:
            raise DataError(
                f"{run.where}: the run of {run.dataset} holds values of {column}; the "
                "benchmark has one prediction for each tweet as it is"
            )


def _check_models(runs: Collection[Run]) -> None:
    by_model = defaultdict(list)
    for run in runs:
        by_model[str(run.record["model"])].append(run.dataset)
    if len(by_model) > 1:
        listed = "; ".join(f"{m}: {', '.join(sets)}" for m, sets in by_model.items())
        raise DataError(
            f"the runs are of {len(by_model)} models ({listed}); where they are one, "
            "give all of them one name with --model"
        )
