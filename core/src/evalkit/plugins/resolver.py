"""Binds what a caller names: installed plugins by name, or Python objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.base.names import parse_reference, score_name
from evalkit.errors import PluginContractError, UnknownPluginError
from evalkit.plugins.binding import Bound
from evalkit.plugins.bound import (
    BoundDataset,
    BoundMetric,
    BoundPerturbation,
    BoundTask,
)
from evalkit.plugins.components import GIVEN, NO_VERSION, Component
from evalkit.plugins.local_plugins import name_of
from evalkit.plugins.registry import Registry, bind


class Resolver:
    """Finds and binds the components of one evaluation.

    Args:
        registry: Where installed plugins are found.

    Attributes:
        registry: The same.
    """

    data: Any = None
    """Stands for the data of a run that came from no installed data set."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def bind(
        self,
        kind: str,
        what: Any,
        parameters: Mapping[str, Any] | None = None,
        named_by: Bound | None = None,
    ) -> Bound:
        """Bind a component.

        Args:
            kind: The kind that it must be of.
            what: A name, or a class, an instance, or for metrics a function.
            parameters: Its parameters.
            named_by: The plugin that names it, if it is not the caller.

        Returns:
            The bound plugin.

        Raises:
            PluginError: It is unknown or broken.
        """
        if isinstance(what, Bound):
            return what
        if isinstance(what, str):
            namer = None if named_by is None else named_by.component
            return self.registry.load(kind, what, parameters, namer)
        return bind(given_component(kind, what), what, parameters)

    def dataset(self, dataset: Any) -> BoundDataset:
        """Bind a data set."""
        return BoundDataset.of(self.bind("datasets", dataset))

    def metric(self, metric: Any) -> BoundMetric:
        """Bind a metric."""
        return BoundMetric.of(self.bind("metrics", metric))

    def perturbation(
        self, perturbation: Any, parameters: Mapping[str, Any] | None = None
    ) -> BoundPerturbation:
        """Bind a perturbation."""
        return BoundPerturbation.of(
            self.bind("perturbations", perturbation, parameters)
        )

    def unknown_tasks(self, perturbation: BoundPerturbation) -> list[str]:
        """Return the tasks of a `label_effect` that nobody knows here.

        Args:
            perturbation: The perturbation.

        Returns:
            Their names; tasks of packages that are not installed, or misspelt ones.
        """
        catalog = self.registry.catalog
        installed = {f"tasks/{found.name}" for found in catalog.of_kind("tasks")}
        known = {"tasks/*", *installed, *catalog.known}
        return [n for n in perturbation.label_effect if f"tasks/{n}" not in known]

    def task(self, dataset: BoundDataset) -> BoundTask:
        """Bind the task of a data set, whose labels must be the task's.

        Args:
            dataset: The data set.

        Returns:
            The bound task.

        Raises:
            PluginError: It is unknown or broken, or does not have these labels.
        """
        try:
            task = BoundTask.of(self.bind("tasks", dataset.task, named_by=dataset))
        except UnknownPluginError as error:
            raise UnknownPluginError(
                f"{dataset.component.origin} is of the task {dataset.task!r}: {error}"
            ) from error
        known, given = task.labels, dataset.labels
        labels = given.values() if isinstance(given, Mapping) else given or ()
        strange = [label for label in labels if known and label not in known]
        if strange:
            raise PluginContractError(
                f"{dataset.component.origin}: its label {strange[0]!r} is none of the "
                f"labels of the task {task.name}: {', '.join(known or ())}"
            )
        return task

    def metrics(
        self,
        dataset: BoundDataset,
        task: BoundTask,
        chosen: Sequence[Any] | None,
        extra: Sequence[Any],
        perf_metric: str | None = None,
    ) -> list[BoundMetric]:
        """Bind the metrics of an evaluation, the headline first.

        Args:
            dataset: The data set.
            task: Its task.
            chosen: What to compute; None for what the data set or else the task names.
            extra: What to compute beside it.
            perf_metric: The headline, in place of the data set's.

        Returns:
            Each metric once.

        Raises:
            PluginError: One is unknown or broken, or two have one name.
        """
        headline = perf_metric or dataset.perf_metric or task.perf_metric
        owner = dataset if dataset.perf_metric else task
        namer = dataset if dataset.eval_metrics is not None else task
        wanted: list[tuple[Any, Bound | None]] = [
            (headline, None if perf_metric else owner),
            *((what, namer) for what in namer.eval_metrics or ()),
        ]
        if chosen is not None:
            wanted = [(what, None) for what in chosen]
        wanted += [(what, None) for what in extra]
        found: dict[str, tuple[BoundMetric, Any]] = {}
        for what, named_by in wanted:
            bound = self._metric_named(what, named_by)
            # of two objects nobody knows whether they are the same
            own = None if isinstance(what, str | Bound) else id(what)
            same = bound.component, bound.parameters, own
            earlier, first = found.setdefault(bound.name, (bound, same))
            if first != same:
                owners = [
                    f"{each.component.value} ({each.component.distribution})"
                    for each in (earlier, bound)
                ]
                raise PluginContractError(
                    f"two metrics are called {bound.name!r}, {' and '.join(owners)}; "
                    "their scores could not be told apart"
                )
        if not found:
            raise UnknownPluginError("no metric was named")
        meant = parse_reference(headline)
        full_name = score_name(meant.name, meant.parameters)
        metrics = [bound for bound, _ in found.values()]
        metrics.sort(
            key=lambda each: (each.component.name != meant.name, each.name != full_name)
        )
        return metrics

    def _metric_named(self, what: Any, named_by: Bound | None) -> BoundMetric:
        try:
            return BoundMetric.of(self.bind("metrics", what, named_by=named_by))
        except UnknownPluginError as error:
            if named_by is None:
                raise
            raise UnknownPluginError(
                f"{named_by.component.origin} names the metric {what!r}: {error}"
            ) from error


def given_component(kind: str, what: Any) -> Component:
    """Return the component that a plugin passed as a Python object stands for."""
    written = what if hasattr(what, "__qualname__") else type(what)
    place = f"{written.__module__}:{written.__qualname__}"
    return Component(kind, name_of(what), place, GIVEN, NO_VERSION)
