"""The kinds of plugins that core defines."""

from __future__ import annotations

from evalkit import hookspecs
from evalkit.plugins.bound import (
    BoundDataset,
    BoundMetric,
    BoundObserver,
    BoundPerturbation,
    BoundTask,
)
from evalkit.plugins.classes import DatasetDefaults, Metric, Perturbation, TaskIO
from evalkit.plugins.contract import (
    dataset_problems,
    metric_problems,
    task_problems,
)
from evalkit.plugins.kinds import Kind

_CONVERTERS = ("label_field_converter", "pred_field_converter")

TASKS = Kind(
    "tasks",
    hookspecs.TaskIOSpec,
    hookspecs.TaskIOAttributes,
    TaskIO,
    declarable=_CONVERTERS,
    bound=BoundTask,
    check=task_problems,
)

DATASETS = Kind(
    "datasets",
    hookspecs.DatasetSpec,
    hookspecs.DatasetAttributes,
    DatasetDefaults,
    word="data set",
    ways=(("load",),),
    declarable=_CONVERTERS,
    bound=BoundDataset,
    check=dataset_problems,
)

METRICS = Kind(
    "metrics",
    hookspecs.MetricSpec,
    hookspecs.MetricAttributes,
    Metric,
    ways=(
        ("compute",),
        ("score_example",),
        ("score_batch",),
        ("statistics", "finalize"),
        ("example_statistics", "finalize"),
    ),
    has_one_way=True,
    bound=BoundMetric,
    check=metric_problems,
)

PERTURBATIONS = Kind(
    "perturbations",
    hookspecs.PerturbationSpec,
    hookspecs.PerturbationAttributes,
    Perturbation,
    ways=(("perturb",), ("perturb_batch",), ("find_edits",), ("perturb_example",)),
    bound=BoundPerturbation,
)

OBSERVERS = Kind("observers", hookspecs.ObserverSpec, bound=BoundObserver)
