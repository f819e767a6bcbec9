"""The kinds of plugins that core defines, and their loaded plugins."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError

from evalkit import hookspecs
from evalkit.base.failures import hook_failures
from evalkit.base.ids import EXAMPLE_ID_KEYS, RESPONSES_KEY
from evalkit.base.names import score_name
from evalkit.base.terms import IntervalKind, MetricContext, NotScored
from evalkit.errors import DataError, EvalkitError, MetricError, PluginError
from evalkit.hookspecs import (
    DatasetAttributes,
    MetricAttributes,
    PerturbationAttributes,
    TaskIOAttributes,
)
from evalkit.plugins.binding import Bound as Bound
from evalkit.plugins.binding import Guard
from evalkit.plugins.classes import DatasetDefaults, Metric, Perturbation, TaskIO
from evalkit.plugins.contract import (
    dataset_problems,
    metric_problems,
    read_attributes,
    task_problems,
)
from evalkit.plugins.kinds import Kind

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
    context = {"labels": labels}
    try:
        return model.model_validate(row, context=context)
    except ValidationError as error:
        kinds = {each["type"] for each in error.errors()}
        if not kinds & _NOT_OF_JSON:
            raise
        try:
            text = json.dumps(dict(row))
        except (TypeError, ValueError, RecursionError):
            if kinds - _NOT_OF_JSON:
                raise error from None
            # a table may hold bytes, which JSON lacks, beside texts for other types
            return model.model_validate(row, strict=False, context=context)
    return model.model_validate_json(text, context=context)


class Failed(NamedTuple):
    """What a metric raised in the place of an example's score."""

    error: BaseException


