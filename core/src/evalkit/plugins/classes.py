"""Base classes of tasks, data sets, metrics, perturbations and models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from evalkit.hookspecs import (
    DatasetAttributes,
    MetricAttributes,
    PerturbationAttributes,
    TaskIOAttributes,
)


class Parameters(BaseModel):
    """Base of a component's typed parameters; this one has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


NoParameters = Parameters


class Plugin:
    """A component that is built from its typed parameters.

    Attributes:
        parameters: The parameters that it was built with.
    """

    Parameters: ClassVar[type[BaseModel]] = NoParameters

    def __init__(self, parameters: BaseModel | None = None) -> None:
        self.parameters = self.Parameters() if parameters is None else parameters


class Perturbation(Plugin, PerturbationAttributes):
    """A change of a text or an example, made to see what a model does about it.

    A subclass sets `families`, `version` and `label_effect` and implements one of
    `perturb`, `perturb_batch`, `find_edits` and `perturb_example`.
    `evalkit.hookspecs.PerturbationAttributes` says what each attribute means.

    Example:
        ```python
        class Shout(evalkit.Perturbation):
            families = {"robustness"}
            version = "1"
            label_effect = {"*": "invariant"}

            def perturb(self, text):
                return text.upper()
        ```
    """


class TaskIO(Plugin, TaskIOAttributes):
    """A task: the shape of input and output, and how answers are scored by default.

    A subclass sets `Input`, `Output`, `example` and `perf_metric`, and either
    `answer_field` or converters. `evalkit.hookspecs.TaskIOAttributes` says what each
    attribute means.
    """


class DatasetDefaults(Plugin, DatasetAttributes):
    """What a data set need not say of itself; `evalkit.Dataset` has methods beside."""

    located_files: Mapping[str, Path] = {}
    """The files that were asked for so far, which the run records."""


class Metric(Plugin, MetricAttributes):
    """A metric, written in one of several ways (see `evalkit.hookspecs.MetricSpec`).

    `evalkit.hookspecs.MetricAttributes` says what each attribute means.

    Example:
        ```python
        class Length(evalkit.Metric):
            unit = "characters"

            def score_example(self, prediction, target):
                return float(len(prediction))
        ```
    """
