"""Means of verdicts that a column of the data or the predictions holds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import Field, model_validator

from evalkit import Metric, NotScored, Parameters


class ColumnParameters(Parameters):
    """Which column."""

    of: str = Field(min_length=1)
    """Field of the predictions or of the data that holds the verdicts."""
    lower_is_better: bool = False


class RateParameters(ColumnParameters):
    """Which column, and what its values are worth."""

    values: tuple[str, ...] = ()
    """Values that count as 1; all others count as 0."""
    low: float = 0.0
    """Value that counts as 0, without `values`."""
    high: float = 1.0
    """Value that counts as 1, without `values`."""

    @model_validator(mode="after")
    def _differ(self) -> RateParameters:
        if self.high == self.low:
            raise ValueError("low and high must differ")
        return self


class _OfColumn(Metric):
    answer_kinds = ("one", "any-of", "all-of", "spans", "number", "none")
    higher_is_better = True
    parameters: ColumnParameters

    def __init__(self, parameters: ColumnParameters | None = None) -> None:
        super().__init__(parameters)
        is_lower = parameters is not None and parameters.lower_is_better
        self.higher_is_better = not is_lower  # type: ignore[misc]

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the column of verdicts."""
        return (self.parameters.of,)

    def score_example(self, fields: Mapping[str, Any]) -> float | NotScored:
        """Return what a verdict is worth; an example without one is not scored."""
        column = fields[self.parameters.of]
        if isinstance(column, str) and column[:1] == "[":
            with suppress(ValueError, RecursionError):
                column = json.loads(column)  # as files keep what is no list of texts
        verdicts = [
            verdict
            for verdict in (column if isinstance(column, list) else [column])
            if not (verdict is None or verdict == "" or verdict != verdict)
        ]
        if not verdicts:
            return NotScored("the column has no verdict")
        return math.fsum(map(self.worth, verdicts)) / len(verdicts)

    def worth(self, verdict: Any) -> float:
        """Return a verdict as a number."""
        try:
            return float(verdict)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self.parameters.of}: expected a number, got {verdict!r}"
            ) from error


class ColumnMean(_OfColumn):
    """Mean of the numbers in a column, such as human ratings.

    `column-mean:of=COLUMN` is of a field of the predictions or else of the data. A list
    counts as the mean of those in it, without null; true is 1. An example without a
    verdict is not scored. Range -infinity to infinity, higher is better unless
    `lower_is_better=true`; Student's interval.

    Source: evalkit's own; the mean.

    Example:
        >>> import evalkit
        >>> name, said = "column-mean:of=rating", {"rating": [5, 2]}
        >>> evalkit.score(name, ["a", "b"], ["", ""], fields=said)[name].value
        3.5
    """

    Parameters = ColumnParameters


class ColumnRate(_OfColumn):
    """Share of verdicts in a column that are positive, such as a win rate.

    `column-rate:of=COLUMN` is of a field of the predictions or else of the data that
    holds true and false, or numbers from `low` (0) to `high` (1):
    `column-rate:of=preference,low=1,high=2` is AlpacaEval's win rate. With
    `values=safe/harmless` these values count as 1 and all others as 0. A list counts as
    its mean. An example without a verdict is not scored; a missing prediction that
    counts is the worst. Range 0 to 1, in %, higher is better unless
    `lower_is_better=true`; Wilson's interval where all are 0 or 1, else Student's.

    Source: evalkit's own; the win rate of AlpacaEval (Li et al., 2023), ties as half.

    Example:
        >>> import evalkit
        >>> name = "column-rate:high=2.0,low=1.0,of=preference"
        >>> said = {"preference": [2.0, 1.5]}
        >>> evalkit.score(name, ["a", "b"], ["", ""], fields=said)[name].value
        0.75
    """

    Parameters = RateParameters
    interval = "wilson"
    bounds = (0.0, 1.0)
    unit = "%"
    scale = 100
    worst_value = 0.0

    def __init__(self, parameters: RateParameters | None = None) -> None:
        super().__init__(parameters)
        self.worst_value = float(not self.higher_is_better)  # type: ignore[misc]

    def worth(self, verdict: Any) -> float:
        """Return the share, 0 to 1, that a verdict is worth."""
        parameters = self.parameters
        assert isinstance(parameters, RateParameters)
        if parameters.values:
            text = str(verdict).lower() if isinstance(verdict, bool) else str(verdict)
            return float(text in parameters.values)
        low, high = parameters.low, parameters.high
        share = (super().worth(verdict) - low) / (high - low)
        if not 0 <= share <= 1:
            raise ValueError(
                f"{parameters.of}: expected {low:g} to {high:g}, got {verdict!r}"
            )
        return share
