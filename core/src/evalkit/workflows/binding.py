"""Binds the data and the task that a caller names, with all that rows go through."""

from __future__ import annotations

from typing import Any, NamedTuple

from evalkit.examples.clusters import clustered_by
from evalkit.examples.files import bind_dataset
from evalkit.examples.kept import keeping
from evalkit.examples.row_stages import RowStage
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.answer_readers import AnswerReader
from evalkit.predictions.row_sources import bind_rows
from evalkit.workflows.options import EvaluationOptions


class BoundData(NamedTuple):
    """A data set and its task."""

    dataset: BoundDataset
    task: BoundTask
    stage: RowStage | None
    """What predictions go through before they are checked."""
    answers: AnswerReader | None
    """What takes the answers out of their texts after that."""


def bind_data(
    resolver: Resolver,
    dataset: Any,
    task: Any,
    options: EvaluationOptions,
    predictions: Any = None,
) -> BoundData:
    """Bind a data set as options say.

    Args:
        resolver: Binds plugins.
        dataset: What names the data set.
        task: The task of a file or of rows.
        options: How it is evaluated.
        predictions: The predictions; None for none.

    Returns:
        The data set with its chosen columns, its task, and what rows go through.

    Raises:
        EvalkitError: A plugin cannot be found, or an option does not fit.
    """
    registry = resolver.registry
    bound = bind_dataset(resolver, dataset, task, options.rows)
    bound = clustered_by(bound, options.cluster)
    bound = keeping(bound, options.keep, options.include_examples)
    bound_task = resolver.task(bound)
    through = bind_rows(bound, bound_task, options.rows, predictions, registry)
    return BoundData(through.dataset, bound_task, *through[1:])
