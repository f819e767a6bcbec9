"""Makes runs of which every number is given, for the tests of comparisons."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score

IDS = tuple(f"e{number}" for number in range(1_000_000))


def score(
    metric: str, value: float | None, mean: float | None, **changes: Any
) -> Score:
    """Make the score of a whole set."""
    nothing: dict[str, Any] = dict.fromkeys(Score._fields)
    fixed = {
        "metric": metric,
        "split": "test",
        "computed_on": "all",
        "value": value,
        "ci_method": "none",
        "n": 1,
        "unit": "%",
        "scale": 100.0,
        "higher_is_better": True,
        "mean": mean,
    }
    return Score(**{**nothing, **fixed, **changes})


def make_run(
    model: str = "a",
    *,
    per_example: Mapping[str, Sequence[float | None]] | None = None,
    whole: Mapping[str, float | None] | None = None,
    answers: Sequence[Any] | None = None,
    preds: Sequence[Any] | None = None,
    ids: Sequence[str] | None = None,
    tags: Sequence[Sequence[str]] | None = None,
    clusters: Sequence[int | None] | None = None,
    replication: Sequence[int | None] | None = None,
    status: Sequence[str] | None = None,
    record: Mapping[str, Any] | None = None,
    **score_changes: Any,
) -> Result:
    """Make a run of columns.

    Args:
        model: Name of the model.
        per_example: Scores of each row by metric; each is the mean of these.
        whole: Values of the metrics of the whole set.
        answers: Answer of each row.
        preds: Prediction of each row.
        ids: Id of each row.
        tags: Tags of each row.
        clusters: Cluster of each row.
        replication: Replication of each row.
        status: Status of each row.
        record: Changes of the record.
        **score_changes: Changes of every score.
    """
    columns = {name: list(values) for name, values in (per_example or {}).items()}
    sizes = [len(column) for column in (*columns.values(), answers or ()) if column]
    n = sizes[0]
    frame = pl.DataFrame(
        {
            "id": list(ids if ids is not None else IDS[:n]),
            "replication": pl.Series(replication or [None] * n, dtype=pl.Int64),
            "answer": list(answers if answers is not None else ["x"] * n),
            "pred": list(preds if preds is not None else ["x"] * n),
            "tags": pl.Series(tags or [[]] * n, dtype=pl.List(pl.String)),
            "cluster": pl.Series(clusters or [None] * n, dtype=pl.UInt32),
            "status": list(status or ["scored"] * n),
            **{
                name: pl.Series(values, dtype=pl.Float64)
                for name, values in columns.items()
            },
        }
    )
    scores = []
    for name, values in columns.items():
        given = [value for value in values if value is not None]
        mean = float(np.mean(given)) if given else None
        scores.append(score(name, mean, mean, **score_changes))
    for name, value in (whole or {}).items():
        scores.append(score(name, value, None, **score_changes))
    fixed = {
        "format": 1,
        "fingerprint": f"{model:0<16}",
        "status": "complete",
        "model": model,
        "dataset": "made",
        "task": "mini",
        "labels": None,
        "counts": {},
        "policies": {
            "on_missing": "error",
            "on_invalid": "error",
            "on_duplicate": "error",
        },
        "components": [],
        "data": {"sha256": "0" * 64},
    }
    return Result({**fixed, **(record or {})}, scores, (), frame)
