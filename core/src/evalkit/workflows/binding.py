"""Binds the data and the task that a caller names, with all that rows go through."""

from __future__ import annotations

from typing import Any, NamedTuple

from evalkit.adapting.extraction import Extraction
from evalkit.adapting.pipelines import Pipeline, joined
from evalkit.examples.clusters import clustered_by
from evalkit.examples.files import bind_dataset
from evalkit.examples.kept import keeping
from evalkit.examples.normalising import normalised
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.resolver import Resolver
from evalkit.workflows.options import EvaluationOptions


class BoundData(NamedTuple):
    """A data set and its task."""

    dataset: BoundDataset
    task: BoundTask
    adapters: Pipeline | None
    """What predictions go through before they are checked."""
    extraction: Extraction | None
    """What takes the answers out of their texts after that."""


def bind_data(
    resolver: Resolver, dataset: Any, task: Any, options: EvaluationOptions
) -> BoundData:
    """Bind a data set as options say.

    Args:
        resolver: Binds plugins.
        dataset: What names the data set.
        task: The task of a file or of rows.
        options: How it is evaluated.

    Returns:
        The data set with its adapters and chosen columns, its task, and the adapters
        and extractors of predictions.

    Raises:
        EvalkitError: The data set, the task or an adapter cannot be found, or an option
            does not fit.
    """
    registry = resolver.registry
    bound = bind_dataset(resolver, dataset, task, options.pipeline("data", registry))
    bound = clustered_by(bound, options.cluster)
    bound = keeping(bound, options.keep, options.include_examples)
    bound_task = resolver.task(bound)
    adapt = options.pipeline("predictions", registry)
    if options.normalise:
        bound, of_labels = normalised(bound, bound_task, registry)
        adapt = joined(adapt, of_labels)
    extraction = options.extraction(bound, bound_task, registry)
    return BoundData(bound, bound_task, adapt, extraction)