@dataclass(frozen=True, eq=False)
class BoundMetric(Bound, MetricAttributes):
    """A metric that is loaded, or one of the scores that it gives in one pass."""

    name: str = field(init=False)
    """The plugin's name with those parameters that are not at their default, and the
    score's own name where it is one of several."""
    part: str = ""
    """The score's own name within the metric; "" for the main one."""
    whole: BoundMetric | None = None
    """The metric that gives all its scores in one pass; None where this is it."""
    prepared: Any = None
    """What `prepare` returned."""
    computed: dict[Any, Any] = field(repr=False, default_factory=dict)
    """What one pass gave, for all scores of the metric."""

    _failure = MetricError
    _own_words = (MetricError,)
    _refusals = dict.fromkeys(("compute", "finalize"), (NotScored,))

    def __post_init__(self) -> None:
        """Set the metric's attributes, and its name."""
        super().__post_init__()
        vars(self).update(name=score_name(self.name, {}, self.part))

    @property
    def counts_labels(self) -> bool:
        """Whether its two keys are the gold and the predicted label of what it counts.

        A metric says so by its interval.
        """
        return self.interval == "multinomial"

    @property
    def example_hook(self) -> str | None:
        """The hook that scores single examples; None where it has no such scores."""
        return next(filter(self.has, ("score_example", "score_batch")), None)

    @property
    def example_column(self) -> str | None:
        """The statistic that is the score of an example; None without such scores."""
        return self.per_example if self.example_hook is None else "score"

    @property
    def interval_kind(self) -> IntervalKind:
        """The kind of its intervals: as it declares, or as its hooks imply."""
        implied: IntervalKind = "bootstrap" if self.example_hook is None else "t"
        return self.interval or implied

    @property
    def is_costly(self) -> bool:
        """Whether it is called no more often than its scores need."""
        return self.has("score_batch") if self.costly is None else self.costly

    def absent_columns(self, held: Collection[str]) -> list[str]:
        """Return the columns without which it cannot score.

        Args:
            held: Names of the columns that there are.
        """
        needed = (name for name in self.columns if name not in self.optional_columns)
        return [name for name in needed if name not in held]

    @property
    def columns_of_data(self) -> list[str]:
        """The columns that may be fields of the data, which a run need not hold."""
        return [
            name
            for name in self.columns
            if name not in self.optional_columns
            or name.partition(".")[0] != RESPONSES_KEY
        ]

    def score_of(self, part: str) -> BoundMetric:
        """Return the metric with the attributes of one of its scores.

        Args:
            part: Name of the score; of one that it does not declare, it has its own.
        """
        if part not in self.scores:
            return self
        attributes = {**self.attributes, **self.scores[part], "scores": {}}
        return replace(self, attributes=attributes, part=part, whole=self)

    def parts(self) -> list[BoundMetric]:
        """Return a metric for each score that one call gives; itself where it is one.

        What `finalize` makes of sums is one metric, however many scores it has.
        """
        if not self.scores or self.has("finalize"):
            return [self]
        return list(map(self.score_of, self.scores))

    def prepare(self, targets: list[Any], context: MetricContext) -> BoundMetric:
        """Return the metric with what its `prepare` returned.

        Args:
            targets: All answers.
            context: What else the metric knows.

        Raises:
            MetricError: The metric failed.
        """
        if not self.has("prepare"):
            return self
        prepared = self.call("prepare", targets=targets, context=context)
        return replace(self, prepared=prepared, computed={})

    def name_resources(self) -> Any:
        """Return what the metric says that its numbers depend on, unchecked.

        Raises:
            MetricError: The metric failed.
        """
        return self.call("resources") if self.has("resources") else {}

    def call(
        self, hook: str, at: tuple[str, Any] | None = None, /, **offered: Any
    ) -> Any:
        """Call a hook as `Bound.call` does; `NotScored` that it raised is returned."""
        if isinstance(offered.get("context"), MetricContext):
            offered["context"] = self._prepared_context(offered["context"])
        try:
            return super().call(hook, at, **offered)
        except NotScored as outcome:
            return outcome

    def _prepared_context(self, context: MetricContext) -> MetricContext:
        return context._replace(prepared=self.prepared)

    def score_examples(
        self,
        hook: str,
        columns: Mapping[str, Callable[[], Sequence[Any]]],
        context: MetricContext,
        rows: int,
    ) -> list[Any]:
        """Call a hook that handles one example for each of some.

        Args:
            hook: Its name.
            columns: How the values of each argument but the context are made, one for
                each example; called for those that the metric takes.
            context: What else the metric knows.
            rows: The number of examples.

        Returns:
            What the metric returned, unchecked; `NotScored` or `Failed` where it
            raised.
        """
        function: Callable[..., Any] = getattr(self.plugin, hook)
        prepared = self._prepared_context(context)
        arguments = [
            repeat(prepared, rows) if name == "context" else columns[name]()
            for name in self.arguments_of(hook)
        ]
        # without an argument, it is the number of calls that ends them
        calls = (
            map(function, *arguments)
            if arguments
            else map(lambda _: function(), range(rows))
        )
        values: list[Any] = []
        append = values.append
        while len(values) < rows:
            try:
                for value in calls:
                    append(value)
                if len(values) < rows:
                    raise StopIteration  # raised in the function, it ends the loop
            except NotScored as outcome:
                append(outcome)
            except hook_failures() as error:
                append(Failed(error))
        return values

    def score_batch(
        self, columns: Mapping[str, Callable[[], Any]], context: MetricContext
    ) -> Any:
        """Return what the metric says of a batch, unchecked; or what it raised.

        Args:
            columns: How the value of each argument but the context is made.
            context: What else the metric knows.
        """
        hook, prepared = "score_batch", self._prepared_context(context)
        taken = [name for name in self.arguments_of(hook) if name != "context"]
        offered = {name: columns[name]() for name in taken}
        try:
            return self.row_function(hook)(**offered, context=prepared)
        except NotScored as outcome:
            return outcome
        except hook_failures() as error:
            return Failed(error)

    @property
    def finalizes_counts(self) -> bool:
        """Whether it makes values of an array of counts as its `finalize` does.

        A hook that is inherited says nothing of a `finalize` of the class itself.
        """
        return self.has("finalize_counts") and (
            self.depth_of("finalize_counts") <= self.depth_of("finalize")
        )


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
