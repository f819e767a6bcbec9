"""Hooks and attributes of annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.hookspecs import hookspec


class AnnotatorAttributes:
    """Attributes of an annotator."""

    version: str
    """Raised when the same inputs give other values."""
    columns: Sequence[str]
    """Names of its columns where it gives several, which metrics ask for as
    `NAME.COLUMN`; empty for one value, which they ask for as `NAME`."""
    reads: Sequence[str]
    """Columns of the data or fields of the response that it is given as `fields`."""
    batch_rows: int
    """The most rows that `annotate_batch` gets at once."""
    metrics: Sequence[str]
    """What is computed of it where it is declared; `{name}` is its name there."""
    retries: int
    """How often it is asked again after a failure that may pass."""
    pause: float
    """Seconds before it is asked again; doubled each time."""
    shares_work: bool
    """Whether several processes may ask it at the same time, where the user gives
    `--jobs`; False for what one process fills, such as a model on a GPU."""


class AnnotatorSpec:
    """Hooks of an annotator, which is written in one of two ways.

    It computes columns from examples and responses before metrics read them. It is
    loaded where a metric has its name among its `columns`. What it takes is all that
    its values may depend on, as equal rows are asked once. Each evaluation asks anew.
    One that takes no prediction is also asked for examples without one.

    A value is a finite number, a boolean, a text, a list of numbers or of texts, or
    None, and of one kind for all rows. `evalkit.Annotation` adds a text and a cost. A
    row has no value, and is not scored, where `evalkit.NotScored(reason)` is returned
    or raised; where `TimeoutError`, `ConnectionError` or
    `evalkit.TryAgain(reason)` is raised more often than `retries` says; and where
    anything else is raised, a failure of the plugin. Other rows are not touched.
    `evalkit.errors.AnnotatorError` ends the evaluation.
    """

    @hookspec(firstresult=True)
    def annotate_example(
        self, prediction: Any, target: Any, fields: Mapping[str, Any]
    ) -> Any:
        """Annotate one response.

        Args:
            prediction: The prediction; never None.
            target: The answer; a list where several are acceptable.
            fields: The annotator's `reads` of this example, by name.

        Returns:
            A value (with `columns` a dict of one for each), or one of the above.
        """

    @hookspec(firstresult=True)
    def annotate_batch(
        self,
        predictions: Sequence[Any],
        targets: Sequence[Any],
        fields: Mapping[str, Sequence[Any]],
    ) -> Sequence[Any]:
        """Annotate at most `batch_rows` responses; one by one where that raises.

        Args:
            predictions: One for each row.
            targets: One for each row.
            fields: The annotator's `reads`, by name, one value for each row.

        Returns:
            A list of an entry for each row, as `annotate_example` returns it.
        """

    @hookspec(firstresult=True)
    def conclude(self, values: Mapping[str, Sequence[Any]]) -> Sequence[str] | None:
        """Say what the values of all rows show; warnings become those of the run."""
