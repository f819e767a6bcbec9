"""A few real rows of a data set, as they are scored and as a model is sent them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.examples.clusters import cluster_names
from evalkit.examples.files import bind_dataset
from evalkit.examples.table import load_examples
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver


class SampledExample(NamedTuple):
    """One example."""

    id: str
    answer: Any
    """As it is scored."""
    tags: tuple[str, ...]
    cluster: Mapping[str, Any] | None
    """Values of the columns whose rows are not independent; None where there are
    none."""
    input: Mapping[str, Any]
    """What a model is sent: the task's `input_keys`."""


class ExampleSample(NamedTuple):
    """The first examples of a split."""

    dataset: str
    task: str
    split: str
    examples: int | None
    """How many the split has; None where the data set loaded these alone."""
    sensitive: bool
    """Whether the data set or its task warns of the texts."""
    has_labels: bool
    """Whether answers are labels, and no texts of their own."""
    rows: tuple[SampledExample, ...]
    notices: tuple[str, ...]


def sample_examples(
    dataset: Any,
    limit: int,
    *,
    task: Any = None,
    split: str | None = None,
    registry: Registry | None = None,
) -> ExampleSample:
    """Load, check and convert a split, and return its first examples.

    Args:
        dataset: As for `evaluate`.
        limit: How many examples.
        task: The task of a file of examples.
        split: Name of the split; by default the data set's own default.
        registry: Where plugins are found; all that are installed by default.

    Returns:
        The examples.

    Raises:
        DataError: The data cannot be loaded.
        PluginError: The data set or its task is unknown or broken.
        SchemaError: Rows break the task's `Input`, or answers are none of the labels.
    """
    resolver = Resolver(registry or Registry())
    bound = bind_dataset(resolver, dataset, task)
    bound_task = resolver.task(bound)
    split = split or bound.default_split
    found = load_examples(bound, bound_task, split, limit=limit)
    clusters = [name for name in cluster_names(bound) if name in found.inputs.columns]
    rows = []
    limit = min(limit, found.frame.height)  # polars takes no larger one than 64 bits
    frames = (found.inputs.head(limit), found.frame.head(limit))
    given = [frame.iter_rows(named=True) for frame in frames]
    for number, (row, scored) in enumerate(zip(*given, strict=True)):
        whole = row | {name: values[number] for name, values in found.nested.items()}
        rows.append(
            SampledExample(
                scored["id"],
                scored["answer"],
                tuple(scored["tags"]),
                {name: whole[name] for name in clusters} if found.clustered else None,
                {key: whole[key] for key in bound_task.sent_keys if key in whole},
            )
        )
    return ExampleSample(
        bound.component.name,
        bound_task.component.name,
        split,
        found.frame.height if found.identity.limit is None else None,
        any(each.content_warning is not None for each in (bound, bound_task)),
        found.labels is not None,
        tuple(rows),
        found.notices,
    )
