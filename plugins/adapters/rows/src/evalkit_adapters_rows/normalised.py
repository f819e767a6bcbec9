"""Labels of data and predictions that are written as they are declared."""

from __future__ import annotations

from dataclasses import replace

from evalkit import Registry
from evalkit.catalog import BoundDataset, BoundTask
from evalkit.errors import EvalkitError
from evalkit.examples.conversion import answer_name, predicted_field
from evalkit_adapters_rows.pipelines import Pipeline, joined, pipeline


def normalised(
    dataset: BoundDataset, task: BoundTask, registry: Registry
) -> tuple[BoundDataset, Pipeline]:
    """Return a dataset with normalized labels, and what normalizes predictions."""
    answer = answer_name(dataset, task)
    pred = predicted_field(dataset, task) or task.answer_field
    if answer is None or pred is None:
        raise EvalkitError(
            f"--normalise labels: {task.component.origin} does not say in which fields "
            "labels are"
        )
    declared = dataset.labels if dataset.labels is not None else task.labels
    stored = None if declared is None else [*declared]
    meant = stored
    if declared is not None and hasattr(declared, "values"):
        meant = [*dict.fromkeys(declared.values())]
    stages = [
        {"kind": "normalise-labels", "configuration": {"field": field, "labels": known}}
        for field, known in ((answer, stored), (pred, meant))
    ]
    of_data, of_predictions = (pipeline([stage], registry) for stage in stages)
    return replace(dataset, pipeline=joined(dataset.pipeline, of_data)), of_predictions
