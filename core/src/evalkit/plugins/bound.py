"""Loaded plugins of each kind of core, with typed attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from evalkit.base.ids import EXAMPLE_ID_KEYS
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

if TYPE_CHECKING:
    import polars as pl


REFUSALS = (ValueError, TypeError, LookupError)
"""By what an adapter, which sees responses that nobody has checked, may refuse one."""


class Converting(Bound):
    """A plugin that may have converters and adapters of responses."""

    _refusals = {"verify_response": (AssertionError,), "adapt_response": REFUSALS}
    _hints = {
        "adapt_response": (
            "; it refuses a response by a ValueError, a TypeError or a LookupError"
        ),
        "pred_field_converter": (
            "; it returns evalkit.Unparsed(reason) where a response has no answer, and "
            "verify_response is the place to refuse a response"
        ),
    }

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

    def validate_output(
        self, response: Mapping[str, Any], labels: Sequence[str] | None
    ) -> BaseModel:
        """Return a response as an `Output`.

        Args:
            response: A response; `id` holds its id.
            labels: The labels that `Label` and `Probabilities` take; None for any.

        Raises:
            pydantic.ValidationError: It does not keep `Output`.
            PluginError: A validator of the task failed.
        """
        with self.guard("Output", "response", response["id"], (ValidationError,)):
            return validated(self.Output, response, labels)


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

    def evaluate(self, frame: pl.DataFrame) -> Any:
        """Return the data set's own scores, unchecked.

        Args:
            frame: One row for each scored example.

        Raises:
            MetricError: It failed.
        """
        origin, own = self.component.origin, (MetricError,)
        with Guard(origin, "evaluate", error=MetricError, own_words=own):
            return self.row_function("evaluate")(frame=frame)

    def as_metric(
        self, unit: str, scale: float, higher_is_better: bool | None
    ) -> BoundMetric:
        """Return the data set as the metric of its own scores.

        Args:
            unit: Unit of these scores as shown.
            scale: What they are multiplied with to be shown.
            higher_is_better: Their direction; None if it is unknown.
        """
        attributes, _ = read_attributes("metrics", object())
        attributes |= {"unit": unit, "scale": scale}
        attributes["higher_is_better"] = higher_is_better
        return BoundMetric(self.component, self.plugin, self.parameters, attributes)


class BoundPerturbation(Bound, PerturbationAttributes):
    """A perturbation that is loaded."""

    _own_words = (PluginError,)


class BoundObserver(Bound):
    """An observer that is loaded."""


_NOT_OF_JSON = frozenset(
    {
        *("bytes_type", "date_type", "datetime_type", "time_type", "time_delta_type"),
        *("tuple_type", "set_type", "frozen_set_type", "is_instance_of"),
    }
)
"""What pydantic calls values that a strict model takes from JSON only as something
else, such as a date as a text."""


def validated(
    model: type[BaseModel], row: Mapping[str, Any], labels: Sequence[str] | None = None
) -> BaseModel:
    """Validate a row.

    A strict model takes a date as a text from JSON, and from Python only as a date; a
    row is valid where it is so in one of the two ways.
    """
    config, context = model.model_config, {"labels": labels}
    if config.get("val_json_bytes", "utf8") != "utf8" and (text := _as_json(row)):
        return model.model_validate_json(text, context=context)
    try:
        return model.model_validate(row, context=context)
    except ValidationError as error:
        found = [each for each in error.errors() if each["type"] in _NOT_OF_JSON]
        if not found:
            raise
        if text := _as_json(row):
            return model.model_validate_json(text, context=context)
        # a table may hold bytes, which JSON lacks, beside texts for other types
        if len(found) < error.error_count() or not all(map(_is_plain, found)):
            raise
    return model.model_validate(row, strict=False, context=context)


def _as_json(row: Mapping[str, Any]) -> str | None:
    """Write a row as JSON; None where it did not come as that."""
    try:
        return json.dumps(dict(row))
    except (TypeError, ValueError, RecursionError):
        return None


def _is_plain(error: Any) -> bool:
    return isinstance(error["input"], str | list)
