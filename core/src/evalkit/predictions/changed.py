"""Predictions whose rows a stage changes as they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from evalkit.examples.row_stages import RowStage


class ChangedPredictions(NamedTuple):
    """Predictions, and what changes their rows."""

    given: str | Path | pl.DataFrame | Sequence[Mapping[str, Any]]
    """A file or rows, as the model wrote them."""
    stage: RowStage
    """What changes the rows."""
