"""Compares the counts of a run with its rows, and predictions with those of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from evalkit.predictions.preparation import identify
from evalkit.reading.given_rows import rows_of
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of

NOT_GIVEN = "not compared: no file of them was given"

_COUNTED_PROBLEMS = ("duplicate", "unknown", "unreadable")

COUNTED = ("examples", "scored", "invalid", "missing", "unparsed", *_COUNTED_PROBLEMS)
"""The counts that the rows of a run tell."""


def other_counts(result: Result) -> Iterator[tuple[str, int, int]]:
    """Say which counts are not those of the examples and problems of a run.

    Args:
        result: A run that holds its examples.

    Yields:
        The name of the count, what is recorded, and what the rows tell.
    """
    examples = examples_of(result)
    found = Counter(examples["status"].to_list())
    found["examples"] = examples.height
    scored = examples.filter(examples["status"] == "scored")
    found["unparsed"] = scored["pred"].null_count()
    for problem in result.problems:
        if problem.file is None and problem.status in _COUNTED_PROBLEMS:
            found[problem.status] += 1
    for name, stored in result.counts.items():
        if name in COUNTED and stored != found[name]:
            yield name, stored, found[name]


def compare_predictions(record: RunRecord, predictions: Any) -> str:
    """Say whether predictions are those that a run was made from.

    Args:
        record: What the run recorded.
        predictions: As for `evaluate`; None where there are none.

    Returns:
        `same`, `changed`, or why they were not compared.

    Raises:
        DataError: They cannot be read.
    """
    if predictions is None:
        return NOT_GIVEN
    if record.predictions.sha256 is None:
        return "not compared: the run recorded no hash of its predictions"
    is_adapted = bool(record.predictions.adapters)
    rows = rows_of(predictions, may_be_folder=is_adapted)
    found = identify(rows, may_be_folder=is_adapted)["sha256"]
    return "same" if found == record.predictions.sha256 else "changed"
