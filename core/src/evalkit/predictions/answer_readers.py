"""The protocol of what takes answers out of responses, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import polars as pl

from evalkit.examples.table import Examples
from evalkit.plugins.bound import Bound, BoundDataset, BoundTask
from evalkit.predictions.matching import Places

OK, EMPTY, UNPARSED, ERROR = "ok", "empty", "unparsed", "error"
STATUSES = (OK, EMPTY, UNPARSED, ERROR)
"""What becomes of a response: there is an answer; there is no text, or none is left;
there is a text without an answer; there is a text that is broken."""

RESPONSE, RESPONSES = "response", "responses"
"""Columns of what a model wrote: its text, and those of all alternatives."""
STATUS, REASON = "extraction", "reason"
"""Columns of what extractors made of it."""

TYPES: Mapping[str, pl.DataType] = {
    RESPONSE: pl.String(),
    RESPONSES: pl.List(pl.String),
    STATUS: pl.String(),
    REASON: pl.String(),
}
"""The columns that a row of a response has where there are extractors."""

AT_ONCE = 1_000
"""So many of the rows that are judged one by one are looked at together."""


class RowExtracted(NamedTuple):
    """What extractors made of a response that is judged on its own."""

    response: Mapping[str, Any]
    """The response with the answer, or `Unparsed`, in place of its text."""
    kept: Mapping[str, Any]
    """What is kept of it, by `TYPES`."""


class FrameExtracted(NamedTuple):
    """What extractors made of the responses of a table."""

    frame: pl.DataFrame
    """The table, in which an answer that there is not is one that would pass."""
    kept: pl.DataFrame
    """What is kept of each row, by `TYPES`."""
    is_lacking: pl.Series
    """Whether there is no answer."""

    def filter(self, chosen: pl.Series) -> FrameExtracted:
        """Return the outcome of some of the rows."""
        if chosen.all():
            return self
        frame, kept = self.frame.filter(chosen), self.kept.filter(chosen)
        return FrameExtracted(frame, kept, self.is_lacking.filter(chosen))


class BoundAnswerReader(Protocol):
    """Takes the answers out of the responses to some examples."""

    @property
    def field(self) -> str:
        """The field of a response that it looks at."""

    def of_frame(self, frame: pl.DataFrame, positions: Places) -> FrameExtracted | None:
        """Take the answers out of a column."""

    def of_rows(
        self, responses: Sequence[Mapping[str, Any]], positions: Sequence[int]
    ) -> list[RowExtracted]:
        """Take the answers out of responses that are judged one by one."""


class AnswerReader(Protocol):
    """Takes answers out of the texts of responses."""

    @property
    def components(self) -> Sequence[Bound]:
        """The components that do it, which a run records."""

    @property
    def record(self) -> Mapping[str, Any]:
        """What a run records: `stages`, `text`, `sha256` and `chosen_by`."""

    def for_examples(
        self, dataset: BoundDataset, task: BoundTask, examples: Examples
    ) -> BoundAnswerReader:
        """Return what takes the answers out of responses to some examples."""
