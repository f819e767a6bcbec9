"""Loaded plugins of each kind, with typed attributes and guarded hooks.

Whatever a hook raises becomes an error that names the plugin and its distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from evalkit.base.ids import EXAMPLE_ID_KEYS, RESPONSE_ID_KEYS
from evalkit.errors import DataError, EvalkitError, MetricError, PluginError
from evalkit.hookspecs import (
    DatasetAttributes,
    PerturbationAttributes,
    TaskIOAttributes,
)
from evalkit.plugins.attributes import read_attributes
from evalkit.plugins.binding import Bound as Bound
from evalkit.plugins.binding import Guard
from evalkit.plugins.bound_metrics import BoundMetric as BoundMetric
from evalkit.plugins.validation import validated

if TYPE_CHECKING:
    import polars as pl

REFUSALS = (ValueError, TypeError, LookupError)
"""By what an adapter, which sees responses that nobody has checked, may refuse one."""

_HOW_TO_REFUSE = "; it refuses a response by a ValueError, a TypeError or a LookupError"

_HOW_TO_SAY_UNPARSED = (
    "; it returns evalkit.Unparsed(reason) where a response has no answer, and "
    "verify_response is the place to refuse a response"
)


class Converting(Bound):
    """A plugin that may have converters."""

    def label_field_converter(self, example: Mapping[str, Any]) -> Any:
        """Return what the method makes of an example, unchecked.

        Args:
            example: A row; `uid` holds its id.

        Raises:
            PluginError: It failed.
        """
        hook = "label_field_converter"
        with self.guard(hook, "example", example["uid"]):
            return self.row_function(hook)(example=example)

    def pred_field_converter(
        self, response: Mapping[str, Any], row: Mapping[str, Any] | None = None
    ) -> Any:
        """Return what the method makes of a response, unchecked.

        Args:
            response: A response; `id` holds its id.
            row: What the model was asked; None where the method does not take it.

        Raises:
            PluginError: It failed.
        """
        hook = "pred_field_converter"
        # read first, as the method might change the response
        uid, origin = response["id"], self.component.origin
        with Guard(origin, hook, "response", uid, hint=_HOW_TO_SAY_UNPARSED):
            function = self.row_function(hook)
            return function(response=response, example=response, row=row)

    def adapt_response(
        self, response: Mapping[str, Any], row: Mapping[str, Any] | None = None
    ) -> Any:
        """Return what the plugin makes of a response, unchecked.

        Args:
            response: A response as it was read, or as another plugin adapted it.
            row: What the model was asked; None where the response names no example.

        Raises:
            ValueError, TypeError, LookupError: The ways to refuse the response, which
                nobody has checked.
            PluginError: It failed otherwise.
        """
        uid = next(filter(None, map(response.get, RESPONSE_ID_KEYS)), None)
        hook, origin = "adapt_response", self.component.origin
        with Guard(origin, hook, "response", uid, passes=REFUSALS, hint=_HOW_TO_REFUSE):
            return self.row_function(hook)(response=response, row=row)

    def takes_row(self, hook: str) -> bool:
        """Tell whether a hook that the plugin implements takes the argument `row`."""
        return self.has(hook) and "row" in self.arguments_of(hook)


class BoundTask(Converting, TaskIOAttributes):
    """A task that is loaded."""

    @property
    def sent_keys(self) -> tuple[str, ...]:
        """What a model is sent: `input_keys`, or what `Input` requires but the id."""
        if self.input_keys is not None:
            return tuple(self.input_keys)
        fields = self.Input.model_fields.items()
        return tuple(
            name
            for name, field in fields
            if field.is_required() and name not in EXAMPLE_ID_KEYS
        )

    def verify_response(self, uid: str, **offered: Any) -> Any:
        """Return what the task's own check says of a response, unchecked.

        Args:
            uid: The response's id.
            **offered: The arguments of the hook.

        Raises:
            AssertionError: The check's way to say that the response is invalid.
            PluginError: It failed.
        """
        hook = "verify_response"
        with self.guard(hook, "response", uid, (AssertionError,)):
            return self.row_function(hook)(**offered)

    def verify_columns(
        self, responses: pl.DataFrame, labels: Sequence[str] | None
    ) -> Any:
        """Return what the task's check of columns says, unchecked.

        Args:
            responses: The fields of `Output` but for the id.
            labels: The labels; None where there are none.

        Raises:
            PluginError: It failed.
        """
        with self.guard("verify_columns"):
            return self.hooks.verify_columns(responses=responses, labels=labels)

    def validate_input(self, example: Mapping[str, Any]) -> BaseModel:
        """Return an example as an `Input`.

        Args:
            example: A row; `uid` holds its id.

        Raises:
            pydantic.ValidationError: It does not keep `Input`.
            PluginError: A validator of the task failed.
        """
        with self.guard("Input", "example", example["uid"], (ValidationError,)):
            return validated(self.Input, example)

    def validate_output(self, response: Mapping[str, Any]) -> BaseModel:
        """Return a response as an `Output`.

        Args:
            response: A response; `id` holds its id.

        Raises:
            pydantic.ValidationError: It does not keep `Output`.
            PluginError: A validator of the task failed.
        """
        with self.guard("Output", "response", response["id"], (ValidationError,)):
            return validated(self.Output, response)


@dataclass(frozen=True, eq=False)
class BoundDataset(Converting, DatasetAttributes):
    """A data set that is loaded."""

    name: str = field(init=False)
    """The plugin's name with those parameters that are not at their default."""
    chosen_cluster: tuple[str, ...] = ()
    """The columns that a user chose for the clusters, in place of `cluster`."""
    keep: tuple[str, ...] | None = ()
    """The columns that a run keeps; None for all that have few short values."""
    pipeline: Any = None
    """The row stage of its rows (`examples/row_stages.py`); None for none."""

    @property
    def declared_cluster(self) -> tuple[str, ...]:
        """The columns of `cluster`."""
        cluster = self.cluster
        return (cluster,) if isinstance(cluster, str) else tuple(cluster or ())

    def guard_of_load(self, split: str) -> Guard:
        """Return a context in which examples are loaded, and read where that is lazy.

        Args:
            split: The split that is loaded.
        """
        step, origin = f"load({split!r})", self.component.origin
        return Guard(origin, step, error=DataError, passes=(EvalkitError,))

    def as_metric(
        self, unit: str, scale: float, higher_is_better: bool | None
    ) -> BoundMetric:
        """Return the data set as the metric of its own scores.

        Args:
            unit: Unit of these scores as shown.
            scale: What they are multiplied with to be shown.
            higher_is_better: Their direction; None where it is unknown.
        """
        attributes, _ = read_attributes("metrics", object())
        attributes |= {"unit": unit, "scale": scale}
        attributes["higher_is_better"] = higher_is_better
        return BoundMetric(self.component, self.plugin, self.parameters, attributes)

    def evaluate(self, frame: pl.DataFrame) -> Any:
        """Return the data set's own scores, unchecked.

        Args:
            frame: One row for each scored example.

        Raises:
            MetricError: It failed.
        """
        origin, own = self.component.origin, (MetricError,)
        with Guard(origin, "evaluate", error=MetricError, own_words=own):
            return self.hooks.evaluate(frame=frame)


class BoundPerturbation(Bound, PerturbationAttributes):
    """A perturbation that is loaded."""

    _own_words = (PluginError,)

    def ask(self, hook: str, subject: str, uid: str, offered: Mapping[str, Any]) -> Any:
        """Return what a hook says of one row, unchecked.

        Args:
            hook: Name of an implemented hook.
            subject: What the row is: `example` or `copy`.
            uid: Its id.
            offered: The arguments of the hook.

        Raises:
            PluginError: The perturbation failed.
        """
        with self.guard(hook, subject, uid):
            return self.row_function(hook)(**offered)


class BoundObserver(Bound):
    """An observer that is loaded."""

    def tell(self, hook: str, values: Mapping[str, Any]) -> None:
        """Tell it what happens.

        Args:
            hook: Name of the hook.
            values: Its arguments.

        Raises:
            PluginError: The observer failed.
        """
        with self.guard(hook):
            getattr(self.hooks, hook)(**values)
