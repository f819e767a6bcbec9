"""A metric that makes another score of what another metric counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from evalkit import Metric, MetricContext, Parameters, PluginContractError, PluginError
from evalkit.catalog import BoundMetric, Registry
from evalkit.scoring import ScoringTable, metric_outcomes

_INHERITED = (
    *("keys", "merges", "answer_kinds", "has_possible_range", "most_not_scored"),
    *("batch_rows", "shares_work", "costly", "deterministic"),
)
"""Attributes that are those of the inner metric."""

_REFUSED = {
    "compute": "it is a function of lists, which has no statistics",
    "prepare": "it looks at all answers first, which cannot be handed on",
}


class OuterMetric(Metric):
    """A score of another metric's statistics, and of a column of the data."""

    def __init__(
        self, parameters: Parameters, name: str, metric: str, column: str | None
    ) -> None:
        super().__init__(parameters)
        self._inner = inner = _load(metric, f"metrics/{name}")
        vars(self).update({each: getattr(inner, each) for each in _INHERITED})
        by_example = inner.example_hook is not None
        vars(self).update(
            columns=(*inner.columns, *([] if column is None else [column])),
            costly=inner.is_costly,
            accepts_no_prediction=inner.accepts_no_prediction
            or (by_example and inner.worst_value is not None),
        )

    def resources(self) -> dict[str, Any]:
        """Name the inner metric, its code, and what it depends on."""
        inner = self._inner
        package = inner.component.value.partition(":")[0].partition(".")[0]
        own = {
            f"metric: {name}": value
            for name, value in dict(inner.name_resources()).items()
        }
        files = {
            f"metric: parameter {name}": Path(value)
            for name, value in inner.changed_parameters.items()
            if isinstance(value, str) and Path(value).is_file()
        }
        code = {"metric: code": sys.modules[package]} if package in sys.modules else {}
        return {"metric": inner.component.origin, **own, **files, **code}

    def inner_statistics(
        self, batch: pl.DataFrame, context: MetricContext
    ) -> pl.DataFrame:
        """Return the statistics of the inner metric, whichever way it is written."""
        metric = self._inner
        batch = batch.select(cs.by_name("prediction", "target", *metric.columns))
        if metric.has("statistics"):
            found: pl.DataFrame = metric.call(
                "statistics", batch=batch, context=context
            )
            return found
        numbered = batch.with_row_index("position").with_columns(
            pl.col("position").cast(pl.UInt32)
        )
        names = [f"row {row} of a batch" for row in range(len(batch))]
        done = metric_outcomes(metric, ScoringTable(numbered, names, None, context))
        left = done.unscored.select(row="position", not_scored="reason")
        found = done.statistics.rename({"position": "row"})
        if not left.height:
            return found
        numbers = [name for name in found.columns if name != "row"]
        return pl.concat([found, left], how="diagonal").with_columns(
            cs.by_name(*numbers).fill_null(0.0)
        )


def _load(name: str, outer: str) -> BoundMetric:
    """Load the metric that a user names, or one of its scores."""
    where = f"{outer}: parameter metric={name}"
    reference, _, part = name.partition("#")
    try:
        whole = BoundMetric.of(Registry().load("metrics", reference))
    except PluginError as error:
        raise PluginContractError(f"{where}: {error}") from error
    inner = whole.score_of(part) if part or "" in whole.scores else whole
    declared = ", ".join(f"{reference}#{each}" for each in whole.scores if each)
    if (part and part not in whole.scores) or (whole.scores and inner is whole):
        raise PluginContractError(f"{where}: choose one of {declared or reference}")
    for hook, why in _REFUSED.items():
        if inner.has(hook):
            raise PluginContractError(f"{where}: {why}")
    if isinstance(inner.plugin, OuterMetric):
        raise PluginContractError(f"{where}: it is a score of another metric already")
    return inner
