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
_KEYS = ("status", "model", "dataset", "split", "policies", "data", "predictions")

NAMES = tuple(str(dataset.name) for dataset in DATASETS)
"""The eleven sets."""


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
        return str(self.record["dataset"])

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
        run = _read(result)
        found[run.dataset].append(run)
    for name, runs in found.items():
        if len(runs) > 1:
            places = " and ".join(run.where for run in runs)
            raise DataError(f"{name} is there {len(runs)} times ({places}); give one")
    missing = [name for name in NAMES if name not in found]
    if missing:
        raise DataError(
            f"there is no run of {', '.join(missing)}; the benchmark's number is made "
            f"of all {len(NAMES)} sets"
        )
    runs_by_name = {name: found[name][0] for name in NAMES}
    for run in runs_by_name.values():
        _check(run)
    _check_models(runs_by_name.values())
    return runs_by_name


def read_record(result: Result | str | Path) -> tuple[str, Mapping[str, Any]]:
    """Read what a run is, but not its examples.

    Args:
        result: A result or a run folder.

    Returns:
        What it is called in messages, and what `run.json` holds.

    Raises:
        DataError: It is of no set of TweetEval.
        StorageError: The folder cannot be read.
    """
    if isinstance(result, Result):
        where = str(result.path) if result.path else f"the result of {result.dataset}"
        record = result.to_dict()
    else:
        where, record = str(Path(result)), _record_in(Path(result))
    name = record.get("dataset")
    if name not in NAMES:
        raise DataError(f"{where} is of {name}, no set of TweetEval")
    return where, record


def _record_in(path: Path) -> dict[str, Any]:
    file = path / "run.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StorageError(f"{path} is no run: it has no file run.json") from error
    except (OSError, ValueError) as error:
        raise StorageError(f"{file} cannot be read: {error}") from error
    if not isinstance(record, dict):
        raise StorageError(f"{file} cannot be read: it is no JSON object")
    absent = [key for key in _KEYS if key not in record]
    if absent:
        raise StorageError(f"{file} cannot be read: it has no {', '.join(absent)}")
    return record


def _read(result: Result | str | Path) -> Run:
    where, record = read_record(result)
    if isinstance(result, Result):
        return Run(where, record, result.examples)
    file = Path(result) / "examples.parquet"
    try:
        examples = pl.read_parquet(file) if file.exists() else None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StorageError(f"{file} cannot be read: {error}") from error
    return Run(where, record, examples)


def why_partial(record: Mapping[str, Any]) -> str:
    """Say why a run is no result on the whole set.

    Args:
        record: What `run.json` of a partial run holds.

    Returns:
        The errors of its metrics, and which examples were evaluated.
    """
    selection = record.get("selection") or {}
    chosen = [f"{key}={'|'.join(v)}" for key, v in selection.get("filters", {}).items()]
    if selection.get("limit") is not None:
        chosen.append(f"the first {selection['limit']}")
    parts = [*(record.get("errors") or ())]
    if chosen:
        parts.append(f"only some tweets were evaluated ({', '.join(chosen)})")
    return "; ".join(parts)


def _check(run: Run) -> None:
    record = run.record
    status, split = record["status"], record["split"]
    if status != "complete":
        why = why_partial(record)
        raise DataError(
            f"{run.where}: the run of {run.dataset} is {status}, which is no result on "
            f"the whole set{why and f': {why}'}"
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
